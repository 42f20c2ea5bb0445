/* SPDX-License-Identifier: Apache-2.0 */
/* How long expressions take: a condition over 1 KiB, reading the JSON included, and expressions
 * that are made to take long over 256 KiB, with the real budget. Best of several rounds, in CPU
 * time. */
#include "base/heap_arena.h"
#include "engine/expression/evaluate.h"
#include "workflow/expression.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 7, REPEATS = 20000, DATA_BYTES_MAX = 256 * 1024 };

static struct heap_arena kept, scratch;
static char memory[DATA_BYTES_MAX + 4096];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- texts that grow ---- */

struct growing {
    char *text;
    size_t size;
    size_t room;
};

static void grow(struct growing *growing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void grow(struct growing *growing, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    growing->size += (size_t)vsnprintf(growing->text + growing->size, growing->room - growing->size,
                                       format, arguments);
    va_end(arguments);
    assert(growing->size < growing->room);
}

static struct growing in_memory(void)
{
    return (struct growing){memory, 0, sizeof(memory)};
}

static struct text canonical(const char *json)
{
    struct text text = {0};
    bool done = json_canonical(text_of(json), DATA_BYTES_MAX, &kept.arena, &text, NULL);
    assert(done);
    return arena_text(&kept.arena, text); /* it may borrow `json` */
}

static const struct expression *compile(const char *source)
{
    static const struct expression_known_step step = {TEXT_CONST("CheckFraud"), true, false, NULL};
    struct expression_names names = {
        .allowed = EXPRESSION_NAMES_ALWAYS, .steps = &step, .step_count = 1};
    struct expression_problems problems;
    const struct expression *expression =
        expression_compile(text_of(source), &names, KINDS_ANY, &kept.arena, &problems);
    if (expression == NULL)
        fprintf(stderr, "%s: %s\n", source, problems.items[0].text);
    assert(expression != NULL);
    return expression;
}

/* ---- a condition ---- */

static void measure_condition(void)
{
    struct growing order = in_memory();
    grow(&order, "{\"customer\":{\"id\":\"c-7\",\"mail\":\"ann@example.org\"},\"items\":[");
    for (int i = 0; i < 12; i++)
        grow(&order,
             "%s{\"price\":%d.95,\"quantity\":%d,\"sku\":\"A-%04d\",\"text\":\"a thing of some "
             "kind\"}",
             i > 0 ? "," : "", 10 + i, i + 1, i);
    grow(&order, "],\"note\":\"leave at door\",\"total\":129.5,\"zip\":\"1010\"}");
    struct expression_step step = {
        .has_output = true,
        .output = canonical("{\"checks\":[\"a\",\"b\"],\"score\":0.42,\"who\":\"model-3\"}")};
    struct expression_scope scope = {.input = canonical(memory), .steps = &step, .step_count = 1};
    const struct expression *expression =
        compile("input.total > 100 && output.CheckFraud.score < 0.8");
    double best = 1e18;
    uint32_t units = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double begun = now_ns();
        for (int i = 0; i < REPEATS; i++) {
            struct expression_run run;
            struct expression_error error;
            bool yes = false;
            expression_run_init(&run, &scope, EXPRESSION_BUDGET, &scratch.arena);
            bool done = expression_test(&run, expression, &yes, &error);
            assert(done && yes);
            units = expression_run_used(&run, EXPRESSION_BUDGET);
        }
        double taken = (now_ns() - begun) / (double)REPEATS;
        best = taken < best ? taken : best;
    }
    printf("a condition over %u and %u bytes: %.0f ns, %u units\n", scope.input.size,
           step.output.size, best, units);
}

/* ---- hostile ones ---- */

/* begin, then `piece` as often as it fits, then end. */
static struct text fill(const char *begin, const char *piece, const char *end)
{
    struct growing json = in_memory();
    grow(&json, "%s", begin);
    while (json.size + strlen(piece) + strlen(end) < DATA_BYTES_MAX)
        grow(&json, "%s", piece);
    json.size -= memory[json.size - 1] == ',';
    grow(&json, "%s", end);
    return canonical(memory);
}

