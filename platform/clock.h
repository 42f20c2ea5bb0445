/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Code that needs the time gets a clock or the time itself as an argument, so that it also
 * runs in the simulation; clock.c is the only file that reads the operating system's clocks.
 *
 * Wall time (milliseconds since the epoch, UTC) goes into records; it may jump. Monotonic time
 * (its zero is arbitrary) is for timers and for measuring; it goes on while the machine sleeps. */
#ifndef PLATFORM_CLOCK_H
#define PLATFORM_CLOCK_H

#include <stdint.h>
#include <time.h>

struct clock {
    int64_t (*wall_ms)(void *ctx);
    int64_t (*mono_ms)(void *ctx);
    int64_t (*mono_us)(void *ctx);
    void *ctx;
};

/* The machine's clock; usable from any thread. Builds with failpoints add the environment's
 * REEVE_CLOCK_OFFSET_MS (read once) to the wall time, for tests of wrong clocks; or the number in
 * the file REEVE_CLOCK_OFFSET_FILE, of 24 bytes, which the test may change at any time. */
const struct clock *clock_real(void);

/* For pthread functions that wait on CLOCK_MONOTONIC, which stands still while the machine sleeps:
 * the time `ms` from now. */
enum { CLOCK_AFTER_MS_MAX = 1000000000 };
struct timespec clock_monotonic_after(int64_t ms);

static inline int64_t clock_wall_ms(const struct clock *clock)
{
    return clock->wall_ms(clock->ctx);
}

static inline int64_t clock_mono_ms(const struct clock *clock)
{
    return clock->mono_ms(clock->ctx);
}

static inline int64_t clock_mono_us(const struct clock *clock)
{
    return clock->mono_us(clock->ctx);
}

/* ---- for tests: a clock that they set; init, then add to the fields ---- */

struct clock_manual {
    struct clock clock; /* hand out &manual.clock */
    int64_t now_wall_ms;
    int64_t now_mono_us;
};

void clock_manual_init(struct clock_manual *manual, int64_t wall_ms);
/* Adds `ms` to both times. */
void clock_manual_advance(struct clock_manual *manual, int64_t ms);

#endif
