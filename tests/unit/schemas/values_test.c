/* SPDX-License-Identifier: Apache-2.0 */
/* Validation and identity of orders; UTF-8. */
#include "base/goods.h"
#include "base/heap_arena.h"
#include "base/utf8.h"
#include "schemas/details.h"
#include "tests/unit/schemas/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- UTF-8 ---- */

Test(schemas_values, validates_utf8_as_in_the_rfc)
{
    static const char *const valid[] = {
        "",
        "plain",
        "\x7f",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "........\xc3\xa9........",
    };
    static const char *const invalid[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2x",
        "\xe0\x9f\xbf",
        "\xe1\x80",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf1\x80\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "1234567\xc3",
        "12345678\xe2\x82",
    };
    for (uint32_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
        cr_assert(utf8_valid(text_of(valid[i])), "%u", i);
    for (uint32_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
        cr_assert_not(utf8_valid(text_of(invalid[i])), "%u", i);
    cr_assert(utf8_printable(TEXT("caf\xc3\xa9 \xc2\xa0")));
    cr_assert_not(utf8_printable(TEXT("tab\t")));
    cr_assert_not(utf8_printable(TEXT("nul\0")));
    cr_assert_not(utf8_printable(TEXT("\x7f")));
    cr_assert_not(utf8_printable(TEXT("\xc2\x85")));
}

/* Texts are read in words: of every size, and nothing behind them. */
Test(schemas_values, finds_an_invalid_byte_at_every_place)
{
    enum { SIZE_MAX_TRIED = 40 };
    for (uint32_t size = 1; size <= SIZE_MAX_TRIED; size++) {
        char *bytes = malloc(size);
        cr_assert_not_null(bytes);
        memset(bytes, 'x', size);
        struct text text = {bytes, size};
        cr_assert(utf8_valid(text), "%u", size);
        for (uint32_t at = 0; at < size; at++) {
            bytes[at] = '\x80';
            cr_assert_not(utf8_valid(text), "%u of %u", at, size);
            bytes[at] = 'x';
        }
        free(bytes);
    }
}

Test(schemas_values, sanitizes_foreign_texts)
{
    struct kit kit;
    kit_init(&kit);
    struct arena *arena = &kit.memory.arena;
    struct text good = TEXT("as it is \xe2\x82\xac");
    struct text same = utf8_clean(good, 100, arena);
    cr_assert_eq(same.data, good.data);
    cr_assert(text_equal(utf8_clean(good, 11, arena), TEXT("as it is ")));
    cr_assert(text_equal(utf8_clean(good, 12, arena), good));
    cr_assert(text_equal(utf8_clean(TEXT("\xff"
                                         "a\0\xe2\x82"
                                         "b"),
                                    100, arena),
                         TEXT("?a???b")));
    cr_assert(text_equal(utf8_clean(TEXT("\xe2\x82"), 100, arena), TEXT("??")));
    cr_assert(text_empty(utf8_clean(TEXT("abc"), 0, arena)));
    cr_assert(text_empty(utf8_clean(TEXT(""), 5, arena)));
    kit_deinit(&kit);
}

/* ---- validation ---- */

static struct order_line lines[2];
static struct goods goods;
static struct attribute attributes[ORDER_ATTRIBUTES_MAX + 1];

static struct order_details valid_details(void)
{
    lines[0] = (struct order_line){TEXT("85123A"), TEXT("HEART"), 6, {25500}};
    lines[1] = (struct order_line){TEXT("71053"), TEXT(""), 1, {0}};
    goods = (struct goods){TEXT("GBP"), lines, 2};
    attributes[0] = (struct attribute){TEXT("b"), TEXT("2\n")};
    attributes[1] = (struct attribute){TEXT("a"), TEXT("1")};
    return (struct order_details){
        .order_id = TEXT("order 1"),
        .customer = TEXT("17850"),
        .goods = &goods,
        .attributes = attributes,
        .attribute_count = 2,
        .priority = PRIORITY_NORMAL,
        .reply_to = TEXT("orders.replies.shop"),
        .workflow = TEXT("order-fulfilment"),
        .traceparent = TEXT("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    };
}

static struct arena *scratch(void)
{
    static char memory[2 * 1024 * 1024];
    static struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    return &arena;
}

static void refuses(struct order_details details, const char *says)
{
    struct error error = {0};
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_REJECT, "%s", says);
    cr_assert_eq(error.code, CODE_INVALID_ORDER);
    cr_assert_not_null(strstr(error.message, says), "'%s' does not say '%s'", error.message, says);
    cr_assert_null(strchr(error.message, '\n'));
}
#define REFUSES(says, ...)                              \
    do {                                                \
        struct order_details details = valid_details(); \
        __VA_ARGS__;                                    \
        refuses(details, says);                         \
    } while (0)

Test(schemas_values, accepts_a_valid_order_and_sorts_its_attributes)
{
    struct order_details details = valid_details();
    struct error error = {0};
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_OK, "%s", error.message);
    cr_assert(text_equal(attributes[0].name, TEXT("a")));
    cr_assert(text_equal(attributes[1].value, TEXT("2\n")));
    details = valid_details();
    details.customer = details.reply_to = details.traceparent = TEXT("");
    goods.line_count = details.attribute_count = 0;
    details.order_id = TEXT("\xc3\xa9 \xf0\x9f\x9a\x80 #+:");
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_OK, "%s", error.message);
}

Test(schemas_values, refuses_ids_of_new_orders_that_a_command_or_a_url_misreads)
{
    static const char *const bad[] = {"-", "--yes", "-1", ".", "..", "a~b", "~", "a/b", ""};
    static const char *const good[] = {"1-", "a--yes",          "...",
                                       ".1", "\xe2\x80\x93yes", "nightly@2026-11-24T02:00Z"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct order_details details = valid_details();
        struct error error = {0};
        details.order_id = text_of(bad[i]);
        cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_REJECT, "%s", bad[i]);
        cr_assert_eq(error.code, CODE_INVALID_ORDER);
        bool was_accepted = i < 7;
        cr_assert_eq(details_validate(&details, scratch(), &error) == ERROR_OK, was_accepted, "%s",
                     bad[i]);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        cr_assert_eq(order_id_validate_new(text_of(good[i]), NULL), ERROR_OK, "%s", good[i]);
}

Test(schemas_values, rejects_an_invalid_order_with_a_reason)
{
    static char x[ATTRIBUTE_VALUE_BYTES_MAX + 1];
    memset(x, 'x', sizeof(x));
    REFUSES("order_id", details.order_id = TEXT(""));
    REFUSES("129 bytes", details.order_id = ((struct text){x, 129}));
    REFUSES("order_id", details.order_id = TEXT("a/b"));
    REFUSES("order_id", details.order_id = TEXT("a\nb"));
    REFUSES("order_id", details.order_id = TEXT("a\0b"));
    REFUSES("order_id", details.order_id = TEXT("\xff"));
    REFUSES("customer", details.customer = ((struct text){x, CUSTOMER_BYTES_MAX + 1}));
    REFUSES("customer", details.customer = TEXT("\t"));
    REFUSES("currency", goods.currency = TEXT("eur"));
    REFUSES("currency", goods.currency = TEXT(""));
    REFUSES("currency", goods.currency = TEXT("EURO"));
    REFUSES("workflow", details.workflow = TEXT(""));
    REFUSES("workflow", details.workflow = TEXT("a b"));
    REFUSES("workflow", details.workflow = ((struct text){x, NAME_BYTES_MAX + 1}));
    REFUSES("workflow_version", details.workflow_version = 1u << 31);
    REFUSES("reply_to", details.reply_to = TEXT("a/b"));
    REFUSES("reply_to", details.reply_to = ((struct text){x, TOPIC_BYTES_MAX + 1}));
    REFUSES("traceparent", details.traceparent = ((struct text){x, TRACEPARENT_BYTES_MAX + 1}));
    REFUSES("priority", details.priority = PRIORITY_COUNT);
    REFUSES("lines", goods.line_count = ORDER_LINES_MAX + 1);
    REFUSES("lines[1].sku", lines[1].sku = TEXT(""));
    REFUSES("lines[1].sku", lines[1].sku = ((struct text){x, SKU_BYTES_MAX + 1}));
    REFUSES("lines[0].description", lines[0].description = TEXT("\x01"));
    REFUSES("lines[0].quantity is 0;", lines[0].quantity = 0);
    REFUSES("lines[0].quantity is -6;", lines[0].quantity = -6);
    REFUSES("lines[0].quantity", lines[0].quantity = INT64_MAX);
    REFUSES("lines[1].unit_price", lines[1].unit_price.unscaled = -1);
    REFUSES("lines[1].unit_price", lines[1].unit_price.unscaled = DECIMAL_UNSCALED_MAX + 1);
    REFUSES("lines[0]: the order's total", lines[0].unit_price.unscaled = DECIMAL_UNSCALED_MAX);
    REFUSES("\"reeve.\", as reeve.root does", attributes[1].name = TEXT("reeve.root"));
    REFUSES("two attributes are named b", attributes[1].name = TEXT("b"));
    REFUSES("attributes", attributes[1].name = TEXT(""));
    REFUSES("attributes", attributes[1].name = ((struct text){x, ATTRIBUTE_NAME_BYTES_MAX + 1}));
    REFUSES("attributes.a", attributes[1].value = ((struct text){x, sizeof(x)}));
    REFUSES("attributes.a", attributes[1].value = TEXT("\xff"));
    REFUSES("attributes.a", attributes[1].value = TEXT("a\0b"));
    REFUSES("65 attributes", details.attribute_count = ORDER_ATTRIBUTES_MAX + 1);
}

Test(schemas_values, makes_the_input_canonical)
{
    struct order_details details = valid_details();
    struct error error = {0};
    details.input = TEXT(" {\"b\": 100.10, \"a\": [1e2]}");
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_OK, "%s", error.message);
    cr_assert(text_equal(details.input, TEXT("{\"a\":[100],\"b\":100.1}")));
    details.input = TEXT("null");
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_OK);
    cr_assert_eq(details.input.size, 0, "leaving it out is the same");
}

