/* SPDX-License-Identifier: Apache-2.0 */
/* When schedules are due, where clocks are set forward and back. */
#include "base/heap_arena.h"
#include "base/rfc3339.h"
#include "schedule/ticks.h"
#include "schedule/zone_files.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct heap_arena heap;

static void set_up(void)
{
    heap_arena_init(&heap, 64 * 1024);
}

static void tear_down(void)
{
    heap_arena_deinit(&heap);
}

TestSuite(ticks, .init = set_up, .fini = tear_down);

static int64_t moment_of(const char *text)
{
    int64_t ms;
    cr_assert(rfc3339_parse(text_of(text), &ms), "%s", text);
    return ms / 1000;
}

static struct ticks ticks_of(const char *cron, const char *zone)
{
    struct ticks ticks = {0};
    struct cron_problem problem;
    cr_assert(cron_parse(text_of(cron), &ticks.cron, &problem), "%s", problem.text);
    cr_assert_eq(zone_read(text_of(zone), &heap.arena, &ticks.zone, NULL), ERROR_OK, "%s", zone);
    return ticks;
}

/* `expected`: "2026-03-29T01:00Z 2026-..." of the span. */
static void expect_ticks(const struct ticks *ticks, const char *from, const char *to,
                         const char *expected)
{
    char found[1024] = "";
    size_t used = 0;
    int64_t end = moment_of(to);
    for (int64_t tick = ticks_next(ticks, moment_of(from) - 1); tick <= end;
         tick = ticks_next(ticks, tick)) {
        char text[TICK_TEXT_SIZE];
        tick_short_text(tick, text);
        used +=
            (size_t)snprintf(found + used, sizeof(found) - used, "%s%s", used > 0 ? " " : "", text);
        cr_assert(used < sizeof(found));
    }
    cr_expect_str_eq(found, expected, "from %s: %s", from, found);
}

Test(ticks, run_a_skipped_time_at_the_next_valid_minute)
{
    struct ticks ticks = ticks_of("30 2 * * *", "Europe/Berlin");
    expect_ticks(&ticks, "2026-03-28T00:00:00Z", "2026-03-30T23:00:00Z",
                 "2026-03-28T01:30Z 2026-03-29T01:00Z 2026-03-30T00:30Z");
    ticks = ticks_of("30 2 * * *", "America/New_York");
    expect_ticks(&ticks, "2026-03-07T00:00:00Z", "2026-03-09T23:00:00Z",
                 "2026-03-07T07:30Z 2026-03-08T07:00Z 2026-03-09T06:30Z");
    ticks = ticks_of("15 2 * * *", "Australia/Lord_Howe");
    expect_ticks(&ticks, "2026-10-02T12:00:00Z", "2026-10-04T23:00:00Z",
                 "2026-10-02T15:45Z 2026-10-03T15:30Z 2026-10-04T15:15Z");
}

Test(ticks, run_once_what_several_skipped_times_come_to)
{
    struct ticks ticks = ticks_of("*/30 2,3 * * *", "Europe/Berlin");
    expect_ticks(&ticks, "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z",
                 "2026-03-29T01:00Z 2026-03-29T01:30Z");
    /* Apia went from December 29 to 31 of 2011. */
    ticks = ticks_of("0 9 * * *", "Pacific/Apia");
    expect_ticks(&ticks, "2011-12-29T00:00:00Z", "2012-01-01T00:00:00Z",
                 "2011-12-29T19:00Z 2011-12-30T10:00Z 2011-12-30T19:00Z 2011-12-31T19:00Z");
}

Test(ticks, run_a_doubled_time_once)
{
    struct ticks ticks = ticks_of("30 2 * * *", "Europe/Berlin");
    expect_ticks(&ticks, "2026-10-24T00:00:00Z", "2026-10-26T23:00:00Z",
                 "2026-10-24T00:30Z 2026-10-25T00:30Z 2026-10-26T01:30Z");
    ticks = ticks_of("*/20 1 * * *", "America/New_York");
    expect_ticks(&ticks, "2026-11-01T00:00:00Z", "2026-11-01T12:00:00Z",
                 "2026-11-01T05:00Z 2026-11-01T05:20Z 2026-11-01T05:40Z");
    ticks = ticks_of("*/10 1 * * *", "Australia/Lord_Howe");
    expect_ticks(&ticks, "2026-04-04T13:00:00Z", "2026-04-04T18:00:00Z",
                 "2026-04-04T14:00Z 2026-04-04T14:10Z 2026-04-04T14:20Z 2026-04-04T14:30Z "
                 "2026-04-04T14:40Z 2026-04-04T14:50Z");
    /* From within the second pass as well. */
    ticks = ticks_of("* * * * *", "Europe/Berlin");
    cr_assert_eq(ticks_next(&ticks, moment_of("2026-10-25T01:30:00Z")),
                 moment_of("2026-10-25T02:00:00Z"));
}

