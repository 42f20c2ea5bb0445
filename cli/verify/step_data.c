/* SPDX-License-Identifier: Apache-2.0 */
/* See step_data.h. */
#include "cli/verify/step_data.h"

#include <assert.h>
#include <xxhash.h>

static struct step_input input_of(struct text input, uint32_t generation)
{
    return (struct step_input){!text_empty(input), generation, XXH3_64bits(input.data, input.size)};
}

struct step_data step_data_of(const struct step *step)
{
    struct step_data data = {.finished = step->direction == DIRECTION_UNDO ||
                                         step->state == STEP_PROCESSED ||
                                         step->state == STEP_SKIPPED || step->state == STEP_CAUGHT};
    data.inputs[step->direction] = input_of(step->input, step->generation[step->direction]);
    data.due_at = step->state == STEP_WAITING ? step_wait(step).until : 0;
    data.awaits = step->state == STEP_WAITING && step->awaiting != NULL;
    data.asks = data.awaits && !text_empty(step->awaiting->group);
    return data;
}

static bool finishes(enum event_kind kind)
{
    return kind == EVENT_STEP_SUCCEEDED || kind == EVENT_STEP_PASSED ||
           kind == EVENT_STEP_COMPLETED_BY_HAND || kind == EVENT_STEP_SKIPPED ||
           kind == EVENT_STEP_SKIPPED_BY_HAND || kind == EVENT_STEP_CAUGHT;
}

/* A retry that records no input sends the one that is known. */
static const char *follow_start(struct step_data *data, const struct step_started *started)
{
    struct step_input *known = &data->inputs[started->ref.direction];
    struct step_input made = input_of(started->input, started->generation);
    bool differs = known->made && made.made && known->generation == made.generation &&
                   known->hash != made.hash;
    if (made.made)
        *known = made;
    return differs ? "gets another input than the attempts before it under the same key" : NULL;
}

/* A step passes at its moment and not before, in whichever Decision; or with a signal, and then at
 * any time. Of itself it fails only where no signal came in its time. */
static const char *follow_moment(struct step_data *data, const struct event *event,
                                 int64_t decided_at)
{
    const struct step_waiting *waiting = &event->step_waiting;
    bool waits = event->kind == EVENT_STEP_WAITING;
    bool awaits = waits && waiting->for_signal;
    bool early = event->kind == EVENT_STEP_PASSED && !data->awaits && decided_at < data->due_at;
    bool hasty = event->kind == EVENT_STEP_FAILED_UNSTARTED && data->awaits &&
                 text_empty(event->step_failed_unstarted.by) &&
                 (data->due_at == 0 || decided_at < data->due_at);
    bool by_hand = data->asks && (event->kind == EVENT_STEP_COMPLETED_BY_HAND ||
                                  event->kind == EVENT_STEP_SKIPPED_BY_HAND);
    bool over = waits && waiting->due_at <= decided_at && (waiting->due_at != 0 || !awaits);
    bool twice = waits && (data->due_at != 0 || data->awaits);
    data->due_at = waits ? waiting->due_at : 0;
    data->awaits = awaits;
    data->asks = awaits && !text_empty(waiting->group);
    if (early)
        return "passes before its moment";
    if (hasty)
        return "fails, but awaits a signal for longer";
    if (by_hand)
        return "is ended by hand, but awaits a signal of a group";
    if (twice)
        return "waits, but does already";
    return over ? "waits for a moment that has passed" : NULL;
}

const char *step_data_follow(struct step_data *data, const struct event *event, int64_t decided_at)
{
    assert(event_is_of_step(event->kind));
    if (event->kind == EVENT_STEP_STARTED)
        return follow_start(data, &event->step_started);
    data->finished =
        data->finished || (event_ref(event)->direction == DIRECTION_DO && finishes(event->kind));
    return follow_moment(data, event, decided_at);
}

void step_data_forget_input(struct step_data *data)
{
    data->inputs[DIRECTION_DO] = (struct step_input){0};
}

void step_data_begin_again(struct step_data *data)
{
    data->finished = false;
    data->due_at = 0;
    data->awaits = data->asks = false;
    step_data_forget_input(data);
}
