/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs, errors and optional members that may be missing where they are read. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* Steps before: Always; Car and Hotel, each with a When; Book, whose When asks for Car; Pay, whose
 * failure is caught. */
enum { ALWAYS, CAR, HOTEL, BOOK, PAY, STEPS };

static const struct expression_known_step steps[STEPS] = {{TEXT_CONST("Always"), true, false, NULL},
                                                          {TEXT_CONST("Car"), true, false, NULL},
                                                          {TEXT_CONST("Hotel"), true, false, NULL},
                                                          {TEXT_CONST("Book"), true, false, NULL},
                                                          {TEXT_CONST("Pay"), true, true, NULL}};
/* {total: number, vip: boolean?, gift?: {text: string, card: string?}, lines: [{sku: string?}]} */
static const struct shape gift_members[] = {
    {.kind = SHAPE_STRING, .optional = true, .name = TEXT_CONST("card")},
    {.kind = SHAPE_STRING, .name = TEXT_CONST("text")}};
static const struct shape line_members[] = {
    {.kind = SHAPE_STRING, .optional = true, .name = TEXT_CONST("sku")}};
static const struct shape line = {.kind = SHAPE_MAP, .members = line_members, .member_count = 1};
static const struct shape input_members[] = {
    {.kind = SHAPE_MAP,
     .optional = true,
     .name = TEXT_CONST("gift"),
     .members = gift_members,
     .member_count = 2},
    {.kind = SHAPE_LIST, .name = TEXT_CONST("lines"), .element = &line},
    {.kind = SHAPE_NUMBER, .name = TEXT_CONST("total")},
    {.kind = SHAPE_BOOLEAN, .optional = true, .name = TEXT_CONST("vip")}};
static const struct shape input_shape = {
    .kind = SHAPE_MAP, .members = input_members, .member_count = 4};

/* "" or "COLUMN: ..." of the first problem; `own_when` NULL: the step has none. */
static const char *problem_of(const char *source, const char *own_when)
{
    static struct expression_problems problems;
    struct expression_guards guards = {.always = 1U << ALWAYS, .result_may_be_null = true};
    struct expression_names names = {.allowed = EXPRESSION_NAMES_ALWAYS | 1U << NAME_RESULT,
                                     .steps = steps,
                                     .step_count = STEPS,
                                     .input = expression_shape_of(&input_shape, kit_arena())};
    expression_guards_add(&guards, BOOK,
                          expression_compile(TEXT("has(output.Car) && output.Car.ok"), &names,
                                             KINDS_ANY, kit_arena(), &problems));
    if (own_when != NULL)
        guards.own_when =
            expression_compile(text_of(own_when), &names, KINDS_ANY, kit_arena(), &problems);
    names.guards = &guards;
    expression_compile(text_of(source), &names, KINDS_ANY, kit_arena(), &problems);
    return problems.count == 0 ? "" : problems.items[0].text;
}

