/* SPDX-License-Identifier: Apache-2.0 */
/* The second implementation. See expression_terms.h. */
#include "tests/property/expression_terms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POOL_MAX = 20000 }; /* lists in a case */

__extension__ typedef __int128 wide_int;

static const struct result error_found = {.kind = ERROR_FOUND};

static struct result of_bool(bool yes)
{
    return (struct result){.kind = BOOLEAN, .whole = yes};
}

static struct result of_whole(int64_t whole)
{
    return (struct result){.kind = WHOLE, .whole = whole};
}

static struct result of_real(double real)
{
    return isfinite(real) ? (struct result){.kind = REAL, .real = real} : error_found;
}

static bool is_number(struct result result)
{
    return result.kind == WHOLE || result.kind == REAL;
}

static double as_real(struct result number)
{
    return number.kind == WHOLE ? (double)number.whole : number.real;
}

/* ---- lists: in a pool for each case ---- */

static struct {
    struct items lists[POOL_MAX];
    struct result results[POOL_MAX];
    uint32_t list_count;
    uint32_t result_count;
    bool full; /* the case says nothing */
} pool;

static struct items *new_list(void)
{
    pool.full = pool.full || pool.list_count == POOL_MAX - 1;
    struct items *list = &pool.lists[pool.full ? 0 : pool.list_count++];
    list->count = 0;
    return list;
}

static void append(struct items *list, struct result result)
{
    pool.full = pool.full || pool.result_count == POOL_MAX || list->count == ITEMS_MAX;
    if (pool.full)
        return;
    pool.results[pool.result_count] = result;
    list->of[list->count++] = &pool.results[pool.result_count++];
}

static struct result of_list(const struct items *list)
{
    return (struct result){.kind = LIST, .items = list};
}

/* ---- operators ---- */

static struct result of_wide(wide_int wide)
{
    return wide < INT64_MIN || wide > INT64_MAX ? error_found : of_whole((int64_t)wide);
}

static bool equal(struct result a, struct result b)
{
    if (is_number(a) && is_number(b))
        return a.kind == WHOLE && b.kind == WHOLE ? a.whole == b.whole : as_real(a) == as_real(b);
    if (a.kind != b.kind)
        return false;
    if (a.kind == LIST) {
        bool same = a.items->count == b.items->count;
        for (uint32_t i = 0; same && i < a.items->count; i++)
            same = equal(*a.items->of[i], *b.items->of[i]);
        return same;
    }
    return a.kind == LETTERS ? strcmp(a.letters, b.letters) == 0 : a.whole == b.whole;
}

static int number_order(struct result a, struct result b)
{
    if (a.kind == WHOLE && b.kind == WHOLE)
        return (a.whole > b.whole) - (a.whole < b.whole);
    return (as_real(a) > as_real(b)) - (as_real(a) < as_real(b));
}

static struct result compare(const char *operator, struct result a, struct result b)
{
    bool letters = a.kind == LETTERS && b.kind == LETTERS;
    if (!letters && !(is_number(a) && is_number(b)))
        return error_found;
    int order = letters ? strcmp(a.letters, b.letters) : number_order(a, b);
    if (operator[0] == '<')
        return of_bool(order < 0 || (operator[1] == '=' && order == 0));
    return of_bool(order > 0 || (operator[1] == '=' && order == 0));
}

static struct result calculate(char operator, struct result a, struct result b)
{
    double u = as_real(a), v = as_real(b);
    wide_int x = a.whole, y = b.whole;
    if (!is_number(a) || !is_number(b))
        return error_found;
    if (operator== '/')
        return v == 0 ? error_found : of_real(u / v);
    if (a.kind == REAL || b.kind == REAL) {
        if (operator== '%')
            return error_found;
        return of_real(operator== '+' ? u + v : operator== '-' ? u - v : u * v);
    }
    if (operator== '%')
        return y == 0 || (x == INT64_MIN && y == -1) ? error_found : of_wide(x % y);
    return of_wide(operator== '+' ? x + y : operator== '-' ? x - y : x * y);
}

static struct result concatenate(struct result a, struct result b)
{
    if (a.kind == LETTERS) {
        size_t size = strlen(a.letters);
        pool.full = pool.full || size + strlen(b.letters) >= LETTERS_SIZE;
        snprintf(a.letters + size, LETTERS_SIZE - size, "%s", b.letters);
        return a;
    }
    struct items *both = new_list();
    for (uint32_t i = 0; i < a.items->count; i++)
        append(both, *a.items->of[i]);
    for (uint32_t i = 0; i < b.items->count; i++)
        append(both, *b.items->of[i]);
    return of_list(both);
}

static struct result binary(const char *operator, struct result a, struct result b)
{
    if (a.kind == ERROR_FOUND || b.kind == ERROR_FOUND)
        return error_found;
    if (strcmp(operator, "==") == 0 || strcmp(operator, "!=") == 0)
        return of_bool(equal(a, b) == (operator[0] == '='));
    if (operator[0] == '<' || operator[0] == '>')
        return compare(operator, a, b);
    if (operator[0] == '+' && a.kind == b.kind &&(a.kind == LETTERS || a.kind == LIST))
        return concatenate(a, b);
    return calculate(operator[0], a, b);
}

/* ---- functions ---- */

