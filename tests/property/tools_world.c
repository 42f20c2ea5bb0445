/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/tools_world.h"

#include "tests/property/ownership_actors.h"
#include "tests/property/ownership_chaos.h"
#include "tests/property/ownership_clock.h"
#include "tests/property/ownership_garbage.h"
#include "tests/property/ownership_instance.h"
#include "tests/property/ownership_trim.h"
#include "tests/property/tools_console.h"

#include <assert.h>
#include <stdlib.h>

enum {
    PARTITIONS_TWO_PERCENT = 20,
    PATIENCE_TURNS = 5000,
    UNTRIMMED_PERCENT = 10,
    TRIM_PERCENT = 15,
    SKIP_PERCENT = 3,
    ALERT_PERCENT = 6,
    RAISED_PERCENT = 70,
    DELIVERIES = 40,
    STEP_MS_MAX = 20,
    TURN_DELIVERIES = 8,
    GOES_ON_PERCENT = 30
};

static bool percent(struct tools *tools, uint32_t percent)
{
    return dice_percent(&tools->dice, percent);
}

/* ---- life ---- */

/* What makes a log lose records, or a newer version write it, is not among these: then tools may
 * refuse it. */
static void draw_kinds(struct tools *tools)
{
    static const struct {
        enum chaos_kind kind;
        uint32_t percent;
    } kinds[] = {{CHAOS_MEMBERSHIP, 30}, {CHAOS_FOREIGN, 20},    {CHAOS_GARBAGE, 20},
                 {CHAOS_OPERATORS, 30},  {CHAOS_EXTENSIONS, 15}, {CHAOS_DEPLOYMENTS, 20},
                 {CHAOS_EXPIRY, 40},     {CHAOS_QUEUES, 5}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (percent(tools, kinds[i].percent))
            chaos_begin(tools->world, kinds[i].kind);
    if (!percent(tools, UNTRIMMED_PERCENT))
        chaos_begin(tools->world, CHAOS_TRIM);
}

struct tools *tools_new(struct ownership_run *run, uint64_t seed, uint64_t met[TOOLS_MET_COUNT])
{
    struct broker_memory_faults faults = {0};
    struct tools *tools = calloc(1, sizeof(*tools));
    assert(tools != NULL);
    tools->dice = dice_of(seed * 13 + 7);
    tools->met = met;
    tools->world = world_new(run, seed, percent(tools, PARTITIONS_TWO_PERCENT) ? 2 : 1);
    clock_manual_init(&tools->clock, tools->world->clock.now_wall_ms);
    faults.ack_without_offset = percent(tools, 30) ? 5 : 0;
    faults.append_lost = percent(tools, 30) ? 5 : 0;
    faults.append_unknown = percent(tools, 30) ? 5 : 0;
    broker_memory_set_faults(tools->world->kafka, &faults);
    broker_memory_keep_trimmed(tools->world->kafka);
    draw_kinds(tools);
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_boot(tools->world, &tools->world->instances[i]);
    for (int32_t p = 0; p < tools->world->partitions; p++)
        instance_take(tools->world, &tools->world->instances[0], p);
    return tools;
}

void tools_free(struct tools *tools)
{
    tools_console_close(tools);
    world_free(tools->world);
    free(tools);
}

/* ---- what happens ---- */

static int32_t some_partition(struct tools *tools)
{
    return (int32_t)dice_roll(&tools->dice, (uint32_t)tools->world->partitions);
}

/* What owners raise about their partition, and close when the cause is gone. */
static void alert(struct tools *tools)
{
    static const struct text codes[] = {{"Stalled", 7}, {"TrimRefused", 11}};
    struct world *world = tools->world;
    int32_t partition = some_partition(tools);
    const struct instance *by = &world->instances[dice_roll(&tools->dice, INSTANCES)];
    struct operator_alert alert = {.raised = percent(tools, RAISED_PERCENT),
                                   .code = codes[dice_roll(&tools->dice, 2)],
                                   .message = TEXT("so it is"),
                                   .by = text_of(by->name),
                                   .partition = partition,
                                   .command_offset = -1,
                                   .decided_at = world->clock.now_wall_ms};
    send_record(world, "p.alerts", partition, TEXT(""), RECORD_OPERATOR_ALERT, &alert);
}

void tools_go_on(struct tools *tools)
{
    struct world *world = tools->world;
    act(world);
    chaos_act(world);
    if (chaos_has(world, CHAOS_TRIM) && percent(tools, TRIM_PERCENT))
        trim_act(world);
    if (percent(tools, SKIP_PERCENT))
        tools->resets += garbage_skip_latest(world, some_partition(tools));
    if (percent(tools, ALERT_PERCENT))
        alert(tools);
    for (uint32_t i = dice_roll(&tools->dice, DELIVERIES); i > 0 && instances_deliver(world); i--)
        continue;
    for (uint32_t i = 0; i < INSTANCES; i++)
        instance_turn(world, &world->instances[i]);
    agent_read_requests(world);
    world_advance(world, 1 + dice_roll(&tools->dice, STEP_MS_MAX));
    tools_console_follow(tools);
}

void tools_turn(struct tools *tools)
{
    clock_manual_advance(&tools->clock, 1);
    tools->clock.now_wall_ms = tools->world->clock.now_wall_ms;
    if (++tools->turns % PATIENCE_TURNS == 0) /* what keeps it from reading ends in the world */
        tools->busy++;
    if (tools->busy > 0 && percent(tools, GOES_ON_PERCENT)) {
        tools->busy--;
        tools_go_on(tools);
    }
    for (uint32_t i = 1 + dice_roll(&tools->dice, TURN_DELIVERIES); i > 0; i--)
        instances_deliver(tools->world);
}

/* ---- what a tool may have met ---- */

/* Also where a Reset has come in the same turn: a tool that had met the end before saw none. */
static bool stops_readers(const struct world *world, uint32_t garbage_before)
{
    bool stops = false;
    for (uint32_t i = 0; i < world->garbage_count && !stops; i++)
        stops =
            !world->garbage[i].counted && (i >= garbage_before || world->garbage[i].reset_at < 0);
    return stops;
}

void tools_span_begin(struct tools *tools, struct tools_span *span)
{
    *span =
        (struct tools_span){.resets = tools->resets, .garbage_count = tools->world->garbage_count};
    for (int32_t p = 0; p < tools->world->partitions; p++) {
        broker_memory_bounds(tools->world->kafka, "p.events", p, &span->low_min[p], &span->high[p]);
        span->low_max[p] = span->low_min[p];
    }
    tools_span_note(tools, span);
}

void tools_span_note(struct tools *tools, struct tools_span *span)
{
    span->stopped = span->stopped || stops_readers(tools->world, span->garbage_count);
    for (int32_t p = 0; p < tools->world->partitions; p++) {
        int64_t low;
        int64_t high;
        broker_memory_bounds(tools->world->kafka, "p.events", p, &low, &high);
        int64_t start = trim_start(tools->world, p);
        tools->met[TOOLS_FORGOTTEN] += low < span->low_min[p];
        span->low_min[p] = low < span->low_min[p] ? low : span->low_min[p];
        span->low_max[p] = start > span->low_max[p] ? start : span->low_max[p];
    }
}

bool tools_are_outdated(struct tools *tools)
{
    static struct tools_fold fold;
    bool newer = false;
    for (int32_t p = 0; p < tools->world->partitions && !newer; p++)
        newer =
            tools_fold(tools->world, p, 0, log_end(tools->world, "p.events", p), &fold) == NULL &&
            fold.newer;
    return newer;
}
