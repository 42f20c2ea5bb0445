/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of validation for an input and the known workflows and schemas. */
#include "services/submission/validate.h"

#include "base/goods.h"
#include "base/heap_arena.h"
#include "schemas/details.h"
#include "tests/unit/submission/stage.h"

#include <criterion/criterion.h>

static struct heap_arena heap;
static struct validator validator;
static struct topics topics;
static struct codec *codec;
static struct workflow_registry *workflows;

/* "...web" exists. */
static bool topic_exists(void *ctx, struct text topic)
{
    (void)ctx;
    return text_equal(topic, TEXT("p.replies.web"));
}

static void set_up(void)
{
    struct error error;
    heap_arena_init(&heap, 4096);
    cr_assert(topics_init(&topics, "p", &error) == ERROR_OK);
    codec = codec_new();
    workflows = workflow_registry_new();
    stage_register(workflows, "w", 1);
    stage_register(workflows, "w", 2);
    validator = (struct validator){codec, NULL, &topics, workflows, topic_exists, NULL};
}

static void tear_down(void)
{
    workflow_registry_free(workflows);
    codec_free(codec);
    heap_arena_deinit(&heap);
}

TestSuite(submission_validate, .init = set_up, .fini = tear_down);

static struct order_line line = {{"a", 1}, {"", 0}, 2, {25500}};
static const struct goods goods = {TEXT_CONST("EUR"), &line, 1};

static struct order_details good_order(void)
{
    return (struct order_details){
        .order_id = TEXT("o1"),
        .goods = &goods,
        .workflow = TEXT("w"),
        .priority = PRIORITY_NORMAL,
        .reply_to = TEXT("p.replies.web"),
    };
}

static struct validation validate_details(struct order_details details, unsigned fresh)
{
    struct validation validation;
    validate_order(&validator, &details, fresh, &heap.arena, &validation);
    return validation;
}

static struct text encode(enum record_kind kind, const void *record)
{
    struct buffer buffer = {0};
    codec_encode(codec, kind, record, &buffer);
    struct text bytes =
        arena_text(&heap.arena, (struct text){(const char *)buffer.data, (uint32_t)buffer.size});
    buffer_deinit(&buffer);
    return bytes;
}

static struct validation validate_bytes(struct text key, struct text value, unsigned fresh)
{
    struct validation validation;
    struct submitted_record record = {
        .key = key, .value = value, .value_bytes = value.size, .meta_bytes = key.size};
    validate_record(&validator, &record, fresh, &heap.arena, &validation);
    return validation;
}

static struct text order_bytes(struct order_details details)
{
    struct command cmd = {
        .kind = COMMAND_SUBMIT_ORDER, .order_id = details.order_id, .submit_order = details};
    return encode(RECORD_SUBMIT_ORDER, &cmd);
}

static void expect_refused(const struct validation *validation, enum error_code code,
                           const char *reply)
{
    cr_assert(validation->outcome == VALIDATION_REFUSE);
    cr_assert_eq(validation->error.code, code, "%s: %s", error_name_of(&validation->error),
                 validation->error.message);
    cr_assert(text_equal(validation->reply_to, text_of(reply)), "%.*s",
              TEXT_ARG(validation->reply_to));
}

Test(submission_validate, gives_a_valid_order_the_newest_version_and_its_identity)
{
    struct order_details details = good_order();
    struct validation validation = validate_details(details, 0);
    cr_assert(validation.outcome == VALIDATION_ACCEPT);
    cr_assert(validation.command.kind == COMMAND_SUBMIT_ORDER);
    cr_assert(text_equal(validation.command.order_id, TEXT("o1")));
    cr_assert(validation.command.submit_order.workflow_version == 2);
    struct content_hash hash = details_content_hash(&details);
    cr_assert(memcmp(&validation.command.submit_order.content_hash, &hash, sizeof(hash)) == 0);
}

