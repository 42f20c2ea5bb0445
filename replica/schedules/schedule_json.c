/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/schedules/schedule_json.h"

#include "base/heap_arena.h"
#include "base/rfc3339.h"
#include "schedule/tick_order.h"
#include "schemas/json/json_codec.h"

#include <stdio.h>
#include <stdlib.h>

/* What the clocks of the zone show. */
static json_t *local_time(const struct schedule *schedule, int64_t tick)
{
    char text[RFC3339_TEXT_SIZE];
    int32_t offset_s = zone_span_at(&schedule->ticks.zone, tick).offset_s;
    int minutes = abs(offset_s) / 60;
    rfc3339_format((tick + offset_s) * 1000, text);
    return json_sprintf("%.10s %.8s %c%02d:%02d", text, text + 11, offset_s < 0 ? '-' : '+',
                        minutes / 60, minutes % 60);
}

json_t *schedule_tick_json(const struct schedule *schedule, int64_t tick)
{
    char text[TICK_TEXT_SIZE];
    char id[SCHEDULE_ORDER_ID_SIZE];
    json_t *object = json_object();
    tick_text(tick, text);
    schedule_order_id(schedule, tick, id);
    json_codec_put(object, "tick", json_string(text));
    json_codec_put(object, "local", local_time(schedule, tick));
    json_codec_put(object, "order_id", json_string(id));
    return object;
}

json_t *schedule_next_json(const struct schedule *schedule, int64_t now)
{
    json_t *list = json_array();
    int64_t tick = ticks_next(&schedule->ticks, now);
    for (int i = 0; i < SCHEDULE_JSON_TICKS && tick != TICK_NEVER; i++) {
        json_array_append_new(list, schedule_tick_json(schedule, tick));
        tick = ticks_next(&schedule->ticks, tick);
    }
    return list;
}

/* Before the newest record, a tick may have made another order, or none. */
static json_t *last_ticks(const struct schedule_entry *entry, int64_t now)
{
    int64_t ticks[SCHEDULE_JSON_TICKS];
    json_t *list = json_array();
    uint32_t count = ticks_last(&entry->schedule->ticks, (entry->appended_at + 999) / 1000, now,
                                SCHEDULE_JSON_TICKS, ticks);
    while (count > 0)
        json_array_append_new(list, schedule_tick_json(entry->schedule, ticks[--count]));
    return list;
}

static json_t *problem_of(const struct schedule_entry *entry,
                          const struct workflow_registry *workflows, int64_t now)
{
    struct order_details details;
    struct error error;
    struct heap_arena heap;
    json_t *problem = json_codec_text_or_null(entry->problem);
    if (entry->schedule == NULL)
        return problem;
    int64_t tick = ticks_next(&entry->schedule->ticks, now);
    heap_arena_init(&heap, 16 * 1024);
    if (tick != TICK_NEVER &&
        tick_order(entry->schedule, workflows, tick, &heap.arena, &details, &error) != ERROR_OK) {
        json_decref(problem);
        problem = json_codec_text(text_of(error.message));
    }
    heap_arena_deinit(&heap);
    return problem;
}

static json_t *pause_of(const struct schedule_definition *definition)
{
    if (!definition->paused)
        return json_null();
    json_t *object = json_object();
    json_codec_put(object, "by", json_codec_text(definition->by));
    json_codec_put(object, "reason", json_codec_text(definition->reason));
    json_codec_put(object, "at", json_codec_time_or_null(definition->at));
    return object;
}

/* What the text says; null where it does not compile. */
static void put_content(json_t *object, const struct schedule *schedule)
{
    bool known = schedule != NULL;
    bool has_interval = known && schedule->ticks.every_s > 0;
    bool has_version = known && schedule->order.workflow_version > 0;
    json_codec_put(object, "workflow",
                   known ? json_codec_text(schedule->order.workflow) : json_null());
    json_codec_put(object, "workflow_version",
                   has_version ? json_integer(schedule->order.workflow_version) : json_null());
    json_codec_put(object, "cron", known ? json_codec_text_or_null(schedule->cron) : json_null());
    json_codec_put(object, "every_seconds",
                   has_interval ? json_integer(schedule->ticks.every_s) : json_null());
    json_codec_put(object, "time_zone", known ? json_codec_text(schedule->zone) : json_null());
    json_codec_put(object, "catch_up_seconds",
                   known ? json_integer(schedule->catch_up_s) : json_null());
}

json_t *schedule_entry_json(const struct schedule_entry *entry,
                            const struct workflow_registry *workflows, int64_t now)
{
    const struct schedule_definition *definition = &entry->definition;
    const struct schedule *schedule = entry->schedule;
    bool runs = schedule != NULL && !definition->paused;
    json_t *object = json_object();
    json_codec_put(object, "schedule", json_codec_text(definition->name));
    put_content(object, schedule);
    json_codec_put(object, "paused", pause_of(definition));
    json_codec_put(object, "problem", problem_of(entry, workflows, now));
    json_codec_put(object, "next", runs ? schedule_next_json(schedule, now) : json_array());
    json_codec_put(object, "last", runs ? last_ticks(entry, now) : json_array());
    json_codec_put(object, "deployed_by", json_codec_text(definition->deployed_by));
    json_codec_put(object, "deployed_at", json_codec_time_or_null(definition->deployed_at));
    json_codec_put(object, "since", json_codec_time(entry->appended_at));
    return object;
}
