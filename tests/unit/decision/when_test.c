/* SPDX-License-Identifier: Apache-2.0 */
/* When: evaluated once the steps before are finished, before each attempt, as long as none may have
 * had an effect. */
#include "kit.h"

#include <criterion/criterion.h>

#include <stdio.h>

Test(decision_when, starts_a_step_or_skips_it_with_its_reason)
{
    static const char workflow[] = HEAD "  - {Name: A, Agent: agent}\n"
                                        "  - {Name: B, Agent: agent, When: input.nights > 0}\n"
                                        "  - {Name: C, Agent: agent}\n";
    kit_tell(workflow, NULL,
             "submit with {\"nights\":2} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
             "ok B 1 => StepSucceeded(B do 1) StepStarted(C do 1)\n");
    kit_tell(workflow, NULL,
             "submit with {\"nights\":0} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1) StepSkipped(B do 0) StepStarted(C do 1)\n"
             "said When: input.nights > 0\n"
             "status StepChanged A=Processed(do 1) B=Skipped(do 0) C=Processing(do 1)\n"
             "order Processing A=Processed(do 1) B=Skipped C=Processing(do 1)\n"
             "ok C 1 => StepSucceeded(C do 1) OrderProcessed\n");
}

/* Skipping does not spread: each step says for itself what it needs. */
Test(decision_when, chooses_between_steps)
{
    static const char workflow[] =
        HEAD "  - {Name: Check, Agent: agent}\n"
             "  - {Name: Pay, Agent: agent, After: Check, When: output.Check.ok}\n"
             "  - {Name: Ask, Agent: agent, After: Check, When: '!output.Check.ok'}\n"
             "  - {Name: Ship, Agent: agent, After: [Pay, Ask], When: has(output.Pay)}\n";
    kit_tell(workflow, NULL,
             "submit => OrderAccepted OrderStarted StepStarted(Check do 1)\n"
             "ok Check 1 with {\"ok\":true} => StepSucceeded(Check do 1) StepStarted(Pay do 1)"
             " StepSkipped(Ask do 0)\n"
             "ok Pay 1 => StepSucceeded(Pay do 1) StepStarted(Ship do 1)\n"
             "ok Ship 1 => StepSucceeded(Ship do 1) OrderProcessed\n");
    kit_tell(workflow, NULL,
             "submit => OrderAccepted OrderStarted StepStarted(Check do 1)\n"
             "ok Check 1 with {\"ok\":false} => StepSucceeded(Check do 1) StepSkipped(Pay do 0)"
             " StepStarted(Ask do 1)\n"
             "ok Ask 1 => StepSucceeded(Ask do 1) StepSkipped(Ship do 0) OrderProcessed\n"
             "status Processed Ask=Processed(do 1) Ship=Skipped(do 0)\n");
}

Test(decision_when, ends_an_order_at_once_whose_steps_are_all_skipped)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, When: has(input.a)}\n"
                  "  - {Name: B, Agent: agent, When: has(output.A)}\n",
             NULL,
             "submit with {} => OrderAccepted OrderStarted StepSkipped(A do 0) StepSkipped(B do 0)"
             " OrderProcessed\n"
             "status Processed A=Skipped(do 0) B=Skipped(do 0)\n"
             "deadlines none\n");
}

Test(decision_when, fails_the_step_when_it_cannot_be_evaluated)
{
    kit_tell(HEAD "  - Name: A\n    Agent: agent\n    When: input.amount > 100\n"
                  "    OnExhausted: error\n"
                  "    Retry: [{ErrorEquals: [States.ALL], JitterStrategy: NONE}]\n",
             NULL,
             "submit with {\"amount\":\"7\"} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepExhausted(A do 0)"
             " OrderFailed(States.QueryEvaluationError) AlertRaised(States.QueryEvaluationError)\n"
             "said column 14 of input.amount > 100\n"
             "status Error(States.QueryEvaluationError) A=Error(do 0 States.QueryEvaluationError)\n"
             "alert raised(States.QueryEvaluationError A)\n"
             "order Error A=Error\n"
             /* Resubmitting repeats it; skipping goes on. */
             "resubmit A => StepResubmitted(A do 0 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepFailedUnstarted(A do 0 States.QueryEvaluationError x1)"
             " StepExhausted(A do 0) OrderFailed(States.QueryEvaluationError)"
             " AlertRaised(States.QueryEvaluationError)\n"
             "alert raised(States.QueryEvaluationError A)\n"
             "skip A => StepSkippedByHand(A do 0) OrderResumed(Skipped) AlertClosed(Skipped)"
             " OrderProcessed\n");
}

/* Only an operator can skip a step whose output is needed without a guard. */
Test(decision_when, is_false_where_nothing_but_an_output_is_missing)
{
    kit_tell(HEAD
             "  - {Name: A, Agent: agent, OnExhausted: error}\n"
             "  - {Name: B, Agent: agent, When: output.A.ok}\n"
             "  - {Name: C, Agent: agent, Input: {ok: '${output.A.ok}'}, OnExhausted: error}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "fail A 1 Down => StepFailed(A do 1 Down none x1) StepExhausted(A do 1)"
             " OrderFailed(Down) AlertRaised(Down)\n"
             "skip A => StepSkippedByHand(A do 1) OrderResumed(Skipped) AlertClosed(Skipped)"
             " StepSkipped(B do 0) StepFailedUnstarted(C do 0 States.QueryEvaluationError x1)"
             " StepExhausted(C do 0) OrderFailed(States.QueryEvaluationError)"
             " AlertRaised(States.QueryEvaluationError)\n"
             "error C States.QueryEvaluationError step A has no output: column 8 of output.A.ok\n");
}

