/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_history.h"

#include "base/heap_arena.h"
#include "engine/decide.h"
#include "tests/lib/engine_equal.h"
#include "tests/lib/engine_print.h"
#include "tests/property/engine_digest.h"
#include "tests/property/engine_distort.h"
#include "tests/property/engine_migrate.h"

#include <stdio.h>

struct history history;

void history_expect(bool condition, const char *what)
{
    if (!condition && history.wrong == NULL)
        history.wrong = what;
}

/* ---- one command ---- */

/* The idempotency key is the same over all attempts of a generation. */
static void check_request(const struct step_request *request)
{
    char key[IDEMPOTENCY_KEY_BYTES_MAX + 1];
    int size =
        snprintf(key, sizeof(key), "order-7/%.*s/%s/%u", TEXT_ARG(request->ref.step),
                 request->ref.direction == DIRECTION_DO ? "do" : "undo", request->generation);
    history_expect(size > 0 && text_equal(request->idempotency_key, text_of(key)),
                   "idempotency key");
    history_expect(request->complete_by > history.now, "a request without time");
}

/* ---- requests made again ---- */

enum { SENT_MAX = 512, SCRATCH_BYTES = 16 * 1024 };

/* As it was made when its Decision was the newest. */
static struct {
    const struct decision *decision;
    struct step_request request;
} sent[SENT_MAX];
static uint32_t sent_count;

static void keep_sent(const struct decision *decision, const struct step_request *request)
{
    struct arena *arena = &history.memory.arena;
    if (sent_count == SENT_MAX)
        return;
    struct step_request copy = *request;
    copy.outputs = ARENA_ARRAY(arena, struct step_output, request->output_count + 1);
    for (uint32_t i = 0; i < request->output_count; i++)
        copy.outputs[i] = (struct step_output){arena_text(arena, request->outputs[i].step),
                                               arena_text(arena, request->outputs[i].output)};
    copy.agent = arena_text(arena, request->agent);
    copy.input = arena_text(arena, request->input);
    sent[sent_count].decision = decision;
    sent[sent_count++].request = copy;
}

/* One with an Input of its own has that instead of what the order has. */
static void check_data(const struct step_request *request)
{
    int index = order_find_step(&history.order, request->ref.step);
    const struct rules_step *step = &history.rules.steps[index];
    struct text input = step->ways[request->ref.direction].input;
    bool undo = request->ref.direction == DIRECTION_UNDO;
    if (request->extension) {
        history_expect(text_empty(request->input), "an extension with an input");
        return;
    }
    history_expect(text_equal(request->input, input), "another input than was made");
    struct text expected = text_empty(input) ? history.rules.input : (struct text){0};
    history_expect(text_equal(request->order->input, expected), "not the order's input");
    if (text_empty(input))
        return;
    bool one = undo && !text_empty(step->output);
    history_expect(request->output_count == one, "not the outputs that go with an input");
    history_expect(!one || text_equal(request->outputs[0].output, step->output),
                   "an undo without the output of its step");
}

static bool same_request(const struct step_request *a, const struct step_request *b)
{
    bool same = a->generation == b->generation && text_equal(a->agent, b->agent) &&
                text_equal(a->action, b->action) &&
                text_equal(a->idempotency_key, b->idempotency_key) &&
                text_equal(a->do_key, b->do_key) && a->complete_by == b->complete_by &&
                a->extension == b->extension && text_equal(a->input, b->input) &&
                a->output_count == b->output_count && a->order_version == b->order_version;
    for (uint32_t i = 0; i < a->output_count && same; i++)
        same = text_equal(a->outputs[i].step, b->outputs[i].step) &&
               text_equal(a->outputs[i].output, b->outputs[i].output);
    return same;
}

static bool is_current(const struct attempt_ref *ref)
{
    int index = order_find_step(&history.order, ref->step);
    const struct step *step = index < 0 ? NULL : &history.order.steps[index];
    return step != NULL && step->state == STEP_PROCESSING && step->direction == ref->direction &&
           step->attempt == ref->attempt;
}