Test(schemas_values, rejects_an_input_that_is_not_json)
{
    REFUSES("input.a[1] is not valid JSON (byte 8)", details.input = TEXT("{\"a\":[1,}"));
    REFUSES("input.a occurs twice", details.input = TEXT("{\"a\":1,\"a\":2}"));
    REFUSES("input has a number of more than 40 digits", details.input = TEXT("1e40"));
}

Test(schemas_values, limits_the_input)
{
    static char x[ORDER_INPUT_BYTES_READ_MAX + 1];
    struct error error = {0};
    struct order_details details = valid_details();
    memset(x, 'x', sizeof(x));
    x[0] = x[ORDER_INPUT_BYTES_MAX - 1] = '"';
    details.input = (struct text){x, ORDER_INPUT_BYTES_MAX};
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_OK, "%s", error.message);
    x[ORDER_INPUT_BYTES_MAX - 1] = 'x';
    x[ORDER_INPUT_BYTES_MAX] = '"';
    details.input.size++;
    refuses(details, "input is too long; the limit is 262144 bytes");
    cr_assert_eq(details_validate(&details, scratch(), &error), ERROR_OK, "%s", error.message);
    memcpy(x, "{\"a\":\"", 6); /* where the limit is passed does not matter */
    memcpy(x + ORDER_INPUT_BYTES_MAX - 1, "\"}", 2);
    refuses(details, "input is too long; the limit is 262144 bytes");
}

