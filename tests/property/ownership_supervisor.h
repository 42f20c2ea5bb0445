/* SPDX-License-Identifier: Apache-2.0 */
/* A supervisor process next to the owners of a world: the partitions of services/supervisor, with
 * stores, a clock and a connection of their own. */
#ifndef TESTS_PROPERTY_OWNERSHIP_SUPERVISOR_H
#define TESTS_PROPERTY_OWNERSHIP_SUPERVISOR_H

#include "tests/property/ownership_world.h"

/* This world has one from now on, instead of the model of one. */
void supervisor_begin(struct world *world);
/* It ends as by SIGKILL and starts again, is cut off, or comes back. */
void supervisor_disturb(struct world *world);
/* It runs, connected. Does nothing in a world without one. */
void supervisor_repair(struct world *world);
/* Whatever its loop has to do now. */
void supervisor_turn(struct world *world);
/* Does nothing if it does not run. */
void supervisor_shut(struct world *world);
/* At rest: its stores have the rows of a fold of the log. */
const char *supervisor_compare(struct world *world);
/* It runs, but has not read the partition's log to its end, or cannot. */
bool supervisor_is_behind(struct world *world, int32_t partition);
/* It exists. */
struct process *supervisor_process(struct world *world);
/* It runs. */
struct view *supervisor_view(struct world *world, int32_t partition);

#endif
