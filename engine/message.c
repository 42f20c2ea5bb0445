/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/message.h"

#include "base/utf8.h"
#include "engine/limits.h"

#include <assert.h>
#include <stdio.h>

struct text message_vformat(struct arena *arena, const char *format, va_list arguments)
{
    char line[MESSAGE_BYTES_MAX + 8]; /* including the character at the cut and the NUL */
    int size = vsnprintf(line, sizeof(line), format, arguments);
    assert(size >= 0); /* the format is ours */
    uint32_t written = (uint32_t)size < sizeof(line) ? (uint32_t)size : sizeof(line) - 1;
    assert(written < sizeof(line));
    return arena_text(arena, utf8_cut((struct text){line, written}, MESSAGE_BYTES_MAX));
}

struct text message_format(struct arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct text text = message_vformat(arena, format, arguments);
    va_end(arguments);
    assert(text.size <= MESSAGE_BYTES_MAX);
    return text;
}
