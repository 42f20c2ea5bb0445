/* SPDX-License-Identifier: Apache-2.0 */
/* One thing is broken for a long time (L5): a topic of requests, the alerts, one partition of the
 * log, a store, the supervisor, an agent that never answers, a command that kills ... Orders that
 * do not need it end as soon as ever. When it works again, all the others end too, and nothing is
 * missing in any topic. */
#include "tests/property/ownership_history.h"

#include "platform/failpoint.h"
#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_supervisor.h"
#include "tests/property/ownership_upgrade.h"

#include <assert.h>
#include <stdio.h>

enum {
    ISOLATED_PARTITIONS = 2,
    HIT = 1, /* the partition that is broken, if one is */
    WAVES = 5,
    WAVE_ORDERS = 8,
    ORDERS = WAVES * WAVE_ORDERS,
    DELIVERIES = 1500,
    ROUND_MS = 10,
    SOON_MS = 5000,      /* an order that does not need what is broken */
    STALLED_MS = 15000,  /* the same, until the capacity that the broken partition has is free */
    DEADLY_MS = 60000,   /* while the process is killed five times */
    BETWEEN_MS = 240000, /* waves: in all, longer than an effect is tried */
    IDLE_MS = 2000,      /* a round in which nothing is expected */
    LATE_ROUNDS_MAX = 20000,
    LATE_JUMP_ROUNDS = 50, /* every so often, one in which deadlines come */
    QUIET_ROUNDS = 200,
    VERSION_SHARE = 8
};

enum broken {
    BROKEN_REQUESTS, /* of the agent "spare" */
    BROKEN_AGENT,    /* "spare" does not answer */
    BROKEN_ALERTS,
    BROKEN_DEAD_LETTERS,
    BROKEN_REPLIES, /* of one application */
    BROKEN_COMMANDS,
    BROKEN_LOG,
    BROKEN_STORE,
    BROKEN_SUPERVISOR,
    BROKEN_POISON,    /* the first order kills the process that decides it */
    BROKEN_WORKFLOWS, /* they cannot be read when "spare" is deployed */
    BROKEN_SCHEMAS,   /* when a command of an unknown one comes */
    BROKEN_VERSION,   /* the log has a record that only a newer version can read */
    BROKEN_COUNT
};

/* What needs the thing that is broken. */
enum needs { NEEDS_NONE, NEEDS_SPARE, NEEDS_PARTITION };

static const struct {
    const char *name;
    const char *topic; /* NULL: not a topic */
    int32_t partition;
    enum needs needs;
    bool may_refuse; /* without end: records that are refused become dead letters */
} things[] = {
    [BROKEN_REQUESTS] = {"a topic of requests", "p.requests.spare", BROKER_MEMORY_ALL, NEEDS_SPARE,
                         true},
    [BROKEN_AGENT] = {"an agent", NULL, 0, NEEDS_SPARE, false},
    [BROKEN_ALERTS] = {"alerts", "p.alerts", BROKER_MEMORY_ALL, NEEDS_NONE, true},
    [BROKEN_DEAD_LETTERS] = {"dead letters", "p.dead-letters", BROKER_MEMORY_ALL, NEEDS_NONE,
                             false},
    [BROKEN_REPLIES] = {"a reply topic", "p.replies.dead", BROKER_MEMORY_ALL, NEEDS_NONE, true},
    [BROKEN_COMMANDS] = {"a partition of commands", "p.commands", HIT, NEEDS_PARTITION, false},
    [BROKEN_LOG] = {"a partition of events", "p.events", HIT, NEEDS_PARTITION, false},
    [BROKEN_STORE] = {"a store", NULL, 0, NEEDS_PARTITION, false},
    [BROKEN_SUPERVISOR] = {"the supervisor", NULL, 0, NEEDS_NONE, false},
    [BROKEN_POISON] = {"an order", NULL, 0, NEEDS_NONE, false},
    [BROKEN_WORKFLOWS] = {"workflows", "p.workflows", BROKER_MEMORY_ALL, NEEDS_PARTITION, false},
    [BROKEN_SCHEMAS] = {"schemas", "p.schemas", BROKER_MEMORY_ALL, NEEDS_PARTITION, false},
    [BROKEN_VERSION] = {"the version of all processes", NULL, 0, NEEDS_PARTITION, false},
};
_Static_assert(sizeof(things) / sizeof(things[0]) == BROKEN_COUNT, "each thing is here");

