/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions give. */
#include "kit.h"

#include <criterion/criterion.h>

Test(expression, reads_members_and_elements)
{
    EVALUATES({"input.total", "{\"total\": 129.50}", "129.5"},
              {"input['first name']", "{\"first name\": \"Ann\"}", "\"Ann\""},
              {"input.a.b[1].c", "{\"a\":{\"b\":[1,{\"c\":[true,null]}]}}", "[true,null]"},
              {"input.l[0] + input.l[1.0] + input.l[4 / 2]", "{\"l\":[1,2,4]}", "7"},
              {"[1, 2][1]", NULL, "2"}, {"{'a': 1}['a']", NULL, "1"},
              {"{'a': 1}['a' + '']", NULL, "1"},
              {"{'b': 1, 'a': [2]}", NULL, "{\"a\":[2],\"b\":1}"}, {"input", NULL, "null"},
              {"input", "\"\\u00fc\\n\"", "\"\u00fc\\n\""},
              {"input.t == 'a\"b\\\\c\\n' && input['x\"y'] == 1",
               "{\"t\":\"a\\\"b\\\\c\\n\",\"x\\\"y\":1}", "true"},
              {"input.in", "{\"in\":1}", "1"});
}

Test(expression, says_what_is_missing_and_where)
{
    EVALUATES(
        {"input.a.b", "{\"a\":{}}", "error: there is no member b: column 9 of input.a.b"},
        {"input.a.b", "{\"a\":null}", "error: null has no member b: column 9 of input.a.b"},
        {"input.a.b", "{\"a\":[1]}", "error: a list has no member b: column 9 of input.a.b"},
        {"input.l[2]", "{\"l\":[1,2]}", "error: the list has no element 2: column 8 of input.l[2]"},
        {"input.l[-1]", "{\"l\":[1,2]}",
         "9: elements count from 0: write l[size(l) - 1] for the last one"},
        {"input.l[1 - 2]", "{\"l\":[1,2]}",
         "error: the list has no element -1: column 8 of input.l[1 - 2]"},
        {"input.l[0.5]", "{\"l\":[1,2]}",
         "error: an index must be a whole number: write int(x): column 8 of input.l[0.5]"},
        {"input.l['a']", "{\"l\":[1,2]}",
         "error: a list has no member a: column 9 of input.l['a']"},
        {"input.l[input.t]", "{\"l\":[1,2],\"t\":\"a\"}",
         "error: [] takes a number, not a text: column 8 of input.l[input.t]"},
        {"'\u00fc' + input.a", "{}",
         "error: there is no member a: column 13 of '\u00fc' + input.a"});
}

Test(expression, asks_for_members_with_has)
{
    EVALUATES({"has(input.a)", "{\"a\":null}", "true"}, {"has(input.b)", "{\"a\":null}", "false"},
              {"has(input['a b'])", "{\"a b\":1}", "true"},
              {"has(input.a.b)", "{}", "error: there is no member a: column 11 of has(input.a.b)"},
              {"has(input.a.b)", "{\"a\":1}",
               "error: a number has no member b: column 13 of has(input.a.b)"},
              {"has({'a': 1}.a)", NULL, "true"}, {"has(input.a) && input.a", "{}", "false"},
              {"has(input)", NULL,
               "1: has() takes a member, as in has(input.gift); for an element, ask size(l) > 0"},
              {"has(input.l[0])", NULL,
               "1: has() takes a member, as in has(input.gift); for an element, ask size(l) > 0"});
}

Test(expression, reads_steps)
{
    EVALUATES(
        {"output.Check.score < 0.5", NULL, "true"}, {"has(output.Check)", NULL, "true"},
        {"has(output.Skipped)", NULL, "false"}, {"has(error.Caught)", NULL, "true"},
        {"has(error['Caught']) && error.Caught.name == 'CardDeclined'", NULL, "true"},
        {"error.Caught", NULL, "{\"message\":\"no \\\"funds\\\"\",\"name\":\"CardDeclined\"}"},
        {"output['reserve-stock']", NULL, "null"}, {"has(output['reserve-stock'])", NULL, "true"},
        {"output.Skipped.price", NULL,
         "error: step Skipped has no output: column 8 of output.Skipped.price"},
        {"has(output.Large)", NULL, "true"},
        {"output.Large.bytes", NULL,
         "error: the output of step Large was too large to be kept: column 8 of "
         "output.Large.bytes"},
        {"output.Later.a", NULL,
         "8: output.Later is not known here: step Later does not come before this one: name it in "
         "After"},
        {"output.Chek.score", NULL, "8: there is no step Chek: did you mean Check?"},
        {"output.reserve-stock.ok", NULL,
         "8: reserve-stock has to stand in brackets and quotes: write output['reserve-stock']"},
        {"error.Check", NULL,
         "7: error.Check is never there: step Check has no Catch with Next: $continue"},
        {"output", NULL, "1: output does not stand alone: write output.STEP"});
}

