/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted expression is compiled or refused, and evaluated over untrusted data, with a budget
 * of 50 units and the real one, and as a condition, a duration and a moment. The first line is the
 * expression, the rest is the data: input if it is JSON, and in any case the output of a step. */
#include "base/heap_arena.h"
#include "engine/expression/evaluate.h"
#include "workflow/expression.h"

#include <assert.h>
#include <stdlib.h>

enum {
    FEW_UNITS = 50,
    DATA_BYTES_MAX = 256 * 1024,
    INPUT_MAX = EXPRESSION_BYTES_MAX + 1 + DATA_BYTES_MAX, /* as scripts/fuzz-suite says */
    RESULT_BYTES_MAX = 64 * 1024,
    WAIT_MS_MAX = 1000000000
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct expression_known_step steps[] = {{TEXT_CONST("A"), true, true, NULL},
                                                     {TEXT_CONST("b-c"), true, true, NULL}};
static const struct expression_names names = {
    .allowed = EXPRESSION_NAMES_ALWAYS | 1U << NAME_RESULT | 1U << NAME_INDEX | 1U << NAME_ITEM,
    .steps = steps,
    .step_count = 2};

struct ending {
    bool done;
    enum json_kind kind;
    bool yes;
    struct expression_error error;
    uint32_t used;
};

static void check_error(const struct expression_error *error, struct arena *arena)
{
    assert(error->code > EXPRESSION_OK && error->code < EXPRESSION_ERROR_CODE_COUNT);
    struct text message = expression_error_message(error, arena);
    assert(message.size > 0 && message.size <= MESSAGE_BYTES_MAX);
}

static struct ending evaluate(const struct expression *expression,
                              const struct expression_scope *scope, uint32_t units)
{
    struct heap_arena heap;
    struct expression_run run;
    struct ending outcome = {0};
    struct text json = {0};
    heap_arena_init(&heap, 64 * 1024);
    expression_run_init(&run, scope, units, &heap.arena);
    outcome.done = expression_json(&run, expression, RESULT_BYTES_MAX, &json, &outcome.error);
    outcome.used = expression_run_used(&run, units);
    assert(heap.arena.used <= 64 * (size_t)units + 4 * RESULT_BYTES_MAX);
    if (!outcome.done)
        check_error(&outcome.error, &heap.arena);
    if (outcome.done && scope->result.size == 0) { /* of canonical data alone */
        struct text again;
        assert(json_canonical(json, RESULT_BYTES_MAX, &heap.arena, &again, NULL));
        assert(text_equal(json, again));
    }
    outcome.kind = outcome.done ? json_value_kind(json_value_of(json)) : JSON_KIND_NONE;
    outcome.yes = text_equal(json, TEXT("true"));
    outcome.error.name = (struct text){0};
    heap_arena_deinit(&heap);
    return outcome;
}

/* What else an expression may be asked for gives the same value, or an error. */
static void evaluate_as(const struct expression *expression, const struct expression_scope *scope,
                        const struct ending *value)
{
    struct heap_arena heap;
    struct expression_run run;
    struct expression_error error;
    bool yes[2];
    int64_t ms = 0;
    heap_arena_init(&heap, 64 * 1024);
    expression_run_init(&run, scope, EXPRESSION_BUDGET, &heap.arena);
    bool tested = expression_test(&run, expression, &yes[0], &error);
    if (!tested)
        check_error(&error, &heap.arena);
    bool missing = !tested && error.code == EXPRESSION_NO_OUTPUT;
    assert(!tested || !value->done || (value->kind == JSON_KIND_BOOLEAN && yes[0] == value->yes));
    expression_run_init(&run, scope, EXPRESSION_BUDGET, &heap.arena);
    bool asked = expression_test_when(&run, expression, &yes[1], &error);
    assert(asked == (tested || missing) && (!asked || yes[1] == (tested && yes[0])));
    expression_run_init(&run, scope, EXPRESSION_BUDGET, &heap.arena);
    if (expression_duration(&run, expression, WAIT_MS_MAX, &ms, &error))
        assert(ms >= 0 && ms <= WAIT_MS_MAX && (!value->done || value->kind == JSON_KIND_NUMBER));
    else
        check_error(&error, &heap.arena);
    expression_run_init(&run, scope, EXPRESSION_BUDGET, &heap.arena);
    if (expression_moment(&run, expression, &ms, &error))
        assert(!value->done || value->kind == JSON_KIND_TEXT);
    else
        check_error(&error, &heap.arena);
    heap_arena_deinit(&heap);
}

static void evaluate_both(const struct expression *expression, const struct expression_scope *scope)
{
    struct ending few = evaluate(expression, scope, FEW_UNITS);
    struct ending all = evaluate(expression, scope, EXPRESSION_BUDGET);
    if (all.used < FEW_UNITS)
        assert(few.done == all.done && few.error.code == all.error.code);
    else if (all.used > FEW_UNITS)
        assert(!few.done && few.error.code == EXPRESSION_BUDGET_SPENT);
    if (all.used < EXPRESSION_BUDGET / 10) /* the others would take as long */
        evaluate_as(expression, scope, &all);
}

static void check_problems(const struct expression_problems *problems, struct text source)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        assert(problems->items[i].text[0] != '\0' && problems->items[i].at <= source.size);
        assert(i == 0 || problems->items[i - 1].at <= problems->items[i].at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
    if (line == NULL || size > INPUT_MAX)
        return 0;
    struct text source = {(const char *)data, (uint32_t)(line - data)};
    struct text rest = {(const char *)line + 1, (uint32_t)(size - source.size - 1)};
    struct heap_arena heap;
    struct expression_problems problems;
    struct text input = {0};
    heap_arena_init(&heap, 64 * 1024);
    const struct expression *expression =
        expression_compile(source, &names, KINDS_ANY, &heap.arena, &problems);
    check_problems(&problems, source);
    assert((expression != NULL) == (problems.errors == 0));
    if (expression != NULL) {
        bool canonical = json_canonical(rest, DATA_BYTES_MAX, &heap.arena, &input, NULL);
        struct expression_step states[2] = {{.has_output = true, .output = input},
                                            {.has_error = true, .error_name = TEXT("E")}};
        struct expression_scope scope = {
            .input = input, .steps = states, .step_count = 2, .item = input, .index = 1};
        if (canonical)
            evaluate_both(expression, &scope);
        /* What no door lets in must do no harm either; it ends where its memory ends. */
        states[0].output = rest;
        scope.result = rest;
        evaluate_both(expression, &scope);
    }
    heap_arena_deinit(&heap);
    return 0;
}
