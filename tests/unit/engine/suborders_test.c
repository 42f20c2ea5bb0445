/* SPDX-License-Identifier: Apache-2.0 */
/* A step with sub-orders: start, submission, asking, recall, undo, and how it ends. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_suborders);

/* ---- start and end ---- */

Test(engine_suborders, submits_one_order_and_takes_its_output)
{
    TELL("W{s} B<-W",
         "submit with 7            => OrderAccepted OrderStarted SubordersStarted(W do 1 x1) "
         "SubordersSubmitted(W do 1 -1 +3600000)\n"
         "messages submit o-1~W with 7\n"
         "status Received W=Processing(do 1)\n"
         "deadlines recover(W)+3600000\n"
         "report W final with 8    => SuborderEnded(W -1 final 8) StepSucceeded(W do 1) "
         "StepStarted(B do 1)\n"
         "output W 8\n"
         "order Processing W=Processed(do 1)[f] B=Processing(do 1)\n");
}

Test(engine_suborders, submits_an_order_for_each_item_and_assembles_their_output)
{
    TELL(
        "W{f3,o1}",
        "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x3 [0,1,2]) "
        "SubordersSubmitted(W do 1 0 1 2 +3600000)\n"
        "messages submit o-1~W~0 with 0, submit o-1~W~1 with 1, submit o-1~W~2 with 2\n"
        "report W.2 final with 9 => SuborderEnded(W 2 final 9)\n"
        "report W.0 failed Bad   => SuborderEnded(W 0 failed Bad)\n"
        "order Processing W=Processing(do 1)[xsf]\n"
        "report W.1 final        => SuborderEnded(W 1 final) StepSucceeded(W do 1) OrderProcessed\n"
        "output W {\"failed\":1,\"items\":[null,null,9],\"processed\":2}\n"
        "order Processed W=Processed(do 1)[xff]\n");
}

Test(engine_suborders, is_done_at_once_without_items)
{
    TELL("W{f0}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x0 []) "
                  "StepSucceeded(W do 1) OrderProcessed\n"
                  "output W {\"failed\":0,\"items\":[],\"processed\":0}\n"
                  "messages none\n");
}

Test(engine_suborders, runs_no_more_at_once_than_is_allowed)
{
    TELL("W{f3,l2}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x3 [0,1,2]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "report W.1 held  => SuborderEnded(W 1 held) SubordersSubmitted(W do 1 2 +3600000)\n"
         "messages submit o-1~W~2 with 2\n"
         "order Processing W=Processing(do 1)[shs]\n");
}

Test(engine_suborders, gives_many_orders_a_low_priority)
{
    TELL("W{f65,l1}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x65 "
                      "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,"
                      "28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,"
                      "53,54,55,56,57,58,59,60,61,62,63,64] low) "
                      "SubordersSubmitted(W do 1 0 +3600000)\n"
                      "messages submit o-1~W~0 low with 0\n");
}

/* Its parent gave it 10, for all its steps and the orders below them. */
Test(engine_suborders, shares_what_the_order_may_have_among_its_steps)
{
    TELL("V{s} W{f6,e}",
         "submit under => OrderAccepted OrderStarted SubordersStarted(V do 1 x1) "
         "SubordersSubmitted(V do 1 -1 +3600000) "
         "StepFailedUnstarted(W do 0 States.DataLimitExceeded x1) StepExhausted(W do 0) "
         "OrderFailed(States.DataLimitExceeded) AlertRaised(States.DataLimitExceeded)\n"
         "error W States.DataLimitExceeded with this step, the order would have sub-orders 6; the "
         "limit is 5\n");
}

Test(engine_suborders, has_at_most_1000_items)
{
    TELL("W{f1001,e}",
         "submit => OrderAccepted OrderStarted "
         "StepFailedUnstarted(W do 0 States.DataLimitExceeded x1) StepExhausted(W do 0) "
         "OrderFailed(States.DataLimitExceeded) AlertRaised(States.DataLimitExceeded)\n"
         "error W States.DataLimitExceeded Items are more than 1000; the limit is 1000\n");
}

