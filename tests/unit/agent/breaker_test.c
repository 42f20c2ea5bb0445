/* SPDX-License-Identifier: Apache-2.0 */
/* Agents whose remote service is unhealthy: their partitions move to another instance and return
 * when the service recovers. Also their health records. */
#include "tests/lib/site.h"
#include "tests/unit/agent/world.h"

#include "services/agent/health/breaker.h"
#include "services/agent/health/health_report.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { FAR = 1 << 30, OPEN_MS = 2000 };

static const char *const touchy[] = {"agent.circuit.errors.min",
                                     "4",
                                     "agent.circuit.open.ms",
                                     "2000",
                                     "agent.circuit.successes",
                                     "2",
                                     "agent.circuit.open.max.ms",
                                     "5000",
                                     "agent.retry.backoff.ms",
                                     "1000",
                                     NULL};

static enum agent_circuit state_of(const struct instance *instance)
{
    return agent_breaker_state(agent_breaker(instance->agent));
}

static void request_many(struct world *world, const char *prefix, int count)
{
    char order[32];
    for (int i = 0; i < count; i++) {
        snprintf(order, sizeof(order), "%s%d", prefix, i);
        world_append_request(world, order, PRIORITY_NORMAL, DIRECTION_DO, 1, FAR);
    }
    world_settle(world);
}

static void expect_reported_once(struct world *world, const char *prefix, int count)
{
    char order[32];
    for (int i = 0; i < count; i++) {
        snprintf(order, sizeof(order), "%s%d", prefix, i);
        cr_assert_eq(world_count_reports(world, order), 1, "%s", order);
    }
}

static void succeed_all(struct instance *instance)
{
    while (instance->call_count > 0)
        world_succeed(instance, "");
}

Test(breaker, hands_partitions_to_a_healthy_instance_without_loss)
{
    struct world *world = world_new(1);
    struct instance *unhealthy = world_add(world, touchy);
    world_rebalance(world);
    request_many(world, "A", 8);
    cr_assert_eq(unhealthy->call_count, 8);
    struct instance *healthy = world_add(world, touchy);
    for (int i = 0; i < 4; i++)
        world_fail_unhealthy(unhealthy, EFFECT_NONE);
    cr_assert_eq(state_of(unhealthy), AGENT_CIRCUIT_OPEN);
    cr_assert_eq(agent_phase(unhealthy->agent), AGENT_PHASE_CIRCUIT_OPEN);
    request_many(world, "B", 20);
    cr_assert_eq(unhealthy->call_count, 4); /* the running ones */
    succeed_all(unhealthy);                 /* and they succeed */
    cr_assert_null(agent_group(unhealthy->agent));
    world_rebalance(world);
    for (int i = 0; i < 50; i++)
        succeed_all(healthy);
    cr_assert_eq(attempts_in_flight(agent_attempts(healthy->agent)), 0);
    cr_assert_eq(attempts_in_flight(agent_attempts(unhealthy->agent)), 0);
    /* Of the eight, those after the first unsettled one of their partition come twice. */
    for (int i = 0; i < 8; i++) {
        char order[32];
        snprintf(order, sizeof(order), "A%d", i);
        cr_assert_geq(world_count_reports(world, order), 1, "%s", order);
    }
    expect_reported_once(world, "B", 20);
    world_free(world);
}

Test(breaker, leaves_after_a_while_and_reports_running_calls_later)
{
    struct world *world = world_new(2);
    struct instance *unhealthy = world_add(world, touchy);
    world_rebalance(world);
    request_many(world, "A", 6);
    for (int i = 0; i < 4; i++)
        world_fail_unhealthy(unhealthy, EFFECT_UNKNOWN);
    /* A failure that may have been applied is reported: the next owner could not know. */
    cr_assert_eq(world_count(world, "t.commands"), 4);
    cr_assert_not_null(agent_group(unhealthy->agent));
    world_advance(world, 1000);
    cr_assert_null(agent_group(unhealthy->agent));
    world_succeed(unhealthy, "");
    cr_assert_eq(world_count(world, "t.commands"), 5);
    world_fail_unhealthy(unhealthy, EFFECT_NONE); /* the last one is left to the next owner */
    cr_assert_eq(world_count(world, "t.commands"), 5);
    cr_assert_eq(attempts_in_flight(agent_attempts(unhealthy->agent)), 0);
    cr_assert_eq(attempts_counts(agent_attempts(unhealthy->agent))->given_up, 1);
    world_free(world);
}

