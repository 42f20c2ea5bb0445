/* SPDX-License-Identifier: Apache-2.0 */
/* See outcomes.h. Tables hold the metrics by the values of their labels: registering one again
 * would search through all of them. */
#include "services/scheduler/owner/outcomes.h"

#include "engine/expression/expression.h"
#include "platform/hash_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define OTHER "other"

enum { LABEL_SIZE = BODY_NAME_BYTES_MAX + 1, KEY_SIZE = 4 * LABEL_SIZE };
_Static_assert(LABEL_SIZE > (int)NAME_BYTES_MAX && LABEL_SIZE > (int)ERROR_NAME_BYTES_MAX,
               "names of workflows, steps and errors fit");

enum attempt_outcome { SUCCEEDED, FAILED, TIMED_OUT, NOT_YET, ATTEMPT_OUTCOME_COUNT };

struct series {
    UT_hash_handle hh;
    struct metrics_counter *counter; /* NULL: the row only tells that its key is known */
    struct metrics_histogram *duration;
    uint32_t key_size;
    char key[KEY_SIZE];
};

/* What becomes of a signal. */
enum signal_outcome {
    SIGNAL_PASSED,
    SIGNAL_NOT_YET,
    SIGNAL_KEPT,
    SIGNAL_REPEATED,
    SIGNAL_REFUSED,
    SIGNAL_OUTCOME_COUNT
};

struct outcomes {
    struct metrics *metrics;
    struct series *workflows; /* known ones */
    struct series *accepted;
    struct series *ended;
    struct series *steps;  /* known ones, with their direction */
    struct series *errors; /* known names that no policy mentions */
    struct series *attempts;
    struct series *expressions; /* that failed, by step */
    struct metrics_counter *asks;
    struct metrics_counter *signals[SIGNAL_OUTCOME_COUNT];
};

/* The labels of an attempt. */
struct attempt_labels {
    char workflow[LABEL_SIZE];
    char step[LABEL_SIZE];
    enum direction direction;
    enum attempt_outcome outcome;
    char error[LABEL_SIZE]; /* "": none */
};

static const char *const direction_labels[] = {"do", "undo"};
_Static_assert(sizeof(direction_labels) / sizeof(direction_labels[0]) == DIRECTION_COUNT,
               "each direction has a label");

static const char *const signal_labels[] = {"passed", "not_yet", "kept", "repeated", "refused"};
_Static_assert(sizeof(signal_labels) / sizeof(signal_labels[0]) == SIGNAL_OUTCOME_COUNT,
               "each outcome has a label");

/* ---- tables ---- */

struct series_key {
    uint32_t size;
    char data[KEY_SIZE];
};

static void key_add(struct series_key *key, const char *text)
{
    size_t size = strlen(text) + 1;
    assert(key->size + size <= sizeof(key->data));
    memcpy(key->data + key->size, text, size);
    key->size += (uint32_t)size;
}

static struct series *find(struct series *table, const struct series_key *key)
{
    struct series *row = NULL;
    assert(key->size > 0 && key->size <= sizeof(key->data));
    HASH_FIND(hh, table, key->data, key->size, row);
    return row;
}

static struct series *add(struct series **table, const struct series_key *key)
{
    struct series *row = calloc(1, sizeof(*row));
    assert(row != NULL);
    assert(find(*table, key) == NULL);
    assert(key->size <= sizeof(row->key));
    memcpy(row->key, key->data, key->size);
    row->key_size = key->size;
    HASH_ADD(hh, *table, key[0], row->key_size, row);
    return row;
}

/* True: the key is one of the first `most` keys. */
static bool admit(struct series **table, const struct series_key *key, uint32_t most)
{
    if (find(*table, key) != NULL)
        return true;
    if (HASH_COUNT(*table) >= most)
        return false;
    add(table, key);
    assert(HASH_COUNT(*table) <= most);
    return true;
}

static void drop(struct series **table)
{
    struct series *row, *next;
    HASH_ITER(hh, *table, row, next) {
        HASH_DEL(*table, row);
        free(row);
    }
    assert(*table == NULL);
}

