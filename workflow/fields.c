/* SPDX-License-Identifier: Apache-2.0 */
/* Known fields. See fields.h. */
#include "workflow/fields.h"

#include "engine/workflow.h"
#include "workflow/values.h"

#include <assert.h>

/* ---- words ---- */

static const char *const nexts[OUTCOME_COUNT] = {[OUTCOME_COMPENSATE] = "$compensate",
                                                 [OUTCOME_ERROR] = "$error",
                                                 [OUTCOME_CONTINUE] = "$continue"};
const struct enum_names next_words = ENUM_NAMES(nexts);

static const char *const exhausted[] = {
    [OUTCOME_COMPENSATE] = "compensate", [OUTCOME_ERROR] = "error"};
const struct enum_names on_exhausted_words = ENUM_NAMES(exhausted);

static const char *const jitters[JITTER_COUNT] = {[JITTER_FULL] = "FULL", [JITTER_NONE] = "NONE"};
const struct enum_names jitter_words = ENUM_NAMES(jitters);

/* A retry would find the same expression and the same data. */
static const char *const reserved[] = {ERROR_ALL,     ERROR_TIMEOUT,          ERROR_TASK_FAILED,
                                       ERROR_NOT_YET, ERROR_QUERY_EVALUATION, ERROR_DATA_LIMIT};
enum { RETRIED = 4 };
const struct enum_names reserved_errors = ENUM_NAMES(reserved);
const struct enum_names retried_errors = {reserved, RETRIED};

/* ---- fields ---- */

