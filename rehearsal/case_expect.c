/* SPDX-License-Identifier: Apache-2.0 */
/* What is expected of a case. */
#include "rehearsal/case_reader.h"
#include "workflow/data.h"

/* ---- of steps ---- */

static void take_state(const struct case_reader *reader, const struct yaml_node *node,
                       uint32_t step, void *ctx)
{
    struct case_expected *expected = ctx;
    uint32_t state = 0;
    if (value_word(&reader->values, node, "the state of a step", &step_state_names, &state))
        expected->steps[step].state = (int)state;
}

static void take_attempts(const struct case_reader *reader, const struct yaml_node *node,
                          uint32_t step, void *ctx)
{
    struct case_expected *expected = ctx;
    value_whole(&reader->values, node, "the number of attempts", 0, INT32_MAX,
                &expected->steps[step].attempts);
}

static void take_input(const struct case_reader *reader, const struct yaml_node *node,
                       uint32_t step, void *ctx)
{
    struct case_expected *expected = ctx;
    data_of_node(&reader->values, node, &expected->steps[step].input[DIRECTION_DO]);
}

static void take_undo_input(const struct case_reader *reader, const struct yaml_node *node,
                            uint32_t step, void *ctx)
{
    struct case_expected *expected = ctx;
    data_of_node(&reader->values, node, &expected->steps[step].input[DIRECTION_UNDO]);
}

static void take_output(const struct case_reader *reader, const struct yaml_node *node,
                        uint32_t step, void *ctx)
{
    struct case_expected *expected = ctx;
    data_of_node(&reader->values, node, &expected->steps[step].output);
}

/* Also those that only the scheduler reports. */
static void take_error(const struct case_reader *reader, const struct yaml_node *node,
                       uint32_t step, void *ctx)
{
    struct case_expected *expected = ctx;
    if (value_text(&reader->values, node, "the name of an error"))
        expected->steps[step].error_name = arena_text(reader->values.arena, node->text);
}

/* ---- lists ---- */

/* "STEP" or "undo STEP" */
static bool check_path(const struct case_reader *reader, const struct yaml_node *node)
{
    static const struct text undo = TEXT_CONST("undo ");
    bool back = node->text.size > undo.size && memcmp(node->text.data, undo.data, undo.size) == 0;
    struct text step = text_from(node->text, back ? undo.size : 0);
    return case_find_step(reader, step, node->mark) >= 0;
}

static void read_list(const struct case_reader *reader, const struct yaml_node *node,
                      const char *what, bool path, struct case_list *ret_list)
{
    const struct values *values = &reader->values;
    if (node == NULL)
        return;
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(values->problems, node->mark, "%s must be a list, not %s", what,
                           yaml_node_phrase(node));
        return;
    }
    struct text *items = ARENA_ARRAY(values->arena, struct text, node->count);
    uint32_t count = 0;
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        if (value_text(values, child, what) && (!path || check_path(reader, child)))
            items[count++] = arena_text(values->arena, child->text);
    }
    *ret_list = (struct case_list){items, count, true};
}

/* ---- the whole ---- */

static void read_steps(const struct case_reader *reader, const struct field_values *fields,
                       struct case_expected *expected)
{
    static const struct {
        enum case_field field;
        case_take_of_step *take;
    } rows[] = {
        {CASE_FIELD_STEPS, take_state},    {CASE_FIELD_ATTEMPTS, take_attempts},
        {CASE_FIELD_INPUTS, take_input},   {CASE_FIELD_UNDO_INPUTS, take_undo_input},
        {CASE_FIELD_OUTPUTS, take_output}, {CASE_FIELD_ERRORS, take_error},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct yaml_node *node = fields->of[rows[i].field];
        if (node != NULL)
            case_read_by_step(reader, node, case_field_name(rows[i].field), rows[i].take, expected);
    }
}

void case_read_expected(const struct case_reader *reader, const struct yaml_node *node,
                        struct case_expected *ret_expected)
{
    const struct values *values = &reader->values;
    struct field_values fields;
    uint32_t state = 0;
    ret_expected->state = -1;
    for (uint32_t i = 0; i < WORKFLOW_STEPS_MAX; i++)
        ret_expected->steps[i] = (struct case_step_expected){.state = -1, .attempts = -1};
    if (!case_fields_take(node, CASE_PLACE_EXPECT, values->problems, &fields))
        return;
    case_check_comment(reader, &fields);
    if ((fields.given & ~FIELD_BIT(CASE_FIELD_COMMENT)) == 0)
        problems_add_error(values->problems, node->mark, "Expect expects nothing");
    if (fields.of[CASE_FIELD_STATE] != NULL &&
        value_word(&reader->values, fields.of[CASE_FIELD_STATE], "State", &order_state_names,
                   &state))
        ret_expected->state = (int)state;
    if (fields.of[CASE_FIELD_REASON] != NULL &&
        value_text(values, fields.of[CASE_FIELD_REASON], "Reason"))
        ret_expected->reason_code = arena_text(values->arena, fields.of[CASE_FIELD_REASON]->text);
    if (fields.of[CASE_FIELD_OUTPUT] != NULL)
        data_of_node(values, fields.of[CASE_FIELD_OUTPUT], &ret_expected->output);
    read_steps(reader, &fields, ret_expected);
    read_list(reader, fields.of[CASE_FIELD_PATH], "Path", true, &ret_expected->path);
    read_list(reader, fields.of[CASE_FIELD_REFUSED], "Refused", false, &ret_expected->refused);
}
