/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor: the elected one of all supervisors (role "auditor"). It finds what the supervisor of
 * a single partition cannot find.
 *
 * - Stuck orders: without a deadline, a running attempt, a place in a queue, or an open alert; or
 *   with a deadline that passed long ago. There should be none. If there are, it raises the alert
 *   "OrderStuck" of their partition.
 * - Instances of agents that vanished, also while no supervisor led: it writes a
 *   tombstone to <p>.agents (agent_cleaner.h).
 *
 * It knows the time from the brokers' append times alone, and takes no outage of theirs for silence
 * or delay: its own clock may be wrong.
 *
 * While it leads, it walks over the orders of the partitions, one after another, in small pieces.
 * Of a partition that this instance watches it reads the store of the watch: that is a function of
 * the log alone, whatever the watch makes of it. Any other it folds by itself into a store
 * of the same directory, which it closes after its walk: a partition is looked at even when its
 * supervisor is away or wrong. Everything the auditor does is harmless if done twice or late, so
 * nothing checks its token. */
#ifndef SERVICES_SUPERVISOR_AUDITOR_H
#define SERVICES_SUPERVISOR_AUDITOR_H

#include "replica/follow/follower.h"
#include "statestore/store.h"

struct auditor;

/* The partitions that this instance watches. */
struct auditor_watch {
    /* The partition's follower, or NULL: it is not watched here. *ret_current: it has folded to the
     * end of the log, or nearly so. */
    struct follower *(*follower_of)(void *ctx, int32_t partition, bool *ret_current);
    void *ctx;
};

/* New: a candidate from now on. `cluster` is ready; all borrowed. REJECT "Config". */
enum error_class auditor_new(struct cluster *cluster, struct store_env *stores,
                             const struct auditor_watch *watch, struct auditor **ret_auditor,
                             struct error *ret_error);
/* The partition is going to be watched here: the auditor closes what it has of it. */
void auditor_release(struct auditor *auditor, int32_t partition);
/* Gives up the lead and no longer takes part; `stopped` is called once that is in the log. */
void auditor_stop(struct auditor *auditor, void (*stopped)(void *ctx), void *ctx);
/* Before cluster_close(). NULL does nothing. */
void auditor_free(struct auditor *auditor);

#endif
