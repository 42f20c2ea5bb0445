/* SPDX-License-Identifier: Apache-2.0 */
/* The headers that a setting adds to calls: usually credentials, so nothing of their values appears
 * in an error. */
#ifndef PLATFORM_HTTP_HEADER_LINES_H
#define PLATFORM_HTTP_HEADER_LINES_H

#include "base/error.h"

#include <stdint.h>

enum { HEADER_LINES_MAX = 16 };

struct header_lines {
    char *text;                              /* the lines point into it */
    const char *lines[HEADER_LINES_MAX + 1]; /* NULL-terminated */
    uint32_t count;
};

/* One "Name: value" per line; empty lines are skipped. REJECT Config for other lines, for too many,
 * and for headers that reeve or the protocol sets. `setting`: the name of the setting, for errors.
 * To be freed with header_lines_deinit. */
enum error_class header_lines_parse(const char *setting, const char *text,
                                    struct header_lines *ret_headers, struct error *ret_error);
void header_lines_deinit(struct header_lines *headers);

#endif
