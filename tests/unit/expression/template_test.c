/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of workflow files that hold expressions, with the places of mistakes. */
#include "kit.h"

#include <criterion/criterion.h>

#define FILLS(function, ...)                                                     \
    do {                                                                         \
        static const struct expression_case cases_[] = {__VA_ARGS__};            \
        for (size_t i_ = 0; i_ < sizeof(cases_) / sizeof(cases_[0]); i_++) {     \
            const char *is_ = function(cases_[i_].expression, cases_[i_].input); \
            cr_expect_str_eq(is_, cases_[i_].result, "%s\n    is %s\nnot %s",    \
                             cases_[i_].expression, is_, cases_[i_].result);     \
        }                                                                        \
    } while (0)

Test(template, keeps_the_kind_of_a_value_that_stands_alone)
{
    FILLS(kit_template,
          {"Input: {b: \"${input.a}\", a: \"${input.l}\"}", "{\"a\":100.10,\"l\":[1,{\"x\":null}]}",
           "{\"a\":[1,{\"x\":null}],\"b\":100.1}"},
          {"Set: \"${input.a > 1 ? 'yes' : 'no'}\"", "{\"a\":2}", "\"yes\""},
          {"Set: ${input.a}", "{\"a\":[]}", "[]"},
          {"Set: ['${input}', 1.50, true, null, text, \"NO\"]", "{}",
           "[{},1.5,true,null,\"text\",\"NO\"]"},
          {"Set: {x: {y: [1, {z: \"\u00fc\"}]}, a: -0}", NULL,
           "{\"a\":0,\"x\":{\"y\":[1,{\"z\":\"\u00fc\"}]}}"},
          {"Set: []", NULL, "[]"}, {"Set: ''", NULL, "\"\""},
          {"Set:\n  >-\n  ${input.a\n  + 1}", "{\"a\":1}", "2"});
}

Test(template, puts_values_into_texts)
{
    FILLS(
        kit_template_text,
        {"Question: \"Loan of ${input.a} EUR for ${input.n}, ${input.b}?\"",
         "{\"a\":1000.50,\"n\":\"Ann\",\"b\":true}", "Loan of 1000.5 EUR for Ann, true?"},
        {"Message: 'costs $${x} ${1} $ {'", NULL, "costs ${x} 1 $ {"},
        {"Message: \"${input}\"", "\"a\\nb\"", "a\nb"}, {"Message: plain", NULL, "plain"},
        {"Message: \"no ${input}\"", "null",
         "error: a text with ${ } in it takes a boolean, a number or a text, not null: column 1 of "
         "input"},
        {"Message: \"no ${[1]}\"", NULL,
         "1:16: this gives a list; within other text it must give a boolean, a number or a text\n"},
        {"Message: [a]", NULL, "1:10: Field must be a text, not a list\n"});
    FILLS(kit_template, {"Set: {a: \"x ${'}' + input} y\"}", "\"{\"", "{\"a\":\"x }{ y\"}"});
}

Test(template, asks_for_quotes_where_yaml_readers_differ)
{
    FILLS(
        kit_template,
        {"Set: NO", NULL,
         "1:6: NO is not a text to every YAML reader: put it in quotes, or write true or false\n"},
        {"Set: 01234", NULL,
         "1:6: 01234 is not a text to every YAML reader: put it in quotes, or write it as JSON "
         "does\n"},
        {"Set: 1_000", NULL, "1:6: 1_000 is not a text to every YAML reader: put it in quotes\n"},
        {"Set: ~", NULL,
         "1:6: ~ is not a text to every YAML reader: put it in quotes, or write null\n"},
        {"Set: 2026-01-01", NULL,
         "1:6: 2026-01-01 is not a text to every YAML reader: put it in quotes\n"},
        {"Set: 12:30", NULL, "1:6: 12:30 is not a text to every YAML reader: put it in quotes\n"},
        {"Set: {a: }", NULL,
         "1:10: there is no value here: write null, or \"\" for an empty text\n"},
        {"Set: 12345678901234567890123456789012345678901", NULL,
         "1:6: 12345678901234567890123456789012345678901 has more than 40 digits: put it in "
         "quotes\n"},
        {"Set: A4", NULL, "\"A4\""}, {"Set: 4 apples", NULL, "\"4 apples\""});
}

