/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with an order that was read from a store, or with a Decision that was read from a
 * log: order_problem() and order_apply_problem(). The rest of the engine asserts what these two
 * check. */
#include "engine/apply.h"
#include "engine/engine.h"
#include "engine/lifecycle.h"

#include <assert.h>

/* Times and margins are added to each other. */
static const int64_t time_max = INT64_MAX / 2;

static const char *step_problem(const struct step *step, bool ended)
{
    bool under_way = step->state == STEP_PROCESSING || step->state == STEP_PENDING;
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
    if (step->state == STEP_PROCESSING && text_empty(step->agent))
        return "a step is Processing without an agent";
    if ((step->retry_at != 0 || step->queued_at != 0) && step->state != STEP_PENDING)
        return "a step waits, but is not Pending";
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

const char *order_problem(const struct order *order)
{
    if (order->version == 0 || order->state == ORDER_PENDING)
        return "an order has at least one Decision and has left Pending";
    if (order->step_count < 1 || order->step_count > WORKFLOW_STEPS_MAX)
        return "an order has 1 to 64 steps";
    if (order->alert_open != (order->state == ORDER_ERROR))
        return "an alert is open exactly while an order is in Error";
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

/* ---- events: what keeps one from being applied, or NULL ---- */

static const char *accept_problem(const struct order *order, const struct decision *decision,
                                  const struct order_accepted *accepted)
{
    if (order->version != 0 || order->step_count != 0)
        return "the order is accepted twice";
    if (accepted->step_count < 1 || accepted->step_count > WORKFLOW_STEPS_MAX)
        return "an order has 1 to 64 steps";
    if (!text_equal(accepted->details.order_id, decision->order_id))
        return "the accepted order has another id than the Decision";
    return NULL;
}

/* The state that the event leads to; ORDER_STATE_COUNT: it leaves the state as it is. */
static enum order_state state_after(const struct order *order, enum event_kind kind)
{
    if (kind == EVENT_ORDER_STARTED)
        return ORDER_PROCESSING;
    if (kind == EVENT_COMPENSATION_STARTED)
        return ORDER_COMPENSATING;
    if (kind == EVENT_ORDER_PROCESSED)
        return ORDER_PROCESSED;
    if (kind == EVENT_ORDER_COMPENSATED)
        return ORDER_COMPENSATED;
    if (kind == EVENT_ORDER_FAILED)
        return ORDER_ERROR;
    return kind == EVENT_ORDER_RESUMED ? order->error_from : ORDER_STATE_COUNT;
}

/* Whether another row could be the one of the step: then nothing of it would be left. */
static bool was_started(const struct step *step)
{
    return step->attempt > 0 || step->state != STEP_PENDING || step->effect != EFFECT_NONE;
}

static bool has_plan(const struct order_migrated *migrated, uint32_t count, struct text name)
{
    bool has = false;
    for (uint32_t i = 0; i < count && !has; i++)
        has = text_equal(migrated->steps[i].name, name);
    return has;
}

static const char *migration_problem(const struct order *order,
                                     const struct order_migrated *migrated)
{
    bool forward = order->state == ORDER_PROCESSING ||
                   (order->state == ORDER_ERROR && order->error_from == ORDER_PROCESSING);
    if (!forward)
        return "an order gets another version that is undone or has ended";
    if (migrated->step_count < 1 || migrated->step_count > WORKFLOW_STEPS_MAX)
        return "an order has 1 to 64 steps";
    for (uint32_t i = 0; i < migrated->step_count; i++) {
        if (has_plan(migrated, i, migrated->steps[i].name))
            return "a version has a step twice";
    }
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (was_started(&order->steps[i]) &&
            !has_plan(migrated, migrated->step_count, order->steps[i].name))
            return "a version lacks a step that was started";
    }
    return NULL;
}

static const char *order_event_problem(const struct order *order, const struct decision *decision,
                                       const struct event *event)
{
    if (event->kind == EVENT_ORDER_ACCEPTED)
        return accept_problem(order, decision, &event->order_accepted);
    if (order->step_count == 0)
        return "there is no such order";
    if (event->kind == EVENT_ORDER_MIGRATED)
        return migration_problem(order, &event->order_migrated);
    enum order_state state = state_after(order, event->kind);
    if (state != ORDER_STATE_COUNT && !order_state_may_follow(order->state, state))
        return "the order's state does not allow an event";
    if (event->kind == EVENT_ORDER_RESUMED && order->state != ORDER_ERROR)
        return "an order resumes that is not in Error";
    if (event->kind == EVENT_ALERT_RAISED && order->alert_open)
        return "an alert is raised that is open";
    if (event->kind == EVENT_ALERT_CLOSED && !order->alert_open)
        return "an alert is closed that is not open";
    if (event->kind == EVENT_ORDER_PAUSED && (order->paused_at != 0 || decision->decided_at <= 0))
        return "an order is paused that is paused";
    if (event->kind == EVENT_ORDER_PAUSE_ENDED && order->paused_at == 0)
        return "a pause ends that has not begun";
    return NULL;
}

/* Whether the event is about an attempt that runs: it ends it, or gives it more time. */
static bool is_of_running_attempt(enum event_kind kind)
{
    return kind == EVENT_STEP_SUCCEEDED || kind == EVENT_STEP_FAILED ||
           kind == EVENT_STEP_TIMED_OUT || kind == EVENT_STEP_EXTENDED;
}

static const char *step_event_problem(const struct order *order, const struct event *event)
{
    const struct attempt_ref *ref = &event->step_marked.ref;
    int index = order_find_step(order, ref->step);
    if (index < 0)
        return "there is no such step";
    const struct step *step = &order->steps[index];
    bool begins = event->kind == EVENT_STEP_STARTED || event->kind == EVENT_STEP_QUEUED;
    uint32_t last = step->direction == ref->direction ? step->attempt : 0;
    if (begins && step->state == STEP_PROCESSING)
        return "an attempt starts while another one is running";
    if (begins && ref->direction == DIRECTION_DO && step->direction == DIRECTION_UNDO)
        return "a step is done again that is being undone";
    if (begins && ref->attempt != last + (event->kind == EVENT_STEP_STARTED))
        return "an attempt is not the next one";
    if (!begins && (step->direction != ref->direction || step->attempt != ref->attempt))
        return "an event is about another attempt than the step's";
    if (!step_event_may_apply(event->kind, ref->direction, step->state))
        return "the step's state does not allow an event";
    bool runs = step->state == STEP_PROCESSING && step->complete_by != 0;
    if (!begins && is_of_running_attempt(event->kind) != runs)
        return runs ? "an attempt is still running" : "an attempt is not running";
    if (event->kind == EVENT_STEP_RETRY_SCHEDULED && event->step_retry_scheduled.retry_at <= 0)
        return "a retry has no time";
    if (event->kind == EVENT_STEP_EXTENDED && event->step_extended.complete_by <= step->complete_by)
        return "an attempt gets less time than it has";
    return NULL;
}

static const char *event_problem(const struct order *order, const struct decision *decision,
                                 const struct event *event)
{
    if (event_is_of_step(event->kind))
        return step_event_problem(order, event);
    return order_event_problem(order, decision, event);
}

/* ---- the Decision ---- */

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
