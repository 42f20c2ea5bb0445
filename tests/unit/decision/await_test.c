/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that await a signal: how they begin, how their time ends, and what else there is to it.
 * What each signal is answered with is in signal_test.c. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define LIMITED "Name: test\nVersion: 1\nTimeoutSeconds: 100000\nSteps:\n"
#define TAIL "  - {Name: T, Agent: agent}\n"
#define ASK                                                           \
    "  - Name: A\n    Await: {From: managers, Options: [yea, nay],\n" \
    "            Question: \"Refund ${input.n}?\"}\n    TimeoutSeconds: 60\n"
#define BEGUN                                                                                    \
    "submit with {\"n\":7} => OrderAccepted OrderStarted StepWaiting(A do 0 signal of managers " \
    "yea|nay \"Refund 7?\" +60000)\n"
#define ANY "  - {Name: A, Await: {}, TimeoutSeconds: 60}\n"
#define ANY_BEGUN "submit => OrderAccepted OrderStarted StepWaiting(A do 0 signal +60000)\n"

Test(decision_await, asks_its_question_and_passes_with_the_answer)
{
    kit_tell(LIMITED ASK TAIL, NULL,
             BEGUN "order Processing A=Waiting T=Pending\n"
                   "deadlines start(A)+60000 order+100001000\n"
                   "status Received A=Waiting(do 0)\n");
}

Test(decision_await, waits_as_long_as_its_order_without_a_limit_of_its_own)
{
    kit_tell(LIMITED "  - {Name: A, Await: {}}\n" TAIL, NULL,
             "submit => OrderAccepted OrderStarted StepWaiting(A do 0 signal)\n"
             "deadlines order+100001000\n"
             "start A => CommandRejected(Stale)\n"
             "pause => OrderPaused\n"
             "resume => OrderPauseEnded\n"
             "wait 100001000\n"
             "timeout => OrderTimedOut(States.Timeout) CompensationStarted(States.Timeout)"
             " StepSkipped(A do 0) StepSkipped(T do 0) OrderCompensated(States.Timeout)\n");
}

Test(decision_await, fails_once_its_time_is_over)
{
    kit_tell(LIMITED ASK TAIL, NULL,
             BEGUN "wait 59999\nstart A => CommandRejected(NotYetDue)\n"
                   "wait 1\n"
                   "start A => StepFailedUnstarted(A do 0 States.Timeout x1) StepExhausted(A do 0)"
                   " CompensationStarted(States.Timeout) StepSkipped(T do 0) "
                   "OrderCompensated(States.Timeout)\n"
                   "said no signal came in time\n");
}

Test(decision_await, goes_on_where_its_time_out_is_caught)
{
    kit_tell(LIMITED
             "  - Name: A\n    Await: {From: managers}\n    TimeoutSeconds: 60\n"
             "    Catch: [{ErrorEquals: [States.Timeout], Next: $continue}]\n"
             "  - {Name: B, When: has(error.A), Await: {From: chiefs}, TimeoutSeconds: 5}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepWaiting(A do 0 signal of managers +60000)\n"
             "wait 60000\n"
             "start A => StepFailedUnstarted(A do 0 States.Timeout x1) StepCaught(A do 0)"
             " StepWaiting(B do 0 signal of chiefs +5000)\n"
             "signal A 1 of managers => CommandRejected(TooLate)\n"
             "signal B 1 of chiefs => StepPassed(B do 0 1) OrderProcessed\n");
}

/* A retry would wait for ever. */
Test(decision_await, counts_its_time_out_as_no_attempt)
{
    kit_tell(
        LIMITED "  - {Name: A, Await: {}, TimeoutSeconds: 60, OnExhausted: error}\n", NULL,
        ANY_BEGUN
        "wait 60000\n"
        "start A => StepFailedUnstarted(A do 0 States.Timeout x1) StepExhausted(A do 0)"
        " OrderFailed(States.Timeout) AlertRaised(States.Timeout)\n"
        "signal A 1 => CommandRejected(TooLate)\n"
        "resubmit all => StepResubmitted(A do 0 g1) OrderResumed(Resubmitted)"
        " OrderDeadlineSet(+100000000) AlertClosed(Resubmitted) StepWaiting(A do 0 signal +60000)\n"
        "signal A 1 => StepPassed(A do 0 1) OrderProcessed\n");
}