Test(expression, reads_the_order)
{
    EVALUATES(
        {"order.id + ' ' + order.customer + ' ' + order.priority", NULL, "\"o-1 c-7 high\""},
        {"order.lines.map(l, l.quantity * l.unit_price).sum()", NULL, "44.9"},
        {"order.lines[0].unit_price", NULL, "19.95"},
        {"order.lines[1]", NULL,
         "{\"description\":\"\",\"quantity\":1,\"sku\":\"B-2\",\"unit_price\":5}"},
        {"order.attributes.shop", NULL, "\"Graz\""}, {"has(order.attributes.color)", NULL, "false"},
        {"order.submitted_by", NULL, "\"\""},
        {"order.costumer", NULL, "7: there is no member costumer: did you mean customer?"},
        {"order.lines[0].price", NULL, "16: there is no member price: did you mean unit_price?"},
        {"order", NULL, "1: order does not stand alone: write order.id or another member"},
        {"has(order.currency)", NULL,
         "1: each order has all members of order: compare with '', as in order.id != ''"});
}

Test(expression, calculates_with_one_kind_of_number)
{
    EVALUATES({"1 + 2 * 3 - 4", NULL, "3"}, {"7 / 2", NULL, "3.5"}, {"6 / 2", NULL, "3"},
              {"int(7 / 2)", NULL, "3"}, {"-7 % 3", NULL, "-1"},
              {"0.1 + 0.2", NULL, "0.30000000000000004"}, {"1 + 0.5", NULL, "1.5"},
              {"-input.a", "{\"a\":1.5}", "-1.5"}, {"- -1", NULL, "1"}, {"0x1F", NULL, "31"},
              {"-9223372036854775808", NULL, "-9223372036854775808"},
              {"9223372036854775807 + 1", NULL,
               "error: the result does not fit into 64 bits: write double(x): column 21 of "
               "9223372036854775807 + 1"},
              {"-9223372036854775808 - 1", NULL,
               "error: the result does not fit into 64 bits: write double(x): column 22 of "
               "-9223372036854775808 - 1"},
              {"-9223372036854775808 * -1", NULL,
               "error: the result does not fit into 64 bits: write double(x): column 22 of "
               "-9223372036854775808 * -1"},
              {"input.a % -1", "{\"a\":-9223372036854775808}",
               "error: the result does not fit into 64 bits: write double(x): column 9 of "
               "input.a % -1"},
              {"1 / 0", NULL, "error: / divides by 0: column 3 of 1 / 0"},
              {"1 / -0.0", NULL, "error: / divides by 0: column 3 of 1 / -0.0"},
              {"1 % 0", NULL, "error: % divides by 0: column 3 of 1 % 0"},
              {"input.a % 2", "{\"a\":1.5}",
               "error: % takes whole numbers: write int(x): column 9 of input.a % 2"},
              {"string(1e300 * 1e300)", NULL,
               "error: the result is beyond the largest number, 1.8e308: column 14 of string(1e300 "
               "* 1e300)"},
              {"1e300 / 1e-300", NULL,
               "error: the result is beyond the largest number, 1.8e308: column 7 of 1e300 / "
               "1e-300"},
              {"1e39 * 1", NULL, "1000000000000000000000000000000000000000"},
              {"1e40 * 1", NULL, "error: the number has more than 40 digits: column 1 of 1e40 * 1"},
              {"1e40 > 1", NULL, "true"},
              {"input.a + 1", "{\"a\":\"1\"}",
               "error: + cannot take a text and a number: column 9 of input.a + 1"});
}

Test(expression, keeps_the_digits_of_data)
{
    EVALUATES(
        {"input", "100.10", "100.1"},
        {"input.a", "{\"a\":12345678901234567890.123456789}", "12345678901234567890.123456789"},
        {"[input.a][0]", "{\"a\":0.1000000000000000055511151231257827}",
         "0.1000000000000000055511151231257827"},
        {"string(input.a)", "{\"a\":9007199254740993.1}", "\"9007199254740993.1\""},
        {"input.l.max()", "{\"l\":[1,0.10000000000000000001,3.000000000000000000001]}",
         "3.000000000000000000001"},
        {"input.a == 0.1", "{\"a\":0.1000000000000000055511151231257827}", "true"},
        {"input.a + 0", "{\"a\":0.1000000000000000055511151231257827}", "0.1"});
}

