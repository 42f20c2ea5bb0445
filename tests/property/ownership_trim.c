/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_trim.h"

#include "replica/fold/admission.h"
#include "tests/property/ownership_chaos.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_garbage.h"
#include "tests/property/ownership_group.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_tail.h"
#include "tests/property/ownership_upgrade.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEEP_MS_MIN = 16,
    KEEP_MS_MAX = 40,
    TROUBLED_PERCENT = 60, /* of the worlds whose log has other troubles */
    TROUBLE_PERCENT = 60,
    GROUP_PERCENT = 40,
    COMMIT_PERCENT = 50,
    FORGET_PERCENT = 5,
    ZOMBIE_PERCENT = 30,
    NEWER_PERCENT = 1,
    AGAIN_PERCENT = 40,
    FORGOTTEN_PERCENT = 30,
    FORGOTTEN_RECORDS = 20,
    DEATH_PERCENT = 70,
    ACTS_MAX = 3,
    CALM_PERCENT = 50,
    CALM_ROUNDS_MAX = 20,
    CALM_MS_MAX = 5,
    CALMS_MAX = 8,
    DELIVERIES = 60,
    FIRST_ROUNDS = 20,
    FIRST_DELIVERIES = 8,
    LATER_ROUNDS = 20
};

static const char group[] = "archive";
static const struct text zombie = {"zombie-0", 8};

struct trims {
    int64_t keep_ms;
    bool archives;
    bool troubled; /* the log has other troubles as well */
    const char *groups[1];
    int64_t read[PARTITIONS_MAX];   /* by the group */
    int64_t start[PARTITIONS_MAX];  /* of the log, when it was checked */
    int64_t forgot[PARTITIONS_MAX]; /* where it began when a broker forgot a deletion */
    const char *dies_at;            /* the failpoint that kills the next time; NULL: none */
};

static uint32_t roll(struct world *world, uint32_t n)
{
    return dice_roll(&world->chaos.own[CHAOS_TRIM], n);
}

static bool percent(struct world *world, uint32_t percent)
{
    return dice_percent(&world->chaos.own[CHAOS_TRIM], percent);
}

/* Between a Statement and the end of the deletion. */
static void let_die(struct world *world)
{
    static const char *const points[] = {"statement.acknowledged", "statement.acknowledged",
                                         "continuation.acknowledged", "trim.delete",
                                         "trim.deleted"};
    world->trims->dies_at = points[roll(world, sizeof(points) / sizeof(points[0]))];
}

void trim_begin(struct world *world)
{
    bool troubled = chaos_has(world, CHAOS_TAIL) || chaos_has(world, CHAOS_GARBAGE) ||
                    chaos_has(world, CHAOS_UPGRADE);
    if (troubled && !percent(world, TROUBLED_PERCENT))
        return;
    world->trims = calloc(1, sizeof(*world->trims));
    assert(world->trims != NULL);
    world->trims->keep_ms = KEEP_MS_MIN + roll(world, KEEP_MS_MAX - KEEP_MS_MIN);
    world->trims->archives = percent(world, GROUP_PERCENT);
    world->trims->groups[0] = group;
    world->trims->troubled = troubled;
    broker_memory_keep_trimmed(world->kafka);
    if (percent(world, DEATH_PERCENT))
        let_die(world);
}

void trim_free(struct world *world)
{
    free(world->trims);
    world->trims = NULL;
}

void trim_configure(const struct world *world, struct owner_options *options)
{
    if (world->trims == NULL)
        return;
    options->keep_ms = world->trims->keep_ms;
    options->trim_groups = world->trims->groups;
    options->trim_group_count = world->trims->archives;
}

/* ---- what happens ---- */

int64_t trim_start(const struct world *world, int32_t partition)
{
    int64_t low;
    int64_t high;
    broker_memory_bounds(world->kafka, "p.events", partition, &low, &high);
    int64_t forgot = world->trims != NULL ? world->trims->forgot[partition] : 0;
    return low > forgot ? low : forgot;
}

