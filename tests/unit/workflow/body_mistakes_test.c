/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in steps with a body, and what lint says of them. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define SHOP                                                                                 \
    "Name: w\nVersion: 1\nInputShape: {parts: [{sku: string, gift: boolean?}], n: number}\n" \
    "Steps:\n"
#define BODY "Steps: [{Name: B, Agent: x}]"

Test(workflow_body_mistakes, wants_steps)
{
    LINT({HEAD "  - {Name: A, Steps: []}\n",
          "4:22: error: Steps has 0 steps; it must have 1 to 64\n"},
         {HEAD "  - {Name: A, Steps: {}}\n", "4:22: error: Steps must be a list, not a mapping\n"},
         {HEAD "  - {Name: A, Steps: ~}\n",
          "4:15: error: Steps has no value: give it one or leave it out\n"},
         {HEAD "  - {Name: A, ForEach: {Items: [1]}}\n",
          "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"},
         {HEAD "  - {Name: A, Steps: [{Name: B}]}\n",
          "4:23: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"},
         {HEAD "  - {Name: A, Steps: [{Name: B, Agent: x}, {Name: B, Agent: x}]}\n",
          "4:51: error: there is already a step B, in line 4\n"},
         {HEAD "  - {Name: A, Steps: [{Name: A, Agent: x}]}\n", ""});
}

Test(workflow_body_mistakes, has_its_fields_only)
{
    LINT(
        {HEAD "  - {Name: A, Agent: x, ForEach: {Items: [1]}}\n",
         "4:25: error: ForEach does not belong to a step with Agent, only to one with Steps: make "
         "this step the body of one that has it\n"},
        {HEAD "  - {Name: A, Agent: x, " BODY "}\n",
         "4:25: error: a step has Agent or Steps, not both: make two steps of it\n"},
        {HEAD "  - {Name: A, " BODY ", Retry: []}\n",
         "4:45: error: Retry does not belong to a step with Steps, only to one with Agent: give it "
         "to the steps of the body\n"},
        {HEAD "  - {Name: A, " BODY ", Compensate: {Action: U}}\n",
         "4:45: error: Compensate does not belong to a step with Steps, only to one with Agent: "
         "give it to the steps of the body\n"},
        {HEAD "  - {Name: A, " BODY ", Until: result}\n",
         "4:45: error: Until does not belong to a step with Steps, only to one with Agent or "
         "Await: "
         "give it to the steps of the body\n"},
        {HEAD "  - {Name: A, " BODY ", MaxExtensionSeconds: 5}\n",
         "4:45: error: MaxExtensionSeconds does not belong to a step with Steps, only to one with "
         "Agent\n"},
        {HEAD "  - {Name: A, " BODY ", Items: [1]}\n",
         "4:45: error: Items does not belong here; it belongs to ForEach of a step\n"},
        {HEAD "  - {Name: A, " BODY ", ItemProcessor: {}, MaxConcurrency: 1}\n",
         "4:45: error: there is no field ItemProcessor here: Steps has the steps of an item\n"
         "4:64: error: MaxConcurrency does not belong here; it belongs to ForEach of a step\n"},
        {HEAD "  - {Name: A, " BODY ", ForEech: {Items: [1]}}\n",
         "4:45: error: ForEech is an unknown field of a step: did you mean ForEach?\n"});
}

