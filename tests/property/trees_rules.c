/* SPDX-License-Identifier: Apache-2.0 */
/* After each Decision, and of each message. See trees_rules.h. */
#include "tests/property/trees_rules.h"

#include <stdio.h>

static const struct suborders none = {.item_count = 0};

static const struct suborders *suborders_of(const struct order *order, struct text step)
{
    int index = order_find_step(order, step);
    bool has = index >= 0 && order->steps[index].suborders != NULL;
    return has ? order->steps[index].suborders : &none;
}

static const struct suborder_item *item_of(const struct order *order, struct text step,
                                           int64_t number)
{
    const struct suborders *suborders = suborders_of(order, step);
    uint32_t index = number < 0 ? 0 : (uint32_t)number;
    bool listed = !text_empty(suborders->list);
    return index < suborders->item_count && listed == (number >= 0) ? &suborders->items[index]
                                                                    : NULL;
}

static uint32_t count_state(const struct suborders *suborders, enum item_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < suborders->item_count; i++)
        count += suborders->items[i].state == state;
    return count;
}

/* Submitted, or held and to be undone. */
static uint32_t count_unanswered(const struct suborders *suborders)
{
    uint32_t held = suborders->recalled ? count_state(suborders, ITEM_HELD) : 0;
    return held + count_state(suborders, ITEM_SUBMITTED);
}

static bool is_kept(const struct workflow *workflow, uint32_t index)
{
    if (workflow->pivot < 0)
        return false;
    uint64_t kept = steps_behind(workflow, workflow->pivot) | UINT64_C(1) << workflow->pivot;
    return (kept >> index & 1) != 0;
}

/* ---- what an order is after a Decision ---- */

static bool has_deadline(const struct order *order, enum deadline_kind kind, uint32_t step)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(order, deadlines);
    for (uint32_t i = 0; i < count; i++) {
        if (deadlines[i].kind == kind && deadlines[i].step == step)
            return true;
    }
    return false;
}

/* I25: each unanswered item and each held order has a deadline, whatever the order does. */
static void check_deadlines(const struct member *member)
{
    const struct order *order = &member->order;
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(order, deadlines);
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step->suborders == NULL || count_unanswered(step->suborders) == 0)
            continue;
        if (order_ended(order) && count_state(step->suborders, ITEM_SUBMITTED) > 0)
            world_say("%.*s has ended, and an item of %.*s has not", TEXT_ARG(member->id),
                      TEXT_ARG(step->name));
        if (!order_ended(order) && !has_deadline(order, DEADLINE_RECOVER, i))
            world_say("an item of %.*s, step %.*s, is not asked for", TEXT_ARG(member->id),
                      TEXT_ARG(step->name));
    }
    if (order->state == ORDER_HELD && !has_deadline(order, DEADLINE_ORDER, UINT32_MAX))
        world_say("%.*s is held, and does not report again", TEXT_ARG(member->id));
    if (count == 0 && !order_ended(order) && !order->alert_open && order->paused_at == 0)
        world_say("%.*s is stuck: nothing is due", TEXT_ARG(member->id));
}

/* No undo of the order's own runs before all of its items have answered. */
static void check_undo(const struct member *member)
{
    const struct order *order = &member->order;
    bool undoes = false;
    uint32_t unanswered = 0;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        undoes = undoes || (step->direction == DIRECTION_UNDO && step->suborders == NULL &&
                            step->state == STEP_PROCESSING);
        unanswered += step->suborders != NULL ? count_unanswered(step->suborders) : 0;
    }
    if (undoes && unanswered > 0)
        world_say("%.*s undoes a step while %u of its orders have not answered",
                  TEXT_ARG(member->id), unanswered);
}

static void check_concurrency(const struct member *member)
{
    for (uint32_t i = 0; i < member->order.step_count; i++) {
        const struct suborders *suborders = member->order.steps[i].suborders;
        uint32_t most = member->workflow->steps[i].suborders.max_concurrency;
        if (suborders != NULL && most > 0 && count_state(suborders, ITEM_SUBMITTED) > most)
            world_say("%.*s has more orders at once than MaxConcurrency", TEXT_ARG(member->id));
    }
}

/* ---- events ---- */

