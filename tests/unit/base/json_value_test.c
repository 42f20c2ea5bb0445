/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical text is read where it lies, within a limit of what is walked. */
#include "base/json.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define ORDER                                                                      \
    "{\"amount\":100.1,\"express\":true,\"gift\":null,\"items\":[{\"sku\":\"a\"}," \
    "{\"sku\":\"b\\n\"}],\"\\\"q\\\"\":[],\"zip\":\"\"}"

static struct json_value member(struct json_value map, const char *name)
{
    return json_value_member(map, text_of(name), NULL);
}

static void expect_text(struct text text, const char *expected)
{
    cr_expect(text_equal(text, text_of(expected)), "%.*s, not %s", TEXT_ARG(text), expected);
}

Test(json_value, tells_kinds_by_the_first_byte)
{
    static const struct {
        const char *text;
        enum json_kind kind;
        const char *name;
    } rows[] = {
        {"", JSON_KIND_NONE, "nothing"},      {"x", JSON_KIND_NONE, "nothing"},
        {"null", JSON_KIND_NULL, "null"},     {"false", JSON_KIND_BOOLEAN, "a boolean"},
        {"-1", JSON_KIND_NUMBER, "a number"}, {"\"\"", JSON_KIND_TEXT, "a text"},
        {"[]", JSON_KIND_LIST, "a list"},     {"{}", JSON_KIND_MAP, "a map"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_value value = json_value_of(text_of(rows[i].text));
        cr_expect_eq(json_value_kind(value), rows[i].kind, "%s", rows[i].text);
        cr_expect_str_eq(json_kind_name(rows[i].kind), rows[i].name);
        bool whole = rows[i].kind != JSON_KIND_NONE;
        expect_text(json_value_text(value, NULL), whole ? rows[i].text : "");
    }
}

Test(json_value, finds_members_and_elements)
{
    struct json_value order = json_value_of(TEXT(ORDER));
    struct json_value items = member(order, "items");
    expect_text(json_value_text(order, NULL), ORDER);
    expect_text(json_value_text(member(order, "amount"), NULL), "100.1");
    expect_text(json_value_text(member(order, "gift"), NULL), "null");
    expect_text(json_value_text(member(order, "\"q\""), NULL), "[]");
    expect_text(json_value_text(member(order, "zip"), NULL), "\"\"");
    cr_expect(json_value_boolean(member(order, "express")));
    cr_expect_eq(json_value_kind(member(order, "zi")), JSON_KIND_NONE);
    cr_expect_eq(json_value_kind(member(items, "sku")), JSON_KIND_NONE);
    cr_expect_eq(json_value_kind(member((struct json_value){0}, "sku")), JSON_KIND_NONE);
    cr_expect_eq(json_value_count(order, NULL), 6);
    cr_expect_eq(json_value_count(items, NULL), 2);
    cr_expect_eq(json_value_count(member(order, "zip"), NULL), 0);
    expect_text(json_value_text(json_value_element(items, 0, NULL), NULL), "{\"sku\":\"a\"}");
    struct json_value second = json_value_element(items, 1, NULL);
    expect_text(json_value_escaped(member(second, "sku"), NULL), "b\\n");
    cr_expect_eq(json_value_kind(json_value_element(items, 2, NULL)), JSON_KIND_NONE);
    cr_expect_eq(json_value_kind(json_value_element(order, 0, NULL)), JSON_KIND_NONE);
}

Test(json_value, walks_items_in_their_order)
{
    static const char *const names[] = {"amount", "express", "gift", "items", "\\\"q\\\"", "zip"};
    struct json_items items;
    uint32_t count = 0;
    for (json_items_begin(&items, json_value_of(TEXT(ORDER))); json_items_next(&items, NULL);)
        expect_text(items.name, names[count++]);
    cr_expect_eq(count, 6);
    cr_expect_not(json_items_next(&items, NULL));
    json_items_begin(&items, json_value_of(TEXT("[[1],\"x\"]")));
    cr_expect(json_items_next(&items, NULL));
    cr_expect_null(items.name.data);
    expect_text(json_value_text(items.value, NULL), "[1]");
    cr_expect(json_items_next(&items, NULL));
    expect_text(json_value_text(items.value, NULL), "\"x\"");
    cr_expect_not(json_items_next(&items, NULL));
    json_items_begin(&items, json_value_of(TEXT("7")));
    cr_expect_not(json_items_next(&items, NULL));
}

Test(json_value, reads_numbers_exactly)
{
    struct json_value list = json_value_of(TEXT("[-9223372036854775808,0.30,99999999999999999999,"
                                                "9999999999999999999999999999999999999999]"));
    struct json_number number = {0};
    int64_t integer = 0;
    cr_expect(json_value_integer(json_value_element(list, 0, NULL), &integer));
    cr_expect_eq(integer, INT64_MIN);
    cr_expect_not(json_value_integer(json_value_element(list, 1, NULL), &integer));
    cr_expect_not(json_value_integer(json_value_element(list, 2, NULL), &integer));
    cr_expect_not(json_value_integer(list, &integer));
    cr_expect(json_value_number(json_value_element(list, 1, NULL), &number));
    cr_expect_eq(number.count, 1);
    cr_expect_eq(number.exponent, -1);
    cr_expect(json_value_number(json_value_element(list, 3, NULL), &number));
    cr_expect_eq(number.count, 40);
    cr_expect_not(json_value_number(list, &number));
}

Test(json_value, unescapes_texts)
{
    char memory[64];
    struct arena arena;
    struct text plain = TEXT("plain");
    arena_init(&arena, memory, sizeof(memory));
    cr_expect_eq(json_unescape(plain, &arena).data, plain.data);
    cr_expect_eq(arena.used, 0);
    expect_text(json_unescape(TEXT("a\\\"\\\\\\n\\u0001\\u20ac\\ud83d\\ude00"), &arena),
                "a\"\\\n\x01\xe2\x82\xac\xf0\x9f\x98\x80");
    /* What is not canonical stands for itself. */
    expect_text(json_unescape(TEXT("\\q\\u00"), &arena), "\\q\\u00");
    expect_text(json_unescape(TEXT("\\"), &arena), "\\");
    cr_expect(json_escaped_equal(TEXT("a\\nb"), TEXT("a\nb")));
    cr_expect_not(json_escaped_equal(TEXT("a\\nb"), TEXT("a\nbc")));
    cr_expect_not(json_escaped_equal(TEXT("a\\nb"), TEXT("a\n")));
    cr_expect_not(json_escaped_equal(TEXT("a\\nb"), TEXT("anb")));
    cr_expect(json_escaped_equal(TEXT(""), TEXT("")));
}

Test(json_value, counts_what_it_walks)
{
    struct json_value list = json_value_of(TEXT("[111,222,333]"));
    struct json_walk walk = {.left = 100};
    expect_text(json_value_text(list, &walk), "[111,222,333]");
    cr_expect_eq(walk.left, 100 - 13);
    cr_expect_eq(json_value_count(list, &walk), 3);
    cr_expect_eq(walk.left, 100 - 13 - 9);
    cr_expect_not(walk.spent);
}

Test(json_value, stops_where_the_walk_is_spent)
{
    struct json_value order = json_value_of(TEXT(ORDER));
    bool found = false;
    for (uint64_t left = 0; left < sizeof(ORDER); left++) {
        struct json_walk walk = {.left = left};
        struct json_value zip = json_value_member(order, TEXT("zip"), &walk);
        cr_expect_eq(walk.spent, json_value_kind(zip) == JSON_KIND_NONE);
        cr_expect_eq(walk.spent, walk.left == 0 && left < sizeof(ORDER));
        found = found || !walk.spent;
        walk = (struct json_walk){.left = left};
        struct text whole = json_value_text(order, &walk);
        cr_expect_eq(whole.size, left >= sizeof(ORDER) - 1 ? sizeof(ORDER) - 1 : 0);
        cr_expect_eq(walk.spent, whole.size == 0);
    }
    cr_expect(found);
    struct json_walk spent = {.left = 50, .spent = true};
    cr_expect_eq(json_value_count(order, &spent), 0);
}

/* Each beginning of a text, in memory of its own so that a sanitizer sees a byte read too far. */
Test(json_value, stops_at_the_end_of_malformed_text)
{
    static const char *const rows[] = {ORDER, "{\"a\": \"b", "[[[[1,2",  "{\"a\":{\"b\":[\"\\u00",
                                       "[}",  "{\"a\":]",    "{\"a\"1}", "[1 2]",
                                       "tru", "-",           "\"\\"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (uint32_t size = 0; size <= strlen(rows[i]); size++) {
            char *copy = malloc(size + 1);
            cr_assert_not_null(copy);
            memcpy(copy, rows[i], size);
            struct text text = {copy, size};
            struct json_value value = json_value_of(text);
            struct json_walk walk = {.left = 1000};
            struct json_number number;
            int64_t integer;
            json_value_text(value, NULL);
            json_value_count(value, &walk);
            json_value_member(value, TEXT("zip"), &walk);
            json_value_element(value, 1, NULL);
            json_value_escaped(value, NULL);
            json_value_number(value, &number);
            json_value_integer(value, &integer);
            cr_expect_not(walk.spent);
            free(copy);
        }
    }
}
