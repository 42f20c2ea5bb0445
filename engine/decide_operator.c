/* SPDX-License-Identifier: Apache-2.0 */
/* What CancelOrder, CompensateOrder and ResubmitStep share. Each of their events records who
 * decided and why, and closes the open alert. */
#include "engine/decide.h"

#include <assert.h>

void decide_close_alert(struct decide_ctx *ctx, const struct order_marked *marked)
{
    if (ctx->order->alert_open)
        decide_emit(ctx, &(struct event){.kind = EVENT_ALERT_CLOSED, .order_marked = *marked});
    assert(!ctx->order->alert_open);
}

bool decide_may_turn_back(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    if (order_ended(order)) {
        decide_reject(ctx, "AlreadyEnded", "the order is %s", order_state_name(order->state));
        return false;
    }
    if (order->state == ORDER_COMPENSATING) {
        decide_reject(ctx, "AlreadyCompensating", "the order is being undone");
        return false;
    }
    if (order->state == ORDER_ERROR && order->error_from == ORDER_COMPENSATING) {
        decide_reject(
            ctx, "AlreadyCompensating",
            "an undo failed while the order was being undone: `reeve resubmit %.*s` tries it again",
            TEXT_ARG(order->details.order_id));
        return false;
    }
    if (!order_can_be_undone(order, ctx->workflow)) {
        decide_reject(ctx, "PastPivot",
                      "the pivot %.*s has started: the order can no longer be undone",
                      TEXT_ARG(order->steps[ctx->workflow->pivot].name));
        return false;
    }
    assert(order->state == ORDER_PROCESSING || order->state == ORDER_ERROR);
    assert(order->state != ORDER_ERROR || order->error_from == ORDER_PROCESSING);
    return true;
}

void decide_turn_back(struct decide_ctx *ctx, const struct order_marked *marked)
{
    decide_begin_compensation(ctx, marked);
    decide_close_alert(ctx, marked);
    decide_advance(ctx);
    assert(ctx->order->state == ORDER_COMPENSATING || ctx->order->state == ORDER_COMPENSATED);
    assert(!ctx->order->alert_open);
}
