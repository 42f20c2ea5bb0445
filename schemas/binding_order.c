/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings of the order: as submitted, as accepted, and as a store's row. */
#include "base/goods.h"
#include "schemas/binding.h"

static const struct field_binding line_fields[] = {
    F_TEXT(REQUIRED, struct order_line, sku, SKU_BYTES),
    F_TEXT(OPTIONAL, struct order_line, description, DESCRIPTION_BYTES),
    F_I64(REQUIRED, struct order_line, quantity),
    {FIELD_AS("unit_price", FIELD_DECIMAL, REQUIRED, struct order_line, unit_price)},
};
static const struct record_binding binding_line = BINDING(struct order_line, line_fields);

static const struct field_binding parent_fields[] = {
    F_TEXT(REQUIRED, struct order_parent, order_id, ORDER_ID_BYTES),
    F_I64(REQUIRED, struct order_parent, accepted_offset),
    F_TEXT(REQUIRED, struct order_parent, step, NAME_BYTES),
    F_I64_OR(struct order_parent, item, -1),
    F_U32(OPTIONAL, struct order_parent, generation),
    F_TEXT(OPTIONAL, struct order_parent, root, ORDER_ID_BYTES),
    F_U32(OPTIONAL, struct order_parent, depth),
    F_U32(OPTIONAL, struct order_parent, quota),
};
const struct record_binding binding_order_parent = BINDING(struct order_parent, parent_fields);

static const struct part_binding goods_part = {offsetof(struct order_details, goods),
                                               sizeof(struct goods)};
static const struct field_binding details_fields[] = {
    F_TEXT(REQUIRED, struct order_details, order_id, ORDER_ID_BYTES),
    F_TEXT(OPTIONAL, struct order_details, customer, CUSTOMER_BYTES),
    {FIELD_AS("currency", FIELD_TEXT, OPTIONAL, struct goods, currency), LIMITS(CURRENCY_BYTES),
     .part = &goods_part},
    {FIELD_AS("lines", FIELD_ARRAY, OPTIONAL, struct goods, lines),
     .count = offsetof(struct goods, line_count), LIMITS(ORDER_LINES), .sub = &binding_line,
     .part = &goods_part},
    {FIELD_AS("attributes", FIELD_ATTRIBUTES, OPTIONAL, struct order_details, attributes),
     .count = offsetof(struct order_details, attribute_count), LIMITS(ORDER_ATTRIBUTES)},
    F_ENUM(OPTIONAL, struct order_details, priority, priority_names, PRIORITY_NORMAL),
    F_TEXT(OPTIONAL, struct order_details, reply_to, TOPIC_BYTES),
    F_TEXT(REQUIRED, struct order_details, workflow, BODY_NAME_BYTES),
    F_U32(OPTIONAL, struct order_details, workflow_version),
    F_TEXT(OPTIONAL, struct order_details, traceparent, TRACEPARENT_BYTES),
    {FIELD_AS("content_hash", FIELD_HASH, OPTIONAL, struct order_details, content_hash)},
    F_TEXT(OPTIONAL, struct order_details, submitted_by, WHO_BYTES),
    F_TIME(OPTIONAL, struct order_details, submitted_at),
    F_JSON(OPTIONAL, struct order_details, input, ORDER_INPUT_BYTES),
    F_POINTER(struct order_details, "parent", parent, binding_order_parent),
};
const struct record_binding binding_order_details = BINDING(struct order_details, details_fields);

static const struct field_binding awaiting_fields[] = {
    F_TEXT(OPTIONAL, struct awaiting, group, NAME_BYTES),
    F_TEXTS(struct awaiting, options, OPTIONS),
    F_TEXT(OPTIONAL, struct awaiting, question, QUESTION_BYTES),
    F_TEXT(OPTIONAL, struct awaiting, signal_id, SIGNAL_ID_BYTES),
    F_U32(OPTIONAL, struct awaiting, signals),
    F_JSON(OPTIONAL, struct awaiting, payload, SIGNAL_BYTES),
    F_TEXT(OPTIONAL, struct awaiting, by, WHO_BYTES),
};
const struct record_binding binding_awaiting = BINDING(struct awaiting, awaiting_fields);

static const struct field_binding item_fields[] = {
    F_ENUM(REQUIRED, struct suborder_item, state, item_state_names, 0),
    F_U32(OPTIONAL, struct suborder_item, generation),
    F_TIME(OPTIONAL, struct suborder_item, submitted_at),
    F_JSON(OPTIONAL, struct suborder_item, input, STEP_INPUT_BYTES),
    F_JSON(OPTIONAL, struct suborder_item, output, STEP_OUTPUT_BYTES),
};
static const struct record_binding binding_item = BINDING(struct suborder_item, item_fields);
static const struct field_binding suborders_fields[] = {
    F_TEXT(REQUIRED, struct suborders, workflow, BODY_NAME_BYTES),
    F_JSON(OPTIONAL, struct suborders, list, ORDER_ITEMS_BYTES),
    F_ARRAY(OPTIONAL, struct suborders, items, item_count, SUBORDERS, binding_item),
    F_U32(OPTIONAL, struct suborders, quota),
    F_ENUM(OPTIONAL, struct suborders, priority, priority_names, PRIORITY_NORMAL),
    F_TIME(OPTIONAL, struct suborders, asked_since),
    F_TIME(OPTIONAL, struct suborders, times_out_at),
    F_BOOL(OPTIONAL, struct suborders, recalled),
    F_BOOL(OPTIONAL, struct suborders, stopped),
    F_BOOL(OPTIONAL, struct suborders, failed),
    F_BOOL(OPTIONAL, struct suborders, undo_failed),
    F_TEXT(OPTIONAL, struct suborders, error_name, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct suborders, error_message, MESSAGE_BYTES),
};
const struct record_binding binding_suborders = BINDING(struct suborders, suborders_fields);

