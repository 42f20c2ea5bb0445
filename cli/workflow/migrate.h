/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of `reeve workflow migrate`: those of operators' commands. */
#ifndef CLI_WORKFLOW_MIGRATE_H
#define CLI_WORKFLOW_MIGRATE_H

#include "cli/cli.h"

extern const struct cli_flag workflow_migrate_flags[];

#endif
