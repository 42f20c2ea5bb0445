/* SPDX-License-Identifier: Apache-2.0 */
/* What of one partition's orders runs and what waits for room, counted as they are folded: how many
 * attempts run at each agent, how many queued steps wait in each lane.
 *
 * A lane holds the steps that could go to the same agents: it names workflow, version, step and
 * direction, and the agent where only one will do (it has been asked before, and may remember). So
 * it follows from the order alone. The counts are those of the view, committed or not; beside them
 * the store has the tally as of its last commit, and a row for each queued step (see
 * statestore/waiting.h), so that nothing has to be counted at a claim. Counts also go into the
 * process's sums (services/scheduler/router.h). Loop thread only. */
#ifndef SERVICES_SCHEDULER_BACKLOG_H
#define SERVICES_SCHEDULER_BACKLOG_H

#include "schemas/codec.h"
#include "services/scheduler/router.h"
#include "statestore/waiting.h"

struct work;

/* A queued step, as its order has it. */
struct work_row {
    struct text lane; /* in `bytes` */
    int64_t queued_at;
    char bytes[LANE_BYTES_MAX];
};

struct work *work_new(struct router *router);
/* Apart: a standby's counts are of orders that somebody else runs, they stay out of the sums until
 * this says otherwise. */
void work_set_apart(struct work *work, bool apart);
/* Takes what it counted out of the sums. NULL is fine. */
void work_free(struct work *work);
/* Back to nothing: before work_decode(). Nothing is asked for. */
void work_clear(struct work *work);

/* The order as it is counts from now on, or (sign -1) no longer. */
void work_count(struct work *work, const struct order *order, int sign);
/* Its queued steps. */
uint32_t work_rows_of(const struct order *order, struct work_row ret_rows[WORKFLOW_STEPS_MAX]);

/* Appends the tally. */
void work_encode(const struct work *work, struct buffer *buffer);
/* Into one that counted nothing yet. False: that is no tally. */
bool work_decode(struct work *work, struct text tally);

#endif