Test(decision_await, is_skipped_where_its_when_is_false)
{
    kit_tell(LIMITED "  - {Name: S, Set: 1}\n  - {Name: A, When: input.n > 9, Await: {}}\n", NULL,
             "submit with {\"n\":7} => OrderAccepted OrderStarted StepPassed(S do 0 1)"
             " StepSkipped(A do 0) OrderProcessed\n");
}

/* What is asked cannot be said: nothing waits. */
Test(decision_await, fails_where_its_question_cannot_be_evaluated)
{
    kit_tell(LIMITED ASK TAIL, NULL,
             "submit with {\"n\":[]} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepExhausted(A do 0)"
             " CompensationStarted(States.QueryEvaluationError) StepSkipped(T do 0)"
             " OrderCompensated(States.QueryEvaluationError)\n");
}

Test(decision_await, takes_a_signal_that_came_before_its_turn)
{
    kit_tell(
        LIMITED TAIL ANY, NULL,
        "submit => OrderAccepted OrderStarted StepStarted(T do 1)\n"
        "signal A {\"x\":1} #i by bob => SignalReceived(A kept {\"x\":1} by bob #i)\n"
        "order Processing T=Processing(do 1) A=Pending\n"
        "ok T 1 => StepSucceeded(T do 1) StepPassed(A do 0 {\"x\":1} by bob #i) OrderProcessed\n"
        "output A {\"x\":1}\n");
}

/* As an output of null, which is kept as none. */
Test(decision_await, takes_an_early_null)
{
    kit_tell(LIMITED TAIL ANY, NULL,
             "submit => OrderAccepted OrderStarted StepStarted(T do 1)\n"
             "signal A null => SignalReceived(A kept null)\n"
             "signal A 2 => CommandRejected(AlreadySignalled)\n"
             "ok T 1 => StepSucceeded(T do 1) StepPassed(A do 0) OrderProcessed\n");
}

/* Nothing is asked of it, and it is gone. */
Test(decision_await, loses_an_early_signal_where_its_when_is_false)
{
    kit_tell(LIMITED TAIL "  - {Name: A, When: input.n > 9, Await: {}}\n", NULL,
             "submit with {\"n\":7} => OrderAccepted OrderStarted StepStarted(T do 1)\n"
             "signal A 1 #i => SignalReceived(A kept 1 #i)\n"
             "ok T 1 => StepSucceeded(T do 1) StepSkipped(A do 0) OrderProcessed\n"
             "signal A 1 #i => CommandRejected(AlreadyEnded)\n");
}

Test(decision_await, counts_signals_while_paused_and_its_time_afterwards)
{
    static const char pass[] =
        BEGUN "pause => OrderPaused\n"
              "signal A {\"choice\":\"yea\"} by m of managers =>"
              " StepPassed(A do 0 {\"by\":\"m\",\"choice\":\"yea\",\"comment\":\"\"} by m)\n"
              "resume => OrderPauseEnded StepStarted(T do 1)\n";
    static const char fail[] =
        BEGUN "pause => OrderPaused\n"
              "wait 60000\n"
              "deadlines order+99941000\n"
              "start A => CommandRejected(Paused)\n"
              "resume => OrderPauseEnded StepFailedUnstarted(A do 0 States.Timeout x1)"
              " StepExhausted(A do 0) CompensationStarted(States.Timeout) StepSkipped(T do 0)"
              " OrderCompensated(States.Timeout)\n";
    kit_tell(LIMITED ASK TAIL, NULL, pass);
    kit_tell(LIMITED ASK TAIL, NULL, fail);
}

