/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions -> values, node by node. See evaluate.h. */
#include "engine/expression/evaluate.h"

#include "base/rfc3339.h"
#include "engine/expression/evaluation.h"

/* ---- the budget and errors ---- */

void expression_run_init(struct expression_run *run, const struct expression_scope *scope,
                         uint32_t units, struct arena *arena)
{
    *run = (struct expression_run){
        .arena = arena,
        .scope = scope,
        .budget = {.left = (uint64_t)units * EXPRESSION_UNIT},
    };
}

uint32_t expression_run_used(const struct expression_run *run, uint32_t units)
{
    uint64_t all = (uint64_t)units * EXPRESSION_UNIT;
    assert(run->budget.left <= all);
    return (uint32_t)((all - run->budget.left + EXPRESSION_UNIT - 1) / EXPRESSION_UNIT);
}

bool evaluation_fail(struct evaluation *evaluation, enum expression_error_code code, uint32_t at)
{
    evaluation->error =
        (struct expression_error){.code = code, .at = at, .source = evaluation->expression->source};
    return false;
}

bool evaluation_fail_name(struct evaluation *evaluation, enum expression_error_code code,
                          uint32_t at, struct text name)
{
    evaluation_fail(evaluation, code, at);
    evaluation->error.name = name;
    return false;
}

bool evaluation_fail_type(struct evaluation *evaluation, uint32_t at, struct text what,
                          uint8_t wants, const struct expression_value *found)
{
    evaluation_fail_name(evaluation, EXPRESSION_WRONG_TYPE, at, what);
    evaluation->error.wants = wants;
    evaluation->error.kinds[0] = found->kind;
    return false;
}

bool evaluation_spend(struct evaluation *evaluation, uint32_t at, uint64_t cost)
{
    struct json_walk *budget = &evaluation->run->budget;
    if (!budget->spent && budget->left >= cost) {
        budget->left -= cost;
        return true;
    }
    budget->left = 0;
    budget->spent = true;
    return evaluation_fail(evaluation, EXPRESSION_BUDGET_SPENT, at);
}

bool evaluation_check_walk(struct evaluation *evaluation, uint32_t at)
{
    return !evaluation->run->budget.spent ||
           evaluation_fail(evaluation, EXPRESSION_BUDGET_SPENT, at);
}

/* ---- nodes ---- */

bool evaluate_bool(struct evaluation *evaluation, uint16_t index, struct text what, bool *ret_yes)
{
    struct expression_value value;
    if (!evaluate_node(evaluation, index, &value))
        return false;
    if (value.kind != VALUE_BOOL)
        return evaluation_fail_type(evaluation, evaluation_node(evaluation, index)->at, what,
                                    KIND_BIT(BOOL), &value);
    *ret_yes = value.yes;
    return true;
}

/* It reads what a step does not have that an operator skipped, or completed by hand. */
static bool is_missing(enum expression_error_code code)
{
    return code == EXPRESSION_NO_OUTPUT || code == EXPRESSION_NOT_CAUGHT;
}

void evaluation_keep_error(struct expression_error *kept, const struct expression_error *error)
{
    if (kept->code == EXPRESSION_OK || is_missing(kept->code))
        *kept = *error;
}

/* One child that decides is enough, whatever is wrong with the others. */
static bool evaluate_logic(struct evaluation *evaluation, const struct expression_node *node,
                           struct expression_value *ret_value)
{
    bool decides = node->kind == EXPR_OR;
    struct text what = decides ? TEXT("||") : TEXT("&&");
    struct expression_error kept = {.code = EXPRESSION_OK};
    for (uint16_t at = node->first; at != 0; at = evaluation_node(evaluation, at)->next) {
        bool yes = false;
        if (evaluate_bool(evaluation, at, what, &yes)) {
            if (yes == decides) {
                *ret_value = value_of_bool(decides);
                return true;
            }
            continue;
        }
        if (evaluation->run->budget.spent)
            return false;
        evaluation_keep_error(&kept, &evaluation->error);
    }
    if (kept.code != EXPRESSION_OK) {
        evaluation->error = kept;
        return false;
    }
    *ret_value = value_of_bool(!decides);
    return true;
}

static bool evaluate_condition(struct evaluation *evaluation, const struct expression_node *node,
                               struct expression_value *ret_value)
{
    uint16_t at = node->first;
    for (;;) {
        uint16_t then = evaluation_node(evaluation, at)->next;
        bool yes = false;
        if (then == 0)
            return evaluate_node(evaluation, at, ret_value);
        if (!evaluate_bool(evaluation, at, TEXT("?"), &yes))
            return false;
        if (yes)
            return evaluate_node(evaluation, then, ret_value);
        at = evaluation_node(evaluation, then)->next;
    }
}

static bool evaluate_not(struct evaluation *evaluation, const struct expression_node *node,
                         struct expression_value *ret_value)
{
    bool yes = false;
    if (!evaluate_bool(evaluation, node->first, TEXT("!"), &yes))
        return false;
    *ret_value = value_of_bool(!yes);
    return true;
}

