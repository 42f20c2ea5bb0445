/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings of the events and of the Decision that holds them. */
#include "schemas/binding.h"

/* The three fields that every event about an attempt begins with. */
#define REF_FIELDS(need, type)                                                 \
    F_TEXT_AS("step", need, type, ref.step, NAME_BYTES_MAX),                   \
        F_ENUM_AS("direction", need, type, ref.direction, direction_names, 0), \
        F_U32_AS("attempt", need, type, ref.attempt, INT32_MAX)
#define BY_FIELD(type) F_TEXT(OPTIONAL, type, by, WHO_BYTES_MAX)
#define REASON_FIELD(type) F_TEXT(OPTIONAL, type, reason, MESSAGE_BYTES_MAX)

static const struct field_binding plan_fields[] = {
    F_TEXT(REQUIRED, struct step_plan, name, NAME_BYTES_MAX),
    F_TEXT(REQUIRED, struct step_plan, agent, NAME_BYTES_MAX),
};
static const struct record_binding binding_plan =
    BINDING("StepPlan", struct step_plan, plan_fields);

static const struct field_binding accepted_fields[] = {
    F_SUB(FIELD_RECORD, struct order_accepted, details, binding_order_details),
    F_ARRAY(REQUIRED, struct order_accepted, steps, step_count, WORKFLOW_STEPS_MAX, binding_plan),
    F_TIME(OPTIONAL, struct order_accepted, complete_by),
    F_I64(OPTIONAL, struct order_accepted, margin_ms),
};
static const struct field_binding started_fields[] = {
    REF_FIELDS(REQUIRED, struct step_started),
    F_U32(OPTIONAL, struct step_started, generation),
    F_TEXT(REQUIRED, struct step_started, agent, NAME_BYTES_MAX),
    F_TEXT(REQUIRED, struct step_started, action, NAME_BYTES_MAX),
    F_TEXT(OPTIONAL, struct step_started, locked_by, WHO_BYTES_MAX),
    F_TIME(REQUIRED, struct step_started, complete_by),
    F_I64(OPTIONAL, struct step_started, margin_ms),
    F_TEXT(OPTIONAL, struct step_started, routing_reason, MESSAGE_BYTES_MAX),
};
static const struct field_binding succeeded_fields[] = {
    REF_FIELDS(REQUIRED, struct step_succeeded),
    F_TEXT(OPTIONAL, struct step_succeeded, output, STEP_OUTPUT_BYTES_MAX),
    BY_FIELD(struct step_succeeded),
};
static const struct field_binding failed_fields[] = {
    REF_FIELDS(REQUIRED, struct step_failed),
    F_TEXT(REQUIRED, struct step_failed, error_name, ERROR_NAME_BYTES_MAX),
    F_TEXT(OPTIONAL, struct step_failed, error_message, MESSAGE_BYTES_MAX),
    F_ENUM(OPTIONAL, struct step_failed, effect, effect_names, EFFECT_UNKNOWN),
    F_U32(REQUIRED, struct step_failed, failure_count),
    BY_FIELD(struct step_failed),
};
static const struct field_binding timed_out_fields[] = {
    REF_FIELDS(REQUIRED, struct step_timed_out),
    F_ENUM(OPTIONAL, struct step_timed_out, effect, effect_names, EFFECT_UNKNOWN),
    F_U32(REQUIRED, struct step_timed_out, failure_count),
    F_TIME(REQUIRED, struct step_timed_out, complete_by),
    BY_FIELD(struct step_timed_out),
};
static const struct field_binding retry_fields[] = {
    REF_FIELDS(REQUIRED, struct step_retry_scheduled),
    F_TIME(REQUIRED, struct step_retry_scheduled, retry_at),
    F_U32_AS("retrier", REQUIRED, struct step_retry_scheduled, retrier, RETRIERS_MAX - 1),
    F_U32(REQUIRED, struct step_retry_scheduled, retry),
};
static const struct field_binding step_marked_fields[] = {
    REF_FIELDS(REQUIRED, struct step_marked),
    REASON_FIELD(struct step_marked),
};
static const struct field_binding resubmitted_fields[] = {
    REF_FIELDS(REQUIRED, struct step_resubmitted),
    F_U32(OPTIONAL, struct step_resubmitted, generation),
    BY_FIELD(struct step_resubmitted),
    REASON_FIELD(struct step_resubmitted),
};
static const struct field_binding order_marked_fields[] = {
    F_TEXT(OPTIONAL, struct order_marked, code, ERROR_NAME_BYTES_MAX),
    REASON_FIELD(struct order_marked),
    BY_FIELD(struct order_marked),
    F_TEXT(OPTIONAL, struct order_marked, step, NAME_BYTES_MAX),
};
static const struct field_binding rejected_fields[] = {
    F_ENUM(REQUIRED, struct command_rejected, command, command_kind_names, 0),
    F_TEXT(REQUIRED, struct command_rejected, code, ERROR_NAME_BYTES_MAX),
    REASON_FIELD(struct command_rejected),
    BY_FIELD(struct command_rejected),
    REF_FIELDS(OPTIONAL, struct command_rejected),
    F_TIME(OPTIONAL, struct command_rejected, due_at),
};
static const struct field_binding ignored_fields[] = {
    REF_FIELDS(REQUIRED, struct report_ignored),
    F_BOOL(REQUIRED, struct report_ignored, succeeded),
    F_TEXT(REQUIRED, struct report_ignored, code, ERROR_NAME_BYTES_MAX),
    REASON_FIELD(struct report_ignored),
    BY_FIELD(struct report_ignored),
};
/* Bytes and key together are no more than two inputs: the record fits, see engine/limits.h. */
static const struct field_binding undecodable_fields[] = {
    F_BYTES(REQUIRED, struct undecodable, bytes, INPUT_BYTES_MAX),
    F_BYTES(REQUIRED, struct undecodable, key, INPUT_BYTES_MAX),
    REASON_FIELD(struct undecodable),
    F_BOOL(OPTIONAL, struct undecodable, quarantined),
};

