/* SPDX-License-Identifier: Apache-2.0 */
/* AmendOrder: an operator corrects the input of an order in Error. */
#include "kit.h"

#include <criterion/criterion.h>

static const char shop[] = "Name: test\nVersion: 1\n"
                           "InputShape: {amount: number, to?: {street: string, zip?: any}, gift?: "
                           "boolean, note?: string}\n"
                           "Steps:\n"
                           "  - {Name: Total, Set: {sum: \"${input.amount + 1}\"}}\n"
                           "  - Name: Charge\n"
                           "    Agent: agent\n"
                           "    Input: {sum: \"${input.amount}\"}\n"
                           "    Compensate: {Action: Refund, Retry: []}\n"
                           "  - Name: Ship\n"
                           "    Agent: agent\n"
                           "    Input: {street: \"${has(input.to) ? input.to.street : ''}\"}\n"
                           "    OnExhausted: error\n";

#define SHIP_FAILS(input)                                                                        \
    "submit with " input " => OrderAccepted OrderStarted StepPassed(Total do 0 {\"sum\":6})"     \
    " StepStarted(Charge do 1 with {\"sum\":5})\n"                                               \
    "ok Charge 1 => StepSucceeded(Charge do 1) StepStarted(Ship do 1 with {\"street\":\"A\"})\n" \
    "fail Ship 1 NoStreet => StepFailed(Ship do 1 NoStreet none x1) StepExhausted(Ship do 1)"    \
    " OrderFailed(NoStreet) AlertRaised(NoStreet)\n"

#define INPUT "{\"amount\":5,\"to\":{\"street\":\"A\"}}"

Test(decision_amend, gives_the_next_attempt_the_new_data)
{
    kit_tell(
        shop, NULL,
        SHIP_FAILS(
            INPUT) "amend {\"amount\":5,\"to\":{\"street\":\"B\"}} => OrderAmended\n"
                   "status none\n"
                   "order Error Total=Processed Charge=Processed(do 1) Ship=Error(do 1)\n"
                   "resubmit => StepResubmitted(Ship do 1 g1) OrderResumed(Resubmitted)"
                   " AlertClosed(Resubmitted) StepStarted(Ship do 2 g1 with {\"street\":\"B\"})\n"
                   "requests Ship(do 2 o-1/Ship/do/1 with {\"street\":\"B\"})\n"
                   "ok Ship 2 => StepSucceeded(Ship do 2) OrderProcessed\n"
                   "amend " INPUT " => CommandRejected(AlreadyEnded)\n"
                   /* Its identity is that of what was submitted. */
                   "submit with " INPUT " => SubmissionRepeated\n");
}

Test(decision_amend, protects_what_a_step_with_an_effect_reads)
{
    kit_tell(shop, NULL,
             SHIP_FAILS(
                 INPUT) "amend {\"amount\":6,\"to\":{\"street\":\"A\"}} => "
                        "CommandRejected(InputWasRead)\n"
                        "said step Charge has had its effect, and it reads input.amount, which "
                        "would change: only what no such step reads can be amended\n"
                        /* Whether there is a place to send it to is read, not the rest of that. */
                        "amend {\"amount\":5,\"to\":{\"street\":\"A\",\"zip\":1}} => OrderAmended\n"
                        "amend {\"amount\":5,\"note\":\"new\"} => OrderAmended\n");
}

Test(decision_amend, protects_an_effect_that_is_unknown)
{
    kit_tell(shop, NULL,
             "submit with " INPUT " => OrderAccepted OrderStarted StepPassed(Total do 0 "
             "{\"sum\":6}) StepStarted(Charge do 1 with {\"sum\":5})\n"
             "ok Charge 1 => StepSucceeded(Charge do 1) StepStarted(Ship do 1 with "
             "{\"street\":\"A\"})\n"
             "fail Ship 1 Lost unknown => StepFailed(Ship do 1 Lost unknown x1)"
             " StepExhausted(Ship do 1) OrderFailed(Lost) AlertRaised(Lost)\n"
             "amend {\"amount\":5,\"to\":{\"street\":\"B\"}} => CommandRejected(InputWasRead)\n"
             "said step Ship may have had an effect, and it reads input.to.street, which "
             "would change: only what no such step reads can be amended\n"
             "amend {\"amount\":5,\"to\":{\"street\":\"A\",\"zip\":1}} => OrderAmended\n"
             "amend {\"amount\":5} => CommandRejected(InputWasRead)\n"
             "said it reads input.to, which\n");
}

