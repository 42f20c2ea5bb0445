/* SPDX-License-Identifier: Apache-2.0 */
/* Compensation: which steps are undone, in which order, and what an undo waits for. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_compensation);

Test(engine_compensation, undoes_completed_steps_in_reverse_order)
{
    TELL("A{c} B<-A{c} C<-B{c} D<-C",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
         "ok B 1 => StepSucceeded(B do 1) StepStarted(C do 1)\n"
         "fail C 1 Declined => StepFailed(C do 1 Declined none x1) StepExhausted(C do 1)"
         " CompensationStarted(Declined) StepSkipped(D do 0) StepStarted(B undo 1)\n"
         "said never started\n"
         "status Compensating(Declined) C=Error(do 1 Declined) D=Skipped(do 0)"
         " B=Processing(undo 1)\n"
         "requests B(undo 1 o-1/B/undo/0 of o-1/B/do/0)\n"
         "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
         " StepStarted(A undo 1)\n"
         "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
         " OrderCompensated(Declined)\n"
         "status Compensated(Declined) A=Compensated(undo 1)\n"
         "order Compensated A=Compensated(undo 1) B=Compensated(undo 1) C=Error(do 1) D=Skipped\n"
         "reason Declined step C failed: Declined: said the service\n");
}

Test(engine_compensation, undoes_by_completion_and_not_by_file_order)
{
    TELL("A{c} B{c} C{c} D<-A,B,C",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)"
         " StepStarted(C do 1)\n"
         "ok C 1 => StepSucceeded(C do 1)\n"
         "ok A 1 => StepSucceeded(A do 1)\n"
         "ok B 1 => StepSucceeded(B do 1) StepStarted(D do 1)\n"
         "fail D 1 No => StepFailed(D do 1 No none x1) StepExhausted(D do 1)"
         " CompensationStarted(No) StepStarted(B undo 1)\n"
         "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
         " StepStarted(A undo 1)\n"
         "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
         " StepStarted(C undo 1)\n"
         "ok C 1 undo => StepSucceeded(C undo 1) StepCompensated(C undo 1)"
         " OrderCompensated(No)\n");
}

Test(engine_compensation, ranks_unknown_effects_by_their_start)
{
    /* A starts first and stays unknown; B completes before D starts; C is like A. */
    TELL("A{c} B{c} C{c} D<-B{c}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)"
         " StepStarted(C do 1)\n"
         "ok B 1 => StepSucceeded(B do 1) StepStarted(D do 1)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)\n"
         "wait 11000\n"
         "recover A => StepTimedOut(A do 1 unknown x1)\n"
         "recover C => StepTimedOut(C do 1 unknown x1)\n"
         "recover D => StepTimedOut(D do 1 unknown x1) StepStarted(D undo 1)\n"
         "ok D 1 undo => StepSucceeded(D undo 1) StepCompensated(D undo 1)"
         " StepStarted(B undo 1)\n"
         "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
         " StepStarted(C undo 1)\n"
         "ok C 1 undo => StepSucceeded(C undo 1) StepCompensated(C undo 1)"
         " StepStarted(A undo 1)\n"
         "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
         " OrderCompensated(Cancelled)\n");
}

/* One Decision completes B and starts D, which stands before B in the file. */
Test(engine_compensation, undoes_a_step_of_unknown_effect_before_the_step_that_it_waited_for)
{
    TELL("D<-B{c} B{c}", "submit => OrderAccepted OrderStarted StepStarted(B do 1)\n"
                         "ok B 1 => StepSucceeded(B do 1) StepStarted(D do 1)\n"
                         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)\n"
                         "wait 11000\n"
                         "recover D => StepTimedOut(D do 1 unknown x1) StepStarted(D undo 1)\n"
                         "ok D 1 undo => StepSucceeded(D undo 1) StepCompensated(D undo 1)"
                         " StepStarted(B undo 1)\n"
                         "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
                         " OrderCompensated(Cancelled)\n");
}

