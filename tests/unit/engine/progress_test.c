/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions and progress: which step starts when. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_progress);

Test(engine_progress, runs_steps_one_after_the_other)
{
    TELL("A B<-A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "order Processing A=Processing(do 1) B=Pending\n"
                   "deadlines recover(A)+11000\n"
                   "requests A(do 1 o-1/A/do/0)\n"
                   "status Received A=Processing(do 1)\n"
                   "alert none\n"
                   "reply orders.replies.shop\n"
                   "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                   "status StepChanged A=Processed(do 1) B=Processing(do 1)\n"
                   "ok B 1 => StepSucceeded(B do 1) OrderProcessed\n"
                   "order Processed A=Processed(do 1) B=Processed(do 1)\n"
                   "deadlines none\n"
                   "requests none\n"
                   "status Processed B=Processed(do 1)\n"
                   "reason \n");
}

Test(engine_progress, runs_independent_steps_in_parallel)
{
    TELL("A B C<-A,B D<-A E<-C,D",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "requests A(do 1 o-1/A/do/0) B(do 1 o-1/B/do/0)\n"
         "ok B 1 => StepSucceeded(B do 1)\n"
         "order Processing A=Processing(do 1) B=Processed(do 1) C=Pending D=Pending E=Pending\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(C do 1) StepStarted(D do 1)\n"
         "ok D 1 => StepSucceeded(D do 1)\n"
         "ok C 1 => StepSucceeded(C do 1) StepStarted(E do 1)\n"
         "ok E 1 => StepSucceeded(E do 1) OrderProcessed\n");
}

Test(engine_progress, answers_a_repeated_submission_with_the_status)
{
    TELL("A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
              "submit => SubmissionRepeated\n"
              "status Repeated\n"
              "requests none\n"
              "reply orders.replies.shop\n"
              "order Processing A=Processing(do 1)\n"
              "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n"
              "blind submit => SubmissionRepeated\n"
              "order Processed A=Processed(do 1)\n");
}

Test(engine_progress, rejects_the_same_id_with_other_content)
{
    TELL("A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
              "submit other => CommandRejected(ContentDiffers)\n"
              "status Rejected(ContentDiffers)\n"
              "reply orders.replies.other\n"
              "said submitted before with different content\n"
              "order Processing A=Processing(do 1)\n");
}

Test(engine_progress, rejects_an_unknown_workflow)
{
    TELL("A", "submit elsewhere => CommandRejected(UnknownWorkflow)\n"
              "status Rejected(UnknownWorkflow)\n"
              "reply orders.replies.other\n"
              "said workflow elsewhere version 0 is not deployed\n"
              "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n");
}

Test(engine_progress, rejects_a_submission_under_another_key)
{
    TELL("A", "submit misplaced => CommandRejected(KeyDiffers)\n"
              "reply orders.replies.shop\n");
}

Test(engine_progress, changes_nothing_without_the_workflow)
{
    TELL("A{c}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "blind ok A 1 => CommandRejected(UnknownWorkflow)\n"
                 "said version 1 of the order's workflow test\n"
                 "blind cancel => CommandRejected(UnknownWorkflow)\n"
                 "blind compensate => CommandRejected(UnknownWorkflow)\n"
                 "blind resubmit => CommandRejected(UnknownWorkflow)\n"
                 "blind recover A => CommandRejected(UnknownWorkflow)\n"
                 "blind start A => CommandRejected(UnknownWorkflow)\n"
                 "blind timeout => CommandRejected(UnknownWorkflow)\n"
                 "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n");
}

Test(engine_progress, changes_nothing_with_another_workflow_of_the_same_version)
{
    TELL("A{c} B", "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
                   "replaced ok A 1 => CommandRejected(UnknownWorkflow)\n"
                   "replaced cancel => CommandRejected(UnknownWorkflow)\n"
                   "replaced recover A => CommandRejected(UnknownWorkflow)\n"
                   "ok A 1 => StepSucceeded(A do 1)\n");
}

Test(engine_progress, leaves_the_order_unchanged_on_an_unreadable_command)
{
    TELL("A", "garbage => CommandDeadLettered\n"
              "status none\n"
              "alert none\n"
              "reply \n"
              "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
              "garbage => CommandDeadLettered\n"
              "status none\n"
              "order Processing A=Processing(do 1)\n"
              "quarantine => CommandDeadLettered\n"
              "alert raised(CommandQuarantined)\n"
              "order Processing A=Processing(do 1)\n");
}

Test(engine_progress, gives_the_order_its_own_deadline)
{
    TELL("T60000 A", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                     "wait 500\n"
                     "deadlines recover(A)+10500 order+60500\n"
                     "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n"
                     "deadlines none\n"
                     "timeout => CommandRejected(Stale)\n");
}
