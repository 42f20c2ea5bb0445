/* SPDX-License-Identifier: Apache-2.0 */
/* Which reports the engine accepts. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_report);

Test(engine_report, ignores_a_report_of_a_superseded_attempt)
{
    TELL("A{z1}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                  "wait 11000\n"
                  "recover A => StepTimedOut(A do 1 unknown x1) StepRetryScheduled(A do 1 +0)"
                  " StepStarted(A do 2)\n"
                  "ok A 1 => ReportIgnored(Superseded)\n"
                  "said attempt 2 (do) of the step began before this report\n"
                  "status none\n"
                  "requests none\n"
                  "fail A 1 Busy => ReportIgnored(Superseded)\n"
                  "order Processing A=Processing(do 2)\n"
                  "ok A 2 => StepSucceeded(A do 2) OrderProcessed\n"
                  "ok A 1 => ReportIgnored(Superseded)\n");
}

Test(engine_report, accepts_a_late_report_until_the_attempt_times_out)
{
    TELL("A{r1}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                  "wait 99999\n"
                  "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n"
                  "recover A => CommandRejected(Stale)\n");
    TELL("A{r1}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                  "wait 11000\n"
                  "recover A => StepTimedOut(A do 1 unknown x1) StepRetryScheduled(A do 1 +1000)\n"
                  "ok A 1 => ReportIgnored(AlreadyEnded)\n"
                  "said States.Timeout\n"
                  "order Processing A=Pending(do 1)\n");
}

Test(engine_report, ignores_a_repeated_report)
{
    TELL("A B<-A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                   "ok A 1 => ReportIgnored(AlreadyEnded)\n"
                   "said Processed\n"
                   "fail A 1 Busy => ReportIgnored(AlreadyEnded)\n"
                   "fail B 1 Busy => StepFailed(B do 1 Busy none x1) StepExhausted(B do 1)"
                   " CompensationStarted(Busy) OrderCompensated(Busy)\n"
                   "fail B 1 Busy => ReportIgnored(AlreadyEnded)\n"
                   "said Busy\n");
}

Test(engine_report, ignores_reports_of_attempts_that_never_started)
{
    TELL("A B<-A", "ok A 1 => ReportIgnored(UnknownOrder)\n"
                   "reply \n"
                   "status none\n"
                   "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "ok C 1 => ReportIgnored(UnknownStep)\n"
                   "ok A 2 => ReportIgnored(UnknownAttempt)\n"
                   "ok A 0 => ReportIgnored(UnknownAttempt)\n"
                   "ok B 0 => ReportIgnored(UnknownAttempt)\n"
                   "ok B 1 => ReportIgnored(UnknownAttempt)\n"
                   "ok A 1 undo => ReportIgnored(UnknownAttempt)\n"
                   "order Processing A=Processing(do 1) B=Pending\n");
}

Test(engine_report, ignores_a_forward_report_after_the_undo_started)
{
    TELL("A{c,z1}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                    "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)\n"
                    "wait 11000\n"
                    "recover A => StepTimedOut(A do 1 unknown x1) StepStarted(A undo 1)\n"
                    "ok A 1 => ReportIgnored(Superseded)\n"
                    "said attempt 1 (undo)\n"
                    "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
                    " OrderCompensated(Cancelled)\n"
                    "ok A 1 undo => ReportIgnored(AlreadyEnded)\n"
                    "ok A 2 => ReportIgnored(Superseded)\n");
}

Test(engine_report, accepts_reports_of_parallel_steps_while_in_error)
{
    TELL("A{e} B{r1} C{e} D<-B E",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)"
         " StepStarted(C do 1) StepStarted(E do 1)\n"
         "fail A 1 Broken => StepFailed(A do 1 Broken none x1) StepExhausted(A do 1)"
         " OrderFailed(Broken) AlertRaised(Broken)\n"
         "deadlines recover(B)+11000 recover(C)+11000 recover(E)+11000\n"
         "fail C 1 Bad unknown => StepFailed(C do 1 Bad unknown x1) StepExhausted(C do 1)\n"
         "alert none\n"
         "status StepChanged C=Error(do 1 Bad)\n"
         "fail B 1 Busy => StepFailed(B do 1 Busy none x1) StepRetryScheduled(B do 1 +1000)\n"
         "deadlines recover(E)+11000\n"
         "wait 1000\n"
         "start B => CommandRejected(Stale)\n"
         "said the order is Error\n"
         "ok E 1 => StepSucceeded(E do 1)\n"
         "order Error A=Error(do 1) B=Pending(do 1) C=Error(do 1) D=Pending E=Processed(do 1)\n"
         "resubmit => StepResubmitted(A do 1 g1) StepResubmitted(C do 1 g0)"
         " OrderResumed(Resubmitted) AlertClosed(Resubmitted)"
         " StepStarted(A do 2 g1) StepStarted(B do 2) StepStarted(C do 2)\n"
         "requests A(do 2 o-1/A/do/1) B(do 2 o-1/B/do/0) C(do 2 o-1/C/do/0)\n"
         "status Resumed(Resubmitted) A=Processing(do 2) C=Processing(do 2) B=Processing(do 2)\n");
}

Test(engine_report, starts_no_immediate_retry_while_in_error)
{
    TELL("A{e} B{z1}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "fail A 1 Broken => StepFailed(A do 1 Broken none x1) StepExhausted(A do 1)"
         " OrderFailed(Broken) AlertRaised(Broken)\n"
         "fail B 1 Busy => StepFailed(B do 1 Busy none x1) StepRetryScheduled(B do 1 +0)\n"
         "deadlines none\n"
         "order Error A=Error(do 1) B=Pending(do 1)\n");
}

Test(engine_report, starts_no_compensation_while_in_error)
{
    TELL("A{e} B{c} C",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)"
         " StepStarted(C do 1)\n"
         "ok B 1 => StepSucceeded(B do 1)\n"
         "fail A 1 Broken => StepFailed(A do 1 Broken none x1) StepExhausted(A do 1)"
         " OrderFailed(Broken) AlertRaised(Broken)\n"
         "fail C 1 Bad => StepFailed(C do 1 Bad none x1) StepExhausted(C do 1)\n"
         "order Error A=Error(do 1) B=Processed(do 1) C=Error(do 1)\n");
}
