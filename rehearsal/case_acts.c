/* SPDX-License-Identifier: Apache-2.0 */
/* What operators do in a case. */
#include "rehearsal/case_reader.h"
#include "workflow/data.h"

#define BIT(field) FIELD_BIT(CASE_FIELD_##field)
static const struct {
    enum command_kind kind;
    uint64_t fields;
    uint64_t required;
} commands[] = {
#define ACT(name, kind, fields, required) {kind, fields, required},
#include "rehearsal/acts.def"
};

static const char *const names[] = {
#define ACT(name, kind, fields, required) name,
#include "rehearsal/acts.def"
};
const struct enum_names command_names = ENUM_NAMES(names);

/* Of some commands, but not of all. */
static uint64_t of_some(void)
{
    uint64_t fields = 0;
    for (uint32_t i = 0; i < command_names.count; i++)
        fields |= commands[i].fields;
    return fields;
}

static void check_fields(const struct case_reader *reader, const struct field_values *fields,
                         uint32_t command)
{
    uint64_t wrong = fields->given & of_some() & ~commands[command].fields;
    uint64_t missing = commands[command].required & ~fields->given;
    for (int i = 0; i < CASE_FIELD_COUNT; i++) {
        const char *name = case_field_name((enum case_field)i);
        if ((wrong & FIELD_BIT(i)) != 0)
            problems_add_error(reader->values.problems, fields->mark,
                               "%s does not belong to the command %s", name, names[command]);
        if ((missing & FIELD_BIT(i)) != 0)
            problems_add_error(reader->values.problems, fields->mark, "the command %s has no %s",
                               names[command], name);
    }
}

/* "STEP~ITEM" is an item, which only `fail` is about. */
static void read_step(const struct case_reader *reader, const struct yaml_node *node,
                      struct case_act *act)
{
    struct case_step step;
    if (node == NULL || !value_text(&reader->values, node, "Step"))
        return;
    bool found = act->kind == COMMAND_FAIL_STEP
                     ? case_find_step(reader, node->text, node->mark, &step) &&
                           case_names_one(reader, &step, node->mark)
                     : case_find_one_step(reader, node->text, node->mark, &step);
    if (!found)
        return;
    act->order = step.order;
    act->step = step.order.workflow->steps[step.step].name;
    if (step.names_item)
        act->item = step.suborder.path[step.order.depth].item;
}

static void read_suborder(const struct case_reader *reader, const struct field_values *fields,
                          struct case_act *act)
{
    const struct yaml_node *node = fields->of[CASE_FIELD_SUBORDER];
    struct case_step step;
    if (node == NULL || !value_text(&reader->values, node, "Suborder"))
        return;
    if (act->kind == COMMAND_RESUBMIT_STEP && fields->of[CASE_FIELD_STEP] != NULL)
        problems_add_error(reader->values.problems, node->key->mark,
                           "a command has Step or Suborder, not both: Step names that of a "
                           "sub-order as well");
    else if (case_find_suborder(reader, node->text, node->mark, true, &step))
        act->order = step.suborder;
}

static void read_input(const struct case_reader *reader, const struct yaml_node *node,
                       struct case_act *act)
{
    const struct values *values = &reader->values;
    if (node == NULL || !data_of_node(values, node, &act->input))
        return;
    if (act->input.size > ORDER_INPUT_BYTES_MAX)
        problems_add_error(values->problems, node->mark, "Input has %u bytes; the limit is %d",
                           act->input.size, ORDER_INPUT_BYTES_MAX);
}

static void read_act(const struct case_reader *reader, const struct yaml_node *node,
                     struct case_act *act)
{
    const struct values *values = &reader->values;
    struct field_values fields;
    uint32_t command = 0;
    *act = (struct case_act){.at_ms = -1,
                             .order = {.workflow = reader->workflow},
                             .item = -1,
                             .reason = TEXT("as the test says")};
    if (!case_fields_take(node, CASE_PLACE_ACT, values->problems, &fields))
        return;
    case_check_comment(reader, &fields);
    const struct yaml_node *name = fields.of[CASE_FIELD_COMMAND];
    if (name != NULL && value_word(values, name, "Command", &command_names, &command))
        check_fields(reader, &fields, command);
    act->kind = commands[command].kind;
    read_step(reader, fields.of[CASE_FIELD_STEP], act);
    read_suborder(reader, &fields, act);
    if (fields.of[CASE_FIELD_AT_SECONDS] != NULL)
        value_duration_or_0(values, fields.of[CASE_FIELD_AT_SECONDS], "AtSeconds", &act->at_ms);
    case_read_message(reader, fields.of[CASE_FIELD_REASON], "Reason", &act->reason);
    if (fields.of[CASE_FIELD_OUTPUT] != NULL)
        data_of_node(values, fields.of[CASE_FIELD_OUTPUT], &act->output);
    read_input(reader, fields.of[CASE_FIELD_INPUT], act);
    case_read_error_name(reader, fields.of[CASE_FIELD_ERROR], "Error", &act->error_name);
    if (fields.of[CASE_FIELD_NEW_KEY] != NULL)
        value_boolean(values, fields.of[CASE_FIELD_NEW_KEY], "NewKey", &act->new_key);
    if (fields.of[CASE_FIELD_NOTHING_APPLIED] != NULL)
        value_boolean(values, fields.of[CASE_FIELD_NOTHING_APPLIED], "NothingApplied",
                      &act->nothing_applied);
}

void case_read_acts(const struct case_reader *reader, const struct yaml_node *node,
                    struct test_case *ret_case)
{
    struct workflow_problems *problems = reader->values.problems;
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(problems, node->mark, "Operator must be a list of commands, not %s",
                           yaml_node_phrase(node));
        return;
    }
    if (node->count > CASE_ACTS_MAX) {
        problems_add_error(problems, node->mark, "Operator has %u commands; the limit is %d",
                           node->count, CASE_ACTS_MAX);
        return;
    }
    struct case_act *acts = ARENA_ARRAY(reader->values.arena, struct case_act, node->count);
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next)
        read_act(reader, child, &acts[ret_case->act_count++]);
    ret_case->acts = acts;
}
