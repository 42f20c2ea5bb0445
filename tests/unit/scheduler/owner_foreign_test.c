/* SPDX-License-Identifier: Apache-2.0 */
/* Records in `events` that are not reeve's or cannot be read, and the reset that skips them. */
#include "base/bytes.h"
#include "schemas/avro/schema.h"
#include "services/scheduler/owner/internal.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(owner_foreign);

static int64_t append_raw(struct owner_kit *kit, struct text value)
{
    return broker_memory_append(kit->kafka, "p.events", 0, TEXT("x"), value);
}

/* Framed as a Decision, but the bytes end too early. */
static int64_t append_broken(struct owner_kit *kit)
{
    uint8_t bytes[12] = {0xc3, 0x01};
    uint64_t fingerprint = codec_fingerprint(kit->codec, RECORD_DECISION);
    bytes_put_le(bytes + 2, fingerprint, 8);
    return append_raw(kit, (struct text){(const char *)bytes, sizeof(bytes)});
}

static int64_t reset(struct owner_kit *kit, int64_t expected_offset, int64_t from, int64_t to)
{
    struct partition_reset record = {.expected_offset = expected_offset,
                                     .next_command_offset = -1,
                                     .has_skip = from < to,
                                     .skip = {from, to},
                                     .by = TEXT("ann"),
                                     .reason = TEXT("another client wrote here"),
                                     .reset_at = kit->clock.now_wall_ms};
    return owner_kit_send(kit, "p.events", 0, TEXT("ann"), RECORD_RESET, &record);
}

static void assert_decides(struct owner_kit *kit, const struct owner *owner, const char *order_id)
{
    owner_kit_submit(kit, order_id);
    owner_kit_run(kit, 30000);
    cr_assert(owner_is_running(owner), "it is %s: %s", owner_state_name(owner_state(owner)),
              owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_decision(kit, 0, order_id)->events[0].kind, EVENT_ORDER_ACCEPTED);
}

/* One order decided at offset 1, after the Claim at 0. */
static struct owner *begin(struct owner_kit *kit, struct owner_kit_process **ret_process)
{
    owner_kit_begin(kit, 1);
    *ret_process = owner_kit_boot(kit, "s-1", 0);
    struct owner *owner = owner_kit_own(*ret_process, 0);
    owner_kit_submit(kit, "first");
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_end(kit, "p.events", 0), 2);
    return owner;
}

/* After begin() and more that was appended: the partition stops, with one alert of this code, and
 * nothing is claimed. */
static struct owner *own_and_stop(struct owner_kit *kit, struct owner_kit_process *process,
                                  const char *code)
{
    int64_t end = owner_kit_end(kit, "p.events", 0);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(kit, 600000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED, "%s", owner_state_name(owner_state(owner)));
    cr_assert_eq(owner_kit_alerts(kit, code, true), 1, "%s", owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_end(kit, "p.events", 0), end, "it claims nothing");
    return owner;
}

/* ---- records that cannot be reeve's ---- */

Test(owner_foreign, skips_records_that_cannot_be_its_own)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    struct owner *owner = begin(&kit, &process);
    struct status_update status = {.order_id = TEXT("first")};
    append_raw(&kit, TEXT("no framing"));
    append_raw(&kit, (struct text){0});
    owner_kit_send(&kit, "p.events", 0, TEXT("x"), RECORD_STATUS_UPDATE, &status);
    assert_decides(&kit, owner, "second");
    cr_assert_eq(view_checkpoint(owner_view(owner))->skipped, 3);
    struct owner_kit_process *fresh = owner_kit_boot(&kit, "s-2", 0);
    owner_kit_release(process, 0);
    assert_decides(&kit, owner_kit_own(fresh, 0), "third");
    cr_assert_eq(owner_kit_end(&kit, "p.alerts", 0), 0);
}

/* ---- records that may be ---- */

Test(owner_foreign, reports_a_broken_record_once_and_claims_nothing)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    append_broken(&kit);
    own_and_stop(&kit, process, "UndecodableEvent");
}

/* The broker has not acknowledged the Claim when the owner reads the record in front of it. */
Test(owner_foreign, stops_at_a_broken_record_read_while_its_claim_is_on_its_way)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_READ_ONLY);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_CLAIMING, 1000);
    int64_t broken = append_broken(&kit);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_state(owner), OWNER_CLAIMING);
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_WORKS);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    cr_assert_eq(owner_kit_alerts(&kit, "UndecodableEvent", true), 1);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), broken + 2, "it claims once");
    reset(&kit, broken + 2, broken, broken + 1);
    assert_decides(&kit, owner, "second");
}

