/* SPDX-License-Identifier: Apache-2.0 */
/* What a template makes, as far as its text tells: what is sent to a body is checked there. See
 * expression.h. */
#include "workflow/expression.h"

#include "base/json.h"

#include <assert.h>

/* A file can say that a large shape is joined with others many times: what would take longer than
 * this is not known. */
enum { SHAPED_MAX = 4000 };

struct shaping {
    const struct expression_names *names;
    struct arena *arena;
    uint32_t left; /* values that may still be looked at */
};

static bool spend(struct shaping *shaping)
{
    shaping->left -= shaping->left > 0;
    return shaping->left > 0;
}

/* ---- two shapes of one place ---- */

static struct expression_shape either(struct shaping *shaping, struct expression_shape a,
                                      struct expression_shape b);

/* Members that both have in the same row; else they are not known. */
static void join_members(struct shaping *shaping, struct expression_shape *a,
                         const struct expression_shape *b)
{
    bool same = a->members != NULL && b->members != NULL && a->member_count == b->member_count;
    for (uint32_t i = 0; same && i < a->member_count; i++)
        same = text_equal(a->members[i].name, b->members[i].name);
    if (!same) {
        a->members = NULL;
        a->member_count = 0;
        return;
    }
    if (a->members == b->members)
        return;
    struct expression_shape *members =
        ARENA_ARRAY(shaping->arena, struct expression_shape, a->member_count + 1);
    for (uint32_t i = 0; i < a->member_count; i++) {
        members[i] = either(shaping, a->members[i], b->members[i]);
        members[i].name = a->members[i].name;
    }
    a->members = members;
}

static void join_elements(struct shaping *shaping, struct expression_shape *a,
                          const struct expression_shape *b)
{
    struct expression_shape *element = ARENA_NEW(shaping->arena, struct expression_shape);
    if (a->element != NULL && b->element != NULL)
        *element = either(shaping, *a->element, *b->element);
    a->element = a->element != NULL && b->element != NULL ? element : NULL;
}

/* As deep as a file may be. */
static struct expression_shape either(struct shaping *shaping, struct expression_shape a,
                                      struct expression_shape b)
{
    struct expression_shape both = a;
    if (!spend(shaping))
        return expression_shape_any;
    both.kinds |= b.kinds;
    both.optional |= b.optional;
    if (a.words.items != b.words.items)
        both.words = (struct text_list){0};
    if ((b.kinds & KIND_SET(MAP)) != 0 && (a.kinds & KIND_SET(MAP)) != 0) {
        join_members(shaping, &both, &b);
    } else if ((b.kinds & KIND_SET(MAP)) != 0) {
        both.members = b.members;
        both.member_count = b.member_count;
    }
    if ((b.kinds & KIND_SET(LIST)) != 0 && (a.kinds & KIND_SET(LIST)) != 0)
        join_elements(shaping, &both, &b);
    else if ((b.kinds & KIND_SET(LIST)) != 0)
        both.element = b.element;
    return both;
}

/* ---- data ---- */

static struct expression_shape of_json(struct shaping *shaping, struct json_value value);

static struct expression_shape of_json_map(struct shaping *shaping, struct json_value value)
{
    uint64_t count = json_value_count(value, NULL);
    struct expression_shape *members =
        ARENA_ARRAY(shaping->arena, struct expression_shape, count + 1);
    struct expression_shape shape = {.kinds = KIND_SET(MAP), .members = members};
    struct json_items items;
    for (json_items_begin(&items, value); json_items_next(&items, NULL);) {
        assert(shape.member_count < count);
        members[shape.member_count] = of_json(shaping, items.value);
        members[shape.member_count++].name = json_unescape(items.name, shaping->arena);
    }
    return shape;
}

static struct expression_shape of_json_list(struct shaping *shaping, struct json_value value)
{
    struct expression_shape shape = {.kinds = KIND_SET(LIST)};
    struct expression_shape *element = ARENA_NEW(shaping->arena, struct expression_shape);
    struct json_items items;
    bool first = true;
    for (json_items_begin(&items, value); json_items_next(&items, NULL); first = false) {
        struct expression_shape next = of_json(shaping, items.value);
        *element = first ? next : either(shaping, *element, next);
    }
    shape.element = first ? NULL : element;
    return shape;
}

/* As deep as a file may be. */
static struct expression_shape of_json(struct shaping *shaping, struct json_value value)
{
    if (!spend(shaping))
        return expression_shape_any;
    switch (json_value_kind(value)) {
    case JSON_KIND_NULL:
        return (struct expression_shape){.kinds = KIND_SET(NULL)};
    case JSON_KIND_BOOLEAN:
        return (struct expression_shape){.kinds = KIND_SET(BOOL)};
    case JSON_KIND_NUMBER:
        return (struct expression_shape){.kinds = KINDS_NUMBER};
    case JSON_KIND_TEXT:
        return (struct expression_shape){.kinds = KIND_SET(TEXT)};
    case JSON_KIND_LIST:
        return of_json_list(shaping, value);
    case JSON_KIND_MAP:
        return of_json_map(shaping, value);
    case JSON_KIND_NONE:
    case JSON_KIND_COUNT:
        break;
    }
    assert(false && "data of a template is JSON");
    return expression_shape_any;
}

/* ---- templates ---- */

static struct expression_shape of_template(struct shaping *shaping,
                                           const struct expression_template *template);

static struct expression_shape of_list(struct shaping *shaping,
                                       const struct expression_template *template)
{
    struct expression_shape *element = ARENA_NEW(shaping->arena, struct expression_shape);
    for (const struct expression_template *at = template->first; at != NULL; at = at->next) {
        struct expression_shape next = of_template(shaping, at);
        *element = at == template->first ? next : either(shaping, *element, next);
    }
    return (struct expression_shape){.kinds = KIND_SET(LIST), .element = element};
}

static struct expression_shape of_map(struct shaping *shaping,
                                      const struct expression_template *template)
{
    struct expression_shape shape = {.kinds = KIND_SET(MAP)};
    uint32_t count = 0;
    for (const struct expression_template *at = template->first; at != NULL; at = at->next)
        count++;
    struct expression_shape *members =
        ARENA_ARRAY(shaping->arena, struct expression_shape, count + 1);
    for (const struct expression_template *at = template->first; at != NULL; at = at->next) {
        members[shape.member_count] = of_template(shaping, at);
        members[shape.member_count++].name = at->name;
    }
    shape.members = members;
    return shape;
}

/* As deep as a file may be. */
static struct expression_shape of_template(struct shaping *shaping,
                                           const struct expression_template *template)
{
    if (!spend(shaping))
        return expression_shape_any;
    switch (template->kind) {
    case TEMPLATE_DATA:
        return of_json(shaping, json_value_of(template->data));
    case TEMPLATE_EXPRESSION:
        return *expression_shape_of_value(template->expression, shaping->names, shaping->arena);
    case TEMPLATE_TEXT:
        return (struct expression_shape){.kinds = KIND_SET(TEXT)};
    case TEMPLATE_LIST:
        return of_list(shaping, template);
    case TEMPLATE_MAP:
        return of_map(shaping, template);
    }
    assert(false && "a kind of template");
    return expression_shape_any;
}

const struct expression_shape *expression_shape_of_template(
    const struct expression_template *template, const struct expression_names *names,
    struct arena *arena)
{
    struct expression_shape *shape = ARENA_NEW(arena, struct expression_shape);
    struct shaping shaping = {names, arena, SHAPED_MAX};
    *shape = of_template(&shaping, template);
    return shape;
}
