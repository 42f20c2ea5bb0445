/* SPDX-License-Identifier: Apache-2.0 */
/* Set and Fail: steps that end as their turn comes. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(decision_set, passes_with_its_value)
{
    kit_tell(HEAD "  - Name: Total\n"
                  "    Set: {net: \"${input.net}\", gross: \"${input.net * 1.2}\", cur: EUR,\n"
                  "          text: \"${input.net} EUR\"}\n"
                  "  - {Name: Twice, Set: \"${output.Total.gross * 2}\"}\n"
                  "  - {Name: Pay, Agent: agent}\n",
             NULL,
             "submit with {\"net\":100} => OrderAccepted OrderStarted StepPassed(Total do 0 "
             "{\"cur\":\"EUR\",\"gross\":120,\"net\":100,\"text\":\"100 EUR\"}) StepPassed(Twice "
             "do 0 240)"
             " StepStarted(Pay do 1)\n");
}

Test(decision_set, runs_to_a_fixed_point_in_one_decision)
{
    /* C stands before the steps that it waits for. */
    kit_tell(HEAD "  - {Name: C, After: [B], Set: \"${output.B + 1}\"}\n"
                  "  - {Name: B, After: [A], Set: \"${output.A + 1}\"}\n"
                  "  - {Name: A, After: [], Set: 1}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepPassed(A do 0 1) StepPassed(B do 0 2)"
             " StepPassed(C do 0 3) OrderProcessed\n"
             "status Processed A=Processed(do 0) B=Processed(do 0) C=Processed(do 0)\n"
             "output C 3\n");
}

Test(decision_set, keeps_null_as_no_text)
{
    kit_tell(HEAD "  - {Name: A, Set: \"${null}\"}\n"
                  "  - {Name: B, Set: \"${has(output.A) && output.A == null}\"}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepPassed(A do 0) StepPassed(B do 0 true)"
             " OrderProcessed\n");
}

Test(decision_set, fails_over_its_limit)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, Output: \"${result}\"}\n"
                  "  - {Name: B, OnExhausted: error, Set: \"${output.A}\"}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 9000 bytes => StepSucceeded(A do 1)"
             " StepFailedUnstarted(B do 0 States.DataLimitExceeded x1) StepExhausted(B do 0)"
             " OrderFailed(States.DataLimitExceeded) AlertRaised(States.DataLimitExceeded)\n"
             "said more than the limit of 8192 bytes\n"
             "complete B {\"by\":\"hand\"} => StepCompletedByHand(B do 0) OrderResumed(Completed)"
             " AlertClosed(Completed) OrderProcessed\n");
}

/* Sixteen steps leave room for nothing. */
Test(decision_set, fails_where_the_outputs_have_no_room)
{
    char workflow[2048] = HEAD;
    char lines[4096] = "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n";
    size_t size = strlen(workflow);
    size_t told = strlen(lines);
    for (int i = 0; i < 16; i++) {
        size += (size_t)snprintf(workflow + size, sizeof(workflow) - size,
                                 "  - {Name: %c, Agent: agent}\n", 'A' + i);
        told +=
            (size_t)snprintf(lines + told, sizeof(lines) - told,
                             "ok %c 1 65536 bytes => StepSucceeded(%c do 1) ", 'A' + i, 'A' + i);
        if (i < 15)
            told += (size_t)snprintf(lines + told, sizeof(lines) - told, "StepStarted(%c do 1)\n",
                                     'A' + i + 1);
    }
    snprintf(workflow + size, sizeof(workflow) - size,
             "  - {Name: Z, OnExhausted: error, Set: 1}\n");
    snprintf(lines + told, sizeof(lines) - told,
             "StepFailedUnstarted(Z do 0 States.DataLimitExceeded x1) StepExhausted(Z do 0)"
             " OrderFailed(States.DataLimitExceeded) AlertRaised(States.DataLimitExceeded)\n"
             "said the outputs of all steps may have 1048576 together\n");
    kit_tell(workflow, NULL, lines);
}

