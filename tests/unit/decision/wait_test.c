/* SPDX-License-Identifier: Apache-2.0 */
/* Wait: a step that passes at a moment, which is settled as its turn comes. Stories begin at
 * 1970-01-01T00:16:40Z. */
#include "kit.h"

#include "engine/engine.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define WAIT_60 "  - {Name: W, Wait: {Seconds: 60}}\n"
#define PAY "  - {Name: Pay, Agent: agent}\n"

enum { NOW = 1000000, DUE = NOW + 60000 };

Test(decision_wait, passes_at_its_moment_and_not_before)
{
    kit_tell(HEAD WAIT_60 PAY, NULL,
             "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +60000)\n"
             "order Processing W=Waiting Pay=Pending\n"
             "status Received W=Waiting(do 0)\n"
             "deadlines start(W)+60000\n"
             "queued \n"
             "wait 59999\n"
             "start W => CommandRejected(NotYetDue)\n"
             "said not due for another 1 ms\n"
             "wait 1\n"
             "start W stale => CommandRejected(Stale)\n"
             "start W => StepPassed(W do 0) StepStarted(Pay do 1)\n"
             "status StepChanged W=Processed(do 0) Pay=Processing(do 1)\n"
             "start W => CommandRejected(Stale)\n"
             "recover W => CommandRejected(Stale)\n"
             "ok W 0 => ReportIgnored(UnknownAttempt)\n"
             "ok Pay 1 => StepSucceeded(Pay do 1) OrderProcessed\n");
}

Test(decision_wait, takes_seconds_from_data)
{
    static const char workflow[] =
        HEAD "  - {Name: W, Wait: {Seconds: input.s}, OnExhausted: error}\n" PAY;
    kit_tell(workflow, NULL,
             "submit with {\"s\":2.007} => OrderAccepted OrderStarted StepWaiting(W do 0 +2007)\n");
    kit_tell(workflow, NULL,
             "submit with {\"s\":0.0701} => OrderAccepted OrderStarted StepWaiting(W do 0 +71)\n");
    kit_tell(workflow, NULL,
             "submit with {\"s\":31622400} => OrderAccepted OrderStarted"
             " StepWaiting(W do 0 +31622400000)\n");
    kit_tell(workflow, NULL,
             "submit with {\"s\":0} => OrderAccepted OrderStarted StepPassed(W do 0)"
             " StepStarted(Pay do 1)\n");
#define FAILED                                                                                  \
    " => OrderAccepted OrderStarted StepFailedUnstarted(W do 0 States.QueryEvaluationError x1)" \
    " StepExhausted(W do 0) OrderFailed(States.QueryEvaluationError)"                           \
    " AlertRaised(States.QueryEvaluationError)\n"
    kit_tell(workflow, NULL, "submit with {\"s\":-1}" FAILED "said seconds must be 0 or more\n");
    kit_tell(workflow, NULL,
             "submit with {\"s\":31622400.001}" FAILED
             "said seconds must be at most 31622400: column 1\n");
    kit_tell(workflow, NULL,
             "submit with {\"s\":\"9\"}" FAILED "said this field takes a number, not a text\n");
}

Test(decision_wait, waits_until_a_time_of_rfc_3339)
{
    static const char workflow[] =
        HEAD "  - {Name: W, Wait: {Timestamp: input.t}, OnExhausted: error}\n" PAY;
    kit_tell(workflow, NULL,
             "submit with {\"t\":\"1970-01-01T00:20:00.001Z\"} => OrderAccepted OrderStarted"
             " StepWaiting(W do 0 +200001)\n");
    kit_tell(workflow, NULL,
             "submit with {\"t\":\"1970-01-01T02:20:00+02:00\"} => OrderAccepted OrderStarted"
             " StepWaiting(W do 0 +200000)\n");
    kit_tell(workflow, NULL,
             "submit with {\"t\":\"1970-01-01T00:16:40Z\"} => OrderAccepted OrderStarted"
             " StepPassed(W do 0) StepStarted(Pay do 1)\n");
    kit_tell(workflow, NULL,
             "submit with {\"t\":\"1969-02-28T00:00:00Z\"} => OrderAccepted OrderStarted"
             " StepPassed(W do 0) StepStarted(Pay do 1)\n");
    kit_tell(workflow, NULL,
             "submit with {\"t\":\"1971-01-02T00:16:40Z\"} => OrderAccepted OrderStarted"
             " StepWaiting(W do 0 +31622400000)\n");
    kit_tell(workflow, NULL,
             "submit with {\"t\":\"1971-01-02T00:16:40.001Z\"}" FAILED
             "said the moment is more than 366 days away\n");
    kit_tell(workflow, NULL,
             "submit with {\"t\":\"1970-02-29T00:00:00Z\"}" FAILED
             "said '1970-02-29T00:00:00Z' is not a time of RFC 3339\n");
    kit_tell(workflow, NULL,
             "submit with {\"t\":9}" FAILED "said this field takes a text, not a number\n");
}

