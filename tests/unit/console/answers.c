/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/console/answers.h"

#include "base/rfc3339.h"
#include "platform/json_tree.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *find(const json_t *json, const char *path)
{
    const json_t *at = json;
    for (const char *name = path; *name != '\0' && at != NULL;) {
        char key[64];
        size_t size = strcspn(name, ".");
        snprintf(key, sizeof(key), "%.*s", (int)size, name);
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
        name += size + (name[size] == '.');
    }
    return at;
}

const json_t *world_at(const json_t *json, const char *path)
{
    const json_t *at = find(json, path);
    if (at == NULL) {
        char *text = json_tree_print(json, JSON_INDENT(1));
        cr_assert_fail("no %s in %s", path, text);
    }
    return at;
}

const char *world_text(const json_t *json, const char *path)
{
    const json_t *at = world_at(json, path);
    return json_is_string(at) ? json_string_value(at) : "(no text)";
}

int64_t world_int(const json_t *json, const char *path)
{
    const json_t *at = world_at(json, path);
    cr_assert(json_is_integer(at), "%s", path);
    return json_integer_value(at);
}

int64_t world_time(const json_t *json, const char *path)
{
    int64_t ms;
    cr_assert(rfc3339_parse(text_of(world_text(json, path)), &ms), "%s", path);
    return ms;
}

/* ---- values in short ---- */

static bool reads_like_another(const json_t *text)
{
    json_t *read = json_loads(json_string_value(text), JSON_DECODE_ANY, NULL);
    bool does = read != NULL && !json_is_object(read);
    json_decref(read);
    return does;
}

/* New. */
static char *in_short(const json_t *value)
{
    char size[32];
    bool marked = json_tree_marked(value).data != NULL; /* a number */
    if (json_is_string(value) && !marked && !reads_like_another(value))
        return strdup(json_string_value(value));
    if (!json_is_array(value) && !json_is_object(value))
        return json_tree_print(value, 0);
    snprintf(size, sizeof(size), json_is_array(value) ? "[%zu]" : "{%zu}",
             json_is_array(value) ? json_array_size(value) : json_object_size(value));
    return strdup(size);
}

static bool is_as_expected(const char *given, const char *expected)
{
    if (given == NULL || expected == NULL)
        return given == expected;
    return expected[0] == '~' ? strstr(given, expected + 1) != NULL : strcmp(given, expected) == 0;
}

void answer_shows(json_t *answer, const char *const members[][2])
{
    for (size_t i = 0; members[i][0] != NULL; i++) {
        const json_t *value = find(answer, members[i][0]);
        char *given = value != NULL ? in_short(value) : NULL;
        if (!is_as_expected(given, members[i][1])) {
            char *text = json_tree_print(answer, JSON_INDENT(1));
            cr_assert_fail("%s is %s; expected %s in %s", members[i][0], given, members[i][1],
                           text);
        }
        free(given);
    }
    json_decref(answer);
}

const char *answer_number(int64_t number)
{
    static char texts[8][24];
    static uint32_t next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof(texts[0]), "%" PRId64, number);
    return text;
}
