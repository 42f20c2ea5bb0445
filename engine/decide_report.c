/* SPDX-License-Identifier: Apache-2.0 */
/* ReportStep: a report counts while its attempt is the current one and no outcome of it was
 * decided. The order of the log determines which came first, not a clock. */
#include "engine/decide.h"
#include "engine/message.h"

#include <assert.h>

static void ignore(struct decide_ctx *ctx, enum error_code code, struct text reason)
{
    const struct report_step *report = &ctx->cmd->report_step;
    assert(ctx->decision->event_count == 0);
    assert(code != CODE_NONE);
    assert(reason.size > 0 && reason.size <= MESSAGE_BYTES_MAX);
    decide_emit(ctx, &(struct event){.kind = EVENT_REPORT_IGNORED,
                                     .report_ignored = {
                                         .ref = {report->step, report->direction, report->attempt},
                                         .succeeded = report->succeeded,
                                         .code = error_code_text(code),
                                         .reason = reason,
                                         .by = report->instance}});
}

static void ignore_superseded(struct decide_ctx *ctx, const struct step *step)
{
    const struct report_step *report = &ctx->cmd->report_step;
    assert(report->direction < step->direction || report->attempt < step->attempt);
    ignore(ctx, CODE_SUPERSEDED,
           message_format(ctx->arena,
                          "attempt %u (%s) of the step began before this report was read",
                          (unsigned)step->attempt, direction_name(step->direction)));
}

static void ignore_ended(struct decide_ctx *ctx, const struct step *step)
{
    assert(step->state != STEP_PROCESSING);
    bool failed =
        step->state == STEP_PENDING || step->state == STEP_WAITING || step->state == STEP_ERROR;
    ignore(ctx, CODE_ALREADY_ENDED,
           message_format(
               ctx->arena, "the attempt ended before this report was read: %.*s",
               TEXT_ARG(failed ? step->error_name : text_of(step_state_name(step->state)))));
}

/* False after it ignored the report. */
static bool is_current(struct decide_ctx *ctx, const struct step *step)
{
    const struct report_step *report = &ctx->cmd->report_step;
    bool same_direction = report->direction == step->direction;
    if (report->direction < step->direction ||
        (same_direction && report->attempt > 0 && report->attempt < step->attempt)) {
        ignore_superseded(ctx, step);
        return false;
    }
    if (!same_direction || report->attempt == 0 || report->attempt > step->attempt) {
        ignore(ctx, CODE_UNKNOWN_ATTEMPT, TEXT("this attempt was never started"));
        return false;
    }
    if (step->state != STEP_PROCESSING) {
        ignore_ended(ctx, step);
        return false;
    }
    assert(step->direction == report->direction && step->attempt == report->attempt);
    return true;
}

void decide_report(struct decide_ctx *ctx)
{
    const struct report_step *report = &ctx->cmd->report_step;
    assert(report->output.size <= REPORT_OUTPUT_BYTES_READ_MAX);
    assert(report->error_name.size <= ERROR_NAME_BYTES_READ_MAX);
    assert(report->error_message.size <= MESSAGE_BYTES_READ_MAX);
    assert(report->instance.size <= WHO_BYTES_READ_MAX);
    if (!ctx->exists) {
        ignore(ctx, CODE_UNKNOWN_ORDER, TEXT("there is no such order"));
        return;
    }
    if (!decide_require_order(ctx))
        return;
    int index = order_find_step(ctx->order, report->step);
    if (index < 0) {
        ignore(ctx, CODE_UNKNOWN_STEP, TEXT("the order has no such step"));
        return;
    }
    assert((uint32_t)index < ctx->order->step_count);
    const struct step *step = &ctx->order->steps[index];
    if (!is_current(ctx, step))
        return;
    if (step->suborders != NULL) {
        ignore(ctx, CODE_UNKNOWN_ATTEMPT, TEXT("the step has sub-orders: no agent performs it"));
        return;
    }
    decide_kind_of(ctx, (uint32_t)index)->end(ctx, (uint32_t)index);
    assert(step->attempt == report->attempt && step->direction == report->direction);
    assert(step->state != STEP_PROCESSING);
    decide_advance(ctx);
}
