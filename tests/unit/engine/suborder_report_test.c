/* SPDX-License-Identifier: Apache-2.0 */
/* ReportSuborder: every row of the parent's table in decision 0018, by the state of the item. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_suborder_report);

/* MaxConcurrency keeps item 1 to do; item 0 is submitted. */
#define ONE_TO_DO                                                             \
    "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) " \
    "SubordersSubmitted(W do 1 0 +3600000)\n"
#define TWO                                                                   \
    "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) " \
    "SubordersSubmitted(W do 1 0 1 +3600000)\n"

/* Correction 1: an earlier sub-order of an item that is to do hears of it. */
Test(engine_suborder_report, of_an_item_to_do_is_ignored_and_a_held_one_undone)
{
    TELL("W{f2,l1}", ONE_TO_DO "report W.1 held => ReportIgnored(Superseded)\n"
                               "messages undo o-1~W~1\n"
                               "report W.1 final => ReportIgnored(Superseded)\n"
                               "messages none\n"
                               "report W.1 failed Bad => ReportIgnored(Superseded)\n"
                               "messages none\n"
                               "report W.1 refused Order.TooOld => ReportIgnored(Superseded)\n"
                               "messages none\n"
                               "order Processing W=Processing(do 1)[st]\n");
}

Test(engine_suborder_report, of_a_submitted_item_is_its_end)
{
    TELL("W{f2,o2}", TWO "report W.0 held => SuborderEnded(W 0 held)\n"
                         "report W.1 final => SuborderEnded(W 1 final) StepSucceeded(W do 1) "
                         "OrderProcessed\n");
    TELL("W{f2,o2}", TWO "report W.0 failed Bad => SuborderEnded(W 0 failed Bad)\n"
                         "report W.1 refused Order.TooOld => SuborderEnded(W 1 refused "
                         "Order.TooOld) StepSucceeded(W do 1) OrderProcessed\n");
}

/* The undo of a recall came before the submission: the next ask sends that first. */
Test(engine_suborder_report, of_an_unknown_order_is_ignored_while_it_is_submitted)
{
    TELL("W{f2}", TWO "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) "
                      "SubordersRecalled(W do 1 Cancelled +3600000)\n"
                      "report W.0 refused UnknownOrder => ReportIgnored(UnknownOrder)\n"
                      "messages none\n"
                      "order Compensating W=Processing(do 1)[ss]\n");
}

Test(engine_suborder_report, of_a_held_item_is_ignored_if_it_is_held)
{
    TELL("W{f2}", TWO "report W.0 held => SuborderEnded(W 0 held)\n"
                      "report W.0 held => ReportIgnored(AlreadyEnded)\n"
                      "messages none\n"
                      "report W.0 refused Order.TooOld => ReportIgnored(AlreadyEnded)\n"
                      "messages none\n");
}

Test(engine_suborder_report, of_a_held_item_that_is_undone_is_its_end)
{
    TELL("W{f2}", TWO "report W.0 held => SuborderEnded(W 0 held)\n"
                      "report W.1 held => SuborderEnded(W 1 held) StepSucceeded(W do 1) "
                      "OrderProcessed\n");
    TELL("W{f2}", TWO "report W.0 held => SuborderEnded(W 0 held)\n"
                      "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) "
                      "SubordersRecalled(W do 1 Cancelled +3600000)\n"
                      "report W.0 failed Recalled => SuborderEnded(W 0 failed Recalled)\n"
                      "order Compensating W=Processing(do 1)[xs]\n");
    TELL("W{f2}", TWO "report W.0 held => SuborderEnded(W 0 held)\n"
                      "report W.0 final => SuborderEnded(W 0 final remains)\n"
                      "order Processing W=Processing(do 1)[fs]\n");
    TELL("W{f2}",
         TWO "report W.0 held => SuborderEnded(W 0 held)\n"
             "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) "
             "SubordersRecalled(W do 1 Cancelled +3600000)\n"
             "report W.0 refused UnknownOrder => SuborderEnded(W 0 refused UnknownOrder remains)\n"
             "order Compensating W=Processing(do 1)[xs]\n");
}

Test(engine_suborder_report, of_an_item_that_is_final_is_ignored)
{
    TELL("W{f2}", TWO "report W.0 final => SuborderEnded(W 0 final)\n"
                      "report W.0 held => ReportIgnored(AlreadyEnded)\n"
                      "messages none\n"
                      "report W.0 final => ReportIgnored(AlreadyEnded)\n"
                      "report W.0 failed Bad => ReportIgnored(AlreadyEnded)\n"
                      "report W.0 refused UnknownOrder => ReportIgnored(AlreadyEnded)\n"
                      "messages none\n"
                      "order Processing W=Processing(do 1)[fs]\n");
}

