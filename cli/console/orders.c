/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders`: the table of its verbs. */
#include "cli/console/orders.h"
#include "cli/console/operator_command.h"
#include "engine/limits.h"

#include <stdio.h>
#include <string.h>

void orders_path(struct console_path *path, const char *order_id, const char *after)
{
    *path = (struct console_path){.size = 0};
    console_path_add(path, "/api/orders/");
    if (strcmp(order_id, "count") == 0) /* /api/orders/count is something else */
        console_path_add(path, "%63ount");
    else
        console_path_add_segment(path, order_id);
    console_path_add(path, after);
}

/* "Waves~0/GoOn" */
static bool is_path(const char *step)
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-~/";
    const char *slash = strrchr(step, '/');
    return slash != NULL && slash > step && slash[1] != '\0' &&
           step[strspn(step, characters)] == '\0' && strlen(step) <= ORDER_ID_BYTES_MAX;
}

bool orders_check_step(struct cli *cli, const char *order_id, const char *step, int *ret_code)
{
    char place[ORDER_ID_BYTES_MAX + 1];
    if (!is_path(step))
        return true;
    snprintf(place, sizeof(place), "%s", step);
    char *name = strrchr(place, '/');
    *name++ = '\0';
    for (char *slash = place; (slash = strchr(slash, '/')) != NULL;)
        *slash = '~';
    order_id = order_id != NULL ? order_id : "ORDER";
    *ret_code = cli_usage(cli,
                          "%s is in a sub-order of %.128s: write %.128s~%s %s (reeve orders tree "
                          "%.128s lists its sub-orders)",
                          step, order_id, order_id, place, name, order_id);
    return false;
}

static const struct cli_flag list_flags[] = {
    ORDER_FILTER_FLAGS,
    ORDER_FILTER_STEP_FLAG,
    {"limit", "N", "At most N orders; 50 by default, 0 = all."},
    {"all", NULL, "Also sub-orders, which are left out otherwise."},
    {"wide", NULL, "Also shows when orders were submitted, and their customers."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag count_flags[] = {
    ORDER_FILTER_FLAGS,
    ORDER_FILTER_STEP_FLAG,
    {"all", NULL, "Also sub-orders, which are left out otherwise."},
    {"states", NULL, "With a filter: counts the orders of each state as well."},
    {"versions", NULL, "Counts each version of a workflow by itself; without a filter."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL}};
static const struct cli_flag get_flags[] = {
    {"at", "OFFSET",
     "The order as it was after the Decision at this offset, see `orders history`."},
    {"input", NULL, "Prints the order's input alone, as JSON with all its digits."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag watch_flags[] = {
    {"state", "STATE", "Only changes to this state."},
    {"workflow", "NAME", "Only orders of this workflow."},
    {"until-ended", NULL,
     "With ORDER: ends when the order is Processed (exit code 0), Compensated or in Error (1)."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_flag tree_flags[] = {
    {"all", NULL, "Also sub-orders that are done; else those that are open or have failed."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag pause_flags[] = {
    OPERATOR_FLAGS, OPERATOR_TREE_FLAG, TARGET_STEP_FLAG,
    TARGET_FLAGS,   CONSOLE_FLAG,       {NULL, NULL, NULL},
};
static const struct cli_flag settle_flags[] = {
    OPERATOR_FLAGS,
    BULK_FLAGS("orders"),
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static bool is_keep(const char *how)
{
    return strcmp(how, "keep") == 0;
}

static bool check_settle(struct cli *cli, char **last, int *ret_code)
{
    if (is_keep(last[0]) || strcmp(last[0], "undo") == 0)
        return true;
    *ret_code = cli_usage(cli, "expected keep or undo, not %.60s", last[0]);
    return false;
}

static enum error_class add_settle(struct cli *cli, char **last, json_t *body,
                                   struct error *ret_error)
{
    (void)cli;
    (void)ret_error;
    json_object_set_new(body, "keep", json_boolean(is_keep(last[0])));
    return ERROR_OK;
}

static const struct cli_flag amend_flags[] = {
    {"input", "FILE|JSON", "The whole new input: JSON, or a file of it."},
    OPERATOR_FLAGS,
    BULK_FLAGS("orders"),
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "list",
        .summary =
            "Lists orders with their age and the steps in progress, the latest change first; by "
            "customer, attribute or time the latest submission first; by prefix sorted by id.",
        .examples = "reeve orders list\n"
                    "reeve orders list --state Error --workflow order-fulfilment\n"
                    "reeve orders list --customer 17850 --since 7d --wide\n"
                    "reeve orders list --attribute country=France --attribute channel=web\n"
                    "reeve orders list --step TakePayment --limit 0 --output jsonl",
        .flags = list_flags,
        .run = orders_run_list,
    },
    {
        .name = "get",
        .arguments = "ORDER",
        .summary =
            "Shows an order, its steps, outputs and errors. Exit code 1: there is no such order.",
        .examples = "reeve orders get 536365\nreeve orders get 536365 --output json\n"
                    "# as it was\nreeve orders get 536365 --at 2041",
        .flags = get_flags,
        .run = orders_run_get,
    },
    {
        .name = "history",
        .arguments = "ORDER",
        .summary =
            "Shows what was decided about an order, one event a line. The first column is the "
            "position of the Decision in the topic PREFIX.events.",
        .examples = "reeve orders history 536365\n"
                    "# with the data of each event\n"
                    "reeve orders history 536365 --output jsonl",
        .flags = console_flags,
        .run = orders_run_history,
    },
    {
        .name = "tree",
        .arguments = "ORDER",
        .summary = "Shows an order with its sub-orders on all levels: those that are open or have "
                   "failed. Exit code 1: there is no such order.",
        .examples = "reeve orders tree 536365\nreeve orders tree 536365 --all",
        .flags = tree_flags,
        .run = orders_run_tree,
    },
    {
        .name = "watch",
        .arguments = "[ORDER]",
        .summary = "Shows the events of all orders, or of one, from now on until Ctrl-C.",
        .examples = "reeve orders watch\n"
                    "reeve orders watch --state Error\n"
                    "reeve orders watch 536365 --until-ended",
        .flags = watch_flags,
        .run = orders_run_watch,
    },
    {
        .name = "count",
        .summary = "Counts orders by workflow and state; with a filter, those that match. If that "
                   "takes long, it says how many there are at least.",
        .examples = "reeve orders count\n"
                    "reeve orders count --versions\n"
                    "reeve orders count --state Error --since 1h\n"
                    "reeve orders count --customer 17850 --states",
        .flags = count_flags,
        .run = orders_run_count,
    },
    {
        .name = "pause",
        .arguments = "[ORDER...|-]",
        .summary =
            "Pauses orders: attempts in flight may end, no step starts, and the order's deadline "
            "still applies. Exit code 1: the scheduler refused.",
        .examples = "reeve orders pause 536365 --reason 'the customer called'\n"
                    "reeve orders pause --step ShipOrder --reason 'stocktaking'\n"
                    "reeve orders pause 536365 --tree --reason 'with all its sub-orders'",
        .flags = pause_flags,
        .run = operator_command_run,
        .of = &(const struct operator_verb){.action = "pause",
                                            .add_fields = operator_command_add_tree},
    },
    {
        .name = "resume",
        .arguments = "[ORDER...|-]",
        .summary = "Ends the pause of orders. Exit code 1: the scheduler refused.",
        .examples = "reeve orders resume 536365 --reason 'it is settled'",
        .flags = pause_flags,
        .run = operator_command_run,
        .of = &(const struct operator_verb){.action = "resume",
                                            .add_fields = operator_command_add_tree},
    },
    {
        .name = "settle",
        .arguments = "ORDER keep|undo",
        .summary = "Keeps or undoes a held order whose parent is unknown, in its parent's place. "
                   "Exit code 1: the scheduler refused.",
        .examples = "reeve orders settle 'o-7~Update~3' undo --reason 'its parent was lost'",
        .flags = settle_flags,
        .run = operator_command_run,
        .of = &(const struct operator_verb){.action = "settle",
                                            .last_count = 1,
                                            .check = check_settle,
                                            .add_fields = add_settle},
    },
    {
        .name = "amend",
        .arguments = "ORDER",
        .summary = "Corrects the input of an order in Error; `reeve resubmit` then tries its steps "
                   "with the new data. Refused where a step with an effect reads what would "
                   "change. Exit code 1: the scheduler refused.",
        .examples = "reeve orders amend 536365 --input input.json --reason 'a typing error'\n"
                    "reeve orders amend 536365 --input '{\"amount\": 12.5}' --reason 'as invoiced'",
        .flags = amend_flags,
        .run = operator_command_run,
        .of = &orders_amend,
    },
};

const struct cli_noun cli_orders = {"orders", "Orders, from the read model of the console.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