Test(decision_amend, refuses_what_is_not_an_input_of_the_order)
{
    kit_tell(shop, NULL,
             "amend {} => CommandRejected(UnknownOrder)\n"
             "submit with " INPUT " => OrderAccepted OrderStarted StepPassed(Total do 0 "
             "{\"sum\":6}) StepStarted(Charge do 1 with {\"sum\":5})\n"
             "amend {\"amount\":6} => CommandRejected(NotInError)\n"
             "said the order is Processing: only one in Error can be amended\n"
             "blind amend {} => CommandRejected(UnknownWorkflow)\n"
             "ok Charge 1 => StepSucceeded(Charge do 1) StepStarted(Ship do 1 with "
             "{\"street\":\"A\"})\n"
             "fail Ship 1 No => StepFailed(Ship do 1 No none x1) StepExhausted(Ship do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "amend " INPUT " => CommandRejected(SameInput)\n"
             "said the order has this input already\n"
             "amend null => CommandRejected(InvalidInput)\n"
             "amend {\"amount\":5,\"to\":{\"street\":7}} => CommandRejected(InvalidInput)\n"
             "said input.to.street is a number; it must be a text\n"
             "compensate => CompensationStarted(Operator) AlertClosed(Operator)"
             " StepStarted(Charge undo 1 with {\"sum\":5})\n"
             "amend {\"amount\":5} => CommandRejected(AlreadyCompensating)\n"
             "fail Charge 1 No undo => StepFailed(Charge undo 1 No none x1)"
             " StepExhausted(Charge undo 1) OrderFailed(No) AlertRaised(No)\n"
             "amend {\"amount\":5} => CommandRejected(AlreadyCompensating)\n");
}

/* A request without Input carries all of the order, and so does its undo. */
Test(decision_amend, protects_all_of_what_a_step_without_an_Input_was_sent)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent}\n"
                  "  - {Name: B, Agent: agent, OnExhausted: error}\n",
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1)\n"
             "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
             "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
             " AlertRaised(No)\n"
             "amend {\"n\":1,\"m\":2} => CommandRejected(InputWasRead)\n"
             "said step A has had its effect, and it reads the whole input, which "
             "would change: only what no such step reads can be amended\n");
}

Test(decision_amend, waits_for_what_runs)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, After: [], Input: {}, OnExhausted: error}\n"
                  "  - {Name: B, Agent: agent, After: [], Input: {}}\n",
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1 with {})"
             " StepStarted(B do 1 with {})\n"
             "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1) OrderFailed(No)"
             " AlertRaised(No)\n"
             "amend {\"n\":2} => CommandRejected(AttemptRuns)\n"
             "ok B 1 => StepSucceeded(B do 1)\n"
             "amend {\"n\":2} => OrderAmended\n"
             "amend null => OrderAmended\n");
}