/* A sub-order has what its parent gave it: 10, for this step and those below. */
Test(engine_suborders, has_at_most_the_quota_of_its_parent)
{
    TELL("W{f11,e}",
         "submit under => OrderAccepted OrderStarted "
         "StepFailedUnstarted(W do 0 States.DataLimitExceeded x1) StepExhausted(W do 0) "
         "OrderFailed(States.DataLimitExceeded) "
         "AlertRaised(States.DataLimitExceeded)\n");
    TELL("W{f10}", "submit under => OrderAccepted OrderStarted SubordersStarted(W do 1 x10 "
                   "[0,1,2,3,4,5,6,7,8,9]) SubordersSubmitted(W do 1 0 1 2 3 4 5 6 7 8 9 "
                   "+3600000)\n");
}

/* "o-1~" and "~10" leave 121 bytes. */
#define W40 "Wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
#define W121 W40 W40 W40 "W"
Test(engine_suborders, ends_a_step_whose_ids_would_be_too_long)
{
    TELL(W121 "w{f11,e}",
         "submit => OrderAccepted OrderStarted StepFailedUnstarted(" W121 "w do 0 "
         "Order.IdTooLong x1) StepExhausted(" W121 "w do 0) OrderFailed(Order.IdTooLong) "
         "AlertRaised(Order.IdTooLong)\n");
    TELL(W121 "w{f10}", "submit => OrderAccepted OrderStarted SubordersStarted(" W121
                        "w do 1 x10 [0,1,2,3,4,5,6,7,8,9]) SubordersSubmitted(" W121
                        "w do 1 0 1 2 3 4 5 6 7 8 9 +3600000)\n");
}

/* ---- failures ---- */

Test(engine_suborders, recalls_all_once_one_too_many_has_failed)
{
    TELL("A{c} W<-A{f3,o1,c}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) SubordersStarted(W do 1 x3 [0,1,2]) "
         "SubordersSubmitted(W do 1 0 1 2 +3600000)\n"
         "report W.0 failed Bad => SuborderEnded(W 0 failed Bad)\n"
         "report W.1 held       => SuborderEnded(W 1 held)\n"
         "wait 1000\n"
         "report W.2 failed Worse => SuborderEnded(W 2 failed Worse) "
         "SubordersRecalled(W do 1 Worse +3600000)\n"
         "messages undo o-1~W~1 held\n"
         "order Processing A=Processed(do 1) W=Processing(do 1)[xhx]\n"
         "report W.1 failed Recalled => SuborderEnded(W 1 failed Recalled) "
         "StepFailed(W do 1 Worse none x1) StepExhausted(W do 1) CompensationStarted(Worse) "
         "StepStarted(A undo 1)\n");
}

Test(engine_suborders, settles_what_was_submitted_and_recalled_in_either_order)
{
    TELL("W{f2}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
                  "SubordersSubmitted(W do 1 0 1 +3600000)\n"
                  "report W.0 refused Order.TooOld => SuborderEnded(W 0 refused Order.TooOld) "
                  "SubordersRecalled(W do 1 Order.TooOld +3600000)\n"
                  "messages undo o-1~W~1\n"
                  "report W.1 held => SuborderEnded(W 1 held)\n"
                  "order Processing W=Processing(do 1)[xh]\n"
                  "report W.1 failed Recalled => SuborderEnded(W 1 failed Recalled) "
                  "StepFailed(W do 1 Order.TooOld none x1) StepExhausted(W do 1) "
                  "CompensationStarted(Order.TooOld) OrderCompensated(Order.TooOld)\n");
}

Test(engine_suborders, are_caught_once_they_are_undone)
{
    TELL("W{f2,kBad:g} B<-W",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "report W.0 failed Bad => SuborderEnded(W 0 failed Bad) "
         "SubordersRecalled(W do 1 Bad +3600000)\n"
         "report W.1 failed Recalled => SuborderEnded(W 1 failed Recalled) "
         "StepFailed(W do 1 Bad none x1) StepCaught(W do 1) StepStarted(B do 1)\n");
}