static bool evaluate_list(struct evaluation *evaluation, const struct expression_node *node,
                          struct expression_value *ret_value)
{
    struct value_list list = {0};
    for (uint16_t at = node->first; at != 0; at = evaluation_node(evaluation, at)->next) {
        struct expression_value value;
        if (!evaluate_node(evaluation, at, &value) ||
            !value_list_add(evaluation, node->at, &list, &value))
            return false;
    }
    *ret_value = value_of_list(&list);
    return true;
}

static bool evaluate_map(struct evaluation *evaluation, const struct expression_node *node,
                         struct expression_value *ret_value)
{
    if (!evaluation_spend(evaluation, node->at,
                          node->count * sizeof(struct value_entry) * COST_MADE))
        return false;
    struct value_entry *entries =
        ARENA_ARRAY(evaluation->run->arena, struct value_entry, node->count);
    uint32_t count = 0;
    for (uint16_t at = node->first; at != 0; at = evaluation_node(evaluation, at)->next) {
        const struct expression_node *entry = evaluation_node(evaluation, at);
        assert(entry->kind == EXPR_ENTRY && count < node->count);
        if (!evaluate_node(evaluation, entry->first, &entries[count].value))
            return false;
        entries[count++].name = entry->text;
    }
    *ret_value = (struct expression_value){.kind = VALUE_MAP, .count = count, .entries = entries};
    return true;
}

static bool evaluate_has_step(const struct evaluation *evaluation,
                              const struct expression_node *node,
                              struct expression_value *ret_value)
{
    const struct expression_scope *scope = evaluation->run->scope;
    bool there = false;
    if (node->index < scope->step_count)
        there = node->code == NAME_OUTPUT ? scope->steps[node->index].has_output
                                          : scope->steps[node->index].has_error;
    *ret_value = value_of_bool(there);
    return true;
}

static bool evaluate_constant(const struct expression_node *node,
                              struct expression_value *ret_value)
{
    *ret_value = (struct expression_value){.kind = node->kind};
    if (node->kind == EXPR_BOOL)
        ret_value->yes = node->whole != 0;
    else if (node->kind == EXPR_INT)
        ret_value->whole = node->whole;
    else if (node->kind == EXPR_REAL)
        ret_value->real = node->real;
    else if (node->kind == EXPR_TEXT)
        ret_value->text = node->text;
    return true;
}

bool evaluate_node(struct evaluation *evaluation, uint16_t index,
                   struct expression_value *ret_value)
{
    const struct expression_node *node = evaluation_node(evaluation, index);
    if (!evaluation_spend(evaluation, node->at, COST_NODE))
        return false;
    switch ((enum expression_node_kind)node->kind) {
    case EXPR_NULL:
    case EXPR_BOOL:
    case EXPR_INT:
    case EXPR_REAL:
    case EXPR_TEXT:
        return evaluate_constant(node, ret_value);
    case EXPR_LIST:
        return evaluate_list(evaluation, node, ret_value);
    case EXPR_MAP:
        return evaluate_map(evaluation, node, ret_value);
    case EXPR_NAME:
        return evaluate_name(evaluation, node, ret_value);
    case EXPR_VARIABLE:
        assert(node->index < EXPRESSION_DEPTH_MAX);
        *ret_value = evaluation->variables[node->index];
        return true;
    case EXPR_PATH:
        return evaluate_path(evaluation, node, ret_value);
    case EXPR_HAS:
        return evaluate_has(evaluation, node, ret_value);
    case EXPR_HAS_STEP:
        return evaluate_has_step(evaluation, node, ret_value);
    case EXPR_CALL:
        return evaluate_call(evaluation, node, ret_value);
    case EXPR_MACRO:
        return evaluate_macro(evaluation, node, ret_value);
    case EXPR_NOT:
        return evaluate_not(evaluation, node, ret_value);
    case EXPR_NEGATE:
        return evaluate_negative(evaluation, node, ret_value);
    case EXPR_CHAIN:
        return evaluate_chain(evaluation, node, ret_value);
    case EXPR_AND:
    case EXPR_OR:
        return evaluate_logic(evaluation, node, ret_value);
    case EXPR_CONDITION:
        return evaluate_condition(evaluation, node, ret_value);
    case EXPR_ENTRY:
    case EXPR_MEMBER:
    case EXPR_ELEMENT:
    case EXPRESSION_NODE_KIND_COUNT:
        break;
    }
    assert(false); /* a node of a list, a map or a path */
    return evaluation_fail(evaluation, EXPRESSION_DISABLED, node->at);
}

/* ---- whole expressions ---- */

static bool begin(struct evaluation *evaluation, struct expression_run *run,
                  const struct expression *expression)
{
    evaluation->run = run;
    evaluation->expression = expression;
    if (run->disabled)
        return evaluation_fail(evaluation, EXPRESSION_DISABLED, 0);
    return evaluation_check_walk(evaluation, 0);
}

static bool end(const struct evaluation *evaluation, bool done, struct expression_error *ret_error)
{
    if (!done)
        *ret_error = evaluation->error;
    return done;
}

