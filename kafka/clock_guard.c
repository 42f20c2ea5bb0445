/* SPDX-License-Identifier: Apache-2.0 */
#include "kafka/clock_guard.h"

#include <assert.h>

void clock_guard_init(struct clock_guard *guard, int64_t limit_ms)
{
    assert(limit_ms >= 0);
    *guard = (struct clock_guard){.limit_ms = limit_ms, .smallest = INT64_MAX};
}

void clock_guard_observe(struct clock_guard *guard, int64_t wall_ms, int64_t append_ms)
{
    int64_t difference = wall_ms - append_ms;
    if (difference < guard->smallest)
        guard->smallest = difference;
    /* Read before it was appended: a delay cannot explain that. */
    if (difference < -guard->limit_ms) {
        guard->bad = true;
        guard->skew_ms = difference;
        guard->count = 0;
        guard->smallest = INT64_MAX;
        return;
    }
    if (++guard->count < CLOCK_GUARD_WINDOW)
        return;
    guard->skew_ms = guard->smallest;
    guard->bad = guard->smallest > guard->limit_ms;
    guard->count = 0;
    guard->smallest = INT64_MAX;
}
