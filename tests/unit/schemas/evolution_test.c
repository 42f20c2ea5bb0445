/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas of other writers: newer ones, older ones and invalid ones. test_schemas.py changes every
 * record systematically, with another implementation; the cases here need handmade bytes. */
#include "base/goods.h"
#include "schemas/avro/schema.h"
#include "tests/unit/schemas/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(schemas_evolution, .init = open_kit, .fini = close_kit);

static uint64_t fingerprint_of(struct text avsc)
{
    const struct avro_type *type = NULL;
    cr_assert_eq(avro_schema_parse(avsc, &kit.memory.arena, &type, &kit.error), ERROR_OK, "%s",
                 kit.error.message);
    return avro_schema_fingerprint(type, &kit.memory.arena);
}

static uint64_t learn(struct text avsc)
{
    uint64_t fingerprint = fingerprint_of(avsc);
    cr_assert_not(codec_knows(kit.codec, fingerprint));
    cr_assert_eq(codec_learn(kit.codec, avsc, NULL, &kit.error), ERROR_OK, "%s", kit.error.message);
    cr_assert(codec_knows(kit.codec, fingerprint));
    cr_assert_eq(codec_learn(kit.codec, avsc, NULL, &kit.error), ERROR_OK,
                 "learning twice is allowed");
    return fingerprint;
}

static void learns_not(struct text avsc, enum error_code code)
{
    cr_assert_eq(codec_learn(kit.codec, avsc, NULL, &kit.error), ERROR_REJECT, "%.*s",
                 TEXT_ARG(avsc));
    cr_assert_eq(kit.error.code, code, "%s", kit.error.message);
}
#define LEARNS_NOT(literal, code) learns_not(TEXT(literal), code)

static void put_decision_head(struct buffer *bytes)
{
    put_bytes(bytes, "0123456789abcdef", 16);
    for (int i = 0; i < 3; i++)
        put_long(bytes, i);
    put_string(bytes, "order");
    put_long(bytes, 7);
    put_long(bytes, 1);
    put_string(bytes, "");
    put_long(bytes, 9);
    put_long(bytes, -1);
}

/* A newer Decision: one more event, and one more field in a known event. */
static struct text newer_decision(void)
{
    return kit_schema(
        &kit, RECORD_DECISION, "     \"items\": [",
        "     \"items\": [{\"type\": \"record\", \"name\": \"OrderForgotten\", \"fields\": []}, ");
}

Test(schemas_evolution, fails_on_an_unknown_event_and_reads_its_neighbours)
{
    uint64_t fingerprint = learn(newer_decision());
    struct buffer bytes = {0};
    put_marker(&bytes, fingerprint);
    put_decision_head(&bytes);
    put_long(&bytes, 1);
    put_long(&bytes, 8); /* StepExhausted: the new event shifts all indexes by one */
    put_string(&bytes, "Pay");
    put_long(&bytes, 0);
    put_long(&bytes, 3);
    put_string(&bytes, "why");
    size_t one = bytes.size;
    put_long(&bytes, 0);
    cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK, "%s", kit.error.message);
    cr_assert_eq(kit.record.decision.events[0].kind, EVENT_STEP_EXHAUSTED);
    cr_assert_eq(kit.record.decision.events[0].step_marked.ref.attempt, 3);

    bytes.size = one;
    put_long(&bytes, 1);
    put_long(&bytes, 0); /* OrderForgotten */
    put_long(&bytes, 0);
    kit_refuses(&kit, text_of_buffer(&bytes), ERROR_FATAL, CODE_UNKNOWN_EVENT);
    cr_assert_not_null(strstr(kit.error.message, "OrderForgotten"));
    buffer_deinit(&bytes);
}

