/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve token roles`: a verb of token.c. */
#ifndef CLI_TOKEN_ROLES_H
#define CLI_TOKEN_ROLES_H

#include "cli/cli.h"

int cli_token_roles(struct cli *cli);

#endif
