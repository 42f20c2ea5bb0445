/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/operator_command.h"

#include "cli/console/console_client.h"
#include "cli/console/orders.h"
#include "cli/output.h"
#include "engine/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct output_column columns[] = {
    {"order_id", "ORDER", false},
    {"state", "STATE", false},
    {"version", "VERSION", true},
    {"event", "EVENT", false},
};

/* The Decision with the text of its first event, for a table. */
static json_t *row_of(const struct cli *cli, json_t *decision)
{
    const json_t *event = json_array_get(json_object_get(decision, "events"), 0);
    if (cli->output == CLI_OUTPUT_TABLE)
        json_object_set(decision, "event", json_object_get(event, "words"));
    return json_incref(decision);
}

static json_t *body_of(const struct cli *cli, const char *by, const char *reason, bool resubmits)
{
    const char *step = resubmits ? cli_flag_value(cli, "step") : NULL;
    json_t *body = json_pack("{s:s, s:s}", "by", by, "reason", reason);
    if (body != NULL && step != NULL && json_object_set_new(body, "step", json_string(step)) != 0) {
        json_decref(body);
        body = NULL;
    }
    if (body != NULL && resubmits && cli_flag_given(cli, "nothing-applied"))
        json_object_set_new(body, "new_generation", json_true());
    return body;
}

static int run_on(struct cli *cli, const struct console_client *client, const char *order_id,
                  const char *command, const json_t *body, struct output *output)
{
    struct error error;
    struct console_path path;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    orders_path(&path, order_id, "/");
    console_path_add(&path, command);
    if (console_query(client, &path, body, &answer, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (answer.status != 200)
        code = console_refused(cli, &answer, order_id);
    else
        output_row(output, row_of(cli, answer.json));
    console_answer_deinit(&answer);
    return code;
}

int operator_command_run(struct cli *cli, const char *command, bool resubmits)
{
    struct error error;
    struct console_client client;
    int code = EXIT_CODE_OK;
    const char *by = cli_flag_value(cli, "by");
    const char *reason = cli_flag_value(cli, "reason");
    if (by == NULL)
        by = getenv("USER");
    if (by == NULL || by[0] == '\0' || reason == NULL || reason[0] == '\0')
        return cli_usage(
            cli, "--reason TEXT and --by NAME (or $USER) are required: they stay in the history");
    if (console_client_init(cli, &client, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    json_t *body = body_of(cli, by, reason, resubmits);
    if (body == NULL)
        return cli_usage(cli, "--by, --reason and --step must be UTF-8");
    struct output *output =
        output_new(cli->out, cli->output, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < cli->argument_count; i++) {
        int one = run_on(cli, &client, cli->arguments[i], command, body, output);
        code = one > code ? one : code;
    }
    json_decref(body);
    return output_finish(output, code);
}
