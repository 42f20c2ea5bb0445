/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow migrate`: an operator's command. */
#ifndef CLI_WORKFLOW_MIGRATE_H
#define CLI_WORKFLOW_MIGRATE_H

#include "cli/console/operator_command.h"

extern const struct operator_verb workflow_migrate;

#endif
