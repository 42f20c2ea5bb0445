/* SPDX-License-Identifier: Apache-2.0 */
/* What the events of a Decision have an order tell its sub-orders, and a sub-order its parent: see
 * docs/design/decisions/0018-suborders.md. Nothing is evaluated.
 *
 * An event names items; the newest row says which of them have not answered, and with what they
 * were submitted. So a takeover that emits an old event again sends nothing that was overtaken: a
 * submission goes to an item of the event's generation that has not answered, a recall to one of
 * that generation or an older one. An order's row that was accepted after the event is of another
 * order (effects_of()), and none is sent. */
#include "base/error.h"
#include "base/json.h"
#include "engine/effects.h"
#include "engine/workflow.h"

#include <assert.h>

struct mail {
    const struct decision *decision;
    const struct order *order; /* NULL: only what the event holds is sent */
    struct arena *arena;
    struct effects *effects;
    uint32_t capacity;
    /* The step whose items are sent, and its values. */
    const struct step *step;
    const struct text *values; /* NULL: not read yet */
};

static uint32_t ordinal_of(uint32_t event, uint32_t step, uint32_t item, bool second)
{
    assert(event < DECISION_EVENTS_READ_MAX && step < WORKFLOW_STEPS_MAX && item < SUBORDERS_MAX);
    return MESSAGE_ORDINAL_MIN + ((event * WORKFLOW_STEPS_MAX + step) * SUBORDERS_MAX + item) * 2 +
           second;
}

static struct command *add(struct mail *mail, enum command_kind kind, struct text order_id,
                           uint32_t ordinal)
{
    struct effects *effects = mail->effects;
    assert(effects->message_count < mail->capacity);
    struct order_message *message = &effects->messages[effects->message_count++];
    assert(effects->message_count == 1 || message[-1].ordinal < ordinal);
    message->ordinal = ordinal;
    message->cmd.kind = kind;
    message->cmd.order_id = order_id;
    return &message->cmd;
}

/* ---- to sub-orders ---- */

static int64_t item_number(const struct suborders *suborders, uint32_t item)
{
    return text_empty(suborders->list) ? -1 : (int64_t)item;
}

static uint32_t step_index(const struct mail *mail)
{
    return (uint32_t)(mail->step - mail->order->steps);
}

static const struct order_parent *parent_of_item(const struct mail *mail, uint32_t item)
{
    const struct order *order = mail->order;
    const struct order_parent *above = order->details.parent;
    struct order_parent *parent = ARENA_NEW(mail->arena, struct order_parent);
    *parent = (struct order_parent){
        .order_id = order->details.order_id,
        .accepted_offset = order->accepted_offset,
        .step = mail->step->name,
        .item = item_number(mail->step->suborders, item),
        .generation = mail->step->suborders->items[item].generation,
        .root = above != NULL ? above->root : order->details.order_id,
        .depth = above != NULL ? above->depth + 1 : 1,
        .quota = mail->step->suborders->quota,
    };
    return parent;
}

static struct text id_of_item(const struct mail *mail, uint32_t item)
{
    const struct suborders *suborders = mail->step->suborders;
    return order_suborder_id(mail->order->details.order_id, mail->step->name,
                             item_number(suborders, item), suborders->items[item].generation,
                             mail->arena);
}

/* The elements of the step's list. */
static const struct text *values_of(struct mail *mail)
{
    const struct suborders *suborders = mail->step->suborders;
    if (mail->values != NULL)
        return mail->values;
    struct text *values = ARENA_ARRAY(mail->arena, struct text, suborders->item_count);
    struct json_items items;
    json_items_begin(&items, json_value_of(suborders->list));
    for (uint32_t i = 0; i < suborders->item_count && json_items_next(&items, NULL); i++)
        values[i] = json_value_text(items.value, NULL);
    mail->values = values;
    return values;
}

