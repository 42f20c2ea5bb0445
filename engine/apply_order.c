/* SPDX-License-Identifier: Apache-2.0 */
/* Appliers of the events that are about the order as a whole. */
#include "engine/apply.h"

#include <assert.h>

/* The one setter of an order's state. */
static void set_state(struct order *order, enum order_state state)
{
    assert(order_state_may_follow(order->state, state));
    order->state = state;
}

static void set_reason(const struct apply_ctx *ctx, const struct order_marked *marked)
{
    struct order *order = ctx->order;
    order->reason_code = apply_text(ctx, order->reason_code, marked->code);
    order->reason = apply_text(ctx, order->reason, marked->reason);
    order->reason_by = apply_text(ctx, order->reason_by, marked->by);
}

static void end(const struct apply_ctx *ctx, enum order_state state)
{
    set_state(ctx->order, state);
    assert(order_ended(ctx->order));
    ctx->order->complete_by = 0;
    ctx->order->ended_at = ctx->decided_at;
}

static void order_accepted(const struct apply_ctx *ctx, const struct event *event)
{
    const struct order_accepted *accepted = &event->order_accepted;
    struct order *order = ctx->order;
    assert(order->version == 0 && order->steps == NULL);
    assert(accepted->step_count >= 1 && accepted->step_count <= WORKFLOW_STEPS_MAX);
    assert(order->step_count == 0 && !order->alert_open);
    if (ctx->borrow)
        order->details = accepted->details;
    else
        order_details_copy(&accepted->details, ctx->arena, &order->details);
    order->state = ORDER_PENDING;
    order->accepted_at = ctx->decided_at;
    order->complete_by = accepted->complete_by;
    order->margin_ms = accepted->margin_ms;
    order->step_count = accepted->step_count;
    order->steps = ARENA_ARRAY(ctx->arena, struct step, accepted->step_count);
    for (uint32_t i = 0; i < accepted->step_count; i++) {
        struct text none = {0};
        order->steps[i].name = apply_text(ctx, none, accepted->steps[i].name);
        order->steps[i].agent = apply_text(ctx, none, accepted->steps[i].agent);
    }
}

static void order_started(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    set_state(ctx->order, ORDER_PROCESSING);
}

static void order_cancelled(const struct apply_ctx *ctx, const struct event *event)
{
    ctx->order->cancelled = true;
    set_reason(ctx, &event->order_marked);
}

static void order_timed_out(const struct apply_ctx *ctx, const struct event *event)
{
    ctx->order->complete_by = 0;
    set_reason(ctx, &event->order_marked);
}

static void compensation_started(const struct apply_ctx *ctx, const struct event *event)
{
    set_state(ctx->order, ORDER_COMPENSATING);
    ctx->order->complete_by = 0;
    set_reason(ctx, &event->order_marked);
}

static void order_processed(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    end(ctx, ORDER_PROCESSED);
}

static void order_compensated(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    end(ctx, ORDER_COMPENSATED);
}

/* From here on an operator decides, so the order's own deadline is void. An order that fails while
 * it is being compensated keeps the reason of the compensation: its failed step shows the rest. */
static void order_failed(const struct apply_ctx *ctx, const struct event *event)
{
    struct order *order = ctx->order;
    order->error_from = order->state;
    set_state(order, ORDER_ERROR);
    order->complete_by = 0;
    if (order->error_from == ORDER_PROCESSING)
        set_reason(ctx, &event->order_marked);
}

static void order_resumed(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    struct order *order = ctx->order;
    set_state(order, order->error_from);
    if (order->state == ORDER_PROCESSING)
        set_reason(ctx, &(struct order_marked){0});
}

static void alert_raised(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    assert(!ctx->order->alert_open);
    ctx->order->alert_open = true;
}

static void alert_closed(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    assert(ctx->order->alert_open);
    ctx->order->alert_open = false;
}

/* The order leaves nothing behind; its history stays in the log. */
static void order_expired(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    assert(order_ended(ctx->order));
    *ctx->order = (struct order){0};
}

typedef void (*applier)(const struct apply_ctx *ctx, const struct event *event);

static const applier appliers[EVENT_KIND_COUNT] = {
    [EVENT_ORDER_ACCEPTED] = order_accepted,
    [EVENT_ORDER_STARTED] = order_started,
    [EVENT_ORDER_CANCELLED] = order_cancelled,
    [EVENT_ORDER_TIMED_OUT] = order_timed_out,
    [EVENT_COMPENSATION_STARTED] = compensation_started,
    [EVENT_ORDER_PROCESSED] = order_processed,
    [EVENT_ORDER_COMPENSATED] = order_compensated,
    [EVENT_ORDER_FAILED] = order_failed,
    [EVENT_ORDER_RESUMED] = order_resumed,
    [EVENT_ALERT_RAISED] = alert_raised,
    [EVENT_ALERT_CLOSED] = alert_closed,
    [EVENT_ORDER_EXPIRED] = order_expired,
};

void apply_order_event(const struct apply_ctx *ctx, const struct event *event)
{
    assert(appliers[event->kind] != NULL);
    assert(ctx->order->step_count > 0 || event->kind == EVENT_ORDER_ACCEPTED);
    appliers[event->kind](ctx, event);
}