Test(workflow_body_mistakes, checks_for_each)
{
    LINT(
        {HEAD "  - {Name: A, " BODY ", ForEach: {}}\n",
         "4:54: error: ForEach of a step has no Items\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: [1]}\n",
         "4:54: error: ForEach of a step must be a mapping of fields, not a list\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Item: [1]}}\n",
         "4:54: error: ForEach of a step has no Items\n"
         "4:55: error: Item is an unknown field of ForEach of a step: did you mean Items?\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: []}}\n",
         "4:62: error: Items has 0 elements; it must have 1 to 1000\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: {a: 1}}}\n",
         "4:62: error: Items must be a list, or an expression for one, not a mapping\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: 5}}\n",
         "4:62: error: this gives a number; here it must give a list\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: [no]}}\n",
         "4:63: error: no is not a text to every YAML reader: put it in quotes, or write true or "
         "false\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: \"${input.l}\"}}\n",
         "4:63: error: leave out ${ }: the whole field is an expression\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: input.l[0]}}\n",
         "4:69: error: did not find expected ',' or '}' while parsing a flow mapping: put the "
         "expression in quotes\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: item}}\n",
         "4:62: error: item is not known here: it stands in the Input of a step with ForEach\n"},
        {SHOP "  - {Name: A, " BODY ", ForEach: {Items: input.part}}\n",
         "5:68: error: there is no member part: did you mean parts?\n"},
        {SHOP "  - {Name: A, " BODY ", ForEach: {Items: input.n}}\n",
         "5:62: error: this gives a number; here it must give a list\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: [1], MaxConcurrency: 0}}\n",
         "4:83: error: MaxConcurrency must be from 1 to 1000, not 0\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: [1], ToleratedFailureCount: al}}\n",
         "4:90: error: ToleratedFailureCount must be a whole number or all, not a text (al)\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: [1], ToleratedFailureCount: 1001}}\n",
         "4:90: error: ToleratedFailureCount must be from 0 to 1000, not 1001\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: [1], ToleratedFailurePercentage: 5}}\n",
         "4:67: error: there is no field ToleratedFailurePercentage here: ToleratedFailureCount is "
         "a number, or all\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: [1], Priority: hihg}}\n",
         "4:77: error: Priority \"hihg\" is unknown: did you mean high?\n"},
        {HEAD "  - {Name: A, " BODY ", ForEach: {Items: [1], Comment: 5}}\n",
         "4:76: error: Comment must be a text: put 5 in quotes\n"});
}

Test(workflow_body_mistakes, bounds_a_list_of_items)
{
    static char text[8192];
    size_t size =
        (size_t)snprintf(text, sizeof(text), HEAD "  - {Name: A, " BODY ", ForEach: {Items: [1");
    for (int i = 1; i < SUBORDERS_MAX; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, ", %d", i % 7);
    snprintf(text + size, sizeof(text) - size, "]}}\n");
    cr_assert_str_eq(kit_yaml(text).problems, "");
    snprintf(text + size, sizeof(text) - size, ", 1]}}\n");
    cr_assert_str_eq(kit_yaml(text).problems,
                     "4:62: error: Items has 1001 elements; it must have 1 to 1000\n");
}

#define LOOP(more) "  - {Name: A, " BODY ", ForEach: {Items: [1, 2], " more "}}\n"

Test(workflow_body_mistakes, checks_when_a_loop_stops)
{
    LINT({HEAD LOOP("MaxConcurrency: 1, StopWhen: result.a"),
          "4:89: error: StopWhen looks at the output of an item, result, and step A has no Output: "
          "give it one\n"},
         {HEAD LOOP("MaxConcurrency: 1, StopWhen: result.b > 1") "    \n",
          "4:89: error: StopWhen looks at the output of an item, result, and step A has no Output: "
          "give it one\n"},
         {HEAD "  - {Name: A, Output: {a: x}, ForEach: {Items: [1], StopWhen: result.a}, " BODY
               "}\n",
          "4:53: warning: StopWhen stops nothing without MaxConcurrency, as all items start at "
          "once: write MaxConcurrency: 1 for one after the other\n"
          "4:63: error: this gives a text; here it must give a boolean\n"},
         {HEAD "  - {Name: A, Output: {a: 1}, " BODY ",\n     ForEach: {Items: [1, 2], "
               "MaxConcurrency: 1, StopWhen: result.b}}\n",
          "5:67: error: there is no member b: there is a\n"},
         {HEAD "  - {Name: A, Output: {a: 1}, " BODY ",\n     ForEach: {Items: [1, 2], "
               "MaxConcurrency: 1, StopWhen: true}}\n",
          "5:60: warning: StopWhen is always true: correct it, or leave it out\n"},
         {HEAD "  - {Name: A, Output: {a: \"${output.B.ok}\"}, " BODY
               ",\n     ForEach: {Items: [1, 2], "
               "MaxConcurrency: 1, StopWhen: result.a && input.x}}\n",
          ""});
}

