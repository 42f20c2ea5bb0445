/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions give what a second implementation of the rules gives.
 *
 * A case is a tree whose leaves are members of a fixed input, of any kind or missing. It is printed
 * with no more brackets than it needs, and evaluated here with numbers of 128 bits. Both have to
 * agree on the value, or that there is an error. With a smaller budget the engine gives the same or
 * says that the budget is spent. */
#include "base/heap_arena.h"
#include "engine/expression/evaluate.h"
#include "tests/lib/seed.h"
#include "workflow/expression.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    CASES = 20000,
    TEXT_SIZE = 8192,
    TERMS_MAX = 256,
    LIST_MAX = 3,
    CASE_DEPTH = 5,
    LETTERS_SIZE = 160
};

/* ---- the second implementation ---- */

enum kind { ERROR_FOUND, BOOLEAN, WHOLE, LETTERS };

struct result {
    enum kind kind;
    int64_t whole; /* also of BOOLEAN */
    char letters[LETTERS_SIZE];
};

__extension__ typedef __int128 wide_int;

enum term_kind {
    TERM_LEAF,
    TERM_VARIABLE,
    TERM_NOT,
    TERM_NEGATE,
    TERM_AND,
    TERM_OR,
    TERM_CHOOSE,
    TERM_BINARY,
    TERM_ALL,
    TERM_EXISTS,
    TERM_IN,
    TERM_SIZE
};

struct term {
    enum term_kind kind;
    const char *text; /* of a leaf or an operator */
    struct result leaf;
    int level; /* of a binary operator: 0 binds tightest */
    struct term *of[LIST_MAX];
    uint32_t count;
};

static const struct term leaves[] = {
    {TERM_LEAF, "input.yes", {BOOLEAN, 1, ""}, 0, {0}, 0},
    {TERM_LEAF, "input.no", {BOOLEAN, 0, ""}, 0, {0}, 0},
    {TERM_LEAF, "input.missing", {ERROR_FOUND, 0, ""}, 0, {0}, 0},
    {TERM_LEAF, "input.zero", {WHOLE, 0, ""}, 0, {0}, 0},
    {TERM_LEAF, "input.two", {WHOLE, 2, ""}, 0, {0}, 0},
    {TERM_LEAF, "input['-7']", {WHOLE, -7, ""}, 0, {0}, 0},
    {TERM_LEAF, "input.most", {WHOLE, INT64_MAX, ""}, 0, {0}, 0},
    {TERM_LEAF, "input.least", {WHOLE, INT64_MIN, ""}, 0, {0}, 0},
    {TERM_LEAF, "input.a", {LETTERS, 0, "a"}, 0, {0}, 0},
    {TERM_LEAF, "input.ab", {LETTERS, 0, "ab"}, 0, {0}, 0},
};
static const char input_json[] =
    "{\"-7\":-7,\"a\":\"a\",\"ab\":\"ab\",\"least\":-9223372036854775808,"
    "\"most\":9223372036854775807,\"no\":false,\"two\":2,\"yes\":true,\"zero\":0}";

static const struct result error_found = {ERROR_FOUND, 0, ""};

static struct result of_bool(bool yes)
{
    return (struct result){BOOLEAN, yes, ""};
}

static struct result of_wide(wide_int wide)
{
    if (wide < INT64_MIN || wide > INT64_MAX)
        return error_found;
    return (struct result){WHOLE, (int64_t)wide, ""};
}

static bool equal(struct result a, struct result b)
{
    if (a.kind != b.kind)
        return false;
    return a.kind == LETTERS ? strcmp(a.letters, b.letters) == 0 : a.whole == b.whole;
}

static struct result compare(const char *operator, struct result a, struct result b)
{
    if (a.kind != b.kind || a.kind == BOOLEAN)
        return error_found;
    int order = a.kind == LETTERS ? strcmp(a.letters, b.letters)
                                  : (a.whole > b.whole) - (a.whole < b.whole);
    if (operator[0] == '<')
        return of_bool(order < 0 || (operator[1] == '=' && order == 0));
    return of_bool(order > 0 || (operator[1] == '=' && order == 0));
}

