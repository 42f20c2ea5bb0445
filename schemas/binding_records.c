/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings of the commands, the effects and the side topics, and the table of all kinds of record.
 */
#include "schemas/binding.h"

enum { SHORT_BYTES_MAX = 32, SHORT_BYTES_READ_MAX = 64 };

#define ORDER_ID_FIELD(type) F_TEXT(REQUIRED, type, order_id, ORDER_ID_BYTES)
#define BY_FIELD(type) F_TEXT(OPTIONAL, type, by, WHO_BYTES)
#define REASON_FIELD(type) F_TEXT(OPTIONAL, type, reason, MESSAGE_BYTES)

/* ---- commands ---- */

/* clang-format off */
/* binding_cancel_order and so on. */
#define FIELDS(type)                                    \
    static const struct field_binding type##_fields[] = { \
        ORDER_ID_FIELD(struct type),
#define TEXT_FIELD(type, need, name, limits) F_TEXT(need, struct type, name, limits),
#define JSON_FIELD(type, need, name, limits) F_JSON(need, struct type, name, limits),
#define TEXTS_FIELD(type, name, limits) F_TEXTS(struct type, name, limits),
#define BOOL_FIELD(type, need, name) F_BOOL(need, struct type, name),
#define U32_FIELD(type, need, name) F_U32(need, struct type, name),
#define I64_FIELD(type, need, name) F_I64(need, struct type, name),
#define I64_FIELD_OR(type, name, otherwise) F_I64_OR(struct type, name, otherwise),
#define TIME_FIELD(type, need, name) F_TIME(need, struct type, name),
#define ENUM_FIELD(type, need, name, otherwise) \
    F_ENUM(need, struct type, name, name##_names, otherwise),
#define END_FIELDS(type) \
    }; \
    static const struct record_binding binding_##type = BINDING(struct type, type##_fields);
#include "engine/commands.def"
/* clang-format on */

static const struct field_binding report_suborder_fields[] = {
    ORDER_ID_FIELD(struct report_suborder),
    F_I64(REQUIRED, struct report_suborder, accepted_offset),
    F_TEXT(REQUIRED, struct report_suborder, step, NAME_BYTES),
    F_I64_OR(struct report_suborder, item, -1),
    F_U32(OPTIONAL, struct report_suborder, generation),
    F_ENUM(REQUIRED, struct report_suborder, outcome, suborder_outcome_names, 0),
    F_JSON(OPTIONAL, struct report_suborder, output, STEP_OUTPUT_BYTES),
    F_TEXT(OPTIONAL, struct report_suborder, error_name, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct report_suborder, error_message, MESSAGE_BYTES),
};
static const struct record_binding binding_report_suborder =
    BINDING(struct report_suborder, report_suborder_fields);

static const struct field_binding settle_suborder_fields[] = {
    ORDER_ID_FIELD(struct settle_suborder),
    F_POINTER(struct settle_suborder, "parent", parent, binding_order_parent),
    F_ENUM(REQUIRED, struct settle_suborder, how, settle_names, 0),
    F_BOOL(OPTIONAL, struct settle_suborder, held),
    REASON_FIELD(struct settle_suborder),
    BY_FIELD(struct settle_suborder),
};
static const struct record_binding binding_settle_suborder =
    BINDING(struct settle_suborder, settle_suborder_fields);

/* ---- the log, but for the Decision ---- */

/* The struct within struct claim has no name: its fields are bound from the claim's start. */
static const struct field_binding claim_reset_fields[] = {
    {FIELD_AS("next_command_offset", FIELD_I64, REQUIRED, struct claim, reset.next_command_offset)},
    F_TEXT_AS("by", OPTIONAL, struct claim, reset.by, WHO_BYTES),
    F_TEXT_AS("reason", OPTIONAL, struct claim, reset.reason, MESSAGE_BYTES),
};
static const struct record_binding claim_reset = BINDING(struct claim, claim_reset_fields);

static const struct field_binding claim_fields[] = {
    F_UUID(struct claim, claim_id),
    F_TEXT(REQUIRED, struct claim, instance, WHO_BYTES),
    F_TIME(REQUIRED, struct claim, claimed_at),
    F_I32(REQUIRED, struct claim, partition_count),
    {.name = "reset",
     .kind = FIELD_OPTIONAL,
     .offset = 0,
     .size = sizeof(struct claim),
     .count = offsetof(struct claim, has_reset),
     .sub = &claim_reset},
    F_I32(OPTIONAL, struct claim, format),
};
static const struct record_binding claim = BINDING(struct claim, claim_fields);

