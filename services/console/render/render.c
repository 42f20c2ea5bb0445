/* SPDX-License-Identifier: Apache-2.0 */
/* What the API says of orders and agents besides their records. Events are in render_event.c. */
#include "services/console/render/render.h"

#include "schemas/json/json_codec.h"
#include "schemas/json/order_json.h"

/* ---- orders ---- */

json_t *render_order_alert(const struct order *order, int32_t partition)
{
    static const char *const fields[] = {"direction", "error_name", "error_message", "effect",
                                         NULL};
    json_t *object = order_json_summary(order, partition);
    json_t *steps = json_array();
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step->state != STEP_ERROR)
            continue;
        json_t *at_fault = json_object();
        json_codec_put(at_fault, "step", json_codec_text(step->name));
        json_codec_add(at_fault, &binding_step_row, step, fields, JSON_CODEC_NULLS);
        json_array_append_new(steps, at_fault);
    }
    json_codec_put(object, "root",
                   order->details.parent != NULL ? json_codec_text(order->details.parent->root)
                                                 : json_null());
    json_codec_put(object, "steps_in_error", steps);
    if (order->state == ORDER_HELD) /* the alert is all that knows its code */
        json_codec_put(object, "reason_code",
                       json_codec_text(error_code_text(CODE_PARENT_UNKNOWN)));
    return object;
}

json_t *render_by_state(const uint64_t by_state[ORDER_STATE_COUNT])
{
    json_t *object = json_object();
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        json_codec_put(object, order_state_name((enum order_state)state),
                       json_integer((json_int_t)by_state[state]));
    return object;
}

/* ---- agents ---- */

json_t *render_agent_pause(const struct agent_pause_entry *pause)
{
    if (pause == NULL)
        return json_null();
    json_t *object = json_object();
    json_codec_put(object, "by", json_codec_text(text_of(pause->by)));
    json_codec_put(object, "reason", json_codec_text(text_of(pause->reason)));
    json_codec_put(object, "at", json_codec_time_or_null(pause->at));
    return object;
}

json_t *render_agent_pauses(const struct agent_table *table)
{
    json_t *list = json_array();
    const struct agent_pause_entry *pause;
    for (pause = agent_table_pauses(table); pause != NULL; pause = pause->next) {
        json_t *object = render_agent_pause(pause);
        json_codec_put(object, "agent", json_codec_text(text_of(pause->agent)));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *render_agent(const struct agent_entry *entry, const struct agent_pause_entry *pause)
{
    json_t *object = json_object();
    json_codec_put(object, "agent", json_codec_text(text_of(entry->agent)));
    json_codec_put(object, "instance", json_codec_text(text_of(entry->instance)));
    json_codec_put(object, "capacity", json_integer(entry->capacity));
    json_codec_put(object, "in_flight", json_integer(entry->in_flight));
    json_codec_put(object, "queued", json_integer(entry->queued));
    json_codec_put(object, "partitions", json_integer(entry->partitions));
    json_codec_put(object, "latency_p50_ms", json_integer(entry->latency_p50_ms));
    json_codec_put(object, "latency_p95_ms", json_integer(entry->latency_p95_ms));
    json_codec_put(object, "errors_permille", json_integer(entry->errors_permille));
    json_codec_put(object, "circuit",
                   json_codec_text_or_null(text_of(agent_circuit_name(entry->circuit))));
    json_codec_put(object, "version", json_codec_text_or_null(text_of(entry->version)));
    json_codec_put(object, "last_error", json_codec_text_or_null(text_of(entry->last_error)));
    json_codec_put(object, "heartbeat_ms", json_integer(entry->heartbeat_ms));
    json_codec_put(object, "reported_at", json_codec_time_or_null(entry->reported_at));
    json_codec_put(object, "heard_at", json_codec_time_or_null(entry->appended_at));
    json_codec_put(object, "paused", render_agent_pause(pause));
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
