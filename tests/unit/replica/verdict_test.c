/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/follow/verdict.h"

#include <criterion/criterion.h>
#include <string.h>

static struct lag_window window;
static char reason[VERDICT_REASON_SIZE];
static int64_t now;

TestSuite(console_verdict);

static enum verdict assess(void)
{
    struct verdict_input input = {.window = &window, .now_ms = now, .claimed = true};
    return verdict_of(&input, reason);
}

/* A measurement every two seconds for this long. */
static void run(int64_t ms, int64_t lag_step, int64_t decided_step)
{
    for (int64_t until = now + ms; now < until; now += 2000)
        lag_window_add(&window, now, window.lag + lag_step, window.next_command + decided_step);
}

Test(console_verdict, is_ok_while_nothing_waits)
{
    cr_assert_eq(assess(), VERDICT_OK);
    run(INT64_C(600) * 1000, 0, 0);
    cr_assert_eq(assess(), VERDICT_OK, "%s", reason);
    cr_assert_str_eq(reason, "");
}

Test(console_verdict, is_ok_while_a_backlog_is_worked_off)
{
    lag_window_add(&window, now, 10000, 1);
    run(INT64_C(120) * 1000, -50, 100);
    cr_assert_eq(assess(), VERDICT_OK, "%s", reason);
}

Test(console_verdict, sees_that_a_lag_grows)
{
    lag_window_add(&window, now, 100, 1);
    run(50000, 10, 100);
    cr_assert_eq(assess(), VERDICT_OK, "too early to tell");
    run(30000, 10, 100);
    cr_assert_eq(assess(), VERDICT_GROWING);
    cr_assert(strstr(reason, "more than") != NULL, "%s", reason);
    run(INT64_C(600) * 1000, 0, 100);
    cr_assert_eq(assess(), VERDICT_OK, "it has stopped growing: %s", reason);
}

Test(console_verdict, sees_that_nothing_is_decided)
{
    lag_window_add(&window, now, 5, 7);
    run(LAG_STALLED_MS - 4000, 0, 0);
    cr_assert_eq(assess(), VERDICT_OK, "%s", reason);
    run(6000, 0, 0);
    cr_assert_eq(assess(), VERDICT_STALLED);
    run(2000, 0, 1);
    cr_assert_eq(assess(), VERDICT_OK, "%s", reason);
}

Test(console_verdict, counts_the_commands_that_wait)
{
    lag_window_add(&window, now, 1, 7);
    run(LAG_STALLED_MS, 0, 0);
    cr_assert_eq(assess(), VERDICT_STALLED);
    cr_assert_str_eq(reason,
                     "1 command waits, and none was decided for 30 s: is a scheduler running?");
    lag_window_add(&window, now, 2, 7);
    cr_assert_eq(assess(), VERDICT_STALLED);
    cr_assert_str_eq(reason,
                     "2 commands wait, and none was decided for 30 s: is a scheduler running?");
}

Test(console_verdict, says_what_stops_a_partition)
{
    struct verdict_input input = {.window = &window, .stopped = "another log", .claimed = true};
    cr_assert_eq(verdict_of(&input, reason), VERDICT_STOPPED);
    cr_assert_str_eq(reason, "another log");
    input = (struct verdict_input){.window = &window};
    cr_assert_eq(verdict_of(&input, reason), VERDICT_STOPPED);
    cr_assert(strstr(reason, "no scheduler") != NULL);
    input = (struct verdict_input){.window = &window, .claimed = true, .away_ms = 9000};
    cr_assert_eq(verdict_of(&input, reason), VERDICT_STALLED);
    cr_assert_str_eq(reason, "the brokers have not answered for 9 s");
}

Test(console_verdict, does_not_count_time_in_which_nothing_was_measured)
{
    window = (struct lag_window){.count = 0};
    now = 0;
    run(INT64_C(20) * 1000, 1, 0);
    now += INT64_C(60) * 1000;
    lag_window_add(&window, now, window.lag, window.next_command);
    cr_assert_eq(assess(), VERDICT_OK, "%s", reason);
    run(INT64_C(20) * 1000, 0, 0);
    cr_assert_eq(assess(), VERDICT_STALLED);
    cr_assert_geq(lag_window_waited_ms(&window, now), LAG_STALLED_MS);
}