static struct text fill_names(const char *value)
{
    struct growing json = in_memory();
    grow(&json, "{\"l\":{");
    for (int i = 0; json.size + strlen(value) + 40 < DATA_BYTES_MAX; i++)
        grow(&json, "%s\"%05d\":%s", i > 0 ? "," : "", i, value);
    grow(&json, "},\"z\":1}");
    return canonical(memory);
}

static void measure(const char *data, struct text input, const char *source)
{
    const struct expression *expression = compile(source);
    struct expression_scope scope = {.input = input};
    double best = 1e18;
    uint32_t units = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct expression_run run;
        struct expression_error error;
        struct text json;
        heap_arena_reset(&scratch);
        double begun = now_ns();
        expression_run_init(&run, &scope, EXPRESSION_BUDGET, &scratch.arena);
        expression_json(&run, expression, DATA_BYTES_MAX, &json, &error);
        double taken = now_ns() - begun;
        best = taken < best ? taken : best;
        units = expression_run_used(&run, EXPRESSION_BUDGET);
    }
    printf("%8.3f ms %7u units %6.1f ns/unit  %-8s %.60s\n", best / 1e6, units, best / units, data,
           source);
}

/* x, again and again, in as long an expression as there may be. */
static const char *repeated(const char *begin, const char *piece, int count, const char *end)
{
    static char source[EXPRESSION_BYTES_MAX + 1];
    struct growing growing = {source, 0, sizeof(source)};
    grow(&growing, "%s", begin);
    for (int i = 0; i < count; i++)
        grow(&growing, "%s", piece);
    grow(&growing, "%s", end);
    return source;
}

static void measure_hostile(void)
{
    struct text whole = fill("{\"l\":[", "1,", "]}");
    struct text digits = fill("{\"l\":[", "0.123456789012345678901234567890123456789,", "]}");
    struct text lists = fill("{\"l\":[", "[],", "]}");
    struct text tiny = fill("{\"l\":[", "\"9007199254740993.5e-300\",", "]}");
    struct text letters = fill("{\"p\":\"aaaaaaaaaaaaaaaaaaaaab\",\"t\":\"", "a", "\"}");
    struct text escapes = fill("{\"t\":\"", "\\n", "\"}");
    struct text names = fill_names("1"), deep = fill_names("[[[[[]]]]]");
    measure("whole", whole, "input.l.all(x, x > 0) && (input.l + input.l).size() > 0");
    measure("whole", whole, "input.l.exists(x, input.l.exists(y, x < y))");
    measure("whole", whole, "input.l.map(x, string(x / 3))");
    measure("whole", whole, "input.l.map(x, {'a': x, 'b': [x]})");
    measure("whole", whole, repeated("input.l.map(x, 1", "+x", 240, ")"));
    measure("lists", lists, "size(input.l) + size(input.l)");
    measure("lists", lists, "input.l == input.l");
    measure("digits", digits, "input.l.sum() + input.l.max()");
    measure("digits", digits, "input.l == input.l");
    measure("digits", digits, repeated("input.l.map(x, 1.5", "+x", 240, ")"));
    measure("digits", digits, repeated("input.l.map(x, x==0", "||string(x/3)==''", 70, ")"));
    measure("tiny", tiny, "input.l.map(x, double(x)).size()");
    measure("letters", letters, "input.t.contains(input.p)");
    measure("letters", letters, "input.t + input.t + input.t");
    measure("escapes", escapes, "input.t == input.t && input.t == input.t");
    measure("names", names, "input.l == input.l && has(input.l.zzzz)");
    measure("names", names, repeated("input.z", "+input.z", 160, ""));
    measure("deep", deep, repeated("input.z", "+input.z", 160, ""));
    measure("deep", deep, "[input, input, input]");
}

int main(void)
{
    heap_arena_init(&kept, 4 << 20);
    heap_arena_init(&scratch, 16 << 20);
    measure_condition();
    measure_hostile();
    heap_arena_deinit(&kept);
    heap_arena_deinit(&scratch);
    return 0;
}
