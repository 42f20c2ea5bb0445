/* SPDX-License-Identifier: Apache-2.0 */
/* Topics that lose a tail, a beginning or all of it, or get more partitions, which must not happen
 * to them. Design, section 3, says for each which owners carry on and which ones stop, keep
 * their store and claim nothing until an operator has acted. */
#include "tests/property/ownership_history.h"

#include "platform/files.h"
#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_model.h"

#include <stdio.h>
#include <string.h>

enum {
    LOG_PARTITIONS = 2,
    HIT = 0,
    BEFORE_ROUNDS = 60,
    AFTER_ROUNDS = 400,
    QUIET_ROUNDS = 50,
    ALERTS_MAX = 3
};

enum log_fault {
    LOG_TAIL_LOST,
    LOG_TAIL_REGROWN, /* by another owner */
    LOG_TRIMMED,      /* beyond the checkpoint of the store */
    LOG_TRIMMED_STORE_LOST,
    LOG_RECREATED,
    LOG_RECREATED_REGROWN, /* by another owner */
    LOG_OF_OTHER_CLUSTER,
    COMMANDS_RECREATED,
    COMMANDS_RECREATED_REGROWN,
    COMMANDS_TRIMMED_UNDECIDED,
    COMMANDS_TRIMMED_DECIDED,
    PARTITIONS_ADDED,
    LOG_FAULT_COUNT
};

struct expected {
    const char *name;
    const char *alert;  /* of an owner that stops; NULL: it carries on */
    bool while_running; /* may also happen under a running owner */
    bool everywhere;    /* on all partitions */
};

static const struct expected faults[] = {
    [LOG_TAIL_LOST] = {"lost tail", NULL, true, false},
    [LOG_TAIL_REGROWN] = {"regrown tail", NULL, false, false},
    [LOG_TRIMMED] = {"trimmed log", "LogTruncated", false, false},
    [LOG_TRIMMED_STORE_LOST] = {"trimmed log, no store", "LogTruncated", false, false},
    [LOG_RECREATED] = {"log recreated", "LogDiffers", true, true},
    [LOG_RECREATED_REGROWN] = {"another log", "LogDiffers", false, true},
    [LOG_OF_OTHER_CLUSTER] = {"other cluster", "LogDiffers", false, true},
    [COMMANDS_RECREATED] = {"commands recreated", "CommandsOutOfRange", true, true},
    [COMMANDS_RECREATED_REGROWN] = {"other commands", "CommandsDiffer", false, true},
    [COMMANDS_TRIMMED_UNDECIDED] = {"commands trimmed before they are decided",
                                    "CommandsOutOfRange", false, false},
    [COMMANDS_TRIMMED_DECIDED] = {"commands trimmed after they are decided", NULL, true, false},
    [PARTITIONS_ADDED] = {"partitions added", "PartitionsDiffer", false, true},
};
_Static_assert(sizeof(faults) / sizeof(faults[0]) == LOG_FAULT_COUNT, "every fault is here");

/* ---- rounds ---- */

static void submit_one(struct world *world)
{
    heap_arena_reset(&world->scratch);
    submit_order(world, world->orders++ % (FOLD_ORDERS_MAX / 2));
}

static void quiet_round(struct world *world)
{
    for (uint32_t i = 0; i < 100 && instances_deliver(world); i++)
        continue;
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_turn(world, &world->instances[i]);
    agent_read_requests(world);
    world_advance(world, 1 + dice_roll(&world->dice, 100));
}

static void round_of(struct world *world)
{
    agent_answer(world, 80);
    quiet_round(world);
}

static void start(struct world *world, uint32_t number)
{
    struct instance *instance = &world->instances[number];
    if (instance->process.cluster == NULL)
        instance_boot(world, instance);
    for (int32_t p = 0; p < world->partitions; p++)
        instance_take(world, instance, p);
}

/* One that writes what it has and leaves, so that its store is at the end of the log. */
static void stop(struct world *world, uint32_t number)
{
    for (int round = 0; round < QUIET_ROUNDS; round++)
        quiet_round(world);
    instance_shut(world, &world->instances[number]);
}

