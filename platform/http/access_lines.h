/* SPDX-License-Identifier: Apache-2.0 */
/* The files that say who may do what (tokens.h, groups.h): a line for each entry, of fields that
 * are separated by blanks. Empty lines and lines that begin with # are skipped. */
#ifndef PLATFORM_HTTP_ACCESS_LINES_H
#define PLATFORM_HTTP_ACCESS_LINES_H

#include "base/error.h"
#include "base/text.h"
#include "platform/files.h"

#include <stdbool.h>
#include <stddef.h>

struct access_lines_kind {
    size_t bytes_max;
    const char *danger; /* what others who may write it give themselves: "any role" */
};

/* As files_read_owned(): `change` is its `plain`, since a mounted secret may be a link, but a file
 * that is to be changed may not. REJECT, code Config; also if others than its owner may write
 * it. */
enum error_class access_lines_read(const struct access_lines_kind *kind, const char *path,
                                   bool change, char **ret_content, size_t *ret_size,
                                   struct files_owner *ret_owner, struct error *ret_error);

/* The next line of *rest, without its end, which is taken from *rest. */
struct text access_line_take(struct text *rest);
bool access_line_is_skipped(struct text line);
/* The next field, which is taken from *line; "" = there is none. */
struct text access_field_take(struct text *line);

#endif