Test(ticks, follow_the_rule_of_years_to_come)
{
    struct ticks ticks = ticks_of("0 3 * * *", "Europe/Berlin");
    cr_assert_eq(ticks_next(&ticks, moment_of("2090-07-01T00:00:00Z")),
                 moment_of("2090-07-01T01:00:00Z"));
    cr_assert_eq(ticks_next(&ticks, moment_of("2090-12-01T00:00:00Z")),
                 moment_of("2090-12-01T02:00:00Z"));
}

Test(ticks, come_at_multiples_of_an_interval)
{
    struct ticks ticks = {.every_s = 900};
    expect_ticks(&ticks, "2026-11-24T01:50:00Z", "2026-11-24T02:30:00Z",
                 "2026-11-24T02:00Z 2026-11-24T02:15Z 2026-11-24T02:30Z");
    ticks.every_s = 7;
    expect_ticks(&ticks, "1969-12-31T23:59:50Z", "1970-01-01T00:00:14Z",
                 "1969-12-31T23:59:53Z 1970-01-01T00:00Z 1970-01-01T00:00:07Z "
                 "1970-01-01T00:00:14Z");
}

Test(ticks, end_with_the_calendar)
{
    struct ticks ticks = ticks_of("0 3 * * *", "UTC");
    cr_assert_eq(ticks_next(&ticks, INT64_MAX), TICK_NEVER);
    cr_assert_eq(ticks_next(&ticks, moment_of("9998-12-31T03:00:00Z")), TICK_NEVER);
    cr_assert_neq(ticks_next(&ticks, INT64_MIN), TICK_NEVER);
    struct ticks often = {.every_s = 1};
    cr_assert_eq(ticks_next(&often, INT64_MAX - 1), TICK_NEVER);
}

static void expect_last(const struct ticks *ticks, const char *from, const char *to, uint32_t most)
{
    int64_t all[4096], last[8];
    uint32_t count = 0;
    for (int64_t tick = ticks_next(ticks, moment_of(from) - 1);
         tick <= moment_of(to) && count < 4096; tick = ticks_next(ticks, tick))
        all[count++] = tick;
    uint32_t found = ticks_last(ticks, moment_of(from), moment_of(to), most, last);
    cr_assert_eq(found, count < most ? count : most, "%u", found);
    for (uint32_t i = 0; i < found; i++)
        cr_expect_eq(last[i], all[count - found + i], "%u", i);
}

Test(ticks, give_the_last_ones)
{
    struct ticks ticks = ticks_of("0 3 * * *", "Europe/Berlin");
    expect_last(&ticks, "2026-11-01T00:00:00Z", "2026-11-24T12:00:00Z", 5);
    expect_last(&ticks, "2026-11-22T00:00:00Z", "2026-11-24T12:00:00Z", 5);
    expect_last(&ticks, "2026-11-24T12:00:00Z", "2026-11-24T12:00:00Z", 5);
    expect_last(&ticks, "2026-11-24T12:00:00Z", "2026-11-22T12:00:00Z", 5);
    ticks = ticks_of("*/7 * * * *", "Europe/Berlin");
    expect_last(&ticks, "2026-11-22T00:00:00Z", "2026-11-24T12:00:00Z", 8);
    ticks = ticks_of("0 0 29 2 *", "UTC");
    expect_last(&ticks, "1970-01-01T00:00:00Z", "2026-11-24T12:00:00Z", 3);
    struct ticks often = {.every_s = 60};
    expect_last(&often, "2026-11-24T00:00:00Z", "2026-11-24T12:00:30Z", 7);
    expect_last(&often, "2026-11-24T11:58:00Z", "2026-11-24T12:00:00Z", 7);
    struct ticks second = {.every_s = 1};
    int64_t last[2];
    cr_assert_eq(ticks_last(&second, 0, 2000000000, 2, last), 2u);
    cr_assert(last[0] == 1999999999 && last[1] == 2000000000);
}

Test(ticks, are_written_as_times)
{
    char text[TICK_TEXT_SIZE];
    tick_text(moment_of("2026-11-24T02:00:00Z"), text);
    cr_assert_str_eq(text, "2026-11-24T02:00:00Z");
    tick_short_text(moment_of("2026-11-24T02:00:00Z"), text);
    cr_assert_str_eq(text, "2026-11-24T02:00Z");
    tick_short_text(moment_of("2026-11-24T02:00:05Z"), text);
    cr_assert_str_eq(text, "2026-11-24T02:00:05Z");
}
