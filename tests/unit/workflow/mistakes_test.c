/* SPDX-License-Identifier: Apache-2.0 */
/* The mistakes that people make in expressions, above all those who come from another language:
 * each has its line and column, its cause, and what to write instead. */
#include "kit.h"

#include <criterion/criterion.h>

#define COUNT(cases) (sizeof(cases) / sizeof((cases)[0]))

/* A field of the second step, in line 7; in the second one, in line 5, within { }. */
#define SECOND HEAD "  - {Name: A, Agent: x}\n  - Name: B\n    Agent: x\n"
#define WHEN(expression) SECOND "    When: " expression "\n"
#define INPUT(data) SECOND "    Input: " data "\n"
#define FLOW(fields) HEAD "  - {Name: A, Agent: x}\n  - {Name: B, Agent: x, " fields "}\n"
#define SHAPED(expression)                                                                      \
    "Name: w\nVersion: 1\nInputShape: {n: number, t: string, l: [integer], gift: boolean?, "    \
    "buyer?: {name: string}, x: any}\nSteps:\n  - Name: B\n    Agent: x\n    When: " expression \
    "\n"

static const struct lint_case wants_expressions_in_quotes[] = {
    {WHEN("!output.A.ok"), "7:11: error: tags (!) are not allowed: put a text or an expression "
                           "that begins with ! in quotes\n"},
    {WHEN("!has(output.A)"), "7:11: error: tags (!) are not allowed: put a text or an expression "
                             "that begins with ! in quotes\n"},
    {WHEN("!(input.a)"), "7:11: error: tags (!) are not allowed: put a text or an expression that "
                         "begins with ! in quotes\n"},
    {FLOW("When: input.a ? 1 : 2"), "5:43: error: did not find expected ',' or '}' while parsing a "
                                    "flow mapping: put the expression in quotes\n"},
    {WHEN("input.a ? true : false"),
     "7:26: error: mapping values are not allowed in this context: put the expression in quotes\n"},
    {FLOW("When: input.l[0] > 1"), "5:42: error: found character that cannot start any token while "
                                   "scanning for the next token: put the expression in quotes\n"},
    {WHEN("[1, 2].exists(x, x == input.n)"),
     "7:17: error: did not find expected key while parsing a block mapping that begins in line 5: "
     "put the expression in quotes\n"},
    {WHEN("{'a': 1}.a == input.n"),
     "7:19: error: did not find expected key while parsing a block mapping that begins in line 5: "
     "put the expression in quotes\n"},
    {WHEN("\"a\" == input.t"),
     "7:15: error: did not find expected key while parsing a block mapping that begins in line 5: "
     "put the whole expression in quotes, and texts within it in the other ones\n"},
    {WHEN("'a' in input.l"),
     "7:15: error: did not find expected key while parsing a block mapping that begins in line 5: "
     "put the whole expression in quotes, and texts within it in the other ones\n"},
    {WHEN("input.t == 'a #b'"), "7:22: error: the text that begins here does not end: close it; if "
                                "it has a #, put the whole expression in quotes\n"},
    {WHEN("input.t == \"x: y\""),
     "7:24: error: mapping values are not allowed in this context: put the expression in quotes\n"},
    {WHEN("\"input.t == \"x\"\""),
     "7:24: error: did not find expected key while parsing a block mapping that begins in line 5: "
     "put the whole expression in quotes, and texts within it in the other ones\n"},
    {FLOW("When: input.l.exists(x, x > 0)"),
     "5:31: error: When ends at a comma, within a bracket: put the expression in quotes\n"
     "5:49: error: x > 0) is an unknown field of a step: put an expression with a comma or a colon "
     "in quotes\n"},
    {FLOW("When: input.t == {}"), "5:42: error: did not find expected ',' or '}' while parsing a "
                                  "flow mapping: put the expression in quotes\n"},
    {WHEN("&input"),
     "7:11: error: anchors (&) are not allowed: what steps share belongs in Defaults\n"},
    {WHEN("*input.a"), "7:17: error: did not find expected alphabetic or numeric character while "
                       "scanning an alias: put the expression in quotes\n"},
    {WHEN("- input.a > 0"), "7:11: error: block sequence entries are not allowed in this context: "
                            "put the expression in quotes\n"},
    {WHEN("%input"), "7:11: error: found character that cannot start any token while scanning for "
                     "the next token: put the expression in quotes\n"},
    {WHEN("@input"), "7:11: error: found character that cannot start any token while scanning for "
                     "the next token: put the expression in quotes\n"},
    {WHEN("`input`"), "7:11: error: found character that cannot start any token while scanning for "
                      "the next token: put the expression in quotes\n"},
    {WHEN("? input.a"),
     "7:11: error: mapping keys are not allowed in this context: put the expression in quotes\n"},
    {WHEN("|| input.a"), "7:12: error: did not find expected comment or line break while scanning "
                         "a block scalar: put the expression in quotes\n"},
    {WHEN("> 5"), "7:13: error: did not find expected comment or line break while scanning a block "
                  "scalar: put the expression in quotes\n"},
    {WHEN("input.a &&\n    input.b ? true : false"),
     "7:21: error: the expression ends where it needs a value\n"
     "8:5: error: input.b ? true is an unknown field of a step: put an expression with a comma or "
     "a colon in quotes\n"},
    {WHEN("has(output.A) && output.A.t == 'x: y'"),
     "7:44: error: mapping values are not allowed in this context: put the expression in quotes\n"},
};