/* The same part for the same order and step, so that it is settled as the moment is. */
Test(decision_wait, spreads_what_waits_for_one_moment)
{
    static const char workflow[] =
        HEAD "  - {Name: W, After: [], Wait: {Seconds: 60, SpreadSeconds: 30}}\n"
             "  - {Name: V, After: [], Wait: {Seconds: 60, SpreadSeconds: 30}}\n"
             "  - {Name: U, After: [], Wait: {Seconds: 0, SpreadSeconds: 30}}\n";
    kit_tell(workflow, NULL,
             "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +75785)"
             " StepWaiting(V do 0 +89022) StepPassed(U do 0)\n");
}

Test(decision_wait, is_skipped_when_the_order_turns_back)
{
    static const char workflow[] =
        HEAD "  - {Name: A, Agent: agent, Compensate: {Action: UndoA}}\n" WAIT_60 PAY;
    static const char waits[] = "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                                "ok A 1 => StepSucceeded(A do 1) StepWaiting(W do 0 +60000)\n";
#define BACK                                                             \
    " StepSkipped(W do 0) StepSkipped(Pay do 0) StepStarted(A undo 1)\n" \
    "said it was waiting\n"                                              \
    "deadlines recover(A)+61000\n"                                       \
    "wait 60000\n"                                                       \
    "start W => CommandRejected(Stale)\n"
    char lines[2048];
    snprintf(lines, sizeof(lines),
             "%scancel => OrderCancelled(Cancelled) CompensationStarted(Cancelled)%s", waits, BACK);
    kit_tell(workflow, NULL, lines);
    snprintf(lines, sizeof(lines), "%scompensate => CompensationStarted(Operator)%s", waits, BACK);
    kit_tell(workflow, NULL, lines);
    snprintf(lines, sizeof(lines),
             "%swait 201000\ntimeout => OrderTimedOut(States.Timeout)"
             " CompensationStarted(States.Timeout)%s",
             waits, BACK);
    kit_tell("Name: test\nVersion: 1\nTimeoutSeconds: 200\nSteps:\n"
             "  - {Name: A, Agent: agent, Compensate: {Action: UndoA}}\n" WAIT_60 PAY,
             NULL, lines);
}

Test(decision_wait, passes_after_a_pause)
{
    kit_tell(HEAD WAIT_60 PAY, NULL,
             "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +60000)\n"
             "pause => OrderPaused\n"
             "deadlines none\n"
             "wait 1000\n"
             "resume => OrderPauseEnded\n"
             "deadlines start(W)+59000\n"
             "pause => OrderPaused\n"
             "wait 90000\n"
             "start W => CommandRejected(Paused)\n"
             "resume => OrderPauseEnded StepPassed(W do 0) StepStarted(Pay do 1)\n");
}

Test(decision_wait, passes_after_an_error)
{
    kit_tell(HEAD "  - {Name: W, After: [], Wait: {Seconds: 60}}\n"
                  "  - {Name: A, After: [], Agent: agent, OnExhausted: error}\n"
                  "  - {Name: Pay, After: [W], Agent: agent}\n",
             NULL,
             "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +60000) StepStarted(A do 1)\n"
             "fail A 1 Nope => StepFailed(A do 1 Nope none x1) StepExhausted(A do 1)"
             " OrderFailed(Nope) AlertRaised(Nope)\n"
             "deadlines none\n"
             "wait 60000\n"
             "start W => CommandRejected(Stale)\n"
             "resubmit => StepResubmitted(A do 1 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepPassed(W do 0) StepStarted(A do 2 g1)"
             " StepStarted(Pay do 1)\n");
}

Test(decision_wait, is_ended_by_hand)
{
    static const char workflow[] = HEAD "  - {Name: W, Wait: {Seconds: 60}, OnExhausted: error}\n"
                                        "  - {Name: B, Set: \"${output.W}\"}\n" PAY;
    static const char waits[] = "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +60000)\n";
    char lines[1024];
    snprintf(lines, sizeof(lines),
             "%scomplete W {\"by\":\"hand\"} => StepCompletedByHand(W do 0)"
             " StepPassed(B do 0 {\"by\":\"hand\"}) StepStarted(Pay do 1)\n"
             "wait 60000\n"
             "start W => CommandRejected(Stale)\n",
             waits);
    kit_tell(workflow, NULL, lines);
    snprintf(lines, sizeof(lines),
             "%sskip W => StepSkippedByHand(W do 0)"
             " StepFailedUnstarted(B do 0 States.QueryEvaluationError x1) StepExhausted(B do 0)"
             " CompensationStarted(States.QueryEvaluationError) StepSkipped(Pay do 0)"
             " OrderCompensated(States.QueryEvaluationError)\n",
             waits);
    kit_tell(workflow, NULL, lines);
    snprintf(lines, sizeof(lines),
             "%swait 1000\n"
             "fail-step W Nope => StepFailedUnstarted(W do 0 Nope x1) StepExhausted(W do 0)"
             " OrderFailed(Nope) AlertRaised(Nope)\n"
             "deadlines none\n"
             "resubmit => StepResubmitted(W do 0 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepWaiting(W do 0 +60000)\n",
             waits);
    kit_tell(workflow, NULL, lines);
}