Test(owner_foreign, continues_when_a_reset_skips_a_broken_record)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    int64_t broken = append_broken(&kit);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 10000);
    reset(&kit, broken, broken, broken + 1); /* elsewhere than it expects: void */
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    reset(&kit, owner_kit_end(&kit, "p.events", 0), broken, broken + 1);
    assert_decides(&kit, owner, "second");
    /* A store that begins at the start of the log honours what lies behind the record. */
    owner_kit_release(process, 0);
    struct owner_kit_process *fresh = owner_kit_boot(&kit, "s-2", 0);
    struct owner *again = owner_kit_own(fresh, 0);
    assert_decides(&kit, again, "third");
    const struct order *order = NULL;
    cr_assert_eq(view_order(owner_view(again), TEXT("first"), &order, NULL), ERROR_OK);
    cr_assert_not_null(order);
}

Test(owner_foreign, stops_at_a_batch_that_nothing_can_read_until_a_reset_skips_it)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    for (int i = 0; i < 3; i++)
        append_raw(&kit, TEXT("compressed"));
    broker_memory_break_batch(kit.kafka, "p.events", 0, 2, 5);
    struct owner *owner = own_and_stop(&kit, process, "UnreadableEvent");
    cr_assert_not_null(strstr(owner_kit_trouble(owner), "the records from offset 2 to 4"));
    reset(&kit, 5, 2, 5);
    assert_decides(&kit, owner, "second");
    owner_kit_release(process, 0);
    struct owner_kit_process *fresh = owner_kit_boot(&kit, "s-2", 0);
    assert_decides(&kit, owner_kit_own(fresh, 0), "third");
}

Test(owner_foreign, continues_when_a_reset_skips_a_claim_with_other_partitions)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    struct claim claim = {.claim_id = {{9}}, .instance = TEXT("other"), .partition_count = 7};
    int64_t at = owner_kit_send(&kit, "p.events", 0, TEXT("other"), RECORD_CLAIM, &claim);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 10000);
    reset(&kit, at + 1, at, at + 1);
    assert_decides(&kit, owner, "second");
}

Test(owner_foreign, emits_again_past_a_skipped_batch)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    owner_kit_begin(&kit, 1);
    process = owner_kit_boot(&kit, "s-1", 0);
    owner_kit_own(process, 0);
    broker_memory_set_partition_fault(kit.kafka, "p.replies.app", BROKER_MEMORY_ALL,
                                      PARTITION_FAILS_APPEND);
    owner_kit_submit(&kit, "first");
    owner_kit_run(&kit, 1000);
    owner_kit_release(process, 0);
    append_raw(&kit, TEXT("compressed"));
    broker_memory_break_batch(kit.kafka, "p.events", 0, 2, 3);
    reset(&kit, 3, 2, 3);
    broker_memory_clear_partition_faults(kit.kafka);
    struct owner_kit_process *second = owner_kit_boot(&kit, "s-2", 0);
    assert_decides(&kit, owner_kit_own(second, 0), "second");
    cr_assert_eq(owner_kit_count(&kit, "p.replies.app", 0, RECORD_STATUS_UPDATE), 2);
}

Test(owner_foreign, folds_again_without_what_a_reset_skips)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    struct owner *owner = begin(&kit, &process);
    reset(&kit, 2, 1, 2);
    assert_decides(&kit, owner, "second");
    const struct order *order = NULL;
    cr_assert_eq(view_order(owner_view(owner), TEXT("first"), &order, NULL), ERROR_OK);
    cr_assert_eq(owner_kit_decision(&kit, 0, "first")->command_offset, 0,
                 "its command was never consumed, so it is decided again");
    cr_assert_not_null(order);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_DECISION), 4);
}

/* The Reset that it has honoured is not in its store before the next commit. */
Test(owner_foreign, keeps_a_skip_that_it_honours_when_it_goes_back_to_its_last_commit)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    int64_t broken = append_broken(&kit);
    struct owner *owner = owner_kit_own(process, 0);
    struct view *view = owner_view(owner);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 10000);
    reset(&kit, broken + 1, broken, broken + 1);
    while (view_checkpoint(view)->skip_count == 0)
        cr_assert(broker_memory_step(kit.kafka));
    cr_assert_eq(view_committed(view)->skip_count, 0);
    follower_restart(owner->follower, false, 0);
    cr_assert_eq(view_checkpoint(view)->skip_count, 1);
    cr_assert(admission_skips(view_checkpoint(view), broken));
    assert_decides(&kit, owner, "second");
}