Test(workflow_mistakes, wants_expressions_in_quotes)
{
    kit_lint(wants_expressions_in_quotes, COUNT(wants_expressions_in_quotes));
}

static const struct lint_case wants_templates_in_quotes[] = {
    {FLOW("Input: {a: ${input.a}}"), "5:37: error: did not find expected ',' or '}' while parsing "
                                     "a flow mapping: put text with ${ } in quotes\n"},
    {FLOW("Input: ${input.a}"), "5:33: error: did not find expected ',' or '}' while parsing a "
                                "flow mapping: put text with ${ } in quotes\n"},
    {INPUT("{a: ${input.a}}"), "7:17: error: did not find expected ',' or '}' while parsing a flow "
                               "mapping: put text with ${ } in quotes\n"},
    {INPUT("total: ${input.a}"),
     "7:17: error: mapping values are not allowed in this context: put text with ${ } in quotes\n"},
    {INPUT("pay ${input.a ? 'x' : 'y'}"),
     "7:32: error: mapping values are not allowed in this context: put text with ${ } in quotes\n"},
    {INPUT("${input.t + ' #'}"),
     "7:12: error: ${ has no } behind it: close the expression with one, put the text in quotes if "
     "it has a #, or write $${ for the characters themselves\n"},
    {INPUT("NO"), "7:12: error: NO is not a text to every YAML reader: put it in quotes, or write "
                  "true or false\n"},
    {INPUT("01234"), "7:12: error: 01234 is not a text to every YAML reader: put it in quotes, or "
                     "write it as JSON does\n"},
    {INPUT("1_000"), "7:12: error: 1_000 is not a text to every YAML reader: put it in quotes\n"},
    {INPUT("~"), "7:5: error: Input has no value: give it one or leave it out\n"},
    {INPUT("{a: ~}"),
     "7:16: error: ~ is not a text to every YAML reader: put it in quotes, or write null\n"},
    {INPUT("{a: }"),
     "7:16: error: there is no value here: write null, or \"\" for an empty text\n"},
    {INPUT("2026-01-01"),
     "7:12: error: 2026-01-01 is not a text to every YAML reader: put it in quotes\n"},
    {INPUT("0x1F"), "7:12: error: 0x1F is not a text to every YAML reader: put it in quotes\n"},
    {INPUT("1e400"), "7:12: error: 1e400 has more than 40 digits: put it in quotes\n"},
    {INPUT(".5"), "7:12: error: .5 is not a text to every YAML reader: put it in quotes, or write "
                  "it as JSON does\n"},
    {INPUT("12:30"), "7:12: error: 12:30 is not a text to every YAML reader: put it in quotes\n"},
    {INPUT("!x y"), "7:12: error: tags (!) are not allowed: put a text or an expression that "
                    "begins with ! in quotes\n"},
    {INPUT("{a: yes, b: off}"), "7:16: error: yes is not a text to every YAML reader: put it in "
                                "quotes, or write true or false\n"
                                "7:24: error: off is not a text to every YAML reader: put it in "
                                "quotes, or write true or false\n"},
    {INPUT("1234567890123456789012345678901234567890123"),
     "7:12: error: 1234567890123456789012345678901234567890123 has more than 40 digits: put it in "
     "quotes\n"},
    {INPUT("Null"), "7:5: error: Input has no value: give it one or leave it out\n"},
    {INPUT("TRUE"), "7:12: error: TRUE is not a text to every YAML reader: put it in quotes, or "
                    "write true or false\n"},
    {INPUT("+5"), "7:12: error: +5 is not a text to every YAML reader: put it in quotes, or write "
                  "it as JSON does\n"},
    {INPUT(".inf"), "7:12: error: .inf is not a text to every YAML reader: put it in quotes\n"},
    {INPUT("{a: 1, a: 2}"), "7:19: error: a is given twice, first in line 7\n"},
    {INPUT("a ${input.a"),
     "7:14: error: ${ has no } behind it: close the expression with one, put the text in quotes if "
     "it has a #, or write $${ for the characters themselves\n"},
    {INPUT("\"${input.a\""), "7:13: error: ${ has no } behind it: close the expression with one, "
                             "or write $${ for the characters themselves\n"},
    {INPUT("\"${}\""),
     "7:15: error: there is no expression: write one, as in input.amount > 100\n"},
    {INPUT("\"${ }\""),
     "7:16: error: there is no expression: write one, as in input.amount > 100\n"},
    {INPUT("\"a ${[1]}\""), "7:17: error: this gives a list; within other text it must give a "
                            "boolean, a number or a text\n"},
    {INPUT("\"a ${null}\""), "7:17: error: this gives null; within other text it must give a "
                             "boolean, a number or a text\n"},
    {INPUT("\"a ${{'a': 1}}\""), "7:17: error: this gives a map; within other text it must give a "
                                 "boolean, a number or a text\n"},
    {INPUT("\"{{ input.a }}\""),
     "7:12: warning: this is sent as it stands: write \"${...}\" for the value of an expression\n"},
    {INPUT("\"$.input.a\""),
     "7:12: warning: this is sent as it stands: write \"${...}\" for the value of an expression\n"},
    {INPUT("{a.$: $.input.a}"),
     "7:18: warning: this is sent as it stands: write \"${...}\" for the value of an expression\n"},
    {INPUT("\"{% input.a %}\""),
     "7:12: warning: this is sent as it stands: write \"${...}\" for the value of an expression\n"},
};

