/* SPDX-License-Identifier: Apache-2.0 */
/* An input has the shape, or the message names the place and what must be there. */
#include "engine/shape.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define MEMBER(shape_name, shape_kind, may_miss)                                      \
    {                                                                                 \
        .kind = (shape_kind), .optional = (may_miss), .name = TEXT_CONST(shape_name), \
        .escaped = TEXT_CONST(shape_name)                                             \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct shape line_members[] = {
    MEMBER("note", SHAPE_STRING, true),
    MEMBER("quantity", SHAPE_INTEGER, false),
    MEMBER("sku", SHAPE_STRING, false),
};
static const struct shape line = {
    .kind = SHAPE_MAP, .members = line_members, .member_count = 3, .required_count = 2};
/* {amount: number, items: [{sku: string, quantity: integer, note: string?}], gift: boolean?,
 *  extra: any, "a\tb": number?} */
static const struct shape order_members[] = {
    {.kind = SHAPE_NUMBER,
     .optional = true,
     .name = TEXT_CONST("a\tb"),
     .escaped = TEXT_CONST("a\\tb")},
    MEMBER("amount", SHAPE_NUMBER, false),
    MEMBER("extra", SHAPE_ANY, false),
    MEMBER("gift", SHAPE_BOOLEAN, true),
    {.kind = SHAPE_LIST,
     .name = TEXT_CONST("items"),
     .escaped = TEXT_CONST("items"),
     .element = &line},
};
static const struct shape order = {
    .kind = SHAPE_MAP, .members = order_members, .member_count = 5, .required_count = 3};

static void expect(const char *input, const char *message)
{
    struct error error = {0};
    enum error_class class = shape_check(&order, text_of(input), &error);
    cr_expect_eq(class, message == NULL ? ERROR_OK : ERROR_REJECT, "%s: %s", input, error.message);
    cr_expect_str_eq(error.message, message != NULL ? message : "");
    if (message != NULL)
        cr_expect_eq(error.code, CODE_INVALID_INPUT);
}

Test(shape, takes_what_has_it)
{
    expect("{\"amount\":1,\"extra\":null,\"items\":[]}", NULL);
    expect("{\"a\\tb\":1,\"amount\":-0.5,\"extra\":{\"x\":[[]]},\"gift\":false,\"items\":["
           "{\"quantity\":2,\"sku\":\"a\"},{\"note\":\"\",\"quantity\":99999999999999999999,"
           "\"sku\":\"b\"}]}",
           NULL);
}

Test(shape, names_the_place_of_a_wrong_type)
{
    expect("[]", "input is a list; it must be a map: {...}");
    expect("", "input is missing; it must be a map: {...}");
    expect("{\"amount\":\"1\",\"extra\":1,\"items\":[]}",
           "input.amount is a text; it must be a number");
    expect("{\"amount\":null,\"extra\":1,\"items\":[]}",
           "input.amount is null; it must be a number");
    expect("{\"amount\":1,\"extra\":1,\"gift\":null,\"items\":[]}",
           "input.gift is null; it must be true or false");
    expect("{\"a\\tb\":true,\"amount\":1,\"extra\":1,\"items\":[]}",
           "input[\"a\\tb\"] is a boolean; it must be a number");
    expect("{\"amount\":1,\"extra\":1,\"items\":{}}",
           "input.items is a map; it must be a list: [...]");
    expect("{\"amount\":1,\"extra\":1,\"items\":[{\"quantity\":1,\"sku\":\"a\"},"
           "{\"quantity\":1,\"sku\":\"a\"},{\"quantity\":\"1\",\"sku\":\"a\"}]}",
           "input.items[2].quantity is a text; it must be an integer");
    expect("{\"amount\":1,\"extra\":1,\"items\":[{\"quantity\":2.5,\"sku\":\"a\"}]}",
           "input.items[0].quantity is 2.5; it must be an integer");
}

Test(shape, names_a_member_that_is_missing)
{
    expect("{}", "input.amount is missing; it must be a number");
    expect("{\"amount\":1,\"items\":[]}", "input.extra is missing; it must be given");
    expect("{\"amount\":1,\"extra\":1,\"items\":[{\"sku\":\"a\"}]}",
           "input.items[0].quantity is missing; it must be an integer");
}

Test(shape, suggests_a_name_for_an_unknown_member)
{
    expect("{\"amuont\":1,\"extra\":1,\"items\":[]}",
           "input.amuont is unknown: did you mean \"amount\"?");
    expect("{\"amount\":1,\"extra\":1,\"items\":[{\"quantity\":1,\"size\":3,\"sku\":\"a\"}]}",
           "input.items[0].size is unknown: the workflow's InputShape does not have it");
}

Test(shape, takes_anything_for_any)
{
    static const struct shape any = {.kind = SHAPE_ANY};
    struct error error = {0};
    cr_expect_eq(shape_check(&any, TEXT("null"), &error), ERROR_OK);
    cr_expect_eq(shape_check(&any, TEXT(""), &error), ERROR_OK);
    cr_expect_str_eq(shape_kind_name(SHAPE_BOOLEAN), "boolean");
}

/* Canonical text is what it relies on, and a log may hold anything. */
Test(shape, survives_text_that_is_not_canonical)
{
    static const char *const rows[] = {"{\"amount\":1,\"amount\":1,\"amount\":1,\"amount\":1}",
                                       "{\"amount\":1,\"extra",
                                       "{\"a",
                                       "{\"amount\":-,\"extra\":1,\"items\":[{\"quantity\":-}]}",
                                       "{\"items\":[[[[",
                                       "[",
                                       "tru"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct error error = {0};
        shape_check(&order, text_of(rows[i]), &error);
        shape_check(&line, text_of(rows[i]), &error);
    }
}

Test(shape, checks_the_largest_input_in_a_moment)
{
    enum { SIZE = 256 * 1024 };
    static char input[SIZE];
    struct error error = {0};
    uint32_t size = (uint32_t)snprintf(input, SIZE, "{\"amount\":1,\"extra\":1,\"items\":[");
    while (size + 64 < SIZE)
        size += (uint32_t)snprintf(input + size, 64, "{\"quantity\":1,\"sku\":\"a\"},");
    size += (uint32_t)snprintf(input + size, 64, "{\"quantity\":1.5,\"sku\":\"a\"}]}");
    cr_expect_eq(shape_check(&order, (struct text){input, size}, &error), ERROR_REJECT);
    cr_expect(string_ends_with(error.message, "].quantity is 1.5; it must be an integer"));
}
