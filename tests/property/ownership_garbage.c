/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_garbage.h"

#include "replica/fold/admission.h"
#include "tests/property/ownership_fold.h"
#include "tests/property/ownership_trim.h"

#include <assert.h>
#include <string.h>

enum { RESET_PERCENT = 60, NOISE_MAX = 100, FRAME_BYTES = 10 };

enum garbage_kind {
    GARBAGE_UNKNOWN_SCHEMA,
    GARBAGE_DAMAGED,    /* the latest record of the log, with a wrong or a missing end */
    GARBAGE_IMPOSSIBLE, /* a Decision that counts, about a step that does not exist */
    GARBAGE_KIND_COUNT
};

static uint32_t roll(struct world *world, uint32_t n)
{
    return dice_roll(&world->chaos.later, n);
}

static void note(struct world *world, int32_t partition, struct text value)
{
    assert(world->garbage_count < GARBAGE_MAX);
    int64_t offset = broker_memory_append(world->kafka, "p.events", partition, TEXT("x"), value);
    world->garbage[world->garbage_count++] =
        (struct garbage){.partition = partition, .offset = offset, .reset_at = -1};
    world_count(world, SOMETIMES_GARBAGE);
}

static void put_unknown_schema(struct world *world, int32_t partition)
{
    char bytes[FRAME_BYTES + NOISE_MAX] = "\xc3\x01";
    uint32_t size = FRAME_BYTES + roll(world, NOISE_MAX);
    for (uint32_t i = 2; i < size; i++)
        bytes[i] = (char)roll(world, 256);
    note(world, partition, (struct text){bytes, size});
}

/* A cut record cannot be decoded, whatever it was. */
static void put_damaged(struct world *world, int32_t partition)
{
    struct broker_record last;
    int64_t end = log_end(world, "p.events", partition);
    if (end == 0 || !broker_memory_record(world->kafka, "p.events", partition, end - 1, &last) ||
        last.value.size <= FRAME_BYTES + 1 || is_foreign(world, "p.events", partition, end - 1)) {
        put_unknown_schema(world, partition);
        return;
    }
    char *copy = arena_bytes(&world->scratch.arena, last.value.size);
    memcpy(copy, last.value.data, last.value.size);
    note(world, partition,
         (struct text){copy, last.value.size - 1 - roll(world, last.value.size - FRAME_BYTES - 1)});
}

static void put_impossible(struct world *world, int32_t partition)
{
    static struct fold fold;
    struct event event = {.kind = EVENT_STEP_SUCCEEDED};
    event.step_succeeded =
        (struct step_succeeded){.ref = {TEXT("none"), DIRECTION_DO, 1}, .output = TEXT("{}")};
    int64_t end = log_end(world, "p.events", partition);
    if (fold_log(world, partition, end, NULL, &fold) != NULL || !fold.checkpoint.has_claim ||
        fold.order_count == 0)
        return;
    const struct order *order = &fold.orders[roll(world, fold.order_count)];
    struct decision decision = {.claim_id = fold.checkpoint.claim_id,
                                .sequence = fold.checkpoint.next_sequence,
                                .command_offset = fold.checkpoint.next_command_offset,
                                .command_time = world->clock.now_wall_ms,
                                .order_id = order->details.order_id,
                                .order_version = order->version + 1,
                                .order_state = order->state,
                                .decided_at = fold.checkpoint.newest_decided_at,
                                .emitted_through = fold.checkpoint.emitted_through,
                                .events = &event,
                                .event_count = 1};
    world->bytes.size = 0;
    codec_encode(world->run->codec, RECORD_DECISION, &decision, &world->bytes);
    note(world, partition,
         (struct text){(const char *)world->bytes.data, (uint32_t)world->bytes.size});
}

/* ---- the operator ---- */

static void reset(struct world *world, struct garbage *garbage)
{
    int64_t end = log_end(world, "p.events", garbage->partition);
    struct partition_reset record = {.expected_offset = end,
                                     .next_command_offset = -1,
                                     .has_skip = true,
                                     .skip = {garbage->offset, garbage->offset + 1},
                                     .by = TEXT("ann"),
                                     .reason = TEXT("garbage"),
                                     .reset_at = world->clock.now_wall_ms};
    garbage->reset_at =
        send_record(world, "p.events", garbage->partition, TEXT("x"), RECORD_RESET, &record);
    assert(garbage->reset_at == end);
    if (trim_has_begun(world, garbage->partition))
        world_count(world, SOMETIMES_TRIMMED_RESET);
}

void garbage_act(struct world *world)
{
    int32_t partition = (int32_t)roll(world, (uint32_t)world->partitions);
    heap_arena_reset(&world->scratch);
    for (uint32_t i = 0; i < world->garbage_count; i++) {
        if (world->garbage[i].reset_at >= 0)
            continue;
        if (dice_percent(&world->chaos.later, RESET_PERCENT))
            reset(world, &world->garbage[i]);
        return;
    }
    if (world->garbage_count == GARBAGE_MAX)
        return;
    switch ((enum garbage_kind)roll(world, GARBAGE_KIND_COUNT)) {
    case GARBAGE_UNKNOWN_SCHEMA:
        put_unknown_schema(world, partition);
        break;
    case GARBAGE_DAMAGED:
        put_damaged(world, partition);
        break;
    case GARBAGE_IMPOSSIBLE:
        put_impossible(world, partition);
        break;
    case GARBAGE_KIND_COUNT:
        break;
    }
}

void garbage_end(struct world *world)
{
    for (uint32_t i = 0; i < world->garbage_count; i++)
        if (world->garbage[i].reset_at < 0)
            reset(world, &world->garbage[i]);
}

bool garbage_skip_latest(struct world *world, int32_t partition)
{
    struct record record;
    int64_t latest = log_end(world, "p.events", partition) - 1;
    heap_arena_reset(&world->scratch);
    if (world->garbage_count == GARBAGE_MAX || latest <= trim_start(world, partition) ||
        is_foreign(world, "p.events", partition, latest) ||
        read_log(world, "p.events", partition, latest, &record) != NULL ||
        (record.kind != RECORD_DECISION && record.kind != RECORD_STATEMENT))
        return false;
    struct garbage *skipped = &world->garbage[world->garbage_count++];
    *skipped =
        (struct garbage){.partition = partition, .offset = latest, .reset_at = -1, .counted = true};
    reset(world, skipped);
    return true;
}

/* ---- readers ---- */

bool garbage_is_at(const struct world *world, int32_t partition, int64_t offset)
{
    for (uint32_t i = 0; i < world->garbage_count; i++)
        if (world->garbage[i].partition == partition && world->garbage[i].offset == offset)
            return true;
    return false;
}

bool garbage_counted_at(const struct world *world, int32_t partition, int64_t offset)
{
    bool counted = false;
    for (uint32_t i = 0; i < world->garbage_count && !counted; i++)
        counted = world->garbage[i].partition == partition && world->garbage[i].offset == offset &&
                  world->garbage[i].counted;
    return counted;
}

void garbage_skips(const struct world *world, int32_t partition, struct checkpoint *checkpoint)
{
    for (uint32_t i = 0; i < world->garbage_count; i++) {
        const struct garbage *garbage = &world->garbage[i];
        struct skip_range range = {garbage->offset, garbage->offset + 1, garbage->reset_at};
        if (garbage->partition == partition && garbage->reset_at >= 0)
            admission_learn_skip(checkpoint, &range);
    }
}