struct isolation {
    struct world *world;
    enum broken broken;
    bool repaired;
    int64_t submitted_ms[ORDERS];
    bool spare[ORDERS];
    bool ended[ORDERS];
    int64_t next_event[ISOLATED_PARTITIONS];
    int64_t next_request[PARTITIONS_MAX];
    int64_t next_spare_request[PARTITIONS_MAX];
    const char *failed; /* an older process does what it must not do; static */
};

/* ---- rounds ---- */

static bool is_broken(const struct isolation *isolation, enum broken broken)
{
    return isolation->broken == broken && !isolation->repaired;
}

/* A process that died runs again at once. */
static void keep_running(struct isolation *isolation)
{
    struct world *world = isolation->world;
    for (uint32_t i = 0; i < INSTANCES; i++) {
        if (world->instances[i].process.cluster != NULL)
            continue;
        instance_boot(world, &world->instances[i]);
        for (int32_t p = 0; p < world->partitions; p++) {
            if (i == 0)
                instance_take(world, &world->instances[i], p);
            else
                instance_stand_by(world, &world->instances[i], p);
        }
    }
    if (!is_broken(isolation, BROKEN_SUPERVISOR))
        supervisor_repair(world);
}

static void count_ended(struct isolation *isolation, const struct decision *decision)
{
    uint32_t number;
    bool ended = false;
    char id[32];
    for (uint32_t i = 0; i < decision->event_count; i++) {
        enum event_kind kind = decision->events[i].kind;
        ended = ended || kind == EVENT_ORDER_PROCESSED || kind == EVENT_ORDER_COMPENSATED ||
                kind == EVENT_ORDER_FAILED || kind == EVENT_COMMAND_DEAD_LETTERED;
    }
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(decision->order_id));
    if (ended && sscanf(id, "order-%u", &number) == 1 && number < ORDERS)
        isolation->ended[number] = true;
}

static void read_events(struct isolation *isolation)
{
    struct world *world = isolation->world;
    for (int32_t p = 0; p < world->partitions; p++) {
        int64_t end = log_end(world, "p.events", p);
        for (; isolation->next_event[p] < end; isolation->next_event[p]++) {
            struct record record;
            heap_arena_reset(&world->scratch);
            if (read_log(world, "p.events", p, isolation->next_event[p], &record) == NULL &&
                record.kind == RECORD_DECISION)
                count_ended(isolation, &record.decision);
        }
    }
}

static void isolated_round(struct isolation *isolation, int64_t ms)
{
    struct world *world = isolation->world;
    keep_running(isolation);
    for (uint32_t i = 0; i < DELIVERIES && instances_deliver(world); i++)
        continue;
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_turn(world, &world->instances[i]);
    supervisor_turn(world);
    agent_succeed(world, "p.requests.agent", isolation->next_request);
    if (!is_broken(isolation, BROKEN_AGENT))
        agent_succeed(world, "p.requests.spare", isolation->next_spare_request);
    read_events(isolation);
    if (isolation->failed == NULL)
        isolation->failed = upgrade_check(world);
    world_advance(world, ms);
}

/* ---- what is broken ---- */

static void break_topic(struct world *world, enum broken broken)
{
    static const enum broker_memory_partition_fault faults[] = {
        PARTITION_NO_LEADER,    PARTITION_READ_ONLY,  PARTITION_HOLDS_ACKS,
        PARTITION_FAILS_APPEND, PARTITION_UNREADABLE, PARTITION_REFUSES};
    uint32_t count = sizeof(faults) / sizeof(faults[0]);
    broker_memory_set_partition_fault(
        world->kafka, things[broken].topic, things[broken].partition,
        faults[dice_roll(&world->dice, things[broken].may_refuse ? count : count - 1)]);
}