static void make_unhealthy(struct world *world, struct instance *instance)
{
    request_many(world, "unhealthy", 4);
    for (int i = 0; i < 4; i++)
        world_fail_unhealthy(instance, EFFECT_NONE);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_OPEN);
    cr_assert_null(agent_group(instance->agent));
}

Test(breaker, lets_one_call_through_at_a_time_without_a_probe)
{
    struct world *world = world_new(3);
    struct instance *instance = world_add(world, touchy);
    world_rebalance(world);
    make_unhealthy(world, instance);
    request_many(world, "B", 10);
    world_advance(world, OPEN_MS - 1);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_OPEN);
    world_advance(world, 1);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_HALF_OPEN);
    world_rebalance(world);
    cr_assert_eq(instance->call_count, 1);
    world_fail_unhealthy(instance, EFFECT_NONE); /* not yet: for twice as long */
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_OPEN);
    cr_assert_eq(instance->call_count, 0);
    world_advance(world, 2 * OPEN_MS - 1);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_OPEN);
    world_advance(world, 1);
    world_rebalance(world);
    cr_assert_eq(instance->call_count, 1);
    world_succeed(instance, "");
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_HALF_OPEN);
    cr_assert_eq(instance->call_count, 3); /* one of an order that failed before */
    world_succeed(instance, "");
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_CLOSED);
    cr_assert_eq(instance->call_count, 12); /* all that wait */
    succeed_all(instance);
    expect_reported_once(world, "unhealthy", 4);
    expect_reported_once(world, "B", 10);
    world_free(world);
}

/* ---- orders that the service cannot bear ---- */

static void fail_poison(struct instance *instance, struct agent_call *call)
{
    struct text order = call->request->order_id;
    if (order.data[0] == 'p')
        agent_call_fail(call, &(struct agent_failure){.name = TEXT("Http.503"),
                                                      .message = TEXT("refused"),
                                                      .effect = EFFECT_UNKNOWN,
                                                      .retriable = true,
                                                      .service_unhealthy = true});
    else
        agent_call_succeed(call, TEXT(""));
    (void)instance;
}

Test(breaker, stays_closed_for_two_orders_that_always_fail)
{
    struct world *world = world_new(8);
    struct instance *instance =
        world_add(world, (const char *[]){"agent.retry.backoff.max.ms", "500", NULL});
    char order[32];
    world->on_call = fail_poison;
    world_rebalance(world);
    world_request(world, "poison-1", DIRECTION_DO, 1, FAR);
    world_request(world, "poison-2", DIRECTION_DO, 1, FAR);
    for (int i = 0; i < 36; i++) {
        snprintf(order, sizeof(order), "healthy-%d", i);
        world_request(world, order, DIRECTION_DO, 1, FAR);
        cr_assert_eq(state_of(instance), AGENT_CIRCUIT_CLOSED, "after %d s", i);
        cr_assert_eq(world_count_reports(world, order), 1, "%s waits", order);
        for (int step = 0; step < 10; step++)
            world_advance(world, 100);
    }
    cr_assert_eq(attempts_in_flight(agent_attempts(instance->agent)), 2);
    world_free(world);
}

/* With the usual settings, at ten orders a second. */
Test(breaker, opens_within_seconds_when_the_service_is_down)
{
    struct world *world = world_new(8);
    struct instance *instance = world_add(world, NULL);
    char order[32];
    world->on_call = fail_poison;
    world_rebalance(world);
    for (int i = 0; state_of(instance) == AGENT_CIRCUIT_CLOSED; i++) {
        cr_assert_lt(i, 20, "after two seconds");
        snprintf(order, sizeof(order), "p%d", i);
        world_request(world, order, DIRECTION_DO, 1, FAR);
        world_advance(world, 100);
    }
    world_free(world);
}

