/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories of several agents on the broker in memory, from a seed: requests, answers,
 * unhealthy services, lost appends, rebalances, lost sessions, kills, restarts. In every history,
 * each request is reported in the end, no commit runs ahead of its report, and no call starts past
 * its deadline (world.c asserts that). REEVE_SEED repeats a run. */
#include "tests/unit/agent/world.h"

#include "services/agent/health/breaker.h"
#include "tests/lib/seed.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 60, TURNS = 150, ORDERS_MAX = TURNS, FAR = 1000000000 };

struct history {
    struct world *world;
    char orders[ORDERS_MAX][16];
    uint32_t order_count;
    uint32_t open, half_open; /* how often a circuit was in this state */
};

static uint64_t draw(struct history *history, uint64_t below)
{
    return broker_memory_random(history->world->kafka, below);
}

static struct instance *any_alive(struct history *history)
{
    struct world *world = history->world;
    if (world->instance_count == 0)
        return NULL;
    struct instance *instance = &world->instances[draw(history, world->instance_count)];
    return instance->agent != NULL ? instance : NULL;
}

static void end_call(struct history *history, struct instance *instance)
{
    if (instance->call_count == 0)
        return;
    if (draw(history, 4) == 0)
        world_fail_unhealthy(instance, draw(history, 2) == 0 ? EFFECT_NONE : EFFECT_UNKNOWN);
    else if (draw(history, 3) == 0)
        world_fail(instance, (enum effect)draw(history, EFFECT_COUNT), draw(history, 2) == 0);
    else
        world_succeed(instance, "{\"n\":1}");
}

/* Everything that is committed has a report. */
static void check_commits(struct history *history)
{
    for (uint32_t i = 0; i < history->order_count; i++) {
        struct instance *instance = any_alive(history);
        const char *order = history->orders[i];
        if (instance == NULL || agent_group(instance->agent) == NULL)
            continue;
        int64_t committed = world_committed(instance, order);
        int64_t offset = 0;
        for (uint32_t j = 0; j < i; j++)
            offset += world_partition(history->orders[j]) == world_partition(order);
        if (offset < committed)
            cr_assert_geq(world_count_reports(history->world, order), 1, "%s", order);
    }
}

/* Circuits open after a few errors. */
static const char *const settings[] = {"agent.in.flight.max",
                                       "5",
                                       "agent.circuit.errors.min",
                                       "4",
                                       "agent.circuit.errors.percent",
                                       "30",
                                       "agent.circuit.open.ms",
                                       "500",
                                       "agent.circuit.open.max.ms",
                                       "1000",
                                       NULL};

static void turn(struct history *history)
{
    struct world *world = history->world;
    struct instance *instance = any_alive(history);
    uint64_t kind = draw(history, 20);
    if (instance != NULL) {
        enum agent_circuit state = agent_breaker_state(agent_breaker(instance->agent));
        history->open += state == AGENT_CIRCUIT_OPEN;
        history->half_open += state == AGENT_CIRCUIT_HALF_OPEN;
    }
    if (kind < 6) {
        char *order = history->orders[history->order_count++];
        snprintf(order, sizeof(history->orders[0]), "O%u", history->order_count);
        world_request(world, order, DIRECTION_DO, 1, FAR);
    } else if (kind < 9) {
        world_advance(world, (int64_t)draw(history, 400));
    } else if (kind == 9) {
        world_rebalance(world);
    } else if (kind == 10 && world->instance_count < WORLD_INSTANCES_MAX) {
        world_add(world, settings);
    } else if (instance == NULL) {
        return;
    } else if (kind == 11 && draw(history, 4) == 0) {
        world_kill(instance);
    } else if (kind == 12 && agent_group(instance->agent) != NULL) {
        broker_memory_revoke(instance->broker, WORLD_GROUP, true);
        world_settle(world);
    } else if (kind == 13 && draw(history, 3) == 0) {
        broker_memory_fail_producer(instance->broker, BROKER_PRODUCER_LOG);
        world_settle(world);
    } else {
        end_call(history, instance);
    }
}

static bool end_all_calls(struct world *world)
{
    bool idle = true;
    for (uint32_t i = 0; i < world->instance_count; i++) {
        struct instance *instance = &world->instances[i];
        if (instance->agent == NULL)
            continue;
        while (instance->call_count > 0)
            world_succeed(instance, "");
        idle = idle && attempts_in_flight(agent_attempts(instance->agent)) == 0;
    }
    return idle;
}

/* Faults stop. The instances that are alive go on, or a new one takes over from all of them. */
static void finish(struct history *history)
{
    static const struct broker_memory_faults none;
    struct world *world = history->world;
    bool takeover = draw(history, 2) == 0;
    broker_memory_set_faults(world->kafka, &none);
    for (uint32_t i = 0; i < world->instance_count && takeover; i++)
        if (world->instances[i].agent != NULL)
            world_kill(&world->instances[i]);
    if (any_alive(history) == NULL && takeover)
        world->instance_count = 0;
    if (world->instance_count < WORLD_INSTANCES_MAX)
        world_add(world, NULL);
    world_rebalance(world);
    check_commits(history);
    bool idle = false;
    for (int round = 0; round < 400; round++) {
        idle = end_all_calls(world);
        world_advance(world, 100);
        if (round % 20 == 0)
            world_rebalance(world); /* those whose circuit was open are back */
    }
    cr_assert(idle);
}

static bool someone_is_left(const struct world *world)
{
    for (uint32_t i = 0; i < world->instance_count; i++)
        if (world->instances[i].agent != NULL)
            return true;
    return false;
}

static void check_end(struct history *history)
{
    struct world *world = history->world;
    if (!someone_is_left(world))
        return; /* all instances of the case were killed */
    for (uint32_t i = 0; i < history->order_count; i++) {
        struct instance *instance;
        while ((instance = any_alive(history)) == NULL)
            continue;
        const char *order = history->orders[i];
        cr_assert_geq(world_count_reports(world, order), 1, "%s", order);
        cr_assert_gt(world_committed(instance, order), 0);
    }
}

static void run_case(uint64_t seed, struct history *sum)
{
    static struct history history;
    seed_begin(seed);
    history = (struct history){.world = world_new(seed)};
    struct broker_memory_faults faults = {.ack_without_offset = 50,
                                          .append_lost = (uint32_t)draw(&history, 200),
                                          .append_unknown = (uint32_t)draw(&history, 200),
                                          .reply_failed = (uint32_t)draw(&history, 100)};
    broker_memory_set_faults(history.world->kafka, &faults);
    world_add(history.world, NULL);
    world_rebalance(history.world);
    for (int i = 0; i < TURNS; i++)
        turn(&history);
    finish(&history);
    check_end(&history);
    sum->open += history.open;
    sum->half_open += history.half_open;
    world_free(history.world);
    seed_end();
}

Test(agent_random, reports_each_request_in_the_end)
{
    struct history sum = {.open = 0};
    uint64_t first = seed_first();
    uint64_t cases = seed_cases(CASES);
    for (uint64_t i = 0; i < cases; i++)
        run_case(first + i, &sum);
    if (cases < CASES)
        return;
    cr_assert_gt(sum.open, 0);
    cr_assert_gt(sum.half_open, 0);
}
