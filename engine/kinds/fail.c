/* SPDX-License-Identifier: Apache-2.0 */
/* Fail: a step that fails as its turn comes, so that its Catch or OnExhausted decides what follows.
 * See engine/kinds.def. */
#include "engine/decide.h"

#include <assert.h>

void fail_start(struct decide_ctx *ctx, uint32_t index)
{
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    struct decide_fault fault = {.error_name = plan->fail.error};
    assert(!text_empty(plan->fail.error));
    if (plan->fail.message != NULL)
        decide_make_text(ctx, index, plan->fail.message, MESSAGE_BYTES_MAX, &fault.message, &fault);
    decide_fail_unstarted(ctx, index, DIRECTION_DO, &fault);
}
