/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders amend`: an operator corrects the input of an order in Error. */
#include "cli/console/operator_command.h"
#include "cli/console/orders.h"
#include "cli/data_flag.h"
#include "engine/limits.h"

#include <string.h>

static enum error_class add_input(struct cli *cli, char **last, json_t *body,
                                  struct error *ret_error)
{
    (void)last;
    return data_flag_put(cli, "input", INPUT_BYTES_MAX, ORDER_INPUT_BYTES_MAX, body, ret_error);
}

/* Data is one order's own. */
static bool check(struct cli *cli, char **last, int *ret_code)
{
    (void)last;
    if (strcmp(cli->arguments[0], "-") == 0)
        *ret_code = cli_usage(cli, "orders amend is about one order: give its id");
    else if (!cli_flag_given(cli, "input"))
        *ret_code = cli_usage(cli, "--input is missing: the whole new input, or a file of it");
    else
        return true;
    return false;
}

const struct operator_verb orders_amend = {
    .action = "amend", .check = check, .add_fields = add_input};