/* A body sees nothing of what is around it. */
Test(workflow_body_mistakes, says_how_to_pass_what_a_body_does_not_see)
{
    LINT({HEAD "  - {Name: L, Agent: x}\n"
               "  - Name: A\n"
               "    ForEach: {Items: output.L.items}\n"
               "    Steps:\n"
               "      - {Name: B, Set: \"${output.L.x}\"}\n"
               "      - {Name: C, Set: \"${item}\"}\n"
               "      - {Name: D, Set: \"${index}\"}\n"
               "      - {Name: E, Set: \"${error.L.name}\"}\n"
               "      - {Name: F, Agent: x, After: L}\n"
               "      - {Name: G, Set: \"${output.A}\"}\n"
               "      - {Name: H, Set: \"${output.GG}\"}\n"
               "    Output: \"${result}\"\n",
          "8:34: error: output.L is not known in the body of A: pass it by Input of A\n"
          "9:27: error: item is not known in the body of A: write input, which is the item\n"
          "10:27: error: index is not known in the body of A: pass it by Input of A\n"
          "11:33: error: error.L is not known in the body of A: pass it by Input of A\n"
          "12:36: error: After names L, which is outside of the body of A: a body begins when the "
          "turn of A comes\n"
          "13:34: error: output.A is not known in the body of A: pass it by Input of A\n"
          "14:34: error: there is no step GG: there are F and G\n"
          "15:16: error: the Output of A is made of its own steps: write output.STEP instead of "
          "result\n"},
         {HEAD "  - {Name: L, Agent: x}\n"
               "  - Name: A\n"
               "    ForEach: {Items: output.L.items}\n"
               "    Input: {a: \"${item}\"}\n"
               "    Steps:\n"
               "      - Name: B\n"
               "        Steps:\n"
               "          - {Name: C, Set: \"${output.L}\"}\n"
               "          - {Name: D, Set: \"${item}\"}\n"
               "      - {Name: E, Set: \"${item}\"}\n",
          "11:38: error: output.L is not known in the body of B: pass it by Input of B\n"
          "12:31: error: item is not known in the body of B: pass it by Input of B\n"
          "13:27: error: item is not known in the body of A: pass it by Input of A\n"},
         {HEAD "  - Name: A\n"
               "    Steps:\n"
               "      - {Name: B, Set: \"${order.lines}\"}\n"
               "      - {Name: C, Set: \"${order['currency'] + order.attributes}\"}\n"
               "      - {Name: D, Set: \"${order.id + order.customer + order.priority}\"}\n",
          "6:33: error: order.lines is empty in the body of A: pass it by Input of A\n"
          "7:33: error: order.currency is empty in the body of A: pass it by Input of A\n"
          "7:53: error: order.attributes is empty in the body of A: pass it by Input of A\n"},
         {HEAD "  - {Name: A, Steps: [{Name: B, Agent: x}]}\n"
               "  - {Name: C, Set: \"${output.B}\"}\n",
          "5:30: error: there is no step B: there is A\n"});
}

