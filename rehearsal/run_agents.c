/* SPDX-License-Identifier: Apache-2.0 */
/* The agents of a rehearsal: each request is answered as the case says. */
#include "rehearsal/run.h"

#include <assert.h>

static const struct case_answer succeeds = {0};

/* How many items it names. */
static uint32_t precision_of(const struct case_order *order)
{
    uint32_t precision = 0;
    for (uint32_t i = 0; i < order->depth; i++)
        precision += order->path[i].item != CASE_EVERY_ITEM;
    return precision;
}

/* What is said of one item goes before what is said of every item. */
static const struct case_answers *find_answers(const struct rehearsal_run *run,
                                               const struct case_order *order, uint32_t step,
                                               enum direction direction)
{
    const struct case_answers *found = NULL;
    for (uint32_t i = 0; i < run->test->answers_count[direction]; i++) {
        const struct case_answers *answers = &run->test->answers[direction][i];
        if (answers->step.step == step && case_order_is_among(order, &answers->step.order) &&
            (found == NULL ||
             precision_of(&answers->step.order) > precision_of(&found->step.order)))
            found = answers;
    }
    return found;
}

static const struct case_answer *next_answer(const struct rehearsal_run *run,
                                             struct run_place *place, uint32_t step,
                                             enum direction direction)
{
    const struct case_answers *answers = find_answers(run, &place->shown.at, step, direction);
    uint32_t *taken = &place->answers_taken[direction][step];
    if (answers == NULL)
        return &succeeds;
    const struct case_answer *answer = &answers->list[*taken];
    *taken += *taken + 1 < answers->count;
    return answer;
}

/* The latest ones are mostly due last. */
void run_add_pending(struct rehearsal_run *run, const struct pending *what)
{
    struct pending *pending = ARENA_NEW(run->arena, struct pending);
    struct pending **at = &run->pending;
    *pending = *what;
    if (run->pending != NULL && run->last_pending->due_at <= pending->due_at)
        at = &run->last_pending->next;
    while (*at != NULL && (*at)->due_at <= pending->due_at)
        at = &(*at)->next;
    pending->next = *at;
    *at = pending;
    if (pending->next == NULL)
        run->last_pending = pending;
}

void run_answer_request(struct rehearsal_run *run, struct run_order *order,
                        const struct step_request *request)
{
    int step = order_find_step(&order->order, request->ref.step);
    assert(step >= 0);
    if (request->extension)
        return; /* it goes on with what it does */
    const struct case_answer *answer =
        next_answer(run, order->place, (uint32_t)step, request->ref.direction);
    struct pending pending = {.due_at = run->now,
                              .order = order,
                              .extension = true,
                              .step = (uint32_t)step,
                              .direction = request->ref.direction,
                              .attempt = request->ref.attempt,
                              .answer = answer};
    if (answer->silent)
        return;
    if (answer->extend && run->now + answer->after_ms > request->complete_by)
        run_add_pending(run, &pending);
    pending.due_at = run->now + answer->after_ms;
    pending.extension = false;
    run_add_pending(run, &pending);
}

bool run_still_reports(const struct rehearsal_run *run, const struct pending *pending)
{
    const struct step *step = &pending->order->order.steps[pending->step];
    bool current = step->state == STEP_PROCESSING && step->attempt == pending->attempt &&
                   step->direction == pending->direction && run->now <= step->complete_by;
    return current || (!pending->extension && text_empty(pending->answer->error_name));
}

void run_command_of_agent(const struct rehearsal_run *run, const struct pending *pending,
                          struct command *ret_cmd)
{
    const struct step *step = &pending->order->order.steps[pending->step];
    const struct case_answer *answer = pending->answer;
    struct text id = pending->order->id;
    struct text progress = TEXT("needs more time");
    *ret_cmd = (struct command){.order_id = id};
    if (pending->extension) {
        ret_cmd->kind = COMMAND_EXTEND_STEP;
        ret_cmd->extend_step = (struct extend_step){id,
                                                    step->name,
                                                    pending->direction,
                                                    pending->attempt,
                                                    run->now + answer->after_ms,
                                                    progress,
                                                    step->agent,
                                                    step->agent};
        return;
    }
    ret_cmd->kind = COMMAND_REPORT_STEP;
    ret_cmd->report_step = (struct report_step){.order_id = id,
                                                .step = step->name,
                                                .direction = pending->direction,
                                                .attempt = pending->attempt,
                                                .succeeded = text_empty(answer->error_name),
                                                .output = answer->output,
                                                .error_name = answer->error_name,
                                                .error_message = answer->error_message,
                                                .effect = answer->effect,
                                                .agent = step->agent,
                                                .instance = step->agent};
}
