/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/render/event_text.h"

#include "base/rfc3339.h"
#include "base/utf8.h"
#include "engine/message.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { QUOTE_BYTES_MAX = 400 }; /* of an error's message or a reason */

/* A sentence being written. */
struct sentence {
    char data[MESSAGE_BYTES_MAX];
    size_t size;
};

static void append(struct sentence *sentence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct sentence *sentence, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof(sentence->data) - sentence->size;
    va_start(arguments, format);
    int size = vsnprintf(sentence->data + sentence->size, room, format, arguments);
    va_end(arguments);
    if (size > 0)
        sentence->size += (size_t)size < room ? (size_t)size : room - 1;
}

static struct text sentence_text(const struct sentence *sentence, struct arena *arena)
{
    struct text text = {sentence->data, (uint32_t)sentence->size};
    /* The end may be half a character, where the sentence was full. */
    if (sentence->size + 1 == sizeof(sentence->data))
        text = utf8_cut(text, text.size - 4);
    return arena_text(arena, text);
}

/* `before` and the text, unless that is empty. */
static void append_text(struct sentence *sentence, const char *before, struct text text)
{
    if (!text_empty(text))
        append(sentence, "%s%.*s", before, TEXT_ARG(utf8_cut(text, QUOTE_BYTES_MAX)));
}

static void append_time(struct sentence *sentence, const char *before, int64_t at)
{
    char text[RFC3339_TEXT_SIZE];
    if (at == 0)
        return;
    rfc3339_format(at, text);
    append(sentence, "%s%s", before, text);
}

/* "TakePayment: attempt 2", "undo of TakePayment: attempt 1" */
static void append_attempt(struct sentence *sentence, const struct attempt_ref *ref)
{
    append(sentence, "%s%.*s: attempt %u", ref->direction == DIRECTION_UNDO ? "undo of " : "",
           TEXT_ARG(ref->step), (unsigned)ref->attempt);
}

static void append_step(struct sentence *sentence, const struct attempt_ref *ref, const char *what)
{
    append(sentence, "%s%.*s %s", ref->direction == DIRECTION_UNDO ? "undo of " : "",
           TEXT_ARG(ref->step), what);
}

/* ---- events of steps ---- */

static void append_started(struct sentence *sentence, const struct event *event)
{
    const struct step_started *started = &event->step_started;
    append_attempt(sentence, &started->ref);
    append(sentence, " requested from agent %.*s", TEXT_ARG(started->agent));
    if (!text_equal(started->action, started->ref.step))
        append_text(sentence, " as ", started->action);
    append_time(sentence, ", until ", started->complete_by);
    append_text(sentence, ", by ", started->locked_by);
    append_text(sentence, " (", started->routing_reason);
    append(sentence, "%s", text_empty(started->routing_reason) ? "" : ")");
}

static void append_succeeded(struct sentence *sentence, const struct event *event)
{
    append_attempt(sentence, &event->step_succeeded.ref);
    append(sentence, " succeeded");
    append_text(sentence, ", reported by ", event->step_succeeded.by);
}

static void append_failed(struct sentence *sentence, const struct event *event)
{
    const struct step_failed *failed = &event->step_failed;
    append_attempt(sentence, &failed->ref);
    append_text(sentence, " failed: ", failed->error_name);
    append_text(sentence, ": ", failed->error_message);
    append(sentence, " (effect %s, failure %u)", effect_name(failed->effect),
           (unsigned)failed->failure_count);
    append_text(sentence, ", reported by ", failed->by);
}

static void append_timed_out(struct sentence *sentence, const struct event *event)
{
    const struct step_timed_out *timed_out = &event->step_timed_out;
    append_attempt(sentence, &timed_out->ref);
    append(sentence, " timed out");
    append_time(sentence, ": no report by ", timed_out->complete_by);
    append(sentence, " (effect %s, failure %u)", effect_name(timed_out->effect),
           (unsigned)timed_out->failure_count);
    append_text(sentence, ", detected by ", timed_out->by);
}

