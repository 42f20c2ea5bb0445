/* SPDX-License-Identifier: Apache-2.0 */
/* Fields with expressions: what is compiled, what they may refer to, and what is refused. */
#include "kit.h"

#include <criterion/criterion.h>

/* ---- what is compiled ---- */

Test(workflow_expressions, compiles_the_fields_of_each_kind)
{
    struct workflow *workflow =
        kit_workflow("Name: w\nVersion: 1\nSteps:\n"
                     "  - Name: A\n    Agent: x\n    When: input.go\n    Input: {n: 1}\n"
                     "    Output: \"${result.id}\"\n"
                     "    Compensate: {Action: Undo, Input: \"${result}\"}\n"
                     "  - {Name: B, Set: {a: \"${input.a}\"}}\n"
                     "  - Name: C\n    Fail: {Error: No.Way, Message: \"not ${output.B.a}\"}\n"
                     "    Catch: [{ErrorEquals: [No.Way], Next: $continue}]\n"
                     "Output: \"${has(error.C)}\"\n");
    const struct workflow_step *steps = workflow->steps;
    cr_assert_eq(steps[0].kind, STEP_KIND_TASK);
    cr_assert(text_equal(steps[0].when->source, TEXT("input.go")));
    cr_assert(text_equal(steps[0].input->data, TEXT("{\"n\":1}")));
    cr_assert_eq(steps[0].output->kind, TEMPLATE_EXPRESSION);
    cr_assert_not_null(steps[0].compensate.input);
    cr_assert_eq(steps[1].kind, STEP_KIND_SET);
    cr_assert_eq(steps[1].set->kind, TEMPLATE_MAP);
    cr_assert_eq(steps[1].agent_count, 0);
    cr_assert_eq(steps[2].kind, STEP_KIND_FAIL);
    cr_assert(text_equal(steps[2].fail.error, TEXT("No.Way")));
    cr_assert_eq(steps[2].fail.message->kind, TEMPLATE_TEXT);
    cr_assert_eq(steps[2].catchers[0].next, OUTCOME_CONTINUE);
    cr_assert_not_null(workflow->output);
}

/* ---- kinds ---- */

Test(workflow_expressions, wants_one_kind_and_its_fields)
{
    LINT(
        {HEAD "  - {Name: A, Set: 1, Agent: x}\n",
         "4:15: error: a step has Agent or Set, not both: make two steps of it\n"},
        {HEAD "  - {Name: A, Set: 1, Input: 2, Pivot: true}\n",
         "4:23: error: Input does not belong to a step with Set, only to one with Agent or Steps\n"
         "4:33: error: Pivot does not belong to a step with Set, only to one with Agent or "
         "Steps\n"},
        {HEAD "  - {Name: A, Fail: {Error: E}, TimeoutSeconds: 3}\n",
         "4:33: error: TimeoutSeconds does not belong to a step with Fail, only to one with "
         "Agent, Await or Steps\n"},
        {HEAD "  - {Name: A, When: input.a}\n",
         "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"},
        {HEAD "  - {Name: A, Fail: {Message: no}}\n", "4:21: error: Fail of a step has no Error\n"},
        {HEAD "  - {Name: A, Fail: {Error: States.Timeout}}\n",
         "4:29: error: Error must be 1 to 64 letters, digits, '.', '_' or '-', without "
         "\"States.\" or \"Order.\" at its beginning\n"},
        {HEAD "  - {Name: A, Fail: LoanDeclined}\n",
         "4:21: error: Fail of a step must be a mapping of fields, not a text: write {Error: "
         "LoanDeclined}\n"},
        {HEAD "  - {Name: A, Set: }\n",
         "4:15: error: Set has no value: give it one or leave it out\n"});
}

/* ---- Wait ---- */

