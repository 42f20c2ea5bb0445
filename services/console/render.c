/* SPDX-License-Identifier: Apache-2.0 */
/* Orders, workflows and the pieces that all JSON is made of. Events are in render_event.c. */
#include "services/console/render.h"

#include "schemas/codec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void put(json_t *object, const char *name, json_t *value)
{
    int failed = json_object_set_new(object, name, value);
    assert(failed == 0); /* a name that is no UTF-8, or a value that was not made */
    (void)failed;
}

/* ---- pieces ---- */

/* Bytes beyond ASCII of a text that is no UTF-8 cannot be trusted to mean anything. */
static json_t *mended(struct text text)
{
    char *bytes = malloc(text.size);
    assert(bytes != NULL);
    for (uint32_t i = 0; i < text.size; i++)
        bytes[i] = (char)((uint8_t)text.data[i] < 0x80 ? text.data[i] : '?');
    json_t *string = json_stringn(bytes, text.size);
    free(bytes);
    return string;
}

json_t *render_text(struct text text)
{
    json_t *string = json_stringn(text.size > 0 ? text.data : "", text.size);
    return string != NULL ? string : mended(text);
}

json_t *render_optional(struct text text)
{
    return text_empty(text) ? json_null() : render_text(text);
}

json_t *render_time(int64_t at)
{
    return at == 0 ? json_null() : json_integer(at);
}

json_t *render_uuid(const struct uuid *uuid)
{
    char text[40];
    size_t size = 0;
    for (size_t i = 0; i < sizeof(uuid->bytes); i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%02x", dash, uuid->bytes[i]);
    }
    return json_string(text);
}

static json_t *render_hash(const struct content_hash *hash)
{
    char text[2 * sizeof(hash->bytes) + 1];
    for (size_t i = 0; i < sizeof(hash->bytes); i++)
        snprintf(text + 2 * i, 3, "%02x", hash->bytes[i]);
    return json_string(text);
}

/* ---- orders ---- */

static json_t *render_lines(const struct order_details *details)
{
    json_t *lines = json_array();
    for (uint32_t i = 0; i < details->line_count; i++) {
        const struct order_line *line = &details->lines[i];
        char price[DECIMAL_TEXT_MAX];
        size_t size = decimal_format(line->unit_price, price);
        json_t *object = json_object();
        put(object, "sku", render_text(line->sku));
        put(object, "description", render_text(line->description));
        put(object, "quantity", json_integer(line->quantity));
        put(object, "unit_price", json_stringn(price, size));
        json_array_append_new(lines, object);
    }
    return lines;
}

static json_t *render_attributes(const struct order_details *details)
{
    json_t *attributes = json_object();
    for (uint32_t i = 0; i < details->attribute_count; i++) {
        json_t *name = render_text(details->attributes[i].name);
        put(attributes, json_string_value(name), render_text(details->attributes[i].value));
        json_decref(name);
    }
    return attributes;
}

/* Its fields have the names that an order is submitted with. */
static void put_details(json_t *object, const struct order_details *details)
{
    put(object, "customer", render_optional(details->customer));
    put(object, "currency", render_text(details->currency));
    put(object, "priority", json_string(priority_name(details->priority)));
    put(object, "reply_to", render_optional(details->reply_to));
    put(object, "traceparent", render_optional(details->traceparent));
    put(object, "content_hash", render_hash(&details->content_hash));
    put(object, "lines", render_lines(details));
    put(object, "attributes", render_attributes(details));
}

static void put_state(json_t *object, const struct order *order, int32_t partition)
{
    put(object, "order_id", render_text(order->details.order_id));
    put(object, "state", json_string(order_state_name(order->state)));
    put(object, "version", json_integer((json_int_t)order->version));
    put(object, "workflow", render_text(order->details.workflow));
    put(object, "workflow_version", json_integer(order->details.workflow_version));
    put(object, "partition", json_integer(partition));
    put(object, "accepted_at", render_time(order->accepted_at));
    put(object, "updated_at", render_time(order->updated_at));
    put(object, "ended_at", render_time(order->ended_at));
    put(object, "complete_by", render_time(order->complete_by));
    put(object, "alert_open", json_boolean(order->alert_open));
    put(object, "cancelled", json_boolean(order->cancelled));
    put(object, "reason_code", render_optional(order->reason_code));
    put(object, "reason", render_optional(order->reason));
    put(object, "reason_by", render_optional(order->reason_by));
}

/* Runs, waits for its next attempt, or is in Error: what the index by step knows. */
static bool is_active(const struct step *step)
{
    return step->state == STEP_PROCESSING || step->state == STEP_ERROR || step->retry_at != 0 ||
           step->queued_at != 0;
}

static void put_progress(json_t *object, const struct step *step)
{
    put(object, "direction", json_string(direction_name(step->direction)));
    put(object, "state", json_string(step_state_name(step->state)));
    put(object, "attempt", json_integer(step->attempt));
    put(object, "failure_count", json_integer(step->failure_count));
    put(object, "complete_by", render_time(step->complete_by));
    put(object, "retry_at", render_time(step->retry_at));
    put(object, "queued_at", render_time(step->queued_at));
    put(object, "error_name", render_optional(step->error_name));
}

static json_t *render_active_steps(const struct order *order)
{
    json_t *steps = json_array();
    for (uint32_t i = 0; i < order->step_count && !order_ended(order); i++) {
        if (!is_active(&order->steps[i]))
            continue;
        json_t *object = json_object();
        put(object, "step", render_text(order->steps[i].name));
        put_progress(object, &order->steps[i]);
        json_array_append_new(steps, object);
    }
    return steps;
}