/* Only for the hit partition, so that the others have no need of it. */
static void send_unknown_schema(struct world *world)
{
    broker_memory_append(world->kafka, "p.commands", HIT, TEXT("x"),
                         (struct text){"\xc3\x01\x01\x02\x03\x04\x05\x06\x07\x08 ", 11});
}

static void break_it(struct isolation *isolation)
{
    struct world *world = isolation->world;
    enum broken broken = isolation->broken;
    bool configured = true;
    if (things[broken].topic != NULL)
        break_topic(world, broken);
    if (broken == BROKEN_SUPERVISOR) {
        supervisor_shut(world);
    } else if (broken == BROKEN_STORE) {
        configured = failpoint_configure("view.write/0-1=error@1+,view.read/0-1=error@1+,"
                                         "view.open/0-1=error@1+,view.drop/0-1=error@1+");
    } else if (broken == BROKEN_POISON) {
        snprintf(world->poison, sizeof(world->poison), "cycle.decide/order-0");
        configured = failpoint_configure("cycle.decide/order-0=error@1+");
        isolation->ended[0] = true; /* it ends as a dead letter, with no order */
    } else if (broken == BROKEN_SCHEMAS) {
        send_unknown_schema(world);
    } else if (broken == BROKEN_VERSION) {
        upgrade_put_later_record(world, HIT);
    }
    if (broken == BROKEN_WORKFLOWS)
        deploy_spare(world);
    assert(configured);
}

static void repair(struct isolation *isolation)
{
    struct world *world = isolation->world;
    isolation->repaired = true;
    broker_memory_clear_partition_faults(world->kafka);
    failpoint_configure(NULL);
    if (isolation->broken == BROKEN_VERSION)
        upgrade_end(world); /* keep_running() starts the newer version */
}

static bool does_need(const struct isolation *isolation, uint32_t number)
{
    struct world *world = isolation->world;
    enum needs needs = things[isolation->broken].needs;
    heap_arena_reset(&world->scratch);
    return (needs == NEEDS_SPARE && isolation->spare[number]) ||
           (needs == NEEDS_PARTITION && partition_of(world, order_name(world, number)) == HIT);
}

/* ---- a case ---- */

static void submit_wave(struct isolation *isolation)
{
    struct world *world = isolation->world;
    for (uint32_t i = 0; i < WAVE_ORDERS; i++) {
        uint32_t number = world->orders++;
        heap_arena_reset(&world->scratch);
        bool hit = partition_of(world, order_name(world, number)) == HIT;
        /* An order of a workflow that cannot be read makes its partition wait. */
        bool spare = i % 2 == 0 && (isolation->broken != BROKEN_WORKFLOWS || hit);
        isolation->spare[number] = spare;
        isolation->submitted_ms[number] = world->clock.now_wall_ms;
        const struct workflow *workflow = spare ? world->spare : world->workflow;
        submit_order_to(world, number, workflow->version,
                        i % 4 < 2 ? "p.replies.app" : "p.replies.dead");
    }
    /* A dead letter. */
    broker_memory_append(world->kafka, "p.commands", 0, TEXT("x"), TEXT("garbage"));
}

/* NULL: every order that has to be has ended, or has time left; *ret_left says which. */
static const char *check_ended(struct isolation *isolation, bool all, int64_t bound_ms,
                               uint32_t *ret_left)
{
    *ret_left = 0;
    for (uint32_t i = 0; i < isolation->world->orders; i++) {
        int64_t age = isolation->world->clock.now_wall_ms - isolation->submitted_ms[i];
        if (isolation->ended[i] || (!all && does_need(isolation, i)))
            continue;
        ++*ret_left;
        if (age > bound_ms)
            return wrong("%s is broken, and order %u, which does not need it, has not ended after "
                         "%lld ms",
                         things[isolation->broken].name, i, (long long)age);
    }
    return NULL;
}

