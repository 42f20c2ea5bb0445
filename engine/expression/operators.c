/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic and comparison. See evaluation.h. Two ints give an int, but of "/"; an int next to a
 * real is taken as one. */
#include "engine/expression/evaluation.h"

static bool fail_operands(struct evaluation *evaluation, const struct expression_node *right,
                          const struct expression_value *a, const struct expression_value *b)
{
    evaluation_fail_name(evaluation, EXPRESSION_WRONG_TYPE, right->op_at,
                         text_of(expression_operator_text((enum expression_operator)right->op)));
    evaluation->error.kinds[0] = a->kind;
    evaluation->error.kinds[1] = b->kind;
    return false;
}

/* ---- numbers ---- */

int number_compare(const struct expression_number *a, const struct expression_number *b)
{
    if (a->is_whole && b->is_whole)
        return (a->whole > b->whole) - (a->whole < b->whole);
    return (a->real > b->real) - (a->real < b->real);
}

static bool give_whole(struct evaluation *evaluation, uint32_t at, bool overflows, int64_t whole,
                       struct expression_value *ret_value)
{
    if (overflows)
        return evaluation_fail(evaluation, EXPRESSION_OVERFLOW, at);
    *ret_value = value_of_whole(whole);
    return true;
}

bool number_add(struct evaluation *evaluation, uint32_t at, const struct expression_number *a,
                const struct expression_number *b, struct expression_value *ret_value)
{
    int64_t whole = 0;
    if (!a->is_whole || !b->is_whole)
        return value_of_real(evaluation, at, a->real + b->real, ret_value);
    bool overflows = __builtin_add_overflow(a->whole, b->whole, &whole);
    return give_whole(evaluation, at, overflows, whole, ret_value);
}

static bool subtract(struct evaluation *evaluation, uint32_t at, const struct expression_number *a,
                     const struct expression_number *b, struct expression_value *ret_value)
{
    int64_t whole = 0;
    if (!a->is_whole || !b->is_whole)
        return value_of_real(evaluation, at, a->real - b->real, ret_value);
    bool overflows = __builtin_sub_overflow(a->whole, b->whole, &whole);
    return give_whole(evaluation, at, overflows, whole, ret_value);
}

static bool multiply(struct evaluation *evaluation, uint32_t at, const struct expression_number *a,
                     const struct expression_number *b, struct expression_value *ret_value)
{
    int64_t whole = 0;
    if (!a->is_whole || !b->is_whole)
        return value_of_real(evaluation, at, a->real * b->real, ret_value);
    bool overflows = __builtin_mul_overflow(a->whole, b->whole, &whole);
    return give_whole(evaluation, at, overflows, whole, ret_value);
}

static bool divide(struct evaluation *evaluation, uint32_t at, const struct expression_number *a,
                   const struct expression_number *b, struct expression_value *ret_value)
{
    if (b->real == 0)
        return evaluation_fail_name(evaluation, EXPRESSION_DIVIDED_BY_0, at, TEXT("/"));
    return value_of_real(evaluation, at, a->real / b->real, ret_value);
}

static bool remainder_of(struct evaluation *evaluation, const struct expression_node *right,
                         const struct expression_number *a, const struct expression_number *b,
                         struct expression_value *ret_value)
{
    static const struct expression_value real = {.kind = VALUE_REAL};
    if (!a->is_whole || !b->is_whole)
        return evaluation_fail_type(evaluation, right->op_at, TEXT("%"), KIND_BIT(INT), &real);
    if (b->whole == 0)
        return evaluation_fail_name(evaluation, EXPRESSION_DIVIDED_BY_0, right->op_at, TEXT("%"));
    if (a->whole == INT64_MIN && b->whole == -1)
        return evaluation_fail(evaluation, EXPRESSION_OVERFLOW, right->op_at);
    *ret_value = value_of_whole(a->whole % b->whole);
    return true;
}

