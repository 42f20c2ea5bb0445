/* SPDX-License-Identifier: Apache-2.0 */
/* JSON by the binding tables: commands round-trip; errors in hostile input name their path. */
#include "schemas/json/json_codec.h"

#include "base/goods.h"
#include "platform/json_tree.h"
#include "tests/unit/schemas/fixture.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(schemas_json_codec, .init = open_kit, .fini = close_kit);

/* What json_codec_encode() takes: the members of a command begin within it. */
static size_t base_of(enum record_kind kind)
{
    return record_kind_is_command(kind) ? offsetof(struct command, submit_order) : 0;
}

static void check_encoding(const struct sample *sample)
{
    const struct record_binding *binding = record_kind_info(sample->kind)->binding;
    json_t *json =
        json_codec_encode(binding, (const char *)sample->record + base_of(sample->kind), 0);
    char *text = json_tree_print(json, JSON_COMPACT);
    json_t *parsed = json_tree_load(text_of(text), 0, NULL);
    char *again = json_tree_print(parsed, JSON_COMPACT);
    cr_assert_eq(json_object_size(json), binding->count, "%s: %s", sample->name, text);
    cr_assert_str_eq(again, text, "%s", sample->name);
    json_decref(parsed);
    json_decref(json);
    free(again);
    free(text);
}

Test(schemas_json_codec, encodes_every_field_of_every_record)
{
    for (uint32_t i = 0; i < sample_count; i++)
        check_encoding(&samples[i]);
}

/* Where the struct of the record's kind begins. */
static void *struct_of(struct record *record)
{
    return record_kind_is_command(record->kind) ? (void *)&record->command.submit_order
                                                : (void *)&record->claim;
}

static void check_round_trip(const struct sample *sample)
{
    const struct record_binding *binding = record_kind_info(sample->kind)->binding;
    struct record back = {.kind = sample->kind};
    struct buffer expected = {0};
    struct json_value value;
    json_t *json =
        json_codec_encode(binding, (const char *)sample->record + base_of(sample->kind), 0);
    char *text = json_tree_print(json, JSON_COMPACT);
    cr_assert_eq(json_codec_parse(text_of(text), "record", &kit.memory.arena, &value, &kit.error),
                 ERROR_OK, "%s: %s", sample->name, kit.error.message);
    cr_assert_eq(
        json_codec_decode(binding, NULL, 0, value, &kit.memory.arena, struct_of(&back), &kit.error),
        ERROR_OK, "%s: %s", sample->name, kit.error.message);
    if (record_kind_is_command(sample->kind))
        back.command.kind = (enum command_kind)sample->kind;
    struct buffer bytes = kit_encode(&kit, &back);
    codec_encode(kit.codec, sample->kind, sample->record, &expected);
    cr_assert(text_equal(text_of_buffer(&bytes), text_of_buffer(&expected)), "%s", sample->name);
    buffer_deinit(&bytes);
    buffer_deinit(&expected);
    json_decref(json);
    free(text);
}

/* Only owners write events. */
Test(schemas_json_codec, round_trips_every_record_without_events)
{
    uint32_t checked = 0;
    for (uint32_t i = 0; i < sample_count; i++) {
        if (samples[i].kind == RECORD_DECISION)
            continue;
        check_round_trip(&samples[i]);
        checked++;
    }
    cr_assert_gt(checked, 25);
}

/* ---- forms ---- */

