/* SPDX-License-Identifier: Apache-2.0 */
/* CompleteStep, SkipStep, FailStep: an operator ends a step that no agent ends. Only while no
 * attempt of it may run, and only where what the log says from then on is true. */
#include "engine/decide.h"

#include <assert.h>

/* The direction of the steps now. */
static enum direction direction_of(const struct order *order)
{
    enum order_state phase = order->state == ORDER_ERROR ? order->error_from : order->state;
    assert(phase == ORDER_PROCESSING || phase == ORDER_COMPENSATING);
    return phase == ORDER_COMPENSATING ? DIRECTION_UNDO : DIRECTION_DO;
}

static void reject_for_suborders(struct decide_ctx *ctx, const struct step *step)
{
    uint32_t unanswered = suborders_unanswered(step->suborders);
    if (unanswered > 0)
        decide_reject(ctx, CODE_ATTEMPT_RUNS,
                      "%u of the sub-orders of step %.*s have not answered: wait for them, or end "
                      "one by `reeve step fail --item`",
                      (unsigned)unanswered, TEXT_ARG(step->name));
    else
        decide_reject(ctx, CODE_ATTEMPT_RUNS,
                      "step %.*s has yet to start %u of its items: wait, or resume or resubmit the "
                      "order if it is paused or in Error",
                      TEXT_ARG(step->name), (unsigned)suborders_count(step->suborders, ITEM_TO_DO));
}

/* False after it rejected: the step cannot be ended by hand in its state. */
static bool may_end(struct decide_ctx *ctx, const struct step *step)
{
    if (step->state == STEP_PROCESSING && step->suborders != NULL) {
        reject_for_suborders(ctx, step);
        return false;
    }
    if (step->state == STEP_PROCESSING) {
        int64_t left = step->complete_by + step->margin_ms - ctx->input->now;
        decide_reject(ctx, CODE_ATTEMPT_RUNS,
                      "attempt %u of step %.*s may run for another %lld ms: wait for its outcome",
                      (unsigned)step->attempt, TEXT_ARG(step->name),
                      (long long)(left > 0 ? left : 0));
        return false;
    }
    if (step->state != STEP_PENDING && step->state != STEP_WAITING && step->state != STEP_ERROR) {
        decide_reject(ctx, CODE_STEP_ENDED, "step %.*s is %s", TEXT_ARG(step->name),
                      step_state_name(step->state));
        return false;
    }
    return true;
}

/* False after it rejected: the steps before it have not ended, or the order is undone and the step
 * is not the one whose turn it is. */
static bool has_its_turn(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    if (step->direction != direction_of(ctx->order)) {
        decide_reject(ctx, CODE_NOT_ITS_TURN, "the order is being undone, and step %.*s is not yet",
                      TEXT_ARG(step->name));
        return false;
    }
    uint64_t missing = decide_plan_of(ctx, index)->after & ~decide_finished_steps(ctx->order);
    if (step->direction == DIRECTION_UNDO || missing == 0)
        return true;
    uint32_t first = 0;
    while ((missing >> first & 1) == 0)
        first++;
    assert(first < ctx->order->step_count);
    decide_reject(ctx, CODE_NOT_ITS_TURN, "step %.*s comes after %.*s, which is %s",
                  TEXT_ARG(step->name), TEXT_ARG(ctx->order->steps[first].name),
                  step_state_name(ctx->order->steps[first].state));
    return false;
}

/* The step that an operator names, or NULL after it rejected. */
static const struct step *require_step(struct decide_ctx *ctx, struct text name,
                                       uint32_t *ret_index)
{
    if (!decide_require_order(ctx))
        return NULL;
    if (order_ended(ctx->order)) {
        decide_reject(ctx, CODE_ALREADY_ENDED, "the order is %s",
                      order_state_name(ctx->order->state));
        return NULL;
    }
    if (!decide_is_free(ctx))
        return NULL;
    int index = decide_find_step(ctx, name);
    if (index < 0)
        return NULL;
    const struct step *step = &ctx->order->steps[index];
    if (!may_end(ctx, step) || !has_its_turn(ctx, (uint32_t)index))
        return NULL;
    assert(step->complete_by == 0);
    *ret_index = (uint32_t)index;
    return step;
}

static bool any_in_error(const struct order *order)
{
    enum direction direction = direction_of(order);
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == STEP_ERROR && order->steps[i].direction == direction)
            return true;
    }
    return false;
}

/* The order leaves Error with the last of its steps in Error. */
static void go_on(struct decide_ctx *ctx, enum error_code code, struct text by, struct text reason,
                  struct text step)
{
    struct order_marked marked = {
        .code = error_code_text(code), .reason = reason, .by = by, .step = step};
    if (ctx->order->state == ORDER_ERROR && !any_in_error(ctx->order))
        decide_leave_error(ctx, &marked, 0);
    decide_advance(ctx);
}

/* False after it rejected: operators do not pass what a group is to decide. */
static bool may_pass(struct decide_ctx *ctx, uint32_t index)
{
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    if (plan->kind != STEP_KIND_AWAIT || text_empty(plan->await.from))
        return true;
    decide_reject(ctx, CODE_NEEDS_SIGNAL,
                  "step %.*s is passed only by a signal of %.*s: `reeve signal %.*s %.*s`, or "
                  "`reeve step fail`",
                  TEXT_ARG(plan->name), TEXT_ARG(plan->await.from),
                  TEXT_ARG(ctx->order->details.order_id), TEXT_ARG(plan->name));
    return false;
}

