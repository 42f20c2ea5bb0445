/* SPDX-License-Identifier: Apache-2.0 */
/* The text of every event. */
#include "schemas/event_text.h"

#include "base/goods.h"
#include "base/heap_arena.h"
#include "base/utf8.h"

#include <criterion/criterion.h>

/* 2023-11-14T22:13:20.000Z and some milliseconds */
#define AT(n) (INT64_C(1700000000000) + (n))
#define T(literal)                     \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
#define REF                       \
    {                             \
        T("Pay"), DIRECTION_DO, 2 \
    }
#define UNDO                        \
    {                               \
        T("Pay"), DIRECTION_UNDO, 1 \
    }

static const struct goods seven_lines = {.line_count = 7};
static struct amended_step amended[] = {{T("Total"), 0}, {T("Charge"), 2}};
static struct step_plan plans[] = {{T("Pay"), T("bank"), {0}, false},
                                   {T("Ship"), T("carrier"), {0}, false}};

static const struct order_parent parent = {T("o-1"), 7, T("Waves"), 2, 0, T("o-1"), 1, 9};
static struct submitted_item submitted[] = {{0, T("{}"), {0}, {0}},
                                            {1, {0}, T("States.QueryEvaluationError"), T("no b")}};
static const struct text options[] = {T("approve"), T("decline")};
static const struct {
    struct event event;
    enum command_kind command; /* when it comes first; UNDECODABLE = it does not */
    const char *words;
} cases[] = {
    {{EVENT_ORDER_ACCEPTED, .order_accepted = {.details = {.goods = &seven_lines,
                                                           .workflow = T("shop"),
                                                           .workflow_version = 3},
                                               .step_count = 1,
                                               .complete_by = AT(5)}},
     COMMAND_SUBMIT_ORDER,
     "order accepted: 7 lines, workflow shop version 3, 1 step, to be completed by "
     "2023-11-14T22:13:20.005Z"},
    {{EVENT_ORDER_STARTED, .order_marked = {.code = T("")}}, 0, "order started"},
    {{EVENT_STEP_STARTED, .step_started = {REF, 0, T("bank"), T("Pay"), T("scheduler-1"), AT(0),
                                           1000, T(""), 0, T("")}},
     COMMAND_START_STEP,
     "Pay: attempt 2 requested from agent bank, until 2023-11-14T22:13:20.000Z, by scheduler-1"},
    {{EVENT_STEP_STARTED, .step_started = {UNDO, 0, T("bank"), T("Refund"), T("scheduler-1"), AT(0),
                                           1000, T(""), 0, T("")}},
     COMMAND_START_STEP,
     "undo of Pay: attempt 1 requested from agent bank as Refund, until 2023-11-14T22:13:20.000Z, "
     "by "
     "scheduler-1"},
    {{EVENT_STEP_SUCCEEDED, .step_succeeded = {REF, T("{}"), T("bank-1")}},
     COMMAND_REPORT_STEP,
     "Pay: attempt 2 succeeded, reported by bank-1"},
    {{EVENT_STEP_FAILED,
      .step_failed = {REF, T("Declined"), T("no funds"), EFFECT_NONE, 3, T("bank-1"), false}},
     COMMAND_REPORT_STEP,
     "Pay: attempt 2 failed: Declined: no funds (effect none, failure 3), reported by bank-1"},
    {{EVENT_STEP_TIMED_OUT, .step_timed_out = {UNDO, EFFECT_UNKNOWN, 1, AT(9), T("supervisor-1")}},
     COMMAND_RECOVER_STEP,
     "undo of Pay: attempt 1 timed out: no report by 2023-11-14T22:13:20.009Z (effect "
     "unknown, failure 1), detected by supervisor-1"},
    {{EVENT_STEP_RETRY_SCHEDULED, .step_retry_scheduled = {REF, AT(1), 0, 2}},
     0,
     "Pay waits for its next attempt until 2023-11-14T22:13:20.001Z (retry 2)"},
    {{EVENT_STEP_EXHAUSTED, .step_marked = {REF, T("no retries are left for Declined")}},
     0,
     "Pay is given up: no retries are left for Declined"},
    {{EVENT_STEP_SKIPPED, .step_marked = {REF, T("never started")}},
     0,
     "Pay skipped: never started"},
    {{EVENT_STEP_COMPENSATED, .step_marked = {UNDO, T("")}}, 0, "Pay undone"},
    {{EVENT_STEP_RESUBMITTED, .step_resubmitted = {REF, 4, T("ann"), T("the bank is back")}},
     COMMAND_RESUBMIT_STEP,
     "Pay resubmitted by ann: the bank is back (generation 4)"},
    {{EVENT_ORDER_CANCELLED, .order_marked = {T("Cancelled"), T("ordered twice"), T("ann"), T("")}},
     COMMAND_CANCEL_ORDER,
     "order cancelled by ann: Cancelled: ordered twice"},
    {{EVENT_ORDER_TIMED_OUT,
      .order_marked = {T("States.Timeout"), T("too late"), T("supervisor-1"), T("")}},
     COMMAND_TIME_OUT_ORDER,
     "order timed out, detected by supervisor-1: States.Timeout: too late"},
    {{EVENT_COMPENSATION_STARTED, .order_marked = {T("Declined"), T("no funds"), T(""), T("Pay")}},
     COMMAND_COMPENSATE_ORDER,
     "compensation started: Declined: no funds"},
    {{EVENT_ORDER_PROCESSED, .order_processed = {.code = T("")}},
     COMMAND_SETTLE_SUBORDER,
     "order processed"},
    {{EVENT_ORDER_PROCESSED, .order_processed = {.problem = T("there is no member x")}},
     COMMAND_SETTLE_SUBORDER,
     "order processed without its output: there is no member x"},
    {{EVENT_STEP_PASSED, .step_passed = {.ref = REF, .output = T("7")}},
     COMMAND_START_STEP,
     "Pay passed"},
    {{EVENT_STEP_WAITING, .step_waiting = {.ref = REF, .due_at = AT(5)}},
     COMMAND_START_STEP,
     "Pay waits until 2023-11-14T22:13:20.005Z"},
    {{EVENT_STEP_WAITING,
      .step_waiting = {REF, AT(5), true, T("managers"), {options, 2}, T("Refund 7 EUR?")}},
     COMMAND_START_STEP,
     "Pay waits for a signal of managers until 2023-11-14T22:13:20.005Z: Refund 7 EUR?"
     " (approve, decline)"},
    {{EVENT_STEP_PASSED, .step_passed = {REF, T("7"), T("m-1"), T("ann")}},
     COMMAND_SIGNAL_ORDER,
     "Pay passed by a signal of ann with the id m-1: 7"},
    {{EVENT_SIGNAL_RECEIVED, .signal_received = {T("Pay"), T("m-1"), T("7"), T("ann"), true}},
     COMMAND_SIGNAL_ORDER,
     "signal received for Pay from ann with the id m-1, before the step's turn, which takes it"},
    {{EVENT_SIGNAL_RECEIVED, .signal_received = {T("Pay"), T(""), T("7"), T(""), false}},
     COMMAND_SIGNAL_ORDER,
     "signal received for Pay, of which the step's Until is not true"},
    {{EVENT_STEP_CAUGHT, .step_marked = {REF, T("a Catch matches Declined")}},
     0,
     "Pay is given up, and the order goes on: a Catch matches Declined"},
    {{EVENT_STEP_FAILED_UNSTARTED,
      .step_failed_unstarted = {REF, T("LoanDeclined"), 1, T(""), T("too risky")}},
     COMMAND_FAIL_STEP,
     "Pay failed: LoanDeclined: too risky (failure 1)"},
    {{EVENT_ORDER_COMPENSATED, .order_marked = {T("Cancelled"), T("twice"), T("ann"), T("")}},
     0,
     "order compensated by ann: Cancelled: twice"},
    {{EVENT_ORDER_FAILED, .order_marked = {T("Declined"), T("no funds"), T(""), T("Pay")}},
     0,
     "order in error: Declined: no funds"},
    {{EVENT_ORDER_RESUMED, .order_marked = {T("Resubmitted"), T("again"), T("ann"), T("")}},
     COMMAND_RESUBMIT_STEP,
     "order resumed by ann: Resubmitted: again"},
    {{EVENT_ALERT_RAISED, .order_marked = {T("Declined"), T("look at it"), T(""), T("Pay")}},
     COMMAND_SETTLE_SUBORDER,
     "alert raised: Declined: look at it"},
    {{EVENT_ALERT_CLOSED, .order_marked = {T("Resubmitted"), T("again"), T("ann"), T("")}},
     0,
     "alert closed by ann: Resubmitted: again"},
    {{EVENT_COMMAND_REJECTED,
      .command_rejected = {COMMAND_RECOVER_STEP, T("NotYetDue"), T("not due for another 5 ms"),
                           T("supervisor-1"), REF, AT(5), NULL, SETTLE_NONE}},
     COMMAND_RECOVER_STEP,
     "RecoverStep by supervisor-1 for Pay rejected: NotYetDue: not due for another 5 ms"},
    {{EVENT_REPORT_IGNORED,
      .report_ignored = {REF, true, T("Superseded"), T("attempt 3 began before"), T("bank-1"), NULL,
                         SETTLE_NONE}},
     COMMAND_REPORT_STEP,
     "Pay: attempt 2: report of success by bank-1 ignored: Superseded: attempt 3 began before"},
    {{EVENT_SUBMISSION_REPEATED, .order_marked = {.code = T("")}},
     COMMAND_SUBMIT_ORDER,
     "submitted again with the same content, nothing changes"},
    {{EVENT_COMMAND_DEAD_LETTERED, .command_dead_lettered = {.bytes = T("\xff\x00\x01"),
                                                             .key = T("17"),
                                                             .reason = T("not Avro"),
                                                             .quarantined = false}},
     COMMAND_UNDECODABLE,
     "a command of 3 bytes could not be read and went to the dead letters: not Avro"},
    {{EVENT_COMMAND_DEAD_LETTERED, .command_dead_lettered = {.bytes = T("abcd"),
                                                             .key = T("17"),
                                                             .reason = T("5 tries"),
                                                             .quarantined = true}},
     COMMAND_UNDECODABLE,
     "a command of 4 bytes repeatedly crashed its scheduler and went to the dead letters: 5 "
     "tries"},
    {{EVENT_STEP_QUEUED, .step_queued = {REF, AT(0), AT(1), T("bank: circuit open")}},
     COMMAND_START_STEP,
     "Pay waits for a healthy agent since 2023-11-14T22:13:20.000Z, checked again at "
     "2023-11-14T22:13:20.001Z: bank: circuit open"},
    {{EVENT_STEP_QUEUED, .step_queued = {REF, AT(0), 0, T("bank: 0 of 8 free, p95 80 ms")}},
     COMMAND_START_STEP,
     "Pay waits for free capacity of an agent since 2023-11-14T22:13:20.000Z: bank: 0 of 8 free, "
     "p95 80 "
     "ms"},
    {{EVENT_STEP_EXTENDED,
      .step_extended = {REF, T("Pay"), AT(1), T("3 of 4 parcels"), T("bank-1"), 0}},
     COMMAND_EXTEND_STEP,
     "Pay: attempt 2 has until 2023-11-14T22:13:20.001Z, requested by bank-1: 3 of 4 parcels"},
    {{EVENT_STEP_COMPLETED_BY_HAND,
      .step_completed_by_hand = {REF, T("{}"), T("ann"), T("paid in cash")}},
     COMMAND_COMPLETE_STEP,
     "Pay completed by hand by ann: paid in cash"},
    {{EVENT_STEP_COMPLETED_BY_HAND,
      .step_completed_by_hand = {UNDO, T(""), T("ann"), T("sent back")}},
     COMMAND_COMPLETE_STEP,
     "undo of Pay completed by hand by ann: sent back"},
    {{EVENT_STEP_SKIPPED_BY_HAND, .step_skipped_by_hand = {REF, T("bob"), T("a gift")}},
     COMMAND_SKIP_STEP,
     "Pay skipped by hand by bob: a gift"},
    {{EVENT_STEP_FAILED_UNSTARTED,
      .step_failed_unstarted = {REF, T("Declined"), 3, T("ann"), T("the bank refused")}},
     COMMAND_FAIL_STEP,
     "Pay failed by hand by ann: Declined: the bank refused (failure 3)"},
    {{EVENT_ORDER_DEADLINE_SET, .order_deadline_set = {AT(1), 1000, T("ann"), T("in a hurry")}},
     COMMAND_TIME_OUT_ORDER,
     "order to be completed by 2023-11-14T22:13:20.001Z, set by ann: in a hurry"},
    {{EVENT_ORDER_PAUSED, .order_marked = {.by = T("ann"), .reason = T("to look at it")}},
     COMMAND_PAUSE_ORDER,
     "order paused by ann: to look at it"},
    {{EVENT_ORDER_PAUSE_ENDED, .order_marked = {.by = T("bob"), .reason = T("it is right")}},
     COMMAND_RESUME_ORDER,
     "order no longer paused, resumed by bob: it is right"},
    {{EVENT_ORDER_MIGRATED,
      .order_migrated = {1, 2, plans, 2, true, T("ann"), T("version 1 charges twice")}},
     COMMAND_MIGRATE_ORDER,
     "order moved from version 1 to version 2, 2 steps, by ann: version 1 charges twice"},
    {{EVENT_ORDER_AMENDED, .order_amended = {T("{}"), amended, 2, T("ann"), T("a typing error")}},
     COMMAND_AMEND_ORDER,
     "order amended by ann: a typing error; Total, Charge begin again"},
    {{EVENT_ORDER_AMENDED, .order_amended = {T("{}"), amended, 1, T(""), T("")}},
     COMMAND_AMEND_ORDER,
     "order amended; Total begins again"},
    {{EVENT_ORDER_AMENDED, .order_amended = {.by = T("ann")}},
     COMMAND_AMEND_ORDER,
     "order amended by ann"},
    {{EVENT_COMPENSATION_STARTED, .order_marked = {T("Recalled"), T("too slow"), T(""), T("")}},
     COMMAND_SETTLE_SUBORDER,
     "compensation started: Recalled: too slow"},
    {{EVENT_REPORT_IGNORED, .report_ignored = {{T("Waves"), DIRECTION_DO, 0},
                                               true,
                                               T("AlreadyEnded"),
                                               T("the item has failed"),
                                               T(""),
                                               &parent,
                                               SETTLE_UNDO}},
     COMMAND_REPORT_SUBORDER,
     "Waves item 2: report of success ignored: AlreadyEnded: the item has failed"},
    {{EVENT_SUBORDERS_STARTED, .suborders_started = {{T("Waves"), DIRECTION_DO, 1},
                                                     0,
                                                     T("import/Waves"),
                                                     7,
                                                     3,
                                                     T("[1,2,3]"),
                                                     PRIORITY_LOW,
                                                     AT(0),
                                                     9}},
     COMMAND_START_STEP,
     "Waves has started sub-orders: 3 of import/Waves version 7, until 2023-11-14T22:13:20.000Z"},
    {{EVENT_SUBORDERS_SUBMITTED,
      .suborders_submitted = {{T("Waves"), DIRECTION_DO, 1}, 0, AT(0), submitted, 2}},
     COMMAND_RECOVER_STEP,
     "Waves has submitted 1 sub-order; input of item 1 failed: States.QueryEvaluationError: no b"},
    {{EVENT_SUBORDERS_ASKED, .suborders_asked = {{T("Waves"), DIRECTION_UNDO, 1}, 0, AT(0)}},
     COMMAND_RECOVER_STEP,
     "undo of Waves asks its sub-orders, and again at 2023-11-14T22:13:20.000Z"},
    {{EVENT_SUBORDER_ENDED, .suborder_ended = {T("Waves"), 2, 0, SUBORDER_FAILED, T(""),
                                               T("Declined"), T("no funds"), true, false, T("")}},
     COMMAND_REPORT_SUBORDER,
     "Waves item 2 has ended, failed: Declined: no funds; no further item starts"},
    {{EVENT_SUBORDER_ENDED, .suborder_ended = {T("Waves"), -1, 0, SUBORDER_REFUSED, T(""),
                                               T("UnknownOrder"), T(""), false, true, T("ann")}},
     COMMAND_FAIL_STEP,
     "Waves has ended, refused, by ann: UnknownOrder; what it did remains"},
    {{EVENT_SUBORDERS_RECALLED,
      .suborders_recalled =
          {{T("Waves"), DIRECTION_DO, 1}, 0, AT(0), T("States.Timeout"), T("too slow")}},
     COMMAND_RECOVER_STEP,
     "Waves recalls its sub-orders: States.Timeout: too slow"},
    {{EVENT_ORDER_HELD, .order_held = {AT(0), T("{}"), T("no member y")}},
     0,
     "order held until its parent decides, reported again at 2023-11-14T22:13:20.000Z; without its "
     "output: no member y"},
};

