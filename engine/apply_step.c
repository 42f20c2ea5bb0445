/* SPDX-License-Identifier: Apache-2.0 */
/* Appliers of the events that are about one attempt of one step. The state that each leads to comes
 * from the table in engine/lifecycle.c. */
#include "engine/apply.h"
#include "engine/lifecycle.h"
#include "engine/workflow.h"

#include <assert.h>

static const struct text no_text = {0};

/* The one setter of a step's state. */
static void set_state(struct step *step, enum event_kind kind)
{
    assert(step_event_may_apply(kind, step->direction, step->state));
    step->state = step_state_after(kind, step->direction);
    assert(step->complete_by == 0 || step->state == STEP_PROCESSING);
    assert(step->queued_at == 0 || step->state == STEP_PENDING);
}

/* The attempt no longer runs. */
static void end_attempt(const struct apply_ctx *ctx, struct step *step)
{
    assert(step->state == STEP_PROCESSING);
    assert(step->complete_by != 0);
    step->locked_by = no_text;
    step->complete_by = 0;
    step->extension_ms = 0;
    step->ended_at = ctx->decided_at;
}

/* The counts are those of one direction. */
static void turn(struct step *step, enum direction direction)
{
    assert((unsigned)direction < DIRECTION_COUNT);
    assert(step->direction != direction);
    assert(step->state != STEP_PROCESSING);
    step->direction = direction;
    step->failure_count = 0;
    memset(step->retries_used, 0, sizeof(step->retries_used));
    step->error_name = no_text;
    step->error_message = no_text;
}

static void step_started(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    const struct step_started *started = &event->step_started;
    uint32_t last = step->direction == started->ref.direction ? step->attempt : 0;
    assert(started->ref.attempt == last + 1);
    assert(step->complete_by == 0);
    if (step->direction != started->ref.direction)
        turn(step, started->ref.direction);
    step->attempt = started->ref.attempt;
    step->generation[step->direction] = started->generation;
    step->agent = apply_text(ctx, step->agent, started->agent);
    step->locked_by = apply_text(ctx, step->locked_by, started->locked_by);
    step->complete_by = started->complete_by;
    step->margin_ms = started->margin_ms;
    step->retry_at = 0;
    step->queued_at = 0;
    step->started_at = ctx->decided_at;
    step->inputs = started->inputs;
    step->workflow_version = ctx->order->details.workflow_version;
    if (step->direction == DIRECTION_DO)
        step->started_version = ctx->version;
}

static void step_succeeded(const struct apply_ctx *ctx, struct step *step,
                           const struct event *event)
{
    end_attempt(ctx, step);
    if (step->direction != DIRECTION_DO)
        return;
    step->effect = EFFECT_APPLIED;
    step->completed_version = ctx->version;
    step->output = apply_text(ctx, step->output, event->step_succeeded.output);
}

/* `effect` is that of the attempt's direction from now on. */
static void set_effect(const struct apply_ctx *ctx, struct step *step, enum effect effect)
{
    assert((unsigned)effect < EFFECT_COUNT);
    assert(step->complete_by == 0); /* the attempt has ended */
    if (step->direction == DIRECTION_UNDO) {
        step->undo_effect = effect;
        return;
    }
    if (effect == EFFECT_APPLIED && step->effect != EFFECT_APPLIED)
        step->completed_version = ctx->version;
    step->effect = effect;
}

static void step_failed(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    const struct step_failed *failed = &event->step_failed;
    end_attempt(ctx, step);
    set_effect(ctx, step, failed->effect);
    step->failure_count = failed->failure_count;
    step->error_name = apply_text(ctx, step->error_name, failed->error_name);
    step->error_message = apply_text(ctx, step->error_message, failed->error_message);
}

static void step_timed_out(const struct apply_ctx *ctx, struct step *step,
                           const struct event *event)
{
    const struct step_timed_out *timed_out = &event->step_timed_out;
    end_attempt(ctx, step);
    set_effect(ctx, step, timed_out->effect);
    step->failure_count = timed_out->failure_count;
    step->error_name = TEXT(ERROR_TIMEOUT);
    step->error_message = TEXT("no report came in time");
}

static void step_retry_scheduled(const struct apply_ctx *ctx, struct step *step,
                                 const struct event *event)
{
    (void)ctx;
    const struct step_retry_scheduled *scheduled = &event->step_retry_scheduled;
    assert(scheduled->retrier < RETRIERS_MAX);
    assert(scheduled->retry_at > 0);
    assert(step->complete_by == 0);
    step->retry_at = scheduled->retry_at;
    step->retries_used[scheduled->retrier] = scheduled->retry;
}

static void step_resubmitted(const struct apply_ctx *ctx, struct step *step,
                             const struct event *event)
{
    assert(step->complete_by == 0);
    /* A new key: nothing was applied under it. */
    if (step->generation[step->direction] != event->step_resubmitted.generation)
        set_effect(ctx, step, EFFECT_NONE);
    step->generation[step->direction] = event->step_resubmitted.generation;
    step->failure_count = 0;
    memset(step->retries_used, 0, sizeof(step->retries_used));
}

