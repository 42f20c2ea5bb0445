/* SPDX-License-Identifier: Apache-2.0 */
/* What a signal is answered with: each row of the table in docs/use/workflows.md, at a step that
 * waits and, where it differs, at one whose turn has not come. */
#include "kit.h"

#include "engine/decide.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define LIMITED "Name: test\nVersion: 1\nTimeoutSeconds: 100000\nSteps:\n"
#define TAIL "  - {Name: T, Agent: agent}\n"
#define STARTED "submit => OrderAccepted OrderStarted StepStarted(T do 1)\n"
#define AWAIT(fields) "  - {Name: A, " fields ", TimeoutSeconds: 60}\n"
#define BEGUN(shown) \
    "submit => OrderAccepted OrderStarted StepWaiting(A do 0 signal" shown " +60000)\n"

Test(decision_signal, needs_an_order)
{
    kit_tell(LIMITED AWAIT("Await: {}"), NULL,
             "signal A 1 => CommandRejected(UnknownOrder)\n"
             "reply orders.replies.signals\n");
}

Test(decision_signal, comes_too_late_for_an_order_that_has_ended)
{
    kit_tell(LIMITED AWAIT("Await: {}"), NULL,
             BEGUN("") "signal A 1 #i => StepPassed(A do 0 1 #i) OrderProcessed\n"
                       "signal A 1 #j => CommandRejected(AlreadyEnded)\n"
                       "reply orders.replies.signals\n"
                       "signal B 1 => CommandRejected(AlreadyEnded)\n");
}

/* The sender of the signal that ended the order may have had no answer: the row still knows its id,
 * and nothing of the workflow is needed. */
Test(decision_signal, is_repeated_after_it_ended_the_order)
{
    kit_tell(LIMITED AWAIT("Await: {From: m}"), NULL,
             BEGUN(" of m") "signal A 1 #i of m => StepPassed(A do 0 1 #i) OrderProcessed\n"
                            "signal A 1 #i of m => CommandRejected(SignalRepeated)\n"
                            "reply orders.replies.signals\n"
                            "blind signal A 1 #i => CommandRejected(SignalRepeated)\n"
                            "signal A 1 #j of m => CommandRejected(AlreadyEnded)\n"
                            "signal A 1 of m => CommandRejected(AlreadyEnded)\n");
}

/* The row of a step that was left out knows no signals. */
Test(decision_signal, is_repeated_while_the_order_is_undone)
{
    kit_tell(LIMITED "  - {Name: T, Agent: agent, Compensate: {Action: U, Retry: []}}\n" AWAIT(
                 "Await: {}") "  - {Name: B, Await: {}, Until: result > 1}\n",
             NULL,
             STARTED "ok T 1 => StepSucceeded(T do 1) StepWaiting(A do 0 signal +60000)\n"
                     "signal A 1 #i => StepPassed(A do 0 1 #i) StepWaiting(B do 0 signal)\n"
                     "signal B 1 #k => SignalReceived(B 1 #k)\n"
                     "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
                     " StepSkipped(B do 0) StepStarted(T undo 1)\n"
                     "signal A 1 #i => CommandRejected(SignalRepeated)\n"
                     "signal A 1 #j => CommandRejected(AlreadyEnded)\n"
                     "signal B 1 #k => CommandRejected(AlreadyEnded)\n");
}

/* It stays in Error until its undo is repaired. */
Test(decision_signal, comes_too_late_for_an_order_whose_undo_has_failed)
{
    kit_tell(LIMITED
             "  - {Name: T, Agent: agent, Compensate: {Action: U, Retry: []}}\n" AWAIT("Await: {}"),
             NULL,
             STARTED "ok T 1 => StepSucceeded(T do 1) StepWaiting(A do 0 signal +60000)\n"
                     "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
                     " StepSkipped(A do 0) StepStarted(T undo 1)\n"
                     "fail T 1 X undo => StepFailed(T undo 1 X none x1) StepExhausted(T undo 1)"
                     " OrderFailed(X) AlertRaised(X)\n"
                     "signal A 1 => CommandRejected(AlreadyEnded)\n"
                     "said being undone\n");
}

