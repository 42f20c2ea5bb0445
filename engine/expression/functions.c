/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, methods and macros. See functions.def and evaluation.h. */
#include "engine/expression/evaluation.h"

#include "base/numbers.h"
#include "base/real.h"

static struct text name_of(const struct expression_node *node)
{
    return expression_function_text((enum expression_function)node->code);
}

static bool fail_target(struct evaluation *evaluation, const struct expression_node *node,
                        const struct expression_value *target)
{
    static const uint8_t kinds[] = {
#define K(kind) KIND_BIT(kind)
#define EXPRESSION_FUNCTION(constant, text, form, arguments, on) on,
#include "engine/expression/functions.def"
#undef K
    };
    return evaluation_fail_type(evaluation, node->at, name_of(node), kinds[node->code], target);
}

/* ---- texts ---- */

static uint32_t count_characters(struct text text)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < text.size; i++)
        count += ((uint8_t)text.data[i] & 0xc0) != 0x80;
    return count;
}

static bool size_of(struct evaluation *evaluation, const struct expression_node *node,
                    const struct expression_value *target, struct expression_value *ret_value)
{
    struct value_items items;
    int64_t count = 0;
    if (target->kind == VALUE_TEXT) {
        struct text text;
        if (!value_plain_text(evaluation, node->at, target, &text) ||
            !evaluation_spend(evaluation, node->at, text.size))
            return false;
        *ret_value = value_of_whole(count_characters(text));
        return true;
    }
    if (target->kind != VALUE_LIST && target->kind != VALUE_MAP)
        return fail_target(evaluation, node, target);
    if (target->form == VALUE_OWN) {
        *ret_value = value_of_whole(target->count);
        return true;
    }
    value_items_begin(&items, target);
    while (value_items_next(evaluation, node->at, &items))
        count++;
    if (items.failed)
        return false;
    *ret_value = value_of_whole(count);
    return true;
}

/* Each candidate costs what is compared of it, so a search is not cheaper than it looks. */
static bool contains(struct evaluation *evaluation, const struct expression_node *node,
                     struct text text, struct text part, bool *ret_found)
{
    *ret_found = part.size == 0;
    if (part.size == 0 || part.size > text.size)
        return true;
    const char *end = text.data + text.size - part.size + 1;
    for (const char *at = text.data; at < end;) {
        const char *next = memchr(at, part.data[0], (size_t)(end - at));
        uint64_t walked = (uint64_t)((next != NULL ? next : end) - at) + 1;
        if (next == NULL)
            return evaluation_spend(evaluation, node->at, walked);
        uint32_t same = 1;
        while (same < part.size && next[same] == part.data[same])
            same++;
        if (!evaluation_spend(evaluation, node->at, walked + 4 * (uint64_t)same))
            return false;
        if (same == part.size) {
            *ret_found = true;
            return true;
        }
        at = next + 1;
    }
    return true;
}

static bool compare_texts(struct evaluation *evaluation, const struct expression_node *node,
                          const struct expression_value *target, struct expression_value *ret_value)
{
    struct expression_value argument;
    struct text text, part;
    bool yes = false;
    uint16_t second = evaluation_node(evaluation, node->first)->next;
    if (target->kind != VALUE_TEXT)
        return fail_target(evaluation, node, target);
    if (!evaluate_node(evaluation, second, &argument))
        return false;
    if (argument.kind != VALUE_TEXT)
        return fail_target(evaluation, node, &argument);
    if (!value_plain_text(evaluation, node->at, target, &text) ||
        !value_plain_text(evaluation, node->at, &argument, &part) ||
        !evaluation_spend(evaluation, node->at, part.size))
        return false;
    bool fits = part.size > 0 && part.size <= text.size;
    if (node->code == FUNCTION_STARTS_WITH) {
        yes = part.size == 0 || (fits && memcmp(text.data, part.data, part.size) == 0);
    } else if (node->code == FUNCTION_ENDS_WITH) {
        yes = part.size == 0 ||
              (fits && memcmp(text.data + text.size - part.size, part.data, part.size) == 0);
    } else if (!contains(evaluation, node, text, part, &yes)) {
        return false;
    }
    *ret_value = value_of_bool(yes);
    return true;
}

/* ---- conversions ---- */

/* Digits, perhaps behind a '-', as JSON has them. */
static bool read_whole(struct text text, int64_t *ret_whole)
{
    struct text digits = text_from(text, text.size > 0 && text.data[0] == '-');
    return digits.size > 0 && number_is_digit(digits.data[0]) &&
           (digits.data[0] != '0' || digits.size == 1) &&
           number_parse(text, INT64_MIN, INT64_MAX, ret_whole);
}

