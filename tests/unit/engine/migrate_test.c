/* SPDX-License-Identifier: Apache-2.0 */
/* MigrateOrder: an order goes on with the steps of another version. */
#include "engine/engine.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_story.h"
#include "tests/lib/engine_workflow.h"

#include <criterion/criterion.h>

TestSuite(engine_migrate);

Test(engine_migrate, goes_on_with_the_steps_of_the_other_version)
{
    TELL("A{c} B<-A C<-B", "version 2 A{c} X<-A B<-X\n"
                           "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                           "migrate 2 => OrderMigrated\n"
                           "order Processing A=Processing(do 1) X=Pending B=Pending\n"
                           "status none\n"
                           "ok A 1 => StepSucceeded(A do 1) StepStarted(X do 1)\n"
                           "ok X 1 => StepSucceeded(X do 1) StepStarted(B do 1)\n"
                           "ok B 1 => StepSucceeded(B do 1) OrderProcessed\n"
                           "migrate 2 => CommandRejected(AlreadyEnded)\n");
}

Test(engine_migrate, starts_what_may_start_now)
{
    TELL("A B<-A", "version 2 A X<-A B<-A\n"
                   "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                   "migrate 2 => OrderMigrated StepStarted(X do 1)\n"
                   "ok B 1 => StepSucceeded(B do 1)\n"
                   "ok X 1 => StepSucceeded(X do 1) OrderProcessed\n");
}

Test(engine_migrate, ends_an_order_that_has_nothing_left_to_do)
{
    TELL("A B<-A", "version 2 A\n"
                   "capacity agent=1\n"
                   "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "capacity agent=0\n"
                   "ok A 1 => StepSucceeded(A do 1) StepQueued(B do 0 capacity)\n"
                   "queued B\n"
                   "migrate 2 => OrderMigrated OrderProcessed\n"
                   "start B attempt 0 => CommandRejected(UnknownStep)\n");
}

/* The retriers of the other version stand elsewhere, and one of them is another one. */
Test(engine_migrate, keeps_the_retries_of_equal_retriers)
{
    TELL("A{r1:Busy,r1:Down,e}",
         "version 2 A{r9:Gone,r1:Down,r1:Busy,e}\n"
         "version 3 A{r1:Busy,r2:Down,e}\n"
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
         "migrate 2 => OrderMigrated StepStarted(A do 2 g1)\n"
         "fail A 2 Gone => StepFailed(A do 2 Gone none x2) StepRetryScheduled(A do 2 +1000)\n"
         "wait 1000\n"
         "start A => StepStarted(A do 3 g1)\n"
         "fail A 3 Down => StepFailed(A do 3 Down none x3) StepRetryScheduled(A do 3 +1000)\n"
         "migrate 3 => OrderMigrated StepStarted(A do 4 g2)\n"
         "fail A 4 Down => StepFailed(A do 4 Down none x4) StepRetryScheduled(A do 4 +1000)\n"
         "wait 1000\n"
         "start A => StepStarted(A do 5 g2)\n"
         "fail A 5 Busy => StepFailed(A do 5 Busy none x5) StepExhausted(A do 5)"
         " OrderFailed(Busy) AlertRaised(Busy)\n");
}

/* Of records of earlier versions, which do not say: they stay where they were. */
Test(engine_migrate, keeps_retries_by_their_places_where_the_record_does_not_say)
{
    struct step_plan plan = {.name = TEXT("A"), .agent = TEXT("x")};
    struct event events[] = {
        {.kind = EVENT_ORDER_MIGRATED,
         .order_migrated = {
             .from_version = 1, .workflow_version = 2, .steps = &plan, .step_count = 1}}};
    struct step step = {.name = TEXT("A"), .state = STEP_PENDING, .retries_used = {1, 2}};
    struct order order = {.version = 1, .state = ORDER_PROCESSING, .steps = &step, .step_count = 1};
    struct decision decision = {
        .order_version = 2, .order_state = ORDER_PROCESSING, .events = events, .event_count = 1};
    struct test_arena memory;
    test_arena_init(&memory);
    order_apply_decision(&order, &decision, &memory.arena);
    cr_assert_eq(order.steps[0].retries_used[0], 1);
    cr_assert_eq(order.steps[0].retries_used[1], 2);
    test_arena_deinit(&memory);
}

