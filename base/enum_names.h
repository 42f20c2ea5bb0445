/* SPDX-License-Identifier: Apache-2.0 */
/* The names of an enum's values, for records, JSON, logs and parsers: one table per enum, which is
 * the only place where its names are written down. */
#ifndef BASE_ENUM_NAMES_H
#define BASE_ENUM_NAMES_H

#include "base/text.h"

#include <stddef.h>

struct enum_names {
    const char *const *names; /* by value; NULL: no such value */
    uint32_t count;
};

#define ENUM_NAMES(table)                           \
    {                                               \
        (table), sizeof(table) / sizeof((table)[0]) \
    }

/* "?" when the value has no name. */
const char *enum_name(const struct enum_names *names, uint32_t value);
/* False when no value has this name. */
bool enum_names_find(const struct enum_names *names, struct text name, uint32_t *ret_value);
/* Writes `"high", "normal" or "low"` for an error message, cut to `size` bytes with its NUL. */
void enum_names_list(const struct enum_names *names, char *ret_list, size_t size);

#endif