/* The group reads on; Kafka may forget how far. */
static void archive(struct world *world, int32_t partition)
{
    struct trims *trims = world->trims;
    int64_t end = log_end(world, "p.events", partition);
    bool forgets = percent(world, FORGET_PERCENT);
    if (end > trims->read[partition])
        trims->read[partition] +=
            1 + (int64_t)roll(world, (uint32_t)(end - trims->read[partition]));
    broker_memory_commit(world->kafka, group, "p.events", partition,
                         forgets ? -1 : trims->read[partition]);
}

bool zombie_of(struct world *world, int32_t partition, struct uuid *ret_claim_id)
{
    int64_t end = log_end(world, "p.events", partition);
    struct uuid first = {{0}};
    struct uuid latest = {{0}};
    uint32_t claims = 0;
    heap_arena_reset(&world->scratch);
    for (int64_t at = 0; at < end; at++) {
        struct record record;
        if (is_foreign(world, "p.events", partition, at) ||
            read_log(world, "p.events", partition, at, &record) != NULL ||
            record.kind != RECORD_CLAIM)
            continue;
        first = claims++ == 0 ? record.claim.claim_id : first;
        latest = record.claim.claim_id;
    }
    if (claims == 0 || uuid_equal(&first, &latest))
        return false;
    *ret_claim_id = first;
    return true;
}

/* The first claim by another owner than `first`. */
static int64_t fenced_at(struct world *world, int32_t partition, const struct uuid *first)
{
    int64_t at = 0;
    struct record record = {.kind = RECORD_DECISION};
    for (;; at++) {
        heap_arena_reset(&world->scratch);
        if (!is_foreign(world, "p.events", partition, at) &&
            read_log(world, "p.events", partition, at, &record) == NULL &&
            record.kind == RECORD_CLAIM && !uuid_equal(&record.claim.claim_id, first))
            return at;
    }
}

/* An owner that was fenced long ago says where the log is to begin: at a record that was there
 * before that, as it knows of no other. */
static void announce_late(struct world *world, int32_t partition)
{
    int64_t end = log_end(world, "p.events", partition);
    struct uuid first;
    if (!zombie_of(world, partition, &first))
        return;
    struct continuation continuation = {.claim_id = first,
                                        .sequence = roll(world, 8),
                                        .first_claim_id = first,
                                        .partition_count = world->partitions,
                                        .last_command_offset = -1,
                                        .emitted_through = -1,
                                        .guarded_offset = -1,
                                        .format = STATE_FORMAT,
                                        .trimmed = roll(world, (uint32_t)end) %
                                                   fenced_at(world, partition, &first)};
    send_record(world, "p.events", partition, zombie, RECORD_CONTINUATION, &continuation);
}

/* A newer version takes the partition for a moment. */
static void claim_as_newer(struct world *world, int32_t partition)
{
    struct claim claim = {.instance = TEXT("newer-0"),
                          .claimed_at = world->clock.now_wall_ms,
                          .partition_count = world->partitions,
                          .format = STATE_FORMAT + 1};
    for (size_t i = 0; i < sizeof(claim.claim_id.bytes); i++)
        claim.claim_id.bytes[i] = (uint8_t)roll(world, 256);
    send_record(world, "p.events", partition, claim.instance, RECORD_CLAIM, &claim);
    world_count(world, SOMETIMES_NEWER_FORMAT);
}

static void count_incomplete(struct world *world, int32_t partition)
{
    for (uint32_t i = 0; i < INSTANCES; i++) {
        const struct owner *owner = world->instances[i].partitions[partition].owner;
        if (world->instances[i].process.cluster != NULL && owner != NULL &&
            !view_checkpoint(owner_view(owner))->complete)
            world_count(world, SOMETIMES_INCOMPLETE);
    }
}

/* A broker crashes soon after a deletion: the log begins before the place to which it was cut. */
static void forget(struct world *world, int32_t partition)
{
    int64_t start = trim_start(world, partition);
    int64_t back = 1 + (int64_t)roll(world, FORGOTTEN_RECORDS);
    int64_t low;
    int64_t high;
    broker_memory_bounds(world->kafka, "p.events", partition, &low, &high);
    if (low < start || back >= start)
        return;
    world->trims->forgot[partition] = start;
    broker_memory_forget_trim(world->kafka, "p.events", partition, start - back);
    world_count(world, SOMETIMES_TRIM_FORGOTTEN);
}

