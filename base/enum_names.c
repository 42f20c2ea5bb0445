/* SPDX-License-Identifier: Apache-2.0 */
/* See enum_names.h. */
#include "base/enum_names.h"

#include <assert.h>
#include <stdio.h>

const char *enum_name(const struct enum_names *names, uint32_t value)
{
    return value < names->count && names->names[value] != NULL ? names->names[value] : "?";
}

bool enum_names_find(const struct enum_names *names, struct text name, uint32_t *ret_value)
{
    for (uint32_t value = 0; value < names->count; value++) {
        if (names->names[value] != NULL && text_equal(name, text_of(names->names[value]))) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

void enum_names_list(const struct enum_names *names, char *ret_list, size_t size)
{
    size_t used = 0;
    assert(size > 0);
    ret_list[0] = '\0';
    for (uint32_t value = 0; value < names->count && used < size; value++) {
        if (names->names[value] == NULL)
            continue;
        const char *separator = used == 0 ? "" : value + 1 == names->count ? " or " : ", ";
        used += (size_t)snprintf(ret_list + used, size - used, "%s\"%s\"", separator,
                                 names->names[value]);
    }
}
