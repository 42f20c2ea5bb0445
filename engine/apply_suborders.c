/* SPDX-License-Identifier: Apache-2.0 */
/* Appliers of the events about sub-orders, and what keeps one from being applied: of the step that
 * has started them, and of the sub-order that is held. */
#include "engine/apply.h"

#include <assert.h>

static const struct text no_text = {0};

/* The list, to be changed. A scratch copy shares it with the order that it is a copy of, and gets
 * its own. Any other order keeps its list: one more for each of a thousand items that end would
 * fill the memory of a view before it commits. */
static struct suborders *changed(const struct apply_ctx *ctx, struct suborders *before)
{
    assert(before != NULL && before->item_count <= SUBORDERS_MAX);
    if (!ctx->borrow)
        return before;
    struct suborders *suborders = ARENA_NEW(ctx->arena, struct suborders);
    *suborders = *before;
    if (before->item_count == 0)
        return suborders;
    size_t size = sizeof(*before->items) * before->item_count;
    suborders->items = arena_aligned(ctx->arena, size);
    memcpy(suborders->items, before->items, size);
    return suborders;
}

/* The index of the item; the list has it, or item_count is returned. */
static uint32_t index_of(const struct suborders *suborders, int64_t item)
{
    bool listed = !text_empty(suborders->list);
    if (!listed)
        return item == -1 ? 0 : suborders->item_count;
    return item >= 0 && item < suborders->item_count ? (uint32_t)item : suborders->item_count;
}

/* ---- the step starts ---- */

static struct suborders *first_list(const struct apply_ctx *ctx,
                                    const struct suborders_started *started)
{
    struct suborders *suborders = ARENA_NEW(ctx->arena, struct suborders);
    suborders->list = apply_text(ctx, no_text, started->items);
    suborders->item_count = started->count;
    if (started->count > 0)
        suborders->items = ARENA_ARRAY(ctx->arena, struct suborder_item, started->count);
    return suborders;
}

static struct suborders *list_again(const struct apply_ctx *ctx, struct suborders *before)
{
    struct suborders *suborders = changed(ctx, before);
    for (uint32_t i = 0; i < suborders->item_count; i++) {
        if (suborders->items[i].state == ITEM_FAILED)
            suborders->items[i].state = ITEM_TO_DO;
    }
    suborders->recalled = suborders->stopped = suborders->failed = false;
    suborders->error_name = suborders->error_message = no_text;
    return suborders;
}

void suborders_started(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    const struct suborders_started *started = &event->suborders_started;
    struct suborders *suborders =
        step->suborders == NULL ? first_list(ctx, started) : list_again(ctx, step->suborders);
    assert(suborders->item_count == started->count);
    suborders->workflow = apply_text(ctx, suborders->workflow, started->workflow);
    suborders->priority = started->priority;
    suborders->quota = started->quota;
    suborders->times_out_at = started->times_out_at;
    suborders->asked_since = ctx->decided_at;
    step->suborders = suborders;
    step->attempt = started->ref.attempt;
    step->generation[DIRECTION_DO] = started->generation;
    step->workflow_version = started->workflow_version;
    step->complete_by = started->times_out_at;
    step->margin_ms = 0; /* nothing runs by another clock */
    step->wait = (struct wait_row){0};
    step->started_at = ctx->decided_at;
    step->started_version = ctx->version;
    step->inputs = 0;
}

const char *suborders_started_problem(const struct step *step, const struct event *event)
{
    const struct suborders_started *started = &event->suborders_started;
    const struct suborders *before = step->suborders;
    if (started->times_out_at <= 0)
        return "a step of sub-orders has no time limit";
    if (started->count > SUBORDERS_MAX ||
        (text_empty(started->items) && started->count != 1 && before == NULL))
        return "a step has another number of sub-orders than its items";
    if (before != NULL && (before->item_count != started->count || !text_empty(started->items)))
        return "a step gets another list of items";
    return before != NULL && suborders_unanswered(before) > 0
               ? "a step starts its sub-orders again while one has not answered"
               : NULL;
}