static void count_begun_later(struct world *world, int32_t partition,
                              const struct instance *instance)
{
    int64_t low;
    int64_t high;
    const struct owner *owner = instance->partitions[partition].owner;
    broker_memory_bounds(world->kafka, "p.events", partition, &low, &high);
    if (instance->process.cluster != NULL && owner != NULL &&
        view_checkpoint(owner_view(owner))->start > low)
        world_count(world, SOMETIMES_BEGUN_LATER);
}

/* With empty stores, in which it takes the partition. */
static void begin_again(struct world *world, struct instance *instance, int32_t partition)
{
    instance_shut(world, instance);
    instance_lose_stores(world, instance);
    instance_boot(world, instance);
    if (group_assigns(world))
        return;
    instance_take(world, instance, partition);
    for (uint32_t round = 0; round < FIRST_ROUNDS; round++) {
        for (uint32_t i = roll(world, FIRST_DELIVERIES); i > 0 && instances_deliver(world); i--)
            continue;
        instance_turn(world, instance);
        count_incomplete(world, partition);
        count_begun_later(world, partition, instance);
    }
}

bool trim_dies(struct world *world, const char *failpoint)
{
    if (world->trims == NULL || world->trims->dies_at == NULL ||
        strcmp(world->trims->dies_at, failpoint) != 0)
        return false;
    world->trims->dies_at = NULL;
    return true;
}

void trim_end(struct world *world)
{
    if (world->trims != NULL)
        world->trims->dies_at = NULL;
}

/* From a Continuation to a deletion it is a long way for owners that are disturbed all the time. */
static void let_go_on(struct world *world)
{
    for (uint32_t round = roll(world, CALM_ROUNDS_MAX); round > 0; round--) {
        uint32_t deliveries = roll(world, DELIVERIES);
        for (uint32_t i = 0; i < deliveries && instances_deliver(world); i++)
            continue;
        for (uint32_t i = 0; i < INSTANCES; i++)
            instance_turn(world, &world->instances[i]);
        world_advance(world, 1 + roll(world, CALM_MS_MAX));
        for (int32_t p = 0; p < world->partitions; p++)
            count_incomplete(world, p);
    }
}

/* The other events of this world are rare in a log that was just trimmed. */
static void trouble(struct world *world)
{
    if (chaos_has(world, CHAOS_TAIL))
        tail_act(world);
    if (chaos_has(world, CHAOS_GARBAGE))
        garbage_act(world);
    if (chaos_has(world, CHAOS_UPGRADE))
        upgrade_act(world);
}

/* Few logs are trimmed before the world comes to rest, and what is to happen to them is over then.
 */
static void let_trim(struct world *world, int32_t partition)
{
    struct instance *instance = &world->instances[roll(world, INSTANCES)];
    if (instance->process.cluster == NULL)
        instance_boot(world, instance);
    instance_take(world, instance, partition);
    for (uint32_t calms = 0; calms < CALMS_MAX && trim_start(world, partition) == 0; calms++) {
        archive(world, partition);
        let_go_on(world);
    }
}

static void act_once(struct world *world)
{
    int32_t partition = (int32_t)roll(world, (uint32_t)world->partitions);
    if (world->trims->troubled && trim_start(world, partition) == 0)
        let_trim(world, partition);
    if (trim_start(world, partition) > 0 && percent(world, TROUBLE_PERCENT))
        trouble(world);
    if (trim_start(world, partition) > 0 && percent(world, FORGOTTEN_PERCENT)) {
        forget(world, partition);
        begin_again(world, &world->instances[roll(world, INSTANCES)], partition);
    }
    if (trim_start(world, partition) > 0 && percent(world, AGAIN_PERCENT))
        begin_again(world, &world->instances[roll(world, INSTANCES)], partition);
    if (percent(world, CALM_PERCENT))
        let_go_on(world);
    if (percent(world, DEATH_PERCENT))
        let_die(world);
    if (percent(world, COMMIT_PERCENT))
        archive(world, partition);
    if (percent(world, ZOMBIE_PERCENT))
        announce_late(world, partition);
    if (percent(world, NEWER_PERCENT))
        claim_as_newer(world, partition);
}

bool trim_has_begun(const struct world *world, int32_t partition)
{
    return trim_start(world, partition) > 0;
}