static const struct field_binding command_guard_fields[] = {
    F_UUID(struct command_guard, claim_id),
    F_I64(REQUIRED, struct command_guard, command_offset),
};
static const struct record_binding command_guard =
    BINDING(struct command_guard, command_guard_fields);

static const struct field_binding continuation_fields[] = {
    F_UUID(struct continuation, claim_id),
    F_I64(REQUIRED, struct continuation, sequence),
    F_UUID(struct continuation, first_claim_id),
    F_I32(REQUIRED, struct continuation, partition_count),
    F_I64(REQUIRED, struct continuation, next_command_offset),
    F_I64(REQUIRED, struct continuation, last_command_offset),
    F_I64(REQUIRED, struct continuation, last_command_time),
    F_TIME(REQUIRED, struct continuation, newest_decided_at),
    F_I64(REQUIRED, struct continuation, emitted_through),
    F_I64(REQUIRED, struct continuation, claim_decisions),
    F_I64(REQUIRED, struct continuation, previous_claim_decisions),
    F_I64(REQUIRED, struct continuation, guarded_offset),
    F_I64(REQUIRED, struct continuation, guards),
    F_TIME(REQUIRED, struct continuation, written_at),
    {FIELD_AS("format", FIELD_I32, OPTIONAL, struct continuation, format)},
    F_I64_OR(struct continuation, trimmed, -1),
    F_TEXT(OPTIONAL, struct continuation, instance, WHO_BYTES),
    F_TIME(OPTIONAL, struct continuation, claimed_at),
};
static const struct record_binding continuation = BINDING(struct continuation, continuation_fields);

static const struct field_binding statement_fields[] = {
    F_UUID(struct statement, claim_id),
    F_I64(REQUIRED, struct statement, sequence),
    F_I32(REQUIRED, struct statement, format),
    F_SUB(FIELD_RECORD, struct statement, order, binding_order_row),
};
static const struct record_binding statement = BINDING(struct statement, statement_fields);

static const struct field_binding expiry_fields[] = {
    F_UUID(struct expiry, claim_id),
    F_I64(REQUIRED, struct expiry, sequence),
    F_TIME(REQUIRED, struct expiry, decided_at),
    F_TIME(REQUIRED, struct expiry, ended_at),
    F_TEXT(REQUIRED, struct expiry, order_id, ORDER_ID_BYTES),
};
static const struct record_binding expiry = BINDING(struct expiry, expiry_fields);

/* Like a claim's reset: bound from the start of the reset that holds it. */
static const struct field_binding skip_fields[] = {
    {FIELD_AS("from", FIELD_I64, REQUIRED, struct partition_reset, skip.from)},
    {FIELD_AS("to", FIELD_I64, REQUIRED, struct partition_reset, skip.to)},
};
static const struct record_binding skip_range = BINDING(struct partition_reset, skip_fields);
static const struct field_binding reset_fields[] = {
    F_I64(REQUIRED, struct partition_reset, expected_offset),
    F_I64_OR(struct partition_reset, next_command_offset, -1),
    F_TIME(OPTIONAL, struct partition_reset, newest_decided_at),
    {.name = "skip",
     .kind = FIELD_OPTIONAL,
     .offset = 0,
     .size = sizeof(struct partition_reset),
     .count = offsetof(struct partition_reset, has_skip),
     .sub = &skip_range},
    F_TEXT(REQUIRED, struct partition_reset, by, WHO_BYTES),
    F_TEXT(REQUIRED, struct partition_reset, reason, MESSAGE_BYTES),
    F_TIME(REQUIRED, struct partition_reset, reset_at),
};
static const struct record_binding partition_reset = BINDING(struct partition_reset, reset_fields);

/* ---- effects ---- */

static const struct field_binding output_fields[] = {
    F_TEXT(REQUIRED, struct step_output, step, NAME_BYTES),
    F_JSON(OPTIONAL, struct step_output, output, FOR_EACH_OUTPUT_BYTES),
};
static const struct record_binding step_output = BINDING(struct step_output, output_fields);

