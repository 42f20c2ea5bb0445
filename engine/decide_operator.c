/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of operators share. Each of their events records who decided and why; what gets
 * an order out of Error closes its alert. */
#include "engine/decide.h"

#include <assert.h>

bool decide_is_free(struct decide_ctx *ctx)
{
    if (ctx->order->state != ORDER_HELD)
        return true;
    decide_reject(ctx, CODE_HELD_BY_PARENT,
                  "the order has finished its steps, and waits for what %.*s decides",
                  TEXT_ARG(ctx->order->details.parent->order_id));
    return false;
}

void decide_close_alert(struct decide_ctx *ctx, const struct order_marked *marked)
{
    assert(ctx->order->state != ORDER_ERROR);
    if (ctx->order->alert_open)
        decide_emit(ctx, &(struct event){.kind = EVENT_ALERT_CLOSED, .order_marked = *marked});
    assert(!ctx->order->alert_open);
}

/* A deadline is for going forward: nothing bounds how long an order may be undone. */
static void set_deadline(struct decide_ctx *ctx, const struct order_marked *marked,
                         int64_t timeout_ms)
{
    int64_t timeout = timeout_ms != 0 ? timeout_ms : ctx->workflow->timeout_ms;
    assert(timeout >= 0 && timeout <= DURATION_MS_MAX);
    if (timeout == 0 || ctx->order->state != ORDER_PROCESSING)
        return;
    decide_emit(ctx,
                &(struct event){.kind = EVENT_ORDER_DEADLINE_SET,
                                .order_deadline_set = {.complete_by = ctx->input->now + timeout,
                                                       .margin_ms = ctx->input->margin_ms,
                                                       .by = marked->by,
                                                       .reason = marked->reason}});
    assert(ctx->order->complete_by > ctx->input->now);
}

void decide_leave_error(struct decide_ctx *ctx, const struct order_marked *marked,
                        int64_t timeout_ms)
{
    assert(ctx->order->state == ORDER_ERROR);
    assert(ctx->order->complete_by == 0);
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_RESUMED, .order_marked = *marked});
    set_deadline(ctx, marked, timeout_ms);
    decide_close_alert(ctx, marked);
    assert(ctx->order->state == ORDER_PROCESSING || ctx->order->state == ORDER_COMPENSATING);
}

static void reject_past_pivot(struct decide_ctx *ctx, uint32_t passed)
{
    struct text pivot = ctx->order->steps[ctx->workflow->pivot].name;
    if (passed == (uint32_t)ctx->workflow->pivot)
        decide_reject(ctx, CODE_PAST_PIVOT,
                      "the pivot %.*s has started: the order can no longer be undone",
                      TEXT_ARG(pivot));
    else
        decide_reject(
            ctx, CODE_PAST_PIVOT,
            "step %.*s after the pivot %.*s has started: the order can no longer be undone",
            TEXT_ARG(ctx->order->steps[passed].name), TEXT_ARG(pivot));
}

bool decide_may_turn_back(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    if (order_ended(order)) {
        decide_reject(ctx, CODE_ALREADY_ENDED, "the order is %s", order_state_name(order->state));
        return false;
    }
    if (order->state == ORDER_COMPENSATING) {
        decide_reject(ctx, CODE_ALREADY_COMPENSATING, "the order is being undone");
        return false;
    }
    if (order->state == ORDER_ERROR && order->error_from == ORDER_COMPENSATING) {
        decide_reject(
            ctx, CODE_ALREADY_COMPENSATING,
            "an undo failed while the order was being undone: `reeve resubmit %.*s` tries it again",
            TEXT_ARG(order->details.order_id));
        return false;
    }
    if (!decide_is_free(ctx))
        return false;
    int passed = order_past_pivot(order, ctx->workflow);
    if (passed >= 0) {
        reject_past_pivot(ctx, (uint32_t)passed);
        return false;
    }
    assert(order->state == ORDER_PROCESSING || order->state == ORDER_ERROR);
    assert(order->state != ORDER_ERROR || order->error_from == ORDER_PROCESSING);
    return true;
}

void decide_turn_back(struct decide_ctx *ctx, const struct order_marked *marked)
{
    assert(ctx->order->state == ORDER_PROCESSING || ctx->order->state == ORDER_ERROR ||
           ctx->order->state == ORDER_HELD);
    decide_begin_compensation(ctx, marked);
    decide_close_alert(ctx, marked);
    decide_advance(ctx);
    assert(ctx->order->state != ORDER_PROCESSING);
    assert(ctx->order->alert_open ==
           (ctx->order->state == ORDER_ERROR)); /* an undo may fail at once */
}
