/* SPDX-License-Identifier: Apache-2.0 */
/* Appliers of the events that are about the order as a whole, and what keeps one from being
 * applied. The state that each leads to comes from engine/events.def. */
#include "engine/apply.h"
#include "engine/lifecycle.h"

#include <assert.h>

/* The one setter of an order's state. */
static void set_state(struct order *order, enum event_kind kind)
{
    assert(order_event_may_apply(order, kind));
    order->state = order_state_after(order, kind);
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

static const char *order_accepted_problem(const struct order *order,
                                          const struct decision *decision,
                                          const struct event *event)
{
    const struct order_accepted *accepted = &event->order_accepted;
    if (order->version != 0 || order->step_count != 0)
        return "the order is accepted twice";
    if (accepted->step_count < 1 || accepted->step_count > WORKFLOW_STEPS_MAX)
        return "an order has 1 to 64 steps";
    if (!text_equal(accepted->details.order_id, decision->order_id))
        return "the accepted order has another id than the Decision";
    return NULL;
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
    assert(ctx->order->state == ORDER_PROCESSING || ctx->order->state == ORDER_ERROR ||
           ctx->order->state == ORDER_HELD);
    ctx->order->complete_by = 0;
    set_reason(ctx, &event->order_marked);
}

/* Its last attempt may have ended during a pause. */
static void end_order(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    end_pause(ctx->order);
    ctx->order->complete_by = 0;
    ctx->order->ended_at = ctx->decided_at;
}

static void order_processed(const struct apply_ctx *ctx, const struct event *event)
{
    struct order *order = ctx->order;
    end_order(ctx, event);
    order->output = apply_text(ctx, order->output, event->order_processed.output);
    order->output_problem = apply_text(ctx, order->output_problem, event->order_processed.problem);
}

/* From here on an operator decides, so the order's own deadline is void. An order that fails while
 * it is being compensated keeps the reason of the compensation: its failed step shows the rest. */
static void order_failed(const struct apply_ctx *ctx, const struct event *event)
{
    struct order *order = ctx->order;
    order->error_from = order->state;
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
    if (order->error_from == ORDER_PROCESSING)
        set_reason(ctx, &(struct order_marked){0});
}

static const char *order_resumed_problem(const struct order *order, const struct decision *decision,
                                         const struct event *event)
{
    (void)decision;
    (void)event;
    return order->state != ORDER_ERROR ? "an order resumes that is not in Error" : NULL;
}

static void alert_raised(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    assert(!ctx->order->alert_open);
    ctx->order->alert_open = true;
}

static const char *alert_raised_problem(const struct order *order, const struct decision *decision,
                                        const struct event *event)
{
    (void)decision;
    (void)event;
    return order->alert_open ? "an alert is raised that is open" : NULL;
}

static void alert_closed(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    assert(ctx->order->alert_open);
    ctx->order->alert_open = false;
}

static const char *alert_closed_problem(const struct order *order, const struct decision *decision,
                                        const struct event *event)
{
    (void)decision;
    (void)event;
    return !order->alert_open ? "an alert is closed that is not open" : NULL;
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

static const char *order_paused_problem(const struct order *order, const struct decision *decision,
                                        const struct event *event)
{
    (void)event;
    bool paused = order->paused_at != 0 || decision->decided_at <= 0;
    return paused ? "an order is paused that is paused" : NULL;
}

static void order_pause_ended(const struct apply_ctx *ctx, const struct event *event)
{
    (void)event;
    assert(ctx->order->paused_at != 0);
    end_pause(ctx->order);
}

static const char *order_pause_ended_problem(const struct order *order,
                                             const struct decision *decision,
                                             const struct event *event)
{
    (void)decision;
    (void)event;
    return order->paused_at == 0 ? "a pause ends that has not begun" : NULL;
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
    if (step.state == STEP_PENDING) {
        step.wait = (struct wait_row){0};
        step.input = none;
    }
    /* It may be of another kind now, unless it waits, has passed, or has a signal. */
    bool open = step.state == STEP_PENDING || step.state == STEP_ERROR;
    if (open && !step_has_early_signal(&step))
        step.awaiting = NULL;
    step.generation[DIRECTION_DO] += plan->new_key;
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

/* Whether another row could be the one of the step: then nothing of it would be left. */
static bool was_started(const struct step *step)
{
    return step->attempt > 0 || step->state != STEP_PENDING || step->effect != EFFECT_NONE;
}

/* Under another key, nothing is known of what was done under the one before. */
static bool may_get_key(const struct order *order, struct text name)
{
    int index = order_find_step(order, name);
    const struct step *step = index >= 0 ? &order->steps[index] : NULL;
    return step != NULL && step->state == STEP_PENDING && step->direction == DIRECTION_DO &&
           step->effect == EFFECT_NONE && step->generation[DIRECTION_DO] < INT32_MAX;
}

static bool has_plan(const struct order_migrated *migrated, uint32_t count, struct text name)
{
    bool has = false;
    for (uint32_t i = 0; i < count && !has; i++)
        has = text_equal(migrated->steps[i].name, name);
    return has;
}

static const char *order_migrated_problem(const struct order *order,
                                          const struct decision *decision,
                                          const struct event *event)
{
    (void)decision;
    const struct order_migrated *migrated = &event->order_migrated;
    bool forward = order->state == ORDER_PROCESSING ||
                   (order->state == ORDER_ERROR && order->error_from == ORDER_PROCESSING);
    if (!forward)
        return "an order gets another version that is undone or has ended";
    if (migrated->step_count < 1 || migrated->step_count > WORKFLOW_STEPS_MAX)
        return "an order has 1 to 64 steps";
    for (uint32_t i = 0; i < migrated->step_count; i++) {
        if (has_plan(migrated, i, migrated->steps[i].name))
            return "a version has a step twice";
        if (migrated->steps[i].new_key && !may_get_key(order, migrated->steps[i].name))
            return "a step gets another key that may have had an effect";
    }
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (was_started(&order->steps[i]) &&
            !has_plan(migrated, migrated->step_count, order->steps[i].name))
            return "a version lacks a step that was started";
    }
    return NULL;
}

/* ---- another input ---- */

/* A Pending step keeps its attempts and what it used of its retries; any other one has none. */
static struct step begun_again(struct step step, uint32_t generation)
{
    if (step.state != STEP_PENDING) {
        assert(step.attempt == 0 && step.effect == EFFECT_NONE);
        step = (struct step){.name = step.name, .agent = step.agent};
    }
    step.wait = (struct wait_row){0};
    step.input = (struct text){0};
    step.awaiting = NULL;
    step.generation[DIRECTION_DO] = generation;
    return step;
}

static void order_amended(const struct apply_ctx *ctx, const struct event *event)
{
    const struct order_amended *amended = &event->order_amended;
    struct order *order = ctx->order;
    assert(order->state == ORDER_ERROR && order->error_from == ORDER_PROCESSING);
    order->details.input = apply_text(ctx, order->details.input, amended->input);
    for (uint32_t i = 0; i < amended->step_count; i++) {
        int index = order_find_step(order, amended->steps[i].name);
        assert(index >= 0);
        order->steps[index] = begun_again(order->steps[index], amended->steps[i].generation);
    }
}

/* Whether nothing is lost where the step begins again. */
static bool may_begin_again(const struct step *step)
{
    if (step->direction != DIRECTION_DO || step->effect != EFFECT_NONE)
        return false;
    return step->state == STEP_PENDING ||
           (step->attempt == 0 && (step->state == STEP_PROCESSED || step->state == STEP_SKIPPED ||
                                   step->state == STEP_CAUGHT || step->state == STEP_WAITING));
}

static const char *order_amended_problem(const struct order *order, const struct decision *decision,
                                         const struct event *event)
{
    (void)decision;
    const struct order_amended *amended = &event->order_amended;
    if (order->state != ORDER_ERROR || order->error_from != ORDER_PROCESSING)
        return "an order is amended that is not in Error, or is being undone";
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == STEP_PROCESSING)
            return "an order is amended while an attempt is running";
    }
    for (uint32_t i = 0; i < amended->step_count; i++) {
        int index = order_find_step(order, amended->steps[i].name);
        if (index < 0)
            return "there is no such step";
        if (!may_begin_again(&order->steps[index]))
            return "a step begins again that may have had an effect";
    }
    return NULL;
}