/* What an attempt may have more is what MaxExtensionSeconds says, not what two timeouts differ. */
Test(engine_migrate, bounds_the_extension_of_an_attempt_that_runs)
{
    TELL("A{m5000}", "version 2 A{t60000,m7000}\n"
                     "version 3 A{t60000,m2000}\n"
                     "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                     "extend A 1 12000 => StepExtended(A do 1 +12000)\n"
                     "migrate 2 => OrderMigrated\n"
                     "extend A 1 99999 => StepExtended(A do 1 +17000)\n"
                     "extend A 1 99999 => CommandRejected(ExtensionExhausted)\n"
                     "migrate 3 => OrderMigrated\n"
                     "extend A 1 99999 => CommandRejected(ExtensionExhausted)\n"
                     "wait 18000\n"
                     "recover A => StepTimedOut(A do 1 unknown x1) StepExhausted(A do 1)"
                     " CompensationStarted(States.Timeout) OrderCompensated(States.Timeout)\n");
    TELL("A{t60000,m5000,z1}", "version 2 A{m5000,z1}\n"
                               "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                               "migrate 2 => OrderMigrated\n"
                               "extend A 1 99999 => StepExtended(A do 1 +65000)\n"
                               "fail A 1 No => StepFailed(A do 1 No none x1)"
                               " StepRetryScheduled(A do 1 +0) StepStarted(A do 2)\n"
                               "extend A 2 99999 => StepExtended(A do 2 +15000)\n");
}

struct fold {
    struct test_arena memory;
    struct order order;
    uint32_t decisions;
};

static struct decision decide(struct fold *fold, const struct command *cmd,
                              const struct workflow *workflow, const struct workflow *target)
{
    struct decision decision;
    struct decide_input input = {.now = 1000 + fold->decisions,
                                 .instance = TEXT("scheduler-1"),
                                 .workflow = workflow,
                                 .target = target,
                                 .command_offset = fold->decisions};
    engine_decide(fold->order.version > 0 ? &fold->order : NULL, cmd, &input, &fold->memory.arena,
                  &decision);
    decision.offset = fold->decisions++;
    order_apply_decision(&fold->order, &decision, &fold->memory.arena);
    return decision;
}

static struct command report(const char *step)
{
    return (struct command){.kind = COMMAND_REPORT_STEP,
                            .order_id = TEXT("o-1"),
                            .report_step = {.order_id = TEXT("o-1"),
                                            .step = text_of(step),
                                            .attempt = 1,
                                            .succeeded = true,
                                            .output = text_of(step)}};
}

/* The same from any owner at any time: its inputs are steps, not positions. */
Test(engine_migrate, leaves_the_request_of_what_runs_as_it_is)
{
    struct fold fold = {.decisions = 0};
    struct effects before, after;
    test_arena_init(&fold.memory);
    struct arena *arena = &fold.memory.arena;
    struct workflow *first = workflow_of(arena, "A B C<-A");
    struct workflow *second = workflow_of(arena, "B X A C<-A");
    second->version = 2;
    struct command submit = {.kind = COMMAND_SUBMIT_ORDER,
                             .order_id = TEXT("o-1"),
                             .submit_order = {.order_id = TEXT("o-1"), .workflow = TEXT("test")}};
    struct command migrate = {.kind = COMMAND_MIGRATE_ORDER,
                              .order_id = TEXT("o-1"),
                              .migrate_order = {.order_id = TEXT("o-1"), .version = 2}};
    struct command ok_a = report("A");
    struct command ok_b = report("B");
    decide(&fold, &submit, first, NULL);
    decide(&fold, &ok_b, first, NULL);
    struct decision started = decide(&fold, &ok_a, first, NULL);
    cr_assert_eq(started.events[1].kind, EVENT_STEP_STARTED);
    effects_of(&started, 3, &fold.order, arena, &before);
    cr_assert_eq(before.request_count, 1);
    cr_assert_eq(before.requests[0].order->workflow_version, 1);
    struct decision migrated = decide(&fold, &migrate, first, second);
    cr_assert_eq(migrated.events[0].kind, EVENT_ORDER_MIGRATED);
    cr_assert_eq(fold.order.details.workflow_version, 2);
    effects_of(&started, 3, &fold.order, arena, &after);
    cr_assert_eq(after.request_count, 1);
    for (int i = 0; i < 2; i++) {
        const struct step_request *request = i == 0 ? before.requests : after.requests;
        cr_assert_eq(request->output_count, 1);
        cr_assert(text_equal(request->outputs[0].step, TEXT("A")));
    }
    cr_assert_eq(after.requests[0].order->workflow_version, 1);
    test_arena_deinit(&fold.memory);
}

