/* SPDX-License-Identifier: Apache-2.0 */
/* Operator commands: cancel, compensate, resubmit. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_operator);

Test(engine_operator, undoes_completed_steps_on_cancellation)
{
    TELL("A{c} B<-A{c} C<-B",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) StepSkipped(C do 0)\n"
         "status Compensating(Cancelled) C=Skipped(do 0)\n"
         "reason Cancelled because\n"
         "cancel => CommandRejected(AlreadyCompensating)\n"
         "compensate => CommandRejected(AlreadyCompensating)\n"
         "resubmit => CommandRejected(NotInError)\n"
         "ok B 1 => StepSucceeded(B do 1) StepStarted(B undo 1)\n"
         "cancel => CommandRejected(AlreadyCompensating)\n"
         "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
         " StepStarted(A undo 1)\n"
         "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
         " OrderCompensated(Cancelled)\n"
         "status Compensated(Cancelled) A=Compensated(undo 1)\n"
         "cancel => CommandRejected(AlreadyEnded)\n"
         "status Rejected(AlreadyEnded)\n"
         "compensate => CommandRejected(AlreadyEnded)\n"
         "resubmit => CommandRejected(NotInError)\n"
         "reason Cancelled because\n");
}

Test(engine_operator, rejects_the_cancellation_of_a_processed_order)
{
    TELL("A{c}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n"
                 "cancel => CommandRejected(AlreadyEnded)\n"
                 "said the order is Processed\n"
                 "compensate => CommandRejected(AlreadyEnded)\n");
}

Test(engine_operator, rejects_commands_for_an_unknown_order)
{
    TELL("A", "cancel => CommandRejected(UnknownOrder)\n"
              "status Rejected(UnknownOrder)\n"
              "reply orders.replies.canceller\n"
              "compensate => CommandRejected(UnknownOrder)\n"
              "status none\n"
              "reply \n"
              "resubmit => CommandRejected(UnknownOrder)\n"
              "resubmit A => CommandRejected(UnknownOrder)\n");
}

/* Submitters are separated: to each, the orders of the others do not exist. */
Test(engine_operator, cancels_only_the_orders_of_the_token_that_asks)
{
    TELL("A{c}", "submit as web => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "cancel as shop => CommandRejected(AnotherSubmitter)\n"
                 "said the order was not submitted with the token shop\n"
                 "status Rejected(UnknownOrder)\n"
                 "message there is no order o-1\n"
                 "reply orders.replies.canceller\n"
                 "order Processing A=Processing(do 1)\n"
                 "cancel as web => OrderCancelled(Cancelled) CompensationStarted(Cancelled)\n"
                 "reply orders.replies.shop\n");
    TELL("A{c}", "submit as web => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)\n");
    TELL("A{c}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "cancel as web => CommandRejected(AnotherSubmitter)\n");
    TELL("A", "cancel as web => CommandRejected(UnknownOrder)\n"
              "status Rejected(UnknownOrder)\n"
              "message there is no order o-1\n");
}

Test(engine_operator, cancels_an_order_in_error_and_closes_its_alert)
{
    TELL("A{c} B<-A{e} C<-A",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1) StepStarted(C do 1)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
         " AlertClosed(Cancelled)\n"
         "alert closed(Cancelled)\n"
         "status Compensating(Cancelled)\n"
         "order Compensating A=Processed(do 1) B=Error(do 1) C=Processing(do 1)\n"
         "fail C 1 No => StepFailed(C do 1 No none x1) StepSkipped(C do 1) StepStarted(A undo 1)\n"
         "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
         " OrderCompensated(Cancelled)\n");
}

Test(engine_operator, compensates_an_order_in_error_on_command)
{
    TELL("A{c,e}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "wait 11000\n"
                   "recover A => StepTimedOut(A do 1 unknown x1) StepExhausted(A do 1)"
                   " OrderFailed(States.Timeout) AlertRaised(States.Timeout)\n"
                   "said Order o-1 waits for an operator: step A failed: States.Timeout\n"
                   "compensate => CompensationStarted(Operator) AlertClosed(Operator)"
                   " StepStarted(A undo 1)\n"
                   "reason Operator because\n"
                   "alert closed(Operator)\n"
                   "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
                   " OrderCompensated(Operator)\n");
}