static char *encoded(const struct record_binding *binding, const void *record,
                     const char *const only[], unsigned flags)
{
    json_t *object = json_object();
    json_codec_add(object, binding, record, only, flags);
    char *text = json_tree_print(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

Test(schemas_json_codec, escapes_a_nul)
{
    json_t *text = json_codec_text((struct text){"a\0b", 3});
    char *dumped = json_dumps(text, JSON_ENCODE_ANY);
    cr_assert_str_eq(dumped, "\"a\\u0000b\"");
    free(dumped);
    json_decref(text);
}

Test(schemas_json_codec, writes_each_form_as_documented)
{
    static const char *const only[] = {"currency",    "lines",        "attributes", "priority",
                                       "traceparent", "content_hash", NULL};
    struct order_line line = {TEXT("a"), TEXT(""), 6, {25500}};
    struct attribute attribute = {TEXT("caf\xe9"), TEXT("a\0b")};
    struct order_details details = {.goods = &(struct goods){TEXT("GBP"), &line, 1},
                                    .attributes = &attribute,
                                    .attribute_count = 1,
                                    .priority = PRIORITY_LOW,
                                    .content_hash = {{0xab}}};
    char *text = encoded(&binding_order_details, &details, only, 0);
    cr_assert_str_eq(text, "{\"currency\":\"GBP\",\"lines\":[{\"sku\":\"a\",\"description\":\"\","
                           "\"quantity\":6,\"unit_price\":\"2.55\"}],"
                           "\"attributes\":{\"caf?\":\"a\\u0000b\"},\"priority\":\"low\","
                           "\"traceparent\":\"\","
                           "\"content_hash\":\"ab000000000000000000000000000000\"}");
    free(text);
    struct undecodable undecodable = {
        .bytes = {"\x00\xff\"", 3}, .reason = TEXT("why"), .quarantined = true};
    text = encoded(event_binding(EVENT_COMMAND_DEAD_LETTERED), &undecodable, NULL, 0);
    cr_assert_str_eq(text, "{\"bytes\":\"AP8i\",\"key\":\"\",\"reason\":\"why\","
                           "\"quarantined\":true,\"code\":\"\",\"value_bytes\":0,"
                           "\"value_xxh128\":\"\",\"meta_bytes\":0,\"headers\":[]}");
    free(text);
    struct event event = {.kind = EVENT_COMMAND_DEAD_LETTERED,
                          .command_dead_lettered = undecodable};
    struct decision decision = {.events = &event, .event_count = 1};
    static const char *const events[] = {"events", NULL};
    text = encoded(&binding_decision, &decision, events, 0);
    cr_assert_str_eq(text,
                     "{\"events\":[{\"kind\":\"CommandDeadLettered\",\"data\":{\"bytes\":\"AP8i\","
                     "\"key\":\"\",\"reason\":\"why\",\"quarantined\":true,\"code\":\"\","
                     "\"value_bytes\":0,\"value_xxh128\":\"\",\"meta_bytes\":0,\"headers\":[]}}]}");
    free(text);
    struct claim claim = {.claim_id = {{0xab, 1}}, .partition_count = -1};
    text = encoded(record_kind_info(RECORD_CLAIM)->binding, &claim, NULL, 0);
    cr_assert_str_eq(
        text,
        "{\"claim_id\":\"ab010000-0000-0000-0000-000000000000\","
        "\"instance\":\"\",\"claimed_at\":\"1970-01-01T00:00:00.000Z\",\"partition_count\":-1,"
        "\"reset\":null,\"format\":0}");
    free(text);
    claim.has_reset = true;
    claim.reset.next_command_offset = 7;
    static const char *const reset[] = {"reset", NULL};
    text = encoded(record_kind_info(RECORD_CLAIM)->binding, &claim, reset, 0);
    cr_assert_str_eq(text, "{\"reset\":{\"next_command_offset\":7,\"by\":\"\",\"reason\":\"\"}}");
    free(text);
}

Test(schemas_json_codec, shows_empty_texts_and_times_as_null_on_request)
{
    struct step step = {.name = TEXT("a"), .retries_used = {0, 2, 0}};
    static const char *const only[] = {"name",      "locked_by",    "retry_at",
                                       "margin_ms", "retries_used", NULL};
    char *text = encoded(&binding_step_row, &step, only, JSON_CODEC_NULLS);
    cr_assert_str_eq(text, "{\"name\":\"a\",\"locked_by\":null,\"retry_at\":null,\"margin_ms\":0,"
                           "\"retries_used\":[0,2]}");
    free(text);
}

Test(schemas_json_codec, asserts_that_selected_fields_exist, .signal = SIGABRT)
{
    static const char *const only[] = {"sku", "colour", NULL};
    struct order_line line = {TEXT("a"), TEXT(""), 1, {1}};
    encoded(binding_order_details.fields[3].sub, &line, only, 0);
}

/* ---- hostile input ---- */

static enum error_class decode(enum record_kind kind, struct text json)
{
    struct json_value object;
    struct record untouched = {.kind = kind};
    struct record record = untouched;
    enum error_class class =
        json_codec_parse(json, "record", &kit.memory.arena, &object, &kit.error);
    if (class == ERROR_OK)
        class =
            json_codec_decode(record_kind_info(kind)->binding, NULL, 0, object, &kit.memory.arena,
                              (char *)&record.command + base_of(kind), &kit.error);
    if (class != ERROR_OK)
        cr_assert_eq(memcmp(&record, &untouched, sizeof(record)), 0, "untouched");
    kit.record = record;
    return class;
}

static const struct mistake {
    enum record_kind kind;
    const char *json;
    enum error_code code;
    const char *message;
} mistakes[] = {
    {RECORD_CANCEL_ORDER, "{\"order_id\": null}", CODE_BAD_FIELD, "order_id: expected a text"},
    {RECORD_SUBMIT_ORDER, "{\"content_hash\": \"0g\"}", CODE_BAD_FIELD,
     "content_hash: expected 32 hexadecimal digits"},
    {RECORD_CLAIM, "{\"claim_id\": \"ab010000-0000-0000-0000-00000000000\"}", CODE_BAD_FIELD,
     "claim_id: expected a UUID of 32 hexadecimal digits with dashes"},
    {RECORD_CLAIM, "{\"claim_id\": \"ab010000+0000-0000-0000-000000000000\"}", CODE_BAD_FIELD,
     "claim_id: expected a UUID of 32 hexadecimal digits with dashes"},
    {RECORD_CLAIM, "{\"claim_id\": \"gb010000-0000-0000-0000-000000000000\"}", CODE_BAD_FIELD,
     "claim_id: expected a UUID of 32 hexadecimal digits with dashes"},
    {RECORD_CLAIM, "{\"instance\": \"s\"}", CODE_BAD_FIELD,
     "claim_id: expected a UUID of 32 hexadecimal digits with dashes"},
    {RECORD_CLAIM,
     "{\"claim_id\": \"ab010000-0000-0000-0000-000000000000\", \"claimed_at\": \"2010-12-01\", "
     "\"partition_count\": 2147483648}",
     CODE_BAD_FIELD, "partition_count: expected an integer from -2147483648 to 2147483647"},
    {RECORD_STEP_REQUEST, "{\"step\": \"A\", \"direction\": \"sideways\"}", CODE_BAD_FIELD,
     "direction: expected \"do\" or \"undo\""},
    {RECORD_STATUS_UPDATE, "{\"kind\": \"Received\", \"order_version\": -1}", CODE_BAD_FIELD,
     "order_version: expected an integer from 0"},
    {RECORD_CANCEL_ORDER, "{\"reasn\": \"x\"}", CODE_UNKNOWN_FIELD,
     "unknown field \"reasn\": did you mean \"reason\"?"},
    {RECORD_CANCEL_ORDER, "{\"\": \"x\"}", CODE_UNKNOWN_FIELD, "unknown field \"\""},
    {RECORD_SUBMIT_ORDER, "{\"lines\": [{\"sku\": \"a\", \"qantity\": 1}]}", CODE_UNKNOWN_FIELD,
     "unknown field \"lines[0].qantity\": did you mean \"quantity\"?"},
    {RECORD_SUBMIT_ORDER, "{\"lines\": [1]}", CODE_BAD_FIELD,
     "lines[0]: expected an object: {...}"},
    {RECORD_SUBMIT_ORDER, "{\"lines\": [{\"sku\": \"a\"}]}", CODE_BAD_FIELD,
     "lines[0].quantity: expected an integer"},
    {RECORD_SUBMIT_ORDER, "{\"priority\": \"High\"}", CODE_BAD_FIELD,
     "priority: expected \"high\", \"normal\" or \"low\""},
    {RECORD_SUBMIT_ORDER, "{\"attributes\": {\"a\": []}}", CODE_BAD_FIELD,
     "attributes.a: expected a text"},
    {RECORD_SUBMIT_ORDER, "{\"workflow_version\": 2147483648}", CODE_BAD_FIELD,
     "workflow_version: expected an integer from 0 to 2147483647"},
    {RECORD_SUBMIT_ORDER, "{\"workflow_version\": -1}", CODE_BAD_FIELD,
     "workflow_version: expected an integer from 0 to 2147483647"},
    {RECORD_SUBMIT_ORDER, "{\"workflow_version\": 1.5}", CODE_BAD_FIELD,
     "workflow_version: expected an integer from 0 to 2147483647"},
    {RECORD_SUBMIT_ORDER, "{\"workflow_version\": 2147483648.0}", CODE_BAD_FIELD,
     "workflow_version: expected an integer from 0 to 2147483647"},
    {RECORD_RESUBMIT_STEP, "{\"timeout_ms\": 1e300}", CODE_BAD_JSON,
     "not JSON: record.timeout_ms has a number of more than 40 digits"},
    {RECORD_RESUBMIT_STEP, "{\"timeout_ms\": 9223372036854775808}", CODE_BAD_FIELD,
     "timeout_ms: expected an integer"},
    {RECORD_SUBMIT_ORDER, "{\"workflow_version\": 99999999999999999999}", CODE_BAD_FIELD,
     "workflow_version: expected an integer from 0 to 2147483647"},
    {RECORD_SUBMIT_ORDER, "{\"lines\": [{\"unit_price\": 2.55555}]}", CODE_BAD_FIELD,
     "lines[0].unit_price: expected a decimal number of at most 4 decimals and 18 digits"},
    {RECORD_SUBMIT_ORDER, "{\"lines\": [{\"unit_price\": true}]}", CODE_BAD_FIELD,
     "lines[0].unit_price: expected a decimal number"},
    {RECORD_SUBMIT_ORDER, "{\"submitted_at\": 1291191960000}", CODE_BAD_FIELD,
     "submitted_at: expected a time, as \"2010-12-01T08:26:00Z\""},
    {RECORD_SUBMIT_ORDER, "{\"submitted_at\": \"2010-12-01T08:26\"}", CODE_BAD_FIELD,
     "submitted_at: expected a time, as \"2010-12-01T08:26:00Z\""},
    {RECORD_RESUBMIT_STEP, "{\"new_generation\": 1}", CODE_BAD_FIELD,
     "new_generation: expected true or false"},
    {RECORD_CANCEL_ORDER, "{\"by\": \"a\", \"by\": \"b\"}", CODE_BAD_JSON,
     "not JSON: record.by occurs twice"},
    {RECORD_CANCEL_ORDER, "{\"by\": \"\\u0000\"}", CODE_BAD_JSON,
     "not JSON: record.by has a NUL character in a text"},
    {RECORD_CANCEL_ORDER, "{\"by\": \"\xff\"}", CODE_BAD_JSON,
     "not JSON: record.by is not valid UTF-8"},
    {RECORD_CANCEL_ORDER, "{\"by\": \"\\ud800\"}", CODE_BAD_JSON,
     "not JSON: record.by has half of a surrogate pair"},
    {RECORD_CANCEL_ORDER, "[]", CODE_BAD_JSON, "expected a JSON object: {...}"},
    {RECORD_CANCEL_ORDER, "{} {}", CODE_BAD_JSON, "not JSON: record is not valid JSON (byte 3)"},
    {RECORD_CANCEL_ORDER, "", CODE_BAD_JSON, "not JSON"},
};

Test(schemas_json_codec, names_the_path_of_each_mistake)
{
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        cr_assert_eq(decode(mistakes[i].kind, text_of(mistakes[i].json)), ERROR_REJECT, "%s",
                     mistakes[i].json);
        cr_assert_eq(kit.error.code, mistakes[i].code, "%s: %s", mistakes[i].json,
                     kit.error.message);
        cr_assert_eq(strncmp(kit.error.message, mistakes[i].message, strlen(mistakes[i].message)),
                     0, "%s: %s", mistakes[i].json, kit.error.message);
    }
}

Test(schemas_json_codec, takes_integers_however_they_are_written)
{
    static const char *const written[] = {"2", "2.0", "2e0", "20E-1"};
    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
        char json[64];
        snprintf(json, sizeof(json), "{\"timeout_ms\": %s}", written[i]);
        cr_assert_eq(decode(RECORD_RESUBMIT_STEP, text_of(json)), ERROR_OK, "%s: %s", json,
                     kit.error.message);
        cr_assert_eq(kit.record.command.resubmit_step.timeout_ms, 2, "%s", json);
    }
}