static const struct field_binding queued_fields[] = {
    REF_FIELDS(REQUIRED, struct step_queued),
    F_TIME(REQUIRED, struct step_queued, queued_at),
    F_TIME(OPTIONAL, struct step_queued, retry_at),
    REASON_FIELD(struct step_queued),
};
static const struct field_binding extended_fields[] = {
    REF_FIELDS(REQUIRED, struct step_extended),
    F_TEXT(REQUIRED, struct step_extended, action, NAME_BYTES_MAX),
    F_TIME(REQUIRED, struct step_extended, complete_by),
    F_TEXT(OPTIONAL, struct step_extended, progress, MESSAGE_BYTES_MAX),
    BY_FIELD(struct step_extended),
};

static const struct record_binding event_bindings[EVENT_KIND_COUNT] = {
    [EVENT_ORDER_ACCEPTED] = BINDING("OrderAccepted", struct order_accepted, accepted_fields),
    [EVENT_ORDER_STARTED] = BINDING("OrderStarted", struct order_marked, order_marked_fields),
    [EVENT_STEP_STARTED] = BINDING("StepStarted", struct step_started, started_fields),
    [EVENT_STEP_SUCCEEDED] = BINDING("StepSucceeded", struct step_succeeded, succeeded_fields),
    [EVENT_STEP_FAILED] = BINDING("StepFailed", struct step_failed, failed_fields),
    [EVENT_STEP_TIMED_OUT] = BINDING("StepTimedOut", struct step_timed_out, timed_out_fields),
    [EVENT_STEP_RETRY_SCHEDULED] =
        BINDING("StepRetryScheduled", struct step_retry_scheduled, retry_fields),
    [EVENT_STEP_EXHAUSTED] = BINDING("StepExhausted", struct step_marked, step_marked_fields),
    [EVENT_STEP_SKIPPED] = BINDING("StepSkipped", struct step_marked, step_marked_fields),
    [EVENT_STEP_COMPENSATED] = BINDING("StepCompensated", struct step_marked, step_marked_fields),
    [EVENT_STEP_RESUBMITTED] =
        BINDING("StepResubmitted", struct step_resubmitted, resubmitted_fields),
    [EVENT_ORDER_CANCELLED] = BINDING("OrderCancelled", struct order_marked, order_marked_fields),
    [EVENT_ORDER_TIMED_OUT] = BINDING("OrderTimedOut", struct order_marked, order_marked_fields),
    [EVENT_COMPENSATION_STARTED] =
        BINDING("CompensationStarted", struct order_marked, order_marked_fields),
    [EVENT_ORDER_PROCESSED] = BINDING("OrderProcessed", struct order_marked, order_marked_fields),
    [EVENT_ORDER_COMPENSATED] =
        BINDING("OrderCompensated", struct order_marked, order_marked_fields),
    [EVENT_ORDER_FAILED] = BINDING("OrderFailed", struct order_marked, order_marked_fields),
    [EVENT_ORDER_RESUMED] = BINDING("OrderResumed", struct order_marked, order_marked_fields),
    [EVENT_ALERT_RAISED] = BINDING("AlertRaised", struct order_marked, order_marked_fields),
    [EVENT_ALERT_CLOSED] = BINDING("AlertClosed", struct order_marked, order_marked_fields),
    [EVENT_COMMAND_REJECTED] = BINDING("CommandRejected", struct command_rejected, rejected_fields),
    [EVENT_REPORT_IGNORED] = BINDING("ReportIgnored", struct report_ignored, ignored_fields),
    [EVENT_SUBMISSION_REPEATED] =
        BINDING("SubmissionRepeated", struct order_marked, order_marked_fields),
    [EVENT_COMMAND_DEAD_LETTERED] =
        BINDING("CommandDeadLettered", struct undecodable, undecodable_fields),
    [EVENT_STEP_QUEUED] = BINDING("StepQueued", struct step_queued, queued_fields),
    [EVENT_STEP_EXTENDED] = BINDING("StepExtended", struct step_extended, extended_fields),
    [EVENT_ORDER_EXPIRED] = BINDING("OrderExpired", struct order_marked, order_marked_fields),
};

