/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders list`: one line an order, with its age and the steps in progress. */
#include "cli/console/order_filter.h"

#include "cli/console/orders.h"
#include "cli/output.h"
#include "platform/clock.h"

#include <string.h>

enum { PAGE_MAX = 1000, LIST_LIMIT = 50, LIMIT_MAX = 1000000000, STEPS_SIZE = 160 };

static const struct output_column wide_columns[] = {
    {"order_id", "ORDER", false},    {"state", "STATE", false},
    {"workflow", "WORKFLOW", false}, {"submitted", "SUBMITTED", false},
    {"customer", "CUSTOMER", false}, {"age", "AGE", true},
    {"changed", "CHANGED", true},    {"steps", "IN PROGRESS", false},
    {"reason", "REASON", false},
};
static const struct output_column columns[] = {
    {"order_id", "ORDER", false}, {"state", "STATE", false},    {"workflow", "WORKFLOW", false},
    {"age", "AGE", true},         {"changed", "CHANGED", true}, {"steps", "IN PROGRESS", false},
    {"reason", "REASON", false},
};

static bool is_text(const json_t *value, const char *text)
{
    const char *string = json_string_value(value);
    return string != NULL && strcmp(string, text) == 0;
}

/* Why the step is in progress: "attempt 2", "Error", "retry in 12s", "waiting for an agent". */
static json_t *step_progress(const json_t *step, int64_t now)
{
    const json_t *state = json_object_get(step, "state");
    const json_t *retry_at = json_object_get(step, "retry_at");
    if (is_text(state, "Error"))
        return json_string("Error");
    if (!is_text(state, "Processing") && json_is_string(json_object_get(step, "queued_at")))
        return json_string("waiting for an agent");
    if (!is_text(state, "Processing") && json_is_string(retry_at)) {
        json_t *age = output_age(retry_at, now);
        json_t *text = json_sprintf("retry %s", json_string_value(age));
        json_decref(age);
        return text;
    }
    return json_sprintf("attempt %lld",
                        (long long)json_integer_value(json_object_get(step, "attempt")));
}

/* "TakePayment: attempt 2, undo of ReserveStock: retry in 12s" */
static json_t *steps_in_progress(const json_t *order, int64_t now)
{
    char text[STEPS_SIZE] = "";
    size_t i;
    size_t size = 0;
    const json_t *step;
    json_array_foreach(json_object_get(order, "active_steps"), i, step) {
        const char *name = json_string_value(json_object_get(step, "step"));
        bool undo = is_text(json_object_get(step, "direction"), "undo");
        if (name == NULL || size >= sizeof(text))
            continue;
        json_t *progress = step_progress(step, now);
        int written = snprintf(text + size, sizeof(text) - size, "%s%s%s: %s", size > 0 ? ", " : "",
                               undo ? "undo of " : "", name, json_string_value(progress));
        size += written > 0 ? (size_t)written : 0;
        json_decref(progress);
    }
    return json_string(text);
}

static json_t *row_of(const json_t *order, int64_t now)
{
    json_t *row = json_object();
    const json_t *code = json_object_get(order, "reason_code");
    json_object_set(row, "order_id", json_object_get(order, "order_id"));
    bool paused = json_is_string(json_object_get(order, "paused_at"));
    json_object_set_new(row, "state",
                        json_sprintf("%s%s", json_string_value(json_object_get(order, "state")),
                                     paused ? ", paused" : ""));
    json_object_set_new(
        row, "workflow",
        json_sprintf("%s:%lld", json_string_value(json_object_get(order, "workflow")),
                     (long long)json_integer_value(json_object_get(order, "workflow_version"))));
    json_object_set_new(row, "submitted", json_incref(json_object_get(order, "accepted_at")));
    const json_t *customer = json_object_get(order, "customer");
    json_object_set_new(row, "customer",
                        json_string(json_is_string(customer) ? json_string_value(customer) : ""));
    json_object_set_new(row, "age", output_age(json_object_get(order, "accepted_at"), now));
    json_object_set_new(row, "changed", output_age(json_object_get(order, "updated_at"), now));
    json_object_set_new(row, "steps", steps_in_progress(order, now));
    json_object_set_new(row, "reason",
                        json_string(json_is_string(code) ? json_string_value(code) : ""));
    return row;
}

static void list_path(const struct order_filter *filter, struct console_path *path, int64_t limit,
                      const char *cursor)
{
    char number[24];
    snprintf(number, sizeof(number), "%lld", (long long)limit);
    *path = (struct console_path){.size = 0};
    console_path_add(path, "/api/orders");
    order_filter_add(filter, path);
    console_path_add_query(path, "limit", number);
    console_path_add_query(path, "cursor", cursor);
}

/* Prints one page; returns how many orders it had. *cursor: where the next one begins, or null. */
static size_t print_page(struct cli *cli, struct output *output, const json_t *page,
                         json_t **cursor)
{
    size_t i;
    json_t *order;
    int64_t now = clock_wall_ms(clock_real());
    json_t *orders = json_object_get(page, "orders");
    json_array_foreach(orders, i, order)
        output_row(output,
                   cli->output == CLI_OUTPUT_TABLE ? row_of(order, now) : json_incref(order));
    json_decref(*cursor);
    *cursor = json_incref(json_object_get(page, "next"));
    return json_array_size(orders);
}

static struct output *new_output(const struct cli *cli)
{
    if (cli_flag_given(cli, "wide"))
        return output_new(cli->out, cli->output, wide_columns,
                          sizeof(wide_columns) / sizeof(wide_columns[0]));
    return output_new(cli->out, cli->output, columns, sizeof(columns) / sizeof(columns[0]));
}

int orders_run_list(struct cli *cli)
{
    struct error error;
    struct console_path path;
    struct console_answer answer;
    int64_t left;
    struct order_filter filter;
    int code = EXIT_CODE_OK;
    json_t *cursor = NULL;
    if (cli_flag_int(cli, "limit", LIST_LIMIT, 0, LIMIT_MAX, &left, &error) != ERROR_OK ||
        order_filter_init(cli, clock_wall_ms(clock_real()), &filter, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    left = left == 0 ? LIMIT_MAX : left;
    struct output *output = new_output(cli);
    do {
        list_path(&filter, &path, left < PAGE_MAX ? left : PAGE_MAX, json_string_value(cursor));
        if (!console_get(cli, &path, &answer, &code))
            break;
        left -= (int64_t)print_page(cli, output, answer.json, &cursor);
        if (left == 0 || !json_is_string(cursor)) {
            console_warn_incomplete(cli, answer.json);
            console_warn_waiting(cli, answer.json);
        }
        console_answer_deinit(&answer);
    } while (left > 0 && json_is_string(cursor));
    bool more = json_is_string(cursor) && code == EXIT_CODE_OK;
    code = output_finish(output, code);
    if (more && cli->output == CLI_OUTPUT_TABLE)
        fputs("There are more orders: --limit 0 lists all of them.\n", cli->err);
    json_decref(cursor);
    return code;
}
