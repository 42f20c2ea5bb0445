/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_agents.h"

#include <assert.h>

static const struct text names[AGENTS_COUNT] = {
    {"a0", 2}, {"a1", 2}, {"a2", 2}, {"a3", 2}, {"a4", 2}};

/* One to three distinct agents. */
static void name_agents(struct dice *dice, struct arena *arena, struct workflow_step *step)
{
    struct text *agents = ARENA_ARRAY(arena, struct text, 3);
    uint32_t first = dice_roll(dice, AGENTS_COUNT);
    step->agent_count = 1 + (dice_percent(dice, 60) ? dice_roll(dice, 3) : 0);
    for (uint32_t i = 0; i < step->agent_count; i++)
        agents[i] = names[(first + i) % AGENTS_COUNT];
    step->agents = agents;
}

const struct workflow *agents_of_workflow(struct dice *dice, struct arena *arena,
                                          const struct workflow *workflow)
{
    struct workflow *copy = ARENA_NEW(arena, struct workflow);
    struct workflow_step *steps = ARENA_ARRAY(arena, struct workflow_step, workflow->step_count);
    *copy = *workflow;
    copy->steps = steps;
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        steps[i] = workflow->steps[i];
        name_agents(dice, arena, &steps[i]);
        if (dice_percent(dice, 60))
            steps[i].max_extension_ms = dice_roll(dice, 10000);
        if (dice_percent(dice, 60))
            steps[i].compensate.max_extension_ms = dice_roll(dice, 10000);
    }
    return copy;
}

static void change(struct agents *agents, struct dice *dice, uint32_t index)
{
    struct agent_capacity *known = &agents->known[index];
    bool healthy = dice_percent(dice, 70);
    int64_t free = (int64_t)dice_roll(dice, 5) - 1;
    *known = (struct agent_capacity){.agent = names[index],
                                     .healthy = healthy,
                                     .free = free,
                                     .latency_p95_ms = dice_roll(dice, 3),
                                     .why = healthy ? TEXT("well") : TEXT("circuit open")};
}

void agents_init(struct agents *agents, struct dice *dice)
{
    *agents = (struct agents){.routed = dice_percent(dice, 70)};
    for (uint32_t i = 0; i < AGENTS_COUNT; i++)
        change(agents, dice, i);
    agents->routing = (struct routing){.agents = agents->known,
                                       .count = AGENTS_KNOWN,
                                       .retry_ms_min = 50,
                                       .retry_ms_max = 50 + dice_roll(dice, 3000)};
}

void agents_change(struct agents *agents, struct dice *dice)
{
    change(agents, dice, dice_roll(dice, AGENTS_KNOWN));
}

void agents_repair(struct agents *agents)
{
    for (uint32_t i = 0; i < AGENTS_COUNT; i++) {
        agents->known[i].healthy = true;
        agents->known[i].free = WORKFLOW_STEPS_MAX;
    }
    agents->routing.count = AGENTS_COUNT;
}

const struct routing *agents_routing(const struct agents *agents)
{
    return agents->routed ? &agents->routing : NULL;
}

uint32_t agents_index(struct text agent)
{
    for (uint32_t i = 0; i < AGENTS_COUNT; i++) {
        if (text_equal(names[i], agent))
            return i;
    }
    assert(false && "one of the agents");
    return 0;
}