/* Of a list, any element may have been read; a name in brackets is that member. */
Test(decision_amend, tells_what_is_read_from_the_form_of_an_expression)
{
    kit_tell(
        HEAD
        "  - Name: A\n"
        "    Agent: agent\n"
        "    Input: {w: \"${has(input.g)}\", x: \"${input.l[input.i]}\", y: \"${input['a-b']}\",\n"
        "            z: \"${input.m.exists(v, v > 1)}\"}\n"
        "  - {Name: B, Agent: agent, Input: {}, OnExhausted: error}\n",
        NULL,
        "submit with {\"a-b\":1,\"c\":1,\"i\":0,\"l\":[1,2],\"m\":[1]} => OrderAccepted "
        "OrderStarted"
        " StepStarted(A do 1 with {\"w\":false,\"x\":1,\"y\":1,\"z\":false})\n"
        "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1 with {})\n"
        "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
        " AlertRaised(No)\n"
        "amend {\"a-b\":1,\"c\":1,\"i\":0,\"l\":[1,3],\"m\":[1]} => CommandRejected(InputWasRead)\n"
        "said it reads input.l, which\n"
        "amend {\"a-b\":2,\"c\":1,\"i\":0,\"l\":[1,2],\"m\":[1]} => CommandRejected(InputWasRead)\n"
        "said it reads input[\"a-b\"], which\n"
        "amend {\"a-b\":1,\"c\":1,\"i\":1,\"l\":[1,2],\"m\":[1]} => CommandRejected(InputWasRead)\n"
        "said it reads input.i, which\n"
        "amend {\"a-b\":1,\"c\":1,\"i\":0,\"l\":[1,2],\"m\":[0]} => CommandRejected(InputWasRead)\n"
        "said it reads input.m, which\n"
        "amend {\"a-b\":1,\"g\":1,\"i\":0,\"l\":[1,2],\"m\":[1]} => CommandRejected(InputWasRead)\n"
        "said it reads input.g, which\n"
        "amend {\"a-b\":1,\"c\":2,\"i\":0,\"l\":[1,2],\"m\":[1]} => OrderAmended\n");
}

/* ---- steps that begin again ---- */

static const char decides[] =
    HEAD "  - {Name: Case, Set: {big: \"${input.n > 10}\"}}\n"
         "  - {Name: Twice, Set: {big: \"${output.Case.big}\"}}\n"
         "  - {Name: Fixed, Set: {m: \"${input.m}\"}}\n"
         "  - {Name: Check, When: output.Twice.big, Agent: agent, Input: {n: \"${input.n}\"}}\n"
         "  - {Name: Ask, Agent: agent, Input: {n: \"${input.n}\"}, OnExhausted: error}\n";