/* Exhausted, skipped, compensated: only the state changes. */
static void step_marked(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    (void)ctx;
    (void)event;
    assert(step->complete_by == 0);
    step->retry_at = 0;
    step->queued_at = 0;
}

static void step_queued(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    (void)ctx;
    const struct step_queued *queued = &event->step_queued;
    bool turns = step->direction != queued->ref.direction;
    assert(queued->ref.attempt == (turns ? 0 : step->attempt));
    assert(step->complete_by == 0);
    if (turns)
        turn(step, queued->ref.direction);
    step->attempt = queued->ref.attempt;
    step->queued_at = queued->queued_at;
    step->retry_at = queued->retry_at;
}

static void step_extended(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    (void)ctx;
    assert(step->state == STEP_PROCESSING && step->complete_by != 0);
    assert(event->step_extended.complete_by > step->complete_by);
    step->extension_ms += event->step_extended.complete_by - step->complete_by;
    step->complete_by = event->step_extended.complete_by;
}

/* Not waiting any more: for its next attempt, nor for an agent. */
static void end_wait(struct step *step)
{
    assert(step->complete_by == 0);
    step->retry_at = 0;
    step->queued_at = 0;
}

static void step_completed_by_hand(const struct apply_ctx *ctx, struct step *step,
                                   const struct event *event)
{
    end_wait(step);
    step->ended_at = ctx->decided_at;
    if (step->direction != DIRECTION_DO)
        return;
    step->effect = EFFECT_APPLIED;
    step->completed_version = ctx->version;
    step->output = apply_text(ctx, step->output, event->step_completed_by_hand.output);
}

static void step_skipped_by_hand(const struct apply_ctx *ctx, struct step *step,
                                 const struct event *event)
{
    (void)event;
    end_wait(step);
    step->ended_at = ctx->decided_at;
    step->effect = EFFECT_NONE;
}

static void step_failed_by_hand(const struct apply_ctx *ctx, struct step *step,
                                const struct event *event)
{
    const struct step_failed_by_hand *failed = &event->step_failed_by_hand;
    end_wait(step);
    step->failure_count = failed->failure_count;
    step->error_name = apply_text(ctx, step->error_name, failed->error_name);
    step->error_message = apply_text(ctx, step->error_message, failed->reason);
}

typedef void (*applier)(const struct apply_ctx *ctx, struct step *step, const struct event *event);

static const applier appliers[EVENT_KIND_COUNT] = {
    [EVENT_STEP_STARTED] = step_started,
    [EVENT_STEP_SUCCEEDED] = step_succeeded,
    [EVENT_STEP_FAILED] = step_failed,
    [EVENT_STEP_TIMED_OUT] = step_timed_out,
    [EVENT_STEP_RETRY_SCHEDULED] = step_retry_scheduled,
    [EVENT_STEP_EXHAUSTED] = step_marked,
    [EVENT_STEP_SKIPPED] = step_marked,
    [EVENT_STEP_COMPENSATED] = step_marked,
    [EVENT_STEP_RESUBMITTED] = step_resubmitted,
    [EVENT_STEP_QUEUED] = step_queued,
    [EVENT_STEP_EXTENDED] = step_extended,
    [EVENT_STEP_COMPLETED_BY_HAND] = step_completed_by_hand,
    [EVENT_STEP_SKIPPED_BY_HAND] = step_skipped_by_hand,
    [EVENT_STEP_FAILED_BY_HAND] = step_failed_by_hand,
};

/* Every payload of an event of a step begins with the attempt that it speaks of. */
_Static_assert(
    offsetof(struct step_started, ref) == 0 && offsetof(struct step_succeeded, ref) == 0 &&
        offsetof(struct step_failed, ref) == 0 && offsetof(struct step_timed_out, ref) == 0 &&
        offsetof(struct step_retry_scheduled, ref) == 0 && offsetof(struct step_marked, ref) == 0 &&
        offsetof(struct step_resubmitted, ref) == 0 && offsetof(struct step_queued, ref) == 0 &&
        offsetof(struct step_extended, ref) == 0 &&
        offsetof(struct step_completed_by_hand, ref) == 0 &&
        offsetof(struct step_skipped_by_hand, ref) == 0 &&
        offsetof(struct step_failed_by_hand, ref) == 0,
    "the attempt comes first");

void apply_step_event(const struct apply_ctx *ctx, const struct event *event)
{
    const struct attempt_ref *ref = &event->step_marked.ref;
    int index = order_find_step(ctx->order, ref->step);
    assert(index >= 0);
    assert(appliers[event->kind] != NULL);
    struct step *step = &ctx->order->steps[index];
    bool may_turn = event->kind == EVENT_STEP_STARTED || event->kind == EVENT_STEP_QUEUED;
    assert(!may_turn || step->state != STEP_PROCESSING);
    assert(may_turn || step->direction == ref->direction);
    assert(may_turn || step->attempt == ref->attempt);
    appliers[event->kind](ctx, step, event);
    set_state(step, event->kind);
    assert(step->direction == ref->direction);
    assert(step->attempt == ref->attempt);
}
