/* SPDX-License-Identifier: Apache-2.0 */
/* See command_window.h. */
#include "replica/command_window.h"

#include <assert.h>

void command_window_init(struct command_window *ret_window, bool fair)
{
    *ret_window = (struct command_window){
        .size = COMMAND_WINDOW_FIRST, .fair = fair, .other_at = INT64_MIN / 2};
    for (int i = 0; i < COMMAND_WINDOW_SECONDS; i++)
        ret_window->shortest[i].second = INT64_MIN / 2;
}

static int64_t second_of(int64_t now)
{
    assert(now >= 0); /* monotonic */
    return now / 1000;
}

void command_window_saw(struct command_window *window, int64_t wait_ms, int64_t now)
{
    int64_t second = second_of(now);
    if (wait_ms < 0)
        wait_ms = 0;
    if (window->shortest[second % COMMAND_WINDOW_SECONDS].second != second ||
        window->shortest[second % COMMAND_WINDOW_SECONDS].wait_ms > wait_ms) {
        window->shortest[second % COMMAND_WINDOW_SECONDS].second = second;
        window->shortest[second % COMMAND_WINDOW_SECONDS].wait_ms = wait_ms;
    }
    window->waited_ms += wait_ms;
    window->others++;
    window->other_at = now;
}

void command_window_sent(struct command_window *window, int64_t now)
{
    window->sent++;
    window->sent_at = now;
}

int64_t command_window_target_ms(const struct command_window *window, int64_t now)
{
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < COMMAND_WINDOW_SECONDS; i++)
        if (window->shortest[i].second > second_of(now) - COMMAND_WINDOW_SECONDS &&
            window->shortest[i].wait_ms < shortest)
            shortest = window->shortest[i].wait_ms;
    return shortest == INT64_MAX || 2 * shortest < COMMAND_WINDOW_TARGET_MS
               ? COMMAND_WINDOW_TARGET_MS
               : 2 * shortest;
}

static uint32_t at_most(uint32_t size, uint32_t most)
{
    return size < most ? size : most;
}

/* One that held nothing back has not shown what it does to others, and does not grow. */
static void adjust(struct command_window *window, int64_t now)
{
    if (window->others > 0 &&
        window->waited_ms / window->others > command_window_target_ms(window, now))
        window->size =
            window->size / 2 > COMMAND_WINDOW_MIN ? window->size / 2 : COMMAND_WINDOW_MIN;
    else if (window->limited && now - window->other_at >= COMMAND_WINDOW_ALONE_MS)
        window->size = at_most(2 * window->size, COMMAND_WINDOW_MAX);
    else if (window->limited)
        window->size = at_most(window->size + 1, COMMAND_WINDOW_MAX);
    window->fair_size = window->fair ? window->others : 0;
    window->round_end = window->sent;
    window->waited_ms = 0;
    window->others = 0;
    window->limited = false;
    assert(window->size >= COMMAND_WINDOW_MIN && window->size <= COMMAND_WINDOW_MAX);
}

bool command_window_permits(struct command_window *window, uint32_t on_their_way,
                            int64_t overdue_ms, int64_t now)
{
    assert(on_their_way <= window->sent);
    if (window->sent - on_their_way > window->round_end)
        adjust(window, now);
    if (on_their_way == 0 && now - window->sent_at >= COMMAND_WINDOW_IDLE_MS)
        window->size = at_most(window->size, COMMAND_WINDOW_FIRST);
    uint32_t size = window->size;
    if (overdue_ms > COMMAND_WINDOW_OVERDUE_MS && size < COMMAND_WINDOW_OVERDUE)
        size = COMMAND_WINDOW_OVERDUE;
    if (size < window->fair_size)
        size = window->fair_size;
    return on_their_way < size;
}

void command_window_limited(struct command_window *window)
{
    window->limited = true;
}
