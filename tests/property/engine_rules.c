/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_rules.h"

#include "tests/property/engine_random.h"

#include <stdarg.h>
#include <stdio.h>

void rules_init(struct rules *rules, const struct workflow *workflow, uint64_t *rare)
{
    memset(rules, 0, sizeof(*rules));
    rules->workflow = workflow;
    rules->rare = rare;
}

void rules_say(struct rules *rules, const char *format, ...)
{
    if (rules->wrong[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rules->wrong, sizeof(rules->wrong), format, arguments);
    va_end(arguments);
}

int rules_index(const struct rules *rules, struct text step)
{
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        if (text_equal(rules->workflow->steps[i].name, step))
            return (int)i;
    }
    return -1;
}

struct event rules_peek(const struct rules *rules, uint32_t ahead)
{
    uint32_t at = rules->at + ahead;
    return at < rules->decision->event_count ? rules->decision->events[at] : (struct event){0};
}

bool rules_way_back(const struct rules *rules)
{
    int pivot = rules->workflow->pivot;
    if (pivot < 0)
        return true;
    uint64_t passed = steps_behind(rules->workflow, pivot) | UINT64_C(1) << pivot;
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        const struct way *way = &rules->steps[i].ways[DIRECTION_DO];
        bool acts = way->state == WAY_RUNNING || way->effect != EFFECT_NONE;
        if ((passed >> i & 1) != 0 && acts)
            return false;
    }
    return true;
}

bool rules_any_runs(const struct rules *rules)
{
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        for (uint32_t d = 0; d < DIRECTION_COUNT; d++) {
            if (rules->steps[i].ways[d].state == WAY_RUNNING)
                return true;
        }
    }
    return false;
}

bool rules_to_undo(const struct rules *rules, uint32_t index)
{
    return rules->workflow->steps[index].has_compensate &&
           rules->steps[index].ways[DIRECTION_DO].effect != EFFECT_NONE;
}

int rules_open_undo(const struct rules *rules)
{
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        const struct way *way = &rules->steps[i].ways[DIRECTION_UNDO];
        if (rules->steps[i].turned && way->state != WAY_DONE)
            return (int)i;
    }
    return -1;
}

bool rules_predecessors_done(const struct rules *rules, uint32_t index)
{
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        const struct rules_step *step = &rules->steps[i];
        if ((rules->workflow->steps[index].after >> i & 1) != 0 &&
            step->ways[DIRECTION_DO].state != WAY_DONE && !step->skipped)
            return false;
    }
    return true;
}

/* ---- events of the order as a whole ---- */

static void accepted(struct rules *rules, const struct order_accepted *event)
{
    RULE(rules, rules->phase == PHASE_NONE, "accepted twice");
    RULE(rules, event->step_count == rules->workflow->step_count, "not the workflow's steps");
    RULE(rules, event->details.workflow_version == rules->workflow->version, "not pinned");
    int64_t timeout = rules->workflow->timeout_ms;
    int64_t due = timeout > 0 ? rules->decision->decided_at + timeout : 0;
    RULE(rules, event->complete_by == due, "not the order's timeout");
    rules->complete_by = due;
    rules->margin_ms = event->margin_ms;
    rules->content_hash = event->details.content_hash;
    rules->input = event->details.input;
    RULE(rules, text_equal(rules->input, rules->cmd->submit_order.input), "another input");
    rules->phase = PHASE_FORWARD;
    rules->rare[RARE_SUBMITTED_AGAIN] += rules->expired;
    for (uint32_t i = 0; i < event->step_count; i++)
        rules->steps[i].agent = event->steps[i].agent;
    RULE(rules, rules_peek(rules, 1).kind == EVENT_ORDER_STARTED, "accepted, not started");
}

static void compensation_started(struct rules *rules)
{
    RULE(rules, rules->phase == PHASE_FORWARD, "compensation starts once, of an order under way");
    RULE(rules, rules_way_back(rules), "there is no way back from the pivot");
    if (rules->workflow->pivot >= 0 &&
        rules->steps[rules->workflow->pivot].ways[DIRECTION_DO].attempt > 0)
        rules->rare[RARE_PIVOT_TURNED_BACK]++;
    if (rules->workflow->pivot >= 0 && rules->steps[rules->workflow->pivot].skipped)
        rules->rare[RARE_SKIPPED_PIVOT_TURNED_BACK]++;
    if (rules->error)
        rules->rare[RARE_CANCELLED_IN_ERROR]++;
    rules->phase = PHASE_BACKWARD;
    rules->error = false;
    rules->complete_by = 0;
}

