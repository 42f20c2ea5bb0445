/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of cases: answers, deadlines, operators, and what differs. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define TWO                                                      \
    "TimeoutSeconds: 600\nSteps:\n"                              \
    "  - Name: A\n    Agent: a\n    TimeoutSeconds: 10\n"        \
    "    MaxExtensionSeconds: 20\n"                              \
    "    Retry: [{ErrorEquals: [States.ALL], MaxAttempts: 2}]\n" \
    "    Compensate: {Action: Undo, TimeoutSeconds: 10}\n"       \
    "  - {Name: B, Agent: b}\n"

Test(rehearsal_story, steps_without_answers_succeed_at_once)
{
    PASSES(TWO,
           "    Expect: {State: Processed, Path: [A, B], Attempts: {A: 1}, Outputs: {B: null}}\n");
}

Test(rehearsal_story, gives_answers_in_turn_and_repeats_the_last_one)
{
    PASSES(TWO, "    Answers: {A: [{Error: Busy}, {Output: 7}]}\n"
                "    Expect: {State: Processed, Attempts: {A: 2}, Outputs: {A: 7}}\n");
    PASSES(TWO, "    Answers: {A: {Error: Busy}}\n"
                "    Expect: {State: Compensated, Reason: Busy, Attempts: {A: 3, B: 0},\n"
                "             Errors: {A: Busy}, Path: [A]}\n");
}

/* Those of the same moment in the order in which they were asked. */
Test(rehearsal_story, takes_answers_in_the_order_of_time)
{
    static const char *const steps = "Steps:\n  - {Name: A, Agent: a, After: []}\n"
                                     "  - {Name: B, Agent: b, After: []}\n"
                                     "  - {Name: AfterA, Agent: a, After: A}\n"
                                     "  - {Name: AfterB, Agent: b, After: B}\n";
    PASSES(steps, "    Expect: {Path: [A, B, AfterA, AfterB]}\n");
    PASSES(steps, "    Answers: {A: {AfterSeconds: 2}, B: {AfterSeconds: 1}}\n"
                  "    Expect: {Path: [A, B, AfterB, AfterA]}\n");
    PASSES("Steps:\n  - {Name: A, Agent: a, After: []}\n  - {Name: B, Agent: b, After: []}\n"
           "  - {Name: C, Agent: c, After: []}\n  - {Name: AfterA, Agent: a, After: A}\n"
           "  - {Name: AfterB, Agent: b, After: B}\n  - {Name: AfterC, Agent: c, After: C}\n",
           "    Answers: {A: {AfterSeconds: 1}, B: {AfterSeconds: 2}, C: {AfterSeconds: 1}}\n"
           "    Expect: {Path: [A, B, C, AfterA, AfterC, AfterB]}\n");
}

Test(rehearsal_story, times_out_attempts_that_are_not_answered)
{
    PASSES(TWO, "    Answers: {A: [{NoAnswer: true}, {Output: 7}]}\n"
                "    Expect: {State: Processed, Attempts: {A: 2}, Errors: {A: States.Timeout}}\n");
    /* Unknown, so it is undone. */
    PASSES(TWO, "    Answers: {A: {NoAnswer: true}}\n"
                "    Expect: {State: Compensated, Attempts: {A: 3}, Path: [A, undo A]}\n");
}

Test(rehearsal_story, counts_what_comes_late_only_where_the_engine_does)
{
    /* An agent gives up at the end of the attempt, but reports a success. */
    PASSES(TWO, "    Answers: {A: [{Error: Busy, AfterSeconds: 10.5}, {}]}\n"
                "    Expect: {State: Processed, Attempts: {A: 2}, Errors: {A: States.Timeout}}\n");
    PASSES(TWO, "    Answers: {A: {AfterSeconds: 10.5, Output: 7}}\n"
                "    Expect: {State: Processed, Attempts: {A: 1}, Outputs: {A: 7}}\n");
    PASSES(TWO, "    Answers: {A: [{AfterSeconds: 60, Output: 7}, {Output: 8}]}\n"
                "    Expect: {State: Processed, Attempts: {A: 2}, Outputs: {A: 8}}\n");
}

Test(rehearsal_story, asks_for_more_time_within_the_workflows_limit)
{
    PASSES(TWO, "    Answers: {A: {AfterSeconds: 30, Extend: true}}\n"
                "    Expect: {State: Processed, Attempts: {A: 1}}\n");
    PASSES(TWO, "    Answers: {A: [{AfterSeconds: 40, Extend: true}, {}]}\n"
                "    Expect: {State: Processed, Attempts: {A: 2}}\n");
}

