/* SPDX-License-Identifier: Apache-2.0 */
/* TimeOutOrder: a supervisor reports that the order as a whole missed its deadline. */
#include "engine/decide.h"

#include <assert.h>

void decide_time_out(struct decide_ctx *ctx)
{
    const struct time_out_order *cmd = &ctx->cmd->time_out_order;
    if (!decide_require_order(ctx))
        return;
    const struct order *order = ctx->order;
    if (order->state != ORDER_PROCESSING || order->complete_by == 0 ||
        order->complete_by != cmd->complete_by) {
        decide_reject(ctx, CODE_STALE, "the order is %s, with another deadline than %lld",
                      order_state_name(order->state), (long long)cmd->complete_by);
        return;
    }
    if (ctx->input->now < order->complete_by + order->margin_ms) {
        decide_reject_early(ctx, order->complete_by + order->margin_ms);
        return;
    }
    struct order_marked marked = {.code = TEXT(ERROR_TIMEOUT),
                                  .reason = TEXT("the order was not completed in time"),
                                  .by = cmd->by};
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_TIMED_OUT, .order_marked = marked});
    assert(order->complete_by == 0);
    if (order_can_be_undone(ctx->order, ctx->workflow))
        decide_begin_compensation(ctx, &marked);
    else
        decide_fail_order(ctx, marked.code, (struct text){0}, marked.reason);
    decide_advance(ctx);
    assert(order->state == ORDER_ERROR || order->state == ORDER_COMPENSATING ||
           order->state == ORDER_COMPENSATED);
    assert(order->alert_open == (order->state == ORDER_ERROR));
}
