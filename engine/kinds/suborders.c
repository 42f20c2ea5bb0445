/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, with ForEach or without: a step with sub-orders. See engine/kinds.def.
 *
 * Its attempt runs until the last of them has answered; what happens meanwhile is in
 * engine/decide_suborders.c and decide_report_suborder.c. A resubmission keeps the list, and has
 * those that failed done again, as other orders. */
#include "engine/decide.h"

#include "base/json.h"
#include "engine/message.h"

#include <assert.h>

/* What the step's first start has settled. */
struct beginning {
    struct text list; /* empty: no ForEach, or it is kept */
    uint32_t count;
    uint32_t quota; /* of each sub-order */
};

static struct decide_fault too_much(struct decide_ctx *ctx, const char *what, uint32_t count,
                                    uint32_t limit)
{
    return (struct decide_fault){TEXT(ERROR_DATA_LIMIT),
                                 message_format(ctx->arena, "%s %u; the limit is %u", what,
                                                (unsigned)count, (unsigned)limit)};
}

static bool make_list(struct decide_ctx *ctx, uint32_t index, struct beginning *beginning,
                      struct decide_fault *ret_fault)
{
    struct json_items items;
    uint32_t count = 0;
    if (!decide_make_list(ctx, index, &beginning->list, ret_fault))
        return false;
    json_items_begin(&items, json_value_of(beginning->list));
    while (count <= SUBORDERS_MAX && json_items_next(&items, NULL))
        count++;
    if (count > SUBORDERS_MAX) {
        *ret_fault = too_much(ctx, "Items are more than", SUBORDERS_MAX, SUBORDERS_MAX);
        return false;
    }
    if (!order_takes_list(ctx->order, beginning->list)) {
        *ret_fault = too_much(ctx, "Items are too long for the order: bytes", beginning->list.size,
                              ORDER_ITEMS_BYTES_MAX);
        return false;
    }
    beginning->count = count;
    return true;
}

/* Its part of how many sub-orders the order may have: what they do not take, they may have. */
static bool take_share(struct decide_ctx *ctx, struct beginning *beginning,
                       struct decide_fault *ret_fault)
{
    const struct order_parent *parent = ctx->order->details.parent;
    uint32_t quota = parent != NULL ? parent->quota : TREE_SUBORDERS_MAX;
    uint32_t steps = 0;
    for (uint32_t i = 0; i < ctx->workflow->step_count; i++)
        steps += decide_plan_of(ctx, i)->kind == STEP_KIND_SUBORDERS;
    assert(steps > 0);
    uint32_t share = quota / steps;
    if (parent != NULL && parent->depth + 1 >= ORDER_DEPTH_MAX) {
        *ret_fault =
            too_much(ctx, "levels of sub-orders are more than", ORDER_DEPTH_MAX, ORDER_DEPTH_MAX);
        return false;
    }
    if (beginning->count > share) {
        *ret_fault = too_much(ctx, "with this step, the order would have sub-orders",
                              beginning->count, share);
        return false;
    }
    if (beginning->count > 0)
        beginning->quota = (share - beginning->count) / beginning->count;
    return true;
}

/* The longest id that one of them gets. */
static bool check_ids(struct decide_ctx *ctx, uint32_t index, uint32_t count,
                      struct decide_fault *ret_fault)
{
    const struct step *step = &ctx->order->steps[index];
    bool listed = decide_plan_of(ctx, index)->suborders.for_each;
    struct text id = order_suborder_id(ctx->order->details.order_id, step->name,
                                       listed ? (int64_t)count - 1 : -1,
                                       step->generation[DIRECTION_DO], ctx->arena);
    if (id.size <= ORDER_ID_BYTES_MAX)
        return true;
    *ret_fault = (struct decide_fault){
        TEXT(ERROR_ID_TOO_LONG),
        message_format(ctx->arena, "a sub-order's id would have %u bytes; the limit is %d", id.size,
                       ORDER_ID_BYTES_MAX)};
    return false;
}

