/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_upgrade.h"

#include "services/scheduler/owner/internal.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_group.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_operators.h"
#include "tests/property/ownership_supervisor.h"
#include "tests/property/ownership_trim.h"
#include "tests/property/ownership_versions.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NEWER_PERCENT = 60,
    REGISTERED_PERCENT = 60,
    TAKE_PERCENT = 50,
    ACTS_MAX = 3,
    OLDER_ROUNDS = 30,
    OLDER_DELIVERIES = 100
};

/* An instance at a record that it cannot read. */
struct standstill {
    bool stands;
    int64_t claims; /* when it was first seen there */
};

struct upgrade {
    bool registered; /* the newer schemas are in <p>.schemas */
    bool watcher_upgraded;
    int64_t scanned[PARTITIONS_MAX];    /* of the log */
    int64_t unreadable[PARTITIONS_MAX]; /* the first record that no older process can read; -1 */
    int64_t undecided[PARTITIONS_MAX];  /* the first such Decision; -1 */
    int64_t claims[INSTANCES][PARTITIONS_MAX]; /* in the log, of the instance's present name */
    struct standstill standstills[INSTANCES][PARTITIONS_MAX];
    uint64_t opened; /* followers of the older version */
};

static uint32_t roll(struct world *world, uint32_t n)
{
    return dice_roll(&world->chaos.newest, n);
}

static struct process *watcher_of(struct world *world)
{
    return world->watcher != NULL ? supervisor_process(world) : NULL;
}

/* ---- begin and end ---- */

static void register_schemas(struct world *world)
{
    struct text schema;
    if (world->upgrade->registered)
        return;
    world->upgrade->registered = true;
    for (uint32_t i = 0; versions_schema(i, &schema); i++)
        broker_memory_append(world->kafka, "p.schemas", 0, TEXT("newer"), schema);
}

static void name_newer(struct world *world, uint32_t number)
{
    struct instance *instance = &world->instances[number];
    snprintf(instance->name, sizeof(instance->name), VERSIONS_NEWER "%u", number);
}

void upgrade_begin(struct world *world)
{
    struct process *watcher = watcher_of(world);
    world->upgrade = calloc(1, sizeof(*world->upgrade));
    assert(world->upgrade != NULL);
    for (int32_t p = 0; p < PARTITIONS_MAX; p++)
        world->upgrade->unreadable[p] = world->upgrade->undecided[p] = -1;
    versions_begin(world->run->codec);
    if (dice_percent(&world->chaos.newest, REGISTERED_PERCENT))
        register_schemas(world);
    if (dice_percent(&world->chaos.newest, NEWER_PERCENT))
        name_newer(world, INSTANCES - 1);
    if (watcher != NULL && watcher->cluster != NULL) {
        upgrade_booted(world, watcher);
        world->upgrade->opened += (uint64_t)world->partitions;
    }
}

void upgrade_free(struct world *world)
{
    if (world->upgrade == NULL)
        return;
    versions_end();
    free(world->upgrade);
    world->upgrade = NULL;
}

void upgrade_booted(struct world *world, const struct process *process)
{
    if (world->upgrade == NULL)
        return;
    bool newer = process == watcher_of(world) ? world->upgrade->watcher_upgraded
                                              : versions_is_newer(process->service.instance_id);
    if (!newer)
        versions_add_older(process->cluster->codec);
}

void upgrade_shut(const struct process *process)
{
    versions_remove_older(process->cluster->codec);
}

void upgrade_opened(struct world *world)
{
    if (world->upgrade != NULL)
        world->upgrade->opened++;
}

/* ---- what happens ---- */

static bool instance_is_newer(const struct instance *instance)
{
    return versions_is_newer(instance->name);
}

/* With the stores of the older version; or, where the format of orders matters, without: a new
 * format of them drops every store. */
static void upgrade_instance(struct world *world, uint32_t number)
{
    struct instance *instance = &world->instances[number];
    if (instance_is_newer(instance))
        return;
    instance_shut(world, instance);
    if (world->trims != NULL)
        instance_lose_stores(world, instance);
    name_newer(world, number);
    memset(world->upgrade->claims[number], 0, sizeof(world->upgrade->claims[number]));
    world_count(world, SOMETIMES_UPGRADED);
}