static void failed(struct rules *rules, const struct order_marked *event)
{
    RULE(rules, !rules->error, "failed twice");
    RULE(rules, rules->phase == PHASE_FORWARD || rules->phase == PHASE_BACKWARD,
         "failed at the end");
    struct event next = rules_peek(rules, 1);
    RULE(rules, next.kind == EVENT_ALERT_RAISED && text_equal(next.order_marked.code, event->code),
         "failed without an alert of it");
    rules->error = true;
    rules->complete_by = 0;
    if (rules->phase == PHASE_BACKWARD)
        rules->rare[RARE_UNDO_FAILED]++;
}

static void processed(struct rules *rules, const struct order_processed *event)
{
    RULE(rules, rules->phase == PHASE_FORWARD && !rules->error, "processed out of turn");
    for (uint32_t i = 0; i < rules->workflow->step_count; i++)
        RULE(rules, rules->steps[i].ways[DIRECTION_DO].state == WAY_DONE || rules->steps[i].skipped,
             "step %u is missing", i);
    rules_check_order_output(rules, event);
    rules->phase = PHASE_PROCESSED;
    rules->rare[RARE_ENDED_PAUSED] += rules->paused;
    rules->paused = false;
}

/* I9: the undone set is exact. */
static void compensated(struct rules *rules)
{
    RULE(rules, rules->phase == PHASE_BACKWARD && !rules->error, "compensated out of turn");
    RULE(rules, !rules_any_runs(rules), "compensated while an attempt runs");
    uint64_t behind = steps_behind(rules->workflow, rules->workflow->pivot);
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        bool undone = rules->steps[i].ways[DIRECTION_UNDO].state == WAY_DONE;
        RULE(rules, undone == rules_to_undo(rules, i), "step %u is %s", i,
             undone ? "undone for nothing" : "not undone");
        RULE(rules,
             (behind >> i & 1) == 0 || rules->steps[i].ways[DIRECTION_DO].effect == EFFECT_NONE,
             "compensated, but step %u behind the pivot remains", i);
    }
    rules->phase = PHASE_COMPENSATED;
    rules->rare[RARE_ENDED_PAUSED] += rules->paused;
    rules->paused = false;
}

static void timed_out(struct rules *rules)
{
    RULE(rules, rules->cmd->kind == COMMAND_TIME_OUT_ORDER, "timed out without a request");
    rules->complete_by = 0;
    rules->rare[rules_way_back(rules) ? RARE_ORDER_TIMED_OUT : RARE_ORDER_TIMED_OUT_PAST_PIVOT]++;
    struct event next = rules_peek(rules, 1);
    RULE(rules,
         next.kind == (rules_way_back(rules) ? EVENT_COMPENSATION_STARTED : EVENT_ORDER_FAILED),
         "timed out, then %s", event_kind_name(next.kind));
}

/* An order that leaves Error has its workflow's deadline again, or the operator's. */
static void resumed(struct rules *rules)
{
    RULE(rules, rules->error, "resumed, but not in Error");
    rules->error = false;
    bool resubmits = rules->cmd->kind == COMMAND_RESUBMIT_STEP;
    int64_t timeout = resubmits ? rules->cmd->resubmit_step.timeout_ms : 0;
    if (timeout == 0)
        timeout = rules->workflow->timeout_ms;
    bool due = timeout > 0 && rules->phase == PHASE_FORWARD;
    struct event next = rules_peek(rules, 1);
    RULE(rules, (next.kind == EVENT_ORDER_DEADLINE_SET) == due, "resumed, then %s",
         event_kind_name(next.kind));
    RULE(rules,
         !due || next.order_deadline_set.complete_by == rules->decision->decided_at + timeout,
         "another deadline");
    RULE(rules,
         resubmits || rules->cmd->kind == COMMAND_COMPLETE_STEP ||
             rules->cmd->kind == COMMAND_SKIP_STEP,
         "resumed without a request");
    rules->rare[RARE_COMPLETED_LAST_ERROR] += !resubmits;
}

static void deadline_set(struct rules *rules, const struct order_deadline_set *event)
{
    rules->complete_by = event->complete_by;
    rules->margin_ms = event->margin_ms;
    rules->rare[RARE_DEADLINE_RENEWED]++;
}

