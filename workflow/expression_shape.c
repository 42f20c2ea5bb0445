/* SPDX-License-Identifier: Apache-2.0 */
/* What an InputShape tells the checks of expressions. See expression.h. */
#include "workflow/expression.h"

#include <assert.h>

static uint8_t kinds_of(enum shape_kind kind)
{
    switch (kind) {
    case SHAPE_ANY:
        return KINDS_ANY;
    case SHAPE_STRING:
        return KIND_SET(TEXT);
    case SHAPE_NUMBER:
    case SHAPE_INTEGER: /* a large one is a double */
        return KINDS_NUMBER;
    case SHAPE_BOOLEAN:
        return KIND_SET(BOOL);
    case SHAPE_LIST:
        return KIND_SET(LIST);
    case SHAPE_MAP:
        return KIND_SET(MAP);
    case SHAPE_KIND_COUNT:
        break;
    }
    assert(false);
    return KINDS_ANY;
}

static void copy(const struct shape *shape, struct arena *arena, struct expression_shape *ret_shape)
{
    *ret_shape = (struct expression_shape){
        .kinds = kinds_of(shape->kind), .optional = shape->optional, .name = shape->name};
    if (shape->kind == SHAPE_LIST)
        ret_shape->element = expression_shape_of(shape->element, arena);
    if (shape->kind != SHAPE_MAP)
        return;
    struct expression_shape *members =
        ARENA_ARRAY(arena, struct expression_shape, shape->member_count);
    for (uint32_t i = 0; i < shape->member_count; i++)
        copy(&shape->members[i], arena, &members[i]);
    ret_shape->members = members;
    ret_shape->member_count = shape->member_count;
}

const struct expression_shape *expression_shape_of(const struct shape *shape, struct arena *arena)
{
    if (shape == NULL)
        return NULL;
    struct expression_shape *copied = ARENA_NEW(arena, struct expression_shape);
    copy(shape, arena, copied);
    return copied;
}