Test(workflow_mistakes, wants_templates_in_quotes)
{
    kit_lint(wants_templates_in_quotes, COUNT(wants_templates_in_quotes));
}

#define SENT "this is sent as it stands: write "
#define LONE "7:12: warning: " SENT
#define UNNAMED "\"${...}\" for the value of an expression\n"
#define MEMBERS(data)                                                                     \
    "Name: w\nVersion: 1\nInputShape: {n: number, total: number}\nSteps:\n  - {Name: B, " \
    "Set: " data "}\n"

static const struct lint_case misses_braces_around_expressions[] = {
    {INPUT("input.x + 1"), LONE "\"${input.x + 1}\" for its value\n"},
    {INPUT("{id: output.A.id}"), "7:17: warning: " SENT "\"${output.A.id}\" for its value\n"},
    {INPUT("[a, [order.id]]"), "7:17: warning: " SENT "\"${order.id}\" for its value\n"},
    {INPUT("has(output.A)"), LONE "\"${has(output.A)}\" for its value\n"},
    {INPUT("size(input.l)"), LONE "\"${size(input.l)}\" for its value\n"},
    {INPUT("input[0]"), LONE "\"${input[0]}\" for its value\n"},
    {INPUT("$input.x"), LONE "\"${input.x}\" for its value\n"},
    {INPUT("$(input.x)"), LONE "\"${(input.x)}\" for its value\n"},
    {INPUT("=input.x"), LONE "\"${input.x}\" for its value\n"},
    {INPUT("'#{input.x}'"), LONE "\"${input.x}\" for its value\n"},
    {INPUT("'{input.x}'"), LONE "\"${input.x}\" for its value\n"},
    {INPUT("'input[\"x\"]'"), LONE "'${input[\"x\"]}' for its value\n"},
    {INPUT("\"input.x + '\\\"'\""), LONE UNNAMED},
    {FLOW("Output: result.id"), "5:33: warning: " SENT "\"${result.id}\" for its value\n"},
    {FLOW("Compensate: {Action: u, Input: {id: result.id}}"),
     "5:61: warning: " SENT "\"${result.id}\" for its value\n"},
    {HEAD "  - {Name: B, Set: input.x.y}\n",
     "4:20: warning: " SENT "\"${input.x.y}\" for its value\n"},
    {HEAD "  - {Name: B, Fail: {Error: E, Message: input.reason}}\n",
     "4:41: warning: " SENT "\"${input.reason}\" for its value\n"},
    {HEAD "  - {Name: B, Await: {Question: input.q}, TimeoutSeconds: 5}\n",
     "4:33: warning: " SENT "\"${input.q}\" for its value\n"},
    {HEAD "  - {Name: a-b, Agent: x}\n  - {Name: B, Set: output.a-b.id}\n",
     "5:20: warning: " SENT UNNAMED},
    {HEAD "  - {Name: A, Agent: x}\n  - {Name: B, Steps: [{Name: C, Set: output.A.id}]}\n",
     "5:38: warning: " SENT "\"${output.A.id}\" for its value\n"},
    {HEAD "  - {Name: B, ForEach: {Items: [input.a]}, Input: {n: item.n}, Steps: [{Name: C, Agent: "
          "x}]}\n",
     "4:33: warning: " SENT "\"${input.a}\" for its value\n"
     "4:55: warning: " SENT "\"${item.n}\" for its value\n"},
    {MEMBERS("input.n"), "5:20: warning: " SENT "\"${input.n}\" for its value\n"},
    {MEMBERS("input.totl"), "5:20: warning: " SENT "\"${input.totl}\" for its value\n"},
    {MEMBERS("input.sent + 1"), "5:20: warning: " SENT "\"${input.sent + 1}\" for its value\n"},
};

