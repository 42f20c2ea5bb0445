/* SPDX-License-Identifier: Apache-2.0 */
#include "schemas/event_text.h"

#include "base/goods.h"
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
static void append_ref(struct sentence *sentence, const struct attempt_ref *ref)
{
    append(sentence, "%s%.*s: attempt %u", ref->direction == DIRECTION_UNDO ? "undo of " : "",
           TEXT_ARG(ref->step), (unsigned)ref->attempt);
}

/* "TakePayment: attempt 2 failed" */
static void append_attempt(struct sentence *sentence, const struct event *event)
{
    append_ref(sentence, event_ref(event));
    append(sentence, " %s", event_words(event->kind));
}

/* "TakePayment resubmitted" */
static void append_step(struct sentence *sentence, const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    append(sentence, "%s%.*s %s", ref->direction == DIRECTION_UNDO ? "undo of " : "",
           TEXT_ARG(ref->step), event_words(event->kind));
}

/* ---- events of steps ---- */

static void append_step_started(struct sentence *sentence, const struct event *event)
{
    const struct step_started *started = &event->step_started;
    append_attempt(sentence, event);
    append(sentence, " from agent %.*s", TEXT_ARG(started->agent));
    if (!text_equal(started->action, started->ref.step))
        append_text(sentence, " as ", started->action);
    append_time(sentence, ", until ", started->complete_by);
    append_text(sentence, ", by ", started->locked_by);
    append_text(sentence, " (", started->routing_reason);
    append(sentence, "%s", text_empty(started->routing_reason) ? "" : ")");
}

static void append_step_succeeded(struct sentence *sentence, const struct event *event)
{
    append_attempt(sentence, event);
    append_text(sentence, ", reported by ", event->step_succeeded.by);
}

static void append_step_failed(struct sentence *sentence, const struct event *event)
{
    const struct step_failed *failed = &event->step_failed;
    append_attempt(sentence, event);
    append_text(sentence, ": ", failed->error_name);
    append_text(sentence, ": ", failed->error_message);
    append(sentence, " (effect %s, failure %u)", effect_name(failed->effect),
           (unsigned)failed->failure_count);
    append_text(sentence, ", reported by ", failed->by);
}

static void append_step_timed_out(struct sentence *sentence, const struct event *event)
{
    const struct step_timed_out *timed_out = &event->step_timed_out;
    append_attempt(sentence, event);
    append_time(sentence, ": no report by ", timed_out->complete_by);
    append(sentence, " (effect %s, failure %u)", effect_name(timed_out->effect),
           (unsigned)timed_out->failure_count);
    append_text(sentence, ", detected by ", timed_out->by);
}

static void append_step_retry_scheduled(struct sentence *sentence, const struct event *event)
{
    const struct step_retry_scheduled *scheduled = &event->step_retry_scheduled;
    append_step(sentence, event);
    append_time(sentence, " until ", scheduled->retry_at);
    append(sentence, " (retry %u", (unsigned)scheduled->retry);
    if (scheduled->retrier > 0)
        append(sentence, " of the step's retry rule %u", (unsigned)scheduled->retrier + 1);
    append(sentence, ")");
}

/* "undo of TakePayment is given up: no retry is left"; but an undo that is done: "TakePayment
 * undone". */
static void append_step_marked(struct sentence *sentence, const struct event *event)
{
    if (event->kind == EVENT_STEP_COMPENSATED) {
        append(sentence, "%.*s %s", TEXT_ARG(event_ref(event)->step), event_words(event->kind));
        return;
    }
    append_step(sentence, event);
    append_text(sentence, ": ", event->step_marked.reason);
}

static void append_step_resubmitted(struct sentence *sentence, const struct event *event)
{
    const struct step_resubmitted *resubmitted = &event->step_resubmitted;
    append_step(sentence, event);
    append_text(sentence, " by ", resubmitted->by);
    append_text(sentence, ": ", resubmitted->reason);
    append(sentence, " (generation %u)", (unsigned)resubmitted->generation);
}

