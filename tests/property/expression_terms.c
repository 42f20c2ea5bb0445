/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing and printing. See expression_terms.h. */
#include "tests/property/expression_terms.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* ---- leaves ---- */

#define LEAF(text, ...)                           \
    {                                             \
        TERM_LEAF, text, {__VA_ARGS__}, 0, {0}, 0 \
    }
static const struct term leaves[] = {
    LEAF("input.yes", .kind = BOOLEAN, .whole = 1),
    LEAF("input.no", .kind = BOOLEAN),
    LEAF("input.zero", .kind = WHOLE),
    LEAF("input.two", .kind = WHOLE, .whole = 2),
    LEAF("input['-7']", .kind = WHOLE, .whole = -7),
    LEAF("input.most", .kind = WHOLE, .whole = INT64_MAX),
    LEAF("input.least", .kind = WHOLE, .whole = INT64_MIN),
    LEAF("input.tenth", .kind = REAL, .real = 0.1),
    LEAF("input.half", .kind = REAL, .real = -2.5),
    LEAF("input.a", .kind = LETTERS, .letters = "a"),
    LEAF("input.ab", .kind = LETTERS, .letters = "ab"),
    LEAF("input.digits", .kind = LETTERS, .letters = "12"),
    LEAF("input.missing", .kind = ERROR_FOUND),
};
/* Of kinds that the compiler knows: it refuses them elsewhere. */
static const struct term conditions[] = {
    LEAF("has(input.two)", .kind = BOOLEAN, .whole = 1),
    LEAF("has(input.missing)", .kind = BOOLEAN),
};
enum { LEAF_KINDS = sizeof(leaves) / sizeof(leaves[0]) };

static const struct result list_parts[] = {
    {.kind = WHOLE, .whole = 2},        {.kind = WHOLE, .whole = -7},
    {.kind = WHOLE, .whole = 0},        {.kind = REAL, .real = 0.1},
    {.kind = REAL, .real = -2.5},       {.kind = LETTERS, .letters = "a"},
    {.kind = LETTERS, .letters = "ab"}, {.kind = BOOLEAN, .whole = 1},
};
#define PART(index) &list_parts[index]
static const struct items list_numbers = {3, {PART(0), PART(1), PART(2)}};
static const struct items list_reals = {4, {PART(3), PART(0), PART(4), PART(0)}};
static const struct items list_words = {2, {PART(5), PART(6)}};
static const struct items list_mixed = {3, {PART(7), PART(5), PART(3)}};
static const struct items list_none = {0, {NULL}};
static const struct term lists[] = {
    LEAF("[2, -7, 0]", .kind = LIST, .items = &list_numbers),
    LEAF("input.numbers", .kind = LIST, .items = &list_numbers),
    LEAF("input.reals", .kind = LIST, .items = &list_reals),
    LEAF("input.words", .kind = LIST, .items = &list_words),
    LEAF("input.mixed", .kind = LIST, .items = &list_mixed),
    LEAF("input.none", .kind = LIST, .items = &list_none),
};
enum { LIST_KINDS = sizeof(lists) / sizeof(lists[0]) };

const char terms_input[] =
    "{\"-7\":-7,\"a\":\"a\",\"ab\":\"ab\",\"digits\":\"12\",\"half\":-2.5,"
    "\"least\":-9223372036854775808,\"mixed\":[true,\"a\",0.1],\"most\":9223372036854775807,"
    "\"no\":false,\"none\":[],\"numbers\":[2,-7,0],\"reals\":[0.1,2,-2.5,2],\"tenth\":0.1,"
    "\"two\":2,\"words\":[\"a\",\"ab\"],\"yes\":true,\"zero\":0}";

/* ---- random terms ---- */

uint32_t terms_roll(struct making *making, uint32_t choices)
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

/* What an expression is wanted for. A leaf may be of any kind: then there is an error. */
enum want { WANT_BOOLEAN, WANT_NUMBER, WANT_LETTERS, WANT_LIST };

static struct term *make_leaf(struct making *making, enum want want)
{
    static const uint32_t first[] = {0, 2, 9, 12, LEAF_KINDS}; /* leaf of each kind */
    if (making->variable && terms_roll(making, 2) == 0)
        return new_term(making, (struct term){.kind = TERM_VARIABLE, .text = "x"});
    if (want == WANT_LIST && terms_roll(making, 10) > 0)
        return new_term(making, lists[terms_roll(making, LIST_KINDS)]);
    if (want == WANT_BOOLEAN && terms_roll(making, 5) == 0)
        return new_term(making, conditions[terms_roll(making, 2)]);
    if (terms_roll(making, 12) == 0)
        return new_term(making, lists[1 + terms_roll(making, LIST_KINDS - 1)]);
    if (terms_roll(making, 5) > 0) /* of the kind that is wanted */
        return new_term(making,
                        leaves[first[want] + terms_roll(making, first[want + 1] - first[want])]);
    return new_term(making, leaves[terms_roll(making, LEAF_KINDS)]);
}

