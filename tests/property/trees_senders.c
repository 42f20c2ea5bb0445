/* SPDX-License-Identifier: Apache-2.0 */
/* Customers, operators and supervisors. See trees_world.h. */
#include "tests/property/trees_world.h"

static const struct text operator_name = {"anna", 4};

void senders_submit_root(void)
{
    struct text id = dice_percent(&world.dice, 70) ? TEXT("r-1") : TEXT("r-2");
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = id};
    for (uint32_t i = 0; i < world.member_count; i++) {
        if (world.members[i]->expired && text_equal(world.members[i]->id, id))
            world_saw(TREES_USED_AGAIN);
    }
    cmd.submit_order = (struct order_details){.order_id = id,
                                              .customer = TEXT("c-1"),
                                              .priority = PRIORITY_NORMAL,
                                              .workflow = world.workflow->name,
                                              .input = world.input,
                                              .submitted_at = world.now};
    cmd.submit_order.content_hash.bytes[0] = 1;
    world_send(&cmd);
}

/* ---- supervisors ---- */

static void ask(const struct member *member, const struct deadline *deadline)
{
    struct command cmd;
    struct order *lasting = ARENA_NEW(&world.memory.arena, struct order);
    order_copy(&member->order, &world.memory.arena, lasting);
    deadline_command(lasting, deadline, TEXT("supervisor-1"), &cmd);
    world_send(&cmd);
}

bool senders_deadline(bool early)
{
    if (world.member_count == 0)
        return false;
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t first = dice_roll(&world.dice, world.member_count);
    for (uint32_t i = 0; i < world.member_count; i++) {
        const struct member *member = world.members[(first + i) % world.member_count];
        if (member->expired)
            continue;
        uint32_t count = deadlines_of(&member->order, deadlines);
        uint32_t chosen = count > 0 ? dice_roll(&world.dice, count) : 0;
        if (count > 0 && (early || deadlines[chosen].due_at <= world.now)) {
            ask(member, &deadlines[chosen]);
            return true;
        }
    }
    return false;
}

bool senders_next_deadline(void)
{
    const struct member *first = NULL;
    struct deadline next = {.due_at = INT64_MAX};
    for (uint32_t i = 0; i < world.member_count; i++) {
        struct deadline deadlines[DEADLINES_MAX];
        uint32_t count =
            world.members[i]->expired ? 0 : deadlines_of(&world.members[i]->order, deadlines);
        for (uint32_t n = 0; n < count; n++) {
            if (deadlines[n].due_at < next.due_at) {
                next = deadlines[n];
                first = world.members[i];
            }
        }
    }
    if (first == NULL)
        return false;
    if (world.now < next.due_at)
        world.now = next.due_at;
    ask(first, &next);
    return true;
}

/* ---- operators ---- */

static void send_resubmit(const struct member *member)
{
    struct command cmd = {.kind = COMMAND_RESUBMIT_STEP, .order_id = member->id};
    cmd.resubmit_step = (struct resubmit_step){
        .order_id = member->id, .timeout_ms = 30 * DAY_MS, .by = operator_name};
    world_send(&cmd);
}

static void send_cancel(const struct member *member)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER, .order_id = member->id};
    cmd.cancel_order = (struct cancel_order){.order_id = member->id, .by = operator_name};
    world_send(&cmd);
}

void senders_cancel_root(void)
{
    for (uint32_t i = 0; i < world.member_count; i++) {
        if (!world.members[i]->expired && world.members[i]->order.details.parent == NULL)
            send_cancel(world.members[i]);
    }
}

static void send_pause(const struct member *member, bool pause)
{
    struct command cmd = {.kind = pause ? COMMAND_PAUSE_ORDER : COMMAND_RESUME_ORDER,
                          .order_id = member->id};
    if (pause)
        cmd.pause_order = (struct pause_order){.order_id = member->id, .by = operator_name};
    else
        cmd.resume_order = (struct resume_order){.order_id = member->id, .by = operator_name};
    world_send(&cmd);
}