static void run_another(struct world *world)
{
    start(world, 1);
    for (int round = 0; round < BEFORE_ROUNDS; round++) {
        if (round % 4 == 0)
            submit_one(world);
        round_of(world);
    }
    stop(world, 1);
}

static int64_t claims_of(struct world *world, int32_t partition)
{
    int64_t claims = 0;
    int64_t low;
    int64_t high;
    broker_memory_bounds(world->kafka, "p.events", partition, &low, &high);
    for (int64_t at = low; at < high; at++) {
        struct record record;
        heap_arena_reset(&world->scratch);
        claims += read_log(world, "p.events", partition, at, &record) == NULL &&
                  record.kind == RECORD_CLAIM;
    }
    return claims;
}

/* ---- the faults ---- */

/* An unclean election. */
static void lose_tail(struct world *world)
{
    int64_t end = log_end(world, "p.events", HIT);
    int64_t lost = 1 + dice_roll(&world->dice, (uint32_t)(end - 1));
    broker_memory_truncate(world->kafka, "p.events", HIT, end - lost);
}

static void recreate(struct world *world, const char *topic)
{
    broker_memory_topic(world->kafka, topic, world->partitions);
    world_advance(world, 1000);
}

static void send_commands(struct world *world, const int64_t *ends)
{
    while (log_end(world, "p.commands", 0) < ends[0] || log_end(world, "p.commands", 1) < ends[1])
        submit_one(world);
}

static void apply_fault(struct world *world, enum log_fault fault)
{
    int64_t ends[LOG_PARTITIONS] = {log_end(world, "p.commands", 0),
                                    log_end(world, "p.commands", 1)};
    switch (fault) {
    case LOG_TAIL_LOST:
        lose_tail(world);
        break;
    case LOG_TAIL_REGROWN:
        lose_tail(world);
        run_another(world);
        break;
    case LOG_TRIMMED:
        run_another(world);
        broker_memory_trim(world->kafka, "p.events", HIT, log_end(world, "p.events", HIT));
        break;
    case LOG_TRIMMED_STORE_LOST:
        instance_lose_stores(world, &world->instances[0]);
        broker_memory_trim(world->kafka, "p.events", HIT, log_end(world, "p.events", HIT) - 1);
        break;
    case LOG_RECREATED:
        recreate(world, "p.events");
        break;
    case LOG_RECREATED_REGROWN:
        recreate(world, "p.events");
        run_another(world);
        break;
    case LOG_OF_OTHER_CLUSTER:
        broker_memory_set_cluster_id(world->kafka, "memory-2");
        break;
    case COMMANDS_RECREATED:
        recreate(world, "p.commands");
        break;
    case COMMANDS_RECREATED_REGROWN:
        recreate(world, "p.commands");
        send_commands(world, ends);
        break;
    case COMMANDS_TRIMMED_UNDECIDED:
        ends[HIT] += 2;
        ends[1] = 0;
        send_commands(world, ends);
        broker_memory_trim(world->kafka, "p.commands", HIT, ends[HIT] - 1);
        break;
    case COMMANDS_TRIMMED_DECIDED:
        broker_memory_trim(world->kafka, "p.commands", HIT,
                           dice_roll(&world->dice, (uint32_t)ends[HIT]));
        break;
    case PARTITIONS_ADDED:
        instance_lose_stores(world, &world->instances[0]); /* so it reads the claims again */
        broker_memory_add_partitions(world->kafka, "p.commands", LOG_PARTITIONS + 1);
        broker_memory_add_partitions(world->kafka, "p.events", LOG_PARTITIONS + 1);
        break;
    case LOG_FAULT_COUNT:
        break;
    }
}

/* ---- what is expected ---- */

