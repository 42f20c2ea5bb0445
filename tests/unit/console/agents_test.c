/* SPDX-License-Identifier: Apache-2.0 */
/* Agents as the console shows them. */
#include "tests/lib/site.h"
#include "tests/unit/console/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void beat(struct world *world, const char *agent, const char *instance, const char *circuit)
{
    char key[64];
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
    site_append(world->kafka, world->codec, "t.agents", 0, (struct text){key, (uint32_t)size},
                RECORD_AGENT_HEALTH, &health);
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
    SHOWS(agents(world, "/api/agents", 3), {"complete", "true"}, {"agents.0.agent", "pay"},
          {"agents.0.instance", "i1"}, {"agents.1.circuit", "open"},
          {"agents.1.last_error", "refused"}, {"agents.1.capacity", "16"},
          {"agents.1.errors_permille", "15"}, {"agents.2.agent", "stock"});
    json_decref(agents(world, "/api/agents?agent=pay", 2));
    json_decref(agents(world, "/api/agents?agent=none", 0));
    world_advance(world, 7000);
    json_decref(agents(world, "/api/agents", 0));
    world_free(world);
}

/* ---- pauses ---- */

#define BODY "{\"by\": \"ann\", \"reason\": \"the bank is down\"}"

static void post(struct world *world, int status, const char *path, const char *body,
                 const char *code)
{
    world_refuses(world, status, code, path, body, "");
}

Test(console_agents, pauses_an_agent_until_it_is_resumed)
{
    struct world *world = world_new(1, "A{apay}");
    world_open(world);
    beat(world, "pay", "i1", "closed");
    SHOWS(agents(world, "/api/agents", 1), {"agents.0.paused", "null"}, {"pauses", "[0]"});

    json_t *body = world_post(world, 200, "/api/agents/pay/pause", BODY);
    cr_assert_gt(world_time(body, "paused.at"), 0);
    SHOWS(body, {"agent", "pay"}, {"paused.by", "ann"}, {"paused.reason", "the bank is down"},
          {"instances", "1"});
    SHOWS(agents(world, "/api/agents?agent=pay", 1), {"agents.0.paused.by", "ann"});

    SHOWS(world_post(world, 409, "/api/agents/pay/pause",
                     "{\"by\": \"bob\", \"reason\": \"maintenance\"}"),
          {"code", "AlreadyPaused"}, {"detail", "ann has paused agent pay: the bank is down"},
          {"paused.by", "ann"});

    world_close(world);
    world_wipe(world);
    world_open(world);
    /* Another console shows it. */
    SHOWS(agents(world, "/api/agents", 1), {"agents.0.paused.by", "ann"});
    SHOWS(world_post(world, 200, "/api/agents/pay/resume", BODY), {"paused", "null"});
    post(world, 409, "/api/agents/pay/resume", BODY, "NotPaused");
    SHOWS(agents(world, "/api/agents", 1), {"agents.0.paused", "null"});
    world_free(world);
}

Test(console_agents, shows_the_pause_of_an_agent_without_an_instance)
{
    struct world *world = world_new(1, "A{apay}");
    world_open(world);
    SHOWS(world_post(world, 200, "/api/agents/unknown/pause", BODY), {"instances", "0"},
          {"workflows", "0"});
    SHOWS(agents(world, "/api/agents", 0), {"pauses.0.agent", "unknown"}, {"pauses.0.by", "ann"});
    world_free(world);
}

Test(console_agents, refuses_what_is_not_a_pause)
{
    struct world *world = world_new(1, "A{apay}");
    char path[256];
    char body[MESSAGE_BYTES_MAX + 128];
    static char many[MESSAGE_BYTES_MAX + 2];
    memset(many, 'x', sizeof(many) - 1);
    world_open(world);
    static const char *const names[] = {"a%2Fb", "a%20b", "%00", "a%0Ab", "%C3%A9", "a%3Ab"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "/api/agents/%s/pause", names[i]);
        post(world, 400, path, BODY, "BadRequest");
    }
    snprintf(path, sizeof(path), "/api/agents/%.65s/resume", many);
    post(world, 400, path, BODY, "BadRequest");
    static const char *const bodies[] = {
        "",
        "x",
        "[]",
        "{}",
        "{\"by\": \"ann\"}",
        "{\"reason\": \"down\"}",
        "{\"by\": \"\", \"reason\": \"down\"}",
        "{\"by\": \"ann\", \"reason\": \"\"}",
        "{\"by\": \"a\\u001b[2J\", \"reason\": \"down\"}",
        "{\"by\": \"ann\", \"reason\": \"a\\nb\"}",
        "{\"by\": 7, \"reason\": \"down\"}",
        "{\"by\": \"ann\", \"reason\": \"down\", \"paused\": false}",
        "{\"by\": \"ann\", \"reason\": \"down\", \"agent\": \"other\"}",
        "{\"by\": \"ann\", \"by\": \"bob\", \"reason\": \"down\"}",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        post(world, 400, "/api/agents/pay/pause", bodies[i], "BadRequest");
    snprintf(body, sizeof(body), "{\"by\": \"%s\", \"reason\": \"down\"}", many);
    post(world, 400, "/api/agents/pay/pause", body, "BadRequest");
    snprintf(body, sizeof(body), "{\"by\": \"ann\", \"reason\": \"%s\"}", many);
    post(world, 400, "/api/agents/pay/pause", body, "BadRequest");
    SHOWS(world_get(world, 200, "/api/agents"), {"pauses", "[0]"});
    world_free(world);
}
