/* SPDX-License-Identifier: Apache-2.0 */
/* The broker in memory: what it guarantees, and under each fault. */
#include "tests/unit/kafka/broker_memory_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- appending and reading ---- */

Test(broker_memory, does_nothing_before_a_step)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 1);
    memory_lab_read(lab.one, BROKER_EARLIEST);
    memory_lab_append(lab.one, "events", 0, "a");
    cr_assert_eq(lab.one->answered, 0);
    cr_assert_eq(lab.one->ends, 0);
    cr_assert_eq(broker_outstanding(lab.one->broker, BROKER_PRODUCER_LOG), 1);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->answers[0].offset, 0);
    cr_assert_eq(lab.one->answers[0].class, ERROR_OK);
    cr_assert_eq(broker_outstanding(lab.one->broker, BROKER_PRODUCER_LOG), 0);
    cr_assert_eq(lab.one->records, 1);
    cr_assert_geq(lab.one->ends, 1);
    cr_assert_str_eq(lab.one->last_value, "a");
    memory_lab_close(&lab);
}

Test(broker_memory, keeps_key_value_headers_and_time_of_a_record)
{
    struct memory_lab lab;
    struct broker_record record;
    memory_lab_open(&lab, 1);
    struct broker_header headers[] = {{TEXT("name"), TEXT("value")}, {TEXT("empty"), TEXT("")}};
    struct broker_append append = {.topic = "events",
                                   .key = TEXT("key"),
                                   .value = {NULL, 0},
                                   .headers = headers,
                                   .header_count = 2,
                                   .done = memory_on_appended,
                                   .ctx = lab.one};
    cr_assert_eq(broker_append(lab.one->broker, &append, NULL), ERROR_OK);
    clock_manual_advance(&lab.clock, 5);
    memory_lab_settle(&lab);
    cr_assert(broker_memory_record(lab.kafka, "events", 0, 0, &record));
    cr_assert(text_equal(record.key, TEXT("key")));
    cr_assert_null(record.value.data);
    cr_assert_eq(record.header_count, 2);
    cr_assert(text_equal(record.headers[0].value, TEXT("value")));
    cr_assert(text_equal(record.headers[1].name, TEXT("empty")));
    cr_assert_eq(record.timestamp, 1700000000005);
    cr_assert_not(broker_memory_record(lab.kafka, "events", 0, 1, &record));
    memory_lab_close(&lab);
}

Test(broker_memory, tells_when_an_acknowledged_record_was_appended)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 1);
    memory_lab_append(lab.one, "events", 0, "a");
    memory_lab_append(lab.one, "nowhere", 0, "a");
    clock_manual_advance(&lab.clock, 7);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->answers[0].appended_at, 1700000000007);
    cr_assert_eq(lab.one->answers[1].appended_at, 0);
    memory_lab_close(&lab);
}

Test(broker_memory, rejects_appends_and_fails_readers_of_a_missing_topic)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 1);
    memory_lab_append(lab.one, "nowhere", 0, "a");
    memory_lab_append(lab.one, "events", 2, "a");
    lab.one->reader =
        broker_read(lab.one->broker, "nowhere", 0, BROKER_EARLIEST, &memory_reader_ops, lab.one);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->answers[0].class, ERROR_REJECT);
    cr_assert_eq(lab.one->answers[1].class, ERROR_REJECT);
    cr_assert_str_eq(lab.one->error, "UnknownTopic");
    cr_assert_eq(broker_partition_count(lab.one->broker, "nowhere", 0), 0);
    cr_assert_eq(broker_partition_count(lab.one->broker, "events", 0), 2);
    memory_lab_close(&lab);
}

Test(broker_memory, keeps_a_paused_reader_silent)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 1);
    broker_memory_append(lab.kafka, "events", 0, TEXT("k"), TEXT("v"));
    memory_lab_read(lab.one, 0);
    broker_reader_pause(lab.one->reader, true);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->records, 0);
    broker_reader_pause(lab.one->reader, false);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->records, 1);
    cr_assert_eq(lab.one->ends, 1);
    memory_lab_close(&lab);
}

