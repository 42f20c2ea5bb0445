/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a scheduler out of its group while its partitions are better off with other members, and
 * brings it back.
 *
 * - Its clock is wrong: an owner whose clock is wrong decides nothing. When the clock disagrees
 *   with all the leaders that were measured, for 10 s, the instance reports it and leaves. It joins
 *   again as soon as its clock agrees with the brokers' time as it was measured last, and otherwise
 *   every few minutes, because the brokers' clocks may have been the wrong ones; its claims measure
 *   again.
 * - Only its version cannot read a partition, because a newer scheduler has written to the log. It
 *   leaves, and joins again half a minute later; each time it stays longer before it leaves. It
 *   stays if it owns all partitions, as the last member does: the other partitions need it.
 */
#ifndef SERVICES_SCHEDULER_GROUP_WATCH_H
#define SERVICES_SCHEDULER_GROUP_WATCH_H

#include "services/scheduler/owner/owner.h"

struct group_watch;

struct group_watch_ops {
    /* Visits the owners of all partitions that are ours. */
    void (*each_owner)(void *ctx, void (*visit)(void *visitor, const struct owner *owner),
                       void *visitor);
    /* Whether other members own partitions. */
    bool (*has_others)(void *ctx);
    /* Closes all partitions and leaves the group; then calls group_watch_left(). */
    void (*leave)(void *ctx);
    void (*join)(void *ctx);
};

/* New; the instance is, or becomes, a member. */
struct group_watch *group_watch_new(struct cluster *cluster, const struct group_watch_ops *ops,
                                    void *ctx);
void group_watch_left(struct group_watch *watch);
/* From now on it neither leaves nor joins: the service ends. */
void group_watch_stop(struct group_watch *watch);
/* True: the instance is out of the group, for this reason. */
bool group_watch_is_away(const struct group_watch *watch, char *ret_reason, size_t size);
/* NULL does nothing. */
void group_watch_free(struct group_watch *watch);

#endif
