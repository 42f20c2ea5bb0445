/* SPDX-License-Identifier: Apache-2.0 */
/* A sub-order: how it ends, what it reports, and every row of SettleSuborder's table in decision
 * 0018. */
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>

TestSuite(engine_settle);

#define BEGUN "submit under => OrderAccepted OrderStarted StepStarted(A do 1)\n"
#define HELD BEGUN "ok A 1 => StepSucceeded(A do 1) OrderHeld(+3600000)\n"
#define UNDONE                                                                  \
    HELD "settle undo => CompensationStarted(Recalled) StepStarted(A undo 1)\n" \
         "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1) "    \
         "OrderCompensated(Recalled)\n"

/* ---- its end ---- */

Test(engine_settle, is_held_if_something_can_be_undone)
{
    TELL("A{c}", HELD "messages report held of o-0\n"
                      "order Held A=Processed(do 1)\n"
                      "deadlines order+3600000\n");
}

Test(engine_settle, is_final_if_nothing_can_be_undone)
{
    TELL("A", BEGUN "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n"
                    "messages report final of o-0\n");
    TELL("A{c} P<-A{p}", BEGUN "ok A 1 => StepSucceeded(A do 1) StepStarted(P do 1)\n"
                               "ok P 1 => StepSucceeded(P do 1) OrderProcessed\n"
                               "messages report final of o-0\n");
}

Test(engine_settle, is_held_with_what_it_holds_itself)
{
    TELL("A{s}", "submit under => OrderAccepted OrderStarted SubordersStarted(A do 1 x1) "
                 "SubordersSubmitted(A do 1 -1 +3600000)\n"
                 "report A held => SuborderEnded(A -1 held) StepSucceeded(A do 1) "
                 "OrderHeld(+3600000)\n"
                 "messages report held of o-0\n"
                 "report A held => ReportIgnored(AlreadyEnded)\n"
                 "messages none\n"
                 "settle keep => OrderProcessed\n"
                 "messages keep o-1~A held\n");
    TELL("A{s}", "submit under => OrderAccepted OrderStarted SubordersStarted(A do 1 x1) "
                 "SubordersSubmitted(A do 1 -1 +3600000)\n"
                 "report A held => SuborderEnded(A -1 held) StepSucceeded(A do 1) "
                 "OrderHeld(+3600000)\n"
                 "settle undo => CompensationStarted(Recalled) "
                 "SubordersRecalled(A undo 1 +3600000)\n"
                 "messages undo o-1~A held\n");
}

Test(engine_settle, reports_that_it_was_undone_and_nothing_of_an_error)
{
    TELL("A{c,e}", BEGUN "fail A 1 Bad => StepFailed(A do 1 Bad none x1) StepExhausted(A do 1) "
                         "OrderFailed(Bad) AlertRaised(Bad)\n"
                         "messages none\n"
                         "compensate => CompensationStarted(Operator) AlertClosed(Operator) "
                         "OrderCompensated(Operator)\n"
                         "messages report failed Operator of o-0\n");
}

Test(engine_settle, of_a_root_is_never_held_and_reports_nothing)
{
    TELL("A{c}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                 "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n"
                 "messages none\n"
                 "submit => SubmissionRepeated\n"
                 "messages none\n"
                 "settle keep => CommandRejected(NotItsParent)\n"
                 "settle undo by ann => CommandRejected(NotItsParent)\n");
}

/* ---- its deadline ---- */

Test(engine_settle, reports_again_while_it_is_held)
{
    TELL("A{c}", HELD "timeout => CommandRejected(NotYetDue)\n"
                      "wait 3600000\n"
                      "timeout stale => CommandRejected(Stale)\n"
                      "timeout => OrderDeadlineSet(+3600000)\n"
                      "messages report held of o-0\n"
                      "wait 3600000\n"
                      "timeout => OrderDeadlineSet(+7200000)\n"
                      "wait 90000000\n"
                      "timeout => OrderDeadlineSet(+86400000)\n"
                      "order Held A=Processed(do 1)\n");
}

/* ---- SubmitOrder ---- */