static struct result binary(const char *operator, struct result a, struct result b)
{
    if (a.kind == ERROR_FOUND || b.kind == ERROR_FOUND)
        return error_found;
    if (strcmp(operator, "==") == 0 || strcmp(operator, "!=") == 0)
        return of_bool(equal(a, b) == (operator[0] == '='));
    if (operator[0] == '<' || operator[0] == '>')
        return compare(operator, a, b);
    if (operator[0] == '+' && a.kind == LETTERS && b.kind == LETTERS) {
        size_t size = strlen(a.letters);
        snprintf(a.letters + size, LETTERS_SIZE - size, "%s", b.letters);
        return a;
    }
    if (a.kind != WHOLE || b.kind != WHOLE)
        return error_found;
    wide_int x = a.whole, y = b.whole;
    if (operator[0] == '%')
        return y == 0 || (a.whole == INT64_MIN && y == -1) ? error_found : of_wide(x % y);
    return of_wide(operator[0] == '+' ? x + y : operator[0] == '-' ? x - y : x * y);
}

static struct result evaluate(const struct term *term, struct result variable);

static struct result logic(const struct term *term, struct result variable)
{
    bool decides = term->kind == TERM_OR;
    bool all = true;
    for (uint32_t i = 0; i < term->count; i++) {
        struct result result = evaluate(term->of[i], variable);
        if (result.kind == BOOLEAN && (result.whole != 0) == decides)
            return of_bool(decides);
        all = all && result.kind == BOOLEAN;
    }
    return all ? of_bool(!decides) : error_found;
}

/* Over [2, -7, 0]: all() or exists(). */
static struct result quantify(const struct term *term)
{
    static const int64_t elements[] = {2, -7, 0};
    bool decides = term->kind == TERM_EXISTS;
    bool all = true;
    for (size_t i = 0; i < 3; i++) {
        struct result result = evaluate(term->of[0], (struct result){WHOLE, elements[i], ""});
        if (result.kind == BOOLEAN && (result.whole != 0) == decides)
            return of_bool(decides);
        all = all && result.kind == BOOLEAN;
    }
    return all ? of_bool(!decides) : error_found;
}

static struct result is_in(const struct term *term, struct result variable)
{
    struct result what = evaluate(term->of[0], variable);
    bool found = false, failed = what.kind == ERROR_FOUND;
    for (uint32_t i = 1; i < term->count; i++) {
        struct result element = evaluate(term->of[i], variable);
        failed = failed || element.kind == ERROR_FOUND;
        found = found || equal(what, element);
    }
    return failed ? error_found : of_bool(found);
}

static struct result evaluate(const struct term *term, struct result variable)
{
    struct result a;
    switch (term->kind) {
    case TERM_LEAF:
        return term->leaf;
    case TERM_VARIABLE:
        return variable;
    case TERM_NOT:
        a = evaluate(term->of[0], variable);
        return a.kind == BOOLEAN ? of_bool(a.whole == 0) : error_found;
    case TERM_NEGATE:
        a = evaluate(term->of[0], variable);
        return a.kind == WHOLE ? of_wide(-(wide_int)a.whole) : error_found;
    case TERM_AND:
    case TERM_OR:
        return logic(term, variable);
    case TERM_CHOOSE:
        a = evaluate(term->of[0], variable);
        return a.kind == BOOLEAN ? evaluate(term->of[a.whole != 0 ? 1 : 2], variable) : error_found;
    case TERM_BINARY:
        return binary(term->text, evaluate(term->of[0], variable), evaluate(term->of[1], variable));
    case TERM_ALL:
    case TERM_EXISTS:
        return quantify(term);
    case TERM_IN:
        return is_in(term, variable);
    case TERM_SIZE:
        a = evaluate(term->of[0], variable);
        return a.kind == LETTERS ? (struct result){WHOLE, (int64_t)strlen(a.letters), ""}
                                 : error_found;
    }
    return error_found;
}

/* ---- random terms ---- */

struct making {
    uint64_t random;
    struct term terms[TERMS_MAX];
    uint32_t count;
    bool variable; /* there is one here */
};

static uint32_t draw(struct making *making, uint32_t choices)
{
    making->random ^= making->random << 13;
    making->random ^= making->random >> 7;
    making->random ^= making->random << 17;
    return (uint32_t)((making->random >> 11) % choices);
}