static void append_retry(struct sentence *sentence, const struct event *event)
{
    const struct step_retry_scheduled *scheduled = &event->step_retry_scheduled;
    append_step(sentence, &scheduled->ref, "waits for its next attempt");
    append_time(sentence, " until ", scheduled->retry_at);
    append(sentence, " (retry %u", (unsigned)scheduled->retry);
    if (scheduled->retrier > 0)
        append(sentence, " of the step's retry rule %u", (unsigned)scheduled->retrier + 1);
    append(sentence, ")");
}

static void append_exhausted(struct sentence *sentence, const struct event *event)
{
    append_step(sentence, &event->step_marked.ref, "is given up");
    append_text(sentence, ": ", event->step_marked.reason);
}

static void append_skipped(struct sentence *sentence, const struct event *event)
{
    append_step(sentence, &event->step_marked.ref, "skipped");
    append_text(sentence, ": ", event->step_marked.reason);
}

static void append_undone(struct sentence *sentence, const struct event *event)
{
    append(sentence, "%.*s undone", TEXT_ARG(event->step_marked.ref.step));
}

static void append_resubmitted(struct sentence *sentence, const struct event *event)
{
    const struct step_resubmitted *resubmitted = &event->step_resubmitted;
    append_step(sentence, &resubmitted->ref, "resubmitted");
    append_text(sentence, " by ", resubmitted->by);
    append_text(sentence, ": ", resubmitted->reason);
    append(sentence, " (generation %u)", (unsigned)resubmitted->generation);
}

static void append_queued(struct sentence *sentence, const struct event *event)
{
    const struct step_queued *queued = &event->step_queued;
    append_step(sentence, &queued->ref,
                queued->retry_at == 0 ? "waits for free capacity of an agent"
                                      : "waits for a healthy agent");
    append_time(sentence, " since ", queued->queued_at);
    append_time(sentence, ", checked again at ", queued->retry_at);
    append_text(sentence, ": ", queued->reason);
}

static void append_extended(struct sentence *sentence, const struct event *event)
{
    const struct step_extended *extended = &event->step_extended;
    append_attempt(sentence, &extended->ref);
    append_time(sentence, " has until ", extended->complete_by);
    append_text(sentence, ", requested by ", extended->by);
    append_text(sentence, ": ", extended->progress);
}

static void append_completed_by_hand(struct sentence *sentence, const struct event *event)
{
    const struct step_completed_by_hand *completed = &event->step_completed_by_hand;
    append_step(sentence, &completed->ref, "completed by hand");
    append_text(sentence, " by ", completed->by);
    append_text(sentence, ": ", completed->reason);
}

static void append_skipped_by_hand(struct sentence *sentence, const struct event *event)
{
    const struct step_skipped_by_hand *skipped = &event->step_skipped_by_hand;
    append_step(sentence, &skipped->ref, "skipped by hand");
    append_text(sentence, " by ", skipped->by);
    append_text(sentence, ": ", skipped->reason);
}

static void append_failed_by_hand(struct sentence *sentence, const struct event *event)
{
    const struct step_failed_by_hand *failed = &event->step_failed_by_hand;
    append_step(sentence, &failed->ref, "failed by hand");
    append_text(sentence, " by ", failed->by);
    append_text(sentence, ": ", failed->error_name);
    append_text(sentence, ": ", failed->reason);
    append(sentence, " (failure %u)", (unsigned)failed->failure_count);
}

/* ---- events of the order ---- */

static void append_deadline_set(struct sentence *sentence, const struct event *event)
{
    const struct order_deadline_set *set = &event->order_deadline_set;
    append_time(sentence, "order to be completed by ", set->complete_by);
    append_text(sentence, ", set by ", set->by);
    append_text(sentence, ": ", set->reason);
}

