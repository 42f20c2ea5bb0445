/* SPDX-License-Identifier: Apache-2.0 */
#include "rehearsal/case_file.h"

#include "rehearsal/case_reader.h"
#include "schemas/details.h"
#include "schemas/json/submission_json.h"
#include "workflow/data.h"

/* ---- what the readers share ---- */

void case_read_error_name(const struct case_reader *reader, const struct yaml_node *node,
                          const char *what, struct text *ret_name)
{
    if (node == NULL || !value_text(&reader->values, node, what))
        return;
    if (error_name_valid(node->text))
        *ret_name = arena_text(reader->values.arena, node->text);
    else
        problems_add_error(reader->values.problems, node->mark, "%s must be " ERROR_NAME_EXPECTED,
                           what);
}

void case_read_message(const struct case_reader *reader, const struct yaml_node *node,
                       const char *what, struct text *ret_text)
{
    if (node == NULL || !value_text(&reader->values, node, what))
        return;
    if (node->text.size <= MESSAGE_BYTES_MAX)
        *ret_text = arena_text(reader->values.arena, node->text);
    else
        problems_add_error(reader->values.problems, node->mark, "%s has %u bytes; the limit is %d",
                           what, node->text.size, MESSAGE_BYTES_MAX);
}

void case_check_comment(const struct case_reader *reader, const struct field_values *fields)
{
    if (fields->of[CASE_FIELD_COMMENT] != NULL)
        value_text(&reader->values, fields->of[CASE_FIELD_COMMENT], "Comment");
}

/* ---- the order ---- */

/* Order, as JSON: what POST /orders takes. */
static struct text order_json(const struct case_reader *reader, const struct yaml_node *node)
{
    struct text json = TEXT("{}");
    if (node != NULL)
        data_of_node(&reader->values, node, &json);
    return json;
}

static void complete_details(const struct workflow *workflow, struct text input,
                             struct order_details *details)
{
    if (text_empty(details->order_id))
        details->order_id = TEXT("order-1");
    if (!text_empty(input))
        details->input = input;
    details->workflow = workflow->name;
    details->workflow_version = workflow->version;
}

static void read_order(const struct case_reader *reader, const struct field_values *fields,
                       struct test_case *ret_case)
{
    const struct values *values = &reader->values;
    const struct yaml_node *order = fields->of[CASE_FIELD_ORDER];
    const struct yaml_node *input = fields->of[CASE_FIELD_INPUT];
    struct order_details *details = &ret_case->details;
    struct mark mark = order != NULL ? order->mark : ret_case->mark;
    struct text json = {0};
    struct error error = {0};
    if (input != NULL && !data_of_node(values, input, &json))
        return;
    if (submission_json_read(order_json(reader, order), values->arena, details, &error) !=
        ERROR_OK) {
        problems_add_error(values->problems, mark, "Order: %s", error.message);
        return;
    }
    if (input != NULL && !text_empty(details->input))
        problems_add_error(values->problems, input->key->mark,
                           "a case has Input or input in its Order, not both");
    complete_details(reader->workflow, json, details);
    if (details_validate_new(details, values->arena, &error) != ERROR_OK)
        problems_add_error(values->problems, mark, "Order: %s", error.message);
}

/* ---- a case ---- */

static void read_case_name(const struct case_reader *reader, const struct yaml_node *node,
                           struct test_case *ret_case)
{
    if (node == NULL || !value_text(&reader->values, node, "Name"))
        return;
    if (node->text.size == 0 || node->text.size > CASE_NAME_BYTES_MAX)
        problems_add_error(reader->values.problems, node->mark,
                           "Name has %u bytes; it must have 1 to %d", node->text.size,
                           CASE_NAME_BYTES_MAX);
    ret_case->name = arena_text(reader->values.arena, node->text);
    ret_case->mark = node->mark;
}

