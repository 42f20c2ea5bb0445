/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with an order that was read from a store, or with a Decision that was read from a
 * log: order_problem() and order_apply_problem(). The rest of the engine asserts what these two
 * check. */
#include "engine/apply.h"
#include "engine/engine.h"

#include <assert.h>

/* Times and margins are added to each other. */
static const int64_t time_max = INT64_MAX / 2;

/* Nothing of it runs, has done anything, or is undone. */
static const char *waiting_problem(const struct step *step, bool ended)
{
    struct wait wait = step_wait(step);
    if (ended)
        return "an order has ended, but a step has not";
    if (wait.until < (wait.kind == WAIT_TIME) || wait.until > time_max || wait.since != 0)
        return "a step is Waiting without a time, or in a queue";
    if (step->direction != DIRECTION_DO || step->effect != EFFECT_NONE)
        return "a step is Waiting that has an effect, or is being undone";
    return NULL;
}

/* Of a step that has had a signal, or waits for one. */
static const char *awaiting_problem(const struct step *step)
{
    const struct awaiting *awaiting = step->awaiting;
    bool asks = !text_empty(awaiting->group) || awaiting->options.count > 0 ||
                !text_empty(awaiting->question);
    bool early = step_has_early_signal(step);
    if (step->direction != DIRECTION_DO)
        return "a step has had a signal that is being undone";
    if (asks && step->state != STEP_WAITING)
        return "a step asks for a signal, but is not Waiting";
    if (early && step->state != STEP_PENDING)
        return "a step has an early signal, but is not Pending";
    if (early && awaiting->signals == 0)
        return "a step has a signal that was not received";
    return NULL;
}

/* Of a step that has started sub-orders. */
static const char *suborders_problem(const struct step *step)
{
    const struct suborders *suborders = step->suborders;
    bool listed = !text_empty(suborders->list);
    if (suborders->item_count > SUBORDERS_MAX || (!listed && suborders->item_count != 1))
        return "a step has too many sub-orders, or several without a list";
    if (suborders->times_out_at < 0 || suborders->times_out_at > time_max ||
        suborders->asked_since < 0 || suborders->asked_since > time_max)
        return "a time of sub-orders is out of range";
    if (text_empty(suborders->workflow))
        return "sub-orders have no workflow";
    for (uint32_t i = 0; i < suborders->item_count; i++) {
        const struct suborder_item *item = &suborders->items[i];
        bool submitted = item->state == ITEM_SUBMITTED;
        if (item->generation > step->generation[DIRECTION_DO])
            return "an item is of a generation that has not begun";
        if (submitted && (step->state != STEP_PROCESSING || item->submitted_at <= 0))
            return "an item is submitted, but its step is not Processing";
        if (!submitted && !text_empty(item->input))
            return "an item has an input, but is not submitted";
        bool done = item->state == ITEM_HELD || item->state == ITEM_FINAL;
        if (!done && !text_empty(item->output))
            return "an item has an output, but is not done";
    }
    return NULL;
}

static const char *step_problem(const struct step *step, bool ended)
{
    bool under_way = step->state == STEP_PROCESSING || step->state == STEP_PENDING ||
                     step->state == STEP_WAITING;
    if ((step->state == STEP_PROCESSING) != (step->complete_by != 0))
        return "a step is Processing without a complete-by time, or has one without";
    if (step->complete_by < 0 || step->complete_by > time_max || step->margin_ms < 0 ||
        step->margin_ms > DURATION_MS_MAX)
        return "a step's complete-by time is out of range";
    if (step->extension_ms < 0 || step->extension_ms > step->complete_by)
        return "a step's extension is out of range";
    bool by_hand = step->effect == EFFECT_APPLIED && step->completed_version != 0;
    if (step->attempt == 0 && step->direction == DIRECTION_DO &&
        (step->state == STEP_PROCESSING || (step->effect != EFFECT_NONE && !by_hand)))
        return "a step is Processing or has an effect, but no attempt was made";
    if (step->state == STEP_PROCESSING && text_empty(step->agent) && step->suborders == NULL)
        return "a step is Processing without an agent";
    if (step->suborders != NULL && suborders_problem(step) != NULL)
        return suborders_problem(step);
    if (step->awaiting != NULL && awaiting_problem(step) != NULL)
        return awaiting_problem(step);
    if (step->state == STEP_WAITING)
        return waiting_problem(step, ended);
    if (step_wait(step).kind != WAIT_NONE && step->state != STEP_PENDING)
        return "a step waits, but is neither Pending nor Waiting";
    return ended && under_way ? "an order has ended, but a step has not" : NULL;
}

