/* SPDX-License-Identifier: Apache-2.0 */
/* RecoverStep: a supervisor reports that an attempt missed its deadline. The command names the
 * attempt and the deadline that the supervisor saw: if either has changed, it is stale; if it comes
 * too early, the rejection states when it will be due. */
#include "engine/decide.h"

#include <assert.h>

void decide_recover(struct decide_ctx *ctx)
{
    const struct recover_step *cmd = &ctx->cmd->recover_step;
    uint32_t index = 0;
    const struct step *step =
        decide_require_attempt(ctx, cmd->step, cmd->direction, cmd->attempt, &index);
    if (step == NULL)
        return;
    if (step->state != STEP_PROCESSING || step->complete_by != cmd->complete_by) {
        decide_reject(ctx, CODE_STALE, "step %.*s is %s, with another deadline than %lld",
                      TEXT_ARG(step->name), step_state_name(step->state),
                      (long long)cmd->complete_by);
        return;
    }
    if (ctx->input->now < step->complete_by + step->margin_ms) {
        decide_reject_early(ctx, step->complete_by + step->margin_ms);
        return;
    }
    assert(step->complete_by > 0 && step->margin_ms >= 0);
    decide_kind_of(ctx, index)->due(ctx, index);
    decide_advance(ctx);
}
