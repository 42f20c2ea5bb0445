/* SPDX-License-Identifier: Apache-2.0 */
/* From the checked log to a claim that decides: catches up, claims, folds the rest. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <sys/random.h>

enum {
    CLAIM_WITHIN = 1000, /* claims when no more records than these came while it folded */
    CAREFUL_COMMANDS = 16,
    QUERY_AGAIN_MS = 500
};

/* ---- catching up ---- */

static void claim_partition(struct owner *owner);
static void on_stopped(void *ctx, const struct error *error);

/* A log that lost its claim may never reach that offset again: there would be nothing to fold. */
static void check_claim(struct owner *owner, int64_t log_end)
{
    assert(owner->state == OWNER_FOLDING);
    if (log_end <= owner->claim.offset)
        owner_give_up(owner, CODE_CLAIM_NOT_FOUND, "the log ends before the offset of our claim");
}

static void on_log_end(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct owner *owner = ctx;
    bool failed = error != NULL && error_is(error);
    (void)low;
    assert(owner->claim.asking);
    owner->claim.asking = false;
    if (!owner_answered(owner, owner->claim_number))
        return;
    if (owner->state == OWNER_FOLDING && !failed)
        check_claim(owner, high);
    if (owner->state != OWNER_CATCHING_UP)
        return;
    if (failed) {
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, QUERY_AGAIN_MS);
        return;
    }
    owner->claim.catch_up_to = high;
    owner_catch_up(owner);
}

void owner_ask_for_log_end(struct owner *owner)
{
    assert(owner->state == OWNER_CATCHING_UP || owner->state == OWNER_FOLDING);
    assert(!owner->claim.asking || owner->outstanding > 0);
    if (owner->claim.asking)
        return;
    owner->claim.asking = true;
    owner->outstanding++;
    broker_offsets(owner->cluster->broker, owner->cluster->topics.events, owner->partition,
                   on_log_end, owner);
}

static void find_log_end(struct owner *owner)
{
    assert(owner->state == OWNER_CATCHING_UP);
    owner->claim.round_from = follower_checkpoint(owner->follower)->next_event_offset;
    owner->claim.catch_up_to = INT64_MAX;
    owner_ask_for_log_end(owner);
}

void owner_catch_up(struct owner *owner)
{
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    int64_t next = checkpoint->next_event_offset;
    assert(owner->state == OWNER_CATCHING_UP);
    if (owner->claim.catch_up_to == INT64_MAX)
        find_log_end(owner);
    else if (next >= owner->claim.catch_up_to && next - owner->claim.round_from > CLAIM_WITHIN)
        find_log_end(owner); /* more has come in that time */
    else if (next >= owner->claim.catch_up_to && !owner->suspended && checkpoint->complete)
        claim_partition(owner);
}

/* The follower knows where the log ends, or (-1) the broker is asked. */
static void begin_catching_up(struct owner *owner, int64_t log_end)
{
    assert(owner_cycle_has_ended(owner));
    owner_set_state(owner, OWNER_CATCHING_UP);
    owner->claim.round_from = follower_checkpoint(owner->follower)->next_event_offset;
    owner->claim.catch_up_to = log_end < 0 ? INT64_MAX : log_end;
    owner_catch_up(owner);
}

void owner_promote(struct owner *owner)
{
    assert(owner->state == OWNER_STANDBY);
    assert(!owner->released && !owner->suspended);
    assert(owner->claim_number == 0 && owner->outstanding == 0);
    log_info("standby takes over", LOG_I64("partition", owner->partition),
             LOG_STR("follower", follower_is_folding(owner->follower) ? "folding" : "checking"),
             LOG_I64("lag", owner_lag(owner)));
    owner->claim.folded = 0;
    if (follower_is_folding(owner->follower)) {
        begin_catching_up(owner, -1);
        return;
    }
    owner_set_state(owner, OWNER_CHECKING);
    follower_restart(owner->follower, false, 0);
}

bool owner_log_end_is_known(const struct owner *owner)
{
    return owner->claim.catch_up_to != INT64_MAX;
}

bool owner_is_warm(const struct owner *owner)
{
    return owner->state == OWNER_STANDBY && owner->claim.warm &&
           follower_is_folding(owner->follower);
}

