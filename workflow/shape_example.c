/* SPDX-License-Identifier: Apache-2.0 */
/* See shape_example.h. */
#include "workflow/shape_example.h"

#include <assert.h>

static void put(struct json_writer *writer, const struct shape *shape);

static void put_members(struct json_writer *writer, const struct shape *map)
{
    json_write_map(writer);
    for (uint32_t i = 0; i < map->member_count; i++) {
        if (map->members[i].optional)
            continue;
        json_write_name(writer, map->members[i].name);
        put(writer, &map->members[i]);
    }
    json_write_close(writer);
}

/* Recurses no deeper than the shape. */
static void put(struct json_writer *writer, const struct shape *shape)
{
    switch (shape->kind) {
    case SHAPE_ANY:
    case SHAPE_STRING:
        json_write_text(writer, TEXT("text"));
        return;
    case SHAPE_NUMBER:
    case SHAPE_INTEGER:
        json_write_integer(writer, 1);
        return;
    case SHAPE_BOOLEAN:
        json_write_boolean(writer, true);
        return;
    case SHAPE_LIST:
        json_write_list(writer);
        put(writer, shape->element);
        json_write_close(writer);
        return;
    case SHAPE_MAP:
        put_members(writer, shape);
        return;
    case SHAPE_KIND_COUNT:
        break;
    }
    assert(false);
}

struct text shape_example(const struct shape *shape, struct arena *arena)
{
    struct json_writer writer;
    struct text example = {0};
    json_writer_init(&writer, UINT32_MAX, arena);
    put(&writer, shape);
    json_writer_done(&writer, &example);
    return example;
}
