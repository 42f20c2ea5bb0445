/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve compensate`: an operator has an order compensated. */
#include "cli/console/console_client.h"
#include "cli/console/operator_command.h"
#include "replica/settings.h"

static int run(struct cli *cli)
{
    static const struct operator_verb command = {.action = "compensate"};
    return operator_command_run(cli, &command);
}

static const struct cli_flag flags[] = {
    OPERATOR_FLAGS, TARGET_STEP_FLAG, TARGET_FLAGS, CONSOLE_FLAG, {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "[ORDER...|-]",
        .arguments_max = -1,
        .summary =
            "Compensates orders: undoes their processed steps. Exit code 1: the scheduler refused.",
        .examples =
            "reeve compensate 536365 --reason 'cannot be delivered'\n"
            "reeve compensate --state Error --error OutOfStock --reason 'not made any more'",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run,
    },
};

const struct cli_noun cli_compensate = {"compensate", "Compensating orders.", verbs,
                                        sizeof(verbs) / sizeof(verbs[0])};
