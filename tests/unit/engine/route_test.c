/* SPDX-License-Identifier: Apache-2.0 */
/* Which agent gets a step, and what becomes of steps for which there is none. */
#include "engine/engine.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_story.h"
#include "tests/lib/engine_workflow.h"

#include <criterion/criterion.h>
#include <signal.h>

TestSuite(engine_route);

#define ACCEPTED "submit => OrderAccepted OrderStarted "

/* ---- choosing ---- */

Test(engine_route, starts_at_the_first_agent_without_a_reason_when_there_is_no_table)
{
    TELL("A{ax+y,r1}", ACCEPTED "StepStarted(A do 1 @x)\n"
                                "requests A(do 1 o-1/A/do/0 @x)\n"
                                "said nothing\n"
                                "fail A 1 Busy => StepFailed(A do 1 Busy none x1)"
                                " StepRetryScheduled(A do 1 +1000)\n"
                                "wait 1000\n"
                                "start A => StepStarted(A do 2 @x)\n");
}

Test(engine_route, chooses_the_most_free_capacity_and_records_the_reason)
{
    TELL("A{ax+y+z}", "capacity x=1 y=3 z=unhealthy\n" ACCEPTED "StepStarted(A do 1 @y)\n"
                      "said y: some are free; x: some are free; z: circuit open\n"
                      "requests A(do 1 o-1/A/do/0 @y)\n"
                      "order Processing A=Processing(do 1)\n");
}

Test(engine_route, chooses_the_faster_of_equal_capacity_then_the_first_in_the_file)
{
    TELL("A{ax+y+z}", "capacity x=2@90 y=2@80 z=2@80\n" ACCEPTED "StepStarted(A do 1 @y)\n");
    TELL("A{ax+y}", "capacity y=2@80 x=2@80\n" ACCEPTED "StepStarted(A do 1 @x)\n");
}

