/* SPDX-License-Identifier: Apache-2.0 */
/* Input: what a step's requests carry, made once for all attempts of a generation. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char mapped[] =
    HEAD "  - {Name: A, Agent: agent}\n"
         "  - Name: B\n"
         "    Agent: agent\n"
         "    Input: {id: \"${output.A.id}\", of: \"${order.customer}\", n: \"${input.n}\"}\n"
         "    Retry: [{ErrorEquals: [Busy], MaxAttempts: 2, JitterStrategy: NONE}]\n"
         "    OnExhausted: error\n"
         "    Compensate: {Action: UndoB}\n"
         "  - {Name: C, Agent: agent}\n";

Test(decision_input, is_the_same_for_all_attempts)
{
    kit_tell(mapped, NULL,
             "submit with {\"n\":100.1} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "requests A(do 1 o-1/A/do/0)\n"
             "ok A 1 with {\"id\":7} => StepSucceeded(A do 1) StepStarted(B do 1 with "
             "{\"id\":7,\"n\":100.1,\"of\":\"17850\"})\n"
             "requests B(do 1 o-1/B/do/0 with {\"id\":7,\"n\":100.1,\"of\":\"17850\"})\n"
             "fail B 1 Busy => StepFailed(B do 1 Busy none x1) StepRetryScheduled(B do 1 +1000)\n"
             "wait 1000\n"
             /* Made before, so nothing is evaluated. */
             "spared start B => StepStarted(B do 2)\n"
             "requests B(do 2 o-1/B/do/0 with {\"id\":7,\"n\":100.1,\"of\":\"17850\"})\n"
             "input B {\"id\":7,\"n\":100.1,\"of\":\"17850\"}\n"
             "ok B 2 => StepSucceeded(B do 2) StepStarted(C do 1)\n"
             "input B \n"
             "requests C(do 1 o-1/C/do/0)\n");
}

Test(decision_input, is_made_afresh_after_a_resubmission_and_for_an_undo)
{
    kit_tell(
        mapped, NULL,
        "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
        "ok A 1 with {\"id\":7} => StepSucceeded(A do 1) StepStarted(B do 1 with "
        "{\"id\":7,\"n\":1,\"of\":\"17850\"})\n"
        "fail B 1 Nope => StepFailed(B do 1 Nope none x1) StepExhausted(B do 1) OrderFailed(Nope)"
        " AlertRaised(Nope)\n"
        "resubmit => StepResubmitted(B do 1 g1) OrderResumed(Resubmitted)"
        " AlertClosed(Resubmitted) StepStarted(B do 2 g1 with "
        "{\"id\":7,\"n\":1,\"of\":\"17850\"})\n"
        "ok B 2 => StepSucceeded(B do 2) StepStarted(C do 1)\n"
        "fail C 1 Nope => StepFailed(C do 1 Nope none x1) StepExhausted(C do 1)"
        " CompensationStarted(Nope) StepStarted(B undo 1 with "
        "{\"id\":7,\"n\":1,\"of\":\"17850\"})\n"
        "requests B(undo 1 o-1/B/undo/0 of o-1/B/do/1 with "
        "{\"id\":7,\"n\":1,\"of\":\"17850\"})\n"
        "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
        " OrderCompensated(Nope)\n"
        "input B \n");
}

Test(decision_input, of_an_undo_may_be_another)
{
    kit_tell(HEAD
             "  - Name: A\n    Agent: agent\n    Input: {n: 1}\n"
             "    Compensate: {Action: UndoA, Input: {id: \"${has(result.id) ? result.id : 0}\"}}\n"
             "  - {Name: B, Fail: {Error: Nope}}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1 with {\"n\":1})\n"
             "ok A 1 with {\"id\":\"x\"} => StepSucceeded(A do 1)"
             " StepFailedUnstarted(B do 0 Nope x1) StepExhausted(B do 0) CompensationStarted(Nope)"
             " StepStarted(A undo 1 with {\"id\":\"x\"})\n");
}

/* Nor while it waits for an agent. */
Test(decision_input, of_an_undo_is_never_that_of_the_step)
{
    kit_tell(HEAD "  - Name: A\n    Agent: agent\n    Input: {n: 1}\n"
                  "    Compensate: {Action: UndoA, Input: {got: \"${result}\"}}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1 with {\"n\":1})\n"
             "capacity agent=0\n"
             "fail A 1 Nope unknown => StepFailed(A do 1 Nope unknown x1) StepExhausted(A do 1)"
             " CompensationStarted(Nope) StepQueued(A undo 0 capacity)\n"
             "input A \n"
             "capacity agent=1\n"
             "start A undo => StepStarted(A undo 1 with {\"got\":null})\n");
}

