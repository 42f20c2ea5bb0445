/* SPDX-License-Identifier: Apache-2.0 */
/* Orders, workflows and agents as JSON. Events are in render_event.c. */
#include "services/console/render/render.h"

#include "schemas/json/json_codec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void render_put(json_t *object, const char *name, json_t *value)
{
    int failed = json_object_set_new(object, name, value);
    assert(failed == 0); /* a name that is not UTF-8, or a value that was not made */
    (void)failed;
}

json_t *render_time(int64_t at)
{
    return at == 0 ? json_null() : json_codec_time(at);
}

/* null when 0: no limit */
static json_t *optional_ms(int64_t ms)
{
    return ms == 0 ? json_null() : json_integer(ms);
}

/* ---- orders ---- */

/* Adds fields by their names; empty texts and times become null. */
#define ADD(object, binding, record, ...)                                             \
    json_codec_add(object, binding, record, (const char *const[]){__VA_ARGS__, NULL}, \
                   JSON_CODEC_NULLS)

/* Its fields have the names that an order is submitted with. */
static void put_details(json_t *object, const struct order_details *details)
{
    static const char *const lists[] = {"lines", "attributes", NULL};
    ADD(object, &binding_order_details, details, "customer", "currency", "priority", "reply_to",
        "traceparent", "content_hash", "submitted_by");
    json_codec_add(object, &binding_order_details, details, lists, 0);
}

static void put_state(json_t *object, const struct order *order, int32_t partition)
{
    ADD(object, &binding_order_details, &order->details, "order_id");
    ADD(object, &binding_order_row, order, "state", "version");
    ADD(object, &binding_order_details, &order->details, "workflow", "workflow_version");
    render_put(object, "partition", json_integer(partition));
    ADD(object, &binding_order_row, order, "accepted_at", "updated_at", "ended_at", "complete_by",
        "alert_open", "cancelled", "reason_code", "reason", "reason_by", "paused_at", "paused_by",
        "pause_reason");
}

/* Runs, waits for its next attempt, or is in Error: what the index by step knows. */
static bool is_active(const struct step *step)
{
    return step->state == STEP_PROCESSING || step->state == STEP_ERROR || step->retry_at != 0 ||
           step->queued_at != 0;
}

static void put_progress(json_t *object, const struct step *step)
{
    ADD(object, &binding_step_row, step, "direction", "state", "attempt", "failure_count",
        "complete_by", "retry_at", "queued_at", "error_name");
}

static json_t *render_active_steps(const struct order *order)
{
    json_t *steps = json_array();
    for (uint32_t i = 0; i < order->step_count && !order_ended(order); i++) {
        if (!is_active(&order->steps[i]))
            continue;
        json_t *object = json_object();
        render_put(object, "step", json_codec_text(order->steps[i].name));
        put_progress(object, &order->steps[i]);
        json_array_append_new(steps, object);
    }
    return steps;
}

json_t *render_order_summary(const struct order *order, int32_t partition)
{
    json_t *object = json_object();
    put_state(object, order, partition);
    render_put(object, "customer", json_codec_text_or_null(order->details.customer));
    render_put(object, "line_count", json_integer(order->details.line_count));
    render_put(object, "active_steps", render_active_steps(order));
    return object;
}

static json_t *render_step(const struct step *step)
{
    json_t *object = json_object();
    render_put(object, "step", json_codec_text(step->name));
    ADD(object, &binding_step_row, step, "agent");
    put_progress(object, step);
    ADD(object, &binding_step_row, step, "error_message", "locked_by", "margin_ms", "effect",
        "undo_effect");
    render_put(object, "generation", json_integer(step->generation[DIRECTION_DO]));
    ADD(object, &binding_step_row, step, "undo_generation", "retries_used", "started_at",
        "ended_at", "output");
    return object;
}

json_t *render_order(const struct order *order, int32_t partition)
{
    json_t *object = json_object();
    json_t *steps = json_array();
    put_state(object, order, partition);
    render_put(object, "error_from",
               order->state == ORDER_ERROR ? json_string(order_state_name(order->error_from))
                                           : json_null());
    render_put(object, "margin_ms", json_integer(order->margin_ms));
    put_details(object, &order->details);
    for (uint32_t i = 0; i < order->step_count; i++)
        json_array_append_new(steps, render_step(&order->steps[i]));
    render_put(object, "steps", steps);
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
        render_put(at_fault, "step", json_codec_text(step->name));
        ADD(at_fault, &binding_step_row, step, "direction", "error_name", "error_message",
            "effect");
        json_array_append_new(steps, at_fault);
    }
    render_put(object, "steps_in_error", steps);
    return object;
}

json_t *render_by_state(const uint64_t by_state[ORDER_STATE_COUNT])
{
    json_t *object = json_object();
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        render_put(object, order_state_name((enum order_state)state),
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
            json_array_append_new(errors, json_codec_text(retrier->errors.names[e]));
        json_t *object = json_object();
        render_put(object, "errors", errors);
        render_put(object, "interval_ms", json_integer(retrier->interval_ms));
        render_put(object, "backoff_rate", json_real((double)retrier->backoff_rate_milli / 1000));
        render_put(object, "max_attempts", json_integer(retrier->max_attempts));
        render_put(object, "max_delay_ms", optional_ms(retrier->max_delay_ms));
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
            json_array_append_new(after, json_codec_text(workflow->steps[i].name));
    }
    json_t *agents = json_array();
    for (uint32_t i = 0; i < step->agent_count; i++)
        json_array_append_new(agents, json_codec_text(step->agents[i]));
    render_put(object, "step", json_codec_text(step->name));
    render_put(object, "agent", json_codec_text(step->agents[0]));
    render_put(object, "agents", agents);
    render_put(object, "after", after);
    render_put(object, "timeout_ms", json_integer(step->timeout_ms));
    render_put(object, "max_extension_ms", json_integer(step->max_extension_ms));
    render_put(object, "retry", render_policy(&step->retry));
    render_put(object, "compensate",
               step->has_compensate ? json_codec_text(step->compensate.action) : json_null());
    render_put(object, "pivot", json_boolean(step->pivot));
    render_put(object, "on_exhausted",
               json_string(step->on_exhausted == OUTCOME_COMPENSATE ? "$compensate" : "$error"));
    return object;
}