/* Submitting the same again after a new version was deployed is still the same order. */
Test(submission_validate, computes_the_identity_before_the_version_is_pinned)
{
    struct validation before = validate_details(good_order(), 0);
    stage_register(workflows, "w", 3);
    struct validation after = validate_details(good_order(), 0);
    cr_assert(after.command.submit_order.workflow_version == 3);
    cr_assert(memcmp(&before.command.submit_order.content_hash,
                     &after.command.submit_order.content_hash, sizeof(struct content_hash)) == 0);
    struct order_details pinned = good_order();
    pinned.workflow_version = 2;
    struct validation other = validate_details(pinned, 0);
    cr_assert(memcmp(&before.command.submit_order.content_hash,
                     &other.command.submit_order.content_hash, sizeof(struct content_hash)) != 0);
}

/* A body runs in orders of its parent alone. */
Test(submission_validate, refuses_orders_of_a_body)
{
    struct workflow_definition definition = {
        .name = TEXT("b"),
        .version = 1,
        .text = TEXT("Name: b\nVersion: 1\nSteps: [{Name: S, Steps: [{Name: T, Agent: a}]}]\n"),
        .format = TEXT("yaml"),
    };
    struct order_details details = good_order();
    cr_assert(workflow_registry_add(workflows, &definition, NULL) == ERROR_OK);
    cr_assert_not_null(workflow_registry_find(workflows, TEXT("b/S"), 1));
    details.workflow = TEXT("b/S");
    for (details.workflow_version = 0; details.workflow_version <= 1; details.workflow_version++) {
        struct validation validation = validate_details(details, 0);
        expect_refused(&validation, CODE_INVALID_ORDER, "p.replies.web");
    }
}

Test(submission_validate, ignores_the_content_hash_of_the_sender)
{
    struct order_details details = good_order();
    struct content_hash hash = details_content_hash(&details);
    memset(&details.content_hash, 0x5a, sizeof(details.content_hash));
    struct validation validation = validate_bytes(TEXT("o1"), order_bytes(details), 0);
    cr_assert(validation.outcome == VALIDATION_ACCEPT);
    cr_assert(memcmp(&validation.command.submit_order.content_hash, &hash, sizeof(hash)) == 0);
}

static void register_shape(void)
{
    struct error error = {0};
    struct workflow_definition definition = {
        .name = TEXT("shaped"),
        .version = 1,
        .text = TEXT("Name: shaped\nVersion: 1\nInputShape: {total: number, gift: boolean?}\n"
                     "Steps: [{Name: A, Agent: x}]\n"),
        .format = TEXT("yaml"),
    };
    cr_assert(workflow_registry_add(workflows, &definition, &error) == ERROR_OK, "%s",
              error.message);
}

Test(submission_validate, holds_the_input_against_the_shape_of_the_workflow)
{
    struct order_details details = good_order();
    register_shape();
    details.workflow = TEXT("shaped");
    details.input = TEXT("{\"total\": \"15\"}");
    struct validation validation = validate_details(details, 0);
    cr_assert(validation.outcome == VALIDATION_REFUSE);
    cr_assert_eq(validation.error.code, CODE_INVALID_INPUT);
    cr_assert_str_eq(validation.error.message, "input.total is a text; it must be a number");
    details.input = TEXT("");
    cr_assert(validate_bytes(TEXT("o1"), order_bytes(details), 0).outcome == VALIDATION_REFUSE);
    details.input = TEXT("{\"total\": 15.30, \"gift\": true}");
    validation = validate_bytes(TEXT("o1"), order_bytes(details), 0);
    cr_assert(validation.outcome == VALIDATION_ACCEPT, "%s", validation.error.message);
    cr_assert(
        text_equal(validation.command.submit_order.input, TEXT("{\"gift\":true,\"total\":15.3}")));
    struct content_hash hash = validation.command.submit_order.content_hash;
    details.input = TEXT("{\"gift\":true,\"total\":1530e-2}");
    validation = validate_details(details, 0);
    cr_assert(validation.outcome == VALIDATION_ACCEPT);
    cr_assert_eq(memcmp(&hash, &validation.command.submit_order.content_hash, sizeof(hash)), 0,
                 "the same submission in another spelling, by another door");
}

