/* SPDX-License-Identifier: Apache-2.0 */
/* Catch ... $continue: the order goes on, and has(error.STEP) holds. */
#include "kit.h"

#include <criterion/criterion.h>

static const char handled[] =
    HEAD "  - Name: Charge\n"
         "    Agent: agent\n"
         "    Retry: [{ErrorEquals: [Busy], MaxAttempts: 1, JitterStrategy: NONE}]\n"
         "    Catch: [{ErrorEquals: [CardDeclined, Busy, States.Timeout], Next: $continue}]\n"
         "  - {Name: Receipt, Agent: agent, When: has(output.Charge)}\n"
         "  - Name: Dun\n"
         "    After: [Charge]\n"
         "    When: has(error.Charge)\n"
         "    Agent: agent\n"
         "    Input: {name: \"${error.Charge.name}\", text: \"${error.Charge.message}\"}\n";

Test(decision_catch, lets_the_order_go_on_to_a_handler)
{
    kit_tell(handled, NULL,
             "submit => OrderAccepted OrderStarted StepStarted(Charge do 1)\n"
             "fail Charge 1 CardDeclined => StepFailed(Charge do 1 CardDeclined none x1)"
             " StepCaught(Charge do 1) StepSkipped(Receipt do 0) StepStarted(Dun do 1 with "
             "{\"name\":\"CardDeclined\",\"text\":\"said the service\"})\n");
}

Test(decision_catch, skips_the_handler_of_a_step_that_succeeds)
{
    kit_tell(handled, NULL,
             "submit => OrderAccepted OrderStarted StepStarted(Charge do 1)\n"
             "ok Charge 1 => StepSucceeded(Charge do 1) StepStarted(Receipt do 1)"
             " StepSkipped(Dun do 0)\n"
             "said When: has(error.Charge)\n"
             "ok Receipt 1 => StepSucceeded(Receipt do 1) OrderProcessed\n");
}

Test(decision_catch, comes_after_the_last_retry)
{
    kit_tell(handled, NULL,
             "submit => OrderAccepted OrderStarted StepStarted(Charge do 1)\n"
             "fail Charge 1 Busy unknown => StepFailed(Charge do 1 Busy unknown x1)"
             " StepRetryScheduled(Charge do 1 +1000)\n"
             "wait 1000\n"
             "start Charge => StepStarted(Charge do 2)\n"
             "wait 61000\n"
             "recover Charge => StepTimedOut(Charge do 2 unknown x2) StepCaught(Charge do 2)"
             " StepSkipped(Receipt do 0) StepStarted(Dun do 1 with "
             "{\"name\":\"States.Timeout\",\"text\":\"no report came in time\"})\n");
}

/* What one attempt may have applied stays, as the file's author was told. */
Test(decision_catch, stays_when_the_order_is_undone)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, Compensate: {Action: UndoA}}\n"
                  "  - {Name: B, Agent: agent, Catch: [{ErrorEquals: [Nope], Next: $continue}]}\n"
                  "  - {Name: C, Agent: agent}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
             "fail B 1 Nope unknown => StepFailed(B do 1 Nope unknown x1) StepCaught(B do 1)"
             " StepStarted(C do 1)\n"
             "skip B => CommandRejected(StepEnded)\n"
             "said step B is Caught\n"
             "fail C 1 Nope => StepFailed(C do 1 Nope none x1) StepExhausted(C do 1)"
             " CompensationStarted(Nope) StepStarted(A undo 1)\n"
             "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
             " OrderCompensated(Nope)\n"
             "order Compensated A=Compensated(undo 1) B=Caught(do 1) C=Error(do 1)\n");
}

