/* SPDX-License-Identifier: Apache-2.0 */
/* What CEL has and expressions do not, and what can never be evaluated: each mistake has its line
 * and column, its cause, and what to write instead. */
#include "kit.h"

#include <criterion/criterion.h>

#define COUNT(cases) (sizeof(cases) / sizeof((cases)[0]))

/* Of the second step, in line 7. */
#define SECOND HEAD "  - {Name: A, Agent: x}\n  - Name: B\n    Agent: x\n"
#define WHEN(expression) SECOND "    When: " expression "\n"
#define SHAPED(expression)                                                                      \
    "Name: w\nVersion: 1\nInputShape: {n: number, t: string, l: [integer], gift: boolean?, "    \
    "buyer?: {name: string}, x: any}\nSteps:\n  - Name: B\n    Agent: x\n    When: " expression \
    "\n"

static const struct lint_case names_what_cel_has_and_expressions_do_not[] = {
    {WHEN("input.n > 1u"), "7:22: error: there are no unsigned numbers: leave out the u\n"},
    {WHEN("uint(input.n) > 1"),
     "7:11: error: there is no uint(): there are no unsigned numbers: write int(x)\n"},
    {WHEN("bytes(input.t) == ''"),
     "7:11: error: there is no bytes(): there are no bytes: a text is compared as it is\n"},
    {WHEN("input.t == b'a'"),
     "7:22: error: there are no raw texts and no bytes: leave out the letter before the quote\n"},
    {WHEN("input.t == r'a'"),
     "7:22: error: there are no raw texts and no bytes: leave out the letter before the quote\n"},
    {WHEN("input.t == '''a'''"), "7:22: error: there are no texts in three quotes: write one\n"},
    {WHEN("timestamp(input.t) > 0"),
     "7:11: error: there is no timestamp(): there are no times: an expression has no clock\n"},
    {WHEN("duration('1s') > 0"),
     "7:11: error: there is no duration(): there are no durations: write seconds as a number\n"},
    {WHEN("input.t.matches('a')"), "7:19: error: there is no matches(): there are no regular "
                                   "expressions: see startsWith, endsWith and contains\n"},
    {WHEN("type(input.n) == int"),
     "7:11: error: there is no type(): the kinds of values cannot be asked for\n"
     "7:28: error: there is no name int: int is a function, not a type: write int(x)\n"},
    {WHEN("dyn(input.n) > 1"), "7:11: error: there is no dyn(): leave it out: nothing is converted "
                               "by itself, and nothing needs it\n"},
    {WHEN("bool(input.t)"), "7:11: error: there is no bool(): write x == 'true'\n"},
    {WHEN("input.?n"), "7:16: error: there are no optionals: write has(x.y) ? x.y : ...\n"},
    {WHEN("optional.of(1)"),
     "7:11: error: there is no name optional: there are no optionals: write has(x.y) ? x.y : ...\n"
     "7:20: error: there is no function of: there are size, int, double, string, startsWith, "
     "endsWith, contains, sum, min, max, all, exists, exists_one, map and filter\n"},
    {WHEN("input.n.orValue(1) > 1"),
     "7:19: error: there is no orValue(): there are no optionals: write has(x.y) ? x.y : ...\n"},
    {WHEN("input.n > .5"),
     "7:21: error: write a 0 before the point of a number, a name before that of a member\n"},
    {WHEN("\"{1: 2}[1] > 1\""), "7:13: error: 1 stands where it needs a name in quotes\n"},
    {WHEN("input.l == [1,]"),
     "7:25: error: a comma stands before the closing bracket: remove it\n"},
    {WHEN("input.n > 1 // one"),
     "7:23: error: there are no comments in expressions: write them behind a # in YAML\n"},
    {WHEN("input.t == '\\x41'"),
     "7:23: error: escapes are \\\\ \\' \\\" \\n \\r \\t \\/ and \\uXXXX\n"},
    {WHEN("\"{'a': 1}.all(k, true)\""), "7:21: error: all() takes a list, not a map\n"},
    {WHEN("input.l.all(i, x, true)"),
     "7:26: error: there is no name x: there are input, order, output, error and i\n"
     "7:27: error: a macro takes one name and one expression: there is no third argument\n"},
    {WHEN("input.l.map(x, x > 0, x).size() > 0"),
     "7:31: error: a macro takes one name and one expression: there is no third argument\n"},
    {WHEN("true < false"),
     "7:16: error: < compares two numbers or two texts, not a boolean and a boolean\n"},
    {WHEN("Foo{a: 1}.a"),
     "7:16: error: mapping values are not allowed in this context: put the expression in quotes\n"},
    {WHEN("input.`a b` == 1"),
     "7:17: error: write x['name'] for a name with other characters than letters, digits and _\n"},
    {WHEN("input.t.lowerAscii() == ''"), "7:19: error: there is no lowerAscii(): texts cannot be "
                                         "changed: compare with each spelling\n"},
    {WHEN("google.protobuf.Int32Value{value: 1}"),
     "7:43: error: mapping values are not allowed in this context: put the expression in quotes\n"},
    {WHEN("\"{'a': 1, 'a': 2}.a > 1\""),
     "7:21: error: this name is already in the map: remove one of the two\n"},
    {WHEN("((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))"),
     "7:44: error: an expression is nested at most 32 deep: let a Set before it compute a part\n"},
    {WHEN("1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+"
          "1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1 > 1"),
     "7:1033: error: an expression has at most 512 values and operators: let a Set before it "
     "compute a part\n"},
    {WHEN("math.greatest(1, 2) > 1"),
     "7:11: error: there is no name math: there are input, order, output and error\n"
     "7:16: error: there is no function greatest: there are size, int, double, string, startsWith, "
     "endsWith, contains, sum, min, max, all, exists, exists_one, map and filter\n"},
    {WHEN("duration(input.t) > 1"),
     "7:11: error: there is no duration(): there are no durations: write seconds as a number\n"},
    {WHEN("input.l.sum(1) > 1"), "7:19: error: sum() takes 0 arguments here, not 1\n"},
    {WHEN("size(input.l, 1) > 1"), "7:11: error: size() takes 1 argument here, not 2\n"},
    {WHEN("all(input.l, x, x > 1)"),
     "7:11: error: all() stands behind its value: write x.all(e, ...)\n"
     "7:24: error: there is no name x: there are input, order, output and error\n"
     "7:27: error: there is no name x: there are input, order, output and error\n"},
    {WHEN("input.l.all(x > 1)"),
     "7:23: error: a macro begins with the name that an element gets: l.all(x, x > 0)\n"},
    {WHEN("input.l.all(input, input > 1)"),
     "7:23: error: this name has a meaning already: take another one\n"},
    {WHEN("'1'.int() > 1"),
     "7:14: error: did not find expected key while parsing a block mapping that begins in line 5: "
     "put the whole expression in quotes, and texts within it in the other ones\n"},
    {WHEN("startsWith(input.t, 'a')"),
     "7:11: error: startsWith() stands behind its value: write x.startsWith(...)\n"},
    {WHEN("input.t.startswith('a')"),
     "7:19: error: there is no function startswith: did you mean startsWith?\n"},
    {WHEN("input.n > 9223372036854775808"),
     "7:21: error: a whole number must fit into 64 bits, with its sign: write .0 at its end\n"},
    {WHEN("input.n > 1e999"), "7:21: error: a number must be below 1.8e308\n"},
    {WHEN("input.n > 12abc"),
     "7:23: error: a number ends before this letter: an operator is missing\n"},
};

