/* SPDX-License-Identifier: Apache-2.0 */
/* See trees_workflow.h. */
#include "tests/property/trees_workflow.h"

#include "workflow/workflow_file.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FILE_BYTES_MAX = 64 * 1024,
    DEPTH_MAX = ORDER_DEPTH_MAX,
    STEPS_MAX = 3,
    FILE_STEPS_MAX = 14
};

struct file {
    struct dice *dice;
    char *text;
    size_t used;
    uint32_t steps; /* of all bodies */
};

static void __attribute__((format(printf, 2, 3))) put(struct file *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t left = FILE_BYTES_MAX - file->used;
    int size = vsnprintf(file->text + file->used, left, format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < left);
    file->used += (size_t)size;
}

static void put_indent(struct file *file, uint32_t depth)
{
    put(file, "%*s", (int)(4 * depth + 2), "");
}

static void put_retry(struct file *file, uint32_t depth)
{
    uint32_t interval = 1 + dice_roll(file->dice, 3);
    uint32_t attempts = 1 + dice_roll(file->dice, 3);
    put_indent(file, depth);
    put(file, "  Retry: [{ErrorEquals: [States.ALL], IntervalSeconds: %u, MaxAttempts: %u}]\n",
        interval, attempts);
}

/* `kept`: there is no way back from the step. */
static void put_failure(struct file *file, uint32_t depth, bool kept, bool may_continue)
{
    const char *next[3] = {"$error"};
    uint32_t count = 1;
    if (!kept)
        next[count++] = "$compensate";
    if (may_continue)
        next[count++] = "$continue";
    put_indent(file, depth);
    put(file, "  OnExhausted: %s\n", kept || dice_percent(file->dice, 25) ? "error" : "compensate");
    if (!dice_percent(file->dice, 20))
        return;
    const char *error = dice_percent(file->dice, 50) ? "States.ALL" : "Declined";
    uint32_t choice = dice_roll(file->dice, count);
    put_indent(file, depth);
    put(file, "  Catch: [{ErrorEquals: [%s], Next: %s}]\n", error, next[choice]);
}

static void put_task(struct file *file, uint32_t depth, bool kept, bool may_be_undone)
{
    bool undo = may_be_undone && !kept && dice_percent(file->dice, 70);
    put_indent(file, depth);
    put(file, "  Agent: agent\n");
    put_indent(file, depth);
    put(file, "  TimeoutSeconds: %u\n", 1 + dice_roll(file->dice, 5));
    if (dice_percent(file->dice, 40))
        put_retry(file, depth);
    put_failure(file, depth, kept, !undo);
    if (!undo)
        return;
    put_indent(file, depth);
    put(file, "  Compensate: {Action: Undo, TimeoutSeconds: 3}\n");
}

static void put_for_each(struct file *file, uint32_t depth, bool *ret_stops)
{
    bool one_by_one = dice_percent(file->dice, 40);
    *ret_stops = one_by_one && dice_percent(file->dice, 50);
    put_indent(file, depth);
    put(file, "  ForEach: {Items: ");
    uint32_t count = 1 + dice_roll(file->dice, 3);
    if (depth == 0 && dice_percent(file->dice, 5)) {
        put(file, "input.none"); /* no list: there is no such member */
    } else {
        for (uint32_t i = 0; i < count; i++)
            put(file, "%s%u", i == 0 ? "[" : ", ", i);
        put(file, "]");
    }
    if (one_by_one)
        put(file, ", MaxConcurrency: %u", 1 + dice_roll(file->dice, 2));
    if (dice_percent(file->dice, 15))
        put(file, ", ToleratedFailureCount: all");
    else if (dice_percent(file->dice, 30))
        put(file, ", ToleratedFailureCount: %u", dice_roll(file->dice, 3));
    if (*ret_stops)
        put(file, ", StopWhen: %s",
            dice_percent(file->dice, 10) ? "\"result.done && 1 / 0 == 1\""
                                         : "\"result.done == true\"");
    put(file, "}\n");
}

static void put_steps(struct file *file, uint32_t depth, bool may_pivot, bool may_be_undone);

static void put_suborders(struct file *file, uint32_t depth, bool kept, bool may_be_undone)
{
    bool stops = false;
    bool listed = dice_percent(file->dice, 75);
    if (listed)
        put_for_each(file, depth, &stops);
    if (dice_percent(file->dice, 50)) {
        const char *input = !listed                        ? "{n: 1}"
                            : dice_percent(file->dice, 20) ? "{n: \"${6 / (item - 1)}\"}"
                                                           : "{n: \"${item}\"}";
        put_indent(file, depth);
        put(file, "  Input: %s\n", input);
    }
    if (!kept && dice_percent(file->dice, 40)) {
        put_indent(file, depth);
        put(file, "  TimeoutSeconds: %u\n", 2 + dice_roll(file->dice, 20000));
    }
    put_failure(file, depth, kept, true);
    if (stops || dice_percent(file->dice, 30)) {
        put_indent(file, depth);
        put(file, "  Output: {done: %s}\n", dice_percent(file->dice, 30) ? "true" : "false");
    }
    put_indent(file, depth);
    put(file, "  Steps:\n");
    put_steps(file, depth + 1, kept, may_be_undone);
}