Test(console_event_text, describes_every_event)
{
    bool seen[EVENT_KIND_COUNT] = {false};
    struct heap_arena heap;
    heap_arena_init(&heap, 4096);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text words = event_text(&cases[i].event, &heap.arena);
        cr_assert(text_equal(words, text_of(cases[i].words)), "%.*s\n%s", TEXT_ARG(words),
                  cases[i].words);
        seen[cases[i].event.kind] = true;
    }
    for (int kind = 1; kind < EVENT_KIND_COUNT; kind++)
        cr_assert(seen[kind], "%s", event_kind_name((enum event_kind)kind));
    heap_arena_deinit(&heap);
}

Test(console_event_text, derives_the_command_from_the_first_event)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct event event = cases[i].event;
        struct decision decision = {.events = &event, .event_count = 1};
        cr_assert_eq(decision_command(&decision), cases[i].command, "%s",
                     event_kind_name(event.kind));
    }
}

Test(console_event_text, describes_a_decision_in_one_line)
{
    struct heap_arena heap;
    struct event events[] = {
        {EVENT_ORDER_STARTED, .order_marked = {.code = T("")}},
        {EVENT_ORDER_PROCESSED, .order_processed = {.code = T("")}},
    };
    struct decision decision = {.events = events, .event_count = 2};
    heap_arena_init(&heap, 4096);
    cr_assert(text_equal(event_text_of_decision(&decision, &heap.arena),
                         TEXT("order started; order processed")));
    heap_arena_deinit(&heap);
}

