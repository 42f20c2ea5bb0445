/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between workflows. */
#include "tests/unit/workflow/kit.h"
#include "workflow/diff.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char base[] = "Name: w\nVersion: 1\nTimeoutSeconds: 600\nSteps:\n"
                           "  - {Name: A, Agents: [x, y], After: []}\n"
                           "  - {Name: B, Agent: y, After: [A], TimeoutSeconds: 4}\n";

#define NO_LONGER                                                                          \
    "the agent no longer gets outputs and lines, nor the order's input: put all that its " \
    "service reads into Input\n"
#define WHOLE_AGAIN                                                                         \
    "the agent gets the whole order again, with lines, input and outputs, instead of what " \
    "Input makes: have its service read from those\n"
#define UNDO_NO_LONGER                                                                      \
    "the undo no longer gets lines, the order's input and the outputs of other steps: put " \
    "all that its service reads into Compensate.Input\n"
#define UNDO_WHOLE_AGAIN                                                                   \
    "the undo gets the whole order again, with lines, input and outputs, instead of what " \
    "Compensate.Input makes: have its service read from those\n"

/* "step.field: left | right\n" for each, with "WARNING\n" behind it. */
static const char *diff(const char *left, const char *right)
{
    static char lines[4096];
    size_t size = 0;
    const struct workflow_difference *differences;
    uint32_t count =
        workflow_diff(kit_workflow(left), kit_workflow(right), kit_arena(), &differences);
    lines[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        size += (size_t)snprintf(lines + size, sizeof(lines) - size, "%.*s.%s: %.*s | %.*s\n",
                                 TEXT_ARG(differences[i].step), differences[i].field,
                                 TEXT_ARG(differences[i].left), TEXT_ARG(differences[i].right));
        if (differences[i].warning != NULL)
            size += (size_t)snprintf(lines + size, sizeof(lines) - size, "%s\n",
                                     differences[i].warning);
    }
    return lines;
}

Test(diff, the_same_steps_do_not_differ)
{
    cr_assert_str_eq(diff(base, base), "");
    /* comments, the version, the order of steps and of agents, defaults spelled out */
    cr_assert_str_eq(diff(base,
                          "Comment: other\nName: w\nVersion: 2\nTimeoutSeconds: 600\nSteps:\n"
                          "  - {Name: B, Agent: y, After: [A], TimeoutSeconds: 4, Pivot: false}\n"
                          "  - {Name: A, Agents: [y, x], After: []}\n"),
                     "");
}

Test(diff, tells_steps_that_come_and_go)
{
    cr_assert_str_eq(diff(base, "Name: w\nVersion: 2\nTimeoutSeconds: 600\nSteps:\n"
                                "  - {Name: A, Agents: [x, y], After: []}\n"
                                "  - {Name: C, Agent: y, After: [A]}\n"),
                     "B.Step: present | \n"
                     "C.Step:  | present\n");
}

/* A body is compared step by step, as what is around it. */
Test(diff, compares_bodies)
{
    static const char left[] = "Name: w\nVersion: 1\nSteps:\n"
                               "  - Name: A\n"
                               "    Steps:\n"
                               "      - {Name: B, Agent: x}\n"
                               "      - {Name: C, Agent: x}\n"
                               "      - {Name: D, Steps: [{Name: E, Agent: x}]}\n"
                               "    Output: \"${output.B}\"\n";
    cr_assert_str_eq(diff(left, left), "");
    cr_assert_str_eq(diff(left, "Name: w\nVersion: 2\nSteps:\n"
                                "  - Name: A\n"
                                "    TimeoutSeconds: 900\n"
                                "    Input: {a: 1}\n"
                                "    Steps:\n"
                                "      - {Name: B, Agent: y}\n"
                                "      - {Name: D, Steps: [{Name: E, Agent: x, Input: 1}]}\n"
                                "      - {Name: F, Steps: [{Name: G, Agent: x}]}\n"
                                "    Output: {b: \"${output.B}\"}\n"),
                     "A.Input: none | {\"a\":1}\n"
                     "A.Output: \"${output.B}\" | {\"b\":\"${output.B}\"}\n"
                     "A.TimeoutSeconds: none | 900 s\n"
                     "A/B.Agent: x | y\n"
                     "A/C.Step: present | \n"
                     "A/D.After: C | B\n"
                     "A/D/E.Input: none | 1\n" NO_LONGER "A/F.Step:  | present\n"
                     "A/F/G.Step:  | present\n");
    cr_assert_str_eq(diff(left, "Name: w\nVersion: 2\nSteps:\n  - {Name: A, Agent: x}\n"),
                     "A.Agent:  | x\n"
                     "A.Output: \"${output.B}\" | none\n"
                     "A.TimeoutSeconds: none | 60 s\n"
                     "A/B.Step: present | \n"
                     "A/C.Step: present | \n"
                     "A/D.Step: present | \n"
                     "A/D/E.Step: present | \n");
    cr_assert_str_eq(diff("Name: w\nVersion: 2\nSteps:\n  - {Name: A, Set: 1}\n",
                          "Name: w\nVersion: 2\nSteps:\n"
                          "  - {Name: Z, Steps: [{Name: B, Set: 1}]}\n"),
                     "A.Step: present | \n"
                     "Z.Step:  | present\n"
                     "Z/B.Step:  | present\n");
}

