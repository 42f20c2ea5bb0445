/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings of the events and of the Decision that holds them: one table of fields for each payload
 * of engine/events.def. */
#include "schemas/binding.h"

/* The three fields that every event about an attempt begins with. */
#define REF_FIELDS(need, type)                                                 \
    F_TEXT_AS("step", need, type, ref.step, NAME_BYTES),                       \
        F_ENUM_AS("direction", need, type, ref.direction, direction_names, 0), \
        F_U32_AS("attempt", need, type, ref.attempt)
#define BY_FIELD(type) F_TEXT(OPTIONAL, type, by, WHO_BYTES)
#define REASON_FIELD(type) F_TEXT(OPTIONAL, type, reason, MESSAGE_BYTES)

static const struct field_binding plan_fields[] = {
    F_TEXT(REQUIRED, struct step_plan, name, NAME_BYTES),
    F_TEXT(REQUIRED, struct step_plan, agent, NAME_BYTES),
    {FIELD_AS("retries_used", FIELD_COUNTERS, OPTIONAL, struct step_plan, retries_used),
     LIMITS(RETRIERS)},
};
static const struct record_binding binding_plan = BINDING(struct step_plan, plan_fields);

static const struct field_binding order_accepted_fields[] = {
    F_SUB(FIELD_RECORD, struct order_accepted, details, binding_order_details),
    F_ARRAY(REQUIRED, struct order_accepted, steps, step_count, WORKFLOW_STEPS, binding_plan),
    F_TIME(OPTIONAL, struct order_accepted, complete_by),
    F_I64(OPTIONAL, struct order_accepted, margin_ms),
};
static const struct field_binding step_started_fields[] = {
    REF_FIELDS(REQUIRED, struct step_started),
    F_U32(OPTIONAL, struct step_started, generation),
    F_TEXT(REQUIRED, struct step_started, agent, NAME_BYTES),
    F_TEXT(REQUIRED, struct step_started, action, NAME_BYTES),
    F_TEXT(OPTIONAL, struct step_started, locked_by, WHO_BYTES),
    F_TIME(REQUIRED, struct step_started, complete_by),
    F_I64(OPTIONAL, struct step_started, margin_ms),
    F_TEXT(OPTIONAL, struct step_started, routing_reason, MESSAGE_BYTES),
    F_I64_OR(struct step_started, inputs, STEP_INPUTS_ALL),
};
static const struct field_binding step_succeeded_fields[] = {
    REF_FIELDS(REQUIRED, struct step_succeeded),
    F_TEXT(OPTIONAL, struct step_succeeded, output, STEP_OUTPUT_BYTES),
    BY_FIELD(struct step_succeeded),
};
static const struct field_binding step_failed_fields[] = {
    REF_FIELDS(REQUIRED, struct step_failed),
    F_TEXT(REQUIRED, struct step_failed, error_name, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct step_failed, error_message, MESSAGE_BYTES),
    F_ENUM(OPTIONAL, struct step_failed, effect, effect_names, EFFECT_UNKNOWN),
    F_U32(REQUIRED, struct step_failed, failure_count),
    BY_FIELD(struct step_failed),
};
static const struct field_binding step_timed_out_fields[] = {
    REF_FIELDS(REQUIRED, struct step_timed_out),
    F_ENUM(OPTIONAL, struct step_timed_out, effect, effect_names, EFFECT_UNKNOWN),
    F_U32(REQUIRED, struct step_timed_out, failure_count),
    F_TIME(REQUIRED, struct step_timed_out, complete_by),
    BY_FIELD(struct step_timed_out),
};
static const struct field_binding step_retry_scheduled_fields[] = {
    REF_FIELDS(REQUIRED, struct step_retry_scheduled),
    F_TIME(REQUIRED, struct step_retry_scheduled, retry_at),
    F_U32_UP_TO("retrier", REQUIRED, struct step_retry_scheduled, retrier, RETRIERS_MAX - 1),
    F_U32(REQUIRED, struct step_retry_scheduled, retry),
};
static const struct field_binding step_marked_fields[] = {
    REF_FIELDS(REQUIRED, struct step_marked),
    REASON_FIELD(struct step_marked),
};
static const struct field_binding step_resubmitted_fields[] = {
    REF_FIELDS(REQUIRED, struct step_resubmitted),
    F_U32(OPTIONAL, struct step_resubmitted, generation),
    BY_FIELD(struct step_resubmitted),
    REASON_FIELD(struct step_resubmitted),
};
static const struct field_binding order_marked_fields[] = {
    F_TEXT(OPTIONAL, struct order_marked, code, ERROR_NAME_BYTES),
    REASON_FIELD(struct order_marked),
    BY_FIELD(struct order_marked),
    F_TEXT(OPTIONAL, struct order_marked, step, NAME_BYTES),
};
static const struct field_binding command_rejected_fields[] = {
    F_ENUM(REQUIRED, struct command_rejected, command, command_kind_names, 0),
    F_TEXT(REQUIRED, struct command_rejected, code, ERROR_NAME_BYTES),
    REASON_FIELD(struct command_rejected),
    BY_FIELD(struct command_rejected),
    REF_FIELDS(OPTIONAL, struct command_rejected),
    F_TIME(OPTIONAL, struct command_rejected, due_at),
};
static const struct field_binding report_ignored_fields[] = {
    REF_FIELDS(REQUIRED, struct report_ignored),
    F_BOOL(REQUIRED, struct report_ignored, succeeded),
    F_TEXT(REQUIRED, struct report_ignored, code, ERROR_NAME_BYTES),
    REASON_FIELD(struct report_ignored),
    BY_FIELD(struct report_ignored),
};
/* Cut to what a dead letter keeps (replica/dead_letter.h). In older logs, the key may be as large
 * as the value. */
