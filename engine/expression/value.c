/* SPDX-License-Identifier: Apache-2.0 */
/* Values: reading them where they lie, comparing them, walking through them. See evaluation.h. */
#include "engine/expression/evaluation.h"

#include "base/real.h"

/* None: null. */
static struct expression_value value_of_json(struct json_value json)
{
    struct expression_value value = {.form = VALUE_JSON, .json = json};
    switch (json_value_kind(json)) {
    case JSON_KIND_BOOLEAN:
        return value_of_bool(json_value_boolean(json));
    case JSON_KIND_NUMBER:
        value.kind = VALUE_REAL;
        return value;
    case JSON_KIND_TEXT:
        value.kind = VALUE_TEXT;
        return value;
    case JSON_KIND_LIST:
        value.kind = VALUE_LIST;
        return value;
    case JSON_KIND_MAP:
        value.kind = VALUE_MAP;
        return value;
    case JSON_KIND_NULL:
    case JSON_KIND_NONE:
    case JSON_KIND_COUNT:
        break;
    }
    return (struct expression_value){.kind = VALUE_NULL};
}

struct expression_value value_of_json_text(struct text json)
{
    return value_of_json(json_value_of(json));
}

/* ---- numbers and texts ---- */

bool value_number(struct evaluation *evaluation, uint32_t at, const struct expression_value *value,
                  struct expression_number *ret_number)
{
    assert(value_is_number(value));
    if (value->form == VALUE_OWN) {
        bool whole = value->kind == VALUE_INT;
        *ret_number =
            (struct expression_number){.is_whole = whole,
                                       .whole = whole ? value->whole : 0,
                                       .real = whole ? (double)value->whole : value->real};
        return true;
    }
    int64_t whole;
    struct json_number number;
    if (json_value_integer(value->json, &whole)) {
        *ret_number =
            (struct expression_number){.is_whole = true, .whole = whole, .real = (double)whole};
        return true;
    }
    if (!json_value_number(value->json, &number))
        return evaluation_fail(evaluation, EXPRESSION_NOT_JSON, at);
    if (number.count > REAL_FAST_DIGITS_MAX && !evaluation_spend(evaluation, at, COST_DIGITS_READ))
        return false;
    *ret_number = (struct expression_number){.real = real_of_number(&number)};
    return true;
}

bool value_of_real(struct evaluation *evaluation, uint32_t at, double real,
                   struct expression_value *ret_value)
{
    if (!real_is_finite(real))
        return evaluation_fail(evaluation, EXPRESSION_NOT_FINITE, at);
    *ret_value = (struct expression_value){.kind = VALUE_REAL, .real = real};
    return true;
}

bool value_plain_text(struct evaluation *evaluation, uint32_t at,
                      const struct expression_value *value, struct text *ret_text)
{
    assert(value->kind == VALUE_TEXT);
    if (value->form == VALUE_OWN) {
        *ret_text = value->text;
        return true;
    }
    struct text escaped = json_value_escaped(value->json, &evaluation->run->budget);
    if (!evaluation_check_walk(evaluation, at))
        return false;
    if (escaped.data == NULL)
        return evaluation_fail(evaluation, EXPRESSION_NOT_JSON, at);
    bool plain = escaped.size == 0 || memchr(escaped.data, '\\', escaped.size) == NULL;
    if (!plain && !evaluation_spend(evaluation, at, (uint64_t)escaped.size * COST_MADE))
        return false;
    *ret_text = plain ? escaped : json_unescape(escaped, evaluation->run->arena);
    return true;
}

/* ---- elements and entries ---- */

void value_items_begin(struct value_items *items, const struct expression_value *container)
{
    assert(container->kind == VALUE_LIST || container->kind == VALUE_MAP);
    *items = (struct value_items){.container = container};
    if (container->form == VALUE_JSON)
        json_items_begin(&items->json, container->json);
}

bool value_items_next(struct evaluation *evaluation, uint32_t at, struct value_items *items)
{
    const struct expression_value *container = items->container;
    items->failed = !evaluation_spend(evaluation, at, COST_ELEMENT);
    if (items->failed)
        return false;
    if (container->form == VALUE_JSON) {
        bool there = json_items_next(&items->json, &evaluation->run->budget);
        items->failed = !evaluation_check_walk(evaluation, at);
        if (!there || items->failed)
            return false;
        items->value = value_of_json(items->json.value);
        items->name = items->json.name;
        items->name_escaped = true;
        return true;
    }
    if (items->next == container->count)
        return false;
    if (container->kind == VALUE_LIST) {
        items->value = container->items[items->next++];
        return true;
    }
    items->value = container->entries[items->next].value;
    items->name = container->entries[items->next++].name;
    return true;
}