/* From the pivot on nothing is recalled: what runs ends, and what was done stays. */
Test(engine_suborders, are_not_recalled_at_the_pivot)
{
    TELL("W{f3,l2,p}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x3 [0,1,2]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "report W.0 failed Bad => SuborderEnded(W 0 failed Bad stop)\n"
         "messages none\n"
         "report W.1 final => SuborderEnded(W 1 final) StepFailed(W do 1 Bad applied x1) "
         "StepExhausted(W do 1) OrderFailed(Bad) AlertRaised(Bad)\n"
         "cancel => CommandRejected(PastPivot)\n"
         "resubmit => StepResubmitted(W do 1 g1) OrderResumed(Resubmitted) "
         "AlertClosed(Resubmitted) SubordersStarted(W do 2 g1 x3) "
         "SubordersSubmitted(W do 2 0 2 +3600000)\n"
         "messages submit o-1~W~0~~1 with 0, submit o-1~W~2~~1 with 2\n"
         "cancel => CommandRejected(PastPivot)\n"
         "report W.0 final g1 => SuborderEnded(W 0 g1 final)\n"
         "report W.2 final g1 => SuborderEnded(W 2 g1 final) StepSucceeded(W do 2) "
         "OrderProcessed\n");
}

Test(engine_suborders, that_all_failed_at_the_pivot_leave_the_way_back)
{
    TELL("A{c} W<-A{s,p}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) SubordersStarted(W do 1 x1) "
         "SubordersSubmitted(W do 1 -1 +3600000)\n"
         "report W failed Bad => SuborderEnded(W -1 failed Bad stop) "
         "StepFailed(W do 1 Bad none x1) StepExhausted(W do 1) CompensationStarted(Bad) "
         "StepStarted(A undo 1)\n");
}

/* ---- asking ---- */

Test(engine_suborders, are_asked_after_1_2_4_8_hours_and_then_daily)
{
    TELL("W{f2}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
                  "SubordersSubmitted(W do 1 0 1 +3600000)\n"
                  "recover W => CommandRejected(NotYetDue)\n"
                  "wait 3600000\n"
                  "recover W => SubordersAsked(W do 1 +3600000)\n"
                  "messages submit o-1~W~0 with 0, submit o-1~W~1 with 1\n"
                  "report W.0 held => SuborderEnded(W 0 held)\n"
                  "wait 3600000\n"
                  "recover W => SubordersAsked(W do 1 +7200000)\n"
                  "messages submit o-1~W~1 with 1\n"
                  "wait 7200000\n"
                  "recover W => SubordersAsked(W do 1 +14400000)\n"
                  "wait 14400000\n"
                  "recover W => SubordersAsked(W do 1 +28800000)\n"
                  "wait 28800000\n"
                  "recover W => SubordersAsked(W do 1 +57600000)\n"
                  "wait 57600000\n"
                  "recover W => SubordersAsked(W do 1 +86400000)\n"
                  "wait 86400000\n"
                  "recover W => SubordersAsked(W do 1 +86400000)\n");
}

/* The submission first, on the same target, so that no recall overtakes it. */
Test(engine_suborders, are_asked_for_their_submission_before_the_recall)
{
    TELL("W{f2}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
                  "SubordersSubmitted(W do 1 0 1 +3600000)\n"
                  "report W.1 held => SuborderEnded(W 1 held)\n"
                  "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) "
                  "SubordersRecalled(W do 1 Cancelled +3600000)\n"
                  "messages undo o-1~W~0, undo o-1~W~1 held\n"
                  "wait 3600000\n"
                  "recover W => SubordersAsked(W do 1 +3600000)\n"
                  "messages submit o-1~W~0 with 0, undo o-1~W~0, undo o-1~W~1 held\n");
}

Test(engine_suborders, are_recalled_once_the_steps_time_is_over)
{
    TELL("W{f2,t5000}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
                        "SubordersSubmitted(W do 1 0 1 +5000)\n"
                        "report W.0 held => SuborderEnded(W 0 held)\n"
                        "wait 5000\n"
                        "recover W => SubordersRecalled(W do 1 States.Timeout +3600000)\n"
                        "messages undo o-1~W~0 held, undo o-1~W~1\n"
                        "report W.0 failed Recalled => SuborderEnded(W 0 failed Recalled)\n"
                        "report W.1 failed Recalled => SuborderEnded(W 1 failed Recalled) "
                        "StepFailed(W do 1 States.Timeout none x1) StepExhausted(W do 1) "
                        "CompensationStarted(States.Timeout) OrderCompensated(States.Timeout)\n");
}

