/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of orders, more than any table holds.
 *
 * The reply topic of every other one takes no records: the others must not notice, and when it
 * works again nothing is missing.
 *
 * Or the agent is silent and the scheduler away when their deadlines come: the supervisor asks for
 * as many as its window allows, ever more rarely, and for the others when the scheduler is back. */
#include "tests/property/ownership_history.h"

#include "services/scheduler/emitter/internal.h"
#include "services/supervisor/outstanding.h"
#include "services/supervisor/partition.h"
#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_supervisor.h"

enum {
    CROWD = 9000,        /* at least two Decisions each */
    FAULTS_SURVIVED = 4, /* of those below: this is where the others are turned off */
    CROWD_BATCH = 512,
    PER_ROUND = 100,
    ROUNDS_MAX = 20000,
    DELIVERIES = 1500,
    ROUND_MS = 10,
    OVERDUE = 11000, /* orders, each with at least one deadline */
    AWAY_ROUNDS = 600,
    AWAY_ROUND_MS = 500,
    ASKS_MAX = 5 /* for one deadline: at once, after 10 s, 20 s more, 40 s, 80 s */
};
_Static_assert(CROWD / 2 > SHARE_EFFECTS, "a target falls behind");
_Static_assert((int)OVERDUE > (int)OUTSTANDING_MAX, "the supervisor's table is full");
_Static_assert((int)SUPERVISOR_WINDOW < (int)OUTSTANDING_MAX, "and its window long before");
_Static_assert(AWAY_ROUNDS *AWAY_ROUND_MS < (1 + 2 + 4 + 8 + 16) * REPEAT_UNREAD_MS, "no sixth");

static void crowd_round(struct world *world, int64_t *next_request)
{
    for (uint32_t i = 0; i < DELIVERIES && instances_deliver(world); i++)
        continue;
    instance_turn(world, &world->instances[0]);
    supervisor_turn(world);
    agent_succeed(world, "p.requests.agent", next_request);
    world_advance(world, ROUND_MS);
}

/* What has happened to orders, as far as the log says it. */
static void count_events(struct world *world, int64_t *from, uint32_t *counts)
{
    int64_t end = log_end(world, "p.events", 0);
    for (; *from < end; ++*from) {
        struct record record;
        heap_arena_reset(&world->scratch);
        if (read_log(world, "p.events", 0, *from, &record) != NULL ||
            record.kind != RECORD_DECISION)
            continue;
        for (uint32_t i = 0; i < record.decision.event_count; i++)
            counts[record.decision.events[i].kind]++;
    }
}

static const char *serve_crowd(struct world *world, int64_t *next_request)
{
    uint32_t counts[EVENT_KIND_COUNT] = {0};
    int64_t read = 0;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        heap_arena_reset(&world->scratch);
        for (uint32_t i = 0; i < PER_ROUND && world->orders < CROWD; i++, world->orders++)
            submit_order_to(world, world->orders, world->workflow->version,
                            world->orders % 2 == 0 ? "p.replies.app" : "p.replies.dead");
        crowd_round(world, next_request);
        count_events(world, &read, counts);
        if (counts[EVENT_ORDER_PROCESSED] == CROWD)
            return NULL;
    }
    return wrong("%u of %u orders are Processed while one reply topic takes no records",
                 counts[EVENT_ORDER_PROCESSED], CROWD);
}

const char *ownership_crowd(struct ownership_run *run, uint64_t seed)
{
    static const enum broker_memory_partition_fault faults[] = {
        PARTITION_REFUSES, PARTITION_NO_LEADER, PARTITION_READ_ONLY, PARTITION_FAILS_APPEND};
    _Static_assert(FAULTS_SURVIVED <= sizeof(faults) / sizeof(faults[0]), "there are more");
    struct world *world = world_new(run, seed, 1);
    int64_t next_request[PARTITIONS_MAX] = {0};
    world->batch_max = CROWD_BATCH;
    world->routed = false;
    broker_memory_topic(world->kafka, "p.replies.dead", 1);
    broker_memory_set_partition_fault(world->kafka, "p.replies.dead", 0,
                                      faults[seed % FAULTS_SURVIVED]);
    supervisor_begin(world);
    instance_boot(world, &world->instances[0]);
    instance_take(world, &world->instances[0], 0);
    const char *failed = serve_crowd(world, next_request);
    broker_memory_clear_partition_faults(world->kafka);
    for (uint32_t round = 0; round < ROUNDS_MAX / 10 && failed == NULL; round++)
        crowd_round(world, next_request);
    if (failed == NULL)
        failed = model_check(world, 0);
    world_free(world);
    return failed;
}

/* ---- overdue ---- */

static void accept_all(struct world *world)
{
    uint32_t counts[EVENT_KIND_COUNT] = {0};
    int64_t read = 0;
    int64_t no_requests[PARTITIONS_MAX] = {INT64_MAX};
    for (uint32_t round = 0; round < ROUNDS_MAX && counts[EVENT_ORDER_ACCEPTED] < OVERDUE;
         round++) {
        heap_arena_reset(&world->scratch);
        for (uint32_t i = 0; i < PER_ROUND && world->orders < OVERDUE; i++, world->orders++)
            submit_order_to(world, world->orders, world->workflow->version, "p.replies.app");
        crowd_round(world, no_requests);
        count_events(world, &read, counts);
    }
}

/* Nothing is decided, and all deadlines of running steps pass. */
static const char *await_deadlines(struct world *world)
{
    int64_t before = log_end(world, "p.commands", 0);
    instance_shut(world, &world->instances[0]);
    for (uint32_t round = 0; round < AWAY_ROUNDS; round++) {
        for (uint32_t i = 0; i < DELIVERIES && instances_deliver(world); i++)
            continue;
        supervisor_turn(world);
        world_advance(world, AWAY_ROUND_MS);
    }
    int64_t asked = log_end(world, "p.commands", 0) - before;
    return asked >= SUPERVISOR_WINDOW && asked <= SUPERVISOR_WINDOW * ASKS_MAX
               ? NULL
               : wrong("the supervisor has asked %lld times, and its window is %d",
                       (long long)asked, SUPERVISOR_WINDOW);
}

static const char *end_all(struct world *world)
{
    uint32_t counts[EVENT_KIND_COUNT] = {0};
    int64_t read = 0;
    int64_t next_request[PARTITIONS_MAX] = {0};
    uint32_t ended = 0;
    instance_boot(world, &world->instances[0]);
    instance_take(world, &world->instances[0], 0);
    for (uint32_t round = 0; round < ROUNDS_MAX && ended < OVERDUE; round++) {
        crowd_round(world, next_request);
        /* What waits for a retry waits long. */
        world_advance(world, round % 100 == 99 ? AWAY_ROUND_MS : 0);
        count_events(world, &read, counts);
        ended = counts[EVENT_ORDER_PROCESSED] + counts[EVENT_ORDER_COMPENSATED] +
                counts[EVENT_ORDER_FAILED];
    }
    return ended == OVERDUE ? NULL : wrong("%u of %u overdue orders have ended", ended, OVERDUE);
}

const char *ownership_overdue(struct ownership_run *run, uint64_t seed)
{
    struct world *world = world_new(run, seed, 1);
    world->batch_max = CROWD_BATCH;
    world->routed = false;
    supervisor_begin(world);
    instance_boot(world, &world->instances[0]);
    instance_take(world, &world->instances[0], 0);
    accept_all(world);
    const char *failed = await_deadlines(world);
    if (failed == NULL)
        failed = end_all(world);
    world_free(world);
    return failed;
}
