/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a rehearsal. Inside rehearsal/ only. */
#ifndef REHEARSAL_RUN_H
#define REHEARSAL_RUN_H

#include "rehearsal/rehearsal.h"

/* Of a place: "STEP~ITEM/" for each level. */
enum { RUN_PATH_BYTES_MAX = CASE_DEPTH_MAX * (NAME_BYTES_MAX + 6) };

struct run_place {
    struct rehearsal_place shown;
    struct run_order *newest;                 /* NULL: none was submitted */
    uint32_t *answers_taken[DIRECTION_COUNT]; /* by step */
};

/* An order that was submitted. */
struct run_order {
    struct order order; /* version 0: it was not accepted */
    struct text id;
    const struct workflow *workflow;
    struct run_place *place;
    uint64_t seen[DIRECTION_COUNT]; /* steps that are in the path */
    int64_t due_at;                 /* its first deadline; INT64_MAX: it has none */
    bool works;                     /* something is due that it goes on with */
    bool limited;                   /* its time, or that of a step, will be over */
};

/* A command that an agent will send, or that an order has sent to another one. */
struct pending {
    struct pending *next; /* due later, or asked for later */
    int64_t due_at;
    const struct command *message; /* NULL: an agent's */
    struct run_order *order;
    bool extension;
    uint32_t step;
    enum direction direction;
    uint32_t attempt;
    const struct case_answer *answer;
};

struct rehearsal_run {
    const struct test_case *test;
    const struct workflow *workflow;
    struct arena *arena;            /* of what stays */
    struct heap_arena scratch;      /* of one Decision */
    struct heap_arena orders_of[2]; /* the orders live in one of the two */
    uint32_t current;
    size_t copy_at; /* bytes, at which they move to the other one: most is what they were before */
    struct rehearsal *result;
    int64_t now;
    int64_t decisions;
    struct run_place **places;
    uint32_t place_count;
    uint32_t place_capacity;
    struct run_order **orders;
    uint32_t order_count;
    uint32_t order_capacity;
    struct run_order **slots; /* by a hash of their ids; a power of two, at most half full */
    uint32_t slot_count;
    uint32_t acts_done;
    uint64_t signals_sent; /* a set of the case's */
    struct pending *pending;
    struct pending *last_pending; /* where there is one */
    uint32_t working;             /* orders that go on by themselves */
    uint32_t limited;             /* orders whose time will be over */
    int64_t due_from;             /* no order has a deadline before */
    const struct rehearsal_entry **story_end;
};

static inline bool run_is_accepted(const struct run_order *order)
{
    return order != NULL && order->order.version > 0;
}

/* ---- the orders (run_orders.c) ---- */

/* The order of this id; NULL: none was submitted. */
struct run_order *run_find_order(const struct rehearsal_run *run, struct text id);
/* A new one. Its parent, if it has one, was added before. */
struct run_order *run_add_order(struct rehearsal_run *run, const struct order_details *details);
/* NULL: no order was submitted there. */
struct run_place *run_find_place(const struct rehearsal_run *run, const struct case_order *at);
/* The id of the order that is there, or would be. */
struct text run_order_id(struct rehearsal_run *run, const struct case_order *at);
/* Applies the Decision, and works out what is due. */
void run_apply(struct rehearsal_run *run, struct run_order *order, const struct decision *decision);
/* Leaves behind what the orders no longer are, once it is much: a step of a thousand sub-orders has
 * a new list of them after each one that ends. Afterwards, no Decision may borrow from them. */
void run_move_orders(struct rehearsal_run *run);
/* The order with the first deadline of all, which becomes due_from; NULL: none has one. */
struct run_order *run_find_due(struct rehearsal_run *run);
/* The order's first deadline. */
void run_deadline(const struct run_order *order, struct deadline *ret_deadline);
/* The orders as they are in the end, for what stays. */
void run_keep_orders(struct rehearsal_run *run);

/* ---- what comes from outside (run_agents.c, run_outside.c) ---- */

void run_add_pending(struct rehearsal_run *run, const struct pending *what);
void run_answer_request(struct rehearsal_run *run, struct run_order *order,
                        const struct step_request *request);
/* An agent gives up at the end of the attempt: later it reports only a success. */
bool run_still_reports(const struct rehearsal_run *run, const struct pending *pending);
void run_command_of_agent(const struct rehearsal_run *run, const struct pending *pending,
                          struct command *ret_cmd);

/* The next thing that an operator does; NULL: none. *ret_at INT64_MAX: once all rests. */
const struct case_act *run_next_act(const struct rehearsal_run *run, int64_t *ret_at);
void run_command_of_operator(struct rehearsal_run *run, const struct case_act *act,
                             struct command *ret_cmd);
/* The next signal that comes until then, or -1. */
int run_next_signal(const struct rehearsal_run *run, int64_t until, int64_t *ret_at);
/* Whether one is to come at a time of its own. */
bool run_has_signals(const struct rehearsal_run *run);
void run_command_of_signal(struct rehearsal_run *run, const struct case_signal *signal,
                           struct command *ret_cmd);

/* ---- what stays of it (story.c) ---- */

/* `order` NULL: there is none of the Decision's id. `outside`: an application or an operator sent
 * the command. */
void run_tell(struct rehearsal_run *run, struct run_order *order, const struct decision *decision,
              bool outside);

#endif