Test(breaker, lets_other_orders_go_before_those_that_failed)
{
    struct world *world = world_new(9);
    struct instance *instance = world_add(world, touchy);
    world_rebalance(world);
    request_many(world, "poison", 2);
    request_many(world, "unlucky", 2);
    for (int i = 0; i < 4; i++)
        world_fail_unhealthy(instance, EFFECT_NONE);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_OPEN);
    world_advance(world, OPEN_MS);
    request_many(world, "healthy", 6);
    world->on_call = fail_poison;
    world_rebalance(world);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_CLOSED);
    expect_reported_once(world, "healthy", 6);
    expect_reported_once(world, "unlucky", 2);
    for (int i = 0; i < 360; i++) {
        world_advance(world, 100);
        cr_assert_eq(state_of(instance), AGENT_CIRCUIT_CLOSED, "after %d ms", 100 * i);
    }
    world_free(world);
}

/* No order is left behind when all have failed before. */
Test(breaker, closes_by_orders_that_failed_before_if_there_are_no_others)
{
    struct world *world = world_new(9);
    struct instance *instance = world_add(world, touchy);
    world_rebalance(world);
    make_unhealthy(world, instance);
    world_advance(world, OPEN_MS);
    world_rebalance(world);
    cr_assert_eq(instance->call_count, 1);
    world_fail_unhealthy(instance, EFFECT_NONE); /* it proves nothing: the next one is called */
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_HALF_OPEN);
    cr_assert_eq(instance->call_count, 1);
    world_succeed(instance, "");
    world_succeed(instance, "");
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_CLOSED);
    world_advance(world, 5000);
    succeed_all(instance);
    expect_reported_once(world, "unhealthy", 4);
    world_free(world);
}

static void fail_permanently(struct instance *instance, struct agent_call *call)
{
    (void)instance;
    agent_call_fail(call, &(struct agent_failure){.name = TEXT("Http.503"),
                                                  .message = TEXT("refused"),
                                                  .effect = EFFECT_NONE,
                                                  .service_unhealthy = true});
}

Test(breaker, keeps_capacity_for_other_orders_while_half_open)
{
    struct world *world = world_new(9);
    struct instance *instance =
        world_add(world, (const char *[]){"agent.circuit.errors.min", "3", "agent.circuit.open.ms",
                                          "2000", "agent.in.flight.max", "2", NULL});
    world_rebalance(world);
    world->on_call = fail_permanently;
    request_many(world, "poison", 3);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_OPEN);
    world_advance(world, OPEN_MS);
    world_rebalance(world);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_HALF_OPEN);
    world->on_call = fail_poison; /* and they wait for their next tries */
    world_request(world, "poison0", DIRECTION_DO, 2, FAR);
    world_request(world, "poison1", DIRECTION_DO, 2, FAR);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_HALF_OPEN);
    request_many(world, "healthy", 1);
    expect_reported_once(world, "healthy", 1);
    world_free(world);
}

Test(breaker, comes_back_when_the_probe_succeeds)
{
    struct world *world = world_new(4);
    world->probes = true;
    struct instance *instance = world_add(world, touchy);
    world_rebalance(world);
    make_unhealthy(world, instance);
    cr_assert_null(instance->probe);
    world_advance(world, OPEN_MS);
    cr_assert_not_null(instance->probe);
    world_advance(world, 60000); /* it takes its time */
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_OPEN);
    char reason[128];
    cr_assert_not(agent_ready(instance->agent, reason, sizeof(reason)));
    cr_assert_str_eq(reason, "the circuit of the remote service is open: refused");
    struct agent_probe *probe = instance->probe;
    instance->probe = NULL;
    agent_probe_end(probe, false, TEXT("503"));
    world_advance(world, 2 * OPEN_MS - 1);
    cr_assert_null(instance->probe);
    world_advance(world, 1);
    cr_assert_not_null(instance->probe);
    agent_probe_end(instance->probe, true, TEXT(""));
    world_rebalance(world);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_HALF_OPEN);
    while (instance->call_count > 0)
        world_succeed(instance, "");
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_CLOSED);
    expect_reported_once(world, "unhealthy", 4);
    world_free(world);
}

Test(breaker, stays_closed_on_business_errors)
{
    struct world *world = world_new(5);
    struct instance *instance = world_add(world, touchy);
    world_rebalance(world);
    request_many(world, "A", 100);
    while (instance->call_count > 0)
        world_fail(instance, EFFECT_NONE, false);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_CLOSED);
    expect_reported_once(world, "A", 100);
    world_free(world);
}

