/* SPDX-License-Identifier: Apache-2.0 */
/* The second implementation of expressions: of the few kinds that random histories have. */
#include "tests/property/engine_data.h"
#include "tests/property/engine_terms.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct found fault_of(enum fault fault)
{
    return (struct found){.kind = FOUND_FAULT, .fault = fault};
}

static struct found bool_of(bool yes)
{
    return (struct found){.kind = FOUND_BOOL, .number = yes};
}

static struct found text_found(struct text text)
{
    return (struct found){.kind = FOUND_TEXT, .text = text};
}

static struct found number_of(int64_t number)
{
    return (struct found){.kind = FOUND_NUMBER, .number = number};
}

/* Empty: null. */
static struct found of_json(struct text json)
{
    char digits[32] = "";
    if (text_empty(json) || text_equal(json, TEXT("null")))
        return (struct found){.kind = FOUND_NULL};
    if (json.data[0] == '{' || json.data[0] == '[')
        return (struct found){.kind = FOUND_DATA, .text = json};
    if (json.data[0] == '"')
        return text_found((struct text){json.data + 1, json.size - 2});
    if (json.data[0] == 't' || json.data[0] == 'f')
        return bool_of(json.data[0] == 't');
    memcpy(digits, json.data, json.size);
    return number_of(strtoll(digits, NULL, 10));
}

static bool is_data(struct found found, char open)
{
    return found.kind == FOUND_DATA && found.text.data[0] == open;
}

static bool find_member(struct found map, struct text name, struct found *ret_found)
{
    struct data_items items;
    data_items_begin(&items, map.text);
    while (data_items_next(&items)) {
        if (text_equal(items.name, name)) {
            *ret_found = of_json(items.value);
            return true;
        }
    }
    return false;
}

/* ---- paths ---- */

static struct found begin(const struct term_scope *scope, const struct term *path)
{
    if (path->kind == TERM_INPUT)
        return of_json(scope->input);
    if (path->kind == TERM_RESULT)
        return data_is_truncated(scope->result) ? fault_of(FAULT_LIMIT) : of_json(scope->result);
    struct term_step step = scope->step(scope->of, path->step);
    assert(path->kind == TERM_OUTPUT);
    if (!step.has_output)
        return fault_of(FAULT_MISSING);
    return data_is_truncated(step.output) ? fault_of(FAULT_LIMIT) : of_json(step.output);
}

/* The names of the members behind it; returns how many there are. */
static uint32_t names_of(const struct term *path, struct text names[TERM_MEMBERS_MAX + 1])
{
    uint32_t count = 0;
    if (path->text != NULL)
        names[count++] = text_of(path->text);
    for (uint32_t i = 0; i < TERM_MEMBERS_MAX && path->members[i] != '\0'; i++)
        names[count++] = (struct text){&path->members[i], 1};
    return count;
}

static struct found follow(const struct term_scope *scope, const struct term *path, uint32_t leave)
{
    struct text names[TERM_MEMBERS_MAX + 1];
    uint32_t count = names_of(path, names) - leave;
    struct found found = begin(scope, path);
    for (uint32_t i = 0; i < count && found.kind != FOUND_FAULT; i++) {
        struct found map = found;
        if (!is_data(map, '{') || !find_member(map, names[i], &found))
            return fault_of(FAULT_QUERY);
    }
    return found;
}

static struct found has_member(const struct term_scope *scope, const struct term *path)
{
    struct text names[TERM_MEMBERS_MAX + 1];
    struct found value;
    struct text last = names[names_of(path, names) - 1];
    struct found map = follow(scope, path, 1);
    if (map.kind == FOUND_FAULT)
        return map;
    if (path->kind == TERM_RESULT && map.kind == FOUND_NULL && names_of(path, names) == 1)
        return bool_of(false); /* of an attempt without a result */
    return is_data(map, '{') ? bool_of(find_member(map, last, &value)) : fault_of(FAULT_QUERY);
}

/* ---- operators ---- */

static bool same(struct found a, struct found b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == FOUND_TEXT || a.kind == FOUND_DATA)
        return text_equal(a.text, b.text); /* canonical */
    return a.kind == FOUND_NULL || a.number == b.number;
}

static struct found calculate(char operator, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool over = false;
    if (operator== '%')
        return b == 0 ? fault_of(FAULT_QUERY) : number_of(a % b);
    if (operator== '+')
        over = __builtin_add_overflow(a, b, &result);
    else if (operator== '-')
        over = __builtin_sub_overflow(a, b, &result);
    else
        over = __builtin_mul_overflow(a, b, &result);
    return over ? fault_of(FAULT_QUERY) : number_of(result);
}

static struct found binary(struct term_scope *scope, const struct term *term)
{
    struct found a = term_evaluate(scope, term->of[0]);
    struct found b = a.kind == FOUND_FAULT ? a : term_evaluate(scope, term->of[1]);
    const char *text = term->text;
    if (b.kind == FOUND_FAULT)
        return b;
    if (text[1] == '=' && (text[0] == '=' || text[0] == '!'))
        return bool_of(same(a, b) == (text[0] == '='));
    if (a.kind != FOUND_NUMBER || b.kind != FOUND_NUMBER)
        return fault_of(FAULT_QUERY);
    if (text[0] == '<')
        return bool_of(a.number < b.number || (text[1] == '=' && a.number == b.number));
    if (text[0] == '>')
        return bool_of(a.number > b.number || (text[1] == '=' && a.number == b.number));
    return calculate(text[0], a.number, b.number);
}

