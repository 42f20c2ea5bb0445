/* SPDX-License-Identifier: Apache-2.0 */
/* Appliers of the events that are about one attempt of one step, and what keeps one from being
 * applied. The state that each leads to comes from engine/events.def. */
#include "engine/apply.h"
#include "engine/lifecycle.h"
#include "engine/workflow.h"

#include <assert.h>

static const struct text no_text = {0};
static const struct wait_row no_wait = {0};

/* The one setter of a step's state. */
static void set_state(struct step *step, enum event_kind kind)
{
    assert(step_event_may_apply(kind, step->direction, step->state));
    step->state = step_state_after(kind, step->direction);
    assert(step->complete_by == 0 || step->state == STEP_PROCESSING);
    assert(step_wait(step).kind == WAIT_NONE || step->state == STEP_PENDING ||
           step->state == STEP_WAITING);
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

void apply_turn(struct step *step, enum direction direction)
{
    assert((unsigned)direction < DIRECTION_COUNT);
    assert(step->direction != direction);
    assert(step->state != STEP_PROCESSING);
    step->direction = direction;
    step->failure_count = 0;
    memset(step->retries_used, 0, sizeof(step->retries_used));
    step->input = no_text;
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
        apply_turn(step, started->ref.direction);
    step->attempt = started->ref.attempt;
    step->generation[step->direction] = started->generation;
    step->agent = apply_text(ctx, step->agent, started->agent);
    step->locked_by = apply_text(ctx, step->locked_by, started->locked_by);
    step->complete_by = started->complete_by;
    step->margin_ms = started->margin_ms;
    step->wait = no_wait;
    step->started_at = ctx->decided_at;
    if (!text_empty(started->input))
        step->input = apply_text(ctx, step->input, started->input);
    step->inputs = started->inputs;
    step->workflow_version = ctx->order->details.workflow_version;
    if (step->direction == DIRECTION_DO)
        step->started_version = ctx->version;
}

static void step_succeeded(const struct apply_ctx *ctx, struct step *step,
                           const struct event *event)
{
    end_attempt(ctx, step);
    step->input = no_text;
    if (step->direction != DIRECTION_DO)
        return;
    step->effect = EFFECT_APPLIED;
    step->completed_version = ctx->version;
    step->output = apply_text(ctx, step->output, event->step_succeeded.output);
    step->suborders = apply_suborders_done(ctx, step->suborders);
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
    step->generation[step->direction] += failed->not_yet;
    step->failure_count = failed->failure_count;
    step->error_name = apply_text(ctx, step->error_name, failed->error_name);
    step->error_message = apply_text(ctx, step->error_message, failed->error_message);
}

/* Under a new key nothing was done yet. */
static const char *step_failed_problem(const struct step *step, const struct event *event)
{
    const struct step_failed *failed = &event->step_failed;
    if (!failed->not_yet)
        return NULL;
    if (failed->ref.direction != DIRECTION_DO || failed->effect != EFFECT_NONE)
        return "a service is asked again that has done something";
    return step->generation[DIRECTION_DO] >= INT32_MAX ? "a step has too many keys" : NULL;
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
    step->wait.retry_at = scheduled->retry_at;
    step->retries_used[scheduled->retrier] = scheduled->retry;
}

static const char *step_retry_scheduled_problem(const struct step *step, const struct event *event)
{
    (void)step;
    return event->step_retry_scheduled.retry_at <= 0 ? "a retry has no time" : NULL;
}

static void step_resubmitted(const struct apply_ctx *ctx, struct step *step,
                             const struct event *event)
{
    assert(step->complete_by == 0);
    /* A new key: nothing was applied under it. Sub-orders that are done stay. */
    if (step->generation[step->direction] != event->step_resubmitted.generation &&
        step->suborders == NULL)
        set_effect(ctx, step, EFFECT_NONE);
    step->generation[step->direction] = event->step_resubmitted.generation;
    step->failure_count = 0;
    step->input = no_text;
    memset(step->retries_used, 0, sizeof(step->retries_used));
}

/* ---- signals ---- */

/* What stays of it once the step waits for no signal, and has none. */
static const struct awaiting *end_awaiting(const struct apply_ctx *ctx,
                                           const struct awaiting *awaiting)
{
    if (awaiting == NULL || awaiting->signals == 0)
        return NULL;
    struct awaiting *rest = ARENA_NEW(ctx->arena, struct awaiting);
    rest->signal_id = awaiting->signal_id;
    rest->signals = awaiting->signals;
    return rest;
}

static const struct awaiting *await_signal(const struct apply_ctx *ctx,
                                           const struct awaiting *before,
                                           const struct step_waiting *waiting)
{
    struct awaiting *awaiting = ARENA_NEW(ctx->arena, struct awaiting);
    if (before != NULL)
        *awaiting = *before;
    awaiting->group = apply_text(ctx, no_text, waiting->group);
    awaiting->options =
        ctx->borrow ? waiting->options : text_list_copy(waiting->options, ctx->arena);
    awaiting->question = apply_text(ctx, no_text, waiting->question);
    return awaiting;
}

static void step_queued(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    (void)ctx;
    const struct step_queued *queued = &event->step_queued;
    bool turns = step->direction != queued->ref.direction;
    assert(queued->ref.attempt == (turns ? 0 : step->attempt));
    assert(step->complete_by == 0);
    if (turns)
        apply_turn(step, queued->ref.direction);
    step->attempt = queued->ref.attempt;
    step->wait = (struct wait_row){.queued_at = queued->queued_at, .retry_at = queued->retry_at};
}

static void step_waiting(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    const struct step_waiting *waiting = &event->step_waiting;
    assert(waiting->ref.attempt == step->attempt);
    assert(step->complete_by == 0 && (waiting->due_at > 0 || waiting->for_signal));
    step->effect = EFFECT_NONE;
    step->wait = (struct wait_row){.retry_at = waiting->due_at};
    step->awaiting = waiting->for_signal ? await_signal(ctx, step->awaiting, waiting) : NULL;
}

static const char *step_waiting_problem(const struct step *step, const struct event *event)
{
    const struct step_waiting *waiting = &event->step_waiting;
    if (waiting->due_at < 0 || (waiting->due_at == 0 && !waiting->for_signal))
        return "a step waits for a moment that has no time";
    return step_has_early_signal(step) ? "a step waits although it has a signal" : NULL;
}

static void step_extended(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    (void)ctx;
    assert(step->state == STEP_PROCESSING && step->complete_by != 0);
    assert(event->step_extended.complete_by > step->complete_by);
    step->extension_ms += event->step_extended.complete_by - step->complete_by;
    step->complete_by = event->step_extended.complete_by;
}

static const char *step_extended_problem(const struct step *step, const struct event *event)
{
    bool less = event->step_extended.complete_by <= step->complete_by;
    return less ? "an attempt gets less time than it has" : NULL;
}

/* Not waiting any more: for its next attempt, nor for an agent. */
static void end_wait(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    (void)event;
    assert(step->complete_by == 0);
    step->wait = no_wait;
    step->awaiting = end_awaiting(ctx, step->awaiting);
}

/* The step is finished: nothing of it will be asked for in this direction. */
static void finish(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    end_wait(ctx, step, event);
    step->input = no_text;
    step->awaiting = NULL;
}

static void step_skipped(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    finish(ctx, step, event);
    if (step->attempt == 0)
        step->ended_at = 0;
}

/* With a signal, if it awaited one: an early one has been counted. */
static void step_passed(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    const struct awaiting *awaiting = step->awaiting;
    finish(ctx, step, event);
    step->ended_at = ctx->decided_at;
    step->effect = EFFECT_NONE;
    step->output = apply_text(ctx, step->output, event->step_passed.output);
    if (awaiting == NULL)
        return;
    struct awaiting *rest = ARENA_NEW(ctx->arena, struct awaiting);
    rest->signal_id = apply_text(ctx, awaiting->signal_id, event->step_passed.signal_id);
    rest->signals = awaiting->signals + (step->state == STEP_WAITING);
    step->awaiting = rest;
}

static void step_completed_by_hand(const struct apply_ctx *ctx, struct step *step,
                                   const struct event *event)
{
    finish(ctx, step, event);
    step->ended_at = ctx->decided_at;
    if (step->direction != DIRECTION_DO)
        return;
    step->effect = EFFECT_APPLIED;
    step->completed_version = ctx->version;
    step->output = apply_text(ctx, step->output, event->step_completed_by_hand.output);
    step->suborders = apply_suborders_done(ctx, step->suborders);
}

static void step_skipped_by_hand(const struct apply_ctx *ctx, struct step *step,
                                 const struct event *event)
{
    finish(ctx, step, event);
    step->ended_at = ctx->decided_at;
    step->effect = EFFECT_NONE;
}

static void step_failed_unstarted(const struct apply_ctx *ctx, struct step *step,
                                  const struct event *event)
{
    const struct step_failed_unstarted *failed = &event->step_failed_unstarted;
    end_wait(ctx, step, event);
    if (step->direction != failed->ref.direction)
        apply_turn(step, failed->ref.direction);
    step->attempt = failed->ref.attempt;
    step->failure_count = failed->failure_count;
    step->error_name = apply_text(ctx, step->error_name, failed->error_name);
    step->error_message = apply_text(ctx, step->error_message, failed->reason);
    if (step->direction == DIRECTION_DO && step->attempt == 0)
        step->ended_at = text_empty(failed->by) ? 0 : ctx->decided_at;
}

struct step_rule {
    void (*apply)(const struct apply_ctx *ctx, struct step *step, const struct event *event);
    const char *(*problem)(const struct step *step, const struct event *event);
};

static const struct step_rule rules[EVENT_KIND_COUNT] = {
#define STEP_EVENT(number, kind, record, payload, words, answers, status, attempt, after_do, \
                   after_undo, stays, apply, check)                                          \
    [EVENT_##kind] = {apply, check},
#include "engine/events.def"
};

/* Whether an attempt starts by it. */
static bool starts_attempt(const struct event *event)
{
    enum attempt_change change = event_attempt_change(event->kind);
    return change == ATTEMPT_STARTS || change == ATTEMPT_SPLITS ||
           (change == ATTEMPT_RECALLS && event_ref(event)->direction == DIRECTION_UNDO);
}

/* Whether the event is about an attempt after the step's, or in the other direction. */
static bool is_of_next_attempt(const struct event *event)
{
    enum attempt_change change = event_attempt_change(event->kind);
    return starts_attempt(event) || change == ATTEMPT_WAITS || change == ATTEMPT_UNSTARTED;
}

static bool is_of_running_attempt(const struct event *event)
{
    enum attempt_change change = event_attempt_change(event->kind);
    return change == ATTEMPT_ENDS || change == ATTEMPT_GOES_ON || change == ATTEMPT_RUNS ||
           (change == ATTEMPT_RECALLS && !starts_attempt(event));
}

void apply_step_event(const struct apply_ctx *ctx, const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    int index = order_find_step(ctx->order, ref->step);
    assert(index >= 0);
    struct step *step = &ctx->order->steps[index];
    bool may_turn = is_of_next_attempt(event);
    assert(!may_turn || step->state != STEP_PROCESSING);
    assert(may_turn || step->direction == ref->direction);
    assert(may_turn || step->attempt == ref->attempt);
    if (rules[event->kind].apply != NULL)
        rules[event->kind].apply(ctx, step, event);
    set_state(step, event->kind);
    assert(step->direction == ref->direction);
    assert(step->attempt == ref->attempt);
}

const char *step_event_problem(const struct order *order, const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    int index = order_find_step(order, ref->step);
    if (index < 0)
        return "there is no such step";
    const struct step *step = &order->steps[index];
    bool begins = is_of_next_attempt(event);
    bool starts = starts_attempt(event);
    uint32_t last = step->direction == ref->direction ? step->attempt : 0;
    if (begins && step->state == STEP_PROCESSING)
        return "an attempt starts while another one is running";
    if (begins && ref->direction == DIRECTION_DO && step->direction == DIRECTION_UNDO)
        return "a step is done again that is being undone";
    if (begins && ref->attempt != last + starts)
        return "an attempt is not the next one";
    if (!begins && (step->direction != ref->direction || step->attempt != ref->attempt))
        return "an event is about another attempt than the step's";
    if (!step_event_may_apply(event->kind, ref->direction, step->state))
        return "the step's state does not allow an event";
    bool runs = step->state == STEP_PROCESSING && step->complete_by != 0;
    if (!begins && is_of_running_attempt(event) != runs)
        return runs ? "an attempt is still running" : "an attempt is not running";
    return rules[event->kind].problem != NULL ? rules[event->kind].problem(step, event) : NULL;
}