/* tests/golden/old: an earlier schema of reeve and a record written with it. */
static void decode_old(const char *name)
{
    static char avsc[1 << 16];
    const char *root = getenv("REEVE_SOURCE_DIR");
    char path[1024];
    snprintf(path, sizeof(path), "%s/tests/golden/old/%s.avsc", root != NULL ? root : ".", name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t size = fread(avsc, 1, sizeof(avsc), file);
    fclose(file);
    learn((struct text){avsc, (uint32_t)size});
    snprintf(path, sizeof(path), "old/%s", name);
    cr_assert_eq(kit_decode(&kit, kit_golden(&kit, path)), ERROR_OK, "%s", kit.error.message);
}

Test(schemas_evolution, reads_a_log_from_before_trimming)
{
    decode_old("Claim");
    cr_assert_eq(kit.record.kind, RECORD_CLAIM);
    cr_assert_eq(kit.record.claim.reset.next_command_offset, 77);
    cr_assert_eq(kit.record.claim.format, 0);
    decode_old("Continuation");
    const struct continuation *continuation = &kit.record.continuation;
    cr_assert_eq(kit.record.kind, RECORD_CONTINUATION);
    cr_assert_eq(continuation->guarded_offset, 75);
    cr_assert_eq(continuation->format, 0);
    cr_assert_eq(continuation->trimmed, -1, "it says nothing about a trim");
    cr_assert(text_empty(continuation->instance), "nor about its claim");
    cr_assert_eq(continuation->claimed_at, 0);
}

Test(schemas_evolution, reads_a_log_from_before_routing)
{
    decode_old("Decision");
    const struct decision *decision = &kit.record.decision;
    cr_assert_eq(decision->event_count, EVENT_COMMAND_DEAD_LETTERED);
    for (uint32_t i = 0; i < decision->event_count; i++)
        cr_assert_eq(decision->events[i].kind, (enum event_kind)(i + 1));
    const struct step_started *started = &decision->events[2].step_started;
    cr_assert(text_equal(started->agent, TEXT("bank")));
    cr_assert(text_empty(started->routing_reason));
    cr_assert_eq(started->inputs, STEP_INPUTS_ALL);
    cr_assert_eq(decision->events[20].command_rejected.command, COMMAND_START_STEP);
    decode_old("ResubmitStep");
    cr_assert(text_equal(kit.record.command.resubmit_step.by, TEXT("bob")));
    cr_assert_not(kit.record.command.resubmit_step.new_generation);
}

Test(schemas_evolution, reads_a_submission_without_its_append_time)
{
    decode_old("SubmitOrder");
    cr_assert(text_equal(kit.record.command.submit_order.order_id, TEXT("536365")));
    cr_assert_eq(kit.record.command.submit_order.submitted_at, 0);
}

Test(schemas_evolution, reads_orders_from_before_they_had_an_input)
{
    decode_old("OrderRow");
    cr_assert(text_equal(kit.record.order_row.details.goods->currency, TEXT("GBP")));
    cr_assert(text_empty(kit.record.order_row.details.input));
    decode_old("SubmitOrder");
    cr_assert(text_empty(kit.record.command.submit_order.input));
}

Test(schemas_evolution, reads_a_cancellation_from_before_it_named_its_token)
{
    decode_old("CancelOrder");
    cr_assert(text_equal(kit.record.command.cancel_order.by, TEXT("ann")));
    cr_assert(text_empty(kit.record.command.cancel_order.submitted_by));
}

Test(schemas_evolution, reads_statuses_and_alerts_without_a_decision_offset)
{
    decode_old("StatusUpdate");
    cr_assert_eq(kit.record.status_update.decision_offset, -1);
    cr_assert_eq(kit.record.status_update.command_offset, 72);
    decode_old("OperatorAlert");
    cr_assert_eq(kit.record.operator_alert.decision_offset, -1);
    cr_assert_eq(kit.record.operator_alert.command_offset, 82);
    cr_assert(text_empty(kit.record.operator_alert.root));
}

Test(schemas_evolution, matches_symbols_by_name)
{
    uint64_t fingerprint =
        learn(kit_schema(&kit, RECORD_SUBMIT_ORDER, "[\"high\", \"normal\", \"low\"]",
                         "[\"low\", \"urgent\", \"normal\", \"high\"]"));
    static const enum error_code codes[] = {CODE_NONE, CODE_BAD_VALUE, CODE_NONE, CODE_NONE};
    static const enum priority priorities[] = {PRIORITY_LOW, 0, PRIORITY_NORMAL, PRIORITY_HIGH};
    for (int index = 0; index < 4; index++) {
        struct buffer bytes = {0};
        put_marker(&bytes, fingerprint);
        put_string(&bytes, "1");
        put_string(&bytes, "");
        put_string(&bytes, "EUR");
        put_bytes(&bytes, "\0\0", 2);
        put_long(&bytes, index);
        put_string(&bytes, "");
        put_string(&bytes, "flow");
        put_bytes(&bytes, "\0\0\0\0\0\0\0", 7);
        if (codes[index] != CODE_NONE) {
            kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, codes[index]);
        } else {
            cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK);
            cr_assert_eq(kit.record.command.submit_order.priority, priorities[index]);
        }
        buffer_deinit(&bytes);
    }
}

