/* SPDX-License-Identifier: Apache-2.0 */
/* Exact decimals: see json.h. */
#include "base/json.h"
#include "base/numbers.h"

#include <assert.h>

/* Of an exponent: far beyond what JSON_DIGITS_MAX digits of text can reach, whatever the places of
 * the point in a text of 4 GiB add to it. */
#define EXPONENT_MAX INT64_C(100000000000)

/* The grammar of JSON: `-` whole, `.` fraction, `e` exponent. */
struct number_parts {
    bool negative;
    struct text whole;
    struct text fraction; /* may be empty */
    int64_t exponent;     /* of ten, within EXPONENT_MAX */
};

static struct text take_digits(struct text *text)
{
    uint32_t size = 0;
    while (size < text->size && number_is_digit(text->data[size]))
        size++;
    struct text digits = {text->data, size};
    *text = text_from(*text, size);
    return digits;
}

static bool take_character(struct text *text, char first, char second)
{
    if (text->size == 0 || (text->data[0] != first && text->data[0] != second))
        return false;
    *text = text_from(*text, 1);
    return true;
}

static bool take_exponent(struct text *text, int64_t *ret_exponent)
{
    bool negative = text->size > 0 && text->data[0] == '-';
    int64_t exponent = 0;
    take_character(text, '-', '+');
    struct text digits = take_digits(text);
    for (uint32_t i = 0; i < digits.size && exponent < EXPONENT_MAX; i++)
        exponent = exponent * 10 + (digits.data[i] - '0');
    if (exponent > EXPONENT_MAX)
        exponent = EXPONENT_MAX;
    *ret_exponent = negative ? -exponent : exponent;
    return digits.size > 0;
}

static bool split(struct text text, struct number_parts *ret_parts)
{
    struct number_parts parts = {0};
    parts.negative = take_character(&text, '-', '-');
    parts.whole = take_digits(&text);
    if (parts.whole.size == 0 || (parts.whole.size > 1 && parts.whole.data[0] == '0'))
        return false;
    if (take_character(&text, '.', '.')) {
        parts.fraction = take_digits(&text);
        if (parts.fraction.size == 0)
            return false;
    }
    if (take_character(&text, 'e', 'E') && !take_exponent(&text, &parts.exponent))
        return false;
    *ret_parts = parts;
    return text.size == 0;
}

/* The digit at a place of whole and fraction together. */
static uint8_t digit_at(const struct number_parts *parts, uint64_t place)
{
    char digit = place < parts->whole.size ? parts->whole.data[place]
                                           : parts->fraction.data[place - parts->whole.size];
    return (uint8_t)(digit - '0');
}

/* The digits of the canonical text: those before the point, at least one, and those behind it. */
static int64_t text_digits(int64_t count, int64_t exponent)
{
    int64_t before = count + exponent > 1 ? count + exponent : 1;
    return before + (exponent < 0 ? -exponent : 0);
}

enum json_fault json_number_parse(struct text text, struct json_number *ret_number)
{
    struct number_parts parts;
    if (!split(text, &parts))
        return JSON_FAULT_SYNTAX;
    uint64_t end = (uint64_t)parts.whole.size + parts.fraction.size;
    uint64_t first = 0;
    int64_t exponent = parts.exponent - (int64_t)parts.fraction.size;
    while (end > 0 && digit_at(&parts, end - 1) == 0) {
        end--;
        exponent++;
    }
    while (first < end && digit_at(&parts, first) == 0)
        first++;
    struct json_number number = {0};
    if (first < end) {
        if (text_digits((int64_t)(end - first), exponent) > JSON_DIGITS_MAX)
            return JSON_FAULT_DIGITS;
        number.negative = parts.negative;
        number.exponent = (int32_t)exponent;
        for (uint64_t place = first; place < end; place++)
            number.digits[number.count++] = digit_at(&parts, place);
    }
    assert(number.count <= JSON_DIGITS_MAX);
    *ret_number = number;
    return JSON_FAULT_NONE;
}

uint32_t json_number_format(const struct json_number *number, char ret_text[JSON_NUMBER_SIZE])
{
    assert(number->count <= JSON_DIGITS_MAX);
    if (text_digits(number->count, number->exponent) > JSON_DIGITS_MAX)
        return 0;
    uint32_t size = 0;
    /* The place of the digit under way: 0 is that of the ones. */
    int32_t place = (int32_t)number->count + number->exponent - 1;
    if (number->negative)
        ret_text[size++] = '-';
    for (int32_t at = place > 0 ? place : 0; at >= 0 || at >= number->exponent; at--) {
        bool given = at <= place && at >= number->exponent && number->count > 0;
        if (at == -1)
            ret_text[size++] = '.';
        ret_text[size++] = given ? (char)('0' + number->digits[place - at]) : '0';
    }
    assert(size <= JSON_NUMBER_SIZE);
    return size;
}

bool json_number_integer(const struct json_number *number, int64_t *ret_integer)
{
    assert(number->count <= JSON_DIGITS_MAX);
    uint64_t limit = (uint64_t)INT64_MAX + number->negative;
    uint64_t magnitude = 0;
    if (number->exponent < 0 || number->exponent >= 19)
        return false;
    for (int32_t i = 0; i < (int32_t)number->count + number->exponent; i++) {
        uint64_t digit = i < number->count ? number->digits[i] : 0;
        if (magnitude > (limit - digit) / 10)
            return false;
        magnitude = magnitude * 10 + digit;
    }
    *ret_integer = (int64_t)(number->negative ? 0 - magnitude : magnitude);
    return true;
}

struct json_number json_number_of_integer(int64_t integer)
{
    struct json_number number = {.negative = integer < 0};
    uint64_t magnitude = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    while (magnitude > 0 && magnitude % 10 == 0) {
        magnitude /= 10;
        number.exponent++;
    }
    for (uint64_t rest = magnitude; rest > 0; rest /= 10)
        number.count++;
    for (uint32_t i = number.count; i > 0; i--, magnitude /= 10)
        number.digits[i - 1] = (uint8_t)(magnitude % 10);
    return number;
}