static struct term *make(struct making *making, uint32_t depth, enum want want);

static struct term *make_parent(struct making *making, enum term_kind kind, uint32_t depth,
                                uint32_t count, enum want want)
{
    struct term *term = new_term(making, (struct term){.kind = kind, .count = count});
    for (uint32_t i = 0; i < count; i++)
        term->of[i] = make(making, depth - 1, want);
    return term;
}

static struct term *make_binary(struct making *making, uint32_t depth, const char *operator,
                                int level, enum want want)
{
    struct term *term = make_parent(making, TERM_BINARY, depth, 2, want);
    term->text = operator;
    term->level = level;
    return term;
}

static struct term *make_choice(struct making *making, uint32_t depth, enum want want)
{
    struct term *term = make_parent(making, TERM_CHOOSE, depth, 3, want);
    term->of[0] = make(making, depth - 1, WANT_BOOLEAN);
    return term;
}

/* Over a list, with a variable of its own. */
static struct term *make_over(struct making *making, enum term_kind kind, uint32_t depth,
                              enum want want)
{
    bool variable = making->variable;
    struct term *term = new_term(making, (struct term){.kind = kind, .count = 2});
    term->of[0] = make(making, depth - 1, WANT_LIST);
    making->variable = true;
    term->of[1] = make(making, depth - 1, want);
    making->variable = variable;
    return term;
}

static struct term *make_named(struct making *making, enum term_kind kind, const char *name,
                               struct term *target)
{
    struct term *term = new_term(making, (struct term){.kind = kind, .count = 1});
    term->text = name;
    term->of[0] = target;
    return term;
}

/* The compiler refuses what it knows not to be whole. */
static struct term *make_remainder(struct making *making, uint32_t depth)
{
    struct term *term = new_term(making, (struct term){.kind = TERM_BINARY, .count = 2});
    term->text = "%";
    for (int i = 0; i < 2; i++)
        term->of[i] = terms_roll(making, 2) == 0 ? make_leaf(making, WANT_NUMBER)
                                                 : make_named(making, TERM_CALL, "int",
                                                              make(making, depth - 1, WANT_NUMBER));
    return term;
}

static struct term *make_number(struct making *making, uint32_t depth)
{
    static const char *const operators[] = {"*", "/", "%", "+", "-"};
    static const char *const of_lists[] = {"sum", "min", "max"};
    uint32_t choice = terms_roll(making, 12);
    if (choice == 2)
        return make_remainder(making, depth);
    if (choice < 5)
        return make_binary(making, depth, operators[choice], choice < 3 ? 0 : 1, WANT_NUMBER);
    if (choice == 5)
        return make_parent(making, TERM_NEGATE, depth, 1, WANT_NUMBER);
    if (choice == 6)
        return make_named(
            making, TERM_CALL, "size",
            make(making, depth - 1, terms_roll(making, 2) ? WANT_LETTERS : WANT_LIST));
    if (choice == 7)
        return make_named(
            making, TERM_CALL, terms_roll(making, 2) ? "int" : "double",
            make(making, depth - 1, terms_roll(making, 3) ? WANT_NUMBER : WANT_LETTERS));
    if (choice < 10)
        return make_named(making, TERM_METHOD, of_lists[terms_roll(making, 3)],
                          make(making, depth - 1, WANT_LIST));
    if (choice == 10) {
        struct term *term = new_term(making, (struct term){.kind = TERM_ELEMENT, .count = 2});
        term->of[0] = make(making, depth - 1, WANT_LIST);
        term->of[1] = make(making, depth - 1, WANT_NUMBER);
        return term;
    }
    return make_choice(making, depth, WANT_NUMBER);
}

static struct term *make_letters(struct making *making, uint32_t depth)
{
    if (terms_roll(making, 3) == 0)
        return make_choice(making, depth, WANT_LETTERS);
    return make_binary(making, depth, "+", 1, WANT_LETTERS);
}

static struct term *make_list(struct making *making, uint32_t depth)
{
    uint32_t choice = terms_roll(making, 6);
    if (choice < 2)
        return make_over(making, TERM_FILTER, depth, WANT_BOOLEAN);
    if (choice < 4)
        return make_over(making, TERM_MAP, depth, (enum want)terms_roll(making, 3));
    if (choice == 4)
        return make_binary(making, depth, "+", 1, WANT_LIST);
    return make_parent(making, TERM_LIST, depth, terms_roll(making, 4),
                       (enum want)terms_roll(making, 3));
}

static struct term *make_relation(struct making *making, uint32_t depth)
{
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};
    uint32_t operator= terms_roll(making, 6);
    uint32_t any = operator<2 ? 4 : 3; /* lists have no order */
    enum want want = (enum want)terms_roll(making, any);
    return make_binary(making, depth, operators[operator], 2,
                       want == WANT_BOOLEAN ? WANT_NUMBER : want);
}

