/* SPDX-License-Identifier: Apache-2.0 */
/* See percent.h. */
#include "base/percent.h"

#include "base/numbers.h"

#include <assert.h>

static bool is_kept(unsigned char c, enum percent_keep keep)
{
    if (keep == PERCENT_KEEP_VISIBLE)
        return c > 0x20 && c < 0x7f && c != '%';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

size_t percent_encode(struct text text, enum percent_keep keep, char *ret_string, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    bool dots = keep == PERCENT_KEEP_UNRESERVED &&
                (text_equal(text, TEXT(".")) || text_equal(text, TEXT("..")));
    size_t needed = text.size;
    for (uint32_t i = 0; i < text.size; i++)
        needed += dots || !is_kept((unsigned char)text.data[i], keep) ? 2 : 0;
    if (needed >= size)
        return needed;
    char *at = ret_string;
    for (uint32_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (!dots && is_kept(c, keep)) {
            *at++ = (char)c;
            continue;
        }
        *at++ = '%';
        *at++ = digits[c >> 4];
        *at++ = digits[c & 15];
    }
    *at = '\0';
    assert((size_t)(at - ret_string) == needed);
    return needed;
}

bool percent_decode(char *string)
{
    char *out = string;
    for (const char *at = string; *at != '\0'; at++) {
        if (*at != '%') {
            *out++ = *at;
            continue;
        }
        int high = number_hex_digit(at[1]);
        int low = high >= 0 ? number_hex_digit(at[2]) : -1;
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *out++ = (char)(high << 4 | low);
        at += 2;
    }
    *out = '\0';
    return true;
}
