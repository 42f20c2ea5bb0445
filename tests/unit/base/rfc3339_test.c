/* SPDX-License-Identifier: Apache-2.0 */
/* Times of RFC 3339 against the C library's calendar, and what is not one. */
#include "base/rfc3339.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static void expect(const char *text, int64_t expected)
{
    int64_t ms = -1;
    cr_assert(rfc3339_parse(text_of(text), &ms), "%s", text);
    cr_expect_eq(ms, expected, "%s is %" PRId64 ", not %" PRId64, text, ms, expected);
}

static void expect_written(int64_t ms, const char *expected)
{
    char text[RFC3339_TEXT_SIZE];
    rfc3339_format(ms, text);
    cr_assert_str_eq(text, expected, "%" PRId64, ms);
}

Test(base_rfc3339, reads_times_with_fractions_and_offsets)
{
    expect("1970-01-01T00:00:00Z", 0);
    expect("1970-01-01", 0);
    expect("1970-01-01T01:30:00+01:30", 0);
    expect("1969-12-31t19:00:00.5-05:00", 500);
    expect("1969-12-31T23:59:59.999z", -1);
    expect("2010-12-01 08:26:00.123456789Z", INT64_C(1291191960123));
    expect("2016-12-31T23:59:60Z", INT64_C(1483228800000));
    expect("9999-12-31T23:59:59Z", INT64_C(253402300799000));
}

Test(base_rfc3339, agrees_with_the_calendar_about_every_day)
{
    for (int64_t day = -719528; day < 800000; day++) { /* from 0000-01-01 */
        char text[32];
        struct tm tm;
        time_t seconds = (time_t)(day * 86400);
        cr_assert_not_null(gmtime_r(&seconds, &tm));
        char midnight[sizeof(text) + 16];
        snprintf(text, sizeof(text), "%04d-%02d-%02d", (tm.tm_year + 1900) % 10000,
                 (tm.tm_mon + 1) % 100, tm.tm_mday % 100);
        expect(text, day * 86400000);
        snprintf(midnight, sizeof(midnight), "%sT00:00:00.000Z", text);
        expect_written(day * 86400000, midnight);
    }
}

Test(base_rfc3339, writes_milliseconds_and_years_of_four_digits)
{
    expect_written(0, "1970-01-01T00:00:00.000Z");
    expect_written(-1, "1969-12-31T23:59:59.999Z");
    expect_written(INT64_C(1291191960007), "2010-12-01T08:26:00.007Z");
    expect_written(INT64_C(1483228799999), "2016-12-31T23:59:59.999Z");
    expect_written(INT64_C(253402300799999), "9999-12-31T23:59:59.999Z");
    expect_written(INT64_C(253402300800000), "9999-12-31T23:59:59.999Z");
    expect_written(INT64_MAX, "9999-12-31T23:59:59.999Z");
    expect_written(INT64_C(-62167219200001), "0000-01-01T00:00:00.000Z");
    expect_written(INT64_MIN, "0000-01-01T00:00:00.000Z");
}

Test(base_rfc3339, refuses_anything_else)
{
    static const char *const texts[] = {
        "",
        "2010",
        "2010-12",
        "2010-12-1",
        "2010-13-01",
        "2010-00-01",
        "2010-02-29",
        "1900-02-29",
        "2010-12-32",
        "2010-12-01T",
        "2010-12-01T08:26",
        "2010-12-01T08:26:00",
        "2010-12-01T24:00:00Z",
        "2010-12-01T08:60:00Z",
        "2010-12-01T08:26:61Z",
        "2010-12-01T08:26:00.Z",
        "2010-12-01T08:26:00+1",
        "2010-12-01T08:26:00+24:00",
        "2010-12-01T08:26:00ZZ",
        "2010-12-01T08:26:00Z ",
        " 2010-12-01",
        "+010-12-01",
        "-2010-12-01",
        "1h",
        "1795251923361",
    };
    int64_t ms = 7;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        cr_expect_not(rfc3339_parse(text_of(texts[i]), &ms), "%s", texts[i]);
    cr_expect_not(rfc3339_parse((struct text){"2010-12-01\0", 11}, &ms));
    cr_expect_eq(ms, 7);
}