static struct term *make_boolean(struct making *making, uint32_t depth)
{
    static const enum term_kind over[] = {TERM_ALL, TERM_EXISTS, TERM_EXISTS_ONE};
    static const char *const of_letters[] = {"contains", "startsWith", "endsWith"};
    struct term *term;
    switch (terms_roll(making, 10)) {
    case 0:
        return make_parent(making, TERM_NOT, depth, 1, WANT_BOOLEAN);
    case 1:
        return make_parent(making, TERM_AND, depth, 2 + terms_roll(making, 2), WANT_BOOLEAN);
    case 2:
        return make_parent(making, TERM_OR, depth, 2 + terms_roll(making, 2), WANT_BOOLEAN);
    case 3:
        return make_choice(making, depth, WANT_BOOLEAN);
    case 4:
        return make_parent(making, TERM_IN, depth, 1 + terms_roll(making, 3), WANT_NUMBER);
    case 5:
        term = make_parent(making, TERM_IN_LIST, depth, 1, WANT_NUMBER);
        term->of[term->count++] = make(making, depth - 1, WANT_LIST);
        return term;
    case 6:
        return make_over(making, over[terms_roll(making, 3)], depth, WANT_BOOLEAN);
    case 7:
        term = make_parent(making, TERM_METHOD, depth, 2, WANT_LETTERS);
        term->text = of_letters[terms_roll(making, 3)];
        return term;
    default:
        return make_relation(making, depth);
    }
}

static struct term *make(struct making *making, uint32_t depth, enum want want)
{
    if (depth == 0 || terms_roll(making, 5) == 0 || making->count > TERMS_MAX - 100)
        return make_leaf(making, want);
    switch (want) {
    case WANT_BOOLEAN:
        return make_boolean(making, depth);
    case WANT_NUMBER:
        return make_number(making, depth);
    case WANT_LETTERS:
        return make_letters(making, depth);
    case WANT_LIST:
        return make_list(making, depth);
    }
    return make_leaf(making, want);
}

const struct term *terms_draw(struct making *making)
{
    enum { CASE_DEPTH = 5 };
    making->count = 0;
    making->variable = false;
    uint32_t depth = 1 + terms_roll(making, CASE_DEPTH);
    return make(making, depth, (enum want)terms_roll(making, 4));
}

/* ---- printing with no more brackets than needed ---- */

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
    case TERM_IN_LIST:
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
    case TERM_EXISTS_ONE:
    case TERM_FILTER:
    case TERM_MAP:
    case TERM_LIST:
    case TERM_ELEMENT:
    case TERM_CALL:
    case TERM_METHOD:
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

static const char *macro_of(enum term_kind kind)
{
    return kind == TERM_ALL          ? ".all(x, "
           : kind == TERM_EXISTS     ? ".exists(x, "
           : kind == TERM_EXISTS_ONE ? ".exists_one(x, "
           : kind == TERM_FILTER     ? ".filter(x, "
                                     : ".map(x, ";
}

static void print_between(struct printed *printed, const char *before, const struct term *term,
                          const char *after)
{
    put(printed, before);
    print(printed, term, 7);
    put(printed, after);
}

/* What looks like a call, or has brackets of its own. */
static void print_called(struct printed *printed, const struct term *term)
{
    if (term->kind == TERM_LIST) {
        put(printed, "[");
        print_row(printed, term, 0, ", ", 7);
        put(printed, "]");
    } else if (term->kind == TERM_CALL) {
        put(printed, term->text);
        print_between(printed, "(", term->of[0], ")");
    } else if (term->kind == TERM_ELEMENT) {
        print(printed, term->of[0], 0);
        print_between(printed, "[", term->of[1], "]");
    } else if (term->kind == TERM_METHOD) {
        print(printed, term->of[0], 0);
        put(printed, ".");
        put(printed, term->text);
        put(printed, "(");
        print_row(printed, term, 1, "", 7);
        put(printed, ")");
    } else {
        print(printed, term->of[0], 0);
        print_between(printed, macro_of(term->kind), term->of[1], ")");
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
        print_between(printed, " ? ", term->of[1], ":");
        print(printed, term->of[2], 7);
        return;
    case TERM_IN:
        print(printed, term->of[0], 4);
        put(printed, " in [");
        print_row(printed, term, 1, ", ", 7);
        put(printed, "]");
        return;
    case TERM_IN_LIST:
        print(printed, term->of[0], 4);
        put(printed, " in ");
        print(printed, term->of[1], 3);
        return;
    case TERM_ALL:
    case TERM_EXISTS:
    case TERM_EXISTS_ONE:
    case TERM_FILTER:
    case TERM_MAP:
    case TERM_LIST:
    case TERM_ELEMENT:
    case TERM_CALL:
    case TERM_METHOD:
        print_called(printed, term);
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

void terms_print(const struct term *term, struct printed *ret_printed)
{
    ret_printed->size = 0;
    print(ret_printed, term, 7);
}