/* Whatever was decided since, the request is the same. */
static void make_again(void)
{
    for (uint32_t i = 0; i < sent_count; i++) {
        struct effects effects;
        const struct step_request *first = &sent[i].request;
        if (history.order.version == 0 || !is_current(&first->ref))
            continue;
        effects_of(sent[i].decision, 3, &history.order, &history.memory.arena, &effects);
        bool found = false;
        for (uint32_t n = 0; n < effects.request_count; n++) {
            const struct step_request *again = &effects.requests[n];
            if (!text_equal(again->ref.step, first->ref.step))
                continue;
            found = true;
            history_expect(same_request(first, again), "another request than the first time");
        }
        history_expect(found, "a request that is not made again");
    }
}

/* The application hears of attempts that begin, not of a service that is asked again. */
static bool is_silent(const struct decision *decision, uint32_t index)
{
    const struct event *event = &decision->events[index];
    bool retry = event->kind == EVENT_STEP_RETRY_SCHEDULED && index > 0;
    if (event->kind == EVENT_STEP_QUEUED)
        return true;
    const struct event *failure = retry ? event - 1 : event;
    return failure->kind == EVENT_STEP_FAILED && failure->step_failed.not_yet;
}

static void emit_effects(const struct decision *decision)
{
    struct effects effects;
    effects_of(decision, 3, history.order.version > 0 ? &history.order : NULL,
               &history.memory.arena, &effects);
    uint32_t starts = 0;
    bool only_queued = true;
    for (uint32_t i = 0; i < decision->event_count; i++) {
        starts += decision->events[i].kind == EVENT_STEP_STARTED ||
                  decision->events[i].kind == EVENT_STEP_EXTENDED;
        only_queued = only_queued && is_silent(decision, i);
    }
    history_expect(effects.request_count == starts, "not one request for each start");
    for (uint32_t i = 0; i < effects.request_count; i++) {
        const struct step_request *request = &effects.requests[i];
        check_request(request);
        check_data(request);
        keep_sent(decision, request);
        services_request(&history.services,
                         (uint32_t)order_find_step(&history.order, request->ref.step), request);
    }
    enum event_kind first = decision->events[0].kind;
    bool silent = only_queued || !decision_changes_order(decision) || first == EVENT_ORDER_PAUSED ||
                  first == EVENT_ORDER_PAUSE_ENDED || first == EVENT_ORDER_MIGRATED ||
                  first == EVENT_ORDER_AMENDED || first == EVENT_SIGNAL_RECEIVED;
    history_expect(effects.has_status || silent, "a change without a status");
    history_expect(!only_queued || !effects.has_status, "a status of what is as before");
}

static bool any_queued(void)
{
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        if (order_step_queued(&history.order, &history.order.steps[i]))
            return true;
    }
    return false;
}

/* Supervisors start steps that are queued until a time; only the owner starts the others. */
static void check_queue(const struct deadline *deadlines, uint32_t count)
{
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        const struct step *step = &history.order.steps[i];
        bool found = false;
        if (!order_step_queued(&history.order, step))
            continue;
        for (uint32_t n = 0; n < count; n++)
            found = found || (deadlines[n].step == i && deadlines[n].kind == DEADLINE_START &&
                              deadlines[n].due_at == step_wait(step).until);
        history_expect(found == (step_wait(step).until != 0), "not the deadline of a queued step");
    }
}

/* L6: an order that has not ended has a deadline, a place in an agent's queue or an open alert. */
static void check_deadlines(void)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(&history.order, deadlines);
    check_queue(deadlines, count);
    if (order_ended(&history.order))
        history_expect(count == 0, "a deadline after the end");
    else if (history.order.state == ORDER_ERROR)
        history_expect(history.order.alert_open, "Error without an alert");
    else
        history_expect(count > 0 || any_queued() || history.order.paused_at != 0,
                       "stuck: nothing is due, ever");
}

