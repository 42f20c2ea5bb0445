/* SPDX-License-Identifier: Apache-2.0 */
/* Known fields. See fields.h. */
#include "workflow/fields.h"

#include "base/suggest.h"
#include "workflow/step_compiler.h"

#include <assert.h>
#include <stdio.h>

static const struct text field_names[FIELD_COUNT] = {
#define FIELD(constant, name) [FIELD_##constant] = TEXT_CONST(name),
#include "workflow/fields.def"
};

#define BIT FIELD_BIT

static const struct {
    const char *phrase; /* "an unknown field of ..." */
    uint64_t known;
    uint64_t required;
} places[PLACE_COUNT] = {
    [PLACE_WORKFLOW] = {"the workflow",
                        BIT(FIELD_COMMENT) | BIT(FIELD_NAME) | BIT(FIELD_VERSION) |
                            BIT(FIELD_TIMEOUT_SECONDS) | BIT(FIELD_INPUT_SHAPE) |
                            BIT(FIELD_DEFAULTS) | BIT(FIELD_STEPS) | BIT(FIELD_OUTPUT),
                        BIT(FIELD_NAME) | BIT(FIELD_VERSION) | BIT(FIELD_STEPS)},
    [PLACE_DEFAULTS] = {"Defaults",
                        BIT(FIELD_COMMENT) | BIT(FIELD_TIMEOUT_SECONDS) | BIT(FIELD_RETRY) |
                            BIT(FIELD_CATCH) | BIT(FIELD_ON_EXHAUSTED) | BIT(FIELD_COMPENSATE),
                        0},
    [PLACE_DEFAULTS_COMPENSATE] = {"Compensate of Defaults",
                                   BIT(FIELD_COMMENT) | BIT(FIELD_TIMEOUT_SECONDS) |
                                       BIT(FIELD_RETRY),
                                   0},
    /* Of every step; its kind has more. */
    [PLACE_STEP] = {"a step",
                    BIT(FIELD_COMMENT) | BIT(FIELD_NAME) | BIT(FIELD_AFTER) | BIT(FIELD_WHEN) |
                        BIT(FIELD_CATCH) | BIT(FIELD_ON_EXHAUSTED),
                    BIT(FIELD_NAME)},
    [PLACE_COMPENSATE] = {"Compensate of a step",
                          BIT(FIELD_COMMENT) | BIT(FIELD_ACTION) | BIT(FIELD_TIMEOUT_SECONDS) |
                              BIT(FIELD_MAX_EXTENSION_SECONDS) | BIT(FIELD_RETRY) |
                              BIT(FIELD_INPUT),
                          BIT(FIELD_ACTION)},
    [PLACE_FAIL] = {"Fail of a step", BIT(FIELD_COMMENT) | BIT(FIELD_ERROR) | BIT(FIELD_MESSAGE),
                    BIT(FIELD_ERROR)},
    [PLACE_RETRIER] = {"a retrier",
                       BIT(FIELD_COMMENT) | BIT(FIELD_ERROR_EQUALS) | BIT(FIELD_INTERVAL_SECONDS) |
                           BIT(FIELD_BACKOFF_RATE) | BIT(FIELD_MAX_ATTEMPTS) |
                           BIT(FIELD_MAX_DELAY_SECONDS) | BIT(FIELD_JITTER_STRATEGY),
                       BIT(FIELD_ERROR_EQUALS)},
    [PLACE_CATCHER] = {"a catcher", BIT(FIELD_COMMENT) | BIT(FIELD_ERROR_EQUALS) | BIT(FIELD_NEXT),
                       BIT(FIELD_ERROR_EQUALS) | BIT(FIELD_NEXT)},
};

const char *workflow_field_name(enum field field)
{
    assert((unsigned)field < FIELD_COUNT);
    return field_names[field].data;
}

static bool is_known(int field, enum workflow_place place)
{
    uint64_t known = places[place].known | (place == PLACE_STEP ? step_kinds_fields() : 0);
    return (known & BIT(field)) != 0;
}