Test(engine_settle, repeats_its_end_to_one_who_submits_it_again)
{
    TELL("A{c}", BEGUN "submit under => SubmissionRepeated\n"
                       "messages none\n"
                       "ok A 1 => StepSucceeded(A do 1) OrderHeld(+3600000)\n"
                       "submit under => SubmissionRepeated\n"
                       "messages report held of o-0\n"
                       "submit under old => SubmissionRepeated\n"
                       "messages report held of o-0\n"
                       "settle keep => OrderProcessed\n"
                       "messages none\n"
                       "submit under => SubmissionRepeated\n"
                       "messages report final of o-0\n");
    TELL("A{c}", UNDONE "messages report failed Recalled of o-0\n"
                        "submit under => SubmissionRepeated\n"
                        "messages report failed Recalled of o-0\n");
}

/* Correction 3: its parent asks until the id is free. */
Test(engine_settle, tells_no_parent_that_an_id_is_in_use)
{
    TELL("A{c}", BEGUN "submit under other => CommandRejected(ContentDiffers)\n"
                       "messages none\n");
}

/* Only what stays true is a refusal: correction 4. */
Test(engine_settle, refuses_a_submission_that_is_too_old)
{
    TELL("A{c}", "submit under old => CommandRejected(TooOld)\n"
                 "messages report refused Order.TooOld of o-0\n"
                 "blind submit under => CommandRejected(UnknownWorkflow)\n"
                 "messages none\n"
                 "order none\n");
}

/* ---- SettleSuborder, by the state ---- */

/* Correction 2: only what its parent has as held is missed. */
Test(engine_settle, of_no_order_is_rejected_and_reported_if_it_was_held)
{
    TELL("A{c}", "settle keep => CommandRejected(UnknownOrder)\n"
                 "messages none\n"
                 "settle unknown => CommandRejected(UnknownOrder)\n"
                 "messages none\n"
                 "settle undo => CommandRejected(UnknownOrder)\n"
                 "messages none\n"
                 "settle keep held => CommandRejected(UnknownOrder)\n"
                 "messages none\n"
                 "settle undo held => CommandRejected(UnknownOrder)\n"
                 "messages report refused UnknownOrder of o-0\n");
}

Test(engine_settle, of_an_order_under_way_undoes_it)
{
    TELL("A{c} B<-A", BEGUN "settle keep => CommandRejected(NotHeld)\n"
                            "settle unknown => CommandRejected(NotHeld)\n"
                            "messages none\n"
                            "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                            "settle undo => CompensationStarted(Recalled)\n"
                            "ok B 1 => StepSucceeded(B do 1) StepStarted(A undo 1)\n");
}

Test(engine_settle, of_an_order_in_error_undoes_it_and_closes_its_alert)
{
    TELL("A{c,e}", BEGUN "fail A 1 Bad applied => StepFailed(A do 1 Bad applied x1) "
                         "StepExhausted(A do 1) OrderFailed(Bad) AlertRaised(Bad)\n"
                         "settle keep => CommandRejected(NotHeld)\n"
                         "settle unknown => CommandRejected(NotHeld)\n"
                         "settle undo => CompensationStarted(Recalled) AlertClosed(Recalled) "
                         "StepStarted(A undo 1)\n");
}

Test(engine_settle, of_a_paused_order_undoes_it_after_its_pause)
{
    TELL("A{c} B<-A", BEGUN "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                            "pause => OrderPaused\n"
                            "fail B 1 - => StepFailed(B do 1 States.TaskFailed none x1) "
                            "StepExhausted(B do 1) CompensationStarted(States.TaskFailed)\n"
                            "resume => OrderPauseEnded StepStarted(A undo 1)\n");
    TELL("A{c}", HELD "pause => OrderPaused\n"
                      "settle undo => CompensationStarted(Recalled)\n"
                      "resume => OrderPauseEnded StepStarted(A undo 1)\n");
}

Test(engine_settle, keeps_or_undoes_what_is_held)
{
    TELL("A{c}", HELD "settle keep => OrderProcessed\n"
                      "messages none\n"
                      "order Processed A=Processed(do 1)\n");
    TELL("A{c}", UNDONE "messages report failed Recalled of o-0\n"
                        "order Compensated A=Compensated(undo 1)\n");
}

Test(engine_settle, of_a_held_order_whose_parent_is_unknown_raises_one_alert)
{
    TELL("A{c}", HELD "settle unknown => AlertRaised(ParentUnknown)\n"
                      "alert raised(ParentUnknown)\n"
                      "settle unknown => CommandRejected(ParentUnknown)\n"
                      "settle keep by ann => OrderProcessed AlertClosed(Completed)\n"
                      "alert closed(Completed)\n");
    TELL("A{c}", HELD "settle unknown => AlertRaised(ParentUnknown)\n"
                      "settle undo by ann => CompensationStarted(Recalled) AlertClosed(Recalled) "
                      "StepStarted(A undo 1)\n");
}

