/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing templates, and the words for what expressions consist of. See expression.h. */
#include "engine/expression/expression.h"

#include <assert.h>

bool expression_equal(const struct expression *a, const struct expression *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return text_equal(a->source, b->source);
}

/* As deep as a workflow file may be. */
bool template_equal(const struct expression_template *a, const struct expression_template *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->kind != b->kind || !text_equal(a->name, b->name) || !text_equal(a->data, b->data))
        return false;
    if (a->kind == TEMPLATE_EXPRESSION)
        return expression_equal(a->expression, b->expression);
    const struct expression_template *left = a->first, *right = b->first;
    while (left != NULL && right != NULL && template_equal(left, right)) {
        left = left->next;
        right = right->next;
    }
    return left == NULL && right == NULL;
}

const char *value_kind_phrase(enum value_kind kind)
{
    static const char *const phrases[] = {"null",   "a boolean", "a number", "a number",
                                          "a text", "a list",    "a map"};
    _Static_assert(sizeof(phrases) / sizeof(phrases[0]) == VALUE_KIND_COUNT, "a phrase for each");
    assert(kind < VALUE_KIND_COUNT);
    return phrases[kind];
}

const char *expression_operator_text(enum expression_operator operator)
{
    static const char *const texts[] = {
        "", "==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%"};
    _Static_assert(sizeof(texts) / sizeof(texts[0]) == EXPRESSION_OPERATOR_COUNT,
                   "a text for each");
    assert(operator<EXPRESSION_OPERATOR_COUNT);
    return texts[operator];
}

struct text expression_name_text(enum expression_name name)
{
    static const struct text texts[] = {
#define EXPRESSION_NAME(constant, text, places) TEXT_CONST(text),
#include "engine/expression/names.def"
    };
    assert(name < EXPRESSION_NAME_COUNT);
    return texts[name];
}

struct text expression_order_member_text(enum expression_order_member member)
{
    static const struct text texts[] = {TEXT_CONST("id"),          TEXT_CONST("customer"),
                                        TEXT_CONST("currency"),    TEXT_CONST("lines"),
                                        TEXT_CONST("attributes"),  TEXT_CONST("priority"),
                                        TEXT_CONST("submitted_by")};
    _Static_assert(sizeof(texts) / sizeof(texts[0]) == EXPRESSION_ORDER_MEMBER_COUNT,
                   "a text for each");
    assert(member < EXPRESSION_ORDER_MEMBER_COUNT);
    return texts[member];
}

struct text expression_function_text(enum expression_function function)
{
    static const struct text texts[] = {
#define EXPRESSION_FUNCTION(constant, text, form, arguments, on) TEXT_CONST(text),
#include "engine/expression/functions.def"
    };
    assert(function < EXPRESSION_FUNCTION_COUNT);
    return texts[function];
}
