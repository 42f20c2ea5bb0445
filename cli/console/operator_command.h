/* SPDX-License-Identifier: Apache-2.0 */
/* What operators ask of the console: `reeve compensate`, `reeve resubmit`. */
#ifndef CLI_CONSOLE_OPERATOR_COMMAND_H
#define CLI_CONSOLE_OPERATOR_COMMAND_H

#include "cli/cli.h"

/* POST /api/orders/{id}/{act} for each argument, with --by, --reason and, if it `resubmits`, --step
 * and --nothing-applied; waits for what is decided. Exit code 1 when one was rejected, 69 when
 * nothing was decided in time. */
int operator_run(struct cli *cli, const char *act, bool resubmits);

#define OPERATOR_FLAGS                                                  \
    {"reason", "TEXT", "Why; it stays in the history. Must be given."}, \
    {                                                                   \
        "by", "NAME", "Who decides this; $USER by default."             \
    }

#endif
