/* SPDX-License-Identifier: Apache-2.0 */
/* The ticks of a schedule: the moments at which an order is due. Pure. Moments are seconds since
 * the epoch.
 *
 * By cron, a local time that the zone's clocks skip is due at the next one that they show, and one
 * that they show twice is due once, at the first. Those of an interval are its
 * multiples since the epoch, so that they do not depend on when a schedule was deployed. */
#ifndef SCHEDULE_TICKS_H
#define SCHEDULE_TICKS_H

#include "schedule/cron.h"
#include "schedule/zone.h"

struct ticks {
    int64_t every_s; /* 0: `cron` in `zone` */
    struct cron cron;
    struct zone zone;
};

/* "2026-11-24T02:00:30Z" and its NUL */
enum { TICK_TEXT_SIZE = 24 };
#define TICK_NEVER INT64_MAX

/* The first tick after `moment`; TICK_NEVER: there is none. */
int64_t ticks_next(const struct ticks *ticks, int64_t moment);
/* The last `most` ticks that are not before `from` and not after `to`, in the order of time.
 * Returns how many there are. */
uint32_t ticks_last(const struct ticks *ticks, int64_t from, int64_t to, uint32_t most,
                    int64_t *ret_ticks);

/* "2026-11-24T02:00:00Z": RFC 3339, as expressions have it. */
void tick_text(int64_t tick, char ret_text[TICK_TEXT_SIZE]);
/* "2026-11-24T02:00Z", with seconds only where they are not 0: as ids of orders have it. */
void tick_short_text(int64_t tick, char ret_text[TICK_TEXT_SIZE]);

#endif