Test(submission_validate, refuses_an_input_that_is_not_json)
{
    struct order_details details = good_order();
    details.input = TEXT("{\"a\": [1,]}");
    struct validation validation = validate_details(details, 0);
    cr_assert(validation.outcome == VALIDATION_REFUSE);
    cr_assert_eq(validation.error.code, CODE_INVALID_ORDER);
    cr_assert_str_eq(validation.error.message, "input.a[1] is not valid JSON (byte 9)");
}

Test(submission_validate, looks_up_an_unknown_workflow_once)
{
    struct order_details details = good_order();
    details.workflow = TEXT("none");
    cr_assert(validate_details(details, 0).outcome == VALIDATION_WAIT_WORKFLOWS);
    struct validation validation = validate_details(details, FRESH_WORKFLOWS);
    expect_refused(&validation, CODE_UNKNOWN_WORKFLOW, "p.replies.web");
    details = good_order();
    details.workflow_version = 7;
    cr_assert(validate_details(details, FRESH_SCHEMAS).outcome == VALIDATION_WAIT_WORKFLOWS);
    validation = validate_details(details, FRESH_WORKFLOWS);
    expect_refused(&validation, CODE_UNKNOWN_WORKFLOW, "p.replies.web");
    cr_assert(strstr(validation.error.message, "version 7") != NULL);
}

static void activate(uint32_t version, bool active)
{
    struct error error;
    struct workflow_activation activation = {.name = TEXT("w"),
                                             .version = version,
                                             .active = active,
                                             .reason = TEXT("it charges twice")};
    cr_assert(workflow_registry_activate(workflows, &activation, &error) == ERROR_OK);
}

Test(submission_validate, takes_the_active_version_and_refuses_a_retired_one)
{
    struct order_details details = good_order();
    activate(1, true);
    cr_assert_eq(validate_details(details, 0).command.submit_order.workflow_version, 1);
    activate(2, false);
    cr_assert_eq(validate_details(details, 0).outcome, VALIDATION_ACCEPT);
    details.workflow_version = 2;
    struct validation validation = validate_details(details, 0);
    expect_refused(&validation, CODE_WORKFLOW_RETIRED, "p.replies.web");
    cr_assert(strstr(validation.error.message, "it charges twice") != NULL);
    activate(2, true);
    cr_assert_eq(validate_details(details, 0).outcome, VALIDATION_ACCEPT);
}

Test(submission_validate, accepts_only_existing_reply_topics)
{
    struct order_details details = good_order();
    details.reply_to = TEXT("");
    cr_assert(validate_details(details, 0).outcome == VALIDATION_ACCEPT);
    details.reply_to = TEXT("p.replies.none");
    cr_assert(validate_details(details, 0).outcome == VALIDATION_WAIT_REPLY);
    struct validation validation = validate_details(details, FRESH_TOPICS);
    expect_refused(&validation, CODE_UNKNOWN_REPLY_TOPIC, "");
    /* Of another installation, or a topic of our own that replies must never reach. */
    static const char *const foreign[] = {"q.replies.web", "p.events", "p.replies.", "p.replies",
                                          "p.replies.a/b"};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        details.reply_to = text_of(foreign[i]);
        validation = validate_details(details, 0);
        expect_refused(&validation, CODE_BAD_REPLY_TOPIC, "");
    }
}

Test(submission_validate, reports_a_refusal_only_to_a_valid_reply_topic)
{
    struct order_details details = good_order();
    details.goods = &(struct goods){TEXT("euro"), &line, 1};
    struct validation validation = validate_details(details, 0);
    expect_refused(&validation, CODE_INVALID_ORDER, "p.replies.web");
    details.reply_to = TEXT("");
    validation = validate_details(details, 0);
    expect_refused(&validation, CODE_INVALID_ORDER, "");
    /* Whether the topic exists decides where the refusal goes, so it is looked up first. */
    details.reply_to = TEXT("p.replies.new");
    cr_assert(validate_details(details, 0).outcome == VALIDATION_WAIT_REPLY);
}

Test(submission_validate, does_not_report_a_refusal_without_a_valid_order_id)
{
    struct order_details details = good_order();
    details.order_id = TEXT("a/b");
    struct validation validation = validate_details(details, 0);
    expect_refused(&validation, CODE_INVALID_ORDER, "");
    cr_assert(text_empty(validation.order_id));
}

