/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders count`: orders by workflow and state. */
#include "cli/console/orders.h"
#include "cli/output.h"

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

static void print_count(struct output *output, const char *workflow, const json_t *by_state)
{
    const char *state;
    json_t *count;
    json_int_t sum = 0;
    json_t *row = json_deep_copy(by_state);
    json_object_foreach(row, state, count)
        sum += json_integer_value(count);
    json_object_set_new(row, "workflow", json_string(workflow));
    json_object_set_new(row, "orders", json_integer(sum));
    output_row(output, row);
}

int orders_run_count(struct cli *cli)
{
    struct console_path path = {.size = 0};
    struct console_answer answer;
    const char *workflow;
    json_t *by_state;
    int code = EXIT_CODE_OK;
    console_path_add(&path, "/api/counts");
    if (!console_get(cli, &path, &answer, &code))
        return code;
    struct output *output =
        output_new(cli->out, cli->output, columns, sizeof(columns) / sizeof(columns[0]));
    if (cli->output == CLI_OUTPUT_TABLE) {
        json_object_foreach(json_object_get(answer.json, "by_workflow"), workflow, by_state)
            print_count(output, workflow, by_state);
        print_count(output, "all", json_object_get(answer.json, "by_state"));
    } else {
        output_single(output);
        output_row(output, json_incref(answer.json));
    }
    code = output_finish(output, EXIT_CODE_OK);
    console_warn_incomplete(cli, answer.json);
    console_answer_deinit(&answer);
    return code;
}
