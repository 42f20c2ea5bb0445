/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-orders among the owners of a world: what they tell each other goes from emitter to
 * `commands`, whatever owner dies. In some worlds all of it arrives; then every order has ended
 * before any is asked again. In the others messages are lost: a partition of `commands` takes or
 * gives none for up to twelve days, so that the emitter drops what is to go there, submissions grow
 * too old and orders expire; or records of it are gone before they are decided, and an operator
 * resets the partition. Then orders ask until all have answered. */
#ifndef TESTS_PROPERTY_OWNERSHIP_TREES_H
#define TESTS_PROPERTY_OWNERSHIP_TREES_H

#include "tests/property/ownership_world.h"

/* Before the first owner is opened: the workflow, and whether messages are lost. */
void trees_begin(struct world *world);
/* The kinds of faults that such a world does not have; a bit for each. */
uint32_t trees_excludes(const struct world *world);
void trees_free(struct world *world);
/* Submits, operates, has agents work, and perhaps loses messages. */
void trees_act(struct world *world);
/* Such an order, or a part of one. */
bool trees_has(struct text order_id);
/* The workflow, or body, that the order has; NULL: it is not deployed. */
const struct workflow *trees_workflow(const struct world *world,
                                      const struct order_details *details);
/* Has the owners of partitions that have lost commands go on. */
void trees_reset_purged(struct world *world);
/* In peace: operators repair what is in Error, and the clock goes on to the next deadline where
 * nothing else is left to do. */
void trees_go_on(struct world *world);
/* At rest: parents and their sub-orders agree (I19, I20), and none is held (I21). NULL, or what is
 * wrong. */
const char *trees_check(struct world *world);
/* All that has to be asked again has a deadline (I25). */
const char *trees_check_deadlines(struct world *world);
/* Messages in `commands`. */
int64_t trees_count_messages(struct world *world);
/* Counts what it is about; it counts in its log. */
void trees_see_decision(struct world *world, const struct decision *decision);
/* Of the counters in a run: the name of a situation that no case met, NULL if all were met. */
const char *trees_never(const struct ownership_sometimes *sometimes);
void trees_print(const struct ownership_sometimes *sometimes);

#endif