Test(workflow_mistakes, misses_braces_around_expressions)
{
    kit_lint(misses_braces_around_expressions, COUNT(misses_braces_around_expressions));
}

/* Most texts are texts. */
static const struct lint_case leaves_other_texts_alone[] = {
    {INPUT("output of the day"), ""},
    {INPUT("input"), ""},
    {INPUT("'result: ok'"), ""},
    {INPUT("input.csv"), ""},
    {INPUT("output.csv"), ""},
    {INPUT("see input.x"), ""},
    {INPUT("input.x is missing"), ""},
    {INPUT("input."), ""},
    {INPUT("e.g."), ""},
    {INPUT("www.example.org"), ""},
    {INPUT("[1.5, '1.5', 'a[0]', $5.00]"), ""},
    {INPUT("'=SUM(A1:A2)'"), ""},
    {INPUT("\"'input.x'\""), ""},
    {INPUT("$${input.x}"), ""},
    {INPUT("order.created"), ""},
    {INPUT("error.timeout"), ""},
    {INPUT("error.A is known"), ""},
    {INPUT("output.A1"), ""},
    {INPUT("result.id"), ""},
    {INPUT("item.n"), ""},
    {FLOW("Output: result.pdf"), ""},
    {MEMBERS("input.received"), ""},
    {MEMBERS("input.csv"), ""},
};

