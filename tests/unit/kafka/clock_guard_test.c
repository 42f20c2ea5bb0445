/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on a clock from acknowledgements, and the time of decisions that follows. */
#include "kafka/clock_guard.h"

#include <criterion/criterion.h>

enum { MARGIN_MS = 1000, HOUR_MS = 3600000 };

/* A host whose clock may be wrong, and the broker's, which is right. */
struct lab {
    struct clock_manual host;
    struct clock_manual broker;
    struct clock_guard guard;
};

static void open_lab(struct lab *lab, int64_t off_ms)
{
    clock_manual_init(&lab->broker, 1700000000000);
    clock_manual_init(&lab->host, 1700000000000 + off_ms);
    clock_guard_init(&lab->guard, MARGIN_MS);
}

static void pass(struct lab *lab, int64_t ms)
{
    clock_manual_advance(&lab->host, ms);
    clock_manual_advance(&lab->broker, ms);
}

/* A record takes this long to its leader, and its answer this long back. */
static void append(struct lab *lab, int64_t there_ms, int64_t back_ms)
{
    int64_t sent_us = lab->host.now_mono_us;
    pass(lab, there_ms);
    int64_t appended_at = lab->broker.now_wall_ms;
    pass(lab, back_ms);
    clock_guard_measure(&lab->guard, &lab->host.clock, sent_us, appended_at);
}

static int64_t now(struct lab *lab, int64_t command_ms, int64_t newest_ms)
{
    return clock_guard_now(&lab->guard, &lab->host.clock, lab->host.now_mono_us, command_ms,
                           newest_ms);
}

/* ---- the verdict ---- */

Test(clock_guard, finds_a_clock_bad_by_the_first_acknowledgement)
{
    static const int64_t offs[] = {-HOUR_MS, -600, 600, HOUR_MS, 365LL * 24 * HOUR_MS};
    for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
        struct lab lab;
        open_lab(&lab, offs[i]);
        append(&lab, 10, 20);
        cr_assert(lab.guard.bad, "%lld", (long long)offs[i]);
        cr_assert_leq(lab.guard.skew_ms - offs[i], 31);
        cr_assert_geq(lab.guard.skew_ms - offs[i], -31);
    }
}

Test(clock_guard, trusts_a_clock_within_half_the_margin)
{
    for (int64_t off_ms = -500; off_ms <= 500; off_ms += 50) {
        struct lab lab;
        open_lab(&lab, off_ms);
        for (int64_t there_ms = 0; there_ms < 2000; there_ms += 100)
            append(&lab, there_ms, 2000 - there_ms);
        append(&lab, 0, 0);
        cr_assert_not(lab.guard.bad, "%lld", (long long)off_ms);
    }
}

Test(clock_guard, does_not_take_a_late_answer_for_a_wrong_clock)
{
    struct lab lab;
    open_lab(&lab, 0);
    append(&lab, 0, HOUR_MS);
    append(&lab, HOUR_MS, 0);
    append(&lab, 700, 700);
    cr_assert_not(lab.guard.bad);
}

Test(clock_guard, clears_a_verdict_only_by_a_short_bracket)
{
    struct lab lab;
    open_lab(&lab, -HOUR_MS);
    append(&lab, 1, 1);
    cr_assert(lab.guard.bad);
    lab.host.now_wall_ms += HOUR_MS;
    append(&lab, 300, 200);
    cr_assert(lab.guard.bad, "500 ms leave room for a clock that is bad");
    append(&lab, 300, 199);
    cr_assert_not(lab.guard.bad);
}

Test(clock_guard, measures_a_clock_that_jumped_meanwhile_by_what_it_shows_now)
{
    struct lab lab;
    open_lab(&lab, 0);
    int64_t sent_us = lab.host.now_mono_us;
    lab.host.now_wall_ms += HOUR_MS;
    pass(&lab, 3);
    clock_guard_measure(&lab.guard, &lab.host.clock, sent_us, lab.broker.now_wall_ms);
    cr_assert(lab.guard.bad);
    cr_assert_geq(lab.guard.skew_ms, HOUR_MS - 10);
}

Test(clock_guard, remembers_since_when_and_until_when_the_clock_was_bad)
{
    struct lab lab;
    open_lab(&lab, HOUR_MS);
    append(&lab, 0, 0);
    int64_t first_us = lab.host.now_mono_us;
    pass(&lab, 10000);
    append(&lab, 0, 0);
    cr_assert_eq(lab.guard.bad_since_us, first_us);
    cr_assert_eq(lab.guard.bad_until_us, first_us + 10000000);
    cr_assert_not(clock_guard_agrees(&lab.guard, &lab.host.clock));
    lab.host.now_wall_ms -= HOUR_MS;
    cr_assert(clock_guard_agrees(&lab.guard, &lab.host.clock));
    cr_assert(lab.guard.bad, "only a measurement clears it");
}

Test(clock_guard, says_nothing_before_the_first_append_time)
{
    struct lab lab;
    open_lab(&lab, HOUR_MS);
    clock_guard_measure(&lab.guard, &lab.host.clock, lab.host.now_mono_us, 0);
    cr_assert_not(lab.guard.bad);
    cr_assert_eq(clock_guard_broker_ms(&lab.guard, lab.host.now_mono_us), INT64_MAX);
    cr_assert_eq(now(&lab, 5, 0), lab.host.now_wall_ms);
    cr_assert_eq(now(&lab, 5, lab.host.now_wall_ms + 9), lab.host.now_wall_ms + 9);
    cr_assert_not(clock_guard_is_ahead(&lab.guard, &lab.host.clock, INT64_MAX));
}

/* ---- the time of decisions ---- */

