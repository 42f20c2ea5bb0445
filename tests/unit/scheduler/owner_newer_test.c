/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a newer version, whose limits are higher: in `events`, in `commands`, and where a
 * trimmed log begins. None of them is called a foreign one, and none is lost. */
#include "base/bytes.h"
#include "schemas/avro/schema.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(owner_newer);

static struct owner_kit kit;
static struct owner_kit_process *process;
static struct owner *owner;
static struct buffer bytes;

/* One order decided at offset 1, after the Claim at 0. */
static void begin(void)
{
    owner_kit_begin(&kit, 1);
    process = owner_kit_boot(&kit, "s-1", 0);
    owner = owner_kit_own(process, 0);
    owner_kit_submit(&kit, "first");
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), 2);
}

/* Publishes the schema of the kind with one piece of its text exchanged; `bytes` begins with its
 * fingerprint. */
static void publish(enum record_kind kind, const char *piece, const char *newer)
{
    static char avsc[64 * 1024];
    const struct avro_type *type = NULL;
    struct error error;
    struct text own = codec_schema(kind);
    const char *at = strstr(own.data, piece);
    cr_assert_not_null(at);
    int before = (int)(at - own.data);
    int after = before + (int)strlen(piece);
    snprintf(avsc, sizeof(avsc), "%.*s%s%.*s", before, own.data, newer, (int)own.size - after,
             own.data + after);
    heap_arena_reset(&kit.heap);
    cr_assert_eq(avro_schema_parse(text_of(avsc), &kit.heap.arena, &type, &error), ERROR_OK);
    uint64_t fingerprint = avro_schema_fingerprint(type, &kit.heap.arena);
    broker_memory_append(kit.kafka, "p.schemas", 0, TEXT("newer"), text_of(avsc));
    bytes.size = 0;
    uint8_t frame[10] = {0xc3, 0x01};
    bytes_put_le(frame + 2, fingerprint, 8);
    buffer_append(&bytes, frame, sizeof(frame));
}

static void put_long(int64_t value)
{
    uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    for (; bits >= 0x80; bits >>= 7)
        buffer_append(&bytes, &(uint8_t){(uint8_t)(bits | 0x80)}, 1);
    buffer_append(&bytes, &(uint8_t){(uint8_t)bits}, 1);
}

static void put_string(const char *string, size_t size)
{
    put_long((int64_t)size);
    buffer_append(&bytes, string, size);
}

static int64_t append(const char *topic, const char *key)
{
    return broker_memory_append(kit.kafka, topic, 0, text_of(key),
                                (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
}

/* Borrowed until the next call. */
static char *filled(size_t size)
{
    static char text[REPORT_OUTPUT_BYTES_READ_MAX + 2];
    cr_assert_lt(size, sizeof(text));
    memset(text, 'x', size);
    text[size] = '\0';
    return text;
}

static void assert_decides(const char *order_id)
{
    owner_kit_submit(&kit, order_id);
    owner_kit_run(&kit, 30000);
    cr_assert(owner_is_running(owner), "%s", owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_decision(&kit, 0, order_id)->events[0].kind, EVENT_ORDER_ACCEPTED);
}

Test(owner_newer, stops_at_a_decision_with_more_events_than_it_can_read)
{
    begin();
    owner_kit_release(process, 0);
    publish(RECORD_DECISION, "\"symbols\": [\"Pending\",", "\"symbols\": [\"Parked\",");
    static const uint8_t claim_id[16] = {1};
    buffer_append(&bytes, claim_id, sizeof(claim_id));
    for (int i = 0; i < 3; i++)
        put_long(1); /* sequence, command, time */
    put_string("x", 1);
    put_long(0); /* version */
    put_long(1); /* a state that both know */
    put_string("", 0);
    put_long(0);
    put_long(-1);
    put_long(DECISION_EVENTS_READ_MAX + 1);
    buffer_append(&bytes, filled(8 * DECISION_EVENTS_READ_MAX), 8 * DECISION_EVENTS_READ_MAX);
    append("p.events", "x");
    owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 600000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_eq(owner_kit_alerts(&kit, "UnknownEvent", true), 1, "%s", owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_alerts(&kit, "UndecodableEvent", true), 0);
    cr_assert_not_null(strstr(owner_kit_trouble(owner), "upgrade this instance"));
    cr_assert(owner_is_outdated(owner));
}

/* A report whose output is longer than what is read here. Returns its offset. */
static int64_t report_newer(void)
{
    publish(RECORD_REPORT_STEP, "{\"name\": \"instance\"",
            "{\"name\": \"weight\", \"type\": \"int\", \"default\": 0}, {\"name\": \"instance\"");
    put_string("first", 5);
    put_string("A", 1);
    put_long(0); /* do */
    put_long(1); /* attempt */
    buffer_append(&bytes, "\1", 1);
    put_string(filled(REPORT_OUTPUT_BYTES_READ_MAX + 1), REPORT_OUTPUT_BYTES_READ_MAX + 1);
    put_string("", 0);
    put_string("", 0);
    put_long(0); /* effect */
    put_string("", 0);
    put_long(0); /* weight */
    put_string("", 0);
    return append("p.commands", "first");
}

Test(owner_newer, waits_at_a_command_that_it_cannot_read)
{
    begin();
    int64_t offset = report_newer();
    owner_kit_submit(&kit, "second");
    owner_kit_run(&kit, 600000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 1);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 0);
    cr_assert(owner_is_outdated(owner));
    cr_assert_eq(owner_kit_alerts(&kit, "UnknownCommand", true), 1);
    cr_assert_not_null(strstr(owner_kit_trouble(owner), "upgrade this instance"), "%s",
                       owner_kit_trouble(owner));
    struct partition_reset reset = {.expected_offset = owner_kit_end(&kit, "p.events", 0),
                                    .next_command_offset = offset + 1,
                                    .by = TEXT("ann"),
                                    .reason = TEXT("the report is of a client under test"),
                                    .reset_at = kit.clock.now_wall_ms};
    owner_kit_send(&kit, "p.events", 0, TEXT("ann"), RECORD_RESET, &reset);
    assert_decides("third");
    cr_assert_eq(owner_kit_decision(&kit, 0, "second")->events[0].kind, EVENT_ORDER_ACCEPTED);
    cr_assert(!owner_is_outdated(owner));
}

/* They stopped and did not crash. */
Test(owner_newer, does_not_quarantine_a_command_that_many_owners_could_not_read)
{
    begin();
    report_newer();
    for (int i = 0; i < 2 * COMMAND_TRIES_MAX; i++) {
        owner_kit_run(&kit, 10000);
        owner_kit_release(process, 0);
        owner = owner_kit_own(process, 0);
    }
    owner_kit_run(&kit, 10000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 1);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 0);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_COMMAND_GUARD), 0);
}

