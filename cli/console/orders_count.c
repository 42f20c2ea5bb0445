/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders count`: orders by workflow and state, or those that match a filter. */
#include "cli/console/order_filter.h"
#include "cli/console/orders.h"
#include "cli/output.h"
#include "platform/clock.h"

/* A number, or an object of one that may be too low: "at least 1000". */
static json_t *number_of(const json_t *number)
{
    const json_t *orders = json_is_object(number) ? json_object_get(number, "orders") : number;
    if (!json_is_false(json_object_get(number, "exact")))
        return output_value(orders);
    return json_sprintf("at least %lld", (long long)json_integer_value(orders));
}

static const struct output_column columns[] = {
    {"WORKFLOW", "workflow", output_value, false},
    {"VERSION", "version", output_value, true},
    {"PENDING", "Pending", number_of, true},
    {"PROCESSING", "Processing", number_of, true},
    {"PROCESSED", "Processed", number_of, true},
    {"COMPENSATING", "Compensating", number_of, true},
    {"COMPENSATED", "Compensated", number_of, true},
    {"ERROR", "Error", number_of, true},
    {"ORDERS", "orders", number_of, true},
    {0},
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
    struct output *output = output_new(cli, columns);
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
    if (cli->output != CLI_OUTPUT_TABLE)
        return output_one(cli, NULL, output_value(counts));
    struct output *output = output_new(cli, columns);
    output_hide(output, "VERSION");
    json_object_foreach(json_object_get(counts, "by_workflow"), workflow, by_state)
        print_count(output, workflow, by_state);
    print_count(output, "all", json_object_get(counts, "by_state"));
    return output_finish(output, EXIT_CODE_OK);
}

/* A column for each state, and one for the sum. */
static int print_states(const struct cli *cli, const json_t *answer)
{
    json_t *row = json_copy(json_object_get(answer, "by_state"));
    struct output *output = output_new(cli, columns);
    json_object_set(row, "orders", (json_t *)(uintptr_t)answer);
    output_hide(output, "WORKFLOW");
    output_hide(output, "VERSION");
    output_single(output);
    output_row(output, row);
    return output_finish(output, EXIT_CODE_OK);
}

/* One number, or one of each state. */
static int count_matches(struct cli *cli, bool states)
{
    static const struct output_column number[] = {{"ORDERS", "", number_of, true}, {0}};
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
    if (states && cli->output == CLI_OUTPUT_TABLE)
        code = print_states(cli, answer.json);
    else
        code = output_one(cli, number, json_incref(answer.json));
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
