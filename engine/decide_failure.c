/* SPDX-License-Identifier: Apache-2.0 */
/* Decides after a failed attempt: the first matching retrier with retries left, else a matching
 * Catch, else OnExhausted. */
#include "engine/decide.h"
#include "engine/message.h"

#include <assert.h>

enum effect step_effect_after(const struct step *step, enum effect reported)
{
    assert((unsigned)reported < EFFECT_COUNT);
    enum effect known = step->direction == DIRECTION_DO ? step->effect : step->undo_effect;
    assert((unsigned)known < EFFECT_COUNT);
    if (known == EFFECT_APPLIED || reported == EFFECT_APPLIED)
        return EFFECT_APPLIED;
    return known == EFFECT_UNKNOWN ? EFFECT_UNKNOWN : reported;
}

static void schedule_retry(struct decide_ctx *ctx, uint32_t index, uint32_t number,
                           const struct retrier *retrier)
{
    const struct step *step = &ctx->order->steps[index];
    assert(number < RETRIERS_MAX);
    assert(step->retries_used[number] < retrier->max_attempts);
    uint32_t retry = step->retries_used[number] + 1;
    uint64_t salt =
        retry_salt(ctx->order->details.order_id, step->name, (int)step->direction, step->attempt);
    decide_emit(
        ctx, &(struct event){.kind = EVENT_STEP_RETRY_SCHEDULED,
                             .step_retry_scheduled = {
                                 .ref = step_attempt_ref(step),
                                 .retry_at = ctx->input->now + retry_wait_ms(retrier, retry, salt),
                                 .retrier = number,
                                 .retry = retry}});
    assert(step->state == STEP_PENDING);
    assert(step_wait(step).kind == WAIT_RETRY && step_wait(step).until >= ctx->input->now);
    assert(step->retries_used[number] == retry);
}

/* The catcher that takes the error, or NULL. An undo has none. */
static const struct catcher *find_catcher(const struct workflow_step *plan,
                                          enum direction direction, struct text error_name)
{
    assert(plan->catcher_count <= CATCHERS_MAX);
    assert(plan->catcher_count == 0 || plan->catchers != NULL);
    uint32_t count = direction == DIRECTION_DO ? plan->catcher_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (error_set_matches(&plan->catchers[i].errors, error_name))
            return &plan->catchers[i];
    }
    return NULL;
}

static const char *advice(const struct decide_ctx *ctx)
{
    assert(ctx->order->state == ORDER_ERROR && !ctx->order->alert_open);
    if (ctx->order->error_from == ORDER_COMPENSATING)
        return "compensation had begun, so it cannot go forward again; `reeve step complete` ends "
               "an undo that was done outside";
    if (order_can_be_undone(ctx->order, ctx->workflow))
        return "`reeve compensate` undoes its steps";
    return "it is past its pivot and cannot be undone; `reeve step` ends a step by hand";
}

void decide_fail_order(struct decide_ctx *ctx, struct text code, struct text step,
                       struct text reason)
{
    assert(order_state_may_follow(ctx->order->state, ORDER_ERROR));
    assert(!text_empty(code));
    struct order_marked marked = {.code = code, .reason = reason, .step = step};
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_FAILED, .order_marked = marked});
    struct text id = ctx->order->details.order_id;
    marked.reason = message_format(ctx->arena,
                                   "Order %.*s waits for an operator: %.*s. `reeve resubmit %.*s` "
                                   "tries again; %s.",
                                   TEXT_ARG(id), TEXT_ARG(reason), TEXT_ARG(id), advice(ctx));
    decide_emit(ctx, &(struct event){.kind = EVENT_ALERT_RAISED, .order_marked = marked});
    assert(ctx->order->state == ORDER_ERROR);
    assert(ctx->order->alert_open);
}

