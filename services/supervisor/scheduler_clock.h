/* SPDX-License-Identifier: Apache-2.0 */
/* What a supervisor knows of the time of the scheduler that owns its partition, which decides what
 * is due. Two facts, each as a lead over the monotonic clock:
 *
 * - It is at least as late as the newest Decision says, and as late again as what has passed since
 *   that was read. Any Decision proves that, whatever its age. Only a Reset lowers it.
 * - It was at most what a refusal as not yet due says, plus what had passed since the command was
 *   sent. Only the answer to a command of this supervisor proves that: any other refusal may have
 *   waited in the log for as long as the partition was idle. It bounds this machine's clock, which
 *   may be fast.
 *
 * Times are in ms. Pure. */
#ifndef SERVICES_SUPERVISOR_SCHEDULER_CLOCK_H
#define SERVICES_SUPERVISOR_SCHEDULER_CLOCK_H

#include <stdint.h>

struct scheduler_clock {
    int64_t lead_min;
    int64_t lead_max; /* never less than lead_min */
};

/* Nothing is known. */
void scheduler_clock_init(struct scheduler_clock *ret_clock);
/* The newest Decision, read at the monotonic time `mono`. */
void scheduler_clock_decided(struct scheduler_clock *clock, int64_t newest_decided_at,
                             int64_t mono);
/* A Reset has lowered the time of the newest Decision: what was known before is void. */
void scheduler_clock_reset(struct scheduler_clock *clock, int64_t newest_decided_at, int64_t mono);
/* A command sent at the monotonic time `sent_mono` was refused as not yet due. */
void scheduler_clock_refused(struct scheduler_clock *clock, int64_t decided_at, int64_t sent_mono);
/* The scheduler's time, if this machine shows `own`. */
int64_t scheduler_clock_now(const struct scheduler_clock *clock, int64_t own, int64_t mono);

#endif
