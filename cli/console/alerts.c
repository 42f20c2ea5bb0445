/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve alerts`: what waits for an operator: orders in Error, and alerts of instances about
 * partitions. */
#include "cli/console/console_client.h"
#include "cli/output.h"
#include "platform/clock.h"
#include "replica/settings.h"

#include <stdio.h>
#include <string.h>

static const struct output_column columns[] = {
    {"what", "ABOUT", false}, {"time", "SINCE (UTC)", false}, {"age", "AGE", true},
    {"code", "CODE", false},  {"step", "STEP", false},        {"message", "MESSAGE", false},
};

static json_t *order_row(const json_t *order, int64_t now)
{
    json_t *row = json_object();
    const json_t *at_fault = json_array_get(json_object_get(order, "steps_in_error"), 0);
    const json_t *code = json_object_get(at_fault, "error_name");
    const json_t *message = json_object_get(at_fault, "error_message");
    if (!json_is_string(code)) {
        code = json_object_get(order, "reason_code");
        message = json_object_get(order, "reason");
    }
    const json_t *time = json_object_get(order, "updated_at");
    json_object_set_new(
        row, "what",
        json_sprintf("order %s", json_string_value(json_object_get(order, "order_id"))));
    json_object_set_new(row, "time", output_time(time));
    json_object_set_new(row, "age", output_age(time, now));
    json_object_set(row, "code", (json_t *)(uintptr_t)code);
    json_object_set(row, "step", json_object_get(at_fault, "step"));
    json_object_set(row, "message", (json_t *)(uintptr_t)message);
    return row;
}

static json_t *partition_row(const json_t *alert, int64_t now)
{
    json_t *row = json_object();
    const json_t *time = json_object_get(alert, "last_at");
    json_object_set_new(row, "what",
                        json_sprintf("partition %lld", (long long)json_integer_value(
                                                           json_object_get(alert, "partition"))));
    json_object_set_new(row, "time", output_time(time));
    json_object_set_new(row, "age", output_age(time, now));
    json_object_set(row, "code", json_object_get(alert, "code"));
    json_object_set(row, "message", json_object_get(alert, "message"));
    return row;
}

static void print(struct cli *cli, struct output *output, const json_t *body, const char *name,
                  const char *about, json_t *(*row)(const json_t *alert, int64_t now))
{
    size_t i;
    json_t *alert;
    int64_t now = clock_wall_ms(clock_real());
    json_array_foreach(json_object_get(body, name), i, alert) {
        json_object_set_new(alert, "about", json_string(about));
        output_row(output, cli->output == CLI_OUTPUT_TABLE ? row(alert, now) : json_incref(alert));
    }
}

static int run(struct cli *cli)
{
    struct console_path path;
    struct console_answer answer;
    json_t *cursor = NULL;
    int code = EXIT_CODE_OK;
    if (cli->argument_count > 0 && strcmp(cli->arguments[0], "list") != 0)
        return cli_usage(cli, "unknown command \"alerts %.60s\"", cli->arguments[0]);
    struct output *output =
        output_new(cli->out, cli->output, columns, sizeof(columns) / sizeof(columns[0]));
    do {
        path = (struct console_path){.size = 0};
        console_path_add(&path, "/api/alerts");
        console_path_add_query(&path, "limit", "1000");
        console_path_add_query(&path, "open", cli_flag_given(cli, "all") ? NULL : "1");
        console_path_add_query(&path, "cursor", json_string_value(cursor));
        if (!console_get(cli, &path, &answer, &code))
            break;
        json_decref(cursor);
        cursor = json_incref(json_object_get(answer.json, "next"));
        print(cli, output, answer.json, "orders", "order", order_row);
        if (!json_is_string(cursor)) {
            print(cli, output, answer.json, "partitions", "partition", partition_row);
            console_warn_incomplete(cli, answer.json);
        }
        console_answer_deinit(&answer);
    } while (json_is_string(cursor));
    json_decref(cursor);
    return output_finish(output, code);
}

static const struct cli_flag flags[] = {
    {"all", NULL, "Also lists closed alerts about partitions."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "[list]",
        .arguments_max = 1,
        .summary = "Lists open alerts: orders and partitions that wait for an operator.",
        .examples = "reeve alerts\nreeve alerts --output jsonl",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run,
    },
};

const struct cli_noun cli_alerts = {"alerts", "Open alerts.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