Test(decision_wait, keeps_its_moment_in_another_version)
{
    kit_tell(HEAD WAIT_60 PAY, HEAD_2 "  - {Name: W, Wait: {Seconds: 5}}\n" PAY,
             "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +60000)\n"
             "wait 10000\n"
             "migrate 2 => OrderMigrated\n"
             "deadlines start(W)+50000\n"
             "wait 50000\n"
             "start W => StepPassed(W do 0) StepStarted(Pay do 1)\n");
    kit_tell(HEAD WAIT_60 PAY, HEAD_2 "  - {Name: W, Set: 5}\n" PAY,
             "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +60000)\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said step W is Waiting, and in version 2 it is of another kind\n");
    kit_tell(HEAD WAIT_60 PAY, HEAD_2 PAY,
             "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +60000)\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said version 2 has no step W, which is Waiting\n");
    kit_tell(HEAD WAIT_60 PAY, HEAD_2 "  - {Name: A, Set: 1}\n" WAIT_60 PAY,
             "submit => OrderAccepted OrderStarted StepWaiting(W do 0 +60000)\n"
             "migrate 2 => CommandRejected(StepsDiffer)\n"
             "said step W is Waiting, and in version 2 it comes after other steps\n");
}

Test(decision_wait, follows_its_when_and_is_caught)
{
    static const char workflow[] =
        HEAD "  - Name: W\n"
             "    When: input.wait\n"
             "    Wait: {Seconds: \"1 / input.n\"}\n"
             "    Catch: [{ErrorEquals: [States.QueryEvaluationError], Next: $continue}]\n" PAY;
    kit_tell(
        workflow, NULL,
        "submit with {\"n\":0,\"wait\":false} => OrderAccepted OrderStarted StepSkipped(W do 0)"
        " StepStarted(Pay do 1)\n");
    kit_tell(workflow, NULL,
             "submit with {\"n\":0,\"wait\":true} => OrderAccepted OrderStarted"
             " StepFailedUnstarted(W do 0 States.QueryEvaluationError x1) StepCaught(W do 0)"
             " StepStarted(Pay do 1)\n");
    kit_tell(workflow, NULL,
             "submit with {\"n\":4,\"wait\":true} => OrderAccepted OrderStarted"
             " StepWaiting(W do 0 +250)\n"
             "wait 250\n"
             "spared start W => StepPassed(W do 0) StepStarted(Pay do 1)\n");
}

/* The moment is made again of what changes, and of nothing else. */
Test(decision_wait, follows_data_that_an_operator_corrects)
{
    kit_tell(HEAD "  - {Name: W, After: [], Wait: {Seconds: input.s}}\n"
                  "  - {Name: V, After: [], Wait: {Seconds: 60}}\n"
                  "  - {Name: A, After: [], Set: \"${1 / input.n}\", OnExhausted: error}\n"
                  "  - {Name: Pay, After: [W, V, A], Agent: agent}\n",
             NULL,
             "submit with {\"n\":0,\"s\":600} => OrderAccepted OrderStarted"
             " StepWaiting(W do 0 +600000) StepWaiting(V do 0 +60000)"
             " StepFailedUnstarted(A do 0 States.QueryEvaluationError x1) StepExhausted(A do 0)"
             " OrderFailed(States.QueryEvaluationError) AlertRaised(States.QueryEvaluationError)\n"
             "wait 5000\n"
             "amend {\"n\":0,\"s\":60} => OrderAmended(W g0)\n"
             "order Error W=Pending V=Waiting A=Error Pay=Pending\n"
             "amend {\"n\":2,\"s\":60} => OrderAmended\n"
             "wait 10000\n"
             "resubmit => StepResubmitted(A do 0 g1) OrderResumed(Resubmitted)"
             " AlertClosed(Resubmitted) StepWaiting(W do 0 +60000) StepPassed(A do 0 0.5)\n"
             "deadlines start(W)+60000 start(V)+45000\n");
}

/* The last of the commands finds another definition under the order's name and version, as in a
 * recreated topic, and is rejected. */
