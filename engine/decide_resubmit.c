/* SPDX-License-Identifier: Apache-2.0 */
/* ResubmitStep: an operator has the steps that failed tried again. */
#include "engine/decide.h"

#include <assert.h>

/* In the direction that Error interrupted: a step that failed before compensation began stays
 * so. */
static bool may_resubmit(const struct order *order, const struct step *step)
{
    assert(order->state == ORDER_ERROR);
    assert(order->error_from == ORDER_PROCESSING || order->error_from == ORDER_COMPENSATING);
    enum direction direction =
        order->error_from == ORDER_COMPENSATING ? DIRECTION_UNDO : DIRECTION_DO;
    return step->state == STEP_ERROR && step->direction == direction;
}

/* False after it rejected: the step that the command names is not one to be resubmitted. */
static bool may_name(struct decide_ctx *ctx, struct text name)
{
    if (text_empty(name))
        return true;
    int index = decide_find_step(ctx, name);
    if (index < 0)
        return false;
    const struct step *step = &ctx->order->steps[index];
    if (!may_resubmit(ctx->order, step)) {
        decide_reject(ctx, CODE_STEP_NOT_IN_ERROR,
                      "step %.*s is %s (%s): there is nothing to resubmit", TEXT_ARG(name),
                      step_state_name(step->state), direction_name(step->direction));
        return false;
    }
    assert(step->state == STEP_ERROR);
    return true;
}

static enum effect effect_of(const struct step *step)
{
    return step->direction == DIRECTION_DO ? step->effect : step->undo_effect;
}

/* The operator knows that no attempt of the step had an effect. */
static bool is_vouched(const struct resubmit_step *cmd, const struct step *step)
{
    return cmd->new_generation && (text_empty(cmd->step) || text_equal(cmd->step, step->name));
}

/* False after it rejected: what was reported as applied is not made undone by anyone's word. */
static bool may_vouch(struct decide_ctx *ctx)
{
    struct text id = ctx->order->details.order_id;
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        const struct step *step = &ctx->order->steps[i];
        if (!may_resubmit(ctx->order, step) || !is_vouched(&ctx->cmd->resubmit_step, step) ||
            effect_of(step) != EFFECT_APPLIED)
            continue;
        decide_reject(
            ctx, CODE_EFFECT_REMAINS,
            "%s of step %.*s was applied: `reeve step complete %.*s %.*s`, or resubmit it "
            "without --nothing-applied",
            step->direction == DIRECTION_DO ? "an attempt" : "an undo", TEXT_ARG(step->name),
            TEXT_ARG(id), TEXT_ARG(step->name));
        return false;
    }
    return true;
}

/* The key changes only where the last one had no effect, as far as the log shows or the operator
 * vouches for it: a remembered refusal must not be the answer for ever, and what may have been done
 * must not be done twice. */
static void resubmit(struct decide_ctx *ctx, const struct step *step)
{
    const struct resubmit_step *cmd = &ctx->cmd->resubmit_step;
    assert(step->state == STEP_ERROR);
    bool vouched = is_vouched(cmd, step);
    assert(!vouched || effect_of(step) != EFFECT_APPLIED);
    bool again = step->suborders != NULL && step->direction == DIRECTION_DO; /* as other orders */
    uint32_t rise = effect_of(step) == EFFECT_NONE || vouched || again ? 1 : 0;
    uint32_t generation = step->generation[step->direction] + rise;
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_RESUBMITTED,
                                     .step_resubmitted = {.ref = step_attempt_ref(step),
                                                          .generation = generation,
                                                          .by = cmd->by,
                                                          .reason = cmd->reason}});
    assert(step->state == STEP_PENDING);
    assert(step->failure_count == 0);
    assert(step->generation[step->direction] == generation);
}

enum error_class command_check_resubmit(const struct command *cmd, struct error *ret_error)
{
    int64_t timeout_ms = cmd->resubmit_step.timeout_ms;
    if (timeout_ms >= 0 && timeout_ms <= DURATION_MS_MAX)
        return ERROR_OK;
    return error_set(ret_error, CODE_INVALID_COMMAND, "timeout_ms must be 0 to %lld",
                     (long long)DURATION_MS_MAX);
}

void decide_resubmit(struct decide_ctx *ctx)
{
    const struct resubmit_step *cmd = &ctx->cmd->resubmit_step;
    assert(cmd->reason.size <= MESSAGE_BYTES_READ_MAX);
    assert(cmd->by.size <= WHO_BYTES_READ_MAX);
    if (!decide_require_order(ctx))
        return;
    if (ctx->order->state != ORDER_ERROR) {
        decide_reject(ctx, CODE_NOT_IN_ERROR, "the order is %s",
                      order_state_name(ctx->order->state));
        return;
    }
    if (!may_name(ctx, cmd->step))
        return;
    if (cmd->timeout_ms < 0 || cmd->timeout_ms > DURATION_MS_MAX) {
        decide_reject(ctx, CODE_INVALID_TIMEOUT, "timeout_ms is %lld; it must be 0 to %lld",
                      (long long)cmd->timeout_ms, (long long)DURATION_MS_MAX);
        return;
    }
    if (cmd->timeout_ms != 0 && ctx->order->error_from == ORDER_COMPENSATING) {
        decide_reject(ctx, CODE_NO_DEADLINE, "the order is being undone, which has no deadline");
        return;
    }
    if (!may_vouch(ctx))
        return;
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        if (may_resubmit(ctx->order, &ctx->order->steps[i]))
            resubmit(ctx, &ctx->order->steps[i]);
    }
    struct order_marked marked = {.code = error_code_text(CODE_RESUBMITTED),
                                  .reason = cmd->reason,
                                  .by = cmd->by,
                                  .step = cmd->step};
    decide_leave_error(ctx, &marked, cmd->timeout_ms);
    decide_advance(ctx);
    assert(ctx->order->alert_open == (ctx->order->state == ORDER_ERROR)); /* it may fail at once */
}
