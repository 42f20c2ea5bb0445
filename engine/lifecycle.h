/* SPDX-License-Identifier: Apache-2.0 */
/* Which state an event leads to. Inside the engine only: for other layers, engine/order.h has
 * order_state_may_follow() and step_state_may_follow(). */
#ifndef ENGINE_LIFECYCLE_H
#define ENGINE_LIFECYCLE_H

#include "engine/event.h"

/* Stand for a state of the order, or of the step, in engine/events.def. */
#define ORDER_STAYS ORDER_STATE_COUNT
#define ORDER_RETURNS (ORDER_STATE_COUNT + 1)
#define STEP_NEVER STEP_STATE_COUNT

/* The state of the order after an event that is about the order as a whole. */
enum order_state order_state_after(const struct order *order, enum event_kind kind);
/* Whether the order's state allows an event of this kind. */
bool order_event_may_apply(const struct order *order, enum event_kind kind);

/* The state of the step after this event of an attempt in `direction`; STEP_NEVER: no attempt in
 * that direction has such an event. Asserts that the kind is one of a step. */
enum step_state step_state_after(enum event_kind kind, enum direction direction);

/* Whether a step in that direction and state can take an event of this kind. */
bool step_event_may_apply(enum event_kind kind, enum direction direction, enum step_state state);

#endif
