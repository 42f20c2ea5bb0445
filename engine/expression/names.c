/* SPDX-License-Identifier: Apache-2.0 */
/* What names stand for, and the members and elements behind them. See evaluation.h. */
#include "engine/expression/evaluation.h"

/* ---- order ---- */

/* It is made once, and paid for each time. */
static bool order_member(struct evaluation *evaluation, const struct expression_node *node,
                         struct expression_value *ret_value)
{
    struct expression_run *run = evaluation->run;
    const struct expression_scope *scope = run->scope;
    assert(node->index < EXPRESSION_ORDER_MEMBER_COUNT);
    if (scope->order_member == NULL)
        return evaluation_fail_name(evaluation, EXPRESSION_NO_MEMBER, node->at, node->text);
    struct text *made = &scope->made->json[node->index];
    uint32_t *units = &scope->made->units[node->index];
    if (made->data == NULL)
        *made = scope->order_member(scope->details, (enum expression_order_member)node->index,
                                    run->arena, units);
    if (!evaluation_spend(evaluation, node->at, (uint64_t)*units * EXPRESSION_UNIT))
        return false;
    *ret_value = value_of_json_text(*made);
    return true;
}

/* ---- steps ---- */

/* {"bytes":N,"truncated":true}, which stands for an output that was too large. */
static bool is_truncated(struct text output)
{
    struct text begin = TEXT("{\"bytes\":"), end = TEXT(",\"truncated\":true}");
    if (output.size <= begin.size + end.size || output.size > begin.size + end.size + 10 ||
        memcmp(output.data, begin.data, begin.size) != 0 ||
        memcmp(output.data + output.size - end.size, end.data, end.size) != 0)
        return false;
    for (uint32_t i = begin.size; i < output.size - end.size; i++) {
        if (output.data[i] < '0' || output.data[i] > '9')
            return false;
    }
    return true;
}

static bool step_output(struct evaluation *evaluation, const struct expression_node *node,
                        struct expression_value *ret_value)
{
    const struct expression_scope *scope = evaluation->run->scope;
    if (node->index >= scope->step_count || !scope->steps[node->index].has_output)
        return evaluation_fail_name(evaluation, EXPRESSION_NO_OUTPUT, node->at, node->text);
    struct text output = scope->steps[node->index].output;
    if (is_truncated(output))
        return evaluation_fail_name(evaluation, EXPRESSION_TRUNCATED, node->at, node->text);
    *ret_value = value_of_json_text(output);
    return true;
}

static bool step_error(struct evaluation *evaluation, const struct expression_node *node,
                       struct expression_value *ret_value)
{
    enum { ERROR_MEMBERS = 2 };
    const struct expression_scope *scope = evaluation->run->scope;
    if (node->index >= scope->step_count || !scope->steps[node->index].has_error)
        return evaluation_fail_name(evaluation, EXPRESSION_NOT_CAUGHT, node->at, node->text);
    const struct expression_step *step = &scope->steps[node->index];
    if (!evaluation_spend(evaluation, node->at,
                          ERROR_MEMBERS * sizeof(struct value_entry) * COST_MADE))
        return false;
    struct value_entry *entries =
        ARENA_ARRAY(evaluation->run->arena, struct value_entry, ERROR_MEMBERS);
    entries[0] = (struct value_entry){TEXT("message"), value_of_text(step->error_message)};
    entries[1] = (struct value_entry){TEXT("name"), value_of_text(step->error_name)};
    *ret_value =
        (struct expression_value){.kind = VALUE_MAP, .count = ERROR_MEMBERS, .entries = entries};
    return true;
}

bool evaluate_name(struct evaluation *evaluation, const struct expression_node *node,
                   struct expression_value *ret_value)
{
    const struct expression_scope *scope = evaluation->run->scope;
    switch ((enum expression_name)node->code) {
    case NAME_INPUT:
        *ret_value = value_of_json_text(scope->input);
        return true;
    case NAME_ORDER:
        return order_member(evaluation, node, ret_value);
    case NAME_OUTPUT:
        return step_output(evaluation, node, ret_value);
    case NAME_ERROR:
        return step_error(evaluation, node, ret_value);
    case NAME_ITEM:
        *ret_value = value_of_json_text(scope->item);
        return true;
    case NAME_INDEX:
        *ret_value = value_of_whole(scope->index);
        return true;
    case NAME_RESULT:
        if (is_truncated(scope->result))
            return evaluation_fail_name(evaluation, EXPRESSION_TRUNCATED, node->at,
                                        (struct text){0});
        *ret_value = value_of_json_text(scope->result);
        return true;
    case NAME_TICK:
        *ret_value = value_of_text(scope->tick);
        return true;
    case EXPRESSION_NAME_COUNT:
        break;
    }
    assert(false); /* a name that is none */
    return evaluation_fail(evaluation, EXPRESSION_DISABLED, node->at);
}

/* ---- members and elements ---- */

bool value_member(struct evaluation *evaluation, uint32_t at, const struct expression_value *map,
                  struct text name, struct expression_value *ret_value, bool *ret_found)
{
    struct value_items items;
    assert(map->kind == VALUE_MAP);
    *ret_found = false;
    value_items_begin(&items, map);
    while (value_items_next(evaluation, at, &items)) {
        bool same = items.name_escaped ? json_escaped_equal(items.name, name)
                                       : text_equal(items.name, name);
        if (same) {
            *ret_found = true;
            *ret_value = items.value;
            return true;
        }
    }
    return !items.failed;
}

