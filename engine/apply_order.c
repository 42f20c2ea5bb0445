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

static void end_pause(struct order *order)
{
    order->paused_at = 0;
    order->paused_by = order->pause_reason = (struct text){0};
}

/* Its last attempt may have ended during a pause. */
static void end(const struct apply_ctx *ctx, enum order_state state)
{
    set_state(ctx->order, state);
    assert(order_ended(ctx->order));
    end_pause(ctx->order);
    ctx->order->complete_by = 0;
    ctx->order->ended_at = ctx->decided_at;
}

static void order_accepted(const struct apply_ctx *ctx, const struct event *event)
{
    const struct order_accepted *accepted = &event->order_accepted;
    struct order *order = ctx->order;
    assert(order->version == 0);
    assert(order->step_count == 0 && order->steps == NULL);
    assert(order->complete_by == 0 && order->paused_at == 0); /* zeroed */
    assert(!order->alert_open);
    assert(accepted->step_count >= 1 && accepted->step_count <= WORKFLOW_STEPS_MAX);
    if (ctx->borrow)
        order->details = accepted->details;
    else
        order_details_copy(&accepted->details, ctx->arena, &order->details);
    order->state = ORDER_PENDING;
    order->accepted_at = ctx->decided_at;
    order->accepted_offset = order->stated_offset = ctx->offset;
    order->complete_by = accepted->complete_by;
    order->margin_ms = accepted->margin_ms;
    order->step_count = accepted->step_count;
    order->steps = ARENA_ARRAY(ctx->arena, struct step, accepted->step_count);
    for (uint32_t i = 0; i < accepted->step_count; i++) {
        struct text none = {0};
        order->steps[i].name = apply_text(ctx, none, accepted->steps[i].name);
        order->steps[i].agent = apply_text(ctx, none, accepted->steps[i].agent);
        assert(order->steps[i].state == STEP_PENDING && order->steps[i].attempt == 0);
    }
    assert(order->state == ORDER_PENDING && order->ended_at == 0);
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
    assert(ctx->order->state == ORDER_PROCESSING || ctx->order->state == ORDER_ERROR);
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
    assert(order->error_from == ORDER_PROCESSING || order->error_from == ORDER_COMPENSATING);
    order->complete_by = 0;
    if (order->error_from == ORDER_PROCESSING)
        set_reason(ctx, &event->order_marked);
}

static void order_resumed(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    struct order *order = ctx->order;
    assert(order->state == ORDER_ERROR);
    assert(order->error_from == ORDER_PROCESSING || order->error_from == ORDER_COMPENSATING);
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

static void order_deadline_set(const struct apply_ctx *ctx, const struct event *event)
{
    ctx->order->complete_by = event->order_deadline_set.complete_by;
    ctx->order->margin_ms = event->order_deadline_set.margin_ms;
}

static void order_paused(const struct apply_ctx *ctx, const struct event *event)
{
    struct order *order = ctx->order;
    assert(order->paused_at == 0);
    order->paused_at = ctx->decided_at;
    order->paused_by = apply_text(ctx, order->paused_by, event->order_marked.by);
    order->pause_reason = apply_text(ctx, order->pause_reason, event->order_marked.reason);
    assert(order->paused_at > 0);
}

static void order_pause_ended(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    assert(ctx->order->paused_at != 0);
    end_pause(ctx->order);
}

/* The steps of an earlier version's set, as a set of the new one's. */
static int64_t move_inputs(int64_t inputs, const struct order *before, const struct order *order)
{
    uint64_t moved = 0;
    assert(before->step_count <= WORKFLOW_STEPS_MAX && order->step_count <= WORKFLOW_STEPS_MAX);
    if (inputs == STEP_INPUTS_ALL)
        return inputs;
    for (uint32_t i = 0; i < before->step_count; i++) {
        int to =
            ((uint64_t)inputs >> i & 1) != 0 ? order_find_step(order, before->steps[i].name) : -1;
        if (to >= 0)
            moved |= UINT64_C(1) << to;
    }
    return (int64_t)moved;
}

/* The row of a step under its name, or a new one. */
static struct step moved_step(const struct apply_ctx *ctx, const struct order *before,
                              const struct step_plan *plan, bool moves_retries)
{
    struct text none = {0};
    struct step step = {.name = none};
    int from = order_find_step(before, plan->name);
    if (from >= 0)
        step = before->steps[from];
    else
        step.name = apply_text(ctx, none, plan->name);
    assert(text_equal(step.name, plan->name));
    if (step.attempt == 0)
        step.agent = apply_text(ctx, step.agent, plan->agent);
    if (step.state == STEP_PENDING)
        step.retry_at = step.queued_at = 0;
    if (moves_retries)
        memcpy(step.retries_used, plan->retries_used, sizeof(step.retries_used));
    return step;
}

static void order_migrated(const struct apply_ctx *ctx, const struct event *event)
{
    const struct order_migrated *migrated = &event->order_migrated;
    struct order *order = ctx->order;
    struct order before = *order;
    assert(migrated->step_count >= 1 && migrated->step_count <= WORKFLOW_STEPS_MAX);
    assert(order->state == ORDER_PROCESSING || order->state == ORDER_ERROR);
    order->details.workflow_version = migrated->workflow_version;
    order->step_count = migrated->step_count;
    order->steps = ARENA_ARRAY(ctx->arena, struct step, migrated->step_count);
    for (uint32_t i = 0; i < migrated->step_count; i++)
        order->steps[i] = moved_step(ctx, &before, &migrated->steps[i], migrated->moves_retries);
    for (uint32_t i = 0; i < migrated->step_count; i++)
        order->steps[i].inputs = move_inputs(order->steps[i].inputs, &before, order);
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
    [EVENT_ORDER_DEADLINE_SET] = order_deadline_set,
    [EVENT_ORDER_PAUSED] = order_paused,
    [EVENT_ORDER_PAUSE_ENDED] = order_pause_ended,
    [EVENT_ORDER_MIGRATED] = order_migrated,
};

void apply_order_event(const struct apply_ctx *ctx, const struct event *event)
{
    assert(appliers[event->kind] != NULL);
    assert(ctx->order->step_count > 0 || event->kind == EVENT_ORDER_ACCEPTED);
    appliers[event->kind](ctx, event);
}