Test(engine_compensation, undoes_what_followed_a_step_that_was_completed_by_hand)
{
    TELL("D<-B{c,e} B{c,e}",
         "submit => OrderAccepted OrderStarted StepStarted(B do 1)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "complete B => StepCompletedByHand(B do 1) OrderResumed(Completed)"
         " AlertClosed(Completed) StepStarted(D do 1)\n"
         "fail D 1 Late unknown => StepFailed(D do 1 Late unknown x1) StepExhausted(D do 1)"
         " OrderFailed(Late) AlertRaised(Late)\n"
         "compensate => CompensationStarted(Operator) AlertClosed(Operator)"
         " StepStarted(D undo 1)\n"
         "ok D 1 undo => StepSucceeded(D undo 1) StepCompensated(D undo 1)"
         " StepStarted(B undo 1)\n");
}

Test(engine_compensation, undoes_a_step_that_failed_after_it_was_applied)
{
    TELL("A{c} B<-A{c}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
         "fail B 1 Late applied => StepFailed(B do 1 Late applied x1) StepExhausted(B do 1)"
         " CompensationStarted(Late) StepStarted(B undo 1)\n"
         "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
         " StepStarted(A undo 1)\n");
}

Test(engine_compensation, starts_no_undo_while_a_forward_attempt_may_run)
{
    TELL("A{c} B{c,r9} C{c,r9} D{r9} E{c}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)"
         " StepStarted(C do 1) StepStarted(D do 1) StepStarted(E do 1)\n"
         "ok A 1 => StepSucceeded(A do 1)\n"
         "fail E 1 No => StepFailed(E do 1 No none x1) StepExhausted(E do 1)"
         " CompensationStarted(No)\n"
         "requests none\n"
         "deadlines recover(B)+11000 recover(C)+11000 recover(D)+11000\n"
         "ok B 1 => StepSucceeded(B do 1)\n"
         "fail C 1 Busy unknown => StepFailed(C do 1 Busy unknown x1)\n"
         "order Compensating A=Processed(do 1) B=Processed(do 1) C=Pending(do 1)"
         " D=Processing(do 1) E=Error(do 1)\n"
         "wait 11000\n"
         "recover D => StepTimedOut(D do 1 unknown x1) StepSkipped(D do 1) StepStarted(B undo 1)\n"
         "said nothing to undo: the step has no Compensate\n"
         "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
         " StepStarted(A undo 1)\n"
         "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
         " StepStarted(C undo 1)\n"
         "ok C 1 undo => StepSucceeded(C undo 1) StepCompensated(C undo 1)"
         " OrderCompensated(No)\n"
         "order Compensated A=Compensated(undo 1) B=Compensated(undo 1) C=Compensated(undo 1)"
         " D=Skipped(do 1) E=Error(do 1)\n");
}

Test(engine_compensation, undoes_or_skips_steps_that_wait_for_a_retry)
{
    TELL("A{c,r1} B{c,r1} C{r1} D",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)"
         " StepStarted(C do 1) StepStarted(D do 1)\n"
         "fail A 1 Busy unknown => StepFailed(A do 1 Busy unknown x1)"
         " StepRetryScheduled(A do 1 +1000)\n"
         "fail B 1 Busy => StepFailed(B do 1 Busy none x1) StepRetryScheduled(B do 1 +1000)\n"
         "fail C 1 Busy unknown => StepFailed(C do 1 Busy unknown x1)"
         " StepRetryScheduled(C do 1 +1000)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) StepSkipped(B do 1)"
         " StepSkipped(C do 1)\n"
         "said nothing to undo: no attempt had an effect\n"
         "said nothing to undo: the step has no Compensate\n"
         "deadlines recover(D)+11000\n"
         "wait 1000\n"
         "start A => CommandRejected(Stale)\n"
         "ok D 1 => StepSucceeded(D do 1) StepStarted(A undo 1)\n"
         "order Compensating A=Processing(undo 1) B=Skipped(do 1) C=Skipped(do 1)"
         " D=Processed(do 1)\n");
}

