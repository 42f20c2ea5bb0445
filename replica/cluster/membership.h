/* SPDX-License-Identifier: Apache-2.0 */
/* Group membership: keeps a service's struct open for each partition that is ours.
 *
 * A rebalance of the eager protocol revokes all partitions and gives most of them back a moment
 * later. A partition that comes back was only suspended and keeps its state; the others are closed
 * once the new assignment is known. */
#ifndef REPLICA_CLUSTER_MEMBERSHIP_H
#define REPLICA_CLUSTER_MEMBERSHIP_H

#include "replica/cluster/cluster.h"

struct membership;
/* What a service opened for a partition: its own struct, which membership only hands back. */
struct membership_partition;

struct membership_ops {
    /* New, or NULL with an error: then it is tried again at the next assignment and after a
     * while. */
    struct membership_partition *(*open)(void *ctx, int32_t number, uint32_t assigned_count,
                                         struct error *ret_error);
    /* Revoked or given back; may be NULL. */
    void (*suspend)(struct membership_partition *partition, bool suspended);
    /* The partition belongs to another member, or we leave. */
    void (*close)(struct membership_partition *partition);
    /* The offset for lag tools, or -1; may be NULL. */
    int64_t (*committable)(struct membership_partition *partition);
    /* Whether it works. If not, ret_trouble receives what is wrong; it stays empty while the
     * partition only needs time. */
    bool (*works)(struct membership_partition *partition, char *ret_trouble, size_t size);
    const char *until_then; /* what happens to it before it works: "folded" */
};

/* New; joins the service's group, "<p>.<service>", on `topic`, one of the log's (borrowed). */
struct membership *membership_join(struct cluster *cluster, const char *topic,
                                   const struct membership_ops *ops, void *ctx);
/* Closes all partitions, leaves the group, then calls `left` and frees itself. */
void membership_leave(struct membership *membership, void (*left)(void *ctx), void *ctx);
/* Visits the open partitions. Here, in _count and in _is_ready NULL is a membership not yet
 * joined. */
void membership_each(struct membership *membership,
                     void (*visit)(void *ctx, struct membership_partition *partition), void *ctx);
/* NULL: it is not open. */
struct membership_partition *membership_find(struct membership *membership, int32_t number);
uint32_t membership_count(const struct membership *membership);
/* A broker is connected, the first assignment came (even an empty one), and all partitions work.
 * Else the reason, in one line. */
bool membership_is_ready(const struct membership *membership, const struct cluster *cluster,
                         char *ret_reason, size_t reason_size);
/* See broker_group_members(). */
bool membership_members(struct membership *membership, broker_members_done done, void *ctx);

#endif