/* Made by the step's Input; else the item; else what the order has. */
static struct text input_of_item(struct mail *mail, uint32_t item)
{
    const struct suborders *suborders = mail->step->suborders;
    if (!text_empty(suborders->items[item].input))
        return suborders->items[item].input;
    if (text_empty(suborders->list))
        return mail->order->details.input;
    struct text value = values_of(mail)[item];
    return text_equal(value, TEXT("null")) ? (struct text){0} : value;
}

static bool is_to_be_submitted(const struct mail *mail, uint32_t item, uint32_t generation)
{
    const struct suborder_item *of = &mail->step->suborders->items[item];
    return of->state == ITEM_SUBMITTED && of->generation == generation;
}

static void submit(struct mail *mail, uint32_t event, uint32_t item)
{
    const struct order_details *details = &mail->order->details;
    const struct suborders *suborders = mail->step->suborders;
    struct text id = id_of_item(mail, item);
    if (id.size > ORDER_ID_BYTES_MAX) /* the step has checked it */
        return;
    struct command *cmd =
        add(mail, COMMAND_SUBMIT_ORDER, id, ordinal_of(event, step_index(mail), item, false));
    cmd->submit_order = (struct order_details){
        .order_id = id,
        .customer = details->customer,
        .priority = suborders->priority,
        .workflow = suborders->workflow,
        .workflow_version = mail->step->workflow_version,
        .traceparent = details->traceparent,
        .submitted_by = details->submitted_by,
        .submitted_at = suborders->items[item].submitted_at,
        .input = input_of_item(mail, item),
        .parent = parent_of_item(mail, item),
    };
}

static void settle(struct mail *mail, uint32_t event, uint32_t item, enum settle how)
{
    struct text id = id_of_item(mail, item);
    if (id.size > ORDER_ID_BYTES_MAX)
        return;
    struct command *cmd =
        add(mail, COMMAND_SETTLE_SUBORDER, id, ordinal_of(event, step_index(mail), item, true));
    cmd->settle_suborder = (struct settle_suborder){
        .order_id = id,
        .parent = parent_of_item(mail, item),
        .how = how,
        .held = mail->step->suborders->items[item].state == ITEM_HELD,
        .reason = how == SETTLE_UNDO ? mail->step->suborders->error_message : (struct text){0},
    };
}

/* Of one that may have begun, in the generation of the event or before it. */
static bool is_to_be_undone(const struct mail *mail, uint32_t item, uint32_t generation)
{
    const struct suborder_item *of = &mail->step->suborders->items[item];
    return (of->state == ITEM_SUBMITTED || of->state == ITEM_HELD) && of->generation <= generation;
}

/* False: the row has no such step, or it has no sub-orders. */
static bool take_step(struct mail *mail, struct text name)
{
    int place = mail->order != NULL ? order_find_step(mail->order, name) : -1;
    if (place < 0 || mail->order->steps[place].suborders == NULL)
        return false;
    mail->step = &mail->order->steps[place];
    mail->values = NULL;
    return true;
}

static void send_submitted(struct mail *mail, uint32_t number,
                           const struct suborders_submitted *submitted)
{
    if (!take_step(mail, submitted->ref.step))
        return;
    const struct suborders *suborders = mail->step->suborders;
    for (uint32_t i = 0; i < submitted->item_count; i++) {
        int64_t item = submitted->items[i].item == -1 ? 0 : submitted->items[i].item;
        if (item >= 0 && item < suborders->item_count &&
            is_to_be_submitted(mail, (uint32_t)item, submitted->generation))
            submit(mail, number, (uint32_t)item);
    }
}

/* A recall may overtake no submission, so an ask repeats that one first. */
static void send_asked(struct mail *mail, uint32_t number, const struct suborders_asked *asked)
{
    if (!take_step(mail, asked->ref.step))
        return;
    const struct suborders *suborders = mail->step->suborders;
    for (uint32_t i = 0; i < suborders->item_count; i++) {
        if (is_to_be_submitted(mail, i, asked->generation))
            submit(mail, number, i);
        if (suborders->recalled && is_to_be_undone(mail, i, asked->generation))
            settle(mail, number, i, SETTLE_UNDO);
    }
}

