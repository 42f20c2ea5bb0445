/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/engine_print.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void line_add(struct line *line, const char *format, ...)
{
    char piece[MESSAGE_BYTES_MAX * 2];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < sizeof(piece));
    line->text = realloc(line->text, line->size + (size_t)size + 1);
    assert(line->text != NULL);
    memcpy(line->text + line->size, piece, (size_t)size + 1);
    line->size += (size_t)size;
}

static void add_ref(struct line *line, const struct attempt_ref *ref)
{
    line_add(line, "%.*s %s %u", TEXT_ARG(ref->step), direction_name(ref->direction),
             (unsigned)ref->attempt);
}

/* "capacity", or when the step is checked again; since when, unless since now. */
static void add_queued(struct line *line, const struct step_queued *queued, int64_t decided_at)
{
    if (queued->retry_at == 0)
        line_add(line, " capacity");
    else
        line_add(line, " +%lld", (long long)(queued->retry_at - decided_at));
    if (queued->queued_at != decided_at)
        line_add(line, " since%+lld", (long long)(queued->queued_at - decided_at));
}

/* Its beginning. */
static void add_json(struct line *line, const char *before, struct text json)
{
    enum { SHOWN_BYTES = 200 };
    if (!text_empty(json))
        line_add(line, "%s%.*s", before, json.size < SHOWN_BYTES ? (int)json.size : SHOWN_BYTES,
                 json.data);
}

/* " by ann #m-1" */
static void add_sender(struct line *line, struct text by, struct text id)
{
    if (!text_empty(by))
        line_add(line, " by %.*s", TEXT_ARG(by));
    if (!text_empty(id))
        line_add(line, " #%.*s", TEXT_ARG(id));
}

/* " signal of managers approve|decline \"Refund 7?\" +60000" */
static void add_waiting(struct line *line, const struct step_waiting *waiting, int64_t decided_at)
{
    line_add(line, "%s", waiting->for_signal ? " signal" : "");
    if (!text_empty(waiting->group))
        line_add(line, " of %.*s", TEXT_ARG(waiting->group));
    for (uint32_t i = 0; i < waiting->options.count; i++)
        line_add(line, "%s%.*s", i == 0 ? " " : "|", TEXT_ARG(waiting->options.items[i]));
    if (!text_empty(waiting->question))
        line_add(line, " \"%.*s\"", TEXT_ARG(waiting->question));
    if (waiting->due_at != 0)
        line_add(line, " +%lld", (long long)(waiting->due_at - decided_at));
}

static void add_signal(struct line *line, const struct signal_received *received)
{
    line_add(line, "(%.*s%s", TEXT_ARG(received->step), received->kept ? " kept" : "");
    add_json(line, " ", received->payload);
    add_sender(line, received->by, received->signal_id);
    line_add(line, ")");
}

/* "W do 1 x3 low": of three items. */
static void add_suborders_started(struct line *line, const struct suborders_started *started)
{
    if (started->generation > 0)
        line_add(line, " g%u", (unsigned)started->generation);
    line_add(line, " x%u", (unsigned)started->count);
    add_json(line, " ", started->items);
    if (started->priority != PRIORITY_NORMAL)
        line_add(line, " %s", enum_name(&priority_names, started->priority));
}

/* "0 1!States.QueryEvaluationError 2={"file":"a"} +3600000" */
static void add_suborders_submitted(struct line *line, const struct suborders_submitted *submitted,
                                    int64_t decided_at)
{
    for (uint32_t i = 0; i < submitted->item_count; i++) {
        const struct submitted_item *item = &submitted->items[i];
        line_add(line, " %lld", (long long)item->item);
        add_json(line, "=", item->input);
        if (!text_empty(item->error_name))
            line_add(line, "!%.*s", TEXT_ARG(item->error_name));
    }
    line_add(line, " +%lld", (long long)(submitted->complete_by - decided_at));
}

static void add_suborders_event(struct line *line, const struct event *event, int64_t decided_at)
{
    if (event->kind == EVENT_SUBORDERS_STARTED)
        add_suborders_started(line, &event->suborders_started);
    if (event->kind == EVENT_SUBORDERS_SUBMITTED)
        add_suborders_submitted(line, &event->suborders_submitted, decided_at);
    if (event->kind == EVENT_SUBORDERS_ASKED)
        line_add(line, " +%lld", (long long)(event->suborders_asked.complete_by - decided_at));
    if (event->kind != EVENT_SUBORDERS_RECALLED)
        return;
    if (!text_empty(event->suborders_recalled.error_name))
        line_add(line, " %.*s", TEXT_ARG(event->suborders_recalled.error_name));
    line_add(line, " +%lld", (long long)(event->suborders_recalled.complete_by - decided_at));
}