void decide_complete_step(struct decide_ctx *ctx)
{
    const struct complete_step *cmd = &ctx->cmd->complete_step;
    uint32_t index = 0;
    assert(cmd->output.size <= STEP_OUTPUT_BYTES_READ_MAX);
    assert(cmd->reason.size <= MESSAGE_BYTES_READ_MAX && cmd->by.size <= WHO_BYTES_READ_MAX);
    const struct step *step = require_step(ctx, cmd->step, &index);
    if (step == NULL || !may_pass(ctx, index))
        return;
    if (step->direction == DIRECTION_UNDO && !text_empty(cmd->output)) {
        decide_reject(ctx, CODE_NO_OUTPUT, "step %.*s is being undone, which has no output",
                      TEXT_ARG(step->name));
        return;
    }
    if (!order_takes_output(ctx->order, index, cmd->output)) {
        decide_reject(ctx, CODE_TOO_LONG,
                      "the output is %u bytes; the outputs of all steps may have %d together",
                      cmd->output.size, ORDER_OUTPUTS_BYTES_MAX);
        return;
    }
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_COMPLETED_BY_HAND,
                                     .step_completed_by_hand = {.ref = step_attempt_ref(step),
                                                                .output = cmd->output,
                                                                .by = cmd->by,
                                                                .reason = cmd->reason}});
    assert(step->state == STEP_PROCESSED || step->state == STEP_COMPENSATED);
    go_on(ctx, CODE_COMPLETED, cmd->by, cmd->reason, step->name);
}

/* False after it rejected: what the step has done would be forgotten. */
static bool may_skip(struct decide_ctx *ctx, const struct step *step)
{
    struct text id = ctx->order->details.order_id;
    if (step->direction == DIRECTION_UNDO) {
        decide_reject(ctx, CODE_EFFECT_REMAINS,
                      "what step %.*s has done would remain: undo it outside, then `reeve step "
                      "complete %.*s %.*s`",
                      TEXT_ARG(step->name), TEXT_ARG(id), TEXT_ARG(step->name));
        return false;
    }
    if (step->effect == EFFECT_APPLIED) {
        decide_reject(ctx, CODE_EFFECT_REMAINS,
                      "an attempt of step %.*s was applied: `reeve step complete %.*s %.*s`, or "
                      "`reeve compensate %.*s`",
                      TEXT_ARG(step->name), TEXT_ARG(id), TEXT_ARG(step->name), TEXT_ARG(id));
        return false;
    }
    if (step->effect == EFFECT_UNKNOWN && !ctx->cmd->skip_step.nothing_applied) {
        decide_reject(ctx, CODE_EFFECT_UNKNOWN,
                      "an attempt of step %.*s may have been applied: look, then `reeve step "
                      "complete` if it was, or skip it with --nothing-applied if it was not",
                      TEXT_ARG(step->name));
        return false;
    }
    return true;
}

void decide_skip_step(struct decide_ctx *ctx)
{
    const struct skip_step *cmd = &ctx->cmd->skip_step;
    uint32_t index = 0;
    assert(cmd->reason.size <= MESSAGE_BYTES_READ_MAX && cmd->by.size <= WHO_BYTES_READ_MAX);
    const struct step *step = require_step(ctx, cmd->step, &index);
    if (step == NULL || !may_pass(ctx, index) || !may_skip(ctx, step))
        return;
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_SKIPPED_BY_HAND,
                                     .step_skipped_by_hand = {.ref = step_attempt_ref(step),
                                                              .by = cmd->by,
                                                              .reason = cmd->reason}});
    assert(step->state == STEP_SKIPPED);
    assert(step->effect == EFFECT_NONE);
    go_on(ctx, CODE_SKIPPED, cmd->by, cmd->reason, step->name);
}

enum error_class command_check_fail(const struct command *cmd, struct error *ret_error)
{
    if (cmd->fail_step.item < -1 || cmd->fail_step.item >= SUBORDERS_MAX)
        return error_set(ret_error, CODE_INVALID_COMMAND, "item must be 0 to %d, or -1 for none",
                         SUBORDERS_MAX - 1);
    if (error_name_valid(cmd->fail_step.error_name))
        return ERROR_OK;
    return error_set(ret_error, CODE_INVALID_COMMAND, "error_name must be " ERROR_NAME_EXPECTED);
}

void decide_fail_step(struct decide_ctx *ctx)
{
    const struct fail_step *cmd = &ctx->cmd->fail_step;
    uint32_t index = 0;
    assert(cmd->error_name.size <= ERROR_NAME_BYTES_READ_MAX);
    assert(cmd->reason.size <= MESSAGE_BYTES_READ_MAX && cmd->by.size <= WHO_BYTES_READ_MAX);
    if (cmd->item >= 0) {
        decide_fail_item(ctx);
        return;
    }
    const struct step *step = require_step(ctx, cmd->step, &index);
    if (step == NULL)
        return;
    if (step->state == STEP_ERROR) {
        decide_reject(ctx, CODE_STEP_ENDED, "step %.*s has failed already", TEXT_ARG(step->name));
        return;
    }
    struct text error_name =
        text_empty(cmd->error_name) ? TEXT(ERROR_TASK_FAILED) : cmd->error_name;
    struct text by = text_empty(cmd->by) ? TEXT("unknown") : cmd->by; /* none: no operator did */
    decide_emit(ctx,
                &(struct event){.kind = EVENT_STEP_FAILED_UNSTARTED,
                                .step_failed_unstarted = {.ref = step_attempt_ref(step),
                                                          .error_name = error_name,
                                                          .failure_count = step->failure_count + 1,
                                                          .by = by,
                                                          .reason = cmd->reason}});
    assert(step->state == STEP_PENDING);
    assert(step_wait(step).kind == WAIT_NONE);
    decide_follow_failure(ctx, index, error_name);
    decide_advance(ctx);
}