Test(engine_route, records_no_reason_for_the_only_agent_with_capacity)
{
    TELL("A{ax}", "capacity x=2\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                  "said nothing\n");
}

Test(engine_route, treats_an_unknown_agent_as_unhealthy)
{
    TELL("A{ax+y}", "capacity y=unhealthy\n" ACCEPTED "StepQueued(A do 0 +100)\n"
                    "said x: unknown agent; y: circuit open\n");
}

Test(engine_route, takes_no_more_capacity_in_one_decision_than_is_free)
{
    TELL("A{ax} B{ax} C{ax}",
         "capacity x=2\n" ACCEPTED "StepStarted(A do 1 @x) StepStarted(B do 1 @x)"
         " StepQueued(C do 0 capacity)\n"
         "said x: some are free, less what starts with it\n");
    TELL("A{ax+y} B{ax+y} C{ax+y} D{ax+y}",
         "capacity x=2 y=1\n" ACCEPTED "StepStarted(A do 1 @x) StepStarted(B do 1 @x)"
         " StepStarted(C do 1 @y) StepQueued(D do 0 capacity)\n");
}

Test(engine_route, treats_negative_free_capacity_as_none)
{
    TELL("A{ax}", "capacity x=-3\n" ACCEPTED "StepQueued(A do 0 capacity)\n");
}

/* ---- waiting ---- */

Test(engine_route, leaves_a_queued_step_pending_without_attempt_or_deadline)
{
    TELL("A{ax}", "capacity x=0\n" ACCEPTED "StepQueued(A do 0 capacity)\n"
                  "said x: none is free\n"
                  "order Processing A=Pending\n"
                  "queued A\n"
                  "deadlines none\n"
                  "requests none\n"
                  "status Received\n"
                  "alert none\n");
    TELL("T60000 A{ax}", "capacity x=0\n" ACCEPTED "StepQueued(A do 0 capacity)\n"
                         "deadlines order+61000\n");
}

Test(engine_route, starts_when_there_is_capacity)
{
    TELL("A{ax}", "capacity x=0\n" ACCEPTED "StepQueued(A do 0 capacity)\n"
                  "wait 7000\n"
                  "start A => CommandRejected(NotYetDue)\n"
                  "capacity x=1\n"
                  "start A => StepStarted(A do 1 @x)\n"
                  "said x: some are free\n"
                  "deadlines recover(A)+11000\n"
                  "queued \n"
                  "start A => CommandRejected(Stale)\n"
                  "ok A 1 => StepSucceeded(A do 1) OrderProcessed\n");
}

Test(engine_route, starts_a_queued_step_whatever_retry_time_the_command_names)
{
    TELL("A{ax}", "capacity x=unhealthy\n" ACCEPTED "StepQueued(A do 0 +100)\n"
                  "capacity x=1\n"
                  "start A stale => StepStarted(A do 1 @x)\n");
    TELL("A{ax}", "capacity x=unhealthy\n" ACCEPTED "StepQueued(A do 0 +100)\n"
                  "capacity x=1\n"
                  "start A attempt 1 => CommandRejected(Stale)\n"
                  "start A undo => CommandRejected(Stale)\n");
}

Test(engine_route, checks_less_often_the_longer_no_agent_is_healthy)
{
    TELL("A{ax}", "capacity x=unhealthy\n" ACCEPTED "StepQueued(A do 0 +100)\n"
                  "deadlines start(A)+100\n"
                  "start A => CommandRejected(NotYetDue)\n"
                  "said not due for another 100 ms\n"
                  "status none\n"
                  "wait 100\n"
                  "start A => StepQueued(A do 0 +100 since-100)\n"
                  "status none\n"
                  "wait 900\n"
                  "start A => StepQueued(A do 0 +500 since-1000)\n"
                  "wait 99000\n"
                  "start A => StepQueued(A do 0 +5000 since-100000)\n"
                  "capacity x=0\n"
                  "start A => CommandRejected(NotYetDue)\n"
                  "wait 5000\n"
                  "start A => StepQueued(A do 0 capacity since-105000)\n"
                  "capacity x=unhealthy\n"
                  "start A => CommandRejected(NotYetDue)\n"
                  "deadlines none\n"
                  "capacity x=1\n"
                  "start A => StepStarted(A do 1 @x)\n");
}

Test(engine_route, waits_for_a_healthy_agent_without_free_capacity)
{
    TELL("A{ax+y}", "capacity x=unhealthy y=0\n" ACCEPTED "StepQueued(A do 0 capacity)\n");
}

Test(engine_route, starts_queued_steps_with_any_command_of_the_order)
{
    TELL("A{ax} B{ay}",
         "capacity x=1 y=0\n" ACCEPTED "StepStarted(A do 1 @x) StepQueued(B do 0 capacity)\n"
         "capacity x=1 y=1\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1 @y)\n");
    TELL("A{ax} B{ay}",
         "capacity x=1 y=0\n" ACCEPTED "StepStarted(A do 1 @x) StepQueued(B do 0 capacity)\n"
         "ok A 1 => StepSucceeded(A do 1)\n"
         "status StepChanged A=Processed(do 1)\n");
    TELL("A{ax} B{ay}",
         "capacity x=1 y=unhealthy\n" ACCEPTED "StepStarted(A do 1 @x) StepQueued(B do 0 +100)\n"
         "wait 100\n"
         "ok A 1 => StepSucceeded(A do 1) StepQueued(B do 0 +100 since-100)\n");
}

Test(engine_route, starts_queued_steps_when_there_is_no_table)
{
    TELL("A{ax}", "capacity x=0\n" ACCEPTED "StepQueued(A do 0 capacity)\n"
                  "capacity none\n"
                  "start A => StepStarted(A do 1 @x)\n");
}

Test(engine_route, queues_a_retry_that_is_due)
{
    TELL("A{ax,r2}", "capacity x=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                     "fail A 1 Busy => StepFailed(A do 1 Busy none x1)"
                     " StepRetryScheduled(A do 1 +1000)\n"
                     "start A => CommandRejected(NotYetDue)\n"
                     "capacity x=0\n"
                     "wait 1000\n"
                     "start A stale => CommandRejected(Stale)\n"
                     "start A => StepQueued(A do 1 capacity)\n"
                     "order Processing A=Pending(do 1)\n"
                     "deadlines none\n"
                     "capacity x=1\n"
                     "start A => StepStarted(A do 2 @x)\n"
                     "fail A 2 Busy => StepFailed(A do 2 Busy none x2)"
                     " StepRetryScheduled(A do 2 +2000)\n");
    TELL("A{ax,z1}", "capacity x=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                     "capacity x=unhealthy\n"
                     "fail A 1 Busy => StepFailed(A do 1 Busy none x1)"
                     " StepRetryScheduled(A do 1 +0) StepQueued(A do 1 +100)\n"
                     "status StepChanged A=Pending(do 1 Busy)\n");
}

/* ---- sticking ---- */

Test(engine_route, tries_a_step_without_effect_at_another_agent)
{
    TELL("A{ax+y,z2}", "capacity x=2 y=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                       "capacity x=unhealthy y=1\n"
                       "fail A 1 Busy none => StepFailed(A do 1 Busy none x1)"
                       " StepRetryScheduled(A do 1 +0) StepStarted(A do 2 @y)\n"
                       "requests A(do 2 o-1/A/do/0 @y)\n");
}

Test(engine_route, repeats_a_step_of_unknown_effect_at_the_same_agent)
{
    TELL("A{ax+y,z2}", "capacity x=2 y=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                       "capacity x=0 y=9\n"
                       "fail A 1 Busy unknown => StepFailed(A do 1 Busy unknown x1)"
                       " StepRetryScheduled(A do 1 +0) StepQueued(A do 1 capacity)\n"
                       "said x: none is free\n"
                       "capacity x=1 y=9\n"
                       "start A => StepStarted(A do 2 @x)\n"
                       "said x: some are free\n");
    TELL("A{ax+y,z2}", "capacity x=1 y=2\n" ACCEPTED "StepStarted(A do 1 @y)\n"
                       "capacity none\n"
                       "fail A 1 Busy applied => StepFailed(A do 1 Busy applied x1)"
                       " StepRetryScheduled(A do 1 +0) StepStarted(A do 2 @y)\n");
}

Test(engine_route, sends_an_undo_to_the_agent_of_the_do)
{
    TELL("A{ax+y,c}", "capacity x=1 y=2\n" ACCEPTED "StepStarted(A do 1 @y)\n"
                      "capacity x=9 y=1\n"
                      "fail A 1 Busy unknown => StepFailed(A do 1 Busy unknown x1)"
                      " StepExhausted(A do 1) CompensationStarted(Busy) StepStarted(A undo 1 @y)\n"
                      "requests A(undo 1 o-1/A/undo/0 @y of o-1/A/do/0)\n");
}

Test(engine_route, sends_a_new_key_to_any_agent)
{
    TELL("A{ax+y,e}", "capacity x=2 y=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                      "capacity x=unhealthy y=1\n"
                      "fail A 1 Busy unknown => StepFailed(A do 1 Busy unknown x1)"
                      " StepExhausted(A do 1) OrderFailed(Busy) AlertRaised(Busy)\n"
                      "resubmit A new-key => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted)"
                      " AlertClosed(Resubmitted) StepStarted(A do 2 g1 @y)\n");
}

/* ---- undoing with queues ---- */

Test(engine_route, queues_an_undo_without_free_capacity)
{
    TELL("A{ax,c,e}", "capacity x=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                      "fail A 1 Busy applied => StepFailed(A do 1 Busy applied x1)"
                      " StepExhausted(A do 1) OrderFailed(Busy) AlertRaised(Busy)\n"
                      "capacity x=0\n"
                      "compensate => CompensationStarted(Operator) AlertClosed(Operator)"
                      " StepQueued(A undo 0 capacity)\n"
                      "order Compensating A=Pending\n"
                      "queued A\n"
                      "status Compensating(Operator)\n"
                      "ok A 1 => ReportIgnored(Superseded)\n"
                      "ok A 1 undo => ReportIgnored(UnknownAttempt)\n"
                      "cancel => CommandRejected(AlreadyCompensating)\n"
                      "start A => CommandRejected(NotYetDue)\n"
                      "capacity x=1\n"
                      "start A => StepStarted(A undo 1 @x)\n"
                      "ok A 1 undo => StepSucceeded(A undo 1) StepCompensated(A undo 1)"
                      " OrderCompensated(Operator)\n");
}

Test(engine_route, finishes_a_queued_undo_before_it_starts_the_next)
{
    TELL("A{ax,c} B<-A{ay,c} C<-B{ay}",
         "capacity x=1 y=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
         "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1 @y)\n"
         "capacity x=1 y=unhealthy\n"
         "ok B 1 => StepSucceeded(B do 1) StepQueued(C do 0 +100)\n"
         "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled) StepSkipped(C do 0)"
         " StepQueued(B undo 0 +100)\n"
         "said never started\n"
         "order Compensating A=Processed(do 1) B=Pending C=Skipped\n"
         "queued B\n"
         "deadlines start(B)+100\n"
         "wait 100\n"
         "start B => StepQueued(B undo 0 +100 since-100)\n"
         "capacity x=1 y=1\n"
         "start B => StepStarted(B undo 1 @y)\n"
         "ok B 1 undo => StepSucceeded(B undo 1) StepCompensated(B undo 1)"
         " StepStarted(A undo 1 @x)\n");
}

Test(engine_route, undoes_a_queued_retry_of_unknown_effect)
{
    TELL("A{ax,c,z1}", "capacity x=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                       "capacity x=0\n"
                       "fail A 1 Busy unknown => StepFailed(A do 1 Busy unknown x1)"
                       " StepRetryScheduled(A do 1 +0) StepQueued(A do 1 capacity)\n"
                       "wait 50\n"
                       "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
                       " StepQueued(A undo 0 capacity)\n"
                       "capacity x=1\n"
                       "start A => StepStarted(A undo 1 @x)\n");
}

Test(engine_route, skips_a_queued_step_without_effect)
{
    TELL("A{ax,c,z1}", "capacity x=1\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                       "capacity x=0\n"
                       "fail A 1 Busy none => StepFailed(A do 1 Busy none x1)"
                       " StepRetryScheduled(A do 1 +0) StepQueued(A do 1 capacity)\n"
                       "cancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)"
                       " StepSkipped(A do 1) OrderCompensated(Cancelled)\n");
}

Test(engine_route, times_out_an_order_whose_step_is_queued)
{
    TELL("T60000 A{ax}", "capacity x=0\n" ACCEPTED "StepQueued(A do 0 capacity)\n"
                         "wait 61000\n"
                         "timeout => OrderTimedOut(States.Timeout)"
                         " CompensationStarted(States.Timeout) StepSkipped(A do 0)"
                         " OrderCompensated(States.Timeout)\n");
}

Test(engine_route, starts_no_queued_step_while_the_order_is_in_error)
{
    TELL("A{ax,e} B{ay}",
         "capacity x=1 y=unhealthy\n" ACCEPTED "StepStarted(A do 1 @x) StepQueued(B do 0 +100)\n"
         "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepExhausted(A do 1) OrderFailed(Busy)"
         " AlertRaised(Busy)\n"
         "queued \n"
         "deadlines none\n"
         "capacity x=1 y=1\n"
         "start B => CommandRejected(Stale)\n"
         "resubmit A => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted)"
         " AlertClosed(Resubmitted) StepStarted(A do 2 g1 @x) StepStarted(B do 1 @y)\n");
}

/* ---- beyond stories ---- */

static struct text long_why(struct arena *arena)
{
    char *why = arena_bytes(arena, 2 * MESSAGE_BYTES_MAX);
    for (int i = 0; i < 2 * MESSAGE_BYTES_MAX; i += 2)
        memcpy(why + i, "\xc3\xa9", 2);
    return (struct text){why, 2 * MESSAGE_BYTES_MAX};
}

/* The Decision on a submission, with the one agent x. */
static struct decision submitted(struct test_arena *memory, bool healthy, const char *workflow)
{
    struct agent_capacity capacity = {
        .agent = TEXT("x"), .healthy = healthy, .free = 1, .why = long_why(&memory->arena)};
    struct routing routing = {&capacity, 1, 1, 1, false};
    struct decide_input input = {.now = 1000,
                                 .instance = TEXT("s-1"),
                                 .workflow = workflow_of(&memory->arena, workflow),
                                 .routing = &routing};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = TEXT("o-1")};
    cmd.submit_order.order_id = TEXT("o-1");
    struct decision decision;
    engine_decide(NULL, &cmd, &input, &memory->arena, &decision);
    return decision;
}

