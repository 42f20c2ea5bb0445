/* SPDX-License-Identifier: Apache-2.0 */
/* Group membership turned into things that live as long as their partition is ours.
 *
 * A rebalance of the eager protocol revokes everything and gives most of it back a moment later. A
 * thing whose partition comes back is only suspended meanwhile and keeps its state; the others are
 * closed once the new assignment is known. */
#ifndef REPLICA_MEMBERSHIP_H
#define REPLICA_MEMBERSHIP_H

#include "replica/cluster.h"

struct membership;

struct membership_ops {
    /* New thing for a partition, or NULL with an error: then it is tried again at the next
     * assignment and after a while. */
    void *(*open)(void *ctx, int32_t partition, uint32_t assigned_count, struct error *ret_error);
    /* Revoked or given back; may be NULL. */
    void (*suspend)(void *thing, bool suspended);
    /* The partition belongs to somebody else, or we leave. */
    void (*close)(void *thing);
    /* The offset for lag tools, or -1; may be NULL. */
    int64_t (*committable)(void *thing);
    /* It does its work. If not, ret_trouble says what is wrong, and stays empty where it only needs
     * time. */
    bool (*works)(void *thing, char *ret_trouble, size_t size);
    const char *until_then; /* what is done with it before it works: "folded" */
};

/* New; joins the service's group, "<p>.<service>", on `topic`. */
struct membership *membership_join(struct cluster *cluster, const char *topic,
                                   const struct membership_ops *ops, void *ctx);
/* Closes all things, leaves the group, then calls `left` and frees itself. */
void membership_leave(struct membership *membership, void (*left)(void *ctx), void *ctx);
/* Visits the things that are open. Here, in _count and in _is_ready NULL is a membership yet to
 * come. */
void membership_each(struct membership *membership, void (*visit)(void *ctx, void *thing),
                     void *ctx);
/* The thing of the partition, or NULL. */
void *membership_find(struct membership *membership, int32_t partition);
uint32_t membership_count(const struct membership *membership);
/* A broker is connected, the first assignment came (even an empty one), and all things work. Else
 * why not, in one line. */
bool membership_is_ready(const struct membership *membership, const struct cluster *cluster,
                         char *ret_reason, size_t reason_size);
/* See broker_group_members(). */
bool membership_members(struct membership *membership, broker_members_done done, void *ctx);

#endif