/* What a newer version writes within the limits of reading is decided, kept and passed on. */
Test(owner_newer, passes_on_what_is_longer_than_what_it_writes)
{
    begin();
    struct command cmd = owner_kit_submission("long");
    cmd.submit_order.customer = text_of(filled(CUSTOMER_BYTES_READ_MAX));
    owner_kit_command(&kit, &cmd);
    owner_kit_run(&kit, 1000);
    const struct event *event = &owner_kit_decision(&kit, 0, "long")->events[0];
    cr_assert_eq(event->kind, EVENT_ORDER_ACCEPTED);
    cr_assert_eq(event->order_accepted.details.customer.size, CUSTOMER_BYTES_READ_MAX);
    cmd = owner_kit_report_of("long");
    cmd.report_step.succeeded = false;
    cmd.report_step.error_name = TEXT("Nope");
    cmd.report_step.error_message = text_of(filled(MESSAGE_BYTES_READ_MAX));
    owner_kit_command(&kit, &cmd);
    owner_kit_run(&kit, 1000);
    event = &owner_kit_decision(&kit, 0, "long")->events[0];
    cr_assert_eq(event->kind, EVENT_STEP_FAILED);
    cr_assert_eq(event->step_failed.error_message.size, MESSAGE_BYTES_READ_MAX);
    owner_kit_release(process, 0);
    owner_kit_boot(&kit, "s-2", 0);
    owner = owner_kit_own(&kit.processes[1], 0);
    assert_decides("second");
    const struct order *order = NULL;
    cr_assert_eq(view_order(owner_view(owner), TEXT("long"), &order, NULL), ERROR_OK);
    cr_assert_eq(order->steps[0].error_message.size, MESSAGE_BYTES_READ_MAX);
}

Test(owner_newer, does_not_call_a_log_truncated_that_begins_with_a_newer_continuation)
{
    begin();
    owner_kit_release(process, 0);
    publish(RECORD_CONTINUATION, "{\"name\": \"partition_count\", \"type\": \"int\"",
            "{\"name\": \"partition_count\", \"type\": \"long\"");
    static const uint8_t ids[16] = {1};
    buffer_append(&bytes, ids, sizeof(ids));
    put_long(1);
    buffer_append(&bytes, ids, sizeof(ids));
    put_long(INT64_C(1) << 40);
    for (int i = 0; i < 12; i++)
        put_long(0);
    int64_t start = append("p.events", "s-1");
    broker_memory_trim(kit.kafka, "p.events", 0, start);
    process = owner_kit_boot(&kit, "s-2", 0);
    owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_eq(owner_kit_alerts(&kit, "LogTruncated", true), 0);
    cr_assert_eq(owner_kit_alerts(&kit, "UnknownEvent", true), 1, "%s", owner_kit_trouble(owner));
    cr_assert(owner_is_outdated(owner));
}