/* Cancelled while A runs, and no agent is healthy when A has ended. */
Test(engine_route, reports_an_undo_that_is_queued_at_once_as_pending)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct agent_capacity capacity = {.agent = TEXT("agent"), .healthy = true, .free = 1};
    struct routing routing = {&capacity, 1, 1, 1, false};
    struct decide_input input = {.now = 1000,
                                 .instance = TEXT("s-1"),
                                 .workflow = workflow_of(&memory.arena, "A{c}"),
                                 .routing = &routing};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = TEXT("o-1")};
    cmd.submit_order.order_id = TEXT("o-1");
    cmd.submit_order.reply_to = TEXT("r");
    struct order order = {0};
    struct decision decision;
    struct effects effects;
    engine_decide(NULL, &cmd, &input, &memory.arena, &decision);
    order_apply_decision(&order, &decision, &memory.arena);
    cmd = (struct command){.kind = COMMAND_CANCEL_ORDER, .order_id = TEXT("o-1")};
    engine_decide(&order, &cmd, &input, &memory.arena, &decision);
    order_apply_decision(&order, &decision, &memory.arena);
    capacity.healthy = false;
    cmd = (struct command){.kind = COMMAND_REPORT_STEP, .order_id = TEXT("o-1")};
    cmd.report_step = (struct report_step){.step = TEXT("A"), .attempt = 1, .succeeded = true};
    engine_decide(&order, &cmd, &input, &memory.arena, &decision);
    order_apply_decision(&order, &decision, &memory.arena);
    effects_of(&decision, 0, &order, &memory.arena, &effects);
    cr_assert(effects.has_status);
    cr_assert_eq(effects.status.step_count, 1);
    cr_assert_eq(effects.status.steps[0].direction, DIRECTION_UNDO);
    cr_assert_eq(effects.status.steps[0].state, STEP_PENDING);
    test_arena_deinit(&memory);
}