Test(decision_signal, names_a_step_that_awaits_one)
{
    kit_tell(LIMITED TAIL AWAIT("Await: {}") "  - {Name: B, Await: {}}\n", NULL,
             STARTED "signal C 1 => CommandRejected(UnknownStep)\n"
                     "said no Await C; those that it has: A, B\n"
                     "signal T 1 => CommandRejected(UnknownStep)\n");
    kit_tell(LIMITED TAIL, NULL,
             STARTED "signal T 1 => CommandRejected(UnknownStep)\nsaid those that it has: none\n");
}

Test(decision_signal, is_repeated_only_by_the_id_of_the_newest)
{
    kit_tell(LIMITED TAIL AWAIT("Await: {From: m}, Until: result > 1"), NULL,
             STARTED "signal A 0 #i of m => SignalReceived(A 0 #i)\n"
                     "signal A 2 #i => CommandRejected(SignalRepeated)\n"
                     "signal A 1 #j of m => SignalReceived(A 1 #j)\n"
                     "signal A 1 #i of m => SignalReceived(A 1 #i)\n"
                     "signal A 1 of m => SignalReceived(A 1)\n"
                     "signal A 1 of m => SignalReceived(A 1)\n"
                     "signal A 2 #i of m => SignalReceived(A kept 2 #i)\n"
                     "signal A 9 #i => CommandRejected(SignalRepeated)\n"
                     "ok T 1 => StepSucceeded(T do 1) StepPassed(A do 0 2 #i) OrderProcessed\n");
}

/* Before TooLate: who sends it again learns that it counted. */
Test(decision_signal, is_repeated_after_it_passed_the_step)
{
    kit_tell(LIMITED AWAIT("Await: {}") TAIL, NULL,
             BEGUN("") "signal A 1 #i => StepPassed(A do 0 1 #i) StepStarted(T do 1)\n"
                       "signal A 1 #i => CommandRejected(SignalRepeated)\n"
                       "signal A 1 #j => CommandRejected(TooLate)\n"
                       "said step A is Processed\n"
                       "signal A 1 => CommandRejected(TooLate)\n");
}

Test(decision_signal, comes_too_late_for_a_step_that_was_skipped)
{
    kit_tell(LIMITED AWAIT("Await: {}") TAIL, NULL,
             BEGUN("") "skip A => StepSkippedByHand(A do 0) StepStarted(T do 1)\n"
                       "signal A 1 => CommandRejected(TooLate)\nsaid step A is Skipped\n");
}

Test(decision_signal, counts_only_of_the_group_that_is_asked)
{
    kit_tell(LIMITED AWAIT("Await: {From: managers}"), NULL,
             BEGUN(" of managers") "signal A 1 by eve => CommandRejected(NotAllowed)\n"
                                   "said eve is not known to belong to it\n"
                                   "signal A 1 by eve of clerks => CommandRejected(NotAllowed)\n"
                                   "signal A 1 by ann of managers => StepPassed(A do 0 1 by ann)"
                                   " OrderProcessed\n");
}

/* Nothing passes unchecked because it came early. */
Test(decision_signal, counts_early_only_of_the_group_that_will_be_asked)
{
    kit_tell(
        LIMITED TAIL AWAIT("Await: {From: managers, Options: [yea, nay]}"), NULL,
        STARTED
        "signal A {\"choice\":\"yea\"} => CommandRejected(NotAllowed)\n"
        "signal A {\"choice\":\"maybe\"} of managers => CommandRejected(BadPayload)\n"
        "signal A {\"choice\":\"nay\",\"comment\":\"x\"} by ann of managers =>"
        " SignalReceived(A kept {\"by\":\"ann\",\"choice\":\"nay\",\"comment\":\"x\"} by ann)\n"
        "ok T 1 => StepSucceeded(T do 1)"
        " StepPassed(A do 0 {\"by\":\"ann\",\"choice\":\"nay\",\"comment\":\"x\"} by ann)"
        " OrderProcessed\n");
}

