/* SPDX-License-Identifier: Apache-2.0 */
/* TimeOutOrder: a supervisor reports that the order as a whole missed its deadline. */
#include "engine/decide.h"

#include <assert.h>

/* Its parent has not said what becomes of it: it reports again that it is held. */
static void ask_parent(struct decide_ctx *ctx)
{
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_DEADLINE_SET,
                                     .order_deadline_set = {
                                         .complete_by = decide_next_ask(ctx, ctx->order->held_at),
                                         .by = ctx->cmd->time_out_order.by}});
    assert(ctx->order->state == ORDER_HELD && ctx->order->complete_by > ctx->input->now);
}

void decide_time_out(struct decide_ctx *ctx)
{
    const struct time_out_order *cmd = &ctx->cmd->time_out_order;
    if (!decide_require_order(ctx))
        return;
    const struct order *order = ctx->order;
    bool watched = order->state == ORDER_PROCESSING || order->state == ORDER_HELD;
    if (!watched || order->complete_by == 0 || order->complete_by != cmd->complete_by) {
        decide_reject(ctx, CODE_STALE, "the order is %s, with another deadline than %lld",
                      order_state_name(order->state), (long long)cmd->complete_by);
        return;
    }
    if (ctx->input->now < order->complete_by + order->margin_ms) {
        decide_reject_early(ctx, order->complete_by + order->margin_ms);
        return;
    }
    if (order->state == ORDER_HELD) {
        ask_parent(ctx);
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