bool expression_test(struct expression_run *run, const struct expression *expression, bool *ret_yes,
                     struct expression_error *ret_error)
{
    struct evaluation evaluation;
    bool yes = false;
    bool done = begin(&evaluation, run, expression) &&
                evaluate_bool(&evaluation, 0, TEXT("this field"), &yes);
    if (done)
        *ret_yes = yes;
    return end(&evaluation, done, ret_error);
}

bool expression_test_when(struct expression_run *run, const struct expression *expression,
                          bool *ret_yes, struct expression_error *ret_error)
{
    struct expression_error error;
    if (expression_test(run, expression, ret_yes, &error))
        return true;
    if (is_missing(error.code)) {
        *ret_yes = false;
        return true;
    }
    *ret_error = error;
    return false;
}

static bool to_json(struct evaluation *evaluation, uint32_t bytes_max, struct text *ret_json)
{
    struct expression_value value;
    if (!evaluate_node(evaluation, 0, &value))
        return false;
    if (value.form == VALUE_JSON) {
        struct text json = json_value_text(value.json, &evaluation->run->budget);
        if (!evaluation_check_walk(evaluation, 0))
            return false;
        if (json.size > 0 && json.size <= bytes_max) {
            *ret_json = json;
            return true;
        }
    }
    struct json_writer writer;
    json_writer_init(&writer, bytes_max, evaluation->run->arena);
    return value_write(evaluation, 0, &value, &writer) &&
           evaluation_written(evaluation, &writer, ret_json);
}

bool expression_json(struct expression_run *run, const struct expression *expression,
                     uint32_t bytes_max, struct text *ret_json, struct expression_error *ret_error)
{
    struct evaluation evaluation;
    bool done = begin(&evaluation, run, expression) && to_json(&evaluation, bytes_max, ret_json);
    return end(&evaluation, done, ret_error);
}

static bool to_duration(struct evaluation *evaluation, int64_t ms_max, int64_t *ret_ms)
{
    struct expression_value value;
    struct expression_number seconds;
    if (!evaluate_node(evaluation, 0, &value))
        return false;
    if (!value_is_number(&value))
        return evaluation_fail_type(evaluation, 0, TEXT("this field"), KINDS_NUMBERS, &value);
    if (!value_number(evaluation, 0, &value, &seconds))
        return false;
    if (seconds.real < 0)
        return evaluation_fail(evaluation, EXPRESSION_NEGATIVE, 0);
    double exact = seconds.real * 1000;
    if (exact > (double)ms_max) {
        evaluation_fail(evaluation, EXPRESSION_TOO_LONG, 0);
        evaluation->error.number = ms_max / 1000;
        return false;
    }
    int64_t ms = (int64_t)exact;
    /* 2.007 * 1000 is a little more than 2007: what multiplying may have added does not count. */
    *ret_ms = ms + (exact - (double)ms > exact * 0x1p-51);
    return true;
}

bool expression_duration(struct expression_run *run, const struct expression *expression,
                         int64_t ms_max, int64_t *ret_ms, struct expression_error *ret_error)
{
    struct evaluation evaluation;
    bool done = begin(&evaluation, run, expression) && to_duration(&evaluation, ms_max, ret_ms);
    return end(&evaluation, done, ret_error);
}

static bool to_moment(struct evaluation *evaluation, int64_t *ret_ms)
{
    struct expression_value value;
    struct text text;
    if (!evaluate_node(evaluation, 0, &value))
        return false;
    if (value.kind != VALUE_TEXT)
        return evaluation_fail_type(evaluation, 0, TEXT("this field"), KIND_BIT(TEXT), &value);
    if (!value_plain_text(evaluation, 0, &value, &text))
        return false;
    return rfc3339_parse(text, ret_ms) ||
           evaluation_fail_name(evaluation, EXPRESSION_NOT_A_TIME, 0, text);
}

bool expression_moment(struct expression_run *run, const struct expression *expression,
                       int64_t *ret_ms, struct expression_error *ret_error)
{
    struct evaluation evaluation;
    bool done = begin(&evaluation, run, expression) && to_moment(&evaluation, ret_ms);
    return end(&evaluation, done, ret_error);
}

/* ---- for templates (template.c): one expression within one ---- */

bool expression_write(struct expression_run *run, const struct expression *expression,
                      struct json_writer *writer, struct expression_error *ret_error)
{
    struct evaluation evaluation;
    struct expression_value value;
    bool done = begin(&evaluation, run, expression) && evaluate_node(&evaluation, 0, &value) &&
                value_write(&evaluation, 0, &value, writer);
    return end(&evaluation, done, ret_error);
}

bool expression_fill(struct expression_run *run, const struct expression *expression,
                     struct text *ret_text, struct expression_error *ret_error)
{
    struct evaluation evaluation;
    struct expression_value value;
    bool done = begin(&evaluation, run, expression) && evaluate_node(&evaluation, 0, &value) &&
                value_to_text(&evaluation, 0, &value, ret_text);
    return end(&evaluation, done, ret_error);
}