/* ---- they run ---- */

/* The error of a step whose items fail is that of the one too many, which stops it. One that
 * StopWhen has stopped may fail as well. */
static void take_error(const struct apply_ctx *ctx, struct suborders *suborders, struct text name,
                       struct text message)
{
    bool known = suborders->stopped && !text_empty(suborders->error_name);
    if (known || suborders->recalled || text_empty(name))
        return;
    suborders->error_name = apply_text(ctx, suborders->error_name, name);
    suborders->error_message = apply_text(ctx, suborders->error_message, message);
}

void suborders_submitted(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    const struct suborders_submitted *submitted = &event->suborders_submitted;
    struct suborders *suborders = changed(ctx, step->suborders);
    for (uint32_t i = 0; i < submitted->item_count; i++) {
        const struct submitted_item *from = &submitted->items[i];
        uint32_t index = index_of(suborders, from->item);
        assert(index < suborders->item_count);
        struct suborder_item *item = &suborders->items[index];
        bool failed = !text_empty(from->error_name);
        item->state = failed ? ITEM_FAILED : ITEM_SUBMITTED;
        item->generation = submitted->generation;
        item->submitted_at = failed ? 0 : ctx->decided_at;
        item->input = failed ? no_text : apply_text(ctx, item->input, from->input);
        item->output = no_text;
        take_error(ctx, suborders, from->error_name, from->error_message);
    }
    if (submitted->item_count > 0)
        suborders->asked_since = ctx->decided_at;
    step->suborders = suborders;
    step->complete_by = submitted->complete_by;
}

static const char *run_problem(const struct step *step, uint32_t generation, int64_t complete_by)
{
    if (step->suborders == NULL)
        return "a step has no sub-orders";
    if (generation != step->generation[DIRECTION_DO])
        return "an event is of another generation than the step's sub-orders";
    return complete_by <= 0 ? "sub-orders run without a time to ask them" : NULL;
}

const char *suborders_submitted_problem(const struct step *step, const struct event *event)
{
    const struct suborders_submitted *submitted = &event->suborders_submitted;
    const char *problem = run_problem(step, submitted->generation, submitted->complete_by);
    int64_t last = -2;
    if (problem != NULL)
        return problem;
    if (step->suborders->recalled && submitted->item_count > 0)
        return "a sub-order is submitted although its step is recalled";
    for (uint32_t i = 0; i < submitted->item_count; i++) {
        uint32_t index = index_of(step->suborders, submitted->items[i].item);
        if (index >= step->suborders->item_count || submitted->items[i].item <= last)
            return "there is no such item, or it is submitted twice";
        if (step->suborders->items[index].state != ITEM_TO_DO)
            return "a sub-order is submitted that is not to be done";
        last = submitted->items[i].item;
    }
    return NULL;
}

void suborders_asked(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    (void)ctx;
    step->complete_by = event->suborders_asked.complete_by;
}

const char *suborders_asked_problem(const struct step *step, const struct event *event)
{
    return run_problem(step, event->suborders_asked.generation, event->suborders_asked.complete_by);
}

/* ---- they end ---- */

static const enum item_state after_outcome[SUBORDER_OUTCOME_COUNT] = {
    [SUBORDER_HELD] = ITEM_HELD,
    [SUBORDER_FINAL] = ITEM_FINAL,
    [SUBORDER_FAILED] = ITEM_FAILED,
    [SUBORDER_REFUSED] = ITEM_FAILED,
};