/* ---- claiming ---- */

static void on_claimed(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct owner *owner = ctx;
    if (!owner_answered(owner, token) || owner->state != OWNER_CLAIMING)
        return;
    if (error != NULL && error->class == ERROR_REJECT) {
        owner_give_up_for(owner, error); /* for one, we may not write there */
        return;
    }
    if (error != NULL && error_is(error)) {
        owner_give_up(owner, CODE_CLAIM_UNKNOWN, "the offset of the claim is unknown");
        return;
    }
    FAILPOINT("claim.acknowledged");
    owner_measure_clock(owner, owner->claim.sent_us);
    metrics_add(owner->metrics->claims, 1);
    assert(owner_cycle_has_ended(owner));
    owner->claim.offset = offset;
    owner_append_begin(owner, offset + 1);
    owner_set_state(owner, OWNER_FOLDING);
    const struct error *stop;
    if (follower_is_stopped(owner->follower, &stop)) { /* since the claim was sent */
        on_stopped(owner, stop);
        return;
    }
    owner_inspect_ahead(owner);
    follower_bound(owner->follower, offset);
}

static void claim_partition(struct owner *owner)
{
    struct error error;
    assert(!owner->released);
    assert(!owner->suspended && owner_cycle_has_ended(owner));
    /* An owner that cannot read the log never fences one that can. */
    assert(follower_checkpoint(owner->follower)->next_event_offset >= owner->claim.catch_up_to);
    assert(follower_checkpoint(owner->follower)->complete);
    struct claim claim = {.instance = text_of(owner->cluster->service->instance_id),
                          .claimed_at = clock_wall_ms(owner->cluster->service->clock),
                          .partition_count = owner->cluster->partition_count,
                          .format = STATE_FORMAT};
    ssize_t random = getrandom(claim.claim_id.bytes, sizeof(claim.claim_id.bytes), 0);
    assert(random == (ssize_t)sizeof(claim.claim_id.bytes));
    owner->claim_id = claim.claim_id;
    owner->claimed_at = claim.claimed_at;
    owner->claim_number++;
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    owner_set_state(owner, OWNER_CLAIMING);
    FAILPOINT("claim.begin");
    owner->claim.sent_us = clock_mono_us(owner->cluster->service->clock);
    owner->claim.producer_deaths =
        broker_producer_deaths(owner->cluster->broker, BROKER_PRODUCER_LOG);
    enum error_class class = cluster_append(
        owner->cluster, BROKER_PRODUCER_LOG, owner->cluster->topics.events, owner->partition,
        claim.instance, RECORD_CLAIM, &claim, on_claimed, owner, owner->claim_number, &error);
    if (class != ERROR_OK) {
        owner_give_up_for(owner, &error);
        return;
    }
    owner->outstanding++;
}

static void on_checked(void *ctx)
{
    struct owner *owner = ctx;
    assert(!owner_is_running(owner));
    /* A doubt checked the log again, perhaps about our claim before it is acknowledged. */
    if (owner->state == OWNER_STANDBY || owner->state == OWNER_CLAIMING) {
        follower_run(owner->follower, INT64_MAX);
        return;
    }
    if (owner->state == OWNER_FOLDING) { /* the follower checked the log again on the way */
        follower_run(owner->follower, owner->claim.offset);
        return;
    }
    /* The follower checks again by itself: after a stop, and where it doubts the log. */
    bool end_known = owner->state == OWNER_CHECKING; /* a doubt does not ask for it */
    if (owner->state == OWNER_STOPPED || owner->state == OWNER_CATCHING_UP)
        owner_set_state(owner, OWNER_CHECKING);
    if (owner->state != OWNER_CHECKING) /* it gives up or runs: that goes on as it is */
        return;
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    assert(owner_cycle_has_ended(owner));
    int64_t log_end = end_known ? checkpoint->next_event_offset + owner_lag(owner) : -1;
    follower_run(owner->follower, INT64_MAX);
    begin_catching_up(owner, log_end);
}

/* ---- deciding ---- */

bool owner_has_lost_its_producer(const struct owner *owner)
{
    return broker_producer_deaths(owner->cluster->broker, BROKER_PRODUCER_LOG) !=
           owner->claim.producer_deaths;
}