/* A year of waiting takes no time, and what happens at the same time comes in its order. */
Test(rehearsal_story, jumps_to_the_moments_that_steps_wait_for)
{
#define WAITS                                                        \
    "Steps:\n  - {Name: W, Wait: {Seconds: 31536000}}\n"             \
    "  - {Name: V, Wait: {Timestamp: \"'2000-12-31T00:00:10Z'\"}}\n" \
    "  - {Name: B, Agent: b}\n"
    PASSES(WAITS, "    Expect: {State: Processed, Path: [W, V, B], Outputs: {W: null}}\n");
    PASSES(WAITS, "    Operator: [{Command: pause, AtSeconds: 31535999}, {Command: resume}]\n"
                  "    Expect: {State: Processed, Path: [W, V, B]}\n");
    PASSES(WAITS, "    Operator: [{Command: skip, Step: W, AtSeconds: 5},\n"
                  "               {Command: complete, Step: V, AtSeconds: 6, Output: 7}]\n"
                  "    Expect: {State: Processed, Path: [W, V, B], Outputs: {V: 7},\n"
                  "             Steps: {W: Skipped}}\n");
    PASSES(WAITS, "    Operator: [{Command: cancel, AtSeconds: 31536005}]\n"
                  "    Expect: {State: Compensated, Path: [W, V],\n"
                  "             Steps: {W: Processed, V: Skipped}}\n");
}

Test(rehearsal_story, gives_the_next_answer_where_a_service_is_asked_again)
{
    PASSES("Steps:\n  - Name: A\n    Agent: a\n    Until: result == 2\n"
           "    Retry: [{ErrorEquals: [States.NotYet], MaxAttempts: 2}]\n",
           "    Answers: {A: [{Output: 0}, {Output: 1}, {Output: 2}]}\n"
           "    Expect: {State: Processed, Attempts: {A: 3}, Outputs: {A: 2}}\n");
}

Test(rehearsal_story, undoes_with_answers_of_its_own)
{
    PASSES(TWO,
           "    Answers: {B: {Error: Not}}\n"
           "    UndoAnswers: {A: [{Error: Busy}, {}]}\n"
           "    Expect: {State: Compensated, Path: [A, B, undo A], Steps: {A: Compensated}}\n");
}

Test(rehearsal_story, lets_operators_act_in_time_and_at_rest)
{
    PASSES(TWO, "    Answers: {B: {AfterSeconds: 30}}\n"
                "    Operator: [{Command: cancel, AtSeconds: 5}]\n"
                "    Expect: {State: Compensated, Reason: Cancelled, Path: [A, B, undo A]}\n");
    PASSES(TWO, "    Operator: [{Command: pause, AtSeconds: 0}, {Command: resume}]\n"
                "    Answers: {A: {AfterSeconds: 1}}\n"
                "    Expect: {State: Processed}\n");
    PASSES("Steps:\n  - {Name: A, Agent: a, OnExhausted: error}\n  - {Name: B, Agent: b}\n",
           "    Answers: {A: {Error: Not}}\n"
           "    Operator: [{Command: complete, Step: A, Output: 7}]\n"
           "    Expect: {State: Processed, Outputs: {A: 7}}\n");
}

#define ORDER(amended)                                                                            \
    "    Input: {street: Lnog, gift: 1}\n    Answers: {A: [{Error: Not, Effect: unknown}, {}]}\n" \
    "    Operator:\n      - {Command: amend, Input: " amended ", Reason: a typing error}\n"       \
    "      - {Command: resubmit}\n"

Test(rehearsal_story, amends_the_input_as_the_engine_does)
{
    static const char steps[] =
        "Steps:\n  - {Name: A, Agent: a, OnExhausted: error, Input: \"${input.gift}\"}\n"
        "  - {Name: B, Agent: b, Input: \"${input.street}\"}\n";
    PASSES(
        steps,
        ORDER(
            "{street: Long, gift: 1}") "    Expect: {State: Processed, Inputs: {A: 1, B: Long}}\n");
    PASSES(steps, ORDER("{street: Long, gift: 2}") "    Expect: {State: Processed, Inputs: {A: 1, "
                                                   "B: Lnog}, Refused: [InputWasRead]}\n");
    PASSES("InputShape: {street: string, gift: integer}\nSteps:\n"
           "  - {Name: A, Agent: a, OnExhausted: error, Input: 1}\n",
           ORDER("{street: Long}") "    Expect: {State: Processed, Refused: [InvalidInput]}\n");
    PASSES("Steps:\n  - {Name: A, Agent: a, OnExhausted: error, Input: 1}\n"
           "  - {Name: B, Agent: b, When: has(input.street)}\n"
           "  - {Name: C, Agent: c}\nOutput: \"${input}\"\n",
           ORDER("{}") "    Expect: {State: Processed, Output: {}, Steps: {B: Skipped}}\n");
}

Test(rehearsal_story, times_the_order_out)
{
    PASSES("TimeoutSeconds: 60\nSteps:\n  - {Name: A, Agent: a, Compensate: {Action: Undo}}\n"
           "  - {Name: B, Agent: b, TimeoutSeconds: 50}\n",
           "    Answers: {A: {AfterSeconds: 20}, B: {NoAnswer: true}}\n"
           "    Expect: {State: Compensated, Reason: States.Timeout, Path: [A, B, undo A]}\n");
}

