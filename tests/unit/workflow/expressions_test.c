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
         "4:23: error: Input does not belong to a step with Set, only to one with Agent\n"
         "4:33: error: Pivot does not belong to a step with Set, only to one with Agent\n"},
        {HEAD "  - {Name: A, Fail: {Error: E}, TimeoutSeconds: 3}\n",
         "4:33: error: TimeoutSeconds does not belong to a step with Fail, only to one with "
         "Agent\n"},
        {HEAD "  - {Name: A, When: input.a}\n",
         "4:5: error: a step has no Agent, Agents, Set or Fail\n"},
        {HEAD "  - {Name: A, Fail: {Message: no}}\n", "4:21: error: Fail of a step has no Error\n"},
        {HEAD "  - {Name: A, Fail: {Error: States.Timeout}}\n",
         "4:29: error: Error must be 1 to 64 letters, digits, '.', '_' or '-', without "
         "\"States.\" at its beginning\n"},
        {HEAD "  - {Name: A, Fail: LoanDeclined}\n",
         "4:21: error: Fail of a step must be a mapping of fields, not a text\n"},
        {HEAD "  - {Name: A, Set: }\n",
         "4:15: error: Set has no value: give it one or leave it out\n"});
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
          "would stay; leave out one of the two\n"},
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
