/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve submit`: orders from JSON to the submissions topic, as any Kafka client would do it.
 * --wait follows the reply topics and shows each step that changes. */
#include "cli/data_flag.h"
#include "cli/output.h"
#include "cli/submit/order_checks.h"
#include "cli/submit/orders_file.h"
#include "cli/submit/reply_watch.h"
#include "cli/submit/sender.h"
#include "cli/submit/status_rows.h"
#include "platform/files.h"
#include "schemas/details.h"
#include "schemas/json/json_codec.h"
#include "schemas/json/submission_json.h"
#include "schemas/records.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { WAIT_SECONDS_MAX = 30 * 24 * 3600, WAIT_SECONDS = 600 };

struct submit {
    struct cli *cli;
    bool waits;     /* --wait */
    bool connected; /* with the first valid order */
    struct cli_session session;
    struct sender *sender;
    struct reply_watch *watch; /* NULL unless --wait */
    struct output *output;
    struct order_checks checks;
    struct heap_arena heap;
    char *input; /* --input: of orders that have none; NULL: it is not given */
    size_t input_size;
    uint64_t submitted;
    uint64_t bad;
};

static const struct output_column columns[] = {
    {"ORDER", "order_id", output_value, false},
    {"PARTITION", "partition", output_value, true},
    {"OFFSET", "offset", output_value, true},
    {0},
};

/* ---- output ---- */

static void on_acked(void *ctx, struct text key, int32_t partition, int64_t offset)
{
    struct submit *submit = ctx;
    if (submit->watch == NULL)
        output_row(submit->output,
                   json_pack("{s:s%, s:i, s:I}", "order_id", key.data, (size_t)key.size,
                             "partition", (int)partition, "offset", (json_int_t)offset));
}

static void on_status(void *ctx, const struct status_update *status)
{
    struct submit *submit = ctx;
    status_rows_add(submit->output, submit->cli, status);
}

/* ---- orders ---- */

/* What the order itself says; nothing is asked of the brokers. */
static enum error_class read_order(struct submit *submit, struct text json,
                                   struct order_details *ret_details, struct error *ret_error)
{
    struct order_details details;
    heap_arena_reset(&submit->heap);
    enum error_class class = submission_json_read(json, &submit->heap.arena, &details, ret_error);
    if (class != ERROR_OK)
        return class;
    const char *workflow = cli_flag_value(submit->cli, "workflow");
    const char *reply_to = cli_flag_value(submit->cli, "reply-to");
    if (workflow != NULL && text_empty(details.workflow))
        details.workflow = text_of(workflow);
    if (reply_to != NULL && text_empty(details.reply_to))
        details.reply_to = text_of(reply_to);
    if (submit->input != NULL && text_empty(details.input))
        details.input = (struct text){submit->input, (uint32_t)submit->input_size};
    class = details_validate_new(&details, &submit->heap.arena, ret_error);
    if (class == ERROR_OK && submit->waits && text_empty(details.reply_to))
        class = error_set(
            ret_error, CODE_USAGE,
            "--wait needs a reply topic: give --reply-to TOPIC, or reply_to in the order");
    if (class == ERROR_OK)
        *ret_details = details;
    return class;
}

static enum error_class connect_once(struct submit *submit, struct error *ret_error)
{
    if (submit->connected)
        return ERROR_OK;
    enum error_class class =
        cli_session_open(submit->cli, CLUSTER_FOLLOWS_WORKFLOWS | CLUSTER_HAS_APPLICATIONS,
                         &submit->session, ret_error);
    if (class != ERROR_OK)
        return class;
    submit->connected = true;
    order_checks_init(&submit->checks, submit->session.cluster);
    submit->sender =
        sender_new(&submit->session, submit->session.cluster->topics.submissions, on_acked, submit);
    if (submit->waits)
        submit->watch = reply_watch_new(&submit->session, on_status, submit);
    return ERROR_OK;
}

static void disconnect(struct submit *submit)
{
    if (!submit->connected)
        return;
    sender_free(submit->sender);
    reply_watch_free(submit->watch);
    cli_session_close(&submit->session);
}

static enum error_class send_order(struct submit *submit, const struct order_details *details,
                                   struct error *ret_error)
{
    struct command cmd = {
        .kind = COMMAND_SUBMIT_ORDER, .order_id = details->order_id, .submit_order = *details};
    enum error_class class = ERROR_OK;
    if (submit->watch != NULL) {
        class = reply_watch_topic(submit->watch, details->reply_to, ret_error);
        if (class != ERROR_OK)
            return class;
        reply_watch_order(submit->watch, details->order_id);
    }
    class =
        sender_send(submit->sender, -1, details->order_id, RECORD_SUBMIT_ORDER, &cmd, ret_error);
    submit->submitted += class == ERROR_OK;
    return class;
}

static void report_bad(struct submit *submit, int64_t line, const struct error *error)
{
    cli_report_named(submit->cli, error_name_of(error), "order %" PRId64 ": %s", line,
                     error->message);
    submit->bad++;
}

/* One bad order does not keep the others back. */
static enum error_class submit_all(struct submit *submit, struct orders_file *file,
                                   struct error *ret_error)
{
    struct text value = {0};
    int64_t line = 0;
    enum error_class class = ERROR_OK;
    while (class == ERROR_OK) {
        struct order_details details;
        struct error error = {0};
        enum orders_file_result result = orders_file_next(file, &value, &line, &error);
        if (result == ORDERS_FILE_END)
            break;
        if (result == ORDERS_FILE_UNREADABLE) {
            *ret_error = error;
            return ERROR_FATAL;
        }
        if (result == ORDERS_FILE_BAD || read_order(submit, value, &details, &error) != ERROR_OK) {
            report_bad(submit, line, &error);
            continue;
        }
        class = connect_once(submit, ret_error);
        if (class != ERROR_OK)
            break;
        if (order_checks_pass(&submit->checks, &details, &error) == ERROR_OK &&
            order_checks_input(&submit->checks, &details, &error) == ERROR_OK)
            class = send_order(submit, &details, ret_error);
        else
            report_bad(submit, line, &error);
    }
    if (!submit->connected)
        return class;
    enum error_class flushed = sender_flush(submit->sender, class == ERROR_OK ? ret_error : NULL);
    return class == ERROR_OK ? flushed : class;
}

static enum error_class wait_for_ends(struct submit *submit, struct error *ret_error)
{
    int64_t seconds = 0;
    enum error_class class = cli_flag_int(submit->cli, "timeout", WAIT_SECONDS, 1, WAIT_SECONDS_MAX,
                                          &seconds, ret_error);
    return class == ERROR_OK ? reply_watch_wait(submit->watch, seconds * 1000, ret_error) : class;
}

static const char *name_of_input(const struct cli *cli)
{
    return strcmp(cli->arguments[0], "-") == 0 ? "stdin" : cli->arguments[0];
}

static int finish(struct submit *submit, enum error_class class, const struct error *error)
{
    struct cli *cli = submit->cli;
    uint64_t submitted = submit->connected ? sender_acknowledged(submit->sender) : 0;
    if (class == ERROR_OK && submit->submitted == 0 && submit->bad == 0) {
        cli_report(cli, CODE_NO_ORDER, "%s holds no order", name_of_input(cli));
        return EXIT_CODE_DATA;
    }
    if (cli->output == CLI_OUTPUT_TABLE && (class == ERROR_OK || submitted > 0))
        fprintf(cli->err, "%" PRIu64 " submitted, %" PRIu64 " refused\n", submitted, submit->bad);
    if (class != ERROR_OK)
        return cli_fail(cli, error);
    if (submit->bad > 0)
        return EXIT_CODE_DATA;
    return submit->watch != NULL && reply_watch_others(submit->watch) > 0 ? EXIT_CODE_NEGATIVE
                                                                          : EXIT_CODE_OK;
}

static int submit_file(struct cli *cli, FILE *in)
{
    struct error error = {0};
    struct submit submit = {.cli = cli, .waits = cli_flag_given(cli, "wait")};
    const char *input = cli_flag_value(cli, "input");
    if (in == stdin && input != NULL && strcmp(input, "-") == 0)
        return cli_usage(cli, "the orders and --input cannot both come from stdin");
    heap_arena_init(&submit.heap, 64 * 1024);
    if (data_flag_read(cli, "input", INPUT_BYTES_MAX, &submit.input, &submit.input_size, &error) !=
        ERROR_OK) {
        heap_arena_deinit(&submit.heap);
        return cli_fail(cli, &error);
    }
    submit.output = submit.waits ? status_rows_new(cli) : output_new(cli, columns);
    struct orders_file *file = orders_file_new(in, false);
    enum error_class class = submit_all(&submit, file, &error);
    if (class == ERROR_OK && submit.watch != NULL)
        class = wait_for_ends(&submit, &error);
    int code = output_finish(submit.output, finish(&submit, class, &error));
    orders_file_free(file);
    disconnect(&submit);
    heap_arena_deinit(&submit.heap);
    free(submit.input);
    return code;
}

static int run(struct cli *cli)
{
    const char *path = cli->arguments[0];
    if (strcmp(path, "-") == 0)
        return submit_file(cli, stdin);
    struct error error = {0};
    FILE *in = orders_file_open(path, &error);
    if (in == NULL)
        return cli_fail(cli, &error);
    int code = submit_file(cli, in);
    fclose(in);
    return code;
}

static const struct cli_flag flags[] = {
    {"workflow", "NAME", "For orders that name none."},
    {"reply-to", "TOPIC",
     "The reply topic of orders that name none: their StatusUpdates go there."},
    {"input", "FILE|JSON", "The input of orders that have none: JSON, or a file of it."},
    {"wait", NULL,
     "Shows each step that changes, from the reply topics, until all orders have ended, and what "
     "the `Output` of their workflow makes. Exit code 1 unless all are Processed."},
    {"timeout", "SECONDS", "How long --wait waits; 600 by default. Exit code 69 when it is over."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "FILE|-",
        .summary = "Submits orders: one as JSON, a list of them, or JSON lines.",
        .examples = "reeve submit order.json\n"
                    "reeve submit orders.jsonl --workflow order-fulfilment --output jsonl\n"
                    "reeve submit order.json --input '{\"amount\": 120.5}'\n"
                    "# follow it to its end\n"
                    "reeve topics apply --app web\n"
                    "reeve submit order.json --reply-to orders.replies.web --wait\n"
                    "echo '{\"order_id\": \"1\", \"workflow\": \"three-steps\"}' | reeve submit -",
        .flags = flags,
        .run = run,
    },
};

const struct cli_noun cli_submit = {"submit", "Submitting orders.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
