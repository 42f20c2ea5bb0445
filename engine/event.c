/* SPDX-License-Identifier: Apache-2.0 */
/* What readers may know of an event by its kind: the rows of engine/events.def as a table. What
 * only one file needs of the rows it takes itself: names.c, lifecycle.c, effects.c, apply_*.c. */
#include "engine/event.h"

#include "engine/limits.h"

#include <assert.h>
#include <stddef.h>

enum payload {
#define PAYLOAD(type, member) PAYLOAD_##member,
#include "engine/events.def"
};

struct event_row {
    const char *words;
    enum command_kind answers;
    enum payload payload;
    bool changes_order;
    bool is_of_step;
    enum attempt_change attempt; /* of a step's */
};

static const struct event_row rows[] = {
#define ANSWER_EVENT(number, kind, record, payload, words, answers, status) \
    [EVENT_##kind] = {words, answers, PAYLOAD_##payload, false, false, 0},
#define ORDER_EVENT(number, kind, record, payload, words, answers, status, state, apply, check) \
    [EVENT_##kind] = {words, answers, PAYLOAD_##payload, true, false, 0},
#define STEP_EVENT(number, kind, record, payload, words, answers, status, attempt, after_do, \
                   after_undo, stays, apply, check)                                          \
    [EVENT_##kind] = {words, answers, PAYLOAD_##payload, true, true, attempt},
#include "engine/events.def"
};

enum row_number {
    ROW_0,
#define EVENT(number, ...) ROW_##number,
#include "engine/events.def"
};
#define EVENT(number, kind, record, ...) \
    _Static_assert(ROW_##number == (number), #record " is in its place");
#include "engine/events.def"

#define STEP_EVENT(number, kind, record, payload, ...)                                     \
    _Static_assert(offsetof(struct event, payload.ref) == offsetof(struct event, payload), \
                   #record " begins with the attempt that it is about");
#include "engine/events.def"

static inline const struct event_row *row_of(enum event_kind kind)
{
    assert(kind > 0 && kind < EVENT_KIND_COUNT);
    return &rows[kind];
}

const char *event_words(enum event_kind kind)
{
    return row_of(kind)->words;
}

bool event_changes_order(enum event_kind kind)
{
    return row_of(kind)->changes_order;
}

bool decision_changes_order(const struct decision *decision)
{
    assert(decision->event_count > 0 && decision->event_count <= DECISION_EVENTS_READ_MAX);
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (event_changes_order(decision->events[i].kind))
            return true;
    }
    return false;
}

enum command_kind decision_command(const struct decision *decision)
{
    const struct event *first = &decision->events[0];
    assert(decision->event_count > 0);
    if (first->kind == EVENT_COMMAND_REJECTED)
        return first->command_rejected.command;
    /* With a signal, unless an early one was taken by a step that had been put off. */
    if (first->kind == EVENT_STEP_PASSED && !text_empty(first->step_passed.by))
        return COMMAND_SIGNAL_ORDER;
    if (first->kind == EVENT_REPORT_IGNORED && first->report_ignored.parent != NULL)
        return COMMAND_REPORT_SUBORDER;
    if (first->kind == EVENT_SUBORDER_ENDED && !text_empty(first->suborder_ended.by))
        return COMMAND_FAIL_STEP;
    if (first->kind == EVENT_COMPENSATION_STARTED &&
        text_equal(first->order_marked.code, error_code_text(CODE_RECALLED)))
        return COMMAND_SETTLE_SUBORDER;
    return row_of(first->kind)->answers;
}

bool event_is_of_step(enum event_kind kind)
{
    return row_of(kind)->is_of_step;
}

const struct attempt_ref *event_ref(const struct event *event)
{
    assert(event_is_of_step(event->kind));
    return &event->step_marked.ref; /* where it is in all of them */
}

enum attempt_change event_attempt_change(enum event_kind kind)
{
    assert(event_is_of_step(kind));
    return rows[kind].attempt;
}

bool event_makes_request(enum event_kind kind)
{
    const struct event_row *row = row_of(kind);
    return row->is_of_step && (row->attempt == ATTEMPT_STARTS || row->attempt == ATTEMPT_GOES_ON);
}

const struct order_marked *event_marked(const struct event *event)
{
    return row_of(event->kind)->payload == PAYLOAD_order_marked ? &event->order_marked : NULL;
}
