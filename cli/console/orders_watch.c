/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders watch`: long-polls the console for changes. */
#include "cli/console/orders.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

struct order_watch {
    struct cli *cli;
    struct console_client client;
    const char *order_id; /* NULL: all */
    bool until_ended;
    bool is_awaited; /* the order is not known; that has been said */
    json_t *cursor;
    struct output *output; /* NULL: lines */
    bool is_over;
    int code;
};

/* With --until-ended, a state may end the watch. */
static void check_state(struct order_watch *watch, const json_t *state)
{
    const char *name = json_string_value(state);
    if (!watch->until_ended || name == NULL)
        return;
    bool processed = strcmp(name, "Processed") == 0;
    watch->is_over = processed || strcmp(name, "Compensated") == 0 || strcmp(name, "Error") == 0;
    watch->code = watch->is_over && !processed ? EXIT_CODE_NEGATIVE : EXIT_CODE_OK;
}

/* False: there was no answer, or the console refused; watch->code is set. */
static bool get(struct order_watch *watch, const struct console_path *path,
                struct console_answer *ret_answer)
{
    struct error error;
    if (console_query(&watch->client, path, NULL, ret_answer, &error) != ERROR_OK) {
        watch->code = cli_fail(watch->cli, &error);
        return false;
    }
    if (ret_answer->status == 200)
        return true;
    watch->code = console_refused(watch->cli, ret_answer, NULL);
    console_answer_deinit(ret_answer);
    return false;
}

/* The order as it is now: covers changes before the first cursor, and those that were missed. */
static bool check_order(struct order_watch *watch)
{
    struct console_path path;
    struct console_answer answer;
    struct error error;
    orders_path(&path, watch->order_id, "");
    if (console_query(&watch->client, &path, NULL, &answer, &error) != ERROR_OK) {
        watch->code = cli_fail(watch->cli, &error);
        return false;
    }
    bool answered = answer.status == 200 || answer.status == 404; /* it may be submitted later */
    if (answer.status == 200)
        check_state(watch, json_object_get(answer.json, "state"));
    else if (!answered)
        watch->code = console_refused(watch->cli, &answer, NULL);
    else if (!watch->is_awaited)
        cli_warn(watch->cli, CODE_UNKNOWN_ORDER, "there is no order %.128s yet: waiting for it",
                 watch->order_id);
    watch->is_awaited = answer.status == 404;
    console_answer_deinit(&answer);
    return answered;
}

static void show(struct order_watch *watch, json_t *change)
{
    if (watch->output != NULL)
        output_row(watch->output, json_incref(change));
    else
        orders_print_events(watch->cli, change, watch->order_id == NULL);
    if (watch->order_id != NULL && json_is_true(json_object_get(change, "changed")))
        check_state(watch, json_object_get(change, "state"));
}

static bool watch_more(struct order_watch *watch)
{
    struct console_path path = {.size = 0};
    struct console_answer answer;
    size_t i;
    json_t *change;
    bool began = watch->cursor != NULL;
    console_path_add(&path, "/api/watch");
    console_path_add_query(&path, "after", json_string_value(watch->cursor));
    console_path_add_query(&path, "order", watch->order_id);
    console_path_add_query(&path, "state", cli_flag_value(watch->cli, "state"));
    console_path_add_query(&path, "workflow", cli_flag_value(watch->cli, "workflow"));
    if (!get(watch, &path, &answer))
        return false;
    if (!began && watch->output == NULL)
        orders_print_events_title(watch->cli, watch->order_id == NULL);
    json_decref(watch->cursor);
    watch->cursor = json_incref(json_object_get(answer.json, "cursor"));
    json_array_foreach(json_object_get(answer.json, "changes"), i, change) {
        if (!watch->is_over)
            show(watch, change);
    }
    bool missed = json_is_true(json_object_get(answer.json, "reset"));
    console_answer_deinit(&answer);
    if (watch->output != NULL)
        output_flush(watch->output);
    fflush(watch->cli->out);
    if (missed)
        cli_warn(watch->cli, CODE_CHANGES_MISSED,
                 "some changes are missing: there were too many at once, or the console restarted");
    return (began && !missed) || watch->order_id == NULL || check_order(watch);
}

int orders_run_watch(struct cli *cli)
{
    struct error error;
    struct order_watch watch = {.cli = cli,
                                .order_id = cli->argument_count > 0 ? cli->arguments[0] : NULL,
                                .until_ended = cli_flag_given(cli, "until-ended")};
    if (watch.until_ended && watch.order_id == NULL)
        return cli_usage(cli, "--until-ended needs an ORDER");
    if (console_client_init(cli, &watch.client, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (cli->output != CLI_OUTPUT_TABLE)
        watch.output = output_new(cli, NULL);
    while (!watch.is_over && ferror(cli->out) == 0) {
        if (!watch_more(&watch))
            break;
    }
    json_decref(watch.cursor);
    return output_finish(watch.output, watch.code);
}