static void fail_at_once(struct instance *instance, struct agent_call *call)
{
    (void)instance;
    agent_call_fail(call, &(struct agent_failure){.name = TEXT("Ill"),
                                                  .message = TEXT("refused"),
                                                  .effect = EFFECT_NONE,
                                                  .retriable = true,
                                                  .service_unhealthy = true});
}

Test(breaker, opens_from_inside_a_call)
{
    struct world *world = world_new(6);
    struct instance *instance = world_add(world, touchy);
    world_rebalance(world);
    world->on_call = fail_at_once;
    request_many(world, "A", 50);
    cr_assert_eq(state_of(instance), AGENT_CIRCUIT_OPEN);
    cr_assert_eq(world->calls_started, 4);
    world->on_call = NULL;
    world_advance(world, OPEN_MS);
    world_rebalance(world);
    while (instance->call_count > 0)
        world_succeed(instance, "");
    expect_reported_once(world, "A", 50);
    world_free(world);
}

static void on_drained(void *ctx)
{
    ((struct instance *)ctx)->drained = true;
}

Test(breaker, stops_while_open)
{
    struct world *world = world_new(7);
    world->probes = true;
    struct instance *away = world_add(world, touchy);
    world_rebalance(world);
    make_unhealthy(world, away);
    world_advance(world, OPEN_MS);
    agent_drain(away->agent, on_drained, away);
    agent_probe_end(away->probe, true, TEXT(""));
    world_settle(world);
    cr_assert(away->drained);
    cr_assert_null(agent_group(away->agent));
    /* And before it has left. */
    struct instance *leaving = world_add(world, touchy);
    world_rebalance(world);
    cr_assert_eq(leaving->call_count, 4);
    request_many(world, "run", 1);
    for (int i = 0; i < 4; i++)
        world_fail_unhealthy(leaving, EFFECT_NONE);
    cr_assert_not_null(agent_group(leaving->agent));
    agent_drain(leaving->agent, on_drained, leaving);
    cr_assert_not(leaving->drained);
    world_succeed(leaving, "");
    world_advance(world, 200);
    cr_assert(leaving->drained);
    world_free(world);
}

/* ---- health records ---- */

/* The newest record in text; "" = none, "gone" = a tombstone. */
static const char *said_by(struct world *world, const char *key)
{
    static char text[512];
    static uint8_t memory[65536];
    struct broker_record record;
    text[0] = '\0';
    for (int64_t offset = 0; broker_memory_record(world->kafka, "t.agents", 0, offset, &record);
         offset++) {
        struct arena arena;
        struct record decoded;
        if (!text_equal(record.key, text_of(key)))
            continue;
        snprintf(text, sizeof(text), "gone");
        if (record.value.data == NULL)
            continue;
        arena_init(&arena, memory, sizeof(memory));
        site_decode(world->codec, record.value, &arena, &decoded);
        const struct agent_health *health = &decoded.agent_health;
        snprintf(text, sizeof(text),
                 "%u of %u, %u wait, %u partitions, %lld/%lld ms, %u permille, %.*s, \"%.*s\"",
                 health->in_flight, health->capacity, health->queued, health->partitions,
                 (long long)health->latency_p50_ms, (long long)health->latency_p95_ms,
                 health->errors_permille, TEXT_ARG(health->circuit), TEXT_ARG(health->last_error));
        cr_assert_eq(health->heartbeat_ms, 2000);
        cr_assert(text_equal(health->agent, TEXT("pay")));
    }
    return text;
}

Test(health_report, reports_changes_and_heartbeats)
{
    struct world *world = world_new(10);
    struct instance *instance =
        world_add(world, (const char *[]){"agent.in.flight.max", "4", "agent.circuit.errors.min",
                                          "100", NULL});
    cr_assert_str_eq(said_by(world, "a1/pay"),
                     "0 of 4, 0 wait, 0 partitions, 0/0 ms, 0 permille, closed, \"\"");
    world_rebalance(world);
    world_advance(world, HEALTH_GAP_MS);
    cr_assert_str_eq(said_by(world, "a1/pay"),
                     "0 of 4, 0 wait, 4 partitions, 0/0 ms, 0 permille, closed, \"\"");
    int64_t before = world_count(world, "t.agents");
    world_advance(world, 1999);
    cr_assert_eq(world_count(world, "t.agents"), before);
    world_advance(world, 1);
    cr_assert_eq(world_count(world, "t.agents"), before + 1);
    request_many(world, "A", 7);
    world_advance(world, HEALTH_LOAD_MS);
    cr_assert_str_eq(said_by(world, "a1/pay"),
                     "4 of 4, 3 wait, 4 partitions, 0/0 ms, 0 permille, closed, \"\"");
    world_advance(world, 30);
    world_succeed(instance, "");
    world_advance(world, 100);
    for (int i = 0; i < 3; i++)
        world_fail_unhealthy(instance, EFFECT_UNKNOWN);
    world_advance(world, 2000);
    cr_assert_str_eq(said_by(world, "a1/pay"),
                     "4 of 4, 2 wait, 4 partitions, 330/330 ms, 750 permille, closed, \"refused\"",
                     "%s", said_by(world, "a1/pay"));
    world_free(world);
}

