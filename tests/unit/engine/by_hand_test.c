/* SPDX-License-Identifier: Apache-2.0 */
/* CompleteStep, SkipStep, FailStep. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_by_hand);

#define FAILED_PAST_THE_PIVOT                                                       \
    "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"                    \
    "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"                         \
    "fail B 1 No unknown => StepFailed(B do 1 No unknown x1) StepExhausted(B do 1)" \
    " OrderFailed(No) AlertRaised(No)\n"

Test(engine_by_hand, finishes_an_order_past_its_pivot)
{
    TELL("A{p} B<-A{e} C<-B", FAILED_PAST_THE_PIVOT
         "compensate => CommandRejected(PastPivot)\n"
         "complete B {\"id\":7} => StepCompletedByHand(B do 1) OrderResumed(Completed)"
         " AlertClosed(Completed) StepStarted(C do 1)\n"
         "alert closed(Completed B)\n"
         "status Resumed(Completed) B=Processed(do 1) C=Processing(do 1)\n"
         "ok B 1 => ReportIgnored(AlreadyEnded)\n"
         "ok C 1 => StepSucceeded(C do 1) OrderProcessed\n"
         "complete C => CommandRejected(AlreadyEnded)\n");
}

Test(engine_by_hand, goes_on_without_a_step)
{
    TELL("A{p} B<-A{e} C<-B",
         FAILED_PAST_THE_PIVOT "skip B => CommandRejected(EffectUnknown)\n"
                               "said skip it with --nothing-applied if it was not\n"
                               "skip B nothing-applied => StepSkippedByHand(B do 1)"
                               " OrderResumed(Skipped) AlertClosed(Skipped) StepStarted(C do 1)\n"
                               "order Processing A=Processed(do 1) B=Skipped(do 1)"
                               " C=Processing(do 1)\n"
                               "ok C 1 => StepSucceeded(C do 1) OrderProcessed\n");
}

Test(engine_by_hand, skips_a_step_that_waits_for_an_agent)
{
    TELL("A B<-A", "capacity agent=unhealthy\n"
                   "submit => OrderAccepted OrderStarted StepQueued(A do 0 +100)\n"
                   "skip A => StepSkippedByHand(A do 0) StepQueued(B do 0 +100)\n"
                   "queued B\n"
                   "skip B => StepSkippedByHand(B do 0) OrderProcessed\n"
                   "status Processed B=Skipped(do 0)\n");
}

Test(engine_by_hand, completes_a_step_that_was_never_started)
{
    TELL("A{c} B<-A{e}", "capacity agent=unhealthy\n"
                         "submit => OrderAccepted OrderStarted StepQueued(A do 0 +100)\n"
                         "complete A 1 => StepCompletedByHand(A do 0) StepQueued(B do 0 +100)\n"
                         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
                         " StepSkipped(B do 0) StepQueued(A undo 0 +100)\n"
                         "capacity agent=1\n"
                         "wait 100\n"
                         "start A undo => StepStarted(A undo 1)\n"
                         "requests A(undo 1 o-1/A/undo/0 of o-1/A/do/0)\n");
}

Test(engine_by_hand, waits_for_the_attempt_that_may_run)
{
    TELL("A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
              "wait 400\n"
              "complete A => CommandRejected(AttemptRuns)\n"
              "said attempt 1 of step A may run for another 10600 ms\n"
              "skip A => CommandRejected(AttemptRuns)\n"
              "fail-step A No => CommandRejected(AttemptRuns)\n"
              "wait 20000\n"
              "complete A => CommandRejected(AttemptRuns)\n"
              "said attempt 1 of step A may run for another 0 ms\n");
}

Test(engine_by_hand, keeps_the_order_of_the_steps)
{
    TELL("A{c} B{c} C<-A,B",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "ok A 1 => StepSucceeded(A do 1)\n"
         "complete C => CommandRejected(NotItsTurn)\n"
         "said step C comes after B, which is Processing\n"
         "skip C => CommandRejected(NotItsTurn)\n"
         "complete A => CommandRejected(StepEnded)\n"
         "complete X => CommandRejected(UnknownStep)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
         " StepSkipped(C do 0)\n"
         "fail B 1 No unknown => StepFailed(B do 1 No unknown x1) StepStarted(A undo 1)\n"
         "complete A => CommandRejected(AttemptRuns)\n"
         "complete B => CommandRejected(NotItsTurn)\n");
}

Test(engine_by_hand, names_the_step_that_was_perhaps_meant)
{
    TELL("Reserve Ship<-Reserve", "submit => OrderAccepted OrderStarted StepStarted(Reserve do 1)\n"
                                  "complete Shpi => CommandRejected(UnknownStep)\n"
                                  "said the order has no step Shpi; did you mean Ship?\n"
                                  "complete Refund => CommandRejected(UnknownStep)\n"
                                  "said the order has no step Refund\n");
}

Test(engine_by_hand, stays_in_error_until_no_step_is)
{
    TELL("A{e} B{e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)\n"
         "complete A => StepCompletedByHand(A do 1)\n"
         "alert none\n"
         "skip B => StepSkippedByHand(B do 1) OrderResumed(Skipped) AlertClosed(Skipped)"
         " OrderProcessed\n"
         "status Processed B=Skipped(do 1)\n");
}

Test(engine_by_hand, ends_an_undo_that_was_done_outside)
{
    TELL("A{c} B<-A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                      "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                      "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
                      " CompensationStarted(No) StepStarted(A undo 1)\n"
                      "fail A 1 Gone undo => StepFailed(A undo 1 Gone none x1)"
                      " StepExhausted(A undo 1) OrderFailed(Gone) AlertRaised(Gone)\n"
                      "skip A => CommandRejected(EffectRemains)\n"
                      "said undo it outside, then `reeve step complete o-1 A`\n"
                      "complete A {} => CommandRejected(NoOutput)\n"
                      "complete B => CommandRejected(NotItsTurn)\n"
                      "complete A => StepCompletedByHand(A undo 1) OrderResumed(Completed)"
                      " AlertClosed(Completed) OrderCompensated(No)\n"
                      "status Compensated(No) A=Compensated(undo 1)\n");
}

Test(engine_by_hand, refuses_to_forget_what_was_applied)
{
    TELL("A{e}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "fail A 1 No applied => StepFailed(A do 1 No applied x1) StepExhausted(A do 1)"
                 " OrderFailed(No) AlertRaised(No)\n"
                 "skip A nothing-applied => CommandRejected(EffectRemains)\n"
                 "complete A => StepCompletedByHand(A do 1) OrderResumed(Completed)"
                 " AlertClosed(Completed) OrderProcessed\n");
}

Test(engine_by_hand, fails_a_step_through_its_retries_and_catches)
{
    TELL(
        "A{c} B<-A{r1:Busy,kDeclined:c}",
        "capacity agent=1\n"
        "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
        "capacity agent=unhealthy\n"
        "ok A 1 => StepSucceeded(A do 1) StepQueued(B do 0 +100)\n"
        "fail-step B Busy => StepFailedUnstarted(B do 0 Busy x1) StepRetryScheduled(B do 0 +1000)\n"
        "status StepChanged B=Pending(do 0 Busy)\n"
        "queued \n"
        "capacity agent=1\n"
        "fail-step B Declined => StepFailedUnstarted(B do 0 Declined x2) StepExhausted(B do 0)"
        " CompensationStarted(Declined) StepStarted(A undo 1)\n"
        "fail-step B No => CommandRejected(NotItsTurn)\n");
    TELL("A{e}", "capacity agent=unhealthy\n"
                 "submit => OrderAccepted OrderStarted StepQueued(A do 0 +100)\n"
                 "fail-step A => StepFailedUnstarted(A do 0 States.TaskFailed x1)"
                 " StepExhausted(A do 0) OrderFailed(States.TaskFailed)"
                 " AlertRaised(States.TaskFailed)\n");
}

Test(engine_by_hand, fails_a_step_once)
{
    TELL("A{e}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1)"
                 " OrderFailed(No) AlertRaised(No)\n"
                 "fail-step A No => CommandRejected(StepEnded)\n"
                 "said step A has failed already\n");
}

Test(engine_by_hand, keeps_what_is_known_of_the_effect_when_it_fails)
{
    TELL("A{c,r1}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                    "fail A 1 No unknown => StepFailed(A do 1 No unknown x1)"
                    " StepRetryScheduled(A do 1 +1000)\n"
                    "fail-step A Gone => StepFailedUnstarted(A do 1 Gone x2) StepExhausted(A do 1)"
                    " CompensationStarted(Gone) StepStarted(A undo 1)\n");
}

Test(engine_by_hand, gives_an_order_a_deadline_again)
{
    TELL("T60000 A{e} B<-A{e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "deadlines none\n"
         "wait 70000\n"
         "resubmit all -1 => CommandRejected(InvalidTimeout)\n"
         "resubmit all 31622400001 => CommandRejected(InvalidTimeout)\n"
         "resubmit all 5000 => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted)"
         " OrderDeadlineSet(+5000) AlertClosed(Resubmitted) StepStarted(A do 2 g1)\n"
         "deadlines recover(A)+11000 order+6000\n"
         "fail A 2 No => StepFailed(A do 2 No none x1) StepExhausted(A do 2) OrderFailed(No)"
         " AlertRaised(No)\n"
         "resubmit => StepResubmitted(A do 2 g2) OrderResumed(Resubmitted)"
         " OrderDeadlineSet(+60000) AlertClosed(Resubmitted) StepStarted(A do 3 g2)\n"
         "fail A 3 No => StepFailed(A do 3 No none x1) StepExhausted(A do 3) OrderFailed(No)"
         " AlertRaised(No)\n"
         "complete A => StepCompletedByHand(A do 3) OrderResumed(Completed)"
         " OrderDeadlineSet(+60000) AlertClosed(Completed) StepStarted(B do 1)\n");
}

Test(engine_by_hand, gives_no_deadline_to_an_undo)
{
    TELL("T60000 A{c} B<-A",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
         " CompensationStarted(No) StepStarted(A undo 1)\n"
         "fail A 1 No undo => StepFailed(A undo 1 No none x1) StepExhausted(A undo 1)"
         " OrderFailed(No) AlertRaised(No)\n"
         "resubmit all 5000 => CommandRejected(NoDeadline)\n"
         "resubmit => StepResubmitted(A undo 1 g1) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A undo 2 g1)\n");
}

/* ---- the pivot: what is done behind it is never undone ---- */

