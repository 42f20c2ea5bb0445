/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders get`: one order. As a table: its fields, its steps, what each step returned and why
 * it failed, its lines; no line of a table has more than LINE_COLUMNS columns. */
#include "cli/console/orders.h"
#include "cli/output.h"
#include "platform/clock.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 20, LINE_COLUMNS = 100 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct output_column step_columns[] = {
    {"step", "STEP", false},           {"agent", "AGENT", false},    {"state", "STATE", false},
    {"direction", "DIRECTION", false}, {"attempt", "ATTEMPT", true}, {"effect", "EFFECT", false},
    {"started", "STARTED", false},     {"took", "TOOK", true},
};

static const struct output_column line_columns[] = {
    {"sku", "SKU", false},
    {"quantity", "QUANTITY", true},
    {"unit_price", "PRICE", true},
    {"description", "DESCRIPTION", false},
};

/* "CODE: MESSAGE", one of them, or "" */
static json_t *joined(const json_t *from, const char *code_name, const char *message_name)
{
    const char *code = json_string_value(json_object_get(from, code_name));
    const char *message = json_string_value(json_object_get(from, message_name));
    return json_sprintf("%s%s%s", code != NULL ? code : "",
                        code != NULL && message != NULL ? ": " : "",
                        message != NULL ? message : "");
}

/* A field and its value, if it has one. Steals the value. */
static void print_field(struct cli *cli, const char *name, json_t *value)
{
    const char *text = json_string_value(value);
    char *dumped = text == NULL && value != NULL && !json_is_null(value)
                       ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY)
                       : NULL;
    text = text != NULL ? text : dumped;
    if (text != NULL && text[0] != '\0') {
        fprintf(cli->out, "%-12s  ", name);
        output_text(cli->out, text, 0);
        fputc('\n', cli->out);
    }
    free(dumped);
    json_decref(value);
}

static json_t *get(const json_t *order, const char *name)
{
    return json_incref(json_object_get(order, name));
}

/* "2010-12-01 08:26:03 (12s ago)", "... (in 5m)", or "" */
static json_t *time_and_age(const json_t *time)
{
    int64_t now = clock_wall_ms(clock_real());
    if (!json_is_string(time))
        return json_string("");
    json_t *text = output_time(time);
    json_t *age = output_age(time, now);
    const char *since = json_string_value(age);
    json_t *both = json_sprintf("%s (%s%s)", json_string_value(text), since,
                                strncmp(since, "in ", 3) == 0 ? "" : " ago");
    json_decref(text);
    json_decref(age);
    return both;
}

static json_t *workflow_of(const json_t *order)
{
    return json_sprintf("%s version %lld", json_string_value(json_object_get(order, "workflow")),
                        (long long)json_integer_value(json_object_get(order, "workflow_version")));
}

static void print_order(struct cli *cli, const json_t *order)
{
    bool alert = json_is_true(json_object_get(order, "alert_open"));
    bool attributes = json_object_size(json_object_get(order, "attributes")) > 0;
    print_field(cli, "Order", get(order, "order_id"));
    print_field(cli, "As of offset", get(order, "at_offset"));
    print_field(cli, "State", get(order, "state"));
    print_field(cli, "Reason", joined(order, "reason_code", "reason"));
    print_field(cli, "By", get(order, "reason_by"));
    print_field(cli, "Paused", time_and_age(json_object_get(order, "paused_at")));
    print_field(cli, "Paused by", joined(order, "paused_by", "pause_reason"));
    print_field(cli, "Alert", alert ? json_string("open") : NULL);
    print_field(cli, "Workflow", workflow_of(order));
    print_field(cli, "Customer", get(order, "customer"));
    print_field(cli, "Version", get(order, "version"));
    print_field(cli, "Partition", get(order, "partition"));
    print_field(cli, "Accepted", time_and_age(json_object_get(order, "accepted_at")));
    print_field(cli, "Updated", time_and_age(json_object_get(order, "updated_at")));
    print_field(cli, "Complete by", output_time(json_object_get(order, "complete_by")));
    print_field(cli, "Priority", get(order, "priority"));
    print_field(cli, "Reply to", get(order, "reply_to"));
    print_field(cli, "Attributes", attributes ? get(order, "attributes") : NULL);
}

/* ---- steps ---- */

static json_t *took(const json_t *step)
{
    int64_t started, ended;
    if (!output_read_time(json_object_get(step, "started_at"), &started) ||
        !output_read_time(json_object_get(step, "ended_at"), &ended))
        return json_null();
    return output_duration(ended > started ? ended - started : 0);
}

static bool is_undo(const json_t *step)
{
    const char *direction = json_string_value(json_object_get(step, "direction"));
    return direction != NULL && strcmp(direction, "undo") == 0;
}

static json_t *step_row(const json_t *step, bool with_direction)
{
    static const char *const same[] = {"step", "agent", "state", "effect"};
    const json_t *attempt = json_object_get(step, "attempt");
    json_t *row = json_object();
    for (size_t i = 0; i < COUNT_OF(same); i++)
        json_object_set(row, same[i], json_object_get(step, same[i]));
    if (with_direction)
        json_object_set(row, "direction", json_object_get(step, "direction"));
    if (json_integer_value(attempt) > 0)
        json_object_set_new(row, "attempt", json_integer(json_integer_value(attempt)));
    json_object_set_new(row, "started", output_time(json_object_get(step, "started_at")));
    json_object_set_new(row, "took", took(step));
    return row;
}

static const char *output_of(const json_t *step)
{
    const char *output = json_string_value(json_object_get(step, "output"));
    return output != NULL && strcmp(output, "{}") != 0 ? output : "";
}

/* What does not fit into the table: a line for each detail that a step has, the first of them with
 * the name of the step, padded to `width`. A blank line comes before the first one of all. */
static void print_details(struct cli *cli, const json_t *step, int width, bool *any)
{
    json_int_t failures = json_integer_value(json_object_get(step, "failure_count"));
    const char *name = json_string_value(json_object_get(step, "step"));
    name = name != NULL ? name : "";
    const struct {
        const char *title;
        json_t *value;
    } details[] = {
        {"output", json_string(output_of(step))},
        {"error", joined(step, "error_name", "error_message")},
        {"failures", failures > 0 ? json_sprintf("%lld", (long long)failures) : json_null()},
        {"complete by", time_and_age(json_object_get(step, "complete_by"))},
        {"next attempt", time_and_age(json_object_get(step, "retry_at"))},
        {"waiting since", time_and_age(json_object_get(step, "queued_at"))},
        {"locked by", get(step, "locked_by")},
    };
    for (size_t i = 0; i < COUNT_OF(details); i++) {
        const char *text = json_string_value(details[i].value);
        if (text != NULL && text[0] != '\0') {
            fputs(*any ? "" : "\n", cli->out);
            *any = true;
            output_text(cli->out, name, 0);
            fprintf(cli->out, "%*s  %-13s  ", width - (int)strlen(name), "", details[i].title);
            output_text(cli->out, text, 0);
            fputc('\n', cli->out);
            name = "";
        }
        json_decref(details[i].value);
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
    struct output *output =
        output_new(cli->out, CLI_OUTPUT_TABLE, step_columns, COUNT_OF(step_columns));
    output_compact(output, LINE_COLUMNS);
    fputc('\n', cli->out);
    json_array_foreach(steps, i, step) {
        int size = (int)json_string_length(json_object_get(step, "step"));
        width = size > width ? size : width;
        any_undo = any_undo || is_undo(step);
    }
    /* Without an undo every row would have "do": the column is empty, and left out. */
    json_array_foreach(steps, i, step)
        output_row(output, step_row(step, any_undo));
    output_finish(output, EXIT_CODE_OK);
    json_array_foreach(steps, i, step)
        print_details(cli, step, width, &any_detail);
}

static void print_lines(struct cli *cli, const json_t *order)
{
    size_t i;
    json_t *line;
    const json_t *lines = json_object_get(order, "lines");
    if (json_array_size(lines) == 0)
        return;
    struct output *output =
        output_new(cli->out, CLI_OUTPUT_TABLE, line_columns, COUNT_OF(line_columns));
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
    print_order(cli, order);
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
    return console_show(cli, &path, step_columns, COUNT_OF(step_columns), print);
}
