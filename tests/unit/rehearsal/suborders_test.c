/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of cases with their sub-orders. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define UNDO "Compensate: {Action: Undo}"
#define THREE                                                    \
    "Steps:\n  - Name: All\n    ForEach: {Items: [a, b, c]}\n"   \
    "    Steps:\n      - {Name: A, Agent: a, " UNDO "}\n"        \
    "      - {Name: B, Agent: b}\n    Output: \"${output.B}\"\n" \
    "  - {Name: Last, Agent: last}\n"

Test(rehearsal_suborders, run_to_their_end_and_are_kept)
{
    PASSES(THREE, "    Answers: {All/B: {Output: 7}, All~1/B: {Output: 8}}\n"
                  "    Expect: {State: Processed, Suborders: {All: Processed},\n"
                  "             Path: [All, All~0/A, All~1/A, All~2/A, All~0/B, All~1/B, All~2/B,\n"
                  "                    Last],\n"
                  "             Inputs: {All~1: b}, Attempts: {All/B: 3, All~1/B: 1},\n"
                  "             Outputs: {All: {items: [7, 8, 7], processed: 3, failed: 0}}}\n");
}

Test(rehearsal_suborders, are_undone_with_the_one_that_fails)
{
    PASSES(THREE, "    Answers: {All~2/B: {Error: Full}}\n"
                  "    Expect: {State: Compensated, Reason: Full, Suborders: {All: Compensated},\n"
                  "             Steps: {All: Error, All/A: Compensated, All~0/B: Processed},\n"
                  "             Errors: {All: Full, All~2/B: Full}, Attempts: {Last: 0}}\n");
}

Test(rehearsal_suborders, are_undone_by_what_follows_them)
{
    PASSES(THREE, "    Answers: {Last: {Error: Full}}\n"
                  "    UndoAnswers: {All~1/A: [{Error: Busy, AfterSeconds: 9}, {}]}\n"
                  "    Expect: {State: Compensated, Reason: Full, Suborders: {All: Compensated},\n"
                  "             Steps: {All: Compensated}}\n");
}

/* At each place, and none may be missing. */
Test(rehearsal_suborders, are_compared_one_by_one)
{
    cr_assert_str_eq(
        kit_differences(THREE, "    Answers: {All~2/B: {Output: 7}}\n"
                               "    Expect: {Suborders: {All: Error, All~3: Processed},\n"
                               "             Outputs: {All/B: 7}, Attempts: {All/B: 4},\n"
                               "             Inputs: {All: a}, Steps: {All~7/A: Processed}}\n"),
        "Steps.All~7/A: expected Processed, actual none\n"
        "Attempts.All/B: expected 4, actual 3\n"
        "Inputs.All~1: expected \"a\", actual \"b\"\n"
        "Inputs.All~2: expected \"a\", actual \"c\"\n"
        "Outputs.All~0/B: expected 7, actual null\n"
        "Outputs.All~1/B: expected 7, actual null\n"
        "Suborders.All~0: expected Error, actual Processed\n"
        "Suborders.All~1: expected Error, actual Processed\n"
        "Suborders.All~2: expected Error, actual Processed\n"
        "Suborders.All~3: expected Processed, actual none\n");
}

#define STUCK                                                 \
    "Steps:\n  - Name: All\n    ForEach: {Items: [a, b]}\n%s" \
    "    Steps:\n      - {Name: A, Agent: a, " UNDO ", OnExhausted: error}\n"

static const char *stuck(const char *field)
{
    static char text[1024];
    snprintf(text, sizeof(text), STUCK, field);
    return text;
}

/* What waits for an operator is at rest, although its parent asks for it every day. */
Test(rehearsal_suborders, that_are_in_error_wait_for_an_operator)
{
    PASSES(stuck(""), "    Answers: {All~1/A: {Error: Lost}}\n"
                      "    Expect: {State: Processing, Suborders: {All~0: Held, All~1: Error}}\n");
    PASSES(stuck(""), "    Answers: {All~1/A: [{Error: Lost}, {}]}\n"
                      "    Operator: [{Command: resubmit, Step: All~1/A}]\n"
                      "    Expect: {State: Processed, Suborders: {All: Processed}}\n");
    PASSES(stuck(""), "    Answers: {All~1/A: [{Error: Lost}]}\n"
                      "    Operator: [{Command: cancel, Suborder: All~1}]\n"
                      "    Expect: {State: Compensated, Reason: Cancelled}\n");
    PASSES(stuck(""), "    Answers: {All~1/A: [{Error: Lost}, {}]}\n"
                      "    Operator: [{Command: complete, Step: All~1/A, AtSeconds: 864000}]\n"
                      "    Expect: {State: Processed, Suborders: {All: Processed}}\n");
}

Test(rehearsal_suborders, end_when_the_time_of_their_step_is_over)
{
    PASSES(
        stuck("    TimeoutSeconds: 432000\n"),
        "    Answers: {All~1/A: {Error: Lost}}\n"
        "    Expect: {State: Compensated, Reason: States.Timeout, Errors: {All: States.Timeout},\n"
        "             Suborders: {All: Compensated}}\n");
}