/* ---- the order ---- */

Test(engine_suborders, are_recalled_by_the_last_one_that_began_in_time)
{
    TELL("W{f2,l1,t5000,kStates.ALL:g}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 +5000)\n"
         "wait 5000\n"
         "report W.0 held => SuborderEnded(W 0 held) "
         "SubordersRecalled(W do 1 States.Timeout +3600000)\n"
         "messages undo o-1~W~0 held\n"
         "report W.0 failed Recalled => SuborderEnded(W 0 failed Recalled) "
         "StepFailed(W do 1 States.Timeout none x1) StepCaught(W do 1) "
         "OrderProcessed\n"
         "messages none\n");
}

Test(engine_suborders, run_on_in_a_paused_order_that_starts_none)
{
    TELL("W{f3,l1}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x3 [0,1,2]) "
                     "SubordersSubmitted(W do 1 0 +3600000)\n"
                     "pause => OrderPaused\n"
                     "report W.0 final => SuborderEnded(W 0 final)\n"
                     "wait 3600000\n"
                     "recover W => SubordersAsked(W do 1 +3600000)\n"
                     "messages none\n"
                     "resume => OrderPauseEnded SubordersSubmitted(W do 1 1 +3600000)\n");
}

Test(engine_suborders, start_none_while_the_order_is_in_error)
{
    TELL("A{e} W{f2,l1}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) "
         "SubordersStarted(W do 1 x2 [0,1]) SubordersSubmitted(W do 1 0 +3600000)\n"
         "fail A 1 Bad => StepFailed(A do 1 Bad none x1) StepExhausted(A do 1) OrderFailed(Bad) "
         "AlertRaised(Bad)\n"
         "report W.0 final => SuborderEnded(W 0 final)\n"
         "resubmit => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted) "
         "AlertClosed(Resubmitted) StepStarted(A do 2 g1) SubordersSubmitted(W do 1 1 +3600000)\n");
}

Test(engine_suborders, that_are_done_are_undone_in_turn_and_together)
{
    TELL("A{c} W<-A{f3} B<-W",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "ok A 1 => StepSucceeded(A do 1) SubordersStarted(W do 1 x3 [0,1,2]) "
         "SubordersSubmitted(W do 1 0 1 2 +3600000)\n"
         "report W.0 held => SuborderEnded(W 0 held)\n"
         "report W.1 final => SuborderEnded(W 1 final)\n"
         "report W.2 held => SuborderEnded(W 2 held) StepSucceeded(W do 1) StepStarted(B do 1)\n"
         "fail B 1 Bad => StepFailed(B do 1 Bad none x1) StepExhausted(B do 1) "
         "CompensationStarted(Bad) SubordersRecalled(W undo 1 +3600000)\n"
         "messages undo o-1~W~0 held, undo o-1~W~2 held\n"
         "status Compensating(Bad) B=Error(do 1 Bad) W=Processing(undo 1)\n"
         "report W.0 failed Recalled => SuborderEnded(W 0 failed Recalled)\n"
         "report W.2 failed Recalled => SuborderEnded(W 2 failed Recalled) StepSucceeded(W undo 1) "
         "StepCompensated(W undo 1) StepStarted(A undo 1)\n");
}

Test(engine_suborders, without_anything_held_leave_nothing_to_undo)
{
    TELL("W{s} B<-W", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x1) "
                      "SubordersSubmitted(W do 1 -1 +3600000)\n"
                      "report W final => SuborderEnded(W -1 final) StepSucceeded(W do 1) "
                      "StepStarted(B do 1)\n"
                      "fail B 1 Bad => StepFailed(B do 1 Bad none x1) StepExhausted(B do 1) "
                      "CompensationStarted(Bad) OrderCompensated(Bad)\n");
}

