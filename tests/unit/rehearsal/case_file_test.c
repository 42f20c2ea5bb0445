/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tests: every mistake gets its line, column and cure. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define FILE_HEAD "Workflow: w.yaml\nCases:\n"
#define CASE_HEAD FILE_HEAD "  - Name: x\n"

static void expect(const char *file, const char *problems)
{
    const char *found = kit_problems(file);
    cr_assert_str_eq(found, problems, "%s\nfound:\n%s\nnot:\n%s", file, found, problems);
}

Test(rehearsal_file, takes_every_field)
{
    expect(CASE_HEAD "    Comment: all of them\n"
                     "    Input: {a: [1, two, null]}\n"
                     "    Order: {order_id: o-7, customer: c, currency: EUR, priority: high,\n"
                     "            lines: [{sku: s, quantity: 1, unit_price: \"2.50\"}],\n"
                     "            attributes: {k: v}}\n"
                     "    Answers:\n"
                     "      A: {Output: {x: 1}, AfterSeconds: 1.5, Extend: true}\n"
                     "      B: [{Error: E, Message: m, Effect: unknown}, {NoAnswer: true}]\n"
                     "    UndoAnswers: {A: {Error: E}}\n"
                     "    Operator:\n"
                     "      - {Command: resubmit, Step: A, NewKey: true, AtSeconds: 3}\n"
                     "      - {Command: complete, Step: A, Output: 1, Reason: r}\n"
                     "      - {Command: skip, Step: A, NothingApplied: true}\n"
                     "      - {Command: fail, Step: A, Error: E}\n"
                     "      - {Command: amend, Input: {a: 2}, Reason: r}\n"
                     "      - {Command: cancel}\n"
                     "    Expect: {State: Processed, Reason: E, Steps: {A: Caught},\n"
                     "             Path: [A, undo A], Attempts: {A: 0}, Inputs: {A: 1},\n"
                     "             UndoInputs: {A: 1}, Outputs: {A: 1}, Errors: {A: E},\n"
                     "             Output: 1, Refused: []}\n",
           "");
}

Test(rehearsal_file, explains_mistakes_of_the_file)
{
    expect("Case: []\n", "1:1: error: Case is an unknown field of the file: did you mean Cases?\n"
                         "1:1: error: the file has no Workflow\n"
                         "1:1: error: the file has no Cases\n");
    expect("Workflow: 1\nCases: {}\n", "1:11: error: Workflow must be a text: put 1 in quotes\n"
                                       "2:8: error: Cases must be a list of cases, not a "
                                       "mapping\n");
    expect("Workflow: w.yaml\nCases: []\n",
           "2:8: error: Cases has 0 cases; it must have 1 to 1000\n");
    expect(FILE_HEAD "  - {Name: x, Expects: 1}\n",
           "3:5: error: a case has no Expect\n"
           "3:15: error: Expects is an unknown field of a case: did you mean Expect?\n");
    expect(FILE_HEAD "  - {Name: x, State: Error, Expect: {State: Error}}\n",
           "3:15: error: State does not belong here; it belongs to Expect\n");
    expect(FILE_HEAD "  - {Name: x, Expect: {State: Error}}\n"
                     "  - {Name: x, Expect: {State: Error}}\n",
           "4:12: error: there is already a case \"x\", in line 3\n");
}

