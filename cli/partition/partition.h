/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `reeve partition`, each with a file of its own. */
#ifndef CLI_PARTITION_PARTITION_H
#define CLI_PARTITION_PARTITION_H

#include "cli/session.h"

int partition_run_reset(struct cli *cli);
int partition_run_waiting(struct cli *cli);

enum { PARTITION_WAITING_MAX = 100 /* commands that are shown */ };
/* For tests: prints the commands that no Decision has consumed. Returns the exit code. */
int partition_show_waiting(struct cli *cli, struct cli_session *session, int32_t partition);

#endif