/* Where an attempt timed out nothing is known of its result. */
Test(decision_input, of_an_undo_is_made_without_a_result)
{
    kit_tell(HEAD "  - Name: A\n    Agent: agent\n"
                  "    Compensate:\n      Action: UndoA\n"
                  "      Input:\n"
                  "        a: \"${result == null ? 'none' : result.id}\"\n"
                  "        b: \"${has(result.id) ? result.id : 'none'}\"\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "fail A 1 Nope unknown => StepFailed(A do 1 Nope unknown x1) StepExhausted(A do 1)"
             " CompensationStarted(Nope)"
             " StepStarted(A undo 1 with {\"a\":\"none\",\"b\":\"none\"})\n");
}

/* An undo that cannot be asked for is an Error, never silence. */
Test(decision_input, of_an_undo_that_fails_is_an_error)
{
    kit_tell(HEAD
             "  - Name: A\n    Agent: agent\n"
             "    Compensate: {Action: UndoA, Input: {id: \"${result == null ? 0 : result.id}\"}}\n"
             "  - {Name: B, Fail: {Error: Nope}}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 with {} => StepSucceeded(A do 1) StepFailedUnstarted(B do 0 Nope x1)"
             " StepExhausted(B do 0) CompensationStarted(Nope)"
             " StepFailedUnstarted(A undo 0 States.QueryEvaluationError x1)"
             " StepExhausted(A undo 0) OrderFailed(States.QueryEvaluationError)"
             " AlertRaised(States.QueryEvaluationError)\n"
             "alert raised(States.QueryEvaluationError A)\n"
             "error A States.QueryEvaluationError there is no member id: column 29 of "
             "result == null ? 0 : result.id\n"
             "order Error A=Error B=Error\n"
             "resubmit => StepResubmitted(A undo 0 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted)"
             " StepFailedUnstarted(A undo 0 States.QueryEvaluationError x1)"
             " StepExhausted(A undo 0) OrderFailed(States.QueryEvaluationError)"
             " AlertRaised(States.QueryEvaluationError)\n"
             "complete A => StepCompletedByHand(A undo 0) OrderResumed(Completed)"
             " AlertClosed(Completed) OrderCompensated(Nope)\n");
}

Test(decision_input, that_fails_starts_no_attempt)
{
    kit_tell(HEAD "  - Name: A\n    Agent: agent\n    Input: {id: \"${input.a.id}\"}\n"
                  "    Retry: [{ErrorEquals: [States.ALL], JitterStrategy: NONE}]\n"
                  "    Catch: [{ErrorEquals: [States.QueryEvaluationError], Next: $continue}]\n"
                  "  - {Name: B, Agent: agent}\n",
             NULL,
             "submit with {\"a\":{}} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepCaught(A do 0)"
             " StepStarted(B do 1)\n"
             "order Processing A=Caught B=Processing(do 1)\n");
}

Test(decision_input, is_made_when_a_queued_step_starts)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, Input: {n: 1}}\n", NULL,
             "capacity agent=0\n"
             "submit => OrderAccepted OrderStarted StepQueued(A do 0 capacity)\n"
             "input A \n"
             "capacity agent=1\n"
             "start A => StepStarted(A do 1 with {\"n\":1})\n");
}

/* However it finishes. */
Test(decision_input, is_kept_until_the_step_is_finished)
{
    kit_tell(HEAD "  - Name: A\n    Agent: agent\n    Input: {n: 1}\n"
                  "    Retry: [{ErrorEquals: [Busy], JitterStrategy: NONE}]\n"
                  "    Catch: [{ErrorEquals: [Nope], Next: $continue}]\n"
                  "  - {Name: B, Agent: agent}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1 with {\"n\":1})\n"
             "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
             "input A {\"n\":1}\n"
             "wait 1000\n"
             "start A => StepStarted(A do 2)\n"
             "fail A 2 Nope => StepFailed(A do 2 Nope none x2) StepCaught(A do 2)"
             " StepStarted(B do 1)\n"
             "input A \n");
}

Test(decision_input, must_be_the_same_in_another_version_once_an_attempt_may_have_acted)
{
    static const char first[] = HEAD "  - {Name: A, Agent: agent, Input: {n: 1}}\n"
                                     "  - {Name: B, Agent: agent, Input: {n: 1}}\n";
    static const char second[] = HEAD_2 "  - {Name: A, Agent: agent, Input: {n: 1}}\n"
                                        "  - {Name: B, Agent: agent, Input: {n: 2}}\n";
    kit_tell(first, second,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1 with {\"n\":1})\n"
             "migrate 2 => OrderMigrated\n"
             "requests none\n"
             "input A {\"n\":1}\n"
             "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1 with {\"n\":2})\n");
    kit_tell(first, second,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1 with {\"n\":1})\n"
             "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1 with {\"n\":1})\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said step B is Processing, and in version 2 it has another Input\n");
}

Test(decision_input, has_a_limit)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent}\n"
                  "  - {Name: B, Agent: agent, Input: {a: \"${output.A}\"}, OnExhausted: error}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 33000 bytes => StepSucceeded(A do 1)"
             " StepFailedUnstarted(B do 0 States.DataLimitExceeded x1) StepExhausted(B do 0)"
             " OrderFailed(States.DataLimitExceeded) AlertRaised(States.DataLimitExceeded)\n");
}