#define PIVOT_FAILED                                                                          \
    "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"                              \
    "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"                                   \
    "fail P 1 No none => StepFailed(P do 1 No none x1) StepExhausted(P do 1) OrderFailed(No)" \
    " AlertRaised(No)\n"

Test(engine_by_hand, leaves_no_way_back_once_a_step_behind_a_skipped_pivot_is_applied)
{
    TELL("A{c} P<-A{p,e} B<-P{e} C<-B{e}", PIVOT_FAILED
         "skip P => StepSkippedByHand(P do 1) OrderResumed(Skipped) AlertClosed(Skipped)"
         " StepStarted(B do 1)\n"
         "cancel => CommandRejected(PastPivot)\n"
         "said step B after the pivot P has started: the order can no longer be undone\n"
         "ok B 1 => StepSucceeded(B do 1) StepStarted(C do 1)\n"
         "cancel => CommandRejected(PastPivot)\n"
         "compensate => CommandRejected(PastPivot)\n"
         "fail C 1 No => StepFailed(C do 1 No none x1) StepExhausted(C do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "compensate => CommandRejected(PastPivot)\n"
         "order Error A=Processed(do 1) P=Skipped(do 1) B=Processed(do 1) C=Error(do 1)\n");
}

Test(engine_by_hand, fails_at_its_deadline_behind_a_skipped_pivot)
{
    TELL("T60000 A{c} P<-A{p,e} B<-P{e} C<-B{e,r9}", PIVOT_FAILED
         "skip P => StepSkippedByHand(P do 1) OrderResumed(Skipped) OrderDeadlineSet(+60000)"
         " AlertClosed(Skipped) StepStarted(B do 1)\n"
         "fail B 1 No unknown => StepFailed(B do 1 No unknown x1) StepExhausted(B do 1)"
         " OrderFailed(No) AlertRaised(No)\n"
         "resubmit => StepResubmitted(B do 1 g0) OrderResumed(Resubmitted)"
         " OrderDeadlineSet(+60000) AlertClosed(Resubmitted) StepStarted(B do 2)\n"
         "ok B 2 => StepSucceeded(B do 2) StepStarted(C do 1)\n"
         "fail C 1 No none => StepFailed(C do 1 No none x1) StepRetryScheduled(C do 1 +1000)\n"
         "wait 61000\n"
         "timeout => OrderTimedOut(States.Timeout) OrderFailed(States.Timeout)"
         " AlertRaised(States.Timeout)\n");
}