/* "(W 2 held "done" stop)" */
static void add_suborder_ended(struct line *line, const struct suborder_ended *ended)
{
    line_add(line, "(%.*s %lld", TEXT_ARG(ended->step), (long long)ended->item);
    if (ended->generation > 0)
        line_add(line, " g%u", (unsigned)ended->generation);
    line_add(line, " %s", enum_name(&suborder_outcome_names, ended->outcome));
    add_json(line, " ", ended->output);
    if (!text_empty(ended->error_name))
        line_add(line, " %.*s", TEXT_ARG(ended->error_name));
    line_add(line, "%s%s", ended->undo_failed ? " remains" : "", ended->stop ? " stop" : "");
    add_sender(line, ended->by, (struct text){0});
    line_add(line, ")");
}

static void add_step_event(struct line *line, const struct event *event, int64_t decided_at)
{
    add_ref(line, event_ref(event));
    if (event->kind == EVENT_STEP_STARTED && event->step_started.generation > 0)
        line_add(line, " g%u", (unsigned)event->step_started.generation);
    if (event->kind == EVENT_STEP_STARTED && !text_equal(event->step_started.agent, TEXT("agent")))
        line_add(line, " @%.*s", TEXT_ARG(event->step_started.agent));
    if (event->kind == EVENT_STEP_STARTED)
        add_json(line, " with ", event->step_started.input);
    if (event->kind == EVENT_STEP_PASSED)
        add_json(line, " ", event->step_passed.output);
    if (event->kind == EVENT_STEP_PASSED)
        add_sender(line, event->step_passed.by, event->step_passed.signal_id);
    if (event->kind == EVENT_STEP_WAITING)
        add_waiting(line, &event->step_waiting, decided_at);
    if (event->kind == EVENT_STEP_QUEUED)
        add_queued(line, &event->step_queued, decided_at);
    if (event->kind == EVENT_STEP_EXTENDED)
        line_add(line, " +%lld", (long long)(event->step_extended.complete_by - decided_at));
    if (event->kind == EVENT_STEP_FAILED)
        line_add(line, " %.*s %s x%u", TEXT_ARG(event->step_failed.error_name),
                 effect_name(event->step_failed.effect),
                 (unsigned)event->step_failed.failure_count);
    if (event->kind == EVENT_STEP_FAILED && event->step_failed.not_yet)
        line_add(line, " not yet");
    if (event->kind == EVENT_STEP_TIMED_OUT)
        line_add(line, " %s x%u", effect_name(event->step_timed_out.effect),
                 (unsigned)event->step_timed_out.failure_count);
    if (event->kind == EVENT_STEP_RETRY_SCHEDULED)
        line_add(line, " +%lld", (long long)(event->step_retry_scheduled.retry_at - decided_at));
    if (event->kind == EVENT_STEP_FAILED_UNSTARTED)
        line_add(line, " %.*s x%u", TEXT_ARG(event->step_failed_unstarted.error_name),
                 (unsigned)event->step_failed_unstarted.failure_count);
    add_suborders_event(line, event, decided_at);
    if (event->kind == EVENT_STEP_RESUBMITTED)
        line_add(line, " g%u", (unsigned)event->step_resubmitted.generation);
}

/* "(Total g0 Charge g2)", the steps that begin again. */
static void add_amended(struct line *line, const struct order_amended *amended)
{
    for (uint32_t i = 0; i < amended->step_count; i++)
        line_add(line, "%s%.*s g%u", i == 0 ? "(" : " ", TEXT_ARG(amended->steps[i].name),
                 (unsigned)amended->steps[i].generation);
    line_add(line, "%s", amended->step_count > 0 ? ")" : "");
}

static void add_event(struct line *line, const struct event *event, int64_t decided_at)
{
    line_add(line, "%s", event_kind_name(event->kind));
    struct text code = {0};
    if (event_is_of_step(event->kind)) {
        line_add(line, "(");
        add_step_event(line, event, decided_at);
        line_add(line, ")");
        return;
    }
    if (event->kind == EVENT_ORDER_DEADLINE_SET)
        line_add(line, "(+%lld)", (long long)(event->order_deadline_set.complete_by - decided_at));
    if (event->kind == EVENT_SIGNAL_RECEIVED)
        add_signal(line, &event->signal_received);
    if (event->kind == EVENT_ORDER_AMENDED)
        add_amended(line, &event->order_amended);
    if (event->kind == EVENT_SUBORDER_ENDED)
        add_suborder_ended(line, &event->suborder_ended);
    if (event->kind == EVENT_ORDER_HELD) {
        line_add(line, "(+%lld", (long long)(event->order_held.complete_by - decided_at));
        add_json(line, " ", event->order_held.output);
        line_add(line, ")");
    }
    if (event->kind == EVENT_ORDER_PROCESSED)
        add_json(line, " ", event->order_processed.output);
    if (event->kind == EVENT_COMMAND_REJECTED)
        code = event->command_rejected.code;
    else if (event->kind == EVENT_REPORT_IGNORED)
        code = event->report_ignored.code;
    else if (event_marked(event) != NULL)
        code = event_marked(event)->code;
    if (!text_empty(code))
        line_add(line, "(%.*s)", TEXT_ARG(code));
}

void line_add_decision(struct line *line, const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (i > 0)
            line_add(line, " ");
        add_event(line, &decision->events[i], decision->decided_at);
    }
}

