/* SPDX-License-Identifier: Apache-2.0 */
/* See shape.h. */
#include "engine/shape.h"

#include "base/suggest.h"

#include <assert.h>

/* Of the members of a map, those that a misspelt name is compared with. */
enum { CANDIDATES_MAX = 128 };

static const struct {
    const char *name;
    const char *phrase; /* "it must be ..." */
} kinds[] = {
    [SHAPE_ANY] = {"any", "given"},
    [SHAPE_STRING] = {"string", "a text"},
    [SHAPE_NUMBER] = {"number", "a number"},
    [SHAPE_INTEGER] = {"integer", "an integer"},
    [SHAPE_BOOLEAN] = {"boolean", "true or false"},
    [SHAPE_LIST] = {"a list", "a list: [...]"},
    [SHAPE_MAP] = {"a map", "a map: {...}"},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == SHAPE_KIND_COUNT, "each kind has its words");

const char *shape_kind_name(enum shape_kind kind)
{
    assert(kind >= 0 && kind < SHAPE_KIND_COUNT);
    return kinds[kind].name;
}

struct shape_checker {
    struct json_path path;
    struct error *error;
};

/* ---- refusing ---- */

static bool refuse_type(const struct shape_checker *checker, const struct shape *shape,
                        const char *what)
{
    char path[JSON_PATH_SIZE];
    json_path_format(&checker->path, "input", path);
    error_set(checker->error, CODE_INVALID_INPUT, "%s is %s; it must be %s", path, what,
              kinds[shape->kind].phrase);
    return false;
}

static bool refuse_unknown(const struct shape_checker *checker, const struct shape *map,
                           struct text name)
{
    struct text candidates[CANDIDATES_MAX];
    char path[JSON_PATH_SIZE];
    uint32_t count = map->member_count < CANDIDATES_MAX ? map->member_count : CANDIDATES_MAX;
    for (uint32_t i = 0; i < count; i++)
        candidates[i] = map->members[i].escaped;
    const struct text *nearest = suggest_text(name, candidates, count);
    json_path_format(&checker->path, "input", path);
    if (nearest != NULL)
        error_set(checker->error, CODE_INVALID_INPUT, "%s is unknown: did you mean \"%.*s\"?", path,
                  TEXT_ARG(*nearest));
    else
        error_set(checker->error, CODE_INVALID_INPUT,
                  "%s is unknown: the workflow's InputShape does not have it", path);
    return false;
}

/* ---- maps ---- */

static const struct shape *find_member(const struct shape *map, struct text escaped)
{
    uint32_t from = 0, to = map->member_count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = text_compare(map->members[middle].escaped, escaped);
        if (order == 0)
            return &map->members[middle];
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* False: `value` lacks a member that is not optional. */
static bool check_required(struct shape_checker *checker, const struct shape *map,
                           struct json_value value)
{
    for (uint32_t i = 0; i < map->member_count; i++) {
        const struct shape *member = &map->members[i];
        struct json_value found = json_value_member(value, member->name, NULL);
        if (member->optional || json_value_kind(found) != JSON_KIND_NONE)
            continue;
        checker->path.levels[checker->path.depth++].name = member->escaped;
        return refuse_type(checker, member, "missing");
    }
    return true;
}

static bool check(struct shape_checker *checker, const struct shape *shape,
                  struct json_value value);

static bool check_members(struct shape_checker *checker, const struct shape *map,
                          struct json_value value)
{
    struct json_items items;
    uint32_t required = 0;
    struct json_path_level *level = &checker->path.levels[checker->path.depth];
    for (json_items_begin(&items, value); json_items_next(&items, NULL);) {
        const struct shape *member = find_member(map, items.name);
        checker->path.depth++;
        *level = (struct json_path_level){.name = items.name};
        if (member == NULL)
            return refuse_unknown(checker, map, items.name);
        if (!check(checker, member, items.value))
            return false;
        required += !member->optional;
        checker->path.depth--;
    }
    /* Only then is each of them looked for. */
    return required == map->required_count || check_required(checker, map, value);
}

/* ---- values ---- */

static bool check_elements(struct shape_checker *checker, const struct shape *list,
                           struct json_value value)
{
    struct json_items items;
    struct json_path_level *level = &checker->path.levels[checker->path.depth++];
    *level = (struct json_path_level){0};
    for (json_items_begin(&items, value); json_items_next(&items, NULL); level->index++)
        if (!check(checker, list->element, items.value))
            return false;
    checker->path.depth--;
    return true;
}

static bool check_integer(struct shape_checker *checker, const struct shape *shape,
                          struct json_value value)
{
    char text[JSON_NUMBER_SIZE + 1] = "";
    struct json_number number;
    int64_t integer;
    if (json_value_integer(value, &integer))
        return true;
    if (!json_value_number(value, &number))
        return refuse_type(checker, shape, "not a number");
    if (number.exponent >= 0)
        return true;
    text[json_number_format(&number, text)] = '\0';
    return refuse_type(checker, shape, text);
}

static bool check(struct shape_checker *checker, const struct shape *shape, struct json_value value)
{
    static const enum json_kind wanted[] = {
        [SHAPE_ANY] = JSON_KIND_NONE,        [SHAPE_STRING] = JSON_KIND_TEXT,
        [SHAPE_NUMBER] = JSON_KIND_NUMBER,   [SHAPE_INTEGER] = JSON_KIND_NUMBER,
        [SHAPE_BOOLEAN] = JSON_KIND_BOOLEAN, [SHAPE_LIST] = JSON_KIND_LIST,
        [SHAPE_MAP] = JSON_KIND_MAP,
    };
    enum json_kind kind = json_value_kind(value);
    assert(shape->kind >= 0 && shape->kind < SHAPE_KIND_COUNT);
    assert(checker->path.depth <= SHAPE_DEPTH_MAX);
    if (shape->kind != SHAPE_ANY && wanted[shape->kind] != kind)
        return refuse_type(checker, shape, json_kind_name(kind));
    if (shape->kind == SHAPE_INTEGER)
        return check_integer(checker, shape, value);
    if (shape->kind == SHAPE_LIST)
        return check_elements(checker, shape, value);
    if (shape->kind == SHAPE_MAP)
        return check_members(checker, shape, value);
    return true;
}

enum error_class shape_check(const struct shape *shape, struct text input, struct error *ret_error)
{
    struct shape_checker checker = {.error = ret_error};
    struct json_value value = json_value_of(input);
    bool fits;
    if (json_value_kind(value) == JSON_KIND_NONE)
        fits = shape->kind == SHAPE_ANY || refuse_type(&checker, shape, "missing");
    else
        fits = check(&checker, shape, value);
    return fits ? ERROR_OK : ERROR_REJECT;
}
