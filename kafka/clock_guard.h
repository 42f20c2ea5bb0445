/* SPDX-License-Identifier: Apache-2.0 */
/* Compares this machine's clock with the brokers', and knows what time it is there.
 *
 * Each acknowledgement brackets the clocks: its record was appended between the send and the
 * answer. So at that moment this clock showed something between its present time minus what has
 * passed since the send, and its present time. The clock is bad if all of that is further than half
 * the margin from the append time. A slow broker or a busy process only makes the bracket wider:
 * then it proves less. Passed time is monotonic, so of a clock that jumps in between, what it shows
 * now is what counts. */
#ifndef KAFKA_CLOCK_GUARD_H
#define KAFKA_CLOCK_GUARD_H

#include "platform/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct clock_guard {
    int64_t margin_ms; /* clock.skew.max.ms */
    bool known; /* an append time was measured: the brokers' time is the monotonic one plus ... */
    int64_t lead_ms_min; /* ... this at least: as if appended when the answer came ... */
    int64_t lead_ms_max; /* ... and this at most: as if appended when it was sent */
    bool bad;
    int64_t bad_since_us; /* monotonic: the measurement that found it bad first ... */
    int64_t bad_until_us; /* ... and the last one that did */
    int64_t skew_ms;      /* this clock minus the broker's, at least; 0: no difference is proved */
};

void clock_guard_init(struct clock_guard *guard, int64_t margin_ms);
/* A record sent at the monotonic time `sent_us` is acknowledged now, with this append time. 0, an
 * unknown one, says nothing. Only a bracket shorter than half the margin clears a bad verdict. */
void clock_guard_measure(struct clock_guard *guard, const struct clock *clock, int64_t sent_us,
                         int64_t append_ms);
/* The brokers' time at the monotonic time `mono_us`, at most; INT64_MAX while it is unknown. */
int64_t clock_guard_broker_ms(const struct clock_guard *guard, int64_t mono_us);
/* Whether this clock, which is bad, now agrees with what the last measurement says. */
bool clock_guard_agrees(const struct clock_guard *guard, const struct clock *clock);

/* What a decision takes as the time: this clock, but at most half the margin after the least that
 * the brokers' time can be, of which the append time of the command decided is one more proof, and
 * at most half the margin before that command; and never before `newest`, the latest time that was
 * decided at. While the brokers' time is unknown only the last applies. */
int64_t clock_guard_now(const struct clock_guard *guard, const struct clock *clock, int64_t mono_us,
                        int64_t command_ms, int64_t newest_ms);
/* `newest` is so far beyond the brokers' time that deciding on would stop all deadlines. */
bool clock_guard_is_ahead(const struct clock_guard *guard, const struct clock *clock,
                          int64_t newest_ms);

#endif