/* Fields of Amazon States Language that people will try, and what there is instead. */
static const struct {
    struct text name;
    const char *instead;
} foreign[] = {
    {TEXT_CONST("StartAt"), "a step with After: [] starts at once"},
    {TEXT_CONST("States"), "the steps are listed in Steps"},
    {TEXT_CONST("Type"), "Agent, Set or Fail says what a step does"},
    {TEXT_CONST("Resource"), "Agent names the agent that does the step"},
    {TEXT_CONST("Parameters"), "Input says what a request carries"},
    {TEXT_CONST("ResultSelector"), "Output says what a step keeps of an answer"},
    {TEXT_CONST("Choices"), "each step of a choice has a When"},
    {TEXT_CONST("Next"), "After names the steps that come before"},
    {TEXT_CONST("End"), "an order ends when all its steps are done"},
    {TEXT_CONST("HeartbeatSeconds"),
     "TimeoutSeconds bounds an attempt, MaxExtensionSeconds what it may ask "
     "for on top"},
    {TEXT_CONST("TimeoutSecondsPath"), "TimeoutSeconds is a number"},
    {TEXT_CONST("ResultPath"), "an output is kept under its step's name"},
    {TEXT_CONST("<<"), "merge keys are not allowed, what steps share belongs in Defaults"},
};

static bool report_foreign(struct text name, struct mark mark, struct workflow_problems *problems)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        if (text_equal(name, foreign[i].name)) {
            problems_add_error(problems, mark, "there is no field %.*s here: %s", TEXT_ARG(name),
                               foreign[i].instead);
            return true;
        }
    }
    return false;
}

static bool report_misplaced(struct text name, struct mark mark, struct workflow_problems *problems)
{
    char where[WORKFLOW_PROBLEM_TEXT_SIZE];
    size_t size = 0;
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (!text_equal(name, field_names[field]))
            continue;
        for (int place = 0; place < PLACE_COUNT && size < sizeof(where); place++) {
            if (is_known(field, (enum workflow_place)place))
                size += (size_t)snprintf(where + size, sizeof(where) - size, "%s%s",
                                         size > 0 ? " or " : "", places[place].phrase);
        }
        problems_add_error(problems, mark, "%.*s does not belong here; it belongs to %s",
                           TEXT_ARG(name), where);
        return true;
    }
    return false;
}

static void report_unknown(const struct yaml_node *key, enum workflow_place place,
                           struct workflow_problems *problems)
{
    struct text candidates[FIELD_COUNT] = {0};
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (is_known(field, place))
            candidates[field] = field_names[field];
    }
    if (report_foreign(key->text, key->mark, problems) ||
        report_misplaced(key->text, key->mark, problems))
        return;
    const struct text *near = suggest_text(key->text, candidates, FIELD_COUNT);
    if (near != NULL)
        problems_add_error(problems, key->mark,
                           "%.*s is an unknown field of %s: did you mean %.*s?",
                           QUOTE_ARG(key->text), places[place].phrase, TEXT_ARG(*near));
    else
        problems_add_error(problems, key->mark, "%.*s is an unknown field of %s",
                           QUOTE_ARG(key->text), places[place].phrase);
}

static int find_field(struct text name, enum workflow_place place)
{
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (is_known(field, place) && text_equal(name, field_names[field]))
            return field;
    }
    return -1;
}

static void report_missing(uint64_t given, enum workflow_place place, struct mark mark,
                           struct workflow_problems *problems)
{
    uint64_t missing = places[place].required & ~given;
    uint64_t marks = place == PLACE_STEP ? step_marks() : 0;
    if ((marks & given) == 0)
        missing |= marks & (~marks + 1); /* the first one of them */
    for (int field = 0; field < FIELD_COUNT; field++) {
        if ((missing & BIT(field)) != 0)
            problems_add_error(problems, mark, "%s has no %.*s", places[place].phrase,
                               TEXT_ARG(field_names[field]));
    }
}

bool workflow_fields_take(const struct yaml_node *node, enum workflow_place place,
                          struct workflow_problems *problems, struct workflow_fields *ret_fields)
{
    assert((unsigned)place < PLACE_COUNT);
    *ret_fields = (struct workflow_fields){.mark = node->mark};
    if (node->kind != NODE_MAPPING) {
        problems_add_error(problems, node->mark, "%s must be a mapping of fields, not %s",
                           places[place].phrase, yaml_node_phrase(node));
        return false;
    }
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        int field = find_field(child->key->text, place);
        if (field < 0) {
            report_unknown(child->key, place, problems);
            continue;
        }
        ret_fields->given |= BIT(field);
        if (yaml_node_is_null(child))
            problems_add_error(problems, child->key->mark,
                               "%.*s has no value: give it one or leave it out",
                               TEXT_ARG(field_names[field]));
        else if (ret_fields->of[field] == NULL)
            ret_fields->of[field] = child;
    }
    report_missing(ret_fields->given, place, node->mark, problems);
    return true;
}