static bool calculate(struct evaluation *evaluation, const struct expression_node *right,
                      const struct expression_value *a, const struct expression_value *b,
                      struct expression_value *ret_value)
{
    struct expression_number a_number, b_number;
    uint32_t at = right->op_at;
    if (!value_is_number(a) || !value_is_number(b))
        return fail_operands(evaluation, right, a, b);
    if (!value_number(evaluation, at, a, &a_number) || !value_number(evaluation, at, b, &b_number))
        return false;
    switch ((enum expression_operator)right->op) {
    case OPERATOR_ADD:
        return number_add(evaluation, at, &a_number, &b_number, ret_value);
    case OPERATOR_SUBTRACT:
        return subtract(evaluation, at, &a_number, &b_number, ret_value);
    case OPERATOR_MULTIPLY:
        return multiply(evaluation, at, &a_number, &b_number, ret_value);
    case OPERATOR_DIVIDE:
        return divide(evaluation, at, &a_number, &b_number, ret_value);
    case OPERATOR_REMAINDER:
        return remainder_of(evaluation, right, &a_number, &b_number, ret_value);
    case OPERATOR_NONE:
    case OPERATOR_EQUAL:
    case OPERATOR_NOT_EQUAL:
    case OPERATOR_LESS:
    case OPERATOR_LESS_EQUAL:
    case OPERATOR_GREATER:
    case OPERATOR_GREATER_EQUAL:
    case OPERATOR_IN:
    case EXPRESSION_OPERATOR_COUNT:
        break;
    }
    return fail_operands(evaluation, right, a, b);
}

bool evaluate_negative(struct evaluation *evaluation, const struct expression_node *node,
                       struct expression_value *ret_value)
{
    struct expression_value value;
    struct expression_number number;
    if (!evaluate_node(evaluation, node->first, &value))
        return false;
    if (!value_is_number(&value))
        return evaluation_fail_type(evaluation, node->at, TEXT("-"), KINDS_NUMBERS, &value);
    if (!value_number(evaluation, node->at, &value, &number))
        return false;
    if (!number.is_whole)
        return value_of_real(evaluation, node->at, -number.real, ret_value);
    return give_whole(evaluation, node->at, number.whole == INT64_MIN,
                      number.whole == INT64_MIN ? 0 : -number.whole, ret_value);
}

/* ---- texts and lists ---- */

static bool add_texts(struct evaluation *evaluation, uint32_t at, const struct expression_value *a,
                      const struct expression_value *b, struct expression_value *ret_value)
{
    struct text a_text, b_text;
    if (!value_plain_text(evaluation, at, a, &a_text) ||
        !value_plain_text(evaluation, at, b, &b_text) ||
        !evaluation_spend(evaluation, at, ((uint64_t)a_text.size + b_text.size) * COST_MADE))
        return false;
    /* The budget bounds the sum. */
    char *sum = arena_bytes(evaluation->run->arena, (size_t)a_text.size + b_text.size);
    if (a_text.size > 0)
        memcpy(sum, a_text.data, a_text.size);
    if (b_text.size > 0)
        memcpy(sum + a_text.size, b_text.data, b_text.size);
    *ret_value = value_of_text((struct text){sum, a_text.size + b_text.size});
    return true;
}

static bool add_items(struct evaluation *evaluation, uint32_t at,
                      const struct expression_value *container, struct value_list *list)
{
    struct value_items items;
    value_items_begin(&items, container);
    while (value_items_next(evaluation, at, &items)) {
        if (!value_list_add(evaluation, at, list, &items.value))
            return false;
    }
    return !items.failed;
}

static bool add(struct evaluation *evaluation, const struct expression_node *right,
                const struct expression_value *a, const struct expression_value *b,
                struct expression_value *ret_value)
{
    struct value_list list = {0};
    if (a->kind == VALUE_TEXT && b->kind == VALUE_TEXT)
        return add_texts(evaluation, right->op_at, a, b, ret_value);
    if (a->kind != VALUE_LIST || b->kind != VALUE_LIST)
        return calculate(evaluation, right, a, b, ret_value);
    if (!add_items(evaluation, right->op_at, a, &list) ||
        !add_items(evaluation, right->op_at, b, &list))
        return false;
    *ret_value = value_of_list(&list);
    return true;
}

/* ---- comparison ---- */

