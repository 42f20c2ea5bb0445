/* SPDX-License-Identifier: Apache-2.0 */
/* The lifecycles of orders and steps, as tables: one row per state, one bit per state that may
 * follow; and the states that events lead to, from engine/events.def.
 * docs/reference/state-machines.md shows them. */
#include "engine/lifecycle.h"

#include <assert.h>

#define BIT(state) (1u << (state))

static const unsigned order_follows[] = {
    [ORDER_PENDING] = BIT(ORDER_PROCESSING),
    [ORDER_PROCESSING] =
        BIT(ORDER_PROCESSED) | BIT(ORDER_COMPENSATING) | BIT(ORDER_ERROR) | BIT(ORDER_HELD),
    [ORDER_PROCESSED] = 0,
    [ORDER_COMPENSATING] = BIT(ORDER_COMPENSATED) | BIT(ORDER_ERROR),
    [ORDER_COMPENSATED] = 0,
    [ORDER_ERROR] = BIT(ORDER_PROCESSING) | BIT(ORDER_COMPENSATING),
    [ORDER_HELD] = BIT(ORDER_PROCESSED) | BIT(ORDER_COMPENSATING),
};
_Static_assert(sizeof(order_follows) / sizeof(order_follows[0]) == ORDER_STATE_COUNT,
               "one row per state of an order");

/* Processing goes back to Pending when an attempt has failed; Pending to Error when it was the last
 * one, or to Caught. A step without attempts goes from Pending to Processed. Undoing leads through
 * Processing again: from Processed, and, where it is not known whether the attempts did anything,
 * from Pending and Error; by way of Pending when the undo is queued. Operators end by hand what is
 * Pending, Waiting or in Error; a step that waits, and fails by hand, fails from Pending. */
static const unsigned step_follows[] = {
    [STEP_PENDING] = BIT(STEP_PROCESSING) | BIT(STEP_ERROR) | BIT(STEP_SKIPPED) |
                     BIT(STEP_PROCESSED) | BIT(STEP_COMPENSATED) | BIT(STEP_CAUGHT) |
                     BIT(STEP_WAITING),
    [STEP_PROCESSING] = BIT(STEP_PENDING) | BIT(STEP_PROCESSED) | BIT(STEP_COMPENSATED),
    [STEP_PROCESSED] = BIT(STEP_PROCESSING) | BIT(STEP_PENDING),
    [STEP_ERROR] = BIT(STEP_PENDING) | BIT(STEP_PROCESSING) | BIT(STEP_SKIPPED) |
                   BIT(STEP_PROCESSED) | BIT(STEP_COMPENSATED),
    [STEP_COMPENSATED] = 0,
    [STEP_SKIPPED] = 0,
    [STEP_CAUGHT] = 0,
    [STEP_WAITING] = BIT(STEP_PROCESSED) | BIT(STEP_PENDING) | BIT(STEP_SKIPPED),
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

/* ---- after an event ---- */

static const uint8_t order_after[EVENT_KIND_COUNT] = {
#define ORDER_EVENT(number, kind, record, payload, words, answers, status, state, apply, check) \
    [EVENT_##kind] = (state),
#include "engine/events.def"
};

struct state_after {
    enum step_state of[DIRECTION_COUNT];
    bool stays; /* the step may be in that state already */
};

static const struct state_after step_after[EVENT_KIND_COUNT] = {
#define STEP_EVENT(number, kind, record, payload, words, answers, status, attempt, after_do, \
                   after_undo, may_stay, apply, check)                                       \
    [EVENT_##kind] = {.of = {after_do, after_undo}, .stays = (may_stay)},
#include "engine/events.def"
};

enum order_state order_state_after(const struct order *order, enum event_kind kind)
{
    assert(event_changes_order(kind) && !event_is_of_step(kind));
    if (order_after[kind] == ORDER_STAYS)
        return order->state;
    return order_after[kind] == ORDER_RETURNS ? order->error_from
                                              : (enum order_state)order_after[kind];
}

bool order_event_may_apply(const struct order *order, enum event_kind kind)
{
    return order_after[kind] == ORDER_STAYS ||
           order_state_may_follow(order->state, order_state_after(order, kind));
}

enum step_state step_state_after(enum event_kind kind, enum direction direction)
{
    assert(event_is_of_step(kind));
    assert((unsigned)direction < DIRECTION_COUNT);
    return step_after[kind].of[direction];
}

bool step_event_may_apply(enum event_kind kind, enum direction direction, enum step_state state)
{
    assert((unsigned)state < STEP_STATE_COUNT);
    enum step_state next = step_state_after(kind, direction);
    return next != STEP_NEVER &&
           (step_state_may_follow(state, next) || (step_after[kind].stays && state == next));
}