/* Orders are kept longer than services remember keys and reports can be in flight. */
void history_expire(void)
{
    assert(order_ended(&history.order));
    history.order = (struct order){0};
    rules_expire(&history.rules);
    history.since = history.count;
    sent_count = 0;
    history.services.call_count = 0;
    memset(history.services.ledgers, 0, sizeof(history.services.ledgers));
}

void history_command(const struct command *cmd)
{
    if (history.wrong != NULL)
        return;
    if (history.count == DECISIONS_MAX) {
        history.wrong = "the history never ends";
        return;
    }
    struct heap_arena scratch;
    heap_arena_init(&scratch, SCRATCH_BYTES);
    struct decide_input input = {.now = history.now,
                                 .margin_ms = 250,
                                 .instance = TEXT("scheduler-1"),
                                 .workflow = history.workflow,
                                 .target =
                                     cmd->kind == COMMAND_MIGRATE_ORDER ? history.target : NULL,
                                 .routing = agents_routing(&history.agents),
                                 .no_expressions = dice_percent(&history.dice, 2),
                                 .command_offset = history.count,
                                 .command_time = history.now,
                                 .scratch = &scratch.arena};
    history.commands[history.count] = *cmd;
    struct decision *decision = &history.log[history.count++];
    struct order before; /* lasting: the kept Decisions borrow from it */
    struct order seen;
    order_copy(&history.order, &history.memory.arena, &before);
    engine_decide_and_apply(before.version > 0 ? &before : NULL, cmd, &input, &history.memory.arena,
                            decision, &seen);
    digest_add(decision);
    if (distort_and_apply(&history.distortions, history.workflow, &history.order, history.log,
                          history.count))
        history.distorted_applied++;
    else
        history.distorted_refused++;
    history_expect(order_apply_problem(&history.order, decision, &history.memory.arena) == NULL,
                   "a Decision is not applicable");
    order_apply_decision(&history.order, decision, &history.live[history.live_at].arena);
    history.rules.target = input.target;
    history.rules.no_expressions = input.no_expressions;
    const char *wrong = rules_follow(&history.rules, cmd, decision, input.routing);
    history_expect(wrong == NULL, wrong);
    history_expect(order_difference(&seen, &history.order) == NULL,
                   "the fold is not what engine_decide() saw");
    heap_arena_deinit(&scratch); /* the Decision has nothing of it */
    if (decision->events[0].kind == EVENT_ORDER_MIGRATED) {
        history.workflow = history.target;
        services_migrate(&history.services, history.workflow);
    }
    emit_effects(decision);
    make_again();
    if (history.order.version > 0)
        check_deadlines();
}

/* ---- a case ---- */

void history_begin(void)
{
    history.order = (struct order){0};
    history.count = history.since = 0;
    history.wrong = NULL;
    history.live_at = 0;
    history.services.call_count = 0;
    history.services.healthy = false;
    memset(history.services.ledgers, 0, sizeof(history.services.ledgers));
    test_arena_init(&history.memory);
    sent_count = 0;
    test_arena_init(&history.live[0]);
    test_arena_init(&history.live[1]);
}

void history_end(void)
{
    test_arena_deinit(&history.memory);
    test_arena_deinit(&history.live[0]);
    test_arena_deinit(&history.live[1]);
}

char *history_tell(void)
{
    struct line line = {0};
    for (uint32_t i = 0; i < history.count; i++) {
        line_add(&line, "%s => ", command_kind_name(history.commands[i].kind));
        line_add_decision(&line, &history.log[i]);
        line_add(&line, "\n");
    }
    line_add_order(&line, &history.order);
    return line.text;
}

void history_compact(void)
{
    int to = 1 - history.live_at;
    struct order copy;
    order_copy(&history.order, &history.live[to].arena, &copy);
    test_arena_deinit(&history.live[history.live_at]);
    test_arena_init(&history.live[history.live_at]);
    history.order = copy;
    history.live_at = to;
}
