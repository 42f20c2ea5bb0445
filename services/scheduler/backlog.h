/* SPDX-License-Identifier: Apache-2.0 */
/* What of one partition's orders runs and what waits for room, counted as they are folded: how many
 * attempts run at each agent, how many queued steps wait in each queue.
 *
 * A queue holds the steps that could go to the same agents: it names workflow, version, step and
 * direction, and the agent where only one will do (it has been asked before, and may remember). So
 * it follows from the order alone. The counts are those of the view, committed or not; beside them
 * the store has the tally as of its last commit, and a row for each queued step (see
 * statestore/waiting.h), so that nothing has to be counted at a claim. Counts also go into the
 * process's sums (services/scheduler/router.h). Loop thread only. */
#ifndef SERVICES_SCHEDULER_BACKLOG_H
#define SERVICES_SCHEDULER_BACKLOG_H

#include "replica/view.h"
#include "services/scheduler/router.h"

struct backlog;

/* The index that a view keeps for its backlog: the context is a struct backlog. */
extern const struct view_index backlog_index;

/* New. The counts of an active backlog are part of the router's sums. A standby's backlog is not
 * active: another scheduler runs its orders. */
struct backlog *backlog_new(struct router *router, bool active);
/* After the view that counts into it was closed. Takes its counts out of the sums. NULL does
 * nothing. */
void backlog_free(struct backlog *backlog);
void backlog_set_active(struct backlog *backlog, bool active);

#endif