/* Also where they stand before it in the file. */
Test(engine_by_hand, counts_the_steps_behind_the_pivot_wherever_they_stand)
{
    TELL("C<-B{e} B<-P{e} P<-A{p,e} A{c}", PIVOT_FAILED
         "skip P => StepSkippedByHand(P do 1) OrderResumed(Skipped) AlertClosed(Skipped)"
         " StepStarted(B do 1)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "skip B => StepSkippedByHand(B do 1) OrderResumed(Skipped) AlertClosed(Skipped)"
         " StepStarted(C do 1)\n"
         "cancel => CommandRejected(PastPivot)\n");
}

/* Skipping says that nothing was done: while nothing behind it is either, there is a way back. */
Test(engine_by_hand, undoes_an_order_whose_pivot_was_skipped_and_that_did_nothing_behind_it)
{
    TELL("A{c} P<-A{p,e} B<-P{e}", PIVOT_FAILED
         "pause => OrderPaused\n"
         "skip P => StepSkippedByHand(P do 1) OrderResumed(Skipped) AlertClosed(Skipped)\n"
         "resume => OrderPauseEnded StepStarted(B do 1)\n"
         "fail B 1 No none => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
         " OrderFailed(No) AlertRaised(No)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
         " AlertClosed(Cancelled) StepStarted(A undo 1)\n");
    TELL("A{c} P<-A{p,e} B<-P{e}", PIVOT_FAILED
         "pause => OrderPaused\n"
         "skip P => StepSkippedByHand(P do 1) OrderResumed(Skipped) AlertClosed(Skipped)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) StepSkipped(B do 0)\n"
         "resume => OrderPauseEnded StepStarted(A undo 1)\n");
}

Test(engine_by_hand, counts_a_pivot_that_was_completed_by_hand_as_passed)
{
    TELL("A{c} P<-A{p,e} B<-P{e}",
         PIVOT_FAILED "pause => OrderPaused\n"
                      "complete P => StepCompletedByHand(P do 1) OrderResumed(Completed)"
                      " AlertClosed(Completed)\n"
                      "cancel => CommandRejected(PastPivot)\n"
                      "said the pivot P has started: the order can no longer be undone\n");
}

Test(engine_by_hand, needs_an_order)
{
    TELL("A", "complete A => CommandRejected(UnknownOrder)\n"
              "skip A => CommandRejected(UnknownOrder)\n"
              "fail-step A No => CommandRejected(UnknownOrder)\n");
}
