/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve alerts`: what waits for an operator: orders in Error, and alerts of instances about
 * partitions. */
#include "cli/console/console_client.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

static json_t *order_text(const json_t *order_id)
{
    return json_sprintf("order %s", json_string_value(order_id));
}

static json_t *partition_text(const json_t *partition)
{
    return json_sprintf("partition %lld", (long long)json_integer_value(partition));
}

/* Of the step at fault if it has an error, else of the order. */
static json_t *cause(const json_t *order, const char *of_step, const char *of_order)
{
    const json_t *step = json_array_get(json_object_get(order, "steps_in_error"), 0);
    return json_incref(json_is_string(json_object_get(step, "error_name"))
                           ? json_object_get(step, of_step)
                           : json_object_get(order, of_order));
}

static json_t *code_of(const json_t *order)
{
    return cause(order, "error_name", "reason_code");
}

static json_t *message_of(const json_t *order)
{
    return cause(order, "error_message", "reason");
}

/* The other alerts of the same tree. */
static json_t *others_text(const json_t *others)
{
    return json_integer_value(others) > 0 ? output_value(others) : NULL;
}

static const struct output_column order_columns[] = {
    {"ABOUT", "order_id", order_text, false},
    {"OTHERS", "others", others_text, true},
    {"SINCE (UTC)", "updated_at", output_time, false},
    {"AGE", "updated_at", output_age, true},
    {"CODE", "", code_of, false},
    {"STEP", "steps_in_error.0.step", output_value, false},
    {"MESSAGE", "", message_of, false},
    {0},
};
static const struct output_column partition_columns[] = {
    {"ABOUT", "partition", partition_text, false},  {"OTHERS", "", others_text, true},
    {"SINCE (UTC)", "last_at", output_time, false}, {"AGE", "last_at", output_age, true},
    {"CODE", "code", output_value, false},          {"STEP", "step", output_value, false},
    {"MESSAGE", "message", output_value, false},    {0},
};

static void print(struct output *output, const struct output_column *columns, const json_t *list,
                  const char *about)
{
    size_t i;
    json_t *alert;
    output_columns(output, columns);
    json_array_foreach(list, i, alert) {
        json_object_set_new(alert, "about", json_string(about));
        output_row(output, json_incref(alert));
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
    struct output *output = output_new(cli, order_columns);
    do {
        path = (struct console_path){.size = 0};
        console_path_add(&path, "/api/alerts");
        console_path_add_query(&path, "limit", "1000");
        console_path_add_query(&path, "open", cli_flag_given(cli, "all") ? NULL : "1");
        if (!console_get_page(cli, &path, &cursor, &answer, &code))
            break;
        print(output, order_columns, json_object_get(answer.json, "orders"), "order");
        if (!json_is_string(cursor)) {
            print(output, partition_columns, json_object_get(answer.json, "partitions"),
                  "partition");
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
        .summary = "Lists open alerts: orders and partitions that wait for an operator. Of a tree, "
                   "it shows one and counts those of its OTHERS, sub-orders.",
        .examples = "reeve alerts\nreeve alerts --output jsonl",
        .flags = flags,
        .run = run,
    },
};

const struct cli_noun cli_alerts = {"alerts", "Open alerts.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
