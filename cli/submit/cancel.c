/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve cancel`: an operator cancels orders and waits for the outcome; or, with --no-wait, sends
 * CancelOrder to the submissions topic, as an application does, which needs no console. */
#include "base/utf8.h"
#include "cli/console/operator_command.h"
#include "cli/output.h"
#include "cli/submit/sender.h"
#include "cli/user.h"
#include "schemas/details.h"

static const struct output_column columns[] = {
    {"ORDER", "order_id", output_value, false},
    {"PARTITION", "partition", output_value, true},
    {"OFFSET", "offset", output_value, true},
    {0},
};

static void on_acked(void *ctx, struct text key, int32_t partition, int64_t offset)
{
    output_row(ctx, json_pack("{s:s%, s:i, s:I}", "order_id", key.data, (size_t)key.size,
                              "partition", (int)partition, "offset", (json_int_t)offset));
}

static enum error_class check(const struct cli *cli, struct cancel_order *cancel,
                              struct error *ret_error)
{
    if (cancel->reason.size == 0 || cancel->reason.size > MESSAGE_BYTES_MAX)
        return error_set(ret_error, CODE_USAGE,
                         "--reason TEXT is required, at most %d bytes: it stays in the history",
                         MESSAGE_BYTES_MAX);
    if (cancel->by.size > WHO_BYTES_MAX)
        return error_set(ret_error, CODE_USAGE, "--by is %u bytes; the limit is %d",
                         cancel->by.size, WHO_BYTES_MAX);
    if (!utf8_printable(cancel->reason) || !utf8_printable(cancel->by))
        return error_set(ret_error, CODE_USAGE,
                         "--reason and --by (or the user's name) must be printable UTF-8");
    for (int i = 0; i < cli->argument_count; i++) {
        if (order_id_validate(text_of(cli->arguments[i]), ret_error) != ERROR_OK)
            return ERROR_REJECT;
    }
    return ERROR_OK;
}

static int send(struct cli *cli)
{
    struct error error = {0};
    struct cli_session session;
    const char *by = cli_flag_value(cli, "by");
    const char *reply_to = cli_flag_value(cli, "reply-to");
    struct cancel_order cancel = {
        .by = text_of(by != NULL ? by : cli_user()),
        .reason = text_of(cli_flag_value(cli, "reason")),
        .reply_to = text_of(reply_to),
    };
    if (check(cli, &cancel, &error) != ERROR_OK ||
        cli_session_open(cli, 0, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    struct output *output = output_new(cli, columns);
    struct sender *sender =
        sender_new(&session, session.cluster->topics.submissions, on_acked, output);
    enum error_class class = ERROR_OK;
    for (int i = 0; i < cli->argument_count && class == ERROR_OK; i++) {
        cancel.order_id = text_of(cli->arguments[i]);
        struct command cmd = {
            .kind = COMMAND_CANCEL_ORDER, .order_id = cancel.order_id, .cancel_order = cancel};
        class = sender_send(sender, -1, cancel.order_id, RECORD_CANCEL_ORDER, &cmd, &error);
    }
    if (class == ERROR_OK)
        class = sender_flush(sender, &error);
    int code = class == ERROR_OK ? EXIT_CODE_OK : cli_fail(cli, &error);
    code = output_finish(output, code);
    sender_free(sender);
    cli_session_close(&session);
    return code;
}

static int run(struct cli *cli)
{
    if (!cli_flag_given(cli, "no-wait"))
        return cli_flag_given(cli, "reply-to")
                   ? cli_usage(cli, "--reply-to goes with --no-wait: here the answer is awaited")
                   : operator_command_run(cli);
    if (cli_flag_given(cli, "tree"))
        return cli_usage(cli, "--tree needs the console: leave out --no-wait");
    return cli->argument_count > 0 ? send(cli)
                                   : cli_usage(cli, "--no-wait needs the ids of the orders");
}

static const struct cli_flag flags[] = {
    OPERATOR_FLAGS,
    OPERATOR_TREE_FLAG,
    TARGET_STEP_FLAG,
    TARGET_FLAGS,
    {"no-wait", NULL,
     "Writes to PREFIX.submissions, as an application does, and does not wait; needs no console."},
    {"reply-to", "TOPIC", "With --no-wait: where to send the answer if there is no such order."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "[ORDER...|-]",
        .summary = "Cancels orders: they are compensated, unless the pivot, or a step after it, "
                   "has started. Exit code 1: the scheduler refused.",
        .examples = "reeve cancel 536365 --reason 'ordered twice'\n"
                    "reeve cancel - --reason 'test data' --yes < ids.txt",
        .flags = flags,
        .run = run,
        .of = &(const struct operator_verb){.action = "cancel",
                                            .add_fields = operator_command_add_tree},
    },
};

const struct cli_noun cli_cancel = {"cancel", "Cancelling orders.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