/* A step without an answer was done: its output is null. */
Test(decision_when, takes_a_step_without_an_answer_for_done)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent}\n"
                  "  - {Name: B, Agent: agent, When: has(output.A) && output.A == null}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 with nothing => StepSucceeded(A do 1) StepStarted(B do 1)\n");
}

Test(decision_when, waits_for_a_pause_to_end)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent}\n  - {Name: B, Set: 1}\n"
                  "  - {Name: C, Agent: agent, When: output.B == 2}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "pause => OrderPaused\n"
             "ok A 1 => StepSucceeded(A do 1)\n"
             "resume => OrderPauseEnded StepPassed(B do 0 1) StepSkipped(C do 0) OrderProcessed\n");
}

Test(decision_when, is_asked_once_of_a_step_that_is_queued)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, When: input.go}\n", NULL,
             "capacity agent=0\n"
             "submit with {\"go\":true} => OrderAccepted OrderStarted StepQueued(A do 0 capacity)\n"
             "queued A\n"
             "capacity agent=1\n"
             "spared start A => StepStarted(A do 1)\n");
}

/* Of the version that the order has when the step begins. */
Test(decision_when, may_be_another_in_the_version_that_an_order_is_moved_to)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, OnExhausted: error}\n"
                  "  - {Name: B, Agent: agent, When: input.amount.value > 1, OnExhausted: error}\n",
             HEAD_2 "  - {Name: A, Agent: agent, OnExhausted: error}\n"
                    "  - {Name: B, Agent: agent, When: input.amount > 1, OnExhausted: error}\n",
             "submit with {\"amount\":7} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1)"
             " StepFailedUnstarted(B do 0 States.QueryEvaluationError x1) StepExhausted(B do 0)"
             " OrderFailed(States.QueryEvaluationError) AlertRaised(States.QueryEvaluationError)\n"
             "migrate 2 => OrderMigrated\n"
             "resubmit => StepResubmitted(B do 0 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepStarted(B do 1 g1)\n");
}

Test(decision_when, fails_without_a_look_where_the_command_has_ended_schedulers)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, When: input.go}\n", NULL,
             "spared submit with {\"go\":true} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepExhausted(A do 0)"
             " CompensationStarted(States.QueryEvaluationError)"
             " OrderCompensated(States.QueryEvaluationError)\n"
             "said expressions are not evaluated for this command\n"
             "status Compensated(States.QueryEvaluationError) A=Error(do 0 "
             "States.QueryEvaluationError)\n");
}

/* A guard that held where it was checked holds in the order, whatever became of a When. */
Test(decision_when, that_fails_says_nothing_of_what_it_would_have_read)
{
    kit_tell(HEAD "  - {Name: A, Set: 1, When: input.a}\n"
                  "  - {Name: B, Set: 2, When: \"input.l.all(l, l > 0) ? has(output.A) : false\",\n"
                  "     Catch: [{ErrorEquals: [States.ALL], Next: $continue}]}\n"
                  "  - {Name: C, Set: \"${has(error.B) && has(output.A) ? output.A : 0}\"}\n",
             NULL,
             "submit with {\"a\":false,\"l\":[\"x\"]} => OrderAccepted OrderStarted"
             " StepSkipped(A do 0) StepFailedUnstarted(B do 0 States.QueryEvaluationError x1)"
             " StepCaught(B do 0) StepPassed(C do 0 0) OrderProcessed\n");
}

/* Its answer changes only with the data and the version, and nothing is lost by leaving it out. */
Test(decision_when, is_asked_before_each_attempt_until_one_may_have_acted)
{
    static const char retried[] = "    Retry: [{ErrorEquals: [States.ALL], MaxAttempts: 2,\n"
                                  "             IntervalSeconds: 1, JitterStrategy: NONE}]\n";
    char first[400], second[400];
    snprintf(first, sizeof(first), HEAD "  - Name: A\n    Agent: agent\n    When: input.n > 0\n%s",
             retried);
    snprintf(second, sizeof(second),
             HEAD_2 "  - Name: A\n    Agent: agent\n    When: input.n > 1\n%s", retried);
    kit_tell(first, second,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
             "migrate 2 => OrderMigrated StepSkipped(A do 1) OrderProcessed\n"
             "said When: input.n > 1\n");
    kit_tell(
        first, second,
        "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
        "fail A 1 Lost unknown => StepFailed(A do 1 Lost unknown x1)"
        " StepRetryScheduled(A do 1 +1000)\n"
        "migrate 2 => OrderMigrated StepStarted(A do 2)\n"
        "fail A 2 Busy => StepFailed(A do 2 Busy unknown x2) StepRetryScheduled(A do 2 +2000)\n"
        "wait 2000\n"
        "start A => StepStarted(A do 3)\n");
}
