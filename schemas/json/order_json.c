/* SPDX-License-Identifier: Apache-2.0 */
#include "schemas/json/order_json.h"

#include "base/goods.h"
#include "schemas/json/json_codec.h"

/* Adds fields by their names; empty texts and times become null. */
#define ADD(object, binding, record, ...)                                             \
    json_codec_add(object, binding, record, (const char *const[]){__VA_ARGS__, NULL}, \
                   JSON_CODEC_NULLS)

/* Its fields have the names that an order is submitted with. */
static void put_details(json_t *object, const struct order_details *details)
{
    static const char *const lists[] = {"lines", "attributes", NULL};
    ADD(object, &binding_order_details, details, "customer", "currency", "priority", "reply_to",
        "traceparent", "content_hash", "submitted_by", "input");
    json_codec_add(object, &binding_order_details, details, lists, 0);
}

/* The steps that wait for a moment or a signal, with what those who may send it need to know. */
static json_t *waits_of(const struct order *order)
{
    static const char *const names[] = {"group", "question", NULL};
    static const char *const lists[] = {"options", NULL};
    static const struct awaiting none;
    json_t *waits = json_array();
    for (uint32_t i = 0; i < order->step_count && !order_ended(order); i++) {
        const struct step *step = &order->steps[i];
        if (step->state != STEP_WAITING)
            continue;
        struct wait wait = step_wait(step);
        const struct awaiting *awaiting = step->awaiting != NULL ? step->awaiting : &none;
        json_t *object = json_object();
        json_codec_put(object, "step", json_codec_text(step->name));
        json_codec_put(object, "for", json_string(wait.kind == WAIT_SIGNAL ? "signal" : "time"));
        json_codec_put(object, "due_at", json_codec_time_or_null(wait.until));
        json_codec_add(object, &binding_awaiting, awaiting, names, JSON_CODEC_NULLS);
        json_codec_add(object, &binding_awaiting, awaiting, lists, 0);
        json_array_append_new(waits, object);
    }
    return waits;
}

static void put_state(json_t *object, const struct order *order, int32_t partition)
{
    ADD(object, &binding_order_details, &order->details, "order_id");
    ADD(object, &binding_order_row, order, "state", "version");
    ADD(object, &binding_order_details, &order->details, "workflow", "workflow_version");
    json_codec_put(object, "partition", json_integer(partition));
    ADD(object, &binding_order_row, order, "accepted_at", "updated_at", "ended_at", "complete_by",
        "alert_open", "cancelled", "reason_code", "reason", "reason_by", "paused_at", "paused_by",
        "pause_reason");
    json_codec_put(object, "waiting_for", waits_of(order));
}

/* Of a step that waits for a moment, its row's retry_at is that moment. */
static void put_wait(json_t *object, const struct step *step)
{
    struct wait wait = step_wait(step);
    bool timed = step->state == STEP_WAITING;
    json_codec_put(object, "retry_at", json_codec_time_or_null(timed ? 0 : wait.until));
    json_codec_put(object, "queued_at", json_codec_time_or_null(wait.since));
    json_codec_put(object, "due_at", json_codec_time_or_null(timed ? wait.until : 0));
}

static void put_progress(json_t *object, const struct step *step)
{
    ADD(object, &binding_step_row, step, "direction", "state", "attempt", "failure_count",
        "complete_by");
    put_wait(object, step);
    ADD(object, &binding_step_row, step, "error_name");
}

static json_t *active_steps_of(const struct order *order)
{
    json_t *steps = json_array();
    for (uint32_t i = 0; i < order->step_count && !order_ended(order); i++) {
        if (!step_is_active(&order->steps[i]))
            continue;
        json_t *object = json_object();
        json_codec_put(object, "step", json_codec_text(order->steps[i].name));
        put_progress(object, &order->steps[i]);
        json_array_append_new(steps, object);
    }
    return steps;
}

json_t *order_json_summary(const struct order *order, int32_t partition)
{
    json_t *object = json_object();
    put_state(object, order, partition);
    json_codec_put(object, "customer", json_codec_text_or_null(order->details.customer));
    json_codec_put(object, "line_count",
                   json_integer(goods_or_none(order->details.goods)->line_count));
    json_codec_put(object, "active_steps", active_steps_of(order));
    return object;
}

/* Whether items that were not submitted may still be. */
static bool may_submit(const struct order *order, const struct step *step)
{
    const struct suborders *suborders = step->suborders;
    return step->state == STEP_PROCESSING && step->direction == DIRECTION_DO &&
           !order_ended(order) && !suborders->recalled && !suborders->stopped && !suborders->failed;
}

json_t *order_json_suborders(const struct order *order, const struct step *step)
{
    static const char *const flags[] = {"recalled", "stopped", "times_out_at", NULL};
    const struct suborders *suborders = step->suborders;
    json_t *object = json_object();
    uint32_t to_do = suborders_count(suborders, ITEM_TO_DO);
    bool starts = may_submit(order, step);
    json_codec_put(object, "workflow", json_codec_text(suborders->workflow));
    json_codec_put(object, "for_each", json_boolean(!text_empty(suborders->list)));
    json_codec_put(object, "count", json_integer(suborders->item_count));
    json_codec_put(object, "to_do", json_integer(starts ? to_do : 0));
    for (int state = ITEM_SUBMITTED; state < ITEM_STATE_COUNT; state++)
        json_codec_put(object, enum_name(&item_state_names, (uint32_t)state),
                       json_integer(suborders_count(suborders, (enum item_state)state)));
    json_codec_put(object, "left_out", json_integer(starts ? 0 : to_do));
    json_codec_add(object, &binding_suborders, suborders, flags, JSON_CODEC_NULLS);
    return object;
}

static json_t *parent_json(const struct order_parent *parent)
{
    if (parent == NULL)
        return json_null();
    json_t *object = json_object();
    ADD(object, &binding_order_parent, parent, "order_id", "step");
    json_codec_put(object, "item", parent->item < 0 ? json_null() : json_integer(parent->item));
    ADD(object, &binding_order_parent, parent, "generation", "root", "depth");
    return object;
}

static json_t *step_json(const struct order *order, const struct step *step)
{
    json_t *object = json_object();
    json_codec_put(object, "step", json_codec_text(step->name));
    ADD(object, &binding_step_row, step, "agent");
    put_progress(object, step);
    ADD(object, &binding_step_row, step, "error_message", "locked_by", "margin_ms", "effect",
        "undo_effect");
    json_codec_put(object, "generation", json_integer(step->generation[DIRECTION_DO]));
    ADD(object, &binding_step_row, step, "undo_generation", "retries_used", "started_at",
        "ended_at", "input", "output");
    if (step->suborders != NULL)
        json_codec_put(object, "suborders", order_json_suborders(order, step));
    return object;
}

json_t *order_json(const struct order *order, int32_t partition)
{
    json_t *object = json_object();
    json_t *steps = json_array();
    put_state(object, order, partition);
    json_codec_put(object, "error_from",
                   order->state == ORDER_ERROR ? json_string(order_state_name(order->error_from))
                                               : json_null());
    json_codec_put(object, "margin_ms", json_integer(order->margin_ms));
    put_details(object, &order->details);
    json_codec_put(object, "parent", parent_json(order->details.parent));
    ADD(object, &binding_order_row, order, "output", "output_problem");
    for (uint32_t i = 0; i < order->step_count; i++)
        json_array_append_new(steps, step_json(order, &order->steps[i]));
    json_codec_put(object, "steps", steps);
    return object;
}
