/* SPDX-License-Identifier: Apache-2.0 */
#include "schemas/json/submission_json.h"

#include "base/goods.h"
#include "base/heap_arena.h"
#include "schemas/details.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static struct heap_arena heap;

static void set_up(void)
{
    heap_arena_init(&heap, 4096);
}

static void tear_down(void)
{
    heap_arena_deinit(&heap);
}

TestSuite(schemas_submission_json, .init = set_up, .fini = tear_down);

Test(schemas_submission_json, reads_every_field)
{
    struct order_details details;
    struct error error = {0};
    struct text json =
        TEXT("{\"order_id\": \"536365\", \"customer\": \"17850\", \"currency\": \"GBP\", "
             "\"workflow\": \"order-fulfilment\", \"workflow_version\": 3, "
             "\"lines\": [{\"sku\": \"85123A\", \"description\": \"T-LIGHT \\u00e9\", "
             "\"quantity\": 6, \"unit_price\": \"2.55\"}, "
             "{\"sku\": \"B\", \"quantity\": 1, \"unit_price\": 12}], "
             "\"attributes\": {\"country\": \"UK\", \"empty\": \"\"}, \"priority\": \"high\", "
             "\"reply_to\": \"orders.replies.web\", \"traceparent\": \"00-ab\"}");
    cr_assert(submission_json_read(json, &heap.arena, &details, &error) == ERROR_OK, "%s",
              error.message);
    cr_assert(text_equal(details.order_id, TEXT("536365")));
    cr_assert(text_equal(details.customer, TEXT("17850")));
    cr_assert(text_equal(details.goods->currency, TEXT("GBP")));
    cr_assert(text_equal(details.workflow, TEXT("order-fulfilment")));
    cr_assert(details.workflow_version == 3);
    cr_assert(details.goods->line_count == 2);
    cr_assert(text_equal(details.goods->lines[0].sku, TEXT("85123A")));
    cr_assert(text_equal(details.goods->lines[0].description, TEXT("T-LIGHT \xc3\xa9")));
    cr_assert(details.goods->lines[0].quantity == 6);
    cr_assert(details.goods->lines[0].unit_price.unscaled == 25500);
    cr_assert(text_empty(details.goods->lines[1].description));
    cr_assert(details.goods->lines[1].unit_price.unscaled == 120000);
    cr_assert(details.attribute_count == 2);
    cr_assert(text_equal(details.attributes[0].name, TEXT("country")));
    cr_assert(text_equal(details.attributes[0].value, TEXT("UK")));
    cr_assert(details.priority == PRIORITY_HIGH);
    cr_assert(text_equal(details.reply_to, TEXT("orders.replies.web")));
    cr_assert(text_equal(details.traceparent, TEXT("00-ab")));
}

Test(schemas_submission_json, leaves_missing_fields_empty)
{
    struct order_details details;
    struct error error = {0};
    cr_assert(submission_json_read(TEXT("{}"), &heap.arena, &details, &error) == ERROR_OK);
    cr_assert(text_empty(details.order_id) && text_empty(details.workflow));
    cr_assert(details.goods == NULL && details.attribute_count == 0);
    cr_assert(details.priority == PRIORITY_NORMAL && details.workflow_version == 0);
}