Test(engine_suborders, are_kept_when_the_order_is_processed)
{
    TELL("V{s} W{f2}",
         "submit => OrderAccepted OrderStarted SubordersStarted(V do 1 x1) "
         "SubordersSubmitted(V do 1 -1 +3600000) SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "report V held => SuborderEnded(V -1 held) StepSucceeded(V do 1)\n"
         "report W.0 final => SuborderEnded(W 0 final)\n"
         "report W.1 held => SuborderEnded(W 1 held) StepSucceeded(W do 1) OrderProcessed\n"
         "messages keep o-1~V held, keep o-1~W~1 held\n");
}

Test(engine_suborders, are_recalled_by_the_failure_of_another_step)
{
    TELL("A W{f2,l1}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) "
         "SubordersStarted(W do 1 x2 [0,1]) SubordersSubmitted(W do 1 0 +3600000)\n"
         "fail A 1 Bad => StepFailed(A do 1 Bad none x1) StepExhausted(A do 1) "
         "CompensationStarted(Bad) SubordersRecalled(W do 1 Bad +3600000)\n"
         "report W.0 failed Recalled => SuborderEnded(W 0 failed Recalled) "
         "StepFailed(W do 1 Bad none x1) StepSkipped(W do 1) OrderCompensated(Bad)\n");
}

Test(engine_suborders, are_recalled_once_the_orders_time_is_over)
{
    TELL("T5000 W{f2,l1}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 +3600000)\n"
         "wait 6000\n"
         "timeout => OrderTimedOut(States.Timeout) CompensationStarted(States.Timeout) "
         "SubordersRecalled(W do 1 States.Timeout +3600000)\n");
    TELL("T5000 W{f2,l1,p}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 +3600000)\n"
         "wait 6000\n"
         "timeout => OrderTimedOut(States.Timeout) OrderFailed(States.Timeout) "
         "AlertRaised(States.Timeout)\n"
         "report W.0 final => SuborderEnded(W 0 final)\n"
         "wait 3600000\n"
         "recover W => SubordersAsked(W do 1 +3606000)\n"
         "resubmit => OrderResumed(Resubmitted) OrderDeadlineSet(+5000) AlertClosed(Resubmitted) "
         "SubordersSubmitted(W do 1 1 +3600000)\n");
}

/* It has none to recall, and is left out like a step that was not started. */
Test(engine_suborders, that_have_not_begun_end_with_the_orders_compensation)
{
    TELL("A W{f2,l1}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) "
         "SubordersStarted(W do 1 x2 [0,1]) SubordersSubmitted(W do 1 0 +3600000)\n"
         "pause => OrderPaused\n"
         "report W.0 final => SuborderEnded(W 0 final)\n"
         "fail A 1 Bad => StepFailed(A do 1 Bad none x1) StepExhausted(A do 1) "
         "CompensationStarted(Bad) StepFailed(W do 1 Bad none x1) StepSkipped(W do 1) "
         "OrderCompensated(Bad)\n");
}

/* ---- an undo that fails ---- */

Test(engine_suborders, whose_undo_fails_leave_the_order_in_error_whatever_a_catch_says)
{
    TELL("W{f2,kBad:g,kOrder.UndoFailed:g}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "report W.0 held => SuborderEnded(W 0 held)\n"
         "report W.1 failed Bad => SuborderEnded(W 1 failed Bad) "
         "SubordersRecalled(W do 1 Bad +3600000)\n"
         "report W.0 final => SuborderEnded(W 0 final remains) "
         "StepFailed(W do 1 Order.UndoFailed applied x1) StepExhausted(W do 1) "
         "OrderFailed(Order.UndoFailed) AlertRaised(Order.UndoFailed)\n"
         "resubmit => StepResubmitted(W do 1 g1) OrderResumed(Resubmitted) "
         "AlertClosed(Resubmitted) StepFailedUnstarted(W do 1 Order.UndoFailed x1) "
         "StepExhausted(W do 1) OrderFailed(Order.UndoFailed) AlertRaised(Order.UndoFailed)\n"
         "skip W => CommandRejected(EffectRemains)\n"
         "compensate => CompensationStarted(Operator) AlertClosed(Operator) "
         "SubordersRecalled(W undo 1 +3600000) StepFailed(W undo 1 Order.UndoFailed unknown x1) "
         "StepExhausted(W undo 1) OrderFailed(Order.UndoFailed) AlertRaised(Order.UndoFailed)\n"
         "resubmit => StepResubmitted(W undo 1 g0) OrderResumed(Resubmitted) "
         "AlertClosed(Resubmitted) SubordersRecalled(W undo 2 +3600000) "
         "StepFailed(W undo 2 Order.UndoFailed unknown x1) StepExhausted(W undo 2) "
         "OrderFailed(Order.UndoFailed) AlertRaised(Order.UndoFailed)\n"
         "complete W => StepCompletedByHand(W undo 2) OrderResumed(Completed) "
         "AlertClosed(Completed) OrderCompensated(Operator)\n");
}

