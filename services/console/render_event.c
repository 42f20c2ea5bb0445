/* SPDX-License-Identifier: Apache-2.0 */
/* Events and Decisions: each event with its words and its data, under the names of Decision.avsc.
 * */
#include "base/base64.h"
#include "services/console/event_text.h"
#include "services/console/render.h"

#include <assert.h>
#include <stdlib.h>

enum { BYTES_SHOWN_MAX = 4096 }; /* of a dead letter; the topic has all of them */

static void put_ref(json_t *data, const struct attempt_ref *ref)
{
    put(data, "step", render_text(ref->step));
    put(data, "direction", json_string(direction_name(ref->direction)));
    put(data, "attempt", json_integer(ref->attempt));
}

static void put_accepted(json_t *data, const struct event *event)
{
    const struct order_accepted *accepted = &event->order_accepted;
    json_t *steps = json_array();
    for (uint32_t i = 0; i < accepted->step_count; i++) {
        json_t *step = json_object();
        put(step, "step", render_text(accepted->steps[i].name));
        put(step, "agent", render_text(accepted->steps[i].agent));
        json_array_append_new(steps, step);
    }
    put(data, "workflow", render_text(accepted->details.workflow));
    put(data, "workflow_version", json_integer(accepted->details.workflow_version));
    put(data, "line_count", json_integer(accepted->details.line_count));
    put(data, "complete_by", render_time(accepted->complete_by));
    put(data, "margin_ms", json_integer(accepted->margin_ms));
    put(data, "steps", steps);
}

static void put_started(json_t *data, const struct event *event)
{
    const struct step_started *started = &event->step_started;
    put_ref(data, &started->ref);
    put(data, "generation", json_integer(started->generation));
    put(data, "agent", render_text(started->agent));
    put(data, "action", render_text(started->action));
    put(data, "locked_by", render_optional(started->locked_by));
    put(data, "complete_by", render_time(started->complete_by));
    put(data, "margin_ms", json_integer(started->margin_ms));
    put(data, "routing_reason", render_optional(started->routing_reason));
}

static void put_succeeded(json_t *data, const struct event *event)
{
    put_ref(data, &event->step_succeeded.ref);
    put(data, "output", render_optional(event->step_succeeded.output));
    put(data, "by", render_optional(event->step_succeeded.by));
}

static void put_failed(json_t *data, const struct event *event)
{
    const struct step_failed *failed = &event->step_failed;
    put_ref(data, &failed->ref);
    put(data, "error_name", render_optional(failed->error_name));
    put(data, "error_message", render_optional(failed->error_message));
    put(data, "effect", json_string(effect_name(failed->effect)));
    put(data, "failure_count", json_integer(failed->failure_count));
    put(data, "by", render_optional(failed->by));
}

static void put_timed_out(json_t *data, const struct event *event)
{
    const struct step_timed_out *timed_out = &event->step_timed_out;
    put_ref(data, &timed_out->ref);
    put(data, "effect", json_string(effect_name(timed_out->effect)));
    put(data, "failure_count", json_integer(timed_out->failure_count));
    put(data, "complete_by", render_time(timed_out->complete_by));
    put(data, "by", render_optional(timed_out->by));
}

static void put_retry(json_t *data, const struct event *event)
{
    const struct step_retry_scheduled *scheduled = &event->step_retry_scheduled;
    put_ref(data, &scheduled->ref);
    put(data, "retry_at", render_time(scheduled->retry_at));
    put(data, "retrier", json_integer(scheduled->retrier));
    put(data, "retry", json_integer(scheduled->retry));
}

static void put_step_marked(json_t *data, const struct event *event)
{
    put_ref(data, &event->step_marked.ref);
    put(data, "reason", render_optional(event->step_marked.reason));
}

static void put_resubmitted(json_t *data, const struct event *event)
{
    const struct step_resubmitted *resubmitted = &event->step_resubmitted;
    put_ref(data, &resubmitted->ref);
    put(data, "generation", json_integer(resubmitted->generation));
    put(data, "by", render_optional(resubmitted->by));
    put(data, "reason", render_optional(resubmitted->reason));
}

static void put_queued(json_t *data, const struct event *event)
{
    const struct step_queued *queued = &event->step_queued;
    put_ref(data, &queued->ref);
    put(data, "queued_at", render_time(queued->queued_at));
    put(data, "retry_at", render_time(queued->retry_at));
    put(data, "reason", render_optional(queued->reason));
}

static void put_extended(json_t *data, const struct event *event)
{
    const struct step_extended *extended = &event->step_extended;
    put_ref(data, &extended->ref);
    put(data, "action", render_text(extended->action));
    put(data, "complete_by", render_time(extended->complete_by));
    put(data, "progress", render_optional(extended->progress));
    put(data, "by", render_optional(extended->by));
}

static void put_order_marked(json_t *data, const struct event *event)
{
    const struct order_marked *marked = &event->order_marked;
    put(data, "code", render_optional(marked->code));
    put(data, "reason", render_optional(marked->reason));
    put(data, "by", render_optional(marked->by));
    put(data, "step", render_optional(marked->step));
}

