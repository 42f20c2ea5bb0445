/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor: one among all supervisors, elected (role "auditor"), who looks after what no single
 * partition's supervisor can.
 *
 * - Orders that are stuck: neither a live deadline nor a live request nor a place in a queue nor an
 *   open alert, or a deadline that passed long ago without anybody acting. There must be none; if
 *   there are, an alert "OrderStuck" of their partition says so.
 * - Finished orders past their retention: asks the scheduler for ExpireOrder, at a bounded rate.
 * - Instances of agents that vanished: a tombstone in <p>.agents.
 *
 * While it leads it folds the partitions, one after another, into views of its own
 * (<data.dir>/auditor-N), on a connection of its own, walks over their orders in small pieces, and
 * closes them again. It could ask each supervisor
 * about its partitions instead, for less disk and folding; but then it would see nothing of a
 * partition whose supervisor is away, blind or wrong, and those are what an auditor is for: a
 * second pair of eyes on the log, with nothing between. The views stay when the lead is lost and go
 * on from where they were. All that it does is harmless if done twice or late, so nothing checks
 * its token; ExpireOrder names it. */
#ifndef SERVICES_SUPERVISOR_AUDITOR_H
#define SERVICES_SUPERVISOR_AUDITOR_H

#include "replica/cluster.h"
#include "statestore/store.h"

struct auditor;

/* New: a candidate from now on. `cluster` is ready; all borrowed. REJECT "Config". */
enum error_class auditor_new(struct cluster *cluster, struct store_env *stores,
                             struct auditor **ret_auditor, struct error *ret_error);
/* Gives the lead up and takes part no more; `stopped` is called once that is in the log. */
void auditor_stop(struct auditor *auditor, void (*stopped)(void *ctx), void *ctx);
/* Before cluster_close(). NULL is fine. */
void auditor_free(struct auditor *auditor);

#endif
