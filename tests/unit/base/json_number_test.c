/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

static struct json_number number_of(const char *text)
{
    struct json_number number = {.count = UINT8_MAX};
    cr_assert_eq(json_number_parse(text_of(text), &number), JSON_FAULT_NONE, "%s", text);
    return number;
}

static void expect_format(const struct json_number *number, const char *expected)
{
    char text[JSON_NUMBER_SIZE];
    uint32_t size = json_number_format(number, text);
    cr_expect(text_equal((struct text){text, size}, text_of(expected)), "%.*s, not %s", (int)size,
              text, expected);
}

Test(json_number, keeps_sign_digits_and_exponent)
{
    struct json_number number = number_of("-12.3400e2");
    cr_expect(number.negative);
    cr_expect_eq(number.count, 4);
    cr_expect_eq(number.exponent, 0);
    cr_expect_eq(memcmp(number.digits, (uint8_t[]){1, 2, 3, 4}, 4), 0);
    number = number_of("0.00120");
    cr_expect_eq(number.count, 2);
    cr_expect_eq(number.exponent, -4);
    number = number_of("-0.0");
    cr_expect_eq(number.count, 0);
    cr_expect_eq(number.exponent, 0);
    cr_expect_not(number.negative);
}

Test(json_number, leaves_the_result_alone_where_it_fails)
{
    struct json_number number = {.count = 7};
    cr_expect_eq(json_number_parse(TEXT("1x"), &number), JSON_FAULT_SYNTAX);
    cr_expect_eq(json_number_parse(TEXT(""), &number), JSON_FAULT_SYNTAX);
    cr_expect_eq(json_number_parse(TEXT("1e40"), &number), JSON_FAULT_DIGITS);
    cr_expect_eq(number.count, 7);
}

Test(json_number, formats_what_arithmetic_gives)
{
    struct json_number number = {.count = 2, .digits = {1, 5}, .exponent = 0};
    expect_format(&number, "15");
    number.exponent = 3;
    expect_format(&number, "15000");
    number.exponent = -1;
    expect_format(&number, "1.5");
    number.exponent = -2;
    expect_format(&number, "0.15");
    number.exponent = -5;
    number.negative = true;
    expect_format(&number, "-0.00015");
    number.exponent = 38;
    expect_format(&number, "-1500000000000000000000000000000000000000");
    number.exponent = 39;
    expect_format(&number, "");
    number.exponent = -39;
    expect_format(&number, "-0.000000000000000000000000000000000000015");
    number.exponent = -40;
    expect_format(&number, "");
    number.exponent = 300;
    expect_format(&number, "");
    number = (struct json_number){0};
    expect_format(&number, "0");
}

Test(json_number, converts_integers_both_ways)
{
    static const int64_t rows[] = {0, 1, -1, 10, -10, 1200, INT64_MAX, INT64_MIN, INT64_MAX - 7};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_number number = json_number_of_integer(rows[i]);
        int64_t integer = 4711;
        char text[32];
        snprintf(text, sizeof(text), "%" PRId64, rows[i]);
        expect_format(&number, text);
        cr_expect(json_number_integer(&number, &integer));
        cr_expect_eq(integer, rows[i]);
        struct json_number parsed = number_of(text);
        cr_expect_eq(memcmp(&parsed, &number, sizeof(number)), 0);
    }
}

Test(json_number, tells_what_is_not_an_int64)
{
    static const char *const rows[] = {
        "0.5",   "9223372036854775808", "-9223372036854775809", "1e19", "1e39",
        "-1e-3", "10000000000000000000"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_number number = number_of(rows[i]);
        int64_t integer = 4711;
        cr_expect_not(json_number_integer(&number, &integer), "%s", rows[i]);
        cr_expect_eq(integer, 4711);
    }
}