void suborder_ended(const struct apply_ctx *ctx, const struct event *event)
{
    const struct suborder_ended *ended = &event->suborder_ended;
    int place = order_find_step(ctx->order, ended->step);
    assert(place >= 0);
    struct step *step = &ctx->order->steps[place];
    struct suborders *suborders = changed(ctx, step->suborders);
    uint32_t index = index_of(suborders, ended->item);
    assert(index < suborders->item_count);
    struct suborder_item *item = &suborders->items[index];
    item->state = after_outcome[ended->outcome];
    item->input = no_text;
    bool done = item->state != ITEM_FAILED;
    item->output = done ? apply_text(ctx, item->output, ended->output) : no_text;
    take_error(ctx, suborders, ended->error_name, ended->error_message);
    suborders->failed |= done && !text_empty(ended->error_name);
    suborders->undo_failed |= ended->undo_failed;
    suborders->stopped |= ended->stop;
    step->suborders = suborders;
}

const char *suborder_ended_problem(const struct order *order, const struct decision *decision,
                                   const struct event *event)
{
    (void)decision;
    const struct suborder_ended *ended = &event->suborder_ended;
    int place = order_find_step(order, ended->step);
    const struct suborders *suborders = place >= 0 ? order->steps[place].suborders : NULL;
    uint32_t index = suborders != NULL ? index_of(suborders, ended->item) : 0;
    if (suborders == NULL || index >= suborders->item_count)
        return "a sub-order ends that does not exist";
    const struct suborder_item *item = &suborders->items[index];
    if (order_ended(order))
        return "a sub-order ends after its parent";
    if (item->generation != ended->generation)
        return "a sub-order of another generation ends";
    bool held = item->state == ITEM_HELD && ended->outcome != SUBORDER_HELD;
    if (item->state != ITEM_SUBMITTED && !held)
        return "a sub-order ends that has ended";
    return ended->undo_failed && !held ? "an undo has failed of what was not held" : NULL;
}

struct suborders *apply_suborders_done(const struct apply_ctx *ctx, struct suborders *suborders)
{
    if (suborders == NULL)
        return NULL;
    struct suborders *done = changed(ctx, suborders);
    for (uint32_t i = 0; i < done->item_count; i++)
        done->items[i].output = no_text;
    return done;
}

/* ---- they are undone ---- */

void suborders_recalled(const struct apply_ctx *ctx, struct step *step, const struct event *event)
{
    const struct suborders_recalled *recalled = &event->suborders_recalled;
    struct suborders *suborders = changed(ctx, step->suborders);
    if (recalled->ref.direction == DIRECTION_UNDO) {
        if (step->direction == DIRECTION_DO)
            apply_turn(step, DIRECTION_UNDO);
        step->attempt = recalled->ref.attempt;
        step->started_at = ctx->decided_at;
        step->wait = (struct wait_row){0};
    }
    suborders->recalled = true;
    suborders->asked_since = ctx->decided_at;
    suborders->error_name = apply_text(ctx, suborders->error_name, recalled->error_name);
    suborders->error_message = apply_text(ctx, suborders->error_message, recalled->reason);
    step->suborders = suborders;
    step->complete_by = recalled->complete_by;
    step->margin_ms = 0;
}

const char *suborders_recalled_problem(const struct step *step, const struct event *event)
{
    const struct suborders_recalled *recalled = &event->suborders_recalled;
    return run_problem(step, recalled->generation, recalled->complete_by);
}

/* ---- the sub-order is held ---- */

void order_held(const struct apply_ctx *ctx, const struct event *event)
{
    struct order *order = ctx->order;
    order->held_at = ctx->decided_at;
    order->complete_by = event->order_held.complete_by;
    order->output = apply_text(ctx, order->output, event->order_held.output);
    order->output_problem = apply_text(ctx, order->output_problem, event->order_held.problem);
}

const char *order_held_problem(const struct order *order, const struct decision *decision,
                               const struct event *event)
{
    (void)decision;
    if (order->details.parent == NULL)
        return "an order is held that has no parent";
    return event->order_held.complete_by <= 0 ? "an order is held without a time to report again"
                                              : NULL;
}