static void paused(struct rules *rules)
{
    RULE(rules, rules->cmd->kind == COMMAND_PAUSE_ORDER, "paused without a request");
    rules->paused = true;
    rules->rare[RARE_PAUSED_UNDO] += rules->phase == PHASE_BACKWARD;
}

static void pause_ended(struct rules *rules)
{
    RULE(rules, rules->cmd->kind == COMMAND_RESUME_ORDER, "no longer paused without a request");
    rules->paused = false;
}

static void order_event(struct rules *rules, const struct event *event)
{
    if (event->kind == EVENT_ORDER_ACCEPTED)
        accepted(rules, &event->order_accepted);
    else if (event->kind == EVENT_ORDER_STARTED)
        RULE(rules, rules->at == 1, "started out of turn");
    else if (event->kind == EVENT_ORDER_CANCELLED)
        RULE(rules, rules->cmd->kind == COMMAND_CANCEL_ORDER, "cancelled without a request");
    else if (event->kind == EVENT_ORDER_TIMED_OUT)
        timed_out(rules);
    else if (event->kind == EVENT_COMPENSATION_STARTED)
        compensation_started(rules);
    else if (event->kind == EVENT_ORDER_PROCESSED)
        processed(rules, &event->order_processed);
    else if (event->kind == EVENT_ORDER_COMPENSATED)
        compensated(rules);
    else if (event->kind == EVENT_ORDER_FAILED)
        failed(rules, &event->order_marked);
    else if (event->kind == EVENT_ORDER_RESUMED)
        resumed(rules);
    else if (event->kind == EVENT_ORDER_DEADLINE_SET)
        deadline_set(rules, &event->order_deadline_set);
    else if (event->kind == EVENT_ORDER_PAUSED)
        paused(rules);
    else if (event->kind == EVENT_ORDER_PAUSE_ENDED)
        pause_ended(rules);
    else if (event->kind == EVENT_ORDER_MIGRATED)
        rules_migrated(rules, &event->order_migrated);
    else if (event->kind == EVENT_ORDER_AMENDED)
        rules_amended(rules, &event->order_amended);
    else if (event->kind == EVENT_SIGNAL_RECEIVED)
        rules_signal_received(rules, &event->signal_received);
    else if (event->kind == EVENT_ALERT_RAISED) {
        RULE(rules, rules->alerts_open++ == 0, "a second alert");
    } else if (event->kind == EVENT_ALERT_CLOSED) {
        RULE(rules, rules->alerts_open-- == 1, "an alert closed that is not open");
    } else {
        rules_say(rules, "%s among events that change the order", event_kind_name(event->kind));
    }
}

/* ---- the end of a Decision: no order is ever stuck ---- */

/* The step is queued, and none of its agents is healthy with free capacity. */
static bool queues(const struct rules *rules, uint32_t index, enum direction direction)
{
    return rules->steps[index].ways[direction].queued &&
           rules_waits_rightly(rules, index, direction);
}

static bool could_start(const struct rules *rules, const struct way *way)
{
    bool waits = way->state == WAY_WAITING || way->state == WAY_TIMED ||
                 (way->state == WAY_AWAITING && way->retry_at != 0);
    return way->queued || way->state == WAY_FRESH || way->state == WAY_RESUBMITTED ||
           (waits && way->retry_at <= rules->decision->decided_at);
}

/* A paused order starts nothing that could start; the rest is as ever. */
static bool is_paused(struct rules *rules)
{
    rules->rare[RARE_PAUSED] += rules->paused;
    return rules->paused;
}

static void check_forward(struct rules *rules)
{
    bool left = false;
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        const struct way *way = &rules->steps[i].ways[DIRECTION_DO];
        if (rules->steps[i].skipped)
            continue;
        left = left || way->state != WAY_DONE;
        RULE(rules, way->state != WAY_FAILED && way->state != WAY_EXHAUSTED,
             "nothing follows the failure of step %u", i);
        RULE(rules, way->state != WAY_AWAITING || way->retry_at != 0 || rules->complete_by != 0,
             "step %u awaits a signal forever", i);
        bool put_off = rules_time_is_up(rules) && (way->state == WAY_WAITING || way->queued);
        RULE(rules,
             !could_start(rules, way) || !rules_predecessors_done(rules, i) || put_off ||
                 queues(rules, i, DIRECTION_DO) || is_paused(rules),
             "step %u could start and does not", i);
    }
    RULE(rules, left, "all steps are done and the order does not end");
}