static void send_recalled(struct mail *mail, uint32_t number,
                          const struct suborders_recalled *recalled)
{
    if (!take_step(mail, recalled->ref.step))
        return;
    for (uint32_t i = 0; i < mail->step->suborders->item_count; i++) {
        if (is_to_be_undone(mail, i, recalled->generation))
            settle(mail, number, i, SETTLE_UNDO);
    }
}

/* All that the order holds is kept. */
static void send_release(struct mail *mail, uint32_t number)
{
    for (uint32_t place = 0; mail->order != NULL && place < mail->order->step_count; place++) {
        if (!take_step(mail, mail->order->steps[place].name))
            continue;
        const struct suborders *suborders = mail->step->suborders;
        for (uint32_t i = 0; i < suborders->item_count; i++) {
            if (suborders->items[i].state == ITEM_HELD)
                settle(mail, number, i, SETTLE_KEEP);
        }
    }
}

/* ---- to the parent ---- */

static void report(struct mail *mail, uint32_t number, const struct order_parent *parent,
                   const struct report_suborder *what)
{
    struct command *cmd =
        add(mail, COMMAND_REPORT_SUBORDER, parent->order_id, ordinal_of(number, 0, 0, false));
    cmd->report_suborder = *what;
    cmd->report_suborder.order_id = parent->order_id;
    cmd->report_suborder.accepted_offset = parent->accepted_offset;
    cmd->report_suborder.step = parent->step;
    cmd->report_suborder.item = parent->item;
    cmd->report_suborder.generation = parent->generation;
}

/* What the order was after the Decision. */
static void report_state(struct mail *mail, uint32_t number)
{
    const struct order *order = mail->order;
    const struct order_parent *parent = order != NULL ? order->details.parent : NULL;
    if (parent == NULL)
        return;
    switch (mail->decision->order_state) {
    case ORDER_HELD:
        report(mail, number, parent,
               &(struct report_suborder){.outcome = SUBORDER_HELD, .output = order->output});
        return;
    case ORDER_PROCESSED:
        report(mail, number, parent,
               &(struct report_suborder){.outcome = SUBORDER_FINAL, .output = order->output});
        return;
    case ORDER_COMPENSATED:
        report(mail, number, parent,
               &(struct report_suborder){.outcome = SUBORDER_FAILED,
                                         .error_name = order->reason_code,
                                         .error_message = order->reason});
        return;
    case ORDER_PENDING:
    case ORDER_PROCESSING:
    case ORDER_COMPENSATING:
    case ORDER_ERROR:
    case ORDER_STATE_COUNT:
        return;
    }
}

/* An order that was held has been kept by its parent. */
static void send_processed(struct mail *mail, uint32_t number)
{
    if (mail->order != NULL && mail->order->held_at == 0)
        report_state(mail, number);
    send_release(mail, number);
}

static struct text refusal(struct text code)
{
    if (text_equal(code, error_code_text(CODE_UNKNOWN_ORDER)))
        return code;
    return text_equal(code, error_code_text(CODE_TOO_OLD)) ? TEXT(ERROR_TOO_OLD)
                                                           : TEXT(ERROR_REFUSED);
}

/* A command of a parent, or a report to one, that came to nothing. */
static void send_rejected(struct mail *mail, uint32_t number,
                          const struct command_rejected *rejected)
{
    bool ended = text_equal(rejected->code, error_code_text(CODE_ALREADY_ENDED));
    if (rejected->parent == NULL)
        return;
    if (ended)
        report_state(mail, number);
    else
        report(mail, number, rejected->parent,
               &(struct report_suborder){.outcome = SUBORDER_REFUSED,
                                         .error_name = refusal(rejected->code),
                                         .error_message = rejected->reason});
}

