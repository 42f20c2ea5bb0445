/* SPDX-License-Identifier: Apache-2.0 */
/* The effects of a Decision on other topics: a pure function of it, so that a new owner emits
 * exactly the same. Only requests also depend on the order: an attempt that is over makes none. */
#include "engine/effects.h"
#include "base/error.h"
#include "engine/lifecycle.h"
#include "engine/message.h"

#include <assert.h>

/* ---- requests ---- */

/* By name: the places of steps are those of a version of the workflow. */
static void add_output(struct step_request *request, struct step_output output)
{
    uint32_t at = request->output_count++;
    assert(at < WORKFLOW_STEPS_MAX && !text_empty(output.output));
    for (; at > 0 && text_compare(request->outputs[at - 1].step, output.step) > 0; at--)
        request->outputs[at] = request->outputs[at - 1];
    request->outputs[at] = output;
}

/* The outputs of the steps are settled, but the order also holds what was decided later: nothing
 * else of it may enter the request. */
static void outputs_of(const struct order *order, int64_t inputs, struct arena *arena,
                       struct step_request *request)
{
    assert(order->step_count <= WORKFLOW_STEPS_MAX && request->output_count == 0);
    if (inputs == 0)
        return;
    request->outputs = ARENA_ARRAY(arena, struct step_output, order->step_count);
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (((uint64_t)inputs >> i & 1) != 0 && !text_empty(step->output))
            add_output(request, (struct step_output){step->name, step->output});
    }
    assert(request->output_count <= order->step_count);
}

/* Whether the step's attempt is that of the event, not only of the same number: another order had
 * the id before, or the log has lost what the owner's store still holds. */
static bool is_attempt_of(const struct step *step, const struct decision *decision,
                          const struct event *event)
{
    if (event->kind == EVENT_STEP_STARTED)
        return step->started_at == decision->decided_at;
    return step->started_at <= decision->decided_at &&
           step->complete_by >= event->step_extended.complete_by;
}

/* The step of the attempt, if that attempt still runs, or NULL. */
static const struct step *running(const struct order *order, const struct decision *decision,
                                  const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    int index = order_find_step(order, ref->step);
    if (index < 0)
        return NULL;
    assert((uint32_t)index < order->step_count);
    const struct step *step = &order->steps[index];
    bool current = step->state == STEP_PROCESSING && step->direction == ref->direction &&
                   step->attempt == ref->attempt;
    return current && is_attempt_of(step, decision, event) ? step : NULL;
}

/* The order may have another version by now; a request stays as it was. One with an input of its
 * own has that instead of what the order has. */
static const struct order_details *details_at_start(const struct order *order,
                                                    const struct step *step, struct arena *arena)
{
    if (step->workflow_version == order->details.workflow_version && text_empty(step->input))
        return &order->details;
    struct order_details *details = ARENA_ARRAY(arena, struct order_details, 1);
    *details = order->details;
    details->workflow_version = step->workflow_version;
    if (!text_empty(step->input)) {
        details->goods = NULL;
        details->input = (struct text){0};
    }
    return details;
}

/* An extension is the same request again, with more time. The step keeps its content: an
 * event's inputs are a set of the steps that the order had then. */
static void add_request(const struct decision *decision, const struct event *event,
                        const struct order *order, struct arena *arena, struct effects *effects)
{
    bool first = event->kind == EVENT_STEP_STARTED;
    const struct attempt_ref *ref = event_ref(event);
    const struct step *step = running(order, decision, event);
    if (step == NULL)
        return;
    assert(event_makes_request(event->kind));
    assert(!first || step->generation[step->direction] == event->step_started.generation);
    assert(effects->requests != NULL);
    struct step_request *request = &effects->requests[effects->request_count++];
    request->order_id = decision->order_id;
    request->ref = *ref;
    request->generation = step->generation[step->direction];
    request->agent = first ? event->step_started.agent : step->agent;
    assert(text_equal(request->agent, step->agent));
    request->action = first ? event->step_started.action : event->step_extended.action;
    request->do_key = order_idempotency_key(order, step, DIRECTION_DO, arena);
    request->idempotency_key = ref->direction == DIRECTION_DO
                                   ? request->do_key
                                   : order_idempotency_key(order, step, DIRECTION_UNDO, arena);
    request->complete_by =
        first ? event->step_started.complete_by : event->step_extended.complete_by;
    request->extension = !first;
    if (first)
        request->input = step->input;
    request->order = details_at_start(order, step, arena);
    request->claim_id = decision->claim_id;
    request->decision_offset = decision->offset;
    request->order_version = decision->order_version;
    outputs_of(order, step->inputs, arena, request);
}