Test(template, tells_line_and_column)
{
    FILLS(kit_template,
          {"Set: \"${inptu.a}\"", NULL, "1:9: there is no name inptu: did you mean input?\n"},
          {"Set: 'it''s ${ inptu.a}'", NULL, "1:16: there is no name inptu: did you mean input?\n"},
          {"Set: \"\\u00fc\\t\\\" ${inptu}\"", NULL,
           "1:20: there is no name inptu: did you mean input?\n"},
          {"Set:\n  a: >-\n    one ${1}\n    two ${inptu}\n", NULL,
           "4:11: there is no name inptu: did you mean input?\n"},
          {"Set: |\n  \u00fc ${1}\n  two ${\n  inptu}\n", NULL,
           "4:3: there is no name inptu: did you mean input?\n"},
          {"Set: \"a\n  ${inptu}\"\n", NULL, "2:5: there is no name inptu: did you mean input?\n"},
          {"Set: \"${1 \"", NULL,
           "1:7: ${ has no } behind it: close the expression with one, or write $${ for the "
           "characters themselves\n"},
          {"{\"Set\": \"${ \\\"a\\\" + 1}\"}", NULL,
           "1:19: + cannot add a text and a number: write string(...) for a text\n"});
}

Test(template, has_seconds_that_may_be_calculated)
{
    FILLS(
        kit_seconds, {"Seconds: 60", NULL, "60000"}, {"Seconds: 0.0001", NULL, "1"},
        {"Seconds: input.days * 86400", "{\"days\":0.5}", "43200000"}, {"Seconds: 0", NULL, "0"},
        {"Seconds: -1", NULL, "1:10: Seconds is negative\n"},
        {"Seconds: input.a", "{\"a\":-1}", "error: seconds must be 0 or more: column 1 of input.a"},
        {"Seconds: input.a", "{\"a\":1e30}",
         "error: seconds must be at most 86400: column 1 of input.a"},
        {"Seconds: input.a", "{\"a\":\"1\"}",
         "error: this field takes a number, not a text: column 1 of input.a"},
        {"Seconds: \"'1'\"", NULL, "1:11: this gives a text; here it must give a number\n"});
}

Test(template, has_fields_that_are_expressions)
{
    FILLS(kit_field, {"When: input.nights > 0", "{\"nights\":1}", "true"},
          {"When: \"!output.Check.ok\"", NULL, "false"},
          {"When: >-\n  input.a\n  && !input.b\n", "{\"a\":true,\"b\":false}", "true"},
          {"When: output.Skipped.ok", NULL, "false"},
          {"When: output.Skipped.ok || output.Check.ok", NULL, "true"},
          {"When: input.x", "{}", "error: there is no member x: column 7 of input.x"},
          {"When: input.x", "{\"x\":1}",
           "error: this field takes a boolean, not a number: column 1 of input.x"},
          {"When: 1 + 1", NULL, "1:7: this gives a number; here it must give a boolean\n"},
          {"When: ${input.a}", NULL, "1:7: leave out ${ }: the whole field is an expression\n"},
          {"When: !output.Check.ok", NULL,
           "1:7: tags (!) are not allowed: put a text or an expression that begins with ! in "
           "quotes\n"},
          {"When: {a: 1}", NULL,
           "1:7: When must be an expression, not a mapping: put it in "
           "quotes\n"},
          {"When:", NULL, "1:6: When must be an expression, not nothing\n"},
          {"When: input.a ? 1 : 2", NULL,
           "1:19: mapping values are not allowed in this context: put the expression in quotes\n"},
          {"{When: input.l[0] > 1}", NULL,
           "1:19: found character that cannot start any token while scanning for the next token: "
           "put the expression in quotes\n"});
}