/* But a member of the group may pass its step, although another token submitted the order. */
Test(decision_signal, hides_the_orders_of_other_tokens)
{
    kit_tell(
        LIMITED AWAIT("After: [], Await: {}") "  - {Name: B, After: [], Await: {From: managers}}\n",
        NULL,
        "submit as shop => OrderAccepted OrderStarted StepWaiting(A do 0 signal +60000)"
        " StepWaiting(B do 0 signal of managers)\n"
        "signal A 1 as eve => CommandRejected(AnotherSubmitter)\n"
        "reply orders.replies.signals\n"
        "message there is no order o-1\n"
        "signal C 1 as eve => CommandRejected(AnotherSubmitter)\n"
        "signal B 1 as eve => CommandRejected(AnotherSubmitter)\n"
        "blind signal B 1 as eve of managers => CommandRejected(AnotherSubmitter)\n"
        "signal B 1 as eve of managers => StepPassed(B do 0 1)\n"
        "signal A 1 #i as shop => StepPassed(A do 0 1 #i) OrderProcessed\n"
        "signal A 1 #i as eve => CommandRejected(AnotherSubmitter)\n");
}

Test(decision_signal, chooses_one_of_the_options)
{
    static const char *const payloads[] = {"1",
                                           "null",
                                           "[]",
                                           "\"yea\"",
                                           "{}",
                                           "{\"choice\":1}",
                                           "{\"choice\":\"Yes\"}",
                                           "{\"comment\":\"yea\"}",
                                           "{\"choice\":\"yea\",\"comment\":1}",
                                           "{\"choice\":\"yea\",\"by\":\"ann\"}"};
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        char lines[512];
        snprintf(lines, sizeof(lines),
                 BEGUN(" yea|nay") "signal A %s => CommandRejected(BadPayload)\n", payloads[i]);
        kit_tell(LIMITED AWAIT("Await: {Options: [yea, nay]}"), NULL, lines);
    }
    kit_tell(LIMITED AWAIT("Await: {Options: [yea, nay, later]}"), NULL,
             BEGUN(" yea|nay|later") "signal A {\"choice\":\"x\"} => CommandRejected(BadPayload)\n"
                                     "said step A takes the choice yea, nay or later, not \"x\"\n"
                                     "signal A 1 => CommandRejected(BadPayload)\n"
                                     "said step A takes {\"choice\": yea, nay or later}\n");
}

/* As they are in canonical JSON. */
Test(decision_signal, finds_options_that_are_escaped)
{
    kit_tell(
        LIMITED AWAIT("Await: {Options: ['say_\"yea\"', nay]}"), NULL,
        BEGUN(
            " say_\"yea\"|nay") "signal A {\"choice\":\"say_yes\"} => CommandRejected(BadPayload)\n"
                                "signal A {\"choice\":\"say_\\\"yea\\\"\"} => StepPassed(A do 0"
                                " {\"by\":\"\",\"choice\":\"say_\\\"yea\\\"\",\"comment\":\"\"}) "
                                "OrderProcessed\n");
}

Test(decision_signal, is_at_most_64_KiB)
{
    kit_tell(LIMITED AWAIT("Await: {}, Output: \"${size(result)}\""), NULL,
             BEGUN("") "signal A 65537 bytes => CommandRejected(TooLarge)\n"
                       "said is 65537 bytes; the limit is 65536\n"
                       "signal A 65536 bytes => StepPassed(A do 0 65534) OrderProcessed\n");
}