void owner_begin_running(struct owner *owner)
{
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    assert(owner->state == OWNER_INSPECTING);
    assert(owner_has_appended(owner));
    assert(uuid_equal(&checkpoint->claim_id, &owner->claim_id) && checkpoint->next_sequence == 0);
    assert(checkpoint->emitted_through < owner->claim.offset);
    if (owner_is_ahead(owner)) {
        owner_stop_ahead(owner);
        return;
    }
    owner_set_state(owner, OWNER_RUNNING);
    owner->trouble = (struct error){0};
    uint32_t careful = checkpoint->previous_claim_decisions == 0 ? CAREFUL_COMMANDS : 0;
    int64_t mono_us = clock_mono_us(owner->cluster->service->clock);
    emitter_start(owner->emitter, checkpoint->emitted_through, owner->claim.offset,
                  owner_now(owner, mono_us, 0));
    log_info("partition claimed", LOG_I64("partition", owner->partition),
             LOG_I64("claim_offset", owner->claim.offset),
             LOG_I64("next_command", checkpoint->next_command_offset),
             LOG_I64("emitted_through", checkpoint->emitted_through),
             LOG_U64("folded", owner->claim.folded), LOG_U64("commands_to_guard", careful));
    FAILPOINT("claim.running");
    owner_cycle_begin(owner, careful);
}

static void on_caught_up(void *ctx)
{
    struct owner *owner = ctx;
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    owner->claim.warm = true;
    if (owner->state == OWNER_CATCHING_UP) {
        owner->claim.catch_up_to = owner->claim.round_from = checkpoint->next_event_offset;
        owner_catch_up(owner);
    }
    if (owner->state != OWNER_FOLDING)
        return;
    if (checkpoint->next_event_offset != owner->claim.offset + 1 ||
        !uuid_equal(&checkpoint->claim_id, &owner->claim_id)) {
        owner_give_up(owner, CODE_CLAIM_NOT_FOUND, "the log does not hold our claim at its offset");
        return;
    }
    assert(owner_has_appended(owner));
    FAILPOINT("claim.folded");
    owner_set_state(owner, OWNER_INSPECTING);
    owner_inspect(owner);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct owner *owner = ctx;
    assert(!owner_is_running(owner)); /* then it folds what it decides, itself */
    owner->claim.folded++;
    owner->progress++;
    /* By the timer: a follower is not restarted, and no claim begins, inside of its callback. */
    if (owner->state == OWNER_CATCHING_UP && record->offset + 1 >= owner->claim.catch_up_to)
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, 0);
    if (folded->admission != ADMITTED && folded->admission != SKIPPED_REPEAT)
        metrics_add(owner->metrics->skipped, 1);
    bool reset = folded->admission == ADMITTED &&
                 (folded->kind == RECORD_RESET ||
                  (folded->kind == RECORD_CLAIM && folded->record->claim.has_reset));
    if (owner->state == OWNER_STOPPED && reset)
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, 0);
}

static void on_dropped(void *ctx)
{
    struct owner *owner = ctx;
    assert(!owner_is_running(owner));
    owner->claim.warm = false;
    owner_queue_close(owner);
    if (owner->state == OWNER_CATCHING_UP || owner->state == OWNER_FOLDING)
        owner_set_state(owner, OWNER_CHECKING);
}

static void on_stopped(void *ctx, const struct error *error)
{
    struct owner *owner = ctx;
    assert(error_is(error));
    assert(!owner_is_running(owner));
    if (owner->state == OWNER_STANDBY) /* the follower reports it and checks again */
        return;
    owner->trouble = *error;
    if (owner->state == OWNER_CHECKING || owner->state == OWNER_CATCHING_UP ||
        owner->state == OWNER_FOLDING) {
        loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
        owner_queue_close(owner);
        owner_set_state(owner, OWNER_STOPPED);
    }
}

static void on_store_failed(void *ctx, const struct error *error)
{
    struct owner *owner = ctx;
    owner_failed_store(owner, error);
}

const struct follower_ops owner_follower_ops = {.checked = on_checked,
                                                .folded = on_folded,
                                                .caught_up = on_caught_up,
                                                .dropped = on_dropped,
                                                .stopped = on_stopped,
                                                .store_failed = on_store_failed};