static const struct field_row rows[FIELD_COUNT] = {
#define FIELD(constant, name, form, description) \
    [FIELD_##constant] = {TEXT_CONST(name), form, description},
#include "workflow/fields.def"
};

static const struct field_row_at rows_at[] = {
#define FIELD_AT(place, constant, form, description) {place, FIELD_##constant, form, description},
#include "workflow/fields.def"
};

#define FIELD(constant, name, form, description) \
    _Static_assert(sizeof(description) >= FIELD_DESCRIPTION_MIN, name " has a description");
#define FIELD_AT(place, constant, form, description) \
    _Static_assert(sizeof(description) >= FIELD_DESCRIPTION_MIN, #constant " has one at " #place);
#include "workflow/fields.def"

/* ---- places ---- */

#define BIT FIELD_BIT

static const struct field_variant kinds[STEP_KIND_COUNT] = {
#define STEP_KIND(kind, marks, fields, compile, longest_ms) \
    [STEP_KIND_##kind] = {.known = (marks) | (fields), .one_of = (marks)},
#include "workflow/kinds.def"
};

static const struct field_place places[PLACE_COUNT] = {
    [PLACE_WORKFLOW] = {"the workflow",
                        BIT(FIELD_COMMENT) | BIT(FIELD_NAME) | BIT(FIELD_VERSION) |
                            BIT(FIELD_TIMEOUT_SECONDS) | BIT(FIELD_INPUT_SHAPE) |
                            BIT(FIELD_DEFAULTS) | BIT(FIELD_STEPS) | BIT(FIELD_OUTPUT),
                        BIT(FIELD_NAME) | BIT(FIELD_VERSION) | BIT(FIELD_STEPS), 0, NULL, 0},
    [PLACE_DEFAULTS] = {"Defaults",
                        BIT(FIELD_COMMENT) | BIT(FIELD_TIMEOUT_SECONDS) | BIT(FIELD_RETRY) |
                            BIT(FIELD_CATCH) | BIT(FIELD_ON_EXHAUSTED) | BIT(FIELD_COMPENSATE),
                        0, 0, NULL, 0},
    [PLACE_DEFAULTS_COMPENSATE] = {"Compensate of Defaults",
                                   BIT(FIELD_COMMENT) | BIT(FIELD_TIMEOUT_SECONDS) |
                                       BIT(FIELD_RETRY),
                                   0, 0, NULL, 0},
    /* Of every step, and of each kind. */
    [PLACE_STEP] = {"a step",
                    BIT(FIELD_COMMENT) | BIT(FIELD_NAME) | BIT(FIELD_AFTER) | BIT(FIELD_WHEN) |
                        BIT(FIELD_CATCH) | BIT(FIELD_ON_EXHAUSTED)
#define STEP_KIND(kind, marks, fields, compile, longest_ms) | (marks) | (fields)
#include "workflow/kinds.def"
                        ,
                    BIT(FIELD_NAME), 0
#define STEP_KIND(kind, marks, fields, compile, longest_ms) | (marks)
#include "workflow/kinds.def"
                    ,
                    kinds, STEP_KIND_COUNT},
    [PLACE_COMPENSATE] = {"Compensate of a step",
                          BIT(FIELD_COMMENT) | BIT(FIELD_ACTION) | BIT(FIELD_TIMEOUT_SECONDS) |
                              BIT(FIELD_MAX_EXTENSION_SECONDS) | BIT(FIELD_RETRY) |
                              BIT(FIELD_INPUT),
                          BIT(FIELD_ACTION), 0, NULL, 0},
    [PLACE_FAIL] = {"Fail of a step", BIT(FIELD_COMMENT) | BIT(FIELD_ERROR) | BIT(FIELD_MESSAGE),
                    BIT(FIELD_ERROR), 0, NULL, 0},
    [PLACE_WAIT] = {"Wait of a step",
                    BIT(FIELD_COMMENT) | BIT(FIELD_SECONDS) | BIT(FIELD_TIMESTAMP) |
                        BIT(FIELD_SPREAD_SECONDS),
                    0, BIT(FIELD_SECONDS) | BIT(FIELD_TIMESTAMP), NULL, 0},
    [PLACE_AWAIT] = {"Await of a step",
                     BIT(FIELD_COMMENT) | BIT(FIELD_FROM) | BIT(FIELD_OPTIONS) |
                         BIT(FIELD_QUESTION),
                     0, 0, NULL, 0},
    [PLACE_FOR_EACH] = {"ForEach of a step",
                        BIT(FIELD_COMMENT) | BIT(FIELD_ITEMS) | BIT(FIELD_MAX_CONCURRENCY) |
                            BIT(FIELD_TOLERATED_FAILURE_COUNT) | BIT(FIELD_STOP_WHEN) |
                            BIT(FIELD_PRIORITY),
                        BIT(FIELD_ITEMS), 0, NULL, 0},
    [PLACE_RETRIER] = {"a retrier",
                       BIT(FIELD_COMMENT) | BIT(FIELD_ERROR_EQUALS) | BIT(FIELD_INTERVAL_SECONDS) |
                           BIT(FIELD_BACKOFF_RATE) | BIT(FIELD_MAX_ATTEMPTS) |
                           BIT(FIELD_MAX_DELAY_SECONDS) | BIT(FIELD_JITTER_STRATEGY),
                       BIT(FIELD_ERROR_EQUALS), 0, NULL, 0},
    [PLACE_CATCHER] = {"a catcher", BIT(FIELD_COMMENT) | BIT(FIELD_ERROR_EQUALS) | BIT(FIELD_NEXT),
                       BIT(FIELD_ERROR_EQUALS) | BIT(FIELD_NEXT), 0, NULL, 0},
};

/* Fields of Amazon States Language that people will try, and what there is instead. */
static const struct foreign_field foreign[] = {
    {TEXT_CONST("StartAt"), "a step with After: [] starts at once"},
    {TEXT_CONST("States"), "the steps are listed in Steps"},
    {TEXT_CONST("Type"), "Agent, Set, Fail, Wait, Await or Steps says what a step does"},
    {TEXT_CONST("SecondsPath"), "Seconds is an expression, such as input.delay"},
    {TEXT_CONST("TimestampPath"), "Timestamp is an expression, such as input.due"},
    {TEXT_CONST("Resource"), "Agent names the agent that does the step"},
    {TEXT_CONST("Parameters"), "Input says what a request carries"},
    {TEXT_CONST("ResultSelector"), "Output says what a step keeps of an answer"},
    {TEXT_CONST("Choices"), "each step of a choice has a When"},
    {TEXT_CONST("Choice"), "each step of a choice has a When"},
    {TEXT_CONST("Parallel"), "steps with the same After run at the same time"},
    {TEXT_CONST("Map"), "ForEach with Steps runs steps for each item of a list"},
    {TEXT_CONST("Task"), "Agent names the agent that does the step"},
    {TEXT_CONST("Pass"), "Set computes what later steps read as output.STEP"},
    {TEXT_CONST("Succeed"), "an order ends when all its steps are done"},
    {TEXT_CONST("Minutes"), "Seconds is a number, or an expression such as input.minutes * 60"},
    {TEXT_CONST("Hours"), "Seconds is a number, or an expression such as input.hours * 3600"},
    {TEXT_CONST("Days"), "Seconds is a number, or an expression such as input.days * 86400"},
    {TEXT_CONST("Loop"), "ForEach with Steps runs steps for each item of a list, and Until has an "
                         "agent asked again"},
    {TEXT_CONST("Rollback"), "Compensate says what undoes a step"},
    {TEXT_CONST("Description"), "Comment is text for readers"},
    {TEXT_CONST("Next"), "After names the steps that come before"},
    {TEXT_CONST("End"), "an order ends when all its steps are done"},
    {TEXT_CONST("HeartbeatSeconds"),
     "TimeoutSeconds bounds an attempt, MaxExtensionSeconds what it may ask "
     "for on top"},
    {TEXT_CONST("TimeoutSecondsPath"), "TimeoutSeconds is a number"},
    {TEXT_CONST("ResultPath"), "an output is kept under its step's name"},
    {TEXT_CONST("InputPath"), "Input says what a request carries"},
    {TEXT_CONST("OutputPath"), "Output says what a step keeps of an answer"},
    {TEXT_CONST("Arguments"), "Input says what a request carries"},
    {TEXT_CONST("Assign"), "Set computes what later steps read as output.STEP"},
    {TEXT_CONST("Result"), "Set computes what later steps read as output.STEP"},
    {TEXT_CONST("QueryLanguage"), "an expression stands in When, and in ${...}"},
    {TEXT_CONST("Condition"), "When says whether a step runs"},
    {TEXT_CONST("If"), "When says whether a step runs"},
    {TEXT_CONST("Default"), "each step of a choice has a When"},
    {TEXT_CONST("Branches"), "steps with the same After run at the same time"},
    {TEXT_CONST("DependsOn"), "After names the steps that come before"},
    {TEXT_CONST("Cause"), "Message says more about an Error"},
    {TEXT_CONST("ItemProcessor"), "Steps has the steps of an item"},
    {TEXT_CONST("Iterator"), "Steps has the steps of an item"},
    {TEXT_CONST("ItemReader"), "Items is an expression, such as input.parts"},
    {TEXT_CONST("ItemsPath"), "Items is an expression, such as input.parts"},
    {TEXT_CONST("ItemSelector"), "Input says what the steps of an item get"},
    {TEXT_CONST("MaxConcurrencyPath"), "MaxConcurrency is a number"},
    {TEXT_CONST("ToleratedFailurePercentage"), "ToleratedFailureCount is a number, or all"},
    {TEXT_CONST("Cases"), "a file of tests is for `reeve test`"},
    {TEXT_CONST("<<"), "merge keys are not allowed, what steps share belongs in Defaults"},
};

static const struct foreign_field_at foreign_at[] = {
    {PLACE_WORKFLOW, TEXT_CONST("Input"),
     "an order brings its input, and InputShape says what that must be"},
    {PLACE_WORKFLOW, TEXT_CONST("input"),
     "an order brings its input, and InputShape says what that must be"},
    {PLACE_WORKFLOW, TEXT_CONST("Inputs"),
     "an order brings its input, and InputShape says what that must be"},
};

static const struct field_text_at texts_at[] = {
    {PLACE_FAIL, FIELD_ERROR},
    {PLACE_AWAIT, FIELD_FROM},
    {PLACE_COMPENSATE, FIELD_ACTION},
    {PLACE_FOR_EACH, FIELD_ITEMS},
};

const struct field_table workflow_fields = {
    .rows = rows,
    .count = FIELD_COUNT,
    .rows_at = rows_at,
    .row_at_count = sizeof(rows_at) / sizeof(rows_at[0]),
    .places = places,
    .place_count = PLACE_COUNT,
    .foreign = foreign,
    .foreign_count = sizeof(foreign) / sizeof(foreign[0]),
    .foreign_at = foreign_at,
    .foreign_at_count = sizeof(foreign_at) / sizeof(foreign_at[0]),
    .texts_at = texts_at,
    .text_at_count = sizeof(texts_at) / sizeof(texts_at[0]),
};

const char *workflow_field_name(enum field field)
{
    assert((unsigned)field < FIELD_COUNT);
    return rows[field].name.data;
}

bool workflow_fields_take(const struct yaml_node *node, enum workflow_place place,
                          struct workflow_problems *problems, struct field_values *ret_fields)
{
    return fields_take(&workflow_fields, node, (uint32_t)place, problems, ret_fields);
}