Test(rehearsal_story, shows_what_the_inputs_made)
{
    PASSES("Steps:\n  - Name: A\n    Agent: a\n    Input: {n: \"${input.n + 1}\"}\n"
           "    Compensate: {Action: Undo, Input: {was: \"${result}\"}}\n"
           "  - {Name: B, Fail: {Error: Never}}\n",
           "    Input: {n: 1}\n    Answers: {A: {Output: 5}}\n"
           "    Expect: {State: Compensated, Inputs: {A: {n: 2}}, UndoInputs: {A: {was: 5}},\n"
           "             Path: [A, B, undo A], Errors: {B: Never}}\n");
}

Test(rehearsal_story, says_what_differs)
{
    cr_assert_str_eq(
        kit_differences(TWO,
                        "    Answers: {A: {Output: 7}, B: {Error: Not}}\n"
                        "    Operator: [{Command: resume}]\n"
                        "    Expect: {State: Processed, Reason: Other, Output: {}, Path: [A],\n"
                        "             Steps: {A: Processed}, Attempts: {A: 2},\n"
                        "             Inputs: {A: 1}, Outputs: {A: 8}, Errors: {B: Maybe}}\n"),
        "State: expected Processed, actual Compensated\n"
        "Reason: expected Other, actual Not\n"
        "Path: expected A, actual A, B, undo A\n"
        "Output: expected {}, actual none\n"
        "Refused: expected none, actual NotPaused\n"
        "Steps.A: expected Processed, actual Compensated\n"
        "Attempts.A: expected 2, actual 1\n"
        "Inputs.A: expected 1, actual none\n"
        "Outputs.A: expected 8, actual 7\n"
        "Errors.B: expected Maybe, actual Not\n");
}

#define ANSWER "    Answers: {A: {Output: "
#define EXPECTED "}}\n    Expect: {Outputs: {A: "

Test(rehearsal_story, shows_the_places_in_which_data_differ)
{
    cr_assert_str_eq(
        kit_differences(TWO, ANSWER
                        "{a: 1, same: [1], list: [{x: 1}, 2], new: {}, \"b c\": null}" EXPECTED
                        "{a: 2, same: [1], list: [{x: [2]}], old: t, \"b c\": 1}}}\n"),
        "Outputs.A.a: expected 2, actual 1\n"
        "Outputs.A[\"b c\"]: expected 1, actual null\n"
        "Outputs.A.list[0].x: expected [2], actual 1\n"
        "Outputs.A.list[1]: expected none, actual 2\n"
        "Outputs.A.new: expected none, actual {}\n"
        "Outputs.A.old: expected \"t\", actual none\n");
    cr_assert_str_eq(kit_differences(TWO, ANSWER "{\"\\x01\": 1, \"~\": 2}" EXPECTED
                                                 "{\"\\x01\": 1, \"~\": 3}}}\n"),
                     "Outputs.A[\"~\"]: expected 3, actual 2\n");
    cr_assert_str_eq(kit_differences(TWO, ANSWER "{a: 1, y: 2}" EXPECTED "{a: 1}}}\n"),
                     "Outputs.A.y: expected none, actual 2\n");
    cr_assert_str_eq(kit_differences(TWO, ANSWER "{a: 1}" EXPECTED "{a: 1, y: 2}}}\n"),
                     "Outputs.A.y: expected 2, actual none\n");
    cr_assert_str_eq(kit_differences(TWO, ANSWER "[1]" EXPECTED "{}}}\n"),
                     "Outputs.A: expected {}, actual [1]\n");
    cr_assert_str_eq(kit_differences(TWO, "    Expect: {Outputs: {A: {}, B: {x: 1}}}\n"),
                     "Outputs.A: expected {}, actual null\n"
                     "Outputs.B: expected {\"x\":1}, actual null\n");
}

Test(rehearsal_story, shows_data_as_a_whole_where_they_have_little_in_common)
{
    cr_assert_str_eq(
        kit_differences(TWO, ANSWER "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]" EXPECTED "[]}}\n") +
            sizeof("Outputs.A[0]: expected none, actual 0\n") - 1,
        "Outputs.A[1]: expected none, actual 1\n"
        "Outputs.A[2]: expected none, actual 2\n"
        "Outputs.A[3]: expected none, actual 3\n"
        "Outputs.A[4]: expected none, actual 4\n"
        "Outputs.A[5]: expected none, actual 5\n"
        "Outputs.A[6]: expected none, actual 6\n"
        "Outputs.A[7]: expected none, actual 7\n"
        "Outputs.A[8]: expected none, actual 8\n"
        "Outputs.A[9]: expected none, actual 9\n"
        "Outputs.A[10]: expected none, actual 10\n"
        "Outputs.A[11]: expected none, actual 11\n");
    cr_assert_str_eq(
        kit_differences(TWO, ANSWER "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]" EXPECTED "[]}}\n"),
        "Outputs.A: expected [], actual [0,1,2,3,4,5,6,7,8,9,10,11,12]\n");
}

/* Twice the same, to the letter. */
Test(rehearsal_story, is_the_same_each_time)
{
    static const char *const test = "    Answers: {A: [{Error: Busy}, {NoAnswer: true}]}\n"
                                    "    Expect: {Path: []}\n";
    char first[256];
    snprintf(first, sizeof(first), "%s", kit_differences(TWO, test));
    cr_assert_str_eq(kit_differences(TWO, test), first);
}
