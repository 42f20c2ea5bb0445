/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_chaos.h"

#include "tests/property/ownership_bytes.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_deployments.h"
#include "tests/property/ownership_expiry.h"
#include "tests/property/ownership_extensions.h"
#include "tests/property/ownership_garbage.h"
#include "tests/property/ownership_group.h"
#include "tests/property/ownership_operators.h"
#include "tests/property/ownership_supervisor.h"
#include "tests/property/ownership_tail.h"
#include "tests/property/ownership_trim.h"
#include "tests/property/ownership_upgrade.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { ACT_PERCENT = 8 };

struct kind {
    uint32_t percent;   /* of the worlds that have it; 0: none has */
    enum sometimes met; /* the counter of its acts */
    void (*begin)(struct world *world);
    void (*act)(struct world *world);
    void (*end)(struct world *world);
};

/* ---- single partitions that fail ---- */

/* A topic that refuses records leads to a dead letter; there is none for dead letters, nor
 * for the log and what it is made from. */
static const struct {
    const char *topic;
    bool may_refuse;
} faulty_topics[] = {
    {"p.commands", false},   {"p.events", false},  {"p.requests.agent", true},
    {"p.replies.app", true}, {"p.alerts", true},   {"p.dead-letters", false},
    {"p.workflows", false},  {"p.schemas", false},
};
/* The last two are side topics. */
enum {
    FAULTY_TOPICS = sizeof(faulty_topics) / sizeof(faulty_topics[0]),
    SIDE_TOPICS = 2,
    ONE_PERCENT = 60 /* of the faults of topics with several partitions */
};

static enum broker_memory_partition_fault draw_fault(struct world *world, bool may_refuse)
{
    static const enum broker_memory_partition_fault faults[] = {
        PARTITION_NO_LEADER,    PARTITION_READ_ONLY,  PARTITION_HOLDS_ACKS,
        PARTITION_FAILS_APPEND, PARTITION_UNREADABLE, PARTITION_REFUSES};
    uint32_t count = sizeof(faults) / sizeof(faults[0]);
    return faults[dice_roll(&world->chaos.dice, may_refuse ? count : count - 1)];
}

/* A side topic has only one. */
static int32_t draw_partition(struct world *world, uint32_t topic)
{
    bool many = world->partitions > 1 && topic < FAULTY_TOPICS - SIDE_TOPICS;
    if (!many || !dice_percent(&world->chaos.dice, ONE_PERCENT))
        return BROKER_MEMORY_ALL;
    world_count(world, SOMETIMES_ONE_PARTITION_FAILED);
    return (int32_t)dice_roll(&world->chaos.dice, (uint32_t)world->partitions);
}

static void fail_one_of(struct world *world, uint32_t first, uint32_t count)
{
    if (dice_percent(&world->chaos.dice, 40)) {
        broker_memory_clear_partition_faults(world->kafka);
        return;
    }
    uint32_t topic = first + dice_roll(&world->chaos.dice, count);
    int32_t partition = draw_partition(world, topic);
    broker_memory_set_partition_fault(world->kafka, faulty_topics[topic].topic, partition,
                                      draw_fault(world, faulty_topics[topic].may_refuse));
}

static void fail_a_partition(struct world *world)
{
    fail_one_of(world, 0, FAULTY_TOPICS - SIDE_TOPICS);
    world_count(world, SOMETIMES_PARTITION_FAILED);
}

static void fail_a_side_topic(struct world *world)
{
    fail_one_of(world, FAULTY_TOPICS - SIDE_TOPICS, SIDE_TOPICS);
    world_count(world, SOMETIMES_SIDE_TOPIC_FAILED);
}

static void repair_partitions(struct world *world)
{
    broker_memory_clear_partition_faults(world->kafka);
}

/* ---- full queues ---- */

enum { QUEUE_MAX = 100000 };

static void fill_queues(struct world *world)
{
    bool full = dice_percent(&world->chaos.dice, 50);
    broker_memory_set_queue_max(world->kafka, full ? dice_roll(&world->chaos.dice, 4) : QUEUE_MAX);
    world->run->sometimes.counts[SOMETIMES_QUEUE_FULL] += full;
}