/* Of 1 MiB, 31 steps that run take 31 times 32 KiB, and an undo must have room. */
Test(decision_input, fails_where_those_of_running_steps_leave_no_room)
{
    enum { STEPS = 32, SHOWN = 199 };
    static char workflow[8192], lines[16384];
    char shown[SHOWN + 1] = {0};
    memset(shown, 'x', SHOWN);
    size_t size = (size_t)snprintf(workflow, sizeof(workflow),
                                   HEAD "  - {Name: A, Agent: agent, Input: {}}\n");
    size_t told = (size_t)snprintf(lines, sizeof(lines),
                                   "submit => OrderAccepted OrderStarted StepStarted(A do 1 with "
                                   "{})\ncapacity agent=0\n"
                                   "ok A 1 32768 bytes => StepSucceeded(A do 1)");
    for (int i = 1; i <= STEPS; i++) {
        size += (size_t)snprintf(workflow + size, sizeof(workflow) - size,
                                 "  - {Name: S%d, Agent: agent, After: [A], OnExhausted: error,"
                                 " Input: \"${output.A}\"}\n",
                                 i);
        told += (size_t)snprintf(lines + told, sizeof(lines) - told,
                                 " StepQueued(S%d do 0 capacity)", i);
    }
    told += (size_t)snprintf(lines + told, sizeof(lines) - told, "\n");
    for (int i = 1; i < STEPS; i++)
        told += (size_t)snprintf(lines + told, sizeof(lines) - told,
                                 "capacity agent=1\nstart S%d => StepStarted(S%d do 1 with \"%s)\n",
                                 i, i, shown);
    snprintf(
        lines + told, sizeof(lines) - told,
        "capacity agent=1\nstart S32 => StepFailedUnstarted(S32 do 0 States.DataLimitExceeded x1)"
        " StepExhausted(S32 do 0) OrderFailed(States.DataLimitExceeded)"
        " AlertRaised(States.DataLimitExceeded)\n"
        "said the input is 32768 bytes; those of all running steps may have 1015808 together\n"
        /* One that has ended makes room. */
        "ok S1 1 => StepSucceeded(S1 do 1)\n"
        "resubmit => StepResubmitted(S32 do 0 g1) OrderResumed(Resubmitted)"
        " AlertClosed(Resubmitted) StepStarted(S32 do 1 g1 with \"%s)\n",
        shown);
    kit_tell(workflow, NULL, lines);
}

/* What the version's expressions read must be there. */
Test(decision_input, of_an_order_must_have_the_shape_of_the_version_that_it_is_moved_to)
{
    kit_tell("Name: test\nVersion: 1\nSteps:\n  - {Name: A, Agent: agent}\n",
             "Name: test\nVersion: 2\nInputShape: {items: [{n: integer}]}\nSteps:\n"
             "  - {Name: A, Agent: agent}\n",
             "submit with {\"items\":[{\"n\":1},{\"n\":\"x\"}]} => OrderAccepted OrderStarted"
             " StepStarted(A do 1)\n"
             "migrate 2 => CommandRejected(InvalidInput)\n"
             "said version 2 of test takes other orders: input.items[1].n is a text; it must be an"
             " integer\n");
    kit_tell("Name: test\nVersion: 1\nSteps:\n  - {Name: A, Agent: agent}\n",
             "Name: test\nVersion: 2\nInputShape: {items: [{n: integer}]}\nSteps:\n"
             "  - {Name: A, Agent: agent}\n",
             "submit with {\"items\":[{\"n\":1}]} => OrderAccepted OrderStarted"
             " StepStarted(A do 1)\n"
             "migrate 2 => OrderMigrated\n");
}

/* Under the old key, an agent that remembers its answers would take the new data for the old. */
Test(decision_input, of_another_version_goes_out_under_another_key)
{
#define RETRIED ", Retry: [{ErrorEquals: [Busy], IntervalSeconds: 1, JitterStrategy: NONE}]}\n"
    static const char first[] = HEAD "  - {Name: A, Agent: agent, Input: {n: 1}" RETRIED;
    static const char second[] = HEAD_2 "  - {Name: A, Agent: agent, Input: {n: 2}" RETRIED;
    kit_tell(first, second,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1 with {\"n\":1})\n"
             "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
             "pause => OrderPaused\n"
             "migrate 2 => OrderMigrated\n"
             "resume => OrderPauseEnded StepStarted(A do 2 g1 with {\"n\":2})\n"
             "requests A(do 2 o-1/A/do/1 with {\"n\":2})\n");
    kit_tell(first, second,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1 with {\"n\":1})\n"
             "fail A 1 Busy unknown => StepFailed(A do 1 Busy unknown x1)"
             " StepRetryScheduled(A do 1 +1000)\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said step A is of unknown effect, and in version 2 it has another Input\n");
}
