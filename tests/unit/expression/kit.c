/* SPDX-License-Identifier: Apache-2.0 */
/* See kit.h. */
#include "kit.h"

#include "base/goods.h"
#include "base/heap_arena.h"
#include "engine/order_members.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

enum { PRINTED_SIZE = 4096, RESULT_BYTES_MAX = 1 << 20 };

static const struct expression_known_step steps[] = {
    {TEXT_CONST("Check"), true, false, NULL},   {TEXT_CONST("reserve-stock"), true, false, NULL},
    {TEXT_CONST("Skipped"), true, false, NULL}, {TEXT_CONST("Large"), true, false, NULL},
    {TEXT_CONST("Caught"), true, true, NULL},   {TEXT_CONST("Later"), false, false, NULL}};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

const struct expression_names kit_names = {
    .allowed = EXPRESSION_NAMES_ALWAYS, .steps = steps, .step_count = STEPS};

struct arena *kit_arena(void)
{
    static struct heap_arena heap;
    if (heap.block_size == 0)
        heap_arena_init(&heap, 1 << 20);
    return &heap.arena;
}

struct text kit_json(const char *json)
{
    struct text canonical = {0};
    struct json_problem problem;
    bool done = json_canonical(text_of(json), RESULT_BYTES_MAX, kit_arena(), &canonical, &problem);
    cr_assert(done, "%s", json);
    return canonical;
}

struct expression_scope kit_scope(const char *input)
{
    static const struct expression_step states[STEPS] = {
        {.has_output = true, .output = TEXT_CONST("{\"ok\":true,\"score\":0.42}")},
        {.has_output = true, .output = TEXT_CONST("")},
        {.has_output = false},
        {.has_output = true, .output = TEXT_CONST("{\"bytes\":70000,\"truncated\":true}")},
        {.has_error = true,
         .error_name = TEXT_CONST("CardDeclined"),
         .error_message = TEXT_CONST("no \"funds\"")}};
    static struct order_line lines[] = {{TEXT_CONST("A-1"), TEXT_CONST("a lamp"), 2, {199500}},
                                        {TEXT_CONST("B-2"), TEXT_CONST(""), 1, {50000}}};
    static const struct goods goods = {TEXT_CONST("EUR"), lines, 2};
    static struct attribute attributes[] = {{TEXT_CONST("channel"), TEXT_CONST("web")},
                                            {TEXT_CONST("shop"), TEXT_CONST("Graz")}};
    static const struct order_details details = {.order_id = TEXT_CONST("o-1"),
                                                 .customer = TEXT_CONST("c-7"),
                                                 .goods = &goods,
                                                 .attributes = attributes,
                                                 .attribute_count = 2,
                                                 .priority = PRIORITY_HIGH};
    static struct expression_order_members made;
    made = (struct expression_order_members){0};
    return (struct expression_scope){
        .input = input != NULL ? kit_json(input) : (struct text){0},
        .order_member = order_member_json,
        .details = &details,
        .made = &made,
        .steps = states,
        .step_count = STEPS,
    };
}

/* ---- expressions ---- */

static const char *printed(struct text text)
{
    char *string = arena_bytes(kit_arena(), (size_t)text.size + 1);
    snprintf(string, (size_t)text.size + 1, "%.*s", TEXT_ARG(text));
    return string;
}

static const char *print_error(const struct expression_error *error)
{
    char line[PRINTED_SIZE];
    struct text message = expression_error_message(error, kit_arena());
    snprintf(line, sizeof(line), "error: %.*s", TEXT_ARG(message));
    return printed(text_of(line));
}

static const char *print_problems(const struct expression_problems *problems)
{
    char lines[PRINTED_SIZE];
    size_t used = 0;
    for (uint32_t i = 0; i < problems->count; i++)
        used += (size_t)snprintf(lines + used, sizeof(lines) - used, "%s%u: %s%s",
                                 i > 0 ? "; " : "", problems->items[i].at + 1,
                                 problems->items[i].severity == WORKFLOW_WARNING ? "warning: " : "",
                                 problems->items[i].text);
    return printed(text_of(lines));
}

const struct expression *kit_compile(const char *source)
{
    struct expression_problems problems;
    const struct expression *expression =
        expression_compile(text_of(source), &kit_names, KINDS_ANY, kit_arena(), &problems);
    cr_assert_not_null(expression, "%s: %s", source, print_problems(&problems));
    return expression;
}