static struct term *new_term(struct making *making, struct term term)
{
    cr_assert_lt(making->count, TERMS_MAX);
    making->terms[making->count] = term;
    return &making->terms[making->count++];
}

static struct term *make_leaf(struct making *making)
{
    if (making->variable && draw(making, 2) == 0)
        return new_term(making, (struct term){.kind = TERM_VARIABLE, .text = "x"});
    return new_term(making, leaves[draw(making, sizeof(leaves) / sizeof(leaves[0]))]);
}

static struct term *make(struct making *making, uint32_t depth, bool boolean);

static struct term *make_parent(struct making *making, enum term_kind kind, uint32_t depth,
                                uint32_t count, bool boolean)
{
    struct term *term = new_term(making, (struct term){.kind = kind, .count = count});
    for (uint32_t i = 0; i < count; i++)
        term->of[i] = make(making, depth - 1, boolean);
    return term;
}

static struct term *make_number(struct making *making, uint32_t depth)
{
    static const char *const operators[] = {"*", "%", "+", "-"};
    static const int levels[] = {0, 0, 1, 1};
    uint32_t choice = draw(making, 7);
    if (choice < 4) {
        struct term *term = make_parent(making, TERM_BINARY, depth, 2, false);
        term->text = operators[choice];
        term->level = levels[choice];
        return term;
    }
    if (choice == 4)
        return make_parent(making, TERM_NEGATE, depth, 1, false);
    if (choice == 5) {
        struct term *term = new_term(making, (struct term){.kind = TERM_SIZE, .count = 1});
        term->of[0] = make_leaf(making);
        return term;
    }
    struct term *term = make_parent(making, TERM_CHOOSE, depth, 3, false);
    term->of[0] = make(making, depth - 1, true);
    return term;
}

static struct term *make_boolean(struct making *making, uint32_t depth)
{
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};
    uint32_t choice = draw(making, 8);
    bool variable = making->variable;
    struct term *term;
    switch (choice) {
    case 0:
        return make_parent(making, TERM_NOT, depth, 1, true);
    case 1:
        return make_parent(making, TERM_AND, depth, 2 + draw(making, 2), true);
    case 2:
        return make_parent(making, TERM_OR, depth, 2 + draw(making, 2), true);
    case 3:
        return make_parent(making, TERM_CHOOSE, depth, 3, true);
    case 4:
        return make_parent(making, TERM_IN, depth, 1 + draw(making, 3), false);
    case 5:
        making->variable = true;
        term = make_parent(making, draw(making, 2) == 0 ? TERM_ALL : TERM_EXISTS, depth, 1, true);
        making->variable = variable;
        return term;
    default:
        term = make_parent(making, TERM_BINARY, depth, 2, false);
        term->text = operators[draw(making, 6)];
        term->level = 2;
        return term;
    }
}

static struct term *make(struct making *making, uint32_t depth, bool boolean)
{
    if (depth == 0 || draw(making, 5) == 0 || making->count > TERMS_MAX - 100)
        return make_leaf(making);
    return boolean ? make_boolean(making, depth) : make_number(making, depth);
}

/* ---- printing with no more brackets than needed ---- */

struct printed {
    char text[TEXT_SIZE];
    size_t size;
};

static void put(struct printed *printed, const char *text)
{
    int size = snprintf(printed->text + printed->size, TEXT_SIZE - printed->size, "%s", text);
    printed->size += (size_t)size;
    cr_assert_lt(printed->size, TEXT_SIZE);
}

/* How loosely it binds: 0 a value, 1 a sign, 2 * %, 3 + -, 4 relations, 5 &&, 6 ||, 7 ?:. */
static int looseness(const struct term *term)
{
    switch (term->kind) {
    case TERM_NOT:
    case TERM_NEGATE:
        return 1;
    case TERM_BINARY:
        return 2 + term->level;
    case TERM_IN:
        return 4;
    case TERM_AND:
        return 5;
    case TERM_OR:
        return 6;
    case TERM_CHOOSE:
        return 7;
    case TERM_LEAF:
    case TERM_VARIABLE:
    case TERM_ALL:
    case TERM_EXISTS:
    case TERM_SIZE:
        break;
    }
    return 0;
}

static void print(struct printed *printed, const struct term *term, int loosest);