Test(workflow_expressions, compiles_what_a_step_waits_for)
{
    struct workflow *workflow =
        kit_workflow(HEAD "  - {Name: A, Wait: {Seconds: 0.5, SpreadSeconds: 60}}\n"
                          "  - Name: B\n    When: input.wait\n"
                          "    Wait: {Comment: soon, Timestamp: input.due}\n"
                          "    Catch: [{ErrorEquals: [States.ALL], Next: $continue}]\n"
                          "  - {Name: C, Wait: {Timestamp: \"'2026-07-01T09:00:00+02:00'\"}}\n"
                          "  - {Name: D, Wait: {Seconds: input.days * 86400}}\n"
                          "  - {Name: E, Set: \"${output.A}\"}\n");
    const struct workflow_step *steps = workflow->steps;
    cr_assert_eq(steps[0].kind, STEP_KIND_WAIT);
    cr_assert(text_equal(steps[0].wait.seconds->source, TEXT("0.5")));
    cr_assert_null(steps[0].wait.timestamp);
    cr_assert_eq(steps[0].wait.spread_ms, 60000);
    cr_assert(text_equal(steps[1].wait.timestamp->source, TEXT("input.due")));
    cr_assert_null(steps[1].wait.seconds);
    for (int i = 0; i < 4; i++)
        cr_assert(workflow_step_waits(&steps[i]) && steps[i].timeout_ms == 0);
    cr_assert_not(workflow_step_waits(&steps[4]));
}

Test(workflow_expressions, explains_mistakes_in_what_a_step_waits_for)
{
    LINT(
        {HEAD "  - {Name: A, Wait: {Seconds: -1}}\n", "4:31: error: Seconds is negative\n"},
        {HEAD "  - {Name: A, Wait: {Seconds: 31622400}}\n", ""},
        {HEAD "  - {Name: A, Wait: {Seconds: 31622400.5}}\n",
         "4:31: error: Seconds is more than 31622400, which are 366 days\n"},
        {HEAD "  - {Name: A, Wait: {Seconds: \"'60'\"}}\n",
         "4:32: error: this gives a text; here it must give a number\n"},
        {HEAD "  - {Name: A, Wait: 60}\n",
         "4:21: error: Wait must be a mapping: write {Seconds: 60}\n"},
        {HEAD "  - {Name: A, Wait: 2026-07-01}\n",
         "4:21: error: Wait must be a mapping: write {Timestamp: 2026-07-01}\n"},
        {HEAD "  - {Name: A, Wait: {Timestamp: 2026-07-01T09:00:00Z}}\n",
         "4:33: error: Timestamp is an expression: write the time as a text in it, "
         "\"'2026-07-01T09:00:00Z'\"\n"},
        {HEAD "  - {Name: A, Wait: {Timestamp: \"'2026-02-29T09:00:00Z'\"}}\n",
         "4:33: error: 2026-02-29T09:00:00Z is not a time of RFC 3339, such as "
         "2026-07-01T09:00:00Z\n"},
        {HEAD "  - {Name: A, Wait: {Timestamp: 60}}\n",
         "4:33: error: this gives a number; here it must give a text\n"},
        {HEAD "  - {Name: A, Wait: {SpreadSeconds: 60}}\n",
         "4:21: error: Wait of a step has no Seconds or Timestamp\n"},
        {HEAD "  - {Name: A, Wait: {Seconds: 1, Timestamp: input.t}}\n",
         "4:34: error: a step waits for Seconds or until Timestamp, not both: make two steps of "
         "it\n"},
        {HEAD "  - {Name: A, Wait: {Second: 1}}\n",
         "4:21: error: Wait of a step has no Seconds or Timestamp\n"
         "4:22: error: Second is an unknown field of Wait of a step: did you mean Seconds?\n"},
        {HEAD "  - {Name: A, Wait: {SecondsPath: $.s, Seconds: 1}}\n",
         "4:22: error: there is no field SecondsPath here: Seconds is an expression, such as "
         "input.delay\n"},
        {HEAD "  - {Name: A, Wait: {Seconds: input.s}, Until: input.b, Pivot: true}\n",
         "4:41: error: Until does not belong to a step with Wait, only to one with Agent or Await\n"
         "4:57: error: Pivot does not belong to a step with Wait, only to one with Agent or "
         "Steps\n"},
        {HEAD "  - {Name: A, Agent: x, Wait: {Seconds: 1}}\n",
         "4:25: error: a step has Agent or Wait, not both: make two steps of it\n"},
        {"Name: w\nVersion: 1\nTimeoutSeconds: 60\nSteps:\n"
         "  - {Name: A, Wait: {Seconds: 50, SpreadSeconds: 20}}\n",
         "5:12: warning: step A may take 70 s, longer than the whole order (60 s)\n"});
}

/* ---- Until ---- */