/* A log may hold what the engine would not have decided. */
Test(engine_migrate, is_not_applied_where_it_does_not_fit)
{
    struct fold fold = {.decisions = 0};
    test_arena_init(&fold.memory);
    struct arena *arena = &fold.memory.arena;
    struct workflow *first = workflow_of(arena, "A B<-A");
    struct command submit = {.kind = COMMAND_SUBMIT_ORDER,
                             .order_id = TEXT("o-1"),
                             .submit_order = {.order_id = TEXT("o-1"), .workflow = TEXT("test")}};
    decide(&fold, &submit, first, NULL);
    struct step_plan twice[] = {{TEXT("A"), TEXT("x"), {0}, false},
                                {TEXT("A"), TEXT("x"), {0}, false}};
    struct step_plan other[] = {{TEXT("B"), TEXT("x"), {0}, false}};
    struct event event = {.kind = EVENT_ORDER_MIGRATED,
                          .order_migrated = {1, 2, twice, 2, true, TEXT("ann"), TEXT("why")}};
    struct decision decision = {.offset = 1,
                                .order_id = TEXT("o-1"),
                                .order_version = 2,
                                .order_state = ORDER_PROCESSING,
                                .decided_at = 2000,
                                .events = &event,
                                .event_count = 1};
    cr_assert_str_eq(order_apply_problem(&fold.order, &decision, arena),
                     "a version has a step twice");
    event.order_migrated.steps = other;
    event.order_migrated.step_count = 1;
    cr_assert_str_eq(order_apply_problem(&fold.order, &decision, arena),
                     "a version lacks a step that was started");
    other[0] = (struct step_plan){.name = TEXT("A"), .agent = TEXT("x"), .new_key = true};
    cr_assert_str_eq(order_apply_problem(&fold.order, &decision, arena),
                     "a step gets another key that may have had an effect");
    event.order_migrated.step_count = 0;
    cr_assert_str_eq(order_apply_problem(&fold.order, &decision, arena),
                     "an order has 1 to 64 steps");
    event.order_migrated = (struct order_migrated){1, 2, twice, 1, true, TEXT("ann"), TEXT("why")};
    cr_assert_null(order_apply_problem(&fold.order, &decision, arena));
    fold.order.state = ORDER_COMPENSATING;
    cr_assert_str_eq(order_apply_problem(&fold.order, &decision, arena),
                     "an order gets another version that is undone or has ended");
    test_arena_deinit(&fold.memory);
}

Test(engine_migrate, refuses_what_it_cannot_move)
{
    TELL("A B<-A", "version 2 A B<-A\n"
                   "migrate 2 => CommandRejected(UnknownOrder)\n"
                   "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "migrate 1 => CommandRejected(SameVersion)\n"
                   "said the order has version 1 already\n"
                   "migrate 3 => CommandRejected(UnknownWorkflow)\n"
                   "said version 3 of test is not deployed\n"
                   "migrate 2 retired => CommandRejected(WorkflowRetired)\n"
                   "migrate 2 from 3 => CommandRejected(OtherVersion)\n"
                   "said the order has version 1 of test, not 3\n"
                   "migrate 2 of other => CommandRejected(OtherWorkflow)\n"
                   "said the order has the workflow test, not other\n"
                   "blind migrate 2 => CommandRejected(UnknownWorkflow)\n"
                   "said version 1 of the order's workflow test is not available\n"
                   "migrate 2 of test => OrderMigrated\n"
                   "migrate 2 => CommandRejected(SameVersion)\n");
}

Test(engine_migrate, names_the_step_that_differs)
{
    TELL("A{c} B<-A{p} C<-B",
         "version 2 A{c,aother} B<-A{p} C<-B\n"
         "version 3 A B<-A{p} C<-B\n"
         "version 4 X A<-X{c} B<-A{p} C<-B\n"
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "migrate 2 => CommandRejected(StepsDiffer)\n"
         "said step A is Processing, and in version 2 it has other agents\n"
         "migrate 3 => CommandRejected(StepsDiffer)\n"
         "said step A is Processing, and in version 3 it is undone in another\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
         "migrate 4 => CommandRejected(StepsDiffer)\n"
         "said step A is Processed, and in version 4 it comes after other\n");
    TELL("A B<-A{p} C<-B", "version 2 A B<-A C<-B{p}\n"
                           "version 3 A C<-A\n"
                           "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                           "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                           "migrate 2 => CommandRejected(StepsDiffer)\n"
                           "said step B is Processing, and in version 2 it is not the pivot\n"
                           "migrate 3 => CommandRejected(StepsDiffer)\n"
                           "said version 3 has no step B, which is Processing\n");
}

/* The step that is wrong may be another one in the version that repairs it. */
Test(engine_migrate, lets_a_step_without_effect_differ)
{
    TELL("A{c} B<-A{e}", "version 2 A{c} X<-A B<-X{aother}\n"
                         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                         "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
                         " OrderFailed(No) AlertRaised(No)\n"
                         "migrate 2 => OrderMigrated\n"
                         "order Error A=Processed(do 1) X=Pending B=Error(do 1)\n"
                         "resubmit => StepResubmitted(B do 1 g1) OrderResumed(Resubmitted)"
                         " AlertClosed(Resubmitted) StepStarted(X do 1)\n"
                         "ok X 1 => StepSucceeded(X do 1) StepStarted(B do 2 g1 @other)\n"
                         "ok B 2 => StepSucceeded(B do 2) OrderProcessed\n");
}

