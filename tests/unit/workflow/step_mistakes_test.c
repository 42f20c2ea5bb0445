/* SPDX-License-Identifier: Apache-2.0 */
/* The mistakes that people make in the steps and the InputShape of a file: each has its line and
 * column, its cause, and what to write instead. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define COUNT(cases) (sizeof(cases) / sizeof((cases)[0]))
#define FLOW(fields) HEAD "  - {Name: A, Agent: x}\n  - {Name: B, Agent: x, " fields "}\n"
#define SHAPE(shape) "Name: w\nVersion: 1\nInputShape: " shape "\nSteps: [{Name: A, Agent: x}]\n"

static const struct lint_case checks_what_steps_refer_to[] = {
    {HEAD "  - {Name: A, Agent: x, After: []}\n"
          "  - {Name: B, Agent: x, After: [], When: output.A.ok}\n",
     "5:49: error: output.A is not known here: step A does not come before this one: name it in "
     "After\n"},
    {HEAD "  - {Name: A, Agent: x, When: output.A.ok}\n",
     "4:38: error: output.A is not known here: step A does not come before this one: name it in "
     "After\n"},
    {HEAD "  - {Name: A, Agent: x, When: output.B.ok}\n"
          "  - {Name: B, Agent: x}\n",
     "4:38: error: output.B is not known here: step B does not come before this one: name it in "
     "After\n"},
    {HEAD "  - {Name: A, Agent: x, When: output.Aa.ok}\n",
     "4:38: error: there is no step Aa: no step comes before this one\n"},
    {HEAD "  - {Name: Reserve, Agent: x}\n"
          "  - {Name: B, Agent: x, When: output.reserve.ok}\n",
     "5:38: error: there is no step reserve: did you mean Reserve?\n"},
    {HEAD "  - {Name: Reserve, Agent: x}\n"
          "  - {Name: B, Agent: x, When: output.Foo.ok}\n",
     "5:38: error: there is no step Foo: there is Reserve\n"},
    {HEAD "  - {Name: reserve-stock, Agent: x}\n"
          "  - {Name: B, Agent: x, When: output.reserve-stock.ok}\n",
     "5:38: error: reserve-stock has to stand in brackets and quotes: write "
     "output['reserve-stock']\n"},
    {HEAD "  - {Name: stock.v2, Agent: x}\n"
          "  - {Name: B, Agent: x, When: output.stock.v2.ok}\n",
     "5:38: error: stock.v2 has to stand in brackets and quotes: write output['stock.v2']\n"},
    {HEAD "  - {Name: a-b, Agent: x, When: input.a}\n"
          "  - {Name: B, Set: \"${output['a-b'].c}\"}\n",
     "5:30: error: step a-b may have no output: write has(output['a-b']) && ... or "
     "has(output['a-b']) ? ... : ...\n"},
    {HEAD "  - {Name: A, Agent: x, When: input.a}\n"
          "  - {Name: B, Agent: x, When: output.A.ok}\n",
     "5:38: error: step A may have no output: write has(output.A) && ... or has(output.A) ? ... : "
     "...\n"},
    {HEAD "  - {Name: A, Agent: x, When: input.a}\n"
          "  - {Name: B, Agent: x, Input: {a: \"${output.A.id}\"}}\n",
     "5:46: error: step A may have no output: write has(output.A) && ... or has(output.A) ? ... : "
     "...\n"},
    {HEAD "  - {Name: A, Agent: x, When: input.a}\n"
          "  - {Name: B, Agent: x, When: has(output.A.ok)}\n",
     "5:42: error: step A may have no output: write has(output.A) && ... or has(output.A) ? ... : "
     "...\n"},
    {HEAD "  - {Name: A, Agent: x, When: input.a}\n"
          "  - {Name: B, Agent: x, When: has(output.A) || output.A.ok}\n",
     "5:55: error: step A may have no output: write has(output.A) && ... or has(output.A) ? ... : "
     "...\n"},
    {HEAD "  - {Name: A, Agent: x, When: input.a}\n"
          "  - {Name: B, Agent: x}\n"
          "Output: \"${output.A}\"\n",
     "6:19: error: step A may have no output: write has(output.A) && ... or has(output.A) ? ... : "
     "...\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E], Next: $continue}]}\n"
          "  - {Name: B, Set: \"${output.A}\"}\n",
     "5:30: error: step A may have no output: write has(output.A) && ... or has(output.A) ? ... : "
     "...\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E], Next: $continue}]}\n"
          "  - {Name: B, Set: \"${error.A.name}\"}\n",
     "5:29: error: step A may have no error: write has(error.A) && ... or has(error.A) ? ... : "
     "...\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E], Next: $continue}]}\n"
          "  - {Name: B, Agent: x, When: has(error.A) && error.A.code == 1}\n",
     "5:55: error: there is no member code: there are message and name\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E], Next: $continue}]}\n"
          "  - {Name: B, Agent: x, When: has(error.A.name)}\n",
     "5:41: error: step A may have no error: write has(error.A) && ... or has(error.A) ? ... : "
     "...\n"},
    {FLOW("When: has(error.A)"),
     "5:41: error: error.A is never there: step A has no Catch with Next: $continue\n"},
    {FLOW("When: has(output.A)"), "5:31: warning: When is always true: leave it out\n"},
    {FLOW("When: \"!has(output.A)\""),
     "5:31: warning: When is always false: the step never runs\n"},
    {"Name: w\nVersion: 1\nInputShape: {a: {b: number, c?: any}, d: boolean?, e: any}\nSteps:\n"
     "  - {Name: A, Agent: x, When: has(input.a.b)}\n"
     "  - {Name: B, Agent: x, When: \"!has(input['e'])\"}\n"
     "  - {Name: C, Agent: x, When: \"has(input.a) || has(input.d)\"}\n"
     "  - {Name: D, Agent: x, When: has(input.a.c)}\n"
     "  - {Name: E, Agent: x, When: has(input.d)}\n"
     "  - {Name: F, Agent: x, When: has(input.e.f)}\n"
     "  - {Name: G, Agent: x, When: has(input.a) && input.a.b > 1}\n"
     "  - {Name: H, Agent: x, When: has(order.attributes.a)}\n",
     "5:31: warning: When is always true, because InputShape requires b: leave it out, or write b? "
     "there\n"
     "6:31: warning: When is always false, because InputShape requires e: remove the step, or "
     "write e? there\n"
     "7:31: warning: When is always true: leave it out\n"},
    {"Name: w\nVersion: 1\nInputShape: {l: [{a: number}]}\nSteps:\n"
     "  - {Name: A, Agent: x, When: \"has(input.l[0].a)\"}\n",
     ""},
    {HEAD "  - {Name: A, Agent: x, When: has(input.a)}\n", ""},
    {HEAD "  - {Name: A, Agent: x, When: 1 > 2}\n",
     "4:31: warning: When is always false: the step never runs\n"},
    {HEAD "  - {Name: A, Agent: x, When: false}\n",
     "4:31: warning: When is always false: the step never runs\n"},
    {HEAD "  - {Name: A, Set: \"${result}\"}\n",
     "4:23: error: result is not known here: it stands in Until, StopWhen, the Output of a step "
     "and Compensate.Input\n"},
    {HEAD "  - {Name: A, Agent: x, Input: \"${result.id}\"}\n",
     "4:35: error: result is not known here: it stands in Until, StopWhen, the Output of a step "
     "and Compensate.Input\n"},
    {HEAD "  - {Name: A, Agent: x, Output: \"${output.A.id}\"}\n",
     "4:43: error: output.A is not known here: step A does not come before this one, whose own "
     "output is result\n"},
    {HEAD "  - {Name: A, Agent: x, Compensate: {Action: U, Input: \"${output.A.id}\"}}\n",
     "4:66: error: output.A is not known here: step A does not come before this one, whose own "
     "output is result\n"},
    {HEAD "  - {Name: A, Agent: x, When: }\n",
     "4:25: error: When has no value: give it one or leave it out\n"},
    {HEAD "  - {Name: A, Agent: x, When: \"\"}\n",
     "4:32: error: there is no expression: write one, as in input.amount > 100\n"},
    {HEAD "  - {Name: A, Agent: x, When: [input.a]}\n",
     "4:31: error: When must be an expression, not a list: put it in quotes\n"},
    {HEAD "  - {Name: A, Agent: x, When: {input.a: 1}}\n",
     "4:31: error: When must be an expression, not a mapping: put it in quotes\n"},
    {HEAD "  - {Name: A, Agent: x, Output: \"${index}\"}\n",
     "4:36: error: index is not known here: it stands in the Input of a step with ForEach\n"},
};

Test(workflow_mistakes, checks_what_steps_refer_to)
{
    kit_lint(checks_what_steps_refer_to, COUNT(checks_what_steps_refer_to));
}

static const struct lint_case wants_one_kind_and_its_fields[] = {
    {HEAD "  - {Name: A}\n",
     "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"},
    {HEAD "  - {Name: A, When: input.a, Input: 1}\n",
     "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"},
    {HEAD "  - {Name: A, Set: 1, Agent: x}\n",
     "4:15: error: a step has Agent or Set, not both: make two steps of it\n"},
    {HEAD "  - {Name: A, Fail: {Error: E}, Set: 1}\n",
     "4:15: error: a step has Set or Fail, not both: make two steps of it\n"},
    {HEAD "  - {Name: A, Fail: {Error: E}, Agents: [x, y]}\n",
     "4:15: error: a step has Agents or Fail, not both: make two steps of it\n"},
    {HEAD "  - {Name: A, Set: 1, Pivot: true}\n",
     "4:23: error: Pivot does not belong to a step with Set, only to one with Agent or Steps\n"},
    {HEAD "  - {Name: A, Set: 1, Input: 2}\n",
     "4:23: error: Input does not belong to a step with Set, only to one with Agent or Steps\n"},
    {HEAD "  - {Name: A, Set: 1, Output: 3}\n",
     "4:23: error: Output does not belong to a step with Set, only to one with Agent, Await or "
     "Steps\n"},
    {HEAD "  - {Name: A, Set: 1, TimeoutSeconds: 3}\n",
     "4:23: error: TimeoutSeconds does not belong to a step with Set, only to one with Agent, "
     "Await or Steps\n"},
    {HEAD "  - {Name: A, Set: 1, Retry: []}\n",
     "4:23: error: Retry does not belong to a step with Set, only to one with Agent\n"},
    {HEAD "  - {Name: A, Set: 1, Compensate: {Action: U}}\n",
     "4:23: error: Compensate does not belong to a step with Set, only to one with Agent\n"},
    {HEAD "  - {Name: A, Set: 1, MaxExtensionSeconds: 5}\n",
     "4:23: error: MaxExtensionSeconds does not belong to a step with Set, only to one with "
     "Agent\n"},
    {HEAD "  - {Name: A, Fail: {Error: E}, Retry: []}\n",
     "4:33: error: Retry does not belong to a step with Fail, only to one with Agent\n"},
    {HEAD "  - {Name: A, Fail: {Error: E}, Pivot: true}\n",
     "4:33: error: Pivot does not belong to a step with Fail, only to one with Agent or Steps\n"},
    {HEAD "  - {Name: A, Fail: {Error: E}, Output: 1}\n",
     "4:33: error: Output does not belong to a step with Fail, only to one with Agent, Await or "
     "Steps\n"},
    {HEAD "  - {Name: A, Fail: {Error: States.Timeout}}\n",
     "4:29: error: Error must be 1 to 64 letters, digits, '.', '_' or '-', without \"States.\" or "
     "\"Order.\" at its beginning\n"},
    {HEAD "  - {Name: A, Fail: {Error: loan declined}}\n",
     "4:29: error: Error must be 1 to 64 letters, digits, '.', '_' or '-', without \"States.\" or "
     "\"Order.\" at its beginning\n"},
    {HEAD "  - {Name: A, Fail: LoanDeclined}\n",
     "4:21: error: Fail of a step must be a mapping of fields, not a text: write {Error: "
     "LoanDeclined}\n"},
    {HEAD "  - {Name: A, Fail: {Message: no}}\n", "4:21: error: Fail of a step has no Error\n"},
    {HEAD "  - {Name: A, Fail: {Error: E, Message: {a: 1}}}\n",
     "4:41: error: Message must be a text, not a mapping\n"},
    {HEAD "  - {Name: A, Fail: {Error: E, Message: \"${input}\", Cause: x}}\n",
     "4:53: error: there is no field Cause here: Message says more about an Error\n"},
    {HEAD "  - {Name: A, Fail: {Error: 404}}\n",
     "4:29: error: Error must be a text: put 404 in quotes\n"},
    {HEAD "  - {Name: A, Fail: {}}\n", "4:21: error: Fail of a step has no Error\n"},
    {HEAD "  - {Name: A, Set: }\n", "4:15: error: Set has no value: give it one or leave it out\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E], Next: B}]}\n"
          "  - {Name: B, Agent: x}\n",
     "4:58: error: Next must be $compensate, $error or $continue, not a step: write $continue, and "
     "When: has(error.STEP) in step B, which comes after this one\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E], Next: continue}]}\n",
     "4:58: error: Next \"continue\" is unknown: did you mean $continue?\n"},
    {HEAD "  - {Name: A, Agent: x, Compensate: {Action: U}, Catch: [{ErrorEquals: [E], Next: "
          "$continue}]}\n",
     "4:57: error: step A has $continue and Compensate: what its attempts may have applied would "
     "stay; put the step into Steps of its own, and $continue there\n"},
    {"Name: w\n"
     "Version: 1\n"
     "Defaults: {Catch: [{ErrorEquals: [E], Next: $continue}]}\n"
     "Steps: [{Name: A, Agent: x}]\n",
     "3:45: error: $continue is not allowed in Defaults: give it to the steps that the order can "
     "do without\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [E]}]}\n",
     "4:33: error: a catcher has no Next\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: {ErrorEquals: [E], Next: $error}}\n",
     "4:32: error: Catch must be a list, not a mapping\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: E, Next: $error}]}\n",
     "4:47: error: ErrorEquals must be a list of error names, not a text\n"},
    {HEAD "  - {Name: A, Agent: x, Retry: [{ErrorEquals: [States.QueryEvaluationError]}]}\n",
     "4:33: error: States.QueryEvaluationError is never retried: name it in Catch\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [States.Timout], Next: $error}]}\n",
     "4:48: error: States.Timout is not one of the reserved errors: did you mean "
     "States.Timeout?\n"},
    {HEAD "  - {Name: A, Agent: x, Catch: [{ErrorEquals: [States.ALL, E], Next: $error}]}\n",
     "4:47: error: States.ALL must stand alone: it matches every error\n"},
    {HEAD "  - {Name: A, Type: Task, Resource: x}\n",
     "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"
     "4:15: error: there is no field Type here: Agent, Set, Fail, Wait, Await or Steps says what a "
     "step "
     "does\n"
     "4:27: error: there is no field Resource here: Agent names the agent that does the step\n"},
    {HEAD "  - {Name: A, Type: Choice, Choices: []}\n",
     "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"
     "4:15: error: there is no field Type here: Agent, Set, Fail, Wait, Await or Steps says what a "
     "step "
     "does\n"
     "4:29: error: there is no field Choices here: each step of a choice has a When\n"},
    {HEAD "  - {Name: A, Type: Pass, Result: 1}\n",
     "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"
     "4:15: error: there is no field Type here: Agent, Set, Fail, Wait, Await or Steps says what a "
     "step "
     "does\n"
     "4:27: error: there is no field Result here: Set computes what later steps read as "
     "output.STEP\n"},
    {HEAD "  - {Name: A, Agent: x, End: true}\n",
     "4:25: error: there is no field End here: an order ends when all its steps are done\n"},
    {HEAD "  - {Name: A, Agent: x, Condition: input.a}\n",
     "4:25: error: there is no field Condition here: When says whether a step runs\n"},
    {HEAD "  - {Name: A, Agent: x, If: input.a}\n",
     "4:25: error: there is no field If here: When says whether a step runs\n"},
    {HEAD "  - {Name: A, Agent: x, when: input.a}\n",
     "4:25: error: when is an unknown field of a step: did you mean When?\n"},
    {HEAD "  - {Name: A, Agent: x, Inputs: {a: 1}}\n",
     "4:25: error: Inputs is an unknown field of a step: did you mean Input?\n"},
    {HEAD "  - {Name: A, Agent: x, InputPath: $.a}\n",
     "4:25: error: there is no field InputPath here: Input says what a request carries\n"},
    {HEAD "  - {Name: A, Type: Wait, Seconds: 5}\n",
     "4:5: error: a step has no Agent, Agents, Set, Fail, Wait, Await or Steps\n"
     "4:15: error: there is no field Type here: Agent, Set, Fail, Wait, Await or Steps says what a "
     "step "
     "does\n"
     "4:27: error: Seconds does not belong here; it belongs to Wait of a step\n"},
    {HEAD "  - {Name: A, Agent: x, OnExhausted: continue}\n",
     "4:38: error: OnExhausted must be compensate or error, not a text (continue)\n"},
    {HEAD "  - {Name: A, Agent: x, After: A}\n", "4:32: error: step A waits for itself\n"},
    {"Name: w\n"
     "Version: 1\n"
     "StartAt: A\n"
     "States: {A: {Type: Task}}\n",
     "1:1: error: the workflow has no Steps\n"
     "3:1: error: there is no field StartAt here: a step with After: [] starts at once\n"
     "4:1: error: there is no field States here: the steps are listed in Steps\n"},
    {"Name: w\n"
     "Version: '1'\n"
     "Steps: [{Name: A, Agent: x}]\n",
     "2:10: error: Version must be a whole number, not a text (1): leave out the quotes\n"},
    {"Name: w\n"
     "Version: 1\n"
     "When: input.a\n"
     "Steps: [{Name: A, Agent: x}]\n",
     "3:1: error: When does not belong here; it belongs to a step\n"},
    {"Name: w\n"
     "Version: 1\n"
     "Input: 1\n"
     "Steps: [{Name: A, Agent: x}]\n",
     "3:1: error: there is no field Input here: an order brings its input, and InputShape says "
     "what that must be\n"},
    {HEAD "  - {Name: A, Agent: x}\n"
          "Output:\n",
     "5:1: error: Output has no value: give it one or leave it out\n"},
    {HEAD "  - {Name: A, Agent: x}\n"
          "Output: {a: \"${result}\"}\n",
     "5:16: error: result is not known here: it stands in Until, StopWhen, the Output of a step "
     "and Compensate.Input\n"},
};

Test(workflow_mistakes, wants_one_kind_and_its_fields)
{
    kit_lint(wants_one_kind_and_its_fields, COUNT(wants_one_kind_and_its_fields));
}

static const struct lint_case checks_shapes[] = {
    {SHAPE("{a: strng}"), "3:17: error: \"strng\" is not a type: did you mean string?\n"},
    {SHAPE("{a: int}"), "3:17: error: \"int\" is not a type: did you mean integer?\n"},
    {SHAPE("{a: bool?}"), "3:17: error: \"bool\" is not a type: did you mean boolean?\n"},
    {SHAPE("{a: date}"), "3:17: error: \"date\" is not a type: it must be string, number, integer, "
                         "boolean, any, [TYPE] or {NAME: TYPE}\n"},
    {SHAPE("{a: 5}"), "3:17: error: \"5\" is not a type: it must be string, number, integer, "
                      "boolean, any, [TYPE] or {NAME: TYPE}\n"},
    {SHAPE("{a: }"), "3:17: error: a type must be string, number, integer, boolean, any, [TYPE] or "
                     "{NAME: TYPE}, not nothing\n"},
    {SHAPE("{a: null}"), "3:17: error: a type must be string, number, integer, boolean, any, "
                         "[TYPE] or {NAME: TYPE}, not nothing\n"},
    {SHAPE("{a: string | number}"),
     "3:17: error: \"string | number\" is not a type: it must be string, number, integer, boolean, "
     "any, [TYPE] or {NAME: TYPE}\n"},
    {SHAPE("string?"),
     "3:13: error: the input as a whole cannot be missing: leave out the \"?\"\n"},
    {SHAPE("{a: []}"), "3:17: error: a list has one type, of all its elements: [string]\n"},
    {SHAPE("{a: [string, number]}"),
     "3:17: error: a list has one type, of all its elements: [string]\n"},
    {SHAPE("{a: [string?]}"),
     "3:18: error: an element of a list cannot be missing: leave out the \"?\"\n"},
    {SHAPE("{a: [string]?}"),
     "3:25: error: did not find expected ',' or '}' while parsing a flow mapping: write the ? of a "
     "list or a map behind its name, notes?: [string]\n"},
    {SHAPE("{a: {b: string}?}"),
     "3:28: error: did not find expected ',' or '}' while parsing a flow mapping: write the ? of a "
     "list or a map behind its name, notes?: [string]\n"},
    {SHAPE("{a: string, a: number}"), "3:25: error: a is given twice, first in line 3\n"},
    {SHAPE("{a: string, a?: string}"), "3:25: error: a? is given twice\n"},
    {SHAPE("[]"), "3:13: error: a list has one type, of all its elements: [string]\n"},
    {SHAPE("{type: object, properties: {a: {type: string}}}"),
     "3:13: error: InputShape is not JSON Schema: write {a?: string}; a ? behind a name says that "
     "it may be missing\n"},
    {SHAPE("{a: string??}"), "3:17: error: \"string?\" is not a type: did you mean string?\n"},
    {SHAPE("{a: '?'}"), "3:17: error: \"?\" is not a type: it must be string, number, integer, "
                        "boolean, any, [TYPE] or {NAME: TYPE}\n"},
    {SHAPE("{a: String}"), "3:17: error: \"String\" is not a type: did you mean string?\n"},
    {SHAPE("{a: list}"), "3:17: error: \"list\" is not a type: it must be string, number, integer, "
                         "boolean, any, [TYPE] or {NAME: TYPE}\n"},
    {SHAPE("{a: array}"), "3:17: error: \"array\" is not a type: it must be string, number, "
                          "integer, boolean, any, [TYPE] or {NAME: TYPE}\n"},
    {SHAPE("{a: map}"), "3:17: error: \"map\" is not a type: it must be string, number, integer, "
                        "boolean, any, [TYPE] or {NAME: TYPE}\n"},
    {SHAPE("{a: number?, b: null}"), "3:29: error: a type must be string, number, integer, "
                                     "boolean, any, [TYPE] or {NAME: TYPE}, not nothing\n"},
    {SHAPE("~"), "3:1: error: InputShape has no value: give it one or leave it out\n"},
    {SHAPE("any?"), "3:13: error: the input as a whole cannot be missing: leave out the \"?\"\n"},
    {SHAPE("text"), "3:13: error: \"text\" is not a type: did you mean string?\n"},
    {SHAPE("[[[[[[[[[[[[[[[[[string]]]]]]]]]]]]]]]]]"),
     "3:28: error: a file has at most 16 lists and mappings within each other\n"},
};

Test(workflow_mistakes, checks_shapes)
{
    kit_lint(checks_shapes, COUNT(checks_shapes));
}

/* `begin`, `count` letters, `end`. */
static const char *filled(const char *begin, size_t count, const char *end)
{
    size_t size = strlen(begin) + count + strlen(end) + 1;
    char *text = arena_bytes(kit_arena(), size);
    snprintf(text, size, "%s%*s%s", begin, (int)count, "", end);
    memset(text + strlen(begin), 'a', count);
    return text;
}

