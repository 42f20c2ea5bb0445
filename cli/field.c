/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/field.h"

const char *field_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

long long field_int(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}