static const struct field_binding header_fields[] = {
    F_BYTES(REQUIRED, struct command_header, name, META_BYTES),
    F_BYTES(REQUIRED, struct command_header, value, META_BYTES),
};
static const struct record_binding binding_header = BINDING(struct command_header, header_fields);
static const struct field_binding command_dead_lettered_fields[] = {
    F_BYTES(REQUIRED, struct undecodable, bytes, INPUT_BYTES),
    F_BYTES(REQUIRED, struct undecodable, key, INPUT_BYTES),
    REASON_FIELD(struct undecodable),
    F_BOOL(OPTIONAL, struct undecodable, quarantined),
    F_TEXT(OPTIONAL, struct undecodable, code, ERROR_NAME_BYTES),
    F_U32(OPTIONAL, struct undecodable, value_bytes),
    F_TEXT(OPTIONAL, struct undecodable, value_xxh128, ERROR_NAME_BYTES),
    F_U32(OPTIONAL, struct undecodable, meta_bytes),
    F_ARRAY(OPTIONAL, struct undecodable, headers, header_count, COMMAND_HEADERS, binding_header),
};

static const struct field_binding step_queued_fields[] = {
    REF_FIELDS(REQUIRED, struct step_queued),
    F_TIME(REQUIRED, struct step_queued, queued_at),
    F_TIME(OPTIONAL, struct step_queued, retry_at),
    REASON_FIELD(struct step_queued),
};
static const struct field_binding step_extended_fields[] = {
    REF_FIELDS(REQUIRED, struct step_extended),
    F_TEXT(REQUIRED, struct step_extended, action, NAME_BYTES),
    F_TIME(REQUIRED, struct step_extended, complete_by),
    F_TEXT(OPTIONAL, struct step_extended, progress, MESSAGE_BYTES),
    BY_FIELD(struct step_extended),
    F_I64_OR(struct step_extended, inputs, STEP_INPUTS_ALL),
};

static const struct field_binding step_completed_by_hand_fields[] = {
    REF_FIELDS(REQUIRED, struct step_completed_by_hand),
    F_TEXT(OPTIONAL, struct step_completed_by_hand, output, STEP_OUTPUT_BYTES),
    BY_FIELD(struct step_completed_by_hand),
    REASON_FIELD(struct step_completed_by_hand),
};
static const struct field_binding step_skipped_by_hand_fields[] = {
    REF_FIELDS(REQUIRED, struct step_skipped_by_hand),
    BY_FIELD(struct step_skipped_by_hand),
    REASON_FIELD(struct step_skipped_by_hand),
};
static const struct field_binding step_failed_by_hand_fields[] = {
    REF_FIELDS(REQUIRED, struct step_failed_by_hand),
    F_TEXT(REQUIRED, struct step_failed_by_hand, error_name, ERROR_NAME_BYTES),
    F_U32(REQUIRED, struct step_failed_by_hand, failure_count),
    BY_FIELD(struct step_failed_by_hand),
    REASON_FIELD(struct step_failed_by_hand),
};
static const struct field_binding order_deadline_set_fields[] = {
    F_TIME(REQUIRED, struct order_deadline_set, complete_by),
    F_I64(OPTIONAL, struct order_deadline_set, margin_ms),
    BY_FIELD(struct order_deadline_set),
    REASON_FIELD(struct order_deadline_set),
};

static const struct field_binding order_migrated_fields[] = {
    F_U32(REQUIRED, struct order_migrated, from_version),
    F_U32(REQUIRED, struct order_migrated, workflow_version),
    F_ARRAY(REQUIRED, struct order_migrated, steps, step_count, WORKFLOW_STEPS, binding_plan),
    F_BOOL(OPTIONAL, struct order_migrated, moves_retries),
    BY_FIELD(struct order_migrated),
    REASON_FIELD(struct order_migrated),
};

/* Each payload has its fields above. */
static const struct record_binding event_bindings[EVENT_KIND_COUNT] = {
#define EVENT(number, kind, record, payload, words, answers, status) \
    [EVENT_##kind] = BINDING(((struct event *)NULL)->payload, payload##_fields),
#include "engine/events.def"
};

const struct record_binding *event_binding(enum event_kind kind)
{
    return (unsigned)kind < EVENT_KIND_COUNT && event_bindings[kind].size > 0
               ? &event_bindings[kind]
               : NULL;
}

enum event_kind event_kind_of(const char *name)
{
    uint32_t kind = 0;
    enum_names_find(&event_kind_names, text_of(name), &kind);
    return (enum event_kind)kind;
}

static const struct field_binding decision_fields[] = {
    F_UUID(struct decision, claim_id),
    F_I64(REQUIRED, struct decision, sequence),
    F_I64(REQUIRED, struct decision, command_offset),
    F_TIME(REQUIRED, struct decision, command_time),
    F_TEXT(OPTIONAL, struct decision, order_id, ORDER_ID_BYTES),
    F_U64(OPTIONAL, struct decision, order_version),
    F_ENUM(OPTIONAL, struct decision, order_state, order_state_names, ORDER_PENDING),
    F_TEXT(OPTIONAL, struct decision, reply_to, TOPIC_BYTES),
    F_TIME(REQUIRED, struct decision, decided_at),
    F_I64_OR(struct decision, emitted_through, -1),
    {FIELD_AS("events", FIELD_EVENTS, REQUIRED, struct decision, events),
     .count = offsetof(struct decision, event_count), LIMITS(DECISION_EVENTS)},
};
const struct record_binding binding_decision = BINDING(struct decision, decision_fields);
