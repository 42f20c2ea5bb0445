/* SPDX-License-Identifier: Apache-2.0 */
/* See shape_schema.h. */
#include "workflow/shape_schema.h"

#include <assert.h>

#define DIALECT "https://json-schema.org/draft/2020-12/schema"

static void put_text(struct json_writer *writer, const char *name, struct text text)
{
    json_write_name(writer, text_of(name));
    json_write_text(writer, text);
}

static void put_keywords(struct json_writer *writer, const struct shape *shape);

static void put_members(struct json_writer *writer, const struct shape *map)
{
    json_write_name(writer, TEXT("properties"));
    json_write_map(writer);
    for (uint32_t i = 0; i < map->member_count; i++) {
        json_write_name(writer, map->members[i].name);
        json_write_map(writer);
        put_keywords(writer, &map->members[i]);
        json_write_close(writer);
    }
    json_write_close(writer);
    json_write_name(writer, TEXT("required"));
    json_write_list(writer);
    for (uint32_t i = 0; i < map->member_count; i++)
        if (!map->members[i].optional)
            json_write_text(writer, map->members[i].name);
    json_write_close(writer);
    json_write_name(writer, TEXT("additionalProperties"));
    json_write_boolean(writer, false);
}

/* Of the open map: nothing, for any value. */
static void put_keywords(struct json_writer *writer, const struct shape *shape)
{
    switch (shape->kind) {
    case SHAPE_ANY:
        return;
    case SHAPE_STRING:
    case SHAPE_NUMBER:
    case SHAPE_INTEGER:
    case SHAPE_BOOLEAN:
        put_text(writer, "type", text_of(shape_kind_name(shape->kind)));
        return;
    case SHAPE_LIST:
        put_text(writer, "type", TEXT("array"));
        json_write_name(writer, TEXT("items"));
        json_write_map(writer);
        put_keywords(writer, shape->element);
        json_write_close(writer);
        return;
    case SHAPE_MAP:
        put_text(writer, "type", TEXT("object"));
        put_members(writer, shape);
        return;
    case SHAPE_KIND_COUNT:
        break;
    }
    assert(false);
}

struct text shape_schema(const struct shape *shape, struct text title, struct arena *arena)
{
    struct json_writer writer;
    struct text schema = {0};
    json_writer_init(&writer, UINT32_MAX, arena);
    json_write_map(&writer);
    put_text(&writer, "$schema", TEXT(DIALECT));
    put_text(&writer, "title", title);
    put_keywords(&writer, shape);
    json_write_close(&writer);
    json_writer_done(&writer, &schema);
    return schema;
}
