/* SPDX-License-Identifier: Apache-2.0 */
/* See numbers.h. */
#include "base/numbers.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

enum { REAL_CHARACTERS_MAX = 63 };

/* Every integer below is exact in a double. */
static const double scaled_max = 9e15;

struct unit {
    struct text name;
    double factor;
};

static const struct unit duration_units[] = {{TEXT_CONST(""), 1},        {TEXT_CONST("ms"), 1},
                                             {TEXT_CONST("s"), 1000},    {TEXT_CONST("m"), 60000},
                                             {TEXT_CONST("min"), 60000}, {TEXT_CONST("h"), 3600000},
                                             {TEXT_CONST("d"), 86400000}};

static bool is_sign(char c)
{
    return c == '-' || c == '+';
}

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
    if (text.size > 0 && is_sign(text.data[0]))
        text = text_from(text, 1);
    if (!number_take(&text, (uint64_t)INT64_MAX + negative, &magnitude) || text.size > 0)
        return false;
    int64_t number = (int64_t)(negative ? 0 - magnitude : magnitude);
    if (number < min || number > max)
        return false;
    *ret_number = number;
    return true;
}

bool number_take_real(struct text *text, double *ret_real)
{
    char copy[REAL_CHARACTERS_MAX + 1];
    uint32_t size = 0;
    while (size < text->size && size < REAL_CHARACTERS_MAX &&
           (number_is_digit(text->data[size]) || is_sign(text->data[size]) ||
            memchr(".eE", text->data[size], 3) != NULL)) {
        copy[size] = text->data[size];
        size++;
    }
    copy[size] = '\0';
    char *end;
    double real = strtod(copy, &end);
    if (end == copy || real - real != 0) /* infinite */
        return false;
    *text = text_from(*text, (uint32_t)(end - copy));
    *ret_real = real;
    return true;
}

bool number_parse_duration(struct text text, int64_t *ret_ms)
{
    double real;
    if (!number_take_real(&text, &real))
        return false;
    while (text.size > 0 && text.data[0] == ' ')
        text = text_from(text, 1);
    for (size_t i = 0; i < sizeof(duration_units) / sizeof(duration_units[0]); i++) {
        double number = real * duration_units[i].factor;
        if (text.size != duration_units[i].name.size || number >= scaled_max ||
            number <= -scaled_max ||
            (text.size > 0 && strncasecmp(text.data, duration_units[i].name.data, text.size) != 0))
            continue;
        *ret_ms = (int64_t)(number < 0 ? number - 0.5 : number + 0.5);
        return true;
    }
    return false;
}
