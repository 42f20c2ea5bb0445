/* SPDX-License-Identifier: Apache-2.0 */
/* Text from elsewhere becomes canonical, or is refused with its place. */
#include "base/heap_arena.h"
#include "base/json.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { SIZE_MAX_OF_TESTS = 4096 };

static bool canonical(struct text json, struct text *ret_text, struct json_problem *ret_problem)
{
    static char memory[64 * SIZE_MAX_OF_TESTS];
    struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    return json_canonical(json, SIZE_MAX_OF_TESTS, &arena, ret_text, ret_problem);
}

struct spelling {
    const char *json;
    const char *text;
};

static void expect_spellings(const struct spelling *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct text text = {0};
        cr_expect(canonical(text_of(rows[i].json), &text, NULL), "%s", rows[i].json);
        cr_expect(text_equal(text, text_of(rows[i].text)), "%s gave %.*s", rows[i].json,
                  TEXT_ARG(text));
    }
}

#define EXPECT_SPELLINGS(rows) expect_spellings(rows, sizeof(rows) / sizeof((rows)[0]))

Test(json_canonical, gives_each_number_one_spelling)
{
    static const struct spelling rows[] = {
        {"0", "0"},
        {"-0", "0"},
        {"-0.00e17", "0"},
        {"0e99999999999999999999", "0"},
        {"1", "1"},
        {"1.0", "1"},
        {"1e0", "1"},
        {"10e-1", "1"},
        {"100.10", "100.1"},
        {"-100.10", "-100.1"},
        {"1E+2", "100"},
        {"12e1", "120"},
        {"0.5e-3", "0.0005"},
        {"1.5e1", "15"},
        {"12345678901234567890.123456789012345678", "12345678901234567890.123456789012345678"},
        {"1e39", "1000000000000000000000000000000000000000"},
        {"1e-39", "0.000000000000000000000000000000000000001"},
        {"1.00000000000000000000000000000000000000000000000", "1"},
        {"0.00000000000000000000000000000000000000000000000001e50", "1"},
        {"9999999999999999999999999999999999999999", "9999999999999999999999999999999999999999"},
    };
    EXPECT_SPELLINGS(rows);
}