static void set_label(char label[LABEL_SIZE], struct text text)
{
    int size = snprintf(label, LABEL_SIZE, "%.*s", TEXT_ARG(text));
    assert(size >= 0 && size < LABEL_SIZE); /* limits of names hold for what was decided */
}

/* ---- orders ---- */

static void workflow_label(struct outcomes *outcomes, struct text name, char label[LABEL_SIZE])
{
    struct series_key key = {0};
    set_label(label, name);
    key_add(&key, label);
    if (!admit(&outcomes->workflows, &key, OUTCOMES_WORKFLOWS_MAX))
        set_label(label, TEXT(OTHER));
}

static struct series *ended_series(struct outcomes *outcomes, struct text workflow,
                                   enum order_state state)
{
    struct series_key key = {0};
    char label[LABEL_SIZE];
    const char *outcome = order_state_name(state);
    assert(state == ORDER_PROCESSED || state == ORDER_COMPENSATED || state == ORDER_ERROR);
    workflow_label(outcomes, workflow, label);
    key_add(&key, label);
    key_add(&key, outcome);
    struct series *row = find(outcomes->ended, &key);
    if (row != NULL)
        return row;
    struct metrics_labels labels = METRICS_LABELS("workflow", label, "outcome", outcome);
    row = add(&outcomes->ended, &key);
    row->counter =
        metrics_counter(outcomes->metrics, "reeve_order_outcomes_total",
                        "Orders that were processed, compensated, or came to Error.", labels);
    row->duration =
        metrics_long_histogram(outcomes->metrics, "reeve_order_duration_seconds",
                               "From the acceptance of an order to its outcome.", labels);
    return row;
}

static struct series *accepted_series(struct outcomes *outcomes, struct text workflow)
{
    struct series_key key = {0};
    char label[LABEL_SIZE];
    workflow_label(outcomes, workflow, label);
    key_add(&key, label);
    struct series *row = find(outcomes->accepted, &key);
    if (row != NULL)
        return row;
    /* Outcomes begin at 0: a counter that appears with its first event shows no increase. */
    ended_series(outcomes, workflow, ORDER_PROCESSED);
    ended_series(outcomes, workflow, ORDER_COMPENSATED);
    ended_series(outcomes, workflow, ORDER_ERROR);
    row = add(&outcomes->accepted, &key);
    row->counter = metrics_counter(outcomes->metrics, "reeve_orders_accepted_total",
                                   "Orders accepted.", METRICS_LABEL("workflow", label));
    return row;
}

/* ---- attempts ---- */

static bool policy_names(const struct retry_policy *policy, struct text error)
{
    for (uint32_t i = 0; i < policy->count; i++)
        for (uint32_t k = 0; k < policy->retriers[i].errors.count; k++)
            if (text_equal(policy->retriers[i].errors.names[k], error))
                return true;
    return false;
}

/* A Retry or Catch of the step mentions the error. */
static bool step_names(const struct workflow *workflow, struct text name, enum direction direction,
                       struct text error)
{
    for (uint32_t i = 0; workflow != NULL && i < workflow->step_count; i++) {
        const struct workflow_step *step = &workflow->steps[i];
        if (!text_equal(step->name, name))
            continue;
        if (direction == DIRECTION_UNDO)
            return policy_names(&step->compensate.retry, error);
        for (uint32_t k = 0; k < step->catcher_count; k++)
            for (uint32_t n = 0; n < step->catchers[k].errors.count; n++)
                if (text_equal(step->catchers[k].errors.names[n], error))
                    return true;
        return policy_names(&step->retry, error);
    }
    return false;
}

static struct series_key attempt_key(const struct attempt_labels *labels)
{
    struct series_key key = {0};
    assert(labels->direction < DIRECTION_COUNT && labels->outcome < ATTEMPT_OUTCOME_COUNT);
    const char kind[] = {(char)('0' + labels->direction), (char)('0' + labels->outcome), '\0'};
    key_add(&key, kind);
    key_add(&key, labels->workflow);
    key_add(&key, labels->step);
    key_add(&key, labels->error);
    return key;
}