static void upgrade_watcher(struct world *world)
{
    if (world->watcher == NULL || world->upgrade->watcher_upgraded)
        return;
    supervisor_shut(world);
    world->upgrade->watcher_upgraded = true;
    supervisor_repair(world);
}

static void upgrade_one(struct world *world)
{
    uint32_t number = roll(world, INSTANCES + 1);
    if (number == INSTANCES) {
        upgrade_watcher(world);
        return;
    }
    struct instance *instance = &world->instances[number];
    upgrade_instance(world, number);
    if (instance->process.cluster == NULL)
        instance_boot(world, instance);
    if (dice_percent(&world->chaos.newest, TAKE_PERCENT))
        instance_take(world, instance, (int32_t)roll(world, (uint32_t)world->partitions));
}

void upgrade_put_later_record(struct world *world, int32_t partition)
{
    struct command cmd = {.kind = COMMAND_PAUSE_ORDER, .order_id = TEXT("later")};
    cmd.pause_order = (struct pause_order){cmd.order_id, TEXT("newer"), TEXT("later")};
    send_record(world, "p.events", partition, cmd.order_id, RECORD_PAUSE_ORDER, &cmd);
}

static void act_once(struct world *world)
{
    heap_arena_reset(&world->scratch);
    uint32_t what = roll(world, 20);
    if (what < 3)
        upgrade_one(world);
    else if (what < 5)
        register_schemas(world);
    else if (what < 6)
        upgrade_put_later_record(world, (int32_t)roll(world, (uint32_t)world->partitions));
    else
        operators_act(world);
}

void upgrade_act(struct world *world)
{
    for (uint32_t acts = 1 + roll(world, ACTS_MAX); acts > 0; acts--)
        act_once(world);
}

/* Operators replay what an older scheduler did not know. */
static void replay_dead_letters(struct world *world)
{
    for (int32_t p = 0; p < world->partitions; p++) {
        int64_t end = log_end(world, "p.dead-letters", p);
        for (int64_t at = 0; at < end; at++) {
            struct broker_record letter;
            heap_arena_reset(&world->scratch);
            if (broker_memory_record(world->kafka, "p.dead-letters", p, at, &letter) &&
                versions_is_later_command(world->run->codec, letter.value, &world->scratch.arena)) {
                struct text key = arena_text(&world->scratch.arena, letter.key);
                struct text value = arena_text(&world->scratch.arena, letter.value);
                broker_memory_append(world->kafka, "p.commands", partition_of(world, key), key,
                                     value);
                world_count(world, SOMETIMES_LATER_COMMAND);
            }
        }
    }
}

void upgrade_end(struct world *world)
{
    for (uint32_t i = 0; i < INSTANCES; i++)
        upgrade_instance(world, i);
    upgrade_watcher(world);
    replay_dead_letters(world);
    operators_end(world);
}

/* ---- the model ---- */

static void scan_record(struct world *world, int32_t partition, int64_t at)
{
    struct upgrade *upgrade = world->upgrade;
    struct record record;
    heap_arena_reset(&world->scratch);
    if (is_foreign(world, "p.events", partition, at) ||
        read_log(world, "p.events", partition, at, &record) != NULL)
        return;
    bool unreadable = versions_is_unreadable(&record);
    if (unreadable && upgrade->unreadable[partition] < 0)
        upgrade->unreadable[partition] = at;
    if (unreadable && upgrade->undecided[partition] < 0 && record.kind == RECORD_DECISION)
        upgrade->undecided[partition] = at;
    for (uint32_t i = 0; i < INSTANCES; i++)
        upgrade->claims[i][partition] +=
            record.kind == RECORD_CLAIM &&
            text_equal(record.claim.instance, text_of(world->instances[i].name));
}

/* The first record at which a view of the older version has to stop; -1: none so far. Other records
 * than Decisions may be gone when it begins, and nothing is missing. One that does not know yet
 * whether the log is whole from there on stops at a later record: a broker that forgets a trim may
 * let it begin with what a zombie had written. */
static int64_t unreadable_for(const struct world *world, int32_t partition, struct view *view)
{
    int64_t unreadable = world->upgrade->unreadable[partition];
    if (view_committed(view)->start <= unreadable)
        return unreadable;
    return view_committed(view)->complete ? world->upgrade->undecided[partition] : -1;
}

