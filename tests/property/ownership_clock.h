/* SPDX-License-Identifier: Apache-2.0 */
/* Time in a world: the broker's clock is the true one, and each host has its own, which may be
 * wrong, drift and jump in both directions. Monotonic clocks only move forward. */
#ifndef TESTS_PROPERTY_OWNERSHIP_CLOCK_H
#define TESTS_PROPERTY_OWNERSHIP_CLOCK_H

#include "tests/property/ownership_world.h"

/* All clocks are right. */
void clocks_begin(struct world *world);
/* True time goes on, and that of the hosts with it, each with its drift. */
void world_advance(struct world *world, int64_t ms);

/* From now on the clocks are wrong within what the design tolerates. */
void clocks_draw(struct world *world);
/* The clock of one host is set to another time within that. */
void clocks_jump(struct world *world);
/* It is set to a time far from the true one, or back. */
void clocks_jump_far(struct world *world);
/* All clocks are right. */
void clocks_repair(struct world *world);

#endif