static struct series *register_attempt(struct outcomes *outcomes, const struct series_key *key,
                                       const struct attempt_labels *labels)
{
    static const char *const names[] = {"succeeded", "failed", "timed_out", "not_yet"};
    _Static_assert(sizeof(names) / sizeof(names[0]) == ATTEMPT_OUTCOME_COUNT, "each has a name");
    const struct metrics_labels all = {{"workflow", "step", "direction", "outcome", "error"},
                                       {labels->workflow, labels->step,
                                        direction_labels[labels->direction], names[labels->outcome],
                                        labels->error}};
    const struct metrics_labels without_error = {
        {all.names[0], all.names[1], all.names[2], all.names[3]},
        {all.values[0], all.values[1], all.values[2], all.values[3]}};
    assert(labels->direction < DIRECTION_COUNT && labels->outcome < ATTEMPT_OUTCOME_COUNT);
    struct series *row = add(&outcomes->attempts, key);
    row->counter = metrics_counter(outcomes->metrics, "reeve_step_attempts_total",
                                   "Attempts of steps that ended.", all);
    row->duration = metrics_long_histogram(
        outcomes->metrics, "reeve_step_attempt_duration_seconds",
        "From the start of an attempt of a step to its report, or to its timeout.", without_error);
    return row;
}

/* Replaces by "other" the step, with its workflow, that exceeds the limit. */
static void bound_step(struct outcomes *outcomes, struct attempt_labels *labels)
{
    struct series_key place = {0};
    key_add(&place, labels->workflow);
    key_add(&place, labels->step);
    key_add(&place, direction_labels[labels->direction]);
    if (!admit(&outcomes->steps, &place, OUTCOMES_STEPS_MAX)) {
        set_label(labels->workflow, TEXT(OTHER));
        set_label(labels->step, TEXT(OTHER));
    }
}

/* Replaces by "other" what exceeds the limits. */
static void bound_labels(struct outcomes *outcomes, const struct workflow *workflow,
                         struct attempt_labels *labels)
{
    struct series_key error = {0};
    bool named = labels->outcome != FAILED || step_names(workflow, text_of(labels->step),
                                                         labels->direction, text_of(labels->error));
    bound_step(outcomes, labels);
    key_add(&error, labels->error);
    if (!named && !admit(&outcomes->errors, &error, OUTCOMES_ERRORS_MAX))
        set_label(labels->error, TEXT(OTHER));
    struct series_key key = attempt_key(labels);
    if (labels->outcome == FAILED && find(outcomes->attempts, &key) == NULL &&
        HASH_COUNT(outcomes->attempts) >= OUTCOMES_ATTEMPTS_MAX)
        set_label(labels->error, TEXT(OTHER));
}

static struct series *attempt_series(struct outcomes *outcomes, const struct workflow *workflow,
                                     struct attempt_labels *labels)
{
    struct series_key key = attempt_key(labels);
    struct series *row = find(outcomes->attempts, &key);
    if (row != NULL)
        return row;
    bound_labels(outcomes, workflow, labels);
    key = attempt_key(labels);
    row = find(outcomes->attempts, &key);
    return row != NULL ? row : register_attempt(outcomes, &key, labels);
}

/* ---- expressions ---- */

static bool is_of_expressions(struct text error_name)
{
    return text_equal(error_name, TEXT(ERROR_QUERY_EVALUATION)) ||
           text_equal(error_name, TEXT(ERROR_DATA_LIMIT));
}

/* An expression of *ret_step failed, or of the order's Output, where that is empty. */
static bool expression_failed(const struct event *event, struct attempt_ref *ret_step)
{
    *ret_step = (struct attempt_ref){0};
    if (event->kind == EVENT_ORDER_PROCESSED)
        return !text_empty(event->order_processed.problem);
    if (event->kind != EVENT_STEP_FAILED && event->kind != EVENT_STEP_FAILED_UNSTARTED)
        return false;
    *ret_step = *event_ref(event);
    return is_of_expressions(event->kind == EVENT_STEP_FAILED
                                 ? event->step_failed.error_name
                                 : event->step_failed_unstarted.error_name);
}