/* With what the step adds to it. */
Test(decision_signal, is_at_most_64_KiB_as_an_answer)
{
    struct test_arena memory;
    enum { ROOM = 65536 - sizeof("{\"by\":\"\",\"choice\":\"yea\",\"comment\":\"\"}") + 1 };
    static char comment[ROOM + 2];
    static const char *const expected[] = {"StepPassed", "CommandRejected"};
    test_arena_init(&memory);
    struct arena *arena = &memory.arena;
    for (int more = 0; more < 2; more++) {
        struct kit_order at =
            kit_begin(&memory, LIMITED AWAIT("Await: {Options: [yea, nay]}") TAIL);
        memset(comment, 'x', sizeof(comment));
        char *payload = arena_bytes(arena, sizeof(comment) + 64);
        int size = snprintf(payload, sizeof(comment) + 64,
                            "{\"choice\":\"yea\",\"comment\":\"%.*s\"}", (int)ROOM + more, comment);
        struct decision decision;
        kit_signal(&at, "A", (struct text){payload, (uint32_t)size}, arena, &decision);
        cr_assert_str_eq(event_kind_name(decision.events[0].kind), expected[more]);
        if (more == 1)
            cr_assert(text_equal(decision.events[0].command_rejected.code, TEXT("TooLarge")));
    }
    test_arena_deinit(&memory);
}

Test(decision_signal, is_refused_where_until_or_output_cannot_be_evaluated)
{
    kit_tell(LIMITED AWAIT("Await: {}, Until: result.x > 1") TAIL, NULL,
             BEGUN("") "signal A {} => CommandRejected(BadPayload)\n"
                       "said Until of step A: States.QueryEvaluationError\n"
                       "signal A {\"x\":2} => StepPassed(A do 0 {\"x\":2}) StepStarted(T do 1)\n");
    kit_tell(LIMITED AWAIT("Await: {}, Output: {y: \"${result.x}\"}") TAIL, NULL,
             BEGUN("") "signal A {} => CommandRejected(BadPayload)\n"
                       "said Output of step A: States.QueryEvaluationError\n"
                       "spared signal A {\"x\":2} => CommandRejected(BadPayload)\n"
                       "signal A {\"x\":2} => StepPassed(A do 0 {\"y\":2}) StepStarted(T do 1)\n");
}

/* Its Output is not asked for yet. */
Test(decision_signal, leaves_its_step_waiting_until_until_is_true)
{
    kit_tell(LIMITED AWAIT("Await: {}, Until: result.s != 'p', Output: {y: \"${result.x}\"}") TAIL,
             NULL,
             BEGUN("") "signal A {\"s\":\"p\"} #i by w => SignalReceived(A {\"s\":\"p\"} by w #i)\n"
                       "order Processing A=Waiting T=Pending\n"
                       "status none\n"
                       "signal A {\"s\":\"p\"} #i => CommandRejected(SignalRepeated)\n"
                       "signal A {\"s\":\"q\",\"x\":2} #j =>"
                       " StepPassed(A do 0 {\"y\":2} #j) StepStarted(T do 1)\n");
}

Test(decision_signal, reads_the_answer_and_who_gave_it)
{
    kit_tell(LIMITED AWAIT("Await: {Options: [yea, nay]}, Until: result.by != input.by,"
                           " Output: {who: \"${result.by}\", what: \"${result.choice}\"}") TAIL,
             NULL,
             "submit with {\"by\":\"ann\"} => OrderAccepted OrderStarted"
             " StepWaiting(A do 0 signal yea|nay +60000)\n"
             "signal A {\"choice\":\"yea\"} by ann =>"
             " SignalReceived(A {\"by\":\"ann\",\"choice\":\"yea\",\"comment\":\"\"} by ann)\n"
             "signal A {\"choice\":\"nay\"} by bob =>"
             " StepPassed(A do 0 {\"what\":\"nay\",\"who\":\"bob\"} by bob) StepStarted(T do 1)\n");
}