static bool prepare(struct decide_ctx *ctx, uint32_t index, struct beginning *ret_beginning,
                    struct decide_fault *ret_fault)
{
    const struct suborders *before = ctx->order->steps[index].suborders;
    *ret_beginning = (struct beginning){.count = 1};
    if (before != NULL) { /* what a resubmission starts counted before */
        ret_beginning->count = before->item_count;
        ret_beginning->quota = before->quota;
    } else if ((decide_plan_of(ctx, index)->suborders.for_each &&
                !make_list(ctx, index, ret_beginning, ret_fault)) ||
               !take_share(ctx, ret_beginning, ret_fault)) {
        return false;
    }
    return check_ids(ctx, index, ret_beginning->count, ret_fault);
}

static enum priority priority_of(const struct decide_ctx *ctx, uint32_t index, uint32_t count)
{
    enum { MANY = 64 };
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    if (plan->suborders.has_priority)
        return plan->suborders.priority;
    return count > MANY ? PRIORITY_LOW : ctx->order->details.priority;
}

void suborders_start(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    struct beginning beginning;
    struct decide_fault fault;
    assert(plan->suborders.body != NULL && step->state == STEP_PENDING);
    if (step->suborders != NULL && step->suborders->undo_failed) {
        decide_fail_undo(ctx, index);
        return;
    }
    if (!prepare(ctx, index, &beginning, &fault)) {
        decide_fail_unstarted(ctx, index, DIRECTION_DO, &fault);
        return;
    }
    int64_t timeout_ms = plan->timeout_ms > 0 ? plan->timeout_ms : DURATION_MS_MAX;
    decide_emit(ctx, &(struct event){
                         .kind = EVENT_SUBORDERS_STARTED,
                         .suborders_started = {.ref = {step->name, DIRECTION_DO, step->attempt + 1},
                                               .generation = step->generation[DIRECTION_DO],
                                               .workflow = plan->suborders.body->name,
                                               .workflow_version = plan->suborders.body->version,
                                               .count = beginning.count,
                                               .items = beginning.list,
                                               .priority = priority_of(ctx, index, beginning.count),
                                               .times_out_at = ctx->input->now + timeout_ms,
                                               .quota = beginning.quota}});
    assert(step->state == STEP_PROCESSING && step->suborders->item_count == beginning.count);
    decide_go_on_suborders(ctx, index);
}

/* They have been unanswered for so long, some are still to go, or the step's time is over. */
bool suborders_due(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    if (step->state != STEP_PROCESSING) {
        suborders_start(ctx, index); /* it was put off before it began */
        return true;
    }
    const struct suborders *suborders = step->suborders;
    bool timed_out = ctx->input->now >= suborders->times_out_at;
    if (timed_out && step->direction == DIRECTION_DO && !suborders->recalled &&
        decide_may_recall(ctx, index))
        decide_recall(ctx, index, DIRECTION_DO, TEXT(ERROR_TIMEOUT),
                      TEXT("its sub-orders did not end in time"));
    decide_go_on_suborders(ctx, index);
    if (ctx->decision->event_count > 0)
        return true;
    decide_emit(
        ctx, &(struct event){.kind = EVENT_SUBORDERS_ASKED,
                             .suborders_asked = {.ref = step_attempt_ref(step),
                                                 .generation = step->generation[DIRECTION_DO],
                                                 .complete_by = decide_next_step_ask(ctx, index)}});
    assert(step->complete_by > ctx->input->now);
    return true;
}

void suborders_end(struct decide_ctx *ctx, uint32_t index)
{
    decide_no_attempt(ctx, index); /* no agent reports: decide_report() ignores one that does */
}

void suborders_undo(struct decide_ctx *ctx, uint32_t index)
{
    decide_recall(ctx, index, DIRECTION_UNDO, (struct text){0}, (struct text){0});
    decide_go_on_suborders(ctx, index);
}

/* Its orders keep the body that they have; what a resubmission starts gets that of the order's
 * version. */
const char *suborders_differs(const struct step *step, const struct workflow_step *plan,
                              const struct workflow_step *target)
{
    if (step->suborders == NULL)
        return NULL;
    if (plan->suborders.for_each != target->suborders.for_each)
        return target->suborders.for_each ? "has ForEach" : "has no ForEach";
    return template_equal(plan->input, target->input) ? NULL : "has another Input";
}