Test(decision_set, fail_undoes_the_order)
{
    kit_tell(
        HEAD "  - {Name: Reserve, Agent: agent, Compensate: {Action: Release}}\n"
             "  - Name: Refuse\n"
             "    When: input.amount > 5000\n"
             "    Fail: {Error: LoanDeclined, Message: \"${input.amount} is too much\"}\n"
             "  - {Name: Pay, Agent: agent, Pivot: true, OnExhausted: error}\n",
        NULL,
        "submit with {\"amount\":9000} => OrderAccepted OrderStarted StepStarted(Reserve do 1)\n"
        "ok Reserve 1 => StepSucceeded(Reserve do 1)"
        " StepFailedUnstarted(Refuse do 0 LoanDeclined x1) StepExhausted(Refuse do 0)"
        " CompensationStarted(LoanDeclined) StepSkipped(Pay do 0) StepStarted(Reserve undo 1)\n"
        "reason LoanDeclined step Refuse failed: LoanDeclined: 9000 is too much\n"
        "status Compensating(LoanDeclined) Reserve=Processing(undo 1)"
        " Refuse=Error(do 0 LoanDeclined) Pay=Skipped(do 0)\n"
        "ok Reserve 1 undo => StepSucceeded(Reserve undo 1) StepCompensated(Reserve undo 1)"
        " OrderCompensated(LoanDeclined)\n");
}

Test(decision_set, fail_waits_for_a_parallel_attempt_to_end)
{
    kit_tell(
        HEAD "  - {Name: A, Agent: agent, After: [], Compensate: {Action: UndoA}}\n"
             "  - {Name: F, After: [], Fail: {Error: Nope}}\n",
        NULL,
        "submit => OrderAccepted OrderStarted StepStarted(A do 1)"
        " StepFailedUnstarted(F do 0 Nope x1) StepExhausted(F do 0) CompensationStarted(Nope)\n"
        "status Received A=Processing(do 1) F=Error(do 0 Nope)\n"
        "ok A 1 => StepSucceeded(A do 1) StepStarted(A undo 1)\n"
        "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
        " OrderCompensated(Nope)\n");
}

/* A pivot that was skipped, and nothing behind it applied: there is a way back. */
Test(decision_set, fail_behind_the_pivot_ends_in_error)
{
    static const char workflow[] =
        HEAD "  - {Name: A, Agent: agent, Compensate: {Action: UndoA}}\n"
             "  - {Name: P, Agent: agent, When: input.pay, Pivot: true, OnExhausted: error}\n"
             "  - {Name: B, Agent: agent, When: input.more, OnExhausted: error}\n"
             "  - {Name: F, Fail: {Error: Nope}}\n";
    kit_tell(workflow, NULL,
             "submit with {\"more\":false,\"pay\":false} => OrderAccepted OrderStarted"
             " StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1) StepSkipped(P do 0) StepSkipped(B do 0)"
             " StepFailedUnstarted(F do 0 Nope x1) StepExhausted(F do 0) OrderFailed(Nope)"
             " AlertRaised(Nope)\n"
             "said `reeve compensate` undoes its steps\n"
             "compensate => CompensationStarted(Operator) AlertClosed(Operator)"
             " StepStarted(A undo 1)\n");
    kit_tell(workflow, NULL,
             "submit with {\"more\":true,\"pay\":false} => OrderAccepted OrderStarted"
             " StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1) StepSkipped(P do 0) StepStarted(B do 1)\n"
             "cancel => CommandRejected(PastPivot)\n"
             "ok B 1 => StepSucceeded(B do 1) StepFailedUnstarted(F do 0 Nope x1)"
             " StepExhausted(F do 0) OrderFailed(Nope) AlertRaised(Nope)\n"
             "compensate => CommandRejected(PastPivot)\n");
}

/* The cure: a corrected version. */
Test(decision_set, is_evaluated_again_when_it_is_resubmitted)
{
    kit_tell(HEAD "  - {Name: A, Set: \"${1 / input.zero}\", OnExhausted: error}\n"
                  "  - {Name: B, Agent: agent}\n",
             HEAD_2 "  - {Name: A, Set: \"${input.zero}\", OnExhausted: error}\n"
                    "  - {Name: B, Agent: agent}\n",
             "submit with {\"zero\":0} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepExhausted(A do 0)"
             " OrderFailed(States.QueryEvaluationError) AlertRaised(States.QueryEvaluationError)\n"
             "error A States.QueryEvaluationError / divides by 0: column 3 of 1 / input.zero\n"
             "migrate 2 => OrderMigrated\n"
             "resubmit => StepResubmitted(A do 0 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepPassed(A do 0 0) StepStarted(B do 1)\n"
             "recover A => CommandRejected(Stale)\n"
             "ok A 0 => ReportIgnored(UnknownAttempt)\n");
}

Test(decision_set, is_not_moved_to_a_version_where_it_is_of_another_kind)
{
    kit_tell(HEAD "  - {Name: A, Set: 1}\n  - {Name: B, Agent: agent}\n",
             HEAD_2 "  - {Name: A, Agent: agent}\n  - {Name: B, Agent: agent}\n",
             "submit => OrderAccepted OrderStarted StepPassed(A do 0 1) StepStarted(B do 1)\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said step A is Processed, and in version 2 it is of another kind\n");
}