Test(workflow_mistakes, leaves_other_texts_alone)
{
    kit_lint(leaves_other_texts_alone, COUNT(leaves_other_texts_alone));
}

static const struct lint_case says_what_to_write_instead[] = {
    {HEAD "  - {Name: A, Fail: Declined}\n",
     "4:21: error: Fail of a step must be a mapping of fields, not a text: write {Error: "
     "Declined}\n"},
    {HEAD "  - {Name: A, Fail: no money left}\n",
     "4:21: error: Fail of a step must be a mapping of fields, not a text: write {Error: ...}\n"},
    {HEAD "  - {Name: A, ForEach: input.l, Steps: [{Name: B, Agent: x}]}\n",
     "4:24: error: ForEach of a step must be a mapping of fields, not a text: write {Items: "
     "input.l}\n"},
    {HEAD "  - {Name: A, Wait: 5s}\n", "4:21: error: Wait must be a mapping: write {Seconds: 5}\n"},
    {HEAD "  - {Name: A, Wait: {Seconds: 5s}}\n",
     "4:31: error: Seconds must be a number of seconds, or an expression for one: write 5\n"},
    {HEAD "  - {Name: A, Wait: {Seconds: 2 hours}}\n",
     "4:31: error: Seconds must be a number of seconds, or an expression for one: write 7200\n"},
    {HEAD "  - {Name: A, Wait: {Minutes: 5}}\n",
     "4:21: error: Wait of a step has no Seconds or Timestamp\n"
     "4:22: error: there is no field Minutes here: Seconds is a number, or an expression such as "
     "input.minutes * 60\n"},
    {HEAD "  - {Name: A, Agent: x, TimeoutSeconds: 5 min}\n",
     "4:41: error: TimeoutSeconds must be a number of seconds: write 300\n"},
    {HEAD "  - {Name: A, Choice: [], Agent: x}\n",
     "4:15: error: there is no field Choice here: each step of a choice has a When\n"},
    {HEAD "  - {Name: A, Parallel: [], Agent: x}\n",
     "4:15: error: there is no field Parallel here: steps with the same After run at the same "
     "time\n"},
    {HEAD "  - {Name: A, Map: {}, Agent: x}\n",
     "4:15: error: there is no field Map here: ForEach with Steps runs steps for each item of a "
     "list\n"},
    {"Name: w\nVersion: 1\ninput: {a: 1}\nSteps:\n  - {Name: A, Agent: x}\n",
     "3:1: error: there is no field input here: an order brings its input, and InputShape says "
     "what that must be\n"},
    {FLOW("Catch: [{ErrorEquals: [E], Next: $continu}]"),
     "5:58: error: Next \"$continu\" is unknown: did you mean $continue?\n"},
    {HEAD "  - {Name: a-b, Agent: x}\n  - {Name: B, Agent: x, When: has(output.a-b)}\n",
     "5:42: error: a-b has to stand in brackets and quotes: write output['a-b']\n"},
    {INPUT("\"${input.a b}\""),
     "7:23: error: b stands where it needs an operator, or its end: write "
     "x['a b'] for one member\n"},
    {HEAD "  - {Name: A, Set: {total: 1, of: {n: 1}}}\n  - {Name: B, Agent: x, When: output.A.totl "
          "+ output.A.of.m > 1}\n",
     "5:40: error: there is no member totl: did you mean total?\n"
     "5:59: error: there is no member m: there is n\n"},
    {HEAD "  - {Name: A, Agent: x, Output: {total: \"${result.x}\"}}\n"
          "  - {Name: B, Agent: x, When: output.A.totl > 1}\n",
     "5:40: error: there is no member totl: did you mean total?\n"},
};

Test(workflow_mistakes, says_what_to_write_instead)
{
    kit_lint(says_what_to_write_instead, COUNT(says_what_to_write_instead));
}