/* The answer to a report: nothing of the row is needed. What no order of ours reported has none. */
static void send_answer(struct mail *mail, uint32_t number, const struct order_parent *parent,
                        enum settle how, struct text reason)
{
    if (parent == NULL || parent->item < -1 || parent->item >= SUBORDERS_MAX)
        return;
    struct text id = order_suborder_id(parent->order_id, parent->step, parent->item,
                                       parent->generation, mail->arena);
    if (id.size > ORDER_ID_BYTES_MAX)
        return;
    struct command *cmd = add(mail, COMMAND_SETTLE_SUBORDER, id, ordinal_of(number, 0, 0, true));
    cmd->settle_suborder =
        (struct settle_suborder){.order_id = id, .parent = parent, .how = how, .reason = reason};
}

/* ---- an event ---- */

static void send_event(struct mail *mail, uint32_t number)
{
    const struct event *event = &mail->decision->events[number];
    if (event->kind == EVENT_SUBORDERS_SUBMITTED)
        send_submitted(mail, number, &event->suborders_submitted);
    else if (event->kind == EVENT_SUBORDERS_ASKED)
        send_asked(mail, number, &event->suborders_asked);
    else if (event->kind == EVENT_SUBORDERS_RECALLED)
        send_recalled(mail, number, &event->suborders_recalled);
    else if (event->kind == EVENT_ORDER_PROCESSED)
        send_processed(mail, number);
    else if (event->kind == EVENT_ORDER_HELD || event->kind == EVENT_ORDER_COMPENSATED ||
             event->kind == EVENT_SUBMISSION_REPEATED ||
             (event->kind == EVENT_ORDER_DEADLINE_SET && number == 0))
        report_state(mail, number);
    else if (event->kind == EVENT_REPORT_IGNORED && event->report_ignored.settle != SETTLE_NONE)
        send_answer(mail, number, event->report_ignored.parent, event->report_ignored.settle,
                    event->report_ignored.reason);
    else if (event->kind == EVENT_COMMAND_REJECTED && event->command_rejected.settle != SETTLE_NONE)
        send_answer(mail, number, event->command_rejected.parent, event->command_rejected.settle,
                    event->command_rejected.reason);
    else if (event->kind == EVENT_COMMAND_REJECTED)
        send_rejected(mail, number, &event->command_rejected);
}

static bool is_of_suborders(enum event_kind kind)
{
    return kind == EVENT_SUBORDERS_SUBMITTED || kind == EVENT_SUBORDERS_ASKED ||
           kind == EVENT_SUBORDERS_RECALLED;
}

/* Most that the event sends. */
static uint32_t most_of(const struct order *order, const struct event *event)
{
    uint32_t items = 0;
    if (event->kind == EVENT_REPORT_IGNORED)
        return event->report_ignored.parent != NULL;
    if (event->kind == EVENT_COMMAND_REJECTED)
        return event->command_rejected.parent != NULL;
    if (order == NULL || (event_is_of_step(event->kind) && !is_of_suborders(event->kind)))
        return 0;
    if (event->kind == EVENT_ORDER_PROCESSED || is_of_suborders(event->kind))
        for (uint32_t i = 0; i < order->step_count; i++)
            items += order->steps[i].suborders != NULL ? order->steps[i].suborders->item_count : 0;
    return 2 * items + (order->details.parent != NULL);
}

void effects_add_messages(const struct decision *decision, const struct order *order,
                          struct arena *arena, struct effects *effects)
{
    struct mail mail = {.decision = decision, .order = order, .arena = arena, .effects = effects};
    for (uint32_t i = 0; i < decision->event_count; i++)
        mail.capacity += most_of(order, &decision->events[i]);
    if (mail.capacity == 0)
        return;
    effects->messages = ARENA_ARRAY(arena, struct order_message, mail.capacity);
    for (uint32_t i = 0; i < decision->event_count; i++)
        send_event(&mail, i);
    assert(effects->message_count <= mail.capacity);
}
