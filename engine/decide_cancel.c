/* SPDX-License-Identifier: Apache-2.0 */
/* CancelOrder: the customer or an operator stops the order, and it is undone. */
#include "engine/decide.h"

#include <assert.h>

bool decide_cancels_anothers(const struct decide_ctx *ctx)
{
    struct text asks = ctx->cmd->cancel_order.submitted_by;
    assert(ctx->cmd->kind == COMMAND_CANCEL_ORDER);
    return ctx->exists && !text_empty(asks) && !text_equal(asks, ctx->order->details.submitted_by);
}

void decide_cancel(struct decide_ctx *ctx)
{
    const struct cancel_order *cmd = &ctx->cmd->cancel_order;
    assert(cmd->reason.size <= MESSAGE_BYTES_READ_MAX);
    assert(cmd->by.size <= WHO_BYTES_READ_MAX);
    if (decide_cancels_anothers(ctx)) {
        decide_reject(ctx, CODE_ANOTHER_SUBMITTER,
                      "the order was not submitted with the token %.*s",
                      TEXT_ARG(cmd->submitted_by));
        return;
    }
    if (!decide_require_order(ctx) || !decide_may_turn_back(ctx))
        return;
    struct order_marked marked = {
        .code = error_code_text(CODE_CANCELLED), .reason = cmd->reason, .by = cmd->by};
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_CANCELLED, .order_marked = marked});
    assert(ctx->order->cancelled);
    decide_turn_back(ctx, &marked);
}