static struct result call(const char *name, struct result a)
{
    if (name[0] == 's') {
        if (a.kind != LETTERS && a.kind != LIST)
            return error_found;
        return of_whole(a.kind == LIST ? a.items->count : (int64_t)strlen(a.letters));
    }
    bool real = name[0] == 'd';
    if (a.kind == LETTERS) { /* these have digits alone, or a letter, or nothing */
        char *end;
        long long whole = strtoll(a.letters, &end, 10);
        bool digits = end != a.letters && *end == '\0' && strlen(a.letters) < 18;
        pool.full = pool.full || (strlen(a.letters) >= 18 && strspn(a.letters, "12") > 0);
        if (!digits)
            return error_found;
        return real ? of_real((double)whole) : of_whole(whole);
    }
    if (!is_number(a))
        return error_found;
    if (real)
        return of_real(as_real(a));
    bool fits = as_real(a) >= -0x1p63 && as_real(a) < 0x1p63;
    return a.kind == WHOLE ? a : fits ? of_whole((int64_t)a.real) : error_found;
}

static struct result sum(const struct items *items)
{
    struct result so_far = of_whole(0);
    for (uint32_t i = 0; i < items->count && so_far.kind != ERROR_FOUND; i++)
        so_far = calculate('+', so_far, *items->of[i]);
    return so_far;
}

static struct result extreme(const struct items *items, bool most)
{
    struct result best = error_found;
    for (uint32_t i = 0; i < items->count; i++) {
        struct result item = *items->of[i];
        if (!is_number(item))
            return error_found;
        int order = best.kind == ERROR_FOUND ? 0 : number_order(item, best);
        if (best.kind == ERROR_FOUND || (most ? order > 0 : order < 0))
            best = item;
    }
    return best;
}

static struct result method(const char *name, struct result a, struct result b)
{
    if (strcmp(name, "sum") == 0)
        return a.kind == LIST ? sum(a.items) : error_found;
    if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
        return a.kind == LIST ? extreme(a.items, name[1] == 'a') : error_found;
    if (a.kind != LETTERS || b.kind != LETTERS)
        return error_found;
    size_t size = strlen(a.letters), part = strlen(b.letters);
    if (name[0] == 'c')
        return of_bool(strstr(a.letters, b.letters) != NULL);
    if (name[0] == 's')
        return of_bool(strncmp(a.letters, b.letters, part) == 0);
    return of_bool(part <= size && strcmp(a.letters + size - part, b.letters) == 0);
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

/* all() or exists(). */
static struct result quantify(const struct term *term, const struct items *items)
{
    bool decides = term->kind == TERM_EXISTS;
    bool all = true;
    for (uint32_t i = 0; i < items->count; i++) {
        struct result result = evaluate(term->of[1], *items->of[i]);
        if (result.kind == BOOLEAN && (result.whole != 0) == decides)
            return of_bool(decides);
        all = all && result.kind == BOOLEAN;
    }
    return all ? of_bool(!decides) : error_found;
}

/* exists_one(), filter() and map(): an error of one element is one of all. */
static struct result walk(const struct term *term, const struct items *items)
{
    struct items *kept = new_list();
    for (uint32_t i = 0; i < items->count; i++) {
        struct result result = evaluate(term->of[1], *items->of[i]);
        if (result.kind == ERROR_FOUND || (term->kind != TERM_MAP && result.kind != BOOLEAN))
            return error_found;
        if (term->kind == TERM_MAP || result.whole != 0)
            append(kept, term->kind == TERM_MAP ? result : *items->of[i]);
    }
    return term->kind == TERM_EXISTS_ONE ? of_bool(kept->count == 1) : of_list(kept);
}

static struct result over_list(const struct term *term, struct result variable)
{
    struct result list = evaluate(term->of[0], variable);
    if (list.kind != LIST)
        return error_found;
    bool decides = term->kind == TERM_ALL || term->kind == TERM_EXISTS;
    return decides ? quantify(term, list.items) : walk(term, list.items);
}

static struct result make_list_of(const struct term *term, uint32_t from, struct result variable)
{
    struct items *list = new_list();
    bool failed = false;
    for (uint32_t i = from; i < term->count; i++) {
        struct result element = evaluate(term->of[i], variable);
        failed = failed || element.kind == ERROR_FOUND;
        append(list, element);
    }
    return failed ? error_found : of_list(list);
}

static struct result is_in(struct result what, struct result list)
{
    bool found = false;
    if (what.kind == ERROR_FOUND || list.kind != LIST)
        return error_found;
    for (uint32_t i = 0; i < list.items->count; i++)
        found = found || equal(what, *list.items->of[i]);
    return of_bool(found);
}

static struct result element(struct result list, struct result index)
{
    double at = as_real(index);
    if (list.kind != LIST || !is_number(index) || at != floor(at) || at < 0 ||
        at >= list.items->count)
        return error_found;
    return *list.items->of[(uint32_t)at];
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
        return a.kind == WHOLE  ? of_wide(-(wide_int)a.whole)
               : a.kind == REAL ? of_real(-a.real)
                                : error_found;
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
    case TERM_EXISTS_ONE:
    case TERM_FILTER:
    case TERM_MAP:
        return over_list(term, variable);
    case TERM_IN:
        return is_in(evaluate(term->of[0], variable), make_list_of(term, 1, variable));
    case TERM_IN_LIST:
        return is_in(evaluate(term->of[0], variable), evaluate(term->of[1], variable));
    case TERM_LIST:
        return make_list_of(term, 0, variable);
    case TERM_ELEMENT:
        return element(evaluate(term->of[0], variable), evaluate(term->of[1], variable));
    case TERM_CALL:
        return call(term->text, evaluate(term->of[0], variable));
    case TERM_METHOD:
        return method(term->text, evaluate(term->of[0], variable),
                      term->count == 2 ? evaluate(term->of[1], variable) : error_found);
    }
    return error_found;
}

bool terms_evaluate(const struct term *term, struct result *ret_result)
{
    pool.list_count = pool.result_count = 0;
    pool.full = false;
    *ret_result = evaluate(term, error_found);
    return !pool.full;
}