Test(engine_suborders, whose_undo_fails_in_an_order_that_is_undone_are_undone_by_hand)
{
    TELL("W{f2}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "report W.0 held => SuborderEnded(W 0 held)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) "
         "SubordersRecalled(W do 1 Cancelled +3600000)\n"
         "report W.0 refused UnknownOrder => SuborderEnded(W 0 refused UnknownOrder remains)\n"
         "report W.1 failed Recalled => SuborderEnded(W 1 failed Recalled) "
         "StepFailed(W do 1 Order.UndoFailed applied x1) SubordersRecalled(W undo 1 +3600000) "
         "StepFailed(W undo 1 Order.UndoFailed unknown x1) StepExhausted(W undo 1) "
         "OrderFailed(Order.UndoFailed) AlertRaised(Order.UndoFailed)\n"
         "complete W => StepCompletedByHand(W undo 1) OrderResumed(Completed) "
         "AlertClosed(Completed) OrderCompensated(Cancelled)\n");
}

/* ---- operators ---- */

Test(engine_suborders, are_not_ended_by_hand_while_one_runs)
{
    TELL("W{f2}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
                  "SubordersSubmitted(W do 1 0 1 +3600000)\n"
                  "complete W => CommandRejected(AttemptRuns)\n"
                  "skip W => CommandRejected(AttemptRuns)\n"
                  "fail-step W Bad => CommandRejected(AttemptRuns)\n"
                  "said 2 of the sub-orders of step W have not answered\n"
                  "amend 7 => CommandRejected(NotInError)\n"
                  "extend W 1 5000 => CommandRejected(ExtensionExhausted)\n"
                  "ok W 1 => ReportIgnored(UnknownAttempt)\n");
}

Test(engine_suborders, says_of_items_that_have_yet_to_start_that_none_is_waited_for)
{
    TELL("W{f2,l1}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
                     "SubordersSubmitted(W do 1 0 +3600000)\n"
                     "complete W => CommandRejected(AttemptRuns)\n"
                     "said 1 of the sub-orders of step W have not answered\n"
                     "pause => OrderPaused\n"
                     "report W.0 final => SuborderEnded(W 0 final)\n"
                     "complete W => CommandRejected(AttemptRuns)\n"
                     "said step W has yet to start 1 of its items\n");
}

Test(engine_suborders, fail_one_by_one_by_hand)
{
    TELL("W{f2,o1}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "fail-step W Gone item 7 => CommandRejected(UnknownItem)\n"
         "fail-step A Gone item 0 => CommandRejected(UnknownStep)\n"
         "fail-step W Gone item 1 => SuborderEnded(W 1 refused Gone by anna)\n"
         "fail-step W Gone item 1 => CommandRejected(UnknownItem)\n"
         "report W.1 held => ReportIgnored(AlreadyEnded)\n"
         "messages undo o-1~W~1\n"
         "report W.0 final => SuborderEnded(W 0 final) StepSucceeded(W do 1) OrderProcessed\n");
    TELL("W{s}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x1) "
                 "SubordersSubmitted(W do 1 -1 +3600000)\n"
                 "fail-step W Gone item 0 => SuborderEnded(W -1 refused Gone by anna) "
                 "StepFailed(W do 1 Gone none x1) StepExhausted(W do 1) CompensationStarted(Gone) "
                 "OrderCompensated(Gone)\n");
}

