/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that await a signal, in workflow files. */
#include "kit.h"

#include <criterion/criterion.h>

#define LIMITED "Name: w\nVersion: 1\nTimeoutSeconds: 86400\nSteps:\n"

#define ASKED LIMITED "  - {Name: A, Await: {Options: [approve, decline]}}\n  - {Name: B, "

Test(workflow_await, compiles_what_is_asked_of_whom)
{
    struct workflow *workflow = kit_workflow(
        LIMITED "  - Name: A\n"
                "    Await: {Comment: c, From: managers, Options: [approve, 'not now'],\n"
                "            Question: \"Refund ${input.amount}?\"}\n"
                "    Until: result.by != input.by && order.id != ''\n"
                "    Output: \"${result.choice}\"\n"
                "    TimeoutSeconds: 60\n"
                "  - {Name: B, Await: {}, When: output.A == 'approve'}\n");
    const struct workflow_step *step = &workflow->steps[0];
    cr_assert_eq(step->kind, STEP_KIND_AWAIT);
    cr_assert_eq(step->agent_count, 0);
    cr_assert(text_equal(step->await.from, TEXT("managers")));
    cr_assert_eq(step->await.options.count, 2);
    cr_assert(text_equal(step->await.options.items[1], TEXT("not now")));
    cr_assert_eq(step->await.question->kind, TEMPLATE_TEXT);
    cr_assert_not_null(step->until);
    cr_assert_not_null(step->output);
    cr_assert_eq(step->timeout_ms, 60000);
    cr_assert(workflow_step_waits(step));
    step++;
    cr_assert_eq(step->kind, STEP_KIND_AWAIT);
    cr_assert(text_empty(step->await.from));
    cr_assert_eq(step->await.options.count, 0);
    cr_assert_null(step->await.question);
    cr_assert_eq(step->timeout_ms, 0);
}

/* Defaults are of steps with an agent. */
Test(workflow_await, wants_a_time_limit)
{
    LINT({HEAD "  - {Name: A, Await: {}}\n",
          "4:12: error: step A would await a signal forever: set TimeoutSeconds on the step or on "
          "the workflow\n"},
         {"Name: w\nVersion: 1\nDefaults: {TimeoutSeconds: 5}\nSteps:\n  - {Name: A, Await: {}}\n",
          "5:12: error: step A would await a signal forever: set TimeoutSeconds on the step or on "
          "the workflow\n"},
         {HEAD "  - {Name: A, Await: {}, TimeoutSeconds: 5}\n", ""},
         {LIMITED "  - {Name: A, Await: {}}\n", ""},
         {LIMITED "  - {Name: A, Await: {}, TimeoutSeconds: 86401}\n",
          "5:12: warning: step A may take 86401 s, longer than the whole order (86400 s)\n"});
}

Test(workflow_await, checks_its_options)
{
    LINT({LIMITED "  - {Name: A, Await: {Options: []}}\n",
          "5:32: error: Options has 0 elements; it must have 1 to 8\n"},
         {LIMITED "  - {Name: A, Await: {Options: [a, b, c, d, e, f, g, h, i]}}\n",
          "5:32: error: Options has 9 elements; it must have 1 to 8\n"},
         {LIMITED "  - {Name: A, Await: {Options: approve}}\n",
          "5:32: error: Options must be a list, not a text\n"},
         {LIMITED "  - {Name: A, Await: {Options: [a, b, a]}}\n",
          "5:39: error: option a is there twice\n"},
         {LIMITED "  - {Name: A, Await: {Options: [yes, b]}}\n",
          "5:33: error: an option must be a text: put yes in quotes\n"},
         {LIMITED "  - {Name: A, Await: {Options: ['']}}\n",
          "5:33: error: an option must be 1 to 64 bytes of printable text\n"},
         {LIMITED "  - {Name: A, Await: {From: [a]}}\n",
          "5:29: error: From must be a name, not a list\n"},
         {LIMITED "  - {Name: A, Await: {From: two words}}\n",
          "5:29: error: From \"two words\" has a character that is not a letter, a digit or one of "
          ". _ -\n"});
}

