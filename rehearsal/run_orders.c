/* SPDX-License-Identifier: Apache-2.0 */
/* The orders of a rehearsal: the one of the case, and the sub-orders that were submitted. */
#include "rehearsal/run.h"
#include "workflow/bodies.h"

#include <assert.h>
#include <stdio.h>

/* ---- by their ids ---- */

/* Where it is, or where it would be. */
static struct run_order **slot_of(struct run_order **slots, uint32_t slot_count, struct text id)
{
    uint32_t at = (uint32_t)retry_salt(id, (struct text){0}, 0, 0) & (slot_count - 1);
    while (slots[at] != NULL && !text_equal(slots[at]->id, id))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

struct run_order *run_find_order(const struct rehearsal_run *run, struct text id)
{
    return run->slot_count > 0 ? *slot_of(run->slots, run->slot_count, id) : NULL;
}

static void add_slot(struct rehearsal_run *run, struct run_order *order)
{
    if (run->order_count * 2 >= run->slot_count) {
        uint32_t count = run->slot_count > 0 ? 2 * run->slot_count : 16;
        struct run_order **slots = ARENA_ARRAY(run->arena, struct run_order *, count);
        for (uint32_t i = 0; i < run->order_count; i++)
            *slot_of(slots, count, run->orders[i]->id) = run->orders[i];
        run->slots = slots;
        run->slot_count = count;
    }
    *slot_of(run->slots, run->slot_count, order->id) = order;
}

/* One more pointer: a list of at least `count` + 1, old ones first. */
static void *grown(struct rehearsal_run *run, void *list, uint32_t count, uint32_t *capacity)
{
    if (count < *capacity)
        return list;
    *capacity = *capacity > 0 ? 2 * *capacity : 16;
    void **items = ARENA_ARRAY(run->arena, void *, *capacity);
    if (count > 0)
        memcpy(items, list, count * sizeof(*items));
    return items;
}

/* ---- where they are ---- */

struct run_place *run_find_place(const struct rehearsal_run *run, const struct case_order *at)
{
    for (uint32_t i = 0; i < run->place_count; i++) {
        if (case_order_is_among(&run->places[i]->shown.at, at))
            return run->places[i];
    }
    return NULL;
}

static struct text path_of(struct rehearsal_run *run, const struct case_order *at)
{
    char path[RUN_PATH_BYTES_MAX + 1] = "";
    const struct workflow *workflow = run->workflow;
    size_t used = 0;
    for (uint32_t i = 0; i < at->depth; i++) {
        const struct workflow_step *plan = &workflow->steps[at->path[i].step];
        char item[8] = "";
        if (at->path[i].item >= 0)
            snprintf(item, sizeof(item), "~%u", (unsigned)at->path[i].item % SUBORDERS_MAX);
        int size =
            snprintf(path + used, sizeof(path) - used, "%.*s%s/", TEXT_ARG(plan->name), item);
        assert(size > 0 && used + (size_t)size < sizeof(path));
        used += (size_t)size;
        workflow = plan->suborders.body;
    }
    return arena_text(run->arena, (struct text){path, (uint32_t)used});
}

static struct run_place *add_place(struct rehearsal_run *run, const struct case_order *at)
{
    struct run_place *place = ARENA_NEW(run->arena, struct run_place);
    uint32_t steps = at->workflow->step_count;
    place->shown.at = *at;
    place->shown.path = path_of(run, at);
    place->shown.attempts = ARENA_ARRAY(run->arena, uint32_t, steps);
    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        place->shown.inputs[direction] = ARENA_ARRAY(run->arena, struct text, steps);
        place->answers_taken[direction] = ARENA_ARRAY(run->arena, uint32_t, steps);
    }
    run->places = grown(run, run->places, run->place_count, &run->place_capacity);
    run->places[run->place_count++] = place;
    return place;
}

/* The place of a sub-order, below that of its parent. */
static struct case_order below(const struct rehearsal_run *run, const struct order_parent *parent,
                               const struct workflow *body)
{
    const struct run_order *above = run_find_order(run, parent->order_id);
    assert(above != NULL && above->place->shown.at.depth < CASE_DEPTH_MAX);
    int step = order_find_step(&above->order, parent->step);
    struct case_order at = above->place->shown.at;
    assert(step >= 0);
    at.workflow = body;
    at.path[at.depth].step = (uint32_t)step;
    at.path[at.depth].item = parent->item;
    at.depth++;
    return at;
}

/* An item that was resubmitted has a place already. */
static struct run_place *place_of(struct rehearsal_run *run, const struct order_details *details,
                                  const struct workflow *workflow)
{
    const struct order_parent *parent = details->parent;
    struct case_order at = {.workflow = workflow};
    struct run_place *known = NULL;
    if (parent != NULL)
        at = below(run, parent, workflow);
    if (parent != NULL && parent->generation > 0)
        known = run_find_place(run, &at);
    return known != NULL ? known : add_place(run, &at);
}

