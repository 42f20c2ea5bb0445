/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines with the table of the binary, run within the test. */
#ifndef TESTS_UNIT_CLI_TABLE_KIT_H
#define TESTS_UNIT_CLI_TABLE_KIT_H

#include "cli/cli.h"

extern const struct cli_noun *const table_kit_nouns[]; /* ends with NULL */
extern char *const *table_kit_environment; /* of commands: an empty one, unless it is set */
/* What the latest command printed. Owned by the kit. */
extern char *out_text, *err_text;

/* `reeve LINE` of at most 15 words, '' being an empty one. Returns the exit code. */
int reeve(const char *line);
void table_kit_tear_down(void);

#endif
