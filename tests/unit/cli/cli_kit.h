/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines that run within the test, and a console that answers as the test says. */
#ifndef TESTS_UNIT_CLI_CLI_KIT_H
#define TESTS_UNIT_CLI_CLI_KIT_H

#include "cli/cli.h"

/* What the latest command printed. Owned by the kit. */
extern char *cli_kit_out;
extern char *cli_kit_err;

/* `reeve ARGUMENTS`, the first of which is the noun's name; they end with NULL. Where a console is
 * open, --console names it. Returns the exit code. */
int cli_kit_run(const struct cli_noun *noun, const char *const arguments[]);
#define CLI_KIT_RUN(noun, ...) cli_kit_run(noun, (const char *const[]){__VA_ARGS__, NULL})
/* Asserts that the command is refused as wrong usage, with a text that has `expected`. */
void cli_kit_expect_usage(const struct cli_noun *noun, const char *expected,
                          const char *const arguments[]);
#define CLI_KIT_REFUSED(noun, expected, ...) \
    cli_kit_expect_usage(noun, expected, (const char *const[]){__VA_ARGS__, NULL})
/* Asserts that `text` contains `part`. */
void cli_kit_expect_text(const char *text, const char *part);

/* A console on a port of its own, in a thread. */
void cli_kit_console_open(void);
void cli_kit_console_close(void);
/* Its next answer, after those that were given before; `body` is borrowed until it was sent.
 * Without one it answers 500. */
void cli_kit_answer(int status, const char *body);
/* The n-th request since it was opened, from 0: "GET /api/agents", or "POST /path BODY". Asserts
 * that it came. */
const char *cli_kit_request(unsigned n);
unsigned cli_kit_request_count(void);

#endif
