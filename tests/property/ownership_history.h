/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_OWNERSHIP_HISTORY_H
#define TESTS_PROPERTY_OWNERSHIP_HISTORY_H

#include "tests/property/ownership_world.h"

/* One history from `seed`, with `steps` random acts, then peace until all orders have ended. NULL,
 * or what went wrong in one line (static). */
const char *ownership_history(struct ownership_run *run, uint64_t seed, uint32_t steps);

/* The same with sub-orders (ownership_trees.h). */
const char *ownership_trees(struct ownership_run *run, uint64_t seed, uint32_t steps);

/* ownership_poison.c. A process with several partitions, and commands that crash the process
 * that decides them: they are quarantined, and no others are. */
const char *ownership_poison(struct ownership_run *run, uint64_t seed);

/* ownership_crowd.c. Thousands of orders while one application's reply topic takes no records. */
const char *ownership_crowd(struct ownership_run *run, uint64_t seed);
/* The same file. More deadlines pass than the supervisor's table holds while nothing is decided. */
const char *ownership_overdue(struct ownership_run *run, uint64_t seed);

/* ownership_isolation.c. One thing is broken: what does not need it carries on. */
const char *ownership_isolation(struct ownership_run *run, uint64_t seed);

/* ownership_log_faults.c. A topic loses its tail, its beginning or everything: the owner carries on
 * or stops as it must. */
const char *ownership_log_fault(struct ownership_run *run, uint64_t seed);

#endif
