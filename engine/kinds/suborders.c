/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: a step that is orders of their own. See engine/kinds.def. */
#include "engine/decide.h"

#include <assert.h>

void suborders_start(struct decide_ctx *ctx, uint32_t index)
{
    assert(decide_plan_of(ctx, index)->suborders.body != NULL);
    decide_fail_unstarted(ctx, index, DIRECTION_DO,
                          &(struct decide_fault){TEXT(ERROR_TASK_FAILED),
                                                 TEXT("no scheduler starts sub-orders yet")});
}

bool suborders_due(struct decide_ctx *ctx, uint32_t index)
{
    suborders_start(ctx, index);
    return true;
}

void suborders_end(struct decide_ctx *ctx, uint32_t index)
{
    decide_no_attempt(ctx, index);
}

void suborders_undo(struct decide_ctx *ctx, uint32_t index)
{
    decide_no_attempt(ctx, index);
}

const char *suborders_differs(const struct step *step, const struct workflow_step *plan,
                              const struct workflow_step *target)
{
    return decide_no_change(step, plan, target);
}
