/* SPDX-License-Identifier: Apache-2.0 */
/* Extensions of running attempts; and effects of an order whose id another one has by now. */
#include "engine/engine.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_story.h"
#include "tests/lib/engine_workflow.h"

#include <criterion/criterion.h>

TestSuite(engine_extend);

#define STARTED "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"

/* An attempt has 10000 ms, an undo 20000. */
Test(engine_extend, grants_the_requested_time)
{
    TELL("A{m60000}", STARTED "wait 5000\n"
                              "extend A 1 30000 => StepExtended(A do 1 +30000)\n"
                              "order Processing A=Processing(do 1)\n"
                              "deadlines recover(A)+31000\n"
                              "requests A(do 1 o-1/A/do/0)\n"
                              "status StepChanged A=Processing(do 1)\n"
                              "message half done\n"
                              "alert none\n"
                              "wait 30999\n"
                              "recover A => CommandRejected(NotYetDue)\n"
                              "wait 1\n"
                              "recover A => StepTimedOut(A do 1 unknown x1) StepExhausted(A do 1)"
                              " CompensationStarted(States.Timeout)"
                              " OrderCompensated(States.Timeout)\n");
}

Test(engine_extend, limits_the_sum_of_all_extensions)
{
    TELL("A{m7000}", STARTED "extend A 1 12000 => StepExtended(A do 1 +12000)\n"
                             "wait 2000\n"
                             "extend A 1 99999 => StepExtended(A do 1 +15000)\n"
                             "extend A 1 99999 => CommandRejected(ExtensionExhausted)\n"
                             "said attempt 1 of step A runs until 1017000, and at most until "
                             "1017000\n"
                             "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n");
    TELL("A", STARTED "extend A 1 99999 => CommandRejected(ExtensionExhausted)\n"
                      "status none\n"
                      "requests none\n");
}

Test(engine_extend, counts_extensions_per_attempt)
{
    TELL("A{m5000,z1}", STARTED "extend A 1 99999 => StepExtended(A do 1 +15000)\n"
                                "fail A 1 Busy => StepFailed(A do 1 Busy none x1)"
                                " StepRetryScheduled(A do 1 +0) StepStarted(A do 2)\n"
                                "deadlines recover(A)+11000\n"
                                "extend A 2 99999 => StepExtended(A do 2 +15000)\n");
}

Test(engine_extend, ignores_a_request_for_no_more_than_the_remaining_time)
{
    TELL("A{m5000}", STARTED "extend A 1 10000 => CommandRejected(ExtensionExhausted)\n"
                             "extend A 1 9000 => CommandRejected(ExtensionExhausted)\n"
                             "extend A 1 -5 => CommandRejected(ExtensionExhausted)\n");
}

Test(engine_extend, decides_by_log_order_whether_a_request_is_late)
{
    TELL("A{m60000}", STARTED "wait 12000\n"
                              "extend A 1 5000 => StepExtended(A do 1 +5000)\n"
                              "recover A => CommandRejected(NotYetDue)\n"
                              "wait 6000\n"
                              "extend A 1 0 => CommandRejected(ExtensionExhausted)\n"
                              "recover A => StepTimedOut(A do 1 unknown x1) StepExhausted(A do 1)"
                              " CompensationStarted(States.Timeout)"
                              " OrderCompensated(States.Timeout)\n"
                              "extend A 1 5000 => CommandRejected(Stale)\n");
}

Test(engine_extend, rejects_recoveries_of_an_earlier_deadline)
{
    TELL("A{m60000}", STARTED "wait 11000\n"
                              "extend A 1 5000 => StepExtended(A do 1 +5000)\n"
                              "recover A stale => CommandRejected(Stale)\n");
}

Test(engine_extend, extends_only_the_running_attempt)
{
    TELL("A{m60000,r1} B<-A",
         "extend A 1 99999 => CommandRejected(UnknownOrder)\n" STARTED
         "extend A 2 99999 => CommandRejected(Stale)\n"
         "extend A 1 99999 undo => CommandRejected(Stale)\n"
         "extend B 0 99999 => CommandRejected(Stale)\n"
         "extend C 1 99999 => CommandRejected(UnknownStep)\n"
         "blind extend A 1 99999 => CommandRejected(UnknownWorkflow)\n"
         "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
         "extend A 1 99999 => CommandRejected(Stale)\n"
         "said the attempt has ended: step A is Pending\n"
         "wait 1000\n"
         "start A => StepStarted(A do 2)\n"
         "extend A 1 99999 => CommandRejected(Stale)\n");
}

Test(engine_extend, limits_the_extensions_of_an_undo_separately)
{
    TELL("A{m60000,n3000,c} B<-A",
         STARTED "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                 "fail B 1 Busy => StepFailed(B do 1 Busy none x1) StepExhausted(B do 1)"
                 " CompensationStarted(Busy) StepStarted(A undo 1)\n"
                 "extend A 1 99999 undo => StepExtended(A undo 1 +23000)\n"
                 "requests A(undo 1 o-1/A/undo/0 of o-1/A/do/0)\n"
                 "deadlines recover(A)+24000\n");
}

Test(engine_extend, extends_attempts_while_the_order_is_in_error_or_compensating)
{
    TELL("A{m60000,c} B{e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1) StepStarted(B do 1)\n"
         "fail B 1 Busy => StepFailed(B do 1 Busy none x1) StepExhausted(B do 1) OrderFailed(Busy)"
         " AlertRaised(Busy)\n"
         "extend A 1 20000 => StepExtended(A do 1 +20000)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
         " AlertClosed(Cancelled)\n"
         "extend A 1 30000 => StepExtended(A do 1 +30000)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(A undo 1)\n");
}

/* ---- an id that was used again ---- */

/* The effects of a Decision are emitted late, when another order already has its id. */
Test(engine_effects, emits_no_requests_for_an_expired_order)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct decide_input input = {.now = 1000, .workflow = workflow_of(&memory.arena, "A")};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = TEXT("o-1")};
    cmd.submit_order.order_id = TEXT("o-1");
    cmd.submit_order.reply_to = TEXT("r");
    struct decision first;
    struct decision second;
    struct order order = {0};
    struct effects effects;
    engine_decide(NULL, &cmd, &input, &memory.arena, &first);
    first.offset = 2;
    engine_decide(NULL, &cmd, &input, &memory.arena, &second);
    second.offset = 9;
    order_apply_decision(&order, &second, &memory.arena);
    effects_of(&second, 0, &order, &memory.arena, &effects);
    cr_expect_eq(effects.request_count, 1);
    effects_of(&first, 0, &order, &memory.arena, &effects);
    cr_expect_eq(effects.request_count, 0);
    cr_expect(effects.has_status);
    test_arena_deinit(&memory);
}