#define ATTEMPT_FIELDS                                                                          \
    "{\"name\": \"claim_id\", \"type\": {\"type\": \"fixed\", \"name\": \"U\", \"size\": 16}}," \
    "{\"name\": \"command_offset\", \"type\": \"long\"}"
#define ATTEMPT_OF(fields)                                                                         \
    "{\"type\": \"record\", \"name\": \"Attempt\", \"namespace\": \"reeve\", \"fields\": [" fields \
    "]}"

Test(schemas_evolution, spends_no_memory_on_elements_without_bytes)
{
    uint64_t fingerprint = learn(
        TEXT(ATTEMPT_OF("{\"name\": \"air\", \"type\": {\"type\": \"array\", \"items\": \"null\"}},"
                        "{\"name\": \"more\", \"type\": {\"type\": \"array\", \"items\": "
                        "{\"type\": \"record\", \"name\": \"E\", \"fields\": "
                        "[{\"name\": \"n\", \"type\": \"null\"}]}}}," ATTEMPT_FIELDS)));
    struct buffer bytes = {0};
    put_marker(&bytes, fingerprint);
    for (int array = 0; array < 2; array++) {
        put_long(&bytes, INT64_MAX);
        put_long(&bytes, -INT64_MAX);
        put_long(&bytes, 0);
        put_long(&bytes, 0);
    }
    put_bytes(&bytes, "0123456789abcdef", 16);
    put_long(&bytes, 5);
    cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK, "%s", kit.error.message);
    cr_assert_eq(kit.record.command_guard.command_offset, 5);
    cr_assert_lt(kit.memory.arena.used, 512 * 1024);
    buffer_deinit(&bytes);
}

Test(schemas_evolution, rejects_null_for_a_required_field)
{
    struct text avsc = kit_schema(&kit, RECORD_COMMAND_GUARD, "\"long\"", "[\"null\", \"long\"]");
    struct buffer bytes = {0};
    put_marker(&bytes, learn(avsc));
    put_bytes(&bytes, "0123456789abcdef", 16);
    size_t head = bytes.size;
    put_long(&bytes, 1);
    put_long(&bytes, -77);
    cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK, "%s", kit.error.message);
    cr_assert_eq(kit.record.command_guard.command_offset, -77);
    bytes.size = head;
    put_long(&bytes, 0);
    kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
    bytes.size = head;
    put_long(&bytes, 2);
    kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
    buffer_deinit(&bytes);
}

Test(schemas_evolution, rejects_an_event_beyond_the_union)
{
    static const int64_t indexes[] = {EVENT_KIND_COUNT - 1, -1, INT64_MAX};
    for (uint32_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
        struct buffer bytes = {0};
        put_marker(&bytes, codec_fingerprint(kit.codec, RECORD_DECISION));
        put_decision_head(&bytes);
        put_long(&bytes, 1);
        put_long(&bytes, indexes[i]);
        put_bytes(&bytes, "\0\0\0\0\0\0", 6);
        kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
        buffer_deinit(&bytes);
    }
}

