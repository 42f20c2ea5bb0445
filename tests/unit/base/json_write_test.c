/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <criterion/criterion.h>
#include <signal.h>

static char memory[64 * 1024];
static struct arena arena;
static struct json_writer writer;

static void begin(uint32_t size_max)
{
    arena_init(&arena, memory, sizeof(memory));
    json_writer_init(&writer, size_max, &arena);
}

static void expect(const char *expected)
{
    struct text text = {0};
    cr_expect(json_writer_done(&writer, &text));
    cr_expect(text_equal(text, text_of(expected)), "%.*s, not %s", TEXT_ARG(text), expected);
}

static void expect_fault(enum json_fault fault)
{
    struct text text = {0};
    cr_expect_not(json_writer_done(&writer, &text));
    cr_expect_null(text.data);
    cr_expect_eq(writer.fault, fault);
}

Test(json_write, writes_every_kind_of_value)
{
    struct json_number number = {.count = 2, .digits = {2, 5}, .exponent = -1};
    begin(1000);
    json_write_list(&writer);
    json_write_null(&writer);
    json_write_boolean(&writer, true);
    json_write_boolean(&writer, false);
    json_write_integer(&writer, INT64_MIN);
    json_write_number(&writer, &number);
    json_write_text(&writer, TEXT("\"a\"\\\n\x1f\x7f\xc3\xa9"));
    json_write_text(&writer, TEXT(""));
    json_write_canonical(&writer, TEXT("{\"x\":[1]}"));
    json_write_list(&writer);
    json_write_close(&writer);
    json_write_map(&writer);
    json_write_close(&writer);
    json_write_close(&writer);
    expect("[null,true,false,-9223372036854775808,2.5,\"\\\"a\\\"\\\\\\n\\u001f\x7f\xc3\xa9\",\"\","
           "{\"x\":[1]},[],{}]");
}

Test(json_write, writes_a_scalar_alone)
{
    begin(10);
    json_write_integer(&writer, 7);
    expect("7");
}

Test(json_write, sorts_members)
{
    begin(1000);
    json_write_map(&writer);
    json_write_name(&writer, TEXT("b"));
    json_write_map(&writer);
    json_write_name(&writer, TEXT("d"));
    json_write_integer(&writer, 1);
    json_write_name(&writer, TEXT("c\n"));
    json_write_integer(&writer, 2);
    json_write_name(&writer, TEXT("c"));
    json_write_list(&writer);
    json_write_close(&writer);
    json_write_close(&writer);
    json_write_name(&writer, TEXT("a"));
    json_write_text(&writer, TEXT("x,y"));
    json_write_close(&writer);
    expect("{\"a\":\"x,y\",\"b\":{\"c\":[],\"c\\n\":2,\"d\":1}}");
}

Test(json_write, keeps_the_first_fault)
{
    struct json_number number = {.count = 1, .digits = {1}, .exponent = 40};
    begin(1000);
    json_write_map(&writer);
    json_write_name(&writer, TEXT("a"));
    json_write_number(&writer, &number);
    json_write_close(&writer);
    json_write_text(&writer, TEXT("\xff"));
    expect_fault(JSON_FAULT_DIGITS);

    begin(1000);
    json_write_text(&writer, TEXT("a\xff"));
    expect_fault(JSON_FAULT_UTF8);

    begin(1000);
    json_write_text(&writer, TEXT("a\0b"));
    expect_fault(JSON_FAULT_NUL);

    begin(1000);
    json_write_map(&writer);
    for (const char *name = "cabac"; *name != '\0'; name++) {
        json_write_name(&writer, (struct text){name, 1});
        json_write_null(&writer);
    }
    json_write_close(&writer);
    expect_fault(JSON_FAULT_NAME_TWICE);
}

Test(json_write, stops_at_its_limit)
{
    for (uint32_t limit = 0; limit < 14; limit++) {
        begin(limit);
        json_write_list(&writer);
        json_write_text(&writer, TEXT("abc"));
        json_write_integer(&writer, 123456);
        json_write_close(&writer);
        expect_fault(JSON_FAULT_SIZE);
    }
    begin(14);
    json_write_list(&writer);
    json_write_text(&writer, TEXT("abc"));
    json_write_integer(&writer, 123456);
    json_write_close(&writer);
    expect("[\"abc\",123456]");
}

Test(json_write, counts_the_levels_of_what_it_copies)
{
    begin(1000);
    for (uint32_t i = 0; i < JSON_DEPTH_MAX - 2; i++)
        json_write_list(&writer);
    json_write_canonical(&writer, TEXT("[\"[[[\",{}]"));
    json_write_canonical(&writer, TEXT("[[[]]]"));
    expect_fault(JSON_FAULT_DEPTH);
    begin(1000);
    for (uint32_t i = 0; i < JSON_DEPTH_MAX; i++)
        json_write_list(&writer);
    json_write_integer(&writer, 1);
    cr_expect_eq(writer.fault, JSON_FAULT_NONE);
    json_write_map(&writer);
    expect_fault(JSON_FAULT_DEPTH);
    begin(1000);
    writer.depth_max = JSON_ENVELOPE_DEPTH_MAX;
    for (uint32_t i = 0; i < JSON_DEPTH_MAX + 1; i++)
        json_write_list(&writer);
    cr_expect_eq(writer.fault, JSON_FAULT_NONE);
}

Test(json_write, asserts_a_name_before_a_member, .signal = SIGABRT)
{
    begin(1000);
    json_write_map(&writer);
    json_write_null(&writer);
}

Test(json_write, asserts_one_value_at_the_root, .signal = SIGABRT)
{
    begin(1000);
    json_write_null(&writer);
    json_write_null(&writer);
}

Test(json_write, asserts_that_everything_is_closed, .signal = SIGABRT)
{
    struct text text;
    begin(1000);
    json_write_list(&writer);
    json_writer_done(&writer, &text);
}
