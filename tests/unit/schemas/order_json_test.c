/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of orders, including hostile ones. */
#include "schemas/json/order_json.h"

#include "base/goods.h"
#include "tests/unit/schemas/json_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

Test(schemas_order_json, shows_every_field)
{
    const struct order *order = sample_record("OrderRow");
    json_t *json = json_kit_sent(order_json(order, 4));
    json_kit_text(json, "order_id", "536365");
    json_kit_text(json, "state", "Error");
    json_kit_text(json, "error_from", "Compensating");
    json_kit_text(json, "reason_by", "ann");
    json_kit_text(json, "currency", "GBP");
    json_kit_text(json, "content_hash", "0102030405060708090a0b0c0d0e0f10");
    json_kit_int(json, "version", 101);
    json_kit_int(json, "partition", 4);
    json_kit_text(json, "accepted_at", "2023-11-14T22:13:20.024Z");
    const json_t *line = json_array_get(json_object_get(json, "lines"), 0);
    json_kit_text(line, "unit_price", "2.55");
    json_kit_int(line, "quantity", 6);
    json_kit_text(json_object_get(json, "attributes"), "gift note", "line one\nline two");
    const json_t *step = json_array_get(json_object_get(json, "steps"), 1);
    json_kit_text(step, "step", "TakePayment");
    json_kit_text(step, "direction", "undo");
    json_kit_text(step, "effect", "unknown");
    json_kit_text(step, "undo_effect", "applied");
    json_kit_text(step, "locked_by", "scheduler-1");
    json_kit_text(step, "error_name", "Declined");
    cr_assert_eq(json_array_size(json_object_get(step, "output")), 1);
    cr_assert_eq(json_object_size(json_object_get(step, "input")), 1);
    cr_assert(json_is_true(json_object_get(json_object_get(json, "input"), "express")));
    cr_assert(json_is_true(json_object_get(json_object_get(json, "output"), "paid")));
    json_kit_text(json, "output_problem", "no member x");
    json_kit_int(step, "attempt", 91);
    json_kit_int(step, "failure_count", 92);
    json_kit_int(step, "undo_generation", 94);
    json_kit_text(step, "retry_at", "2023-11-14T22:13:20.021Z");
    cr_assert(json_is_null(json_object_get(step, "due_at")));
    cr_assert_eq(json_array_size(json_object_get(step, "retries_used")), 4);
    const json_t *first = json_array_get(json_object_get(json, "steps"), 0);
    cr_assert(json_is_null(json_object_get(first, "locked_by")));
    cr_assert(json_is_null(json_object_get(first, "complete_by")));
    json_decref(json);
}