Test(schemas_values, asks_for_a_currency_only_where_there_are_prices)
{
    struct order_details details = valid_details();
    struct error error = {0};
    goods.currency = TEXT("");
    refuses(details, "currency is missing");
    goods.line_count = 0;
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_OK, "%s", error.message);
    details.goods = NULL;
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_OK, "%s", error.message);
    details = valid_details();
    goods.line_count = 0;
    goods.currency = TEXT("eur");
    refuses(details, "currency must be three upper-case letters");
}

Test(schemas_values, rejects_an_order_that_is_too_large)
{
    static struct order_line many[ORDER_LINES_MAX];
    static char x[DESCRIPTION_BYTES_MAX];
    memset(x, 'x', sizeof(x));
    for (uint32_t i = 0; i < ORDER_LINES_MAX; i++)
        many[i] = (struct order_line){TEXT("sku"), {x, 100}, 1, {1}};
    struct order_details details = valid_details();
    goods.lines = many;
    goods.line_count = ORDER_LINES_MAX;
    struct error error = {0};
    cr_assert_eq(details_validate_new(&details, scratch(), &error), ERROR_OK, "%s", error.message);
    for (uint32_t i = 0; i < ORDER_LINES_MAX; i++)
        many[i].description.size = DESCRIPTION_BYTES_MAX;
    refuses(details, "more than 655360 bytes");
}