Test(diff, compares_what_a_loop_does)
{
    static const char steps[] = "Steps: [{Name: B, Agent: x}], Output: \"${output.B}\"}\n";
    char left[512], right[512];
    snprintf(left, sizeof(left), HEAD "  - {Name: A, ForEach: {Items: input.l}, %s", steps);
    snprintf(right, sizeof(right),
             HEAD "  - {Name: A, ForEach: {Items: [1, \"${input.n}\"], MaxConcurrency: 2, "
                  "ToleratedFailureCount: all, StopWhen: result.ok, Priority: high}, %s",
             steps);
    cr_assert_str_eq(diff(left, right), "A.ForEach.Items: input.l | [1,\"${input.n}\"]\n"
                                        "A.ForEach.MaxConcurrency: no limit | 2\n"
                                        "A.ForEach.ToleratedFailureCount: 0 | all\n"
                                        "A.ForEach.StopWhen: none | result.ok\n"
                                        "A.ForEach.Priority: that of the order | high\n");
    snprintf(right, sizeof(right), HEAD "  - {Name: A, %s", steps);
    cr_assert_str_eq(diff(left, right), "A.ForEach.Items: input.l | none\n"
                                        "A.ForEach.MaxConcurrency: no limit | none\n"
                                        "A.ForEach.ToleratedFailureCount: 0 | none\n"
                                        "A.ForEach.Priority: that of the order | none\n");
}

Test(diff, compares_shapes_by_member)
{
    static const char left[] =
        "Name: w\nVersion: 1\nInputShape: {a: number, b: [{c: string, d: any}], "
        "e: {f: integer}, g: [string]}\nSteps: [{Name: A, Agent: x}]\n";
    cr_assert_str_eq(diff(left, left), "");
    cr_assert_str_eq(
        diff(left, "Name: w\nVersion: 2\nInputShape: {a: number?, b: [{c: integer}], e: boolean, "
                   "g: [string], h: any}\nSteps: [{Name: A, Agent: x}]\n"),
        ".InputShape.a: number | number?\n"
        ".InputShape.b[].c: string | integer\n"
        ".InputShape.b[].d: any | \n"
        ".InputShape.e: a map | boolean\n"
        ".InputShape.h:  | any\n");
    cr_assert_str_eq(diff(left, "Name: w\nVersion: 2\nSteps: [{Name: A, Agent: x}]\n"),
                     ".InputShape: a map | \n");
}

#define POLL(until) \
    "  - {Name: F, Agent: x, Until: " until ", Retry: [{ErrorEquals: [States.ALL]}]}\n"

