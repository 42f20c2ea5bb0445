/* SPDX-License-Identifier: Apache-2.0 */
/* See names.h. */
#include "base/names.h"

#include "base/limits.h"

_Static_assert(NAME_BYTES_MAX == 64, "NAME_EXPECTED states the limit");

bool name_characters_valid(struct text text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '_' || c == '-';
        if (!valid)
            return false;
    }
    return true;
}

bool name_valid(struct text name)
{
    return name.size > 0 && name.size <= NAME_BYTES_MAX && name_characters_valid(name);
}

bool name_is_path_step(struct text text)
{
    return text_equal(text, TEXT(".")) || text_equal(text, TEXT(".."));
}

bool name_valid_new(struct text name)
{
    return name_valid(name) && !name_is_path_step(name);
}
