/* SPDX-License-Identifier: Apache-2.0 */
/* Cron: what is due when, on clocks that know no zones, and how mistakes are explained. */
#include "schedule/cron.h"

#include "base/rfc3339.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MINUTE_MS = 60000 };

static struct cron parsed(const char *text)
{
    struct cron cron;
    struct cron_problem problem;
    cr_assert(cron_parse(text_of(text), &cron, &problem), "%s: %s", text, problem.text);
    return cron;
}

static void expect_next(const char *text, const char *from, const char *expected)
{
    struct cron cron = parsed(text);
    char found[RFC3339_TEXT_SIZE];
    int64_t ms;
    cr_assert(rfc3339_parse(text_of(from), &ms), "%s", from);
    rfc3339_format(cron_next(&cron, ms / MINUTE_MS) * MINUTE_MS, found);
    cr_expect_eq(strncmp(found, expected, strlen(expected)), 0, "%s from %s: %s, not %s", text,
                 from, found, expected);
}

static void expect_problem(const char *text, uint32_t at, const char *expected)
{
    struct cron cron;
    struct cron_problem problem = {0};
    cr_assert(!cron_parse(text_of(text), &cron, &problem), "%s", text);
    cr_expect_str_eq(problem.text, expected, "%s: %s", text, problem.text);
    cr_expect_eq(problem.at, at, "%s: at %u", text, problem.at);
}

Test(cron, finds_the_next_minute)
{
    expect_next("* * * * *", "2026-11-24T02:00:00Z", "2026-11-24T02:00");
    expect_next("0 3 * * *", "2026-11-24T03:00:00Z", "2026-11-24T03:00");
    expect_next("0 3 * * *", "2026-11-24T03:01:00Z", "2026-11-25T03:00");
    expect_next("5,35 8-10 * * *", "2026-11-24T08:06:00Z", "2026-11-24T08:35");
    expect_next("5,35 8-10 * * *", "2026-11-24T10:36:00Z", "2026-11-25T08:05");
    expect_next("*/20 * * * *", "2026-11-24T23:41:00Z", "2026-11-25T00:00");
    expect_next("10-50/20 * * * *", "2026-11-24T23:31:00Z", "2026-11-24T23:50");
    expect_next("0 0 1 JAN *", "2026-11-24T00:00:00Z", "2027-01-01T00:00");
    expect_next("59 23 31 12 *", "2026-12-31T23:59:00Z", "2026-12-31T23:59");
    expect_next("0 0 * * mon", "2026-11-24T00:00:00Z", "2026-11-30T00:00");
}

Test(cron, knows_leap_days)
{
    expect_next("0 0 29 2 *", "2026-11-24T00:00:00Z", "2028-02-29T00:00");
    expect_next("0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00");
    expect_next("0 0 29 FEB */7", "2026-01-01T00:00:00Z", "2032-02-29T00:00"); /* a Sunday */
    expect_next("0 0 31 * *", "2026-11-24T00:00:00Z", "2026-12-31T00:00");
}

Test(cron, takes_0_and_7_for_sunday)
{
    expect_next("0 0 * * 0", "2026-11-24T00:00:00Z", "2026-11-29T00:00");
    expect_next("0 0 * * 7", "2026-11-24T00:00:00Z", "2026-11-29T00:00");
    expect_next("0 0 * * 5-7", "2026-11-28T00:01:00Z", "2026-11-29T00:00");
    expect_next("0 0 * * 1-6", "2026-11-29T00:00:00Z", "2026-11-30T00:00");
}

Test(cron, needs_one_of_day_and_weekday_where_both_are_given)
{
    expect_next("0 0 13 * FRI", "2026-11-24T00:00:00Z", "2026-11-27T00:00");
    expect_next("0 0 13 * FRI", "2026-12-12T00:00:00Z", "2026-12-13T00:00");
    expect_next("0 0 13 * *", "2026-11-24T00:00:00Z", "2026-12-13T00:00");
    expect_next("0 0 */13 * FRI", "2026-11-24T00:00:00Z", "2026-11-27T00:00"); /* both: day 27 */
    expect_next("0 0 */13 * FRI", "2026-11-28T00:00:00Z", "2027-01-01T00:00"); /* day 1 */
}

Test(cron, never_ends_a_search)
{
    struct cron cron = parsed("0 0 1 1 *");
    int64_t last = INT64_C(4222444320); /* 9998-02-01 */
    cr_assert_eq(cron_next(&cron, last), CRON_NEVER);
}

Test(cron, explains_mistakes)
{
    expect_problem("", 0,
                   "it has 0 fields; expected 5: minute, hour, day of month, month, weekday");
    expect_problem("5", 0,
                   "it has 1 field; expected 5: minute, hour, day of month, month, weekday");
    expect_problem("0 0 3 * * *", 0,
                   "it has 6 fields; expected 5: minute, hour, day of month, month, weekday. Leave "
                   "out seconds and years");
    expect_problem("@daily", 0, "@daily is not known here: write \"0 0 * * *\"");
    expect_problem("60 0 * * *", 0, "\"60\" is not a minute: expected 0 to 59, or *");
    expect_problem("0 24 * * *", 2, "\"24\" is not an hour: expected 0 to 23, or *");
    expect_problem("0 0 0 * *", 4, "\"0\" is not a day of the month: expected 1 to 31, or *");
    expect_problem("0 0 * JNA *", 6, "\"JNA\" is not a month: did you mean JAN?");
    expect_problem("0 0 * * SUN,FRB", 12, "\"FRB\" is not a weekday: did you mean FRI?");
    expect_problem("0 0 L * *", 4, "L is not known here: expected 1 to 31, or *");
    expect_problem("5/10 * * * *", 0, "a step needs a range: write 5-59/10");
    expect_problem("0 20-8 * * *", 2, "20-8 ends before it begins: write two ranges with a comma");
    expect_problem("*/0 * * * *", 2, "\"0\" is not a step of a minute: expected 1 to 59");
    expect_problem("*/ * * * *", 2, "\"\" is not a step of a minute: expected 1 to 59");
    expect_problem("1,,2 * * * *", 2, "\"\" is not a minute: expected 0 to 59, or *");
    expect_problem("1- * * * *", 2, "\"\" is not a minute: expected 0 to 59, or *");
    expect_problem("-1 * * * *", 0, "\"\" is not a minute: expected 0 to 59, or *");
    expect_problem("+1 * * * *", 0, "\"+1\" is not a minute: expected 0 to 59, or *");
    expect_problem("0 0 31 4,6 *", 4, "no month of these has the day 31");
    expect_problem("0 0 30 2 *", 4, "no month of these has the day 30");
    parsed("0 0 30 2 MON"); /* each Monday of February */
}

Test(cron, is_not_longer_than_its_limit)
{
    char text[CRON_BYTES_MAX + 2];
    struct cron cron;
    struct cron_problem problem;
    memset(text, ' ', sizeof(text));
    memcpy(text, "* * * * *", 9);
    cr_assert(cron_parse((struct text){text, CRON_BYTES_MAX}, &cron, &problem));
    cr_assert(!cron_parse((struct text){text, CRON_BYTES_MAX + 1}, &cron, &problem));
    cr_assert_str_eq(problem.text, "it has 257 bytes; the limit is 256");
}