static void expect_another_refused(const char *steps, const char *others,
                                   const struct command *cmds, size_t count)
{
    struct test_arena memory;
    struct decision decision;
    struct order order = {0};
    test_arena_init(&memory);
    struct arena *arena = &memory.arena;
    struct decide_input input = {.now = NOW, .instance = TEXT("scheduler-1")};
    input.workflow = kit_compile(&memory, steps);
    for (size_t i = 0; i + 1 < count; i++) {
        engine_decide(i > 0 ? &order : NULL, &cmds[i], &input, arena, &decision);
        cr_assert_neq(decision.events[0].kind, EVENT_COMMAND_REJECTED, "%zu", i);
        order_apply_decision(&order, &decision, arena);
    }
    input.now = DUE;
    input.workflow = kit_compile(&memory, others);
    engine_decide(&order, &cmds[count - 1], &input, arena, &decision);
    cr_assert_eq(decision.events[0].kind, EVENT_COMMAND_REJECTED);
    cr_assert(text_equal(decision.events[0].command_rejected.code, TEXT("UnknownWorkflow")));
    test_arena_deinit(&memory);
}

#define OF_ORDER(KIND, MEMBER, ...)                                \
    {                                                              \
        .kind = (KIND), .order_id = TEXT_CONST("o-1"), .MEMBER = { \
            .order_id = TEXT_CONST("o-1"),                         \
            __VA_ARGS__                                            \
        }                                                          \
    }
#define SUBMITTED OF_ORDER(COMMAND_SUBMIT_ORDER, submit_order, .workflow = TEXT_CONST("test"))

Test(decision_wait, is_not_taken_for_a_step_of_another_kind)
{
    static const struct command cmds[] = {
        SUBMITTED,
        OF_ORDER(COMMAND_START_STEP, start_step, .step = TEXT_CONST("W"), .direction = DIRECTION_DO,
                 .retry_at = DUE, .by = TEXT_CONST("s")),
    };
    expect_another_refused(HEAD WAIT_60, HEAD "  - {Name: W, Agent: agent}\n", cmds, 2);
    expect_another_refused(HEAD WAIT_60, HEAD "  - {Name: W, Set: 1}\n", cmds, 2);
}

/* No agent could undo what an operator did in its place, in the same Decision or a later one. */
Test(decision_wait, is_not_completed_where_an_agent_would_undo_it)
{
    static const struct command cmds[] = {
        SUBMITTED,
        OF_ORDER(COMMAND_COMPLETE_STEP, complete_step, .step = TEXT_CONST("W"),
                 .by = TEXT_CONST("ann")),
    };
    expect_another_refused(HEAD "  - {Name: W, Wait: {Seconds: input.s}, OnExhausted: error}\n"
                                "  - {Name: V, Fail: {Error: Late}}\n",
                           HEAD "  - {Name: W, Agent: agent, Compensate: {Action: Undo}}\n"
                                "  - {Name: V, Fail: {Error: Late}}\n",
                           cmds, 2);
}

Test(decision_wait, is_not_undone_by_an_agent)
{
    static const struct command cmds[] = {
        SUBMITTED,
        OF_ORDER(COMMAND_COMPLETE_STEP, complete_step, .step = TEXT_CONST("W"),
                 .by = TEXT_CONST("ann")),
        OF_ORDER(COMMAND_COMPENSATE_ORDER, compensate_order, .by = TEXT_CONST("ann")),
    };
    expect_another_refused(HEAD WAIT_60 "  - {Name: V, Wait: {Seconds: 60}}\n",
                           HEAD "  - {Name: W, Agent: agent, Compensate: {Action: Undo}}\n"
                                "  - {Name: V, Wait: {Seconds: 60}}\n",
                           cmds, 3);
}

/* Its owner has lost the version, or found another one under its name. */
Test(decision_wait, needs_a_workflow_in_which_the_step_waits)
{
    kit_tell(HEAD PAY WAIT_60, NULL,
             "submit => OrderAccepted OrderStarted StepStarted(Pay do 1)\n"
             "ok Pay 1 => StepSucceeded(Pay do 1) StepWaiting(W do 0 +60000)\n"
             "wait 60000\n"
             "blind start W => CommandRejected(UnknownWorkflow)\n"
             "replaced start W => CommandRejected(UnknownWorkflow)\n"
             "start W => StepPassed(W do 0) OrderProcessed\n");
}

/* What is put off begins when it is asked for, and waits from then on. */
Test(decision_wait, is_put_off_as_other_steps_are)
{
    kit_tell(HEAD "  - {Name: A, After: [], Set: \"${input.l.map(x, input.l.map(y, x))}\",\n"
                  "     Catch: [{ErrorEquals: [States.ALL], Next: $continue}]}\n"
                  "  - {Name: W, Wait: {Seconds: 60}}\n",
             NULL,
             "submit with {\"l\":[1]} => OrderAccepted OrderStarted StepPassed(A do 0 [[1]])"
             " StepWaiting(W do 0 +60000)\n");
}