static int64_t bound_of(const struct isolation *isolation)
{
    if (isolation->broken == BROKEN_POISON)
        return DEADLY_MS;
    bool partition = things[isolation->broken].needs == NEEDS_PARTITION;
    return partition && isolation->world->routed ? STALLED_MS : SOON_MS;
}

static const char *serve_wave(struct isolation *isolation)
{
    const char *failed = NULL;
    uint32_t left;
    int64_t bound = bound_of(isolation);
    submit_wave(isolation);
    do {
        isolated_round(isolation, ROUND_MS);
        failed = check_ended(isolation, false, bound, &left);
    } while (failed == NULL && left > 0);
    for (int64_t ms = 0; ms < BETWEEN_MS && failed == NULL; ms += IDLE_MS)
        isolated_round(isolation, IDLE_MS);
    return failed;
}

/* The work that needed it ends once it works again. */
static const char *serve_late(struct isolation *isolation)
{
    uint32_t left = 1;
    repair(isolation);
    for (uint32_t round = 0; round < LATE_ROUNDS_MAX && left > 0; round++) {
        isolated_round(isolation, round % LATE_JUMP_ROUNDS == 0 ? IDLE_MS : ROUND_MS);
        check_ended(isolation, true, INT64_MAX, &left);
    }
    for (uint32_t round = 0; round < QUIET_ROUNDS; round++)
        isolated_round(isolation, IDLE_MS / 4);
    if (left == 0)
        return NULL;
    char trouble[ERROR_MESSAGE_SIZE] = "";
    const struct owner *owner = isolation->world->instances[0].partitions[HIT].owner;
    owner_trouble(owner, trouble, sizeof(trouble));
    return wrong("%s was broken, and %u orders have not ended since then; the owner is %s, at "
                 "command %lld of %lld: %s",
                 things[isolation->broken].name, left, owner_state_name(owner_state(owner)),
                 (long long)owner_next_command(owner),
                 (long long)log_end(isolation->world, "p.commands", HIT), trouble);
}

/* What came later has its own share, so that kept seeds mean what they did. */
static enum broken draw_broken(uint64_t seed)
{
    return seed / BROKEN_VERSION % VERSION_SHARE == VERSION_SHARE - 1
               ? BROKEN_VERSION
               : (enum broken)(seed % BROKEN_VERSION);
}

const char *ownership_isolation(struct ownership_run *run, uint64_t seed)
{
    static struct isolation isolation;
    struct world *world = world_new(run, seed, ISOLATED_PARTITIONS);
    const char *failed = NULL;
    isolation = (struct isolation){.world = world, .broken = draw_broken(seed)};
    broker_memory_topic(world->kafka, "p.requests.spare", world->partitions);
    broker_memory_topic(world->kafka, "p.replies.dead", world->partitions);
    world->routing_off = false; /* the spare agent is chosen by capacity */
    if (isolation.broken != BROKEN_WORKFLOWS)
        deploy_spare(world);
    else
        world->routed = false; /* the agents are known before the workflow */
    supervisor_begin(world);
    if (isolation.broken == BROKEN_VERSION)
        upgrade_begin(world);
    for (uint32_t round = 0; round < 20; round++)
        isolated_round(&isolation, IDLE_MS / 4);
    break_it(&isolation);
    for (uint32_t wave = 0; wave < WAVES && failed == NULL; wave++)
        failed = serve_wave(&isolation);
    if (failed == NULL)
        failed = serve_late(&isolation);
    if (failed == NULL)
        failed = isolation.failed;
    if (failed == NULL)
        failed = upgrade_check_alerts(world);
    for (int32_t p = 0; p < world->partitions && failed == NULL; p++)
        failed = model_check(world, p);
    if (failed == NULL)
        failed = compare_stores(world);
    if (failed == NULL)
        failed = supervisor_compare(world);
    failpoint_configure(NULL);
    world_free(world);
    return failed;
}