Test(submission_validate, requires_the_key_to_be_the_order_id_or_empty)
{
    struct text bytes = order_bytes(good_order());
    cr_assert(validate_bytes(TEXT("o1"), bytes, 0).outcome == VALIDATION_ACCEPT);
    cr_assert(validate_bytes(TEXT(""), bytes, 0).outcome == VALIDATION_ACCEPT);
    cr_assert(validate_bytes((struct text){0}, bytes, 0).outcome == VALIDATION_ACCEPT);
    struct validation validation = validate_bytes(TEXT("o2"), bytes, 0);
    expect_refused(&validation, CODE_WRONG_KEY, "p.replies.web");
}

Test(submission_validate, refuses_garbage_with_its_reason)
{
    struct text bytes = order_bytes(good_order());
    struct validation validation = validate_bytes(TEXT("o1"), TEXT("hello"), 0);
    expect_refused(&validation, CODE_NOT_AVRO, "");
    validation = validate_bytes(TEXT("o1"), TEXT(""), 0);
    expect_refused(&validation, CODE_NOT_AVRO, "");
    validation = validate_bytes(TEXT("o1"), (struct text){0}, 0);
    expect_refused(&validation, CODE_EMPTY, "");
    /* Every prefix of a good record. */
    for (uint32_t size = 10; size < bytes.size; size++) {
        validation = validate_bytes(TEXT("o1"), (struct text){bytes.data, size}, FRESH_SCHEMAS);
        cr_assert(validation.outcome == VALIDATION_REFUSE, "%u", size);
    }
    char *longer = arena_bytes(&heap.arena, bytes.size + 1);
    memcpy(longer, bytes.data, bytes.size);
    longer[bytes.size] = 0;
    validation = validate_bytes(TEXT("o1"), (struct text){longer, bytes.size + 1}, 0);
    expect_refused(&validation, CODE_TRAILING_BYTES, "p.replies.web");
    char *huge = arena_calloc(&heap.arena, 1, INPUT_BYTES_MAX + 1);
    validation = validate_bytes(TEXT("o1"), (struct text){huge, INPUT_BYTES_MAX + 1}, 0);
    expect_refused(&validation, CODE_TOO_LONG, "");
}

/* A record of our schema whose currency is longer than any currency. */
static struct text with_currency(struct order_details details, const char *currency)
{
    struct text bytes = order_bytes(details);
    uint32_t size = (uint32_t)strlen(currency);
    char *longer = arena_bytes(&heap.arena, bytes.size + size - 3);
    const char *at = memmem(bytes.data, bytes.size,
                            "\x06"
                            "EUR",
                            4);
    cr_assert_not_null(at);
    size_t before = (size_t)(at - bytes.data);
    memcpy(longer, bytes.data, before);
    longer[before] = (char)(2 * size);
    memcpy(longer + before + 1, currency, size);
    memcpy(longer + before + 1 + size, at + 4, bytes.size - before - 4);
    return (struct text){longer, bytes.size + size - 3};
}

Test(submission_validate, reports_a_refusal_of_a_field_that_does_not_decode)
{
    struct order_details details = good_order();
    struct validation validation = validate_bytes(TEXT("o1"), with_currency(details, "EUROS"), 0);
    expect_refused(&validation, CODE_TOO_LONG, "p.replies.web");
    cr_assert(text_equal(validation.order_id, TEXT("o1")));
    details.reply_to = TEXT("p.replies.new");
    validation = validate_bytes(TEXT("o1"), with_currency(details, "EUROS"), 0);
    cr_assert(validation.outcome == VALIDATION_WAIT_REPLY);
    static const char *const untold[] = {"", "p.replies.none", "p.events", "q.replies.web"};
    for (size_t i = 0; i < sizeof(untold) / sizeof(untold[0]); i++) {
        details.reply_to = text_of(untold[i]);
        validation = validate_bytes(TEXT("o1"), with_currency(details, "EUROS"), FRESH_TOPICS);
        expect_refused(&validation, CODE_TOO_LONG, "");
    }
    details = good_order();
    details.order_id = TEXT("a/b");
    validation = validate_bytes(TEXT("a/b"), with_currency(details, "EUROS"), 0);
    expect_refused(&validation, CODE_TOO_LONG, "");
    cr_assert(text_empty(validation.order_id));
}

