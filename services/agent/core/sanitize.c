/* SPDX-License-Identifier: Apache-2.0 */
/* See sanitize.h. */
#include "services/agent/core/sanitize.h"

#include "base/percent.h"
#include "base/utf8.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>

struct text agent_message(struct text message, struct arena *arena)
{
    struct text clean = utf8_clean(message, MESSAGE_BYTES_MAX, arena);
    char *copy = NULL;
    for (uint32_t i = 0; i < clean.size; i++) {
        unsigned char c = (unsigned char)clean.data[i];
        if (c >= 0x20 && c != 0x7f)
            continue;
        if (copy == NULL) {
            copy = arena_bytes(arena, clean.size);
            memcpy(copy, clean.data, clean.size);
        }
        copy[i] = ' ';
    }
    return (struct text){copy != NULL ? copy : clean.data, clean.size};
}

struct text agent_output_truncated(size_t bytes, struct arena *arena)
{
    char text[64];
    int size = snprintf(text, sizeof(text), "{\"truncated\":true,\"bytes\":%zu}", bytes);
    assert(size > 0 && (size_t)size < sizeof(text));
    return arena_text(arena, (struct text){text, (uint32_t)size});
}

/* Valid JSON without the whitespace between its tokens. Numbers keep their digits, which a parser
 * and a writer would not guarantee. */
static struct text compact(struct text json, struct arena *arena)
{
    char *copy = arena_bytes(arena, json.size);
    uint32_t size = 0;
    bool quoted = false;
    for (uint32_t i = 0; i < json.size; i++) {
        char c = json.data[i];
        if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
            continue;
        copy[size++] = c;
        if (quoted && c == '\\' && i + 1 < json.size)
            copy[size++] = json.data[++i];
        else if (c == '"')
            quoted = !quoted;
    }
    return (struct text){copy, size};
}

struct text agent_output(struct text json, struct arena *arena)
{
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_t *value = json.size > 0 ? json_loadb(json.data, json.size, flags, NULL) : NULL;
    bool empty = value == NULL || json_is_null(value);
    json_decref(value);
    if (empty)
        return TEXT("");
    struct text output = compact(json, arena);
    return output.size <= STEP_OUTPUT_BYTES_MAX ? output
                                                : agent_output_truncated(output.size, arena);
}

struct text agent_header_text(struct text text, struct arena *arena)
{
    size_t size = 3 * (size_t)text.size + 1;
    char *copy = arena_bytes(arena, size);
    size = percent_encode(text, PERCENT_KEEP_VISIBLE, copy, size);
    return (struct text){copy, (uint32_t)size};
}
