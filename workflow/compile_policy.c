/* SPDX-License-Identifier: Apache-2.0 */
/* Retry, Catch and OnExhausted. */
#include "base/names.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "workflow/compile.h"

/* The reserved errors without their prefix. */
static const struct text bare[] = {TEXT_CONST("ALL"),
                                   TEXT_CONST("Timeout"),
                                   TEXT_CONST("TaskFailed"),
                                   TEXT_CONST("NotYet"),
                                   TEXT_CONST("QueryEvaluationError"),
                                   TEXT_CONST("DataLimitExceeded")};
enum { RESERVED_COUNT = sizeof(bare) / sizeof(bare[0]) };

/* ---- ErrorEquals ---- */

static bool set_has(const struct error_set *set, struct text name)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (text_equal(set->names[i], name))
            return true;
    }
    return false;
}

static bool has_prefix(struct text name)
{
    struct text prefix = TEXT("States.");
    if (name.size < prefix.size)
        return false;
    for (uint32_t i = 0; i < prefix.size; i++) {
        if ((name.data[i] | 0x20) != (prefix.data[i] | 0x20))
            return false;
    }
    return true;
}

/* False: a reserved name, and wrong. */
static bool check_reserved(const struct values *values, const struct yaml_node *node)
{
    struct text name = node->text;
    struct text reserved[RESERVED_COUNT];
    for (uint32_t i = 0; i < RESERVED_COUNT; i++)
        reserved[i] = text_of(reserved_errors.names[i]);
    uint32_t which = 0;
    if (enum_names_find(&reserved_errors, name, &which))
        return true;
    if (has_prefix(name)) {
        const struct text *near = suggest_text(name, reserved, RESERVED_COUNT);
        if (near != NULL)
            problems_add_error(values->problems, node->mark,
                               "%.*s is not one of the reserved errors: did you mean %.*s?",
                               QUOTE_ARG(name), TEXT_ARG(*near));
        else
            problems_add_error(values->problems, node->mark,
                               "%.*s is not one of the reserved errors: States.ALL, "
                               "States.Timeout, States.TaskFailed, States.NotYet, "
                               "States.QueryEvaluationError and States.DataLimitExceeded",
                               QUOTE_ARG(name));
        return false;
    }
    /* A slip in the prefix, or none at all. */
    const struct text *near = suggest_within(name, reserved, RESERVED_COUNT, 2);
    for (int i = 0; i < RESERVED_COUNT; i++) {
        if (suggest_within(name, &bare[i], 1, 0) != NULL)
            near = &reserved[i];
    }
    if (near != NULL)
        problems_add_warning(values->problems, node->mark,
                             "%.*s counts as an error of the agent's own: did you mean %.*s?",
                             QUOTE_ARG(name), TEXT_ARG(*near));
    return true;
}

static void add_error(const struct values *values, const struct yaml_node *node,
                      struct error_set *set)
{
    if (!value_text(values, node, "an error name") || !check_reserved(values, node))
        return;
    if (text_empty(node->text) || node->text.size > ERROR_NAME_BYTES_MAX)
        problems_add_error(values->problems, node->mark,
                           "an error name has %u bytes; it must have 1 to %d", node->text.size,
                           ERROR_NAME_BYTES_MAX);
    else if (!utf8_printable(node->text))
        problems_add_error(values->problems, node->mark,
                           "an error name must be printable: no agent can report this one");
    else if (set_has(set, node->text))
        problems_add_warning(values->problems, node->mark, "%.*s is named twice",
                             QUOTE_ARG(node->text));
    else if (set->count < ERRORS_EQUAL_MAX)
        set->names[set->count++] = arena_text(values->arena, node->text);
}

static void read_errors(const struct values *values, const struct yaml_node *node,
                        struct error_set *set)
{
    *set = (struct error_set){0};
    if (node == NULL)
        return;
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(values->problems, node->mark,
                           "ErrorEquals must be a list of error names, not %s",
                           yaml_node_phrase(node));
        return;
    }
    if (node->count == 0 || node->count > ERRORS_EQUAL_MAX)
        problems_add_error(values->problems, node->mark,
                           "ErrorEquals names %u errors; it must name 1 to %d", node->count,
                           ERRORS_EQUAL_MAX);
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next)
        add_error(values, child, set);
    if (set->count > 1 && set_has(set, TEXT(ERROR_ALL)))
        problems_add_error(values->problems, node->mark,
                           "States.ALL must stand alone: it matches every error");
}