static void print_row(struct printed *printed, const struct term *term, uint32_t from,
                      const char *between, int loosest)
{
    for (uint32_t i = from; i < term->count; i++) {
        put(printed, i > from ? between : "");
        print(printed, term->of[i], loosest);
    }
}

static void print_inside(struct printed *printed, const struct term *term)
{
    switch (term->kind) {
    case TERM_LEAF:
    case TERM_VARIABLE:
        put(printed, term->text);
        return;
    case TERM_NOT:
    case TERM_NEGATE:
        put(printed, term->kind == TERM_NOT ? "!" : "-");
        print(printed, term->of[0], 1);
        return;
    case TERM_BINARY:
        print(printed, term->of[0], 2 + term->level);
        put(printed, term->text);
        print(printed, term->of[1], 1 + term->level);
        return;
    case TERM_AND:
    case TERM_OR:
        print_row(printed, term, 0, term->kind == TERM_AND ? " && " : "||",
                  term->kind == TERM_AND ? 4 : 5);
        return;
    case TERM_CHOOSE:
        print(printed, term->of[0], 6);
        put(printed, " ? ");
        print(printed, term->of[1], 7);
        put(printed, ":");
        print(printed, term->of[2], 7);
        return;
    case TERM_IN:
        print(printed, term->of[0], 4);
        put(printed, " in [");
        print_row(printed, term, 1, ", ", 7);
        put(printed, "]");
        return;
    case TERM_ALL:
    case TERM_EXISTS:
        put(printed, "[2, -7, 0].");
        put(printed, term->kind == TERM_ALL ? "all(x, " : "exists(x, ");
        print(printed, term->of[0], 7);
        put(printed, ")");
        return;
    case TERM_SIZE:
        put(printed, "size(");
        print(printed, term->of[0], 7);
        put(printed, ")");
        return;
    }
}

static void print(struct printed *printed, const struct term *term, int loosest)
{
    bool brackets = looseness(term) > loosest;
    put(printed, brackets ? "(" : "");
    print_inside(printed, term);
    put(printed, brackets ? ")" : "");
}

/* ---- one case ---- */

static const char *print_result(struct result result, char *text, size_t size)
{
    if (result.kind == ERROR_FOUND)
        snprintf(text, size, "error");
    else if (result.kind == BOOLEAN)
        snprintf(text, size, "%s", result.whole != 0 ? "true" : "false");
    else if (result.kind == WHOLE)
        snprintf(text, size, "%" PRId64, result.whole);
    else
        snprintf(text, size, "\"%s\"", result.letters);
    return text;
}

static const char *run_engine(const struct expression *expression, uint32_t units,
                              struct arena *arena, char *text, size_t size)
{
    struct expression_scope scope = {.input = TEXT(input_json)};
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

static void run_case(uint64_t seed)
{
    static struct making making;
    struct printed printed = {.size = 0};
    struct expression_names names = {.allowed = EXPRESSION_NAMES_ALWAYS};
    struct expression_problems problems;
    struct heap_arena heap;
    char expected[LETTERS_SIZE + 2], found[LETTERS_SIZE + 2];
    heap_arena_init(&heap, 64 * 1024);
    making.random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    making.count = 0;
    making.variable = false;
    const struct term *term = make(&making, 1 + draw(&making, CASE_DEPTH), draw(&making, 2) == 0);
    print(&printed, term, 7);
    const struct expression *expression =
        expression_compile(text_of(printed.text), &names, KINDS_ANY, &heap.arena, &problems);
    if (expression == NULL) {
        /* Only for its size. */
        cr_assert(strstr(problems.items[0].text, "at most") != NULL ||
                      strstr(problems.items[0].text, "the limit is") != NULL,
                  "%s\n%u: %s", printed.text, problems.items[0].at + 1, problems.items[0].text);
    } else {
        print_result(evaluate(term, error_found), expected, sizeof(expected));
        run_engine(expression, EXPRESSION_BUDGET, &heap.arena, found, sizeof(found));
        cr_assert_str_eq(found, expected, "%s\n    is %s\nnot %s", printed.text, found, expected);
        run_engine(expression, draw(&making, 100), &heap.arena, found, sizeof(found));
        cr_assert(strcmp(found, expected) == 0 || strcmp(found, "spent") == 0,
                  "%s\n    is %s\nnot %s", printed.text, found, expected);
    }
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
}