/* ---- sub-orders ---- */

static const struct order_parent valid_parent = {.order_id = TEXT_CONST("o-1"),
                                                 .accepted_offset = 7,
                                                 .step = TEXT_CONST("Waves"),
                                                 .item = 3,
                                                 .generation = 1,
                                                 .root = TEXT_CONST("o-0"),
                                                 .depth = 2,
                                                 .quota = 9};

/* As schedulers submit it. */
static struct order_details valid_suborder(void)
{
    struct order_details details = valid_details();
    details.order_id = TEXT("o-1~Waves~3~~1");
    details.workflow = TEXT("import/Waves");
    details.parent = &valid_parent;
    return details;
}

static void check_suborder(struct order_details details, const char *refused)
{
    struct error error;
    struct heap_arena heap;
    heap_arena_init(&heap, 4096);
    enum error_class class = details_validate(&details, &heap.arena, &error);
    cr_assert_eq(class, refused == NULL ? ERROR_OK : ERROR_REJECT, "%s", refused);
    cr_assert(refused == NULL || strstr(error.message, refused) != NULL, "%s", error.message);
    cr_assert_eq(details_validate_new(&details, &heap.arena, &error), ERROR_REJECT,
                 "no one else submits them");
    heap_arena_deinit(&heap);
}

#define REFUSES_SUBORDER(reason, ...)                    \
    do {                                                 \
        struct order_details details = valid_suborder(); \
        struct order_parent parent = valid_parent;       \
        details.parent = &parent;                        \
        __VA_ARGS__;                                     \
        check_suborder(details, reason);                 \
    } while (0)

Test(schemas_values, takes_suborders_from_schedulers_alone)
{
    static char x[BODY_NAME_BYTES_MAX + 1];
    memset(x, 'x', sizeof(x));
    check_suborder(valid_suborder(), NULL);
    REFUSES_SUBORDER(NULL, details.workflow = TEXT("import/Waves/Load"));
    REFUSES_SUBORDER(NULL, parent.item = -1);
    REFUSES_SUBORDER("workflow", details.workflow = TEXT("import//Waves"));
    REFUSES_SUBORDER("workflow", details.workflow = TEXT("/Waves"));
    REFUSES_SUBORDER("workflow", details.workflow = TEXT("import/"));
    REFUSES_SUBORDER("workflow", details.workflow = ((struct text){x, BODY_NAME_BYTES_MAX + 1}));
    REFUSES_SUBORDER("workflow", details.workflow = ((struct text){x, NAME_BYTES_MAX + 1}));
    REFUSES_SUBORDER("with '/' between them", details.workflow = TEXT("import/W w"));
    REFUSES("workflow must be 1 to 64 letters", details.workflow = TEXT("import/Waves"));
    REFUSES_SUBORDER("parent", parent.order_id = TEXT(""));
    REFUSES_SUBORDER("parent", parent.root = TEXT("a/b"));
    REFUSES_SUBORDER("parent.step", parent.step = TEXT("a b"));
    REFUSES_SUBORDER("parent.item", parent.item = -2);
    REFUSES_SUBORDER("parent.item", parent.item = SUBORDERS_MAX);
    REFUSES_SUBORDER("accepted_offset", parent.accepted_offset = -1);
    REFUSES_SUBORDER("parent.depth", parent.depth = 0);
    REFUSES_SUBORDER("parent.depth", parent.depth = ORDER_DEPTH_MAX);
    REFUSES_SUBORDER("quota", parent.quota = TREE_SUBORDERS_MAX + 1);
}

Test(schemas_values, refuses_ids_of_suborders_from_outside)
{
    struct error error;
    cr_assert_eq(order_id_validate(TEXT("o-1~Waves"), &error), ERROR_OK);
    cr_assert_eq(order_id_validate_new(TEXT("o-1~Waves"), &error), ERROR_REJECT);
    cr_assert_not_null(strstr(error.message, "'~'"), "%s", error.message);
}

/* ---- identity ---- */

static struct content_hash hash_of(struct order_details details)
{
    return details_content_hash(&details);
}