static void add_items(struct line *line, const struct suborders *suborders)
{
    static const char letters[ITEM_STATE_COUNT] = {'t', 's', 'h', 'f', 'x'};
    for (uint32_t i = 0; suborders != NULL && i < suborders->item_count; i++)
        line_add(line, "%s%c", i == 0 ? "[" : "", letters[suborders->items[i].state]);
    if (suborders != NULL && suborders->item_count > 0)
        line_add(line, "]");
}

void line_add_order(struct line *line, const struct order *order)
{
    if (order->version == 0) {
        line_add(line, "none");
        return;
    }
    line_add(line, "%s", order_state_name(order->state));
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        line_add(line, " %.*s=%s", TEXT_ARG(step->name), step_state_name(step->state));
        if (step->attempt > 0)
            line_add(line, "(%s %u)", direction_name(step->direction), (unsigned)step->attempt);
        add_items(line, step->suborders);
    }
}

void line_add_deadlines(struct line *line, const struct order *order, int64_t now)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(order, deadlines);
    for (uint32_t i = 0; i < count; i++) {
        line_add(line, "%s%s", i > 0 ? " " : "", deadline_kind_name(deadlines[i].kind));
        if (deadlines[i].kind != DEADLINE_ORDER)
            line_add(line, "(%.*s)", TEXT_ARG(order->steps[deadlines[i].step].name));
        line_add(line, "%+lld", (long long)(deadlines[i].due_at - now));
    }
    if (count == 0)
        line_add(line, "none");
}

void line_add_requests(struct line *line, const struct effects *effects)
{
    for (uint32_t i = 0; i < effects->request_count; i++) {
        const struct step_request *request = &effects->requests[i];
        line_add(line, "%s%.*s(%s %u %.*s", i > 0 ? " " : "", TEXT_ARG(request->ref.step),
                 direction_name(request->ref.direction), (unsigned)request->ref.attempt,
                 TEXT_ARG(request->idempotency_key));
        if (!text_equal(request->agent, TEXT("agent")))
            line_add(line, " @%.*s", TEXT_ARG(request->agent));
        if (request->ref.direction == DIRECTION_UNDO)
            line_add(line, " of %.*s", TEXT_ARG(request->do_key));
        add_json(line, " with ", request->input);
        line_add(line, ")");
    }
    if (effects->request_count == 0)
        line_add(line, "none");
}

static void add_message(struct line *line, const struct command *cmd)
{
    const struct order_details *details = &cmd->submit_order;
    const struct settle_suborder *settle = &cmd->settle_suborder;
    const struct report_suborder *report = &cmd->report_suborder;
    if (cmd->kind == COMMAND_SUBMIT_ORDER) {
        line_add(line, "submit %.*s", TEXT_ARG(cmd->order_id));
        if (details->priority != PRIORITY_NORMAL)
            line_add(line, " %s", enum_name(&priority_names, details->priority));
        add_json(line, " with ", details->input);
    } else if (cmd->kind == COMMAND_SETTLE_SUBORDER) {
        line_add(line, "%s %.*s%s", enum_name(&settle_names, settle->how), TEXT_ARG(cmd->order_id),
                 settle->held ? " held" : "");
    } else {
        line_add(line, "report %s", enum_name(&suborder_outcome_names, report->outcome));
        add_json(line, " ", report->output);
        if (!text_empty(report->error_name))
            line_add(line, " %.*s", TEXT_ARG(report->error_name));
        line_add(line, " of %.*s", TEXT_ARG(cmd->order_id));
    }
}

void line_add_messages(struct line *line, const struct effects *effects)
{
    for (uint32_t i = 0; i < effects->message_count; i++) {
        line_add(line, "%s", i > 0 ? ", " : "");
        add_message(line, &effects->messages[i].cmd);
    }
    if (effects->message_count == 0)
        line_add(line, "none");
}

void line_add_status(struct line *line, const struct effects *effects)
{
    const struct status_update *status = &effects->status;
    if (!effects->has_status) {
        line_add(line, "none");
        return;
    }
    line_add(line, "%s", status_kind_name(status->kind));
    if (!text_empty(status->code))
        line_add(line, "(%.*s)", TEXT_ARG(status->code));
    for (uint32_t i = 0; i < status->step_count; i++) {
        const struct step_change *change = &status->steps[i];
        line_add(line, " %.*s=%s(%s %u", TEXT_ARG(change->step), step_state_name(change->state),
                 direction_name(change->direction), (unsigned)change->attempt);
        if (!text_empty(change->error_name))
            line_add(line, " %.*s", TEXT_ARG(change->error_name));
        line_add(line, ")");
    }
    add_json(line, " ", status->output);
}

void line_add_alert(struct line *line, const struct effects *effects)
{
    const struct operator_alert *alert = &effects->alert;
    if (!effects->has_alert) {
        line_add(line, "none");
        return;
    }
    line_add(line, "%s(%.*s", alert->raised ? "raised" : "closed", TEXT_ARG(alert->code));
    if (!text_empty(alert->step))
        line_add(line, " %.*s", TEXT_ARG(alert->step));
    line_add(line, ")");
}
