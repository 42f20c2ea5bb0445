/* SPDX-License-Identifier: Apache-2.0 */
/* Once nothing is left to do. See trees_rules.h. */
#include "tests/property/trees_rules.h"

/* Whether what the order did remains, or some of what its orders did: of the steps that can be
 * undone. */
static bool remains(const struct member *member)
{
    for (uint32_t i = 0; i < member->order.step_count; i++) {
        if (member->workflow->steps[i].has_compensate && agents_net(member, i) > 0)
            return true;
    }
    return false;
}

/* Of an order that was undone nothing remains; of one that is done each step was done once. */
static void check_ledger(const struct member *member)
{
    const struct order *order = &member->order;
    if (member->by_hand)
        return;
    if (order->state == ORDER_COMPENSATED && remains(member))
        world_say("%.*s was undone, and what it did remains", TEXT_ARG(member->id));
    for (uint32_t i = 0; i < order->step_count; i++) {
        bool task = member->workflow->steps[i].kind == STEP_KIND_TASK;
        if (order->state == ORDER_PROCESSED && task && order->steps[i].state == STEP_PROCESSED &&
            agents_net(member, i) != 1)
            world_say("step %u of %.*s was done %u times", i, TEXT_ARG(member->id),
                      agents_net(member, i));
    }
}

/* The parent has given it up: an operator failed the item, or it may have expired. What it does
 * behind its own pivot remains, as the decision says. */
static bool is_given_up(const struct member *child)
{
    const struct order_parent *own = child->order.details.parent;
    for (uint32_t i = 0; i < world.told_count; i++) {
        const struct decision *decision = &world.told[i]->decision;
        const struct suborder_ended *ended = &decision->events[0].suborder_ended;
        if (decision->events[0].kind == EVENT_SUBORDER_ENDED &&
            ended->outcome == SUBORDER_REFUSED && ended->item == own->item &&
            ended->generation == own->generation && text_equal(ended->step, own->step) &&
            text_equal(decision->order_id, own->order_id))
            return true;
    }
    return false;
}

/* An order that is not kept: undone, or nothing of it can be. */
static void check_undone(const struct member *child)
{
    if (is_given_up(child) && (child->order.held_at == 0 || world.resets))
        return;
    if (child->order.state == ORDER_PROCESSED && (child->order.held_at != 0 || remains(child)))
        world_say("%.*s was to be undone, and is kept", TEXT_ARG(child->id));
}

/* I20, I16: of each item, and of each generation that it was submitted in. */
static void check_item(const struct member *member, uint32_t index, uint32_t number)
{
    const struct step *step = &member->order.steps[index];
    const struct suborders *suborders = step->suborders;
    const struct suborder_item *item = &suborders->items[number];
    struct order_parent parent = {.order_id = member->id,
                                  .accepted_offset = member->order.accepted_offset,
                                  .step = step->name,
                                  .item = text_empty(suborders->list) ? -1 : (int64_t)number};
    bool undone = member->order.state == ORDER_COMPENSATED;
    for (uint32_t generation = 0; generation <= item->generation; generation++) {
        parent.generation = generation;
        const struct member *child = world_find_item(&parent, NULL);
        bool done = item->state == ITEM_HELD || item->state == ITEM_FINAL;
        if (generation < item->generation || !done) {
            if (child != NULL)
                check_undone(child);
        } else if (child == NULL || child->order.state != ORDER_PROCESSED) {
            world_say("item %u of %.*s is %s, and its order is not", number, TEXT_ARG(member->id),
                      item_state_names.names[item->state]);
        } else if (undone && !member->by_hand) {
            check_undone(child);
        }
    }
    if (item->state == ITEM_SUBMITTED)
        world_say("item %u of %.*s never ends", number, TEXT_ARG(member->id));
    if (undone && item->state == ITEM_HELD && !member->by_hand)
        world_say("item %u of %.*s is held for ever", number, TEXT_ARG(member->id));
}

void trees_check_end(void)
{
    for (uint32_t i = 0; i < world.member_count; i++) {
        const struct member *member = world.members[i];
        const struct member *parent = world_parent_of(member);
        /* I21 */
        if (!order_ended(&member->order))
            world_say("%.*s is %s at the end%s", TEXT_ARG(member->id),
                      order_state_name(member->order.state),
                      parent != NULL && order_ended(&parent->order) ? ", and its parent has ended"
                                                                    : "");
        check_ledger(member);
        for (uint32_t s = 0; s < member->order.step_count; s++) {
            const struct suborders *suborders = member->order.steps[s].suborders;
            for (uint32_t n = 0; suborders != NULL && n < suborders->item_count; n++)
                check_item(member, s, n);
        }
    }
}