static void empty_queues(struct world *world)
{
    broker_memory_set_queue_max(world->kafka, QUEUE_MAX);
}

/* ---- records in the log that are not ours ---- */

/* A reader tells records by their bytes: to it, two empty ones at the same place of a log that lost
 * its tail meanwhile are the same. */
static void put_foreign_record(struct world *world)
{
    char unique[32];
    static const struct text values[] = {{NULL, 0}, {"", 0}, {"{}", 2}, {"\0\0\0\0\1", 5}};
    uint32_t value = dice_roll(&world->chaos.dice, sizeof(values) / sizeof(values[0]));
    int32_t partition = (int32_t)dice_roll(&world->chaos.dice, (uint32_t)world->partitions);
    snprintf(unique, sizeof(unique), "{\"n\": %u}", world->chaos.foreign_records++);
    broker_memory_append(world->kafka, "p.events", partition, TEXT("x"),
                         chaos_has(world, CHAOS_TAIL) ? text_of(unique) : values[value]);
    world_count(world, SOMETIMES_FOREIGN_RECORD);
}

/* ---- membership ---- */

/* Revoked, and perhaps given back at once. */
static void suspend_owner(struct owner *owner, bool suspended)
{
    if (owner != NULL && owner_state(owner) != OWNER_STANDBY)
        owner_suspend(owner, suspended);
}

static void revoke_or_give_back(struct world *world)
{
    struct instance *instance = &world->instances[dice_roll(&world->chaos.dice, INSTANCES)];
    bool suspended = dice_percent(&world->chaos.dice, 50);
    if (instance->process.cluster == NULL || group_assigns(world))
        return;
    for (int32_t p = 0; p < world->partitions; p++)
        suspend_owner(instance->partitions[p].owner, suspended);
    world->run->sometimes.counts[SOMETIMES_SUSPENDED] += suspended;
}

static void give_all_back(struct world *world)
{
    for (uint32_t i = 0; i < INSTANCES; i++)
        for (int32_t p = 0; p < world->partitions; p++)
            if (world->instances[i].process.cluster != NULL)
                suspend_owner(world->instances[i].partitions[p].owner, false);
}

/* ---- stores ---- */

enum { STORE_FAILS_PERMILLE = 100, DIRECTORY_FAILS_PERMILLE = 500 };

static void fail_stores(struct world *world)
{
    world->chaos.stores = dice_percent(&world->chaos.dice, 40);
}

static void repair_stores(struct world *world)
{
    world->chaos.stores = false;
}

/* A store that fails is dropped and opened again. */
static void fail_directories(struct world *world)
{
    world->chaos.directories = world->chaos.stores = dice_percent(&world->chaos.dice, 60);
}

static void repair_directories(struct world *world)
{
    world->chaos.directories = world->chaos.stores = false;
}

bool chaos_fails(struct world *world, const char *failpoint)
{
    bool store = world->chaos.stores &&
                 (strcmp(failpoint, "view.read") == 0 || strcmp(failpoint, "view.write") == 0);
    bool directory = world->chaos.directories &&
                     (strcmp(failpoint, "view.open") == 0 || strcmp(failpoint, "view.drop") == 0);
    uint32_t permille = directory ? DIRECTORY_FAILS_PERMILLE : STORE_FAILS_PERMILLE;
    if ((!store && !directory) || dice_roll(&world->chaos.dice, 1000) >= permille)
        return false;
    world_count(world, store ? SOMETIMES_STORE_UNREADABLE : SOMETIMES_DIRECTORY_LOST);
    return true;
}

/* ---- the kinds ---- */

static void nothing(struct world *world)
{
    (void)world;
}