/* Before a compensation nothing is undone; during it, one step at a time. */
static const char *directions_problem(const struct order *order)
{
    enum order_state phase = order->state == ORDER_ERROR ? order->error_from : order->state;
    bool compensates = phase == ORDER_COMPENSATING || phase == ORDER_COMPENSATED;
    uint32_t undos = 0;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step->direction == DIRECTION_DO || step->state == STEP_COMPENSATED)
            continue;
        undos++;
        if (order->state == ORDER_COMPENSATING && step->state == STEP_ERROR)
            return "an undo has failed, but its order is not in Error";
    }
    if (undos > 0 && !compensates)
        return "a step is being undone, but its order is not";
    return undos > 1 ? "two steps are being undone at the same time" : NULL;
}

/* Of an order that waits for what its parent decides. */
static const char *held_problem(const struct order *order)
{
    if (order->details.parent == NULL || order->held_at <= 0 || order->complete_by == 0)
        return "an order is Held without a parent, or without a time to report again";
    for (uint32_t i = 0; i < order->step_count; i++) {
        enum step_state state = order->steps[i].state;
        if (state != STEP_PROCESSED && state != STEP_SKIPPED && state != STEP_CAUGHT)
            return "an order is Held, but a step is not finished";
    }
    return NULL;
}

const char *order_problem(const struct order *order)
{
    if (order->version == 0 || order->state == ORDER_PENDING)
        return "an order has at least one Decision and has left Pending";
    if (order->step_count < 1 || order->step_count > WORKFLOW_STEPS_MAX)
        return "an order has 1 to 64 steps";
    bool held = order->state == ORDER_HELD;
    if (order->alert_open != (order->state == ORDER_ERROR) && !(held && order->alert_open))
        return "an alert is open exactly while an order is in Error, or perhaps while it is Held";
    if (held && held_problem(order) != NULL)
        return held_problem(order);
    if (order->state == ORDER_ERROR && order->error_from != ORDER_PROCESSING &&
        order->error_from != ORDER_COMPENSATING)
        return "Error follows only Processing and Compensating";
    if (order->complete_by < 0 || order->complete_by > time_max || order->margin_ms < 0 ||
        order->margin_ms > DURATION_MS_MAX)
        return "the order's complete-by time is out of range";
    if (order->paused_at < 0 || (order->paused_at != 0 && order_ended(order)))
        return "an order is paused that has ended, or its pause has no time";
    if (order->stated_offset < order->accepted_offset)
        return "an order was stated before it was accepted";
    const char *problem = directions_problem(order);
    for (uint32_t i = 0; i < order->step_count && problem == NULL; i++)
        problem = step_problem(&order->steps[i], order_ended(order));
    return problem;
}

/* ---- the Decision ---- */

static const char *event_problem(const struct order *order, const struct decision *decision,
                                 const struct event *event)
{
    if (event_is_of_step(event->kind))
        return step_event_problem(order, event);
    return order_event_problem(order, decision, event);
}

const char *order_apply_problem(const struct order *order, const struct decision *decision,
                                struct arena *arena)
{
    static const struct order none = {0};
    struct order trial = order != NULL ? *order : none;
    struct apply_ctx ctx = {.order = &trial,
                            .version = decision->order_version,
                            .decided_at = decision->decided_at,
                            .arena = arena,
                            .borrow = true};
    if (decision->event_count == 0)
        return "a Decision has at least one event";
    if (!decision_changes_order(decision))
        return decision->order_version == trial.version ? NULL : "the order has another version";
    if (decision->order_version != trial.version + 1)
        return "the order's versions have a gap";
    if (trial.step_count > 0) {
        trial.steps = ARENA_ARRAY(arena, struct step, order->step_count);
        memcpy(trial.steps, order->steps, sizeof(struct step) * order->step_count);
    }
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        if (!event_changes_order(event->kind))
            continue;
        const char *problem = event_problem(&trial, decision, event);
        if (problem != NULL)
            return problem;
        apply_event(&ctx, event);
    }
    if (trial.state != decision->order_state)
        return "the order's state is another one";
    return order_problem(&trial);
}
