/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions may cost: units, memory and time, whatever they read. */
#include "base/heap_arena.h"
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HOSTILE_BYTES = 256 * 1024 };

static uint32_t units_of(const char *source, const char *input)
{
    struct expression_scope scope = kit_scope(input);
    struct expression_run run;
    struct expression_error error;
    struct text json;
    expression_run_init(&run, &scope, EXPRESSION_BUDGET, kit_arena());
    cr_assert(expression_json(&run, kit_compile(source), 1 << 20, &json, &error), "%s", source);
    return expression_run_used(&run, EXPRESSION_BUDGET);
}

Test(budget, counts_nodes_elements_and_bytes)
{
    cr_expect_eq(units_of("1", NULL), 3);                /* a node, an element and a byte made */
    cr_expect_eq(units_of("input", "[]"), 2);            /* and two bytes walked */
    cr_expect_eq(units_of("size(input)", "[1,2,3]"), 8); /* two nodes, four steps, one made */
    /* Two nodes, one unit for each line, three steps, 129 bytes walked, a value written. */
    cr_expect_eq(units_of("size(order.lines)", NULL), 11);
    cr_expect_eq(units_of("size(order.lines) + size(order.lines)", NULL), 20); /* each time */
}

Test(budget, is_spent_exactly)
{
    static const char source[] = "input.map(x, x + 1)";
    uint32_t units = units_of(source, "[1,2,3]");
    cr_expect_str_eq(kit_evaluate_within(source, "[1,2,3]", units), "[2,3,4]");
    const char *message = kit_evaluate_within(source, "[1,2,3]", units - 1);
    cr_expect(strstr(message, "budget") != NULL, "%s", message);
}

Test(budget, gives_its_last_unit)
{
    struct expression_scope scope = kit_scope(NULL);
    struct expression_run run;
    struct expression_error error;
    bool yes = false;
    expression_run_init(&run, &scope, 1, kit_arena());
    cr_expect(expression_test(&run, kit_compile("true"), &yes, &error) && yes);
    cr_expect_eq(expression_run_used(&run, 1), 1);
    cr_expect_not(expression_test(&run, kit_compile("true"), &yes, &error));
}

Test(budget, spent_fails_whatever_follows)
{
    struct expression_scope scope = kit_scope("[1,2,3,4,5,6,7,8,9]");
    struct expression_run run;
    struct expression_error error = {0};
    bool yes = false;
    expression_run_init(&run, &scope, 10, kit_arena());
    cr_expect_not(expression_test(&run, kit_compile("input.all(x, x > 0) || true"), &yes, &error));
    cr_expect_eq(error.code, EXPRESSION_BUDGET_SPENT);
    cr_expect_not(expression_test(&run, kit_compile("true"), &yes, &error));
    cr_expect_eq(error.code, EXPRESSION_BUDGET_SPENT);
    cr_expect_not(expression_test_when(&run, kit_compile("output.Skipped"), &yes, &error));
    cr_expect_eq(error.code, EXPRESSION_BUDGET_SPENT);
    cr_expect(text_equal(expression_error_name(&error), TEXT("States.QueryEvaluationError")));
}

/* Wherever the budget ends in the walk, there is no size, and not a smaller one. */
Test(budget, gives_no_size_of_a_walk_that_failed)
{
    enum { UNITS_ENOUGH = 40 };
    struct expression_scope scope = kit_scope("[1,2,3,4,5,6,7,8,9]");
    const struct expression *compiled = kit_compile("9 == size(input)");
    uint32_t failed = 0;
    for (uint32_t units = 1; units <= UNITS_ENOUGH; units++) {
        struct expression_run run;
        struct expression_error error;
        bool yes = false;
        expression_run_init(&run, &scope, units, kit_arena());
        bool done = expression_test(&run, compiled, &yes, &error);
        cr_expect(yes || !done, "with %u units", units);
        failed += !done;
    }
    cr_expect(failed > 9 && failed < UNITS_ENOUGH);
}