/* NULL: there was none; the names are those of the fields. */
static void put_activation(json_t *object, const char *by, const char *at, const char *reason,
                           const struct workflow_activation *activation)
{
    render_put(object, by,
               activation != NULL ? json_codec_text_or_null(activation->by) : json_null());
    render_put(object, at, activation != NULL ? render_time(activation->at) : json_null());
    render_put(object, reason,
               activation != NULL ? json_codec_text_or_null(activation->reason) : json_null());
}

json_t *render_workflow(const struct workflow_entry *entry, bool active)
{
    const struct workflow *workflow = entry->workflow;
    json_t *object = json_object();
    json_t *steps = json_array();
    for (uint32_t i = 0; i < workflow->step_count; i++)
        json_array_append_new(steps, render_workflow_step(workflow, i));
    render_put(object, "workflow", json_codec_text(workflow->name));
    render_put(object, "version", json_integer(workflow->version));
    render_put(object, "active", json_boolean(active));
    render_put(object, "retired", json_boolean(entry->retired));
    render_put(object, "timeout_ms", optional_ms(workflow->timeout_ms));
    render_put(object, "deployed_by", json_codec_text_or_null(entry->definition.deployed_by));
    render_put(object, "deployed_at", render_time(entry->definition.deployed_at));
    put_activation(object, "activated_by", "activated_at", "activation_reason",
                   entry->retired ? NULL : &entry->latest);
    put_activation(object, "retired_by", "retired_at", "retirement_reason",
                   entry->retired ? &entry->latest : NULL);
    render_put(object, "steps", steps);
    return object;
}

json_t *render_problems(const struct workflow_problem *problems, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        const struct workflow_problem *problem = &problems[i];
        bool is_error = problem->severity == WORKFLOW_ERROR;
        json_t *object = json_object();
        render_put(object, "line", json_integer(problem->line));
        render_put(object, "column", json_integer(problem->column));
        render_put(object, "severity", json_string(is_error ? "error" : "warning"));
        render_put(object, "message", json_codec_text(text_of(problem->text)));
        json_array_append_new(list, object);
    }
    return list;
}

/* ---- agents ---- */

json_t *render_agent_pause(const struct agent_pause_entry *pause)
{
    if (pause == NULL)
        return json_null();
    json_t *object = json_object();
    render_put(object, "by", json_codec_text(text_of(pause->by)));
    render_put(object, "reason", json_codec_text(text_of(pause->reason)));
    render_put(object, "at", render_time(pause->at));
    return object;
}

json_t *render_agent_pauses(const struct agent_table *table)
{
    json_t *list = json_array();
    const struct agent_pause_entry *pause;
    for (pause = agent_table_pauses(table); pause != NULL; pause = pause->next) {
        json_t *object = render_agent_pause(pause);
        render_put(object, "agent", json_codec_text(text_of(pause->agent)));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *render_agent(const struct agent_entry *entry, const struct agent_pause_entry *pause)
{
    json_t *object = json_object();
    render_put(object, "agent", json_codec_text(text_of(entry->agent)));
    render_put(object, "instance", json_codec_text(text_of(entry->instance)));
    render_put(object, "capacity", json_integer(entry->capacity));
    render_put(object, "in_flight", json_integer(entry->in_flight));
    render_put(object, "queued", json_integer(entry->queued));
    render_put(object, "partitions", json_integer(entry->partitions));
    render_put(object, "latency_p50_ms", json_integer(entry->latency_p50_ms));
    render_put(object, "latency_p95_ms", json_integer(entry->latency_p95_ms));
    render_put(object, "errors_permille", json_integer(entry->errors_permille));
    render_put(object, "circuit",
               json_codec_text_or_null(text_of(agent_circuit_name(entry->circuit))));
    render_put(object, "version", json_codec_text_or_null(text_of(entry->version)));
    render_put(object, "last_error", json_codec_text_or_null(text_of(entry->last_error)));
    render_put(object, "heartbeat_ms", json_integer(entry->heartbeat_ms));
    render_put(object, "reported_at", render_time(entry->reported_at));
    render_put(object, "heard_at", render_time(entry->appended_at));
    render_put(object, "paused", render_agent_pause(pause));
    return object;
}

json_t *render_agents(const struct agent_table *table, struct text agent)
{
    json_t *list = json_array();
    const struct agent_group *group =
        text_empty(agent) ? agent_table_groups(table) : agent_table_find(table, agent);
    while (group != NULL) {
        const struct agent_pause_entry *pause = agent_table_pause(table, text_of(group->agent));
        for (const struct agent_entry *entry = group->entries; entry != NULL; entry = entry->next)
            json_array_append_new(list, render_agent(entry, pause));
        group = text_empty(agent) ? group->next : NULL;
    }
    return list;
}