static void append_migrated(struct sentence *sentence, const struct event *event)
{
    const struct order_migrated *migrated = &event->order_migrated;
    append(sentence, "order moved from version %u to version %u, %u step%s",
           (unsigned)migrated->from_version, (unsigned)migrated->workflow_version,
           (unsigned)migrated->step_count, migrated->step_count == 1 ? "" : "s");
    append_text(sentence, ", by ", migrated->by);
    append_text(sentence, ": ", migrated->reason);
}

static void append_accepted(struct sentence *sentence, const struct event *event)
{
    const struct order_accepted *accepted = &event->order_accepted;
    const struct order_details *details = &accepted->details;
    append(sentence, "order accepted: %u line%s, workflow %.*s version %u, %u step%s",
           (unsigned)details->line_count, details->line_count == 1 ? "" : "s",
           TEXT_ARG(details->workflow), (unsigned)details->workflow_version,
           (unsigned)accepted->step_count, accepted->step_count == 1 ? "" : "s");
    append_time(sentence, ", to be completed by ", accepted->complete_by);
}

/* "order cancelled by ann: Cancelled: ordered twice" */
static void append_marked(struct sentence *sentence, const struct event *event)
{
    static const char *const whats[] = {
        [EVENT_ORDER_STARTED] = "order started",
        [EVENT_ORDER_CANCELLED] = "order cancelled",
        [EVENT_ORDER_TIMED_OUT] = "order timed out, detected",
        [EVENT_COMPENSATION_STARTED] = "compensation started",
        [EVENT_ORDER_PROCESSED] = "order processed",
        [EVENT_ORDER_COMPENSATED] = "order compensated",
        [EVENT_ORDER_FAILED] = "order in error",
        [EVENT_ORDER_RESUMED] = "order resumed",
        [EVENT_ALERT_RAISED] = "alert raised",
        [EVENT_ALERT_CLOSED] = "alert closed",
        [EVENT_ORDER_PAUSED] = "order paused",
        [EVENT_ORDER_PAUSE_ENDED] = "order no longer paused, resumed",
        [EVENT_SUBMISSION_REPEATED] = "submitted again with the same content, nothing changes",
    };
    const struct order_marked *marked = &event->order_marked;
    append(sentence, "%s", whats[event->kind]);
    append_text(sentence, " by ", marked->by);
    append_text(sentence, ": ", marked->code);
    append_text(sentence, ": ", marked->reason);
}

static void append_rejected(struct sentence *sentence, const struct event *event)
{
    const struct command_rejected *rejected = &event->command_rejected;
    append(sentence, "%s", command_kind_name(rejected->command));
    append_text(sentence, " by ", rejected->by);
    append_text(sentence, " for ", rejected->ref.step);
    append_text(sentence, " rejected: ", rejected->code);
    append_text(sentence, ": ", rejected->reason);
}

static void append_ignored(struct sentence *sentence, const struct event *event)
{
    const struct report_ignored *ignored = &event->report_ignored;
    append_attempt(sentence, &ignored->ref);
    append(sentence, ": report of %s", ignored->succeeded ? "success" : "failure");
    append_text(sentence, " by ", ignored->by);
    append_text(sentence, " ignored: ", ignored->code);
    append_text(sentence, ": ", ignored->reason);
}

static void append_dead_lettered(struct sentence *sentence, const struct event *event)
{
    const struct undecodable *undecodable = &event->command_dead_lettered;
    append(sentence, "a command of %u bytes %s and went to the dead letters",
           (unsigned)undecodable->bytes.size,
           undecodable->quarantined ? "repeatedly crashed its scheduler" : "could not be read");
    append_text(sentence, ": ", undecodable->reason);
}

