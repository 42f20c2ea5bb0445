/* SPDX-License-Identifier: Apache-2.0 */
/* The exit codes of `reeve` and its services (the numbers of sysexits.h). Documented in
 * docs/reference/errors.md. */
#ifndef PLATFORM_EXIT_CODE_H
#define PLATFORM_EXIT_CODE_H

#include "base/error.h"

enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_NEGATIVE = 1,       /* the command worked and its answer is no */
    EXIT_CODE_USAGE = 64,         /* the command line is wrong */
    EXIT_CODE_DATA = 65,          /* the input is wrong */
    EXIT_CODE_UNAVAILABLE = 69,   /* a server does not answer; a later try may succeed */
    EXIT_CODE_INTERNAL = 70,      /* a bug or a broken environment; see the log */
    EXIT_CODE_NOT_PERMITTED = 77, /* a server asks for a token, or for another one */
    EXIT_CODE_CONFIG = 78         /* the configuration is wrong */
};

/* RETRY and FENCED: unavailable; REJECT: data (but config for code Config, usage for code Usage,
 * not permitted for code NotPermitted); FATAL: internal. */
int exit_code_of(const struct error *error);

#endif
