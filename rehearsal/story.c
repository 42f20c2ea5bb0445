/* SPDX-License-Identifier: Apache-2.0 */
/* What stays of a Decision. */
#include "rehearsal/run.h"
#include "schemas/event_text.h"

#include <assert.h>
#include <stdio.h>

static void texts_add(struct rehearsal_texts *texts, struct text text, struct arena *arena)
{
    if (texts->count == texts->capacity) {
        uint32_t capacity = texts->capacity > 0 ? 2 * texts->capacity : 16;
        struct text *items = ARENA_ARRAY(arena, struct text, capacity);
        if (texts->count > 0)
            memcpy(items, texts->items, texts->count * sizeof(*items));
        texts->items = items;
        texts->capacity = capacity;
    }
    texts->items[texts->count++] = text;
}

/* "Load~3/Store", "undo Load~3/Store" */
static void add_to_path(struct rehearsal_run *run, struct run_order *order, uint32_t step,
                        enum direction direction)
{
    struct text path = order->place->shown.path;
    struct text name = order->workflow->steps[step].name;
    char text[RUN_PATH_BYTES_MAX + NAME_BYTES_MAX + sizeof("undo ")];
    if ((order->seen[direction] >> step & 1) != 0)
        return;
    order->seen[direction] |= UINT64_C(1) << step;
    int size = snprintf(text, sizeof(text), "%s%.*s%.*s",
                        direction == DIRECTION_UNDO ? "undo " : "", TEXT_ARG(path), TEXT_ARG(name));
    assert(size > 0 && (size_t)size < sizeof(text));
    texts_add(&run->result->path, arena_text(run->arena, (struct text){text, (uint32_t)size}),
              run->arena);
}

static void keep_start(const struct rehearsal_run *run, struct rehearsal_place *place,
                       uint32_t step, const struct step_started *started)
{
    place->attempts[step] += started->ref.direction == DIRECTION_DO;
    if (!text_empty(started->input))
        place->inputs[started->ref.direction][step] = arena_text(run->arena, started->input);
}

/* What begins a step, with an attempt or without one. */
static bool is_beginning(const struct event *event)
{
    if (event->kind == EVENT_SUBORDERS_RECALLED)
        return event->suborders_recalled.ref.direction == DIRECTION_UNDO;
    return event->kind == EVENT_STEP_STARTED || event->kind == EVENT_STEP_PASSED ||
           event->kind == EVENT_STEP_WAITING || event->kind == EVENT_STEP_FAILED_UNSTARTED ||
           event->kind == EVENT_STEP_COMPLETED_BY_HAND || event->kind == EVENT_SUBORDERS_STARTED;
}

static void keep_step_event(struct rehearsal_run *run, struct run_order *order,
                            const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    int step = order_find_step(&order->order, ref->step);
    assert(step >= 0);
    if (event->kind == EVENT_STEP_STARTED)
        keep_start(run, &order->place->shown, (uint32_t)step, &event->step_started);
    if (is_beginning(event))
        add_to_path(run, order, (uint32_t)step, ref->direction);
}

void run_tell(struct rehearsal_run *run, struct run_order *order, const struct decision *decision,
              bool outside)
{
    struct rehearsal *result = run->result;
    struct text id = order != NULL ? order->id : arena_text(run->arena, decision->order_id);
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        struct rehearsal_entry *entry = ARENA_NEW(run->arena, struct rehearsal_entry);
        *entry = (struct rehearsal_entry){.at = run->now,
                                          .order_id = id,
                                          .kind = event->kind,
                                          .words = event_text(event, run->arena)};
        *run->story_end = entry;
        run->story_end = &entry->next;
        if (event->kind == EVENT_COMMAND_REJECTED && outside)
            texts_add(&result->refused, arena_text(run->arena, event->command_rejected.code),
                      run->arena);
        else if (event_is_of_step(event->kind) && run_is_accepted(order))
            keep_step_event(run, order, event);
    }
}