Test(broker_memory, reports_positions_outside_the_log)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 1);
    for (int i = 0; i < 10; i++)
        broker_memory_append(lab.kafka, "events", 0, TEXT("k"), TEXT("v"));
    memory_lab_read(lab.one, 10);
    lab.two->reader = broker_read(lab.two->broker, "events", 0, 3, &memory_reader_ops, lab.two);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.two->records, 7);
    cr_assert_str_empty(lab.one->error);
    broker_memory_truncate(lab.kafka, "events", 0, 9);
    memory_lab_settle(&lab);
    cr_assert_str_eq(lab.one->error, "OffsetOutOfRange");
    broker_memory_trim(lab.kafka, "events", 0, 5);
    broker_reader_close(lab.two->reader);
    lab.two->reader = broker_read(lab.two->broker, "events", 0, 4, &memory_reader_ops, lab.two);
    lab.two->error[0] = '\0';
    memory_lab_settle(&lab);
    cr_assert_str_eq(lab.two->error, "OffsetOutOfRange");
    broker_offsets(lab.two->broker, "events", 0, memory_on_offsets, lab.two);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.two->low, 5);
    cr_assert_eq(lab.two->high, 9);
    memory_lab_close(&lab);
}

Test(broker_memory, empties_a_topic_that_is_created_again)
{
    struct memory_lab lab;
    int64_t low;
    int64_t high;
    memory_lab_open(&lab, 1);
    broker_memory_append(lab.kafka, "events", 0, TEXT("k"), TEXT("v"));
    broker_memory_topic(lab.kafka, "events", 3);
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert_eq(high, 0);
    cr_assert_eq(broker_partition_count(lab.one->broker, "events", 0), 3);
    memory_lab_close(&lab);
}

/* ---- faults ---- */

Test(broker_memory, delivers_nothing_to_a_disconnected_instance)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 7);
    for (int i = 0; i < 50; i++)
        memory_lab_append(lab.one, "events", 0, "a");
    broker_memory_disconnect(lab.one->broker);
    broker_offsets(lab.one->broker, "events", 0, memory_on_offsets, lab.one);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->answered, 0);
    cr_assert_not(broker_connected(lab.one->broker));
    cr_assert_eq(broker_partition_count(lab.one->broker, "events", 0), -1);
    broker_memory_connect(lab.one->broker);
    memory_lab_settle(&lab);
    for (int i = 0; i < 50; i++) {
        cr_assert_eq(lab.one->answers[i].count, 1);
        cr_assert_eq(lab.one->answers[i].offset, i);
    }
    cr_assert_eq(lab.one->replies, 1);
    cr_assert_eq(lab.one->reply_class, ERROR_RETRY);
    memory_lab_close(&lab);
}

Test(broker_memory, writes_records_of_a_zombie_that_were_on_the_wire)
{
    bool some = false;
    bool none = false;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct memory_lab lab;
        int64_t low;
        int64_t high;
        memory_lab_open(&lab, seed);
        for (int i = 0; i < 3; i++)
            memory_lab_append(lab.one, "events", 0, "a");
        broker_memory_pause(lab.one->broker);
        memory_lab_settle(&lab);
        broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
        some = some || high > 0;
        none = none || high == 0;
        broker_memory_continue(lab.one->broker);
        memory_lab_settle(&lab);
        broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
        cr_assert_eq(high, 3);
        cr_assert_eq(lab.one->answered, 3);
        memory_lab_close(&lab);
    }
    cr_assert(some && none);
}

Test(broker_memory, delivers_nothing_to_a_killed_instance)
{
    struct memory_lab lab;
    int64_t low;
    int64_t high;
    memory_lab_open(&lab, 3);
    memory_lab_read(lab.one, 0);
    lab.one->group = broker_join(lab.one->broker, "g", "events", &memory_group_ops, lab.one);
    for (int i = 0; i < 20; i++)
        memory_lab_append(lab.one, "events", 0, "a");
    broker_memory_kill(lab.one->broker);
    broker_memory_rebalance(lab.kafka, "g");
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->answered, 0);
    cr_assert_eq(lab.one->records, 0);
    cr_assert_eq(lab.one->assigned, 0);
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert_lt(high, 20);
    memory_lab_close(&lab);
}