/* `before`, the element `count` times, `after`; valid until the next call. */
static struct text repeated(const char *before, const char *element, size_t count,
                            const char *after)
{
    static char json[1 << 20];
    size_t size = (size_t)snprintf(json, sizeof(json), "%s", before);
    for (size_t i = 0; i < count; i++)
        size += (size_t)snprintf(json + size, sizeof(json) - size, "%s", element);
    size += (size_t)snprintf(json + size, sizeof(json) - size, "%s", after);
    cr_assert_lt(size, sizeof(json));
    return (struct text){json, (uint32_t)size};
}

Test(schemas_json_codec, names_the_limit_that_is_exceeded)
{
    cr_assert_eq(
        decode(RECORD_CANCEL_ORDER, repeated("{\"order_id\": \"", "x", ORDER_ID_BYTES_MAX, "\"}")),
        ERROR_OK);
    cr_assert_eq(decode(RECORD_CANCEL_ORDER,
                        repeated("{\"order_id\": \"", "x", ORDER_ID_BYTES_MAX + 1, "\"}")),
                 ERROR_REJECT);
    cr_assert_str_eq(kit.error.message, "order_id is 129 bytes; the limit is 128");
    const char *line = "{\"sku\": \"a\", \"quantity\": 1, \"unit_price\": 1},";
    const char *last = "{\"sku\": \"a\", \"quantity\": 1, \"unit_price\": 1}]}";
    cr_assert_eq(
        decode(RECORD_SUBMIT_ORDER, repeated("{\"lines\": [", line, ORDER_LINES_MAX - 1, last)),
        ERROR_OK);
    cr_assert_eq(
        decode(RECORD_SUBMIT_ORDER, repeated("{\"lines\": [", line, ORDER_LINES_MAX, last)),
        ERROR_REJECT);
    cr_assert_str_eq(kit.error.message, "lines has 2001 elements; the limit is 2000");
    cr_assert_eq(decode(RECORD_SUBMIT_ORDER, repeated("{\"attributes\": {\"", "n",
                                                      ATTRIBUTE_NAME_BYTES_MAX + 1, "\": \"\"}}")),
                 ERROR_REJECT);
    cr_assert(strstr(kit.error.message, "has a name of 129 bytes; the limit is 128") != NULL, "%s",
              kit.error.message);
}