static void put_rejected(json_t *data, const struct event *event)
{
    const struct command_rejected *rejected = &event->command_rejected;
    put(data, "command", json_string(command_kind_name(rejected->command)));
    put(data, "code", render_optional(rejected->code));
    put(data, "reason", render_optional(rejected->reason));
    put(data, "by", render_optional(rejected->by));
    if (!text_empty(rejected->ref.step))
        put_ref(data, &rejected->ref);
    put(data, "due_at", render_time(rejected->due_at));
}

static void put_ignored(json_t *data, const struct event *event)
{
    const struct report_ignored *ignored = &event->report_ignored;
    put_ref(data, &ignored->ref);
    put(data, "succeeded", json_boolean(ignored->succeeded));
    put(data, "code", render_optional(ignored->code));
    put(data, "reason", render_optional(ignored->reason));
    put(data, "by", render_optional(ignored->by));
}

static json_t *render_bytes(struct text bytes)
{
    struct text shown = {bytes.data, bytes.size < BYTES_SHOWN_MAX ? bytes.size : BYTES_SHOWN_MAX};
    char text[BASE64_SIZE(BYTES_SHOWN_MAX) + 1];
    base64_encode(shown, text);
    return json_string(text);
}

static void put_dead_lettered(json_t *data, const struct event *event)
{
    const struct undecodable *undecodable = &event->command_dead_lettered;
    put(data, "reason", render_optional(undecodable->reason));
    put(data, "quarantined", json_boolean(undecodable->quarantined));
    put(data, "key_base64url", render_bytes(undecodable->key));
    put(data, "bytes_base64url", render_bytes(undecodable->bytes));
    put(data, "bytes_size", json_integer(undecodable->bytes.size));
}

static void (*const putters[])(json_t *data, const struct event *event) = {
    [EVENT_ORDER_ACCEPTED] = put_accepted,
    [EVENT_ORDER_STARTED] = put_order_marked,
    [EVENT_STEP_STARTED] = put_started,
    [EVENT_STEP_SUCCEEDED] = put_succeeded,
    [EVENT_STEP_FAILED] = put_failed,
    [EVENT_STEP_TIMED_OUT] = put_timed_out,
    [EVENT_STEP_RETRY_SCHEDULED] = put_retry,
    [EVENT_STEP_EXHAUSTED] = put_step_marked,
    [EVENT_STEP_SKIPPED] = put_step_marked,
    [EVENT_STEP_COMPENSATED] = put_step_marked,
    [EVENT_STEP_RESUBMITTED] = put_resubmitted,
    [EVENT_ORDER_CANCELLED] = put_order_marked,
    [EVENT_ORDER_TIMED_OUT] = put_order_marked,
    [EVENT_COMPENSATION_STARTED] = put_order_marked,
    [EVENT_ORDER_PROCESSED] = put_order_marked,
    [EVENT_ORDER_COMPENSATED] = put_order_marked,
    [EVENT_ORDER_FAILED] = put_order_marked,
    [EVENT_ORDER_RESUMED] = put_order_marked,
    [EVENT_ALERT_RAISED] = put_order_marked,
    [EVENT_ALERT_CLOSED] = put_order_marked,
    [EVENT_COMMAND_REJECTED] = put_rejected,
    [EVENT_REPORT_IGNORED] = put_ignored,
    [EVENT_SUBMISSION_REPEATED] = put_order_marked,
    [EVENT_COMMAND_DEAD_LETTERED] = put_dead_lettered,
    [EVENT_STEP_QUEUED] = put_queued,
    [EVENT_STEP_EXTENDED] = put_extended,
    [EVENT_ORDER_EXPIRED] = put_order_marked,
};
_Static_assert(sizeof(putters) / sizeof(putters[0]) == EVENT_KIND_COUNT, "every event has data");

json_t *render_event(const struct event *event, struct arena *arena)
{
    json_t *object = json_object();
    json_t *data = json_object();
    assert(event->kind > 0 && event->kind < EVENT_KIND_COUNT);
    putters[event->kind](data, event);
    put(object, "kind", json_string(event_kind_name(event->kind)));
    put(object, "words", render_text(words_of_event(event, arena)));
    put(object, "data", data);
    return object;
}

json_t *render_decision(const struct decision *decision, int32_t partition, int64_t offset,
                        struct arena *arena)
{
    json_t *object = json_object();
    json_t *events = json_array();
    json_t *command = json_object();
    for (uint32_t i = 0; i < decision->event_count; i++)
        json_array_append_new(events, render_event(&decision->events[i], arena));
    put(command, "kind", json_string(command_kind_name(words_command_of(decision))));
    put(command, "offset", json_integer(decision->command_offset));
    put(command, "time", json_integer(decision->command_time));
    put(object, "order_id", render_optional(decision->order_id));
    put(object, "partition", json_integer(partition));
    put(object, "offset", json_integer(offset));
    put(object, "time", json_integer(decision->decided_at));
    put(object, "version", json_integer((json_int_t)decision->order_version));
    put(object, "state",
        decision->order_version > 0 ? json_string(order_state_name(decision->order_state))
                                    : json_null());
    put(object, "changed", json_boolean(decision_changes_order(decision)));
    put(object, "claim_id", render_uuid(&decision->claim_id));
    put(object, "sequence", json_integer(decision->sequence));
    put(object, "command", command);
    put(object, "events", events);
    return object;
}
