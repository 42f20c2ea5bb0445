/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/agents.h"

#include "services/console/render.h"

static json_t *render_entry(const struct agent_entry *entry)
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
    render_put(object, "circuit", render_optional(text_of(agent_circuit_name(entry->circuit))));
    render_put(object, "version", render_optional(text_of(entry->version)));
    render_put(object, "last_error", render_optional(text_of(entry->last_error)));
    render_put(object, "heartbeat_ms", json_integer(entry->heartbeat_ms));
    render_put(object, "reported_at", render_time(entry->reported_at));
    render_put(object, "heard_at", render_time(entry->appended_at));
    return object;
}

json_t *agents_render(const struct agent_table *table, struct text agent)
{
    json_t *list = json_array();
    const struct agent_group *group =
        text_empty(agent) ? agent_table_groups(table) : agent_table_find(table, agent);
    while (group != NULL) {
        for (const struct agent_entry *entry = group->entries; entry != NULL; entry = entry->next)
            json_array_append_new(list, render_entry(entry));
        group = text_empty(agent) ? group->next : NULL;
    }
    return list;
}