Test(submission_validate, reports_a_refusal_of_a_record_that_is_too_large)
{
    struct text bytes = order_bytes(good_order());
    char *huge = arena_calloc(&heap.arena, 1, INPUT_BYTES_MAX + 1);
    memcpy(huge, bytes.data, bytes.size);
    struct validation validation =
        validate_bytes(TEXT("o1"), (struct text){huge, INPUT_BYTES_MAX + 1}, 0);
    expect_refused(&validation, CODE_TOO_LONG, "p.replies.web");
    /* What was read of it before it was cut. */
    struct submitted_record cut = {.value = {huge, 1000},
                                   .value_bytes = 2 * INPUT_BYTES_MAX,
                                   .order_id = TEXT("o2"),
                                   .reply_to = TEXT("p.replies.web")};
    validate_record(&validator, &cut, 0, &heap.arena, &validation);
    expect_refused(&validation, CODE_TOO_LONG, "p.replies.web");
    cr_assert(text_equal(validation.order_id, TEXT("o2")));
}

Test(submission_validate, refuses_large_keys_and_headers)
{
    struct text bytes = order_bytes(good_order());
    struct validation validation;
    struct submitted_record record = {
        .key = TEXT("o1"), .value = bytes, .value_bytes = bytes.size, .meta_bytes = META_BYTES_MAX};
    validate_record(&validator, &record, 0, &heap.arena, &validation);
    cr_assert(validation.outcome == VALIDATION_ACCEPT);
    record.meta_bytes++;
    validate_record(&validator, &record, 0, &heap.arena, &validation);
    expect_refused(&validation, CODE_TOO_LONG, "p.replies.web");
    cr_assert(strstr(validation.error.message, "65537 bytes; the limit is 65536") != NULL);
}

Test(submission_validate, looks_up_an_unknown_schema_once)
{
    struct text bytes = arena_text(&heap.arena, order_bytes(good_order()));
    char *unknown = arena_bytes(&heap.arena, bytes.size);
    memcpy(unknown, bytes.data, bytes.size);
    unknown[5] ^= 0x55;
    struct text value = {unknown, bytes.size};
    cr_assert(validate_bytes(TEXT("o1"), value, 0).outcome == VALIDATION_WAIT_SCHEMAS);
    cr_assert(validate_bytes(TEXT("o1"), value, FRESH_WORKFLOWS).outcome ==
              VALIDATION_WAIT_SCHEMAS);
    struct validation validation = validate_bytes(TEXT("o1"), value, FRESH_SCHEMAS);
    expect_refused(&validation, CODE_UNKNOWN_SCHEMA, "");
}

Test(submission_validate, says_what_to_set_for_the_framing_of_a_schema_registry)
{
    struct text value = {"\x00\x00\x01\x11\x70 the rest", 14};
    struct validation validation = validate_bytes(TEXT("o1"), value, 0);
    expect_refused(&validation, CODE_UNKNOWN_SCHEMA, "");
    cr_assert(strstr(validation.error.message, "with schema 70000: set schema.registry.url") !=
              NULL);
}

Test(submission_validate, refuses_commands_that_only_services_may_send)
{
    struct command report = {
        .kind = COMMAND_REPORT_STEP,
        .order_id = TEXT("o1"),
        .report_step = {.order_id = TEXT("o1"), .step = TEXT("s"), .attempt = 1, .succeeded = true},
    };
    struct command compensate = {
        .kind = COMMAND_COMPENSATE_ORDER,
        .order_id = TEXT("o1"),
        .compensate_order = {.order_id = TEXT("o1"), .by = TEXT("me"), .reason = TEXT("because")},
    };
    struct validation validation =
        validate_bytes(TEXT("o1"), encode(RECORD_REPORT_STEP, &report), FRESH_SCHEMAS);
    expect_refused(&validation, CODE_NOT_ACCEPTED, "");
    cr_assert(strstr(validation.error.message, "ReportStep") != NULL);
    validation = validate_bytes(TEXT("o1"), encode(RECORD_COMPENSATE_ORDER, &compensate), 0);
    expect_refused(&validation, CODE_NOT_ACCEPTED, "");
}