Test(budget, evaluates_nothing_when_disabled)
{
    struct expression_scope scope = kit_scope(NULL);
    struct expression_run run;
    struct expression_error error = {0};
    bool yes = false;
    expression_run_init(&run, &scope, EXPRESSION_BUDGET, kit_arena());
    run.disabled = true;
    cr_expect_not(expression_test(&run, kit_compile("true"), &yes, &error));
    cr_expect_eq(error.code, EXPRESSION_DISABLED);
    cr_expect_eq(expression_run_used(&run, EXPRESSION_BUDGET), 0);
}

/* begin, then `unit` as often as it fits into 256 KiB, then end. */
static char *fill(const char *begin, const char *unit, const char *end)
{
    size_t size = strlen(begin), unit_size = strlen(unit);
    char *text = malloc(HOSTILE_BYTES + 1);
    cr_assert_not_null(text);
    memcpy(text, begin, size);
    for (; size + unit_size + strlen(end) <= HOSTILE_BYTES; size += unit_size)
        memcpy(text + size, unit, unit_size);
    size -= text[size - 1] == ',';
    memcpy(text + size, end, strlen(end) + 1);
    return text;
}

/* Fifty times what it takes in a release build: sanitizers and a busy machine stay below, work that
 * is not paid for does not. */
static const double us_per_unit_max = 5, us_besides_max = 2000;

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* With a small budget it ends as well, and never takes more time and memory than that allows. */
static void run_hostile(const char *source, const char *input, uint32_t units)
{
    struct heap_arena heap;
    struct expression_scope scope = kit_scope(input);
    struct expression_run run;
    struct expression_error error;
    struct text json;
    heap_arena_init(&heap, 64 * 1024);
    expression_run_init(&run, &scope, units, &heap.arena);
    const struct expression *expression = kit_compile(source);
    double begun = cpu_us();
    bool done = expression_json(&run, expression, HOSTILE_BYTES, &json, &error);
    double taken = cpu_us() - begun;
    cr_expect_leq(taken, us_per_unit_max * expression_run_used(&run, units) + us_besides_max,
                  "%s: %.0f us for %u units", source, taken, expression_run_used(&run, units));
    cr_expect(done || error.code != EXPRESSION_OK);
    cr_expect_leq(heap.arena.used, 64 * (size_t)units + 4 * HOSTILE_BYTES, "%s: %zu bytes", source,
                  heap.arena.used);
    heap_arena_deinit(&heap);
}

Test(budget, bounds_hostile_expressions)
{
    static const char *const inputs[][3] = {
        {"{\"l\":[", "1,", "],\"t\":\"\",\"p\":\"\"}"},
        {"{\"l\":[", "0.12345678901234567890123456789,", "],\"t\":\"\",\"p\":\"\"}"},
        {"{\"l\":[", "[[[[[]]]]],", "],\"t\":\"\",\"p\":\"\"}"},
        {"{\"l\":[", "\"1e-300\",", "],\"t\":\"\",\"p\":\"\"}"},
        {"{\"p\":\"aaaaaaaaaaaaaaaaaaaaaaaaab\",\"l\":[],\"t\":\"", "a", "\"}"},
        {"{\"p\":\"\\n\",\"l\":[],\"t\":\"", "\\n", "\"}"}};
    static const char *const sources[] = {
        "input.l.all(x, x > 0) && (input.l + input.l).size() > 0",
        "input.l.all(x, input.l.all(y, x == y))",
        "input.l == input.l && input.l + input.l == input.l + input.l",
        "input.t.contains(input.p)",
        "input.t + input.t + input.t + input.t == input.t",
        "input.l.map(x, [x, x]).map(x, [x, x])",
        "input.l.map(x, string(double(x) / 3))",
        "input.l.map(x, {'a': x, 'b': [x]})",
        "[input, input, input]",
        "input.l.sum() + input.l.min() + input.l.max()",
        "[0, 1, 2, 3, 4, 5, 6, 7].map(i, input.l[10000 + i])"};
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        char *input = fill(inputs[i][0], inputs[i][1], inputs[i][2]);
        for (size_t j = 0; j < sizeof(sources) / sizeof(sources[0]); j++) {
            run_hostile(sources[j], input, EXPRESSION_BUDGET);
            run_hostile(sources[j], input, 50);
            run_hostile(sources[j], input, 1);
        }
        free(input);
    }
}