/* This is the place where a kind of fault is turned off. */
static const struct kind kinds[] = {
    [CHAOS_CLOCKS] = {30, SOMETIMES_CLOCK_JUMPED, clocks_draw, clocks_jump, clocks_repair},
    [CHAOS_FAR_CLOCKS] = {40, SOMETIMES_CLOCK_FAR, NULL, clocks_jump_far, clocks_repair},
    [CHAOS_PARTITIONS] = {25, SOMETIMES_PARTITION_FAILED, NULL, fail_a_partition,
                          repair_partitions},
    [CHAOS_SIDE_TOPICS] = {20, SOMETIMES_SIDE_TOPIC_FAILED, NULL, fail_a_side_topic,
                           repair_partitions},
    [CHAOS_SUPERVISOR] = {40, SOMETIMES_SUPERVISOR_DISTURBED, supervisor_begin, supervisor_disturb,
                          supervisor_repair},
    [CHAOS_BYTES] = {40, SOMETIMES_STRANGE_COMMAND, NULL, bytes_act, nothing},
    [CHAOS_MEMBERSHIP] = {30, SOMETIMES_SUSPENDED, NULL, revoke_or_give_back, give_all_back},
    [CHAOS_STORES] = {20, SOMETIMES_STORE_UNREADABLE, NULL, fail_stores, repair_stores},
    [CHAOS_DIRECTORIES] = {20, SOMETIMES_DIRECTORY_LOST, NULL, fail_directories,
                           repair_directories},
    [CHAOS_FOREIGN] = {20, SOMETIMES_FOREIGN_RECORD, NULL, put_foreign_record, nothing},
    [CHAOS_QUEUES] = {10, SOMETIMES_QUEUE_FULL, NULL, fill_queues, empty_queues},
    [CHAOS_GARBAGE] = {15, SOMETIMES_GARBAGE, NULL, garbage_act, garbage_end},
    [CHAOS_OPERATORS] = {30, SOMETIMES_OPERATED, NULL, operators_act, operators_end},
    [CHAOS_GROUP] = {25, SOMETIMES_REBALANCED, NULL, group_act, nothing},
    [CHAOS_UPGRADE] = {20, SOMETIMES_UPGRADED, upgrade_begin, upgrade_act, upgrade_end},
    [CHAOS_EXTENSIONS] = {15, SOMETIMES_EXTENDED, extensions_begin, extensions_act, nothing},
    [CHAOS_DEPLOYMENTS] = {25, SOMETIMES_MIGRATED, deployments_begin, deployments_act, nothing},
    [CHAOS_EXPIRY] = {25, SOMETIMES_EXPIRED, expiry_begin, expiry_act, expiry_end},
    [CHAOS_TAIL] = {15, SOMETIMES_TAIL_LOST, NULL, tail_act, tail_end},
    [CHAOS_TRIM] = {40, SOMETIMES_TRIMMED, trim_begin, trim_act, trim_end},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == CHAOS_KIND_COUNT, "every kind is here");

bool chaos_has(const struct world *world, enum chaos_kind kind)
{
    return (world->chaos.kinds & (1U << kind)) != 0;
}

bool chaos_is_off(enum sometimes what)
{
    for (int i = 0; i < CHAOS_KIND_COUNT; i++)
        if (kinds[i].met == what && kinds[i].percent == 0)
            return true;
    return false;
}

/* Kinds that came later have dice of their own. */
static struct dice *dice_for(struct world *world, int kind)
{
    if (kind < CHAOS_GARBAGE)
        return &world->chaos.dice;
    if (kind > CHAOS_UPGRADE)
        return &world->chaos.own[kind];
    if (kind == CHAOS_UPGRADE)
        return &world->chaos.newest;
    return kind == CHAOS_GARBAGE ? &world->chaos.later : &world->chaos.last;
}

void chaos_begin(struct world *world, enum chaos_kind kind)
{
    world->chaos.kinds |= 1U << kind;
    if (kinds[kind].begin != NULL)
        kinds[kind].begin(world);
}

void chaos_draw(struct world *world, uint32_t without)
{
    for (int i = 0; i < CHAOS_KIND_COUNT; i++)
        if (dice_percent(dice_for(world, i), kinds[i].percent) && (without >> i & 1) == 0)
            chaos_begin(world, (enum chaos_kind)i);
}

void chaos_act(struct world *world)
{
    for (int i = 0; i < CHAOS_KIND_COUNT; i++)
        if (chaos_has(world, (enum chaos_kind)i) && dice_percent(dice_for(world, i), ACT_PERCENT))
            kinds[i].act(world);
}

void chaos_end(struct world *world)
{
    for (int i = 0; i < CHAOS_KIND_COUNT; i++)
        if (chaos_has(world, (enum chaos_kind)i))
            kinds[i].end(world);
}
