/* SPDX-License-Identifier: Apache-2.0 */
/* What names stand for, and the members and elements behind them. See evaluation.h. */
#include "base/goods.h"
#include "engine/expression/evaluation.h"
#include "engine/order.h"

/* ---- order ---- */

static bool make_attributes(struct evaluation *evaluation, uint32_t at,
                            const struct order_details *details, struct value *ret_value)
{
    uint32_t count = details->attribute_count;
    if (!evaluation_spend(evaluation, at,
                          count *
                              (COST_ELEMENT + sizeof(struct value_entry) * (uint64_t)COST_MADE)))
        return false;
    struct value_entry *entries = ARENA_ARRAY(evaluation->run->arena, struct value_entry, count);
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (struct value_entry){details->attributes[i].name,
                                          value_of_text(details->attributes[i].value)};
    *ret_value = (struct value){.kind = VALUE_MAP, .count = count, .entries = entries};
    return true;
}

/* An exact number, so that a price is written as it was given. */
static struct value price_of(struct decimal decimal, struct arena *arena)
{
    char text[JSON_NUMBER_SIZE];
    struct json_number number = json_number_of_integer(decimal.unscaled);
    if (number.count > 0)
        number.exponent -= DECIMAL_SCALE;
    uint32_t size = json_number_format(&number, text);
    assert(size > 0);
    return value_of_json_text(arena_text(arena, (struct text){text, size}));
}

static struct value make_line(const struct order_line *line, struct arena *arena)
{
    enum { LINE_MEMBERS = 4 };
    struct value_entry *entries = ARENA_ARRAY(arena, struct value_entry, LINE_MEMBERS);
    entries[0] = (struct value_entry){TEXT("description"), value_of_text(line->description)};
    entries[1] = (struct value_entry){TEXT("quantity"), value_of_whole(line->quantity)};
    entries[2] = (struct value_entry){TEXT("sku"), value_of_text(line->sku)};
    entries[3] = (struct value_entry){TEXT("unit_price"), price_of(line->unit_price, arena)};
    return (struct value){.kind = VALUE_MAP, .count = LINE_MEMBERS, .entries = entries};
}

/* A run makes them once, and pays each time. */
static bool make_lines(struct evaluation *evaluation, uint32_t at,
                       const struct order_details *details, struct value *ret_value)
{
    struct expression_run *run = evaluation->run;
    const struct goods *goods = goods_or_none(details->goods);
    if (!evaluation_spend(evaluation, at, (uint64_t)goods->line_count * COST_ELEMENT))
        return false;
    if (run->lines == NULL) {
        struct value *list = ARENA_NEW(run->arena, struct value);
        struct value *lines = ARENA_ARRAY(run->arena, struct value, goods->line_count);
        for (uint32_t i = 0; i < goods->line_count; i++)
            lines[i] = make_line(&goods->lines[i], run->arena);
        *list = (struct value){.kind = VALUE_LIST, .count = goods->line_count, .items = lines};
        run->lines = list;
    }
    *ret_value = *run->lines;
    return true;
}

static bool order_member(struct evaluation *evaluation, const struct expression_node *node,
                         struct value *ret_value)
{
    const struct order_details *details = evaluation->run->scope->details;
    if (details == NULL)
        return evaluation_fail_name(evaluation, EXPRESSION_NO_MEMBER, node->at, node->text);
    switch ((enum expression_order_member)node->index) {
    case MEMBER_ID:
        *ret_value = value_of_text(details->order_id);
        return true;
    case MEMBER_CUSTOMER:
        *ret_value = value_of_text(details->customer);
        return true;
    case MEMBER_CURRENCY:
        *ret_value = value_of_text(goods_or_none(details->goods)->currency);
        return true;
    case MEMBER_LINES:
        return make_lines(evaluation, node->at, details, ret_value);
    case MEMBER_ATTRIBUTES:
        return make_attributes(evaluation, node->at, details, ret_value);
    case MEMBER_PRIORITY:
        *ret_value = value_of_text(text_of(enum_name(&priority_names, details->priority)));
        return true;
    case MEMBER_SUBMITTED_BY:
        *ret_value = value_of_text(details->submitted_by);
        return true;
    case EXPRESSION_ORDER_MEMBER_COUNT:
        break;
    }
    return evaluation_fail_name(evaluation, EXPRESSION_NO_MEMBER, node->at, node->text);
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
                        struct value *ret_value)
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
                       struct value *ret_value)
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
    *ret_value = (struct value){.kind = VALUE_MAP, .count = ERROR_MEMBERS, .entries = entries};
    return true;
}

bool evaluate_name(struct evaluation *evaluation, const struct expression_node *node,
                   struct value *ret_value)
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

bool value_member(struct evaluation *evaluation, uint32_t at, const struct value *map,
                  struct text name, struct value *ret_value, bool *ret_found)
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

static bool member_of(struct evaluation *evaluation, uint32_t at, const struct value *base,
                      struct text name, struct value *ret_value)
{
    bool found;
    if (base->kind != VALUE_MAP)
        return evaluation_fail_type(evaluation, at, name, KIND_BIT(MAP), base);
    if (!value_member(evaluation, at, base, name, ret_value, &found))
        return false;
    return found || evaluation_fail_name(evaluation, EXPRESSION_NO_MEMBER, at, name);
}

/* A double that is whole will do. */
static bool index_of(struct evaluation *evaluation, uint32_t at, const struct value *key,
                     int64_t *ret_index)
{
    const double whole_end = 9007199254740992; /* 2^53 */
    struct number number;
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

static bool element_of(struct evaluation *evaluation, uint32_t at, const struct value *list,
                       const struct value *key, struct value *ret_value)
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
                             const struct value *base, struct value *ret_value)
{
    struct value key;
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
                             uint16_t end, struct value *ret_value)
{
    struct value base;
    if (!evaluate_node(evaluation, node->first, &base))
        return false;
    for (uint16_t at = evaluation_node(evaluation, node->first)->next; at != end;
         at = evaluation_node(evaluation, at)->next) {
        const struct expression_node *step = evaluation_node(evaluation, at);
        struct value value;
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
                   struct value *ret_value)
{
    return evaluate_path_to(evaluation, node, 0, ret_value);
}

bool evaluate_has(struct evaluation *evaluation, const struct expression_node *node,
                  struct value *ret_value)
{
    const struct expression_node *path = evaluation_node(evaluation, node->first);
    assert(path->kind == EXPR_PATH);
    uint16_t last = path->first;
    while (evaluation_node(evaluation, last)->next != 0)
        last = evaluation_node(evaluation, last)->next;
    const struct expression_node *member = evaluation_node(evaluation, last);
    assert(member->kind == EXPR_MEMBER);
    struct value base, value;
    bool found;
    if (!evaluate_path_to(evaluation, path, last, &base))
        return false;
    if (base.kind != VALUE_MAP)
        return evaluation_fail_type(evaluation, member->at, member->text, KIND_BIT(MAP), &base);
    if (!value_member(evaluation, member->at, &base, member->text, &value, &found))
        return false;
    *ret_value = value_of_bool(found);
    return true;
}
