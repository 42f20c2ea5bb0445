/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/ticks.h"

#include "base/rfc3339.h"

#include <assert.h>
#include <stdio.h>

enum { MINUTE_S = 60, DATE_AND_TIME = 19, DATE_AND_MINUTE = 16 };
/* From where ticks are looked for, in both directions; the calendar begins before. */
#define MOMENT_MIN INT64_C(-62135596800) /* 0001-01-01 */
#define MOMENT_MAX INT64_C(253370764800) /* 9999-01-01 */

static int64_t floor_to(int64_t number, int64_t unit)
{
    int64_t rest = number % unit;
    return number - (rest < 0 ? rest + unit : rest);
}

static int64_t next_by_cron(const struct ticks *ticks, int64_t moment)
{
    int64_t local = moment + zone_span_at(&ticks->zone, moment).offset_s;
    int64_t minute = floor_to(local, MINUTE_S) / MINUTE_S;
    int64_t tick = moment;
    /* A minute that the clocks show for the second time was due before. */
    while (tick <= moment) {
        minute = cron_next(&ticks->cron, minute + 1);
        if (minute == CRON_NEVER)
            return TICK_NEVER;
        tick = zone_moment_of(&ticks->zone, minute * MINUTE_S);
    }
    return tick;
}

int64_t ticks_next(const struct ticks *ticks, int64_t moment)
{
    if (moment < MOMENT_MIN)
        moment = MOMENT_MIN;
    if (moment >= MOMENT_MAX)
        return TICK_NEVER;
    if (ticks->every_s == 0)
        return next_by_cron(ticks, moment);
    int64_t tick = floor_to(moment, ticks->every_s) + ticks->every_s;
    return tick < MOMENT_MAX ? tick : TICK_NEVER;
}

/* Those of a span that is not before `from`, the last of them in a ring. */
static uint32_t fill(const struct ticks *ticks, int64_t from, int64_t to, uint32_t most,
                     int64_t *ring)
{
    uint32_t count = 0;
    for (int64_t tick = ticks_next(ticks, from - 1); tick <= to; tick = ticks_next(ticks, tick))
        ring[count++ % most] = tick;
    return count;
}

static void reverse(int64_t *of, uint32_t from, uint32_t to)
{
    for (; from + 1 < to; from++, to--) {
        int64_t moved = of[from];
        of[from] = of[to - 1];
        of[to - 1] = moved;
    }
}

uint32_t ticks_last(const struct ticks *ticks, int64_t from, int64_t to, uint32_t most,
                    int64_t *ret_ticks)
{
    int64_t span = (int64_t)most * MINUTE_S;
    uint32_t count = 0;
    assert(most > 0);
    if (from < MOMENT_MIN)
        from = MOMENT_MIN;
    if (ticks->every_s > 0 && to - from > ticks->every_s * most)
        from = floor_to(to, ticks->every_s) - ticks->every_s * (most - 1);
    /* Ever longer spans before `to`, so that each has few more than there must be. */
    for (bool all = from > to; !all && count < most; span *= 4) {
        all = to - from <= span || ticks->every_s > 0;
        count = fill(ticks, all ? from : to - span, to, most, ret_ticks);
    }
    if (count <= most)
        return count;
    uint32_t first = count % most; /* of the ring */
    reverse(ret_ticks, 0, first);
    reverse(ret_ticks, first, most);
    reverse(ret_ticks, 0, most);
    return most;
}

/* "2026-11-24T02:00:00" */
static void date_and_time(int64_t tick, char ret_text[RFC3339_TEXT_SIZE])
{
    assert(tick > -MOMENT_MAX && tick < MOMENT_MAX);
    rfc3339_format(tick * 1000, ret_text);
}

void tick_text(int64_t tick, char ret_text[TICK_TEXT_SIZE])
{
    char text[RFC3339_TEXT_SIZE];
    date_and_time(tick, text);
    snprintf(ret_text, TICK_TEXT_SIZE, "%.*sZ", DATE_AND_TIME, text);
}

void tick_short_text(int64_t tick, char ret_text[TICK_TEXT_SIZE])
{
    char text[RFC3339_TEXT_SIZE];
    date_and_time(tick, text);
    snprintf(ret_text, TICK_TEXT_SIZE, "%.*sZ",
             tick % MINUTE_S == 0 ? DATE_AND_MINUTE : DATE_AND_TIME, text);
}
