/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding (RFC 3986). */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

#include "base/text.h"

#include <stddef.h>

enum percent_keep {
    PERCENT_KEEP_UNRESERVED, /* letters, digits, - _ . ~: one segment of a path, or of a query */
    PERCENT_KEEP_VISIBLE,    /* visible ASCII other than '%': the value of an HTTP header */
};

/* Writes `text` with every byte that is not kept as %XX, and a NUL, and returns its size without
 * the NUL. Writes nothing if that does not fit into `size` bytes; 3 * text.size + 1 always do.
 * Different texts stay different. As a segment, "." and ".." are encoded too: a path would lose
 * them. */
size_t percent_encode(struct text text, enum percent_keep keep, char *ret_string, size_t size);

/* Decodes in place. False if a '%' is not followed by two hexadecimal digits, or stands for a
 * NUL; `string` is then undefined. */
bool percent_decode(char *string);

#endif
