/* SPDX-License-Identifier: Apache-2.0 */
/* An owner and time: what the acknowledgements of its records say about this machine's clock. */
#include "platform/logger.h"

#include "base/rfc3339.h"
#include "services/scheduler/owner_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { MEASURE_AGAIN_US = 10000000 };

static const char clock_skew[] = "ClockSkew";

void owner_measure_clock(struct owner *owner, int64_t sent_us)
{
    struct clock_guard *guard = &owner->clock_guard;
    bool was_bad = guard->bad;
    owner->measured_us = clock_mono_us(owner->cluster->service->clock);
    assert(sent_us <= owner->measured_us);
    clock_guard_measure(guard, owner->cluster->service->clock, sent_us,
                        broker_appended_at(owner->cluster->broker));
    if (!was_bad || guard->bad)
        return;
    log_info("this machine's clock is right again: commands are decided",
             LOG_I64("partition", owner->partition));
    if (strcmp(owner->trouble.code, clock_skew) == 0)
        owner->trouble = (struct error){0};
}

const struct clock_guard *owner_clock(const struct owner *owner)
{
    return &owner->clock_guard;
}

bool owner_is_ahead(const struct owner *owner)
{
    return clock_guard_is_ahead(&owner->clock_guard, owner->cluster->service->clock,
                                view_checkpoint(follower_view(owner->follower))->newest_decided_at);
}

void owner_stop_ahead(struct owner *owner)
{
    struct error error;
    char newest[RFC3339_TEXT_SIZE];
    char broker[RFC3339_TEXT_SIZE];
    int64_t mono_us = clock_mono_us(owner->cluster->service->clock);
    assert(owner->clock_guard.known);
    rfc3339_format(view_checkpoint(follower_view(owner->follower))->newest_decided_at, newest);
    rfc3339_format(clock_guard_broker_ms(&owner->clock_guard, mono_us), broker);
    error_set(&error, ERROR_FATAL, "ClockAhead",
              "the newest Decision of the partition says %s, but by the brokers' clocks it is %s: "
              "no deadline would pass until then. Make sure that the brokers' clocks are right, "
              "then lower it: `reeve partition reset --partition %" PRId32
              " --newest-decision now`",
              newest, broker, owner->partition);
    owner_stop(owner, &error);
}

static void on_measured(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct owner *owner = ctx;
    if (!owner_answered(owner, token) || owner->state != OWNER_MEASURING ||
        !owner_as_expected(owner, offset, error))
        return;
    assert(owner->item_count == 0);
    assert(view_checkpoint(follower_view(owner->follower))->next_event_offset ==
           owner->expected_offset);
    owner_measure_clock(owner, owner->sent_us);
    owner_set_state(owner, OWNER_RUNNING);
    owner_step_soon(owner);
}

/* A Continuation says nothing new, and its acknowledgement brackets the clocks. */
static bool measure(struct owner *owner)
{
    struct view *view = follower_view(owner->follower);
    const struct clock *clock = owner->cluster->service->clock;
    int64_t offset = view_checkpoint(view)->next_event_offset;
    struct continuation continuation;
    admission_state(view_checkpoint(view), &continuation);
    continuation.written_at = clock_wall_ms(clock);
    owner->value.size = 0;
    codec_encode(owner->cluster->codec, RECORD_CONTINUATION, &continuation, &owner->value);
    struct text value = {(const char *)owner->value.data, (uint32_t)owner->value.size};
    struct broker_append append = {.producer = BROKER_PRODUCER_LOG,
                                   .topic = owner->cluster->topics.events,
                                   .partition = owner->partition,
                                   .key = text_of(owner->cluster->service->instance_id),
                                   .value = value,
                                   .done = on_measured,
                                   .ctx = owner,
                                   .token = owner->claim_number};
    assert(owner->state == OWNER_RUNNING && owner->item_count == 0);
    assert(offset == owner->expected_offset);
    owner->sent_us = owner->measured_us = clock_mono_us(clock);
    if (broker_append(owner->cluster->broker, &append, NULL) != ERROR_OK)
        return false;
    owner->outstanding++;
    owner_set_state(owner, OWNER_MEASURING);
    view_continued(view, &continuation, value, offset);
    assert(view_checkpoint(view)->next_event_offset == offset + 1);
    return true;
}

bool owner_pause_for_clock(struct owner *owner)
{
    assert(owner->state == OWNER_RUNNING);
    assert(owner->clock_guard.bad);
    error_set(&owner->trouble, ERROR_RETRY, clock_skew,
              "this machine's clock is %" PRId64 " ms off the brokers' append times: set it; no "
              "commands are decided until then",
              owner->clock_guard.skew_ms);
    log_warning_limited("no commands are decided", LOG_I64("partition", owner->partition),
                        LOG_ERR(&owner->trouble));
    return clock_mono_us(owner->cluster->service->clock) - owner->measured_us >= MEASURE_AGAIN_US &&
           measure(owner);
}
