/* SPDX-License-Identifier: Apache-2.0 */
/* order_apply_decision(): the only mutator of orders, and replay's only code. */
#include "engine/apply.h"

#include "engine/engine.h"

#include <assert.h>

struct text apply_text(const struct apply_ctx *ctx, struct text old, struct text text)
{
    if (text_equal(old, text))
        return old;
    assert(ctx->borrow || ctx->arena != NULL);
    return ctx->borrow ? text : arena_text(ctx->arena, text);
}

void apply_event(const struct apply_ctx *ctx, const struct event *event)
{
    struct order *order = ctx->order;
    assert(event_changes_order(event->kind));
    assert(ctx->version > 0);
    assert(order->version == ctx->version || order->version + 1 == ctx->version);
    if (event_is_of_step(event->kind))
        apply_step_event(ctx, event);
    else
        apply_order_event(ctx, event);
    assert(order->step_count >= 1);
    order->version = ctx->version;
    order->updated_at = ctx->decided_at;
}

void order_apply(struct order *order, const struct event *event, uint64_t version,
                 int64_t decided_at, struct arena *arena)
{
    struct apply_ctx ctx = {
        .order = order, .version = version, .decided_at = decided_at, .arena = arena};
    if (event_changes_order(event->kind))
        apply_event(&ctx, event);
}

void order_apply_decision(struct order *order, const struct decision *decision, struct arena *arena)
{
    if (!decision_changes_order(decision)) {
        assert(order == NULL || order->version == decision->order_version);
        return;
    }
    assert(order->version + 1 == decision->order_version);
    struct apply_ctx ctx = {.order = order,
                            .version = decision->order_version,
                            .offset = decision->offset,
                            .decided_at = decision->decided_at,
                            .arena = arena};
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (event_changes_order(decision->events[i].kind))
            apply_event(&ctx, &decision->events[i]);
    }
    assert(order->version == decision->order_version);
    assert(order->state == decision->order_state);
}
