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

struct text workflow_name_file(struct text name)
{
    const char *slash = name.size > 0 ? memchr(name.data, '/', name.size) : NULL;
    return slash != NULL ? (struct text){name.data, (uint32_t)(slash - name.data)} : name;
}

bool workflow_name_is_body(struct text name)
{
    return workflow_name_file(name).size < name.size;
}

bool workflow_name_valid(struct text name)
{
    struct text part = workflow_name_file(name);
    while (name_valid(part) && part.size < name.size) {
        name = text_from(name, part.size + 1);
        part = workflow_name_file(name);
    }
    return name_valid(part);
}