static const struct field_binding request_fields[] = {
    ORDER_ID_FIELD(struct step_request),
    F_TEXT_AS("step", REQUIRED, struct step_request, ref.step, NAME_BYTES),
    F_ENUM_AS("direction", REQUIRED, struct step_request, ref.direction, direction_names, 0),
    F_U32_AS("attempt", REQUIRED, struct step_request, ref.attempt),
    F_U32(OPTIONAL, struct step_request, generation),
    F_TEXT(REQUIRED, struct step_request, agent, NAME_BYTES),
    F_TEXT(REQUIRED, struct step_request, action, NAME_BYTES),
    F_TEXT(REQUIRED, struct step_request, idempotency_key, IDEMPOTENCY_KEY_BYTES),
    F_TEXT(OPTIONAL, struct step_request, do_key, IDEMPOTENCY_KEY_BYTES),
    F_TIME(REQUIRED, struct step_request, complete_by),
    F_BOOL(OPTIONAL, struct step_request, extension),
    F_SUB(FIELD_POINTER, struct step_request, order, binding_order_details),
    F_ARRAY(OPTIONAL, struct step_request, outputs, output_count, WORKFLOW_STEPS, step_output),
    F_UUID(struct step_request, claim_id),
    F_I64(REQUIRED, struct step_request, decision_offset),
    F_U64(REQUIRED, struct step_request, order_version),
    F_JSON(OPTIONAL, struct step_request, input, STEP_INPUT_BYTES),
};
static const struct record_binding step_request = BINDING(struct step_request, request_fields);

static const struct field_binding change_fields[] = {
    F_TEXT(REQUIRED, struct step_change, step, NAME_BYTES),
    F_ENUM(REQUIRED, struct step_change, direction, direction_names, 0),
    F_U32(REQUIRED, struct step_change, attempt),
    F_ENUM(REQUIRED, struct step_change, state, step_state_names, 0),
    F_TEXT(OPTIONAL, struct step_change, error_name, ERROR_NAME_BYTES),
};
static const struct record_binding step_change = BINDING(struct step_change, change_fields);

static const struct field_binding status_fields[] = {
    ORDER_ID_FIELD(struct status_update),
    F_ENUM(REQUIRED, struct status_update, kind, status_kind_names, 0),
    F_ENUM(OPTIONAL, struct status_update, order_state, order_state_names, ORDER_PENDING),
    F_U64(OPTIONAL, struct status_update, order_version),
    F_TIME(REQUIRED, struct status_update, decided_at),
    F_I32(REQUIRED, struct status_update, command_partition),
    F_I64(REQUIRED, struct status_update, command_offset),
    F_I64_OR(struct status_update, decision_offset, -1),
    F_TEXT(OPTIONAL, struct status_update, code, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct status_update, message, MESSAGE_BYTES),
    F_ARRAY(OPTIONAL, struct status_update, steps, step_count, WORKFLOW_STEPS, step_change),
    F_JSON(OPTIONAL, struct status_update, output, STEP_OUTPUT_BYTES),
    F_TEXT(OPTIONAL, struct status_update, question, QUESTION_BYTES),
};
static const struct record_binding status_update = BINDING(struct status_update, status_fields);

static const struct field_binding alert_fields[] = {
    F_TEXT(OPTIONAL, struct operator_alert, order_id, ORDER_ID_BYTES),
    F_BOOL(REQUIRED, struct operator_alert, raised),
    F_TEXT(REQUIRED, struct operator_alert, code, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct operator_alert, message, MESSAGE_BYTES),
    F_TEXT(OPTIONAL, struct operator_alert, step, NAME_BYTES),
    BY_FIELD(struct operator_alert),
    F_U64(OPTIONAL, struct operator_alert, order_version),
    F_I32(REQUIRED, struct operator_alert, partition),
    F_I64_OR(struct operator_alert, command_offset, -1),
    F_I64_OR(struct operator_alert, decision_offset, -1),
    F_TIME(REQUIRED, struct operator_alert, decided_at),
    F_TEXT(OPTIONAL, struct operator_alert, root, ORDER_ID_BYTES),
};
static const struct record_binding operator_alert = BINDING(struct operator_alert, alert_fields);

/* ---- side topics ---- */

