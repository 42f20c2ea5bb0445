/* SPDX-License-Identifier: Apache-2.0 */
/* Warm standbys: this process also folds the logs of some partitions that other schedulers own, so
 * that a takeover folds only the rest.
 *
 * librdkafka accepts no assignor of ours, so each scheduler computes which partitions it opens a
 * standby for. Every few seconds it asks the group for its members and their partitions. The first
 * N by rendezvous hashing of (partition, instance), without the owner, are the standbys. All
 * schedulers come to the same result; until they do, a partition has a standby more or less.
 * Correctness does not depend on it: a scheduler without a standby folds from its last checkpoint
 * on disk. Loop thread only. */
#ifndef SERVICES_SCHEDULER_STANDBY_H
#define SERVICES_SCHEDULER_STANDBY_H

#include "replica/cluster/membership.h"
#include "services/scheduler/owner/owner.h"

struct standby;

/* A new owner in the state STANDBY, or NULL with an error. */
typedef struct owner *(*standby_open)(void *ctx, int32_t partition, struct error *ret_error);

/* New; NULL when scheduler.standby is 0. Call standby_begin once there is a membership. */
struct standby *standby_new(struct cluster *cluster, standby_open open, void *ctx);
void standby_begin(struct standby *standby, struct membership *membership);
/* Before the membership is left. Closes all. NULL does nothing, here and below. */
void standby_end(struct standby *standby);
void standby_free(struct standby *standby);
/* The partition is ours now: its standby, which the caller owns and promotes; or NULL. */
struct owner *standby_take(struct standby *standby, int32_t partition);
void standby_each(struct standby *standby, void (*visit)(void *ctx, struct owner *owner),
                  void *ctx);

/* What keeps a takeover from being warm, in one line; false: nothing. */
bool standby_trouble(const struct standby *standby, char *ret_text, size_t size);

/* For tests: whether `instance` is among the first `count` for the partition, of `members` but its
 * owner. */
bool standby_is_chosen(const struct broker_member *members, uint32_t member_count,
                       const char *instance, int32_t partition, const struct broker_member *owner,
                       int64_t count);

#endif