/* Fixed does not read what changes, but stands between those that do. */
Test(decision_amend, computes_again_what_no_effect_depends_on)
{
    kit_tell(decides, NULL,
             "submit with {\"m\":1,\"n\":1} => OrderAccepted OrderStarted"
             " StepPassed(Case do 0 {\"big\":false}) StepPassed(Twice do 0 {\"big\":false})"
             " StepPassed(Fixed do 0 {\"m\":1}) StepSkipped(Check do 0)"
             " StepStarted(Ask do 1 with {\"n\":1})\n"
             "fail Ask 1 No => StepFailed(Ask do 1 No none x1) StepExhausted(Ask do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "amend {\"m\":1,\"n\":11} => OrderAmended(Case g0 Twice g0 Fixed g0 Check g0)\n"
             "order Error Case=Pending Twice=Pending Fixed=Pending Check=Pending"
             " Ask=Error(do 1)\n"
             "output Case \n"
             "resubmit => StepResubmitted(Ask do 1 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepPassed(Case do 0 {\"big\":true})"
             " StepPassed(Twice do 0 {\"big\":true}) StepPassed(Fixed do 0 {\"m\":1})"
             " StepStarted(Check do 1 with {\"n\":11})\n"
             "ok Check 1 => StepSucceeded(Check do 1) StepStarted(Ask do 2 g1 with {\"n\":11})\n");
}

Test(decision_amend, keeps_what_a_step_with_an_effect_comes_after)
{
    kit_tell(HEAD "  - {Name: Case, Set: \"${input.n}\"}\n"
                  "  - {Name: Charge, Agent: agent, Input: {n: 7}}\n"
                  "  - {Name: Late, Set: \"${input.n}\"}\n"
                  "  - {Name: Ask, Agent: agent, Input: {n: \"${input.n}\"}, OnExhausted: error}\n",
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepPassed(Case do 0 1)"
             " StepStarted(Charge do 1 with {\"n\":7})\n"
             "ok Charge 1 => StepSucceeded(Charge do 1) StepPassed(Late do 0 1)"
             " StepStarted(Ask do 1 with {\"n\":1})\n"
             "fail Ask 1 No => StepFailed(Ask do 1 No none x1) StepExhausted(Ask do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "amend {\"n\":2} => OrderAmended(Late g0)\n"
             "order Error Case=Processed Charge=Processed(do 1) Late=Pending"
             " Ask=Error(do 1)\n");
}

/* What a Set made for a step with an effect would be made of something else. */
Test(decision_amend, protects_what_a_Set_made_for_a_step_with_an_effect)
{
    kit_tell(HEAD "  - {Name: Case, Set: {l: \"${input.l}\", n: \"${input.n}\", m: {k: "
                  "\"${input.k}\"}}}\n"
                  "  - {Name: Twice, Set: {l: \"${output.Case.l}\", n: \"${output.Case.n}\"}}\n"
                  "  - Name: Charge\n"
                  "    Agent: agent\n"
                  "    Input: {k: \"${has(output.Case.m.k)}\", n: \"${output.Twice.n}\"}\n"
                  "  - {Name: Ask, Agent: agent, Input: {}, OnExhausted: error}\n",
             NULL,
             "submit with {\"k\":1,\"l\":1,\"n\":1} => OrderAccepted OrderStarted"
             " StepPassed(Case do 0 {\"l\":1,\"m\":{\"k\":1},\"n\":1})"
             " StepPassed(Twice do 0 {\"l\":1,\"n\":1})"
             " StepStarted(Charge do 1 with {\"k\":true,\"n\":1})\n"
             "ok Charge 1 => StepSucceeded(Charge do 1) StepStarted(Ask do 1 with {})\n"
             "fail Ask 1 No => StepFailed(Ask do 1 No none x1) StepExhausted(Ask do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "amend {\"k\":1,\"l\":1,\"n\":2} => CommandRejected(InputWasRead)\n"
             "said step Charge has had its effect, and it reads output.Twice, made of input.n, "
             "which would change: only what no such step reads can be amended\n"
             /* That the member is there does not depend on the input. */
             "amend {\"k\":2,\"l\":2,\"n\":1} => OrderAmended\n");
}

/* Whether a step has an output depends on its When, and on what failed where that was caught. */
Test(decision_amend, protects_whether_a_step_read_by_one_with_an_effect_was_skipped)
{
    kit_tell(HEAD "  - {Name: Gift, When: input.n > 5, Set: \"${input.m}\"}\n"
                  "  - {Name: Sum, Set: \"${input.s + 1}\", Catch: [{ErrorEquals: [States.ALL], "
                  "Next: $continue}]}\n"
                  "  - Name: Charge\n"
                  "    Agent: agent\n"
                  "    Input: {gift: \"${has(output.Gift)}\", sum: \"${has(error.Sum)}\"}\n"
                  "  - {Name: Ask, Agent: agent, Input: {}, OnExhausted: error}\n",
             NULL,
             "submit with {\"m\":1,\"n\":1,\"s\":1} => OrderAccepted OrderStarted"
             " StepSkipped(Gift do 0) StepPassed(Sum do 0 2)"
             " StepStarted(Charge do 1 with {\"gift\":false,\"sum\":false})\n"
             "ok Charge 1 => StepSucceeded(Charge do 1) StepStarted(Ask do 1 with {})\n"
             "fail Ask 1 No => StepFailed(Ask do 1 No none x1) StepExhausted(Ask do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "amend {\"m\":1,\"n\":6,\"s\":1} => CommandRejected(InputWasRead)\n"
             "said it reads output.Gift, made of input.n, which\n"
             "amend {\"m\":1,\"n\":1,\"s\":\"a\"} => CommandRejected(InputWasRead)\n"
             "said it reads error.Sum, made of input.s, which\n"
             "amend {\"m\":2,\"n\":1,\"s\":1} => OrderAmended\n");
}

/* An answer to another question, which cannot be asked again. */
Test(decision_amend, protects_what_a_signal_answered_for_a_step_with_an_effect)
{
    kit_tell(
        HEAD "  - {Name: Approve, Await: {Question: \"${input.n}?\"}, TimeoutSeconds: 60}\n"
             "  - {Name: Charge, Agent: agent, Input: {by: \"${output.Approve}\"}}\n"
             "  - {Name: Hand, Await: {Question: \"${input.m}?\"}, TimeoutSeconds: 60}\n"
             "  - {Name: Ask, Agent: agent, Input: {by: \"${output.Hand}\"}, OnExhausted: "
             "error}\n",
        NULL,
        "submit with {\"m\":1,\"n\":1} => OrderAccepted OrderStarted"
        " StepWaiting(Approve do 0 signal \"1?\" +60000)\n"
        "signal Approve 7 => StepPassed(Approve do 0 7)"
        " StepStarted(Charge do 1 with {\"by\":7})\n"
        "ok Charge 1 => StepSucceeded(Charge do 1) StepWaiting(Hand do 0 signal \"1?\" +60000)\n"
        "signal Hand 8 => StepPassed(Hand do 0 8)"
        " StepStarted(Ask do 1 with {\"by\":8})\n"
        "fail Ask 1 No => StepFailed(Ask do 1 No none x1) StepExhausted(Ask do 1)"
        " OrderFailed(No) AlertRaised(No)\n"
        "amend {\"m\":1,\"n\":2} => CommandRejected(InputWasRead)\n"
        "said it reads output.Approve, made of input.n, which\n"
        "amend {\"m\":2,\"n\":1} => OrderAmended(Hand g0)\n");
}

/* Nothing was made of the input, though a When read it. */
Test(decision_amend, takes_what_an_operator_did_as_given)
{
    kit_tell(HEAD "  - {Name: Price, When: input.n > 0, Agent: agent, Input: {n: \"${input.n}\"}, "
                  "OnExhausted: error}\n"
                  "  - Name: Charge\n"
                  "    Agent: agent\n"
                  "    Input: {priced: \"${has(output.Price)}\"}\n"
                  "  - {Name: Ask, Agent: agent, Input: {}, OnExhausted: error}\n",
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted"
             " StepStarted(Price do 1 with {\"n\":1})\n"
             "fail Price 1 No => StepFailed(Price do 1 No none x1) StepExhausted(Price do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "skip Price => StepSkippedByHand(Price do 1) OrderResumed(Skipped)"
             " AlertClosed(Skipped) StepStarted(Charge do 1 with {\"priced\":false})\n"
             "ok Charge 1 => StepSucceeded(Charge do 1) StepStarted(Ask do 1 with {})\n"
             "fail Ask 1 No => StepFailed(Ask do 1 No none x1) StepExhausted(Ask do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "amend {\"n\":2} => OrderAmended\n");
}

/* A Fail whose Catch let the order go on is decided again. */
Test(decision_amend, decides_a_caught_Fail_again)
{
    kit_tell(HEAD "  - {Name: Decline, When: input.n > 10, Fail: {Error: Big},\n"
                  "     Catch: [{ErrorEquals: [Big], Next: $continue}]}\n"
                  "  - {Name: Ask, Agent: agent, Input: {n: \"${input.n}\"}, OnExhausted: error}\n",
             NULL,
             "submit with {\"n\":11} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(Decline do 0 Big x1) StepCaught(Decline do 0)"
             " StepStarted(Ask do 1 with {\"n\":11})\n"
             "fail Ask 1 No => StepFailed(Ask do 1 No none x1) StepExhausted(Ask do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "amend {\"n\":1} => OrderAmended(Decline g0)\n"
             "error Decline  \n"
             "resubmit => StepResubmitted(Ask do 1 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepSkipped(Decline do 0)"
             " StepStarted(Ask do 2 g1 with {\"n\":1})\n");
}

/* Case would be Pending before a step that is finished. */
Test(decision_amend, leaves_what_was_done_by_hand_and_what_stands_before_it)
{
    kit_tell(HEAD "  - {Name: Case, Set: \"${input.n}\"}\n"
                  "  - {Name: Gift, When: input.n < 5, Agent: agent, OnExhausted: error}\n"
                  "  - {Name: Card, When: input.n > 5, Agent: agent}\n"
                  "  - {Name: Ask, Agent: agent, Input: {n: \"${input.n}\"}, OnExhausted: error}\n",
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepPassed(Case do 0 1)"
             " StepStarted(Gift do 1)\n"
             "fail Gift 1 No => StepFailed(Gift do 1 No none x1) StepExhausted(Gift do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "skip Gift => StepSkippedByHand(Gift do 1) OrderResumed(Skipped) AlertClosed(Skipped)"
             " StepSkipped(Card do 0) StepStarted(Ask do 1 with {\"n\":1})\n"
             "fail Ask 1 No => StepFailed(Ask do 1 No none x1) StepExhausted(Ask do 1)"
             " OrderFailed(No) AlertRaised(No)\n"
             "amend {\"n\":6} => OrderAmended(Card g0)\n"
             "order Error Case=Processed Gift=Skipped(do 1) Card=Pending Ask=Error(do 1)\n");
}

/* Another request under the same key would be answered as the first one was. */
Test(decision_amend, gives_a_step_that_waits_for_a_retry_another_key)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, After: [], Input: {n: \"${input.n}\"},\n"
                  "     Retry: [{ErrorEquals: [Busy], MaxAttempts: 2, IntervalSeconds: 1,\n"
                  "              JitterStrategy: NONE}]}\n"
                  "  - {Name: B, Agent: agent, After: [], Input: {}, OnExhausted: error}\n",
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1 with "
             "{\"n\":1}) StepStarted(B do 1 with {})\n"
             "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
             "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
             " AlertRaised(No)\n"
             "input A {\"n\":1}\n"
             "amend {\"n\":2} => OrderAmended(A g1)\n"
             "input A \n"
             "resubmit => StepResubmitted(B do 1 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepStarted(A do 2 g1 with {\"n\":2})"
             " StepStarted(B do 2 g1 with {})\n"
             "requests A(do 2 o-1/A/do/1 with {\"n\":2}) B(do 2 o-1/B/do/1 with {})\n");
}

/* Its When was true of the old data. */
Test(decision_amend, asks_the_When_of_a_queued_step_again)
{
    kit_tell(
        HEAD "  - {Name: A, Agent: agent, After: [], When: input.n > 0, Input: {}}\n"
             "  - {Name: B, Agent: other, After: [], Input: {}, OnExhausted: error}\n",
        NULL,
        "capacity agent=0 other=1\n"
        "submit with {\"n\":1} => OrderAccepted OrderStarted StepQueued(A do 0 capacity)"
        " StepStarted(B do 1 @other with {})\n"
        "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
        " AlertRaised(No)\n"
        "amend {\"n\":0} => OrderAmended(A g0)\n"
        "resubmit => StepResubmitted(B do 1 g1) OrderResumed(Resubmitted)"
        " AlertClosed(Resubmitted) StepSkipped(A do 0) StepStarted(B do 2 g1 @other with {})\n");
}

/* A step that failed, and one that waits for its next attempt. */
Test(decision_amend, asks_the_When_of_a_step_that_failed_again)
{
    static const char workflow[] =
        HEAD "  - {Name: A, Agent: agent, After: [], When: input.n > 0, Input: {},\n"
             "     Retry: [{ErrorEquals: [Busy], IntervalSeconds: 1, JitterStrategy: NONE}]}\n"
             "  - {Name: B, Agent: agent, After: [], When: input.n > 0, Input: {},\n"
             "     OnExhausted: error}\n";
    kit_tell(workflow, NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1 with {})"
             " StepStarted(B do 1 with {})\n"
             "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
             "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
             " AlertRaised(No)\n"
             "amend {\"n\":0} => OrderAmended(A g1)\n"
             "resubmit => StepResubmitted(B do 1 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepSkipped(A do 1) StepSkipped(B do 1) OrderProcessed\n"
             "order Processed A=Skipped(do 1) B=Skipped(do 1)\n");
}

/* What it read stays as it is, and it is tried to its end. */
Test(decision_amend, asks_no_When_of_a_step_that_may_have_acted)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, When: input.n > 0, Input: {}, OnExhausted: error}\n",
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1 with {})\n"
             "fail A 1 Lost unknown => StepFailed(A do 1 Lost unknown x1) StepExhausted(A do 1)"
             " OrderFailed(Lost) AlertRaised(Lost)\n"
             "amend {\"n\":0} => CommandRejected(InputWasRead)\n"
             "amend {\"m\":0,\"n\":1} => OrderAmended\n"
             "resubmit => StepResubmitted(A do 1 g0) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepStarted(A do 2 with {})\n");
}