static void check_backward(struct rules *rules)
{
    if (rules_any_runs(rules))
        return;
    int open = rules_open_undo(rules);
    if (rules->paused) {
        bool left = open >= 0;
        for (uint32_t i = 0; i < rules->workflow->step_count; i++)
            left = left || (rules_to_undo(rules, i) && !rules->steps[i].turned);
        RULE(rules, left, "paused, everything is undone, and the order does not end");
        return;
    }
    if (open >= 0) {
        const struct way *way = &rules->steps[open].ways[DIRECTION_UNDO];
        bool waits = way->queued
                         ? rules_waits_rightly(rules, (uint32_t)open, DIRECTION_UNDO)
                         : way->state == WAY_WAITING && way->retry_at > rules->decision->decided_at;
        RULE(rules, waits, "the undo of step %d could start and does not", open);
        return;
    }
    rules_say(rules, "nothing runs, no undo waits, and the order does not end");
}

static void check_rest(struct rules *rules)
{
    RULE(rules, rules->alerts_open == (rules->error ? 1 : 0), "%u alerts are open",
         rules->alerts_open);
    if (rules->error)
        return;
    if (rules->phase == PHASE_FORWARD)
        check_forward(rules);
    else if (rules->phase == PHASE_BACKWARD)
        check_backward(rules);
}

static enum order_state state_of(const struct rules *rules)
{
    static const enum order_state states[] = {
        [PHASE_NONE] = ORDER_PENDING,
        [PHASE_FORWARD] = ORDER_PROCESSING,
        [PHASE_BACKWARD] = ORDER_COMPENSATING,
        [PHASE_PROCESSED] = ORDER_PROCESSED,
        [PHASE_COMPENSATED] = ORDER_COMPENSATED,
    };
    return rules->error ? ORDER_ERROR : states[rules->phase];
}

/* ---- a Decision ---- */

static struct text code_of(const struct event *event)
{
    if (event->kind == EVENT_COMMAND_REJECTED)
        return event->command_rejected.code;
    if (event->kind == EVENT_REPORT_IGNORED)
        return event->report_ignored.code;
    if (event->kind == EVENT_SUBMISSION_REPEATED)
        return TEXT("repeat");
    return event->kind == EVENT_COMMAND_DEAD_LETTERED ? TEXT("dead") : TEXT("carried out");
}

/* I7 among others: one event rejects a command, and it changes nothing. */
static void check_refused(struct rules *rules, const char *verdict)
{
    struct text code = code_of(&rules->decision->events[0]);
    RULE(rules, rules->decision->event_count == 1 && text_equal(code, text_of(verdict)),
         "deserves %s, but is %.*s", verdict, TEXT_ARG(code));
    RULE(rules, rules->decision->order_version == rules->version, "refused with another version");
}

/* The step's service succeeded, and the step does not. */
static bool output_fails(struct rules *rules)
{
    const struct report_step *report = &rules->cmd->report_step;
    int index = rules_index(rules, report->step);
    return index >= 0 && report->direction == DIRECTION_DO &&
           !text_empty(rules_output_fault(rules, (uint32_t)index));
}

/* Whether it may be is for each of these events to say. */
static enum event_kind start_event(const struct rules *rules)
{
    static const enum event_kind kinds[] = {EVENT_STEP_QUEUED, EVENT_STEP_SKIPPED,
                                            EVENT_STEP_PASSED, EVENT_STEP_FAILED_UNSTARTED,
                                            EVENT_STEP_WAITING};
    const struct event *event = &rules->decision->events[0];
    bool asked = event_is_of_step(event->kind) &&
                 text_equal(event_ref(event)->step, rules->cmd->start_step.step);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && asked; i++) {
        if (event->kind == kinds[i])
            return kinds[i];
    }
    return EVENT_STEP_STARTED;
}

