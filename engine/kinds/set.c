/* SPDX-License-Identifier: Apache-2.0 */
/* Set: a step that computes its output as its turn comes. See engine/kinds.def. */
#include "engine/decide.h"

#include <assert.h>

void set_start(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    struct decide_fault fault;
    struct text output;
    if (!decide_make_json(ctx, index, decide_plan_of(ctx, index)->set, (struct text){0},
                          SET_BYTES_MAX, &output, &fault) ||
        !decide_keeps_output(ctx, index, output, &fault)) {
        decide_fail_unstarted(ctx, index, DIRECTION_DO, &fault);
        return;
    }
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_PASSED,
                                     .step_passed = {.ref = step_attempt_ref(step),
                                                     .output = decide_without_null(output)}});
    assert(step->state == STEP_PROCESSED && step->effect == EFFECT_NONE);
}
