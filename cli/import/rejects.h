/* SPDX-License-Identifier: Apache-2.0 */
/* FILE.rejects.csv: the rows that an import refused, with line and reason. Created with the first
 * of them; the file of an earlier import is removed at the start. */
#ifndef CLI_IMPORT_REJECTS_H
#define CLI_IMPORT_REJECTS_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>

struct rejects {
    char *path;
    FILE *out; /* NULL: nothing was refused yet */
    uint64_t rows;
};

/* `file` is the path of what is imported. FATAL when an old file cannot be removed. */
enum error_class rejects_init(struct rejects *rejects, const char *file, struct error *ret_error);
enum error_class rejects_add(struct rejects *rejects, int64_t line, struct text order_id,
                             const char *reason, struct error *ret_error);
/* FATAL when not everything could be written. */
enum error_class rejects_close(struct rejects *rejects, struct error *ret_error);

#endif