static struct series *expression_series(struct outcomes *outcomes, struct text workflow,
                                        const struct attempt_ref *step)
{
    struct attempt_labels labels = {.direction = step->direction};
    struct series_key key = {0};
    set_label(labels.step, step->step);
    workflow_label(outcomes, workflow, labels.workflow);
    bound_step(outcomes, &labels);
    key_add(&key, labels.workflow);
    key_add(&key, labels.step);
    struct series *row = find(outcomes->expressions, &key);
    if (row != NULL)
        return row;
    row = add(&outcomes->expressions, &key);
    row->counter = metrics_counter(
        outcomes->metrics, "reeve_expression_errors_total",
        "Steps that failed, and orders that ended without their Output, because an expression "
        "failed or its data was too large.",
        METRICS_LABELS("workflow", labels.workflow, "step", labels.step));
    return row;
}

/* ---- Decisions ---- */

/* A Decision, and the order without it. */
struct decided {
    const struct decision *decision;
    const struct order *before; /* NULL: the Decision accepts it, or there is none */
    const struct workflow *workflow;
    struct text workflow_name; /* empty: there is no order */
    int64_t accepted_at;
};

static struct decided decided_of(const struct decision *decision, const struct order *before,
                                 const struct workflow *workflow)
{
    struct decided decided = {decision, before, workflow, {0}, decision->decided_at};
    if (before != NULL) {
        decided.workflow_name = before->details.workflow;
        decided.accepted_at = before->accepted_at;
    } else if (decision->events[0].kind == EVENT_ORDER_ACCEPTED) {
        decided.workflow_name = decision->events[0].order_accepted.details.workflow;
    }
    return decided;
}

static void put(struct outcome_list *list, const struct series *row, int64_t from, int64_t to)
{
    struct observation *observation = &list->observations[list->count++];
    assert(row->counter != NULL);
    observation->counter = row->counter;
    observation->duration = from > 0 ? row->duration : NULL;
    observation->us = (to - from) * 1000;
}

/* A step asks its sub-orders, or an order that is held asks its parent. */
static bool asks_again(const struct decided *decided, const struct event *event)
{
    return event->kind == EVENT_SUBORDERS_ASKED ||
           (event->kind == EVENT_ORDER_DEADLINE_SET && decided->before != NULL &&
            decided->before->state == ORDER_HELD);
}

static enum signal_outcome signal_outcome(const struct event *event)
{
    if (event->kind == EVENT_STEP_PASSED)
        return SIGNAL_PASSED;
    if (event->kind == EVENT_SIGNAL_RECEIVED)
        return event->signal_received.kept ? SIGNAL_KEPT : SIGNAL_NOT_YET;
    return event->kind == EVENT_COMMAND_REJECTED &&
                   text_equal(event->command_rejected.code, error_code_text(CODE_SIGNAL_REPEATED))
               ? SIGNAL_REPEATED
               : SIGNAL_REFUSED;
}

static void put_attempt(struct outcomes *outcomes, const struct decided *decided,
                        const struct attempt_ref *ref, enum attempt_outcome outcome,
                        struct text error, struct outcome_list *list)
{
    const struct order *before = decided->before;
    assert(before != NULL); /* no attempt ends with the Decision that accepts its order */
    struct attempt_labels labels = {.direction = ref->direction, .outcome = outcome};
    int index = order_find_step(before, ref->step);
    int64_t started_at = 0;
    if (index >= 0 && before->steps[index].direction == ref->direction &&
        before->steps[index].attempt == ref->attempt)
        started_at = before->steps[index].started_at;
    set_label(labels.workflow, before->details.workflow);
    set_label(labels.step, ref->step);
    set_label(labels.error, error);
    put(list, attempt_series(outcomes, decided->workflow, &labels), started_at,
        decided->decision->decided_at);
}

