/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_terms.h"

#include "tests/property/engine_data.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { CONDITION_DEPTH = 2 };

/* ---- drawing ---- */

/* No call draws for two of its arguments: in which order, each compiler decides for itself. */

static struct term *new_term(struct term_place *place, struct term term)
{
    struct term *kept = ARENA_NEW(place->arena, struct term);
    *kept = term;
    return kept;
}

static struct term *parent(struct term_place *place, enum term_kind kind, uint32_t count,
                           const struct term *a, const struct term *b)
{
    return new_term(place, (struct term){.kind = kind, .count = count, .of = {a, b}});
}

/* Members that data mostly has, or what a Set made. */
static void add_members(struct term_place *place, struct term *path, const char *last)
{
    if (path->kind == TERM_OUTPUT && dice_percent(place->dice, place->through ? 80 : 20)) {
        path->members[0] = dice_percent(place->dice, 60) ? 'a' : '\0';
        return;
    }
    if (dice_percent(place->dice, 25)) {
        path->members[0] = 'm';
        path->members[1] = dice_percent(place->dice, 50) ? 'n' : 't';
        return;
    }
    path->members[0] = last[dice_roll(place->dice, (uint32_t)strlen(last))];
}

/* What begins with the input, the result or an output. */
static struct term *root(struct term_place *place)
{
    uint32_t roll = dice_roll(place->dice, 100);
    if (place->result && roll < 50)
        return new_term(place, (struct term){.kind = TERM_RESULT});
    if (place->output_count > 0 && roll < (place->through ? 95 : 70)) {
        uint32_t step = dice_roll(place->dice, place->output_count);
        return new_term(place, (struct term){.kind = TERM_OUTPUT, .step = place->outputs[step]});
    }
    return new_term(place, (struct term){.kind = TERM_INPUT});
}

static struct term *path(struct term_place *place, const char *last)
{
    static const char *const answers[] = {"choice", "choice", "by", "comment"};
    struct term *term = root(place);
    if (term->kind == TERM_RESULT && place->choice)
        term->text = answers[dice_roll(place->dice, 4)];
    else
        add_members(place, term, last);
    return term;
}

static struct term *number(struct term_place *place)
{
    return new_term(
        place, (struct term){.kind = TERM_NUMBER, .number = (int64_t)dice_roll(place->dice, 10)});
}

static const struct term *sum(struct term_place *place, uint32_t depth)
{
    static const char *const operators[] = {"+", "-", "*", "%"};
    uint32_t roll = dice_roll(place->dice, 10);
    if (place->variable && roll < 5)
        return new_term(place, (struct term){.kind = TERM_VARIABLE});
    if (depth == 0 || roll < 6)
        return path(place, "n");
    if (roll == 6)
        return parent(place, TERM_SIZE_OF, 1, path(place, "lt"), NULL);
    const struct term *right = number(place);
    struct term *term = parent(place, TERM_BINARY, 2, sum(place, depth - 1), right);
    term->text = operators[dice_roll(place->dice, 4)];
    return term;
}

static const struct term *relation(struct term_place *place)
{
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};
    if (!place->variable && dice_percent(place->dice, 25)) {
        struct term *word =
            new_term(place, (struct term){.kind = TERM_WORD, .word = data_word(place->dice)});
        struct term *term = parent(place, TERM_BINARY, 2, path(place, "t"), word);
        term->text = operators[dice_roll(place->dice, 2)];
        return term;
    }
    const struct term *right = number(place);
    struct term *term = parent(place, TERM_BINARY, 2, sum(place, 1), right);
    term->text = operators[dice_roll(place->dice, 6)];
    return term;
}

static const struct term *has(struct term_place *place)
{
    uint32_t roll = dice_roll(place->dice, 3);
    if (roll == 0 && place->error_count > 0)
        return new_term(
            place,
            (struct term){.kind = TERM_HAS_ERROR,
                          .step = place->errors[dice_roll(place->dice, place->error_count)]});
    if (roll < 2 && place->output_count > 0)
        return new_term(
            place,
            (struct term){.kind = TERM_HAS_OUTPUT,
                          .step = place->outputs[dice_roll(place->dice, place->output_count)]});
    struct term *asked = path(place, "bln");
    if (asked->text == NULL && asked->members[0] == '\0')
        asked->members[0] = 'b';
    return parent(place, TERM_HAS_MEMBER, 1, asked, NULL);
}

/* has(output.X) && ..., as guards are mostly written. */
static const struct term *guarded(struct term_place *place)
{
    if (place->output_count == 0)
        return relation(place);
    struct term *read = path(place, "n");
    read->kind = TERM_OUTPUT;
    read->step = place->outputs[dice_roll(place->dice, place->output_count)];
    struct term *there =
        new_term(place, (struct term){.kind = TERM_HAS_OUTPUT, .step = read->step});
    struct term *compared = parent(place, TERM_BINARY, 2, read, number(place));
    compared->text = dice_percent(place->dice, 50) ? ">" : "<=";
    return parent(place, TERM_AND, 2, there, compared);
}

