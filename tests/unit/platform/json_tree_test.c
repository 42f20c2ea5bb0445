/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of jansson that lose no digit, between text and text. */
#include "platform/json_tree.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void expect_print(const json_t *tree, size_t flags, const char *expected)
{
    char *text = json_tree_print(tree, flags);
    cr_assert_not_null(text);
    cr_expect_str_eq(text, expected);
    free(text);
}

static void expect_same(const char *json)
{
    json_error_t at;
    json_t *tree = json_tree_load(text_of(json), JSON_ALLOW_NUL, &at);
    cr_assert_not_null(tree, "%s: %s", json, at.text);
    expect_print(tree, JSON_COMPACT, json);
    json_decref(tree);
}

Test(json_tree, keeps_every_digit)
{
    expect_same("{}");
    expect_same("{\"b\":100.10,\"a\":[12345678901234567890,-1,0.1,1e300,-0.000E-7]}");
    expect_same("[[1.5],[[2.5,true],{\"x\":3.5}],null,4.5]");
    expect_same("{\"1.5\":\"2.5 \\\" 3.5\",\"c\":\"\\\\\",\"d\":9223372036854775807,"
                "\"e\":9223372036854775808,\"f\":-9223372036854775809}");
    expect_same("{\"nul\":\"a\\u0000 1.5\",\"x\":1.5}");
}

Test(json_tree, refuses_what_is_not_json)
{
    static const char *const rows[] = {
        "",
        "1.5",
        "{",
        "{\"a\":1.}",
        "{\"a\":.5}",
        "[01.5]",
        "[1.5,]",
        "[1.5.5]",
        "[1e]",
        "[--1]",
        "{\"a\":1,\"a\":1.5}",
        "[\"1.5]",
        "[1.5]]",
        "[+1.5]",
        "[\"\xff\"]",
        "[1.5\"]",
        "[\"\\",
        "[-]",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        cr_expect_null(json_tree_load(text_of(rows[i]), 0, NULL), "%s", rows[i]);
}

Test(json_tree, marks_what_jansson_cannot_hold)
{
    json_t *tree = json_tree_load(TEXT("[1,2.0,\"2.0\",\"\\u00ff1\"]"), 0, NULL);
    cr_assert(json_is_integer(json_array_get(tree, 0)));
    cr_assert(text_equal(json_tree_marked(json_array_get(tree, 1)), TEXT("2.0")));
    cr_assert_null(json_tree_marked(json_array_get(tree, 2)).data);
    cr_assert_null(json_tree_marked(json_array_get(tree, 3)).data);
    cr_assert_null(json_tree_marked(tree).data);
    cr_assert_null(json_tree_marked(NULL).data);
    cr_assert_null(json_dumps(tree, 0), "jansson must not print it");
    json_decref(tree);
}

/* The same as jansson prints of a tree without marks. */
Test(json_tree, prints_as_jansson_does)
{
    static const size_t flags[] = {0, JSON_COMPACT, JSON_INDENT(2), JSON_INDENT(3) | JSON_COMPACT,
                                   JSON_ENSURE_ASCII | JSON_INDENT(2)};
    const char *json = "{\"a\":[1,{\"b\":[],\"c\":{}},[\"caf\xc3\xa9\",null]],\"d\":\"\\u001f/\"}";
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        json_t *plain = json_loads(json, 0, NULL);
        json_t *list = json_array();
        json_array_append(list, plain);
        json_array_append_new(list, json_stringn_nocheck("\xff"
                                                         "12",
                                                         3));
        json_t *marked = json_pack("{s:o}", "list", list);
        json_t *number = json_pack("{s:[o, i]}", "list", plain, 12);
        char *expected = json_dumps(number, flags[i]);
        expect_print(marked, flags[i], expected);
        free(expected);
        json_decref(number);
        json_decref(marked);
    }
}
