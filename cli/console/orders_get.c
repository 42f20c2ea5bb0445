/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders get`: one order. As a table: its fields, its steps, what each step got, what it
 * returned and why it failed, its lines; no line of a table has more than LINE_COLUMNS columns. */
#include "cli/console/orders.h"
#include "cli/field.h"
#include "cli/output.h"
#include "engine/order.h"
#include "platform/json_tree.h"

#include <stdlib.h>
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
    {"why", "why", output_value, false},
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

/* "approve, decline" */
static json_t *options_of(const json_t *options)
{
    size_t i;
    const json_t *option;
    json_t *text = json_string("");
    json_array_foreach(options, i, option) {
        json_t *longer = json_sprintf("%s%s%s", json_string_value(text), i > 0 ? ", " : "",
                                      json_string_value(option));
        json_decref(text);
        text = longer;
    }
    return text;
}

static const struct output_column wait_columns[] = {
    {"AWAITS", "step", output_value, false},
    {"OF", "group", output_value, false},
    {"OPTIONS", "options", options_of, false},
    {"QUESTION", "question", output_value, false},
    {0},
};

/* What `reeve signal` may answer. */
static void print_waits(struct cli *cli, const json_t *order)
{
    size_t i;
    json_t *wait;
    struct output *output = NULL;
    json_array_foreach(json_object_get(order, "waiting_for"), i, wait) {
        if (strcmp(field_text(wait, "for"), "signal") != 0)
            continue;
        if (output == NULL) {
            output = output_new(cli, wait_columns);
            output_compact(output, LINE_COLUMNS);
            fputc('\n', cli->out);
        }
        output_row(output, json_incref(wait));
    }
    if (output != NULL)
        output_finish(output, EXIT_CODE_OK);
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

/* ---- why steps were passed over ---- */

static bool is_passed_over(const json_t *step)
{
    const char *state = field_text(step, "state");
    return strcmp(state, step_state_name(STEP_SKIPPED)) == 0 ||
           strcmp(state, step_state_name(STEP_CAUGHT)) == 0;
}

static json_t *find_step(const json_t *order, const char *name)
{
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(order, "steps"), i, step) {
        if (strcmp(field_text(step, "step"), name) == 0)
            return step;
    }
    return NULL;
}

/* The latest event counts: a step may be skipped, begin again, and be skipped for another one. */
static void note_reasons(const json_t *order, const json_t *events)
{
    size_t i;
    const json_t *event;
    json_array_foreach(events, i, event) {
        const json_t *data = json_object_get(event, "data");
        const char *kind = field_text(event, "kind");
        const char *by = field_text(data, "by");
        json_t *step = find_step(order, field_text(data, "step"));
        bool tells = strcmp(kind, "StepSkipped") == 0 || strcmp(kind, "StepSkippedByHand") == 0 ||
                     strcmp(kind, "StepCaught") == 0;
        if (step == NULL || !tells || !is_passed_over(step))
            continue;
        json_object_set_new(step, "why",
                            json_sprintf("%s%s%s%s", by[0] != '\0' ? "by hand by " : "", by,
                                         by[0] != '\0' ? ": " : "", field_text(data, "reason")));
    }
}

/* Only the history tells. False: *ret_code is the exit code, and the error was reported. */
static bool add_reasons(struct cli *cli, const json_t *order, int *ret_code)
{
    char after[24] = "";
    long long at = field_int(order, "at_offset");
    bool more = false;
    size_t i;
    const json_t *each;
    json_array_foreach(json_object_get(order, "steps"), i, each)
        more = more || is_passed_over(each);
    while (more) {
        struct console_path path;
        struct console_answer answer;
        orders_path(&path, field_text(order, "order_id"), "/history");
        console_path_add_query(&path, "after", after[0] != '\0' ? after : NULL);
        if (!console_get(cli, &path, &answer, ret_code))
            return false;
        json_array_foreach(json_object_get(answer.json, "entries"), i, each) {
            if (at == 0 || field_int(each, "offset") <= at)
                note_reasons(order, json_object_get(each, "events"));
        }
        const json_t *next = json_object_get(answer.json, "next");
        more = json_is_integer(next);
        snprintf(after, sizeof(after), "%lld", (long long)json_integer_value(next));
        console_answer_deinit(&answer);
    }
    return true;
}

static int print(struct cli *cli, const json_t *order)
{
    int code = EXIT_CODE_OK;
    if (!add_reasons(cli, order, &code))
        return code;
    output_fields(cli, fields, TITLE_COLUMNS, order);
    print_steps(cli, order);
    print_waits(cli, order);
    print_lines(cli, order);
    return EXIT_CODE_OK;
}

/* What `orders amend --input` takes. */
static int print_input(struct cli *cli, const struct console_path *path)
{
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    if (!console_get(cli, path, &answer, &code))
        return code;
    char *text = json_tree_print(json_object_get(answer.json, "input"), JSON_ENCODE_ANY);
    fprintf(cli->out, "%s\n", text);
    free(text);
    console_answer_deinit(&answer);
    return ferror(cli->out) == 0 ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
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
    return cli_flag_given(cli, "input") ? print_input(cli, &path) : console_show(cli, &path, print);
}