#define BESIDE                                                     \
    "  - {Name: E, After: [], Agent: agent, OnExhausted: error}\n" \
    "  - {Name: A, After: [], Await: {}, TimeoutSeconds: 60}\n"    \
    "  - {Name: T, After: [E, A], Agent: agent}\n"
#define BESIDE_IN_ERROR                                                                            \
    "submit => OrderAccepted OrderStarted StepStarted(E do 1) StepWaiting(A do 0 signal +60000)\n" \
    "fail E 1 X => StepFailed(E do 1 X none x1) StepExhausted(E do 1) OrderFailed(X)"              \
    " AlertRaised(X)\n"

Test(decision_await, counts_signals_while_its_order_is_in_error)
{
    kit_tell(LIMITED BESIDE, NULL,
             BESIDE_IN_ERROR
             "signal A 1 => StepPassed(A do 0 1)\n"
             "order Error E=Error(do 1) A=Processed T=Pending\n"
             "complete E => StepCompletedByHand(E do 1) OrderResumed(Completed)"
             " OrderDeadlineSet(+100000000) AlertClosed(Completed) StepStarted(T do 1)\n");
}

Test(decision_await, times_out_after_the_error_of_its_order)
{
    kit_tell(LIMITED BESIDE, NULL,
             BESIDE_IN_ERROR "wait 60000\n"
                             "deadlines none\n"
                             "start A => CommandRejected(Stale)\n"
                             "complete E => StepCompletedByHand(E do 1) OrderResumed(Completed)"
                             " OrderDeadlineSet(+100000000) AlertClosed(Completed)"
                             " StepFailedUnstarted(A do 0 States.Timeout x1) StepExhausted(A do 0)"
                             " CompensationStarted(States.Timeout) StepSkipped(T do 0) "
                             "OrderCompensated(States.Timeout)\n");
}

Test(decision_await, is_skipped_when_its_order_is_undone)
{
    kit_tell(LIMITED BESIDE, NULL,
             "submit => OrderAccepted OrderStarted StepStarted(E do 1)"
             " StepWaiting(A do 0 signal +60000)\n"
             "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
             " StepSkipped(A do 0) StepSkipped(T do 0)\n"
             "signal A 1 => CommandRejected(AlreadyEnded)\n"
             "said being undone\n"
             "ok E 1 => StepSucceeded(E do 1) OrderCompensated(Cancelled)\n");
}

/* ---- by hand ---- */

Test(decision_await, is_passed_only_by_its_group)
{
    kit_tell(LIMITED ASK TAIL, NULL,
             BEGUN "complete A => CommandRejected(NeedsSignal)\n"
                   "said `reeve signal o-1 A`\n"
                   "skip A => CommandRejected(NeedsSignal)\n"
                   "fail-step A Mine => StepFailedUnstarted(A do 0 Mine x1) StepExhausted(A do 0)"
                   " CompensationStarted(Mine) StepSkipped(T do 0) OrderCompensated(Mine)\n");
}

/* It has failed, and its group has not answered. */
Test(decision_await, is_passed_only_by_its_group_in_error_as_well)
{
    kit_tell(LIMITED
             "  - {Name: A, Await: {From: managers}, TimeoutSeconds: 60, OnExhausted: error}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepWaiting(A do 0 signal of managers +60000)\n"
             "fail-step A Mine => StepFailedUnstarted(A do 0 Mine x1) StepExhausted(A do 0)"
             " OrderFailed(Mine) AlertRaised(Mine)\n"
             "complete A => CommandRejected(NeedsSignal)\n"
             "skip A => CommandRejected(NeedsSignal)\n");
}

Test(decision_await, is_ended_by_hand_where_anyone_may_pass_it)
{
    kit_tell(LIMITED ANY, NULL,
             ANY_BEGUN "complete A {\"y\":2} => StepCompletedByHand(A do 0) OrderProcessed\n"
                       "output A {\"y\":2}\n");
    kit_tell(LIMITED ANY, NULL, ANY_BEGUN "skip A => StepSkippedByHand(A do 0) OrderProcessed\n");
}

