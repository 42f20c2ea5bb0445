/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the scheduler's time, from Decisions and refusals. */
#include "services/supervisor/scheduler_clock.h"

#include <criterion/criterion.h>

enum { RIGHT = 1000000, MONO = 5000, HOUR_MS = 3600 * 1000 };

static struct scheduler_clock clock_new(void)
{
    struct scheduler_clock clock;
    scheduler_clock_init(&clock);
    return clock;
}

Test(scheduler_clock, shows_its_own_time_while_nothing_is_known)
{
    struct scheduler_clock clock = clock_new();
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT, MONO), RIGHT);
    cr_assert_eq(scheduler_clock_now(&clock, 0, MONO), 0);
}

Test(scheduler_clock, is_never_before_a_decision_and_what_has_passed_since)
{
    struct scheduler_clock clock = clock_new();
    scheduler_clock_decided(&clock, RIGHT, MONO);
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT - HOUR_MS, MONO + 70), RIGHT + 70);
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT + HOUR_MS, MONO + 70), RIGHT + HOUR_MS);
    scheduler_clock_decided(&clock, RIGHT - HOUR_MS, MONO + 80); /* an old one */
    cr_assert_eq(scheduler_clock_now(&clock, 0, MONO + 90), RIGHT + 90);
}

Test(scheduler_clock, is_never_after_a_refusal_and_what_has_passed_since_the_command)
{
    struct scheduler_clock clock = clock_new();
    scheduler_clock_refused(&clock, RIGHT, MONO);
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT + HOUR_MS, MONO + 70), RIGHT + 70);
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT - HOUR_MS, MONO + 70), RIGHT - HOUR_MS);
    /* One that was read an hour after it was sent proves less. */
    scheduler_clock_refused(&clock, RIGHT + HOUR_MS, MONO);
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT + HOUR_MS, MONO + 70), RIGHT + 70);
}

Test(scheduler_clock, follows_the_decisions_of_a_scheduler_with_a_later_clock)
{
    struct scheduler_clock clock = clock_new();
    scheduler_clock_refused(&clock, RIGHT, MONO);
    scheduler_clock_decided(&clock, RIGHT + 500, MONO);
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT + HOUR_MS, MONO), RIGHT + 500);
}

Test(scheduler_clock, is_not_lowered_by_a_refusal)
{
    struct scheduler_clock clock = clock_new();
    scheduler_clock_decided(&clock, RIGHT, MONO);
    scheduler_clock_refused(&clock, RIGHT - 500, MONO);
    cr_assert_eq(scheduler_clock_now(&clock, 0, MONO), RIGHT);
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT + HOUR_MS, MONO), RIGHT);
}

Test(scheduler_clock, is_lowered_by_a_reset)
{
    struct scheduler_clock clock = clock_new();
    scheduler_clock_decided(&clock, RIGHT + HOUR_MS, MONO);
    scheduler_clock_refused(&clock, RIGHT + HOUR_MS, MONO);
    scheduler_clock_reset(&clock, RIGHT, MONO);
    cr_assert_eq(scheduler_clock_now(&clock, 0, MONO), RIGHT);
    cr_assert_eq(scheduler_clock_now(&clock, RIGHT + 700, MONO), RIGHT + 700);
}