static void expect_cut(struct text reason)
{
    cr_expect_eq(reason.size, MESSAGE_BYTES_MAX - 1); /* "x: " and whole characters */
    cr_expect(memcmp(reason.data, "x: ", 3) == 0);
    cr_expect_eq(reason.data[reason.size - 1], '\xa9');
}

Test(engine_route, cuts_reasons_between_characters)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct decision queued = submitted(&memory, false, "A{ax}");
    cr_assert_eq(queued.events[2].kind, EVENT_STEP_QUEUED);
    expect_cut(queued.events[2].step_queued.reason);
    struct decision started = submitted(&memory, true, "A{ax+y}");
    cr_assert_eq(started.events[2].kind, EVENT_STEP_STARTED);
    expect_cut(started.events[2].step_started.routing_reason);
    test_arena_deinit(&memory);
}

/* ---- routing is switched off ---- */

Test(engine_route, starts_at_the_first_agent_where_routing_is_switched_off)
{
    TELL("A{ax+y,r1}", "capacity first\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                       "said nothing\n");
    TELL("A{ax+y,r1}", "capacity first x=9 y=10\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                       "said nothing\n");
}

Test(engine_route, queues_for_the_first_agent_alone_where_routing_is_switched_off)
{
    TELL("A{ax+y}", "capacity first x=0 y=5\n" ACCEPTED "StepQueued(A do 0 capacity)\n"
                    "said x: none is free\n"
                    "deadlines none\n"
                    "wait 100000\n"
                    "start A => CommandRejected(NotYetDue)\n"
                    "capacity first x=1\n"
                    "start A => StepStarted(A do 1 @x)\n"
                    "said x: some are free\n");
}

Test(engine_route, queues_retries_and_undos_where_routing_is_switched_off)
{
    TELL("A{ax,r1}", "capacity first\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                     "fail A 1 Busy => StepFailed(A do 1 Busy none x1)"
                     " StepRetryScheduled(A do 1 +1000)\n"
                     "wait 1000\n"
                     "capacity first x=0\n"
                     "start A => StepQueued(A do 1 capacity)\n"
                     "deadlines none\n"
                     "capacity first x=1\n"
                     "start A => StepStarted(A do 2 @x)\n");
    TELL("A{ax,c} B<-A{ay}", "capacity first\n" ACCEPTED "StepStarted(A do 1 @x)\n"
                             "ok A 1 => StepSucceeded(A do 1) StepStarted(B do 1 @y)\n"
                             "capacity first x=0\n"
                             "fail B 1 Broken => StepFailed(B do 1 Broken none x1)"
                             " StepExhausted(B do 1) CompensationStarted(Broken)"
                             " StepQueued(A undo 0 capacity)\n"
                             "capacity first\n"
                             "start A undo => StepStarted(A undo 1 @x)\n");
}

Test(engine_route, aborts_on_a_table_without_a_wait, .signal = SIGABRT)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct routing routing = {0};
    struct decide_input input = {
        .now = 1000, .workflow = workflow_of(&memory.arena, "A"), .routing = &routing};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = TEXT("o-1")};
    struct decision decision;
    cmd.submit_order.order_id = TEXT("o-1");
    engine_decide(NULL, &cmd, &input, &memory.arena, &decision);
}