Test(rehearsal_file, explains_mistakes_of_answers)
{
    expect(CASE_HEAD "    Answers: {Coutn: {}, Count: {}, B: {Output: 1, Error: E}, A: []}\n"
                     "    UndoAnswers: {B: {}}\n"
                     "    Expect: {State: Error}\n",
           "4:15: error: Coutn is not a step of workflow w: did you mean Count?\n"
           "4:26: error: no agent does step Count\n"
           "4:52: error: an answer has Output or Error, not both\n"
           "4:66: error: there are 0 answers; there must be 1 to 1000\n"
           "5:19: error: step B has no Compensate\n");
    expect(CASE_HEAD
           "    Answers: {A: [{Effect: none}, {NoAnswer: true, Output: 1}, {Extend: true},"
           " {Error: States.Timeout}, {Error: E, Effect: non}]}\n"
           "    Expect: {State: Error}\n",
           "4:20: error: Effect belongs to an answer with an Error\n"
           "4:36: error: NoAnswer stands alone: without an answer there is nothing else\n"
           "4:65: error: Extend asks for the time of AfterSeconds, which is missing\n"
           "4:88: error: Error must be " ERROR_NAME_EXPECTED "\n"
           "4:124: error: Effect \"non\" is unknown: did you mean none?\n");
}

Test(rehearsal_file, explains_mistakes_of_orders_and_data)
{
    expect(CASE_HEAD "    Order: {custmer: c}\n    Expect: {State: Error}\n",
           "4:12: error: Order: unknown field \"custmer\": did you mean \"customer\"?\n");
    expect(CASE_HEAD "    Order: {lines: [{sku: s, quantity: 1, unit_price: 1}]}\n"
                     "    Expect: {State: Error}\n",
           "4:12: error: Order: currency is missing: prices need one (ISO 4217)\n");
    expect(CASE_HEAD "    Input: {a: 01, b: no}\n    Expect: {State: Error}\n",
           "4:16: error: 01 is not a text to every YAML reader: put it in quotes, or write it as "
           "JSON does\n");
    expect(CASE_HEAD "    Input: 1\n    Order: {input: 2}\n    Expect: {State: Error}\n",
           "4:5: error: a case has Input or input in its Order, not both\n");
}

Test(rehearsal_file, explains_mistakes_of_operators)
{
    expect(CASE_HEAD "    Operator: [{Command: skipp, Step: A}, {Command: cancel, Step: A},\n"
                     "               {Command: fail, Step: X}]\n"
                     "    Expect: {State: Error}\n",
           "4:26: error: Command \"skipp\" is unknown: did you mean skip?\n"
           "4:43: error: Step does not belong to the command cancel\n"
           "5:16: error: the command fail has no Error\n"
           "5:38: error: X is not a step of workflow w\n");
    expect(CASE_HEAD "    Operator: [{Command: amend, Step: A}, {Command: resume, Input: 1}]\n"
                     "    Expect: {State: Error}\n",
           "4:16: error: the command amend has no Input\n"
           "4:16: error: Step does not belong to the command amend\n"
           "4:43: error: Input does not belong to the command resume\n");
}

/* Four bytes of YAML may be six of JSON, so a file has room for it. */
Test(rehearsal_file, limits_the_input_of_an_amendment)
{
    enum { ESCAPES = 45000, ESCAPE_BYTES = 4 };
    static char file[ESCAPES * ESCAPE_BYTES + 200];
    size_t used = (size_t)snprintf(file, sizeof(file), "%s",
                                   CASE_HEAD "    Operator: [{Command: amend, Input: \"");
    for (int i = 0; i < ESCAPES; i++, used += ESCAPE_BYTES)
        memcpy(file + used, "\\x01", ESCAPE_BYTES);
    snprintf(file + used, sizeof(file) - used, "\"}]\n    Expect: {State: Error}\n");
    expect(file, "4:40: error: Input has 270002 bytes; the limit is 262144\n");
}

Test(rehearsal_file, explains_mistakes_of_expectations)
{
    expect(CASE_HEAD "    Expect: {}\n", "4:13: error: Expect expects nothing\n");
    expect(CASE_HEAD "    Expect: {State: Proccessed, Steps: {A: Done}, Path: [undo X, D],\n"
                     "             Attempts: {A: -1}}\n",
           "4:21: error: State \"Proccessed\" is unknown: did you mean Processed?\n"
           "4:44: error: the state of a step must be Pending, Processing, Processed, Error, "
           "Compensated, Skipped, Caught or Waiting, not a text (Done)\n"
           "4:58: error: X is not a step of workflow w\n"
           "4:66: error: D is not a step of workflow w\n"
           "5:28: error: the number of attempts must be from 0 to 2147483647, not -1\n");
}