/* An operator says that the undo is dealt with: nothing of it remains. */
Test(engine_suborders, that_are_undone_fail_by_hand_as_undone)
{
    TELL("W{f1} B<-W",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x1 [0]) "
         "SubordersSubmitted(W do 1 0 +3600000)\n"
         "report W.0 held => SuborderEnded(W 0 held) StepSucceeded(W do 1) StepStarted(B do 1)\n"
         "fail-step W Gone item 0 => CommandRejected(UnknownItem)\n"
         "fail B 1 Bad => StepFailed(B do 1 Bad none x1) StepExhausted(B do 1) "
         "CompensationStarted(Bad) SubordersRecalled(W undo 1 +3600000)\n"
         "fail-step W Gone item 0 => SuborderEnded(W 0 refused Gone by anna) StepSucceeded(W undo "
         "1) StepCompensated(W undo 1) OrderCompensated(Bad)\n");
}

Test(engine_suborders, that_failed_are_submitted_again_in_the_next_generation)
{
    TELL("W{f2,e}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "report W.0 failed Bad => SuborderEnded(W 0 failed Bad) "
         "SubordersRecalled(W do 1 Bad +3600000)\n"
         "report W.1 final => SuborderEnded(W 1 final) StepFailed(W do 1 Bad none x1) "
         "StepExhausted(W do 1) OrderFailed(Bad) AlertRaised(Bad)\n"
         "resubmit => StepResubmitted(W do 1 g1) OrderResumed(Resubmitted) "
         "AlertClosed(Resubmitted) SubordersStarted(W do 2 g1 x2) "
         "SubordersSubmitted(W do 2 0 +3600000)\n"
         "messages submit o-1~W~0~~1 with 0\n"
         "report W.0 held => ReportIgnored(Superseded)\n"
         "messages undo o-1~W~0\n"
         "report W.0 held g1 => SuborderEnded(W 0 g1 held) StepSucceeded(W do 2) OrderProcessed\n"
         "messages keep o-1~W~0~~1 held\n");
}

/* ---- takeovers: an event is emitted again, by what the order is by then ---- */

Test(engine_suborders, are_submitted_again_only_while_they_have_not_answered)
{
    TELL("W{f2}", "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
                  "SubordersSubmitted(W do 1 0 1 +3600000)\n"
                  "report W.0 held => SuborderEnded(W 0 held)\n"
                  "emit 1\n"
                  "messages submit o-1~W~1 with 1\n"
                  "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) "
                  "SubordersRecalled(W do 1 Cancelled +3600000)\n"
                  "emit 1\n"
                  "messages submit o-1~W~1 with 1\n");
}

/* I26: an old recall reaches no later generation. */
Test(engine_suborders, of_a_later_generation_are_not_recalled_by_an_old_event)
{
    TELL("W{f2,e}",
         "submit => OrderAccepted OrderStarted SubordersStarted(W do 1 x2 [0,1]) "
         "SubordersSubmitted(W do 1 0 1 +3600000)\n"
         "report W.0 failed Bad => SuborderEnded(W 0 failed Bad) "
         "SubordersRecalled(W do 1 Bad +3600000)\n"
         "messages undo o-1~W~1\n"
         "report W.1 failed Recalled => SuborderEnded(W 1 failed Recalled) "
         "StepFailed(W do 1 Bad none x1) StepExhausted(W do 1) OrderFailed(Bad) AlertRaised(Bad)\n"
         "resubmit => StepResubmitted(W do 1 g1) OrderResumed(Resubmitted) "
         "AlertClosed(Resubmitted) SubordersStarted(W do 2 g1 x2) "
         "SubordersSubmitted(W do 2 0 1 +3600000)\n"
         "emit 2\n"
         "messages none\n"
         "emit 1\n"
         "messages none\n"
         "emit 4\n"
         "messages submit o-1~W~0~~1 with 0, submit o-1~W~1~~1 with 1\n");
}