static const struct field_binding step_fields[] = {
    F_TEXT(REQUIRED, struct step, name, NAME_BYTES),
    F_TEXT(REQUIRED, struct step, agent, NAME_BYTES),
    F_ENUM(REQUIRED, struct step, direction, direction_names, 0),
    F_ENUM(REQUIRED, struct step, state, step_state_names, 0),
    F_U32(REQUIRED, struct step, attempt),
    F_U32(OPTIONAL, struct step, failure_count),
    F_TEXT(OPTIONAL, struct step, locked_by, WHO_BYTES),
    F_TIME(OPTIONAL, struct step, complete_by),
    F_I64(OPTIONAL, struct step, extension_ms),
    F_I64(OPTIONAL, struct step, margin_ms),
    F_TIME_AS("retry_at", OPTIONAL, struct step, wait.retry_at),
    F_TIME_AS("queued_at", OPTIONAL, struct step, wait.queued_at),
    F_ENUM(OPTIONAL, struct step, effect, effect_names, EFFECT_NONE),
    F_ENUM(OPTIONAL, struct step, undo_effect, effect_names, EFFECT_NONE),
    F_U32_AS("do_generation", OPTIONAL, struct step, generation[DIRECTION_DO]),
    F_U32_AS("undo_generation", OPTIONAL, struct step, generation[DIRECTION_UNDO]),
    {FIELD_AS("retries_used", FIELD_COUNTERS, OPTIONAL, struct step, retries_used),
     LIMITS(RETRIERS)},
    F_U64(OPTIONAL, struct step, started_version),
    F_U64(OPTIONAL, struct step, completed_version),
    F_TIME(OPTIONAL, struct step, started_at),
    F_I64(OPTIONAL, struct step, inputs),
    F_U32(OPTIONAL, struct step, workflow_version),
    F_TIME(OPTIONAL, struct step, ended_at),
    F_JSON(OPTIONAL, struct step, output, FOR_EACH_OUTPUT_BYTES),
    F_TEXT(OPTIONAL, struct step, error_name, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct step, error_message, MESSAGE_BYTES),
    F_JSON(OPTIONAL, struct step, input, STEP_INPUT_BYTES),
    F_POINTER(struct step, "wait", awaiting, binding_awaiting),
    F_POINTER(struct step, "suborders", suborders, binding_suborders),
};
const struct record_binding binding_step_row = BINDING(struct step, step_fields);

static const struct field_binding row_fields[] = {
    F_SUB(FIELD_RECORD, struct order, details, binding_order_details),
    F_U64(REQUIRED, struct order, version),
    F_ENUM(REQUIRED, struct order, state, order_state_names, 0),
    F_ENUM(OPTIONAL, struct order, error_from, order_state_names, 0),
    F_TIME(REQUIRED, struct order, accepted_at),
    F_I64(REQUIRED, struct order, accepted_offset),
    F_I64(REQUIRED, struct order, stated_offset),
    F_TIME(REQUIRED, struct order, updated_at),
    F_TIME(OPTIONAL, struct order, complete_by),
    F_I64(OPTIONAL, struct order, margin_ms),
    F_TIME(OPTIONAL, struct order, ended_at),
    F_ARRAY(REQUIRED, struct order, steps, step_count, WORKFLOW_STEPS, binding_step_row),
    F_BOOL(OPTIONAL, struct order, alert_open),
    F_BOOL(OPTIONAL, struct order, cancelled),
    F_TEXT(OPTIONAL, struct order, reason_code, ERROR_NAME_BYTES),
    F_TEXT(OPTIONAL, struct order, reason, MESSAGE_BYTES),
    F_TEXT(OPTIONAL, struct order, reason_by, WHO_BYTES),
    F_TIME(OPTIONAL, struct order, paused_at),
    F_TEXT(OPTIONAL, struct order, paused_by, WHO_BYTES),
    F_TEXT(OPTIONAL, struct order, pause_reason, MESSAGE_BYTES),
    F_JSON(OPTIONAL, struct order, output, STEP_OUTPUT_BYTES),
    F_TEXT(OPTIONAL, struct order, output_problem, MESSAGE_BYTES),
    F_TIME(OPTIONAL, struct order, held_at),
};
const struct record_binding binding_order_row = BINDING(struct order, row_fields);
