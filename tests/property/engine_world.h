/* SPDX-License-Identifier: Apache-2.0 */
/* Remote services and their agents, as one order sees them: calls that are applied late or never,
 * lost answers, honest reports of what is known, and a ledger of the applied operations.
 *
 * A service remembers keys: a repeated do is answered as the first one, a do after its undo is
 * refused. Each agent has a service of its own, which knows nothing of the others' keys. */
#ifndef TESTS_PROPERTY_ENGINE_WORLD_H
#define TESTS_PROPERTY_ENGINE_WORLD_H

#include "engine/engine.h"
#include "tests/property/engine_agents.h"

enum { GENERATIONS_MAX = 64, CALLS_MAX = 4096 };

struct ledger { /* of one step at one agent, by the generation of the do's key */
    bool applied[GENERATIONS_MAX];
    bool undone[GENERATIONS_MAX];
};

struct call {
    uint32_t step;
    uint32_t agent;
    enum direction direction;
    uint32_t attempt;
    uint32_t do_generation;
    int64_t complete_by;
    bool started; /* the agent has called the service */
    bool landed;  /* the service has finished with the call */
    bool reports; /* the report is in flight */
    struct report_step report;
};

struct services {
    struct dice *dice;
    struct arena *arena; /* of their answers */
    const struct workflow *workflow;
    bool healthy; /* everything succeeds from now on */
    struct ledger ledgers[WORKFLOW_STEPS_MAX][AGENTS_COUNT];
    struct call calls[CALLS_MAX];
    uint32_t call_count;
};

/* Delivers a request to its agent. A known attempt gets more time. */
void services_request(struct services *services, uint32_t step, const struct step_request *request);
/* Advances one of the calls; true with a report that is now delivered. */
bool services_step(struct services *services, int64_t now, struct report_step *ret_report);
/* Whether no call has anything left to do. */
bool services_idle(struct services *services);
/* Applies the calls in flight, without reports. */
void services_drain(struct services *services);
/* Whether the step has no remaining effect and no call in flight. */
bool services_nothing_applied(const struct services *services, uint32_t step);
/* An operator does the step outside, or undoes it, under the key of the generation: whatever an
 * attempt has applied by then is that operation. */
void services_by_hand(struct services *services, uint32_t step, enum direction direction,
                      struct text agent, uint32_t do_generation);
/* Keys of the step that were applied and not undone. */
uint32_t services_net(const struct services *services, uint32_t step);

#endif