Test(clock_guard, binds_the_time_of_decisions_to_the_brokers_time)
{
    struct lab lab;
    open_lab(&lab, 0);
    append(&lab, 5, 5);
    pass(&lab, HOUR_MS);
    int64_t true_ms = lab.broker.now_wall_ms;
    cr_assert_eq(now(&lab, true_ms - 3, 0), true_ms);
    lab.host.now_wall_ms += 24 * HOUR_MS;
    cr_assert_geq(now(&lab, true_ms - 3, 0), true_ms);
    cr_assert_leq(now(&lab, true_ms - 3, 0), true_ms + 5 + MARGIN_MS / 2);
    lab.host.now_wall_ms -= 48 * HOUR_MS;
    cr_assert_eq(now(&lab, true_ms - 3, 0), true_ms - 3 - MARGIN_MS / 2);
    cr_assert_eq(now(&lab, true_ms - 3, true_ms + 77), true_ms + 77);
}

/* Its record may have been appended at once, or at the last moment. */
Test(clock_guard, never_decides_beyond_half_the_margin_after_an_answer_that_was_late)
{
    static const int64_t waits[][2] = {{1663, 0}, {0, 1663}, {700, 900}, {HOUR_MS, HOUR_MS}};
    static const int64_t jumps[] = {501, 2000, HOUR_MS, 365LL * 24 * HOUR_MS};
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        for (size_t j = 0; j < sizeof(jumps) / sizeof(jumps[0]); j++) {
            struct lab lab;
            open_lab(&lab, 0);
            append(&lab, waits[i][0], waits[i][1]);
            pass(&lab, 4000);
            lab.host.now_wall_ms += jumps[j];
            int64_t true_ms = lab.broker.now_wall_ms;
            cr_assert_leq(now(&lab, true_ms - 3, 0), true_ms + MARGIN_MS / 2);
            cr_assert_leq(now(&lab, true_ms - HOUR_MS, 0), true_ms + MARGIN_MS / 2);
            cr_assert_geq(now(&lab, true_ms - 3, 0), true_ms - 3);
        }
    }
}

/* What was known before a late answer still counts. */
Test(clock_guard, decides_in_the_present_although_answers_are_late)
{
    static const int64_t waits[][2] = {{0, HOUR_MS}, {HOUR_MS, 0}, {700, 700}, {HOUR_MS, HOUR_MS}};
    struct lab lab;
    open_lab(&lab, 0);
    append(&lab, 5, 5);
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        append(&lab, waits[i][0], waits[i][1]);
        int64_t true_ms = lab.broker.now_wall_ms;
        cr_assert_eq(now(&lab, true_ms - 2 * HOUR_MS, 0), true_ms);
        lab.host.now_wall_ms += HOUR_MS;
        cr_assert_leq(now(&lab, true_ms - 3, 0), true_ms + MARGIN_MS / 2);
        lab.host.now_wall_ms -= HOUR_MS;
    }
}

/* The brokers' clocks were set back or forward: an answer contradicts what was known. */
Test(clock_guard, follows_the_brokers_when_their_clocks_are_set)
{
    static const int64_t sets[] = {-24 * HOUR_MS, -HOUR_MS, HOUR_MS, 24 * HOUR_MS};
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct lab lab;
        open_lab(&lab, 0);
        append(&lab, 5, 5);
        lab.broker.now_wall_ms += sets[i];
        append(&lab, 700, 900);
        int64_t true_ms = lab.broker.now_wall_ms;
        int64_t broker_ms = clock_guard_broker_ms(&lab.guard, lab.host.now_mono_us);
        cr_assert_geq(broker_ms, true_ms);
        cr_assert_leq(broker_ms, true_ms + 700);
        lab.host.now_wall_ms = true_ms + HOUR_MS;
        cr_assert_leq(now(&lab, true_ms - HOUR_MS, 0), true_ms + MARGIN_MS / 2);
        cr_assert_geq(now(&lab, true_ms - HOUR_MS, 0), true_ms - 900);
    }
}

/* The broker's clock was set forward, as the command shows; nothing was measured since. */
Test(clock_guard, follows_a_command_that_is_newer_than_the_brokers_time)
{
    struct lab lab;
    open_lab(&lab, 0);
    append(&lab, 5, 5);
    int64_t command_ms = lab.host.now_wall_ms + HOUR_MS;
    cr_assert_eq(now(&lab, command_ms, 0), command_ms - MARGIN_MS / 2);
}

Test(clock_guard, keeps_the_brokers_time_although_an_answer_was_late)
{
    struct lab lab;
    open_lab(&lab, 0);
    append(&lab, 5, 5);
    append(&lab, HOUR_MS, 0);
    int64_t late_ms =
        clock_guard_broker_ms(&lab.guard, lab.host.now_mono_us) - lab.broker.now_wall_ms;
    cr_assert_eq(late_ms, 5);
    append(&lab, 0, HOUR_MS);
    late_ms = clock_guard_broker_ms(&lab.guard, lab.host.now_mono_us) - lab.broker.now_wall_ms;
    cr_assert_eq(late_ms, 0);
}

Test(clock_guard, calls_a_partition_ahead_beyond_ten_margins)
{
    struct lab lab;
    open_lab(&lab, 0);
    append(&lab, 0, 0);
    int64_t limit_ms = lab.broker.now_wall_ms + 10 * MARGIN_MS;
    cr_assert_not(clock_guard_is_ahead(&lab.guard, &lab.host.clock, limit_ms));
    cr_assert(clock_guard_is_ahead(&lab.guard, &lab.host.clock, limit_ms + 1));
    pass(&lab, 1);
    cr_assert_not(clock_guard_is_ahead(&lab.guard, &lab.host.clock, limit_ms + 1));
}
