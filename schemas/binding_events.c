/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings of the events and of the Decision that holds them: one table of fields for each payload
 * of engine/events.def. */
#include "schemas/binding.h"

/* The three fields that every event about an attempt begins with. */
#define REF_FIELDS(need, type)                                                 \
    F_TEXT_AS("step", need, type, ref.step, NAME_BYTES),                       \
        F_ENUM_AS("direction", need, type, ref.direction, direction_names, 0), \
        F_U32_AS("attempt", need, type, ref.attempt)
#define F_BY(type) F_TEXT(OPTIONAL, type, by, WHO_BYTES)
#define F_REASON(type) F_TEXT(OPTIONAL, type, reason, MESSAGE_BYTES)

static const struct field_binding plan_fields[] = {
    F_TEXT(REQUIRED, struct step_plan, name, NAME_BYTES),
    F_TEXT(REQUIRED, struct step_plan, agent, NAME_BYTES),
    {FIELD_AS("retries_used", FIELD_COUNTERS, OPTIONAL, struct step_plan, retries_used),
     LIMITS(RETRIERS)},
    F_BOOL(OPTIONAL, struct step_plan, new_key),
};
static const struct record_binding binding_plan = BINDING(struct step_plan, plan_fields);

static const struct field_binding order_accepted_fields[] = {
    F_SUB(FIELD_RECORD, struct order_accepted, details, binding_order_details),
    F_ARRAY(REQUIRED, struct order_accepted, steps, step_count, WORKFLOW_STEPS, binding_plan),
    F_TIME(OPTIONAL, struct order_accepted, complete_by),
    F_I64(OPTIONAL, struct order_accepted, margin_ms),
};
static const struct field_binding command_rejected_fields[] = {
    F_ENUM(REQUIRED, struct command_rejected, command, command_kind_names, 0),
    F_TEXT(REQUIRED, struct command_rejected, code, ERROR_NAME_BYTES),
    F_REASON(struct command_rejected),
    F_BY(struct command_rejected),
    REF_FIELDS(OPTIONAL, struct command_rejected),
    F_TIME(OPTIONAL, struct command_rejected, due_at),
    F_POINTER(struct command_rejected, "parent", parent, binding_order_parent),
    F_ENUM(OPTIONAL, struct command_rejected, settle, settle_names, SETTLE_NONE),
};
static const struct field_binding report_ignored_fields[] = {
    REF_FIELDS(REQUIRED, struct report_ignored),
    F_BOOL(REQUIRED, struct report_ignored, succeeded),
    F_TEXT(REQUIRED, struct report_ignored, code, ERROR_NAME_BYTES),
    F_REASON(struct report_ignored),
    F_BY(struct report_ignored),
    F_POINTER(struct report_ignored, "parent", parent, binding_order_parent),
    F_ENUM(OPTIONAL, struct report_ignored, settle, settle_names, SETTLE_NONE),
};
static const struct field_binding submitted_item_fields[] = {
    F_I64_OR(struct submitted_item, item, -1),
    F_JSON(OPTIONAL, struct submitted_item, input, STEP_INPUT_BYTES),
    F_TEXT(OPTIONAL, struct submitted_item, error_name, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct submitted_item, error_message, MESSAGE_BYTES),
};
static const struct record_binding binding_submitted_item =
    BINDING(struct submitted_item, submitted_item_fields);
static const struct field_binding suborders_submitted_fields[] = {
    REF_FIELDS(REQUIRED, struct suborders_submitted),
    F_U32(OPTIONAL, struct suborders_submitted, generation),
    F_TIME(REQUIRED, struct suborders_submitted, complete_by),
    F_ARRAY(OPTIONAL, struct suborders_submitted, items, item_count, SUBORDERS,
            binding_submitted_item),
};
static const struct field_binding suborder_ended_fields[] = {
    F_TEXT(REQUIRED, struct suborder_ended, step, NAME_BYTES),
    F_I64_OR(struct suborder_ended, item, -1),
    F_U32(OPTIONAL, struct suborder_ended, generation),
    F_ENUM(REQUIRED, struct suborder_ended, outcome, suborder_outcome_names, 0),
    F_JSON(OPTIONAL, struct suborder_ended, output, STEP_OUTPUT_BYTES),
    F_TEXT(OPTIONAL, struct suborder_ended, error_name, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct suborder_ended, error_message, MESSAGE_BYTES),
    F_BOOL(OPTIONAL, struct suborder_ended, stop),
    F_BOOL(OPTIONAL, struct suborder_ended, undo_failed),
    F_BY(struct suborder_ended),
};
/* Cut to what a dead letter keeps (replica/cluster/dead_letter.h). In older logs, the key may be as
 * large as the value. */
