/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include "base/numbers.h"

#include <assert.h>

/* Appends a digit to *value; false when that needs more than 18 digits. */
static bool push(int64_t *value, int digit)
{
    if (*value > (DECIMAL_UNSCALED_MAX - digit) / 10)
        return false;
    *value = *value * 10 + digit;
    return true;
}

bool decimal_parse(struct text text, struct decimal *ret_decimal)
{
    uint32_t at = 0;
    bool negative = text.size > 0 && text.data[0] == '-';
    if (negative)
        at++;
    int64_t value = 0;
    uint32_t digits = 0;
    for (; at < text.size && number_is_digit(text.data[at]); at++, digits++)
        if (!push(&value, text.data[at] - '0'))
            return false;
    uint32_t scale = 0;
    if (at < text.size && text.data[at] == '.') {
        uint32_t start = ++at;
        for (; at < text.size && number_is_digit(text.data[at]); at++) {
            if (scale < DECIMAL_SCALE) {
                if (!push(&value, text.data[at] - '0'))
                    return false;
                scale++;
            } else if (text.data[at] != '0') {
                return false; /* finer than the scale */
            }
        }
        if (at == start)
            return false;
    }
    if (digits == 0 || at != text.size)
        return false;
    for (; scale < DECIMAL_SCALE; scale++)
        if (!push(&value, 0))
            return false;
    ret_decimal->unscaled = negative ? -value : value;
    return true;
}

size_t decimal_format(struct decimal decimal, char ret_text[DECIMAL_TEXT_MAX])
{
    assert(decimal.unscaled >= -DECIMAL_UNSCALED_MAX && decimal.unscaled <= DECIMAL_UNSCALED_MAX);
    uint64_t rest = (uint64_t)(decimal.unscaled < 0 ? -decimal.unscaled : decimal.unscaled);
    char reversed[DECIMAL_TEXT_MAX];
    size_t size = 0;
    bool shown = false; /* zeros at the end of the fraction are not */
    for (int i = 0; i < DECIMAL_SCALE; i++, rest /= 10) {
        shown = shown || rest % 10 != 0;
        if (shown)
            reversed[size++] = (char)('0' + rest % 10);
    }
    if (shown)
        reversed[size++] = '.';
    do {
        reversed[size++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (decimal.unscaled < 0)
        reversed[size++] = '-';
    assert(size < DECIMAL_TEXT_MAX);
    for (size_t i = 0; i < size; i++)
        ret_text[i] = reversed[size - 1 - i];
    ret_text[size] = '\0';
    return size;
}