/* ---- another version, another input ---- */

#define MOVED "migrate 2 => OrderMigrated\n"

Test(decision_await, moves_to_a_version_that_asks_the_same_of_the_same)
{
    static const char v2[] = "Name: test\nVersion: 2\nTimeoutSeconds: 100000\nSteps:\n";
    char second[1024];
    snprintf(second, sizeof(second), "%s%s", v2,
             "  - Name: A\n    Await: {From: managers, Options: [yea, nay]}\n"
             "    TimeoutSeconds: 90\n" TAIL);
    kit_tell(LIMITED ASK TAIL, second,
             BEGUN MOVED "deadlines start(A)+60000 order+100001000\n"
                         "signal A {\"choice\":\"nay\"} of managers =>"
                         " StepPassed(A do 0 {\"by\":\"\",\"choice\":\"nay\",\"comment\":\"\"})"
                         " StepStarted(T do 1)\n");
}

static void refuses(const char *first, const char *step, const char *lines)
{
    char second[1024];
    snprintf(second, sizeof(second), "%s%s",
             "Name: test\nVersion: 2\nTimeoutSeconds: 100000\nSteps:\n", step);
    kit_tell(first, second, lines);
}

Test(decision_await, does_not_move_to_a_version_that_asks_others)
{
    refuses(LIMITED ASK,
            "  - {Name: A, Await: {From: chiefs, Options: [yea, nay]}, TimeoutSeconds: 60}\n",
            BEGUN "migrate 2 => CommandRejected(StepsDiffer)\nsaid another group\n");
    refuses(LIMITED ASK, "  - {Name: A, Await: {From: managers}, TimeoutSeconds: 60}\n",
            BEGUN "migrate 2 => CommandRejected(StepsDiffer)\nsaid other Options\n");
    refuses(LIMITED ASK, "  - {Name: A, Await: {From: managers, Options: [yea, nay]}}\n",
            BEGUN "migrate 2 => CommandRejected(StepsDiffer)\nsaid no time limit of its own\n");
    refuses(LIMITED ASK, "  - {Name: A, Wait: {Seconds: 60}}\n",
            BEGUN "migrate 2 => CommandRejected(StepsDiffer)\nsaid another kind\n");
}

Test(decision_await, moves_to_any_version_once_it_was_completed_by_hand)
{
    refuses(LIMITED ANY TAIL, "  - {Name: A, Await: {From: chiefs}, TimeoutSeconds: 60}\n" TAIL,
            ANY_BEGUN
            "complete A {\"y\":2} => StepCompletedByHand(A do 0) StepStarted(T do 1)\n" MOVED
            "ok T 1 => StepSucceeded(T do 1) OrderProcessed\n");
}

/* Signals that it did not take are forgotten with its version. */
Test(decision_await, moves_to_another_kind_after_signals_that_did_not_count)
{
    refuses(LIMITED TAIL "  - {Name: A, Await: {}, Until: result > 1, TimeoutSeconds: 60}\n",
            TAIL "  - {Name: A, Set: {y: 2}}\n",
            "submit => OrderAccepted OrderStarted StepStarted(T do 1)\n"
            "signal A 1 #i => SignalReceived(A 1 #i)\n" MOVED
            "ok T 1 => StepSucceeded(T do 1) StepPassed(A do 0 {\"y\":2}) OrderProcessed\n");
}

#define EARLY                                                    \
    "submit => OrderAccepted OrderStarted StepStarted(T do 1)\n" \
    "signal A 1 => SignalReceived(A kept 1)\n"

