/* SPDX-License-Identifier: Apache-2.0 */
/* See sanitize.h. */
#include "services/agent/core/sanitize.h"

#include "base/percent.h"
#include "base/utf8.h"

#include <assert.h>
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

struct text agent_header_text(struct text text, struct arena *arena)
{
    size_t size = 3 * (size_t)text.size + 1;
    char *copy = arena_bytes(arena, size);
    size = percent_encode(text, PERCENT_KEEP_VISIBLE, copy, size);
    return (struct text){copy, (uint32_t)size};
}