static void read_case(const struct case_reader *reader, const struct yaml_node *node,
                      struct test_case *ret_case)
{
    struct field_values fields;
    *ret_case = (struct test_case){.mark = node->mark};
    if (!case_fields_take(node, CASE_PLACE_CASE, reader->values.problems, &fields))
        return;
    case_check_comment(reader, &fields);
    read_case_name(reader, fields.of[CASE_FIELD_NAME], ret_case);
    read_order(reader, &fields, ret_case);
    if (fields.of[CASE_FIELD_ANSWERS] != NULL)
        case_read_answers(reader, fields.of[CASE_FIELD_ANSWERS], DIRECTION_DO, ret_case);
    if (fields.of[CASE_FIELD_UNDO_ANSWERS] != NULL)
        case_read_answers(reader, fields.of[CASE_FIELD_UNDO_ANSWERS], DIRECTION_UNDO, ret_case);
    if (fields.of[CASE_FIELD_OPERATOR] != NULL)
        case_read_acts(reader, fields.of[CASE_FIELD_OPERATOR], ret_case);
    if (fields.of[CASE_FIELD_SIGNALS] != NULL)
        case_read_signals(reader, fields.of[CASE_FIELD_SIGNALS], ret_case);
    if (fields.of[CASE_FIELD_EXPECT] != NULL)
        case_read_expected(reader, fields.of[CASE_FIELD_EXPECT], &ret_case->expected);
}

static void check_case_name(const struct case_reader *reader, const struct test_case *cases,
                            uint32_t count)
{
    const struct test_case *last = &cases[count];
    for (uint32_t i = 0; i < count; i++) {
        if (!text_empty(last->name) && text_equal(cases[i].name, last->name)) {
            problems_add_error(reader->values.problems, last->mark,
                               "there is already a case \"%.*s\", in line %u",
                               QUOTE_ARG(last->name), cases[i].mark.line);
            return;
        }
    }
}

bool case_file_read(struct case_file *file, const struct workflow *workflow, struct arena *arena,
                    struct workflow_problems *problems)
{
    struct case_reader reader = {.values = {arena, problems, false, NULL}, .workflow = workflow};
    struct test_case *cases = ARENA_ARRAY(arena, struct test_case, file->nodes->count);
    for (const struct yaml_node *child = file->nodes->first; child != NULL; child = child->next) {
        read_case(&reader, child, &cases[file->case_count]);
        check_case_name(&reader, cases, file->case_count);
        file->case_count++;
    }
    file->cases = cases;
    problems_sort(problems);
    return problems->errors == 0;
}

/* ---- the file ---- */

static void read_workflow(const struct values *values, const struct yaml_node *node,
                          struct case_file *ret_file)
{
    if (node == NULL || !value_text(values, node, "Workflow"))
        return;
    if (text_empty(node->text))
        problems_add_error(values->problems, node->mark,
                           "Workflow is empty; it must be the path of a workflow file");
    ret_file->workflow = arena_text(values->arena, node->text);
    ret_file->workflow_mark = node->mark;
}

static void read_cases(const struct values *values, const struct yaml_node *node,
                       struct case_file *ret_file)
{
    if (node == NULL)
        return;
    if (node->kind != NODE_SEQUENCE)
        problems_add_error(values->problems, node->mark, "Cases must be a list of cases, not %s",
                           yaml_node_phrase(node));
    else if (node->count == 0 || node->count > CASES_MAX)
        problems_add_error(values->problems, node->mark, "Cases has %u cases; it must have 1 to %d",
                           node->count, CASES_MAX);
    ret_file->nodes = node;
}

bool case_file_begin(struct text text, struct arena *arena, struct workflow_problems *ret_problems,
                     struct case_file *ret_file)
{
    struct values values = {arena, ret_problems, false, NULL};
    struct case_reader reader = {.values = values};
    struct field_values fields;
    ret_problems->count = ret_problems->errors = 0;
    *ret_file = (struct case_file){0};
    const struct yaml_node *root = yaml_tree_parse(text, arena, ret_problems);
    if (root != NULL && case_fields_take(root, CASE_PLACE_FILE, ret_problems, &fields)) {
        case_check_comment(&reader, &fields);
        read_workflow(&values, fields.of[CASE_FIELD_WORKFLOW], ret_file);
        read_cases(&values, fields.of[CASE_FIELD_CASES], ret_file);
    }
    problems_sort(ret_problems);
    return ret_problems->errors == 0;
}