/* A value that fits the writer's long but not our member. */
Test(schemas_evolution, rejects_wider_numbers_that_do_not_fit_the_member)
{
    static const int64_t attempts[] = {INT32_MAX, (int64_t)INT32_MAX + 1, -1};
    uint64_t fingerprint = learn(kit_schema(&kit, RECORD_RECOVER_STEP, "\"int\"", "\"long\""));
    for (uint32_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        struct buffer bytes = {0};
        put_marker(&bytes, fingerprint);
        put_string(&bytes, "1");
        put_string(&bytes, "Pay");
        put_long(&bytes, 0);
        put_long(&bytes, attempts[i]);
        put_long(&bytes, 99);
        put_string(&bytes, "");
        if (i == 0) {
            cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK);
            cr_assert_eq(kit.record.command.recover_step.attempt, INT32_MAX);
        } else {
            kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
        }
        buffer_deinit(&bytes);
    }
}

/* Avro promotes bytes to string; the decoder still guarantees UTF-8. */
Test(schemas_evolution, promotes_bytes_to_strings)
{
    struct text avsc =
        kit_schema(&kit, RECORD_CANCEL_ORDER, "\"name\": \"by\", \"type\": \"string\"",
                   "\"name\": \"by\", \"type\": \"bytes\"");
    uint64_t fingerprint = learn(avsc);
    for (int good = 0; good < 2; good++) {
        struct buffer bytes = {0};
        put_marker(&bytes, fingerprint);
        put_string(&bytes, "1");
        put_string(&bytes, good ? "\xc3\xa9" : "\xc3");
        put_string(&bytes, "");
        put_string(&bytes, "");
        put_string(&bytes, "");
        if (good) {
            cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK);
            cr_assert(text_equal(kit.record.command.cancel_order.by, TEXT("\xc3\xa9")));
        } else {
            kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
        }
        buffer_deinit(&bytes);
    }
}

/* Numbers that index into the engine's arrays. */
Test(schemas_evolution, rejects_a_retrier_beyond_the_policy)
{
    for (int64_t retrier = RETRIERS_MAX - 1; retrier <= RETRIERS_MAX; retrier++) {
        struct buffer bytes = {0};
        put_marker(&bytes, codec_fingerprint(kit.codec, RECORD_DECISION));
        put_decision_head(&bytes);
        put_long(&bytes, 1);
        put_long(&bytes, EVENT_STEP_RETRY_SCHEDULED - 1);
        put_string(&bytes, "Pay");
        put_long(&bytes, 0);
        put_long(&bytes, 1);
        put_long(&bytes, 1000);
        put_long(&bytes, retrier);
        put_long(&bytes, 1);
        put_long(&bytes, 0);
        if (retrier < RETRIERS_MAX)
            cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK);
        else
            kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
        buffer_deinit(&bytes);
    }
}

/* The decoder skips a field as strictly as it reads one. */
Test(schemas_evolution, skips_unknown_fields_within_bounds)
{
    uint64_t fingerprint = learn(TEXT(ATTEMPT_OF(
        "{\"name\": \"a\", \"type\": \"string\"}, {\"name\": \"b\", \"type\": \"bytes\"},"
        "{\"name\": \"c\", \"type\": {\"type\": \"enum\", \"name\": \"C\", "
        "\"symbols\": [\"x\", \"y\", \"z\"]}},"
        "{\"name\": \"d\", \"type\": \"float\"}, {\"name\": \"e\", \"type\": \"double\"},"
        "{\"name\": \"f\", \"type\": {\"type\": \"map\", \"values\": "
        "{\"type\": \"array\", \"items\": \"int\"}}},"
        "{\"name\": \"g\", \"type\": [\"null\", \"string\"]}," ATTEMPT_FIELDS)));
    struct buffer bytes = {0};
    put_marker(&bytes, fingerprint);
    put_string(&bytes, "text");
    put_string(&bytes, "\xff\xfe");
    size_t before_enum = bytes.size;
    put_long(&bytes, 2);
    put_bytes(&bytes, "abcd12345678", 12);
    put_long(&bytes, -1); /* one key, a block of 6 bytes */
    put_long(&bytes, 6);
    put_string(&bytes, "k");
    put_long(&bytes, 2);
    put_long(&bytes, 63);
    put_long(&bytes, -64);
    put_long(&bytes, 0);
    put_long(&bytes, 0); /* no more keys */
    size_t before_union = bytes.size;
    put_long(&bytes, 1);
    put_string(&bytes, "z");
    put_bytes(&bytes, "0123456789abcdef", 16);
    put_long(&bytes, 1234567);
    cr_assert_eq(kit_decode(&kit, text_of_buffer(&bytes)), ERROR_OK, "%s", kit.error.message);
    cr_assert_eq(kit.record.command_guard.command_offset, 1234567);
    for (uint32_t size = 10; size < bytes.size; size++)
        kit_refuses(&kit, (struct text){(char *)bytes.data, size}, ERROR_REJECT, CODE_TRUNCATED);
    bytes.data[before_union] = 4;
    kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
    bytes.data[before_union] = 2;
    bytes.data[before_enum] = 6;
    kit_refuses(&kit, text_of_buffer(&bytes), ERROR_REJECT, CODE_BAD_VALUE);
    buffer_deinit(&bytes);
}

