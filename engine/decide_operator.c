/* SPDX-License-Identifier: Apache-2.0 */
/* CancelOrder, CompensateOrder, ResubmitStep: operators decide. Each event records who decided and
 * why, and closes the open alert. */
#include "engine/decide.h"

#include <assert.h>

static void close_alert(struct decide_ctx *ctx, const struct order_marked *marked)
{
    if (ctx->order->alert_open)
        decide_emit(ctx, &(struct event){.kind = EVENT_ALERT_CLOSED, .order_marked = *marked});
    assert(!ctx->order->alert_open);
}

/* False after it rejected: the order can no longer be turned back. */
static bool may_turn_back(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    if (order_ended(order)) {
        decide_reject(ctx, "AlreadyEnded", "the order is %s", order_state_name(order->state));
        return false;
    }
    if (order->state == ORDER_COMPENSATING) {
        decide_reject(ctx, "AlreadyCompensating", "the order is being undone");
        return false;
    }
    if (order->state == ORDER_ERROR && order->error_from == ORDER_COMPENSATING) {
        decide_reject(
            ctx, "AlreadyCompensating",
            "an undo failed while the order was being undone: `reeve resubmit %.*s` tries it again",
            TEXT_ARG(order->details.order_id));
        return false;
    }
    if (!order_can_be_undone(order, ctx->workflow)) {
        decide_reject(ctx, "PastPivot",
                      "the pivot %.*s has started: the order can no longer be undone",
                      TEXT_ARG(order->steps[ctx->workflow->pivot].name));
        return false;
    }
    return true;
}

static void turn_back(struct decide_ctx *ctx, const struct order_marked *marked)
{
    decide_begin_compensation(ctx, marked);
    close_alert(ctx, marked);
    decide_advance(ctx);
    assert(ctx->order->state == ORDER_COMPENSATING || ctx->order->state == ORDER_COMPENSATED);
}

void decide_cancel(struct decide_ctx *ctx)
{
    const struct cancel_order *asked = &ctx->cmd->cancel_order;
    assert(asked->reason.size <= MESSAGE_BYTES_MAX && asked->by.size <= WHO_BYTES_MAX);
    if (!decide_require_order(ctx) || !may_turn_back(ctx))
        return;
    struct order_marked marked = {
        .code = TEXT("Cancelled"), .reason = asked->reason, .by = asked->by};
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_CANCELLED, .order_marked = marked});
    assert(ctx->order->cancelled);
    turn_back(ctx, &marked);
}

void decide_compensate(struct decide_ctx *ctx)
{
    const struct compensate_order *asked = &ctx->cmd->compensate_order;
    assert(asked->reason.size <= MESSAGE_BYTES_MAX && asked->by.size <= WHO_BYTES_MAX);
    if (!decide_require_order(ctx) || !may_turn_back(ctx))
        return;
    turn_back(ctx, &(struct order_marked){
                       .code = TEXT("Operator"), .reason = asked->reason, .by = asked->by});
}

/* In the direction that Error interrupted: a step that failed before compensation began stays
 * so. */
static bool may_resubmit(const struct order *order, const struct step *step)
{
    enum direction direction =
        order->error_from == ORDER_COMPENSATING ? DIRECTION_UNDO : DIRECTION_DO;
    return step->state == STEP_ERROR && step->direction == direction;
}

/* False after it rejected: the step that the command names is not one to be resubmitted. */
static bool may_name(struct decide_ctx *ctx, struct text name)
{
    if (text_empty(name))
        return true;
    int index = order_find_step(ctx->order, name);
    if (index < 0) {
        decide_reject(ctx, "UnknownStep", "the order has no step %.*s", TEXT_ARG(name));
        return false;
    }
    const struct step *step = &ctx->order->steps[index];
    if (!may_resubmit(ctx->order, step)) {
        decide_reject(ctx, "StepNotInError", "step %.*s is %s (%s): there is nothing to resubmit",
                      TEXT_ARG(name), step_state_name(step->state),
                      direction_name(step->direction));
        return false;
    }
    return true;
}

/* The key changes only where the last one had no effect, as far as the log shows or the operator
 * vouches for it: a remembered refusal must not be the answer for ever, and what may have been done
 * must not be done twice. */
static void resubmit(struct decide_ctx *ctx, const struct step *step)
{
    const struct resubmit_step *asked = &ctx->cmd->resubmit_step;
    assert(step->state == STEP_ERROR);
    enum effect effect = step->direction == DIRECTION_DO ? step->effect : step->undo_effect;
    bool vouched =
        asked->new_generation && (text_empty(asked->step) || text_equal(asked->step, step->name));
    uint32_t rise = effect == EFFECT_NONE || vouched ? 1 : 0;
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_RESUBMITTED,
                                     .step_resubmitted = {
                                         .ref = step_attempt_ref(step),
                                         .generation = step->generation[step->direction] + rise,
                                         .by = asked->by,
                                         .reason = asked->reason}});
    assert(step->state == STEP_PENDING);
    assert(step->failure_count == 0);
}

void decide_resubmit(struct decide_ctx *ctx)
{
    const struct resubmit_step *asked = &ctx->cmd->resubmit_step;
    assert(asked->reason.size <= MESSAGE_BYTES_MAX && asked->by.size <= WHO_BYTES_MAX);
    if (!decide_require_order(ctx))
        return;
    if (ctx->order->state != ORDER_ERROR) {
        decide_reject(ctx, "NotInError", "the order is %s", order_state_name(ctx->order->state));
        return;
    }
    if (!may_name(ctx, asked->step))
        return;
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        if (may_resubmit(ctx->order, &ctx->order->steps[i]))
            resubmit(ctx, &ctx->order->steps[i]);
    }
    struct order_marked marked = {
        .code = TEXT("Resubmitted"), .reason = asked->reason, .by = asked->by, .step = asked->step};
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_RESUMED, .order_marked = marked});
    close_alert(ctx, &marked);
    decide_advance(ctx);
    assert(ctx->order->state != ORDER_ERROR);
}
