/* SPDX-License-Identifier: Apache-2.0 */
/* Which state an event leads to. Inside the engine only: for other layers, engine/order.h has
 * order_state_may_follow() and step_state_may_follow(). */
#ifndef ENGINE_LIFECYCLE_H
#define ENGINE_LIFECYCLE_H

#include "engine/event.h"

/* The state of the step after this event of an attempt in `direction`; asserts that the kind is one
 * of a step. Failed and TimedOut lead to Pending: what follows them in the same Decision says
 * more. */
enum step_state step_state_after(enum event_kind kind, enum direction direction);

/* Whether a step in that direction and state can take an event of this kind. */
bool step_event_may_apply(enum event_kind kind, enum direction direction, enum step_state state);

/* Whether the event speaks of a step's attempt: then its payload begins with an attempt_ref. */
bool event_is_of_step(enum event_kind kind);

#endif