const char *kit_evaluate_within(const char *source, const char *input, uint32_t units)
{
    struct expression_problems problems;
    const struct expression *expression =
        expression_compile(text_of(source), &kit_names, KINDS_ANY, kit_arena(), &problems);
    if (problems.count > 0)
        return print_problems(&problems);
    struct expression_scope scope = kit_scope(input);
    struct expression_run run;
    struct expression_error error;
    struct text json;
    expression_run_init(&run, &scope, units, kit_arena());
    if (!expression_json(&run, expression, RESULT_BYTES_MAX, &json, &error))
        return print_error(&error);
    return printed(json);
}

const char *kit_evaluate(const char *source, const char *input)
{
    return kit_evaluate_within(source, input, EXPRESSION_BUDGET);
}

/* ---- fields ---- */

static const struct yaml_node *field_of(const char *yaml, struct workflow_problems *problems)
{
    const struct yaml_node *root = yaml_tree_parse(text_of(yaml), kit_arena(), problems);
    return root != NULL && root->kind == NODE_MAPPING ? root->first : NULL;
}

static const char *print_file_problems(const struct workflow_problems *problems)
{
    char lines[PRINTED_SIZE];
    size_t used = 0;
    for (uint32_t i = 0; i < problems->count; i++)
        used += (size_t)snprintf(lines + used, sizeof(lines) - used, "%u:%u: %s\n",
                                 problems->items[i].line, problems->items[i].column,
                                 problems->items[i].text);
    return printed(text_of(lines));
}

static const char *fill(const char *yaml, const char *input, bool as_text)
{
    struct workflow_problems problems = {.count = 0};
    struct values values = {kit_arena(), &problems, false, NULL};
    const struct yaml_node *node = field_of(yaml, &problems);
    const struct expression_template *template =
        node != NULL
            ? compile_template(&values, node, "Field", &kit_names, as_text ? 0 : UINT32_MAX)
            : NULL;
    if (problems.count > 0)
        return print_file_problems(&problems);
    cr_assert_not_null(template, "%s", yaml);
    struct expression_scope scope = kit_scope(input);
    struct expression_run run;
    struct expression_error error;
    struct text result;
    expression_run_init(&run, &scope, EXPRESSION_BUDGET, kit_arena());
    bool done = as_text ? template_text(&run, template, 1000, &result, &error)
                        : template_json(&run, template, 1000, &result, &error);
    return done ? printed(result) : print_error(&error);
}

const char *kit_template(const char *yaml, const char *input)
{
    return fill(yaml, input, false);
}

const char *kit_template_text(const char *yaml, const char *input)
{
    return fill(yaml, input, true);
}

const char *kit_seconds(const char *yaml, const char *input)
{
    enum { MS_MAX = 86400000 };
    struct workflow_problems problems = {.count = 0};
    struct values values = {kit_arena(), &problems, false, NULL};
    const struct yaml_node *node = field_of(yaml, &problems);
    const struct expression *expression =
        node != NULL ? compile_expression(&values, node, "Seconds", &kit_names, KINDS_NUMBER)
                     : NULL;
    if (problems.count > 0)
        return print_file_problems(&problems);
    struct expression_scope scope = kit_scope(input);
    struct expression_run run;
    struct expression_error error;
    char text[32];
    int64_t ms = 0;
    expression_run_init(&run, &scope, EXPRESSION_BUDGET, kit_arena());
    if (!expression_duration(&run, expression, MS_MAX, &ms, &error))
        return print_error(&error);
    snprintf(text, sizeof(text), "%" PRId64, ms);
    return printed(text_of(text));
}

const char *kit_field(const char *yaml, const char *input)
{
    struct workflow_problems problems = {.count = 0};
    struct values values = {kit_arena(), &problems, false, NULL};
    const struct yaml_node *node = field_of(yaml, &problems);
    const struct expression *expression =
        node != NULL ? compile_expression(&values, node, "When", &kit_names, KIND_SET(BOOL)) : NULL;
    if (problems.count > 0)
        return print_file_problems(&problems);
    cr_assert_not_null(expression, "%s", yaml);
    struct expression_scope scope = kit_scope(input);
    struct expression_run run;
    struct expression_error error;
    bool yes = false;
    expression_run_init(&run, &scope, EXPRESSION_BUDGET, kit_arena());
    if (!expression_test_when(&run, expression, &yes, &error))
        return print_error(&error);
    return yes ? "true" : "false";
}