/* The parent's word of it; the sub-order goes on, and is undone once it is done. */
Test(rehearsal_suborders, are_given_up_by_an_operator)
{
    PASSES(stuck(""),
           "    Answers: {All~1/A: {AfterSeconds: 30}}\n"
           "    Operator: [{Command: fail, Step: All~1, Error: Gone, AtSeconds: 5}]\n"
           "    Expect: {State: Compensated, Reason: Gone, Suborders: {All: Compensated}}\n");
}

Test(rehearsal_suborders, of_a_resubmission_go_on_with_their_answers)
{
    PASSES("Steps:\n  - Name: All\n    ForEach: {Items: [a, b]}\n    OnExhausted: error\n"
           "    Steps: [{Name: A, Agent: a}]\n    Output: \"${output.A}\"\n",
           "    Answers: {All/A: [{Error: Busy}, {Output: 7}], All~0/A: {Output: 6}}\n"
           "    Operator: [{Command: resubmit, Step: All}]\n"
           "    Expect: {State: Processed, Attempts: {All~0/A: 1, All~1/A: 2},\n"
           "             Outputs: {All: {items: [6, 7], processed: 2, failed: 0}}}\n");
}

#define NESTED                                                        \
    "Steps:\n  - Name: Out\n    ForEach: {Items: [[1], [2, 3]]}\n"    \
    "    Steps:\n      - Name: In\n        ForEach: {Items: input}\n" \
    "        Steps: [{Name: Ask, Await: {}, TimeoutSeconds: 60}]\n"   \
    "        Output: \"${output.Ask}\"\n"                             \
    "      - {Name: Sum, Set: \"${output.In.items.sum()}\"}\n"        \
    "    Output: \"${output.Sum}\"\n"

Test(rehearsal_suborders, have_sub_orders_and_take_signals)
{
    PASSES(NESTED, "    Signals:\n"
                   "      - {Step: Out~1/In~1/Ask, Payload: 30, AtSeconds: 5}\n"
                   "      - {Step: Out~1/In~0/Ask, Payload: 2}\n"
                   "      - {Step: Out~0/In~0/Ask, Payload: 1}\n"
                   "    Expect: {State: Processed, Inputs: {Out~1/In~1: 3},\n"
                   "             Outputs: {Out: {items: [1, 32], processed: 2, failed: 0}}}\n");
    PASSES(NESTED, "    Signals:\n"
                   "      - {Step: Out~1/In~2/Ask, Payload: 30, AtSeconds: 5}\n"
                   "    Expect: {State: Compensated, Reason: States.Timeout,\n"
                   "             Refused: [UnknownOrder]}\n");
}

/* Each step of those that are named has sub-orders of its own. */
Test(rehearsal_suborders, are_those_of_their_step)
{
    PASSES("Steps:\n  - {Name: P, After: [], ForEach: {Items: [a, b]},\n"
           "     Steps: [{Name: A, Agent: a}], Catch: [{ErrorEquals: [Not], Next: $continue}]}\n"
           "  - {Name: Q, After: [], ForEach: {Items: [c, d]}, Steps: [{Name: A, Agent: a}]}\n",
           "    Answers: {P/A: {Error: Not}}\n"
           "    Expect: {State: Processed, Suborders: {P: Compensated, Q: Processed},\n"
           "             Inputs: {P~0: a, Q~0: c}, Attempts: {P/A: 2, Q/A: 2}}\n");
}

/* More than a Decision has units for, and than arenas keep. */
Test(rehearsal_suborders, may_be_a_thousand)
{
    PASSES("Steps:\n  - {Name: List, Agent: l}\n  - Name: All\n"
           "    ForEach: {Items: \"output.List\", MaxConcurrency: 70}\n"
           "    Input: {n: \"${item + index}\", all: \"${output.List.size()}\"}\n"
           "    Steps: [{Name: A, Agent: a, " UNDO "}]\n",
           kit_list_of("List", 1000,
                       "    Expect: {State: Processed, Suborders: {All: Processed},\n"
                       "             Inputs: {All~999: {n: 1998, all: 1000}},\n"
                       "             Attempts: {All/A: 1000}}\n"));
}

/* The step itself submits those for which a Decision has no units left, though none answers. */
Test(rehearsal_suborders, are_all_submitted_although_none_ends)
{
    PASSES(
        "Steps:\n  - {Name: List, Agent: l}\n  - Name: All\n"
        "    ForEach: {Items: output.List}\n"
        "    Input: {n: \"${item}\", all: \"${output.List.map(x, output.List.sum()).sum()}\"}\n"
        "    Steps: [{Name: A, Fail: {Error: Not}, OnExhausted: error}]\n",
        kit_list_of("List", 200,
                    "    Expect: {State: Processing, Suborders: {All: Error, All~199: Error}}\n"));
}
