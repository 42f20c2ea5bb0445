/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders`: asks the console. get is in orders_get.c, watch in orders_watch.c. */
#include "cli/console/orders.h"

#include "cli/output.h"
#include "cli/people.h"
#include "platform/clock.h"
#include "replica/settings.h"

#include <stdio.h>
#include <string.h>

enum { PAGE_MAX = 1000, LIST_LIMIT = 50, LIMIT_MAX = 1000000000, STEPS_SIZE = 120 };

void orders_path(struct console_path *path, const char *order_id, const char *after)
{
    *path = (struct console_path){.size = 0};
    console_path_add(path, "/api/orders/");
    console_path_add_segment(path, order_id);
    console_path_add(path, after);
}

/* ---- list ---- */

static const struct output_column list_columns[] = {
    {"order_id", "ORDER", false},
    {"state", "STATE", false},
    {"workflow", "WORKFLOW", false},
    {"steps", "STEPS", false},
    {"updated", "UPDATED (UTC)", false},
    {"age", "AGE", true},
    {"why", "WHY", false},
};

/* "TakePayment 2, undo of ReserveStock 1": the active steps with their attempts. */
static json_t *steps_in_words(const json_t *order)
{
    char text[STEPS_SIZE] = "";
    size_t i;
    size_t size = 0;
    const json_t *step;
    json_array_foreach(json_object_get(order, "active_steps"), i, step) {
        const char *name = json_string_value(json_object_get(step, "step"));
        const char *direction = json_string_value(json_object_get(step, "direction"));
        bool undo = direction != NULL && strcmp(direction, "undo") == 0;
        if (name == NULL || size >= sizeof(text))
            continue;
        int written = snprintf(text + size, sizeof(text) - size, "%s%s%s %lld", i > 0 ? ", " : "",
                               undo ? "undo of " : "", name,
                               (long long)json_integer_value(json_object_get(step, "attempt")));
        size += written > 0 ? (size_t)written : 0;
    }
    return json_string(text);
}

static json_t *list_row(const json_t *order, int64_t now)
{
    json_t *row = json_object();
    const json_t *code = json_object_get(order, "reason_code");
    json_object_set(row, "order_id", json_object_get(order, "order_id"));
    json_object_set(row, "state", json_object_get(order, "state"));
    json_object_set_new(
        row, "workflow",
        json_sprintf("%s %lld", json_string_value(json_object_get(order, "workflow")),
                     (long long)json_integer_value(json_object_get(order, "workflow_version"))));
    json_object_set_new(row, "steps", steps_in_words(order));
    json_object_set_new(row, "updated", people_time(json_object_get(order, "updated_at")));
    json_object_set_new(row, "age", people_age(json_object_get(order, "accepted_at"), now));
    json_object_set_new(row, "why",
                        json_string(json_is_string(code) ? json_string_value(code) : ""));
    return row;
}

static void list_path(struct cli *cli, struct console_path *path, int64_t limit, const char *cursor)
{
    char number[24];
    snprintf(number, sizeof(number), "%lld", (long long)limit);
    *path = (struct console_path){.size = 0};
    console_path_add(path, "/api/orders");
    console_path_add_query(path, "state", cli_flag_value(cli, "state"));
    console_path_add_query(path, "step", cli_flag_value(cli, "step"));
    console_path_add_query(path, "error", cli_flag_value(cli, "error"));
    console_path_add_query(path, "workflow", cli_flag_value(cli, "workflow"));
    console_path_add_query(path, "alert", cli_flag_given(cli, "alert") ? "open" : NULL);
    console_path_add_query(path, "limit", number);
    console_path_add_query(path, "cursor", cursor);
}

/* Prints one page; returns how many orders it had. *cursor: where the next one begins, or null. */
static size_t list_page(struct cli *cli, struct output *output, const json_t *page, json_t **cursor)
{
    size_t i;
    json_t *order;
    int64_t now = clock_wall_ms(clock_real());
    json_t *orders = json_object_get(page, "orders");
    json_array_foreach(orders, i, order)
        output_row(output,
                   cli->output == CLI_OUTPUT_TABLE ? list_row(order, now) : json_incref(order));
    json_decref(*cursor);
    *cursor = json_incref(json_object_get(page, "next"));
    return json_array_size(orders);
}

static int run_list(struct cli *cli)
{
    struct error error;
    struct console_path path;
    struct console_answer answer;
    int64_t left;
    int code = EXIT_CODE_OK;
    json_t *cursor = NULL;
    if (cli_flag_int(cli, "limit", LIST_LIMIT, 0, LIMIT_MAX, &left, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    left = left == 0 ? LIMIT_MAX : left;
    struct output *output = output_new(cli->out, cli->output, list_columns,
                                       sizeof(list_columns) / sizeof(list_columns[0]));
    do {
        list_path(cli, &path, left < PAGE_MAX ? left : PAGE_MAX, json_string_value(cursor));
        if (!console_get(cli, &path, &answer, &code))
            break;
        left -= (int64_t)list_page(cli, output, answer.json, &cursor);
        if (left == 0 || !json_is_string(cursor))
            console_warn_incomplete(cli, answer.json);
        console_answer_deinit(&answer);
    } while (left > 0 && json_is_string(cursor));
    bool more = json_is_string(cursor) && code == EXIT_CODE_OK;
    bool written = output_finish(output);
    if (more && cli->output == CLI_OUTPUT_TABLE)
        fputs("There are more: --limit 0 shows all.\n", cli->err);
    json_decref(cursor);
    return code != EXIT_CODE_OK || written ? code : EXIT_CODE_INTERNAL;
}

/* ---- history ---- */

void orders_print_events(struct cli *cli, const json_t *decision, bool with_order)
{
    size_t i;
    const json_t *event;
    const char *order_id = json_string_value(json_object_get(decision, "order_id"));
    json_t *time = people_time_ms(json_object_get(decision, "time"));
    json_array_foreach(json_object_get(decision, "events"), i, event) {
        const char *words = json_string_value(json_object_get(event, "words"));
        fprintf(cli->out, "%3lld/%-8lld %s  ",
                (long long)json_integer_value(json_object_get(decision, "partition")),
                (long long)json_integer_value(json_object_get(decision, "offset")),
                json_string_value(time));
        if (with_order) {
            output_text(cli->out, order_id != NULL ? order_id : "", 0);
            fputs("  ", cli->out);
        }
        output_text(cli->out, words != NULL ? words : "", 0);
        fputc('\n', cli->out);
    }
    json_decref(time);
}

static void print_history(struct cli *cli, struct output *output, const json_t *answer)
{
    size_t i;
    json_t *decision;
    json_array_foreach(json_object_get(answer, "entries"), i, decision) {
        if (output != NULL)
            output_row(output, json_incref(decision));
        else
            orders_print_events(cli, decision, false);
    }
}

static int run_history(struct cli *cli)
{
    static const struct output_column columns[] = {{"offset", "OFFSET", true}};
    char after[24] = "";
    struct console_path path;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    bool more = true;
    struct output *output =
        cli->output == CLI_OUTPUT_TABLE ? NULL : output_new(cli->out, cli->output, columns, 1);
    while (more) {
        orders_path(&path, cli->arguments[0], "/history");
        console_path_add_query(&path, "after", after[0] != '\0' ? after : NULL);
        if (!console_get(cli, &path, &answer, &code))
            break;
        const json_t *next = json_object_get(answer.json, "next");
        print_history(cli, output, answer.json);
        more = json_is_integer(next);
        snprintf(after, sizeof(after), "%lld", (long long)json_integer_value(next));
        console_answer_deinit(&answer);
    }
    bool written = output == NULL || output_finish(output);
    return code != EXIT_CODE_OK || written ? code : EXIT_CODE_INTERNAL;
}

/* ---- count ---- */

static const struct output_column count_columns[] = {
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

static int run_count(struct cli *cli)
{
    struct console_path path = {.size = 0};
    struct console_answer answer;
    const char *workflow;
    json_t *by_state;
    int code = EXIT_CODE_OK;
    console_path_add(&path, "/api/counts");
    if (!console_get(cli, &path, &answer, &code))
        return code;
    struct output *output = output_new(cli->out, cli->output, count_columns,
                                       sizeof(count_columns) / sizeof(count_columns[0]));
    if (cli->output == CLI_OUTPUT_TABLE) {
        json_object_foreach(json_object_get(answer.json, "by_workflow"), workflow, by_state)
            print_count(output, workflow, by_state);
        print_count(output, "all", json_object_get(answer.json, "by_state"));
    } else {
        output_single(output);
        output_row(output, json_incref(answer.json));
    }
    bool written = output_finish(output);
    console_warn_incomplete(cli, answer.json);
    console_answer_deinit(&answer);
    return written ? EXIT_CODE_OK : EXIT_CODE_INTERNAL;
}

/* ---- the table ---- */

static const struct cli_flag list_flags[] = {
    {"state", "STATE", "Pending, Processing, Processed, Compensating, Compensated or Error."},
    {"step", "NAME", "This step runs, waits for its next attempt, or is in error."},
    {"error", "CODE", "Cancelled, compensated or in error for this reason."},
    {"workflow", "NAME", "Of this workflow."},
    {"alert", NULL, "With an open alert."},
    {"limit", "N", "At most so many, the latest changes first; 50 by default, 0 = all."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag console_flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};
static const struct cli_flag watch_flags[] = {
    {"state", "STATE", "Only changes to this state."},
    {"workflow", "NAME", "Only orders of this workflow."},
    {"until-ended", NULL,
     "With ORDER: until it has ended (exit code 0 = Processed, 1 = Compensated) or is in Error "
     "(1)."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "list",
        .summary = "Lists orders, the latest changes first.",
        .examples = "reeve orders list\n"
                    "reeve orders list --state Error --workflow order-fulfilment\n"
                    "reeve orders list --step TakePayment --limit 0 --output jsonl",
        .flags = list_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run_list,
    },
    {
        .name = "get",
        .arguments = "ORDER",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "Shows everything about an order. Exit code 1: there is none.",
        .examples = "reeve orders get 536365\nreeve orders get 536365 --output json",
        .flags = console_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = orders_run_get,
    },
    {
        .name = "history",
        .arguments = "ORDER",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary = "Tells what was decided about an order, one line an event, from the log; times "
                   "are UTC.",
        .examples = "reeve orders history 536365\n"
                    "# with the data of each event\n"
                    "reeve orders history 536365 --output jsonl",
        .flags = console_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run_history,
    },
    {
        .name = "watch",
        .arguments = "[ORDER]",
        .arguments_max = 1,
        .summary = "Shows what happens from now on, to all orders or to one, until Ctrl-C.",
        .examples = "reeve orders watch\n"
                    "reeve orders watch --state Error\n"
                    "reeve orders watch 536365 --until-ended",
        .flags = watch_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = orders_run_watch,
    },
    {
        .name = "count",
        .summary = "Counts orders by workflow and state.",
        .examples = "reeve orders count",
        .flags = console_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run_count,
    },
};

const struct cli_noun cli_orders = {"orders", "Orders, as the console knows them.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