static const char *check_position(struct world *world, int32_t partition, const char *who,
                                  struct view *view)
{
    if (view_store(view) == NULL)
        return NULL;
    int64_t unreadable = unreadable_for(world, partition, view);
    int64_t next = view_committed(view)->next_event_offset;
    return unreadable < 0 || next <= unreadable
               ? NULL
               : wrong("%s of the older version is at events[%d]@%lld, and cannot read @%lld", who,
                       partition, (long long)next, (long long)unreadable);
}

/* A Claim may be on its way when the record comes that stops its owner. */
static const char *check_claims(struct world *world, uint32_t number, int32_t partition)
{
    const struct owner *owner = world->instances[number].partitions[partition].owner;
    struct standstill *standstill = &world->upgrade->standstills[number][partition];
    int64_t claims = world->upgrade->claims[number][partition];
    int64_t unreadable = world->upgrade->unreadable[partition];
    struct view *view = owner_view((struct owner *)owner);
    bool stopped = unreadable >= 0 && owner_state(owner) == OWNER_STOPPED &&
                   view_checkpoint(view)->next_event_offset == unreadable;
    if (stopped && !owner_is_outdated(owner)) /* so it would stay in its group */
        return wrong("%s stops at events[%d]@%lld, and not because of its version",
                     world->instances[number].name, partition, (long long)unreadable);
    if (stopped && !standstill->stands) {
        *standstill = (struct standstill){true, claims};
        world_count(world, SOMETIMES_OUTDATED);
    }
    if (standstill->stands && claims > standstill->claims + 1)
        return wrong("%s cannot read events[%d]@%lld, and has claimed %lld times since",
                     world->instances[number].name, partition, (long long)unreadable,
                     (long long)(claims - standstill->claims));
    return NULL;
}

static const char *check_instance(struct world *world, uint32_t number, int32_t partition)
{
    struct instance *instance = &world->instances[number];
    struct owner *owner = instance->partitions[partition].owner;
    if (instance->process.cluster == NULL || owner == NULL || instance_is_newer(instance))
        return NULL;
    const char *failed = check_position(world, partition, instance->name, owner_view(owner));
    if (owner_is_running(owner) && owner->trim.active && owner->trim.held == TRIM_HELD_BY_FORMAT)
        world_count(world, SOMETIMES_FORMAT_HELD);
    if (owner->trouble.code == CODE_UNKNOWN_FORMAT)
        world_count(world, SOMETIMES_FORMAT_BEGINS);
    return failed != NULL ? failed : check_claims(world, number, partition);
}

const char *upgrade_check(struct world *world)
{
    struct upgrade *upgrade = world->upgrade;
    const struct process *watcher = watcher_of(world);
    const char *failed = NULL;
    for (int32_t p = 0; upgrade != NULL && p < world->partitions && failed == NULL; p++) {
        for (; upgrade->scanned[p] < log_end(world, "p.events", p); upgrade->scanned[p]++)
            scan_record(world, p, upgrade->scanned[p]);
        for (uint32_t i = 0; i < INSTANCES && failed == NULL; i++)
            failed = check_instance(world, i, p);
        if (failed == NULL && watcher != NULL && watcher->cluster != NULL &&
            !upgrade->watcher_upgraded)
            failed = check_position(world, p, "the supervisor", supervisor_view(world, p));
    }
    return failed;
}

const char *upgrade_begin_older(struct world *world)
{
    uint32_t number = INSTANCES - 1;
    struct instance *instance = &world->instances[number];
    if (world->upgrade == NULL || world->trims == NULL || group_assigns(world))
        return NULL;
    assert(instance->process.cluster == NULL);
    instance_lose_stores(world, instance);
    snprintf(instance->name, sizeof(instance->name), "older-%u", number);
    memset(world->upgrade->claims[number], 0, sizeof(world->upgrade->claims[number]));
    memset(world->upgrade->standstills[number], 0, sizeof(world->upgrade->standstills[number]));
    instance_boot(world, instance);
    for (int32_t p = 0; p < world->partitions; p++)
        if (trim_has_begun(world, p))
            instance_take(world, instance, p);
    for (uint32_t round = 0; round < OLDER_ROUNDS; round++) {
        for (uint32_t i = 0; i < OLDER_DELIVERIES && instances_deliver(world); i++)
            continue;
        instance_turn(world, instance);
        world_advance(world, 100);
    }
    const char *failed = upgrade_check(world);
    instance_shut(world, instance);
    return failed;
}