/* "Approve passed by a signal of ann with the id ann-1: {"choice":"approve"}": why is in the
 * comment. The value of a Set is not said. */
static void append_step_passed(struct sentence *sentence, const struct event *event)
{
    const struct step_passed *passed = &event->step_passed;
    append_step(sentence, event);
    append_text(sentence, " by a signal of ", passed->by);
    append_text(sentence, " with the id ", passed->signal_id);
    if (!text_empty(passed->by) || !text_empty(passed->signal_id))
        append_text(sentence, ": ", passed->output);
}

/* "Approve waits for a signal of managers until ...: Refund 200 EUR? (approve, decline)" */
static void append_step_waiting(struct sentence *sentence, const struct event *event)
{
    const struct step_waiting *waiting = &event->step_waiting;
    append_step(sentence, event);
    append(sentence, "%s", waiting->for_signal ? " for a signal" : "");
    append_text(sentence, " of ", waiting->group);
    append_time(sentence, " until ", waiting->due_at);
    append_text(sentence, ": ", waiting->question);
    for (uint32_t i = 0; i < waiting->options.count; i++)
        append_text(sentence, i == 0 ? " (" : ", ", waiting->options.items[i]);
    append(sentence, "%s", waiting->options.count > 0 ? ")" : "");
}

/* It waits for an agent, or, since no time, for a Decision that has the time for it. */
static void append_step_queued(struct sentence *sentence, const struct event *event)
{
    const struct step_queued *queued = &event->step_queued;
    append_step(sentence, event);
    append(sentence, queued->queued_at == 0  ? " its turn"
                     : queued->retry_at == 0 ? " free capacity of an agent"
                                             : " a healthy agent");
    append_time(sentence, " since ", queued->queued_at);
    append_time(sentence, ", checked again at ", queued->retry_at);
    append_text(sentence, ": ", queued->reason);
}

static void append_step_extended(struct sentence *sentence, const struct event *event)
{
    const struct step_extended *extended = &event->step_extended;
    append_attempt(sentence, event);
    append_time(sentence, " ", extended->complete_by);
    append_text(sentence, ", requested by ", extended->by);
    append_text(sentence, ": ", extended->progress);
}

static void append_step_completed_by_hand(struct sentence *sentence, const struct event *event)
{
    const struct step_completed_by_hand *completed = &event->step_completed_by_hand;
    append_step(sentence, event);
    append_text(sentence, " by ", completed->by);
    append_text(sentence, ": ", completed->reason);
}

static void append_step_skipped_by_hand(struct sentence *sentence, const struct event *event)
{
    const struct step_skipped_by_hand *skipped = &event->step_skipped_by_hand;
    append_step(sentence, event);
    append_text(sentence, " by ", skipped->by);
    append_text(sentence, ": ", skipped->reason);
}

static void append_step_failed_unstarted(struct sentence *sentence, const struct event *event)
{
    const struct step_failed_unstarted *failed = &event->step_failed_unstarted;
    append_step(sentence, event);
    append_text(sentence, " by hand by ", failed->by);
    append_text(sentence, ": ", failed->error_name);
    append_text(sentence, ": ", failed->reason);
    append(sentence, " (failure %u)", (unsigned)failed->failure_count);
}

/* ---- sub-orders ---- */

/* " item 3", or nothing without ForEach. */
static void append_item(struct sentence *sentence, int64_t item)
{
    if (item >= 0)
        append(sentence, " item %lld", (long long)item);
}

/* "Load has started sub-orders: 3 of import/Load version 2, until ..." */
static void append_suborders_started(struct sentence *sentence, const struct event *event)
{
    const struct suborders_started *started = &event->suborders_started;
    append_step(sentence, event);
    append(sentence, ": %u of %.*s version %u", (unsigned)started->count,
           TEXT_ARG(started->workflow), (unsigned)started->workflow_version);
    append_time(sentence, ", until ", started->times_out_at);
}

