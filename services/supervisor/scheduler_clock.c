/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/scheduler_clock.h"

#include <assert.h>

void scheduler_clock_init(struct scheduler_clock *ret_clock)
{
    *ret_clock = (struct scheduler_clock){.lead_min = INT64_MIN / 2, .lead_max = INT64_MAX / 2};
}

void scheduler_clock_decided(struct scheduler_clock *clock, int64_t newest_decided_at, int64_t mono)
{
    int64_t lead = newest_decided_at - mono;
    if (lead > clock->lead_min)
        clock->lead_min = lead;
    if (clock->lead_min > clock->lead_max) /* the scheduler's clock was set, or another decides */
        clock->lead_max = clock->lead_min;
}

void scheduler_clock_reset(struct scheduler_clock *clock, int64_t newest_decided_at, int64_t mono)
{
    scheduler_clock_init(clock);
    scheduler_clock_decided(clock, newest_decided_at, mono);
}

void scheduler_clock_refused(struct scheduler_clock *clock, int64_t decided_at, int64_t sent_mono)
{
    int64_t lead = decided_at - sent_mono;
    if (lead < clock->lead_max)
        clock->lead_max = lead > clock->lead_min ? lead : clock->lead_min;
    assert(clock->lead_min <= clock->lead_max);
}

int64_t scheduler_clock_now(const struct scheduler_clock *clock, int64_t own, int64_t mono)
{
    assert(clock->lead_min <= clock->lead_max);
    if (own < clock->lead_min + mono)
        return clock->lead_min + mono;
    return own < clock->lead_max + mono ? own : clock->lead_max + mono;
}