static void send_fail_item(const struct member *member)
{
    const struct order *order = &member->order;
    uint32_t index = dice_roll(&world.dice, order->step_count);
    const struct suborders *suborders = order->steps[index].suborders;
    if (suborders == NULL || suborders->item_count == 0)
        return;
    struct command cmd = {.kind = COMMAND_FAIL_STEP, .order_id = member->id};
    cmd.fail_step = (struct fail_step){.order_id = member->id,
                                       .step = order->steps[index].name,
                                       .error_name = TEXT("Given"),
                                       .by = operator_name,
                                       .item = dice_roll(&world.dice, suborders->item_count)};
    world_send(&cmd);
}

static void send_settle(const struct member *member, enum settle how)
{
    struct command cmd = {.kind = COMMAND_SETTLE_SUBORDER, .order_id = member->id};
    cmd.settle_suborder =
        (struct settle_suborder){.order_id = member->id, .how = how, .by = operator_name};
    world_send(&cmd);
}

/* The step is undone outside, or done, whatever its ledger says. */
static void send_complete(struct member *member, uint32_t index)
{
    struct command cmd = {.kind = COMMAND_COMPLETE_STEP, .order_id = member->id};
    cmd.complete_step = (struct complete_step){
        .order_id = member->id, .step = member->order.steps[index].name, .by = operator_name};
    member->by_hand = true;
    world_send(&cmd);
}

/* Keep where its parent has kept it, as far as the operator can find out. */
static enum settle settle_of(const struct member *member)
{
    const struct order_parent *own = member->order.details.parent;
    const struct member *parent = world_parent_of(member);
    int index = parent != NULL ? order_find_step(&parent->order, own->step) : -1;
    if (index < 0 || parent->order.state != ORDER_PROCESSED ||
        parent->order.steps[index].suborders == NULL)
        return SETTLE_UNDO;
    const struct suborder_item *item =
        &parent->order.steps[index].suborders->items[own->item < 0 ? 0 : own->item];
    return item->state == ITEM_HELD && item->generation == own->generation ? SETTLE_KEEP
                                                                           : SETTLE_UNDO;
}

void senders_operator(void)
{
    if (world.member_count == 0)
        return;
    struct member *member = world.members[dice_roll(&world.dice, world.member_count)];
    bool paused = member->order.paused_at != 0;
    if (member->expired)
        return;
    switch (dice_roll(&world.dice, 8)) {
    case 0:
        send_cancel(member);
        return;
    case 1:
    case 2:
        send_resubmit(member);
        return;
    case 3:
        send_pause(member, !paused || dice_percent(&world.dice, 20));
        return;
    case 4:
        send_fail_item(member);
        return;
    case 5:
        send_settle(member, settle_of(member));
        return;
    case 6:
        if (order_ended(&member->order))
            senders_submit_root();
        return;
    default:
        if (paused)
            send_pause(member, false);
        return;
    }
}

bool senders_resume_all(void)
{
    bool any = false;
    for (uint32_t i = 0; i < world.member_count; i++) {
        const struct member *member = world.members[i];
        if (member->expired || order_ended(&member->order) || member->order.paused_at == 0)
            continue;
        send_pause(member, false);
        any = true;
    }
    return any;
}

/* ---- operators who get an order to its end ---- */

static void repair_by_hand(struct member *member)
{
    const struct order *order = &member->order;
    enum direction direction =
        order->error_from == ORDER_COMPENSATING ? DIRECTION_UNDO : DIRECTION_DO;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step->state == STEP_ERROR && step->direction == direction)
            send_complete(member, i);
    }
}

bool senders_repair(struct member *member, uint32_t round)
{
    const struct order *order = &member->order;
    if (member->expired || order_ended(order))
        return false;
    if (order->state == ORDER_HELD && order->alert_open) {
        send_settle(member, settle_of(member));
        return true;
    }
    if (order->state != ORDER_ERROR)
        return false;
    if (round < 2)
        send_resubmit(member);
    else if (round == 2)
        send_cancel(member);
    else
        repair_by_hand(member);
    return true;
}