/* ---- rejected schemas ---- */

Test(schemas_evolution, rejects_invalid_schemas)
{
    LEARNS_NOT("", CODE_BAD_SCHEMA);
    LEARNS_NOT("no JSON", CODE_BAD_SCHEMA);
    LEARNS_NOT("17", CODE_BAD_SCHEMA);
    LEARNS_NOT("[]", CODE_BAD_SCHEMA);
    LEARNS_NOT("\"nothing\"", CODE_BAD_SCHEMA);
    LEARNS_NOT("{\"type\": \"record\", \"name\": \"Claim\"}", CODE_BAD_SCHEMA);
    LEARNS_NOT("{\"type\": \"record\", \"fields\": []}", CODE_BAD_SCHEMA);
    LEARNS_NOT("{\"type\": \"record\", \"name\": \"1\", \"fields\": []}", CODE_BAD_SCHEMA);
    LEARNS_NOT("{\"type\": \"record\", \"name\": \"a..b\", \"fields\": []}", CODE_BAD_SCHEMA);
    LEARNS_NOT(
        ATTEMPT_OF("{\"name\": \"x\", \"type\": \"int\"}, {\"name\": \"x\", \"type\": \"int\"}"),
        CODE_BAD_SCHEMA);
    LEARNS_NOT(ATTEMPT_OF("{\"name\": \"x y\", \"type\": \"int\"}"), CODE_BAD_SCHEMA);
    LEARNS_NOT(ATTEMPT_OF("{\"name\": \"x\"}"), CODE_BAD_SCHEMA);
    LEARNS_NOT(ATTEMPT_OF("{\"name\": \"x\", \"type\": [\"null\", [\"int\"]]}"), CODE_BAD_SCHEMA);
    LEARNS_NOT(ATTEMPT_OF("{\"name\": \"x\", \"type\": {\"type\": \"array\"}}"), CODE_BAD_SCHEMA);
    LEARNS_NOT(ATTEMPT_OF("{\"name\": \"x\", \"type\": {\"type\": \"fixed\", \"name\": \"F\", "
                          "\"size\": -1}}"),
               CODE_BAD_SCHEMA);
    LEARNS_NOT(ATTEMPT_OF("{\"name\": \"x\", \"type\": {\"type\": \"enum\", \"name\": \"E\", "
                          "\"symbols\": []}}"),
               CODE_BAD_SCHEMA);
    LEARNS_NOT(
        ATTEMPT_OF("{\"name\": \"x\", \"type\": {\"type\": \"fixed\", \"name\": \"Attempt\", "
                   "\"size\": 1}}"),
        CODE_BAD_SCHEMA);
}