/* Steps of a workflow with a pivot follow each other; others may stand side by side. */
static void put_steps(struct file *file, uint32_t depth, bool may_pivot, bool may_be_undone)
{
    uint32_t count = 1 + dice_roll(file->dice, STEPS_MAX);
    bool has_pivot = may_pivot && dice_percent(file->dice, 40);
    uint32_t pivot = has_pivot ? dice_roll(file->dice, count) : count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t chance = depth > 0 ? 40 : i > 0 && i == count - 1 ? 20 : 80;
        put_indent(file, depth);
        put(file, "- Name: %c%u\n", (char)('A' + depth), i);
        if (i == pivot) {
            put_indent(file, depth);
            put(file, "  Pivot: true\n");
        } else if (!has_pivot && i > 0 && dice_percent(file->dice, 30)) {
            put_indent(file, depth);
            put(file, "  After: []\n");
        }
        bool more = depth < DEPTH_MAX - 1 && file->steps < FILE_STEPS_MAX;
        file->steps++;
        if (more && dice_percent(file->dice, chance))
            put_suborders(file, depth, i >= pivot, may_be_undone);
        else
            put_task(file, depth, i >= pivot, may_be_undone);
    }
}

static const struct workflow *compile(const char *file, struct arena *arena, struct text *ret_text)
{
    struct workflow *workflow = NULL;
    struct workflow_problems *problems = ARENA_NEW(arena, struct workflow_problems);
    *ret_text = arena_text(arena, text_of(file));
    if (workflow_parse(*ret_text, WORKFLOW_YAML, arena, problems, &workflow))
        return workflow;
    fprintf(stderr, "%s\n", file);
    for (uint32_t i = 0; i < problems->count; i++)
        fprintf(stderr, "%u:%u %s\n", problems->items[i].line, problems->items[i].column,
                problems->items[i].text);
    abort();
}

const struct workflow *trees_workflow_draw(struct dice *dice, struct arena *arena,
                                           struct text *ret_text)
{
    struct file file = {.dice = dice, .text = arena_bytes(arena, FILE_BYTES_MAX)};
    put(&file, "Name: w\nVersion: 1\n");
    if (dice_percent(dice, 15))
        put(&file, "TimeoutSeconds: %u\n", 2000 + dice_roll(dice, 40000));
    put(&file, "Steps:\n");
    put_steps(&file, 0, true, true);
    return compile(file.text, arena, ret_text);
}

const struct workflow *trees_workflow_large(struct arena *arena, struct text *ret_text)
{
    return compile("Name: w\nVersion: 1\nSteps:\n"
                   "- Name: A0\n"
                   "  ForEach: {Items: input.l, MaxConcurrency: 2}\n"
                   "  Steps:\n"
                   "  - Name: B0\n"
                   "    ForEach: {Items: \"input\", MaxConcurrency: 1}\n"
                   "    Steps:\n"
                   "    - {Name: C0, Agent: agent, Compensate: {Action: Undo}}\n",
                   arena, ret_text);
}

struct text trees_large_input(struct arena *arena)
{
    enum { ITEMS = 101, MANY = 99 }; /* each of 101 may have (10000 - 101) / 101 = 98 */
    char *text = arena_bytes(arena, 4096);
    int used = snprintf(text, 4096, "{\"l\":[");
    for (int i = 0; i < ITEMS; i++) {
        used += snprintf(text + used, 4096 - (size_t)used, "%s[", i == 0 ? "" : ",");
        for (int n = 0; n < (i == 2 ? MANY : i % 2); n++)
            used += snprintf(text + used, 4096 - (size_t)used, "%s%d", n == 0 ? "" : ",", n);
        used += snprintf(text + used, 4096 - (size_t)used, "]");
    }
    used += snprintf(text + used, 4096 - (size_t)used, "]}");
    return (struct text){text, (uint32_t)used};
}

const struct workflow *trees_workflow_find(const struct workflow *workflow, struct text name)
{
    const struct workflow *found = text_equal(workflow->name, name) ? workflow : NULL;
    for (uint32_t i = 0; i < workflow->step_count && found == NULL; i++) {
        if (workflow->steps[i].kind == STEP_KIND_SUBORDERS)
            found = trees_workflow_find(workflow->steps[i].suborders.body, name);
    }
    return found;
}