/* Each body has guards of its own: what its Whens say, and what may be missing there. */
Test(workflow_body_mistakes, wants_guards_within_a_body_and_around_it)
{
    LINT({HEAD "  - Name: A\n"
               "    When: input.go\n"
               "    Steps:\n"
               "      - {Name: B, Agent: x, When: input.b}\n"
               "      - {Name: C, Set: \"${output.B.c}\"}\n"
               "      - {Name: D, When: has(output.B), Set: \"${output.B.c}\"}\n"
               "    Output: {b: \"${output.B.c}\", d: \"${has(output.D) ? output.B.c : 1}\"}\n"
               "  - {Name: E, Set: \"${output.A.b}\"}\n"
               "  - {Name: F, When: has(output.A), Set: \"${output.A.b}\"}\n",
          "8:34: error: step B may have no output: write has(output.B) && ... or "
          "has(output.B) ? ... : ...\n"
          "10:27: error: step B may have no output: write has(output.B) && ... or has(output.B) ? "
          "... : ...\n"
          "11:30: error: step A may have no output: write has(output.A) && ... or has(output.A) ? "
          "... : ...\n"},
         {HEAD "  - Name: A\n"
               "    Catch: [{ErrorEquals: [States.ALL], Next: $continue}]\n"
               "    Input: {o: \"${input.o}\"}\n"
               "    Steps: [{Name: B, Agent: x, When: has(output.A)}]\n"
               "  - {Name: C, Set: \"${output.A}\", When: has(output.A) || has(error.A)}\n",
          "7:50: error: output.A is not known in the body of A: pass it by Input of A\n"
          "8:30: error: step A may have no output: write has(output.A) && ... or has(output.A) ? "
          "... "
          ": ...\n"},
         {HEAD "  - {Name: L, Agent: x, When: input.l}\n"
               "  - Name: A\n"
               "    When: has(output.L)\n"
               "    ForEach: {Items: output.L.items}\n"
               "    Input: {a: \"${output.L.a}\"}\n"
               "    " BODY "\n"
               "  - {Name: C, " BODY
               ", ForEach: {Items: output.L.items}, Input: \"${output.L}\"}\n",
          "10:69: error: step L may have no output: write has(output.L) && ... or has(output.L) ? "
          "... : ...\n"
          "10:96: error: step L may have no output: write has(output.L) && ... or has(output.L) ? "
          "... : ...\n"});
}

/* Without Input and ForEach, a body has the input of what is around it, and what is known of it. */
Test(workflow_body_mistakes, knows_what_guards_the_steps_around_a_body)
{
    LINT(
        {"Name: w\nVersion: 1\nInputShape: {a: boolean?, b: boolean?, l: [{a: boolean?}]}\nSteps:\n"
         "  - Name: A\n"
         "    When: has(input.a) && input.a\n"
         "    Steps:\n"
         "      - {Name: B, Agent: x, When: input.a}\n"
         "      - {Name: C, Agent: x, When: input.b}\n"
         "      - Name: D\n"
         "        When: has(input.b)\n"
         "        Steps: [{Name: E, Set: \"${input.a || input.b}\"}]\n"
         "      - {Name: F, Input: \"${input}\", Steps: [{Name: E, Set: \"${input.a}\"}]}\n"
         "    Output: \"${input.a}\"\n"
         "  - {Name: G, Steps: [{Name: B, Set: \"${input.a}\"}]}\n"
         "  - {Name: H, When: has(input.a), ForEach: {Items: input.l}, Steps: [{Name: B, Set: "
         "\"${input.a}\"}]}\n",
         "9:41: error: b may be missing by InputShape: write has(input.b) && ... or has(input.b) ? "
         "... : ...\n"
         "13:70: error: a may be missing by InputShape: write has(input.a) && ... or "
         "has(input.a) ? ... : ...\n"
         "15:47: error: a may be missing by InputShape: write has(input.a) && ... or "
         "has(input.a) ? ... : ...\n"
         "16:94: error: a may be missing by InputShape: write has(input.a) && ... or "
         "has(input.a) ? ... : ...\n"},
        /* Steps of the same names and places are others. */
        {HEAD "  - {Name: B, Agent: x, When: input.b}\n"
              "  - Name: A\n"
              "    When: has(output.B)\n"
              "    Steps:\n"
              "      - {Name: B, Agent: x, When: input.b}\n"
              "      - {Name: C, Set: \"${output.B}\"}\n",
         "9:34: error: step B may have no output: write has(output.B) && ... or "
         "has(output.B) ? ... : ...\n"},
        {HEAD "  - {Name: a-b, Agent: x}\n"
              "  - Name: A\n"
              "    Steps:\n"
              "      - {Name: B, Set: \"${output.a-b}\"}\n"
              "      - {Name: C, Set: \"${output['a-b'].x}\"}\n",
         "7:34: error: output.a-b is not known in the body of A: pass it by Input of A\n"
         "8:34: error: output.a-b is not known in the body of A: pass it by Input of A\n"});
}

