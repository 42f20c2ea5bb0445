/* SPDX-License-Identifier: Apache-2.0 */
/* Records of JSON on the submissions topic: what they become, and what is refused. */
#include "base/heap_arena.h"
#include "services/submission/validate.h"
#include "tests/unit/submission/stage.h"

#include <criterion/criterion.h>

static struct heap_arena heap;
static struct codec *codec;
static struct workflow_registry *workflows;
static struct topics topics;
static struct validator validator;

static bool topic_exists(void *ctx, struct text topic)
{
    (void)ctx;
    return text_equal(topic, TEXT("p.replies.web"));
}

static void set_up(void)
{
    heap_arena_init(&heap, 1 << 16);
    cr_assert_eq(topics_init(&topics, "p", NULL), ERROR_OK);
    codec = codec_new();
    workflows = workflow_registry_new();
    stage_register(workflows, "w", 1);
    validator = (struct validator){codec, NULL, &topics, workflows, topic_exists, NULL};
}

static void tear_down(void)
{
    workflow_registry_free(workflows);
    codec_free(codec);
    heap_arena_deinit(&heap);
}

TestSuite(json_records, .init = set_up, .fini = tear_down);

static struct validation validate(const char *name, const char *json)
{
    struct validation validation;
    struct submitted_record record = {.value = text_of(json),
                                      .value_bytes = (uint32_t)strlen(json),
                                      .is_json = true,
                                      .name = text_of(name)};
    validate_record(&validator, &record, 0, &heap.arena, &validation);
    return validation;
}

static void expect_refused(const char *name, const char *json, enum error_code code,
                           const char *reply_to)
{
    struct validation validation = validate(name, json);
    cr_assert_eq(validation.outcome, VALIDATION_REFUSE, "%s", json);
    cr_assert_eq(validation.error.code, code, "%s: %s: %s", json, error_name_of(&validation.error),
                 validation.error.message);
    cr_assert(text_equal(validation.reply_to, text_of(reply_to)), "%s", json);
}

Test(json_records, are_orders_unless_their_header_says_otherwise)
{
    const char *const names[] = {"", "SubmitOrder"};
    for (int i = 0; i < 2; i++) {
        struct validation validation = validate(
            names[i], "{\"order_id\": \"o1\", \"workflow\": \"w\", \"input\": {\"b\": 1.10, "
                      "\"a\": 100.10}, \"reply_to\": \"p.replies.web\"}");
        cr_assert_eq(validation.outcome, VALIDATION_ACCEPT, "%s", validation.error.message);
        cr_assert_eq(validation.command.kind, COMMAND_SUBMIT_ORDER);
        const struct order_details *details = &validation.command.submit_order;
        cr_assert(text_equal(details->order_id, TEXT("o1")));
        cr_assert_eq(details->workflow_version, 1);
        cr_assert(text_equal(details->input, TEXT("{\"a\":100.1,\"b\":1.1}")));
        cr_assert(text_equal(validation.reply_to, TEXT("p.replies.web")));
    }
}

/* The identity of an order does not depend on the door that it came through. */
Test(json_records, are_the_same_orders_as_by_avro)
{
    struct validation json = validate("", "{\"order_id\": \"o1\", \"workflow\": \"w\"}");
    struct order_details details = {
        .order_id = TEXT("o1"), .workflow = TEXT("w"), .priority = PRIORITY_NORMAL};
    struct validation avro;
    validate_order(&validator, &details, 0, &heap.arena, &avro);
    cr_assert_eq(memcmp(&json.command.submit_order.content_hash,
                        &avro.command.submit_order.content_hash,
                        sizeof(avro.command.submit_order.content_hash)),
                 0);
}

Test(json_records, cancel_orders)
{
    struct validation validation =
        validate("CancelOrder", "{\"order_id\": \"o1\", \"reason\": \"late\", \"by\": \"shop\"}");
    cr_assert_eq(validation.outcome, VALIDATION_ACCEPT, "%s", validation.error.message);
    cr_assert_eq(validation.command.kind, COMMAND_CANCEL_ORDER);
    cr_assert(text_equal(validation.command.cancel_order.reason, TEXT("late")));
    cr_assert(text_equal(validation.command.cancel_order.by, TEXT("application:shop")));
}

Test(json_records, signal_orders)
{
    struct validation validation =
        validate("SignalOrder", "{\"order_id\": \"o1\", \"step\": \"Approve\", \"id\": \"s1\", "
                                "\"choice\": \"yes\", \"comment\": \"ok\"}");
    cr_assert_eq(validation.outcome, VALIDATION_ACCEPT, "%s", validation.error.message);
    const struct signal_order *signal = &validation.command.signal_order;
    cr_assert(text_equal(signal->order_id, TEXT("o1")));
    cr_assert(text_equal(signal->step, TEXT("Approve")));
    cr_assert(text_equal(signal->payload, TEXT("{\"choice\":\"yes\",\"comment\":\"ok\"}")));
    cr_assert(text_equal(signal->by, TEXT("application")));
}

Test(json_records, are_refused_with_a_reason)
{
    expect_refused("", "", CODE_BAD_JSON, "");
    expect_refused("", "{\"order_id\": ", CODE_BAD_JSON, "");
    expect_refused("", "[1]", CODE_BAD_JSON, "");
    expect_refused("", "{\"order_id\": \"o1\", \"order_id\": \"o2\"}", CODE_BAD_JSON, "");
    expect_refused("", "{\"order_id\": \"o1\", \"colour\": 1, \"reply_to\": \"p.replies.web\"}",
                   CODE_UNKNOWN_FIELD, "p.replies.web");
    expect_refused("", "{\"order_id\": \"o1\", \"workflow\": 5, \"reply_to\": \"p.replies.web\"}",
                   CODE_BAD_FIELD, "p.replies.web");
    expect_refused("", "{\"order_id\": \"o1\", \"workflow\": \"w\", \"submitted_by\": \"root\"}",
                   CODE_UNKNOWN_FIELD, "");
    expect_refused("SkipStep", "{\"order_id\": \"o1\"}", CODE_NOT_ACCEPTED, "");
    expect_refused("SignalOrder", "{\"order_id\": \"o1\", \"step\": \"A\"}", CODE_BAD_FIELD, "");
    expect_refused("SignalOrder",
                   "{\"order_id\": \"o1\", \"step\": \"A\", \"payload\": 1, \"groups\": [\"x\"]}",
                   CODE_UNKNOWN_FIELD, "");
    expect_refused("CancelOrder", "{\"order_id\": \"a/b\"}", CODE_INVALID_ORDER, "");
}
