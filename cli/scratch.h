/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of a command's own, in $TMPDIR or /tmp, for stores that are removed again. */
#ifndef CLI_SCRATCH_H
#define CLI_SCRATCH_H

#include "base/error.h"

enum { CLI_SCRATCH_SIZE = 1024 };

/* Makes DIR/reeve-NAME-XXXXXX. FATAL "Scratch". The caller removes it with files_remove_tree(). */
enum error_class cli_scratch_make(const char *name, char ret_path[CLI_SCRATCH_SIZE],
                                  struct error *ret_error);

#endif