static bool compare(struct evaluation *evaluation, const struct expression_node *right,
                    const struct expression_value *a, const struct expression_value *b,
                    int *ret_order)
{
    uint32_t at = right->op_at;
    if (a->kind == VALUE_TEXT && b->kind == VALUE_TEXT) {
        struct text a_text, b_text;
        if (!value_plain_text(evaluation, at, a, &a_text) ||
            !value_plain_text(evaluation, at, b, &b_text))
            return false;
        uint32_t shorter = a_text.size < b_text.size ? a_text.size : b_text.size;
        if (!evaluation_spend(evaluation, at, shorter))
            return false;
        *ret_order = text_compare(a_text, b_text);
        return true;
    }
    struct expression_number a_number, b_number;
    if (!value_is_number(a) || !value_is_number(b))
        return fail_operands(evaluation, right, a, b);
    if (!value_number(evaluation, at, a, &a_number) || !value_number(evaluation, at, b, &b_number))
        return false;
    *ret_order = number_compare(&a_number, &b_number);
    return true;
}

static bool give_order(struct evaluation *evaluation, const struct expression_node *right,
                       const struct expression_value *a, const struct expression_value *b,
                       struct expression_value *ret_value)
{
    int order = 0;
    if (!compare(evaluation, right, a, b, &order))
        return false;
    bool yes = right->op == OPERATOR_LESS         ? order < 0
               : right->op == OPERATOR_LESS_EQUAL ? order <= 0
               : right->op == OPERATOR_GREATER    ? order > 0
                                                  : order >= 0;
    *ret_value = value_of_bool(yes);
    return true;
}

/* An element of a list that is equal, or a name of a map. */
static bool find_in(struct evaluation *evaluation, const struct expression_node *right,
                    const struct expression_value *what, const struct expression_value *container,
                    struct expression_value *ret_value)
{
    bool found = false;
    uint32_t at = right->op_at;
    if (container->kind == VALUE_MAP && what->kind == VALUE_TEXT) {
        struct text name;
        struct expression_value value;
        if (!value_plain_text(evaluation, at, what, &name) ||
            !value_member(evaluation, at, container, name, &value, &found))
            return false;
    } else if (container->kind == VALUE_LIST) {
        struct value_items items;
        value_items_begin(&items, container);
        while (!found && value_items_next(evaluation, at, &items)) {
            if (!value_equal(evaluation, at, what, &items.value, &found))
                return false;
        }
        if (items.failed)
            return false;
    } else if (container->kind != VALUE_MAP) {
        return fail_operands(evaluation, right, what, container);
    }
    *ret_value = value_of_bool(found);
    return true;
}

static bool apply(struct evaluation *evaluation, const struct expression_node *right,
                  const struct expression_value *a, const struct expression_value *b,
                  struct expression_value *ret_value)
{
    bool equal;
    switch ((enum expression_operator)right->op) {
    case OPERATOR_EQUAL:
    case OPERATOR_NOT_EQUAL:
        if (!value_equal(evaluation, right->op_at, a, b, &equal))
            return false;
        *ret_value = value_of_bool(equal == (right->op == OPERATOR_EQUAL));
        return true;
    case OPERATOR_LESS:
    case OPERATOR_LESS_EQUAL:
    case OPERATOR_GREATER:
    case OPERATOR_GREATER_EQUAL:
        return give_order(evaluation, right, a, b, ret_value);
    case OPERATOR_IN:
        return find_in(evaluation, right, a, b, ret_value);
    case OPERATOR_ADD:
        return add(evaluation, right, a, b, ret_value);
    case OPERATOR_SUBTRACT:
    case OPERATOR_MULTIPLY:
    case OPERATOR_DIVIDE:
    case OPERATOR_REMAINDER:
    case OPERATOR_NONE:
    case EXPRESSION_OPERATOR_COUNT:
        break;
    }
    return calculate(evaluation, right, a, b, ret_value);
}

bool evaluate_chain(struct evaluation *evaluation, const struct expression_node *node,
                    struct expression_value *ret_value)
{
    struct expression_value so_far;
    if (!evaluate_node(evaluation, node->first, &so_far))
        return false;
    for (uint16_t at = evaluation_node(evaluation, node->first)->next; at != 0;
         at = evaluation_node(evaluation, at)->next) {
        struct expression_value right, result;
        if (!evaluate_node(evaluation, at, &right) ||
            !apply(evaluation, evaluation_node(evaluation, at), &so_far, &right, &result))
            return false;
        so_far = result;
    }
    *ret_value = so_far;
    return true;
}
