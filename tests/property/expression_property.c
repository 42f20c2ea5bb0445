/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions give what a second implementation of the rules gives.
 *
 * A case is a tree whose leaves are members of a fixed input, of any kind or missing. It is printed
 * with no more brackets than it needs, and evaluated here: whole numbers with 128 bits, others as
 * the C library calculates and reads them, lists as arrays. Both have to agree on the value, or
 * that there is an error. With a smaller budget the engine gives the same or says that it is
 * spent. */
#include "base/heap_arena.h"
#include "engine/expression/evaluate.h"
#include "tests/lib/seed.h"
#include "tests/property/expression_terms.h"
#include "workflow/expression.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 20000, SHOWN_SIZE = 1 << 16 };

/* ---- one case ---- */

/* The engine's JSON against a value. The C library reads numbers that are not whole. */
static bool matches(const char **json, struct result result)
{
    char text[LETTERS_SIZE + 2];
    if (result.kind == LIST) {
        bool same = *(*json)++ == '[';
        for (uint32_t i = 0; same && i < result.items->count; i++)
            same = (i == 0 || *(*json)++ == ',') && matches(json, *result.items->of[i]);
        return same && *(*json)++ == ']';
    }
    if (result.kind == REAL) {
        char *end;
        double real = strtod(*json, &end);
        bool read = end != *json;
        *json = end;
        return read && real == result.real;
    }
    if (result.kind == BOOLEAN)
        snprintf(text, sizeof(text), "%s", result.whole != 0 ? "true" : "false");
    else if (result.kind == WHOLE)
        snprintf(text, sizeof(text), "%" PRId64, result.whole);
    else
        snprintf(text, sizeof(text), "\"%s\"", result.letters);
    size_t size = strlen(text);
    bool same = strncmp(*json, text, size) == 0;
    *json += same ? size : 0;
    return same;
}

/* A number of more than 40 digits is a value until it is to be written. */
static bool is_writable(struct result result)
{
    if (result.kind == LIST) {
        bool all = true;
        for (uint32_t i = 0; i < result.items->count; i++)
            all = all && is_writable(*result.items->of[i]);
        return all;
    }
    double size = fabs(result.real);
    return result.kind != REAL || size == 0 || (size < 1e38 && size > 1e-20);
}

static bool agrees(const char *found, struct result expected)
{
    const char *at = found;
    if (strcmp(found, "error") == 0)
        return expected.kind == ERROR_FOUND || !is_writable(expected);
    return expected.kind != ERROR_FOUND && matches(&at, expected) && *at == '\0';
}

static const char *run_engine(const struct expression *expression, uint32_t units,
                              struct arena *arena, char *text, size_t size)
{
    struct expression_scope scope = {.input = text_of(terms_input)};
    struct expression_run run;
    struct expression_error error;
    struct text json;
    expression_run_init(&run, &scope, units, arena);
    if (expression_json(&run, expression, TEXT_SIZE, &json, &error))
        snprintf(text, size, "%.*s", TEXT_ARG(json));
    else
        snprintf(text, size, "%s", error.code == EXPRESSION_BUDGET_SPENT ? "spent" : "error");
    return text;
}

static uint64_t given[LIST + 1]; /* how many cases gave each kind */

static void check_case(struct making *making, const struct term *term, const char *source,
                       const struct expression *expression, struct arena *arena)
{
    static char found[SHOWN_SIZE], again[SHOWN_SIZE];
    struct result expected;
    if (!terms_evaluate(term, &expected))
        return;
    given[expected.kind]++;
    run_engine(expression, EXPRESSION_BUDGET, arena, found, sizeof(found));
    cr_assert(agrees(found, expected), "%s\n    is %s", source, found);
    run_engine(expression, terms_roll(making, 100), arena, again, sizeof(again));
    cr_assert(strcmp(again, found) == 0 || strcmp(again, "spent") == 0, "%s\n    is %s\nnot %s",
              source, again, found);
}

static void run_case(uint64_t seed)
{
    static struct making making;
    struct printed printed;
    struct expression_names names = {.allowed = EXPRESSION_NAMES_ALWAYS};
    struct expression_problems problems;
    struct heap_arena heap;
    heap_arena_init(&heap, 64 * 1024);
    making.random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    const struct term *term = terms_draw(&making);
    terms_print(term, &printed);
    const struct expression *expression =
        expression_compile(text_of(printed.text), &names, KINDS_ANY, &heap.arena, &problems);
    if (expression != NULL)
        check_case(&making, term, printed.text, expression, &heap.arena);
    else /* Only for its size. */
        cr_assert(strstr(problems.items[0].text, "at most") != NULL ||
                      strstr(problems.items[0].text, "the limit is") != NULL,
                  "%s\n%u: %s", printed.text, problems.items[0].at + 1, problems.items[0].text);
    heap_arena_deinit(&heap);
}

Test(expression_property, agrees_with_a_second_implementation)
{
    uint64_t first = seed_first();
    for (uint64_t i = 0; i < seed_cases(CASES); i++) {
        seed_begin(first + i);
        run_case(first + i);
        seed_end();
    }
    printf("%" PRIu64 " errors, %" PRIu64 " booleans, %" PRIu64 " whole numbers, %" PRIu64
           " others, %" PRIu64 " texts, %" PRIu64 " lists\n",
           given[ERROR_FOUND], given[BOOLEAN], given[WHOLE], given[REAL], given[LETTERS],
           given[LIST]);
    for (int i = 0; i <= LIST && seed_cases(CASES) >= CASES; i++)
        cr_expect_geq(given[i], CASES / 50);
}