Test(health_report, reports_an_open_circuit)
{
    struct world *world = world_new(11);
    struct instance *instance = world_add(world, touchy);
    world_rebalance(world);
    make_unhealthy(world, instance);
    world_advance(world, HEALTH_GAP_MS);
    cr_assert_str_eq(said_by(world, "a1/pay"),
                     "0 of 0, 0 wait, 0 partitions, 0/0 ms, 1000 permille, open, \"refused\"");
    world_advance(world, OPEN_MS);
    world_rebalance(world);
    world_advance(world, HEALTH_LOAD_MS);
    cr_assert_str_eq(said_by(world, "a1/pay"),
                     "1 of 1, 3 wait, 4 partitions, 0/0 ms, 1000 permille, half-open, \"refused\"");
    /* A minute later those errors do not count any more. */
    world_succeed(instance, "");
    world_succeed(instance, "");
    world_advance(world, HEALTH_CALLS_MS + 2000);
    cr_assert_str_eq(said_by(world, "a1/pay"),
                     "2 of 1000, 0 wait, 4 partitions, 0/0 ms, 0 permille, closed, \"refused\"");
    world_free(world);
}

Test(health_report, appends_a_tombstone_on_a_clean_stop)
{
    struct world *world = world_new(12);
    struct instance *instance = world_add(world, NULL);
    world_rebalance(world);
    request_many(world, "A", 1);
    agent_drain(instance->agent, on_drained, instance);
    world_settle(world);
    cr_assert_str_eq(said_by(world, "a1/pay"), "gone");
    world_succeed(instance, "");
    world_advance(world, 10000);
    cr_assert(instance->drained);
    cr_assert_str_eq(said_by(world, "a1/pay"), "gone");
    world_free(world);
}

/* Thousands of calls a second: ten records a second at most. */
Test(health_report, limits_records_of_a_busy_agent)
{
    struct world *world = world_new(13);
    struct instance *instance =
        world_add(world, (const char *[]){"agent.in.flight.max", "8", NULL});
    world_rebalance(world);
    world_advance(world, 1000);
    int64_t before = world_count(world, "t.agents");
    for (int i = 0; i < 1000; i++) {
        char order[16];
        snprintf(order, sizeof(order), "O%d", i);
        world_append_request(world, order, PRIORITY_NORMAL, DIRECTION_DO, 1, FAR);
        if (i % 2 == 0)
            continue;
        world_settle(world);
        if (i % 16 == 15)
            succeed_all(instance);
        world_advance(world, 2);
    }
    int64_t records = world_count(world, "t.agents") - before;
    cr_assert(records >= 1 && records <= 10, "%lld", (long long)records);
    world_free(world);
}

/* While the broker is away, one record waits, not one for each heartbeat. */
Test(health_report, keeps_one_record_waiting_while_the_broker_is_away)
{
    struct world *world = world_new(14);
    struct instance *instance = world_add(world, NULL);
    world_rebalance(world);
    world_advance(world, 1000);
    uint32_t before = broker_outstanding(instance->broker, BROKER_PRODUCER_EFFECTS);
    cr_assert_eq(before, 0);
    for (int i = 0; i < 100; i++) { /* the cluster does nothing meanwhile */
        clock_manual_advance(&world->clock, 1000);
        loop_once(world->loop, 0);
        cr_assert_leq(broker_outstanding(instance->broker, BROKER_PRODUCER_EFFECTS), 1);
    }
    world_settle(world);
    world_free(world);
}