/* Of the faults of && and ||, the first counts, but one that says no more than that something is
 * missing. */
static void keep_fault(struct found *kept, struct found next)
{
    if (kept->kind != FOUND_FAULT || kept->fault == FAULT_MISSING)
        *kept = next;
}

static struct found as_bool(struct found found)
{
    return found.kind == FOUND_BOOL || found.kind == FOUND_FAULT ? found : fault_of(FAULT_QUERY);
}

static struct found logic(struct term_scope *scope, const struct term *term)
{
    bool decides = term->kind == TERM_OR;
    struct found kept = bool_of(!decides);
    for (uint32_t i = 0; i < term->count; i++) {
        struct found found = as_bool(term_evaluate(scope, term->of[i]));
        if (found.kind == FOUND_BOOL && (found.number != 0) == decides)
            return found;
        if (found.kind == FOUND_FAULT)
            keep_fault(&kept, found);
    }
    return kept;
}

static struct found over_list(struct term_scope *scope, const struct term *term)
{
    bool decides = term->kind == TERM_EXISTS;
    struct found list = term_evaluate(scope, term->of[0]);
    struct found kept = bool_of(!decides);
    struct data_items items;
    if (list.kind == FOUND_FAULT)
        return list;
    if (!is_data(list, '['))
        return fault_of(FAULT_QUERY);
    data_items_begin(&items, list.text);
    while (data_items_next(&items)) {
        scope->variable = of_json(items.value);
        struct found found = as_bool(term_evaluate(scope, term->of[1]));
        if (found.kind == FOUND_BOOL && (found.number != 0) == decides)
            return found;
        if (found.kind == FOUND_FAULT)
            keep_fault(&kept, found);
    }
    return kept;
}

static struct found choose(struct term_scope *scope, const struct term *term)
{
    struct found asked = as_bool(term_evaluate(scope, term->of[0]));
    if (asked.kind == FOUND_FAULT)
        return asked;
    return term_evaluate(scope, term->of[asked.number != 0 ? 1 : 2]);
}

static struct found size_of(struct found found)
{
    int64_t count = 0;
    struct data_items items;
    if (found.kind == FOUND_FAULT)
        return found;
    if (found.kind == FOUND_TEXT)
        return number_of(found.text.size); /* ASCII */
    if (found.kind != FOUND_DATA)
        return fault_of(FAULT_QUERY);
    for (data_items_begin(&items, found.text); data_items_next(&items);)
        count++;
    return number_of(count);
}

static struct found negate(struct found found)
{
    found = as_bool(found);
    return found.kind == FOUND_FAULT ? found : bool_of(found.number == 0);
}

struct found term_evaluate(struct term_scope *scope, const struct term *term)
{
    struct term_step step;
    switch (term->kind) {
    case TERM_NUMBER:
        return number_of(term->number);
    case TERM_WORD:
        return text_found(term->word);
    case TERM_VARIABLE:
        return scope->variable;
    case TERM_INPUT:
    case TERM_RESULT:
    case TERM_OUTPUT:
        return follow(scope, term, 0);
    case TERM_ERROR_NAME:
        step = scope->step(scope->of, term->step);
        return step.has_error ? text_found(step.error_name) : fault_of(FAULT_MISSING);
    case TERM_CUSTOMER:
        return text_found(scope->customer);
    case TERM_HAS_OUTPUT:
        return bool_of(scope->step(scope->of, term->step).has_output);
    case TERM_HAS_ERROR:
        return bool_of(scope->step(scope->of, term->step).has_error);
    case TERM_HAS_MEMBER:
        return has_member(scope, term->of[0]);
    case TERM_NOT:
        return negate(term_evaluate(scope, term->of[0]));
    case TERM_AND:
    case TERM_OR:
        return logic(scope, term);
    case TERM_CHOOSE:
        return choose(scope, term);
    case TERM_BINARY:
        return binary(scope, term);
    case TERM_SIZE_OF:
        return size_of(term_evaluate(scope, term->of[0]));
    case TERM_EXISTS:
    case TERM_ALL:
        return over_list(scope, term);
    case TERM_ENDLESS:
        *scope->spent = true;
        return fault_of(FAULT_SPENT);
    case TERM_CONSTANT:
    case TERM_FILLED:
    case TERM_MAP:
        break;
    }
    assert(false && "part of a template");
    return fault_of(FAULT_QUERY);
}

/* ---- whole expressions and templates ---- */

static bool has_begun(const struct term_scope *scope, enum fault *ret_fault)
{
    *ret_fault = FAULT_QUERY;
    return !scope->disabled && !*scope->spent;
}