Test(engine_operator, compensates_a_running_order_on_command)
{
    TELL("A{c} B", "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
                   "ok A 1 => StepSucceeded(A do 1)\n"
                   "compensate => CompensationStarted(Operator)\n"
                   "alert none\n"
                   "ok B 1 => StepSucceeded(B do 1) StepStarted(A undo 1)\n"
                   "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
                   " OrderCompensated(Operator)\n"
                   "order Compensated A=Compensated(undo 1) B=Processed(do 1)\n");
}

Test(engine_operator, resets_attempts_and_counts_on_resubmission)
{
    TELL("A{z1,e} B<-A",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "resubmit A => CommandRejected(NotInError)\n"
         "fail A 1 No => StepFailed(A do 1 No none x1) StepRetryScheduled(A do 1 +0)"
         " StepStarted(A do 2)\n"
         "fail A 2 No => StepFailed(A do 2 No none x2) StepExhausted(A do 2) OrderFailed(No)"
         " AlertRaised(No)\n"
         "resubmit C => CommandRejected(UnknownStep)\n"
         "resubmit B => CommandRejected(StepNotInError)\n"
         "resubmit A => StepResubmitted(A do 2 g1) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A do 3 g1)\n"
         "alert closed(Resubmitted A)\n"
         "reason \n"
         "fail A 3 No unknown => StepFailed(A do 3 No unknown x1) StepRetryScheduled(A do 3 +0)"
         " StepStarted(A do 4 g1)\n"
         "fail A 4 No => StepFailed(A do 4 No unknown x2) StepExhausted(A do 4) OrderFailed(No)"
         " AlertRaised(No)\n"
         "resubmit => StepResubmitted(A do 4 g1) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A do 5 g1)\n"
         "requests A(do 5 o-1/A/do/1)\n"
         "ok A 5 => StepSucceeded(A do 5) StepStarted(B do 1)\n");
}

Test(engine_operator, resubmits_all_steps_in_error)
{
    TELL("A{e} B{e} C{r1} D<-C E",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)"
         " StepStarted(C do 1) StepStarted(E do 1)\n"
         "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "fail B 1 No unknown => StepFailed(B do 1 No unknown x1) StepExhausted(B do 1)\n"
         "ok E 1 => StepSucceeded(E do 1)\n"
         "fail C 1 Busy => StepFailed(C do 1 Busy none x1) StepRetryScheduled(C do 1 +1000)\n"
         "wait 500\n"
         "resubmit A => StepResubmitted(A do 1 g1) StepResubmitted(B do 1 g0)"
         " OrderResumed(Resubmitted) AlertClosed(Resubmitted) StepStarted(A do 2 g1)"
         " StepStarted(B do 2)\n"
         "deadlines recover(A)+11000 recover(B)+11000 start(C)+500\n"
         "wait 500\n"
         "start C => StepStarted(C do 2)\n"
         "ok C 2 => StepSucceeded(C do 2) StepStarted(D do 1)\n");
}

/* An unknown attempt, then a refusal that the service remembers under the same key: without a new
 * one it would answer for ever. */
Test(engine_operator, issues_a_new_key_when_an_operator_confirms_no_effect)
{
    TELL("A{p,z1} B<-A",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 Busy unknown => StepFailed(A do 1 Busy unknown x1) StepRetryScheduled(A do 1 +0)"
         " StepStarted(A do 2)\n"
         "fail A 2 No none => StepFailed(A do 2 No unknown x2) StepExhausted(A do 2)"
         " OrderFailed(No) AlertRaised(No)\n"
         "compensate => CommandRejected(PastPivot)\n"
         "resubmit A new-key => StepResubmitted(A do 2 g1) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A do 3 g1)\n"
         "requests A(do 3 o-1/A/do/1)\n"
         "fail A 3 No none => StepFailed(A do 3 No none x1) StepRetryScheduled(A do 3 +0)"
         " StepStarted(A do 4 g1)\n"
         "fail A 4 No none => StepFailed(A do 4 No none x2) StepExhausted(A do 4)"
         " CompensationStarted(No) StepSkipped(B do 0) OrderCompensated(No)\n");
}