static void expect_all(const char *const sources[][2], size_t count, const char *expected)
{
    for (size_t i = 0; i < count; i++)
        cr_expect_str_eq(problem_of(sources[i][0], sources[i][1]), expected, "%s, When %s: %s",
                         sources[i][0], sources[i][1] != NULL ? sources[i][1] : "-",
                         problem_of(sources[i][0], sources[i][1]));
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

Test(guards, accepts_what_is_guarded)
{
    static const char *const sources[][2] = {
        {"output.Always.x", NULL},
        {"has(output.Car)", NULL},
        {"has(output.Car) && output.Car.x", NULL},
        {"!has(output.Car) || output.Car.x", NULL},
        {"has(output.Car) ? output.Car.x : 0", NULL},
        {"!has(output.Car) ? 0 : output.Car.x", NULL},
        {"has(output.Car) && has(output.Hotel) ? output.Car.x + output.Hotel.x : 0", NULL},
        {"!(has(output.Car) && has(output.Hotel)) || output.Car.x + output.Hotel.x > 0", NULL},
        {"!has(output.Car) || !has(output.Hotel) || output.Car.x + output.Hotel.x > 0", NULL},
        {"has(output.Car) ? output.Car.x : has(output.Hotel) ? output.Hotel.x : 0", NULL},
        {"output.Car.x", "has(output.Car)"},
        {"output.Car.x", "input.total > 1 && has(output.Car)"},
        {"output.Car.x", "has(output.Book)"},
        {"has(output.Book) && output.Car.x > 1", NULL},
        {"has(output.Book) ? output.Book.x + output.Car.x : 0", NULL},
        {"(has(output.Car) ? true : false) && output.Car.x", NULL},
        {"has(error.Pay) && error.Pay.name == 'x'", NULL},
        {"error.Pay.name", "has(error.Pay)"},
        {"[1].all(x, has(output.Car) && output.Car.x == x)", NULL},
        {"has(input.vip) && input.vip", NULL},
        {"has(input.gift) && has(input.gift.card) ? input.gift.card : ''", NULL},
        {"input.gift.text", "has(input.gift)"},
        {"input.total > 1", NULL},
        {"has(input.lines[0].sku)", NULL},
        {"input.lines.all(l, has(l.sku))", NULL},
        {"false && output.Car.x", NULL},
    };
    expect_all(sources, COUNT(sources), "");
}

Test(guards, reports_what_is_not)
{
    static const char car[] =
        "step Car may have no output: write has(output.Car) && ... or has(output.Car) ? ... : ...";
    static const char *const outputs[][2] = {
        {"output.Car.x", NULL},
        {"output.Car.x && has(output.Car)", NULL},
        {"has(output.Car) || output.Car.x", NULL},
        {"!has(output.Car) && output.Car.x", NULL},
        {"has(output.Car) ? 0 : output.Car.x", NULL},
        {"has(output.Hotel) && output.Car.x", NULL},
        {"(has(output.Car) || has(output.Hotel)) && output.Car.x", NULL},
        {"output.Car.x", "has(output.Car) || has(output.Hotel)"},
        {"output.Car.x", "!has(output.Car)"},
        {"has(output.Car.x)", NULL},
        {"[1].all(x, output.Car.x == x)", NULL},
    };
    expect_all(outputs, COUNT(outputs), car);
    cr_expect_str_eq(
        problem_of("error.Pay.name", NULL),
        "step Pay may have no error: write has(error.Pay) && ... or has(error.Pay) ? ... : ...");
    cr_expect_str_eq(problem_of("input.vip", NULL),
                     "vip may be missing by InputShape: write "
                     "has(input.vip) && ... or has(input.vip) ? ... : ...");
    cr_expect_str_eq(problem_of("has(input.gift.card)", NULL),
                     "gift may be missing by InputShape: write has(input.gift) && ... or "
                     "has(input.gift) ? ... : ...");
    cr_expect_str_eq(problem_of("has(input.gift) ? input.gift.card : ''", NULL),
                     "card may be missing by InputShape: write has(input.gift.card) && ... or "
                     "has(input.gift.card) ? ... : ...");
    cr_expect_str_eq(problem_of("input.lines[0].sku", NULL),
                     "sku may be missing by InputShape: write has(input.lines[0].sku) && ... or "
                     "has(input.lines[0].sku) ? ... : ...");
    cr_expect_str_eq(problem_of("input.lines.all(l, l.sk == '')", NULL),
                     "there is no member sk: did you mean sku?");
    cr_expect_str_eq(problem_of("input.totl", NULL),
                     "there is no member totl: did you mean total?");
    cr_expect_str_eq(problem_of("input.total + 'x'", NULL),
                     "+ cannot add a number and a text: write string(...) for a text");
}

Test(guards, accepts_results_that_are_guarded)
{
    static const char *const sources[][2] = {
        {"result", NULL},
        {"[result, {'a': result}]", NULL},
        {"has(result.id)", NULL},
        {"has(result.id) ? result.id : null", NULL},
        {"!has(result.id) ? null : result.id", NULL},
        {"has(result.id) && result.id == 1", NULL},
        {"has(result.a) && has(result.a.b) ? result.a.b : 0", NULL},
        {"result == null ? 0 : result.id", NULL},
        {"null == result ? 0 : result.id", NULL},
        {"result != null && result.id > 1", NULL},
        {"result == null || result.id > 1", NULL},
        {"!(result == null) ? result[0] : 0", NULL},
        {"result != null ? size(result) + result.size() : 0", NULL},
        {"result == null ? [] : result.filter(x, x > 1)", NULL},
        {"result == 5 || result in [1]", NULL},
        {"has(input.vip) && result != null ? result.id : 0", NULL},
        {"false && result.id", NULL},
    };
    expect_all(sources, COUNT(sources), "");
}

Test(guards, warns_of_results_that_may_be_null)
{
    static const char null[] = "result is null after an attempt that timed out, and the undo then "
                               "ends in Error: write result != null ? ... : ...";
    static const char id[] = "result is null after an attempt that timed out, and the undo then "
                             "ends in Error: write has(result.id) ? ... : ...";
    static const char *const members[][2] = {
        {"result.id", NULL},
        {"result.id.x", NULL},
        {"has(result.id.x)", NULL},
        {"has(result.id) ? 0 : result.id", NULL},
        {"has(result.id) || result.id", NULL},
        {"result == null ? result.id : 0", NULL},
        {"result != null ? 0 : result.id", NULL},
        {"result == 5 ? 0 : result.id", NULL},
        {"(result != null || has(output.Car)) && result.id", NULL},
        {"[1].all(x, result.id == x)", NULL},
        {"result.id", "has(output.Car)"},
    };
    static const char *const others[][2] = {
        {"result[0]", NULL},     {"result['a-b']", NULL},        {"size(result)", NULL},
        {"result.size()", NULL}, {"'x'.contains(result)", NULL}, {"result.all(x, x > 1)", NULL},
        {"result > 5", NULL},    {"1 + result", NULL},           {"!result", NULL},
        {"-result", NULL},
    };
    expect_all(members, COUNT(members), id);
    expect_all(others, COUNT(others), null);
}

/* Conditions within conditions are looked at twice each. */
Test(guards, ends_soon_whatever_the_expression)
{
    enum { DEPTH = 28 };
    char source[EXPRESSION_BYTES_MAX + 1];
    int used = snprintf(source, sizeof(source), "%.*shas(output.Car)", DEPTH,
                        "((((((((((((((((((((((((((((((((");
    for (int i = 0; i < DEPTH; i++)
        used +=
            snprintf(source + used, sizeof(source) - (size_t)used, " ? has(output.Car) : false)");
    cr_expect_str_eq(problem_of(source, source), "");
}

/* Nor whatever it would take to evaluate: a constant of more than 1,000 units may be anything. */
Test(guards, evaluates_no_large_constants)
{
#define DIGITS "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    cr_expect_str_eq(kit_field("When: \"" DIGITS ".all(a, a < 10)\"", NULL),
                     "1:7: When is always true: leave it out\n");
    cr_expect_str_eq(kit_field("When: \"" DIGITS ".all(a, " DIGITS ".all(b, " DIGITS
                               ".all(c, a + b + c < 30)))\"",
                               NULL),
                     "true");
#undef DIGITS
}

Test(guards, warns_of_conditions_that_never_change)
{
    cr_expect_str_eq(kit_field("When: true", NULL), "1:7: When is always true: leave it out\n");
    cr_expect_str_eq(kit_field("When: 1 > 2 || false", NULL),
                     "1:7: When is always false: the step never runs\n");
    cr_expect_str_eq(kit_field("When: output.Check.ok && false", NULL),
                     "1:7: When is always false: the step never runs\n");
    cr_expect_str_eq(kit_field("When: output.Check.ok || !false", NULL),
                     "1:7: When is always true: leave it out\n");
}
