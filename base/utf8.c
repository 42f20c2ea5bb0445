/* SPDX-License-Identifier: Apache-2.0 */
/* See utf8.h. */
#include "base/utf8.h"

static bool continues(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The tables of Unicode, chapter 3.9. */
uint32_t utf8_character_size(const uint8_t *at, size_t left)
{
    uint8_t first = at[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4 || left < 2)
        return 0;
    if (first < 0xe0)
        return continues(at[1]) ? 2 : 0;
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high || left < 3 || !continues(at[2]))
        return 0;
    if (first < 0xf0)
        return 3;
    return left >= 4 && continues(at[3]) ? 4 : 0;
}

bool utf8_valid(struct text text)
{
    if (text.size == 0)
        return true;
    const uint8_t *at = (const uint8_t *)text.data;
    const uint8_t *end = at + text.size;
    while (at < end) {
        /* Nearly all texts are ASCII: eight bytes at a time. */
        while (end - at >= 8) {
            uint64_t word;
            memcpy(&word, at, sizeof(word));
            if ((word & UINT64_C(0x8080808080808080)) != 0)
                break;
            at += 8;
        }
        if (at == end)
            break;
        uint32_t size = utf8_character_size(at, (size_t)(end - at));
        if (size == 0)
            return false;
        at += size;
    }
    return true;
}

bool utf8_printable(struct text text)
{
    if (!utf8_valid(text))
        return false;
    for (uint32_t i = 0; i < text.size; i++) {
        uint8_t byte = (uint8_t)text.data[i];
        if (byte < 0x20 || byte == 0x7f)
            return false;
        if (byte == 0xc2 && (uint8_t)text.data[i + 1] < 0xa0)
            return false;
    }
    return true;
}

struct text utf8_cut(struct text text, uint32_t max)
{
    if (text.size <= max)
        return text;
    while (max > 0 && continues((uint8_t)text.data[max]))
        max--;
    return (struct text){text.data, max};
}

struct text utf8_clean(struct text text, uint32_t max, struct arena *arena)
{
    if (text.size == 0)
        return (struct text){0};
    bool good = utf8_valid(text) && memchr(text.data, 0, text.size) == NULL;
    if (good && text.size <= max)
        return text;
    const uint8_t *from = (const uint8_t *)text.data;
    uint32_t kept = text.size < max ? text.size : max;
    char *to = arena_bytes(arena, kept);
    uint32_t at = 0;
    while (at < kept) {
        uint32_t size = from[at] == 0 ? 0 : utf8_character_size(from + at, text.size - at);
        if (size > kept - at)
            break;
        if (size == 0)
            to[at] = '?';
        else
            memcpy(to + at, from + at, size);
        at += size == 0 ? 1 : size;
    }
    return (struct text){to, at};
}
