/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve resubmit`: an operator has the failed steps of an order in Error tried again. */
#include "cli/console/console_client.h"
#include "cli/console/operator_command.h"
#include "replica/settings.h"

static int run(struct cli *cli)
{
    return operator_command_run(cli, "resubmit", true);
}

static const struct cli_flag flags[] = {
    {"step", "NAME", "Names a step in Error; all steps in Error are tried again in any case."},
    {"nothing-applied", NULL,
     "You verified that no attempt of the step (without --step: of any step) had an effect: it "
     "gets a new idempotency key."},
    OPERATOR_FLAGS,
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "ORDER...",
        .arguments_min = 1,
        .arguments_max = -1,
        .summary = "Tries the failed steps of orders in Error again. Exit code 1: the scheduler "
                   "refused.",
        .examples = "reeve resubmit 536365 --reason 'the bank is back'",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run,
    },
};

const struct cli_noun cli_resubmit = {"resubmit", "Trying failed steps again.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
