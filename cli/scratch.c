/* SPDX-License-Identifier: Apache-2.0 */
/* See scratch.h. */
#include "cli/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_class cli_scratch_make(const char *name, char ret_path[CLI_SCRATCH_SIZE],
                                  struct error *ret_error)
{
    const char *temporary = getenv("TMPDIR");
    if (temporary == NULL || *temporary == '\0')
        temporary = "/tmp";
    int size = snprintf(ret_path, CLI_SCRATCH_SIZE, "%s/reeve-%s-XXXXXX", temporary, name);
    if (size < 0 || size >= CLI_SCRATCH_SIZE)
        return error_set(ret_error, CODE_SCRATCH, "TMPDIR is longer than %d bytes",
                         CLI_SCRATCH_SIZE - 64);
    if (mkdtemp(ret_path) == NULL)
        return error_set(ret_error, CODE_SCRATCH, "cannot make %s: %s", ret_path, strerror(errno));
    return ERROR_OK;
}