static uint32_t alerts_of(struct world *world, int32_t partition, const char *code)
{
    uint32_t alerts = 0;
    for (int32_t p = 0; p < world->partitions; p++) {
        for (int64_t at = 0; at < log_end(world, "p.alerts", p); at++) {
            struct record record;
            heap_arena_reset(&world->scratch);
            alerts += read_log(world, "p.alerts", p, at, &record) == NULL &&
                      record.operator_alert.partition == partition &&
                      text_equal(record.operator_alert.code, text_of(code));
        }
    }
    return alerts;
}

static const char *check_decided(struct world *world, int32_t partition, const char *name)
{
    const struct owner *owner = world->instances[0].partitions[partition].owner;
    int64_t next = owner_next_command(owner);
    int64_t end = log_end(world, "p.commands", partition);
    return next == end
               ? NULL
               : wrong("%s: partition %d is %s, next command %lld of %lld", name, partition,
                       owner_state_name(owner_state(owner)), (long long)next, (long long)end);
}

static const char *check_stopped(struct world *world, int32_t partition,
                                 const struct expected *expected, int64_t claims_before)
{
    const struct ownership *ownership = &world->instances[0].partitions[partition];
    uint32_t alerts = alerts_of(world, partition, expected->alert);
    if (owner_state(ownership->owner) != OWNER_STOPPED)
        return wrong("%s: partition %d is %s", expected->name, partition,
                     owner_state_name(owner_state(ownership->owner)));
    if (alerts == 0 || alerts > ALERTS_MAX)
        return wrong("%s: %u alerts %s of partition %d", expected->name, alerts, expected->alert,
                     partition);
    if (claims_of(world, partition) != claims_before)
        return wrong("%s: partition %d is stopped, and is claimed", expected->name, partition);
    if (!files_exists(ownership->path))
        return wrong("%s: the store of partition %d is gone", expected->name, partition);
    return NULL;
}

/* The first half of the time is for finding out. */
static const char *check_after(struct world *world, const struct expected *expected)
{
    int64_t claims[LOG_PARTITIONS] = {0};
    const char *failed = NULL;
    for (int round = 0; round < AFTER_ROUNDS; round++) {
        bool quiet = round >= AFTER_ROUNDS - QUIET_ROUNDS;
        if (round % 16 == 0 && !quiet)
            submit_one(world);
        if (quiet)
            quiet_round(world);
        else
            round_of(world);
        for (int32_t p = 0; p < world->partitions && round == AFTER_ROUNDS / 2; p++)
            claims[p] = claims_of(world, p);
    }
    for (int32_t p = 0; p < world->partitions && failed == NULL; p++) {
        bool stops = expected->alert != NULL && (expected->everywhere || p == HIT);
        failed = stops ? check_stopped(world, p, expected, claims[p])
                       : check_decided(world, p, expected->name);
    }
    return failed;
}

/* The one who stopped because of another cluster carries on when the old one is back. */
static const char *check_return(struct world *world)
{
    const char *failed = NULL;
    broker_memory_set_cluster_id(world->kafka, "memory-1");
    for (int round = 0; round < 2 * AFTER_ROUNDS; round++)
        quiet_round(world);
    for (int32_t p = 0; p < world->partitions && failed == NULL; p++)
        failed = check_decided(world, p, "the cluster is back");
    return failed;
}

const char *ownership_log_fault(struct ownership_run *run, uint64_t seed)
{
    struct world *world = world_new(run, seed, LOG_PARTITIONS);
    enum log_fault fault = (enum log_fault)(seed % LOG_FAULT_COUNT);
    const struct expected *expected = &faults[fault];
    bool running = expected->while_running && dice_percent(&world->dice, 50);
    start(world, 0);
    for (int round = 0; round < BEFORE_ROUNDS; round++) {
        if (round % 4 == 0)
            submit_one(world);
        round_of(world);
    }
    if (!running)
        stop(world, 0);
    apply_fault(world, fault);
    start(world, 0);
    const char *failed = check_after(world, expected);
    if (failed == NULL && fault == LOG_OF_OTHER_CLUSTER)
        failed = check_return(world);
    if (failed == NULL && expected->alert == NULL && fault != COMMANDS_TRIMMED_DECIDED)
        failed = compare_stores(world);
    world_free(world);
    return failed;
}