Test(json_canonical, gives_each_text_the_shortest_escapes)
{
    static const struct spelling rows[] = {
        {"\"\"", "\"\""},
        {"\"a\\/b\"", "\"a/b\""},
        {"\"\\u0041\\u00e9\\u20ac\"", "\"A\xc3\xa9\xe2\x82\xac\""},
        {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
        {"\"\\u0008\\u0009\\u000a\\u000c\\u000d\"", "\"\\b\\t\\n\\f\\r\""},
        {"\"\\u001F\\u0001\\u007f\"", "\"\\u001f\\u0001\x7f\""},
        {"\"\\u0022\\u005c\"", "\"\\\"\\\\\""},
        {"\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f\"", "\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f\""},
    };
    EXPECT_SPELLINGS(rows);
}

Test(json_canonical, sorts_names_by_their_bytes)
{
    static const struct spelling rows[] = {
        {"{}", "{}"},
        {"{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"},
        {"{\"b\":1,\"\":3,\"a\":2}", "{\"\":3,\"a\":2,\"b\":1}"},
        {"{\"ab\":1,\"a\":2}", "{\"a\":2,\"ab\":1}"},
        {"{\"\\u00e9\":1,\"z\":2}", "{\"z\":2,\"\xc3\xa9\":1}"},
        /* By what the escapes stand for: a tab is less than '!', a quote is between '!' and '#'. */
        {"{\"#\":1,\"\\t\":2,\"!\":3,\"\\\"\":4}", "{\"\\t\":2,\"!\":3,\"\\\"\":4,\"#\":1}"},
        {"{\"a]\":1,\"a\\\\\":2,\"a[\":3}", "{\"a[\":3,\"a\\\\\":2,\"a]\":1}"},
        {"{\"b\":{\"y\":[1,{\"d\":1,\"c\":2}],\"x\":0},\"a\":[]}",
         "{\"a\":[],\"b\":{\"x\":0,\"y\":[1,{\"c\":2,\"d\":1}]}}"},
    };
    EXPECT_SPELLINGS(rows);
}

Test(json_canonical, leaves_out_blanks)
{
    static const struct spelling rows[] = {
        {" \t\r\n[ 1 , true ,\nfalse,null , \" x \" , { \"a\" : { } } , [ ] ] ",
         "[1,true,false,null,\" x \",{\"a\":{}},[]]"},
        {"[[],[[]],{}]", "[[],[[]],{}]"},
    };
    EXPECT_SPELLINGS(rows);
}

Test(json_canonical, borrows_what_is_canonical)
{
    static const char json[] = "{\"a\":[1,-2.5,\"\\n\xc3\xa9\",{}],\"b\":{\"\":null}}";
    struct arena arena;
    struct text text = {0};
    arena_init(&arena, NULL, 0);
    cr_assert(json_canonical(TEXT(json), sizeof(json), &arena, &text, NULL));
    cr_expect_eq(text.data, json);
    cr_expect_eq(text.size, sizeof(json) - 1);
    cr_expect_eq(arena.used, 0);
}

struct refusal {
    struct text json;
    enum json_fault fault;
    uint32_t offset;
    const char *line;
};

static void expect_refusal(const struct refusal *row)
{
    char line[JSON_PROBLEM_SIZE];
    struct text text = {0};
    struct json_problem problem = {0};
    cr_expect_not(canonical(row->json, &text, &problem), "%.*s", TEXT_ARG(row->json));
    cr_expect_null(text.data);
    cr_expect_eq(problem.fault, row->fault, "%.*s: %d", TEXT_ARG(row->json), problem.fault);
    cr_expect_eq(problem.offset, row->offset, "%.*s: byte %u", TEXT_ARG(row->json), problem.offset);
    size_t size = json_problem_format(&problem, "input", line);
    cr_expect_eq(size, strlen(line));
    if (row->line != NULL)
        cr_expect_str_eq(line, row->line);
}

Test(json_canonical, names_the_place_of_a_fault)
{
    static const struct refusal rows[] = {
        {TEXT_CONST("{\"items\":[{},{\"n\":1},{\"n\":01}]}"), JSON_FAULT_SYNTAX, 26,
         "input.items[2].n is not valid JSON (byte 26)"},
        {TEXT_CONST("{\"a b\":[tru]}"), JSON_FAULT_SYNTAX, 8,
         "input[\"a b\"][0] is not valid JSON (byte 8)"},
        {TEXT_CONST("{\"a\":{\"x\":1,\"y\":2,\"x\":3}}"), JSON_FAULT_NAME_TWICE, 23,
         "input.a.x occurs twice (byte 23)"},
        {TEXT_CONST("{\"a\":1,\"\\u0061\":3}"), JSON_FAULT_NAME_TWICE, 15,
         "input.a occurs twice (byte 15)"},
        {TEXT_CONST("{\"a\":[\"\\ud800\"]}"), JSON_FAULT_SURROGATE, 7,
         "input.a[0] has half of a surrogate pair in a text (byte 7)"},
        {TEXT_CONST("[1,1e40]"), JSON_FAULT_DIGITS, 3,
         "input[1] has a number of more than 40 digits (byte 3)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_refusal(&rows[i]);
}

Test(json_canonical, refuses_what_is_not_json)
{
    static const struct refusal rows[] = {
        {TEXT_CONST(""), JSON_FAULT_SYNTAX, 0, "input is not valid JSON (byte 0)"},
        {TEXT_CONST("  "), JSON_FAULT_SYNTAX, 2, NULL},
        {TEXT_CONST("{\"a\": \"b"), JSON_FAULT_SYNTAX, 8, "input.a is not valid JSON (byte 8)"},
        {TEXT_CONST("{\"a"), JSON_FAULT_SYNTAX, 3, "input is not valid JSON (byte 3)"},
        {TEXT_CONST("{\"a\""), JSON_FAULT_SYNTAX, 4, NULL},
        {TEXT_CONST("{\"a\":"), JSON_FAULT_SYNTAX, 5, NULL},
        {TEXT_CONST("{\"a\" 1}"), JSON_FAULT_SYNTAX, 5, NULL},
        {TEXT_CONST("{1:2}"), JSON_FAULT_SYNTAX, 1, NULL},
        {TEXT_CONST("{\"a\":1,}"), JSON_FAULT_SYNTAX, 7, NULL},
        {TEXT_CONST("{,}"), JSON_FAULT_SYNTAX, 1, NULL},
        {TEXT_CONST("[1,]"), JSON_FAULT_SYNTAX, 3, NULL},
        {TEXT_CONST("[,1]"), JSON_FAULT_SYNTAX, 1, NULL},
        {TEXT_CONST("[1 2]"), JSON_FAULT_SYNTAX, 3, NULL},
        {TEXT_CONST("[1"), JSON_FAULT_SYNTAX, 2, NULL},
        {TEXT_CONST("[1}"), JSON_FAULT_SYNTAX, 2, NULL},
        {TEXT_CONST("{\"a\":1]"), JSON_FAULT_SYNTAX, 6, NULL},
        {TEXT_CONST("1 2"), JSON_FAULT_SYNTAX, 2, NULL},
        {TEXT_CONST("0x1"), JSON_FAULT_SYNTAX, 1, NULL},
        {TEXT_CONST("]"), JSON_FAULT_SYNTAX, 0, NULL},
        {TEXT_CONST("nul"), JSON_FAULT_SYNTAX, 0, NULL},
        {TEXT_CONST("nullx"), JSON_FAULT_SYNTAX, 4, NULL},
        {TEXT_CONST("True"), JSON_FAULT_SYNTAX, 0, NULL},
        {TEXT_CONST("NaN"), JSON_FAULT_SYNTAX, 0, NULL},
        {TEXT_CONST("'a'"), JSON_FAULT_SYNTAX, 0, NULL},
        {TEXT_CONST("\"\\x41\""), JSON_FAULT_SYNTAX, 1, NULL},
        {TEXT_CONST("\"\\u00g0\""), JSON_FAULT_SYNTAX, 1, NULL},
        {TEXT_CONST("\"\\u00"), JSON_FAULT_SYNTAX, 1, NULL},
        {TEXT_CONST("\"\\"), JSON_FAULT_SYNTAX, 1, NULL},
        {TEXT_CONST("\"a\nb\""), JSON_FAULT_SYNTAX, 2, NULL},
        {TEXT_CONST("\xef\xbb\xbf{}"), JSON_FAULT_SYNTAX, 0, NULL},
        {TEXT_CONST("/**/1"), JSON_FAULT_SYNTAX, 0, NULL},
        {TEXT_CONST("\"a\0b\""), JSON_FAULT_NUL, 2, NULL},
        {TEXT_CONST("\"\\u0000\""), JSON_FAULT_NUL, 1, NULL},
        {TEXT_CONST("{\"\\u0000\":1}"), JSON_FAULT_NUL, 2, NULL},
        {TEXT_CONST("\"\xc3\""), JSON_FAULT_UTF8, 1, NULL},
        {TEXT_CONST("\"\xed\xa0\x80\""), JSON_FAULT_UTF8, 1, NULL},
        {TEXT_CONST("\"\\udc00\""), JSON_FAULT_SURROGATE, 1, NULL},
        {TEXT_CONST("\"\\ud800\\ud800\""), JSON_FAULT_SURROGATE, 1, NULL},
        {TEXT_CONST("\"\\ud800x\""), JSON_FAULT_SURROGATE, 1, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_refusal(&rows[i]);
}

Test(json_canonical, refuses_what_is_not_a_number)
{
    static const char *const rows[] = {"01",   "-",   "-a", "1.",    ".5", "+1",  "1e",   "1e+",
                                       "1.e1", "--1", "1-", "1.2.3", "00", "-01", "1e1.5"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct refusal row = {text_of(rows[i]), JSON_FAULT_SYNTAX, 0, NULL};
        expect_refusal(&row);
    }
}

Test(json_canonical, refuses_more_than_forty_digits)
{
    static const char *const rows[] = {"1e40",
                                       "1e-40",
                                       "-1e40",
                                       "10000000000000000000000000000000000000000",
                                       "0.1234567890123456789012345678901234567891",
                                       "1e99999999999999999999",
                                       "1e-99999999999999999999"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct refusal row = {text_of(rows[i]), JSON_FAULT_DIGITS, 0, NULL};
        expect_refusal(&row);
    }
}

static struct text nested(char *memory, uint32_t depth, const char *open, const char *close)
{
    size_t size = 0;
    for (uint32_t i = 0; i < depth; i++, size += strlen(open))
        memcpy(memory + size, open, strlen(open));
    memory[size++] = '0';
    for (uint32_t i = 0; i < depth; i++, size += strlen(close))
        memcpy(memory + size, close, strlen(close));
    return (struct text){memory, (uint32_t)size};
}

Test(json_canonical, takes_thirty_two_levels_and_no_more)
{
    char memory[1024];
    struct text text = {0};
    struct refusal list = {nested(memory, 33, "[", "]"), JSON_FAULT_DEPTH, 32, NULL};
    expect_refusal(&list);
    cr_expect(canonical(nested(memory, 32, "[", "]"), &text, NULL));
    struct refusal map = {nested(memory, 33, "{\"a\":", "}"), JSON_FAULT_DEPTH, 160, NULL};
    expect_refusal(&map);
    cr_expect(canonical(nested(memory, 32, "{\"a\":", "}"), &text, NULL));
    cr_expect(canonical(nested(memory, 32, "{\"b\":0,\"a\":", "}"), &text, NULL));
    cr_expect_eq(text.size, 32 * 12 + 1);
}

Test(json_canonical, takes_an_envelope_that_is_deeper_than_its_data)
{
    char memory[1024];
    struct arena arena;
    struct text text = {0};
    struct json_problem problem;
    arena_init(&arena, memory, 0); /* it is canonical already */
    cr_expect(json_envelope(nested(memory, 40, "[", "]"), &arena, &text, &problem));
    cr_expect(json_envelope(nested(memory, 40, "{\"a\":", "}"), &arena, &text, &problem));
    cr_expect_not(json_envelope(nested(memory, 41, "[", "]"), &arena, &text, &problem));
    cr_expect_eq(problem.fault, JSON_FAULT_DEPTH);
    cr_expect_eq(problem.path.depth, 40);
}

Test(json_canonical, finds_a_name_that_occurs_twice_among_unsorted_ones)
{
    static const struct refusal rows[] = {
        {TEXT_CONST("{\"c\":1,\"a\":{\"z\":1,\"y\":1,\"z\":2},\"b\":1}"), JSON_FAULT_NAME_TWICE, 29,
         "input.a.z occurs twice (byte 29)"},
        {TEXT_CONST("{\"\":1,\"\":2}"), JSON_FAULT_NAME_TWICE, 8,
         "input[\"\"] occurs twice (byte 8)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_refusal(&rows[i]);
}

Test(json_canonical, limits_the_canonical_text)
{
    char memory[1024];
    struct arena arena;
    struct text text = {0};
    struct json_problem problem = {0};
    arena_init(&arena, memory, sizeof(memory));
    cr_expect(json_canonical(TEXT("[ 1, 2 ]"), 5, &arena, &text, NULL));
    cr_expect(text_equal(text, TEXT("[1,2]")));
    cr_expect_not(json_canonical(TEXT("[1,2]"), 4, &arena, &text, &problem));
    cr_expect_eq(problem.fault, JSON_FAULT_SIZE);
    cr_expect_not(json_canonical(TEXT("[ 1e9, 2 ]"), 12, &arena, &text, &problem));
    cr_expect_eq(problem.fault, JSON_FAULT_SIZE);
    cr_expect(json_canonical(TEXT("[ 1e9, 2 ]"), 14, &arena, &text, &problem));
    cr_expect_not(json_canonical(TEXT("1"), 0, &arena, &text, &problem));
}

Test(json_canonical, takes_memory_within_its_bound)
{
    enum { LIMIT = 256 * 1024 };
    static char json[LIMIT];
    struct heap_arena heap;
    struct text text = {0};
    uint32_t size = 0;
    json[size++] = '{';
    for (uint32_t i = 99999; size + 12 < LIMIT && i >= 10000; i--)
        size += (uint32_t)snprintf(json + size, 16, "\"%u\":0,", i);
    json[size - 1] = '}';
    heap_arena_init(&heap, 4096);
    cr_assert(json_canonical((struct text){json, size}, LIMIT, &heap.arena, &text, NULL));
    cr_expect_eq(text.size, size);
    cr_expect_leq(heap.arena.used, 16 * LIMIT);
    heap_arena_deinit(&heap);
}

Test(json_canonical, marks_a_path_that_is_too_long)
{
    char path[JSON_PATH_SIZE];
    struct json_path long_path = {.depth = JSON_DEPTH_MAX};
    for (uint32_t i = 0; i < JSON_DEPTH_MAX; i++)
        long_path.levels[i].name = TEXT("a_name_of_some_length");
    size_t size = json_path_format(&long_path, "input", path);
    cr_expect_eq(size, strlen(path));
    cr_expect_str_eq(path + size - 3, "...");
    long_path.depth = 2;
    long_path.levels[1].name = TEXT("\x01\xff");
    json_path_format(&long_path, "input", path);
    cr_expect_str_eq(path, "input.a_name_of_some_length[\"??\"]");
}
