/* SPDX-License-Identifier: Apache-2.0 */
/* <p>.leadership, read once for all roles for which this process is a candidate. Inside leader/
 * only. */
#ifndef LEADER_LEADER_TOPIC_H
#define LEADER_LEADER_TOPIC_H

#include "replica/cluster/cluster.h"
#include "schemas/records.h"

struct leader_topic;

enum { LEADER_ROLES_MAX = 4 /* of one process */ };

struct leader_topic_ops {
    /* The topic's first record that is left is at `offset`; may be called again. */
    void (*begins)(void *ctx, int64_t offset);
    /* One of the role, in the order of offsets. `append_ms`: when it was appended. */
    void (*record)(void *ctx, const struct leadership *record, int64_t offset, int64_t append_ms);
    void (*end)(void *ctx);
    /* It will be read from its beginning again. */
    void (*again)(void *ctx);
};

/* Reads for `role` as well, which is borrowed. All roles of a process begin before the first record
 * is read: in the same callback of the loop. */
struct leader_topic *leader_topic_join(struct cluster *cluster, struct text role,
                                       const struct leader_topic_ops *ops, void *ctx);
/* No callback with this ctx comes after this; with the last one, the topic is read no more. */
void leader_topic_leave(struct leader_topic *topic, const void *ctx);

#endif