/* An owner has said where the log is to begin. */
static bool announces(struct world *world, int32_t partition, int64_t at)
{
    struct broker_record bytes;
    struct record record;
    heap_arena_reset(&world->scratch);
    return broker_memory_record(world->kafka, "p.events", partition, at, &bytes) &&
           !is_foreign(world, "p.events", partition, at) && !text_equal(bytes.key, zombie) &&
           read_log(world, "p.events", partition, at, &record) == NULL &&
           record.kind == RECORD_CONTINUATION && record.continuation.trimmed >= 0;
}

bool trim_has_what_it_needs(struct world *world, int32_t partition, int64_t end)
{
    static struct fold fold;
    int64_t start = trim_start(world, partition);
    bool loses = false;
    if (world->trims == NULL)
        return true;
    for (int64_t at = end; at < log_end(world, "p.events", partition) && !loses; at++)
        loses = announces(world, partition, at);
    if (loses)
        return false;
    return start == 0 || (start < end && fold_log(world, partition, end, NULL, &fold) == NULL &&
                          fold.begins && fold.announced);
}

void trim_act(struct world *world)
{
    for (uint32_t acts = world->trims == NULL ? 0 : 1 + roll(world, ACTS_MAX); acts > 0; acts--)
        act_once(world);
}

/* ---- what must hold ---- */

static const char *check_start(struct world *world, int32_t partition, int64_t start)
{
    static struct fold fold;
    const struct trims *trims = world->trims;
    const char *failed =
        fold_log(world, partition, log_end(world, "p.events", partition), NULL, &fold);
    if (failed != NULL)
        return failed;
    if (!fold.begins)
        return wrong("the log begins at %lld, where no Continuation counts", (long long)start);
    if (!fold.announced)
        return wrong("the log begins at %lld, which was not announced", (long long)start);
    if (fold.checkpoint.emitted_through < start)
        return wrong("the log begins at %lld, effects are sent through %lld", (long long)start,
                     (long long)fold.checkpoint.emitted_through);
    if (trims->archives && trims->read[partition] < start)
        return wrong("the log begins at %lld, and the group has read to %lld", (long long)start,
                     (long long)trims->read[partition]);
    for (uint32_t i = 0; i < fold.order_count; i++)
        if (fold.orders[i].stated_offset < start)
            return wrong("the log begins at %lld, and %.*s was stated at %lld", (long long)start,
                         TEXT_ARG(fold.orders[i].details.order_id),
                         (long long)fold.orders[i].stated_offset);
    if (trims->archives)
        world_count(world, SOMETIMES_TRIM_HELD);
    return NULL;
}

void trim_begin_again(struct world *world)
{
    for (int32_t p = 0; world->trims != NULL && p < world->partitions; p++)
        if (trim_start(world, p) > 0)
            begin_again(world, &world->instances[0], p);
}

/* Before it trims the log again, and that begins where the store does. */
static void let_begin_later(struct world *world, int32_t partition, struct instance *instance)
{
    for (uint32_t round = 0; round < LATER_ROUNDS; round++) {
        for (uint32_t i = 0; i < DELIVERIES && instances_deliver(world); i++)
            continue;
        instance_turn(world, instance);
        count_begun_later(world, partition, instance);
        world_advance(world, 1);
    }
}

bool trim_forget_at_rest(struct world *world)
{
    bool forgot = false;
    for (int32_t p = 0; world->trims != NULL && p < world->partitions; p++) {
        if (trim_start(world, p) == 0 || !percent(world, FORGOTTEN_PERCENT))
            continue;
        forget(world, p);
        begin_again(world, &world->instances[0], p);
        let_begin_later(world, p, &world->instances[0]);
        forgot = true;
    }
    return forgot;
}

const char *trim_check(struct world *world)
{
    const char *failed = NULL;
    for (int32_t p = 0; world->trims != NULL && p < world->partitions && failed == NULL; p++) {
        count_incomplete(world, p);
        int64_t start = trim_start(world, p);
        if (start == world->trims->start[p])
            continue;
        failed = check_start(world, p, start);
        world->trims->start[p] = start;
        world_count(world, SOMETIMES_TRIMMED);
    }
    return failed;
}