/* Deep nesting overflows neither the stack nor a message. */
Test(schemas_json_codec, bounds_the_depth)
{
    cr_assert_eq(decode(RECORD_CANCEL_ORDER, repeated("", "[", 100000, "")), ERROR_REJECT);
    cr_assert_eq(decode(RECORD_CANCEL_ORDER, repeated("{\"reason\": ", "[", 1000, "1")),
                 ERROR_REJECT);
    cr_assert_eq(
        decode(RECORD_SUBMIT_ORDER, repeated("{\"lines\": [{\"", "long", 10000, "\": 1}]}")),
        ERROR_REJECT);
    cr_assert_eq(kit.error.code, CODE_UNKNOWN_FIELD);
}

Test(schemas_json_codec, gives_missing_fields_their_defaults)
{
    struct order_details details;
    struct json_value json = json_value_of(TEXT("{}"));
    cr_assert_eq(json_codec_decode(&binding_order_details, NULL, 0, json, &kit.memory.arena,
                                   &details, &kit.error),
                 ERROR_OK);
    cr_assert_eq(details.priority, PRIORITY_NORMAL);
    cr_assert(text_empty(details.order_id), "a required text is empty");
}

Test(schemas_json_codec, leaves_sizes_to_the_caller_on_request)
{
    struct order_details details;
    struct json_value json = json_value_of(TEXT("{\"currency\":\"euro\"}"));
    cr_assert_eq(json_codec_decode(&binding_order_details, NULL, 0, json, &kit.memory.arena,
                                   &details, &kit.error),
                 ERROR_REJECT);
    cr_assert_eq(json_codec_decode(&binding_order_details, NULL, JSON_CODEC_ANY_SIZE, json,
                                   &kit.memory.arena, &details, &kit.error),
                 ERROR_OK);
    cr_assert(text_equal(details.goods->currency, TEXT("euro")));
}