/* What a person said of a step is not computed over. */
Test(decision_amend, leaves_what_an_operator_failed)
{
#define GO_ON "Catch: [{ErrorEquals: [States.ALL], Next: $continue}]}\n"
    kit_tell(HEAD "  - {Name: A, Agent: agent, After: [], Input: {}}\n"
                  "  - {Name: B, Agent: agent, After: [], Input: {}, OnExhausted: error}\n"
                  "  - {Name: S, After: [A], Set: \"${input.n}\", " GO_ON
                  "  - {Name: T, After: [A], Set: \"${input.n}\", " GO_ON,
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1 with {})"
             " StepStarted(B do 1 with {})\n"
             "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
             " AlertRaised(No)\n"
             "ok A 1 => StepSucceeded(A do 1)\n"
             "fail-step S Odd => StepFailedUnstarted(S do 0 Odd x1) StepCaught(S do 0)\n"
             "complete T 7 => StepCompletedByHand(T do 0)\n"
             "amend {\"n\":2} => CommandRejected(InputWasRead)\n"
             "said step T has had its effect\n");
    kit_tell(HEAD "  - {Name: A, Agent: agent, After: [], Input: {}}\n"
                  "  - {Name: B, Agent: agent, After: [], Input: {}, OnExhausted: error}\n"
                  "  - {Name: S, After: [A], Set: \"${input.n}\", " GO_ON
                  "  - {Name: T, After: [A], Set: \"${input.n}\", " GO_ON,
             NULL,
             "submit with {\"n\":1} => OrderAccepted OrderStarted StepStarted(A do 1 with {})"
             " StepStarted(B do 1 with {})\n"
             "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
             " AlertRaised(No)\n"
             "ok A 1 => StepSucceeded(A do 1)\n"
             "fail-step S Odd => StepFailedUnstarted(S do 0 Odd x1) StepCaught(S do 0)\n"
             "skip T => StepSkippedByHand(T do 0)\n"
             "amend {\"n\":2} => OrderAmended\n"
             "order Error A=Processed(do 1) B=Error(do 1) S=Caught T=Skipped\n");
}

/* It was caught because of the data, as a Fail is. */
Test(decision_amend, begins_a_task_again_whose_expression_failed)
{
    kit_tell(HEAD "  - {Name: A, Agent: agent, When: input.n > 0, Input: {}, " GO_ON
                  "  - {Name: C, Agent: agent, Input: {n: \"${input.m + 1}\"}, " GO_ON
                  "  - {Name: B, Agent: agent, Input: {}, OnExhausted: error}\n",
             NULL,
             "submit with {\"m\":\"a\",\"n\":\"a\"} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepCaught(A do 0)"
             " StepFailedUnstarted(C do 0 States.QueryEvaluationError x1) StepCaught(C do 0)"
             " StepStarted(B do 1 with {})\n"
             "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
             " AlertRaised(No)\n"
             "amend {\"m\":1,\"n\":\"a\"} => OrderAmended(C g0)\n"
             "amend {\"m\":1,\"n\":1} => OrderAmended(A g0)\n"
             "resubmit => StepResubmitted(B do 1 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepStarted(A do 1 with {})\n");
}