/* Else it would pass a check that was never made. */
Test(decision_await, keeps_an_early_signal_from_a_version_that_checks_more)
{
    static const char stays[] = EARLY MOVED "ok T 1 => StepSucceeded(T do 1) StepPassed(A do 0 1)"
                                            " OrderProcessed\n";
    static const char differs[] = EARLY "migrate 2 => CommandRejected(StepsDiffer)\n";
    refuses(LIMITED TAIL ANY, TAIL "  - {Name: A, Await: {Question: Well?}, TimeoutSeconds: 9}\n",
            stays);
    refuses(LIMITED TAIL ANY, TAIL "  - {Name: A, Await: {From: managers}, TimeoutSeconds: 60}\n",
            differs);
    refuses(LIMITED TAIL ANY,
            TAIL "  - {Name: A, Await: {}, Until: result > 1, TimeoutSeconds: 60}\n", differs);
    refuses(LIMITED TAIL ANY,
            TAIL "  - {Name: A, Await: {}, Output: \"${result}\", TimeoutSeconds: 60}\n", differs);
    refuses(LIMITED TAIL ANY, TAIL, differs);
    refuses(LIMITED TAIL ANY, TAIL "  - {Name: A, Set: 1}\n", differs);
}

#define FIRST_ASK                                                             \
    "  - {Name: A, Await: {Question: \"${input.n}?\"}, TimeoutSeconds: 60}\n" \
    "  - {Name: E, Agent: agent, OnExhausted: error, Input: \"${input.m}\"}\n"

/* The answer was one to another question. */
Test(decision_await, asks_again_where_the_data_of_its_question_are_amended)
{
    kit_tell(LIMITED FIRST_ASK, NULL,
             "submit with {\"n\":7,\"m\":1} => OrderAccepted OrderStarted"
             " StepWaiting(A do 0 signal \"7?\" +60000)\n"
             "signal A 1 => StepPassed(A do 0 1) StepStarted(E do 1 with 1)\n"
             "fail E 1 X => StepFailed(E do 1 X none x1) StepExhausted(E do 1) OrderFailed(X)"
             " AlertRaised(X)\n"
             "amend {\"n\":7,\"m\":2} => OrderAmended\n"
             "amend {\"n\":8,\"m\":2} => OrderAmended(A g0)\n"
             "resubmit all => StepResubmitted(E do 1 g1) OrderResumed(Resubmitted)"
             " OrderDeadlineSet(+100000000) AlertClosed(Resubmitted)"
             " StepWaiting(A do 0 signal \"8?\" +60000)\n");
}

#define EARLY_ASK                                                              \
    "  - {Name: E, Agent: agent, OnExhausted: error, Input: \"${input.m}\"}\n" \
    "  - {Name: A, Await: {Question: \"${input.n}?\"}, TimeoutSeconds: 60}\n"

Test(decision_await, keeps_an_early_signal_unless_the_data_of_its_question_are_amended)
{
    kit_tell(
        LIMITED EARLY_ASK, NULL,
        "submit with {\"n\":7,\"m\":1} => OrderAccepted OrderStarted StepStarted(E do 1 with 1)\n"
        "signal A 1 => SignalReceived(A kept 1)\n"
        "fail E 1 X => StepFailed(E do 1 X none x1) StepExhausted(E do 1) OrderFailed(X)"
        " AlertRaised(X)\n"
        "amend {\"n\":7,\"m\":2} => OrderAmended\n"
        "signal A 1 => CommandRejected(AlreadySignalled)\n"
        "amend {\"n\":8,\"m\":2} => OrderAmended(A g0)\n"
        "signal A 1 => SignalReceived(A kept 1)\n");
}

/* ---- rows that are wrong ---- */

/* Its owner has lost the version, or found another one under its name. */
Test(decision_await, needs_a_workflow_in_which_the_step_awaits_a_signal)
{
    kit_tell(LIMITED TAIL ANY, NULL,
             EARLY "blind signal A 2 => CommandRejected(UnknownWorkflow)\n"
                   "replaced signal A 2 => CommandRejected(UnknownWorkflow)\n");
}