json_t *render_order_summary(const struct order *order, int32_t partition)
{
    json_t *object = json_object();
    put_state(object, order, partition);
    put(object, "customer", render_optional(order->details.customer));
    put(object, "line_count", json_integer(order->details.line_count));
    put(object, "active_steps", render_active_steps(order));
    return object;
}

static json_t *render_retries(const struct step *step)
{
    json_t *used = json_array();
    int count = RETRIERS_MAX;
    while (count > 0 && step->retries_used[count - 1] == 0)
        count--;
    for (int i = 0; i < count; i++)
        json_array_append_new(used, json_integer(step->retries_used[i]));
    return used;
}

static json_t *render_step(const struct step *step)
{
    json_t *object = json_object();
    put(object, "step", render_text(step->name));
    put(object, "agent", render_text(step->agent));
    put_progress(object, step);
    put(object, "error_message", render_optional(step->error_message));
    put(object, "locked_by", render_optional(step->locked_by));
    put(object, "margin_ms", json_integer(step->margin_ms));
    put(object, "effect", json_string(effect_name(step->effect)));
    put(object, "undo_effect", json_string(effect_name(step->undo_effect)));
    put(object, "generation", json_integer(step->generation[DIRECTION_DO]));
    put(object, "undo_generation", json_integer(step->generation[DIRECTION_UNDO]));
    put(object, "retries_used", render_retries(step));
    put(object, "started_at", render_time(step->started_at));
    put(object, "ended_at", render_time(step->ended_at));
    put(object, "output", render_optional(step->output));
    return object;
}

json_t *render_order(const struct order *order, int32_t partition)
{
    json_t *object = json_object();
    json_t *steps = json_array();
    put_state(object, order, partition);
    put(object, "error_from",
        order->state == ORDER_ERROR ? json_string(order_state_name(order->error_from))
                                    : json_null());
    put(object, "margin_ms", json_integer(order->margin_ms));
    put_details(object, &order->details);
    for (uint32_t i = 0; i < order->step_count; i++)
        json_array_append_new(steps, render_step(&order->steps[i]));
    put(object, "steps", steps);
    return object;
}

json_t *render_order_alert(const struct order *order, int32_t partition)
{
    json_t *object = render_order_summary(order, partition);
    json_t *steps = json_array();
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step->state != STEP_ERROR)
            continue;
        json_t *at_fault = json_object();
        put(at_fault, "step", render_text(step->name));
        put(at_fault, "direction", json_string(direction_name(step->direction)));
        put(at_fault, "error_name", render_optional(step->error_name));
        put(at_fault, "error_message", render_optional(step->error_message));
        put(at_fault, "effect", json_string(effect_name(step->effect)));
        json_array_append_new(steps, at_fault);
    }
    put(object, "steps_in_error", steps);
    return object;
}

json_t *render_by_state(const uint64_t by_state[ORDER_STATE_COUNT])
{
    json_t *object = json_object();
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        put(object, order_state_name((enum order_state)state),
            json_integer((json_int_t)by_state[state]));
    return object;
}

/* ---- workflows ---- */

static json_t *render_policy(const struct retry_policy *policy)
{
    json_t *retriers = json_array();
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct retrier *retrier = &policy->retriers[i];
        json_t *errors = json_array();
        for (uint32_t e = 0; e < retrier->errors.count; e++)
            json_array_append_new(errors, render_text(retrier->errors.names[e]));
        json_t *object = json_object();
        put(object, "errors", errors);
        put(object, "interval_ms", json_integer(retrier->interval_ms));
        put(object, "backoff_rate", json_real((double)retrier->backoff_rate_milli / 1000));
        put(object, "max_attempts", json_integer(retrier->max_attempts));
        put(object, "max_delay_ms", render_time(retrier->max_delay_ms));
        json_array_append_new(retriers, object);
    }
    return retriers;
}

static json_t *render_workflow_step(const struct workflow *workflow, uint32_t index)
{
    const struct workflow_step *step = &workflow->steps[index];
    json_t *object = json_object();
    json_t *after = json_array();
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if ((step->after >> i & 1) != 0)
            json_array_append_new(after, render_text(workflow->steps[i].name));
    }
    json_t *agents = json_array();
    for (uint32_t i = 0; i < step->agent_count; i++)
        json_array_append_new(agents, render_text(step->agents[i]));
    put(object, "step", render_text(step->name));
    put(object, "agent", render_text(step->agents[0]));
    put(object, "agents", agents);
    put(object, "after", after);
    put(object, "timeout_ms", json_integer(step->timeout_ms));
    put(object, "max_extension_ms", json_integer(step->max_extension_ms));
    put(object, "retry", render_policy(&step->retry));
    put(object, "compensate",
        step->has_compensate ? render_text(step->compensate.action) : json_null());
    put(object, "pivot", json_boolean(step->pivot));
    put(object, "on_exhausted",
        json_string(step->on_exhausted == OUTCOME_COMPENSATE ? "$compensate" : "$error"));
    return object;
}

json_t *render_workflow(const struct workflow_entry *entry)
{
    const struct workflow *workflow = entry->workflow;
    json_t *object = json_object();
    json_t *steps = json_array();
    for (uint32_t i = 0; i < workflow->step_count; i++)
        json_array_append_new(steps, render_workflow_step(workflow, i));
    put(object, "workflow", render_text(workflow->name));
    put(object, "version", json_integer(workflow->version));
    put(object, "timeout_ms", render_time(workflow->timeout_ms));
    put(object, "deployed_by", render_optional(entry->definition.deployed_by));
    put(object, "deployed_at", render_time(entry->definition.deployed_at));
    put(object, "steps", steps);
    return object;
}

/* ---- answers ---- */

void respond_json(struct http_exchange *exchange, int status, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(15));
    assert(text != NULL);
    http_respond(exchange, status, "application/json", text_of(text));
    free(text);
    json_decref(body);
}