static struct validation cancel_by(const char *by)
{
    struct command cmd = {
        .kind = COMMAND_CANCEL_ORDER,
        .order_id = TEXT("o1"),
        .cancel_order = {.order_id = TEXT("o1"), .by = text_of(by), .reason = TEXT("twice")},
    };
    return validate_bytes(TEXT("o1"), encode(RECORD_CANCEL_ORDER, &cmd), 0);
}

/* The console offers commands to copy: `reeve cancel --yes` is not about an order. */
Test(submission_validate, refuses_new_ids_that_a_command_takes_for_a_flag)
{
    static const char *const ids[] = {"--yes", "--state=Processing", "-", ".", ".."};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct order_details details = good_order();
        details.order_id = text_of(ids[i]);
        struct validation validation = validate_details(details, 0);
        expect_refused(&validation, CODE_INVALID_ORDER, "p.replies.web");
        validation = validate_bytes(details.order_id, order_bytes(details), 0);
        expect_refused(&validation, CODE_INVALID_ORDER, "p.replies.web");
    }
}

/* Orders that were accepted before stay valid. */
Test(submission_validate, cancels_an_order_whose_id_begins_with_a_hyphen)
{
    struct validation validation;
    struct cancel_order cancel = {.order_id = TEXT("--yes"), .reason = TEXT("old")};
    validate_cancel(&validator, &cancel, 0, &heap.arena, &validation);
    cr_assert(validation.outcome == VALIDATION_ACCEPT);
}

/* A name in a record proves nothing: the Kafka door is one domain of trust. */
Test(submission_validate, takes_no_token_from_a_record)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER,
                          .order_id = TEXT("o1"),
                          .cancel_order = {.order_id = TEXT("o1"), .submitted_by = TEXT("shop")}};
    struct validation validation = validate_bytes(TEXT("o1"), encode(RECORD_CANCEL_ORDER, &cmd), 0);
    cr_assert(validation.outcome == VALIDATION_ACCEPT);
    cr_assert(text_empty(validation.command.cancel_order.submitted_by));
    validate_cancel(&validator, &cmd.cancel_order, 0, &heap.arena, &validation);
    cr_assert(text_equal(validation.command.cancel_order.submitted_by, TEXT("shop")));
}

/* The history must not name an operator when an application cancelled. */
Test(submission_validate, marks_the_name_of_a_canceller_as_the_applications)
{
    struct validation validation = cancel_by("");
    cr_assert(validation.outcome == VALIDATION_ACCEPT);
    cr_assert(validation.command.kind == COMMAND_CANCEL_ORDER);
    cr_assert(text_equal(validation.command.cancel_order.by, TEXT("application")));
    cr_assert(text_equal(validation.command.cancel_order.reason, TEXT("twice")));
    cr_assert(text_equal(cancel_by("application").command.cancel_order.by, TEXT("application")));
    cr_assert(text_equal(cancel_by("bob").command.cancel_order.by, TEXT("application:bob")));
    char longest[WHO_BYTES_MAX + 1];
    memset(longest, 'x', WHO_BYTES_MAX);
    longest[WHO_BYTES_MAX] = '\0';
    cr_assert(cancel_by(longest).command.cancel_order.by.size == WHO_BYTES_MAX);
}