Test(engine_operator, issues_a_new_key_for_the_named_step_only)
{
    TELL("A{e} B{e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "fail A 1 No unknown => StepFailed(A do 1 No unknown x1) StepExhausted(A do 1)"
         " OrderFailed(No) AlertRaised(No)\n"
         "fail B 1 No unknown => StepFailed(B do 1 No unknown x1) StepExhausted(B do 1)\n"
         "resubmit A new-key => StepResubmitted(A do 1 g1) StepResubmitted(B do 1 g0)"
         " OrderResumed(Resubmitted) AlertClosed(Resubmitted) StepStarted(A do 2 g1)"
         " StepStarted(B do 2)\n");
    TELL("A{e} B{e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "fail A 1 No unknown => StepFailed(A do 1 No unknown x1) StepExhausted(A do 1)"
         " OrderFailed(No) AlertRaised(No)\n"
         "fail B 1 No unknown => StepFailed(B do 1 No unknown x1) StepExhausted(B do 1)\n"
         "resubmit new-key => StepResubmitted(A do 1 g1) StepResubmitted(B do 1 g1)"
         " OrderResumed(Resubmitted) AlertClosed(Resubmitted) StepStarted(A do 2 g1)"
         " StepStarted(B do 2 g1)\n");
}

/* What was applied would be done again under a new key, and its effect forgotten. */
Test(engine_operator, issues_no_new_key_for_what_was_reported_as_applied)
{
    TELL("A{c,e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 No applied => StepFailed(A do 1 No applied x1) StepExhausted(A do 1)"
         " OrderFailed(No) AlertRaised(No)\n"
         "resubmit A new-key => CommandRejected(EffectRemains)\n"
         "said an attempt of step A was applied\n"
         "resubmit new-key => CommandRejected(EffectRemains)\n"
         "resubmit A => StepResubmitted(A do 1 g0) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A do 2)\n"
         "fail A 2 No none => StepFailed(A do 2 No applied x1) StepExhausted(A do 2)"
         " OrderFailed(No) AlertRaised(No)\n"
         "compensate => CompensationStarted(Operator) AlertClosed(Operator)"
         " StepStarted(A undo 1)\n"
         "fail A 1 No applied undo => StepFailed(A undo 1 No applied x1) StepExhausted(A undo 1)"
         " OrderFailed(No) AlertRaised(No)\n"
         "resubmit new-key => CommandRejected(EffectRemains)\n"
         "said an undo of step A was applied\n"
         "resubmit => StepResubmitted(A undo 1 g0) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A undo 2)\n");
}

/* The word of the operator is about the named step; another one keeps its key. */
Test(engine_operator, issues_a_new_key_next_to_a_step_that_was_applied)
{
    TELL("A{e} B{e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "fail A 1 No unknown => StepFailed(A do 1 No unknown x1) StepExhausted(A do 1)"
         " OrderFailed(No) AlertRaised(No)\n"
         "fail B 1 No applied => StepFailed(B do 1 No applied x1) StepExhausted(B do 1)\n"
         "resubmit new-key => CommandRejected(EffectRemains)\n"
         "resubmit B new-key => CommandRejected(EffectRemains)\n"
         "resubmit A new-key => StepResubmitted(A do 1 g1) StepResubmitted(B do 1 g0)"
         " OrderResumed(Resubmitted) AlertClosed(Resubmitted) StepStarted(A do 2 g1)"
         " StepStarted(B do 2)\n");
}

Test(engine_operator, starts_steps_that_became_ready_in_error_on_resuming)
{
    TELL("A{e} B C<-B",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "ok B 1 => StepSucceeded(B do 1)\n"
         "resubmit => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A do 2 g1) StepStarted(C do 1)\n");
}

Test(engine_operator, raises_an_alert_for_each_error)
{
    TELL("A{e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "resubmit => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A do 2 g1)\n"
         "fail A 2 No => StepFailed(A do 2 No none x1) StepExhausted(A do 2) OrderFailed(No)"
         " AlertRaised(No)\n"
         "alert raised(No A)\n"
         "compensate => CompensationStarted(Operator) AlertClosed(Operator)"
         " OrderCompensated(Operator)\n"
         "status Compensated(Operator)\n"
         "alert closed(Operator)\n"
         "order Compensated A=Error(do 2)\n");
}
