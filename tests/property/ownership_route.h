/* SPDX-License-Identifier: Apache-2.0 */
/* Routing in a world: in some of them schedulers start steps only where an agent is healthy and
 * has capacity, which comes and goes, and while no operator has paused it. */
#ifndef TESTS_PROPERTY_OWNERSHIP_ROUTE_H
#define TESTS_PROPERTY_OWNERSHIP_ROUTE_H

#include "tests/property/ownership_fold.h"

/* Whether a new world is one with routing, or one where it is switched off but pauses count. */
void route_draw(struct world *world);
/* With the instance's process; nothing in worlds without routing. */
void route_boot(struct world *world, struct instance *instance);
void route_shut(struct instance *instance);
/* What a scheduler's timer does. */
void route_tick(struct instance *instance);

/* The agent is another one for an instance now; an operator may pause or resume it. */
void route_disturb(struct world *world, struct instance *instance);
/* It is healthy, has a little capacity, and is resumed. */
void route_make_peace(struct world *world, struct instance *instance);

/* The tally and the rows of a store against a fold that goes as far as it; NULL, or what is
 * wrong. */
const char *route_compare(struct world *world, const struct instance *instance, struct store *store,
                          const struct fold *fold);
/* What the views of its partitions find to be waiting is what they count. */
const char *route_compare_live(const struct instance *instance);

#endif