Test(schemas_json_codec, reads_only_the_selected_fields)
{
    static const char *const only[] = {"by", "reason", NULL};
    struct cancel_order cancel;
    struct json_value json = json_value_of(TEXT("{\"order_id\":\"1\"}"));
    cr_assert_eq(json_codec_decode(record_kind_info(RECORD_CANCEL_ORDER)->binding, only, 0, json,
                                   &kit.memory.arena, &cancel, &kit.error),
                 ERROR_REJECT);
    cr_assert_eq(kit.error.code, CODE_UNKNOWN_FIELD);
}

/* ---- data within records ---- */

static void expect_input(const char *input, const char *expected)
{
    struct text json = repeated("{\"input\": ", input, 1, "}");
    cr_assert_eq(decode(RECORD_SUBMIT_ORDER, json), ERROR_OK, "%s", kit.error.message);
    struct text found = kit.record.command.submit_order.input;
    cr_expect(text_equal(found, text_of(expected)), "%.*s", TEXT_ARG(found));
}

Test(schemas_json_codec, reads_data_as_it_is)
{
    expect_input("{\"b\": 100.10, \"a\": [12345678901234567890]}",
                 "{\"a\":[12345678901234567890],\"b\":100.1}");
    expect_input("\"text\"", "\"text\"");
    expect_input("false", "false");
    expect_input("null", "");
}