static bool whole_of_real(struct evaluation *evaluation, uint32_t at, double real,
                          struct expression_value *ret_value)
{
    const double end = 9223372036854775808.0; /* 2^63 */
    if (!(real >= -end && real < end))
        return evaluation_fail(evaluation, EXPRESSION_OVERFLOW, at);
    *ret_value = value_of_whole((int64_t)real);
    return true;
}

static bool to_whole(struct evaluation *evaluation, const struct expression_node *node,
                     const struct expression_value *target, struct expression_value *ret_value)
{
    struct expression_number number;
    struct text text;
    int64_t whole;
    if (target->kind == VALUE_TEXT) {
        if (!value_plain_text(evaluation, node->at, target, &text))
            return false;
        if (!read_whole(text, &whole))
            return evaluation_fail_name(evaluation, EXPRESSION_NOT_A_NUMBER, node->at,
                                        name_of(node));
        *ret_value = value_of_whole(whole);
        return true;
    }
    if (!value_is_number(target))
        return fail_target(evaluation, node, target);
    if (!value_number(evaluation, node->at, target, &number))
        return false;
    if (!number.is_whole)
        return whole_of_real(evaluation, node->at, number.real, ret_value);
    *ret_value = value_of_whole(number.whole);
    return true;
}

static bool to_real(struct evaluation *evaluation, const struct expression_node *node,
                    const struct expression_value *target, struct expression_value *ret_value)
{
    struct expression_number number;
    struct text text;
    double real;
    bool finite;
    if (target->kind == VALUE_TEXT) {
        if (!value_plain_text(evaluation, node->at, target, &text))
            return false;
        bool fast = text.size <= REAL_FAST_DIGITS_MAX &&
                    memchr(text.data, 'e', text.size) == NULL &&
                    memchr(text.data, 'E', text.size) == NULL;
        if (!evaluation_spend(evaluation, node->at, text.size + (fast ? 0 : COST_EXPONENT_READ)))
            return false;
        if (!real_parse(text, &real, &finite))
            return evaluation_fail_name(evaluation,
                                        finite ? EXPRESSION_NOT_A_NUMBER : EXPRESSION_NOT_FINITE,
                                        node->at, name_of(node));
        return value_of_real(evaluation, node->at, real, ret_value);
    }
    if (!value_is_number(target))
        return fail_target(evaluation, node, target);
    return value_number(evaluation, node->at, target, &number) &&
           value_of_real(evaluation, node->at, number.real, ret_value);
}

static bool to_string(struct evaluation *evaluation, const struct expression_node *node,
                      const struct expression_value *target, struct expression_value *ret_value)
{
    struct text text;
    if (target->kind == VALUE_NULL || target->kind == VALUE_LIST || target->kind == VALUE_MAP)
        return fail_target(evaluation, node, target);
    if (!value_to_text(evaluation, node->at, target, &text))
        return false;
    *ret_value = value_of_text(text);
    return true;
}

/* ---- lists of numbers ---- */

static bool number_item(struct evaluation *evaluation, const struct expression_node *node,
                        const struct expression_value *item, struct expression_number *ret_number)
{
    if (!value_is_number(item))
        return evaluation_fail_type(evaluation, node->at, name_of(node), KINDS_NUMBERS, item);
    return value_number(evaluation, node->at, item, ret_number);
}

static bool sum_of(struct evaluation *evaluation, const struct expression_node *node,
                   const struct expression_value *list, struct expression_value *ret_value)
{
    struct value_items items;
    struct expression_number item, so_far;
    struct expression_value sum = value_of_whole(0);
    value_items_begin(&items, list);
    while (value_items_next(evaluation, node->at, &items)) {
        if (!number_item(evaluation, node, &items.value, &item) ||
            !value_number(evaluation, node->at, &sum, &so_far) ||
            !number_add(evaluation, node->at, &so_far, &item, &sum))
            return false;
    }
    if (items.failed)
        return false;
    *ret_value = sum;
    return true;
}

/* The element itself, the first of equal ones. */
static bool extreme_of(struct evaluation *evaluation, const struct expression_node *node,
                       const struct expression_value *list, struct expression_value *ret_value)
{
    struct value_items items;
    struct expression_number item, best = {0};
    bool any = false;
    int wanted = node->code == FUNCTION_MIN ? -1 : 1;
    value_items_begin(&items, list);
    while (value_items_next(evaluation, node->at, &items)) {
        if (!number_item(evaluation, node, &items.value, &item))
            return false;
        if (any && number_compare(&item, &best) != wanted)
            continue;
        any = true;
        best = item;
        *ret_value = items.value;
    }
    if (items.failed)
        return false;
    return any || evaluation_fail_name(evaluation, EXPRESSION_EMPTY_LIST, node->at, name_of(node));
}

