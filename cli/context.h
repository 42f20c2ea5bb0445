/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: named sets of settings of the command line, one properties file each, below
 * $XDG_CONFIG_HOME/reeve or ~/.config/reeve. The key `context` names the one that is in effect;
 * without it, it is the one that `reeve context use` has chosen. A context is weaker than all that
 * the line and the environment say, and --config FILE takes its place. */
#ifndef CLI_CONTEXT_H
#define CLI_CONTEXT_H

#include "cli/cli.h"

enum { CONTEXT_NAME_SIZE = 65 };

/* Before config_finish(): has it read the file of the context in effect, if there is one. REJECT,
 * code Config: there is no such context. */
enum error_class context_apply(struct cli *cli, struct error *ret_error);
/* Whether the context that other commands read sets `key`; its name (at least CONTEXT_NAME_SIZE).
 * Before config_finish(), after the environment was read. */
bool context_sets(struct cli *cli, const char *key, char *ret_name);
/* The name of the context in effect, "" for none. Borrowed. */
const char *context_name(const struct cli *cli);

#endif
