/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders get`: one order. As a table: its fields, its steps, what each step got, what it
 * returned and why it failed, its lines; no line of a table has more than LINE_COLUMNS columns. */
#include "cli/console/orders.h"
#include "cli/field.h"
#include "cli/output.h"

#include <string.h>

enum { LINES_MAX = 20, LINE_COLUMNS = 100, TITLE_COLUMNS = 12 };

/* "2010-12-01 08:26:03 (12s ago)", "... (in 5m)", or "" */
static json_t *time_and_age(const json_t *time)
{
    if (!json_is_string(time))
        return NULL;
    json_t *text = output_time(time);
    json_t *age = output_age(time);
    const char *since = json_string_value(age);
    json_t *both = json_sprintf("%s (%s%s)", json_string_value(text), since,
                                strncmp(since, "in ", 3) == 0 ? "" : " ago");
    json_decref(text);
    json_decref(age);
    return both;
}

static json_t *workflow_of(const json_t *order)
{
    return json_sprintf("%s version %lld", field_text(order, "workflow"),
                        field_int(order, "workflow_version"));
}

static json_t *reason_of(const json_t *order)
{
    return output_pair(order, "reason_code", "reason");
}

static json_t *paused_by(const json_t *order)
{
    return output_pair(order, "paused_by", "pause_reason");
}

static json_t *open_or_none(const json_t *alert_open)
{
    return json_is_true(alert_open) ? json_string("open") : NULL;
}

static json_t *attributes_of(const json_t *attributes)
{
    return json_object_size(attributes) > 0 ? output_value(attributes) : NULL;
}

static const struct output_column fields[] = {
    {"Order", "order_id", output_value, false},
    {"As of offset", "at_offset", output_value, false},
    {"State", "state", output_value, false},
    {"Reason", "", reason_of, false},
    {"By", "reason_by", output_value, false},
    {"Paused", "paused_at", time_and_age, false},
    {"Paused by", "", paused_by, false},
    {"Alert", "alert_open", open_or_none, false},
    {"Workflow", "", workflow_of, false},
    {"Customer", "customer", output_value, false},
    {"Version", "version", output_value, false},
    {"Partition", "partition", output_value, false},
    {"Accepted", "accepted_at", time_and_age, false},
    {"Updated", "updated_at", time_and_age, false},
    {"Complete by", "complete_by", output_time, false},
    {"Priority", "priority", output_value, false},
    {"Reply to", "reply_to", output_value, false},
    {"Attributes", "attributes", attributes_of, false},
    {"Input", "input", output_data, false},
    {"Output", "output", output_data, false},
    {"No output", "output_problem", output_value, false},
    {0},
};

/* ---- steps ---- */

static json_t *took(const json_t *step)
{
    int64_t started, ended;
    if (!output_read_time(json_object_get(step, "started_at"), &started) ||
        !output_read_time(json_object_get(step, "ended_at"), &ended))
        return NULL;
    json_t *ms = json_integer(ended > started ? ended - started : 0);
    json_t *text = output_duration(ms);
    json_decref(ms);
    return text;
}

static json_t *attempt_of(const json_t *attempt)
{
    return json_integer_value(attempt) > 0 ? output_value(attempt) : NULL;
}

static const struct output_column step_columns[] = {
    {"STEP", "step", output_value, false},
    {"AGENT", "agent", output_value, false},
    {"STATE", "state", output_value, false},
    {"DIRECTION", "direction", output_value, false},
    {"ATTEMPT", "attempt", attempt_of, true},
    {"EFFECT", "effect", output_value, false},
    {"STARTED", "started_at", output_time, false},
    {"TOOK", "", took, true},
    {0},
};

static json_t *error_of(const json_t *step)
{
    return output_pair(step, "error_name", "error_message");
}

static const struct output_column details[] = {
    {"input", "input", output_data, false},
    {"output", "output", output_data, false},
    {"error", "", error_of, false},
    {"failures", "failure_count", attempt_of, false},
    {"complete by", "complete_by", time_and_age, false},
    {"next attempt", "retry_at", time_and_age, false},
    {"waiting since", "queued_at", time_and_age, false},
    {"waits until", "due_at", time_and_age, false},
    {"locked by", "locked_by", output_value, false},
    {0},
};

/* What does not fit into the table: a line for each detail that a step has, the first of them with
 * the name of the step, padded to `width`. A blank line comes before the first one of all. */
static void print_details(struct cli *cli, const json_t *step, int width, bool *any)
{
    const char *name = field_text(step, "step");
    for (const struct output_column *detail = details; detail->title != NULL; detail++) {
        char text[OUTPUT_CELL_SIZE];
        output_cell(detail, step, text);
        if (text[0] == '\0')
            continue;
        fputs(*any ? "" : "\n", cli->out);
        output_text(cli->out, name, 0);
        fprintf(cli->out, "%*s  %-13s  %s\n", width - (int)strlen(name), "", detail->title, text);
        name = "";
        *any = true;
    }
}

static void print_steps(struct cli *cli, const json_t *order)
{
    size_t i;
    const json_t *step;
    const json_t *steps = json_object_get(order, "steps");
    bool any_undo = false;
    bool any_detail = false;
    int width = 0;
    struct output *output = output_new(cli, step_columns);
    output_compact(output, LINE_COLUMNS);
    fputc('\n', cli->out);
    json_array_foreach(steps, i, step) {
        int size = (int)json_string_length(json_object_get(step, "step"));
        width = size > width ? size : width;
        any_undo = any_undo || strcmp(field_text(step, "direction"), "undo") == 0;
    }
    /* Without an undo every row has "do". */
    if (!any_undo)
        output_hide(output, "DIRECTION");
    output_rows(output, steps);
    output_finish(output, EXIT_CODE_OK);
    json_array_foreach(steps, i, step)
        print_details(cli, step, width, &any_detail);
}

static const struct output_column line_columns[] = {
    {"SKU", "sku", output_value, false},
    {"QUANTITY", "quantity", output_value, true},
    {"PRICE", "unit_price", output_value, true},
    {"DESCRIPTION", "description", output_value, false},
    {0},
};

static void print_lines(struct cli *cli, const json_t *order)
{
    size_t i;
    json_t *line;
    const json_t *lines = json_object_get(order, "lines");
    if (json_array_size(lines) == 0)
        return;
    struct output *output = output_new(cli, line_columns);
    output_compact(output, LINE_COLUMNS);
    fputc('\n', cli->out);
    json_array_foreach(lines, i, line) {
        if (i < LINES_MAX)
            output_row(output, json_incref(line));
    }
    output_finish(output, EXIT_CODE_OK);
    if (json_array_size(lines) > LINES_MAX)
        fprintf(cli->out, "and %zu more lines: --output json shows all of them\n",
                json_array_size(lines) - LINES_MAX);
}

static int print(struct cli *cli, const json_t *order)
{
    output_fields(cli, fields, TITLE_COLUMNS, order);
    print_steps(cli, order);
    print_lines(cli, order);
    return EXIT_CODE_OK;
}

int orders_run_get(struct cli *cli)
{
    struct console_path path;
    struct error error;
    char at[32] = "";
    int64_t offset = 0;
    if (cli_flag_int(cli, "at", 0, 0, INT64_MAX - 1, &offset, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (cli_flag_given(cli, "at"))
        snprintf(at, sizeof(at), "/at/%lld", (long long)offset);
    orders_path(&path, cli->arguments[0], at);
    return console_show(cli, &path, print);
}