bool evaluate_call(struct evaluation *evaluation, const struct expression_node *node,
                   struct expression_value *ret_value)
{
    struct expression_value target;
    if (!evaluate_node(evaluation, node->first, &target))
        return false;
    switch ((enum expression_function)node->code) {
    case FUNCTION_SIZE:
        return size_of(evaluation, node, &target, ret_value);
    case FUNCTION_INT:
        return to_whole(evaluation, node, &target, ret_value);
    case FUNCTION_DOUBLE:
        return to_real(evaluation, node, &target, ret_value);
    case FUNCTION_STRING:
        return to_string(evaluation, node, &target, ret_value);
    case FUNCTION_STARTS_WITH:
    case FUNCTION_ENDS_WITH:
    case FUNCTION_CONTAINS:
        return compare_texts(evaluation, node, &target, ret_value);
    case FUNCTION_SUM:
        return target.kind == VALUE_LIST ? sum_of(evaluation, node, &target, ret_value)
                                         : fail_target(evaluation, node, &target);
    case FUNCTION_MIN:
    case FUNCTION_MAX:
        return target.kind == VALUE_LIST ? extreme_of(evaluation, node, &target, ret_value)
                                         : fail_target(evaluation, node, &target);
    case FUNCTION_ALL:
    case FUNCTION_EXISTS:
    case FUNCTION_EXISTS_ONE:
    case FUNCTION_MAP:
    case FUNCTION_FILTER:
    case EXPRESSION_FUNCTION_COUNT:
        break;
    }
    assert(false); /* macros have nodes of their own */
    return evaluation_fail(evaluation, EXPRESSION_DISABLED, node->at);
}

/* ---- macros ---- */

/* all() and exists(): an element that decides is enough, whatever is wrong with the others. */
static bool quantify(struct evaluation *evaluation, const struct expression_node *node,
                     const struct expression_value *list, uint16_t body,
                     struct expression_value *ret_value)
{
    bool decides = node->code == FUNCTION_EXISTS;
    struct value_items items;
    struct expression_error kept = {.code = EXPRESSION_OK};
    value_items_begin(&items, list);
    while (value_items_next(evaluation, node->at, &items)) {
        bool yes = false;
        evaluation->variables[node->index] = items.value;
        if (evaluate_bool(evaluation, body, name_of(node), &yes)) {
            if (yes != decides)
                continue;
            *ret_value = value_of_bool(decides);
            return true;
        }
        if (evaluation->run->budget.spent)
            return false;
        evaluation_keep_error(&kept, &evaluation->error);
    }
    if (items.failed)
        return false;
    if (kept.code != EXPRESSION_OK) {
        evaluation->error = kept;
        return false;
    }
    *ret_value = value_of_bool(!decides);
    return true;
}

static bool exists_one(struct evaluation *evaluation, const struct expression_node *node,
                       const struct expression_value *list, uint16_t body,
                       struct expression_value *ret_value)
{
    struct value_items items;
    uint32_t count = 0;
    value_items_begin(&items, list);
    while (value_items_next(evaluation, node->at, &items)) {
        bool yes = false;
        evaluation->variables[node->index] = items.value;
        if (!evaluate_bool(evaluation, body, name_of(node), &yes))
            return false;
        count += yes;
    }
    *ret_value = value_of_bool(count == 1);
    return !items.failed;
}

static bool map_or_filter(struct evaluation *evaluation, const struct expression_node *node,
                          const struct expression_value *list, uint16_t body,
                          struct expression_value *ret_value)
{
    struct value_items items;
    struct value_list results = {0};
    value_items_begin(&items, list);
    while (value_items_next(evaluation, node->at, &items)) {
        struct expression_value result = items.value;
        bool kept = true;
        evaluation->variables[node->index] = items.value;
        bool done = node->code == FUNCTION_MAP
                        ? evaluate_node(evaluation, body, &result)
                        : evaluate_bool(evaluation, body, name_of(node), &kept);
        if (!done || (kept && !value_list_add(evaluation, node->at, &results, &result)))
            return false;
    }
    if (items.failed)
        return false;
    *ret_value = value_of_list(&results);
    return true;
}

bool evaluate_macro(struct evaluation *evaluation, const struct expression_node *node,
                    struct expression_value *ret_value)
{
    struct expression_value list;
    uint16_t body = evaluation_node(evaluation, node->first)->next;
    assert(node->index < EXPRESSION_DEPTH_MAX);
    if (!evaluate_node(evaluation, node->first, &list))
        return false;
    if (list.kind != VALUE_LIST)
        return fail_target(evaluation, node, &list);
    if (node->code == FUNCTION_ALL || node->code == FUNCTION_EXISTS)
        return quantify(evaluation, node, &list, body, ret_value);
    if (node->code == FUNCTION_EXISTS_ONE)
        return exists_one(evaluation, node, &list, body, ret_value);
    return map_or_filter(evaluation, node, &list, body, ret_value);
}
