/* SPDX-License-Identifier: Apache-2.0 */
#include "kafka/clock_guard.h"

#include <assert.h>

enum { AHEAD_MARGINS = 10 };

void clock_guard_init(struct clock_guard *guard, int64_t margin_ms)
{
    assert(margin_ms >= 0);
    *guard = (struct clock_guard){.margin_ms = margin_ms};
}

static int64_t limit_of(const struct clock_guard *guard)
{
    return guard->margin_ms / 2;
}

/* ---- measuring ---- */

/* A wide bracket only adds to what is known, unless it contradicts that: clocks were set. */
static void learn_time(struct clock_guard *guard, int64_t least, int64_t most, bool narrow)
{
    bool adds =
        guard->known && !narrow && least <= guard->lead_ms_max && most >= guard->lead_ms_min;
    if (!adds || least > guard->lead_ms_min)
        guard->lead_ms_min = least;
    if (!adds || most < guard->lead_ms_max)
        guard->lead_ms_max = most;
    guard->known = true;
}

void clock_guard_measure(struct clock_guard *guard, const struct clock *clock, int64_t sent_us,
                         int64_t append_ms)
{
    if (append_ms == 0)
        return;
    int64_t limit = limit_of(guard);
    int64_t mono_us = clock_mono_us(clock);
    int64_t wall_ms = clock_wall_ms(clock);
    assert(sent_us <= mono_us);
    /* Both clocks were cut to milliseconds. */
    int64_t least = wall_ms - (mono_us - sent_us + 999) / 1000 - append_ms - 1;
    int64_t most = wall_ms - append_ms + 1;
    bool narrow = mono_us - sent_us < limit * 1000;
    learn_time(guard, append_ms - (mono_us + 999) / 1000, append_ms - sent_us / 1000, narrow);
    if (least > limit || most < -limit) {
        if (!guard->bad)
            guard->bad_since_us = mono_us;
        guard->bad = true;
        guard->bad_until_us = mono_us;
    } else if (narrow) {
        guard->bad = false;
    } else if (guard->bad) {
        return;
    }
    guard->skew_ms = least > 0 ? least : most < 0 ? most : 0;
}

/* ---- the brokers' time ---- */

static int64_t broker_ms_min(const struct clock_guard *guard, int64_t mono_us)
{
    return guard->lead_ms_min + mono_us / 1000;
}

int64_t clock_guard_broker_ms(const struct clock_guard *guard, int64_t mono_us)
{
    return guard->known ? guard->lead_ms_max + (mono_us + 999) / 1000 : INT64_MAX;
}

bool clock_guard_agrees(const struct clock_guard *guard, const struct clock *clock)
{
    assert(guard->known);
    int64_t wall_ms = clock_wall_ms(clock);
    int64_t mono_us = clock_mono_us(clock);
    return wall_ms <= clock_guard_broker_ms(guard, mono_us) + limit_of(guard) &&
           wall_ms >= broker_ms_min(guard, mono_us) - limit_of(guard);
}

int64_t clock_guard_now(const struct clock_guard *guard, const struct clock *clock, int64_t mono_us,
                        int64_t command_ms, int64_t newest_ms)
{
    int64_t now_ms = clock_wall_ms(clock);
    if (guard->known) {
        int64_t limit = limit_of(guard);
        int64_t broker_ms = broker_ms_min(guard, mono_us);
        if (broker_ms < command_ms)
            broker_ms = command_ms;
        if (now_ms < command_ms - limit)
            now_ms = command_ms - limit;
        if (now_ms > broker_ms + limit)
            now_ms = broker_ms + limit;
    }
    return now_ms > newest_ms ? now_ms : newest_ms;
}

bool clock_guard_is_ahead(const struct clock_guard *guard, const struct clock *clock,
                          int64_t newest_ms)
{
    return guard->known && newest_ms - AHEAD_MARGINS * guard->margin_ms >
                               clock_guard_broker_ms(guard, clock_mono_us(clock));
}