/* I19, and what a sub-order has of its parent. */
static void accepted(const struct member *member, const struct order_accepted *event)
{
    const struct order_parent *own = event->details.parent;
    const struct member *parent = world_parent_of(member);
    if (own == NULL)
        return;
    if (parent == NULL) {
        world_say("%.*s has a parent that never was", TEXT_ARG(member->id));
        return;
    }
    const struct member *first = world_find_item(own, NULL);
    if (world_find_item(own, first) != NULL)
        world_say("two orders are the same item: %.*s", TEXT_ARG(member->id));
    const struct suborder_item *item = item_of(&parent->order, own->step, own->item);
    if (item == NULL || item->submitted_at == 0 || item->generation < own->generation)
        world_say("%.*s was never submitted", TEXT_ARG(member->id));
    const struct order_parent *above = parent->order.details.parent;
    uint32_t depth = above != NULL ? above->depth + 1 : 1;
    struct text root = above != NULL ? above->root : parent->id;
    if (own->depth != depth || !text_equal(own->root, root))
        world_say("%.*s is at another place of its tree", TEXT_ARG(member->id));
    if (depth == 3)
        world_saw(TREES_DEEP);
}

/* I27: what an order and its sub-orders may have stays within what the order may have. */
static void check_quota(const struct member *member)
{
    const struct order_parent *own = member->order.details.parent;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < member->order.step_count; i++) {
        const struct suborders *suborders = member->order.steps[i].suborders;
        if (suborders != NULL)
            sum += (uint64_t)suborders->item_count * (1 + suborders->quota);
    }
    if (sum > (own != NULL ? own->quota : (uint32_t)TREE_SUBORDERS_MAX))
        world_say("%.*s may have more orders than its quota", TEXT_ARG(member->id));
}

static void started(const struct member *member, const struct order *before,
                    const struct suborders_started *event)
{
    check_quota(member);
    if (before->version > 0 && suborders_of(before, event->ref.step)->item_count > 0)
        world_saw(TREES_AGAIN);
}

static void submitted(const struct member *member, const struct order *before,
                      const struct suborders_submitted *event)
{
    const struct suborders *known = suborders_of(before, event->ref.step);
    if (event->item_count > 0 && before->version > 0 && before->state != ORDER_PROCESSING &&
        before->state != ORDER_ERROR)
        world_say("%.*s starts an item although it is %s", TEXT_ARG(member->id),
                  order_state_name(before->state));
    int index = order_find_step(before, event->ref.step);
    bool runs = index >= 0 && before->steps[index].state == STEP_PROCESSING;
    if (event->item_count > 0 && runs && known->recalled)
        world_say("%.*s starts an item that is recalled", TEXT_ARG(member->id));
    for (uint32_t i = 0; i < event->item_count; i++) {
        if (!text_empty(event->items[i].error_name))
            world_saw(TREES_INPUT_FAILED);
    }
}

static void recalled(const struct member *member, const struct suborders_recalled *event)
{
    int index = order_find_step(&member->order, event->ref.step);
    if (is_kept(member->workflow, (uint32_t)index))
        world_say("%.*s recalls at its pivot", TEXT_ARG(member->id));
    if (event->ref.direction == DIRECTION_UNDO)
        world_saw(TREES_RECALLED_UNDO);
    else
        world_saw(TREES_RECALLED);
    if (event->ref.direction == DIRECTION_DO && text_equal(event->error_name, TEXT(ERROR_TIMEOUT)))
        world_saw(TREES_TIMED_OUT);
}

/* The generation that the item has is what has ended. */
static const struct member *child_of(const struct member *member,
                                     const struct suborder_ended *event)
{
    struct order_parent parent = {.order_id = member->id,
                                  .accepted_offset = member->order.accepted_offset,
                                  .step = event->step,
                                  .item = event->item,
                                  .generation = event->generation};
    return world_find_item(&parent, NULL);
}

/* I20 as it comes: what the parent writes down is what the sub-order has come to. */
static void item_ended(const struct member *member, const struct order *before,
                       const struct suborder_ended *event)
{
    const struct member *child = child_of(member, event);
    const struct suborder_item *item = item_of(before, event->step, event->item);
    enum order_state state = child != NULL ? child->order.state : ORDER_STATE_COUNT;
    if (event->stop)
        world_saw(TREES_STOPPED);
    if (event->undo_failed)
        world_saw(TREES_UNDO_FAILED);
    if (!text_empty(event->by)) {
        world_saw(TREES_ITEM_BY_HAND);
        return;
    }
    if (item == NULL || item->generation != event->generation)
        world_say("an item of %.*s ends in another generation", TEXT_ARG(member->id));
    switch (event->outcome) {
    case SUBORDER_HELD:
        if (child == NULL || child->order.held_at == 0)
            world_say("%.*s has an item as held that never was", TEXT_ARG(member->id));
        break;
    case SUBORDER_FINAL:
        world_saw(TREES_FINAL);
        if (state != ORDER_PROCESSED)
            world_say("%.*s has an item as final that is not", TEXT_ARG(member->id));
        break;
    case SUBORDER_FAILED:
        world_saw(TREES_ITEM_FAILED);
        if (state != ORDER_COMPENSATED)
            world_say("%.*s has an item as failed that is not", TEXT_ARG(member->id));
        break;
    case SUBORDER_REFUSED:
        world_saw(TREES_ITEM_REFUSED);
        if (child != NULL && !child->expired)
            world_say("%.*s has an item as refused that was accepted", TEXT_ARG(member->id));
        break;
    case SUBORDER_OUTCOME_COUNT:
        break;
    }
}

