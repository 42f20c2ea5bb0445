/* SPDX-License-Identifier: Apache-2.0 */
/* Agents as the console shows them. */
#include "tests/unit/console/world.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void beat(struct world *world, const char *agent, const char *instance, const char *circuit)
{
    char key[64];
    struct buffer bytes = {.size = 0};
    struct agent_health health = {.agent = text_of(agent),
                                  .instance = text_of(instance),
                                  .capacity = 16,
                                  .in_flight = 4,
                                  .latency_p95_ms = 80,
                                  .errors_permille = 15,
                                  .circuit = text_of(circuit),
                                  .last_error = TEXT("refused"),
                                  .heartbeat_ms = 2000,
                                  .reported_at = 1};
    int size = snprintf(key, sizeof(key), "%s/%s", instance, agent);
    codec_encode(world->codec, RECORD_AGENT_HEALTH, &health, &bytes);
    (void)broker_memory_append(world->kafka, "t.agents", 0, (struct text){key, (uint32_t)size},
                               (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
    world_settle(world);
}

/* Repeats the request until `count` agents are listed. */
static json_t *agents(struct world *world, const char *path, size_t count)
{
    for (int round = 0; round < 1000; round++) {
        json_t *body = world_get(world, 200, path);
        if (json_array_size(world_at(body, "agents")) == count)
            return body;
        json_decref(body);
        world_turn(world);
    }
    cr_assert_fail("there are not %zu agents", count);
    return NULL;
}

Test(console_agents, lists_agents_until_they_are_silent)
{
    struct world *world = world_new(1, "linear: Pay=pay");
    world_open(world);
    beat(world, "stock", "i1", "closed");
    beat(world, "pay", "i2", "open");
    beat(world, "pay", "i1", "closed");
    json_t *body = agents(world, "/api/agents", 3);
    cr_assert(json_is_true(world_at(body, "complete")));
    cr_assert_str_eq(world_text(body, "agents.0.agent"), "pay");
    cr_assert_str_eq(world_text(body, "agents.0.instance"), "i1");
    cr_assert_str_eq(world_text(body, "agents.1.circuit"), "open");
    cr_assert_str_eq(world_text(body, "agents.1.last_error"), "refused");
    cr_assert_eq(world_int(body, "agents.1.capacity"), 16);
    cr_assert_eq(world_int(body, "agents.1.errors_permille"), 15);
    cr_assert_str_eq(world_text(body, "agents.2.agent"), "stock");
    json_decref(body);
    json_decref(agents(world, "/api/agents?agent=pay", 2));
    json_decref(agents(world, "/api/agents?agent=none", 0));
    world_advance(world, 7000);
    json_decref(agents(world, "/api/agents", 0));
    world_free(world);
}
