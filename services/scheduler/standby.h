/* SPDX-License-Identifier: Apache-2.0 */
/* Standing by: of partitions that other schedulers own, the log is folded into a store here too, so
 * that a takeover needs only its tail.
 *
 * librdkafka takes no assignment of ours, so each scheduler computes by itself for which partitions
 * it stands by: it asks the group every few seconds who is there and who owns what, and the first N
 * by rendezvous hashing of (partition, instance), the owner left out, are the standbys. All come to
 * the same result; while they do not, a partition has a standby more or less. Nothing rests on it:
 * who is not the standby folds from its last checkpoint on disk. Loop thread only. */
#ifndef SCHEDULER_STANDBY_H
#define SCHEDULER_STANDBY_H

#include "replica/membership.h"
#include "services/scheduler/owner.h"

struct standby;

struct standby_ops {
    /* A new owner that stands by for the partition, or NULL with an error. */
    struct owner *(*open)(void *ctx, int32_t partition, struct error *ret_error);
};

/* New; NULL when scheduler.standby is 0. Call standby_begin once there is a membership. */
struct standby *standby_new(struct cluster *cluster, const struct standby_ops *ops, void *ctx);
void standby_begin(struct standby *standby, struct membership *membership);
/* Before the membership is left. Closes all. NULL is fine, here and below. */
void standby_end(struct standby *standby);
void standby_free(struct standby *standby);
/* The partition is ours now: its standby, to be promoted by the caller, who owns it; or NULL. */
struct owner *standby_take(struct standby *standby, int32_t partition);
void standby_each(struct standby *standby, void (*visit)(void *ctx, void *owner), void *ctx);

/* Whether `instance` is among the first `count` for the partition, of `members` but its owner. */
bool standby_is_chosen(const struct broker_member *members, uint32_t member_count,
                       const char *instance, int32_t partition, const struct broker_member *owner,
                       int64_t count);

#endif