/* "Load has submitted 2 sub-orders; input of item 2 failed: NAME: ..." */
static void append_suborders_submitted(struct sentence *sentence, const struct event *event)
{
    const struct suborders_submitted *submitted = &event->suborders_submitted;
    uint32_t failed = 0;
    append_step(sentence, event);
    for (uint32_t i = 0; i < submitted->item_count; i++)
        failed += !text_empty(submitted->items[i].error_name);
    append(sentence, " %u sub-order%s", (unsigned)(submitted->item_count - failed),
           submitted->item_count - failed == 1 ? "" : "s");
    for (uint32_t i = 0; i < submitted->item_count; i++) {
        if (text_empty(submitted->items[i].error_name))
            continue;
        append(sentence, "; input of");
        append_item(sentence, submitted->items[i].item);
        append_text(sentence, " failed: ", submitted->items[i].error_name);
        append_text(sentence, ": ", submitted->items[i].error_message);
    }
}

static void append_suborders_asked(struct sentence *sentence, const struct event *event)
{
    append_step(sentence, event);
    append_time(sentence, ", and again at ", event->suborders_asked.complete_by);
}

/* "Load item 3 has ended, failed: Declined: no funds" */
static void append_suborder_ended(struct sentence *sentence, const struct event *event)
{
    const struct suborder_ended *ended = &event->suborder_ended;
    append(sentence, "%.*s", TEXT_ARG(ended->step));
    append_item(sentence, ended->item);
    append(sentence, " %s, %s", event_words(event->kind),
           enum_name(&suborder_outcome_names, ended->outcome));
    append_text(sentence, ", by ", ended->by);
    append_text(sentence, ": ", ended->error_name);
    append_text(sentence, ": ", ended->error_message);
    if (ended->undo_failed)
        append(sentence, "; what it did remains");
    if (ended->stop)
        append(sentence, "; no further item starts");
}

static void append_suborders_recalled(struct sentence *sentence, const struct event *event)
{
    const struct suborders_recalled *recalled = &event->suborders_recalled;
    append_step(sentence, event);
    append_text(sentence, ": ", recalled->error_name);
    append_text(sentence, ": ", recalled->reason);
}

static void append_order_held(struct sentence *sentence, const struct event *event)
{
    append(sentence, "%s until its parent decides", event_words(event->kind));
    append_time(sentence, ", reported again at ", event->order_held.complete_by);
    append_text(sentence, "; without its output: ", event->order_held.problem);
}

/* ---- events of the order ---- */

static void append_order_deadline_set(struct sentence *sentence, const struct event *event)
{
    const struct order_deadline_set *set = &event->order_deadline_set;
    append(sentence, "%s", event_words(event->kind));
    append_time(sentence, " by ", set->complete_by);
    append_text(sentence, ", set by ", set->by);
    append_text(sentence, ": ", set->reason);
}

static void append_order_migrated(struct sentence *sentence, const struct event *event)
{
    const struct order_migrated *migrated = &event->order_migrated;
    append(sentence, "%s from version %u to version %u, %u step%s", event_words(event->kind),
           (unsigned)migrated->from_version, (unsigned)migrated->workflow_version,
           (unsigned)migrated->step_count, migrated->step_count == 1 ? "" : "s");
    append_text(sentence, ", by ", migrated->by);
    append_text(sentence, ": ", migrated->reason);
}

/* "order amended by ann: typing error; Total, Charge begin again" */
static void append_order_amended(struct sentence *sentence, const struct event *event)
{
    const struct order_amended *amended = &event->order_amended;
    append(sentence, "%s", event_words(event->kind));
    append_text(sentence, " by ", amended->by);
    append_text(sentence, ": ", amended->reason);
    for (uint32_t i = 0; i < amended->step_count; i++)
        append_text(sentence, i == 0 ? "; " : ", ", amended->steps[i].name);
    if (amended->step_count > 0)
        append(sentence, amended->step_count == 1 ? " begins again" : " begin again");
}

