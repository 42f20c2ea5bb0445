/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/render/request_body.h"

#include "base/utf8.h"
#include "schemas/json/json_codec.h"

#include <assert.h>

static void write_members(struct json_writer *writer, struct json_value body, struct text but,
                          struct arena *arena)
{
    struct json_items items;
    json_items_begin(&items, body);
    while (json_items_next(&items, NULL)) {
        if (json_escaped_equal(items.name, but))
            continue;
        json_write_name(writer, json_unescape(items.name, arena));
        json_write_canonical(writer, json_value_text(items.value, NULL));
    }
}

struct json_value request_body_without(struct json_value body, const char *name,
                                       struct arena *arena)
{
    struct json_writer writer;
    struct text text = {0};
    json_writer_init(&writer, UINT32_MAX, arena);
    writer.depth_max = JSON_ENVELOPE_DEPTH_MAX;
    json_write_map(&writer);
    write_members(&writer, body, text_of(name), arena);
    json_write_close(&writer);
    bool done = json_writer_done(&writer, &text);
    assert(done); /* the body was canonical */
    (void)done;
    return json_value_of(text);
}

static struct json_value signed_by(struct json_value body, struct text user, struct arena *arena)
{
    struct json_writer writer;
    struct text text = {0};
    json_writer_init(&writer, UINT32_MAX, arena);
    writer.depth_max = JSON_ENVELOPE_DEPTH_MAX;
    json_write_map(&writer);
    json_write_name(&writer, TEXT("by"));
    json_write_text(&writer, utf8_clean(user, user.size, arena));
    write_members(&writer, body, TEXT("by"), arena);
    json_write_close(&writer);
    bool done = json_writer_done(&writer, &text);
    assert(done); /* the body was canonical, and the user's name is UTF-8 without NUL */
    (void)done;
    return json_value_of(text);
}

enum error_class request_body_read(const struct http_exchange *exchange, struct arena *arena,
                                   struct json_value *ret_body, struct error *ret_error)
{
    const char *user = http_user(exchange);
    struct json_value body;
    enum error_class class = json_codec_parse(http_body(exchange), "body", arena, &body, ret_error);
    if (class == ERROR_OK)
        *ret_body = user[0] != '\0' ? signed_by(body, text_of(user), arena) : body;
    return class;
}

struct text request_body_text(struct json_value body, const char *name, struct arena *arena)
{
    return json_unescape(json_value_escaped(json_value_member(body, text_of(name), NULL), NULL),
                         arena);
}