Test(schemas_order_json, shows_hostile_texts_as_strings)
{
    static const struct {
        struct text text;
        const char *expected; /* NULL: the same */
    } cases[] = {
        {{"</script><script>alert(1)", 25}, NULL},
        {{"\"},{\"state\":\"Processed\"", 23}, NULL},
        {{"a\\\"b\r\n\t\x01\x1f\x7f", 10}, NULL},
        {{"\xe2\x80\xa8\xe2\x80\xae", 6}, NULL}, /* line separator, right-to-left override */
        {{"\xff\xfe", 2}, "??"},
        {{"caf\xe9", 4}, "caf?"},
        {{"\xc0\xaf\xed\xa0\x80", 5}, "?????"}, /* overlong, surrogate */
        {{"half \xf0\x9f\x9a", 8}, "half ???"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct step step = {.name = cases[i].text, .output = cases[i].text};
        struct order order = {.details = {.order_id = cases[i].text, .workflow = TEXT("w")},
                              .steps = &step,
                              .step_count = 1,
                              .reason = cases[i].text};
        char same[64];
        memcpy(same, cases[i].text.data, cases[i].text.size);
        same[cases[i].text.size] = '\0';
        const char *expected = cases[i].expected != NULL ? cases[i].expected : same;
        json_t *json = json_kit_sent(order_json(&order, 0));
        json_kit_text(json, "order_id", expected);
        json_kit_text(json, "reason", expected);
        json_kit_text(json_array_get(json_object_get(json, "steps"), 0), "output", expected);
        json_decref(json);
    }
}

Test(schemas_order_json, summarizes_the_steps_in_progress_until_the_order_ends)
{
    struct step steps[] = {
        {.name = TEXT("Reserve"), .state = STEP_PROCESSED, .attempt = 1},
        {.name = TEXT("Pay"), .state = STEP_PROCESSING, .attempt = 2},
        {.name = TEXT("Pack"), .state = STEP_ERROR, .attempt = 3},
        {.name = TEXT("Ship"), .state = STEP_PENDING},
        {.name = TEXT("Day"), .state = STEP_WAITING, .wait = {.retry_at = INT64_C(1700000000021)}}};
    struct order order = {
        .details = {.order_id = TEXT("17"), .goods = &(struct goods){.line_count = 5}},
        .state = ORDER_PROCESSING,
        .steps = steps,
        .step_count = 5};
    json_t *json = json_kit_sent(order_json_summary(&order, 2));
    const json_t *active = json_object_get(json, "active_steps");
    json_kit_int(json, "partition", 2);
    json_kit_int(json, "line_count", 5);
    cr_assert(json_is_null(json_object_get(json, "customer")));
    cr_assert_null(json_object_get(json, "steps"));
    cr_assert_eq(json_array_size(active), 3);
    json_kit_text(json_array_get(active, 0), "step", "Pay");
    json_kit_int(json_array_get(active, 0), "attempt", 2);
    json_kit_text(json_array_get(active, 1), "step", "Pack");
    json_kit_text(json_array_get(active, 1), "state", "Error");
    json_kit_text(json_array_get(active, 2), "state", "Waiting");
    json_kit_text(json_array_get(active, 2), "due_at", "2023-11-14T22:13:20.021Z");
    cr_assert(json_is_null(json_object_get(json_array_get(active, 2), "retry_at")));
    json_decref(json);
    order.state = ORDER_COMPENSATED;
    json = json_kit_sent(order_json_summary(&order, 2));
    cr_assert_eq(json_array_size(json_object_get(json, "active_steps")), 0);
    json_decref(json);
}

Test(schemas_order_json, says_what_steps_wait_for_until_the_order_ends)
{
    static const struct text options[] = {TEXT_CONST("approve"), TEXT_CONST("decline")};
    static const struct awaiting approval = {.group = TEXT_CONST("managers"),
                                             .options = {options, 2},
                                             .question = TEXT_CONST("<b>200</b> EUR?")};
    static const struct awaiting early = {.payload = TEXT_CONST("1"), .signals = 1};
    static const struct awaiting anything;
    struct step steps[] = {
        {.name = TEXT("Approve"),
         .state = STEP_WAITING,
         .wait = {.retry_at = INT64_C(1700000000021)},
         .awaiting = &approval},
        {.name = TEXT("Later"), .state = STEP_PENDING, .awaiting = &early},
        {.name = TEXT("Delivered"), .state = STEP_WAITING, .awaiting = &anything},
        {.name = TEXT("Day"), .state = STEP_WAITING, .wait = {.retry_at = INT64_C(1700000000021)}}};
    static const char *const expected[] = {
        "{\"step\":\"Approve\",\"for\":\"signal\",\"due_at\":\"2023-11-14T22:13:20.021Z\","
        "\"group\":\"managers\",\"question\":\"<b>200</b> EUR?\","
        "\"options\":[\"approve\",\"decline\"]}",
        "{\"step\":\"Delivered\",\"for\":\"signal\",\"due_at\":null,\"group\":null,"
        "\"question\":null,\"options\":[]}",
        "{\"step\":\"Day\",\"for\":\"time\",\"due_at\":\"2023-11-14T22:13:20.021Z\","
        "\"group\":null,\"question\":null,\"options\":[]}"};
    struct order order = {.details = {.order_id = TEXT("17")},
                          .state = ORDER_PROCESSING,
                          .steps = steps,
                          .step_count = 4};
    json_t *(*const shows[])(const struct order *, int32_t) = {order_json, order_json_summary};
    for (size_t shown = 0; shown < 2; shown++) {
        order.state = ORDER_PROCESSING;
        json_t *json = json_kit_sent(shows[shown](&order, 2));
        const json_t *waits = json_object_get(json, "waiting_for");
        cr_expect_eq(json_array_size(waits), 3);
        for (size_t i = 0; i < 3; i++) {
            char *text = json_dumps(json_array_get(waits, i), JSON_COMPACT);
            cr_expect_str_eq(text, expected[i]);
            free(text);
        }
        json_decref(json);
        order.state = ORDER_COMPENSATED;
        json = json_kit_sent(shows[shown](&order, 2));
        cr_expect_eq(json_array_size(json_object_get(json, "waiting_for")), 0);
        json_decref(json);
    }
}

Test(schemas_order_json, names_the_parent_of_a_suborder)
{
    struct order_parent parent = {TEXT("o~W~3"), 4711, TEXT("Load"), 12, 3, TEXT("o"), 2, 99};
    struct order order = {.details = {.order_id = TEXT("o~W~3~Load~12~~3"), .parent = &parent}};
    json_t *json = json_kit_sent(order_json(&order, 0));
    const json_t *shown = json_object_get(json, "parent");
    json_kit_text(shown, "order_id", "o~W~3");
    json_kit_text(shown, "step", "Load");
    json_kit_int(shown, "item", 12);
    json_kit_int(shown, "generation", 3);
    json_kit_text(shown, "root", "o");
    json_kit_int(shown, "depth", 2);
    cr_assert_eq(json_object_size(shown), 6);
    json_decref(json);
    parent.item = -1;
    json = json_kit_sent(order_json(&order, 0));
    cr_assert(json_is_null(json_object_get(json_object_get(json, "parent"), "item")));
    json_decref(json);
    order.details.parent = NULL;
    json = json_kit_sent(order_json(&order, 0));
    cr_assert(json_is_null(json_object_get(json, "parent")));
    json_decref(json);
}

static void expect_suborders(const struct order *order, const char *expected)
{
    json_t *json = json_kit_sent(order_json(order, 0));
    const json_t *step = json_array_get(json_object_get(json, "steps"), 0);
    char *text = json_dumps(json_object_get(step, "suborders"), JSON_COMPACT | JSON_ENCODE_ANY);
    cr_expect_str_eq(text, expected);
    free(text);
    json_decref(json);
}

/* Each item is in one count; what can start no more is left out. */
Test(schemas_order_json, counts_the_suborders_of_a_step)
{
    struct suborder_item items[] = {{.state = ITEM_SUBMITTED}, {.state = ITEM_HELD},
                                    {.state = ITEM_FINAL},     {.state = ITEM_FINAL},
                                    {.state = ITEM_FAILED},    {.state = ITEM_TO_DO}};
    struct suborders suborders = {.workflow = TEXT("import/Waves"),
                                  .list = TEXT("[1,2,3,4,5,6]"),
                                  .items = items,
                                  .item_count = 6,
                                  .times_out_at = INT64_C(1700000000021)};
    struct step step = {.name = TEXT("Waves"), .state = STEP_PROCESSING, .suborders = &suborders};
    struct order order = {.details = {.order_id = TEXT("o")},
                          .state = ORDER_PROCESSING,
                          .steps = &step,
                          .step_count = 1};
    static const char left_out[] =
        "{\"workflow\":\"import/Waves\",\"for_each\":true,\"count\":6,\"to_do\":0,"
        "\"submitted\":1,\"held\":1,\"final\":2,\"failed\":1,\"left_out\":1,";
    static const char at[] = "\"times_out_at\":\"2023-11-14T22:13:20.021Z\"}";
    char expected[512];
    expect_suborders(&order,
                     "{\"workflow\":\"import/Waves\",\"for_each\":true,\"count\":6,\"to_do\":1,"
                     "\"submitted\":1,\"held\":1,\"final\":2,\"failed\":1,\"left_out\":0,"
                     "\"recalled\":false,\"stopped\":false,"
                     "\"times_out_at\":\"2023-11-14T22:13:20.021Z\"}");
    suborders.stopped = true;
    snprintf(expected, sizeof(expected), "%s\"recalled\":false,\"stopped\":true,%s", left_out, at);
    expect_suborders(&order, expected);
    suborders.recalled = true;
    suborders.stopped = false;
    snprintf(expected, sizeof(expected), "%s\"recalled\":true,\"stopped\":false,%s", left_out, at);
    expect_suborders(&order, expected);
    suborders.recalled = false;
    step.state = STEP_ERROR;
    snprintf(expected, sizeof(expected), "%s\"recalled\":false,\"stopped\":false,%s", left_out, at);
    expect_suborders(&order, expected);
    suborders.list = (struct text){0};
    suborders.item_count = 1;
    suborders.times_out_at = 0;
    expect_suborders(&order,
                     "{\"workflow\":\"import/Waves\",\"for_each\":false,\"count\":1,\"to_do\":0,"
                     "\"submitted\":1,\"held\":0,\"final\":0,\"failed\":0,\"left_out\":0,"
                     "\"recalled\":false,\"stopped\":false,\"times_out_at\":null}");
}
