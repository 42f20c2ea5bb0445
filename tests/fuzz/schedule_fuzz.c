/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted file of a schedule compiles or is rejected with sensible problems; its ticks rise,
 * and each makes the same order each time. A file that begins with TZif is one of a time zone, and
 * a local time of it has a moment. */
#include "base/heap_arena.h"
#include "schedule/schedule_file.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { TICKS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_problems(const struct workflow_problems *problems)
{
    assert(problems->count <= WORKFLOW_PROBLEMS_MAX);
    for (uint32_t i = 0; i < problems->count; i++) {
        const struct workflow_problem *problem = &problems->items[i];
        assert(problem->text[0] != '\0' && (problem->line == 0) == (problem->column == 0));
        for (const char *at = problem->text; *at != '\0'; at++)
            assert((unsigned char)*at >= ' ' && *at != 0x7F);
    }
}

static void check_order(const struct schedule *schedule, int64_t tick, struct arena *arena)
{
    struct order_details first, second;
    struct error error = {0};
    enum error_class class = schedule_order(schedule, tick, arena, &first, &error);
    assert(schedule_order(schedule, tick, arena, &second, NULL) == class);
    assert(class == ERROR_OK || error.message[0] != '\0');
    if (class == ERROR_OK)
        assert(text_equal(first.order_id, second.order_id) &&
               text_equal(first.input, second.input));
}

static void check_schedule(const struct schedule *schedule, struct arena *arena)
{
    int64_t last[TICKS];
    int64_t tick = ticks_next(&schedule->ticks, 1795485600);
    for (int i = 0; i < TICKS && tick != TICK_NEVER; i++) {
        int64_t next = ticks_next(&schedule->ticks, tick);
        assert(next > tick);
        assert(ticks_last(&schedule->ticks, tick, next - 1, TICKS, last) == 1 && last[0] == tick);
        check_order(schedule, tick, arena);
        tick = next;
    }
}

static void check_zone(struct text file, struct arena *arena)
{
    struct zone zone;
    if (zone_parse(file, arena, &zone) != NULL)
        return;
    for (int64_t local = -4000000000; local < 8000000000; local += 399999999) {
        struct zone_span span = zone_span_at(&zone, local);
        assert(span.begin <= local && local < span.end);
        zone_moment_of(&zone, local);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct workflow_problems problems;
    struct schedule *schedule = NULL;
    struct heap_arena heap;
    if (size == 0 || size > WORKFLOW_BYTES_MAX)
        return 0;
    heap_arena_init(&heap, 32 * 1024);
    struct text text = {(const char *)data, (uint32_t)size};
    if (size >= 4 && memcmp(data, "TZif", 4) == 0) {
        check_zone(text, &heap.arena);
    } else {
        enum workflow_format format = data[0] == '{' ? WORKFLOW_JSON : WORKFLOW_YAML;
        bool good = schedule_parse(text, format, &heap.arena, &problems, &schedule);
        assert(good == (problems.errors == 0));
        if (good)
            check_schedule(schedule, &heap.arena);
        check_problems(&problems);
    }
    heap_arena_deinit(&heap);
    return 0;
}
