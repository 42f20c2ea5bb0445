/* SPDX-License-Identifier: Apache-2.0 */
/* The backlog of one partition: how many attempts run at each agent, how many queued steps wait in
 * each queue, and how many are Waiting for what, counted as the orders are folded.
 *
 * A queue holds the steps that could go to the same agents. Its key names workflow, version, step
 * and direction, and the agent where only one will do (it was called before, and may remember). So
 * it follows from the order alone. The counts are those of the view, committed or not. The store
 * keeps the tally as of its last commit and a row for each queued step (statestore/waiting.h), so
 * that a claim counts nothing. The counts of an active backlog are part of the process's sums
 * (services/scheduler/router/router.h). Loop thread only. */
#ifndef SERVICES_SCHEDULER_ROUTER_BACKLOG_H
#define SERVICES_SCHEDULER_ROUTER_BACKLOG_H

#include "replica/fold/view.h"
#include "services/scheduler/router/router.h"

struct backlog;

/* The index that a view keeps for its backlog: the context is a struct backlog. */
extern const struct view_index backlog_index;

/* A step is under way. */
bool backlog_any_running(const struct backlog *backlog);

/* Whether the order's step waits in the queue with this key. What was read of a queue may be older:
 * since then the step may wait for the one agent that it has called, or the order may have got
 * another version of its workflow, where the step's index is that of another step. */
bool backlog_waits_in(const struct order *order, uint32_t step, struct text queue);

/* New. The counts of an active backlog are part of the router's sums. A standby's backlog is not
 * active: another scheduler runs its orders. */
struct backlog *backlog_new(struct router *router, bool active);
/* After the view that counts into it was closed. Takes its counts out of the sums. NULL does
 * nothing. */
void backlog_free(struct backlog *backlog);
void backlog_set_active(struct backlog *backlog, bool active);

#endif
