/* SPDX-License-Identifier: Apache-2.0 */
/* Group membership turned into things that live as long as their partition is ours.
 *
 * A rebalance of the eager protocol revokes everything and gives most of it back a moment later. A
 * thing whose partition comes back is only suspended meanwhile and keeps its state; the others are
 * closed once the new assignment is known. */
#ifndef RUNTIME_MEMBERSHIP_H
#define RUNTIME_MEMBERSHIP_H

#include "runtime/node.h"

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
};

/* New; joins `group` on `topic`. */
struct membership *membership_join(struct node *node, const char *group, const char *topic,
                                   const struct membership_ops *ops, void *ctx);
/* Closes all things, leaves the group, then calls `left` and frees itself. */
void membership_leave(struct membership *membership, void (*left)(void *ctx), void *ctx);
/* Visits the things that are open. */
void membership_each(struct membership *membership, void (*visit)(void *ctx, void *thing),
                     void *ctx);
/* The thing of the partition, or NULL. */
void *membership_find(struct membership *membership, int32_t partition);
/* True after the first assignment, even an empty one. */
bool membership_is_assigned(const struct membership *membership);
uint32_t membership_count(const struct membership *membership);
/* See broker_group_members(). */
bool membership_members(struct membership *membership, broker_members_done done, void *ctx);

#endif