/* What a body is sent follows from Input, from the items, or from the order's InputShape. */
Test(workflow_body_mistakes, knows_the_input_of_a_body)
{
    LINT(
        {SHOP "  - Name: A\n"
              "    ForEach: {Items: input.parts}\n"
              "    Steps:\n"
              "      - {Name: B, Agent: x, When: input.gift}\n"
              "      - {Name: C, Agent: x, When: has(input.gift) && input.skuu == 'a'}\n"
              "      - {Name: D, Agent: x, When: input.sku > 5}\n"
              "      - {Name: E, Agent: x, When: has(input.sku)}\n",
         "8:41: error: gift may be missing by InputShape: write has(input.gift) && ... or "
         "has(input.gift) ? ... : ...\n"
         "9:60: error: there is no member skuu: did you mean sku?\n"
         "10:45: error: > compares two numbers or two texts, not a text and a number\n"
         "11:35: warning: When is always true, because InputShape requires sku: leave it out, or "
         "write sku? there\n"},
        {SHOP "  - Name: A\n"
              "    ForEach: {Items: input.parts}\n"
              "    Input: {sku: \"${item.skq}\", gift: \"${item.gift}\", i: \"${index + 'a'}\"}\n"
              "    " BODY "\n",
         "7:26: error: there is no member skq: did you mean sku?\n"
         "7:47: error: gift may be missing by InputShape: write has(item.gift) && ... or "
         "has(item.gift) ? ... : ...\n"
         "7:67: error: + cannot add a number and a text: write string(...) for a text\n"},
        {SHOP "  - Name: A\n"
              "    ForEach: {Items: input.parts}\n"
              "    Input: {gift: \"${has(item.gift) && item.gift}\", i: \"${index}\", t: "
              "\"x${index}\",\n"
              "            all: \"${input}\", m: {a: [1, x]}, e: {}}\n"
              "    Steps:\n"
              "      - {Name: B, Agent: x, When: input.i}\n"
              "      - {Name: C, Agent: x, When: has(input.gift)}\n"
              "      - {Name: D, Agent: x, When: input.gft}\n"
              "      - {Name: E, Agent: x, When: input.t > 1}\n"
              "      - {Name: F, Agent: x, When: \"input.all.parts.exists(p, p.skq == 'a')\"}\n"
              "      - {Name: G, Agent: x, When: input.m.b == 1 || input.m.a == 1}\n"
              "      - {Name: H, Agent: x, When: \"input.m.a.exists(a, a.b) || input.e.a\"}\n",
         "10:35: error: this gives a number; here it must give a boolean\n"
         "11:35: warning: When is always true, because Input of A always makes gift: leave it out\n"
         "12:41: error: there is no member gft: did you mean gift?\n"
         "13:43: error: > compares two numbers or two texts, not a text and a number\n"
         "14:64: error: there is no member skq: did you mean sku?\n"
         "15:43: error: there is no member b: there is a\n"
         "15:63: warning: a list and a number are never equal: convert one, or correct the "
         "comparison\n"
         "16:58: error: .b takes a map, not a number or a text\n"
         "16:72: error: there is no member a\n"});
}

