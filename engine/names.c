/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the enums, for records, JSON and logs. They are part of the interface: programs
 * compare them, so a name never changes. */
#include "engine/engine.h"

#define ASSERT_NAMES(names, count) \
    _Static_assert(sizeof(names) / sizeof((names)[0]) == (count), "every one has a name")

static const char *const order_states[] = {
    [ORDER_PENDING] = "Pending",
    [ORDER_PROCESSING] = "Processing",
    [ORDER_PROCESSED] = "Processed",
    [ORDER_COMPENSATING] = "Compensating",
    [ORDER_COMPENSATED] = "Compensated",
    [ORDER_ERROR] = "Error",
    [ORDER_HELD] = "Held",
};
ASSERT_NAMES(order_states, ORDER_STATE_COUNT);
const struct enum_names order_state_names = ENUM_NAMES(order_states);

static const char *const step_states[] = {
    [STEP_PENDING] = "Pending", [STEP_PROCESSING] = "Processing",   [STEP_PROCESSED] = "Processed",
    [STEP_ERROR] = "Error",     [STEP_COMPENSATED] = "Compensated", [STEP_SKIPPED] = "Skipped",
    [STEP_CAUGHT] = "Caught",   [STEP_WAITING] = "Waiting",
};
ASSERT_NAMES(step_states, STEP_STATE_COUNT);
const struct enum_names step_state_names = ENUM_NAMES(step_states);

static const char *const directions[] = {[DIRECTION_DO] = "do", [DIRECTION_UNDO] = "undo"};
ASSERT_NAMES(directions, DIRECTION_COUNT);
const struct enum_names direction_names = ENUM_NAMES(directions);

static const char *const effects[] = {
    [EFFECT_NONE] = "none", [EFFECT_APPLIED] = "applied", [EFFECT_UNKNOWN] = "unknown"};
ASSERT_NAMES(effects, EFFECT_COUNT);
const struct enum_names effect_names = ENUM_NAMES(effects);

static const char *const priorities[] = {
    [PRIORITY_HIGH] = "high", [PRIORITY_NORMAL] = "normal", [PRIORITY_LOW] = "low"};
ASSERT_NAMES(priorities, PRIORITY_COUNT);
const struct enum_names priority_names = ENUM_NAMES(priorities);

static const char *const item_states[] = {
    [ITEM_TO_DO] = "to_do", [ITEM_SUBMITTED] = "submitted", [ITEM_HELD] = "held",
    [ITEM_FINAL] = "final", [ITEM_FAILED] = "failed",
};
ASSERT_NAMES(item_states, ITEM_STATE_COUNT);
const struct enum_names item_state_names = ENUM_NAMES(item_states);

static const char *const suborder_outcomes[] = {[SUBORDER_HELD] = "held",
                                                [SUBORDER_FINAL] = "final",
                                                [SUBORDER_FAILED] = "failed",
                                                [SUBORDER_REFUSED] = "refused"};
ASSERT_NAMES(suborder_outcomes, SUBORDER_OUTCOME_COUNT);
const struct enum_names suborder_outcome_names = ENUM_NAMES(suborder_outcomes);

static const char *const settles[] = {[SETTLE_NONE] = "none",
                                      [SETTLE_KEEP] = "keep",
                                      [SETTLE_UNDO] = "undo",
                                      [SETTLE_UNKNOWN] = "unknown"};
ASSERT_NAMES(settles, SETTLE_COUNT);
const struct enum_names settle_names = ENUM_NAMES(settles);

static const char *const command_kinds[] = {
    [COMMAND_UNDECODABLE] = "Undecodable",
#define COMMAND(number, kind, record, ...) [COMMAND_##kind] = #record,
#include "engine/commands.def"
};
ASSERT_NAMES(command_kinds, COMMAND_KIND_COUNT);
const struct enum_names command_kind_names = ENUM_NAMES(command_kinds);

static const char *const event_kinds[] = {
#define EVENT(number, kind, record, payload, words, answers, status) [EVENT_##kind] = #record,
#include "engine/events.def"
};
ASSERT_NAMES(event_kinds, EVENT_KIND_COUNT);
const struct enum_names event_kind_names = ENUM_NAMES(event_kinds);

static const char *const status_kinds[] = {
    [STATUS_RECEIVED] = "Received",       [STATUS_STEP_CHANGED] = "StepChanged",
    [STATUS_PROCESSED] = "Processed",     [STATUS_COMPENSATING] = "Compensating",
    [STATUS_COMPENSATED] = "Compensated", [STATUS_ERROR] = "Error",
    [STATUS_REJECTED] = "Rejected",       [STATUS_REPEATED] = "Repeated",
    [STATUS_RESUMED] = "Resumed",
};
ASSERT_NAMES(status_kinds, STATUS_KIND_COUNT);
const struct enum_names status_kind_names = ENUM_NAMES(status_kinds);

static const char *const deadline_kinds[] = {
    [DEADLINE_RECOVER] = "recover", [DEADLINE_START] = "start", [DEADLINE_ORDER] = "order"};
ASSERT_NAMES(deadline_kinds, DEADLINE_KIND_COUNT);
static const struct enum_names deadline_kind_names = ENUM_NAMES(deadline_kinds);

const char *order_state_name(enum order_state state)
{
    return enum_name(&order_state_names, state);
}

const char *step_state_name(enum step_state state)
{
    return enum_name(&step_state_names, state);
}

const char *direction_name(enum direction direction)
{
    return enum_name(&direction_names, direction);
}

const char *effect_name(enum effect effect)
{
    return enum_name(&effect_names, effect);
}

const char *command_kind_name(enum command_kind kind)
{
    return enum_name(&command_kind_names, kind);
}

const char *event_kind_name(enum event_kind kind)
{
    return enum_name(&event_kind_names, kind);
}

const char *status_kind_name(enum status_kind kind)
{
    return enum_name(&status_kind_names, kind);
}

const char *deadline_kind_name(enum deadline_kind kind)
{
    return enum_name(&deadline_kind_names, kind);
}