/* Whatever is said, the words stay short and whole characters. */
Test(console_event_text, cuts_long_texts_between_characters)
{
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x9a\x80"};
    struct heap_arena heap;
    heap_arena_init(&heap, 4096);
    for (size_t c = 0; c < 4; c++) {
        char reason[MESSAGE_BYTES_MAX];
        size_t width = strlen(characters[c]);
        for (size_t i = 0; i + width <= sizeof(reason); i += width)
            memcpy(reason + i, characters[c], width);
        struct text said = {reason, (uint32_t)(sizeof(reason) / width * width)};
        struct event events[20];
        for (size_t i = 0; i < 20; i++)
            events[i] = (struct event){EVENT_ORDER_CANCELLED,
                                       .order_marked = {.code = TEXT("x"), .reason = said}};
        struct decision decision = {.events = events, .event_count = 20};
        struct text one = event_text(&events[0], &heap.arena);
        struct text all = event_text_of_decision(&decision, &heap.arena);
        cr_assert(utf8_valid(one) && utf8_valid(all));
        cr_assert_leq(one.size, 500);
        cr_assert_leq(all.size, MESSAGE_BYTES_MAX);
        cr_assert_gt(all.size, MESSAGE_BYTES_MAX - 10);
    }
    heap_arena_deinit(&heap);
}
