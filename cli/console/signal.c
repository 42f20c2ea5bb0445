/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve signal`: sends a step the signal that it waits for, such as the answer to its question. */
#include "cli/console/console_client.h"
#include "cli/console/orders.h"
#include "cli/data_flag.h"
#include "cli/field.h"
#include "cli/user.h"
#include "engine/limits.h"

#include <string.h>

/* ---- the request ---- */

/* Who sends it: a token says it where there is one. */
static const char *sender(const struct cli *cli)
{
    const char *by = cli_flag_value(cli, "by");
    if (by != NULL)
        return by;
    return config_string(cli->config, "console.token")[0] != '\0' ? NULL : cli_user();
}

static enum error_class put_texts(const struct cli *cli, json_t *body, struct error *ret_error)
{
    static const char *const flags[][2] = {
        {"choose", "choice"}, {"comment", "comment"}, {"id", "id"}};
    const char *by = sender(cli);
    bool good = by == NULL || json_object_set_new(body, "by", json_string(by)) == 0;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && good; i++) {
        const char *value = cli_flag_value(cli, flags[i][0]);
        good = value == NULL || json_object_set_new(body, flags[i][1], json_string(value)) == 0;
    }
    return good ? ERROR_OK
                : error_set(ret_error, CODE_USAGE,
                            "--choose, --comment, --id and --by (or the user's name) must be "
                            "UTF-8");
}

/* 0, or the exit code after the mistake was reported. */
static int check_flags(struct cli *cli)
{
    bool chooses = cli_flag_given(cli, "choose");
    if (chooses == cli_flag_given(cli, "payload"))
        return cli_usage(cli, chooses ? "give --choose or --payload, not both"
                                      : "--choose CHOICE or --payload FILE|JSON is missing: what "
                                        "the step gets");
    if (cli_flag_given(cli, "comment") && !chooses)
        return cli_usage(cli, "--comment goes with --choose; a payload says all itself");
    return EXIT_CODE_OK;
}

/* ---- the answer ---- */

/* Of the Decision, what became of the signal. */
static json_t *result_of(const json_t *decision)
{
    size_t i;
    const json_t *event;
    json_array_foreach(json_object_get(decision, "events"), i, event) {
        const char *kind = field_text(event, "kind");
        const json_t *data = json_object_get(event, "data");
        if (strcmp(kind, "StepPassed") == 0)
            return json_string("passed");
        if (strcmp(kind, "SignalReceived") == 0)
            return json_string(json_is_true(json_object_get(data, "kept"))
                                   ? "kept until the step's turn"
                                   : "received, the step waits on");
        if (strcmp(kind, "CommandRejected") == 0)
            return json_string("received before, nothing changes");
    }
    return json_string("?");
}

static const struct output_column columns[] = {
    {"ORDER", "order_id", output_value, false},
    {"STATE", "state", output_value, false},
    {"SIGNAL", "", result_of, false},
    {0},
};

static int send_signal(struct cli *cli, const json_t *body)
{
    struct error error;
    struct console_client client;
    struct console_path path;
    struct console_answer answer;
    orders_path(&path, cli->arguments[0], "/signals/");
    console_path_add_segment(&path, cli->arguments[1]);
    if (console_client_init(cli, &client, &error) != ERROR_OK ||
        console_query(&client, &path, body, &answer, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    struct output *output = output_new(cli, columns);
    int code = EXIT_CODE_OK;
    if (answer.status == 200)
        output_row(output, json_incref(answer.json));
    else
        code = console_refused(cli, &answer, cli->arguments[0]);
    console_answer_deinit(&answer);
    return output_finish(output, code);
}

static int run(struct cli *cli)
{
    struct error error;
    int code = check_flags(cli);
    if (code != EXIT_CODE_OK ||
        !orders_check_step(cli, cli->arguments[0], cli->arguments[1], &code))
        return code;
    json_t *body = json_object();
    if (put_texts(cli, body, &error) != ERROR_OK ||
        data_flag_put(cli, "payload", 2 * SIGNAL_BYTES_MAX, SIGNAL_BYTES_MAX, body, &error) !=
            ERROR_OK)
        code = cli_fail(cli, &error);
    else
        code = send_signal(cli, body);
    json_decref(body);
    return code;
}

static const struct cli_flag flags[] = {
    {"choose", "CHOICE", "One of the step's Options."},
    {"comment", "TEXT", "Why; with --choose."},
    {"payload", "FILE|JSON",
     "In place of a choice: what a step without Options gets, as JSON or the file that holds it."},
    {"id", "ID", "Your own name of the signal: sent again with the same id, it changes nothing."},
    {"by", "NAME", "Who sends it; by default the user. The name of a token counts instead."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "ORDER STEP",
        .summary = "Sends a step the signal that its Await waits for, and waits for what is "
                   "decided. A signal that comes before the step's turn is kept. Exit code 1: the "
                   "scheduler refused; 77: the step waits for a group that you are not in.",
        .examples = "reeve signal 536365 Approve --choose approve --comment 'a regular customer'\n"
                    "reeve signal 536365 Delivered --payload '{\"signed_by\": \"ann\"}' --id 4711",
        .flags = flags,
        .run = run,
    },
};

const struct cli_noun cli_signal = {"signal", "Answering steps that wait for a signal.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