Test(broker_memory, reports_each_append_of_a_dead_producer_once)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 11);
    for (int i = 0; i < 20; i++)
        memory_lab_append(lab.one, "events", i % 2, "a");
    for (int i = 0; i < 10; i++)
        broker_memory_step(lab.kafka);
    broker_memory_fail_producer(lab.one->broker, BROKER_PRODUCER_LOG);
    uint32_t before = lab.one->answered;
    memory_lab_append(lab.one, "events", 0, "b");
    memory_lab_settle(&lab);
    uint32_t fatal = 0;
    for (uint32_t i = 0; i <= 20; i++) {
        cr_assert_eq(lab.one->answers[i].count, 1);
        fatal += lab.one->answers[i].class == ERROR_FATAL;
    }
    cr_assert_eq(fatal, 20 - before);
    cr_assert_eq(lab.one->answers[20].class, ERROR_OK);
    cr_assert_eq(broker_outstanding(lab.one->broker, BROKER_PRODUCER_LOG), 0);
    memory_lab_close(&lab);
}

/* How its appends to each partition went. */
static void append_to_both(struct memory_lab *lab, enum error_class *ret_classes)
{
    uint32_t first = memory_lab_append(lab->one, "events", 0, "a");
    memory_lab_settle(lab);
    uint32_t second = memory_lab_append(lab->one, "events", 1, "a");
    memory_lab_settle(lab);
    ret_classes[0] = lab->one->answers[first].class;
    ret_classes[1] = lab->one->answers[second].class;
}

Test(broker_memory, kills_a_producer_that_goes_on_after_its_records_were_lost)
{
    struct memory_lab lab;
    enum error_class classes[2];
    int64_t low;
    int64_t high;
    memory_lab_open(&lab, 11);
    append_to_both(&lab, classes);
    append_to_both(&lab, classes);
    broker_memory_append(lab.kafka, "events", 0, TEXT("k"), TEXT("another's"));
    broker_memory_truncate(lab.kafka, "events", 0, 2);
    append_to_both(&lab, classes);
    cr_assert_eq(classes[0], ERROR_OK, "only another one's record was lost");
    broker_memory_truncate(lab.kafka, "events", 0, 2);
    append_to_both(&lab, classes);
    cr_assert_eq(classes[0], ERROR_FATAL);
    cr_assert_eq(classes[1], ERROR_OK);
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert_eq(high, 2);
    append_to_both(&lab, classes);
    cr_assert_eq(classes[0], ERROR_OK, "another producer has taken its place");
    memory_lab_close(&lab);
}

/* The other client did not send what was lost, so that nothing is out of order for it: not for
 * records of claims. */
Test(broker_memory, notices_a_loss_by_the_client_that_sent_what_is_lost)
{
    uint32_t deaths = 0;
    uint32_t gaps = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct memory_lab lab;
        memory_lab_open(&lab, seed);
        lab.one->batches = true;
        for (int i = 0; i < 2; i++) {
            memory_lab_append(lab.one, "events", 0, "a");
            memory_lab_settle(&lab);
        }
        broker_memory_truncate(lab.kafka, "events", 0, 1);
        uint32_t next = memory_lab_append(lab.one, "events", 0, "b");
        memory_lab_settle(&lab);
        deaths += lab.one->answers[next].class == ERROR_FATAL;
        gaps += lab.one->answers[next].offset == 1;
        memory_lab_close(&lab);
    }
    cr_assert_eq(deaths + gaps, 50);
    cr_assert_gt(deaths, 10);
    cr_assert_gt(gaps, 10);
}

/* What is on the wire has its place behind what was lost. */
Test(broker_memory, takes_nothing_of_a_zombie_whose_records_were_lost)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct memory_lab lab;
        int64_t low;
        int64_t high;
        memory_lab_open(&lab, seed);
        for (int i = 0; i < 2; i++)
            memory_lab_append(lab.one, "events", 0, "a");
        memory_lab_settle(&lab);
        for (int i = 0; i < 3; i++)
            memory_lab_append(lab.one, "events", 0, "b");
        broker_memory_pause(lab.one->broker);
        broker_memory_truncate(lab.kafka, "events", 0, 1);
        memory_lab_settle(&lab);
        broker_memory_kill(lab.one->broker);
        memory_lab_settle(&lab);
        broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
        cr_assert_eq(high, 1);
        memory_lab_close(&lab);
    }
}

