/* SPDX-License-Identifier: Apache-2.0 */
/* Advancing an order: steps that may start now are started or queued; an order with nothing left to
 * do ends. */
#include "engine/decide.h"

#include <assert.h>

static uint64_t processed_steps(const struct order *order)
{
    uint64_t processed = 0;
    for (uint32_t i = 0; i < order->step_count; i++)
        processed |= (uint64_t)(order->steps[i].state == STEP_PROCESSED) << i;
    return processed;
}

static void advance_processing(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    assert(order->step_count >= 1 && order->step_count <= WORKFLOW_STEPS_MAX);
    uint64_t processed = processed_steps(order);
    uint64_t all = UINT64_MAX >> (64 - order->step_count);
    assert((processed & ~all) == 0);
    if (processed == all) {
        decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_PROCESSED});
        assert(order->state == ORDER_PROCESSED);
        assert(order->ended_at == ctx->input->now);
        return;
    }
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        assert((decide_plan_of(ctx, i)->after & ~all) == 0);
        if (step->state == STEP_PENDING && decide_may_start(ctx, step) &&
            (decide_plan_of(ctx, i)->after & ~processed) == 0)
            (void)decide_start_or_queue(ctx, i, DIRECTION_DO);
    }
}

void decide_advance(struct decide_ctx *ctx)
{
    assert(ctx->decision->event_count > 0);
    assert(ctx->order->version == ctx->next_version);
    switch (ctx->order->state) {
    case ORDER_PROCESSING:
        advance_processing(ctx);
        return;
    case ORDER_COMPENSATING:
        decide_advance_compensation(ctx);
        return;
    case ORDER_ERROR: /* nothing starts until an operator decides */
    case ORDER_PROCESSED:
    case ORDER_COMPENSATED:
        return;
    case ORDER_PENDING:
    case ORDER_STATE_COUNT:
        break;
    }
    assert(false && "an order under way");
}