static const struct term *condition(struct term_place *place, uint32_t depth)
{
    uint32_t roll = dice_roll(place->dice, 100);
    if (roll < 10)
        return path(place, "b");
    if (roll < 30)
        return has(place);
    if (roll < 40)
        return guarded(place);
    if (depth == 0 || roll < 65)
        return relation(place);
    if (roll < 72)
        return parent(place, TERM_NOT, 1, condition(place, depth - 1), NULL);
    if (roll < 90) {
        const struct term *right = condition(place, depth - 1);
        const struct term *left = condition(place, depth - 1);
        return parent(place, dice_percent(place->dice, 50) ? TERM_AND : TERM_OR, 2, left, right);
    }
    if (roll < 95 && !place->variable) {
        const struct term *list = path(place, "l");
        struct term *over =
            parent(place, dice_percent(place->dice, 50) ? TERM_EXISTS : TERM_ALL, 2, list, NULL);
        place->variable = true;
        over->of[1] = condition(place, 0);
        place->variable = false;
        return over;
    }
    const struct term *otherwise = condition(place, depth - 1);
    struct term *choose = parent(place, TERM_CHOOSE, 3, condition(place, depth - 1), otherwise);
    choose->of[2] = condition(place, depth - 1);
    return choose;
}

const struct term *term_condition(struct term_place *place)
{
    return condition(place, dice_roll(place->dice, CONDITION_DEPTH + 1));
}

const struct term *term_seconds(struct term_place *place)
{
    struct term *seconds = number(place);
    seconds->number *= 5;
    return dice_percent(place->dice, 40) ? seconds : sum(place, 1);
}

const struct term *term_endless(struct arena *arena)
{
    struct term *term = ARENA_NEW(arena, struct term);
    *term = (struct term){.kind = TERM_ENDLESS};
    return term;
}

/* What may stand in a text. */
static const struct term *piece(struct term_place *place)
{
    uint32_t roll = dice_roll(place->dice, 10);
    if (roll == 0)
        return new_term(place, (struct term){.kind = TERM_CUSTOMER});
    if (roll == 1 && place->error_count > 0)
        return new_term(
            place,
            (struct term){.kind = TERM_ERROR_NAME,
                          .step = place->errors[dice_roll(place->dice, place->error_count)]});
    return roll < 4 ? sum(place, 1) : path(place, "nt");
}

/* Any value, or several. */
static const struct term *value(struct term_place *place)
{
    uint32_t roll = dice_roll(place->dice, 10);
    if (roll < 4)
        return path(place, "nmlbt");
    if (roll == 4)
        return root(place);
    return roll == 5 ? condition(place, 1) : piece(place);
}

static const struct term *part(struct term_place *place)
{
    static const char *const constants[] = {"1", "\"fixed\"", "[true,null]", "{\"k\":-7}"};
    uint32_t roll = dice_roll(place->dice, 10);
    if (roll < 2)
        return new_term(place, (struct term){.kind = TERM_CONSTANT,
                                             .text = constants[dice_roll(place->dice, 4)]});
    if (roll < 4)
        return parent(place, TERM_FILLED, 1, piece(place), NULL);
    return value(place);
}

const struct term *term_template(struct term_place *place)
{
    if (dice_percent(place->dice, 3)) {
        struct term *big = new_term(place, (struct term){.kind = TERM_INPUT});
        big->text = "big";
        return big;
    }
    if (dice_percent(place->dice, 25))
        return value(place);
    struct term *map = new_term(place, (struct term){.kind = TERM_MAP});
    map->count = 1 + dice_roll(place->dice, TERM_CHILDREN_MAX);
    for (uint32_t i = 0; i < map->count; i++)
        map->of[i] = part(place);
    return map;
}

const struct term *term_message(struct term_place *place)
{
    if (dice_percent(place->dice, 5)) {
        struct term *big = new_term(place, (struct term){.kind = TERM_INPUT});
        big->text = "big";
        return parent(place, TERM_FILLED, 1, big, NULL);
    }
    return parent(place, TERM_FILLED, 1, piece(place), NULL);
}

/* ---- printing ---- */

struct printed {
    char text[TERM_SIZE];
    uint32_t size;
};

static void put(struct printed *printed, struct text text)
{
    assert(printed->size + text.size < TERM_SIZE);
    if (text.size > 0)
        memcpy(printed->text + printed->size, text.data, text.size);
    printed->size += text.size;
}

static void print(struct printed *printed, const struct term *term);

static void print_between(struct printed *printed, const char *before, const struct term *term,
                          const char *after)
{
    put(printed, text_of(before));
    print(printed, term);
    put(printed, text_of(after));
}

static void print_path(struct printed *printed, const char *begin, const struct term *term)
{
    put(printed, text_of(begin));
    put(printed, term->step);
    if (term->text != NULL) {
        put(printed, TEXT("."));
        put(printed, text_of(term->text));
    }
    for (uint32_t i = 0; i < TERM_MEMBERS_MAX && term->members[i] != '\0'; i++) {
        char member[] = {'.', term->members[i], '\0'};
        put(printed, text_of(member));
    }
}