/* Its producer has two clients, and each append may go through another one. */
Test(broker_memory, keeps_the_order_of_each_partition)
{
    enum { COUNT = 600 };
    struct memory_lab lab;
    struct broker_record record;
    char value[16];
    memory_lab_open(&lab, 12);
    lab.one->batches = true;
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(value, sizeof(value), "%u", i);
        memory_lab_append(lab.one, "events", (int32_t)(i % 2), value);
        for (uint32_t step = 0; step < i % 7; step++)
            broker_memory_step(lab.kafka);
    }
    memory_lab_settle(&lab);
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(value, sizeof(value), "%u", i);
        cr_assert_eq(lab.one->answers[i].offset, i / 2);
        cr_assert(broker_memory_record(lab.kafka, "events", (int32_t)(i % 2), i / 2, &record));
        cr_assert(text_equal(record.value, text_of(value)));
    }
    memory_lab_close(&lab);
}

Test(broker_memory, injects_append_faults_as_often_as_configured)
{
    struct memory_lab lab;
    uint32_t without_offset = 0;
    uint32_t failed = 0;
    int64_t low;
    int64_t high;
    memory_lab_open(&lab, 5);
    struct broker_memory_faults faults = {
        .ack_without_offset = 200, .append_lost = 100, .append_unknown = 100};
    broker_memory_set_faults(lab.kafka, &faults);
    for (int i = 0; i < 1000; i++)
        memory_lab_append(lab.one, "events", 0, "a");
    memory_lab_settle(&lab);
    for (int i = 0; i < 1000; i++) {
        bool unknown = lab.one->answers[i].code == CODE_OFFSET_UNKNOWN;
        without_offset += unknown;
        failed += lab.one->answers[i].class == ERROR_RETRY && !unknown;
    }
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert(failed > 120 && failed < 280);
    cr_assert(without_offset > 100 && without_offset < 220);
    cr_assert(high > 850 && high < 950);
    memory_lab_close(&lab);
}

/* ---- groups ---- */

Test(broker_memory, shares_partitions_among_members_and_revokes_them)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 2);
    lab.one->group = broker_join(lab.one->broker, "g", "events", &memory_group_ops, lab.one);
    broker_memory_rebalance(lab.kafka, "g");
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->owned, 2);
    lab.two->group = broker_join(lab.two->broker, "g", "events", &memory_group_ops, lab.two);
    broker_memory_rebalance(lab.kafka, "g");
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->owned, 1);
    cr_assert_eq(lab.two->owned, 1);
    cr_assert_eq(lab.one->revoked, 1);

    broker_memory_pause(lab.one->broker);
    broker_memory_expire(lab.one->broker, "g");
    broker_memory_rebalance(lab.kafka, "g");
    memory_lab_settle(&lab);
    cr_assert_eq(lab.two->owned, 2);
    cr_assert_eq(lab.one->owned, 1); /* it does not know yet */
    broker_memory_continue(lab.one->broker);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->owned, 0);
    cr_assert_eq(lab.one->lost, 1);
    broker_memory_rebalance(lab.kafka, "g");
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->owned + lab.two->owned, 2);

    broker_leave(lab.one->group, memory_on_left, lab.one);
    lab.one->group = NULL;
    broker_memory_rebalance(lab.kafka, "g");
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->left, 1);
    cr_assert_eq(lab.two->owned, 2);
    memory_lab_close(&lab);
}

Test(broker_memory, keeps_commits_by_group_and_partition)
{
    struct memory_lab lab;
    memory_lab_open(&lab, 2);
    lab.one->group = broker_join(lab.one->broker, "g", "events", &memory_group_ops, lab.one);
    lab.two->group = broker_join(lab.two->broker, "h", "events", &memory_group_ops, lab.two);
    broker_group_commit(lab.one->group, 1, 42, "a note", NULL, NULL);
    memory_lab_settle(&lab);
    broker_group_committed(lab.one->group, 1, memory_on_position, lab.one);
    broker_group_committed(lab.two->group, 1, memory_on_position, lab.two);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->committed, 42);
    cr_assert_str_eq(lab.one->note, "a note");
    cr_assert_eq(lab.two->committed, -1);
    cr_assert_str_eq(lab.two->note, "");
    broker_group_commit(lab.one->group, 1, 43, NULL, NULL, NULL);
    broker_group_committed(lab.one->group, 1, memory_on_position, lab.one);
    memory_lab_settle(&lab);
    cr_assert_eq(lab.one->committed, 43);
    cr_assert_str_eq(lab.one->note, "", "a note belongs to one commit");
    memory_lab_close(&lab);
}
