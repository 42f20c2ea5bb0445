/* SPDX-License-Identifier: Apache-2.0 */
/* What is expected of a case. */
#include "rehearsal/case_reader.h"
#include "workflow/data.h"

#include <assert.h>

/* ---- of steps ---- */

static const enum case_field fields_of[ASPECT_COUNT] = {
    [ASPECT_STEP_STATE] = CASE_FIELD_STEPS,      [ASPECT_ATTEMPTS] = CASE_FIELD_ATTEMPTS,
    [ASPECT_INPUT] = CASE_FIELD_INPUTS,          [ASPECT_UNDO_INPUT] = CASE_FIELD_UNDO_INPUTS,
    [ASPECT_OUTPUT] = CASE_FIELD_OUTPUTS,        [ASPECT_ERROR] = CASE_FIELD_ERRORS,
    [ASPECT_ORDER_STATE] = CASE_FIELD_SUBORDERS,
};

const char *case_aspect_name(enum case_aspect aspect)
{
    assert((unsigned)aspect < ASPECT_COUNT);
    return case_field_name(fields_of[aspect]);
}

/* Of the aspect that the latest one has. */
struct expecting {
    struct case_expected *expected;
    enum case_aspect aspect;
};

static bool read_word(const struct case_reader *reader, const struct yaml_node *node,
                      const char *what, const struct enum_names *words,
                      struct case_expectation *expectation)
{
    uint32_t word = 0;
    bool read = value_word(&reader->values, node, what, words, &word);
    expectation->number = word;
    return read;
}

/* An error may also be one that only the scheduler reports. */
static bool read_value(const struct case_reader *reader, const struct yaml_node *node,
                       struct case_expectation *expectation)
{
    const struct values *values = &reader->values;
    switch (expectation->aspect) {
    case ASPECT_STEP_STATE:
        return read_word(reader, node, "the state of a step", &step_state_names, expectation);
    case ASPECT_ORDER_STATE:
        return read_word(reader, node, "the state of a sub-order", &order_state_names, expectation);
    case ASPECT_ATTEMPTS:
        return value_whole(values, node, "the number of attempts", 0, INT32_MAX,
                           &expectation->number);
    case ASPECT_INPUT:
    case ASPECT_UNDO_INPUT:
    case ASPECT_OUTPUT:
        return data_of_node(values, node, &expectation->text);
    case ASPECT_ERROR:
        expectation->text = arena_text(values->arena, node->text);
        return value_text(values, node, "the name of an error");
    case ASPECT_COUNT:
        break;
    }
    assert(false && "an aspect of a step");
    return false;
}

/* Whether what is named has this: a step, or its sub-orders. */
static bool check_step(const struct case_reader *reader, const struct yaml_node *node,
                       const struct case_step *step, enum case_aspect aspect)
{
    bool splits = step->suborder.workflow != NULL;
    if (aspect == ASPECT_ORDER_STATE && !splits)
        problems_add_error(reader->values.problems, node->key->mark,
                           "step %.*s has no Steps, and so no sub-orders", QUOTE_ARG(step->name));
    if (aspect == ASPECT_ORDER_STATE || (aspect == ASPECT_INPUT && splits))
        return splits;
    return case_is_step(reader, step, node->key->mark);
}

static void take(const struct case_reader *reader, const struct yaml_node *node,
                 const struct case_step *step, void *ctx)
{
    const struct expecting *expecting = ctx;
    struct case_expected *expected = expecting->expected;
    struct case_expectation expectation = {.aspect = expecting->aspect, .step = *step};
    if (check_step(reader, node, step, expecting->aspect) && read_value(reader, node, &expectation))
        expected->of_steps[expected->of_steps_count++] = expectation;
}

/* ---- lists ---- */

/* "STEP" or "undo STEP"; of a sub-order, with what is before it. */
static bool check_path(const struct case_reader *reader, const struct yaml_node *node)
{
    static const struct text undo = TEXT_CONST("undo ");
    bool back = node->text.size > undo.size && memcmp(node->text.data, undo.data, undo.size) == 0;
    struct text name = text_from(node->text, back ? undo.size : 0);
    struct case_step step;
    return case_find_one_step(reader, name, node->mark, &step);
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
    struct expecting expecting = {.expected = expected};
    uint32_t most = 0;
    for (int i = 0; i < ASPECT_COUNT; i++)
        most += fields->of[fields_of[i]] != NULL ? fields->of[fields_of[i]]->count : 0;
    expected->of_steps = ARENA_ARRAY(reader->values.arena, struct case_expectation, most + 1);
    for (int i = 0; i < ASPECT_COUNT; i++) {
        const struct yaml_node *node = fields->of[fields_of[i]];
        expecting.aspect = (enum case_aspect)i;
        if (node != NULL)
            case_read_by_step(reader, node, case_field_name(fields_of[i]), take, &expecting);
    }
    assert(expected->of_steps_count <= most);
}

void case_read_expected(const struct case_reader *reader, const struct yaml_node *node,
                        struct case_expected *ret_expected)
{
    const struct values *values = &reader->values;
    struct field_values fields;
    uint32_t state = 0;
    ret_expected->state = -1;
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