static const struct lint_case explains_slips_of_other_languages[] = {
    {WHEN("${input.a}"), "7:11: error: leave out ${ }: the whole field is an expression\n"},
    {WHEN("\"${input.a} > 5\""), "7:12: error: leave out ${ }: the whole field is an expression\n"},
    {WHEN("input.n and input.m"), "7:19: error: write && for and\n"},
    {WHEN("input.n or input.m"), "7:19: error: write || for or\n"},
    {WHEN("not input.n"), "7:11: error: there is no name not: write ! for not\n"},
    {WHEN("input.n AND input.m"), "7:19: error: write && for AND\n"},
    {WHEN("NOT input.n"), "7:11: error: there is no name NOT: write ! for not\n"},
    {WHEN("input.n = 5"), "7:19: error: write == to compare\n"},
    {WHEN("input.n <> 5"), "7:19: error: write != to compare\n"},
    {WHEN("input.n === 5"), "7:19: error: write == to compare\n"},
    {WHEN("input.n !== 5"), "7:19: error: write != to compare\n"},
    {WHEN("input.n ** 2 > 5"), "7:19: error: there are no powers: write x * x\n"},
    {WHEN("input.n ^ 2 > 5"),
     "7:19: error: there are no powers, and no operators on bits: write x * x\n"},
    {WHEN("input.n ?? 5"), "7:19: error: there is no ??: write has(x.y) ? x.y : ...\n"},
    {WHEN("input?.n"), "7:16: error: there are no optionals: write has(x.y) ? x.y : ...\n"},
    {WHEN("input.l[-1] > 0"),
     "7:19: error: elements count from 0: write l[size(l) - 1] for the last one\n"},
    {WHEN("input.l[0:2]"), "7:20: error: lists have no slices: take one element, or filter them\n"},
    {WHEN("$.n > 5"), "7:11: error: there are no paths with $: write input.x or output.STEP.x\n"},
    {WHEN("$input.n > 5"), "7:11: error: names have no $: write input.x or output.STEP.x\n"},
    {WHEN("{{ input.n > 5 }}"), "7:12: error: a list or a mapping cannot be the name of a field: "
                                "put the expression in quotes\n"},
    {WHEN("\"{{ input.n > 5 }}\""),
     "7:12: error: leave out {{ }}: a field is an expression, and text has it in ${ }\n"},
    {WHEN("\"{% input.n > 5 %}\""),
     "7:12: error: leave out {% %}: a field is an expression, and text has it in ${ }\n"},
    {WHEN("= input.n > 5"), "7:11: error: an expression has no = at its beginning: leave it out\n"},
    {WHEN("\"= input.n > 5\""),
     "7:12: error: an expression has no = at its beginning: leave it out\n"},
    {WHEN("input.n is null"), "7:19: error: write == for is\n"},
    {WHEN("input.n == None"), "7:22: error: there is no name None: write null\n"},
    {WHEN("input.n == True"), "7:22: error: there is no name True: write true\n"},
    {WHEN("input.n == NULL"), "7:22: error: there is no name NULL: write null\n"},
    {WHEN("input.n == undefined"), "7:22: error: there is no name undefined: write null, or "
                                   "has(x.y) to ask whether there is a member\n"},
    {WHEN("input.t not in ['a']"), "7:19: error: write ! for not, as in !(x in l)\n"},
    {WHEN("input.l.length() > 5"), "7:19: error: there is no length(): write size(x)\n"},
    {WHEN("len(input.t) > 5"), "7:11: error: there is no len(): write size(x)\n"},
    {WHEN("input.t like 'a%'"),
     "7:19: error: write t.startsWith(u), t.endsWith(u) or t.contains(u)\n"},
    {WHEN("input.n between 1"), "7:19: error: write x >= a && x <= b\n"},
    {WHEN("if input.n then true"), "7:11: error: there is no name if: write a ? b : c\n"},
    {WHEN("input.t == “a”"), "7:22: error: write ' around a text\n"},
    {WHEN("input.n > 1,000"),
     "7:22: error: a comma stands between arguments and elements only: write 1000 for 1,000\n"},
    {WHEN("input.n > 1.000.000"), "7:27: error: 000 stands where it needs a name: write l[0] for "
                                  "an element, x['0'] for a member\n"},
    {WHEN("input.n > 10%"), "7:24: error: the expression ends where it needs a value\n"},
    {WHEN("input.n > 5;"), "7:22: error: an expression has no ;: leave it out\n"},
    {WHEN("input.n & 1"), "7:19: error: write && for and\n"},
    {WHEN("input.n | 1"), "7:19: error: write || for or\n"},
    {WHEN("~input.n"), "7:11: error: there are no operators on bits: write ! for not\n"},
    {WHEN("input.n => 5"), "7:19: error: write >= to compare\n"},
    {WHEN("input.n =< 5"), "7:19: error: write <= to compare\n"},
    {WHEN("input.n++ > 5"), "7:18: error: values do not change: write x + 1\n"},
    {WHEN("input.n >> 1"), "7:19: error: there are no operators on bits: write int(x / 2)\n"},
    {WHEN("isPresent(input.n)"), "7:11: error: there is no isPresent(): write has(x.y)\n"},
    {WHEN("has(input)"),
     "7:11: error: has() takes a member, as in has(input.gift); for an element, ask size(l) > 0\n"},
    {WHEN("has(input.l[0])"),
     "7:11: error: has() takes a member, as in has(input.gift); for an element, ask size(l) > 0\n"},
    {WHEN("has('a')"),
     "7:11: error: has() takes a member, as in has(input.gift); for an element, ask size(l) > 0\n"},
    {WHEN("has(output)"), "7:15: error: output does not stand alone: write output.STEP\n"},
    {WHEN("has(order.id)"),
     "7:11: error: each order has all members of order: compare with '', as in order.id != ''\n"},
    {WHEN("exists(input.n)"),
     "7:11: error: exists() stands behind its value: write x.exists(e, ...)\n"},
    {WHEN("now() > 5"), "7:11: error: there is no now(): an expression has no clock: have the "
                        "sender put the time into the input\n"},
    {WHEN("true"), "7:11: warning: When is always true: leave it out\n"},
    {WHEN("yes"), "7:11: error: there is no name yes: write true\n"},
    {WHEN("1"), "7:11: error: this gives a number; here it must give a boolean\n"},
    {WHEN("'true'"), "7:11: warning: When is always true: leave it out\n"},
    {WHEN("input.n ? : 5"),
     "7:21: error: mapping values are not allowed in this context: put the expression in quotes\n"},
    {WHEN("steps.A.ok"), "7:11: error: there is no name steps: write output.STEP\n"},
    {WHEN("outputs.A.ok"), "7:11: error: there is no name outputs: write output.STEP\n"},
    {WHEN("A.ok"), "7:11: error: there is no name A: write output.A for the output of that step\n"},
    {WHEN("Output.A.ok"), "7:11: error: there is no name Output: did you mean output?\n"},
    {WHEN("context.A"),
     "7:11: error: there is no name context: there are input, order, output and error\n"},
    {WHEN("A.output.ok"),
     "7:11: error: there is no name A: write output.A for the output of that step\n"},
    {WHEN("output"), "7:11: error: output does not stand alone: write output.STEP\n"},
    {WHEN("output['A' + 'B']"), "7:22: error: + stands where it needs ]\n"},
    {WHEN("output[input.t]"), "7:18: error: input stands where it needs the name of a step in "
                              "quotes, as in output['STEP']\n"},
    {WHEN("error.A"),
     "7:17: error: error.A is never there: step A has no Catch with Next: $continue\n"},
    {WHEN("order"), "7:11: error: order does not stand alone: write order.id or another member\n"},
    {WHEN("input.t == 'it's'"),
     "7:26: error: a text ends before this letter: write \\ before a quote within a text\n"},
    {WHEN("concat(input.t, 'a') == ''"), "7:11: error: there is no concat(): write a + b\n"},
    {WHEN("input.t.toUpperCase() == ''"), "7:19: error: there is no toUpperCase(): texts cannot be "
                                          "changed: compare with each spelling\n"},
    {WHEN("input.t.trim() == ''"),
     "7:19: error: there is no trim(): texts cannot be changed: compare with each spelling\n"},
    {WHEN("abs(input.n) > 5"), "7:11: error: there is no abs(): write x < 0 ? -x : x\n"},
    {WHEN("round(input.n) > 5"),
     "7:11: error: there is no round(): write int(x + 0.5), or int(x) to cut off the fraction\n"},
    {WHEN("input.l.first() > 5"), "7:19: error: there is no first(): write l[0]\n"},
    {WHEN("input.l.sort()[0] > 5"),
     "7:19: error: there is no sort(): lists keep their order: have an agent sort it\n"},
    {WHEN("coalesce(input.n, 5) > 5"),
     "7:11: error: there is no coalesce(): write has(x.y) ? x.y : ...\n"},
    {WHEN("default(input.n, 5) > 5"),
     "7:11: error: there is no default(): write has(x.y) ? x.y : ...\n"},
    {WHEN("input.t =~ 'a'"),
     "7:19: error: there are no regular expressions: see startsWith, endsWith and contains\n"},
    {WHEN("input.n !> 5"), "7:19: error: ! stands where it needs an operator, or its end\n"},
    {WHEN("input.n > 5 &&"), "7:25: error: the expression ends where it needs a value\n"},
    {WHEN("&& input.n > 5"), "7:12: error: did not find expected alphabetic or numeric character "
                             "while scanning an anchor: put the expression in quotes\n"},
    {WHEN("(input.n > 5"), "7:23: error: the expression ends where it needs )\n"},
    {WHEN("input.n > 5)"), "7:22: error: this bracket was not opened: remove it\n"},
    {WHEN("input.n 5"), "7:19: error: 5 stands where it needs an operator, or its end\n"},
    {WHEN("input..n"),
     "7:17: error: . stands where it needs a name: write x['a b'] for one with other characters\n"},
    {WHEN("input.n."), "7:19: error: the expression ends where it needs a name: write x['a b'] for "
                       "one with other characters\n"},
    {WHEN("input['n'"), "7:20: error: the expression ends where it needs ]\n"},
    {WHEN("input.2"), "7:17: error: 2 stands where it needs a name: write l[0] for an element, "
                      "x['0'] for a member\n"},
    {WHEN("input.a-b > 1"),
     "7:19: error: there is no name b: write x['a-b'] for one member, or blanks around the -\n"},
    {WHEN("order.total > 5"), "7:17: error: there is no member total: there are id, customer, "
                              "currency, lines, attributes, priority and submitted_by\n"},
    {WHEN("order.amount > 5"), "7:17: error: there is no member amount: there are id, customer, "
                               "currency, lines, attributes, priority and submitted_by\n"},
    {WHEN("order.input.n > 5"),
     "7:17: error: order has no member input: write input without order\n"},
    {WHEN("order.line > 5"), "7:17: error: there is no member line: did you mean lines?\n"},
    {WHEN("item > 5"),
     "7:11: error: item is not known here: it stands in the Input of a step with ForEach\n"},
    {WHEN("index > 5"),
     "7:11: error: index is not known here: it stands in the Input of a step with ForEach\n"},
    {WHEN("tick == ''"),
     "7:11: error: tick is not known here: it stands in the Order of a schedule\n"},
    {WHEN("result.n > 5"), "7:11: error: result is not known here: it stands in Until, StopWhen, "
                           "the Output of a step and Compensate.Input\n"},
};

Test(workflow_mistakes, explains_slips_of_other_languages)
{
    kit_lint(explains_slips_of_other_languages, COUNT(explains_slips_of_other_languages));
}