Test(schemas_evolution, rejects_recursive_and_huge_schemas)
{
    LEARNS_NOT(
        ATTEMPT_OF("{\"name\": \"next\", \"type\": [\"null\", \"Attempt\"]}," ATTEMPT_FIELDS),
        CODE_BAD_SCHEMA);
    struct buffer deep = {0};
    put_bytes(&deep,
              "{\"type\": \"record\", \"name\": \"Attempt\", \"fields\": [{\"name\": \"x\", "
              "\"type\": ",
              strlen("{\"type\": \"record\", \"name\": \"Attempt\", \"fields\": [{\"name\": \"x\", "
                     "\"type\": "));
    size_t head = deep.size;
    for (int i = 0; i < 3000; i++)
        put_bytes(&deep, "{\"type\":\"array\",\"items\":", 24);
    put_bytes(&deep, "\"null\"", 6);
    for (int i = 0; i < 3000; i++)
        put_bytes(&deep, "}", 1);
    put_bytes(&deep, "}]}", 3);
    learns_not(text_of_buffer(&deep), CODE_BAD_SCHEMA);

    /* Each record contains the previous one twice: a small text that expands to 2^25 fields. */
    deep.size = head;
    put_bytes(&deep, "\"int\"}", 6);
    for (int i = 0; i < 25; i++) {
        char field[256];
        int size = snprintf(
            field, sizeof(field),
            ", {\"name\": \"f%d\", \"type\": {\"type\": \"record\", \"name\": \"R%d\","
            " \"fields\": [{\"name\": \"a\", \"type\": \"%s%d\"}, {\"name\": \"b\","
            " \"type\": \"%s%d\"}]}}",
            i, i, i == 0 ? "in" : "R", i == 0 ? 0 : i - 1, i == 0 ? "in" : "R", i == 0 ? 0 : i - 1);
        if (i == 0)
            size =
                snprintf(field, sizeof(field),
                         ", {\"name\": \"f0\", \"type\": {\"type\": \"record\", \"name\": \"R0\", "
                         "\"fields\": []}}");
        put_bytes(&deep, field, (size_t)size);
    }
    put_bytes(&deep, "]}", 2);
    learns_not(text_of_buffer(&deep), CODE_BAD_SCHEMA);
    char *large = calloc(1, AVRO_SCHEMA_BYTES_MAX + 1);
    cr_assert_not_null(large);
    learns_not((struct text){large, AVRO_SCHEMA_BYTES_MAX + 1}, CODE_BAD_SCHEMA);
    free(large);
    buffer_deinit(&deep);
}

Test(schemas_evolution, rejects_schemas_that_map_to_no_record)
{
    LEARNS_NOT("\"string\"", CODE_UNKNOWN_RECORD);
    LEARNS_NOT("{\"type\": \"record\", \"name\": \"Foreign\", \"fields\": []}",
               CODE_UNKNOWN_RECORD);
    LEARNS_NOT("{\"type\": \"fixed\", \"name\": \"Claim\", \"size\": 1}", CODE_UNKNOWN_RECORD);
    LEARNS_NOT(ATTEMPT_OF(""), CODE_UNMAPPABLE);
    LEARNS_NOT(ATTEMPT_OF("{\"name\": \"claim_id\", \"type\": \"string\"},"
                          "{\"name\": \"command_offset\", \"type\": \"long\"}"),
               CODE_UNMAPPABLE);
    LEARNS_NOT(
        ATTEMPT_OF("{\"name\": \"claim_id\", \"type\": {\"type\": \"fixed\", \"name\": \"U\", "
                   "\"size\": 8}}, {\"name\": \"command_offset\", \"type\": \"long\"}"),
        CODE_UNMAPPABLE);
    LEARNS_NOT(
        ATTEMPT_OF("{\"name\": \"claim_id\", \"type\": {\"type\": \"fixed\", \"name\": \"U\", "
                   "\"size\": 16}}, {\"name\": \"command_offset\", \"type\": \"double\"}"),
        CODE_UNMAPPABLE);
    learns_not(kit_schema(&kit, RECORD_SUBMIT_ORDER, "\"scale\": 4", "\"scale\": 2"),
               CODE_UNMAPPABLE);
    learns_not(kit_schema(&kit, RECORD_SUBMIT_ORDER, "\"type\": \"map\", \"values\"",
                          "\"type\": \"array\", \"items\""),
               CODE_UNMAPPABLE);
    learns_not(kit_schema(&kit, RECORD_DECISION, "\"name\": \"failure_count\", \"type\": \"int\"",
                          "\"name\": \"failure_count\", \"type\": \"string\""),
               CODE_UNMAPPABLE);
}