#define POLL "  - {Name: A, Agent: x, Until: result.ready, "

Test(workflow_expressions, wants_a_retry_for_what_is_asked_again)
{
    LINT({HEAD POLL "Retry: [{ErrorEquals: [States.NotYet]}]}\n", ""},
         {HEAD POLL "Retry: [{ErrorEquals: [States.TaskFailed]}]}\n", ""},
         {"Name: w\nVersion: 1\nDefaults: {Retry: [{ErrorEquals: [States.ALL]}]}\nSteps:\n" POLL
          "TimeoutSeconds: 5}\n",
          ""},
         {HEAD POLL "Retry: [{ErrorEquals: [States.Timeout]}]}\n",
          "4:25: error: step A has Until, but no retrier says when to ask again: add one with "
          "ErrorEquals: [States.NotYet] to its Retry\n"},
         {HEAD POLL "Compensate: {Action: U}, Retry: [{ErrorEquals: [States.NotYet]}]}\n",
          "4:25: error: step A has Until and Compensate: it asks until something is ready, which "
          "leaves nothing to undo; make two steps of it\n"},
         {HEAD POLL "Pivot: true, Retry: [{ErrorEquals: [States.NotYet]}]}\n",
          "4:25: error: the pivot A has Until: let a step before or after it ask\n"},
         {HEAD "  - {Name: A, Agent: x, Until: result + 1, Retry: [{ErrorEquals: "
               "[States.NotYet]}]}\n",
          "4:32: error: this gives a number; here it must give a boolean\n"},
         {HEAD "  - {Name: A, Agent: x, Retry: [{ErrorEquals: [NotYet]}]}\n",
          "4:48: warning: NotYet counts as an error of the agent's own: did you mean "
          "States.NotYet?\n"});
}

/* ---- Catch ---- */

Test(workflow_expressions, lets_a_catcher_continue_where_that_leaves_nothing_behind)
{
    LINT({"Name: w\nVersion: 1\nDefaults:\n  Catch: [{ErrorEquals: [E], Next: $continue}]\n"
          "Steps: [{Name: A, Agent: x}]\n",
          "4:36: error: $continue is not allowed in Defaults: give it to the steps that the order "
          "can "
          "do without\n"},
         {HEAD "  - Name: A\n    Agent: x\n    Compensate: {Action: Undo}\n"
               "    Catch: [{ErrorEquals: [E], Next: $continue}]\n",
          "7:12: error: step A has $continue and Compensate: what its attempts may have applied "
          "would stay; put the step into Steps of its own, and $continue there\n"},
         {HEAD "  - Name: P\n    Agent: x\n    Pivot: true\n"
               "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E], Next: $continue}]}\n",
          ""},
         {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E], Next: $go}]}\n",
          "4:58: error: Next must be $compensate, $error or $continue, not a text ($go)\n"},
         {HEAD "  - {Name: A, Agent: x, Retry: [{ErrorEquals: [States.DataLimitExceeded]}]}\n",
          "4:33: error: States.DataLimitExceeded is never retried: name it in Catch\n"});
}

/* ---- names ---- */

Test(workflow_expressions, refers_to_steps_that_come_before)
{
    LINT({HEAD "  - {Name: A, Agent: x, After: [], When: output.B.ok}\n"
               "  - {Name: B, Agent: x, After: []}\n",
          "4:49: error: output.B is not known here: step B does not come before this one: name it "
          "in After\n"},
         {HEAD "  - {Name: Check, Agent: x}\n  - {Name: B, Agent: x, When: output.Chek.ok}\n",
          "5:38: error: there is no step Chek: did you mean Check?\n"},
         {HEAD "  - {Name: A, Set: \"${result}\"}\n",
          "4:23: error: result is not known here: it stands in Until, StopWhen, the Output of a "
          "step and Compensate.Input\n"},
         {"Name: w\nVersion: 1\nInputShape: {amount: number}\nSteps:\n"
          "  - {Name: A, Agent: x, When: input.amuont}\n",
          "5:37: error: there is no member amuont: did you mean amount?\n"});
}

/* The graph alone has the mistake. */
Test(workflow_expressions, says_nothing_of_places_in_a_cycle)
{
    LINT({HEAD "  - {Name: A, Agent: x, After: [B], When: output.B.ok}\n"
               "  - {Name: B, Agent: x, After: [A], When: output.A.ok}\n",
          "4:12: error: these steps wait for each other in a cycle: A -> B -> A\n"});
}

