/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/event_text.h"

#include "base/utf8.h"
#include "engine/message.h"
#include "platform/clock.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { SAID_BYTES_MAX = 400 }; /* of an error's message or somebody's reason */

/* A sentence under way. */
struct sentence {
    char data[MESSAGE_BYTES_MAX];
    size_t size;
};

static void say(struct sentence *sentence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct sentence *sentence, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof(sentence->data) - sentence->size;
    va_start(arguments, format);
    int size = vsnprintf(sentence->data + sentence->size, room, format, arguments);
    va_end(arguments);
    if (size > 0)
        sentence->size += (size_t)size < room ? (size_t)size : room - 1;
}

static struct text spoken(const struct sentence *sentence, struct arena *arena)
{
    struct text text = {sentence->data, (uint32_t)sentence->size};
    /* The end may be half a character, where the sentence was full. */
    if (sentence->size + 1 == sizeof(sentence->data))
        text = utf8_cut(text, text.size - 4);
    return arena_text(arena, text);
}

/* `before` and the text, unless that is empty. */
static void say_also(struct sentence *sentence, const char *before, struct text text)
{
    if (!text_empty(text))
        say(sentence, "%s%.*s", before, TEXT_ARG(utf8_cut(text, SAID_BYTES_MAX)));
}

static void say_time(struct sentence *sentence, const char *before, int64_t at)
{
    char text[CLOCK_TEXT_SIZE];
    if (at == 0)
        return;
    clock_text(at, text);
    say(sentence, "%s%s", before, text);
}

/* "TakePayment: attempt 2", "undo of TakePayment: attempt 1" */
static void say_attempt(struct sentence *sentence, const struct attempt_ref *ref)
{
    say(sentence, "%s%.*s: attempt %u", ref->direction == DIRECTION_UNDO ? "undo of " : "",
        TEXT_ARG(ref->step), (unsigned)ref->attempt);
}

static void say_step(struct sentence *sentence, const struct attempt_ref *ref, const char *what)
{
    say(sentence, "%s%.*s %s", ref->direction == DIRECTION_UNDO ? "undo of " : "",
        TEXT_ARG(ref->step), what);
}

/* ---- events of steps ---- */

static void say_started(struct sentence *sentence, const struct event *event)
{
    const struct step_started *started = &event->step_started;
    say_attempt(sentence, &started->ref);
    say(sentence, " asked of agent %.*s", TEXT_ARG(started->agent));
    if (!text_equal(started->action, started->ref.step))
        say_also(sentence, " as ", started->action);
    say_time(sentence, ", until ", started->complete_by);
    say_also(sentence, ", by ", started->locked_by);
    say_also(sentence, " (", started->routing_reason);
    say(sentence, "%s", text_empty(started->routing_reason) ? "" : ")");
}

static void say_succeeded(struct sentence *sentence, const struct event *event)
{
    say_attempt(sentence, &event->step_succeeded.ref);
    say(sentence, " succeeded");
    say_also(sentence, ", says ", event->step_succeeded.by);
}

static void say_failed(struct sentence *sentence, const struct event *event)
{
    const struct step_failed *failed = &event->step_failed;
    say_attempt(sentence, &failed->ref);
    say_also(sentence, " failed: ", failed->error_name);
    say_also(sentence, ": ", failed->error_message);
    say(sentence, " (effect %s, failure %u)", effect_name(failed->effect),
        (unsigned)failed->failure_count);
    say_also(sentence, ", says ", failed->by);
}

static void say_timed_out(struct sentence *sentence, const struct event *event)
{
    const struct step_timed_out *timed_out = &event->step_timed_out;
    say_attempt(sentence, &timed_out->ref);
    say(sentence, " timed out");
    say_time(sentence, ": no report came by ", timed_out->complete_by);
    say(sentence, " (effect %s, failure %u)", effect_name(timed_out->effect),
        (unsigned)timed_out->failure_count);
    say_also(sentence, ", found by ", timed_out->by);
}

static void say_retry(struct sentence *sentence, const struct event *event)
{
    const struct step_retry_scheduled *scheduled = &event->step_retry_scheduled;
    say_step(sentence, &scheduled->ref, "waits for its next attempt");
    say_time(sentence, " until ", scheduled->retry_at);
    say(sentence, " (retry %u of retrier %u)", (unsigned)scheduled->retry,
        (unsigned)scheduled->retrier + 1);
}

static void say_exhausted(struct sentence *sentence, const struct event *event)
{
    say_step(sentence, &event->step_marked.ref, "is given up");
    say_also(sentence, ": ", event->step_marked.reason);
}

