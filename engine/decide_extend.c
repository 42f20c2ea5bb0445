/* SPDX-License-Identifier: Apache-2.0 */
/* ExtendStep: an agent asks for more time for a long step. The workflow bounds the sum of all
 * extensions of an attempt. */
#include "engine/decide.h"

#include <assert.h>

/* The latest that the running attempt may have: its first time, which may be that of an earlier
 * version of the workflow, and all extensions. */
static int64_t latest_end(const struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    bool undo = step->direction == DIRECTION_UNDO;
    int64_t more = undo ? plan->compensate.max_extension_ms : plan->max_extension_ms;
    assert(more >= 0 && more <= DURATION_MS_MAX);
    assert(step->state == STEP_PROCESSING && step->extension_ms >= 0);
    return step->complete_by - step->extension_ms + more;
}

void decide_extend(struct decide_ctx *ctx)
{
    const struct extend_step *cmd = &ctx->cmd->extend_step;
    uint32_t index = 0;
    assert(cmd->progress.size <= MESSAGE_BYTES_READ_MAX);
    assert(cmd->instance.size <= WHO_BYTES_READ_MAX);
    const struct step *step =
        decide_require_attempt(ctx, cmd->step, cmd->direction, cmd->attempt, &index);
    if (step == NULL)
        return;
    if (step->state != STEP_PROCESSING) {
        decide_reject(ctx, CODE_STALE, "the attempt has ended: step %.*s is %s",
                      TEXT_ARG(step->name), step_state_name(step->state));
        return;
    }
    int64_t latest = latest_end(ctx, index);
    int64_t until = cmd->complete_by < latest ? cmd->complete_by : latest;
    if (until <= step->complete_by || until <= ctx->input->now) {
        decide_reject(ctx, CODE_EXTENSION_EXHAUSTED,
                      "attempt %u of step %.*s runs until %lld, and at most until %lld",
                      (unsigned)step->attempt, TEXT_ARG(step->name), (long long)step->complete_by,
                      (long long)latest);
        return;
    }
    bool undo = step->direction == DIRECTION_UNDO;
    decide_emit(ctx,
                &(struct event){
                    .kind = EVENT_STEP_EXTENDED,
                    .step_extended = {.ref = step_attempt_ref(step),
                                      .action = undo ? decide_plan_of(ctx, index)->compensate.action
                                                     : decide_plan_of(ctx, index)->name,
                                      .complete_by = until,
                                      .progress = cmd->progress,
                                      .by = cmd->instance,
                                      .inputs = decide_inputs(ctx, index, step->direction)}});
    assert(step->state == STEP_PROCESSING);
    assert(step->complete_by == until && until <= latest);
}