static bool same_hash(struct content_hash a, struct content_hash b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Logs contain this hash permanently, so it must never change. */
Test(schemas_values, keeps_the_identity_of_an_order_across_versions)
{
    static const uint8_t expected[16] = {0x01, 0x6b, 0x1a, 0x4f, 0x8d, 0x18, 0x35, 0x5b,
                                         0xf2, 0x1a, 0x86, 0xa1, 0xd7, 0x40, 0x30, 0xf4};
    struct content_hash hash = hash_of(valid_details());
    char hex[33];
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash.bytes[i]);
    cr_assert_eq(memcmp(hash.bytes, expected, 16), 0, "%s", hex);
}

Test(schemas_values, derives_the_identity_from_content_and_not_from_form)
{
    struct content_hash hash = hash_of(valid_details());
    struct order_details details = valid_details();
    cr_assert(same_hash(hash, hash_of(details)));
    struct attribute first = attributes[0]; /* the order of a map does not matter */
    attributes[0] = attributes[1];
    attributes[1] = first;
    cr_assert(same_hash(hash, hash_of(details)));
    cr_assert(text_equal(attributes[0].name, TEXT("a")), "not sorted in place");
    details = valid_details();
    details.traceparent = TEXT("another try");
    details.content_hash = hash;
    cr_assert(same_hash(hash, hash_of(details)));
    cr_assert(decimal_parse(TEXT("2.550"), &lines[0].unit_price));
    cr_assert(same_hash(hash, hash_of(details)));
}

static bool same_parent(struct order_parent other)
{
    struct order_details details = valid_suborder();
    struct content_hash hash = hash_of(details);
    details.parent = &other;
    return same_hash(hash, hash_of(details));
}

/* Another parent with the same id is another one; where the tree ends says nothing of the order. */
Test(schemas_values, includes_the_parent_in_the_identity)
{
    struct order_details details = valid_suborder();
    struct content_hash hash = hash_of(details);
    details.parent = NULL;
    cr_assert_not(same_hash(hash, hash_of(details)));
    struct order_parent parents[] = {valid_parent, valid_parent, valid_parent, valid_parent,
                                     valid_parent};
    parents[0].order_id = TEXT("o-2");
    parents[1].accepted_offset = 8;
    parents[2].step = TEXT("Wave");
    parents[3].item = -1;
    parents[4].generation = 0;
    for (int i = 0; i < 5; i++)
        cr_assert_not(same_parent(parents[i]), "%d", i);
    struct order_parent elsewhere = valid_parent;
    elsewhere.root = TEXT("o-9");
    elsewhere.depth = 3;
    elsewhere.quota = 1;
    cr_assert(same_parent(elsewhere));
}

#define DIFFERS(...)                                                    \
    do {                                                                \
        struct content_hash hash = hash_of(valid_details());            \
        struct order_details details = valid_details();                 \
        __VA_ARGS__;                                                    \
        cr_assert_not(same_hash(hash, hash_of(details)), #__VA_ARGS__); \
    } while (0)

Test(schemas_values, includes_every_field_in_the_identity)
{
    DIFFERS(details.order_id = TEXT("order 2"));
    DIFFERS(details.customer = TEXT("17851"));
    DIFFERS(details.input = TEXT("1"));
    DIFFERS(details.input = TEXT("\"1\""));
    DIFFERS(details.customer = TEXT(""));
    DIFFERS(goods.currency = TEXT("EUR"));
    DIFFERS(details.priority = PRIORITY_HIGH);
    DIFFERS(details.priority = PRIORITY_LOW);
    DIFFERS(details.reply_to = TEXT(""));
    DIFFERS(details.workflow = TEXT("other"));
    DIFFERS(details.workflow_version = 1);
    DIFFERS(goods.line_count = 1);
    DIFFERS(lines[0].sku = TEXT("85123B"));
    DIFFERS(lines[0].description = TEXT(""));
    DIFFERS(lines[0].quantity = 7);
    DIFFERS(lines[0].unit_price.unscaled = 25501);
    DIFFERS(struct order_line first = lines[0]; lines[0] = lines[1]; lines[1] = first);
    DIFFERS(details.attribute_count = 1);
    DIFFERS(attributes[0].name = TEXT("c"));
    DIFFERS(attributes[0].value = TEXT("3"));
    /* A byte that moves from one field to the next changes the identity. */
    DIFFERS(attributes[0] = ((struct attribute){TEXT("b2"), TEXT("\n")}));
}
