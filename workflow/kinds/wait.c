/* SPDX-License-Identifier: Apache-2.0 */
/* A step that passes at a moment. */
#include "base/rfc3339.h"
#include "workflow/compile.h"

/* The only node of an expression that is a number as it stands; NULL: another expression. */
static const struct expression_node *number_of(const struct expression *expression)
{
    const struct expression_node *root = expression->nodes;
    return root->kind == EXPR_INT || root->kind == EXPR_REAL ? root : NULL;
}

static double seconds_of(const struct expression_node *number)
{
    return number->kind == EXPR_INT ? (double)number->whole : number->real;
}

static void read_seconds(struct workflow_compiler *compiler, struct draft *draft,
                         const struct yaml_node *node)
{
    struct workflow_problems *problems = compiler->values.problems;
    int64_t whole = 0;
    if (node->kind == NODE_SCALAR && value_looks_like_time(node->text, &whole)) {
        problems_add_error(problems, node->mark,
                           "Seconds must be a number of seconds, or an expression for one: write "
                           "%lld",
                           (long long)whole);
        return;
    }
    const struct expression *seconds =
        compile_step_expression(compiler, draft, node, "Seconds", 0, KINDS_NUMBER);
    const struct expression_node *number = seconds != NULL ? number_of(seconds) : NULL;
    draft->step.wait.seconds = seconds;
    if (number != NULL && seconds_of(number) * 1000 > (double)DURATION_MS_MAX)
        problems_add_error(problems, node->mark, "Seconds is more than %lld, which are %d days",
                           (long long)(DURATION_MS_MAX / 1000), DURATION_DAYS_MAX);
}

/* A time as it stands in other files, where it is not an expression. */
static bool is_plain_time(const struct yaml_node *node)
{
    int64_t ms = 0;
    return node->kind == NODE_SCALAR && rfc3339_parse(node->text, &ms);
}

static void read_timestamp(struct workflow_compiler *compiler, struct draft *draft,
                           const struct yaml_node *node)
{
    struct workflow_problems *problems = compiler->values.problems;
    int64_t ms = 0;
    if (is_plain_time(node)) {
        problems_add_error(problems, node->mark,
                           "Timestamp is an expression: write the time as a text in it, \"'%.*s'\"",
                           TEXT_ARG(node->text));
        return;
    }
    const struct expression *timestamp =
        compile_step_expression(compiler, draft, node, "Timestamp", 0, KIND_SET(TEXT));
    draft->step.wait.timestamp = timestamp;
    if (timestamp != NULL && timestamp->nodes[0].kind == EXPR_TEXT &&
        !rfc3339_parse(timestamp->nodes[0].text, &ms))
        problems_add_error(problems, node->mark,
                           "%.*s is not a time of RFC 3339, such as 2026-07-01T09:00:00Z",
                           QUOTE_ARG(timestamp->nodes[0].text));
}

/* Wait: 5s */
static void refuse_text(struct workflow_problems *problems, const struct yaml_node *node)
{
    int64_t seconds = 0;
    if (value_looks_like_time(node->text, &seconds))
        problems_add_error(problems, node->mark, "Wait must be a mapping: write {Seconds: %lld}",
                           (long long)seconds);
    else
        problems_add_error(problems, node->mark, "Wait must be a mapping: write {%s: %.*s}",
                           is_plain_time(node) ? "Timestamp" : "Seconds", QUOTE_ARG(node->text));
}

void wait_compile(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct values *values = &compiler->values;
    const struct yaml_node *node = draft->fields.of[FIELD_WAIT];
    struct field_values fields;
    if (node != NULL && node->kind == NODE_SCALAR && !yaml_node_is_null(node)) {
        refuse_text(values->problems, node);
        return;
    }
    if (node == NULL || !workflow_fields_take(node, PLACE_WAIT, values->problems, &fields))
        return;
    const struct yaml_node *seconds = fields.of[FIELD_SECONDS];
    const struct yaml_node *timestamp = fields.of[FIELD_TIMESTAMP];
    if (fields.of[FIELD_COMMENT] != NULL)
        value_text(values, fields.of[FIELD_COMMENT], "Comment");
    if (seconds != NULL && timestamp != NULL)
        problems_add_error(values->problems, timestamp->key->mark,
                           "a step waits for Seconds or until Timestamp, not both: make two steps "
                           "of it");
    else if (seconds != NULL)
        read_seconds(compiler, draft, seconds);
    else if (timestamp != NULL)
        read_timestamp(compiler, draft, timestamp);
    if (fields.of[FIELD_SPREAD_SECONDS] != NULL)
        value_duration_or_0(values, fields.of[FIELD_SPREAD_SECONDS], "SpreadSeconds",
                            &draft->step.wait.spread_ms);
}

/* Of what data decides nothing is known before. */
int64_t wait_longest_ms(const struct draft *draft)
{
    const struct workflow_step *step = &draft->step;
    const struct expression_node *number =
        step->wait.seconds != NULL ? number_of(step->wait.seconds) : NULL;
    double ms = number != NULL ? seconds_of(number) * 1000 : 0;
    bool fits = ms >= 0 && ms <= (double)DURATION_MS_MAX; /* else reported */
    return step->wait.spread_ms + (fits ? (int64_t)ms : 0);
}