Test(workflow_mistakes, names_what_cel_has_and_expressions_do_not)
{
    kit_lint(names_what_cel_has_and_expressions_do_not,
             COUNT(names_what_cel_has_and_expressions_do_not));
}

static const struct lint_case checks_kinds_and_members[] = {
    {SHAPED("input.n + 'a' == ''"),
     "7:19: error: + cannot add a number and a text: write string(...) for a text\n"},
    {SHAPED("input.t > 5"),
     "7:19: error: > compares two numbers or two texts, not a text and a number\n"},
    {SHAPED("input.n == '5'"), "7:19: warning: a number and a text are never equal: convert one, "
                               "or correct the comparison\n"},
    {SHAPED("input.t && true"), "7:11: error: && takes a boolean, not a text\n"},
    {SHAPED("!input.n"), "7:11: error: tags (!) are not allowed: put a text or an expression that "
                         "begins with ! in quotes\n"},
    {SHAPED("-input.t > 1"), "7:11: error: - takes a number, not a text\n"},
    {SHAPED("input.n % 2.5 > 1"), "7:19: error: % takes whole numbers: write int(x) % int(y)\n"},
    {SHAPED("input.t * 2 > 1"), "7:19: error: * takes a number, not a text\n"},
    {SHAPED("input.n in input.t"), "7:22: error: in takes a list or a map, not a text\n"},
    {SHAPED("size(input.n) > 1"),
     "7:11: error: size() takes a text, a list or a map, not a number\n"},
    {SHAPED("input.t.b"), "7:19: error: .b takes a map, not a text\n"},
    {SHAPED("input.n[0] > 1"),
     "7:18: error: an index in brackets takes a list or a map, not a number\n"},
    {SHAPED("input.l[true] > 1"),
     "7:19: error: an index in brackets takes a number or a text, not a boolean\n"},
    {SHAPED("input.l.filter(x, x).size() > 1"),
     "7:29: error: the condition of a macro takes a boolean, not a number\n"},
    {SHAPED("\"input.n ? true : false\""), "7:12: error: ? takes a boolean, not a number\n"},
    {SHAPED("input.l"), "7:11: error: this gives a list; here it must give a boolean\n"},
    {SHAPED("input.t"), "7:11: error: this gives a text; here it must give a boolean\n"},
    {SHAPED("input.amount > 1"),
     "7:17: error: there is no member amount: there are buyer, gift, l, n, t and x\n"},
    {SHAPED("input.tt == ''"),
     "7:17: error: there is no member tt: there are buyer, gift, l, n, t and x\n"},
    {SHAPED("input.buyer.nam == ''"), "7:23: error: there is no member nam: did you mean name?\n"},
    {SHAPED("has(input.buyer) && input.buyer.nam == ''"),
     "7:43: error: there is no member nam: did you mean name?\n"},
    {SHAPED("input.gift"), "7:17: error: gift may be missing by InputShape: write has(input.gift) "
                           "&& ... or has(input.gift) ? ... : ...\n"},
    {SHAPED("input.gift && input.n > 1"),
     "7:17: error: gift may be missing by InputShape: write has(input.gift) && ... or "
     "has(input.gift) ? ... : ...\n"},
    {SHAPED("input.buyer.name == ''"), "7:17: error: buyer may be missing by InputShape: write "
                                       "has(input.buyer) && ... or has(input.buyer) ? ... : ...\n"},
    {SHAPED("has(input.buyer.name)"), "7:21: error: buyer may be missing by InputShape: write "
                                      "has(input.buyer) && ... or has(input.buyer) ? ... : ...\n"},
    {SHAPED("has(input.nn)"),
     "7:21: error: there is no member nn: there are buyer, gift, l, n, t and x\n"},
    {SHAPED("input['gift']"), "7:17: error: gift may be missing by InputShape: write "
                              "has(input['gift']) && ... or has(input['gift']) ? ... : ...\n"},
    {SHAPED("input.l[0].a > 1"), "7:22: error: .a takes a map, not a number\n"},
    {SHAPED("input.l.all(x, x.a)"), "7:28: error: .a takes a map, not a number\n"},
    {SHAPED("input.l.map(x, x * 2).sum() > 'a'"),
     "7:39: error: > compares two numbers or two texts, not a number and a text\n"},
    {SHAPED("input.t.size() > '1'"),
     "7:26: error: > compares two numbers or two texts, not a number and a text\n"},
    {SHAPED("input.t.contains(1)"), "7:19: error: contains() takes a text, not a number\n"},
    {SHAPED("input.l.sum() == true"), "7:25: warning: a number and a boolean are never equal: "
                                      "convert one, or correct the comparison\n"},
    {SHAPED("string(input.l) == ''"),
     "7:11: error: string() takes a boolean, a number or a text, not a list\n"},
    {SHAPED("int(input.gift) > 1"), "7:11: error: int() takes a number or a text, not a boolean\n"},
    {SHAPED("input.l + 1 == []"),
     "7:19: error: + cannot add a list and a number: write [x] for a list of one element\n"},
    {SHAPED("null"), "7:5: error: When has no value: give it one or leave it out\n"},
    {SHAPED("input.t.length > 1"), "7:19: error: .length takes a map, not a text\n"},
};

Test(workflow_mistakes, checks_kinds_and_members)
{
    kit_lint(checks_kinds_and_members, COUNT(checks_kinds_and_members));
}