/* It lies before the first Claim, as one that accepts another log would. */
Test(owner_foreign, keeps_its_store_when_a_reset_begins_the_log)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    int64_t broken = append_broken(&kit);
    reset(&kit, broken + 1, broken, broken + 1);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 60000);
    owner_kit_submit(&kit, "A");
    owner_kit_run(&kit, 1000);
    owner_kit_release(process, 0);
    owner_kit_run(&kit, 1000);
    uint32_t alerts = owner_kit_alerts(&kit, "PartitionReset", true);
    owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 60000);
    cr_assert_eq(owner_kit_alerts(&kit, "PartitionReset", true), alerts);
}

Test(owner_foreign, continues_after_two_broken_records_and_two_resets)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    int64_t one = append_broken(&kit);
    reset(&kit, one + 1, one, one + 1);
    int64_t two = append_broken(&kit);
    reset(&kit, two + 1, two, two + 1);
    assert_decides(&kit, owner_kit_own(process, 0), "second");
}

/* An older scheduler accepted any reply topic. */
Test(owner_foreign, sends_no_status_to_the_log)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    owner_kit_begin(&kit, 1);
    struct claim claim = {.instance = TEXT("older"), .partition_count = 1};
    struct event event = {.kind = EVENT_COMMAND_REJECTED,
                          .command_rejected = {.command = COMMAND_SUBMIT_ORDER,
                                               .code = TEXT("UnknownWorkflow"),
                                               .reason = TEXT("it is not deployed")}};
    struct decision decision = {.order_id = TEXT("a"),
                                .reply_to = TEXT("p.events"),
                                .command_time = kit.clock.now_wall_ms,
                                .decided_at = kit.clock.now_wall_ms,
                                .emitted_through = -1,
                                .events = &event,
                                .event_count = 1};
    owner_kit_submit(&kit, "a");
    owner_kit_send(&kit, "p.events", 0, TEXT("older"), RECORD_CLAIM, &claim);
    owner_kit_send(&kit, "p.events", 0, TEXT("a"), RECORD_DECISION, &decision);
    process = owner_kit_boot(&kit, "s-1", 0);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 5000);
    cr_assert(owner_is_running(owner), "%s", owner_kit_trouble(owner));
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_STATUS_UPDATE), 0);
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 2);
}

/* ---- schemas that come late ---- */

static uint64_t fingerprint_of(struct owner_kit *kit, struct text avsc)
{
    const struct avro_type *type = NULL;
    struct error error;
    heap_arena_reset(&kit->heap);
    cr_assert_eq(avro_schema_parse(avsc, &kit->heap.arena, &type, &error), ERROR_OK, "%s",
                 error.message);
    return avro_schema_fingerprint(type, &kit->heap.arena);
}

/* A Claim of a newer version, with one more field. Published later. */
static int64_t append_newer(struct owner_kit *kit, const char *field, struct text *ret_avsc)
{
    static char *kept[4]; /* reachable as long as the test's process */
    static size_t count;
    struct text own = codec_schema(RECORD_CLAIM);
    char *avsc = malloc(own.size + 256);
    cr_assert_not_null(avsc);
    cr_assert_lt(count, sizeof(kept) / sizeof(kept[0]));
    kept[count++] = avsc;
    int size = snprintf(avsc, own.size + 256, "%.*s", (int)own.size, own.data);
    char *end = strrchr(avsc, ']'); /* of the fields */
    cr_assert(size > 0 && end != NULL);
    snprintf(end, 128, ", {\"name\": \"%s\", \"type\": \"long\", \"default\": 0}]}", field);
    *ret_avsc = text_of(avsc);
    uint64_t fingerprint = fingerprint_of(kit, *ret_avsc);
    struct claim claim = {.instance = text_of(field), .partition_count = 1};
    claim.claim_id.bytes[0] = (uint8_t)field[0];
    kit->bytes.size = 0;
    codec_encode(kit->codec, RECORD_CLAIM, &claim, &kit->bytes);
    bytes_put_le(kit->bytes.data + 2, fingerprint, 8);
    buffer_append(&kit->bytes, "", 1); /* the long 0 */
    return append_raw(kit, (struct text){(const char *)kit->bytes.data, (uint32_t)kit->bytes.size});
}

Test(owner_foreign, continues_when_an_unknown_schema_arrives)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    struct text first;
    struct text second;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    append_newer(&kit, "one", &first);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_STOPPED, 30000);
    broker_memory_append(kit.kafka, "p.schemas", 0, TEXT("1"), first);
    owner_kit_run(&kit, 60000);
    assert_decides(&kit, owner, "second");
    cr_assert_eq(owner_kit_alerts(&kit, "UnknownSchema", true), 1);
    /* The second one is looked for like the first. */
    owner_kit_release(process, 0);
    append_newer(&kit, "two", &second);
    broker_memory_append(kit.kafka, "p.schemas", 0, TEXT("2"), second);
    assert_decides(&kit, owner_kit_own(process, 0), "third");
    cr_assert_eq(owner_kit_alerts(&kit, "UnknownSchema", true), 1);
}