Test(workflow_body_mistakes, guards_the_input_of_a_body_and_its_items)
{
    LINT({"Name: w\nVersion: 1\nInputShape: {gift: boolean?, parts: [{gift: boolean?}]}\nSteps:\n"
          "  - Name: A\n"
          "    ForEach: {Items: input.parts}\n"
          "    Input: \"${has(input.gift) && item.gift || has(item.gift) && input.gift}\"\n"
          "    " BODY "\n",
          "7:39: error: gift may be missing by InputShape: write has(item.gift) && ... or "
          "has(item.gift) ? ... : ...\n"
          "7:71: error: gift may be missing by InputShape: write has(input.gift) && ... or "
          "has(input.gift) ? ... : ...\n"},
         {SHOP "  - {Name: A, Steps: [{Name: B, Agent: x, When: input.m > 0}]}\n",
          "5:55: error: there is no member m: there are n and parts\n"},
         {HEAD "  - Name: A\n"
               "    ForEach: {Items: [{a: 1, b: x}, {a: 2, b: \"${input.n}\"}, {a: true, b: c}]}\n"
               "    Steps:\n"
               "      - {Name: B, Set: \"${input.c}\"}\n"
               "      - {Name: C, Set: \"${input.a + 'x'}\"}\n"
               "      - {Name: D, Set: \"${input.b.x}\"}\n",
          "7:33: error: there is no member c: there are a and b\n"
          "8:35: error: + cannot add a boolean or a number and a text: write string(...) for a "
          "text\n"},
         {HEAD "  - Name: A\n"
               "    ForEach: {Items: [{a: 1}, {b: x}, 5]}\n"
               "    Steps: [{Name: B, Set: \"${input.c}\"}]\n",
          ""});
}

/* A list whose elements are looked at to the `count`-th. */
static const char *problems_of_list(int count)
{
    static char text[64 * 1024];
    size_t size = (size_t)snprintf(text, sizeof(text), HEAD "  - Name: A\n    Input: {l: [{a: 1}");
    for (int i = 1; i < count; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, ", {a: 1}");
    snprintf(text + size, sizeof(text) - size,
             "]}\n    Steps: [{Name: B, Set: \"${input.l.map(x, x.b)}\"}]\n");
    return kit_yaml(text).problems;
}

/* A file can ask for more than is worth knowing. */
Test(workflow_body_mistakes, stops_looking_at_what_is_sent_to_a_body)
{
    cr_assert_str_eq(problems_of_list(500), "6:48: error: there is no member b: there is a\n");
    cr_assert_str_eq(problems_of_list(2000), "");
}

Test(workflow_body_mistakes, knows_the_output_of_a_step_with_a_body)
{
    LINT({HEAD "  - {Name: A, ForEach: {Items: input.l}, " BODY ", Output: {a: 1}}\n"
               "  - {Name: B, Set: \"${output.A.itmes}\"}\n"
               "  - {Name: C, Set: \"${output.A.failed + 'a'}\"}\n"
               "  - {Name: D, Set: \"${output.A.items.filter(i, i != null && i.b)}\"}\n"
               "  - {Name: E, Set: \"${output.A.items.filter(i, i != null).map(i, i.a).sum()}\"}\n",
          "5:32: error: there is no member itmes: did you mean items?\n"
          "6:39: error: + cannot add a number and a text: write string(...) for a text\n"
          "7:63: error: there is no member b: there is a\n"},
         {HEAD "  - {Name: A, " BODY ", Output: {a: \"${output.B}\"}}\n"
               "  - {Name: B, Set: \"${output.A.b}\"}\n",
          "5:32: error: there is no member b: there is a\n"},
         /* What a loop stops at is the result of no other step. */
         {HEAD "  - {Name: A, " BODY ", Output: {a: 1},\n     ForEach: {Items: [1], "
               "MaxConcurrency: 1, StopWhen: result.a > 0}}\n"
               "  - {Name: B, Agent: x, Output: \"${result.b}\"}\n",
          ""},
         {HEAD "  - {Name: A, " BODY "}\n"
               "  - {Name: B, Set: \"${output.A.b}\"}\n"
               "  - {Name: C, Set: \"${output.A}\"}\n",
          "5:30: error: step A has Steps without an Output, so its output is null: give it one\n"});
}