static void add_requests(const struct decision *decision, const struct order *order,
                         struct arena *arena, struct effects *effects)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < decision->event_count; i++)
        count += event_makes_request(decision->events[i].kind);
    assert(count <= decision->event_count);
    if (count == 0 || order == NULL)
        return;
    effects->requests = ARENA_ARRAY(arena, struct step_request, count);
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (event_makes_request(decision->events[i].kind))
            add_request(decision, &decision->events[i], order, arena, effects);
    }
    assert(effects->request_count <= count);
}

/* ---- status ---- */

#define STATUS_NONE STATUS_KIND_COUNT /* in engine/events.def */

static const enum status_kind status_of_event[EVENT_KIND_COUNT] = {
#define EVENT(number, kind, record, payload, words, answers, status) [EVENT_##kind] = (status),
#include "engine/events.def"
};

/* Rejected commands of supervisors and operators do not concern the application. */
static bool concerns_application(const struct event *event)
{
    return event->kind != EVENT_COMMAND_REJECTED ||
           command_kind_is_from(event->command_rejected.command, COMMAND_FROM_APPLICATION);
}

/* What an application waits for: no other status follows by itself. */
static bool is_last(enum status_kind kind)
{
    return kind == STATUS_PROCESSED || kind == STATUS_COMPENSATED || kind == STATUS_ERROR;
}

/* Received outranks everything but an end of the order, which steps without attempts can bring
 * about at once; else the last event about the order as a whole decides. */
static bool outranks(enum status_kind kind, enum status_kind than)
{
    assert(kind != STATUS_NONE);
    if (than == STATUS_NONE || kind == STATUS_RECEIVED || is_last(kind))
        return true;
    return kind != STATUS_STEP_CHANGED && than != STATUS_RECEIVED;
}

static void set_status_kind(struct status_update *status, const struct event *event)
{
    assert(event->kind > 0 && event->kind < EVENT_KIND_COUNT);
    enum status_kind kind = status_of_event[event->kind];
    const struct order_marked *marked = event_marked(event);
    if (kind == STATUS_NONE || !concerns_application(event) || !outranks(kind, status->kind))
        return;
    status->kind = kind;
    if (event->kind == EVENT_COMMAND_REJECTED) {
        status->code = event->command_rejected.code;
        status->message = event->command_rejected.reason;
    } else if (event->kind == EVENT_STEP_EXTENDED) {
        status->message = event->step_extended.progress;
    } else if (event->kind == EVENT_ORDER_PROCESSED) {
        status->code = (struct text){0};
        status->output = event->order_processed.output;
        status->message = event->order_processed.problem;
    } else if (marked != NULL) {
        status->code = marked->code;
        status->message = marked->reason;
    }
}

/* NULL: none yet. */
static struct step_change *find_change(const struct status_update *status, struct text step)
{
    assert(status->step_count <= WORKFLOW_STEPS_MAX);
    for (uint32_t i = 0; i < status->step_count; i++) {
        if (text_equal(status->steps[i].step, step))
            return &status->steps[i];
    }
    return NULL;
}

static struct step_change *find_or_add_change(struct status_update *status, struct text step)
{
    struct step_change *known = find_change(status, step);
    if (known != NULL)
        return known;
    assert(status->steps != NULL && status->step_count < WORKFLOW_STEPS_MAX);
    struct step_change *change = &status->steps[status->step_count++];
    change->step = step;
    return change;
}

/* A service is asked again, as often as it takes: its application hears of the attempts alone. */
static bool asks_again(const struct decision *decision, uint32_t index)
{
    const struct event *event = &decision->events[index];
    if (event->kind == EVENT_STEP_RETRY_SCHEDULED && index > 0)
        event--; /* the failure that it follows */
    return event->kind == EVENT_STEP_FAILED && event->step_failed.not_yet;
}

static bool is_step_change(const struct event *event)
{
    return status_of_event[event->kind] == STATUS_STEP_CHANGED;
}

/* A step that changes anyway and is queued in the same Decision, as a rule to be undone: what is
 * reported is where it stands in the end. */
static bool turns_step(const struct status_update *status, const struct event *event)
{
    return event->kind == EVENT_STEP_QUEUED &&
           find_change(status, event->step_queued.ref.step) != NULL;
}

static void add_step_change(struct status_update *status, const struct event *event)
{
    assert(event_is_of_step(event->kind));
    const struct attempt_ref *ref = event_ref(event);
    struct step_change *change = find_or_add_change(status, ref->step);
    change->direction = ref->direction;
    change->attempt = ref->attempt;
    change->state = step_state_after(event->kind, ref->direction);
    assert(change->state != STEP_NEVER);
    if (event->kind == EVENT_STEP_FAILED)
        change->error_name = event->step_failed.error_name;
    else if (event->kind == EVENT_STEP_FAILED_UNSTARTED)
        change->error_name = event->step_failed_unstarted.error_name;
    else if (event->kind == EVENT_STEP_TIMED_OUT)
        change->error_name = TEXT(ERROR_TIMEOUT);
    else if (event->kind == EVENT_STEP_WAITING && !text_empty(event->step_waiting.question))
        status->question = event->step_waiting.question;
}