struct run_order *run_add_order(struct rehearsal_run *run, const struct order_details *details)
{
    struct run_order *order = ARENA_NEW(run->arena, struct run_order);
    order->id = arena_text(run->arena, details->order_id);
    order->workflow = workflow_find_in_file(run->workflow, details->workflow);
    order->due_at = INT64_MAX;
    assert(order->workflow != NULL && run_find_order(run, details->order_id) == NULL);
    order->place = place_of(run, details, order->workflow);
    order->place->newest = order;
    add_slot(run, order);
    run->orders = grown(run, run->orders, run->order_count, &run->order_capacity);
    run->orders[run->order_count++] = order;
    return order;
}

struct text run_order_id(struct rehearsal_run *run, const struct case_order *at)
{
    struct case_order prefix = {.workflow = run->workflow};
    struct text id = run->test->details.order_id;
    for (uint32_t i = 0; i < at->depth; i++) {
        const struct workflow_step *plan = &prefix.workflow->steps[at->path[i].step];
        prefix.workflow = plan->suborders.body;
        prefix.path[i] = at->path[i];
        prefix.depth++;
        const struct run_place *place = run_find_place(run, &prefix);
        id = place != NULL ? place->newest->id
                           : order_suborder_id(id, plan->name, at->path[i].item, 0, run->arena);
    }
    return id;
}

/* ---- what is due ---- */

/* Whether sub-orders are asked only because they might not have heard of it; here, all have. */
static bool only_asks(const struct run_order *order, const struct deadline *deadline)
{
    if (deadline->kind == DEADLINE_ORDER)
        return order->order.state == ORDER_HELD;
    const struct step *step = &order->order.steps[deadline->step];
    return deadline->kind == DEADLINE_RECOVER && step->suborders != NULL;
}

/* Whether the order, or its step, ends after a time that its file says: a step without one has more
 * time than any other thing may take, so it waits for an operator. */
static bool is_limited(const struct run_order *order, const struct deadline *deadline, int64_t now)
{
    if (deadline->kind == DEADLINE_ORDER)
        return order->order.state != ORDER_HELD;
    const struct step *step = &order->order.steps[deadline->step];
    return step->suborders != NULL && !step->suborders->recalled &&
           order->workflow->steps[deadline->step].timeout_ms < DURATION_MS_MAX &&
           now < step->suborders->times_out_at;
}

/* A step whose sub-orders could not all be submitted at once asks at once for the others. */
static void look_ahead(struct run_order *order, int64_t now)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = run_is_accepted(order) ? deadlines_of(&order->order, deadlines) : 0;
    order->due_at = INT64_MAX;
    order->works = order->limited = false;
    for (uint32_t i = 0; i < count; i++) {
        bool limited = is_limited(order, &deadlines[i], now);
        bool asks = only_asks(order, &deadlines[i]) && deadlines[i].due_at > now;
        order->limited |= limited;
        order->works |= !asks && deadlines[i].kind != DEADLINE_ORDER;
        if (deadlines[i].due_at < order->due_at)
            order->due_at = deadlines[i].due_at;
    }
}

struct run_order *run_find_due(struct rehearsal_run *run)
{
    struct run_order *found = NULL;
    run->due_from = INT64_MAX;
    for (uint32_t i = 0; i < run->order_count; i++) {
        if (run->orders[i]->due_at < run->due_from) {
            found = run->orders[i];
            run->due_from = found->due_at;
        }
    }
    return found;
}

void run_deadline(const struct run_order *order, struct deadline *ret_deadline)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(&order->order, deadlines);
    *ret_deadline = deadlines[0];
    for (uint32_t i = 1; i < count; i++) {
        if (deadlines[i].due_at < ret_deadline->due_at)
            *ret_deadline = deadlines[i];
    }
    assert(count > 0 && ret_deadline->due_at == order->due_at);
}

/* ---- as they change ---- */

void run_move_orders(struct rehearsal_run *run)
{
    enum { MORE_BYTES = 16 * 1024 * 1024 };
    if (run->orders_of[run->current].arena.used < run->copy_at)
        return;
    struct heap_arena *to = &run->orders_of[1 - run->current];
    for (uint32_t i = 0; i < run->order_count; i++) {
        struct order *order = &run->orders[i]->order;
        if (order->version > 0)
            order_copy(order, &to->arena, order);
    }
    heap_arena_reset(&run->orders_of[run->current]);
    run->current = 1 - run->current;
    run->copy_at = 2 * to->arena.used + MORE_BYTES;
}

void run_apply(struct rehearsal_run *run, struct run_order *order, const struct decision *decision)
{
    order_apply_decision(&order->order, decision, &run->orders_of[run->current].arena);
    run->working -= order->works;
    run->limited -= order->limited;
    look_ahead(order, run->now);
    run->working += order->works;
    run->limited += order->limited;
    if (order->due_at < run->due_from)
        run->due_from = order->due_at;
}

void run_keep_orders(struct rehearsal_run *run)
{
    const struct rehearsal_place **places =
        ARENA_ARRAY(run->arena, const struct rehearsal_place *, run->place_count);
    for (uint32_t i = 0; i < run->place_count; i++) {
        struct run_place *place = run->places[i];
        places[i] = &place->shown;
        if (!run_is_accepted(place->newest))
            continue;
        struct order *kept = ARENA_NEW(run->arena, struct order);
        order_copy(&place->newest->order, run->arena, kept);
        place->shown.order = kept;
    }
    run->result->places = places;
    run->result->place_count = run->place_count;
}
