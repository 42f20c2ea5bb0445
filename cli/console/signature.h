/* SPDX-License-Identifier: Apache-2.0 */
/* Who decides something, and why: the flags of operators' commands, and the body of their
 * requests. */
#ifndef CLI_CONSOLE_SIGNATURE_H
#define CLI_CONSOLE_SIGNATURE_H

#include "cli/cli.h"

#include <jansson.h>

/* For a verb's table of flags; `place`: where both are kept, such as "the history". */
#define SIGNATURE_FLAGS(place)                                                                     \
    {"reason", "TEXT", "Why; required, and stays in " place "."},                                  \
    {                                                                                              \
        "by", "NAME", "Who decides this; by default the user. The name of a token counts instead." \
    }

/* New: {"by", "reason"}; without "by" where a token will say it. NULL: REJECT "Usage". */
json_t *signature_body(const struct cli *cli, const char *place, struct error *ret_error);

#endif
