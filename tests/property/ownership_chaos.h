/* SPDX-License-Identifier: Apache-2.0 */
/* The faults around the owners of a history: each world has some kinds of them, drawn from dice of
 * their own, so that a new kind leaves the histories of old seeds as they were. */
#ifndef TESTS_PROPERTY_OWNERSHIP_CHAOS_H
#define TESTS_PROPERTY_OWNERSHIP_CHAOS_H

#include "tests/property/ownership_world.h"

/* Which kinds of faults this world has; `without`: a bit for each that it has not. */
void chaos_draw(struct world *world, uint32_t without);
/* It has that kind as well. */
void chaos_begin(struct world *world, enum chaos_kind kind);
/* Now and then one of them begins or ends. */
void chaos_act(struct world *world);
/* All of them end. */
void chaos_end(struct world *world);
/* An error is to be injected at the failpoint. */
bool chaos_fails(struct world *world, const char *failpoint);
/* Whether no world has the faults that this counts. */
bool chaos_is_off(enum sometimes what);
/* Whether this world has that kind. */
bool chaos_has(const struct world *world, enum chaos_kind kind);

#endif
