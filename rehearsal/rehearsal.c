/* SPDX-License-Identifier: Apache-2.0 */
/* See rehearsal.h. What happens next is whatever is due first: of what is due at the same time, an
 * operator's command goes before an agent's, that before a deadline. */
#include "rehearsal/rehearsal.h"

#include "schemas/event_text.h"

#include <assert.h>
#include <stdio.h>

/* A command that an agent will send. */
struct pending {
    struct pending *next; /* due later, or asked for later */
    int64_t due_at;
    bool extension;
    uint32_t step;
    enum direction direction;
    uint32_t attempt;
    const struct case_answer *answer;
};

struct rehearsal_run {
    const struct test_case *test;
    const struct workflow *workflow;
    struct arena *arena;       /* of what stays */
    struct heap_arena scratch; /* of one Decision */
    struct rehearsal *result;
    int64_t now;
    int64_t decisions;
    uint32_t acts_done;
    uint64_t signals_sent; /* a set of the case's */
    uint32_t answers_taken[DIRECTION_COUNT][WORKFLOW_STEPS_MAX];
    uint64_t seen[DIRECTION_COUNT]; /* steps that are in the path */
    struct pending *pending;
    const struct rehearsal_entry **story_end;
};

static const struct case_answer succeeds = {0};

/* ---- what stays of a Decision ---- */

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

static void add_to_path(struct rehearsal_run *run, uint32_t step, enum direction direction)
{
    struct text name = run->workflow->steps[step].name;
    char text[NAME_BYTES_MAX + sizeof("undo ")];
    if ((run->seen[direction] >> step & 1) != 0)
        return;
    run->seen[direction] |= UINT64_C(1) << step;
    int size = snprintf(text, sizeof(text), "%s%.*s", direction == DIRECTION_UNDO ? "undo " : "",
                        TEXT_ARG(name));
    assert(size > 0 && (size_t)size < sizeof(text));
    texts_add(&run->result->path, arena_text(run->arena, (struct text){text, (uint32_t)size}),
              run->arena);
}

static void keep_start(struct rehearsal_run *run, uint32_t step, const struct step_started *started)
{
    run->result->attempts[step] += started->ref.direction == DIRECTION_DO;
    if (!text_empty(started->input))
        run->result->inputs[started->ref.direction][step] = arena_text(run->arena, started->input);
}

/* Steps that begin, with an attempt or without one. */
static void keep_step_event(struct rehearsal_run *run, const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    int step = order_find_step(&run->result->order, ref->step);
    assert(step >= 0);
    if (event->kind == EVENT_STEP_STARTED)
        keep_start(run, (uint32_t)step, &event->step_started);
    if (event->kind == EVENT_STEP_STARTED || event->kind == EVENT_STEP_PASSED ||
        event->kind == EVENT_STEP_WAITING || event->kind == EVENT_STEP_FAILED_UNSTARTED ||
        event->kind == EVENT_STEP_COMPLETED_BY_HAND)
        add_to_path(run, (uint32_t)step, ref->direction);
}

static void keep_rejection(struct rehearsal_run *run, const struct command_rejected *rejected)
{
    if (!command_kind_is_from(rejected->command, COMMAND_FROM_AGENT) &&
        !command_kind_is_from(rejected->command, COMMAND_FROM_SUPERVISOR))
        texts_add(&run->result->refused, arena_text(run->arena, rejected->code), run->arena);
}

static void keep(struct rehearsal_run *run, const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        struct rehearsal_entry *entry = ARENA_NEW(run->arena, struct rehearsal_entry);
        *entry = (struct rehearsal_entry){
            .at = run->now, .kind = event->kind, .words = event_text(event, run->arena)};
        *run->story_end = entry;
        run->story_end = &entry->next;
        if (event->kind == EVENT_COMMAND_REJECTED)
            keep_rejection(run, &event->command_rejected);
        else if (event_is_of_step(event->kind) && run->result->accepted)
            keep_step_event(run, event);
    }
}

/* ---- agents ---- */

static const struct case_answer *next_answer(struct rehearsal_run *run, uint32_t step,
                                             enum direction direction)
{
    const struct case_answers *answers = &run->test->answers[direction][step];
    uint32_t *taken = &run->answers_taken[direction][step];
    if (answers->count == 0)
        return &succeeds;
    const struct case_answer *answer = &answers->list[*taken];
    *taken += *taken + 1 < answers->count;
    return answer;
}

static void add_pending(struct rehearsal_run *run, const struct pending *what)
{
    struct pending *pending = ARENA_NEW(run->arena, struct pending);
    struct pending **at = &run->pending;
    *pending = *what;
    while (*at != NULL && (*at)->due_at <= pending->due_at)
        at = &(*at)->next;
    pending->next = *at;
    *at = pending;
}