Test(workflow_body_mistakes, lets_nothing_wait_for_ever_in_a_body)
{
    LINT({"Name: w\nVersion: 1\nTimeoutSeconds: 100\nSteps:\n"
          "  - {Name: A, Steps: [{Name: B, Await: {}}], TimeoutSeconds: 50}\n",
          "5:30: error: step B would await a signal forever: set TimeoutSeconds on the step, as "
          "orders of a body have no time limit\n"},
         {HEAD "  - {Name: A, Steps: [{Name: B, Await: {}, TimeoutSeconds: 5}]}\n", ""});
}

Test(workflow_body_mistakes, compares_the_timeouts_around_a_body_with_those_within)
{
    LINT({"Name: w\nVersion: 1\nTimeoutSeconds: 100\nSteps:\n"
          "  - Name: C\n"
          "    TimeoutSeconds: 20\n"
          "    Steps: [{Name: D, Agent: x, TimeoutSeconds: 30}]\n"
          "  - Name: E\n"
          "    Steps: [{Name: D, Agent: x, TimeoutSeconds: 130}]\n",
          "5:11: warning: the body of step C may take 30 s with all its retries, longer than the "
          "whole step (20 s)\n"
          "8:11: warning: step E may take 130 s, longer than the whole order (100 s)\n"},
         {"Name: w\nVersion: 1\nTimeoutSeconds: 100\nSteps:\n"
          "  - Name: A\n"
          "    ForEach: {Items: [1, 2, 3], MaxConcurrency: 2}\n"
          "    Steps: [{Name: D, Agent: x, TimeoutSeconds: 50}]\n",
          ""},
         {"Name: w\nVersion: 1\nTimeoutSeconds: 99\nSteps:\n"
          "  - Name: A\n"
          "    ForEach: {Items: [1, 2, 3], MaxConcurrency: 2}\n"
          "    Steps: [{Name: D, Agent: x, TimeoutSeconds: 50}]\n",
          "5:11: warning: step A may take 100 s, longer than the whole order (99 s)\n"},
         {"Name: w\nVersion: 1\nTimeoutSeconds: 55\nSteps:\n"
          "  - {Name: A, TimeoutSeconds: 50, Steps: [{Name: D, Agent: x, TimeoutSeconds: 60}]}\n",
          "5:12: warning: the body of step A may take 60 s with all its retries, longer than the "
          "whole step (50 s)\n"},
         {"Name: w\nVersion: 1\nTimeoutSeconds: 60\nSteps:\n"
          "  - {Name: A, Steps: [{Name: B, After: C, Agent: x}, {Name: C, After: B, Agent: x}]}\n",
          "5:30: error: these steps wait for each other in a cycle: B -> C -> B\n"});
}

Test(workflow_body_mistakes, lets_only_what_cannot_be_called_back_have_a_pivot)
{
    LINT(
        {HEAD "  - {Name: A, Steps: [{Name: P, Agent: x, Pivot: true}]}\n",
         "4:50: error: P is a pivot in the body of A, which may still have to be undone: make A "
         "the "
         "pivot as well, or put it behind the pivot\n"},
        {HEAD "  - {Name: A, Steps: [{Name: P, Agent: x, Pivot: true}]}\n"
              "  - {Name: B, Agent: x, Pivot: true}\n",
         "4:50: error: P is a pivot in the body of A, which may still have to be undone: make A "
         "the "
         "pivot as well, or put it behind the pivot\n"},
        {HEAD "  - {Name: A, Agent: x, Pivot: true}\n"
              "  - {Name: B, Steps: [{Name: C, Steps: [{Name: P, Agent: x, Pivot: true}]}]}\n",
         "5:68: error: P is a pivot in the body of C, which may still have to be undone: make C "
         "the "
         "pivot as well, or put it behind the pivot\n"},
        {HEAD "  - {Name: A, Pivot: true, TimeoutSeconds: 100, " BODY "}\n",
         "4:28: error: step A has TimeoutSeconds, but from the pivot on its orders are not undone: "
         "leave it out, the steps of the body have their own\n"},
        {HEAD "  - {Name: A, Agent: x, Pivot: true}\n"
              "  - {Name: B, TimeoutSeconds: 100, " BODY "}\n",
         "5:15: error: step B has TimeoutSeconds, but from the pivot on its orders are not undone: "
         "leave it out, the steps of the body have their own\n"},
        {HEAD "  - {Name: A, TimeoutSeconds: 100, " BODY "}\n"
              "  - {Name: B, Agent: x, Pivot: true}\n",
         ""},
        {HEAD "  - {Name: A, Pivot: true, " BODY "}\n"
              "  - {Name: B, " BODY ", OnExhausted: compensate}\n",
         "5:58: error: step B comes after the pivot, where there is no way back: OnExhausted must "
         "be error\n"});
}

