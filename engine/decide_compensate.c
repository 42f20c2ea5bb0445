/* SPDX-License-Identifier: Apache-2.0 */
/* CompensateOrder: an operator has the order undone. */
#include "engine/decide.h"

#include <assert.h>

void decide_compensate(struct decide_ctx *ctx)
{
    const struct compensate_order *cmd = &ctx->cmd->compensate_order;
    assert(cmd->reason.size <= MESSAGE_BYTES_READ_MAX);
    assert(cmd->by.size <= WHO_BYTES_READ_MAX);
    if (!decide_require_order(ctx) || !decide_may_turn_back(ctx))
        return;
    decide_turn_back(ctx, &(struct order_marked){.code = error_code_text(CODE_OPERATOR),
                                                 .reason = cmd->reason,
                                                 .by = cmd->by});
}