static void print_two(struct printed *printed, const struct term *term, const char *between)
{
    print_between(printed, "(", term->of[0], between);
    print_between(printed, "", term->of[1], ")");
}

static void print_over(struct printed *printed, const struct term *term, const char *macro)
{
    print_between(printed, "", term->of[0], macro);
    print_between(printed, "(x, ", term->of[1], ")");
}

/* 10^5 elements. */
static void print_endless(struct printed *printed)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (uint32_t i = 0; i < 5; i++) {
        put(printed, TEXT("[1, 2, 3, 4, 5, 6, 7, 8, 9, 0].all("));
        put(printed, text_of(names[i]));
        put(printed, TEXT(", "));
    }
    put(printed, TEXT("e < 10)))))"));
}

/* False: it has children. */
static bool print_leaf(struct printed *printed, const struct term *term)
{
    char digits[32];
    switch (term->kind) {
    case TERM_NUMBER:
        snprintf(digits, sizeof(digits), "%" PRId64, term->number);
        put(printed, text_of(digits));
        return true;
    case TERM_WORD:
        put(printed, TEXT("'"));
        put(printed, term->word);
        put(printed, TEXT("'"));
        return true;
    case TERM_VARIABLE:
        put(printed, TEXT("x"));
        return true;
    case TERM_INPUT:
        print_path(printed, "input", term);
        return true;
    case TERM_RESULT:
        print_path(printed, "result", term);
        return true;
    case TERM_OUTPUT:
        print_path(printed, "output.", term);
        return true;
    case TERM_ERROR_NAME:
        print_path(printed, "error.", term);
        put(printed, TEXT(".name"));
        return true;
    case TERM_CUSTOMER:
        put(printed, TEXT("order.customer"));
        return true;
    case TERM_HAS_OUTPUT:
    case TERM_HAS_ERROR:
        put(printed, term->kind == TERM_HAS_OUTPUT ? TEXT("has(output.") : TEXT("has(error."));
        put(printed, term->step);
        put(printed, TEXT(")"));
        return true;
    case TERM_ENDLESS:
        print_endless(printed);
        return true;
    case TERM_HAS_MEMBER:
    case TERM_NOT:
    case TERM_AND:
    case TERM_OR:
    case TERM_CHOOSE:
    case TERM_BINARY:
    case TERM_SIZE_OF:
    case TERM_EXISTS:
    case TERM_ALL:
    case TERM_CONSTANT:
    case TERM_FILLED:
    case TERM_MAP:
        break;
    }
    return false;
}

static void print(struct printed *printed, const struct term *term)
{
    if (print_leaf(printed, term))
        return;
    switch (term->kind) {
    case TERM_HAS_MEMBER:
        print_between(printed, "has(", term->of[0], ")");
        return;
    case TERM_NOT:
        print_between(printed, "!(", term->of[0], ")");
        return;
    case TERM_AND:
    case TERM_OR:
        print_two(printed, term, term->kind == TERM_AND ? " && " : " || ");
        return;
    case TERM_CHOOSE:
        print_between(printed, "(", term->of[0], " ? ");
        print_between(printed, "", term->of[1], " : ");
        print_between(printed, "", term->of[2], ")");
        return;
    case TERM_BINARY:
        print_two(printed, term, term->text);
        return;
    case TERM_SIZE_OF:
        print_between(printed, "size(", term->of[0], ")");
        return;
    case TERM_EXISTS:
        print_over(printed, term, ".exists");
        return;
    case TERM_ALL:
        print_over(printed, term, ".all");
        return;
    case TERM_NUMBER:
    case TERM_WORD:
    case TERM_VARIABLE:
    case TERM_INPUT:
    case TERM_RESULT:
    case TERM_OUTPUT:
    case TERM_ERROR_NAME:
    case TERM_CUSTOMER:
    case TERM_HAS_OUTPUT:
    case TERM_HAS_ERROR:
    case TERM_ENDLESS:
    case TERM_CONSTANT:
    case TERM_FILLED:
    case TERM_MAP:
        break;
    }
    assert(false && "part of a template");
}

static void print_part(struct printed *printed, const struct term *term)
{
    if (term->kind == TERM_CONSTANT) {
        put(printed, text_of(term->text));
    } else if (term->kind == TERM_FILLED) {
        print_between(printed, "\"v ${", term->of[0], "} w\"");
    } else if (term->kind == TERM_MAP) {
        for (uint32_t i = 0; i < term->count; i++) {
            char name[] = {i > 0 ? ',' : '{', ' ', (char)('a' + i), ':', ' ', '\0'};
            put(printed, text_of(name));
            print_part(printed, term->of[i]);
        }
        put(printed, TEXT("}"));
    } else {
        print_between(printed, "\"${", term, "}\"");
    }
}

struct text term_print(const struct term *term, struct arena *arena)
{
    struct printed printed = {.size = 0};
    print(&printed, term);
    return arena_text(arena, (struct text){printed.text, printed.size});
}

struct text term_print_template(const struct term *term, struct arena *arena)
{
    struct printed printed = {.size = 0};
    print_part(&printed, term);
    return arena_text(arena, (struct text){printed.text, printed.size});
}