/* The Decision on an accepted command begins with the requested event. */
static enum event_kind first_event(struct rules *rules)
{
    switch (rules->cmd->kind) {
    case COMMAND_SUBMIT_ORDER:
        return EVENT_ORDER_ACCEPTED;
    case COMMAND_CANCEL_ORDER:
        return EVENT_ORDER_CANCELLED;
    case COMMAND_REPORT_STEP:
        return rules->cmd->report_step.succeeded && !output_fails(rules) ? EVENT_STEP_SUCCEEDED
                                                                         : EVENT_STEP_FAILED;
    case COMMAND_RECOVER_STEP:
        return EVENT_STEP_TIMED_OUT;
    case COMMAND_START_STEP:
        return start_event(rules);
    case COMMAND_TIME_OUT_ORDER:
        return EVENT_ORDER_TIMED_OUT;
    case COMMAND_COMPENSATE_ORDER:
        return EVENT_COMPENSATION_STARTED;
    case COMMAND_RESUBMIT_STEP: /* the order, where no step is in Error */
        return rules->decision->events[0].kind == EVENT_ORDER_RESUMED ? EVENT_ORDER_RESUMED
                                                                      : EVENT_STEP_RESUBMITTED;
    case COMMAND_EXTEND_STEP:
        return EVENT_STEP_EXTENDED;
    case COMMAND_COMPLETE_STEP:
        return EVENT_STEP_COMPLETED_BY_HAND;
    case COMMAND_SKIP_STEP:
        return EVENT_STEP_SKIPPED_BY_HAND;
    case COMMAND_FAIL_STEP:
        return EVENT_STEP_FAILED_UNSTARTED;
    case COMMAND_PAUSE_ORDER:
        return EVENT_ORDER_PAUSED;
    case COMMAND_RESUME_ORDER:
        return EVENT_ORDER_PAUSE_ENDED;
    case COMMAND_MIGRATE_ORDER:
        return EVENT_ORDER_MIGRATED;
    case COMMAND_AMEND_ORDER:
        return EVENT_ORDER_AMENDED;
    case COMMAND_SIGNAL_ORDER:
        return rules_signal_event(rules);
    case COMMAND_REPORT_SUBORDER: /* not sent: no step has sub-orders */
    case COMMAND_SETTLE_SUBORDER:
    case COMMAND_UNDECODABLE:
    case COMMAND_KIND_COUNT:
        break;
    }
    return EVENT_KIND_COUNT;
}

static void follow_events(struct rules *rules)
{
    enum event_kind first = first_event(rules);
    RULE(rules, rules->decision->events[0].kind == first, "begins with %s, not with %s",
         event_kind_name(rules->decision->events[0].kind), event_kind_name(first));
    const struct decision *decision = rules->decision;
    RULE(rules, decision->order_version == rules->version + 1, "the version is not dense"); /* I2 */
    rules->version = decision->order_version;
    for (rules->at = 0; rules->at < decision->event_count; rules->at++) {
        const struct event *event = &decision->events[rules->at];
        if (event_is_of_step(event->kind))
            rules_step_event(rules, event);
        else
            order_event(rules, event);
    }
    /* A request for more time starts nothing, nor does a pause, or a signal that passes none. */
    bool alone = rules->cmd->kind == COMMAND_EXTEND_STEP ||
                 rules->cmd->kind == COMMAND_PAUSE_ORDER || first == EVENT_SIGNAL_RECEIVED;
    if (!alone)
        check_rest(rules);
    RULE(rules, !alone || decision->event_count == 1,
         "more than an extension, a pause or a signal");
}

void rules_expire(struct rules *rules)
{
    struct rules fresh = {.workflow = rules->workflow,
                          .mapped = rules->mapped,
                          .arena = rules->arena,
                          .rare = rules->rare,
                          .decided_at = rules->decided_at,
                          .expired = true};
    rules->rare[RARE_EXPIRED]++;
    *rules = fresh;
}

const char *rules_follow(struct rules *rules, const struct command *cmd,
                         const struct decision *decision, const struct routing *routing)
{
    rules->wrong[0] = '\0';
    rules->cmd = cmd;
    rules->decision = decision;
    rules->routing = routing;
    rules->at = 0;
    for (uint32_t i = 0; i < WORKFLOW_STEPS_MAX; i++)
        rules->steps[i].spent = false;
    RULE(rules, decision->decided_at >= rules->decided_at, "time runs backwards"); /* I8 */
    rules->decided_at = decision->decided_at;
    const char *verdict = rules_verdict(rules, cmd, decision->decided_at);
    if (verdict != NULL)
        check_refused(rules, verdict);
    else
        follow_events(rules);
    RULE(rules, decision->order_state == state_of(rules), "the state is not %s",
         order_state_name(state_of(rules)));
    return rules->wrong[0] != '\0' ? rules->wrong : NULL;
}