Test(engine_compensation, ends_at_once_when_there_is_nothing_to_undo)
{
    TELL("A B<-A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                   "fail B 1 No unknown => StepFailed(B do 1 No unknown x1) StepExhausted(B do 1)"
                   " CompensationStarted(No) OrderCompensated(No)\n"
                   "order Compensated A=Processed(do 1) B=Error(do 1)\n");
}

Test(engine_compensation, retries_an_undo_by_its_own_policy)
{
    TELL("A{z2,u1:Busy,v1} B<-A",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +0)"
         " StepStarted(A do 2)\n"
         "ok A 2 => StepSucceeded(A do 2) StepStarted(B do 1)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
         " CompensationStarted(No) StepStarted(A undo 1)\n"
         "fail A 1 Busy undo => StepFailed(A undo 1 Busy none x1)"
         " StepRetryScheduled(A undo 1 +1000)\n"
         "ok B 1 => ReportIgnored(AlreadyEnded)\n"
         "wait 1000\n"
         "start A => StepStarted(A undo 2)\n"
         "fail A 2 Busy unknown undo => StepFailed(A undo 2 Busy unknown x2)"
         " StepRetryScheduled(A undo 2 +0) StepStarted(A undo 3)\n"
         "fail A 3 Busy undo => StepFailed(A undo 3 Busy unknown x3) StepExhausted(A undo 3)"
         " OrderFailed(Busy) AlertRaised(Busy)\n"
         "said undoing step A failed: Busy: said the service\n"
         "said `reeve resubmit o-1` tries again\n"
         "reason No step B failed: No: said the service\n"
         "deadlines none\n"
         "cancel => CommandRejected(AlreadyCompensating)\n"
         "said `reeve resubmit o-1` tries it again\n"
         "compensate => CommandRejected(AlreadyCompensating)\n"
         "resubmit B => CommandRejected(StepNotInError)\n"
         "resubmit A => StepResubmitted(A undo 3 g0) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A undo 4)\n"
         "order Compensating A=Processing(undo 4) B=Error(do 1)\n"
         "fail A 4 Busy undo => StepFailed(A undo 4 Busy unknown x1)"
         " StepRetryScheduled(A undo 4 +1000)\n"
         "wait 1000\n"
         "start A => StepStarted(A undo 5)\n"
         "ok A 5 undo => StepSucceeded(A undo 5) StepCompensated(A undo 5)"
         " OrderCompensated(No)\n");
}

Test(engine_compensation, changes_the_key_of_an_undo_only_after_it_had_no_effect)
{
    TELL("A{c}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "wait 11000\n"
                 "recover A => StepTimedOut(A do 1 unknown x1) StepExhausted(A do 1)"
                 " CompensationStarted(States.Timeout) StepStarted(A undo 1)\n"
                 "fail A 1 No undo => StepFailed(A undo 1 No none x1) StepExhausted(A undo 1)"
                 " OrderFailed(No) AlertRaised(No)\n"
                 "resubmit => StepResubmitted(A undo 1 g1) OrderResumed(Resubmitted)"
                 " AlertClosed(Resubmitted) StepStarted(A undo 2 g1)\n"
                 "requests A(undo 2 o-1/A/undo/1 of o-1/A/do/0)\n"
                 "wait 21000\n"
                 "recover A => StepTimedOut(A undo 2 unknown x1) StepExhausted(A undo 2)"
                 " OrderFailed(States.Timeout) AlertRaised(States.Timeout)\n"
                 "resubmit => StepResubmitted(A undo 2 g1) OrderResumed(Resubmitted)"
                 " AlertClosed(Resubmitted) StepStarted(A undo 3 g1)\n"
                 "requests A(undo 3 o-1/A/undo/1 of o-1/A/do/0)\n"
                 "fail A 3 No undo => StepFailed(A undo 3 No unknown x1) StepExhausted(A undo 3)"
                 " OrderFailed(No) AlertRaised(No)\n"
                 "resubmit => StepResubmitted(A undo 3 g1) OrderResumed(Resubmitted)"
                 " AlertClosed(Resubmitted) StepStarted(A undo 4 g1)\n"
                 "ok A 4 undo => StepSucceeded(A undo 4) StepCompensated(A undo 4)"
                 " OrderCompensated(States.Timeout)\n");
}

