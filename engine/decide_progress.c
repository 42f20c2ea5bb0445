/* SPDX-License-Identifier: Apache-2.0 */
/* Advancing an order: steps whose turn has come begin; an order with nothing left to do ends. A
 * step that ends as it begins gives others their turn, so this goes on until no step has one. */
#include "engine/decide.h"
#include "engine/message.h"

#include <assert.h>

uint64_t decide_finished_steps(const struct order *order)
{
    uint64_t finished = 0;
    assert(order->step_count <= 64); /* a bit for each */
    for (uint32_t i = 0; i < order->step_count; i++) {
        enum step_state state = order->steps[i].state;
        bool is = state == STEP_PROCESSED || state == STEP_SKIPPED || state == STEP_CAUGHT;
        finished |= (uint64_t)is << i;
    }
    return finished;
}

int64_t decide_inputs(const struct decide_ctx *ctx, uint32_t index, enum direction direction)
{
    uint64_t inputs = 0;
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    bool undo = direction == DIRECTION_UNDO;
    bool mapped = plan->input != NULL || (undo && plan->compensate.input != NULL);
    uint64_t next = mapped ? 0 : plan->after; /* Input is instead of outputs */
    uint64_t all = UINT64_MAX >> (64 - ctx->order->step_count);
    assert(index < ctx->order->step_count);
    while (next != 0) { /* each step once */
        inputs |= next;
        uint64_t found = 0;
        for (uint32_t i = 0; i < ctx->order->step_count; i++) {
            if ((next >> i & 1) != 0)
                found |= decide_plan_of(ctx, i)->after;
        }
        next = found & ~inputs;
    }
    assert((inputs >> index & 1) == 0); /* the graph has no cycle */
    assert((inputs & ~all) == 0);
    if (undo)
        inputs |= UINT64_C(1) << index;
    return (int64_t)inputs;
}

/* A sub-order that something could be undone of, and which its pivot lets be undone. */
static bool is_to_be_held(const struct decide_ctx *ctx)
{
    return ctx->order->details.parent != NULL && order_can_be_undone(ctx->order, ctx->workflow) &&
           decide_undoes_any(ctx);
}

/* All steps are finished. An Output that cannot be made keeps no order from ending. */
static void end_order(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    struct event event = {.kind = EVENT_ORDER_PROCESSED};
    struct decide_fault fault;
    if (ctx->workflow->output != NULL &&
        !decide_make_order_output(ctx, &event.order_processed.output, &fault))
        event.order_processed.problem = message_format(
            ctx->arena, "%.*s: %.*s", TEXT_ARG(fault.error_name), TEXT_ARG(fault.message));
    if (is_to_be_held(ctx)) {
        struct order_held held = {.complete_by = decide_next_ask(ctx, ctx->input->now),
                                  .output = event.order_processed.output,
                                  .problem = event.order_processed.problem};
        decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_HELD, .order_held = held});
        assert(order->state == ORDER_HELD && order->complete_by > ctx->input->now);
        return;
    }
    decide_emit(ctx, &event);
    assert(order->state == ORDER_PROCESSED);
    assert(order->ended_at == ctx->input->now);
}

static void advance_processing(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    assert(order->step_count >= 1 && order->step_count <= WORKFLOW_STEPS_MAX);
    uint64_t finished = decide_finished_steps(order);
    uint64_t all = UINT64_MAX >> (64 - order->step_count);
    assert((finished & ~all) == 0);
    if (finished == all) {
        end_order(ctx);
        return;
    }
    if (order->paused_at != 0)
        return;
    for (uint32_t i = 0; i < order->step_count && order->state == ORDER_PROCESSING; i++) {
        const struct step *step = &order->steps[i];
        bool open = step->state == STEP_PENDING || step->state == STEP_WAITING;
        assert((decide_plan_of(ctx, i)->after & ~all) == 0);
        if (step->state == STEP_PROCESSING)
            decide_go_on_suborders(ctx, i);
        else if (open && decide_may_start(ctx, step) &&
                 (decide_plan_of(ctx, i)->after & ~finished) == 0)
            decide_proceed(ctx, i);
    }
}

static void advance_once(struct decide_ctx *ctx)
{
    switch (ctx->order->state) {
    case ORDER_PROCESSING:
        advance_processing(ctx);
        return;
    case ORDER_COMPENSATING:
        decide_advance_compensation(ctx);
        return;
    case ORDER_ERROR: /* nothing starts until an operator decides */
    case ORDER_HELD:  /* or its parent */
    case ORDER_PROCESSED:
    case ORDER_COMPENSATED:
        return;
    case ORDER_PENDING:
    case ORDER_STATE_COUNT:
        break;
    }
    assert(false && "an order under way");
}

/* Whether an event since then may give a step its turn: any but those by which one begins or
 * waits. */
static bool gives_turns(const struct decision *decision, uint32_t since)
{
    for (uint32_t i = since; i < decision->event_count; i++) {
        enum event_kind kind = decision->events[i].kind;
        if (!event_is_of_step(kind) || (event_attempt_change(kind) != ATTEMPT_STARTS &&
                                        event_attempt_change(kind) != ATTEMPT_WAITS))
            return true;
    }
    return false;
}

void decide_advance(struct decide_ctx *ctx)
{
    uint32_t since = 0;
    assert(ctx->decision->event_count > 0);
    assert(ctx->order->version == ctx->next_version);
    do {
        since = ctx->decision->event_count;
        advance_once(ctx);
    } while (gives_turns(ctx->decision, since));
}