static void say_skipped(struct sentence *sentence, const struct event *event)
{
    say_step(sentence, &event->step_marked.ref, "skipped");
    say_also(sentence, ": ", event->step_marked.reason);
}

static void say_undone(struct sentence *sentence, const struct event *event)
{
    say(sentence, "%.*s undone", TEXT_ARG(event->step_marked.ref.step));
}

static void say_resubmitted(struct sentence *sentence, const struct event *event)
{
    const struct step_resubmitted *resubmitted = &event->step_resubmitted;
    say_step(sentence, &resubmitted->ref, "resubmitted");
    say_also(sentence, " by ", resubmitted->by);
    say_also(sentence, ": ", resubmitted->reason);
    say(sentence, " (generation %u)", (unsigned)resubmitted->generation);
}

static void say_queued(struct sentence *sentence, const struct event *event)
{
    const struct step_queued *queued = &event->step_queued;
    say_step(sentence, &queued->ref,
             queued->retry_at == 0 ? "waits for room at an agent"
                                   : "waits for an agent that is well");
    say_time(sentence, " since ", queued->queued_at);
    say_time(sentence, ", looked for again at ", queued->retry_at);
    say_also(sentence, ": ", queued->reason);
}

static void say_extended(struct sentence *sentence, const struct event *event)
{
    const struct step_extended *extended = &event->step_extended;
    say_attempt(sentence, &extended->ref);
    say_time(sentence, " has until ", extended->complete_by);
    say_also(sentence, ", asked for by ", extended->by);
    say_also(sentence, ": ", extended->progress);
}

/* ---- events of the order ---- */

static void say_accepted(struct sentence *sentence, const struct event *event)
{
    const struct order_accepted *accepted = &event->order_accepted;
    const struct order_details *details = &accepted->details;
    say(sentence, "order accepted: %u line%s, workflow %.*s version %u, %u step%s",
        (unsigned)details->line_count, details->line_count == 1 ? "" : "s",
        TEXT_ARG(details->workflow), (unsigned)details->workflow_version,
        (unsigned)accepted->step_count, accepted->step_count == 1 ? "" : "s");
    say_time(sentence, ", to be completed by ", accepted->complete_by);
}

/* "order cancelled by ann: Cancelled: ordered twice" */
static void say_marked(struct sentence *sentence, const struct event *event)
{
    static const char *const whats[] = {
        [EVENT_ORDER_STARTED] = "order started",
        [EVENT_ORDER_CANCELLED] = "order cancelled",
        [EVENT_ORDER_TIMED_OUT] = "order timed out, found",
        [EVENT_COMPENSATION_STARTED] = "compensation started",
        [EVENT_ORDER_PROCESSED] = "order processed",
        [EVENT_ORDER_COMPENSATED] = "order compensated",
        [EVENT_ORDER_FAILED] = "order in error",
        [EVENT_ORDER_RESUMED] = "order resumed",
        [EVENT_ALERT_RAISED] = "alert raised",
        [EVENT_ALERT_CLOSED] = "alert closed",
        [EVENT_ORDER_EXPIRED] = "order expired: it has left the stores, asked for",
        [EVENT_SUBMISSION_REPEATED] = "submitted again with the same content, nothing changes",
    };
    const struct order_marked *marked = &event->order_marked;
    say(sentence, "%s", whats[event->kind]);
    say_also(sentence, " by ", marked->by);
    say_also(sentence, ": ", marked->code);
    say_also(sentence, ": ", marked->reason);
}

static void say_rejected(struct sentence *sentence, const struct event *event)
{
    const struct command_rejected *rejected = &event->command_rejected;
    say(sentence, "%s", command_kind_name(rejected->command));
    say_also(sentence, " by ", rejected->by);
    say_also(sentence, " for ", rejected->ref.step);
    say_also(sentence, " rejected: ", rejected->code);
    say_also(sentence, ": ", rejected->reason);
}

static void say_ignored(struct sentence *sentence, const struct event *event)
{
    const struct report_ignored *ignored = &event->report_ignored;
    say_attempt(sentence, &ignored->ref);
    say(sentence, ": report of %s", ignored->succeeded ? "success" : "failure");
    say_also(sentence, " by ", ignored->by);
    say_also(sentence, " ignored: ", ignored->code);
    say_also(sentence, ": ", ignored->reason);
}

static void say_dead_lettered(struct sentence *sentence, const struct event *event)
{
    const struct undecodable *undecodable = &event->command_dead_lettered;
    say(sentence, "a command of %u bytes %s and went to the dead letters",
        (unsigned)undecodable->bytes.size,
        undecodable->quarantined ? "ended its scheduler again and again" : "could not be read");
    say_also(sentence, ": ", undecodable->reason);
}

