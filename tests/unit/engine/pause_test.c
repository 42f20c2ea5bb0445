/* SPDX-License-Identifier: Apache-2.0 */
/* PauseOrder, ResumeOrder. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_pause);

Test(engine_pause, lets_what_runs_end_and_starts_nothing)
{
    TELL("A{c} B<-A{c}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                         "pause => OrderPaused\n"
                         "status none\n"
                         "deadlines recover(A)+11000\n"
                         "pause => CommandRejected(AlreadyPaused)\n"
                         "said anna has paused the order\n"
                         "ok A 1 => StepSucceeded(A do 1)\n"
                         "deadlines none\n"
                         "resume => OrderPauseEnded StepStarted(B do 1)\n"
                         "resume => CommandRejected(NotPaused)\n"
                         "ok B 1 => StepSucceeded(B do 1) OrderProcessed\n"
                         "pause => CommandRejected(AlreadyEnded)\n"
                         "resume => CommandRejected(NotPaused)\n");
}

Test(engine_pause, ends_with_the_last_step)
{
    TELL("A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
              "pause => OrderPaused\n"
              "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n"
              "resume => CommandRejected(NotPaused)\n");
}

Test(engine_pause, holds_retries_back_and_looks_at_them_again)
{
    TELL("A{r2}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                  "fail A 1 No => StepFailed(A do 1 No none x1) StepRetryScheduled(A do 1 +1000)\n"
                  "pause => OrderPaused\n"
                  "deadlines none\n"
                  "wait 2000\n"
                  "start A => CommandRejected(Paused)\n"
                  "resume => OrderPauseEnded StepStarted(A do 2)\n"
                  "fail A 2 No => StepFailed(A do 2 No none x2)"
                  " StepRetryScheduled(A do 2 +2000)\n"
                  "pause => OrderPaused\n"
                  "wait 500\n"
                  "resume => OrderPauseEnded\n"
                  "deadlines start(A)+1500\n");
}

Test(engine_pause, takes_the_steps_out_of_the_queue)
{
    TELL("A", "capacity agent=0\n"
              "submit => OrderAccepted OrderStarted StepQueued(A do 0 capacity)\n"
              "queued A\n"
              "pause => OrderPaused\n"
              "queued \n"
              "capacity agent=1\n"
              "start A => CommandRejected(Paused)\n"
              "resume => OrderPauseEnded StepStarted(A do 1)\n");
}

Test(engine_pause, keeps_the_deadline_of_the_order)
{
    TELL("T5000 A{c} B<-A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                            "pause => OrderPaused\n"
                            "ok A 1 => StepSucceeded(A do 1)\n"
                            "deadlines order+6000\n"
                            "wait 6000\n"
                            "timeout => OrderTimedOut(States.Timeout)"
                            " CompensationStarted(States.Timeout) StepSkipped(B do 0)\n"
                            "deadlines none\n"
                            "resume => OrderPauseEnded StepStarted(A undo 1)\n"
                            "pause => OrderPaused\n"
                            "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
                            " OrderCompensated(States.Timeout)\n");
}

Test(engine_pause, outlasts_an_error)
{
    TELL("A{e} B<-A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                      "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1)"
                      " OrderFailed(No) AlertRaised(No)\n"
                      "resume => CommandRejected(NotPaused)\n"
                      "said it is in Error, and `reeve resubmit` tries again\n"
                      "pause => OrderPaused\n"
                      "resubmit => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted)"
                      " AlertClosed(Resubmitted)\n"
                      "deadlines none\n"
                      "resume => OrderPauseEnded StepStarted(A do 2 g1)\n");
}

Test(engine_pause, needs_an_order)
{
    TELL("A", "pause => CommandRejected(UnknownOrder)\n"
              "resume => CommandRejected(UnknownOrder)\n"
              "status none\n");
}
