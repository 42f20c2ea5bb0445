/* SPDX-License-Identifier: Apache-2.0 */
/* An owner and time: what the acknowledgements of its records say about this machine's clock. */
#include "platform/logger.h"

#include "base/rfc3339.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <inttypes.h>

enum { MEASURE_AGAIN_US = 10000000 };

void owner_clock_init(struct owner *owner)
{
    clock_guard_init(&owner->clock.guard, owner->options.margin_ms);
}

void owner_measure_clock(struct owner *owner, int64_t sent_us)
{
    struct clock_guard *guard = &owner->clock.guard;
    bool was_bad = guard->bad;
    owner->clock.measured_us = clock_mono_us(owner->cluster->service->clock);
    assert(sent_us <= owner->clock.measured_us);
    clock_guard_measure(guard, owner->cluster->service->clock, sent_us,
                        broker_appended_at(owner->cluster->broker));
    if (!was_bad || guard->bad)
        return;
    log_info("this machine's clock is right again: commands are decided",
             LOG_I64("partition", owner->partition));
    if (owner->trouble.code == CODE_CLOCK_SKEW)
        owner->trouble = (struct error){0};
}

const struct clock_guard *owner_clock(const struct owner *owner)
{
    return &owner->clock.guard;
}

int64_t owner_now(const struct owner *owner, int64_t mono_us, int64_t command_time)
{
    return clock_guard_now(&owner->clock.guard, owner->cluster->service->clock, mono_us,
                           command_time, follower_checkpoint(owner->follower)->newest_decided_at);
}

bool owner_is_ahead(const struct owner *owner)
{
    return clock_guard_is_ahead(&owner->clock.guard, owner->cluster->service->clock,
                                follower_checkpoint(owner->follower)->newest_decided_at);
}

void owner_stop_ahead(struct owner *owner)
{
    struct error error;
    char newest[RFC3339_TEXT_SIZE];
    char broker[RFC3339_TEXT_SIZE];
    int64_t mono_us = clock_mono_us(owner->cluster->service->clock);
    assert(owner->clock.guard.known);
    rfc3339_format(follower_checkpoint(owner->follower)->newest_decided_at, newest);
    rfc3339_format(clock_guard_broker_ms(&owner->clock.guard, mono_us), broker);
    error_set(&error, CODE_CLOCK_AHEAD,
              "the newest Decision of the partition says %s, but by the brokers' clocks it is %s: "
              "no deadline would pass until then. Make sure that the brokers' clocks are right, "
              "then lower it: `reeve partition reset --partition %" PRId32
              " --newest-decision now`",
              newest, broker, owner->partition);
    owner_stop(owner, &error);
}

/* A Continuation says nothing new, and its acknowledgement brackets the clocks. */
bool owner_pause_for_clock(struct owner *owner)
{
    assert(owner->state == OWNER_RUNNING);
    assert(owner->clock.guard.bad);
    error_set(&owner->trouble, CODE_CLOCK_SKEW,
              "this machine's clock is %" PRId64 " ms off the brokers' append times: set it; no "
              "commands are decided until then",
              owner->clock.guard.skew_ms);
    log_warning_limited("no commands are decided", LOG_I64("partition", owner->partition),
                        LOG_ERR(&owner->trouble));
    int64_t now_us = clock_mono_us(owner->cluster->service->clock);
    if (now_us - owner->clock.measured_us < MEASURE_AGAIN_US)
        return false;
    owner->clock.measured_us = now_us;
    return owner_continue(owner, -1);
}
