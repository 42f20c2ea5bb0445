/* SPDX-License-Identifier: Apache-2.0 */
/* StatusUpdates as JSON, for the applications that `replies.json` names. */
#ifndef REPLICA_CLUSTER_JSON_REPLIES_H
#define REPLICA_CLUSTER_JSON_REPLIES_H

#include "base/buffer.h"
#include "replica/cluster/cluster.h"

/* REJECT: the setting has a name that no application can have. */
enum error_class cluster_json_replies_begin(struct cluster *cluster, struct error *ret_error);
/* Whether what goes to this topic is JSON. */
bool cluster_reply_is_json(const struct cluster *cluster, const char *topic);
/* The value of such a record, appended to `value`, and its headers. */
void cluster_status_json(const struct status_update *status, struct buffer *value);
enum { CLUSTER_JSON_HEADERS = 2 };
extern const struct broker_header cluster_json_headers[CLUSTER_JSON_HEADERS];

#endif