Test(rehearsal_file, takes_steps_and_sub_orders_of_sub_orders)
{
    expect(CASE_HEAD
           "    Answers: {All/C: {Error: E}, All~1/C: {Output: 1}, One/D: {NoAnswer: true}}\n"
           "    UndoAnswers: {One/D: {Error: E}}\n"
           "    Operator:\n"
           "      - {Command: fail, Step: All~1, Error: E}\n"
           "      - {Command: fail, Step: All, Error: E}\n"
           "      - {Command: complete, Step: All~0/C}\n"
           "      - {Command: cancel, Suborder: All~0}\n"
           "      - {Command: resubmit, Suborder: One}\n"
           "    Signals: [{Step: All~1/Ask, Payload: 1}]\n"
           "    Expect: {Steps: {All: Error, All/C: Processed, All~1/C: Pending},\n"
           "             Suborders: {All: Processed, All~999: Error, One: Held},\n"
           "             Path: [All, All~0/C, undo One/D], Attempts: {All/C: 3},\n"
           "             Inputs: {All~1: 2, One: null}, Outputs: {All~0/C: 1}}\n",
           "");
}

Test(rehearsal_file, explains_mistakes_in_the_names_of_sub_orders)
{
    expect(CASE_HEAD "    Answers: {All: {}, All~0: {}, A/C: {}, All/X: {}, One~0/D: {},\n"
                     "              All~1000/C: {}, All~01/C: {}, All~/C: {}, /C: {}}\n"
                     "    UndoAnswers: {All/C: {}}\n"
                     "    Expect: {State: Error}\n",
           "4:15: error: no agent does step All: name the steps of its Steps\n"
           "4:24: error: All~0 is a sub-order; a step of it is named after a '/'\n"
           "4:35: error: step A has no Steps, so no step of it can be named\n"
           "4:44: error: X is not a step of workflow w/All\n"
           "4:55: error: step One has no ForEach, and so no items: leave out ~0\n"
           "5:15: error: All~ must be followed by the number of an item, from 0 to 999\n"
           "5:31: error: All~ must be followed by the number of an item, from 0 to 999\n"
           "5:45: error: All~ must be followed by the number of an item, from 0 to 999\n"
           "5:57: error: the name of a step is missing; write STEP, STEP/STEP or STEP~ITEM/STEP\n"
           "6:19: error: step All/C has no Compensate\n");
    expect(CASE_HEAD
           "    Operator: [{Command: skip, Step: All/C}, {Command: skip, Step: All~1},\n"
           "               {Command: cancel, Suborder: A}, {Command: pause, Suborder: All},\n"
           "               {Command: resubmit, Step: A, Suborder: One},\n"
           "               {Command: skip, Step: A, Suborder: One}]\n"
           "    Signals: [{Step: All/Ask, Payload: 1}]\n"
           "    Expect: {Path: [All/C], Suborders: {A: Error}, Outputs: {All~0: 1}}\n",
           "4:38: error: All/C does not say which item of All, the first of which is All~0\n"
           "4:68: error: All~1 is a sub-order; a step of it is named after a '/'\n"
           "5:44: error: step A has no Steps, and so no sub-orders\n"
           "5:75: error: All does not say which item of All, the first of which is All~0\n"
           "6:45: error: a command has Step or Suborder, not both: Step names that of a sub-order "
           "as well\n"
           "7:16: error: Suborder does not belong to the command skip\n"
           "8:22: error: All/Ask does not say which item of All, the first of which is All~0\n"
           "9:21: error: All/C does not say which item of All, the first of which is All~0\n"
           "9:41: error: step A has no Steps, and so no sub-orders\n"
           "9:62: error: All~0 is a sub-order; a step of it is named after a '/'\n");
}
