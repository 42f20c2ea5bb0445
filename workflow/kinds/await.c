/* SPDX-License-Identifier: Apache-2.0 */
/* A step that passes with a signal. */
#include "base/utf8.h"
#include "workflow/compile.h"

/* ---- Options ---- */

static void add_option(const struct values *values, const struct yaml_node *node,
                       struct text *options, uint32_t *count)
{
    if (!value_text(values, node, "an option"))
        return;
    if (text_empty(node->text) || node->text.size > TEXT_ITEM_BYTES_MAX ||
        !utf8_printable(node->text))
        problems_add_error(values->problems, node->mark,
                           "an option must be 1 to %d bytes of printable text",
                           TEXT_ITEM_BYTES_MAX);
    else if (text_list_has((struct text_list){options, *count}, node->text))
        problems_add_error(values->problems, node->mark, "option %.*s is there twice",
                           QUOTE_ARG(node->text));
    else
        options[(*count)++] = arena_text(values->arena, node->text);
}

static void read_options(const struct values *values, const struct yaml_node *node,
                         struct text_list *ret_options)
{
    uint32_t count = 0;
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(values->problems, node->mark, "Options must be a list, not %s",
                           yaml_node_phrase(node));
        return;
    }
    if (node->count < 1 || node->count > OPTIONS_MAX) {
        problems_add_error(values->problems, node->mark,
                           "Options has %u elements; it must have 1 to %d", node->count,
                           OPTIONS_MAX);
        return;
    }
    struct text *options = ARENA_ARRAY(values->arena, struct text, node->count);
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next)
        add_option(values, child, options, &count);
    *ret_options = (struct text_list){options, count};
}

/* ---- the whole ---- */

static void read_await(struct workflow_compiler *compiler, struct draft *draft,
                       const struct yaml_node *node)
{
    const struct values *values = &compiler->values;
    struct workflow_step *step = &draft->step;
    struct field_values fields;
    if (!workflow_fields_take(node, PLACE_AWAIT, values->problems, &fields))
        return;
    if (fields.of[FIELD_COMMENT] != NULL)
        value_text(values, fields.of[FIELD_COMMENT], "Comment");
    if (fields.of[FIELD_FROM] != NULL)
        value_name(values, fields.of[FIELD_FROM], "From", &step->await.from);
    if (fields.of[FIELD_OPTIONS] != NULL)
        read_options(values, fields.of[FIELD_OPTIONS], &step->await.options);
    step->await.question =
        compile_step_template(compiler, draft, fields.of[FIELD_QUESTION], "Question", 0, 0);
}

/* Nothing waits forever. The engine relies on it, so it also applies to deployed texts. */
static void check_limit(struct workflow_compiler *compiler, const struct draft *draft)
{
    if (draft->fields.of[FIELD_TIMEOUT_SECONDS] != NULL || compiler->timeout_ms > 0)
        return;
    problems_add_error(compiler->values.problems, draft->mark,
                       "step %.*s would await a signal forever: set TimeoutSeconds on the step%s",
                       TEXT_ARG(draft->step.name),
                       compiles_body(compiler) ? ", as orders of a body have no time limit"
                                               : " or on the workflow");
}

/* What the engine makes of a signal with a choice. NULL: there are no Options. */
static const struct expression_shape *shape_of_choice(struct workflow_compiler *compiler,
                                                      struct text_list options)
{
    if (options.count == 0 || compiler->values.deployed)
        return NULL;
    struct expression_shape *shapes = ARENA_ARRAY(compiler->scratch, struct expression_shape, 4);
    struct expression_shape *members = &shapes[1];
    members[0] = (struct expression_shape){.kinds = KIND_SET(TEXT), .name = TEXT("by")};
    members[1] = (struct expression_shape){
        .kinds = KIND_SET(TEXT), .name = TEXT("choice"), .words = options};
    members[2] = (struct expression_shape){.kinds = KIND_SET(TEXT), .name = TEXT("comment")};
    shapes[0] =
        (struct expression_shape){.kinds = KIND_SET(MAP), .members = members, .member_count = 3};
    return &shapes[0];
}

/* Signals come at any time, so what they are held against is there from the beginning. */
void await_compile(struct workflow_compiler *compiler, struct draft *draft)
{
    const struct values *values = &compiler->values;
    const struct yaml_node *const *of = draft->fields.of;
    struct workflow_step *step = &draft->step;
    uint32_t names = NAMES_WITHOUT_STEPS | 1U << NAME_RESULT;
    if (of[FIELD_AWAIT] != NULL)
        read_await(compiler, draft, of[FIELD_AWAIT]);
    if (of[FIELD_TIMEOUT_SECONDS] != NULL)
        value_duration(values, of[FIELD_TIMEOUT_SECONDS], "TimeoutSeconds", &step->timeout_ms);
    check_limit(compiler, draft);
    compiler->place.result = shape_of_choice(compiler, step->await.options);
    step->until =
        compile_step_expression(compiler, draft, of[FIELD_UNTIL], "Until", names, KIND_SET(BOOL));
    step->output = compile_step_template(compiler, draft, of[FIELD_OUTPUT], "Output", names,
                                         STEP_OUTPUT_BYTES_MAX);
    compile_known_output(compiler, draft,
                         of[FIELD_OUTPUT] == NULL
                             ? compiler->place.result
                             : compile_shape_of_template(compiler, draft, step->output, names));
    compiler->place.result = NULL;
}

/* Without a limit of its own it has that of the order, which others are compared with. */
int64_t await_longest_ms(const struct draft *draft)
{
    return draft->step.timeout_ms;
}
