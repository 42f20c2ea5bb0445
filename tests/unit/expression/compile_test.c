/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler of expressions refuses, with its place and its cure. */
#include "kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(compile, explains_mistakes_of_syntax)
{
    EVALUATES(
        {"", NULL, "1: there is no expression: write one, as in input.amount > 100"},
        {"  ", NULL, "3: there is no expression: write one, as in input.amount > 100"},
        {"1 +", NULL, "4: the expression ends where it needs a value"},
        {"(1", NULL, "3: the expression ends where it needs )"},
        {"1 2", NULL, "3: 2 stands where it needs an operator, or its end"},
        {"[1, 2,]", NULL, "7: a comma stands before the closing bracket: remove it"},
        {"{'a': 1,}", NULL, "9: } stands where it needs a name: remove the comma before it"},
        {"{a: 1}", NULL, "2: a stands where it needs a name in quotes"},
        {"{1: 1}", NULL, "2: 1 stands where it needs a name in quotes"},
        {"{'a': 1, 'a': 2}", NULL, "10: this name is already in the map: remove one of the two"},
        {"'a", NULL,
         "1: the text that begins here does not end: close it; if it has a #, put the whole "
         "expression in quotes"},
        {"'a\\q'", NULL, "3: escapes are \\\\ \\' \\\" \\n \\r \\t \\/ and \\uXXXX"},
        {"'\\u0000'", NULL, "2: a text cannot have a NUL"},
        {"'\\ud83d'", NULL, "2: half of a surrogate pair is not a character"},
        {"'\\ud83d\\ude00' == '\U0001f600'", NULL, "true"}, {"\"it's\" == 'it\\'s'", NULL, "true"},
        {"a = 1", NULL,
         "1: there is no name a: there are input, order, output and error; 3: write == to compare"},
        {"true and false", NULL, "6: write && for and"},
        {"true or false", NULL, "6: write || for or"},
        {"not true", NULL, "1: there is no name not: write ! for not"},
        {"true & true", NULL, "6: write && for and"},
        {"${input.a}", NULL,
         "1: leave out ${ }: the whole field is an "
         "expression"},
        {"1 ; 2", NULL, "3: an expression has no ;: leave it out"},
        {"1 @ 2", NULL, "3: an expression cannot have @ here"},
        {"true ? 1", NULL, "9: the expression ends where it needs :"},
        {"x.all(1, true)", NULL,
         "1: there is no name x: there are input, order, output and error; 7: a macro begins with "
         "the name that an element gets: l.all(x, x > 0)"},
        {"9223372036854775808", NULL,
         "1: a whole number must fit into 64 bits, with its sign: write .0 at its end"},
        {"1e999", NULL, "1: a number must be below 1.8e308"},
        {"1abc", NULL, "2: a number ends before this letter: an operator is missing"});
}

Test(compile, names_what_cel_has_and_expressions_do_not)
{
    EVALUATES(
        {"1u", NULL, "2: there are no unsigned numbers: leave out the u"},
        {"b'a'", NULL,
         "1: there are no raw texts and no bytes: leave out the letter before the "
         "quote"},
        {"r'a'", NULL,
         "1: there are no raw texts and no bytes: leave out the letter before the "
         "quote"},
        {"'''a'''", NULL, "1: there are no texts in three quotes: write one"},
        {"1 // one", NULL,
         "3: there are no comments in expressions: write them behind a # in "
         "YAML"},
        {".5", NULL, "1: write a 0 before the point of a number, a name before that of a member"},
        {"type(1)", NULL, "1: there is no type(): the kinds of values cannot be asked for"},
        {"dyn(1)", NULL,
         "1: there is no dyn(): leave it out: nothing is converted by itself, and "
         "nothing needs it"},
        {"timestamp('2026-01-01T00:00:00Z')", NULL,
         "1: there is no timestamp(): there are no times: an expression has no clock"},
        {"duration('1s')", NULL,
         "1: there is no duration(): there are no durations: write seconds as a number"},
        {"'a'.matches('a')", NULL,
         "5: there is no matches(): there are no regular expressions: see startsWith, endsWith and "
         "contains"},
        {"input.?a", NULL, "6: there are no optionals: write has(x.y) ? x.y : ..."},
        {"Foo{a: 1}", NULL,
         "1: there is no name Foo: there are input, order, output and error; 4: there are no "
         "messages: write a map, {'name': value}"},
        {"[1].map(x, x > 0, x)", NULL,
         "17: a macro takes one name and one expression: there is no third argument"},
        {"{'a': 1}.all(k, true)", NULL, "10: all() takes a list, not a map"},
        {"input.`a b`", NULL,
         "7: write x['name'] for a name with other characters than letters, digits and _"});
}

