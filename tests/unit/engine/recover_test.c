/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery commands of supervisors: timeouts of attempts and orders, starts of retries. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_recover);

Test(engine_recover, times_out_an_attempt_a_margin_after_complete_by)
{
    TELL("A{r1}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                  "wait 10999\n"
                  "recover A => CommandRejected(NotYetDue)\n"
                  "said not due for another 1 ms\n"
                  "status none\n"
                  "deadlines recover(A)+1\n"
                  "wait 1\n"
                  "recover A => StepTimedOut(A do 1 unknown x1) StepRetryScheduled(A do 1 +1000)\n"
                  "status StepChanged A=Pending(do 1 States.Timeout)\n"
                  "recover A => CommandRejected(Stale)\n");
}

Test(engine_recover, counts_timeouts_towards_the_threshold)
{
    TELL("A{z1,c}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                    "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +0)"
                    " StepStarted(A do 2)\n"
                    "wait 11000\n"
                    "recover A => StepTimedOut(A do 2 unknown x2) StepExhausted(A do 2)"
                    " CompensationStarted(States.Timeout) StepStarted(A undo 1)\n"
                    "requests A(undo 1 o-1/A/undo/0 of o-1/A/do/0)\n"
                    "status Compensating(States.Timeout) A=Processing(undo 1 States.Timeout)\n");
}

Test(engine_recover, never_matches_a_timeout_with_task_failed)
{
    TELL("A{r1:States.TaskFailed,kStates.Timeout:e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "wait 11000\n"
         "recover A => StepTimedOut(A do 1 unknown x1) StepExhausted(A do 1)"
         " OrderFailed(States.Timeout) AlertRaised(States.Timeout)\n");
}

Test(engine_recover, keeps_effect_applied_after_a_timeout)
{
    TELL("A{z1}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                  "fail A 1 Busy applied => StepFailed(A do 1 Busy applied x1)"
                  " StepRetryScheduled(A do 1 +0) StepStarted(A do 2)\n"
                  "wait 11000\n"
                  "recover A => StepTimedOut(A do 2 applied x2) StepExhausted(A do 2)"
                  " CompensationStarted(States.Timeout) OrderCompensated(States.Timeout)\n");
}

Test(engine_recover, rejects_stale_recoveries)
{
    TELL("A{r2} B<-A",
         "recover A => CommandRejected(UnknownOrder)\n"
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "wait 99999\n"
         "recover C => CommandRejected(UnknownStep)\n"
         "recover A stale => CommandRejected(Stale)\n"
         "recover A attempt 2 => CommandRejected(Stale)\n"
         "recover A attempt 0 => CommandRejected(Stale)\n"
         "recover A undo => CommandRejected(Stale)\n"
         "recover B => CommandRejected(Stale)\n"
         "said step B is Pending\n"
         "recover A => StepTimedOut(A do 1 unknown x1) StepRetryScheduled(A do 1 +1000)\n"
         "recover A => CommandRejected(Stale)\n");
}

Test(engine_recover, starts_a_retry_when_it_is_due)
{
    TELL("A{r2} B<-A",
         "start A => CommandRejected(UnknownOrder)\n"
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "start A => CommandRejected(Stale)\n"
         "start C => CommandRejected(UnknownStep)\n"
         "start B => CommandRejected(Stale)\n"
         "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
         "wait 999\n"
         "start A => CommandRejected(NotYetDue)\n"
         "deadlines start(A)+1\n"
         "wait 1\n"
         "start A stale => CommandRejected(Stale)\n"
         "start A attempt 2 => CommandRejected(Stale)\n"
         "start A undo => CommandRejected(Stale)\n"
         "start A => StepStarted(A do 2)\n"
         "start A => CommandRejected(Stale)\n"
         "ok A 2 => StepSucceeded(A do 2) StepStarted(B do 1)\n");
}

Test(engine_recover, starts_a_retry_of_an_undo_when_it_is_due)
{
    TELL("A{u1} B<-A",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
         "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
         " CompensationStarted(No) StepStarted(A undo 1)\n"
         "deadlines recover(A)+21000\n"
         "wait 21000\n"
         "recover A => StepTimedOut(A undo 1 unknown x1) StepRetryScheduled(A undo 1 +1000)\n"
         "deadlines start(A)+1000\n"
         "start A => CommandRejected(NotYetDue)\n"
         "wait 1000\n"
         "start A => StepStarted(A undo 2)\n"
         "requests A(undo 2 o-1/A/undo/0 of o-1/A/do/0)\n"
         "ok A 2 undo => StepSucceeded(A undo 2) StepCompensated(A undo 2) OrderCompensated(No)\n");
}

Test(engine_recover, compensates_an_order_past_its_deadline)
{
    TELL("T60000 A{c} B<-A{r9} C<-B",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
         "wait 60999\n"
         "timeout => CommandRejected(NotYetDue)\n"
         "timeout stale => CommandRejected(Stale)\n"
         "wait 1\n"
         "timeout => OrderTimedOut(States.Timeout) CompensationStarted(States.Timeout)"
         " StepSkipped(C do 0)\n"
         "status Compensating(States.Timeout) C=Skipped(do 0)\n"
         "reason States.Timeout the order was not completed in time\n"
         "order Compensating A=Processed(do 1) B=Processing(do 1) C=Skipped\n"
         "deadlines recover(B)-50000\n"
         "timeout => CommandRejected(Stale)\n"
         "fail B 1 Busy => StepFailed(B do 1 Busy none x1) StepSkipped(B do 1)"
         " StepStarted(A undo 1)\n"
         "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
         " OrderCompensated(States.Timeout)\n"
         "order Compensated A=Compensated(undo 1) B=Skipped(do 1) C=Skipped\n");
}

Test(engine_recover, puts_an_order_past_its_deadline_and_pivot_in_error)
{
    TELL("T60000 A{c} P<-A{p}",
         "timeout => CommandRejected(UnknownOrder)\n"
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "wait 55000\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
         "wait 6000\n"
         "timeout => OrderTimedOut(States.Timeout) OrderFailed(States.Timeout)"
         " AlertRaised(States.Timeout)\n"
         "said it is past its pivot and cannot be undone\n"
         "alert raised(States.Timeout)\n"
         "deadlines recover(P)+5000\n"
         "timeout => CommandRejected(Stale)\n"
         "ok P 1 => StepSucceeded(P do 1)\n"
         "order Error A=Processed(do 1) P=Processed(do 1)\n"
         "resubmit P => CommandRejected(StepNotInError)\n"
         "resubmit => OrderResumed(Resubmitted) OrderDeadlineSet(+60000) AlertClosed(Resubmitted)"
         " OrderProcessed\n"
         "status Processed\n"
         "reason \n");
}

Test(engine_recover, renews_the_deadline_when_an_operator_resubmits)
{
    TELL("T60000 A{e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1) OrderFailed(No)"
         " AlertRaised(No)\n"
         "wait 100000\n"
         "timeout => CommandRejected(Stale)\n"
         "deadlines none\n"
         "resubmit => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted)"
         " OrderDeadlineSet(+60000) AlertClosed(Resubmitted) StepStarted(A do 2 g1)\n"
         "deadlines recover(A)+11000 order+61000\n"
         "ok A 2 => StepSucceeded(A do 2) OrderProcessed\n");
}
