/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/message.h"

#include "engine/limits.h"

#include <assert.h>
#include <stdio.h>

struct text text_cut(struct text text, uint32_t max)
{
    if (text.size <= max)
        return text;
    /* A byte 10xxxxxx goes on with a character that began before it. */
    while (max > 0 && ((uint8_t)text.data[max] & 0xc0) == 0x80)
        max--;
    return (struct text){text.data, max};
}

struct text message_of(struct arena *arena, const char *format, va_list arguments)
{
    char line[MESSAGE_BYTES_MAX + 8]; /* with room for the character at the cut and the NUL */
    int size = vsnprintf(line, sizeof(line), format, arguments);
    assert(size >= 0);
    uint32_t written = (uint32_t)size < sizeof(line) ? (uint32_t)size : sizeof(line) - 1;
    return arena_text(arena, text_cut((struct text){line, written}, MESSAGE_BYTES_MAX));
}

struct text message(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct text text = message_of(arena, format, arguments);
    va_end(arguments);
    return text;
}
