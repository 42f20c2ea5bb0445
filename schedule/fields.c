/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/fields.h"

#include "schedule/schedule_file.h"
#include "schedule/zone_files.h"

static const struct field_row rows[SCHEDULE_FIELD_COUNT] = {
#define FIELD(constant, name, form, description) \
    [SCHEDULE_FIELD_##constant] = {TEXT_CONST(name), form, description},
#include "schedule/fields.def"
};

#define FIELD(constant, name, form, description) \
    _Static_assert(sizeof(description) >= FIELD_DESCRIPTION_MIN, name " has a description");
#include "schedule/fields.def"

#define BIT(field) FIELD_BIT(SCHEDULE_FIELD_##field)

/* By cron, and at intervals. */
static const struct field_variant whens[] = {
    {.known = BIT(CRON) | BIT(TIME_ZONE), .required = BIT(CRON)},
    {.known = BIT(EVERY_SECONDS), .required = BIT(EVERY_SECONDS)},
};

static const struct field_place places[SCHEDULE_PLACE_COUNT] = {
    [SCHEDULE_PLACE_FILE] = {"the schedule",
                             BIT(COMMENT) | BIT(SCHEDULE) | BIT(CRON) | BIT(TIME_ZONE) |
                                 BIT(EVERY_SECONDS) | BIT(CATCH_UP_SECONDS) | BIT(ORDER),
                             BIT(SCHEDULE) | BIT(ORDER), BIT(CRON) | BIT(EVERY_SECONDS), whens,
                             sizeof(whens) / sizeof(whens[0])},
    [SCHEDULE_PLACE_ORDER] = {"Order",
                              BIT(COMMENT) | BIT(WORKFLOW) | BIT(WORKFLOW_VERSION) | BIT(CUSTOMER) |
                                  BIT(CURRENCY) | BIT(LINES) | BIT(ATTRIBUTES) | BIT(PRIORITY) |
                                  BIT(REPLY_TO) | BIT(INPUT),
                              BIT(WORKFLOW), 0, NULL, 0},
};

/* What other schedulers have, and orders. */
static const struct foreign_field foreign[] = {
    {TEXT_CONST("order_id"), "the order of a tick has the id NAME@TICK"},
    {TEXT_CONST("traceparent"), "the order of a tick begins its own trace"},
    {TEXT_CONST("Name"), "Schedule gives the name"},
    {TEXT_CONST("Version"), "a deployment replaces the schedule"},
    {TEXT_CONST("Workflow"), "the workflow is a field of Order"},
    {TEXT_CONST("Input"), "input is a field of Order"},
    {TEXT_CONST("Steps"), "a workflow is deployed by `reeve workflow deploy`"},
    {TEXT_CONST("Interval"), "EverySeconds is the interval"},
    {TEXT_CONST("ConcurrencyPolicy"), "the orders of two ticks may run at the same time"},
    {TEXT_CONST("StartingDeadlineSeconds"), "CatchUpSeconds says how late a tick may be"},
    {TEXT_CONST("Suspend"), "`reeve schedule pause` pauses a schedule"},
};

const struct field_table schedule_fields = {
    .rows = rows,
    .count = SCHEDULE_FIELD_COUNT,
    .places = places,
    .place_count = SCHEDULE_PLACE_COUNT,
    .foreign = foreign,
    .foreign_count = sizeof(foreign) / sizeof(foreign[0]),
};

bool schedule_fields_take(const struct yaml_node *node, enum schedule_place place,
                          struct workflow_problems *problems, struct field_values *ret_fields)
{
    return fields_take(&schedule_fields, node, (uint32_t)place, problems, ret_fields);
}
