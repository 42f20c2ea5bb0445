/* SPDX-License-Identifier: Apache-2.0 */
/* The appliers, named by the rows of engine/events.def: inside the engine only (from outside:
 * order_apply() in engine/engine.h). No rules in here: what follows from the state was decided and
 * stands in the event. */
#ifndef ENGINE_APPLY_H
#define ENGINE_APPLY_H

#include "base/arena.h"
#include "engine/event.h"

struct apply_ctx {
    struct order *order;
    uint64_t version;
    int64_t offset; /* of the Decision in events[p]; unknown while it is decided */
    int64_t decided_at;
    struct arena *arena;
    bool borrow; /* texts and lines are borrowed from the event: engine_decide()'s scratch copy */
};

/* Folds one event that changes the order. */
void apply_event(const struct apply_ctx *ctx, const struct event *event);

/* The two halves of it. */
void apply_order_event(const struct apply_ctx *ctx, const struct event *event);
void apply_step_event(const struct apply_ctx *ctx, const struct event *event);

/* What keeps an event that was read from a log from being applied, or NULL. */
const char *order_event_problem(const struct order *order, const struct decision *decision,
                                const struct event *event);
const char *step_event_problem(const struct order *order, const struct event *event);

/* The step is done in that direction from now on: the counts are those of one. */
void apply_turn(struct step *step, enum direction direction);

/* ---- apply_suborders.c, for the rows of engine/events.def ---- */

typedef void apply_step_function(const struct apply_ctx *ctx, struct step *step,
                                 const struct event *event);
typedef const char *step_problem_function(const struct step *step, const struct event *event);
typedef void apply_order_function(const struct apply_ctx *ctx, const struct event *event);
typedef const char *order_problem_function(const struct order *order,
                                           const struct decision *decision,
                                           const struct event *event);
apply_step_function suborders_started, suborders_submitted, suborders_asked, suborders_recalled;
step_problem_function suborders_started_problem, suborders_submitted_problem,
    suborders_asked_problem, suborders_recalled_problem;
apply_order_function suborder_ended, order_held;
order_problem_function suborder_ended_problem, order_held_problem;
/* They are done: what its items have put out is in the step's output. */
struct suborders *apply_suborders_done(const struct apply_ctx *ctx, struct suborders *suborders);

/* What becomes of a text of the event: a copy, or itself when it is borrowed. `old` is kept when it
 * says the same, so that repeated values do not fill the arena. */
struct text apply_text(const struct apply_ctx *ctx, struct text old, struct text text);

#endif