Test(compile, suggests_the_nearest_name)
{
    EVALUATES({"inptu.a", NULL, "1: there is no name inptu: did you mean input?"},
              {"Check.score", NULL,
               "1: there is no name Check: write output.Check for the output of that step"},
              {"result.a", NULL,
               "1: result is not known here: it stands in Until, StopWhen, the "
               "Output of a step and Compensate.Input"},
              {"'a'.startswith('a')", NULL,
               "5: there is no function startswith: did you mean startsWith?"},
              {"len('a')", NULL, "1: there is no len(): write size(x)"},
              {"startsWith('a', 'b')", NULL,
               "1: startsWith() stands behind its value: write x.startsWith(...)"},
              {"'1'.int()", NULL, "5: int() takes its value in brackets: write int(x)"},
              {"all([1], true)", NULL, "1: all() stands behind its value: write x.all(e, ...)"},
              {"size()", NULL, "1: size() takes 1 argument here, not 0"},
              {"'a'.contains()", NULL, "5: contains() takes 1 argument here, not 0"},
              {"'a'.size('b')", NULL, "5: size() takes 0 arguments here, not 1"},
              {"[1].all(element, elment > 0)", NULL,
               "18: there is no name elment: did you mean element?"});
}

Test(compile, checks_kinds_of_values)
{
    EVALUATES(
        {"1 + 'a'", NULL, "3: + cannot add a number and a text: write string(...) for a text"},
        {"[1] + 1", NULL,
         "5: + cannot add a list and a number: write [x] for a list of one element"},
        {"1 && true", NULL, "1: && takes a boolean, not a number"},
        {"!'a'", NULL, "2: ! takes a boolean, not a text"},
        {"-'a'", NULL, "1: - takes a number, not a text"},
        {"1.5 % 2.5", NULL, "5: % takes whole numbers: write int(x) % int(y)"},
        {"5.0 % 2", NULL, "5: % takes whole numbers: write int(x) % int(y)"},
        {"'a' * 2", NULL, "5: * takes a number, not a text"},
        {"1 in 2", NULL, "6: in takes a list or a map, not a number"},
        {"size(1)", NULL, "1: size() takes a text, a list or a map, not a number"},
        {"'a'.contains(1)", NULL, "5: contains() takes a text, not a number"},
        {"1.5.sum()", NULL, "5: sum() takes a list, not a number"},
        {"'a'.b", NULL, "5: .b takes a map, not a text"},
        {"1[0]", NULL, "2: an index in brackets takes a list or a map, not a number"},
        {"[1][true]", NULL, "5: an index in brackets takes a number or a text, not a boolean"},
        {"[1].filter(x, 1)", NULL, "15: the condition of a macro takes a boolean, not a number"},
        {"1 ? 2 : 3", NULL, "1: ? takes a boolean, not a number"});
}

static const char *repeat(const char *begin, const char *middle, uint32_t count, const char *end)
{
    size_t size = strlen(begin) + count * strlen(middle) + strlen(end) + 1;
    char *text = arena_bytes(kit_arena(), size);
    size_t used = (size_t)snprintf(text, size, "%s", begin);
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s", middle);
    snprintf(text + used, size - used, "%s", end);
    return text;
}

Test(compile, limits_bytes_nodes_and_depth)
{
    static const char deep[] = "an expression is nested at most 32 deep";
    cr_expect_str_eq(kit_evaluate(repeat("", "!", 32, "true"), NULL), "true");
    cr_expect_not_null(strstr(kit_evaluate(repeat("", "!", 33, "true"), NULL), deep));
    cr_expect_str_eq(kit_evaluate(repeat(repeat("", "(", 32, "7"), ")", 32, ""), NULL), "7");
    cr_expect_not_null(strstr(kit_evaluate(repeat("", "(", 33, "7"), NULL), deep));
    cr_expect_not_null(strstr(kit_evaluate(repeat("", "(", 2000, "7"), NULL), deep));
    cr_expect_not_null(strstr(kit_evaluate(repeat("", "[", 2000, ""), NULL), deep));
    cr_expect_not_null(strstr(kit_evaluate(repeat("", "-", 2000, "1"), NULL), deep));
    cr_expect_not_null(strstr(kit_evaluate(repeat("", "{'a':", 300, "1"), NULL), deep));
    cr_expect_str_eq(kit_evaluate(repeat("1", "+1", 500, ""), NULL), "501");
    cr_expect_str_eq(kit_evaluate(repeat("1", "+1", 511, ""), NULL),
                     "1023: an expression has at most 512 values and operators: let a Set before "
                     "it compute a part");
    cr_expect_str_eq(kit_evaluate(repeat("'", "a", 2046, "'"), NULL),
                     repeat("\"", "a", 2046, "\""));
    cr_expect_str_eq(
        kit_evaluate(repeat("'", "a", 2047, "'"), NULL),
        "1: an expression has 2049 bytes; the limit is 2048: let a Set before it compute a part");
}

Test(compile, finds_the_brace_that_ends_an_expression)
{
    static const struct {
        const char *text;
        uint32_t at;
    } rows[] = {
        {"a}", 1}, {"{'a': 1}} b", 8},    {"'}'} ", 3}, {"\"\\\"}\"}", 5},
        {"a", 1},  {"[{'x': '}'}]}", 12}, {"'", 1},     {"a)}", 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        cr_expect_eq(expression_find_brace(text_of(rows[i].text)), rows[i].at, "%s", rows[i].text);
}