static void answer_request(struct rehearsal_run *run, const struct step_request *request)
{
    int step = order_find_step(&run->result->order, request->ref.step);
    assert(step >= 0);
    if (request->extension)
        return; /* it goes on with what it does */
    const struct case_answer *answer = next_answer(run, (uint32_t)step, request->ref.direction);
    struct pending pending = {.due_at = run->now,
                              .extension = true,
                              .step = (uint32_t)step,
                              .direction = request->ref.direction,
                              .attempt = request->ref.attempt,
                              .answer = answer};
    if (answer->silent)
        return;
    if (answer->extend && run->now + answer->after_ms > request->complete_by)
        add_pending(run, &pending);
    pending.due_at = run->now + answer->after_ms;
    pending.extension = false;
    add_pending(run, &pending);
}

/* An agent gives up at the end of the attempt: later it reports only a success. */
static bool still_reports(const struct rehearsal_run *run, const struct pending *pending)
{
    const struct step *step = &run->result->order.steps[pending->step];
    bool current = step->state == STEP_PROCESSING && step->attempt == pending->attempt &&
                   step->direction == pending->direction && run->now <= step->complete_by;
    return current || (!pending->extension && text_empty(pending->answer->error_name));
}

static void command_of_agent(const struct rehearsal_run *run, const struct pending *pending,
                             struct command *ret_cmd)
{
    const struct step *step = &run->result->order.steps[pending->step];
    const struct case_answer *answer = pending->answer;
    struct text id = run->result->order.details.order_id;
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

/* ---- operators ---- */

static void command_of_operator(const struct rehearsal_run *run, const struct case_act *act,
                                struct command *ret_cmd)
{
    struct text id = run->test->details.order_id;
    struct text by = TEXT("operator");
    *ret_cmd = (struct command){.kind = act->kind, .order_id = id};
    if (act->kind == COMMAND_CANCEL_ORDER)
        ret_cmd->cancel_order =
            (struct cancel_order){.order_id = id, .by = by, .reason = act->reason};
    else if (act->kind == COMMAND_COMPENSATE_ORDER)
        ret_cmd->compensate_order = (struct compensate_order){id, by, act->reason};
    else if (act->kind == COMMAND_RESUBMIT_STEP)
        ret_cmd->resubmit_step =
            (struct resubmit_step){id, act->step, by, act->reason, act->new_key, 0};
    else if (act->kind == COMMAND_COMPLETE_STEP)
        ret_cmd->complete_step =
            (struct complete_step){id, act->step, act->output, by, act->reason};
    else if (act->kind == COMMAND_SKIP_STEP)
        ret_cmd->skip_step =
            (struct skip_step){id, act->step, act->nothing_applied, by, act->reason};
    else if (act->kind == COMMAND_FAIL_STEP)
        ret_cmd->fail_step =
            (struct fail_step){id, act->step, act->error_name, by, act->reason, -1};
    else if (act->kind == COMMAND_PAUSE_ORDER)
        ret_cmd->pause_order = (struct pause_order){id, by, act->reason};
    else if (act->kind == COMMAND_AMEND_ORDER)
        ret_cmd->amend_order = (struct amend_order){id, act->input, by, act->reason};
    else
        ret_cmd->resume_order = (struct resume_order){id, by, act->reason};
}

/* ---- deciding ---- */

static void decide(struct rehearsal_run *run, struct command *cmd)
{
    struct rehearsal *result = run->result;
    struct arena *scratch = &run->scratch.arena;
    struct decision decision;
    struct effects effects;
    struct decide_input input = {.now = run->now,
                                 .margin_ms = REHEARSAL_MARGIN_MS,
                                 .instance = TEXT("scheduler"),
                                 .workflow = run->workflow,
                                 .command_offset = run->decisions,
                                 .command_time = run->now};
    heap_arena_reset(&run->scratch);
    command_make_canonical(cmd, scratch);
    engine_decide(result->accepted ? &result->order : NULL, cmd, &input, scratch, &decision);
    decision.offset = run->decisions++;
    order_apply_decision(&result->order, &decision, run->arena);
    result->accepted = result->order.version > 0;
    keep(run, &decision);
    effects_of(&decision, 0, result->accepted ? &result->order : NULL, scratch, &effects);
    for (uint32_t i = 0; i < effects.request_count; i++)
        answer_request(run, &effects.requests[i]);
}

/* ---- what happens next ---- */

/* The first one of the order; with `own`, also its own, at which it is no longer at rest. */
static bool next_deadline(const struct rehearsal_run *run, bool own, struct deadline *ret_deadline)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = run->result->accepted ? deadlines_of(&run->result->order, deadlines) : 0;
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        if ((own || deadlines[i].kind != DEADLINE_ORDER) &&
            (!found || deadlines[i].due_at < ret_deadline->due_at)) {
            *ret_deadline = deadlines[i];
            found = true;
        }
    }
    return found;
}