Test(workflow_body_mistakes, bounds_how_deep_orders_are)
{
    LINT(
        {HEAD "  - {Name: A, Steps: [{Name: B, Steps: [{Name: C, Steps: [{Name: D, " BODY
              "}]}]}]}\n",
         "4:69: error: orders are at most 4 levels deep, and the body of step D would be one more: "
         "make its steps steps of the body around it\n"});
}

Test(workflow_body_mistakes, offers_a_body_to_what_is_to_be_undone_although_the_order_goes_on)
{
    LINT({HEAD "  - {Name: A, Agent: x, Compensate: {Action: U},\n"
               "     Catch: [{ErrorEquals: [E], Next: $continue}]}\n",
          "5:13: error: step A has $continue and Compensate: what its attempts may have applied "
          "would stay; put the step into Steps of its own, and $continue there\n"},
         {HEAD "  - Name: A\n"
               "    Steps: [{Name: A, Agent: x, Compensate: {Action: U}}]\n"
               "    Catch: [{ErrorEquals: [E], Next: $continue}]\n",
          ""});
}

#define REMAINS(step)                                                                              \
    "what step " step " did may remain when the order is undone: if it changes anything, give it " \
    "Compensate, or OnExhausted: error\n"

Test(workflow_body_mistakes, notes_what_is_often_meant_otherwise_in_a_body)
{
    static const struct lint_case notes[] = {
        {HEAD "  - Name: A\n"
              "    Steps:\n"
              "      - {Name: B, Agent: x}\n"
              "      - {Name: Q, Await: {Options: [a, b]}, TimeoutSeconds: 5}\n",
         "6:16: note: " REMAINS(
             "B") "7:16: note: nothing compares the choice of step Q with ==: say "
                  "when to go on, not when to stop\n"},
        /* A resubmission tries failed items again. */
        {HEAD "  - {Name: P, Agent: x, Pivot: true}\n  - {Name: A, Steps: [{Name: B, Set: 1}]}\n",
         ""},
        {HEAD "  - {Name: Q, Await: {Options: [a, b]}, TimeoutSeconds: 5}\n"
              "  - {Name: A, ForEach: {Items: \"output.Q.choice == 'a' ? [1] : [2]\"}, Steps: "
              "[{Name: B, Set: 1}]}\n",
         ""},
        {HEAD "  - {Name: Q, Await: {Options: [a, b]}, TimeoutSeconds: 5}\n"
              "  - {Name: A, Input: {go: \"${output.Q.choice == 'a'}\"}, Steps: [{Name: B, Set: "
              "1}]}\n",
         ""},
        /* Once: what is sent to a body is not that of an InputShape. */
        {HEAD
         "  - {Name: A, Input: {a: \"${input}\"}, Steps: [{Name: B, Set: \"${input.a.b}\"}]}\n",
         ""},
        {HEAD
         "  - {Name: A, Steps: [{Name: B, Set: \"${input.a}\"}, {Name: C, Set: \"${input.b}\"}]}\n",
         "4:41: note: without an InputShape, members of the input are not checked, neither here "
         "nor "
         "when an order is submitted\n"},
    };
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        const char *found = kit_notes(notes[i].source);
        cr_expect_str_eq(found, notes[i].problems, "row %zu: %s", i, found);
    }
}
