/* SPDX-License-Identifier: Apache-2.0 */
/* ExpireOrder: an order that ended long ago leaves the stores. The auditor chooses the orders and
 * the time; this only refuses orders that it cannot mean. */
#include "engine/decide.h"

#include <assert.h>

void decide_expire(struct decide_ctx *ctx)
{
    const struct expire_order *cmd = &ctx->cmd->expire_order;
    const struct order *order = ctx->order;
    assert(cmd->by.size <= WHO_BYTES_MAX);
    if (!ctx->exists) {
        decide_reject_unknown_order(ctx);
        return;
    }
    if (!order_ended(order)) {
        decide_reject(ctx, "NotEnded", "the order is %s and has not ended",
                      order_state_name(order->state));
        return;
    }
    if (order->ended_at != cmd->ended_at) {
        decide_reject(ctx, "Stale", "the order ended at %lld, not at %lld",
                      (long long)order->ended_at, (long long)cmd->ended_at);
        return;
    }
    if (ctx->input->retention_ms > 0 &&
        ctx->input->now < order->ended_at + ctx->input->retention_ms) {
        decide_reject_early(ctx, order->ended_at + ctx->input->retention_ms);
        return;
    }
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_EXPIRED, .order_marked = {.by = cmd->by}});
    assert(order->version == 0);
    assert(order->step_count == 0);
}