static void exhaust(struct decide_ctx *ctx, uint32_t index, struct text error_name)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    assert(step->state == STEP_PENDING);
    const struct catcher *catcher = find_catcher(plan, step->direction, error_name);
    enum outcome outcome = catcher != NULL ? catcher->next : plan->on_exhausted;
    if (step->direction == DIRECTION_UNDO)
        outcome = OUTCOME_ERROR;
    struct text why = message_format(
        ctx->arena, catcher != NULL ? "a Catch matches %.*s" : "no retries are left for %.*s",
        TEXT_ARG(error_name));
    bool caught = outcome == OUTCOME_CONTINUE;
    decide_emit(ctx,
                &(struct event){.kind = caught ? EVENT_STEP_CAUGHT : EVENT_STEP_EXHAUSTED,
                                .step_marked = {.ref = step_attempt_ref(step), .reason = why}});
    assert(step->state == (caught ? STEP_CAUGHT : STEP_ERROR));
    if (caught)
        return;
    if (ctx->order->state == ORDER_ERROR)
        return; /* one alert is open already: the operator decides */
    struct text reason = decide_kind_of(ctx, index)->describe(ctx, index);
    if (outcome == OUTCOME_COMPENSATE && order_can_be_undone(ctx->order, ctx->workflow))
        decide_begin_compensation(
            ctx, &(struct order_marked){.code = error_name, .reason = reason, .step = step->name});
    else
        decide_fail_order(ctx, error_name, step->name, reason);
    assert(ctx->order->state == ORDER_COMPENSATING || ctx->order->state == ORDER_ERROR);
    assert(step->direction == DIRECTION_DO || ctx->order->alert_open); /* never in silence */
}

void decide_stop(struct decide_ctx *ctx, uint32_t index, struct text error_name)
{
    const struct step *step = &ctx->order->steps[index];
    assert(step->state == STEP_PENDING && step->failure_count > 0);
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_EXHAUSTED,
                                     .step_marked = {.ref = step_attempt_ref(step),
                                                     .reason = TEXT("what it did remains")}});
    assert(step->state == STEP_ERROR);
    if (ctx->order->state != ORDER_ERROR)
        decide_fail_order(ctx, error_name, step->name,
                          decide_kind_of(ctx, index)->describe(ctx, index));
}

/* `again`: a retry may help. */
static void follow(struct decide_ctx *ctx, uint32_t index, struct text error_name, bool again)
{
    assert(index < ctx->order->step_count);
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    assert(step->state == STEP_PENDING);
    assert(step->failure_count > 0);
    if (ctx->order->state == ORDER_COMPENSATING && step->direction == DIRECTION_DO) {
        decide_skip_if_no_effect(ctx, index);
        return;
    }
    const struct retry_policy *policy =
        step->direction == DIRECTION_DO ? &plan->retry : &plan->compensate.retry;
    int number = again ? retry_policy_match(policy, step->retries_used, error_name) : -1;
    if (number >= 0)
        schedule_retry(ctx, index, (uint32_t)number, &policy->retriers[number]);
    else
        exhaust(ctx, index, error_name);
}

void decide_follow_failure(struct decide_ctx *ctx, uint32_t index, struct text error_name)
{
    follow(ctx, index, error_name, true);
}

void decide_give_up(struct decide_ctx *ctx, uint32_t index, struct text error_name)
{
    follow(ctx, index, error_name, false);
}

void decide_fail_unstarted(struct decide_ctx *ctx, uint32_t index, enum direction direction,
                           const struct decide_fault *fault)
{
    const struct step *step = &ctx->order->steps[index];
    bool same = step->direction == direction;
    assert(step->state != STEP_PROCESSING);
    assert(!text_empty(fault->error_name));
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_FAILED_UNSTARTED,
                                     .step_failed_unstarted = {
                                         .ref = {step->name, direction, same ? step->attempt : 0},
                                         .error_name = fault->error_name,
                                         .failure_count = same ? step->failure_count + 1 : 1,
                                         .reason = fault->message}});
    assert(step->state == STEP_PENDING && step->direction == direction);
    decide_give_up(ctx, index, fault->error_name);
}