static const struct field_binding workflow_fields[] = {
    F_TEXT(REQUIRED, struct workflow_definition, name, NAME_BYTES),
    F_U32(REQUIRED, struct workflow_definition, version),
    F_TEXT_AS("source", REQUIRED, struct workflow_definition, text, WORKFLOW_BYTES),
    F_TEXT(REQUIRED, struct workflow_definition, format, SHORT_BYTES),
    F_TEXT(OPTIONAL, struct workflow_definition, deployed_by, WHO_BYTES),
    F_TIME(OPTIONAL, struct workflow_definition, deployed_at),
};
static const struct field_binding activation_fields[] = {
    F_TEXT(REQUIRED, struct workflow_activation, name, NAME_BYTES),
    F_U32(REQUIRED, struct workflow_activation, version),
    F_BOOL(REQUIRED, struct workflow_activation, active),
    BY_FIELD(struct workflow_activation),
    REASON_FIELD(struct workflow_activation),
    F_TIME(OPTIONAL, struct workflow_activation, at),
};
static const struct record_binding workflow_activation =
    BINDING(struct workflow_activation, activation_fields);
static const struct record_binding workflow_definition =
    BINDING(struct workflow_definition, workflow_fields);

static const struct field_binding health_fields[] = {
    F_TEXT(REQUIRED, struct agent_health, agent, NAME_BYTES),
    F_TEXT(REQUIRED, struct agent_health, instance, WHO_BYTES),
    F_U32(OPTIONAL, struct agent_health, capacity),
    F_U32(OPTIONAL, struct agent_health, in_flight),
    F_U32(OPTIONAL, struct agent_health, queued),
    F_U32(OPTIONAL, struct agent_health, partitions),
    F_I64(OPTIONAL, struct agent_health, latency_p50_ms),
    F_I64(OPTIONAL, struct agent_health, latency_p95_ms),
    F_U32(OPTIONAL, struct agent_health, errors_permille),
    F_TEXT(OPTIONAL, struct agent_health, circuit, SHORT_BYTES),
    F_TEXT(OPTIONAL, struct agent_health, version, WHO_BYTES),
    F_TEXT(OPTIONAL, struct agent_health, last_error, MESSAGE_BYTES),
    F_I64(OPTIONAL, struct agent_health, heartbeat_ms),
    F_TIME(REQUIRED, struct agent_health, reported_at),
};
static const struct record_binding agent_health = BINDING(struct agent_health, health_fields);

static const struct field_binding agent_pause_fields[] = {
    F_TEXT(REQUIRED, struct agent_pause, agent, NAME_BYTES),
    F_BOOL(REQUIRED, struct agent_pause, paused),
    BY_FIELD(struct agent_pause),
    REASON_FIELD(struct agent_pause),
    F_TIME(OPTIONAL, struct agent_pause, at),
};
static const struct record_binding agent_pause = BINDING(struct agent_pause, agent_pause_fields);

static const struct field_binding schedule_fields[] = {
    F_TEXT(REQUIRED, struct schedule_definition, name, NAME_BYTES),
    F_TEXT(REQUIRED, struct schedule_definition, text, SCHEDULE_BYTES),
    F_TEXT(REQUIRED, struct schedule_definition, format, SHORT_BYTES),
    F_TEXT(OPTIONAL, struct schedule_definition, deployed_by, WHO_BYTES),
    F_TIME(OPTIONAL, struct schedule_definition, deployed_at),
    F_BOOL(OPTIONAL, struct schedule_definition, paused),
    BY_FIELD(struct schedule_definition),
    REASON_FIELD(struct schedule_definition),
    F_TIME(OPTIONAL, struct schedule_definition, at),
};
static const struct record_binding schedule_definition =
    BINDING(struct schedule_definition, schedule_fields);

static const char *const leadership_kinds[] = {"candidate", "claim", "renew", "release"};
_Static_assert(sizeof(leadership_kinds) / sizeof(char *) == LEADERSHIP_KIND_COUNT,
               "all have a symbol");
static const struct enum_names leadership_kind_names = ENUM_NAMES(leadership_kinds);
static const struct field_binding leadership_fields[] = {
    F_TEXT(REQUIRED, struct leadership, role, NAME_BYTES),
    F_ENUM(REQUIRED, struct leadership, kind, leadership_kind_names, 0),
    F_TEXT(REQUIRED, struct leadership, instance, WHO_BYTES),
    F_UUID(struct leadership, candidate_id),
    F_U32(OPTIONAL, struct leadership, rank),
    F_I64_OR(struct leadership, term, -1),
    F_I64(REQUIRED, struct leadership, lease_ms),
    F_TIME(OPTIONAL, struct leadership, progress_at),
    F_TIME(REQUIRED, struct leadership, said_at),
    REASON_FIELD(struct leadership),
};
static const struct record_binding leadership = BINDING(struct leadership, leadership_fields);