bool value_list_add(struct evaluation *evaluation, uint32_t at, struct value_list *list,
                    const struct expression_value *value)
{
    if (!evaluation_spend(evaluation, at, sizeof(*value) * COST_MADE))
        return false;
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity > 0 ? 2 * list->capacity : 8;
        struct expression_value *items =
            arena_calloc(evaluation->run->arena, capacity, sizeof(*items));
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *value;
    return true;
}

struct expression_value value_of_list(const struct value_list *list)
{
    return (struct expression_value){
        .kind = VALUE_LIST, .count = list->count, .items = list->items};
}

/* ---- equality ---- */

static bool equal_at(struct evaluation *evaluation, uint32_t at, const struct expression_value *a,
                     const struct expression_value *b, uint32_t depth, bool *ret_equal);

static bool names_equal(const struct value_items *a, const struct value_items *b)
{
    if (a->name_escaped == b->name_escaped)
        return text_equal(a->name, b->name);
    return a->name_escaped ? json_escaped_equal(a->name, b->name)
                           : json_escaped_equal(b->name, a->name);
}

/* Both are sorted by their names, so they are equal if they are in this order. */
static bool items_equal(struct evaluation *evaluation, uint32_t at,
                        const struct expression_value *a, const struct expression_value *b,
                        uint32_t depth, bool *ret_equal)
{
    struct value_items a_items, b_items;
    value_items_begin(&a_items, a);
    value_items_begin(&b_items, b);
    *ret_equal = false;
    for (;;) {
        bool a_there = value_items_next(evaluation, at, &a_items);
        bool b_there = !a_items.failed && value_items_next(evaluation, at, &b_items);
        if (a_items.failed || b_items.failed)
            return false;
        if (!a_there || !b_there) {
            *ret_equal = a_there == b_there;
            return true;
        }
        if (a->kind == VALUE_MAP && !names_equal(&a_items, &b_items))
            return true;
        bool equal;
        if (!equal_at(evaluation, at, &a_items.value, &b_items.value, depth + 1, &equal))
            return false;
        if (!equal)
            return true;
    }
}

static bool texts_equal(struct evaluation *evaluation, uint32_t at,
                        const struct expression_value *a, const struct expression_value *b,
                        bool *ret_equal)
{
    struct text a_text, b_text;
    if (!value_plain_text(evaluation, at, a, &a_text) ||
        !value_plain_text(evaluation, at, b, &b_text))
        return false;
    if (a_text.size == b_text.size && !evaluation_spend(evaluation, at, a_text.size))
        return false;
    *ret_equal = text_equal(a_text, b_text);
    return true;
}

static bool equal_at(struct evaluation *evaluation, uint32_t at, const struct expression_value *a,
                     const struct expression_value *b, uint32_t depth, bool *ret_equal)
{
    *ret_equal = false;
    if (depth > VALUE_DEPTH_MAX)
        return evaluation_fail(evaluation, EXPRESSION_NOT_JSON, at);
    if (value_is_number(a) && value_is_number(b)) {
        struct expression_number a_number, b_number;
        if (!value_number(evaluation, at, a, &a_number) ||
            !value_number(evaluation, at, b, &b_number))
            return false;
        *ret_equal = number_compare(&a_number, &b_number) == 0;
        return true;
    }
    if (a->kind != b->kind)
        return true;
    if (a->kind == VALUE_LIST || a->kind == VALUE_MAP)
        return items_equal(evaluation, at, a, b, depth, ret_equal);
    if (a->kind == VALUE_TEXT)
        return texts_equal(evaluation, at, a, b, ret_equal);
    *ret_equal = a->kind == VALUE_NULL || a->yes == b->yes;
    return true;
}

bool value_equal(struct evaluation *evaluation, uint32_t at, const struct expression_value *a,
                 const struct expression_value *b, bool *ret_equal)
{
    return equal_at(evaluation, at, a, b, 0, ret_equal);
}