static void (*const writers[])(struct sentence *sentence, const struct event *event) = {
    [EVENT_ORDER_ACCEPTED] = append_accepted,
    [EVENT_ORDER_STARTED] = append_marked,
    [EVENT_STEP_STARTED] = append_started,
    [EVENT_STEP_SUCCEEDED] = append_succeeded,
    [EVENT_STEP_FAILED] = append_failed,
    [EVENT_STEP_TIMED_OUT] = append_timed_out,
    [EVENT_STEP_RETRY_SCHEDULED] = append_retry,
    [EVENT_STEP_EXHAUSTED] = append_exhausted,
    [EVENT_STEP_SKIPPED] = append_skipped,
    [EVENT_STEP_COMPENSATED] = append_undone,
    [EVENT_STEP_RESUBMITTED] = append_resubmitted,
    [EVENT_ORDER_CANCELLED] = append_marked,
    [EVENT_ORDER_TIMED_OUT] = append_marked,
    [EVENT_COMPENSATION_STARTED] = append_marked,
    [EVENT_ORDER_PROCESSED] = append_marked,
    [EVENT_ORDER_COMPENSATED] = append_marked,
    [EVENT_ORDER_FAILED] = append_marked,
    [EVENT_ORDER_RESUMED] = append_marked,
    [EVENT_ALERT_RAISED] = append_marked,
    [EVENT_ALERT_CLOSED] = append_marked,
    [EVENT_COMMAND_REJECTED] = append_rejected,
    [EVENT_REPORT_IGNORED] = append_ignored,
    [EVENT_SUBMISSION_REPEATED] = append_marked,
    [EVENT_COMMAND_DEAD_LETTERED] = append_dead_lettered,
    [EVENT_STEP_QUEUED] = append_queued,
    [EVENT_STEP_EXTENDED] = append_extended,
    [EVENT_STEP_COMPLETED_BY_HAND] = append_completed_by_hand,
    [EVENT_STEP_SKIPPED_BY_HAND] = append_skipped_by_hand,
    [EVENT_STEP_FAILED_BY_HAND] = append_failed_by_hand,
    [EVENT_ORDER_DEADLINE_SET] = append_deadline_set,
    [EVENT_ORDER_PAUSED] = append_marked,
    [EVENT_ORDER_PAUSE_ENDED] = append_marked,
    [EVENT_ORDER_MIGRATED] = append_migrated,
};
_Static_assert(sizeof(writers) / sizeof(writers[0]) == EVENT_KIND_COUNT, "every event has a text");

static void append_event(struct sentence *sentence, const struct event *event)
{
    assert(event->kind > 0 && event->kind < EVENT_KIND_COUNT);
    writers[event->kind](sentence, event);
}

struct text event_text(const struct event *event, struct arena *arena)
{
    struct sentence sentence = {.size = 0};
    append_event(&sentence, event);
    return sentence_text(&sentence, arena);
}

struct text event_text_of_decision(const struct decision *decision, struct arena *arena)
{
    struct sentence sentence = {.size = 0};
    for (uint32_t i = 0; i < decision->event_count; i++) {
        if (i > 0)
            append(&sentence, "; ");
        append_event(&sentence, &decision->events[i]);
    }
    return sentence_text(&sentence, arena);
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
    [EVENT_STEP_COMPLETED_BY_HAND] = COMMAND_COMPLETE_STEP,
    [EVENT_STEP_SKIPPED_BY_HAND] = COMMAND_SKIP_STEP,
    [EVENT_STEP_FAILED_BY_HAND] = COMMAND_FAIL_STEP,
    [EVENT_ORDER_PAUSED] = COMMAND_PAUSE_ORDER,
    [EVENT_ORDER_PAUSE_ENDED] = COMMAND_RESUME_ORDER,
    [EVENT_ORDER_MIGRATED] = COMMAND_MIGRATE_ORDER,
};

enum command_kind event_text_command(const struct decision *decision)
{
    const struct event *first = &decision->events[0];
    if (first->kind == EVENT_COMMAND_REJECTED)
        return first->command_rejected.command;
    return command_of_event[first->kind];
}
