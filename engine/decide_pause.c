/* SPDX-License-Identifier: Apache-2.0 */
/* PauseOrder, ResumeOrder: while an order is paused, what runs may end, and its own deadline holds,
 * but no attempt starts. */
#include "engine/decide.h"

#include <assert.h>

static void mark(struct decide_ctx *ctx, enum event_kind kind, struct text by, struct text reason)
{
    assert(reason.size <= MESSAGE_BYTES_MAX && by.size <= WHO_BYTES_MAX);
    decide_emit(ctx, &(struct event){.kind = kind, .order_marked = {.reason = reason, .by = by}});
}

void decide_pause(struct decide_ctx *ctx)
{
    const struct pause_order *cmd = &ctx->cmd->pause_order;
    if (!decide_require_order(ctx))
        return;
    const struct order *order = ctx->order;
    if (order_ended(order)) {
        decide_reject(ctx, CODE_ALREADY_ENDED, "the order is %s", order_state_name(order->state));
        return;
    }
    if (order->paused_at != 0) {
        decide_reject(ctx, CODE_ALREADY_PAUSED, "%.*s has paused the order",
                      TEXT_ARG(order->paused_by));
        return;
    }
    mark(ctx, EVENT_ORDER_PAUSED, cmd->by, cmd->reason);
    assert(order->paused_at == ctx->input->now);
}

void decide_resume(struct decide_ctx *ctx)
{
    const struct resume_order *cmd = &ctx->cmd->resume_order;
    if (!decide_require_order(ctx))
        return;
    if (ctx->order->paused_at == 0) {
        decide_reject(ctx, CODE_NOT_PAUSED, "the order is not paused%s",
                      ctx->order->state == ORDER_ERROR
                          ? ": it is in Error, and `reeve resubmit` tries again"
                          : "");
        return;
    }
    mark(ctx, EVENT_ORDER_PAUSE_ENDED, cmd->by, cmd->reason);
    assert(ctx->order->paused_at == 0);
    decide_advance(ctx);
}