Test(expression, compares)
{
    EVALUATES(
        {"1 == 1.0 && 1 < 1.5 && 2 >= 2 && 'a' < 'b' && 'a' <= 'a' && 'b' > 'a'", NULL, "true"},
        {"9007199254740993 == 9007199254740992", NULL, "false"},
        {"9007199254740993 == 9007199254740992.0", NULL, "true"},
        {"[1, [2, 'x']] == input", "[1.0,[2,\"x\"]]", "true"},
        {"{'b': [null], 'a': 1} == input", "{\"a\":1,\"b\":[null]}", "true"},
        {"input.a == input.b", "{\"a\":{\"x\":1,\"y\":2},\"b\":{\"x\":1}}", "false"},
        {"input.a == input.b", "{\"a\":{\"x\\n\":1},\"b\":{\"x\\n\":1}}", "true"},
        {"input == {'x\\n': 1}", "{\"x\\n\":1}", "true"},
        {"input.a == null", "{\"a\":null}", "true"}, {"input == 'a'", "1", "false"},
        {"input != 'a'", "1", "true"},
        {"1 == 'a'", NULL,
         "3: warning: a number and a text are never equal: convert one, or correct the comparison"},
        {"input < 1", "\"a\"",
         "error: < cannot take a text and a number: column 7 of "
         "input < 1"},
        {"input < input", "true",
         "error: < cannot take a boolean and a boolean: column 7 of input < input"},
        {"true < false", NULL,
         "6: < compares two numbers or two texts, not a boolean and a boolean"},
        {"2 in [1, 2.0] && !(3 in input.l) && 'a' in input && !('b' in {'a': 1})",
         "{\"a\":1,\"l\":[1,2]}", "true"},
        {"1 in input", "{\"1\":1}", "false"},
        {"1 in input", "3",
         "error: in cannot take a number and a number: column 3 of 1 in "
         "input"});
}

Test(expression, absorbs_errors_where_one_side_decides)
{
    EVALUATES(
        {"input.x || true", "{}", "true"}, {"true || input.x", "{}", "true"},
        {"input.x && false", "{}", "false"}, {"input.x && input.y && false", "{}", "false"},
        {"input.x || false", "{}", "error: there is no member x: column 7 of input.x || false"},
        {"input.x && true", "{}", "error: there is no member x: column 7 of input.x && true"},
        {"input || true", "3", "true"},
        {"input || false", "3",
         "error: || takes a boolean, not a number: column 1 of input || "
         "false"},
        {"input.l.exists(x, 1 / x > 0)", "{\"l\":[0,1]}", "true"},
        {"input.l.all(x, 1 / x > 0)", "{\"l\":[0,-1]}", "false"},
        {"input.l.all(x, 1 / x > 0)", "{\"l\":[0,1]}",
         "error: / divides by 0: column 18 of input.l.all(x, 1 / x > 0)"},
        {"output.Skipped.a || input.x", "{}",
         "error: there is no member x: column 27 of output.Skipped.a || input.x"},
        {"input.x || output.Skipped.a", "{}",
         "error: there is no member x: column 7 of input.x || output.Skipped.a"});
}

Test(expression, chooses)
{
    EVALUATES({"true ? 1 : 2", NULL, "1"},
              {"input > 5 ? 'a' : input > 3 ? 'b' : 'c'", "4", "\"b\""},
              {"input > 5 ? 'a' : input > 3 ? 'b' : 'c'", "1", "\"c\""},
              {"true ? 1 : input.x", "{}", "1"}, {"(false ? true : false) ? 1 : 2", NULL, "2"},
              {"input ? 1 : 2", "1",
               "error: ? takes a boolean, not a number: column 1 of input ? 1 : "
               "2"});
}

