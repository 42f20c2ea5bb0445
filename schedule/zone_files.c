/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/zone_files.h"

#include "base/numbers.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "platform/files.h"

#include <stdio.h>
#include <stdlib.h>

/* The source of all zones, a line for each thing: "Z Europe/Berlin ...", "L Europe/Berlin
 * Europe/Oslo". */
#define ZONE_LIST ZONE_FILES "/tzdata.zi"
enum { ZONE_LIST_BYTES_MAX = 1024 * 1024, ZONE_LIST_NAMES_MAX = 2000, PATH_SIZE = 128 };
_Static_assert(sizeof(ZONE_FILES) + 1 + ZONE_NAME_BYTES_MAX < PATH_SIZE, "a path fits");

/* Not the same zone everywhere, or not a zone of UTC. */
static bool is_special(struct text name)
{
    return text_equal(name, TEXT("localtime")) || text_equal(name, TEXT("posixrules")) ||
           (name.size >= 6 && memcmp(name.data, "right/", 6) == 0) ||
           (name.size >= 6 && memcmp(name.data, "posix/", 6) == 0);
}

/* It leads to no other place than a file of zones. */
static bool is_name(struct text name)
{
    if (name.size == 0 || name.size > ZONE_NAME_BYTES_MAX || name.data[0] == '/')
        return false;
    for (uint32_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || number_is_digit(c) || c == '_' ||
              c == '-' || c == '+' || c == '/'))
            return false;
    }
    return !is_special(name);
}

/* ---- suggestions ---- */

/* The word at the front of *line. */
static struct text take_word(struct text *line)
{
    const char *blank = line->size > 0 ? memchr(line->data, ' ', line->size) : NULL;
    struct text word = {line->data, blank != NULL ? (uint32_t)(blank - line->data) : line->size};
    *line = text_from(*line, blank != NULL ? word.size + 1 : word.size);
    return word;
}

/* The name that a line of the list gives to a zone; empty: none. */
static struct text name_of_line(struct text line)
{
    struct text kind = take_word(&line);
    struct text first = take_word(&line);
    if (text_equal(kind, TEXT("Z")))
        return first;
    return text_equal(kind, TEXT("L")) ? take_word(&line) : TEXT("");
}

static uint32_t names_of(struct text list, struct text names[ZONE_LIST_NAMES_MAX])
{
    uint32_t count = 0;
    while (list.size > 0 && count < ZONE_LIST_NAMES_MAX) {
        const char *end = memchr(list.data, '\n', list.size);
        struct text line = {list.data, end != NULL ? (uint32_t)(end - list.data) : list.size};
        struct text name = name_of_line(line);
        if (!text_empty(name))
            names[count++] = name;
        list = text_from(list, end != NULL ? line.size + 1 : line.size);
    }
    return count;
}

/* "berlin" is near "Europe/Berlin", and near nothing as a whole. */
static const struct text *find_near(struct text wrong, const struct text *names, uint32_t count)
{
    struct text cities[ZONE_LIST_NAMES_MAX];
    const struct text *near = suggest_text(wrong, names, count);
    if (near != NULL)
        return near;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = names[i].size;
        while (at > 0 && names[i].data[at - 1] != '/')
            at--;
        cities[i] = text_from(names[i], at);
    }
    const struct text *city = suggest_text(wrong, cities, count);
    return city != NULL ? &names[city - cities] : NULL;
}

static enum error_class refuse_unknown(struct text name, struct error *ret_error)
{
    struct text names[ZONE_LIST_NAMES_MAX];
    char *list = NULL;
    size_t size = 0;
    struct text shown = utf8_cut(name, ZONE_NAME_BYTES_MAX);
    if (files_read(ZONE_LIST, ZONE_LIST_BYTES_MAX, &list, &size, NULL) != ERROR_OK) {
        list = NULL;
        size = 0;
    }
    uint32_t count = names_of((struct text){list, (uint32_t)size}, names);
    const struct text *near = find_near(name, names, count);
    if (near != NULL)
        error_set(ret_error, CODE_BAD_SCHEDULE, "\"%.*s\" is not a time zone: did you mean %.*s?",
                  TEXT_ARG(shown), TEXT_ARG(*near));
    else
        error_set(ret_error, CODE_BAD_SCHEDULE,
                  "\"%.*s\" is not a time zone: expected a name such as Europe/Berlin, or UTC",
                  TEXT_ARG(shown));
    free(list);
    return ERROR_REJECT;
}

/* ---- reading ---- */

enum error_class zone_read(struct text name, struct arena *arena, struct zone *ret_zone,
                           struct error *ret_error)
{
    char path[PATH_SIZE];
    char *file = NULL;
    size_t size = 0;
    if (!files_exists(ZONE_FILES))
        return error_set(ret_error, CODE_NO_TIME_ZONES,
                         ZONE_FILES " does not exist: install the package tzdata");
    snprintf(path, sizeof(path), "%s/%.*s", ZONE_FILES,
             (int)(name.size < ZONE_NAME_BYTES_MAX ? name.size : ZONE_NAME_BYTES_MAX), name.data);
    if (!is_name(name) || files_read(path, ZONE_FILE_BYTES_MAX, &file, &size, NULL) != ERROR_OK)
        return refuse_unknown(name, ret_error);
    const char *problem = zone_parse((struct text){file, (uint32_t)size}, arena, ret_zone);
    free(file);
    return problem == NULL ? ERROR_OK
                           : error_set(ret_error, CODE_NO_TIME_ZONES,
                                       "%s is not a file of a time zone: %s", path, problem);
}
