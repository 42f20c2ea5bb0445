/* SPDX-License-Identifier: Apache-2.0 */
/* Operators' commands about a whole tree: the root's first, and once that is decided one for each
 * of its sub-orders that has not ended. The answer counts them, and lists those that were
 * refused. */
#ifndef SERVICES_CONSOLE_API_TREE_COMMANDS_H
#define SERVICES_CONSOLE_API_TREE_COMMANDS_H

#include "services/console/api/api.h"

struct awaited_commands;
struct tree_commands;

struct tree_commands *tree_commands_new(struct api *api, struct awaited_commands *awaited);
/* After cluster_close(). NULL does nothing. */
void tree_commands_free(struct tree_commands *trees);
/* Answers those under way; NULL does nothing. */
void tree_commands_drain(struct tree_commands *trees);

/* Answers the exchange later, or at once if the order is not a root that is known. `root` is the
 * command about it: CancelOrder, PauseOrder or ResumeOrder. */
void tree_commands_begin(struct tree_commands *trees, struct http_exchange *exchange,
                         const struct command *root);

#endif