static const struct field_binding header_fields[] = {
    F_BYTES(REQUIRED, struct command_header, name, META_BYTES),
    F_BYTES(REQUIRED, struct command_header, value, META_BYTES),
};
static const struct record_binding binding_header = BINDING(struct command_header, header_fields);
static const struct field_binding command_dead_lettered_fields[] = {
    F_BYTES(REQUIRED, struct undecodable, bytes, INPUT_BYTES),
    F_BYTES(REQUIRED, struct undecodable, key, INPUT_BYTES),
    F_REASON(struct undecodable),
    F_BOOL(OPTIONAL, struct undecodable, quarantined),
    F_TEXT(OPTIONAL, struct undecodable, code, ERROR_NAME_BYTES),
    F_U32(OPTIONAL, struct undecodable, value_bytes),
    F_TEXT(OPTIONAL, struct undecodable, value_xxh128, ERROR_NAME_BYTES),
    F_U32(OPTIONAL, struct undecodable, meta_bytes),
    F_ARRAY(OPTIONAL, struct undecodable, headers, header_count, COMMAND_HEADERS, binding_header),
};

static const struct field_binding order_migrated_fields[] = {
    F_U32(REQUIRED, struct order_migrated, from_version),
    F_U32(REQUIRED, struct order_migrated, workflow_version),
    F_ARRAY(REQUIRED, struct order_migrated, steps, step_count, WORKFLOW_STEPS, binding_plan),
    F_BOOL(OPTIONAL, struct order_migrated, moves_retries),
    F_BY(struct order_migrated),
    F_REASON(struct order_migrated),
};
static const struct field_binding amended_step_fields[] = {
    F_TEXT(REQUIRED, struct amended_step, name, NAME_BYTES),
    F_U32(OPTIONAL, struct amended_step, generation),
};
static const struct record_binding binding_amended_step =
    BINDING(struct amended_step, amended_step_fields);
static const struct field_binding order_amended_fields[] = {
    F_JSON(OPTIONAL, struct order_amended, input, ORDER_INPUT_BYTES),
    F_ARRAY(OPTIONAL, struct order_amended, steps, step_count, WORKFLOW_STEPS,
            binding_amended_step),
    F_BY(struct order_amended),
    F_REASON(struct order_amended),
};

/* clang-format off */
/* order_marked_fields and so on. */
#define FIELDS(payload) static const struct field_binding payload##_fields[] = {
#define ATTEMPT_FIELD(payload) REF_FIELDS(REQUIRED, struct payload),
#define TEXT_FIELD(payload, need, field, limits) F_TEXT(need, struct payload, field, limits),
#define JSON_FIELD(payload, need, field, limits) F_JSON(need, struct payload, field, limits),
#define TEXTS_FIELD(payload, field, limits) F_TEXTS(struct payload, field, limits),
#define BOOL_FIELD(payload, need, field) F_BOOL(need, struct payload, field),
#define U32_FIELD(payload, need, field) F_U32(need, struct payload, field),
#define U32_FIELD_BELOW(payload, need, field, below) \
    F_U32_UP_TO(#field, need, struct payload, field, (below) - 1),
#define I64_FIELD(payload, need, field) F_I64(need, struct payload, field),
#define I64_FIELD_OR(payload, field, otherwise) F_I64_OR(struct payload, field, otherwise),
#define TIME_FIELD(payload, need, field) F_TIME(need, struct payload, field),
#define ENUM_FIELD(payload, need, field, otherwise) \
    F_ENUM(need, struct payload, field, field##_names, otherwise),
#define END_FIELDS(payload) };
#include "engine/events.def"
/* clang-format on */

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
