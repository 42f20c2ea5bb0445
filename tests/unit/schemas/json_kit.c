/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/schemas/json_kit.h"

#include "platform/json_tree.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

const void *sample_record(const char *name)
{
    for (uint32_t i = 0; i < sample_count; i++)
        if (strcmp(samples[i].name, name) == 0)
            return samples[i].record;
    cr_assert_fail("no sample %s", name);
    return NULL;
}

json_t *json_kit_sent(json_t *json)
{
    char *text = json_tree_print(json, JSON_COMPACT);
    cr_assert_not_null(text);
    for (const char *at = text; *at != '\0'; at++)
        cr_assert((unsigned char)*at >= 0x20, "control characters are escaped");
    json_t *back = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(back, "%s", text);
    free(text);
    json_decref(json);
    return back;
}

void json_kit_text(const json_t *object, const char *name, const char *expected)
{
    const char *text = json_string_value(json_object_get(object, name));
    cr_assert(text != NULL && strcmp(text, expected) == 0, "%s is %s", name,
              text != NULL ? text : "(null)");
}

void json_kit_int(const json_t *object, const char *name, int64_t expected)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_integer(value) && json_integer_value(value) == expected, "%s", name);
}
