/* SPDX-License-Identifier: Apache-2.0 */
/* Undoing an order: every step whose effect is applied or unknown and that has a Compensate, one
 * after the other, the latest first, once no forward attempt may run any more. */
#include "engine/decide.h"

#include <assert.h>

uint64_t workflow_behind_pivot(const struct workflow *workflow)
{
    assert(workflow->pivot >= 0 && (uint32_t)workflow->pivot < workflow->step_count);
    uint64_t pivot = UINT64_C(1) << workflow->pivot;
    uint64_t behind = 0;
    uint64_t known = UINT64_MAX;
    while (behind != known) { /* a step may stand before one that it waits for */
        known = behind;
        for (uint32_t i = 0; i < workflow->step_count; i++) {
            if ((workflow->steps[i].after & (pivot | behind)) != 0)
                behind |= UINT64_C(1) << i;
        }
    }
    assert((behind & pivot) == 0);
    return behind;
}

/* An attempt of it runs, or one may have had an effect. */
static bool acts(const struct step *step)
{
    return step->state == STEP_PROCESSING || step->effect != EFFECT_NONE;
}

int order_past_pivot(const struct order *order, const struct workflow *workflow)
{
    assert(workflow->step_count == order->step_count);
    if (workflow->pivot < 0)
        return -1;
    assert(workflow->steps[workflow->pivot].pivot);
    if (acts(&order->steps[workflow->pivot]))
        return workflow->pivot;
    uint64_t behind = workflow_behind_pivot(workflow);
    for (uint32_t i = 0; i < order->step_count; i++) {
        if ((behind >> i & 1) != 0 && acts(&order->steps[i]))
            return (int)i;
    }
    return -1;
}

/* Whether something of the step can be undone: by its agent, or by sub-orders that are held.
 * One whose undo has failed is undone again, so that an operator deals with it. */
static bool has_undo(const struct decide_ctx *ctx, uint32_t index)
{
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    if (suborders != NULL)
        return suborders->undo_failed || suborders_count(suborders, ITEM_HELD) > 0;
    return decide_plan_of(ctx, index)->has_compensate;
}

void decide_skip_if_no_effect(struct decide_ctx *ctx, uint32_t index)
{
    assert(index < ctx->order->step_count);
    const struct step *step = &ctx->order->steps[index];
    assert(step->state == STEP_PENDING || step->state == STEP_WAITING);
    assert(step->direction == DIRECTION_DO);
    struct text reason;
    if (step->state == STEP_WAITING)
        reason = TEXT("it was waiting");
    else if (step->attempt == 0)
        reason = TEXT("never started");
    else if (step->effect == EFFECT_NONE)
        reason = TEXT("nothing to undo: no attempt had an effect");
    else if (!has_undo(ctx, index))
        reason = TEXT("nothing to undo: the step has no Compensate");
    else
        return;
    decide_emit(ctx,
                &(struct event){.kind = EVENT_STEP_SKIPPED,
                                .step_marked = {.ref = step_attempt_ref(step), .reason = reason}});
    assert(step->state == STEP_SKIPPED);
}

static void skip_pending(struct decide_ctx *ctx)
{
    assert(ctx->order->state == ORDER_COMPENSATING);
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        enum step_state state = ctx->order->steps[i].state;
        if (state == STEP_PENDING || state == STEP_WAITING)
            decide_skip_if_no_effect(ctx, i);
    }
}

void decide_begin_compensation(struct decide_ctx *ctx, const struct order_marked *marked)
{
    assert(order_can_be_undone(ctx->order, ctx->workflow));
    assert(!text_empty(marked->code));
    decide_emit(ctx, &(struct event){.kind = EVENT_COMPENSATION_STARTED, .order_marked = *marked});
    assert(ctx->order->state == ORDER_COMPENSATING);
    assert(ctx->order->complete_by == 0);
    skip_pending(ctx);
    for (uint32_t i = 0; i < ctx->order->step_count; i++)
        decide_go_on_suborders(ctx, i);
}

/* Order of undoing: the later version first. In one Decision a start follows the completion that
 * allows it. */
static uint64_t rank(const struct step *step)
{
    assert(step->effect != EFFECT_NONE);
    bool applied = step->effect == EFFECT_APPLIED;
    return applied ? 2 * step->completed_version : 2 * step->started_version + 1;
}

static bool to_be_undone(const struct decide_ctx *ctx, uint32_t index)
{
    assert(index < ctx->order->step_count);
    const struct step *step = &ctx->order->steps[index];
    return step->direction == DIRECTION_DO && step->effect != EFFECT_NONE &&
           step->state != STEP_SKIPPED && has_undo(ctx, index);
}

bool decide_undoes_any(const struct decide_ctx *ctx)
{
    bool any = false;
    for (uint32_t i = 0; i < ctx->order->step_count && !any; i++)
        any = to_be_undone(ctx, i);
    return any;
}

/* The step that is being undone, or -1. */
static int being_undone(const struct order *order)
{
    assert(order->state == ORDER_COMPENSATING);
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (order->steps[i].direction == DIRECTION_UNDO &&
            order->steps[i].state != STEP_COMPENSATED)
            return (int)i;
    }
    return -1;
}

static bool any_runs(const struct order *order)
{
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == STEP_PROCESSING)
            return true;
    }
    return false;
}

/* The step whose turn it is, or -1. Of those that one Decision started the last one named is
 * first. */
static int next_to_undo(const struct decide_ctx *ctx)
{
    int next = -1;
    assert(ctx->order->state == ORDER_COMPENSATING);
    assert(!any_runs(ctx->order) && being_undone(ctx->order) < 0);
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        if (to_be_undone(ctx, i) &&
            (next < 0 || rank(&ctx->order->steps[i]) >= rank(&ctx->order->steps[next])))
            next = (int)i;
    }
    assert(next < 0 || to_be_undone(ctx, (uint32_t)next));
    return next;
}

void decide_advance_compensation(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    assert(order->state == ORDER_COMPENSATING);
    if (any_runs(order))
        return;
    int current = being_undone(order);
    if (current >= 0) {
        assert(order->steps[current].state == STEP_PENDING);
        if (order->paused_at == 0 && decide_may_start(ctx, &order->steps[current]))
            decide_proceed(ctx, (uint32_t)current);
        return;
    }
    int next = next_to_undo(ctx);
    if (next >= 0) {
        if (order->paused_at != 0)
            return;
        decide_kind_of(ctx, (uint32_t)next)->undo(ctx, (uint32_t)next);
        assert(order->state != ORDER_COMPENSATING || being_undone(order) == next);
        return;
    }
    skip_pending(ctx); /* none, unless the log holds what the engine would not have decided */
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_COMPENSATED,
                                     .order_marked = {.code = order->reason_code,
                                                      .reason = order->reason,
                                                      .by = order->reason_by}});
    assert(order->state == ORDER_COMPENSATED);
    assert(order->ended_at == ctx->input->now);
}
