/* SPDX-License-Identifier: Apache-2.0 */
#include "rehearsal/fields.h"

#include "rehearsal/case_file.h"

#include <assert.h>

static const struct field_row rows[CASE_FIELD_COUNT] = {
#define FIELD(constant, name, form, description) \
    [CASE_FIELD_##constant] = {TEXT_CONST(name), form, description},
#include "rehearsal/fields.def"
};

static const struct field_row_at rows_at[] = {
#define FIELD_AT(place, constant, form, description) \
    {place, CASE_FIELD_##constant, form, description},
#include "rehearsal/fields.def"
};

#define FIELD(constant, name, form, description) \
    _Static_assert(sizeof(description) >= FIELD_DESCRIPTION_MIN, name " has a description");
#define FIELD_AT(place, constant, form, description) \
    _Static_assert(sizeof(description) >= FIELD_DESCRIPTION_MIN, #constant " has one at " #place);
#include "rehearsal/fields.def"

#define BIT(field) FIELD_BIT(CASE_FIELD_##field)

static const struct field_variant acts[] = {
#define ACT(name, kind, fields, required) {fields, required, 0, CASE_FIELD_COMMAND, name},
#include "rehearsal/acts.def"
};

/* Of an agent that succeeds, that fails, and that is silent. */
static const struct field_variant answers[] = {
    {.known = BIT(OUTPUT) | BIT(AFTER_SECONDS) | BIT(EXTEND)},
    {.known = BIT(ERROR) | BIT(MESSAGE) | BIT(EFFECT) | BIT(AFTER_SECONDS) | BIT(EXTEND),
     .required = BIT(ERROR)},
    {.known = BIT(NO_ANSWER), .required = BIT(NO_ANSWER)},
};

static const struct field_place places[CASE_PLACE_COUNT] = {
    [CASE_PLACE_FILE] = {"the file", BIT(COMMENT) | BIT(WORKFLOW) | BIT(CASES),
                         BIT(WORKFLOW) | BIT(CASES), 0, NULL, 0},
    [CASE_PLACE_CASE] = {"a case",
                         BIT(COMMENT) | BIT(NAME) | BIT(INPUT) | BIT(ORDER) | BIT(ANSWERS) |
                             BIT(UNDO_ANSWERS) | BIT(OPERATOR) | BIT(SIGNALS) | BIT(EXPECT),
                         BIT(NAME) | BIT(EXPECT), 0, NULL, 0},
    [CASE_PLACE_ANSWER] = {"an answer",
                           BIT(COMMENT) | BIT(OUTPUT) | BIT(ERROR) | BIT(MESSAGE) | BIT(EFFECT) |
                               BIT(AFTER_SECONDS) | BIT(EXTEND) | BIT(NO_ANSWER),
                           0, 0, answers, sizeof(answers) / sizeof(answers[0])},
    [CASE_PLACE_ACT] = {"what an operator does",
                        BIT(COMMENT) | BIT(COMMAND) | BIT(STEP) | BIT(SUBORDER) | BIT(AT_SECONDS) |
                            BIT(REASON) | BIT(OUTPUT) | BIT(INPUT) | BIT(ERROR) | BIT(NEW_KEY) |
                            BIT(NOTHING_APPLIED),
                        BIT(COMMAND), 0, acts, sizeof(acts) / sizeof(acts[0])},
    [CASE_PLACE_SIGNAL] = {"a signal",
                           BIT(COMMENT) | BIT(STEP) | BIT(AT_SECONDS) | BIT(PAYLOAD) | BIT(ID) |
                               BIT(BY) | BIT(GROUPS),
                           BIT(STEP) | BIT(PAYLOAD), 0, NULL, 0},
    [CASE_PLACE_EXPECT] = {"Expect",
                           BIT(COMMENT) | BIT(STATE) | BIT(REASON) | BIT(STEPS) | BIT(SUBORDERS) |
                               BIT(PATH) | BIT(ATTEMPTS) | BIT(INPUTS) | BIT(UNDO_INPUTS) |
                               BIT(OUTPUTS) | BIT(ERRORS) | BIT(OUTPUT) | BIT(REFUSED),
                           0, 0, NULL, 0},
};

/* What tests of other tools have. */
static const struct foreign_field foreign[] = {
    {TEXT_CONST("Tests"), "the tests of a file are listed in Cases"},
    {TEXT_CONST("Mocks"), "Answers says what agents answer"},
    {TEXT_CONST("Assert"), "Expect says what has to come of it"},
};

const struct field_table case_fields = {
    .rows = rows,
    .count = CASE_FIELD_COUNT,
    .rows_at = rows_at,
    .row_at_count = sizeof(rows_at) / sizeof(rows_at[0]),
    .places = places,
    .place_count = CASE_PLACE_COUNT,
    .foreign = foreign,
    .foreign_count = sizeof(foreign) / sizeof(foreign[0]),
};

const char *case_field_name(enum case_field field)
{
    assert((unsigned)field < CASE_FIELD_COUNT);
    return rows[field].name.data;
}

bool case_fields_take(const struct yaml_node *node, enum case_place place,
                      struct workflow_problems *problems, struct field_values *ret_fields)
{
    return fields_take(&case_fields, node, (uint32_t)place, problems, ret_fields);
}