/* ---- Retry ---- */

/* They are what they are however often the step is tried. */
static void check_retried(const struct values *values, const struct yaml_node *node,
                          const struct error_set *errors)
{
    for (uint32_t i = retried_errors.count; i < reserved_errors.count; i++) {
        if (set_has(errors, text_of(reserved_errors.names[i])))
            problems_add_error(values->problems, node->mark,
                               "%s is never retried: name it in Catch", reserved_errors.names[i]);
    }
}

static void read_retrier(const struct values *values, const struct yaml_node *node,
                         struct retrier *retrier)
{
    struct field_values fields;
    *retrier = (struct retrier){
        .interval_ms = DEFAULT_INTERVAL_MS,
        .backoff_rate_milli = DEFAULT_BACKOFF_RATE_MILLI,
        .max_attempts = DEFAULT_MAX_ATTEMPTS,
        .jitter = JITTER_FULL,
    };
    if (!workflow_fields_take(node, PLACE_RETRIER, values->problems, &fields))
        return;
    read_errors(values, fields.of[FIELD_ERROR_EQUALS], &retrier->errors);
    check_retried(values, node, &retrier->errors);
    if (fields.of[FIELD_INTERVAL_SECONDS] != NULL)
        value_duration(values, fields.of[FIELD_INTERVAL_SECONDS], "IntervalSeconds",
                       &retrier->interval_ms);
    if (fields.of[FIELD_BACKOFF_RATE] != NULL)
        value_rate(values, fields.of[FIELD_BACKOFF_RATE], "BackoffRate",
                   &retrier->backoff_rate_milli);
    const struct yaml_node *max_attempts = fields.of[FIELD_MAX_ATTEMPTS];
    int64_t attempts = DEFAULT_MAX_ATTEMPTS;
    if (max_attempts != NULL &&
        value_whole(values, max_attempts, "MaxAttempts", 0, RETRIES_MAX, &attempts)) {
        if (attempts == 0)
            problems_add_error(values->problems, max_attempts->mark,
                               "MaxAttempts 0 never retries, but the next matching retrier would: "
                               "remove this one");
        retrier->max_attempts = (uint32_t)attempts;
    }
    const struct yaml_node *max_delay = fields.of[FIELD_MAX_DELAY_SECONDS];
    if (max_delay != NULL &&
        value_duration(values, max_delay, "MaxDelaySeconds", &retrier->max_delay_ms) &&
        retrier->max_delay_ms < retrier->interval_ms)
        problems_add_error(values->problems, max_delay->mark,
                           "MaxDelaySeconds is shorter than IntervalSeconds");
    uint32_t jitter = JITTER_FULL;
    if (fields.of[FIELD_JITTER_STRATEGY] != NULL &&
        value_word(values, fields.of[FIELD_JITTER_STRATEGY], "JitterStrategy", &jitter_words,
                   &jitter))
        retrier->jitter = (enum jitter)jitter;
}

/* A list of at most `most`; 0 elements are allowed. */
static bool check_list(const struct values *values, const struct yaml_node *node, const char *what,
                       uint32_t most)
{
    if (node->kind != NODE_SEQUENCE) {
        problems_add_error(values->problems, node->mark, "%s must be a list, not %s", what,
                           yaml_node_phrase(node));
        return false;
    }
    if (node->count > most) {
        problems_add_error(values->problems, node->mark, "%s has %u elements; the limit is %u",
                           what, node->count, most);
        return false;
    }
    return true;
}

bool compile_retry(const struct values *values, const struct yaml_node *node,
                   struct retry_policy *ret_policy)
{
    if (!check_list(values, node, "Retry", RETRIERS_MAX))
        return false;
    struct retrier *retriers = ARENA_ARRAY(values->arena, struct retrier, node->count);
    uint32_t count = 0;
    bool all = false;
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        struct retrier *retrier = &retriers[count++];
        read_retrier(values, child, retrier);
        /* Phases of the same errors are allowed: the retriers take turns. */
        bool this_all = set_has(&retrier->errors, TEXT(ERROR_ALL));
        if (all && !this_all && retrier->errors.count > 0)
            problems_add_error(values->problems, child->mark,
                               "this retrier follows one for States.ALL, which must come last");
        all = all || this_all;
    }
    *ret_policy = (struct retry_policy){retriers, count};
    return true;
}

