/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders`: the table of its verbs. */
#include "cli/console/orders.h"
#include "replica/settings.h"

void orders_path(struct console_path *path, const char *order_id, const char *after)
{
    *path = (struct console_path){.size = 0};
    console_path_add(path, "/api/orders/");
    console_path_add_segment(path, order_id);
    console_path_add(path, after);
}

static const struct cli_flag list_flags[] = {
    {"state", "STATE", "Only Pending, Processing, Processed, Compensating, Compensated or Error."},
    {"step", "NAME",
     "Only orders in which this step runs, waits for its next attempt, or is in Error."},
    {"error", "CODE", "Only orders cancelled, compensated or in Error for this reason."},
    {"workflow", "NAME", "Only orders of this workflow."},
    {"alert", NULL, "Only orders with an open alert."},
    {"limit", "N", "At most N orders; 50 by default, 0 = all."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag console_flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};
static const struct cli_flag watch_flags[] = {
    {"state", "STATE", "Only changes to this state."},
    {"workflow", "NAME", "Only orders of this workflow."},
    {"until-ended", NULL,
     "With ORDER: ends when the order is Processed (exit code 0), Compensated or in Error (1)."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "list",
        .summary =
            "Lists orders with their age and the steps in progress, the latest change first.",
        .examples = "reeve orders list\n"
                    "reeve orders list --state Error --workflow order-fulfilment\n"
                    "reeve orders list --step TakePayment --limit 0 --output jsonl",
        .flags = list_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = orders_run_list,
    },
    {
        .name = "get",
        .arguments = "ORDER",
        .arguments_min = 1,
        .arguments_max = 1,
        .summary =
            "Shows an order, its steps, outputs and errors. Exit code 1: there is no such order.",
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
        .summary =
            "Shows what was decided about an order, one event a line. The first column is the "
            "position of the Decision in the topic PREFIX.events.",
        .examples = "reeve orders history 536365\n"
                    "# with the data of each event\n"
                    "reeve orders history 536365 --output jsonl",
        .flags = console_flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = orders_run_history,
    },
    {
        .name = "watch",
        .arguments = "[ORDER]",
        .arguments_max = 1,
        .summary = "Shows the events of all orders, or of one, from now on until Ctrl-C.",
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
        .run = orders_run_count,
    },
};

const struct cli_noun cli_orders = {"orders", "Orders, from the read model of the console.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
