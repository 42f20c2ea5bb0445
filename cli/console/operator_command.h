/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that operators send to the console, about one order or many. */
#ifndef CLI_CONSOLE_OPERATOR_COMMAND_H
#define CLI_CONSOLE_OPERATOR_COMMAND_H

#include "cli/console/console_client.h"
#include "cli/console/signature.h"
#include "cli/console/targets.h"

/* What a row of a noun's verbs is about that operator_command_run() runs. */
struct operator_verb {
    const char *action; /* POST /api/orders/{id}/ACTION; also what confirmation calls it */
    int first_count;    /* arguments before the orders: then cli->arguments[-first_count] */
    int last_count;     /* arguments after the orders: the step, its error */
    bool step_flag;     /* --step names the step that it is about */
    /* What the command line must be besides; false: *ret_code is the exit code, and the error was
     * reported. `last`: the arguments after the orders. May be NULL. */
    bool (*check)(struct cli *cli, char **last, int *ret_code);
    /* Adds what the action needs besides `by` and `reason`. May be NULL. */
    enum error_class (*add_fields)(struct cli *cli, char **last, json_t *body,
                                   struct error *ret_error);
    /* Before the first order is looked for; false as above. May be NULL. */
    bool (*may_begin)(struct cli *cli, const struct console_client *client, int *ret_code);
    /* --dry-run asks the console whether it would be accepted, with GET of the action's path and
     * this query. NULL: --dry-run only lists the orders. */
    void (*add_query)(struct cli *cli, struct console_path *path);
    /* What it is about without ids; NULL: what the filter finds. */
    struct targets_version (*version_of)(const struct cli *cli);
};

/* Sends the command of the verb for each order and waits for its Decision. A row for each on
 * stdout, those that were refused on stderr. Exit code 1 when one was refused, 69 when nothing was
 * decided in time. */
int operator_command_run(struct cli *cli);

/* For a verb's table of flags, and such a table without others. */
#define OPERATOR_FLAGS SIGNATURE_FLAGS("the history")
extern const struct cli_flag operator_flags[];

/* For verbs that may be about an order's whole tree, and their add_fields. */
#define OPERATOR_TREE_FLAG                                                                     \
    {                                                                                          \
        "tree", NULL, "Also each sub-order of the order's tree that has not ended; of a root." \
    }
enum error_class operator_command_add_tree(struct cli *cli, char **last, json_t *body,
                                           struct error *ret_error);

#endif
