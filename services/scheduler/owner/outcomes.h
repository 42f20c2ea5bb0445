/* SPDX-License-Identifier: Apache-2.0 */
/* What became of orders and of attempts of steps, as metrics: how often, and how long it took.
 *
 * An owner looks at each Decision when it makes it, while the order is still as it was before, and
 * counts once the Decision is acknowledged. So a Decision counts at the instance that made it and
 * nowhere else; folding counts nothing. Names of workflows, steps and errors become labels, within
 * limits: what exceeds them is counted as "other". Times are those of the Decisions. */
#ifndef SERVICES_SCHEDULER_OWNER_OUTCOMES_H
#define SERVICES_SCHEDULER_OWNER_OUTCOMES_H

#include "base/arena.h"
#include "engine/engine.h"
#include "platform/metrics.h"

enum {
    OUTCOMES_WORKFLOWS_MAX = 100,
    OUTCOMES_STEPS_MAX = 256,     /* of workflows and directions */
    OUTCOMES_ERRORS_MAX = 64,     /* names that no Retry or Catch of their step mentions */
    OUTCOMES_ATTEMPTS_MAX = 2000, /* of steps, outcomes and errors */
};

struct outcomes;

/* One thing that a Decision adds. */
struct observation {
    struct metrics_counter *counter;
    struct metrics_histogram *duration; /* NULL: it has none */
    int64_t us;
};

struct outcome_list {
    struct observation *observations;
    uint32_t count;
};

struct outcomes *outcomes_new(struct metrics *metrics);
void outcomes_free(struct outcomes *outcomes);

/* `before`: the order without the Decision, NULL: there is none. `workflow`: the order's, NULL:
 * unknown. The list is in `arena`. */
void outcomes_of(struct outcomes *outcomes, const struct decision *decision,
                 const struct order *before, const struct workflow *workflow, struct arena *arena,
                 struct outcome_list *ret_list);
/* The Decision is acknowledged. */
void outcomes_count(const struct outcome_list *list);

#endif