const struct record_binding *event_binding(enum event_kind kind)
{
    return (unsigned)kind < EVENT_KIND_COUNT && event_bindings[kind].name != NULL
               ? &event_bindings[kind]
               : NULL;
}

enum event_kind event_kind_of(const char *name)
{
    uint32_t kind = 0;
    (void)enum_names_find(&event_kind_names, text_of(name), &kind);
    return (enum event_kind)kind;
}

static const struct field_binding decision_fields[] = {
    F_UUID(struct decision, claim_id),
    F_I64(REQUIRED, struct decision, sequence),
    F_I64(REQUIRED, struct decision, command_offset),
    F_I64(REQUIRED, struct decision, command_time),
    F_TEXT(OPTIONAL, struct decision, order_id, ORDER_ID_BYTES_MAX),
    F_U64(OPTIONAL, struct decision, order_version),
    F_ENUM(OPTIONAL, struct decision, order_state, order_state_names, ORDER_PENDING),
    F_TEXT(OPTIONAL, struct decision, reply_to, TOPIC_BYTES_MAX),
    F_TIME(REQUIRED, struct decision, decided_at),
    F_I64_OR(struct decision, emitted_through, -1),
    {FIELD_AS("events", FIELD_EVENTS, REQUIRED, struct decision, events),
     .count = offsetof(struct decision, event_count), .limit = DECISION_EVENTS_MAX},
};
const struct record_binding binding_decision =
    BINDING("Decision", struct decision, decision_fields);