/* What every order would fail for. */
Test(workflow_mistakes, refuses_data_that_is_always_too_large)
{
    static const char cure[] = ": refer to large data by a name or an address\n";
    static const struct {
        const char *begin;
        size_t count;
        const char *end;
        const char *problem; /* before the cure; "" : none */
    } rows[] = {
        {HEAD "  - {Name: A, Set: \"", 8190, "\"}\n", ""},
        {HEAD "  - {Name: A, Set: \"", 8191, "\"}\n",
         "4:20: error: Set makes at least 8193 bytes; the limit is 8192"},
        {HEAD "  - {Name: A, Agent: x, Input: {b: \"${input}\", a: \"", 32768, "\"}}\n",
         "4:32: error: Input makes at least 32774 bytes; the limit is 32768"},
        {HEAD "  - {Name: A, Agent: x, Output: [\"", 65536, "\", 1]}\n",
         "4:33: error: Output makes at least 65542 bytes; the limit is 65536"},
        {HEAD "  - {Name: A, Agent: x, Compensate: {Action: U, Input: \"", 32768, "\"}}\n",
         "4:56: error: Input makes at least 32770 bytes; the limit is 32768"},
        {HEAD "  - {Name: A, Agent: x}\nOutput: \"", 65536, "\"\n",
         "5:9: error: Output makes at least 65538 bytes; the limit is 65536"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *found = kit_yaml(filled(rows[i].begin, rows[i].count, rows[i].end)).problems;
        size_t size = strlen(rows[i].problem);
        cr_expect(strncmp(found, rows[i].problem, size) == 0 &&
                      strcmp(found + size, size > 0 ? cure : "") == 0,
                  "row %zu: %s", i, found);
    }
}

/* ---- notes ---- */

#define REMAINS(step)                                                                              \
    "what step " step " did may remain when the order is undone: if it changes anything, give it " \
    "Compensate, or OnExhausted: error\n"
#define BEHIND(step)                                                                    \
    "step " step " comes after the pivot: if it fails, the order ends in Error, and a " \
    "resubmission fails again; put it before the pivot if you can\n"
#define UNCOMPARED(step) \
    "nothing compares the choice of step " step " with ==: say when to go on, not when to stop\n"
#define ASK(more) HEAD "  - {Name: A, Await: {Options: [yea, nay]}, TimeoutSeconds: 9" more "}\n"
#define THEN(when) "  - {Name: B, Set: 1, When: \"" when "\"}\n"

static const struct lint_case notes[] = {
    {HEAD "  - {Name: A, Agent: x}\n  - {Name: B, Agent: x, OnExhausted: error}\n"
          "  - {Name: C, Agent: x, Compensate: {Action: U}}\n  - {Name: D, Set: 1}\n",
     "4:12: note: " REMAINS("A")},
    {HEAD "  - {Name: A, Agent: x}\n  - {Name: P, Agent: x, Pivot: true}\n"
          "  - {Name: C, Agent: x}\n  - {Name: D, Set: 1}\n  - {Name: E, Fail: {Error: E}}\n",
     "4:12: note: " REMAINS("A") "7:12: note: " BEHIND("D") "8:12: note: " BEHIND("E")},
    {HEAD "  - {Name: A, Set: {a: \"${order.id}\"}, When: input.a}\n"
          "  - {Name: B, Set: \"${input.b}\", When: input.b}\n",
     "4:46: note: without an InputShape, members of the input are not checked, neither here nor "
     "when an order is submitted\n"},
    {HEAD "  - {Name: A, Set: \"${input}\"}\n", ""},
    {"Name: w\nVersion: 1\nInputShape: {a: boolean}\nSteps: [{Name: A, Set: 1, When: input.a}]\n",
     ""},
    {ASK(""), "4:12: note: " UNCOMPARED("A")},
    {ASK("") THEN("output.A.choice != 'nay'"), "4:12: note: " UNCOMPARED("A")},
    {ASK("") THEN("output.A.by == order.customer"), "4:12: note: " UNCOMPARED("A")},
    {ASK("") THEN("output.A.choice == 'yea'"), ""},
    {ASK("") THEN("order.customer == 'x' || 'yea' == output.A.choice"), ""},
    {ASK("") THEN("output.A.choice in ['yea']"), ""},
    {ASK("") "  - {Name: B, Set: {go: \"${output.A.choice == 'yea'}\"}}\n", ""},
    {ASK("") "Output: {gone: \"${output.A.choice == 'yea'}\"}\n", ""},
    {ASK(", Until: \"result.choice == 'yea'\""), ""},
    {ASK(", Until: \"result.choice != 'nay'\""), "4:12: note: " UNCOMPARED("A")},
    {ASK(", Output: \"${result.choice}\"") THEN("output.A == 'yea'"), ""},
    {ASK(", Output: \"${result.choice}\"") THEN("output.A != 'nay'"),
     "4:12: note: " UNCOMPARED("A")},
    {ASK("") "  - {Name: C, Await: {Options: [yea, nay]}, TimeoutSeconds: 9}\n" THEN(
         "output.C.choice == 'yea'"),
     "4:12: note: " UNCOMPARED("A")},
    {HEAD "  - {Name: A, Agent: x}\n  - {Name: B, Set: ~}\n",
     "4:12: note: " REMAINS("A") "5:15: error: Set has no value: give it one or leave it out\n"},
};

Test(workflow_mistakes, notes_what_is_often_meant_otherwise_if_asked)
{
    for (size_t i = 0; i < COUNT(notes); i++) {
        const char *found = kit_notes(notes[i].source);
        cr_expect_str_eq(found, notes[i].problems, "row %zu: %s", i, found);
        cr_expect_null(strstr(kit_yaml(notes[i].source).problems, "note"));
    }
}
