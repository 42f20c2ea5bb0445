/* SPDX-License-Identifier: Apache-2.0 */
/* The actors of a world: applications, operators, an agent, a supervisor, and faults. */
#ifndef TESTS_PROPERTY_OWNERSHIP_ACTORS_H
#define TESTS_PROPERTY_OWNERSHIP_ACTORS_H

#include "tests/property/ownership_world.h"

/* One action that the dice choose. */
void act(struct world *world);
/* The next order, or one that was submitted before. */
uint32_t some_order(struct world *world, struct dice *dice);

/* The agent learns of requests that arrived since the last time. */
void agent_read_requests(struct world *world);
/* It reports on one of the requests that it knows: once, rarely again. */
void agent_answer(struct world *world, uint32_t success_percent);
/* It reports on each request that it has not answered in time; false: there is none. */
bool agent_answer_open(struct world *world, uint32_t success_percent);
/* An agent does at once what it finds on its topic from `next` (by partition) on. */
void agent_succeed(struct world *world, const char *topic, int64_t *next);
/* The supervisor requests what is due according to a fold of the log, or (`early`) what is
 * not due yet. */
void supervise(struct world *world, bool early);

#endif