Test(engine_suborder_report, of_an_item_that_failed_is_ignored_and_a_held_one_undone)
{
    TELL("W{f2,o2}", TWO "report W.0 failed Bad => SuborderEnded(W 0 failed Bad)\n"
                         "report W.0 held => ReportIgnored(AlreadyEnded)\n"
                         "messages undo o-1~W~0\n"
                         "report W.0 final => ReportIgnored(AlreadyEnded)\n"
                         "messages none\n"
                         "report W.0 failed Bad => ReportIgnored(AlreadyEnded)\n"
                         "report W.0 refused UnknownOrder => ReportIgnored(AlreadyEnded)\n"
                         "messages none\n"
                         "order Processing W=Processing(do 1)[xs]\n");
}

Test(engine_suborder_report, of_another_generation_or_item_is_ignored_and_a_held_one_undone)
{
    TELL("W{f2}", TWO "report W.0 held g3 => ReportIgnored(Superseded)\n"
                      "messages undo o-1~W~0~~3\n"
                      "report W.0 final g3 => ReportIgnored(Superseded)\n"
                      "messages none\n"
                      "report W.7 held => ReportIgnored(UnknownStep)\n"
                      "messages undo o-1~W~7\n"
                      "report W held => ReportIgnored(UnknownStep)\n"
                      "messages undo o-1~W\n"
                      "report A.0 held => ReportIgnored(UnknownStep)\n"
                      "messages undo o-1~A~0\n"
                      "report A.0 failed Bad => ReportIgnored(UnknownStep)\n"
                      "messages none\n");
}

/* ---- the order is not there, or has ended ---- */

Test(engine_suborder_report, to_an_order_that_is_not_there_is_rejected)
{
    TELL("W{f2}", "report W.0 held => CommandRejected(UnknownOrder)\n"
                  "messages unknown o-1~W~0\n"
                  "report W.0 final => CommandRejected(UnknownOrder)\n"
                  "messages none\n"
                  "order none\n");
}

/* Another order with the id of the parent. */
Test(engine_suborder_report, to_another_order_of_the_same_id_is_rejected)
{
    TELL("W{f2}", TWO "report W.0 held offset 3 => CommandRejected(UnknownOrder)\n"
                      "messages unknown o-1~W~0\n"
                      "report W.0 failed offset 3 => CommandRejected(UnknownOrder)\n"
                      "messages none\n");
}

Test(engine_suborder_report, to_an_order_that_is_processed_is_answered_with_keep)
{
    TELL("W{f2}", TWO "report W.0 held => SuborderEnded(W 0 held)\n"
                      "report W.1 final => SuborderEnded(W 1 final) StepSucceeded(W do 1) "
                      "OrderProcessed\n"
                      "messages keep o-1~W~0 held\n"
                      "report W.0 held => ReportIgnored(AlreadyEnded)\n"
                      "messages keep o-1~W~0\n"
                      "report W.1 held => ReportIgnored(AlreadyEnded)\n"
                      "messages undo o-1~W~1\n"
                      "report W.0 held g1 => ReportIgnored(AlreadyEnded)\n"
                      "messages undo o-1~W~0~~1\n"
                      "report W.0 final => ReportIgnored(AlreadyEnded)\n"
                      "messages none\n");
}

Test(engine_suborder_report, to_an_order_that_is_undone_is_answered_with_undo)
{
    TELL("W{s}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x1) "
                 "SubordersSubmitted(W do 1 -1 +3600000)\n"
                 "report W failed Bad => SuborderEnded(W -1 failed Bad) "
                 "StepFailed(W do 1 Bad none x1) StepExhausted(W do 1) CompensationStarted(Bad) "
                 "OrderCompensated(Bad)\n"
                 "report W held => ReportIgnored(AlreadyEnded)\n"
                 "messages undo o-1~W\n"
                 "report W failed Bad => ReportIgnored(AlreadyEnded)\n"
                 "messages none\n");
}

/* Without its workflow, an order decides nothing: the sub-order is asked again. */
Test(engine_suborder_report, to_an_order_without_its_workflow_is_rejected)
{
    TELL("W{f2}", TWO "blind report W.0 held => CommandRejected(UnknownWorkflow)\n"
                      "messages none\n");
}