Test(engine_settle, of_an_order_that_is_being_undone_changes_nothing)
{
    TELL("A{c}",
         HELD "settle undo => CompensationStarted(Recalled) StepStarted(A undo 1)\n"
              "settle keep => CommandRejected(AlreadyCompensating)\n"
              "settle undo => CommandRejected(AlreadyCompensating)\n"
              "settle unknown => CommandRejected(NotHeld)\n"
              "messages none\n"
              "fail A 1 Bad undo => StepFailed(A undo 1 Bad none x1) StepExhausted(A undo 1) "
              "OrderFailed(Bad) AlertRaised(Bad)\n"
              "settle undo => CommandRejected(AlreadyCompensating)\n"
              "settle keep => CommandRejected(AlreadyCompensating)\n"
              "messages none\n");
}

Test(engine_settle, of_an_order_that_has_ended_is_rejected_and_its_end_reported)
{
    TELL("A{c}", HELD "settle keep => OrderProcessed\n"
                      "settle keep => CommandRejected(AlreadyEnded)\n"
                      "messages none\n"
                      "settle unknown => CommandRejected(NotHeld)\n"
                      "messages none\n"
                      "settle undo => CommandRejected(AlreadyEnded)\n"
                      "messages report final of o-0\n");
    TELL("A{c}", UNDONE "settle keep => CommandRejected(AlreadyEnded)\n"
                        "messages none\n"
                        "settle undo => CommandRejected(AlreadyEnded)\n"
                        "messages report failed Recalled of o-0\n");
}

Test(engine_settle, by_another_parent_is_rejected)
{
    TELL("A{c}", HELD "settle undo of V => CommandRejected(NotItsParent)\n"
                      "messages none\n"
                      "order Held A=Processed(do 1)\n");
}

/* So a repeated `reeve orders settle` says that the first one did it. */
Test(engine_settle, by_operators_says_what_it_came_too_late_or_too_early_for)
{
    TELL("A{c}", BEGUN "settle keep by ann => CommandRejected(NotHeld)\n"
                       "settle undo by ann => CommandRejected(NotHeld)\n"
                       "order Processing A=Processing(do 1)\n");
    TELL("A{c}", HELD "settle unknown => AlertRaised(ParentUnknown)\n"
                      "settle keep by ann => OrderProcessed AlertClosed(Completed)\n"
                      "settle keep by ann => CommandRejected(AlreadyEnded)\n"
                      "settle undo by ann => CommandRejected(AlreadyEnded)\n"
                      "messages none\n");
    TELL("A{c}", HELD "settle unknown => AlertRaised(ParentUnknown)\n"
                      "settle undo by ann => CompensationStarted(Recalled) AlertClosed(Recalled) "
                      "StepStarted(A undo 1)\n"
                      "settle keep by ann => CommandRejected(AlreadyCompensating)\n"
                      "settle undo by ann => CommandRejected(AlreadyCompensating)\n");
    TELL("A{c}", UNDONE "settle undo by ann => CommandRejected(AlreadyEnded)\n"
                        "messages none\n");
}

/* ---- what else may be asked of a held order ---- */

Test(engine_settle, of_a_held_order_is_its_parents_alone)
{
    TELL("A{c}", HELD "cancel => CommandRejected(HeldByParent)\n"
                      "compensate => CommandRejected(HeldByParent)\n"
                      "settle keep by ann => CommandRejected(HeldByParent)\n"
                      "settle undo by ann => CommandRejected(HeldByParent)\n"
                      "complete A => CommandRejected(HeldByParent)\n"
                      "skip A => CommandRejected(HeldByParent)\n"
                      "fail-step A Bad => CommandRejected(HeldByParent)\n"
                      "resubmit => CommandRejected(NotInError)\n"
                      "amend 7 => CommandRejected(NotInError)\n"
                      "migrate 2 => CommandRejected(HeldByParent)\n"
                      "signal A 7 => CommandRejected(AlreadyEnded)\n"
                      "ok A 1 => ReportIgnored(AlreadyEnded)\n"
                      "pause => OrderPaused\n"
                      "resume => OrderPauseEnded\n"
                      "order Held A=Processed(do 1)\n");
}