static void refused(const struct member *member, const struct command_rejected *event)
{
    (void)member;
    if (text_equal(event->code, TEXT("HeldByParent")))
        world_saw(TREES_HELD_BY_PARENT);
    else if (event->settle == SETTLE_UNKNOWN)
        world_saw(TREES_PARENT_UNKNOWN);
}

static void ignored(const struct report_ignored *event)
{
    if (event->parent == NULL)
        return;
    if (text_equal(event->code, TEXT("Superseded")))
        world_saw(TREES_SUPERSEDED);
    else if (event->settle != SETTLE_NONE && text_equal(event->reason, TEXT("the order has ended")))
        world_saw(TREES_REPORTED_TO_ENDED);
    else if (event->settle == SETTLE_UNDO)
        world_saw(TREES_HELD_TOO_LATE);
}

/* A step that is done has done all of its items, or StopWhen was true. */
static void succeeded(const struct member *member, const struct attempt_ref *ref)
{
    const struct suborders *suborders = suborders_of(&member->order, ref->step);
    if (ref->direction == DIRECTION_DO && !suborders->stopped &&
        count_state(suborders, ITEM_TO_DO) > 0)
        world_say("step %.*s of %.*s is done, and some of it never began", TEXT_ARG(ref->step),
                  TEXT_ARG(member->id));
}

/* A held order is let go by its parent alone; or by an operator, once its parent is unknown. */
static void left_held(const struct member *member, const struct order *before,
                      const struct logged *logged)
{
    bool settled = logged->cmd.kind == COMMAND_SETTLE_SUBORDER;
    if (before->state != ORDER_HELD || member->order.state == ORDER_HELD)
        return;
    if (!settled)
        world_say("%.*s was held, and %s let it go", TEXT_ARG(member->id),
                  command_kind_name(logged->cmd.kind));
    else if (logged->cmd.settle_suborder.parent == NULL && !before->alert_open)
        world_say("an operator settles %.*s, whose parent does", TEXT_ARG(member->id));
    world_saw(member->order.state == ORDER_PROCESSED ? TREES_KEPT : TREES_UNDONE);
}

static void follow_event(struct member *member, const struct order *before,
                         const struct logged *logged, const struct event *event)
{
    if (event->kind == EVENT_ORDER_ACCEPTED)
        accepted(member, &event->order_accepted);
    else if (event->kind == EVENT_SUBORDERS_STARTED)
        started(member, before, &event->suborders_started);
    else if (event->kind == EVENT_SUBORDERS_SUBMITTED)
        submitted(member, before, &event->suborders_submitted);
    else if (event->kind == EVENT_SUBORDERS_ASKED)
        world_saw(TREES_ASKED);
    else if (event->kind == EVENT_SUBORDERS_RECALLED)
        recalled(member, &event->suborders_recalled);
    else if (event->kind == EVENT_SUBORDER_ENDED)
        item_ended(member, before, &event->suborder_ended);
    else if (event->kind == EVENT_COMMAND_REJECTED)
        refused(member, &event->command_rejected);
    else if (event->kind == EVENT_REPORT_IGNORED)
        ignored(&event->report_ignored);
    else if (event->kind == EVENT_STEP_SUCCEEDED)
        succeeded(member, &event->step_succeeded.ref);
    else if (event->kind == EVENT_ORDER_HELD)
        world_saw(TREES_HELD);
    else if (event->kind == EVENT_ORDER_DEADLINE_SET && before->state == ORDER_HELD)
        world_saw(TREES_HELD_AGAIN);
    else if (event->kind == EVENT_SUBMISSION_REPEATED && order_ended(&member->order) &&
             member->order.details.parent != NULL)
        world_saw(TREES_REPEATED);
    else if (event->kind == EVENT_COMPENSATION_STARTED && before->paused_at != 0 &&
             logged->cmd.kind == COMMAND_SETTLE_SUBORDER)
        world_saw(TREES_PAUSED);
    else if (event->kind == EVENT_STEP_FAILED && event->step_failed.effect == EFFECT_APPLIED &&
             suborders_of(before, event->step_failed.ref.step)->item_count > 0)
        world_saw(TREES_PIVOT_KEPT);
    else if (event->kind == EVENT_STEP_FAILED_UNSTARTED &&
             text_equal(event->step_failed_unstarted.error_name, TEXT(ERROR_DATA_LIMIT)))
        world_saw(TREES_QUOTA);
}

