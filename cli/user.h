/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs the command. */
#ifndef CLI_USER_H
#define CLI_USER_H

#include "engine/limits.h"

/* $USER, or the system's name for the user, as in a service or a container without that variable.
 * NULL: there is neither. Borrowed until the next call. */
const char *cli_user(void);
/* "ann@host", of printable text. */
void cli_user_at_host(char ret_name[WHO_BYTES_MAX]);

#endif
