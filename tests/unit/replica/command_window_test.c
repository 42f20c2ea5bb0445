/* SPDX-License-Identifier: Apache-2.0 */
/* The window of commands on their way: it follows what others wait, once a round trip. */
#include "replica/command_window.h"

#include <criterion/criterion.h>

/* A window whose commands are all decided after a round trip, and what others wait meanwhile. */
struct trip {
    struct command_window window;
    uint32_t on_their_way;
    int64_t now;
};

static struct trip trip_new(void)
{
    struct trip trip = {.now = 1000000};
    command_window_init(&trip.window, false);
    return trip;
}

static uint32_t fill(struct trip *trip, int64_t overdue_ms)
{
    while (command_window_permits(&trip->window, trip->on_their_way, overdue_ms, trip->now)) {
        command_window_sent(&trip->window, trip->now);
        trip->on_their_way++;
    }
    command_window_limited(&trip->window);
    return trip->on_their_way;
}

/* Fills the window; then `others` commands of others are decided that waited for `wait_ms`, and so
 * are ours. */
static uint32_t go_round(struct trip *trip, int64_t wait_ms, uint32_t others)
{
    uint32_t filled = fill(trip, 0);
    trip->now += 10;
    for (uint32_t i = 0; i < others; i++)
        command_window_saw(&trip->window, wait_ms, trip->now);
    trip->on_their_way = 0;
    return filled;
}

Test(command_window, begins_with_a_few)
{
    struct trip trip = trip_new();
    cr_assert_eq(fill(&trip, 0), COMMAND_WINDOW_FIRST);
}

Test(command_window, grows_by_one_in_a_round_trip_while_others_wait_briefly)
{
    struct trip trip = trip_new();
    for (uint32_t i = 0; i < 20; i++)
        cr_assert_eq(go_round(&trip, COMMAND_WINDOW_TARGET_MS, 3), COMMAND_WINDOW_FIRST + i);
}

Test(command_window, is_halved_once_in_a_round_trip_while_others_wait_too_long)
{
    struct trip trip = trip_new();
    command_window_saw(&trip.window, 0, trip.now); /* what they wait at least */
    cr_assert_eq(go_round(&trip, 50, 30), 16);
    cr_assert_eq(go_round(&trip, 50, 30), 8);
    cr_assert_eq(go_round(&trip, 50, 30), 4);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(go_round(&trip, 50, 30), COMMAND_WINDOW_MIN);
}

Test(command_window, doubles_in_a_round_trip_without_others)
{
    struct trip trip = trip_new();
    trip.now += COMMAND_WINDOW_ALONE_MS;
    for (uint32_t size = COMMAND_WINDOW_FIRST; size < COMMAND_WINDOW_MAX; size *= 2)
        cr_assert_eq(go_round(&trip, 0, 0), size);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(go_round(&trip, 0, 0), COMMAND_WINDOW_MAX);
}

Test(command_window, takes_others_as_gone_only_after_a_while)
{
    struct trip trip = trip_new();
    command_window_saw(&trip.window, 1, trip.now);
    for (uint32_t i = 0; i < COMMAND_WINDOW_ALONE_MS / 10; i++)
        cr_assert_eq(go_round(&trip, 0, 0), COMMAND_WINDOW_FIRST + i);
    uint32_t size = COMMAND_WINDOW_FIRST + COMMAND_WINDOW_ALONE_MS / 10 - 1;
    cr_assert_eq(go_round(&trip, 0, 0), 2 * size);
}

Test(command_window, does_not_grow_while_it_holds_nothing_back)
{
    struct trip trip = trip_new();
    command_window_sent(&trip.window, trip.now);
    for (int i = 0; i < 100; i++) {
        trip.now += 1000;
        cr_assert(command_window_permits(&trip.window, 1, 0, trip.now));
        command_window_sent(&trip.window, trip.now);
    }
    trip.on_their_way = 0;
    cr_assert_eq(fill(&trip, 0), COMMAND_WINDOW_FIRST);
}

Test(command_window, begins_again_with_a_few_after_an_idle_second)
{
    struct trip trip = trip_new();
    trip.now += COMMAND_WINDOW_ALONE_MS;
    while (go_round(&trip, 0, 0) < COMMAND_WINDOW_MAX)
        continue;
    trip.now += COMMAND_WINDOW_IDLE_MS - 11;
    cr_assert_eq(go_round(&trip, 0, 0), COMMAND_WINDOW_MAX);
    trip.now += COMMAND_WINDOW_IDLE_MS - 10;
    cr_assert_eq(fill(&trip, 0), COMMAND_WINDOW_FIRST);
}

Test(command_window, stays_while_nothing_is_decided)
{
    struct trip trip = trip_new();
    cr_assert_eq(fill(&trip, 0), COMMAND_WINDOW_FIRST);
    for (int i = 0; i < 100; i++) {
        trip.now += 50;
        command_window_saw(&trip.window, 1000, trip.now);
        cr_assert_eq(fill(&trip, 0), COMMAND_WINDOW_FIRST);
    }
}

Test(command_window, accepts_twice_what_others_wait_at_least)
{
    struct trip trip = trip_new();
    command_window_saw(&trip.window, 30, trip.now);
    cr_assert_eq(command_window_target_ms(&trip.window, trip.now), 60);
    cr_assert_eq(go_round(&trip, 60, 3), 16);
    cr_assert_eq(go_round(&trip, 61, 3), 17);
    cr_assert_eq(go_round(&trip, 60, 3), 8);
    cr_assert_eq(go_round(&trip, 60, 3), 9);
}

Test(command_window, forgets_what_others_waited_after_ten_seconds)
{
    struct trip trip = trip_new();
    command_window_saw(&trip.window, 3, trip.now);
    trip.now += 5000;
    command_window_saw(&trip.window, 40, trip.now);
    trip.now += 4999;
    cr_assert_eq(command_window_target_ms(&trip.window, trip.now), 6);
    trip.now += 1;
    cr_assert_eq(command_window_target_ms(&trip.window, trip.now), 80);
    trip.now += 10000;
    cr_assert_eq(command_window_target_ms(&trip.window, trip.now), COMMAND_WINDOW_TARGET_MS);
}

Test(command_window, takes_a_wait_of_less_than_nothing_for_none)
{
    struct trip trip = trip_new();
    command_window_saw(&trip.window, -70, trip.now);
    cr_assert_eq(go_round(&trip, 6, 1), 16);
    cr_assert_eq(fill(&trip, 0), 17); /* 3 ms on average */
}

Test(command_window, keeps_as_many_on_their_way_as_others_where_it_is_fair)
{
    struct trip trip = trip_new();
    command_window_init(&trip.window, true);
    command_window_saw(&trip.window, 0, trip.now);
    for (int i = 0; i < 5; i++)
        go_round(&trip, 50, 30);
    cr_assert_eq(go_round(&trip, 50, 70), 30);
    cr_assert_eq(go_round(&trip, 50, 0), 70);
    cr_assert_leq(go_round(&trip, 0, 0), COMMAND_WINDOW_MIN + 1);
}

Test(command_window, keeps_some_on_their_way_for_what_is_long_overdue)
{
    struct trip trip = trip_new();
    command_window_saw(&trip.window, 0, trip.now);
    for (int i = 0; i < 5; i++)
        go_round(&trip, 50, 30);
    cr_assert_eq(fill(&trip, COMMAND_WINDOW_OVERDUE_MS), COMMAND_WINDOW_MIN);
    cr_assert_eq(fill(&trip, COMMAND_WINDOW_OVERDUE_MS + 1), COMMAND_WINDOW_OVERDUE);
}