Test(decision_catch, catches_while_the_order_is_in_error_and_goes_on_after_it)
{
    kit_tell(
        HEAD "  - {Name: A, Agent: agent, After: [], OnExhausted: error}\n"
             "  - Name: B\n    Agent: agent\n    After: []\n"
             "    Catch: [{ErrorEquals: [States.ALL], Next: $continue}]\n"
             "  - {Name: C, Agent: agent, After: [B], When: has(error.B)}\n",
        NULL,
        "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
        "fail A 1 Nope => StepFailed(A do 1 Nope none x1) StepExhausted(A do 1) OrderFailed(Nope)"
        " AlertRaised(Nope)\n"
        "fail B 1 Nope => StepFailed(B do 1 Nope none x1) StepCaught(B do 1)\n"
        "order Error A=Error(do 1) B=Caught(do 1) C=Pending\n"
        "skip A => StepSkippedByHand(A do 1) OrderResumed(Skipped) AlertClosed(Skipped)"
        " StepStarted(C do 1)\n");
}

Test(decision_catch, catches_expressions_that_fail_and_fails_of_purpose)
{
    kit_tell(HEAD "  - Name: A\n    Set: \"${input.a.b}\"\n"
                  "    Catch: [{ErrorEquals: [States.QueryEvaluationError], Next: $continue}]\n"
                  "  - Name: F\n    Fail: {Error: Odd}\n"
                  "    Catch: [{ErrorEquals: [Odd], Next: $continue}]\n"
                  "  - {Name: B, Set: \"${has(error.A) && has(error.F)}\"}\n",
             NULL,
             "submit => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepCaught(A do 0)"
             " StepFailedUnstarted(F do 0 Odd x1) StepCaught(F do 0) StepPassed(B do 0 true)"
             " OrderProcessed\n"
             "deadlines none\n");
}

/* A caught pivot without an effect: back is possible until something behind it acts. */
Test(decision_catch, of_the_pivot_keeps_the_way_back_only_while_nothing_was_applied)
{
    static const char workflow[] =
        HEAD "  - {Name: A, Agent: agent, Compensate: {Action: UndoA}}\n"
             "  - Name: P\n    Agent: agent\n    Pivot: true\n    OnExhausted: error\n"
             "    Catch: [{ErrorEquals: [Nope], Next: $continue}]\n"
             "  - {Name: B, Agent: agent, When: input.go, OnExhausted: error}\n"
             "  - {Name: C, Agent: agent, After: [P], OnExhausted: error}\n";
    kit_tell(workflow, NULL,
             "submit with {\"go\":false} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
             "fail P 1 Nope none => StepFailed(P do 1 Nope none x1) StepCaught(P do 1)"
             " StepSkipped(B do 0) StepStarted(C do 1)\n"
             "fail C 1 Nope none => StepFailed(C do 1 Nope none x1) StepExhausted(C do 1)"
             " OrderFailed(Nope) AlertRaised(Nope)\n"
             "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
             " AlertClosed(Cancelled) StepStarted(A undo 1)\n");
    kit_tell(workflow, NULL,
             "submit with {\"go\":false} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
             "fail P 1 Nope unknown => StepFailed(P do 1 Nope unknown x1) StepCaught(P do 1)"
             " StepSkipped(B do 0) StepStarted(C do 1)\n"
             "fail C 1 Nope none => StepFailed(C do 1 Nope none x1) StepExhausted(C do 1)"
             " OrderFailed(Nope) AlertRaised(Nope)\n"
             "cancel => CommandRejected(PastPivot)\n");
}

Test(decision_catch, counts_as_begun_in_another_version)
{
    kit_tell(
        HEAD "  - {Name: A, Agent: agent, Catch: [{ErrorEquals: [Nope], Next: $continue}]}\n"
             "  - {Name: B, Agent: agent}\n",
        HEAD_2 "  - {Name: A, Set: 1}\n  - {Name: B, Agent: agent}\n",
        "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
        "fail A 1 Nope => StepFailed(A do 1 Nope none x1) StepCaught(A do 1) StepStarted(B do 1)\n"
        "migrate 2 => CommandRejected(StepsDiffer)\n");
}