/* ---- guards ---- */

#define GUARD(reader)                                                                       \
    HEAD "  - {Name: A, Agent: x, When: input.a}\n"                                         \
         "  - {Name: B, Agent: x, Catch: [{ErrorEquals: [States.ALL], Next: $continue}]}\n" \
         "  - {Name: C, Agent: x, When: has(output.A)}\n" reader

Test(workflow_expressions, wants_guards_for_what_may_be_missing)
{
    LINT({GUARD("  - {Name: D, Set: \"${output.A.x}\"}\n"),
          "7:30: error: step A may have no output: write has(output.A) && ... or has(output.A) ? "
          "... : ...\n"},
         {GUARD("  - {Name: D, Set: \"${output.B.x}\"}\n"),
          "7:30: error: step B may have no output: write has(output.B) && ... or has(output.B) ? "
          "... : ...\n"},
         {GUARD("  - {Name: D, Set: \"${error.B.name}\"}\n"),
          "7:29: error: step B may have no error: write has(error.B) && ... or has(error.B) ? ... "
          ": ...\n"},
         {GUARD("  - {Name: D, Agent: x, When: has(error.B), Input: {n: \"${error.B.name}\"}}\n"),
          ""},
         /* C runs only if A has an output. */
         {GUARD("  - {Name: D, Set: \"${has(output.C) ? output.A.x : 0}\"}\n"), ""},
         /* E may have failed because its When could not be evaluated, whatever A has. */
         {GUARD("  - {Name: E, Agent: x, When: \"input.l.all(l, l > 0) && has(output.A)\",\n"
                "     Catch: [{ErrorEquals: [States.ALL], Next: $continue}]}\n"
                "  - {Name: F, Set: \"${has(error.E) ? output.A.x : 0}\"}\n"),
          "9:45: error: step A may have no output: write has(output.A) && ... or has(output.A) ? "
          "... : ...\n"},
         {GUARD("  - {Name: D, Set: 1}\nOutput: {b: \"${output.B}\"}\n"),
          "8:23: error: step B may have no output: write has(output.B) && ... or has(output.B) ? "
          "... : ...\n"},
         {GUARD("  - {Name: D, Set: 1}\nOutput: {b: \"${has(output.B) ? output.B : null}\", "
                "d: \"${output.D}\"}\n"),
          ""},
         {HEAD "  - {Name: F, Fail: {Error: E}, When: input.f}\n"
               "  - {Name: G, Set: \"${output.F}\"}\n",
          "5:30: error: step F may have no output: write has(output.F) && ... or has(output.F) ? "
          "... : ...\n"});
}

Test(workflow_expressions, warns_where_an_undo_may_have_no_result)
{
    LINT(
        {HEAD "  - {Name: A, Agent: x, Compensate: {Action: U, Input: {id: \"${result.id}\"}}}\n",
         "4:64: warning: result is null after an attempt that timed out, and the undo then ends in "
         "Error: write has(result.id) ? ... : ...\n"},
        {HEAD "  - {Name: A, Agent: x, Compensate: {Action: U,\n"
              "     Input: {id: \"${has(result.id) ? result.id : null}\"}}}\n",
         ""},
        /* What a service has answered is there. */
        {HEAD "  - {Name: A, Agent: x, Output: \"${result.id}\", Compensate: {Action: U}}\n", ""},
        {HEAD "  - {Name: A, Agent: x, Compensate: {Action: U, Input: \"${result}\"}}\n"
              "  - {Name: B, Agent: x, Output: \"${result.id}\"}\n",
         ""});
}

Test(workflow_expressions, explains_slips_in_fields)
{
    LINT({HEAD "  - {Name: A, Agent: x, When: \"${input.a}\"}\n",
          "4:32: error: leave out ${ }: the whole field is an expression\n"},
         {HEAD "  - {Name: A, Agent: x}\n  - {Name: B, Agent: x, When: has(output.A)}\n",
          "5:31: warning: When is always true: leave it out\n"},
         {HEAD "  - {Name: A, Agent: x, When: [input.a]}\n",
          "4:31: error: When must be an expression, not a list: put it in quotes\n"});
}