static void append_signal_received(struct sentence *sentence, const struct event *event)
{
    const struct signal_received *received = &event->signal_received;
    append(sentence, "%s for %.*s", event_words(event->kind), TEXT_ARG(received->step));
    append_text(sentence, " from ", received->by);
    append_text(sentence, " with the id ", received->signal_id);
    append(sentence, received->kept ? ", before the step's turn, which takes it"
                                    : ", of which the step's Until is not true");
}

static void append_order_processed(struct sentence *sentence, const struct event *event)
{
    append(sentence, "%s", event_words(event->kind));
    append_text(sentence, " without its output: ", event->order_processed.problem);
}

static void append_order_accepted(struct sentence *sentence, const struct event *event)
{
    const struct order_accepted *accepted = &event->order_accepted;
    const struct order_details *details = &accepted->details;
    uint32_t lines = goods_or_none(details->goods)->line_count;
    append(sentence, "%s: %u line%s, workflow %.*s version %u, %u step%s", event_words(event->kind),
           (unsigned)lines, lines == 1 ? "" : "s", TEXT_ARG(details->workflow),
           (unsigned)details->workflow_version, (unsigned)accepted->step_count,
           accepted->step_count == 1 ? "" : "s");
    append_time(sentence, ", to be completed by ", accepted->complete_by);
}

/* "order cancelled by ann: Cancelled: ordered twice" */
static void append_order_marked(struct sentence *sentence, const struct event *event)
{
    const struct order_marked *marked = &event->order_marked;
    append(sentence, "%s", event_words(event->kind));
    append_text(sentence, " by ", marked->by);
    append_text(sentence, ": ", marked->code);
    append_text(sentence, ": ", marked->reason);
}

static void append_command_rejected(struct sentence *sentence, const struct event *event)
{
    const struct command_rejected *rejected = &event->command_rejected;
    append(sentence, "%s", command_kind_name(rejected->command));
    append_text(sentence, " by ", rejected->by);
    append_text(sentence, " for ", rejected->ref.step);
    append(sentence, " %s", event_words(event->kind));
    append_text(sentence, ": ", rejected->code);
    append_text(sentence, ": ", rejected->reason);
}

static void append_report_ignored(struct sentence *sentence, const struct event *event)
{
    const struct report_ignored *ignored = &event->report_ignored;
    if (ignored->parent != NULL) {
        append(sentence, "%.*s", TEXT_ARG(ignored->ref.step));
        append_item(sentence, ignored->parent->item);
    } else {
        append_ref(sentence, &ignored->ref);
    }
    append(sentence, ": report of %s", ignored->succeeded ? "success" : "failure");
    append_text(sentence, " by ", ignored->by);
    append(sentence, " %s", event_words(event->kind));
    append_text(sentence, ": ", ignored->code);
    append_text(sentence, ": ", ignored->reason);
}

static void append_command_dead_lettered(struct sentence *sentence, const struct event *event)
{
    const struct undecodable *undecodable = &event->command_dead_lettered;
    append(sentence, "a command of %u bytes %s and %s", (unsigned)undecodable->bytes.size,
           undecodable->quarantined ? "repeatedly crashed its scheduler" : "could not be read",
           event_words(event->kind));
    append_text(sentence, ": ", undecodable->reason);
}

/* One for each payload of engine/events.def; what differs among the kinds are the words. */
static void (*const writers[EVENT_KIND_COUNT])(struct sentence *sentence,
                                               const struct event *event) = {
#define EVENT(number, kind, record, payload, words, answers, status) \
    [EVENT_##kind] = append_##payload,
#include "engine/events.def"
};

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