/* How an order ended, or ended for now; ORDER_PENDING: the event says nothing about it. */
static const enum order_state ends[EVENT_KIND_COUNT] = {
    [EVENT_ORDER_PROCESSED] = ORDER_PROCESSED,
    [EVENT_ORDER_COMPENSATED] = ORDER_COMPENSATED,
    [EVENT_ORDER_FAILED] = ORDER_ERROR,
};

static void put_event(struct outcomes *outcomes, const struct decided *decided,
                      const struct event *event, struct outcome_list *list)
{
    struct attempt_ref step;
    if (event->kind == EVENT_ORDER_ACCEPTED)
        put(list, accepted_series(outcomes, decided->workflow_name), 0, 0);
    if (asks_again(decided, event))
        list->observations[list->count++] = (struct observation){.counter = outcomes->asks};
    if (expression_failed(event, &step))
        put(list, expression_series(outcomes, decided->workflow_name, &step), 0, 0);
    if (ends[event->kind] != ORDER_PENDING)
        put(list, ended_series(outcomes, decided->workflow_name, ends[event->kind]),
            decided->accepted_at, decided->decision->decided_at);
    else if (event->kind == EVENT_STEP_SUCCEEDED)
        put_attempt(outcomes, decided, event_ref(event), SUCCEEDED, TEXT(""), list);
    else if (event->kind == EVENT_STEP_FAILED && event->step_failed.not_yet)
        put_attempt(outcomes, decided, event_ref(event), NOT_YET, TEXT(""), list);
    else if (event->kind == EVENT_STEP_FAILED)
        put_attempt(outcomes, decided, event_ref(event), FAILED, event->step_failed.error_name,
                    list);
    else if (event->kind == EVENT_STEP_TIMED_OUT)
        put_attempt(outcomes, decided, event_ref(event), TIMED_OUT, TEXT(ERROR_TIMEOUT), list);
}

void outcomes_of(struct outcomes *outcomes, const struct decision *decision,
                 const struct order *before, const struct workflow *workflow, struct arena *arena,
                 struct outcome_list *ret_list)
{
    const struct decided decided = decided_of(decision, before, workflow);
    assert(decision->event_count >= 1);
    ret_list->count = 0;
    ret_list->observations = ARENA_ARRAY(arena, struct observation, 2 * decision->event_count + 1);
    if (decision_command(decision) == COMMAND_SIGNAL_ORDER)
        ret_list->observations[ret_list->count++] = (struct observation){
            .counter = outcomes->signals[signal_outcome(&decision->events[0])]};
    for (uint32_t i = 0; i < decision->event_count && !text_empty(decided.workflow_name); i++)
        put_event(outcomes, &decided, &decision->events[i], ret_list);
    assert(ret_list->count <= 2 * decision->event_count + 1);
}

void outcomes_count(const struct outcome_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        metrics_add(list->observations[i].counter, 1);
        if (list->observations[i].duration != NULL)
            metrics_observe_us(list->observations[i].duration, list->observations[i].us);
    }
}

/* ---- life ---- */

struct outcomes *outcomes_new(struct metrics *metrics)
{
    struct outcomes *outcomes = calloc(1, sizeof(*outcomes));
    assert(outcomes != NULL);
    assert(metrics != NULL);
    outcomes->metrics = metrics;
    outcomes->asks = metrics_counter(
        metrics, "reeve_suborder_asks_total",
        "How often steps asked their sub-orders, and held orders their parents, for an answer.",
        METRICS_NO_LABELS);
    for (int i = 0; i < SIGNAL_OUTCOME_COUNT; i++)
        outcomes->signals[i] =
            metrics_counter(metrics, "reeve_signals_total", "Signals that were decided.",
                            METRICS_LABEL("outcome", signal_labels[i]));
    return outcomes;
}

void outcomes_free(struct outcomes *outcomes)
{
    if (outcomes == NULL)
        return;
    drop(&outcomes->workflows);
    drop(&outcomes->accepted);
    drop(&outcomes->ended);
    drop(&outcomes->steps);
    drop(&outcomes->errors);
    drop(&outcomes->attempts);
    drop(&outcomes->expressions);
    free(outcomes);
}
