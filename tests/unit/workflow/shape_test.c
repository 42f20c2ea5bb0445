/* SPDX-License-Identifier: Apache-2.0 */
/* InputShape: what a file says is what inputs are checked against; mistakes have a place. */
#include "engine/shape.h"
#include "engine/workflow.h"
#include "tests/unit/workflow/kit.h"
#include "workflow/shape_example.h"
#include "workflow/shape_schema.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define BEFORE "Name: w\nVersion: 1\n"
#define AFTER "Steps: [{Name: A, Agent: x}]\n"
#define ORDER                                                                                  \
    "InputShape: {amount: number, items: [{sku: string, quantity: integer}], gift: boolean?, " \
    "extra: any, notes?: [string], \"a\\tb\\\"\": {}}\n"

static void expect(const struct shape *shape, const char *input, const char *message)
{
    struct error error = {0};
    shape_check(shape, text_of(input), &error);
    cr_expect_str_eq(error.message, message, "%s: %s", input, error.message);
}

Test(workflow_shape, checks_what_the_file_says)
{
    const struct shape *shape = kit_workflow(BEFORE ORDER AFTER)->input_shape;
    cr_assert_not_null(shape);
    cr_expect_eq(shape->member_count, 6);
    cr_expect_eq(shape->required_count, 4);
    expect(
        shape,
        "{\"a\\tb\\\"\":{},\"amount\":1,\"extra\":null,\"items\":[{\"quantity\":1,\"sku\":\"a\"}]}",
        "");
    expect(shape,
           "{\"a\\tb\\\"\":{},\"amount\":1,\"extra\":[],\"gift\":true,\"items\":[],\"notes\":[1]}",
           "input.notes[0] is a number; it must be a text");
    expect(shape, "{\"a\\tb\\\"\":{},\"amount\":1,\"extra\":[],\"items\":[{\"sku\":\"a\"}]}",
           "input.items[0].quantity is missing; it must be an integer");
    expect(shape, "{\"a\\tb\\\"\":{\"x\":1}}",
           "input[\"a\\tb\\\"\"].x is unknown: the workflow's InputShape does not have it");
}

Test(workflow_shape, may_be_any_type)
{
    cr_expect_null(kit_workflow(BEFORE AFTER)->input_shape);
    cr_expect_eq(kit_workflow(BEFORE "InputShape: any\n" AFTER)->input_shape->kind, SHAPE_ANY);
    const struct shape *list = kit_workflow(BEFORE "InputShape: [[integer]]\n" AFTER)->input_shape;
    expect(list, "[[1],[2,3],[]]", "");
    expect(list, "[[1],[2,\"3\"]]", "input[1][1] is a text; it must be an integer");
    expect(list, "null", "input is null; it must be a list: [...]");
}

Test(workflow_shape, reports_what_is_not_a_type)
{
    LINT({BEFORE "InputShape: {a: strng}\n" AFTER,
          "3:17: error: \"strng\" is not a type: did you mean string?\n"},
         {BEFORE "InputShape: {a: int?, b: bool}\n" AFTER,
          "3:17: error: \"int\" is not a type: did you mean integer?\n"
          "3:26: error: \"bool\" is not a type: did you mean boolean?\n"},
         {BEFORE "InputShape: {a: 5}\n" AFTER,
          "3:17: error: \"5\" is not a type: it must be string, number, integer, boolean, any, "
          "[TYPE] or {NAME: TYPE}\n"},
         {BEFORE "InputShape: {a: }\n" AFTER,
          "3:17: error: a type must be string, number, integer, boolean, any, [TYPE] or {NAME: "
          "TYPE}, not nothing\n"},
         {BEFORE "InputShape:\n" AFTER,
          "3:1: error: InputShape has no value: give it one or leave it out\n"},
         {BEFORE "InputShape: {a: [], b: [string, number]}\n" AFTER,
          "3:17: error: a list has one type, of all its elements: [string]\n"
          "3:24: error: a list has one type, of all its elements: [string]\n"},
         {BEFORE "InputShape: {a: [string?]}\n" AFTER,
          "3:18: error: an element of a list cannot be missing: leave out the \"?\"\n"},
         {BEFORE "InputShape: string?\n" AFTER,
          "3:13: error: the input as a whole cannot be missing: leave out the \"?\"\n"},
         {BEFORE "InputShape: {a: string, a?: string}\n" AFTER, "3:25: error: a? is given twice\n"},
         {HEAD "  - {Name: A, Agent: x, InputShape: any}\n",
          "4:25: error: InputShape does not belong here; it belongs to the workflow\n"});
}

#define NOT_SCHEMA "InputShape is not JSON Schema: write "
#define OPTIONAL_MARK "; a ? behind a name says that it may be missing\n"