void trees_follow(struct member *member, const struct order *before, const struct logged *logged)
{
    const struct decision *decision = &logged->decision;
    bool changes = decision_changes_order(decision);
    if (member->order.version != before->version + changes)
        world_say("the version of %.*s is not dense", TEXT_ARG(member->id));
    for (uint32_t i = 0; i < decision->event_count && !world_is_wrong(); i++)
        follow_event(member, before, logged, &decision->events[i]);
    if (before->version > 0)
        left_held(member, before, logged);
    check_deadlines(member);
    check_undo(member);
    check_concurrency(member);
}

/* ---- messages ---- */

/* The event of the step that may send it; `recalls`: its undo. */
static bool is_explained(const struct decision *decision, const struct order_parent *parent,
                         bool recalls)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        bool asks = event->kind == EVENT_SUBORDERS_ASKED;
        bool of_kind =
            asks || event->kind == (recalls ? EVENT_SUBORDERS_RECALLED : EVENT_SUBORDERS_SUBMITTED);
        if (!of_kind || !text_equal(event_ref(event)->step, parent->step))
            continue;
        uint32_t generation = asks      ? event->suborders_asked.generation
                              : recalls ? event->suborders_recalled.generation
                                        : event->suborders_submitted.generation;
        if (recalls ? parent->generation <= generation : parent->generation == generation)
            return true;
    }
    return false;
}

static bool has_event(const struct decision *decision, enum event_kind kind)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (decision->events[i].kind == kind)
            return true;
    }
    return false;
}

/* I26 */
static void check_settle(const struct decision *decision, const struct settle_suborder *settle)
{
    bool answers = has_event(decision, EVENT_REPORT_IGNORED);
    bool may = answers;
    if (settle->how == SETTLE_UNKNOWN)
        may = has_event(decision, EVENT_COMMAND_REJECTED);
    else if (settle->how == SETTLE_KEEP)
        may = may || has_event(decision, EVENT_ORDER_PROCESSED);
    else
        may = may || is_explained(decision, settle->parent, true);
    if (!may)
        world_say("a Decision has %.*s settled (%s) that is not about it",
                  TEXT_ARG(settle->order_id), settle_names.names[settle->how]);
}

static void check_submit(const struct decision *decision, const struct member *member,
                         const struct order_details *details)
{
    const struct order_parent *parent = details->parent;
    const struct suborder_item *item = item_of(&member->order, parent->step, parent->item);
    if (!is_explained(decision, parent, false))
        world_say("a Decision submits %.*s that is not about it", TEXT_ARG(details->order_id));
    if (item == NULL || item->state != ITEM_SUBMITTED || item->generation != parent->generation ||
        item->submitted_at != details->submitted_at)
        world_say("%.*s is submitted, although it is not to be", TEXT_ARG(details->order_id));
}

/* Of a recall whose step has begun again since. */
static void see_late_recalls(const struct decision *decision, const struct order *order)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct suborders_recalled *recalled = &decision->events[i].suborders_recalled;
        if (decision->events[i].kind != EVENT_SUBORDERS_RECALLED)
            continue;
        const struct suborders *suborders = suborders_of(order, recalled->ref.step);
        for (uint32_t n = 0; n < suborders->item_count; n++) {
            if (suborders->items[n].state == ITEM_SUBMITTED &&
                suborders->items[n].generation > recalled->generation)
                world_saw(TREES_RECALLED_LATE);
        }
    }
}

void trees_check_messages(const struct logged *logged, const struct member *member,
                          const struct effects *effects)
{
    if (member != NULL)
        see_late_recalls(&logged->decision, &member->order);
    for (uint32_t i = 0; i < effects->message_count; i++) {
        const struct order_message *message = &effects->messages[i];
        if (message->ordinal < MESSAGE_ORDINAL_MIN || message->ordinal >= MESSAGE_ORDINAL_END ||
            (i > 0 && message->ordinal <= message[-1].ordinal))
            world_say("two messages of a Decision have one place");
        if (message->cmd.kind == COMMAND_SUBMIT_ORDER && member == NULL)
            world_say("an order that is not there submits one");
        else if (message->cmd.kind == COMMAND_SUBMIT_ORDER)
            check_submit(&logged->decision, member, &message->cmd.submit_order);
        else if (message->cmd.kind == COMMAND_SETTLE_SUBORDER)
            check_settle(&logged->decision, &message->cmd.settle_suborder);
        else if (text_equal(message->cmd.report_suborder.error_name, TEXT("Order.TooOld")))
            world_saw(TREES_TOO_OLD);
    }
}