Test(engine_migrate, keeps_a_step_whose_effect_is_unknown)
{
    TELL("A{e} B<-A", "version 2 A{aother} B<-A\n"
                      "version 3 B\n"
                      "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                      "fail A 1 No unknown => StepFailed(A do 1 No unknown x1)"
                      " StepExhausted(A do 1) OrderFailed(No) AlertRaised(No)\n"
                      "migrate 2 => CommandRejected(StepsDiffer)\n"
                      "said step A is of unknown effect, and in version 2 it has other agents\n"
                      "migrate 3 => CommandRejected(StepsDiffer)\n"
                      "said version 3 has no step A, which is of unknown effect\n");
}

Test(engine_migrate, tries_at_once_what_waits_for_its_next_attempt)
{
    TELL("A{r2}", "version 2 A{r2}\n"
                  "version 3 X A<-X\n"
                  "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                  "fail A 1 No => StepFailed(A do 1 No none x1) StepRetryScheduled(A do 1 +1000)\n"
                  "migrate 2 => OrderMigrated StepStarted(A do 2 g1)\n"
                  "fail A 2 No => StepFailed(A do 2 No none x2) StepRetryScheduled(A do 2 +2000)\n"
                  "migrate 3 => OrderMigrated StepStarted(X do 1)\n"
                  "deadlines recover(X)+11000\n"
                  "wait 2000\n"
                  "start A => CommandRejected(Stale)\n"
                  "ok X 1 => StepSucceeded(X do 1) StepStarted(A do 3 g2)\n");
}

Test(engine_migrate, queues_again_at_the_agents_of_the_other_version)
{
    TELL("A{aslow}", "version 2 A{afast}\n"
                     "capacity slow=0 fast=1\n"
                     "submit => OrderAccepted OrderStarted StepQueued(A do 0 capacity)\n"
                     "migrate 2 => OrderMigrated StepStarted(A do 1 @fast)\n");
}

Test(engine_migrate, starts_nothing_while_the_order_is_paused)
{
    TELL("A B<-A", "version 2 A B<-A X<-A\n"
                   "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                   "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                   "pause => OrderPaused\n"
                   "migrate 2 => OrderMigrated\n"
                   "resume => OrderPauseEnded StepStarted(X do 1)\n");
}

Test(engine_migrate, leaves_an_order_alone_that_is_undone)
{
    TELL("A{c} B<-A", "version 2 A{c} B<-A C<-B\n"
                      "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                      "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1)\n"
                      "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
                      " CompensationStarted(No) StepStarted(A undo 1)\n"
                      "migrate 2 => CommandRejected(AlreadyCompensating)\n"
                      "fail A 1 No undo => StepFailed(A undo 1 No none x1) StepExhausted(A undo 1)"
                      " OrderFailed(No) AlertRaised(No)\n"
                      "migrate 2 => CommandRejected(AlreadyCompensating)\n");
}

Test(engine_migrate, moves_a_step_that_was_ended_by_hand)
{
    TELL("A{c,e} B<-A", "version 2 A{c,aother} X<-A\n"
                        "version 3 A{c,aother} X<-A B<-X\n"
                        "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                        "fail A 1 No => StepFailed(A do 1 No none x1) StepExhausted(A do 1)"
                        " OrderFailed(No) AlertRaised(No)\n"
                        "skip A => StepSkippedByHand(A do 1) OrderResumed(Skipped)"
                        " AlertClosed(Skipped) StepStarted(B do 1)\n"
                        "migrate 2 => CommandRejected(StepsDiffer)\n"
                        "said version 2 has no step B, which is Processing\n"
                        "migrate 3 => CommandRejected(StepsDiffer)\n"
                        "said step B is Processing, and in version 3 it comes after other\n"
                        "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
                        " CompensationStarted(No) OrderCompensated(No)\n");
}

/* It has no attempt; what undoes it is the agent that it had all the same. */
Test(engine_migrate, leaves_a_step_that_was_completed_by_hand_with_its_agent)
{
    TELL("A{c,aslow} B<-A", "version 2 A{c,afast} B<-A\n"
                            "version 3 A{c,afast+slow} B<-A\n"
                            "capacity slow=0 fast=1 agent=1\n"
                            "submit => OrderAccepted OrderStarted StepQueued(A do 0 capacity)\n"
                            "complete A 1 => StepCompletedByHand(A do 0) StepStarted(B do 1)\n"
                            "migrate 2 => CommandRejected(StepsDiffer)\n"
                            "migrate 3 => OrderMigrated\n"
                            "capacity slow=1 fast=1 agent=1\n"
                            "fail B 1 No => StepFailed(B do 1 No none x1) StepExhausted(B do 1)"
                            " CompensationStarted(No) StepStarted(A undo 1 @slow)\n");
}