/* To another submitter, the order does not exist. */
static void hide_order(struct status_update *status, struct arena *arena)
{
    static const struct order none;
    assert(status->kind == STATUS_REJECTED && status->step_count == 0);
    status->code = error_code_text(CODE_UNKNOWN_ORDER);
    status->message = message_format(arena, "there is no order %.*s", TEXT_ARG(status->order_id));
    status->order_state = none.state;
    status->order_version = none.version;
}

static void add_status(const struct decision *decision, int32_t partition, struct arena *arena,
                       struct effects *effects)
{
    if (text_empty(decision->reply_to))
        return;
    struct status_update status = {.order_id = decision->order_id,
                                   .kind = STATUS_NONE,
                                   .order_state = decision->order_state,
                                   .order_version = decision->order_version,
                                   .decided_at = decision->decided_at,
                                   .command_partition = partition,
                                   .command_offset = decision->command_offset,
                                   .decision_offset = decision->offset,
                                   .reply_to = decision->reply_to};
    uint32_t step_events = 0;
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (!asks_again(decision, i))
            set_status_kind(&status, &decision->events[i]);
        step_events += is_step_change(&decision->events[i]);
    }
    if (status.kind == STATUS_NONE)
        return;
    if (step_events > WORKFLOW_STEPS_MAX)
        step_events = WORKFLOW_STEPS_MAX;
    if (step_events > 0)
        status.steps = ARENA_ARRAY(arena, struct step_change, step_events);
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (is_step_change(&decision->events[i]) || turns_step(&status, &decision->events[i]))
            add_step_change(&status, &decision->events[i]);
    }
    if (text_equal(status.code, error_code_text(CODE_ANOTHER_SUBMITTER)))
        hide_order(&status, arena);
    assert(status.step_count <= step_events);
    assert(status.kind < STATUS_KIND_COUNT);
    assert(!effects->has_status);
    effects->has_status = true;
    effects->status = status;
}

/* ---- alert ---- */

/* A command that killed its owner several times: an alert of the partition, not of the order. */
static void add_quarantine_alert(const struct decision *decision, int32_t partition,
                                 struct effects *effects)
{
    assert(!effects->has_alert);
    const struct event *event = &decision->events[0];
    if (event->kind != EVENT_COMMAND_DEAD_LETTERED || !event->command_dead_lettered.quarantined)
        return;
    effects->has_alert = true;
    effects->alert = (struct operator_alert){.raised = true,
                                             .code = error_code_text(CODE_COMMAND_QUARANTINED),
                                             .message = event->command_dead_lettered.reason,
                                             .partition = partition,
                                             .command_offset = decision->command_offset,
                                             .decision_offset = decision->offset,
                                             .decided_at = decision->decided_at};
}

static void add_alert(const struct decision *decision, int32_t partition, struct effects *effects)
{
    assert(!effects->has_alert);
    const struct event *last = NULL;
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        bool first_closed = event->kind == EVENT_ALERT_CLOSED && last == NULL;
        if (event->kind == EVENT_ALERT_RAISED || first_closed)
            last = event;
    }
    if (last == NULL) {
        add_quarantine_alert(decision, partition, effects);
        return;
    }
    effects->has_alert = true;
    effects->alert = (struct operator_alert){.order_id = decision->order_id,
                                             .raised = last->kind == EVENT_ALERT_RAISED,
                                             .code = last->order_marked.code,
                                             .message = last->order_marked.reason,
                                             .step = last->order_marked.step,
                                             .by = last->order_marked.by,
                                             .order_version = decision->order_version,
                                             .partition = partition,
                                             .command_offset = decision->command_offset,
                                             .decision_offset = decision->offset,
                                             .decided_at = decision->decided_at,
                                             .root = order_id_root(decision->order_id)};
}

void effects_of(const struct decision *decision, int32_t partition, const struct order *order,
                struct arena *arena, struct effects *ret_effects)
{
    assert(decision->event_count >= 1);
    /* Another order of this id, accepted after this one expired. */
    if (order != NULL && order->accepted_offset > decision->offset)
        order = NULL;
    *ret_effects = (struct effects){0};
    add_requests(decision, order, arena, ret_effects);
    effects_add_messages(decision, order, arena, ret_effects);
    add_status(decision, partition, arena, ret_effects);
    add_alert(decision, partition, ret_effects);
    ret_effects->has_dead_letter = decision->events[0].kind == EVENT_COMMAND_DEAD_LETTERED;
}
