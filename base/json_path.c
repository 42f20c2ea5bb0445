/* SPDX-License-Identifier: Apache-2.0 */
/* Places in JSON, and what is wrong there, for messages: see json.h. */
#include "base/json.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

/* Of a name in a path. */
enum { NAME_SHOWN_MAX = 64, LEVEL_SIZE = NAME_SHOWN_MAX + 8 };

static const char *const fault_texts[] = {
    [JSON_FAULT_NONE] = "is valid",
    [JSON_FAULT_SYNTAX] = "is not valid JSON",
    [JSON_FAULT_UTF8] = "is not valid UTF-8",
    [JSON_FAULT_NUL] = "has a NUL character in a text",
    [JSON_FAULT_SURROGATE] = "has half of a surrogate pair in a text",
    [JSON_FAULT_DEPTH] = "has more than 32 lists and maps within each other",
    [JSON_FAULT_NAME_TWICE] = "occurs twice",
    [JSON_FAULT_DIGITS] = "has a number of more than 40 digits",
    [JSON_FAULT_SIZE] = "is too long",
};
_Static_assert(sizeof(fault_texts) / sizeof(fault_texts[0]) == JSON_FAULT_COUNT, "each has one");
_Static_assert(JSON_DEPTH_MAX == 32 && JSON_DIGITS_MAX == 40, "the texts above name them");

static const char *fault_text(enum json_fault fault)
{
    assert(fault >= 0 && fault < JSON_FAULT_COUNT);
    return fault_texts[fault];
}

static bool is_identifier(struct text name)
{
    for (uint32_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_'))
            return false;
    }
    return name.size > 0 && name.size <= NAME_SHOWN_MAX;
}

/* The beginning of a name, fit for one line. */
static struct text shown(struct text name, char ret_bytes[NAME_SHOWN_MAX])
{
    struct text cut = utf8_cut(name, NAME_SHOWN_MAX);
    bool printable = utf8_printable(cut);
    for (uint32_t i = 0; i < cut.size; i++) {
        bool keep = printable || (cut.data[i] >= ' ' && cut.data[i] < 0x7f);
        ret_bytes[i] = keep ? cut.data[i] : '?';
    }
    return (struct text){ret_bytes, cut.size};
}

static size_t format_level(const struct json_path_level *level, char ret_text[LEVEL_SIZE])
{
    char bytes[NAME_SHOWN_MAX];
    int size;
    if (level->name.data == NULL)
        size = snprintf(ret_text, LEVEL_SIZE, "[%u]", level->index);
    else if (is_identifier(level->name))
        size = snprintf(ret_text, LEVEL_SIZE, ".%.*s", TEXT_ARG(level->name));
    else
        size = snprintf(ret_text, LEVEL_SIZE, "[\"%.*s\"]", TEXT_ARG(shown(level->name, bytes)));
    assert(size > 0 && size < LEVEL_SIZE);
    return (size_t)size;
}

size_t json_path_format(const struct json_path *path, const char *root,
                        char ret_path[JSON_PATH_SIZE])
{
    static const char more[] = "...";
    assert(path->depth <= JSON_ENVELOPE_DEPTH_MAX && strlen(root) < NAME_SHOWN_MAX);
    size_t size = (size_t)snprintf(ret_path, JSON_PATH_SIZE, "%s", root);
    for (uint32_t i = 0; i < path->depth; i++) {
        char text[LEVEL_SIZE];
        size_t added = format_level(&path->levels[i], text);
        bool last = i + 1 == path->depth;
        if (size + added + (last ? 0 : sizeof(more) - 1) >= JSON_PATH_SIZE) {
            memcpy(ret_path + size, more, sizeof(more));
            return size + sizeof(more) - 1;
        }
        memcpy(ret_path + size, text, added + 1);
        size += added;
    }
    assert(size < JSON_PATH_SIZE);
    return size;
}

size_t json_problem_format(const struct json_problem *problem, const char *root,
                           char ret_line[JSON_PROBLEM_SIZE])
{
    char path[JSON_PATH_SIZE];
    json_path_format(&problem->path, root, path);
    int size = snprintf(ret_line, JSON_PROBLEM_SIZE, "%s %s (byte %u)", path,
                        fault_text(problem->fault), problem->offset);
    assert(size > 0 && size < JSON_PROBLEM_SIZE);
    return (size_t)size;
}