/* ---- signals ---- */

static void signal_received(const struct apply_ctx *ctx, const struct event *event)
{
    const struct signal_received *received = &event->signal_received;
    const struct text none = {0};
    int index = order_find_step(ctx->order, received->step);
    assert(index >= 0);
    struct step *step = &ctx->order->steps[index];
    struct awaiting *awaiting = ARENA_NEW(ctx->arena, struct awaiting);
    if (step->awaiting != NULL)
        *awaiting = *step->awaiting;
    awaiting->signals++;
    awaiting->signal_id = apply_text(ctx, awaiting->signal_id, received->signal_id);
    if (received->kept) {
        assert(step->state == STEP_PENDING && text_empty(awaiting->payload));
        awaiting->payload = apply_text(ctx, none, received->payload);
        awaiting->by = apply_text(ctx, none, received->by);
    }
    step->awaiting = awaiting;
}

static const char *signal_received_problem(const struct order *order,
                                           const struct decision *decision,
                                           const struct event *event)
{
    (void)decision;
    const struct signal_received *received = &event->signal_received;
    int index = order_find_step(order, received->step);
    if (index < 0)
        return "there is no such step";
    const struct step *step = &order->steps[index];
    bool waits = step->state == STEP_WAITING && step->awaiting != NULL;
    bool early = step->state == STEP_PENDING && step->direction == DIRECTION_DO;
    if (order_ended(order) || (!early && !waits))
        return "a signal is received by a step that takes none";
    if (received->kept && (!early || text_empty(received->payload)))
        return "a signal is kept for a step that waits already, or without a payload";
    if (received->kept && step_has_early_signal(step))
        return "a signal is kept for a step that has one";
    return NULL;
}

struct order_rule {
    void (*apply)(const struct apply_ctx *ctx, const struct event *event);
    const char *(*problem)(const struct order *order, const struct decision *decision,
                           const struct event *event);
};

static const struct order_rule rules[EVENT_KIND_COUNT] = {
#define ORDER_EVENT(number, kind, record, payload, words, answers, status, state, apply, check) \
    [EVENT_##kind] = {apply, check},
#include "engine/events.def"
};

void apply_order_event(const struct apply_ctx *ctx, const struct event *event)
{
    struct order *order = ctx->order;
    assert(order->step_count > 0 || event->kind == EVENT_ORDER_ACCEPTED);
    if (rules[event->kind].apply != NULL)
        rules[event->kind].apply(ctx, event);
    set_state(order, event->kind);
}

const char *order_event_problem(const struct order *order, const struct decision *decision,
                                const struct event *event)
{
    if (order->step_count == 0 && event->kind != EVENT_ORDER_ACCEPTED)
        return "there is no such order";
    if (!order_event_may_apply(order, event->kind))
        return "the order's state does not allow an event";
    return rules[event->kind].problem != NULL ? rules[event->kind].problem(order, decision, event)
                                              : NULL;
}
