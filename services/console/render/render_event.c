/* SPDX-License-Identifier: Apache-2.0 */
/* Events and Decisions: each event with its text and its data, under the names of Decision.avsc. */
#include "base/base64.h"
#include "base/goods.h"
#include "schemas/event_text.h"
#include "schemas/json/json_codec.h"
#include "services/console/render/render.h"

#include <assert.h>
#include <stdlib.h>

enum { BYTES_SHOWN_MAX = 4096 }; /* of a dead letter; the topic has all of them */

/* What the order begins with; the order itself is not repeated. */
static json_t *render_accepted(const struct order_accepted *accepted)
{
    json_t *data = json_object();
    json_t *steps = json_array();
    for (uint32_t i = 0; i < accepted->step_count; i++) {
        json_t *step = json_object();
        json_codec_put(step, "step", json_codec_text(accepted->steps[i].name));
        json_codec_put(step, "agent", json_codec_text_or_null(accepted->steps[i].agent));
        json_array_append_new(steps, step);
    }
    json_codec_put(data, "workflow", json_codec_text(accepted->details.workflow));
    json_codec_put(data, "workflow_version", json_integer(accepted->details.workflow_version));
    json_codec_put(data, "line_count",
                   json_integer(goods_or_none(accepted->details.goods)->line_count));
    json_codec_put(data, "complete_by", json_codec_time_or_null(accepted->complete_by));
    json_codec_put(data, "margin_ms", json_integer(accepted->margin_ms));
    json_codec_put(data, "steps", steps);
    return data;
}

static json_t *render_bytes(struct text bytes)
{
    struct text shown = {bytes.data, bytes.size < BYTES_SHOWN_MAX ? bytes.size : BYTES_SHOWN_MAX};
    char text[BASE64_SIZE(BYTES_SHOWN_MAX) + 1];
    base64_encode(shown, text);
    return json_string(text);
}

static json_t *render_dead_lettered(const struct undecodable *undecodable)
{
    json_t *data = json_object();
    json_codec_put(data, "code", json_codec_text(undecodable_code(undecodable)));
    json_codec_put(data, "reason", json_codec_text_or_null(undecodable->reason));
    json_codec_put(data, "quarantined", json_boolean(undecodable->quarantined));
    json_codec_put(data, "key_base64url", render_bytes(undecodable->key));
    json_codec_put(data, "bytes_base64url", render_bytes(undecodable->bytes));
    json_codec_put(data, "bytes_size", json_integer(undecodable->bytes.size));
    return data;
}

static json_t *render_data(const struct event *event)
{
    if (event->kind == EVENT_ORDER_ACCEPTED)
        return render_accepted(&event->order_accepted);
    if (event->kind == EVENT_COMMAND_DEAD_LETTERED)
        return render_dead_lettered(&event->command_dead_lettered);
    json_t *data =
        json_codec_encode(event_binding(event->kind), &event->order_accepted, JSON_CODEC_NULLS);
    if (event->kind == EVENT_COMMAND_REJECTED && text_empty(event->command_rejected.ref.step)) {
        json_object_del(data, "step");
        json_object_del(data, "direction");
        json_object_del(data, "attempt");
    }
    return data;
}

json_t *render_event(const struct event *event, struct arena *arena)
{
    json_t *object = json_object();
    assert(event->kind > 0 && event->kind < EVENT_KIND_COUNT);
    json_codec_put(object, "kind", json_string(event_kind_name(event->kind)));
    json_codec_put(object, "words", json_codec_text(event_text(event, arena)));
    json_codec_put(object, "data", render_data(event));
    return object;
}

/* Who acted, and why, as the first event says that names someone. */
static void put_who(json_t *object, const json_t *events)
{
    size_t i;
    const json_t *event;
    const json_t *by = NULL;
    const json_t *reason = NULL;
    json_array_foreach(events, i, event) {
        const json_t *data = json_object_get(event, "data");
        by = json_object_get(data, "by");
        reason = json_object_get(data, "reason");
        if (json_is_string(by))
            break;
        by = reason = NULL;
    }
    json_codec_put(object, "by", by != NULL ? json_copy((json_t *)(uintptr_t)by) : json_null());
    json_codec_put(object, "reason",
                   reason != NULL ? json_copy((json_t *)(uintptr_t)reason) : json_null());
}

json_t *render_decision(const struct decision *decision, int32_t partition, int64_t offset,
                        struct arena *arena)
{
    json_t *object = json_object();
    json_t *events = json_array();
    json_t *command = json_object();
    for (uint32_t i = 0; i < decision->event_count; i++)
        json_array_append_new(events, render_event(&decision->events[i], arena));
    json_codec_put(command, "kind", json_string(command_kind_name(decision_command(decision))));
    json_codec_put(command, "offset", json_integer(decision->command_offset));
    json_codec_put(command, "time", json_codec_time(decision->command_time));
    json_codec_put(object, "order_id", json_codec_text_or_null(decision->order_id));
    json_codec_put(object, "partition", json_integer(partition));
    json_codec_put(object, "offset", json_integer(offset));
    json_codec_put(object, "time", json_codec_time(decision->decided_at));
    json_codec_put(object, "version", json_integer((json_int_t)decision->order_version));
    json_codec_put(object, "state",
                   decision->order_version > 0
                       ? json_string(order_state_name(decision->order_state))
                       : json_null());
    json_codec_put(object, "changed", json_boolean(decision_changes_order(decision)));
    json_codec_put(object, "claim_id", json_codec_uuid(&decision->claim_id));
    json_codec_put(object, "sequence", json_integer(decision->sequence));
    json_codec_put(object, "command", command);
    put_who(object, events);
    json_codec_put(object, "events", events);
    return object;
}

/* The Decision says the rest of the record. */
static json_t *render_update(const struct status_update *status)
{
    static const char *const fields[] = {"kind",  "order_state", "code", "message",
                                         "steps", "output",      NULL};
    json_t *update = json_object();
    json_codec_add(update, record_kind_info(RECORD_STATUS_UPDATE)->binding, status, fields,
                   JSON_CODEC_NULLS);
    json_codec_put(update, "topic", json_codec_text(status->reply_to));
    return update;
}

json_t *render_updates(const struct decision *decision, int32_t partition,
                       const struct topics *topics, struct arena *arena)
{
    struct effects effects;
    json_t *updates = json_array();
    effects_of(decision, partition, NULL, arena, &effects);
    /* As the scheduler, which sends nothing to other topics. */
    if (effects.has_status && topics_is_reply(topics, effects.status.reply_to))
        json_array_append_new(updates, render_update(&effects.status));
    return updates;
}