/* ---- records that cannot follow the ones before them ---- */

static struct uuid claim_at(struct owner_kit *kit, int64_t offset)
{
    struct record record;
    cr_assert(owner_kit_read(kit, "p.events", 0, offset, &record));
    cr_assert_eq(record.kind, RECORD_CLAIM);
    return record.claim.claim_id;
}

/* After begin() and one more record: the partition stops until a reset skips the record. */
static void assert_stops(struct owner_kit *kit, struct owner_kit_process *process, const char *code)
{
    int64_t end = owner_kit_end(kit, "p.events", 0);
    struct owner *owner = own_and_stop(kit, process, code);
    reset(kit, end, end - 1, end);
    assert_decides(kit, owner, "second");
    cr_assert_eq(owner_kit_alerts(kit, code, true), 1);
}

Test(owner_foreign, stops_at_a_decision_that_cannot_follow)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    struct event event = {.kind = EVENT_STEP_SUCCEEDED,
                          .step_succeeded = {.ref = {TEXT("A"), DIRECTION_DO, 7}}};
    struct decision decision = {.claim_id = claim_at(&kit, 0),
                                .sequence = 1,
                                .command_offset = 1,
                                .command_time = kit.clock.now_wall_ms,
                                .order_id = TEXT("first"),
                                .order_version = 2,
                                .order_state = ORDER_PROCESSING,
                                .decided_at = kit.clock.now_wall_ms,
                                .emitted_through = -1,
                                .events = &event,
                                .event_count = 1};
    owner_kit_send(&kit, "p.events", 0, TEXT("first"), RECORD_DECISION, &decision);
    assert_stops(&kit, process, "ImpossibleDecision");
}

Test(owner_foreign, stops_at_a_continuation_of_another_position)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    begin(&kit, &process);
    owner_kit_release(process, 0);
    struct continuation continuation = {.claim_id = claim_at(&kit, 0),
                                        .sequence = 1,
                                        .first_claim_id = claim_at(&kit, 0),
                                        .partition_count = 1,
                                        .next_command_offset = 5};
    owner_kit_send(&kit, "p.events", 0, TEXT("x"), RECORD_CONTINUATION, &continuation);
    assert_stops(&kit, process, "ContinuationDiffers");
}

/* A Decision of a newer version, whose schema is known: in it, one piece of the text is another. */
static void stops_at_a_newer_decision(const char *piece, const char *newer)
{
    static struct owner_kit kit;
    struct owner_kit_process *process;
    static char avsc[64 * 1024];
    begin(&kit, &process);
    owner_kit_release(process, 0);
    struct text own = codec_schema(RECORD_DECISION);
    const char *at = strstr(own.data, piece);
    cr_assert_not_null(at);
    int before = (int)(at - own.data);
    int after = before + (int)strlen(piece);
    int size = snprintf(avsc, sizeof(avsc), "%.*s%s%.*s", before, own.data, newer,
                        (int)own.size - after, own.data + after);
    cr_assert(size > 0 && size < (int)sizeof(avsc));
    broker_memory_append(kit.kafka, "p.schemas", 0, TEXT("1"), text_of(avsc));
    /* claim, sequence, command, time, "x", version, state, no reply_to, time, -1, one event: the
     * first of the union, without fields. */
    uint8_t bytes[26 + 13] = {0xc3, 0x01};
    static const uint8_t rest[13] = {2, 2, 0, 2, 'x', 0, 0, 0, 0, 1, 2, 0, 0};
    uint64_t fingerprint = fingerprint_of(&kit, text_of(avsc));
    bytes_put_le(bytes + 2, fingerprint, 8);
    memcpy(bytes + 26, rest, sizeof(rest));
    append_raw(&kit, (struct text){(const char *)bytes, sizeof(bytes)});
    assert_stops(&kit, process, "UnknownEvent");
}

Test(owner_foreign, stops_at_an_event_that_it_does_not_know)
{
    stops_at_a_newer_decision(
        "     \"items\": [",
        "     \"items\": [{\"type\": \"record\", \"name\": \"OrderForgotten\", \"fields\": []}, ");
}

/* It must not advise an operator to skip what a newer version has decided. */
Test(owner_foreign, takes_a_symbol_that_it_does_not_know_for_that_of_a_newer_version)
{
    stops_at_a_newer_decision("\"symbols\": [\"Pending\",", "\"symbols\": [\"Parked\",");
}