struct retry_policy compile_default_undo_policy(struct arena *arena)
{
    struct retrier *retrier = ARENA_NEW(arena, struct retrier);
    *retrier = (struct retrier){
        .errors = {.names = {TEXT(ERROR_ALL)}, .count = 1},
        .interval_ms = DEFAULT_INTERVAL_MS,
        .backoff_rate_milli = DEFAULT_BACKOFF_RATE_MILLI,
        .max_attempts = DEFAULT_UNDO_MAX_ATTEMPTS,
        .jitter = JITTER_FULL,
    };
    retrier->errors.names[0] = arena_text(arena, TEXT(ERROR_ALL));
    return (struct retry_policy){retrier, 1};
}

/* ---- Catch, OnExhausted ---- */

/* Whether the catchers before would catch all that this one names. */
static bool is_covered(const struct error_set *errors, const struct catcher *before, uint32_t count)
{
    for (uint32_t i = 0; i < errors->count; i++) {
        bool covered = false;
        for (uint32_t j = 0; j < count && !covered; j++) {
            const struct error_set *earlier = &before[j].errors;
            if (text_equal(errors->names[i], TEXT(ERROR_ALL)))
                covered = set_has(earlier, TEXT(ERROR_ALL));
            else
                covered = error_set_matches(earlier, errors->names[i]);
        }
        if (!covered)
            return false;
    }
    return errors->count > 0;
}

/* A step, where other engines have it. */
static void read_next(const struct values *values, const struct yaml_node *node,
                      enum outcome *ret_outcome)
{
    uint32_t next = OUTCOME_COMPENSATE;
    struct text words[OUTCOME_COUNT];
    for (uint32_t i = 0; i < OUTCOME_COUNT; i++)
        words[i] = text_of(next_words.names[i]);
    if (node->kind == NODE_SCALAR && !enum_names_find(&next_words, node->text, &next) &&
        name_characters_valid(node->text) &&
        suggest_text(node->text, words, OUTCOME_COUNT) == NULL) {
        problems_add_error(values->problems, node->mark,
                           "Next must be $compensate, $error or $continue, not a step: write "
                           "$continue, and When: has(error.STEP) in step %.*s, which comes after "
                           "this one",
                           QUOTE_ARG(node->text));
        return;
    }
    if (value_word(values, node, "Next", &next_words, &next))
        *ret_outcome = (enum outcome)next;
}

bool compile_catch(const struct values *values, const struct yaml_node *node,
                   enum workflow_place place, const struct catcher **ret_catchers,
                   uint32_t *ret_count)
{
    if (!check_list(values, node, "Catch", CATCHERS_MAX))
        return false;
    struct catcher *catchers = ARENA_ARRAY(values->arena, struct catcher, node->count);
    uint32_t count = 0;
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        struct catcher *catcher = &catchers[count];
        struct field_values fields;
        if (!workflow_fields_take(child, PLACE_CATCHER, values->problems, &fields))
            continue;
        read_errors(values, fields.of[FIELD_ERROR_EQUALS], &catcher->errors);
        catcher->next = OUTCOME_COMPENSATE;
        if (fields.of[FIELD_NEXT] != NULL)
            read_next(values, fields.of[FIELD_NEXT], &catcher->next);
        if (catcher->next == OUTCOME_CONTINUE && place == PLACE_DEFAULTS)
            problems_add_error(
                values->problems, fields.of[FIELD_NEXT]->mark,
                "$continue is not allowed in Defaults: give it to the steps that the "
                "order can do without");
        if (is_covered(&catcher->errors, catchers, count))
            problems_add_error(
                values->problems, child->mark,
                "this catcher is never reached: earlier ones catch all that it names");
        count++;
    }
    *ret_catchers = catchers;
    *ret_count = count;
    return true;
}

bool compile_on_exhausted(const struct values *values, const struct yaml_node *node,
                          enum outcome *ret_outcome)
{
    uint32_t outcome = OUTCOME_COMPENSATE;
    if (!value_word(values, node, "OnExhausted", &on_exhausted_words, &outcome))
        return false;
    *ret_outcome = (enum outcome)outcome;
    return true;
}