Test(engine_compensation, ignores_catchers_for_an_undo)
{
    TELL("A{c,kStuck:c} B<-A",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepSkipped(B do 1) StepStarted(A undo 1)\n"
         "fail A 1 Stuck undo => StepFailed(A undo 1 Stuck none x1) StepExhausted(A undo 1)"
         " OrderFailed(Stuck) AlertRaised(Stuck)\n"
         "said no retries are left for Stuck\n"
         "said compensation had begun, so it cannot go forward again\n");
}

/* ---- the pivot ---- */

Test(engine_compensation, never_compensates_while_the_pivot_runs)
{
    TELL("A{c} P<-A{p,r1} B<-P{r1}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
         "cancel => CommandRejected(PastPivot)\n"
         "said the pivot P has started\n"
         "status Rejected(PastPivot)\n"
         "reply orders.replies.shop\n"
         "compensate => CommandRejected(PastPivot)\n"
         "status none\n"
         "ok P 1 => StepSucceeded(P do 1) StepStarted(B do 1)\n"
         "cancel => CommandRejected(PastPivot)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepRetryScheduled(B do 1 +1000)\n"
         "wait 1000\n"
         "start B => StepStarted(B do 2)\n"
         "fail B 2 No => StepFailed(B do 2 No none x2) StepExhausted(B do 2) OrderFailed(No)"
         " AlertRaised(No)\n"
         "said it is past its pivot and cannot be undone\n"
         "compensate => CommandRejected(PastPivot)\n"
         "cancel => CommandRejected(PastPivot)\n"
         "resubmit => StepResubmitted(B do 2 g1) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(B do 3 g1)\n"
         "ok B 3 => StepSucceeded(B do 3) OrderProcessed\n");
}

Test(engine_compensation, compensates_after_a_pivot_without_effect)
{
    TELL("A{c} P<-A{p,r1}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
         "fail P 1 No => StepFailed(P do 1 No none x1) StepRetryScheduled(P do 1 +1000)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) StepSkipped(P do 1)"
         " StepStarted(A undo 1)\n");
    TELL("A{c} P<-A{p}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                         "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
                         "fail P 1 No => StepFailed(P do 1 No none x1) StepExhausted(P do 1)"
                         " CompensationStarted(No) StepStarted(A undo 1)\n");
    TELL("A{c} P<-A{p,e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
         "fail P 1 No => StepFailed(P do 1 No none x1) StepExhausted(P do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "said `reeve compensate` undoes its steps\n"
         "compensate => CompensationStarted(Operator) AlertClosed(Operator)"
         " StepStarted(A undo 1)\n");
}

Test(engine_compensation, puts_the_order_in_error_when_the_pivot_is_unknown)
{
    TELL("A{c} P<-A{p,r1,kStates.ALL:c}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
         "wait 11000\n"
         "recover P => StepTimedOut(P do 1 unknown x1) StepRetryScheduled(P do 1 +1000)\n"
         "cancel => CommandRejected(PastPivot)\n"
         "wait 1000\n"
         "start P => StepStarted(P do 2)\n"
         "requests P(do 2 o-1/P/do/0)\n"
         "fail P 2 No none => StepFailed(P do 2 No unknown x2) StepExhausted(P do 2)"
         " OrderFailed(No) AlertRaised(No)\n"
         "resubmit P => StepResubmitted(P do 2 g0) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(P do 3)\n"
         "requests P(do 3 o-1/P/do/0)\n"
         "ok P 3 => StepSucceeded(P do 3) OrderProcessed\n");
}