Test(submission_validate, refuses_a_cancellation_over_its_limits)
{
    struct validation validation;
    char *reason = arena_calloc(&heap.arena, 1, MESSAGE_BYTES_MAX + 2);
    memset(reason, 'x', MESSAGE_BYTES_MAX + 1);
    struct cancel_order cancel = {.order_id = TEXT("o1"), .reason = text_of(reason)};
    validate_cancel(&validator, &cancel, 0, &heap.arena, &validation);
    expect_refused(&validation, CODE_INVALID_ORDER, "");
    cancel = (struct cancel_order){.order_id = TEXT("o1"), .reply_to = TEXT("elsewhere")};
    validate_cancel(&validator, &cancel, 0, &heap.arena, &validation);
    expect_refused(&validation, CODE_BAD_REPLY_TOPIC, "");
    cancel = (struct cancel_order){.order_id = TEXT("")};
    validate_cancel(&validator, &cancel, 0, &heap.arena, &validation);
    expect_refused(&validation, CODE_INVALID_ORDER, "");
}

static struct validation validate_signalled(struct text payload, struct text_list groups)
{
    struct command cmd = {.kind = COMMAND_SIGNAL_ORDER,
                          .order_id = TEXT("o1"),
                          .signal_order = {.order_id = TEXT("o1"),
                                           .step = TEXT("Approve"),
                                           .payload = payload,
                                           .by = TEXT("ann"),
                                           .groups = groups,
                                           .reply_to = TEXT("p.replies.web"),
                                           .submitted_by = TEXT("shop")}};
    return validate_bytes(TEXT("o1"), encode(RECORD_SIGNAL_ORDER, &cmd), 0);
}

/* Kafka proves nothing of its senders. */
Test(submission_validate, takes_from_a_signal_what_kafka_does_not_prove)
{
    struct text managers = TEXT("managers");
    struct validation validation =
        validate_signalled(TEXT("{ \"b\": 1.0, \"a\": 2 }"), (struct text_list){&managers, 1});
    const struct signal_order *signal = &validation.command.signal_order;
    cr_assert_eq(validation.outcome, VALIDATION_ACCEPT);
    cr_assert_eq(validation.command.kind, COMMAND_SIGNAL_ORDER);
    cr_assert(text_equal(signal->payload, TEXT("{\"a\":2,\"b\":1}")));
    cr_assert(text_equal(signal->step, TEXT("Approve")));
    cr_assert(text_equal(signal->by, TEXT("application")));
    cr_assert_eq(signal->groups.count, 0);
    cr_assert(text_empty(signal->submitted_by));
    cr_assert(text_equal(validation.reply_to, TEXT("p.replies.web")));
}

Test(submission_validate, refuses_a_signal_whose_payload_is_not_json)
{
    static const char *const payloads[] = {"", "{", "yes", "{\"a\":1,\"a\":2}"};
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        struct validation validation =
            validate_signalled(text_of(payloads[i]), (struct text_list){0});
        cr_assert_eq(validation.outcome, VALIDATION_REFUSE, "%s", payloads[i]);
        cr_assert_eq(validation.error.code, CODE_INVALID_COMMAND);
        cr_assert(text_equal(validation.reply_to, TEXT("p.replies.web")));
    }
}

/* Those that came by HTTP, whose sender is known. */
Test(submission_validate, keeps_who_sent_a_signal_by_http)
{
    struct validation validation;
    struct text groups[] = {TEXT("managers"), TEXT("no group")};
    struct signal_order signal = {.order_id = TEXT("o1"),
                                  .step = TEXT("Approve"),
                                  .payload = TEXT("1"),
                                  .by = TEXT("ann"),
                                  .groups = {groups, 1},
                                  .submitted_by = TEXT("shop")};
    validate_signal(&validator, &signal, 0, &heap.arena, &validation);
    cr_assert_eq(validation.outcome, VALIDATION_ACCEPT);
    cr_assert(text_equal(validation.command.signal_order.by, TEXT("ann")));
    cr_assert_eq(validation.command.signal_order.groups.count, 1);
    cr_assert(text_equal(validation.command.signal_order.submitted_by, TEXT("shop")));
    signal.groups.count = 2;
    validate_signal(&validator, &signal, 0, &heap.arena, &validation);
    cr_assert_eq(validation.outcome, VALIDATION_REFUSE);
    signal.groups.count = 1;
    signal.reply_to = TEXT("elsewhere");
    validate_signal(&validator, &signal, 0, &heap.arena, &validation);
    cr_assert_eq(validation.error.code, CODE_BAD_REPLY_TOPIC);
}