static const struct case_act *next_act(const struct rehearsal_run *run, int64_t *ret_at)
{
    if (run->acts_done == run->test->act_count)
        return NULL;
    const struct case_act *act = &run->test->acts[run->acts_done];
    *ret_at = act->at_ms < 0 ? INT64_MAX : REHEARSAL_START_MS + act->at_ms;
    return act;
}

/* ---- signals ---- */

/* The next one that comes until then, or -1. One without a time comes as soon as its step waits. */
static int next_signal(const struct rehearsal_run *run, int64_t until, int64_t *ret_at)
{
    const struct order *order = &run->result->order;
    int found = -1;
    for (uint32_t i = 0; i < run->test->signal_count && run->result->accepted; i++) {
        const struct case_signal *signal = &run->test->signals[i];
        int step = order_find_step(order, signal->step);
        bool waits = step >= 0 && order->steps[step].state == STEP_WAITING;
        int64_t at = signal->at_ms >= 0 ? REHEARSAL_START_MS + signal->at_ms : run->now;
        bool comes = signal->at_ms >= 0 || waits;
        if ((run->signals_sent >> i & 1) != 0 || !comes || at > until)
            continue;
        until = at - 1; /* of those of one time the first */
        *ret_at = at;
        found = (int)i;
    }
    return found;
}

static void command_of_signal(const struct rehearsal_run *run, const struct case_signal *signal,
                              struct command *ret_cmd)
{
    struct text id = run->test->details.order_id;
    *ret_cmd = (struct command){.kind = COMMAND_SIGNAL_ORDER,
                                .order_id = id,
                                .signal_order = {.order_id = id,
                                                 .step = signal->step,
                                                 .id = signal->id,
                                                 .payload = signal->payload,
                                                 .by = signal->by,
                                                 .groups = signal->groups}};
}

static void advance_clock(struct rehearsal_run *run, int64_t to)
{
    if (to > run->now)
        run->now = to;
}

/* False: nothing happens any more. *ret_send false: an agent gave up without a word. */
static bool take_next(struct rehearsal_run *run, struct command *ret_cmd, bool *ret_send)
{
    struct deadline deadline = {.due_at = INT64_MAX};
    int64_t act_at = INT64_MAX;
    struct pending *pending = run->pending;
    const struct case_act *act = next_act(run, &act_at);
    bool rests = pending == NULL && !next_deadline(run, false, &deadline);
    next_deadline(run, true, &deadline);
    int64_t due_at =
        pending != NULL && pending->due_at <= deadline.due_at ? pending->due_at : deadline.due_at;
    *ret_send = true;
    int64_t signal_at = 0;
    int signal = next_signal(run, due_at < act_at ? due_at : act_at, &signal_at);
    if (signal >= 0) {
        run->signals_sent |= UINT64_C(1) << signal;
        advance_clock(run, signal_at);
        command_of_signal(run, &run->test->signals[signal], ret_cmd);
        return true;
    }
    if (act != NULL && (act_at != INT64_MAX ? act_at <= due_at : rests)) {
        run->acts_done++;
        advance_clock(run, act_at != INT64_MAX ? act_at : run->now);
        command_of_operator(run, act, ret_cmd);
        return true;
    }
    if (due_at == INT64_MAX)
        return false;
    advance_clock(run, due_at);
    if (pending != NULL && pending->due_at == due_at) {
        run->pending = pending->next;
        command_of_agent(run, pending, ret_cmd);
        *ret_send = still_reports(run, pending);
        return true;
    }
    deadline_command(&run->result->order, &deadline, TEXT("supervisor"), ret_cmd);
    return true;
}

void rehearse(const struct test_case *test, const struct workflow *workflow, struct arena *arena,
              struct rehearsal *ret_rehearsal)
{
    struct rehearsal_run run = {.test = test,
                                .workflow = workflow,
                                .arena = arena,
                                .result = ret_rehearsal,
                                .now = REHEARSAL_START_MS};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER,
                          .order_id = test->details.order_id,
                          .submit_order = test->details};
    bool send = true;
    *ret_rehearsal = (struct rehearsal){0};
    run.story_end = &ret_rehearsal->story;
    heap_arena_init(&run.scratch, 64 * 1024);
    do {
        if (send)
            decide(&run, &cmd);
    } while (run.decisions < REHEARSAL_DECISIONS_MAX && take_next(&run, &cmd, &send));
    ret_rehearsal->endless = run.decisions == REHEARSAL_DECISIONS_MAX;
    heap_arena_deinit(&run.scratch);
}