static bool member_of(struct evaluation *evaluation, uint32_t at,
                      const struct expression_value *base, struct text name,
                      struct expression_value *ret_value)
{
    bool found;
    if (base->kind != VALUE_MAP)
        return evaluation_fail_type(evaluation, at, name, KIND_BIT(MAP), base);
    if (!value_member(evaluation, at, base, name, ret_value, &found))
        return false;
    return found || evaluation_fail_name(evaluation, EXPRESSION_NO_MEMBER, at, name);
}

/* A double that is whole will do. */
static bool index_of(struct evaluation *evaluation, uint32_t at, const struct expression_value *key,
                     int64_t *ret_index)
{
    const double whole_end = 9007199254740992; /* 2^53 */
    struct expression_number number;
    if (!value_is_number(key))
        return evaluation_fail_type(evaluation, at, TEXT("[]"), KINDS_NUMBERS, key);
    if (!value_number(evaluation, at, key, &number))
        return false;
    if (number.is_whole) {
        *ret_index = number.whole;
        return true;
    }
    if (!(number.real > -whole_end && number.real < whole_end) ||
        (double)(int64_t)number.real != number.real)
        return evaluation_fail(evaluation, EXPRESSION_NOT_AN_INDEX, at);
    *ret_index = (int64_t)number.real;
    return true;
}

static bool element_of(struct evaluation *evaluation, uint32_t at,
                       const struct expression_value *list, const struct expression_value *key,
                       struct expression_value *ret_value)
{
    int64_t index = 0;
    if (!index_of(evaluation, at, key, &index))
        return false;
    if (index >= 0 && list->form == VALUE_OWN && index < list->count) {
        *ret_value = list->items[index];
        return true;
    }
    struct value_items items;
    value_items_begin(&items, list);
    for (int64_t i = 0; index >= 0 && value_items_next(evaluation, at, &items); i++) {
        if (i == index) {
            *ret_value = items.value;
            return true;
        }
    }
    if (items.failed)
        return false;
    evaluation_fail(evaluation, EXPRESSION_OUT_OF_RANGE, at);
    evaluation->error.number = index;
    return false;
}

static bool evaluate_element(struct evaluation *evaluation, const struct expression_node *node,
                             const struct expression_value *base,
                             struct expression_value *ret_value)
{
    struct expression_value key;
    struct text name;
    if (!evaluate_node(evaluation, node->first, &key))
        return false;
    if (base->kind == VALUE_LIST)
        return element_of(evaluation, node->at, base, &key, ret_value);
    if (base->kind != VALUE_MAP)
        return evaluation_fail_type(evaluation, node->at, TEXT("[]"),
                                    KIND_BIT(LIST) | KIND_BIT(MAP), base);
    if (key.kind != VALUE_TEXT)
        return evaluation_fail_type(evaluation, node->at, TEXT("[] of a map"), KIND_BIT(TEXT),
                                    &key);
    return value_plain_text(evaluation, node->at, &key, &name) &&
           member_of(evaluation, node->at, base, name, ret_value);
}

/* The path up to, and without, the node `end`. */
static bool evaluate_path_to(struct evaluation *evaluation, const struct expression_node *node,
                             uint16_t end, struct expression_value *ret_value)
{
    struct expression_value base;
    if (!evaluate_node(evaluation, node->first, &base))
        return false;
    for (uint16_t at = evaluation_node(evaluation, node->first)->next; at != end;
         at = evaluation_node(evaluation, at)->next) {
        const struct expression_node *step = evaluation_node(evaluation, at);
        struct expression_value value;
        if (!evaluation_spend(evaluation, step->at, COST_NODE))
            return false;
        bool done = step->kind == EXPR_MEMBER
                        ? member_of(evaluation, step->at, &base, step->text, &value)
                        : evaluate_element(evaluation, step, &base, &value);
        if (!done)
            return false;
        base = value;
    }
    *ret_value = base;
    return true;
}

bool evaluate_path(struct evaluation *evaluation, const struct expression_node *node,
                   struct expression_value *ret_value)
{
    return evaluate_path_to(evaluation, node, 0, ret_value);
}

bool evaluate_has(struct evaluation *evaluation, const struct expression_node *node,
                  struct expression_value *ret_value)
{
    const struct expression_node *path = evaluation_node(evaluation, node->first);
    assert(path->kind == EXPR_PATH);
    uint16_t last = path->first;
    while (evaluation_node(evaluation, last)->next != 0)
        last = evaluation_node(evaluation, last)->next;
    const struct expression_node *member = evaluation_node(evaluation, last);
    assert(member->kind == EXPR_MEMBER);
    struct expression_value base, value;
    bool found;
    if (!evaluate_path_to(evaluation, path, last, &base))
        return false;
    const struct expression_node *first = evaluation_node(evaluation, path->first);
    if (base.kind == VALUE_NULL && first->kind == EXPR_NAME && first->code == NAME_RESULT &&
        first->next == last) { /* an attempt that timed out has no result to have anything */
        *ret_value = value_of_bool(false);
        return true;
    }
    if (base.kind != VALUE_MAP)
        return evaluation_fail_type(evaluation, member->at, member->text, KIND_BIT(MAP), &base);
    if (!value_member(evaluation, member->at, &base, member->text, &value, &found))
        return false;
    *ret_value = value_of_bool(found);
    return true;
}
