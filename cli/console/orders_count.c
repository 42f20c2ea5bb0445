/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders count`: orders by workflow and state, or those that match a filter. */
#include "cli/console/order_filter.h"
#include "cli/console/orders.h"
#include "cli/output.h"
#include "platform/clock.h"

static const struct output_column columns[] = {
    {"workflow", "WORKFLOW", false},
    {"Pending", "PENDING", true},
    {"Processing", "PROCESSING", true},
    {"Processed", "PROCESSED", true},
    {"Compensating", "COMPENSATING", true},
    {"Compensated", "COMPENSATED", true},
    {"Error", "ERROR", true},
    {"orders", "ORDERS", true},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* Of each version: /api/counts lists them one by one. */
static const struct output_column version_columns[] = {
    {"workflow", "WORKFLOW", false},      {"version", "VERSION", true},
    {"Pending", "PENDING", true},         {"Processing", "PROCESSING", true},
    {"Processed", "PROCESSED", true},     {"Compensating", "COMPENSATING", true},
    {"Compensated", "COMPENSATED", true}, {"Error", "ERROR", true},
    {"orders", "ORDERS", true},
};

/* Columns of the states and of their sum. */
static json_t *row_of_states(const json_t *by_state)
{
    const char *state;
    json_t *count;
    json_int_t sum = 0;
    json_t *row = json_deep_copy(by_state);
    json_object_foreach(row, state, count)
        sum += json_integer_value(count);
    json_object_set_new(row, "orders", json_integer(sum));
    return row;
}

static void print_count(struct output *output, const char *workflow, const json_t *by_state)
{
    json_t *row = row_of_states(by_state);
    json_object_set_new(row, "workflow", json_string(workflow));
    output_row(output, row);
}

static int print_versions(const struct cli *cli, const json_t *counts)
{
    size_t i;
    const json_t *version;
    struct output *output = output_new(cli->out, cli->output, version_columns,
                                       sizeof(version_columns) / sizeof(version_columns[0]));
    json_array_foreach(json_object_get(counts, "by_version"), i, version) {
        const json_t *by_state = json_object_get(version, "by_state");
        json_t *row = json_is_object(by_state) ? row_of_states(by_state) : json_object();
        json_object_set(row, "workflow", json_object_get(version, "workflow"));
        json_object_set(row, "version", json_object_get(version, "version"));
        output_row(output, row);
    }
    return output_finish(output, EXIT_CODE_OK);
}

static int print_workflows(const struct cli *cli, const json_t *counts)
{
    const char *workflow;
    json_t *by_state;
    struct output *output = output_new(cli->out, cli->output, columns, COLUMNS);
    if (cli->output == CLI_OUTPUT_TABLE) {
        json_object_foreach(json_object_get(counts, "by_workflow"), workflow, by_state)
            print_count(output, workflow, by_state);
        print_count(output, "all", json_object_get(counts, "by_state"));
    } else {
        output_single(output);
        output_row(output, json_incref((json_t *)(uintptr_t)counts));
    }
    return output_finish(output, EXIT_CODE_OK);
}

static json_t *render_number(const json_t *number)
{
    json_t *orders = json_object_get(number, "orders");
    if (!json_is_false(json_object_get(number, "exact")))
        return json_incref(orders);
    return json_sprintf("at least %lld", (long long)json_integer_value(orders));
}

/* A column for each state, and one for the sum. */
static json_t *row_of_matches(const json_t *answer)
{
    const char *state;
    json_t *number;
    json_t *row = json_object();
    json_object_foreach(json_object_get(answer, "by_state"), state, number)
        json_object_set_new(row, state, render_number(number));
    json_object_set_new(row, "orders", render_number(answer));
    return row;
}

/* One number, or one of each state. */
static int count_matches(struct cli *cli, bool states)
{
    static const struct output_column *const of_states = columns + 1;
    static const struct output_column number[] = {{"orders", "ORDERS", true}};
    struct error error;
    struct order_filter filter;
    struct console_path path = {.size = 0};
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    if (order_filter_init(cli, clock_wall_ms(clock_real()), &filter, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    console_path_add(&path, "/api/orders/count");
    order_filter_add(&filter, &path);
    if (states)
        console_path_add_query(&path, "by", "state");
    if (!console_get(cli, &path, &answer, &code))
        return code;
    struct output *output = states ? output_new(cli->out, cli->output, of_states, COLUMNS - 1)
                                   : output_new(cli->out, cli->output, number, 1);
    output_single(output);
    output_row(output, cli->output == CLI_OUTPUT_TABLE ? row_of_matches(answer.json)
                                                       : json_incref(answer.json));
    code = output_finish(output, EXIT_CODE_OK);
    console_warn_incomplete(cli, answer.json);
    console_answer_deinit(&answer);
    return code;
}

int orders_run_count(struct cli *cli)
{
    bool versions = cli_flag_given(cli, "versions");
    bool states = cli_flag_given(cli, "states");
    bool filtered = order_filter_is_given(cli, NULL);
    if (filtered && versions)
        return cli_usage(cli, "--versions counts all orders: leave out the filter, or name one "
                              "version with --workflow-version");
    if (versions && states)
        return cli_usage(cli, "--versions counts by state as well: leave out --states");
    if (filtered || states)
        return count_matches(cli, states);
    struct console_path path = {.size = 0};
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    console_path_add(&path, "/api/counts");
    if (!console_get(cli, &path, &answer, &code))
        return code;
    code = versions ? print_versions(cli, answer.json) : print_workflows(cli, answer.json);
    console_warn_incomplete(cli, answer.json);
    console_answer_deinit(&answer);
    return code;
}
