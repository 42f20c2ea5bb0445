/* SPDX-License-Identifier: Apache-2.0 */
/* The signals of a case. */
#include "base/utf8.h"
#include "rehearsal/case_reader.h"
#include "workflow/data.h"

static void read_step(const struct case_reader *reader, const struct yaml_node *node,
                      struct case_signal *signal)
{
    if (node == NULL || !value_text(&reader->values, node, "Step"))
        return;
    struct case_step step;
    if (!case_find_one_step(reader, node->text, node->mark, &step))
        return;
    const struct workflow_step *plan = &step.order.workflow->steps[step.step];
    signal->order = step.order;
    signal->step = plan->name;
    if (plan->kind != STEP_KIND_AWAIT)
        problems_add_error(reader->values.problems, node->mark,
                           "step %.*s has no Await: it takes no signals", TEXT_ARG(signal->step));
}

static void read_text(const struct case_reader *reader, const struct yaml_node *node,
                      const char *what, uint32_t bytes_max, struct text *ret_text)
{
    const struct values *values = &reader->values;
    if (node == NULL || !value_text(values, node, what))
        return;
    if (node->text.size > bytes_max || !utf8_printable(node->text))
        problems_add_error(values->problems, node->mark,
                           "%s must be printable text of at most %u bytes", what, bytes_max);
    else
        *ret_text = arena_text(values->arena, node->text);
}

static void read_groups(const struct case_reader *reader, const struct yaml_node *node,
                        struct text_list *ret_groups)
{
    const struct values *values = &reader->values;
    uint32_t count = 0;
    if (node == NULL)
        return;
    if (node->kind != NODE_SEQUENCE || node->count > SIGNAL_GROUPS_MAX) {
        problems_add_error(values->problems, node->mark,
                           "Groups must be a list of at most %d names", SIGNAL_GROUPS_MAX);
        return;
    }
    struct text *groups = ARENA_ARRAY(values->arena, struct text, node->count);
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next)
        count += value_name(values, child, "a group", &groups[count]);
    *ret_groups = (struct text_list){groups, count};
}

static void read_signal(const struct case_reader *reader, const struct yaml_node *node,
                        struct case_signal *signal)
{
    const struct values *values = &reader->values;
    struct field_values fields;
    *signal = (struct case_signal){.at_ms = -1, .order = {.workflow = reader->workflow}};
    if (!case_fields_take(node, CASE_PLACE_SIGNAL, values->problems, &fields))
        return;
    case_check_comment(reader, &fields);
    read_step(reader, fields.of[CASE_FIELD_STEP], signal);
    if (fields.of[CASE_FIELD_AT_SECONDS] != NULL)
        value_duration_or_0(values, fields.of[CASE_FIELD_AT_SECONDS], "AtSeconds", &signal->at_ms);
    const struct yaml_node *payload = fields.of[CASE_FIELD_PAYLOAD];
    if (payload != NULL && data_of_node(values, payload, &signal->payload) &&
        signal->payload.size > SIGNAL_BYTES_READ_MAX)
        problems_add_error(values->problems, payload->mark, "Payload has %u bytes; the limit is %d",
                           signal->payload.size, SIGNAL_BYTES_READ_MAX);
    read_text(reader, fields.of[CASE_FIELD_ID], "Id", SIGNAL_ID_BYTES_MAX, &signal->id);
    read_text(reader, fields.of[CASE_FIELD_BY], "By", WHO_BYTES_MAX, &signal->by);
    read_groups(reader, fields.of[CASE_FIELD_GROUPS], &signal->groups);
}

void case_read_signals(const struct case_reader *reader, const struct yaml_node *node,
                       struct test_case *ret_case)
{
    struct workflow_problems *problems = reader->values.problems;
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(problems, node->mark, "Signals must be a list, not %s",
                           yaml_node_phrase(node));
        return;
    }
    if (node->count > CASE_SIGNALS_MAX) {
        problems_add_error(problems, node->mark, "Signals has %u elements; the limit is %d",
                           node->count, CASE_SIGNALS_MAX);
        return;
    }
    struct case_signal *signals =
        ARENA_ARRAY(reader->values.arena, struct case_signal, node->count);
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next)
        read_signal(reader, child, &signals[ret_case->signal_count++]);
    ret_case->signals = signals;
}
