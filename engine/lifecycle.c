/* SPDX-License-Identifier: Apache-2.0 */
/* The lifecycles of orders and steps, as tables: one row per state, one bit per state that may
 * follow. docs/reference/state-machines.md shows them. */
#include "engine/lifecycle.h"

#include <assert.h>

#define BIT(state) (1u << (state))

static const unsigned order_follows[] = {
    [ORDER_PENDING] = BIT(ORDER_PROCESSING),
    [ORDER_PROCESSING] = BIT(ORDER_PROCESSED) | BIT(ORDER_COMPENSATING) | BIT(ORDER_ERROR),
    [ORDER_PROCESSED] = 0,
    [ORDER_COMPENSATING] = BIT(ORDER_COMPENSATED) | BIT(ORDER_ERROR),
    [ORDER_COMPENSATED] = 0,
    [ORDER_ERROR] = BIT(ORDER_PROCESSING) | BIT(ORDER_COMPENSATING),
};
_Static_assert(sizeof(order_follows) / sizeof(order_follows[0]) == ORDER_STATE_COUNT,
               "one row per state of an order");

/* Processing goes back to Pending when an attempt has failed; Pending to Error when it was the last
 * one. Undoing leads through Processing again: from Processed, and, where it is not known whether
 * the attempts did anything, from Pending and Error; by way of Pending when the undo is queued.
 * Operators end by hand what is Pending or in Error. */
static const unsigned step_follows[] = {
    [STEP_PENDING] = BIT(STEP_PROCESSING) | BIT(STEP_ERROR) | BIT(STEP_SKIPPED) |
                     BIT(STEP_PROCESSED) | BIT(STEP_COMPENSATED),
    [STEP_PROCESSING] = BIT(STEP_PENDING) | BIT(STEP_PROCESSED) | BIT(STEP_COMPENSATED),
    [STEP_PROCESSED] = BIT(STEP_PROCESSING) | BIT(STEP_PENDING),
    [STEP_ERROR] = BIT(STEP_PENDING) | BIT(STEP_PROCESSING) | BIT(STEP_SKIPPED) |
                   BIT(STEP_PROCESSED) | BIT(STEP_COMPENSATED),
    [STEP_COMPENSATED] = 0,
    [STEP_SKIPPED] = 0,
};
_Static_assert(sizeof(step_follows) / sizeof(step_follows[0]) == STEP_STATE_COUNT,
               "one row per state of a step");

bool order_state_may_follow(enum order_state from, enum order_state to)
{
    assert((unsigned)from < ORDER_STATE_COUNT);
    assert((unsigned)to < ORDER_STATE_COUNT);
    return (order_follows[from] & BIT(to)) != 0;
}

bool step_state_may_follow(enum step_state from, enum step_state to)
{
    assert((unsigned)from < STEP_STATE_COUNT);
    assert((unsigned)to < STEP_STATE_COUNT);
    return (step_follows[from] & BIT(to)) != 0;
}

/* By kind and direction. A successful undo stays Processing until StepCompensated closes it, in the
 * same Decision. Only attempts in direction do are skipped, only undos compensate. */
static const enum step_state state_after[EVENT_KIND_COUNT][DIRECTION_COUNT] = {
    [EVENT_STEP_STARTED] = {STEP_PROCESSING, STEP_PROCESSING},
    [EVENT_STEP_SUCCEEDED] = {STEP_PROCESSED, STEP_PROCESSING},
    [EVENT_STEP_FAILED] = {STEP_PENDING, STEP_PENDING},
    [EVENT_STEP_TIMED_OUT] = {STEP_PENDING, STEP_PENDING},
    [EVENT_STEP_RETRY_SCHEDULED] = {STEP_PENDING, STEP_PENDING},
    [EVENT_STEP_EXHAUSTED] = {STEP_ERROR, STEP_ERROR},
    [EVENT_STEP_SKIPPED] = {STEP_SKIPPED, STEP_STATE_COUNT},
    [EVENT_STEP_COMPENSATED] = {STEP_STATE_COUNT, STEP_COMPENSATED},
    [EVENT_STEP_RESUBMITTED] = {STEP_PENDING, STEP_PENDING},
    [EVENT_STEP_QUEUED] = {STEP_PENDING, STEP_PENDING},
    [EVENT_STEP_EXTENDED] = {STEP_PROCESSING, STEP_PROCESSING},
    [EVENT_STEP_COMPLETED_BY_HAND] = {STEP_PROCESSED, STEP_COMPENSATED},
    [EVENT_STEP_SKIPPED_BY_HAND] = {STEP_SKIPPED, STEP_STATE_COUNT},
    [EVENT_STEP_FAILED_BY_HAND] = {STEP_PENDING, STEP_PENDING},
};

bool event_is_of_step(enum event_kind kind)
{
    assert(kind > 0 && kind < EVENT_KIND_COUNT);
    return (kind >= EVENT_STEP_STARTED && kind <= EVENT_STEP_RESUBMITTED) ||
           kind == EVENT_STEP_QUEUED || kind == EVENT_STEP_EXTENDED ||
           (kind >= EVENT_STEP_COMPLETED_BY_HAND && kind <= EVENT_STEP_FAILED_BY_HAND);
}

enum step_state step_state_after(enum event_kind kind, enum direction direction)
{
    assert(event_is_of_step(kind));
    assert((unsigned)direction < DIRECTION_COUNT);
    enum step_state state = state_after[kind][direction];
    assert(state != STEP_STATE_COUNT);
    return state;
}

/* Some events leave the state as it is: the wait for a retry follows the failure, a successful undo
 * is yet to be closed, what is queued is Pending already unless it is to be undone, what has more
 * time goes on, what fails by hand is Pending before and after. */
bool step_event_may_apply(enum event_kind kind, enum direction direction, enum step_state state)
{
    assert(event_is_of_step(kind));
    assert((unsigned)direction < DIRECTION_COUNT);
    assert((unsigned)state < STEP_STATE_COUNT);
    enum step_state next = state_after[kind][direction];
    bool keeps = kind == EVENT_STEP_RETRY_SCHEDULED || kind == EVENT_STEP_SUCCEEDED ||
                 kind == EVENT_STEP_QUEUED || kind == EVENT_STEP_EXTENDED ||
                 kind == EVENT_STEP_FAILED_BY_HAND;
    return next != STEP_STATE_COUNT &&
           (step_state_may_follow(state, next) || (keeps && state == next));
}

bool event_changes_order(enum event_kind kind)
{
    assert(kind > 0 && kind < EVENT_KIND_COUNT);
    return kind < EVENT_COMMAND_REJECTED || kind > EVENT_COMMAND_DEAD_LETTERED;
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