static void (*const sayers[])(struct sentence *sentence, const struct event *event) = {
    [EVENT_ORDER_ACCEPTED] = say_accepted,      [EVENT_ORDER_STARTED] = say_marked,
    [EVENT_STEP_STARTED] = say_started,         [EVENT_STEP_SUCCEEDED] = say_succeeded,
    [EVENT_STEP_FAILED] = say_failed,           [EVENT_STEP_TIMED_OUT] = say_timed_out,
    [EVENT_STEP_RETRY_SCHEDULED] = say_retry,   [EVENT_STEP_EXHAUSTED] = say_exhausted,
    [EVENT_STEP_SKIPPED] = say_skipped,         [EVENT_STEP_COMPENSATED] = say_undone,
    [EVENT_STEP_RESUBMITTED] = say_resubmitted, [EVENT_ORDER_CANCELLED] = say_marked,
    [EVENT_ORDER_TIMED_OUT] = say_marked,       [EVENT_COMPENSATION_STARTED] = say_marked,
    [EVENT_ORDER_PROCESSED] = say_marked,       [EVENT_ORDER_COMPENSATED] = say_marked,
    [EVENT_ORDER_FAILED] = say_marked,          [EVENT_ORDER_RESUMED] = say_marked,
    [EVENT_ALERT_RAISED] = say_marked,          [EVENT_ALERT_CLOSED] = say_marked,
    [EVENT_COMMAND_REJECTED] = say_rejected,    [EVENT_REPORT_IGNORED] = say_ignored,
    [EVENT_SUBMISSION_REPEATED] = say_marked,   [EVENT_COMMAND_DEAD_LETTERED] = say_dead_lettered,
    [EVENT_STEP_QUEUED] = say_queued,           [EVENT_STEP_EXTENDED] = say_extended,
    [EVENT_ORDER_EXPIRED] = say_marked,
};
_Static_assert(sizeof(sayers) / sizeof(sayers[0]) == EVENT_KIND_COUNT, "every event has words");

static void say_event(struct sentence *sentence, const struct event *event)
{
    assert(event->kind > 0 && event->kind < EVENT_KIND_COUNT);
    sayers[event->kind](sentence, event);
}

struct text words_of_event(const struct event *event, struct arena *arena)
{
    struct sentence sentence = {.size = 0};
    say_event(&sentence, event);
    return spoken(&sentence, arena);
}

struct text words_of_decision(const struct decision *decision, struct arena *arena)
{
    struct sentence sentence = {.size = 0};
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (i > 0)
            say(&sentence, "; ");
        say_event(&sentence, &decision->events[i]);
    }
    return spoken(&sentence, arena);
}

/* ---- the command ---- */

/* What the first event of a Decision answers; COMMAND_UNDECODABLE where the event itself has to be
 * looked at, or cannot be the first. */
static const enum command_kind command_of_event[EVENT_KIND_COUNT] = {
    [EVENT_ORDER_ACCEPTED] = COMMAND_SUBMIT_ORDER,
    [EVENT_STEP_STARTED] = COMMAND_START_STEP,
    [EVENT_STEP_SUCCEEDED] = COMMAND_REPORT_STEP,
    [EVENT_STEP_FAILED] = COMMAND_REPORT_STEP,
    [EVENT_STEP_TIMED_OUT] = COMMAND_RECOVER_STEP,
    [EVENT_STEP_RESUBMITTED] = COMMAND_RESUBMIT_STEP,
    [EVENT_ORDER_CANCELLED] = COMMAND_CANCEL_ORDER,
    [EVENT_ORDER_TIMED_OUT] = COMMAND_TIME_OUT_ORDER,
    [EVENT_COMPENSATION_STARTED] = COMMAND_COMPENSATE_ORDER,
    [EVENT_ORDER_RESUMED] = COMMAND_RESUBMIT_STEP,
    [EVENT_REPORT_IGNORED] = COMMAND_REPORT_STEP,
    [EVENT_SUBMISSION_REPEATED] = COMMAND_SUBMIT_ORDER,
    [EVENT_COMMAND_DEAD_LETTERED] = COMMAND_UNDECODABLE,
    [EVENT_STEP_QUEUED] = COMMAND_START_STEP,
    [EVENT_STEP_EXTENDED] = COMMAND_EXTEND_STEP,
    [EVENT_ORDER_EXPIRED] = COMMAND_EXPIRE_ORDER,
};

enum command_kind words_command_of(const struct decision *decision)
{
    const struct event *first = &decision->events[0];
    if (first->kind == EVENT_COMMAND_REJECTED)
        return first->command_rejected.command;
    return command_of_event[first->kind];
}