Test(schemas_submission_json, reads_prices_as_numbers_exactly)
{
    static const struct {
        const char *price;
        int64_t unscaled; /* -1: refused */
    } cases[] = {
        {"2.55", 25500},
        {"0.1", 1000},
        {"0.0001", 1},
        {"99999999999", 999999999990000},
        {"0.00001", -1},
        {"1e3", 10000000},
        {"100000000000.5", 1000000000005000},
        {"99999999999999.9999", 999999999999999999},
        {"999999999999999.9999", -1},
        {"1e300", -1},
        {"true", -1},
        {"null", -1},
        {"\"1e3\"", -1},
        {"\"\"", -1},
        {"\"99999999999999.9999\"", 999999999999999999},
        {"\"100000000000000\"", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char json[200];
        struct order_details details;
        struct error error = {0};
        snprintf(json, sizeof(json),
                 "{\"lines\": [{\"sku\": \"a\", \"quantity\": 1, \"unit_price\": %s}]}",
                 cases[i].price);
        enum error_class class = submission_json_read(text_of(json), &heap.arena, &details, &error);
        if (cases[i].unscaled < 0) {
            cr_assert(class == ERROR_REJECT, "%s", cases[i].price);
            cr_assert(strstr(error.message, "lines[0].unit_price") != NULL, "%s", error.message);
        } else {
            cr_assert(class == ERROR_OK, "%s: %s", cases[i].price, error.message);
            cr_assert(details.goods->lines[0].unit_price.unscaled == cases[i].unscaled, "%s",
                      cases[i].price);
        }
    }
}

Test(schemas_submission_json, names_each_mistake)
{
    static const struct {
        const char *json;
        enum error_code code;
        const char *message; /* a part of it */
    } cases[] = {
        {"", CODE_BAD_JSON, "not JSON"},
        {"[]", CODE_BAD_JSON, "expected a JSON object"},
        {"{\"order_id\": 1}", CODE_BAD_FIELD, "order_id: expected a text"},
        {"{\"order_id\": \"1\", \"order_id\": \"2\"}", CODE_BAD_JSON,
         "not JSON: order.order_id occurs twice"},
        {"{\"orderid\": \"1\"}", CODE_UNKNOWN_FIELD, "\"orderid\": did you mean \"order_id\"?"},
        {"{\"something_else\": 1}", CODE_UNKNOWN_FIELD, "unknown field \"something_else\""},
        {"{\"lines\": {}}", CODE_BAD_FIELD, "lines: expected a list"},
        {"{\"lines\": [1]}", CODE_BAD_FIELD, "lines[0]: expected an object"},
        {"{\"lines\": [{\"sku\": \"a\", \"qantity\": 1}]}", CODE_UNKNOWN_FIELD,
         "\"lines[0].qantity\": did you mean \"quantity\"?"},
        {"{\"lines\": [{\"sku\": \"a\", \"quantity\": 1.5}]}", CODE_BAD_FIELD,
         "lines[0].quantity: expected an integer"},
        {"{\"attributes\": {\"a\": 1}}", CODE_BAD_FIELD, "attributes.a: expected a text"},
        {"{\"attributes\": []}", CODE_BAD_FIELD, "attributes: expected an object"},
        {"{\"priority\": \"urgent\"}", CODE_BAD_FIELD, "priority: expected \"high\""},
        {"{\"priority\": 1}", CODE_BAD_FIELD, "priority: expected \"high\""},
        {"{\"workflow_version\": -1}", CODE_BAD_FIELD, "workflow_version: expected"},
        {"{\"workflow_version\": 4294967296}", CODE_BAD_FIELD, "workflow_version: expected"},
        {"{\"order_id\": \"\\u0000\"}", CODE_BAD_JSON, "not JSON"},
        {"{\"order_id\": \"\xff\"}", CODE_BAD_JSON, "not JSON"},
        {"{\"content_hash\": \"\"}", CODE_UNKNOWN_FIELD, "content_hash"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct order_details details;
        struct error error = {0};
        cr_assert(submission_json_read(text_of(cases[i].json), &heap.arena, &details, &error) ==
                      ERROR_REJECT,
                  "%s", cases[i].json);
        cr_assert_eq(error.code, cases[i].code, "%s: %s", cases[i].json, error_name_of(&error));
        cr_assert(strstr(error.message, cases[i].message) != NULL, "%s: %s", cases[i].json,
                  error.message);
    }
}

static enum error_class read_value(const json_t *order, struct order_details *ret_details,
                                   struct error *ret_error)
{
    char *text = json_dumps(order, 0);
    struct text json = arena_text(&heap.arena, text_of(text));
    free(text);
    return submission_json_read(json, &heap.arena, ret_details, ret_error);
}

Test(schemas_submission_json, keeps_the_input_as_it_is)
{
    static const struct {
        const char *json;
        const char *input;
    } cases[] = {
        {"{\"order_id\": \"1\", \"input\": {\"b\": 100.10, \"a\": 12345678901234567890}}",
         "{\"a\":12345678901234567890,\"b\":100.1}"},
        {"{\"input\": [1e2], \"order_id\": \"1\", \"workflow\": \"w\"}", "[100]"},
        {"{\"currency\": \"EUR\", \"input\": \"text\", \"order_id\": \"1\"}", "\"text\""},
        {"{\"input\": 7}", "7"},
        {"{\"order_id\": \"1\", \"input\": null}", ""},
        {"{\"order_id\": \"1\"}", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct order_details details;
        struct error error = {0};
        cr_assert(submission_json_read(text_of(cases[i].json), &heap.arena, &details, &error) ==
                      ERROR_OK,
                  "%s: %s", cases[i].json, error.message);
        cr_expect(text_equal(details.input, text_of(cases[i].input)), "%s: %.*s", cases[i].json,
                  TEXT_ARG(details.input));
        bool has_id = strstr(cases[i].json, "order_id") != NULL;
        cr_expect(text_equal(details.order_id, text_of(has_id ? "1" : "")));
    }
}

Test(schemas_submission_json, bounds_the_number_of_lines)
{
    struct order_details details;
    struct error error = {0};
    char says[64];
    json_t *order = json_object(), *lines = json_array();
    for (int i = 0; i <= ORDER_LINES_MAX; i++)
        json_array_append_new(
            lines, json_pack("{s:s, s:i, s:s}", "sku", "a", "quantity", 1, "unit_price", "1"));
    json_object_set_new(order, "lines", lines);
    cr_assert(read_value(order, &details, &error) == ERROR_REJECT);
    snprintf(says, sizeof(says), "lines has %d elements; the limit is %d", ORDER_LINES_MAX + 1,
             ORDER_LINES_MAX);
    cr_assert(strstr(error.message, says) != NULL, "%s", error.message);
    json_array_remove(lines, 0);
    cr_assert(read_value(order, &details, &error) == ERROR_OK);
    cr_assert(details.goods->line_count == ORDER_LINES_MAX);
    json_decref(order);
}

/* A value that is not valid has one code, whatever its size. */
Test(schemas_submission_json, leaves_limits_to_the_validation_of_values)
{
    struct order_details details;
    struct error error = {0};
    struct text json = TEXT("{\"order_id\": \"x\", \"currency\": \"euro\", \"workflow\": \"w\"}");
    cr_assert(submission_json_read(json, &heap.arena, &details, &error) == ERROR_OK, "%s",
              error.message);
    cr_assert(details_validate_new(&details, &heap.arena, &error) == ERROR_REJECT);
    cr_assert_eq(error.code, CODE_INVALID_ORDER);
}

/* Deep nesting must not reach the stack's end. */
Test(schemas_submission_json, bounds_the_nesting)
{
    struct order_details details;
    struct error error = {0};
    static char json[100001];
    memset(json, '[', sizeof(json) - 1);
    cr_assert(submission_json_read(text_of(json), &heap.arena, &details, &error) == ERROR_REJECT);
}