Test(workflow_shape, says_what_to_write_instead_of_json_schema)
{
    LINT({BEFORE "InputShape: {type: object, properties: {amount: {type: number}, note: {type: "
                 "string}}, required: [amount]}\n" AFTER,
          "3:13: error: " NOT_SCHEMA "{amount: number, note?: string}" OPTIONAL_MARK},
         {BEFORE "InputShape:\n  type: object\n  required: [items, id]\n"
                 "  additionalProperties: false\n  properties:\n    id: {type: integer, minimum: "
                 "1}\n    items:\n      type: array\n      items: {type: object, properties: "
                 "{sku: {type: string}}, required: [sku]}\n" AFTER,
          "4:3: error: " NOT_SCHEMA "{id: integer, items: [{sku: string}]}\n"},
         {BEFORE "InputShape: {type: array, items: {type: string}}\n" AFTER,
          "3:13: error: " NOT_SCHEMA "[string]\n"},
         {BEFORE "InputShape: {type: object}\n" AFTER, "3:13: error: " NOT_SCHEMA "any\n"},
         {BEFORE
          "InputShape: {amount: {type: number, minimum: 0}, b: [{type: [string, 'null']}]}\n" AFTER,
          "3:22: error: " NOT_SCHEMA "number\n"
          "3:61: error: a list has one type, of all its elements: [string]\n"},
         {BEFORE "InputShape: {properties: {a: {type: object}}, required: [a]}\n" AFTER,
          "3:13: error: " NOT_SCHEMA "{a: any}\n"},
         {BEFORE "InputShape: {$ref: '#/components/schemas/Order'}\n" AFTER,
          "3:13: error: " NOT_SCHEMA "any\n"},
         {BEFORE "InputShape: {type: object, properties: {no-good: {type: string}}}\n" AFTER,
          "3:13: error: " NOT_SCHEMA "the names and types themselves, as in {amount: number, "
          "note?: string, tags: [string]}\n"});
}

/* Its words are names like others. */
Test(workflow_shape, takes_the_words_of_json_schema_for_names)
{
    LINT({BEFORE "InputShape: {type: string, properties: {type: string}, items: [number], "
                 "required: [string], enum: any, minimum: number?, title: string}\n" AFTER,
          ""},
         {BEFORE "InputShape: {$ref: string, $schema: any}\n" AFTER, ""},
         {BEFORE "InputShape: {type: object, amount: number}\n" AFTER,
          "3:20: error: \"object\" is not a type: did you mean any?\n"},
         {BEFORE "InputShape: {type: string, title: strng}\n" AFTER,
          "3:35: error: \"strng\" is not a type: did you mean string?\n"},
         {BEFORE "InputShape: {minimum: 1}\n" AFTER,
          "3:23: error: \"1\" is not a type: it must be string, number, integer, boolean, any, "
          "[TYPE] or {NAME: TYPE}\n"});
}

Test(workflow_shape, becomes_json_schema)
{
    static const char expected[] =
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
        "\"additionalProperties\":false,\"properties\":{"
        "\"a\\tb\\\"\":{\"additionalProperties\":false,\"properties\":{},\"required\":[],"
        "\"type\":\"object\"},"
        "\"amount\":{\"type\":\"number\"},\"extra\":{},\"gift\":{\"type\":\"boolean\"},"
        "\"items\":{\"items\":{\"additionalProperties\":false,\"properties\":{"
        "\"quantity\":{\"type\":\"integer\"},\"sku\":{\"type\":\"string\"}},"
        "\"required\":[\"quantity\",\"sku\"],\"type\":\"object\"},\"type\":\"array\"},"
        "\"notes\":{\"items\":{\"type\":\"string\"},\"type\":\"array\"}},"
        "\"required\":[\"a\\tb\\\"\",\"amount\",\"extra\",\"items\"],"
        "\"title\":\"w\",\"type\":\"object\"}";
    const struct shape *shape = kit_workflow(BEFORE ORDER AFTER)->input_shape;
    struct text schema = shape_schema(shape, TEXT("w"), kit_arena());
    cr_expect(text_equal(schema, text_of(expected)), "%.*s", TEXT_ARG(schema));
    struct shape deep[SHAPE_DEPTH_MAX + 1] = {{.kind = SHAPE_ANY}};
    for (uint32_t i = 1; i <= SHAPE_DEPTH_MAX; i++) {
        deep[i - 1].name = deep[i - 1].escaped = TEXT("a");
        deep[i] = (struct shape){.kind = SHAPE_MAP, .members = &deep[i - 1], .member_count = 1};
    }
    cr_expect_eq(shape_schema(&deep[SHAPE_DEPTH_MAX], TEXT("w"), kit_arena()).size, 0);
    cr_expect_gt(shape_schema(&deep[SHAPE_DEPTH_MAX - 1], TEXT("w"), kit_arena()).size, 0);
}

Test(workflow_shape, is_the_same_in_json)
{
    struct parsed parsed = kit_parse(
        TEXT("{\"Name\": \"w\", \"Version\": 1, \"InputShape\": {\"a\": \"number?\", \"b?\": "
             "[\"any\"]}, \"Steps\": [{\"Name\": \"A\", \"Agent\": \"x\"}]}"),
        WORKFLOW_JSON);
    cr_assert_str_eq(parsed.problems, "");
    expect(parsed.workflow->input_shape, "{}", "");
    expect(parsed.workflow->input_shape, "{\"a\":1.5,\"b\":[null]}", "");
}

Test(workflow_shape, has_an_example_that_it_accepts)
{
    const struct shape *shape = kit_workflow(BEFORE ORDER AFTER)->input_shape;
    struct text example = shape_example(shape, kit_arena());
    static const char expected[] = "{\"a\\tb\\\"\":{},\"amount\":1,\"extra\":\"text\","
                                   "\"items\":[{\"quantity\":1,\"sku\":\"text\"}]}";
    cr_expect(text_equal(example, text_of(expected)), "%.*s", TEXT_ARG(example));
    cr_expect_eq(shape_check(shape, example, NULL), ERROR_OK);
}
