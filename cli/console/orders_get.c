/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders get`: one order, for people in three parts: itself, its steps, its lines. */
#include "cli/console/orders.h"
#include "cli/output.h"
#include "cli/people.h"
#include "platform/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINES_MAX = 20 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct output_column step_columns[] = {
    {"step", "STEP", false},         {"agent", "AGENT", false},
    {"state", "STATE", false},       {"direction", "DIRECTION", false},
    {"attempt", "ATTEMPT", true},    {"failure_count", "FAILURES", true},
    {"effect", "EFFECT", false},     {"started", "STARTED", false},
    {"ended", "ENDED", false},       {"due", "DUE", false},
    {"waits", "WAITS SINCE", false}, {"locked_by", "LOCKED BY", false},
    {"error", "ERROR", false},       {"output", "OUTPUT", false},
};

static const struct output_column line_columns[] = {
    {"sku", "SKU", false},
    {"quantity", "QUANTITY", true},
    {"unit_price", "PRICE", true},
    {"description", "DESCRIPTION", false},
};

static void copy(json_t *row, const json_t *from, const char *name)
{
    json_object_set(row, name, json_object_get(from, name));
}

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

static json_t *updated_of(const json_t *order)
{
    json_t *time = people_time(json_object_get(order, "updated_at"));
    json_t *age = people_age(json_object_get(order, "updated_at"), clock_wall_ms(clock_real()));
    json_t *both = json_sprintf("%s (%s ago)", json_string_value(time), json_string_value(age));
    json_decref(time);
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
    print_field(cli, "State", get(order, "state"));
    print_field(cli, "Why", joined(order, "reason_code", "reason"));
    print_field(cli, "By", get(order, "reason_by"));
    print_field(cli, "Alert", alert ? json_string("open") : NULL);
    print_field(cli, "Workflow", workflow_of(order));
    print_field(cli, "Customer", get(order, "customer"));
    print_field(cli, "Version", get(order, "version"));
    print_field(cli, "Partition", get(order, "partition"));
    print_field(cli, "Accepted", people_time(json_object_get(order, "accepted_at")));
    print_field(cli, "Updated", updated_of(order));
    print_field(cli, "Complete by", people_time(json_object_get(order, "complete_by")));
    print_field(cli, "Priority", get(order, "priority"));
    print_field(cli, "Reply to", get(order, "reply_to"));
    print_field(cli, "Attributes", attributes ? get(order, "attributes") : NULL);
}

static json_t *step_row(const json_t *step)
{
    json_t *row = json_object();
    const json_t *due = json_object_get(step, "complete_by");
    copy(row, step, "step");
    copy(row, step, "agent");
    copy(row, step, "state");
    copy(row, step, "direction");
    copy(row, step, "attempt");
    copy(row, step, "failure_count");
    copy(row, step, "effect");
    copy(row, step, "locked_by");
    copy(row, step, "output");
    json_object_set_new(row, "started", people_time(json_object_get(step, "started_at")));
    json_object_set_new(row, "ended", people_time(json_object_get(step, "ended_at")));
    json_object_set_new(
        row, "due", people_time(json_is_integer(due) ? due : json_object_get(step, "retry_at")));
    json_object_set_new(row, "waits", people_time(json_object_get(step, "queued_at")));
    json_object_set_new(row, "error", joined(step, "error_name", "error_message"));
    return row;
}

static void print_steps(struct cli *cli, const json_t *order)
{
    size_t i;
    const json_t *step;
    struct output *output =
        output_new(cli->out, CLI_OUTPUT_TABLE, step_columns, COUNT_OF(step_columns));
    fputc('\n', cli->out);
    json_array_foreach(json_object_get(order, "steps"), i, step)
        output_row(output, step_row(step));
    (void)output_finish(output);
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
    fputc('\n', cli->out);
    json_array_foreach(lines, i, line) {
        if (i < LINES_MAX)
            output_row(output, json_incref(line));
    }
    (void)output_finish(output);
    if (json_array_size(lines) > LINES_MAX)
        fprintf(cli->out, "and %zu more lines (--output json shows all)\n",
                json_array_size(lines) - LINES_MAX);
}

int orders_run_get(struct cli *cli)
{
    struct console_path path;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    orders_path(&path, cli->arguments[0], "");
    if (!console_get(cli, &path, &answer, &code))
        return code;
    if (cli->output == CLI_OUTPUT_TABLE) {
        print_order(cli, answer.json);
        print_steps(cli, answer.json);
        print_lines(cli, answer.json);
    } else {
        struct output *output =
            output_new(cli->out, cli->output, step_columns, COUNT_OF(step_columns));
        output_single(output);
        output_row(output, json_incref(answer.json));
        code = output_finish(output) ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
    }
    console_answer_deinit(&answer);
    return code;
}
