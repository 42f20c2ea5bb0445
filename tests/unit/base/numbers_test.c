/* SPDX-License-Identifier: Apache-2.0 */
#include "base/numbers.h"

#include <criterion/criterion.h>

enum { UNTOUCHED = 4711 };

Test(numbers, parses_whole_integers_within_their_bounds)
{
    static const struct {
        const char *text;
        int64_t min, max, number;
        bool valid;
    } rows[] = {
        {"0", 0, 9, 0, true},
        {"007", 0, 9, 7, true},
        {"+5", 0, 9, 5, true},
        {"-5", -5, 9, -5, true},
        {"-6", -5, 9, 0, false},
        {"10", 0, 9, 0, false},
        {"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX, true},
        {"9223372036854775808", INT64_MIN, INT64_MAX, 0, false},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, true},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, 0, false},
        {"99999999999999999999999", INT64_MIN, INT64_MAX, 0, false},
        {"", 0, 9, 0, false},
        {"-", -9, 9, 0, false},
        {"+-1", -9, 9, 0, false},
        {" 1", 0, 9, 0, false},
        {"1 ", 0, 9, 0, false},
        {"1a", 0, 99, 0, false},
        {"0x1", 0, 9, 0, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t number = UNTOUCHED;
        bool valid = number_parse(text_of(rows[i].text), rows[i].min, rows[i].max, &number);
        cr_expect_eq(valid, rows[i].valid, "%s", rows[i].text);
        cr_expect_eq(number, valid ? rows[i].number : UNTOUCHED, "%s", rows[i].text);
    }
}

Test(numbers, never_reads_past_the_text)
{
    int64_t number = 0;
    cr_expect(number_parse((struct text){"1234", 2}, 0, 99, &number));
    cr_expect_eq(number, 12);
}

Test(numbers, parses_the_leading_digits)
{
    struct text text = TEXT("18446744073709551615.sst");
    uint64_t number = UNTOUCHED;
    cr_expect_not(number_take(&text, 99, &number));
    cr_expect_eq(number, UNTOUCHED);
    cr_expect(number_take(&text, UINT64_MAX, &number));
    cr_expect_eq(number, UINT64_MAX);
    cr_expect(text_equal(text, TEXT(".sst")));
    cr_expect_not(number_take(&text, UINT64_MAX, &number));

    text = TEXT("18446744073709551616");
    cr_expect_not(number_take(&text, UINT64_MAX, &number));
    text = TEXT("00ffG");
    cr_expect(number_take_hex(&text, &number));
    cr_expect_eq(number, 255);
    cr_expect(text_equal(text, TEXT("G")));
}

Test(numbers, accepts_plain_decimal_numbers_only)
{
    static const struct {
        const char *text;
        const char *rest; /* NULL: not a number */
        double real;
    } rows[] = {
        {"1.5/s", "/s", 1.5}, {".5", "", 0.5},    {"-2.", "", -2},    {"1e3x", "x", 1000},
        {"5e", "e", 5},       {"0x10", "x10", 0}, {"inf", NULL, 0},   {"nan", NULL, 0},
        {"", NULL, 0},        {" 1", NULL, 0},    {"1e999", NULL, 0}, {"-", NULL, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct text text = text_of(rows[i].text);
        double real = UNTOUCHED;
        bool valid = number_take_real(&text, &real);
        cr_expect_eq(valid, rows[i].rest != NULL, "%s", rows[i].text);
        cr_expect_float_eq(real, valid ? rows[i].real : (double)UNTOUCHED, 1e-9, "%s",
                           rows[i].text);
        cr_expect(text_equal(text, text_of(valid ? rows[i].rest : rows[i].text)), "%s",
                  rows[i].text);
    }
}

Test(numbers, parses_durations_with_their_units)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"500", 500},   {"500ms", 500},   {"30s", 30000},  {"1.5 s", 1500},
                {"5m", 300000}, {"5MIN", 300000}, {"2h", 7200000}, {"7d", 604800000},
                {"0.0004s", 0}, {"0.0006s", 1},   {"-1", -1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ms = UNTOUCHED;
        cr_expect(number_parse_duration(text_of(rows[i].text), &ms), "%s", rows[i].text);
        cr_expect_eq(ms, rows[i].ms, "%s: %lld", rows[i].text, (long long)ms);
    }
    static const char *const invalid[] = {"", "s", "1w", "1 k", "1e300d", "5mm", "1s "};
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
        int64_t ms = UNTOUCHED;
        cr_expect_not(number_parse_duration(text_of(invalid[i]), &ms), "%s", invalid[i]);
        cr_expect_eq(ms, UNTOUCHED);
    }
}
