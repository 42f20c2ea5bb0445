/* SPDX-License-Identifier: Apache-2.0 */
/* The role "schedules": the elected one of all supervisors submits an order at each tick of each
 * schedule, to <p>.submissions like any client.
 *
 * Exactly once follows from the order's id, NAME@TICK, and not from the lease: a second submission
 * of a tick is answered as a repetition, whichever supervisor sends it. So the leader keeps no
 * state. When its term begins, it submits every tick since the schedule was deployed or resumed
 * (since its newest record was appended), but none older than CatchUpSeconds. During the term it
 * submits a tick again when it does not know whether the submission arrived.
 *
 * It knows the time from the brokers' append times alone, as the auditor does. */
#ifndef SERVICES_SUPERVISOR_SCHEDULES_H
#define SERVICES_SUPERVISOR_SCHEDULES_H

#include "replica/cluster/cluster.h"

struct schedules;

enum {
    SCHEDULES_TICKS_MAX = 1000,     /* of a schedule, that are made up at once: the newest */
    SCHEDULES_IN_FLIGHT_MAX = 1000, /* submissions without an acknowledgement */
    SCHEDULES_LATE_S = 60           /* an order submitted later than that was made up */
};

/* New: a candidate from now on. `cluster` is ready and follows workflows; borrowed. REJECT
 * "Config". */
enum error_class schedules_new(struct cluster *cluster, struct schedules **ret_schedules,
                               struct error *ret_error);
/* True, with a reason for operators: this instance leads and cannot read the schedules. */
bool schedules_trouble(const struct schedules *schedules, char *ret_reason, size_t reason_size);
/* Gives up the lead and no longer takes part; `stopped` is called once that is in the log. */
void schedules_stop(struct schedules *schedules, void (*stopped)(void *ctx), void *ctx);
/* Before cluster_close(). NULL does nothing. */
void schedules_free(struct schedules *schedules);

#endif