Test(diff, tells_expressions)
{
    cr_assert_str_eq(diff("Name: w\nVersion: 1\nSteps:\n  - {Name: A, Agent: x, When: input.a}\n"
                          "  - {Name: B, Set: {a: 1, b: \"x ${input.b}\"}}\n"
                          "  - {Name: C, Fail: {Error: Odd}}\n"
                          "  - {Name: D, Wait: {Seconds: 5}}\n"
                          "  - {Name: E, Wait: {Timestamp: input.t}}\n" POLL("result.a"),
                          "Name: w\nVersion: 2\nSteps:\n"
                          "  - {Name: A, Agent: x, When: input.a > 1, Input: [\"${input.b}\", 2]}\n"
                          "  - {Name: B, Set: {a: 1, b: \"${input.b}\"}}\n"
                          "  - {Name: C, Fail: {Error: Odd, Message: never}}\n"
                          "  - {Name: D, Wait: {Seconds: input.s, SpreadSeconds: 0.5}}\n"
                          "  - {Name: E, Set: 1}\n" POLL("result.b") "Output: \"${output.B}\"\n"),
                     ".Output:  | \"${output.B}\"\n"
                     "A.When: input.a | input.a > 1\n"
                     "A.Input: none | [\"${input.b}\",2]\n" NO_LONGER
                     "B.Set: {\"a\":1,\"b\":\"x ${input.b}\"} | {\"a\":1,\"b\":\"${input.b}\"}\n"
                     "C.Fail: Odd | Odd: \"never\"\n"
                     "D.Wait: 5 s | input.s s, spread over 0.5 s\n"
                     "E.Set: none | 1\n"
                     "E.Wait: until input.t | none\n"
                     "F.Until: result.a | result.b\n");
}

#define SET(value) HEAD "  - {Name: A, Set: " value "}\n"

