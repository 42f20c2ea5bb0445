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
#define ZONE_LIST "tzdata.zi"
enum { ZONE_LIST_BYTES_MAX = 1024 * 1024, ZONE_LIST_NAMES_MAX = 2000, PATH_SIZE = 512 };
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

/* Takes lines of the list up to the next name. ret_zone: the zone whose other name it is; empty if
 * it is a zone of its own. */
static bool take_name(struct text *list, struct text *ret_name, struct text *ret_zone)
{
    while (list->size > 0) {
        const char *end = memchr(list->data, '\n', list->size);
        struct text line = {list->data, end != NULL ? (uint32_t)(end - list->data) : list->size};
        *list = text_from(*list, end != NULL ? line.size + 1 : line.size);
        struct text kind = take_word(&line);
        bool is_other_name = text_equal(kind, TEXT("L"));
        if (!is_other_name && !text_equal(kind, TEXT("Z")))
            continue;
        struct text zone = take_word(&line);
        struct text name = is_other_name ? take_word(&line) : zone;
        if (text_empty(name))
            continue;
        *ret_name = name;
        *ret_zone = is_other_name ? zone : TEXT("");
        return true;
    }
    return false;
}

static uint32_t names_of(struct text list, struct text names[ZONE_LIST_NAMES_MAX])
{
    uint32_t count = 0;
    struct text zone;
    while (count < ZONE_LIST_NAMES_MAX && take_name(&list, &names[count], &zone))
        count++;
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

static enum error_class refuse_unknown(struct text name, struct text list, struct error *ret_error)
{
    struct text names[ZONE_LIST_NAMES_MAX];
    struct text shown = utf8_cut(name, ZONE_NAME_BYTES_MAX);
    const struct text *near = find_near(name, names, names_of(list, names));
    if (near != NULL)
        error_set(ret_error, CODE_BAD_SCHEDULE, "\"%.*s\" is not a time zone: did you mean %.*s?",
                  TEXT_ARG(shown), TEXT_ARG(*near));
    else
        error_set(ret_error, CODE_BAD_SCHEDULE,
                  "\"%.*s\" is not a time zone: expected a name such as Europe/Berlin, or UTC",
                  TEXT_ARG(shown));
    return ERROR_REJECT;
}

/* Debian 13 lists names, such as US/Eastern, whose files are in a package of their own. */
static enum error_class refuse_without_file(struct text name, struct text list,
                                            struct error *ret_error)
{
    struct text listed, zone;
    while (take_name(&list, &listed, &zone)) {
        if (!text_equal(listed, name))
            continue;
        bool is_other_name = !text_empty(zone);
        return error_set(ret_error, CODE_BAD_SCHEDULE,
                         "this system has no file of the time zone \"%.*s\": install the package "
                         "tzdata-legacy, or write %.*s",
                         TEXT_ARG(name),
                         TEXT_ARG(is_other_name ? zone : TEXT("a name such as Europe/Berlin")));
    }
    return ERROR_OK;
}

static enum error_class refuse(const char *folder, struct text name, struct error *ret_error)
{
    char path[PATH_SIZE];
    char *bytes = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/" ZONE_LIST, folder);
    if (files_read(path, ZONE_LIST_BYTES_MAX, &bytes, &size, NULL) != ERROR_OK) {
        bytes = NULL;
        size = 0;
    }
    struct text list = {bytes, (uint32_t)size};
    enum error_class class = refuse_without_file(name, list, ret_error);
    if (class == ERROR_OK)
        class = refuse_unknown(name, list, ret_error);
    free(bytes);
    return class;
}

/* ---- reading ---- */

enum error_class zone_read_in(const char *folder, struct text name, struct arena *arena,
                              struct zone *ret_zone, struct error *ret_error)
{
    char path[PATH_SIZE];
    char *file = NULL;
    size_t size = 0;
    if (!files_exists(folder))
        return error_set(ret_error, CODE_NO_TIME_ZONES,
                         "%s does not exist: install the package tzdata", folder);
    snprintf(path, sizeof(path), "%s/%.*s", folder,
             (int)(name.size < ZONE_NAME_BYTES_MAX ? name.size : ZONE_NAME_BYTES_MAX), name.data);
    if (!is_name(name) || files_read(path, ZONE_FILE_BYTES_MAX, &file, &size, NULL) != ERROR_OK)
        return refuse(folder, name, ret_error);
    const char *problem = zone_parse((struct text){file, (uint32_t)size}, arena, ret_zone);
    free(file);
    return problem == NULL ? ERROR_OK
                           : error_set(ret_error, CODE_NO_TIME_ZONES,
                                       "%s is not a file of a time zone: %s", path, problem);
}

enum error_class zone_read(struct text name, struct arena *arena, struct zone *ret_zone,
                           struct error *ret_error)
{
    return zone_read_in(ZONE_FILES, name, arena, ret_zone, ret_error);
}