Test(expression, has_functions)
{
    EVALUATES(
        {"size('a\u00fc\U0001f600') + size([1, 2]) + size({'a': 1}) + 'x'.size()", NULL, "7"},
        {"size(input.t) + input.l.size() + input.m.size()",
         "{\"t\":\"\\n\u00fc\",\"l\":[1,[2]],\"m\":{\"a\":{}}}", "5"},
        {"size(input)", "1",
         "error: size takes a text, a list or a map, not a number: column 1 of "
         "size(input)"},
        {"int('42') + int(-1.9) + int(3)", NULL, "44"},
        {"int('4.2')", NULL,
         "error: int() takes a text that is a whole number: column 1 of "
         "int('4.2')"},
        {"int(' 1')", NULL,
         "error: int() takes a text that is a whole number: column 1 of int(' "
         "1')"},
        {"int('+1')", NULL,
         "error: int() takes a text that is a whole number: column 1 of "
         "int('+1')"},
        {"int(1e19)", NULL,
         "error: the result does not fit into 64 bits: write double(x): column "
         "1 of int(1e19)"},
        {"double('1e2') + double(1)", NULL, "101"},
        {"double('1e400')", NULL,
         "error: the result is beyond the largest number, 1.8e308: column "
         "1 of double('1e400')"},
        {"double('.5')", NULL,
         "error: double() takes a text that is a number: column 1 of "
         "double('.5')"},
        {"double('')", NULL,
         "error: double() takes a text that is a number: column 1 of "
         "double('')"},
        {"string(1.50) + string(true) + string('x') + string(-3)", NULL, "\"1.5truex-3\""},
        {"string(input)", "[]",
         "error: string takes a boolean, a number or a text, not a list: "
         "column 1 of string(input)"},
        {"'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'abc'.contains('b')", NULL, "true"},
        {"'abc'.startsWith('abcd') || 'abc'.endsWith('x') || 'abc'.contains('ac')", NULL, "false"},
        {"''.contains('') && 'a'.startsWith('') && 'a'.endsWith('')", NULL, "true"},
        {"'aab'.contains('ab') && !'aab'.contains('aba')", NULL, "true"},
        {"[].sum() + [1, 2, 3.5].sum()", NULL, "6.5"}, {"[3, 1, 2].min()", NULL, "1"},
        {"[3, 1.5, 2].max() ", NULL, "3"},
        {"[].min()", NULL, "error: an empty list has no min: column 4 of [].min()"},
        {"['a'].sum()", NULL, "error: sum takes a number, not a text: column 7 of ['a'].sum()"},
        {"[9223372036854775807, 1].sum()", NULL,
         "error: the result does not fit into 64 bits: write double(x): column 26 of "
         "[9223372036854775807, 1].sum()"});
}

Test(expression, has_macros)
{
    EVALUATES(
        {"[1, 2, 3].map(x, x * 2)", NULL, "[2,4,6]"}, {"[1, 2, 3].filter(x, x > 1)", NULL, "[2,3]"},
        {"[].all(x, false)", NULL, "true"}, {"[].exists(x, true)", NULL, "false"},
        {"[1, 2, 2].exists_one(x, x == 1) && ![1, 2, 2].exists_one(x, x == 2)", NULL, "true"},
        {"input.map(x, input.map(y, x * y).sum()).sum()", "[1,2,3]", "36"},
        {"input.items.filter(i, !i.shipped).map(i, i.total).sum()",
         "{\"items\":[{\"shipped\":true,\"total\":1},{\"shipped\":false,\"total\":2.5}]}", "2.5"},
        {"[1].map(x, [x].map(x, x + 1))", NULL, "[[2]]"},
        {"input.all(x, true)", "{}",
         "error: all takes a list, not a map: column 7 of "
         "input.all(x, true)"},
        {"input.filter(x, x)", "[1]",
         "error: filter takes a boolean, not a number: column 17 of "
         "input.filter(x, x)"},
        {"[1, 2] + [3] == [1, 2, 3] && 'a' + 'b' == 'ab'", NULL, "true"});
}

Test(expression, reads_nothing_behind_damaged_data)
{
    static const char *const sources[] = {
        "output.Check.a",     "size(output.Check.a)", "output.Check == output.Check",
        "[output.Check]",     "output.Check.a + 'x'", "output.Check.a.size() > 0",
        "has(output.Check.a)"};
    static const char *const data[] = {"{\"a\": \"b", "{\"a\":\"b", "{\"a\":[[[", "{\"a\":12",
                                       "{",           "[",          "\"",         "{\"a\"",
                                       "-",           "{\"a\":\"\\"};
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        /* In memory that ends where the data ends, so that sanitizers see one byte too many. */
        size_t size = strlen(data[i]);
        char *copy = arena_bytes(kit_arena(), size);
        memcpy(copy, data[i], size);
        struct expression_step step = {.has_output = true, .output = {copy, (uint32_t)size}};
        struct expression_scope scope = {.steps = &step, .step_count = 1};
        for (size_t j = 0; j < sizeof(sources) / sizeof(sources[0]); j++) {
            struct expression_run run;
            struct expression_error error;
            struct text json;
            expression_run_init(&run, &scope, EXPRESSION_BUDGET, kit_arena());
            if (!expression_json(&run, kit_compile(sources[j]), 1000, &json, &error))
                cr_expect_neq(error.code, EXPRESSION_OK);
        }
    }
}