/* Each of these was the same as the other. */
Test(diff, tells_texts_from_what_they_look_like)
{
    static const char *const pairs[][3] = {
        {SET("\"$${input.a}\""), SET("\"${input.a}\""),
         "A.Set: \"$${input.a}\" | \"${input.a}\"\n"},
        {SET("[\"${input.a}, 2\"]"), SET("[\"${input.a}\", 2]"),
         "A.Set: [\"${input.a}, 2\"] | [\"${input.a}\",2]\n"},
        {SET("{\"a: 1, b\": \"${input.a}\"}"), SET("{a: 1, b: \"${input.a}\"}"),
         "A.Set: {\"a: 1, b\":\"${input.a}\"} | {\"a\":1,\"b\":\"${input.a}\"}\n"},
        {SET("\"${input.a}\\n+ b\""), SET("\"${input.a} + b\""),
         "A.Set: \"${input.a}\\n+ b\" | \"${input.a} + b\"\n"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        cr_expect_str_eq(diff(pairs[i][0], pairs[i][1]), pairs[i][2], "%s",
                         diff(pairs[i][0], pairs[i][1]));
}

Test(diff, cuts_no_value)
{
    enum { BYTES = 20000 };
    static char left[BYTES + 200], right[BYTES + 200];
    const struct workflow_difference *differences;
    static char filling[BYTES + 1];
    memset(filling, 'x', BYTES);
    snprintf(left, sizeof(left), HEAD "  - {Name: A, Agent: x}\nOutput: \"%sl${input.a}\"\n",
             filling);
    snprintf(right, sizeof(right), HEAD "  - {Name: A, Agent: x}\nOutput: \"%sr${input.a}\"\n",
             filling);
    cr_assert_eq(workflow_diff(kit_workflow(left), kit_workflow(right), kit_arena(), &differences),
                 1);
    cr_expect_eq(differences[0].left.size, BYTES + 13);
}

Test(diff, tells_fields_with_both_values)
{
    cr_assert_str_eq(
        diff(base,
             "Name: w\nVersion: 2\nSteps:\n"
             "  - {Name: A, Agent: x, After: []}\n"
             "  - Name: B\n    Agent: y\n    After: []\n    TimeoutSeconds: 0.25\n"
             "    OnExhausted: error\n"
             "    Retry: [{ErrorEquals: [States.Timeout, E], MaxAttempts: 2, BackoffRate: 1.5,\n"
             "             MaxDelaySeconds: 9, JitterStrategy: NONE}]\n"
             "    Catch: [{ErrorEquals: [E], Next: $compensate}]\n"
             "    Compensate: {Action: UndoB, TimeoutSeconds: 7}\n"),
        ".TimeoutSeconds: 600 s | \n"
        "A.Agent: x, y | x\n"
        "B.After: A | none\n"
        "B.TimeoutSeconds: 4 s | 0.25 s\n"
        "B.Retry: none | States.Timeout, E: 2 after 1 s x 1.500, at most 9 s, no jitter\n"
        "B.Catch: none | E -> $compensate\n"
        "B.OnExhausted: compensate | error\n"
        "B.Compensate.Action:  | UndoB\n"
        "B.Compensate.TimeoutSeconds:  | 7 s\n"
        "B.Compensate.MaxExtensionSeconds:  | 0 s\n"
        "B.Compensate.Retry:  | States.ALL: 5 after 1 s x 2.000\n");
}

#define STEP(fields) "Name: w\nVersion: 1\nSteps: [{Name: A, " fields "}]\n"

Test(diff, warns_of_what_agents_no_longer_get)
{
    static const struct {
        const char *left, *right, *forwards, *backwards;
    } cases[] = {
        {STEP("Agent: x"), STEP("Agent: x, Input: {a: 1}"), "A.Input: none | {\"a\":1}\n" NO_LONGER,
         "A.Input: {\"a\":1} | none\n" WHOLE_AGAIN},
        {STEP("Agent: x, Input: none"), STEP("Agent: x, Input: 1"), "A.Input: \"none\" | 1\n",
         "A.Input: 1 | \"none\"\n"},
        {STEP("Agent: x, Compensate: {Action: U}"),
         STEP("Agent: x, Compensate: {Action: U, Input: 1}"),
         "A.Compensate.Input:  | 1\n" UNDO_NO_LONGER,
         "A.Compensate.Input: 1 | \n" UNDO_WHOLE_AGAIN},
        /* the undo gets the step's Input, or its own */
        {STEP("Agent: x, Input: 2, Compensate: {Action: U}"),
         STEP("Agent: x, Input: 2, Compensate: {Action: U, Input: 1}"),
         "A.Compensate.Input:  | 1\n", "A.Compensate.Input: 1 | \n"},
        {STEP("Agent: x, Compensate: {Action: U, Input: 1}"),
         STEP("Agent: x, Input: 2, Compensate: {Action: U}"),
         "A.Input: none | 2\n" NO_LONGER "A.Compensate.Input: 1 | \n",
         "A.Input: 2 | none\n" WHOLE_AGAIN "A.Compensate.Input:  | 1\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_str_eq(diff(cases[i].left, cases[i].right), cases[i].forwards, "%s: %s",
                         cases[i].right, diff(cases[i].left, cases[i].right));
        cr_expect_str_eq(diff(cases[i].right, cases[i].left), cases[i].backwards, "%s: %s",
                         cases[i].left, diff(cases[i].right, cases[i].left));
    }
    /* an agent, or an undo, that there was not */
    cr_expect_null(strstr(diff(STEP("Set: 1"), STEP("Agent: x, Input: 1")), "the agent"));
    cr_expect_null(strstr(
        diff(STEP("Agent: x"), STEP("Agent: x, Compensate: {Action: U, Input: 1}")), "the undo"));
}

Test(diff, lists_its_warnings_by_step_and_version)
{
    const struct text *texts;
    const struct workflow *left =
        kit_workflow("Name: w\nVersion: 3\nSteps: [{Name: A, Agent: x, Input: 1}, {Name: B, Agent: "
                     "x}, {Name: C, Agent: x}]\n");
    const struct workflow *right =
        kit_workflow("Name: w\nVersion: 5\nSteps: [{Name: A, Agent: x}, {Name: B, Agent: x, "
                     "TimeoutSeconds: 5}, {Name: C, Agent: x, Input: 1}]\n");
    cr_assert_eq(workflow_diff_warnings(left, right, kit_arena(), &texts), 2);
    cr_expect(text_equal(texts[0],
                         TEXT("step A, from version 3 to 5: the agent gets the whole order again, "
                              "with lines, input and outputs, instead of what Input makes: have "
                              "its service read from those")),
              "%.*s", TEXT_ARG(texts[0]));
    cr_expect_eq(memcmp(texts[1].data, "step C, from version 3 to 5: the agent no longer", 48), 0);
    cr_expect_eq(workflow_diff_warnings(right, right, kit_arena(), &texts), 0);
}
