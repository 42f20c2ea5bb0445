/* SPDX-License-Identifier: Apache-2.0 */
/* See numbers.h. */
#include "base/numbers.h"

#include <assert.h>
#include <stddef.h>

int number_hex_digit(char c)
{
    if (number_is_digit(c))
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool take(struct text *text, unsigned base, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    uint32_t at = 0;
    for (; at < text->size; at++) {
        int digit = number_hex_digit(text->data[at]);
        if (digit < 0 || (unsigned)digit >= base)
            break;
        if ((uint64_t)digit > max || number > (max - (uint64_t)digit) / base)
            return false;
        number = number * base + (uint64_t)digit;
    }
    if (at == 0)
        return false;
    *text = text_from(*text, at);
    *ret_number = number;
    return true;
}

bool number_take(struct text *text, uint64_t max, uint64_t *ret_number)
{
    return take(text, 10, max, ret_number);
}

bool number_take_hex(struct text *text, uint64_t *ret_number)
{
    return take(text, 16, UINT64_MAX, ret_number);
}

bool number_parse(struct text text, int64_t min, int64_t max, int64_t *ret_number)
{
    assert(min <= max);
    bool negative = text.size > 0 && text.data[0] == '-';
    uint64_t magnitude = 0;
    if (text.size > 0 && number_is_sign(text.data[0]))
        text = text_from(text, 1);
    if (!number_take(&text, (uint64_t)INT64_MAX + negative, &magnitude) || text.size > 0)
        return false;
    int64_t number = (int64_t)(negative ? 0 - magnitude : magnitude);
    if (number < min || number > max)
        return false;
    *ret_number = number;
    return true;
}
