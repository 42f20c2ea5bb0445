/* SPDX-License-Identifier: Apache-2.0 */
/* In which form StatusUpdates go to reply topics: as JSON for the applications that `replies.json`
 * names; else as Avro, in Confluent's framing where `schema.registry.url` is set, and as
 * single-object encoding where it is not. */
#ifndef REPLICA_CLUSTER_REPLY_FORMAT_H
#define REPLICA_CLUSTER_REPLY_FORMAT_H

#include "base/buffer.h"
#include "replica/cluster/cluster.h"

/* REJECT: the setting has a name that no application can have. */
enum error_class cluster_json_replies_begin(struct cluster *cluster, struct error *ret_error);
/* Whether what goes to this topic is JSON. */
bool cluster_reply_is_json(const struct cluster *cluster, const char *topic);
/* The headers of such a record. */
enum { CLUSTER_JSON_HEADERS = 2 };
extern const struct broker_header cluster_json_headers[CLUSTER_JSON_HEADERS];

/* Whether StatusUpdates can be encoded that are not JSON. False: the schema registry is asked for
 * the id of their schema; once it is known, this stays true. */
bool cluster_prepare_replies(const struct cluster *cluster);
/* The same of a StatusUpdate for this topic. */
bool cluster_reply_is_possible(const struct cluster *cluster, const char *topic);
/* Appends the value of a StatusUpdate for this topic, for which it is possible. */
void cluster_encode_reply(struct cluster *cluster, const char *topic,
                          const struct status_update *status, struct buffer *value);

#endif
