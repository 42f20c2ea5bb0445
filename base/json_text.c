/* SPDX-License-Identifier: Apache-2.0 */
/* What is between two quotes: see json.h. */
#include "base/json_internal.h"
#include "base/numbers.h"

#include <assert.h>

#define EVERY_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte has the lowest bits");

/* The high bits of those of eight bytes that are less than `limit`, at most 128. The lowest bit is
 * right; above it, a byte may borrow from the one before. */
static uint64_t less(uint64_t bytes, uint8_t limit)
{
    return (bytes - EVERY_BYTE(limit)) & ~bytes & EVERY_BYTE(0x80);
}

const char *json_plain_end(const char *at, const char *end)
{
    assert(at <= end);
    for (; end - at >= 8; at += 8) {
        uint64_t bytes;
        memcpy(&bytes, at, sizeof(bytes));
        uint64_t ends = less(bytes, 0x20) | less(bytes ^ EVERY_BYTE('"'), 1) |
                        less(bytes ^ EVERY_BYTE('\\'), 1);
        if (ends != 0)
            return at + __builtin_ctzll(ends) / 8;
    }
    while (at < end && (uint8_t)*at >= 0x20 && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* ---- escapes ---- */

/* The letters of the short escapes, and what they stand for. */
static const char letters[] = "\"\\/bfnrt";
static const char characters[] = "\"\\/\b\f\n\r\t";
_Static_assert(sizeof(letters) == sizeof(characters), "each has its character");

static bool is_between(uint32_t character, uint32_t first, uint32_t last)
{
    return character >= first && character <= last;
}

/* \uXXXX at `at`; returns its bytes, or 0. */
static uint32_t read_unit(const char *at, const char *end, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return 0;
    for (uint32_t i = 2; i < 6; i++) {
        int digit = number_hex_digit(at[i]);
        if (digit < 0)
            return 0;
        unit = unit << 4 | (uint32_t)digit;
    }
    *ret_unit = unit;
    return 6;
}

static uint32_t faulty(enum json_fault fault, enum json_fault *ret_fault)
{
    *ret_fault = fault;
    return 0;
}

uint32_t json_escape_read(const char *at, const char *end, uint32_t *ret_character,
                          enum json_fault *ret_fault)
{
    uint32_t first = 0, second = 0;
    assert(at < end && *at == '\\');
    const char *letter =
        end - at >= 2 && at[1] != '\0' ? memchr(letters, at[1], sizeof(letters) - 1) : NULL;
    if (letter != NULL) {
        *ret_character = (uint8_t)characters[letter - letters];
        return 2;
    }
    if (read_unit(at, end, &first) == 0)
        return faulty(JSON_FAULT_SYNTAX, ret_fault);
    if (first == 0)
        return faulty(JSON_FAULT_NUL, ret_fault);
    if (!is_between(first, 0xd800, 0xdfff)) {
        *ret_character = first;
        return 6;
    }
    if (first > 0xdbff || read_unit(at + 6, end, &second) == 0 ||
        !is_between(second, 0xdc00, 0xdfff))
        return faulty(JSON_FAULT_SURROGATE, ret_fault);
    *ret_character = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    return 12;
}

static uint32_t write_utf8(uint32_t character, char *ret_bytes)
{
    uint32_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (uint32_t i = size - 1; i > 0; i--, character >>= 6)
        ret_bytes[i] = (char)(0x80 | (character & 0x3f));
    ret_bytes[0] = (char)(marks[size] | character);
    return size;
}

uint32_t json_escape_write(uint32_t character, char ret_bytes[JSON_ESCAPE_SIZE_MAX])
{
    static const char hex[] = "0123456789abcdef";
    assert(character > 0 && character <= 0x10ffff && !is_between(character, 0xd800, 0xdfff));
    if (character >= 0x20 && character != '"' && character != '\\')
        return write_utf8(character, ret_bytes);
    const char *known = memchr(characters, (int)character, sizeof(characters) - 1);
    ret_bytes[0] = '\\';
    if (known != NULL) {
        ret_bytes[1] = letters[known - characters];
        return 2;
    }
    memcpy(ret_bytes + 1, "u00", 3);
    ret_bytes[4] = hex[character >> 4];
    ret_bytes[5] = hex[character & 0xf];
    return 6;
}

/* ---- texts without their escapes ---- */

static bool has_escapes(struct text escaped)
{
    return escaped.size > 0 && memchr(escaped.data, '\\', escaped.size) != NULL;
}

/* Takes one escape or byte off the front of *text, as the bytes it stands for. A backslash that
 * begins no escape stands for itself. */
static uint32_t take(struct text *text, char ret_bytes[JSON_ESCAPE_SIZE_MAX])
{
    enum json_fault fault;
    uint32_t character = 0;
    uint32_t size = 0;
    assert(text->size > 0);
    if (text->data[0] == '\\')
        size = json_escape_read(text->data, text->data + text->size, &character, &fault);
    if (size == 0) {
        ret_bytes[0] = text->data[0];
        *text = text_from(*text, 1);
        return 1;
    }
    *text = text_from(*text, size);
    return write_utf8(character, ret_bytes);
}

struct text json_unescape(struct text escaped, struct arena *arena)
{
    if (!has_escapes(escaped))
        return escaped;
    char *plain = arena_bytes(arena, escaped.size);
    uint32_t size = 0;
    for (struct text rest = escaped; rest.size > 0;) {
        char bytes[JSON_ESCAPE_SIZE_MAX];
        uint32_t taken = take(&rest, bytes);
        memcpy(plain + size, bytes, taken);
        size += taken;
    }
    assert(size <= escaped.size);
    return (struct text){plain, size};
}

bool json_escaped_equal(struct text escaped, struct text text)
{
    if (!has_escapes(escaped))
        return text_equal(escaped, text);
    while (escaped.size > 0) {
        char bytes[JSON_ESCAPE_SIZE_MAX];
        uint32_t taken = take(&escaped, bytes);
        if (taken > text.size || memcmp(bytes, text.data, taken) != 0)
            return false;
        text = text_from(text, taken);
    }
    return text.size == 0;
}

/* ---- the order of names ---- */

/* How many bytes are the same at the front of both. */
static uint32_t common_size(struct text a, struct text b)
{
    uint32_t shorter = a.size < b.size ? a.size : b.size;
    uint32_t same = 0;
    for (uint64_t a_bytes, b_bytes; shorter - same >= 8; same += 8) {
        memcpy(&a_bytes, a.data + same, 8);
        memcpy(&b_bytes, b.data + same, 8);
        if (a_bytes != b_bytes)
            break;
    }
    while (same < shorter && a.data[same] == b.data[same])
        same++;
    return same;
}

/* Whether an odd number of backslashes ends at `at`: then the last one begins an escape. */
static bool is_escaped(struct text text, uint32_t at)
{
    uint32_t count = 0;
    while (count < at && text.data[at - 1 - count] == '\\')
        count++;
    return count % 2 == 1;
}

/* Both begin with the same bytes, so they are compared where they differ: there, or at the escape
 * that has begun before. The digits of escapes are in the order of what they stand for. */
int json_escaped_compare(struct text a, struct text b)
{
    char a_bytes[JSON_ESCAPE_SIZE_MAX], b_bytes[JSON_ESCAPE_SIZE_MAX];
    uint32_t same = common_size(a, b);
    if (same < a.size && same < b.size && is_escaped(a, same))
        same--;
    a = text_from(a, same);
    b = text_from(b, same);
    if (a.size == 0 || b.size == 0 || (a.data[0] != '\\' && b.data[0] != '\\'))
        return text_compare(a, b);
    struct text a_taken = {a_bytes, take(&a, a_bytes)};
    struct text b_taken = {b_bytes, take(&b, b_bytes)};
    return text_compare(a_taken, b_taken);
}