/* Signals come at any time. */
Test(workflow_await, holds_signals_against_nothing_that_may_be_missing)
{
    LINT(
        {LIMITED "  - {Name: S, Set: 1}\n  - {Name: A, Await: {}, Until: output.S == result}\n",
         "6:33: error: output is not known here: it stands in what is evaluated at a step's turn, "
         "not as its signal arrives\n"},
        {LIMITED "  - {Name: S, Set: 1}\n  - {Name: A, Await: {}, Output: \"${error.S}\"}\n",
         "6:37: error: error is not known here: it stands in what is evaluated at a step's turn, "
         "not as its signal arrives\n"
         "6:43: error: error.S is never there: step S has no Catch with Next: $continue\n"},
        {LIMITED "  - {Name: S, Set: 1}\n  - {Name: A, Await: {Question: \"${output.S}?\"}}\n", ""},
        {LIMITED "  - {Name: A, Await: {Question: \"${result}?\"}}\n",
         "5:36: error: result is not known here: it stands in Until, StopWhen, the Output of a "
         "step "
         "and Compensate.Input\n"});
}

Test(workflow_await, has_its_fields_only)
{
    LINT({LIMITED "  - {Name: A, Await: {}, Retry: [], Pivot: true, Input: 1}\n",
          "5:26: error: Retry does not belong to a step with Await, only to one with Agent\n"
          "5:37: error: Pivot does not belong to a step with Await, only to one with Agent or "
          "Steps\n"
          "5:50: error: Input does not belong to a step with Await, only to one with Agent or "
          "Steps\n"},
         {LIMITED "  - {Name: A, Await: {}, Agent: x}\n",
          "5:15: error: a step has Agent or Await, not both: make two steps of it\n"},
         {LIMITED "  - {Name: A, Await: managers}\n",
          "5:22: error: Await of a step must be a mapping of fields, not a text: write {From: "
          "managers}\n"},
         {LIMITED "  - {Name: A, Await: {Form: managers}}\n",
          "5:23: error: Form is an unknown field of Await of a step: did you mean From?\n"});
}

/* What it may not leave is there for the steps after it. */
Test(workflow_await, may_be_missing_where_its_time_out_is_caught)
{
    LINT({LIMITED
          "  - {Name: A, Await: {}, Catch: [{ErrorEquals: [States.Timeout], Next: $continue}]}\n"
          "  - {Name: B, When: output.A.ok, Set: 1}\n",
          "6:28: error: step A may have no output: write has(output.A) && ... or has(output.A) ? "
          "... "
          ": ...\n"},
         {LIMITED "  - {Name: A, Await: {}}\n  - {Name: B, When: output.A.ok, Set: 1}\n", ""});
}

/* A signal chooses one of them. */
Test(workflow_await, knows_what_may_be_chosen)
{
    LINT({ASKED "When: output.A.choice == 'aprove', Set: 1}\n",
          "6:40: warning: aprove is not one of the Options: did you mean approve?\n"},
         {ASKED "When: \"'aprove' != output.A.choice\", Set: 1}\n",
          "6:22: warning: aprove is not one of the Options: did you mean approve?\n"},
         {ASKED "When: \"output.A.choice in ['approve', 'maybe']\", Set: 1}\n",
          "6:53: warning: maybe is not one of the Options: there are approve and decline\n"},
         {ASKED "When: output.A.choise == 'approve', Set: 1}\n",
          "6:30: error: there is no member choise: did you mean choice?\n"},
         {ASKED "When: output.A.choice == input.c && output.A.comment != 'aprove', Set: 1}\n", ""},
         {ASKED "Set: \"${output.A.choice == 'decline' ? output.A.by : ''}\"}\n", ""},
         {LIMITED "  - {Name: A, Await: {Options: [a, b]}, Until: result.choice != 'c'}\n",
          "5:65: warning: c is not one of the Options: there are a and b\n"},
         {LIMITED "  - {Name: A, Await: {Options: [a, b]}, Output: \"${result.choice}\"}\n"
                  "  - {Name: B, When: output.A == 'c', Set: 1}\n",
          "6:33: warning: c is not one of the Options: there are a and b\n"},
         {LIMITED "  - {Name: A, Await: {}}\n  - {Name: B, When: output.A.choice == 'c', Set: 1}\n",
          ""});
}