/* Data may be as deep within a request's body as in a record. */
Test(schemas_json_codec, takes_data_as_deep_as_it_may_be)
{
    char input[2 * (JSON_DEPTH_MAX + 1) + 1] = "";
    memset(input, '[', JSON_DEPTH_MAX);
    memset(input + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    expect_input(input, input);
    memset(input, '[', JSON_DEPTH_MAX + 1);
    memset(input + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    cr_assert_eq(decode(RECORD_SUBMIT_ORDER, repeated("{\"input\":", input, 1, "}")), ERROR_REJECT);
    cr_assert_eq(kit.error.code, CODE_BAD_FIELD);
    cr_assert_eq(strncmp(kit.error.message, "input[0][0]", 11), 0, "%s", kit.error.message);
    cr_assert_not_null(strstr(kit.error.message, "has more than 32 lists and maps"));
}

Test(schemas_json_codec, writes_data_as_it_is)
{
    static const struct {
        const char *input;
        const char *expected;
    } rows[] = {
        {"", "{\"input\":null}"},
        {"[100.1,12345678901234567890]", "{\"input\":[100.1,12345678901234567890]}"},
        {" {\"b\": 1.0, \"a\": \"\\u001F\"}", "{\"input\":{\"a\":\"\\u001f\",\"b\":1}}"},
        {"not JSON", "{\"input\":\"not JSON\"}"},
    };
    static const char *const only[] = {"input", NULL};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct order_details details = {.input = text_of(rows[i].input)};
        char *text = encoded(&binding_order_details, &details, only, 0);
        cr_expect_str_eq(text, rows[i].expected);
        free(text);
    }
}
