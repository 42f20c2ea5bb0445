/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor: the elected one of all supervisors (role "auditor"). It finds what the supervisor of
 * a single partition cannot find.
 *
 * - Stuck orders: without a deadline, a running attempt, a place in a queue, or an open alert; or
 *   with a deadline that passed long ago. There should be none. If there are, it raises the alert
 *   "OrderStuck" of their partition.
 * - Finished orders past their retention: it requests ExpireOrder, at a bounded rate.
 * - Instances of agents that vanished, also while no supervisor led: it writes a
 *   tombstone to <p>.agents.
 *
 * While it leads, it folds the partitions, one after another, into views of its own
 * (<data.dir>/auditor-N), on a connection of its own, walks over their orders in small pieces, and
 * closes them again. Querying each supervisor instead would need less disk and folding, but would
 * miss a partition whose supervisor is away or wrong, which is what the auditor is for. The views
 * stay when the lead is lost and continue from where they were. Everything the auditor does is
 * harmless if done twice or late, so nothing checks its token; ExpireOrder names it. */
#ifndef SERVICES_SUPERVISOR_AUDITOR_H
#define SERVICES_SUPERVISOR_AUDITOR_H

#include "replica/cluster.h"
#include "statestore/store.h"

struct auditor;

/* New: a candidate from now on. `cluster` is ready; all borrowed. REJECT "Config". */
enum error_class auditor_new(struct cluster *cluster, struct store_env *stores,
                             struct auditor **ret_auditor, struct error *ret_error);
/* Gives up the lead and no longer takes part; `stopped` is called once that is in the log. */
void auditor_stop(struct auditor *auditor, void (*stopped)(void *ctx), void *ctx);
/* Before cluster_close(). NULL does nothing. */
void auditor_free(struct auditor *auditor);

#endif
