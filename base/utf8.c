/* SPDX-License-Identifier: Apache-2.0 */
/* See utf8.h. */
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

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

static uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static uint32_t half_word_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Nearly all texts are, and most are short: what is read last may overlap what was read before. */
static bool is_ascii(const uint8_t *at, size_t size)
{
    const uint64_t high_bits = UINT64_C(0x8080808080808080);
    uint64_t any;
    assert(size > 0);
    if (size < 4)
        any = (uint64_t)at[0] | at[size / 2] | at[size - 1];
    else if (size < 8)
        any = half_word_at(at) | half_word_at(at + size - 4);
    else
        any = word_at(at + size - 8);
    for (size_t i = 0; i + 8 <= size; i += 8)
        any |= word_at(at + i);
    return (any & high_bits) == 0;
}

bool utf8_valid(struct text text)
{
    const uint8_t *at = (const uint8_t *)text.data;
    if (text.size == 0 || is_ascii(at, text.size))
        return true;
    for (size_t read = 0; read < text.size;) {
        uint32_t size = utf8_character_size(at + read, text.size - read);
        if (size == 0)
            return false;
        read += size;
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

void utf8_copy(char *ret_string, size_t size, struct text text)
{
    assert(size > 0 && size <= UINT32_MAX);
    snprintf(ret_string, size, "%.*s", TEXT_ARG(utf8_cut(text, (uint32_t)size - 1)));
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