bool term_holds(struct term_scope *scope, const struct term *when, bool *ret_yes,
                enum fault *ret_fault)
{
    if (!has_begun(scope, ret_fault))
        return false;
    struct found found = as_bool(term_evaluate(scope, when));
    *ret_yes = found.kind == FOUND_BOOL && found.number != 0;
    *ret_fault = found.fault;
    return found.kind == FOUND_BOOL || found.fault == FAULT_MISSING;
}

bool term_test(struct term_scope *scope, const struct term *condition, bool *ret_yes,
               enum fault *ret_fault)
{
    bool done = term_holds(scope, condition, ret_yes, ret_fault);
    return done && *ret_fault != FAULT_MISSING;
}

bool term_number(struct term_scope *scope, const struct term *term, int64_t *ret_number,
                 enum fault *ret_fault)
{
    if (!has_begun(scope, ret_fault))
        return false;
    struct found found = term_evaluate(scope, term);
    *ret_number = found.number;
    *ret_fault = found.kind == FOUND_FAULT ? found.fault : FAULT_QUERY;
    return found.kind == FOUND_NUMBER;
}

bool term_may_begin(const struct term_scope *scope, enum fault *ret_fault)
{
    return has_begun(scope, ret_fault);
}

enum { MADE_SIZE = 512 * 1024 };

struct making {
    struct term_scope *scope;
    uint32_t bytes_max;
    char text[MADE_SIZE];
    uint32_t size;
};

static void add(struct making *making, struct text text)
{
    assert(making->size + text.size <= MADE_SIZE);
    if (text.size > 0)
        memcpy(making->text + making->size, text.data, text.size);
    making->size += text.size;
}

static void add_scalar(struct making *making, struct found found)
{
    char digits[32];
    if (found.kind == FOUND_NULL) {
        add(making, TEXT("null"));
    } else if (found.kind == FOUND_BOOL) {
        add(making, found.number != 0 ? TEXT("true") : TEXT("false"));
    } else if (found.kind == FOUND_NUMBER) {
        snprintf(digits, sizeof(digits), "%" PRId64, found.number);
        add(making, text_of(digits));
    } else {
        add(making, found.text);
    }
}

static bool add_filled(struct making *making, const struct term *term, enum fault *ret_fault)
{
    struct found found = term_evaluate(making->scope, term->of[0]);
    *ret_fault = found.kind == FOUND_FAULT ? found.fault : FAULT_QUERY;
    if (found.kind == FOUND_FAULT || found.kind == FOUND_NULL || found.kind == FOUND_DATA)
        return false;
    add(making, TEXT("v "));
    add_scalar(making, found);
    add(making, TEXT(" w"));
    return true;
}

static bool add_part(struct making *making, const struct term *term, enum fault *ret_fault)
{
    if (term->kind == TERM_CONSTANT) {
        add(making, text_of(term->text));
        return true;
    }
    if (term->kind == TERM_FILLED) {
        add(making, TEXT("\""));
        uint32_t begin = making->size;
        bool done = add_filled(making, term, ret_fault);
        bool fits = making->size - begin <= making->bytes_max; /* else no later part is made */
        add(making, TEXT("\""));
        if (done && !fits)
            *ret_fault = FAULT_LIMIT;
        return done && fits;
    }
    if (term->kind == TERM_MAP) {
        for (uint32_t i = 0; i < term->count; i++) {
            char name[] = {i > 0 ? ',' : '{', '"', (char)('a' + i), '"', ':', '\0'};
            add(making, text_of(name));
            if (!add_part(making, term->of[i], ret_fault))
                return false;
        }
        add(making, TEXT("}"));
        return true;
    }
    struct found found = term_evaluate(making->scope, term);
    *ret_fault = found.fault;
    add(making, found.kind == FOUND_TEXT ? TEXT("\"") : TEXT(""));
    add_scalar(making, found);
    add(making, found.kind == FOUND_TEXT ? TEXT("\"") : TEXT(""));
    return found.kind != FOUND_FAULT;
}

/* `made`: whether it could be made. */
static bool give(const struct making *making, bool made, struct text *ret_text,
                 enum fault *ret_fault)
{
    if (!made)
        return false;
    *ret_fault = FAULT_LIMIT;
    if (making->size > making->bytes_max)
        return false;
    *ret_text = arena_text(making->scope->arena, (struct text){making->text, making->size});
    return true;
}

bool term_json(struct term_scope *scope, const struct term *template, uint32_t bytes_max,
               struct text *ret_json, enum fault *ret_fault)
{
    static struct making making;
    making.scope = scope;
    making.size = 0;
    making.bytes_max = bytes_max;
    return has_begun(scope, ret_fault) &&
           give(&making, add_part(&making, template, ret_fault), ret_json, ret_fault);
}

bool term_text(struct term_scope *scope, const struct term *template, uint32_t bytes_max,
               struct text *ret_text, enum fault *ret_fault)
{
    static struct making making;
    making.scope = scope;
    making.size = 0;
    making.bytes_max = bytes_max;
    return has_begun(scope, ret_fault) &&
           give(&making, add_filled(&making, template, ret_fault), ret_text, ret_fault);
}