static const char *const resolution_kinds[] = {"replayed", "discarded"};
_Static_assert(sizeof(resolution_kinds) / sizeof(char *) == DEAD_LETTER_RESOLUTION_KIND_COUNT,
               "all have a symbol");
static const struct enum_names resolution_kind_names = ENUM_NAMES(resolution_kinds);
static const struct field_binding resolution_fields[] = {
    F_I32(REQUIRED, struct dead_letter_resolution, partition),
    F_I64(REQUIRED, struct dead_letter_resolution, offset),
    F_ENUM(REQUIRED, struct dead_letter_resolution, kind, resolution_kind_names, 0),
    F_TEXT(OPTIONAL, struct dead_letter_resolution, topic, TOPIC_BYTES),
    F_I64_OR(struct dead_letter_resolution, replayed_partition, -1),
    F_I64_OR(struct dead_letter_resolution, replayed_offset, -1),
    F_BOOL(OPTIONAL, struct dead_letter_resolution, corrected),
    BY_FIELD(struct dead_letter_resolution),
    REASON_FIELD(struct dead_letter_resolution),
    F_TIME(REQUIRED, struct dead_letter_resolution, resolved_at),
};
static const struct record_binding dead_letter_resolution =
    BINDING(struct dead_letter_resolution, resolution_fields);

/* ---- all of them ---- */

static const struct record_kind_info infos[RECORD_KIND_COUNT] = {
#define COMMAND(number, kind, record, type, member, ...)            \
    [RECORD_##kind] = {.name = #record,                             \
                       .binding = &binding_##type,                  \
                       .order_id = offsetof(struct type, order_id), \
                       .is_command = true},
#include "engine/commands.def"
    [RECORD_CLAIM] = {.name = "Claim", .binding = &claim},
    [RECORD_COMMAND_GUARD] = {.name = "Attempt", .binding = &command_guard},
    [RECORD_DECISION] = {.name = "Decision", .binding = &binding_decision},
    [RECORD_CONTINUATION] = {.name = "Continuation", .binding = &continuation},
    [RECORD_RESET] = {.name = "Reset", .binding = &partition_reset},
    [RECORD_STATEMENT] = {.name = "Statement", .binding = &statement},
    [RECORD_EXPIRY] = {.name = "Expiry", .binding = &expiry},
    [RECORD_STEP_REQUEST] = {.name = "StepRequest", .binding = &step_request},
    [RECORD_STATUS_UPDATE] = {.name = "StatusUpdate", .binding = &status_update},
    [RECORD_OPERATOR_ALERT] = {.name = "OperatorAlert", .binding = &operator_alert},
    [RECORD_WORKFLOW_DEFINITION] = {.name = "WorkflowDefinition", .binding = &workflow_definition},
    [RECORD_WORKFLOW_ACTIVATION] = {.name = "WorkflowActivation", .binding = &workflow_activation},
    [RECORD_AGENT_HEALTH] = {.name = "AgentHealth", .binding = &agent_health},
    [RECORD_AGENT_PAUSE] = {.name = "AgentPause", .binding = &agent_pause},
    [RECORD_SCHEDULE] = {.name = "Schedule", .binding = &schedule_definition},
    [RECORD_LEADERSHIP] = {.name = "Leadership", .binding = &leadership},
    [RECORD_DEAD_LETTER_RESOLUTION] = {.name = "DeadLetterResolution",
                                       .binding = &dead_letter_resolution},
    [RECORD_ORDER_ROW] = {.name = "OrderRow", .binding = &binding_order_row},
};

const struct record_kind_info *record_kind_info(enum record_kind kind)
{
    return (unsigned)kind < RECORD_KIND_COUNT && infos[kind].binding != NULL ? &infos[kind] : NULL;
}

const char *record_kind_name(enum record_kind kind)
{
    const struct record_kind_info *info = record_kind_info(kind);
    return info != NULL ? info->name : "?";
}

bool record_kind_is_command(enum record_kind kind)
{
    const struct record_kind_info *info = record_kind_info(kind);
    return info != NULL && info->is_command;
}

bool record_kind_is_submission(enum record_kind kind)
{
    return record_kind_is_command(kind) &&
           command_kind_is_from((enum command_kind)kind, COMMAND_FROM_APPLICATION);
}

enum record_kind record_kind_of(const char *name)
{
    for (int kind = 1; kind < RECORD_KIND_COUNT; kind++)
        if (strcmp(record_kind_name((enum record_kind)kind), name) == 0)
            return (enum record_kind)kind;
    return (enum record_kind)0;
}
