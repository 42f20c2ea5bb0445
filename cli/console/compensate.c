/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve compensate`: an operator has an order compensated. */
#include "cli/console/console_client.h"
#include "cli/console/operator_command.h"

static const struct cli_verb verbs[] = {
    {
        .arguments = "[ORDER...|-]",
        .summary =
            "Compensates orders: undoes their processed steps. Exit code 1: the scheduler refused.",
        .examples =
            "reeve compensate 536365 --reason 'cannot be delivered'\n"
            "reeve compensate --state Error --error OutOfStock --reason 'not made any more'",
        .flags = operator_flags,
        .run = operator_command_run,
        .of = &(const struct operator_verb){.action = "compensate"},
    },
};

const struct cli_noun cli_compensate = {"compensate", "Compensating orders.", verbs,
                                        sizeof(verbs) / sizeof(verbs[0])};
