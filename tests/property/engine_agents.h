/* SPDX-License-Identifier: Apache-2.0 */
/* Random agents: which are healthy, which have capacity, and workflows whose steps name them. */
#ifndef TESTS_PROPERTY_ENGINE_AGENTS_H
#define TESTS_PROPERTY_ENGINE_AGENTS_H

#include "engine/engine.h"
#include "tests/property/engine_random.h"

/* "a0" ...; the last one is in no table until everything is repaired. */
enum { AGENTS_COUNT = 5, AGENTS_KNOWN = AGENTS_COUNT - 1 };

struct agents {
    struct agent_capacity known[AGENTS_COUNT];
    struct routing routing;
    bool routed; /* false: there is no table */
};

/* The workflow with agents for its steps, and with extensions; new in the arena. */
const struct workflow *agents_of_workflow(struct dice *dice, struct arena *arena,
                                          const struct workflow *workflow);
void agents_init(struct agents *agents, struct dice *dice);
/* Changes the health or capacity of one agent. */
void agents_change(struct agents *agents, struct dice *dice);
/* All are healthy and have capacity. */
void agents_repair(struct agents *agents);
/* For engine_decide(); NULL if there is no table. */
const struct routing *agents_routing(const struct agents *agents);
uint32_t agents_index(struct text agent);

#endif
