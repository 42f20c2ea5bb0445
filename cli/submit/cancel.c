/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve cancel`: sends CancelOrder to the submissions topic. What the scheduler decides is in the
 * order's history and on its reply topic. */
#include "cli/output.h"
#include "cli/submit/sender.h"
#include "replica/settings.h"

#include <stdlib.h>

static const struct output_column columns[] = {
    {"order_id", "ORDER", false}, {"partition", "PARTITION", true}, {"offset", "OFFSET", true}};

static void on_acked(void *ctx, struct text key, int32_t partition, int64_t offset)
{
    output_row(ctx, json_pack("{s:s%, s:i, s:I}", "order_id", key.data, (size_t)key.size,
                              "partition", (int)partition, "offset", (json_int_t)offset));
}

static enum error_class check(const struct cli *cli, struct cancel_order *cancel,
                              struct error *ret_error)
{
    if (cancel->reason.size == 0 || cancel->reason.size > MESSAGE_BYTES_MAX)
        return error_set(ret_error, ERROR_REJECT, "Usage",
                         "--reason TEXT is required, at most %d bytes: it stays in the history",
                         MESSAGE_BYTES_MAX);
    if (cancel->by.size > WHO_BYTES_MAX)
        return error_set(ret_error, ERROR_REJECT, "Usage", "--by is %u bytes; the limit is %d",
                         cancel->by.size, WHO_BYTES_MAX);
    for (int i = 0; i < cli->argument_count; i++) {
        if (order_id_validate(text_of(cli->arguments[i]), ret_error) != ERROR_OK)
            return ERROR_REJECT;
    }
    return ERROR_OK;
}

static int run(struct cli *cli)
{
    struct error error = {0};
    struct cli_session session;
    const char *by = cli_flag_value(cli, "by");
    const char *reply_to = cli_flag_value(cli, "reply-to");
    struct cancel_order cancel = {
        .by = text_of(by != NULL ? by : getenv("USER")),
        .reason = text_of(cli_flag_value(cli, "reason")),
        .reply_to = text_of(reply_to),
    };
    if (check(cli, &cancel, &error) != ERROR_OK ||
        cli_session_open(cli, 0, &session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    struct output *output = output_new(cli->out, cli->output, columns, 3);
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

static const struct cli_flag flags[] = {
    {"reason", "TEXT", "Why; required, and stays in the history."},
    {"by", "NAME", "Who requests it; $USER by default."},
    {"reply-to", "TOPIC", "Where to send the answer if there is no such order."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "ORDER...",
        .arguments_min = 1,
        .arguments_max = -1,
        .summary = "Requests the cancellation of orders: they are compensated, unless the pivot "
                   "has started.",
        .examples = "reeve cancel 536365 --reason 'ordered twice'",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run,
    },
};

const struct cli_noun cli_cancel = {"cancel", "Cancelling orders.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
