/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that this machine's clock agrees with the brokers': compares wall time with the append
 * times of records that were just appended. A delay between append and reading looks like a clock
 * that is ahead, so "ahead" is the smallest difference of a window. */
#ifndef KAFKA_CLOCK_GUARD_H
#define KAFKA_CLOCK_GUARD_H

#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_GUARD_WINDOW = 32 };

struct clock_guard {
    int64_t limit_ms; /* half of clock.skew.max.ms */
    int64_t smallest; /* of the window that is filling */
    uint32_t count;
    int64_t skew_ms; /* as of the last window: this clock minus the broker's */
    bool bad;
};

void clock_guard_init(struct clock_guard *guard, int64_t limit_ms);
/* Takes a record that was appended just now (the reader was at the end of the log). */
void clock_guard_observe(struct clock_guard *guard, int64_t wall_ms, int64_t append_ms);

#endif