Test(decision_signal, comes_early_once)
{
    kit_tell(LIMITED TAIL AWAIT("Await: {}, Until: result > 1"), NULL,
             STARTED "signal A 2 #i by ann => SignalReceived(A kept 2 by ann #i)\n"
                     "signal A 2 #i by ann => CommandRejected(SignalRepeated)\n"
                     "signal A 3 #j => CommandRejected(AlreadySignalled)\n"
                     "said a signal of ann\n"
                     "signal A 0 #k => CommandRejected(AlreadySignalled)\n"
                     "signal A {} => CommandRejected(BadPayload)\n"
                     "ok T 1 => StepSucceeded(T do 1) StepPassed(A do 0 2 by ann #i)"
                     " OrderProcessed\n");
}

/* Those that were taken count as well as those that were not. */
Test(decision_signal, is_one_of_1000_for_its_step)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct kit_order at = kit_begin(&memory, LIMITED AWAIT("Await: {}, Until: result > 1") TAIL);
    for (int i = 0; i <= SIGNALS_MAX; i++) {
        struct decision decision;
        kit_signal(&at, "A", TEXT("0"), &memory.arena, &decision);
        if (i < SIGNALS_MAX) {
            cr_assert_eq(decision.events[0].kind, EVENT_SIGNAL_RECEIVED, "%d", i);
            continue;
        }
        cr_assert_eq(decision.events[0].kind, EVENT_COMMAND_REJECTED);
        cr_assert(text_equal(decision.events[0].command_rejected.code, TEXT("TooManySignals")));
        kit_signal(&at, "A", TEXT("2"), &memory.arena, &decision);
        cr_assert(text_equal(decision.events[0].command_rejected.code, TEXT("TooManySignals")));
    }
    cr_assert_eq(at.order.steps[0].awaiting->signals, SIGNALS_MAX);
    test_arena_deinit(&memory);
}

/* The outputs of all steps have room for it, and it keeps the room until its turn. */
Test(decision_signal, counts_among_the_outputs_before_its_turn)
{
    char steps[4096];
    size_t at = (size_t)snprintf(steps, sizeof(steps), "%s", LIMITED TAIL);
    for (int i = 0; i < 17; i++)
        at += (size_t)snprintf(steps + at, sizeof(steps) - at,
                               "  - {Name: A%d, Await: {}, Output: {s: \"${result}\"}}\n", i);
    struct test_arena memory;
    test_arena_init(&memory);
    struct kit_order order = kit_begin(&memory, steps);
    char *payload = arena_bytes(&memory.arena, SIGNAL_BYTES_MAX);
    memset(payload, 'x', SIGNAL_BYTES_MAX);
    payload[0] = payload[SIGNAL_BYTES_MAX - 7] = '"';
    for (int i = 0; i < 17; i++) {
        char name[16];
        struct decision decision;
        snprintf(name, sizeof(name), "A%d", i);
        kit_signal(&order, name, (struct text){payload, SIGNAL_BYTES_MAX - 6}, &memory.arena,
                   &decision);
        bool fits = i < 16;
        cr_assert_eq(decision.events[0].kind,
                     fits ? EVENT_SIGNAL_RECEIVED : EVENT_COMMAND_REJECTED);
        if (!fits)
            cr_assert(text_equal(decision.events[0].command_rejected.code, TEXT("TooLarge")));
    }
    test_arena_deinit(&memory);
}

Test(decision_signal, gets_no_answer_on_the_topic_of_the_order)
{
    kit_tell(LIMITED AWAIT("Await: {}") TAIL, NULL,
             BEGUN("") "reply orders.replies.shop\n"
                       "signal B 1 => CommandRejected(UnknownStep)\n"
                       "reply orders.replies.signals\n"
                       "signal A 1 => StepPassed(A do 0 1) StepStarted(T do 1)\n"
                       "reply orders.replies.shop\n"
                       "status StepChanged A=Processed(do 0) T=Processing(do 1)\n");
}