/* Each fold that begins with an empty store meets, and reports, what an operator has skipped:
 * the Reset comes later in the log. */
static bool is_about_garbage(const struct world *world, struct text message)
{
    bool garbage = false;
    for (uint32_t i = 0; i < world->garbage_count && !garbage; i++) {
        char place[64];
        int size = snprintf(place, sizeof(place), "p.events[%d]@%lld:", world->garbage[i].partition,
                            (long long)world->garbage[i].offset);
        garbage = message.size > (uint32_t)size && memcmp(message.data, place, (size_t)size) == 0;
    }
    return garbage;
}

/* How often p.alerts holds what its record `at` says; 0: that is about something else. */
static uint64_t alerts_like(struct world *world, int32_t partition, int64_t at)
{
    struct record record;
    char message[ERROR_MESSAGE_SIZE];
    uint64_t count = 0;
    heap_arena_reset(&world->scratch);
    if (read_log(world, "p.alerts", partition, at, &record) != NULL ||
        !(text_equal(record.operator_alert.code, TEXT("UnknownSchema")) ||
          text_equal(record.operator_alert.code, TEXT("UnknownEvent"))) ||
        is_about_garbage(world, record.operator_alert.message))
        return 0;
    snprintf(message, sizeof(message), "%.*s", TEXT_ARG(record.operator_alert.message));
    for (int64_t other = 0; other < log_end(world, "p.alerts", partition); other++) {
        heap_arena_reset(&world->scratch);
        count += read_log(world, "p.alerts", partition, other, &record) == NULL &&
                 text_equal(record.operator_alert.message, text_of(message));
    }
    return count;
}

/* How often a store of the partition was dropped: its follower begins the log again. */
static uint64_t stores_dropped(struct world *world, int32_t partition)
{
    struct record record;
    uint64_t count = 0;
    for (int64_t at = 0; at < log_end(world, "p.alerts", partition); at++) {
        heap_arena_reset(&world->scratch);
        count += read_log(world, "p.alerts", partition, at, &record) == NULL &&
                 record.operator_alert.code.size > 5 &&
                 (memcmp(record.operator_alert.code.data, "Store", 5) == 0 ||
                  text_equal(record.operator_alert.code, TEXT("LogTrimmed")));
    }
    return count;
}

/* A follower reports each record that it stops at once, each time that it folds the log. */
const char *upgrade_check_alerts(struct world *world)
{
    if (world->upgrade == NULL)
        return NULL;
    for (int32_t p = 0; p < world->partitions; p++) {
        uint64_t folds = world->upgrade->opened + stores_dropped(world, p);
        for (int64_t at = 0; at < log_end(world, "p.alerts", p); at++) {
            uint64_t alerts = alerts_like(world, p, at);
            if (alerts > folds)
                return wrong("%llu alerts about one record of a newer version, in %llu folds",
                             (unsigned long long)alerts, (unsigned long long)folds);
        }
    }
    return NULL;
}

const char *upgrade_check_decision(struct world *world, int32_t partition,
                                   const struct decision *decision)
{
    struct broker_record command;
    const struct undecodable *dead = decision->events[0].kind == EVENT_COMMAND_DEAD_LETTERED
                                         ? &decision->events[0].command_dead_lettered
                                         : NULL;
    if (world->upgrade == NULL ||
        !broker_memory_record(world->kafka, "p.commands", partition, decision->command_offset,
                              &command) ||
        !versions_is_later_command(world->run->codec, command.value, &world->scratch.arena))
        return NULL;
    bool unknown = dead != NULL && text_equal(dead->code, TEXT("UnknownSchema"));
    bool quarantined = dead != NULL && dead->quarantined;
    if (unknown == versions_is_newer_claim(&decision->claim_id) && !quarantined)
        return wrong("command %lld is of the newer version; its owner, of the %s one, %s it",
                     (long long)decision->command_offset, unknown ? "newer" : "older",
                     unknown ? "does not know" : "decided");
    return NULL;
}
