/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that operators send to the console: `reeve compensate`, `reeve resubmit`. */
#ifndef CLI_CONSOLE_OPERATOR_COMMAND_H
#define CLI_CONSOLE_OPERATOR_COMMAND_H

#include "cli/cli.h"

/* POST /api/orders/{id}/{command} for each argument, with --by, --reason and, if it `resubmits`,
 * --step and --nothing-applied; waits for the decision. Exit code 1 when one was rejected, 69 when
 * nothing was decided in time. */
int operator_command_run(struct cli *cli, const char *command, bool resubmits);

#define OPERATOR_FLAGS                                              \
    {"reason", "TEXT", "Why; required, and stays in the history."}, \
    {                                                               \
        "by", "NAME", "Who decides this; $USER by default."         \
    }

#endif
