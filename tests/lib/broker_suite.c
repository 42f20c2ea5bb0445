/* SPDX-License-Identifier: Apache-2.0 */
/* The guarantees of kafka/broker.h: on the embedded cluster in the suite `embedded`, on a real one
 * in the suite `kafka`. */
#include "kafka/client_internal.h"
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- appending ---- */

Test(broker, acknowledges_appends_in_order_at_consecutive_offsets)
{
    struct lab lab;
    struct lab_appends appends;
    enum { COUNT = 2000 };
    lab_open(&lab);
    lab_appends_init(&appends, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        lab_append_number(&lab, &appends, (int32_t)(i % 2));
    cr_assert_eq(appends.answered, 0, "no callback from within the call");
    cr_assert_eq(broker_outstanding(lab.broker, BROKER_PRODUCER_LOG), COUNT);
    cr_assert(lab_wait(&lab, &appends.answered, COUNT));
    for (uint32_t i = 0; i < COUNT; i++) {
        cr_assert_eq(appends.answers[i].class, ERROR_OK, "%s", appends.answers[i].code);
        cr_assert_eq(appends.answers[i].offset, i / 2);
        cr_assert_eq(appends.answers[i].count, 1);
    }
    cr_assert_eq(broker_outstanding(lab.broker, BROKER_PRODUCER_LOG), 0);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(broker, delivers_records_as_they_were_sent)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    struct broker_header headers[BROKER_HEADERS_MAX];
    lab_open(&lab);
    lab_appends_init(&appends, 2);
    for (uint32_t i = 0; i < BROKER_HEADERS_MAX; i++)
        headers[i] = (struct broker_header){TEXT("name"), TEXT("value")};
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = lab.topics.events,
                                   .partition = 3,
                                   .key = TEXT("order-1"),
                                   .value = TEXT("v\0w"),
                                   .headers = headers,
                                   .header_count = BROKER_HEADERS_MAX,
                                   .done = lab_appended,
                                   .ctx = &appends};
    cr_assert_eq(broker_append(lab.broker, &append, NULL), ERROR_OK);
    append.value = (struct text){NULL, 0};
    append.token = 1;
    append.header_count = 0;
    lab_read(&lab, &reader, 3, BROKER_EARLIEST);
    cr_assert(lab_wait(&lab, &reader.records, 1));
    cr_assert_str_eq(reader.key, "order-1");
    cr_assert_eq(reader.value_size, 3);
    cr_assert_eq(reader.header_count, BROKER_HEADERS_MAX);
    cr_assert_not(reader.tombstone);
    int64_t age_ms = clock_wall_ms(clock_real()) - reader.timestamp;
    cr_assert(age_ms > -5000 && age_ms < 60000);
    cr_assert_eq(broker_append(lab.broker, &append, NULL), ERROR_OK);
    cr_assert(lab_wait(&lab, &reader.records, 2));
    cr_assert(reader.tombstone);
    cr_assert_eq(reader.header_count, 0);
    cr_assert(lab_wait(&lab, &appends.answered, 2));
    lab_reader_close(&reader);
    lab_read(&lab, &reader, 3, 0);
    broker_reader_skip_headers(reader.reader);
    reader.close_after = 1;
    cr_assert(lab_wait(&lab, &reader.records, 1));
    cr_assert_str_eq(reader.key, "order-1");
    cr_assert_eq(reader.header_count, 0);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(broker, tells_when_an_acknowledged_record_was_appended)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open(&lab);
    lab_appends_init(&appends, 2);
    lab_append_number(&lab, &appends, 0);
    lab_append(&lab, &appends, BROKER_PRODUCER_EFFECTS, lab.topics.events, LAB_PARTITIONS,
               TEXT("nowhere"));
    cr_assert(lab_wait(&lab, &appends.answered, 2));
    lab_read(&lab, &reader, 0, 0);
    cr_assert(lab_wait(&lab, &reader.records, 1));
    cr_assert_eq(appends.answers[0].appended_at, reader.timestamp);
    cr_assert_eq(appends.answers[1].appended_at, 0);
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(broker, accepts_the_largest_record_and_rejects_a_larger_one)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open(&lab);
    lab_appends_init(&appends, 2);
    char *value = malloc(RECORD_BYTES_MAX + 1024 * 1024);
    cr_assert_not_null(value);
    for (uint32_t i = 0; i < RECORD_BYTES_MAX + 1024 * 1024; i++)
        value[i] = (char)(i * 2654435761u >> 24);
    lab_append(&lab, &appends, BROKER_PRODUCER_LOG, lab.topics.events, 0,
               (struct text){value, RECORD_BYTES_MAX});
    lab_append(&lab, &appends, BROKER_PRODUCER_EFFECTS, lab.topics.events, 0,
               (struct text){value, RECORD_BYTES_MAX + 1024 * 1024});
    cr_assert(lab_wait(&lab, &appends.answered, 2));
    cr_assert_eq(appends.answers[0].class, ERROR_OK, "%s", appends.answers[0].code);
    cr_assert_eq(appends.answers[1].class, ERROR_REJECT);
    cr_assert_str_eq(appends.answers[1].code, "RecordTooLarge");
    lab_read(&lab, &reader, 0, 0);
    cr_assert(lab_wait(&lab, &reader.records, 1));
    cr_assert_eq(reader.value_size, RECORD_BYTES_MAX);
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert_eq(reader.end_offset, 1);
    lab_reader_close(&reader);
    free(value);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(broker, rejects_appends_to_a_missing_partition)
{
    struct lab lab;
    struct lab_appends appends;
    lab_open(&lab);
    lab_appends_init(&appends, 2);
    lab_append_number(&lab, &appends, 0);
    lab_append(&lab, &appends, BROKER_PRODUCER_EFFECTS, lab.topics.events, LAB_PARTITIONS,
               TEXT("v"));
    cr_assert(lab_wait(&lab, &appends.answered, 2));
    cr_assert_eq(appends.answers[0].class, ERROR_OK);
    cr_assert_eq(appends.answers[1].class, ERROR_REJECT);
    cr_assert_str_eq(appends.answers[1].code, "UnknownTopic");
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(broker, returns_retry_when_its_queue_is_full)
{
    struct lab lab;
    struct lab_appends appends;
    struct error error;
    lab_open_with(&lab, (struct kafka_client_options){.append_queue_records = 100});
    lab_appends_init(&appends, 200);
    struct broker_append append = {
        .topic = lab.topics.events, .value = TEXT("v"), .done = lab_appended, .ctx = &appends};
    uint32_t taken = 0;
    while (taken < 200 && broker_append(lab.broker, &append, &error) == ERROR_OK) {
        append.token++;
        taken++;
    }
    cr_assert_eq(taken, 100);
    cr_assert_eq(error.class, ERROR_RETRY);
    cr_assert_eq(error.code, CODE_QUEUE_FULL);
    cr_assert(lab_wait(&lab, &appends.answered, 100));
    cr_assert_eq(broker_append(lab.broker, &append, &error), ERROR_OK);
    cr_assert(lab_wait(&lab, &appends.answered, 101));
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

/* ---- a producer that dies ---- */

Test(broker, fails_the_appends_of_a_dead_producer_once_and_replaces_it)
{
    struct lab lab;
    struct lab_appends appends;
    enum { COUNT = 1000 };
    lab_open(&lab);
    lab_appends_init(&appends, 3 * COUNT);
    struct kafka_producer *producer = &((struct kafka_client *)lab.broker)->producers[0];
    for (uint32_t i = 0; i < COUNT; i++)
        lab_append_number(&lab, &appends, 0);
    rd_kafka_test_fatal_error(producer->handles[APPEND_AT_ONCE].rk,
                              RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "injected");
    for (uint32_t i = 0; i < COUNT; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, 2 * COUNT));
    cr_assert_geq(appends.fatal, COUNT);
    cr_assert_eq(appends.acked + appends.fatal, 2 * COUNT);
    cr_assert_eq(broker_producer_deaths(lab.broker, BROKER_PRODUCER_LOG), 1);
    for (uint32_t i = 0; i < COUNT; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, 3 * COUNT));
    for (uint32_t i = 0; i < 3 * COUNT; i++)
        cr_assert_eq(appends.answers[i].count, 1);
    cr_assert_eq(appends.answers[3 * COUNT - 1].class, ERROR_OK);
    cr_assert_eq(broker_outstanding(lab.broker, BROKER_PRODUCER_LOG), 0);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

struct again {
    struct lab *lab;
    struct lab_appends appends;
    uint32_t fatal;
};

static void append_again(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct again *again = ctx;
    (void)token;
    (void)offset;
    if (error->class == ERROR_FATAL) {
        again->fatal++;
        lab_append_number(again->lab, &again->appends, 0);
    }
}

Test(broker, replaces_a_producer_before_it_reports_the_appends)
{
    struct lab lab;
    struct again again = {.lab = &lab};
    lab_open(&lab);
    lab_appends_init(&again.appends, 100);
    struct kafka_producer *producer = &((struct kafka_client *)lab.broker)->producers[0];
    struct broker_append append = {
        .topic = lab.topics.events, .value = TEXT("v"), .done = append_again, .ctx = &again};
    rd_kafka_test_fatal_error(producer->handles[APPEND_AT_ONCE].rk,
                              RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "injected");
    for (uint32_t i = 0; i < 100; i++)
        cr_assert_eq(broker_append(lab.broker, &append, NULL), ERROR_OK);
    cr_assert(lab_wait(&lab, &again.fatal, 100));
    cr_assert(lab_wait(&lab, &again.appends.acked, 100));
    lab_appends_deinit(&again.appends);
    lab_close(&lab);
}

/* ---- reading ---- */

static void fill(struct lab *lab, int32_t partition, uint32_t count)
{
    struct lab_appends appends;
    lab_appends_init(&appends, count);
    for (uint32_t i = 0; i < count; i++)
        lab_append_number(lab, &appends, partition);
    cr_assert(lab_wait(lab, &appends.acked, count));
    lab_appends_deinit(&appends);
}

Test(broker, starts_a_reader_at_its_offset_and_reports_each_end)
{
    struct lab lab;
    struct lab_reader reader;
    lab_open(&lab);
    fill(&lab, 1, 100);
    lab_read(&lab, &reader, 1, 40);
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert_eq(reader.first_offset, 40);
    cr_assert_eq(reader.records, 60);
    cr_assert_eq(reader.end_offset, 100);
    cr_assert_str_eq(reader.value, "99");
    for (uint32_t i = 1; i <= 3; i++) {
        fill(&lab, 1, 1);
        cr_assert(lab_wait(&lab, &reader.ends, i + 1));
        cr_assert_eq(reader.end_offset, 100 + i);
    }
    cr_assert_eq(reader.disorder, 0);
    lab_reader_close(&reader);
    lab_read(&lab, &reader, 1, 103);
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert_eq(reader.records, 0);
    lab_reader_close(&reader);
    lab_close(&lab);
}

Test(broker, keeps_a_paused_reader_silent_and_loses_nothing)
{
    struct lab lab;
    struct lab_reader reader;
    enum { COUNT = 5000 };
    lab_open(&lab);
    fill(&lab, 0, COUNT);
    lab_read(&lab, &reader, 0, 0);
    for (uint32_t i = 0; reader.records < COUNT; i++) {
        uint32_t before = reader.records;
        broker_reader_pause(reader.reader, true);
        broker_reader_pause(reader.reader, true);
        lab_run(&lab, 5);
        cr_assert_eq(reader.records, before);
        cr_assert_eq(reader.ends, 0);
        broker_reader_pause(reader.reader, false);
        cr_assert(lab_wait(&lab, &reader.records, before + 1));
        cr_assert_lt(i, COUNT);
    }
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert_eq(reader.disorder, 0);
    cr_assert_eq(reader.first_offset, 0);
    cr_assert_eq(reader.records, COUNT);
    lab_reader_close(&reader);
    lab_close(&lab);
}

Test(broker, fails_on_positions_outside_the_log)
{
    struct lab lab;
    struct lab_reader reader;
    lab_open(&lab);
    fill(&lab, 0, 10);
    lab_read(&lab, &reader, 0, 11);
    cr_assert(lab_wait(&lab, &reader.fatal, 1));
    cr_assert_str_eq(reader.code, "OffsetOutOfRange");
    cr_assert_eq(reader.records, 0);
    lab_run(&lab, 300);
    cr_assert_eq(reader.fatal, 1);
    lab_reader_close(&reader);
    lab_read(&lab, &reader, 0, 10);
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    lab_reader_close(&reader);
    lab_close(&lab);
}

/* The old reader's records are in the queue when the new one starts elsewhere. */
Test(broker, delivers_no_records_of_an_old_reader_to_a_new_one)
{
    struct lab lab;
    struct lab_reader reader;
    enum { COUNT = 5000, ROUNDS = 100 };
    lab_open_with(&lab, (struct kafka_client_options){.events_per_turn = 7});
    fill(&lab, 2, COUNT);
    lab_read(&lab, &reader, 2, 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        int64_t start = i * 7919 % COUNT;
        cr_assert(lab_wait(&lab, &reader.records, i % 40));
        lab_reader_close(&reader);
        lab_read(&lab, &reader, 2, start);
        cr_assert(lab_wait(&lab, &reader.records, 1));
        cr_assert_eq(reader.first_offset, start, "round %u", i);
        cr_assert_eq(reader.disorder, 0);
    }
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert_eq(reader.disorder, 0);
    cr_assert_eq(reader.next_offset, COUNT);
    lab_reader_close(&reader);
    lab_close(&lab);
}

Test(broker, lets_a_reader_close_within_its_callback)
{
    struct lab lab;
    struct lab_reader reader;
    lab_open(&lab);
    fill(&lab, 0, 100);
    lab_read(&lab, &reader, 0, 0);
    reader.close_after = 50;
    cr_assert(lab_wait(&lab, &reader.records, 50));
    lab_run(&lab, 100);
    cr_assert_eq(reader.records, 50);
    cr_assert_eq(reader.ends, 0);
    lab_close(&lab);
}

Test(broker, reads_partitions_in_parallel)
{
    struct lab lab;
    struct lab_reader readers[LAB_PARTITIONS];
    lab_open(&lab);
    for (int32_t i = 0; i < LAB_PARTITIONS; i++)
        fill(&lab, i, 500);
    for (int32_t i = 0; i < LAB_PARTITIONS; i++)
        lab_read(&lab, &readers[i], i, BROKER_EARLIEST);
    for (int32_t i = 0; i < LAB_PARTITIONS; i++) {
        /* The first end may precede the last acknowledged record (Kafka 4.3). */
        cr_assert(lab_wait(&lab, &readers[i].records, 500));
        cr_assert(lab_wait(&lab, &readers[i].ends, 1));
        cr_assert_eq(readers[i].disorder, 0);
        lab_reader_close(&readers[i]);
    }
    lab_close(&lab);
}

/* ---- offsets and metadata ---- */

struct offsets {
    uint32_t answers;
    int64_t low;
    int64_t high;
    enum error_class class;
};

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct offsets *offsets = ctx;
    offsets->low = low;
    offsets->high = high;
    offsets->class = error->class;
    offsets->answers++;
}

Test(broker, reports_offsets_and_metadata)
{
    struct lab lab;
    struct offsets offsets = {.answers = 0};
    lab_open(&lab);
    fill(&lab, 1, 12);
    broker_offsets(lab.broker, lab.topics.events, 1, on_offsets, &offsets);
    cr_assert(lab_wait(&lab, &offsets.answers, 1));
    cr_assert_eq(offsets.class, ERROR_OK);
    cr_assert_eq(offsets.low, 0);
    cr_assert_eq(offsets.high, 12);
    cr_assert_eq(broker_partition_count(lab.broker, lab.topics.events, 5000), LAB_PARTITIONS);
    cr_assert_eq(broker_partition_count(lab.broker, lab.topics.schemas, 5000), 1);
    cr_assert_eq(broker_partition_count(lab.broker, "no-such-topic", 5000), 0);
    cr_assert_not_null(broker_cluster_id(lab.broker, 5000));
    cr_assert(broker_connected(lab.broker));
    lab_close(&lab);
}

Test(broker, chooses_partitions_as_kafka_does)
{
    /* From Kafka's UtilsTest.testMurmur2. */
    const struct {
        struct text key;
        int32_t hash;
    } known[] = {
        {TEXT("21"), -973932308},
        {TEXT("foobar"), -790332482},
        {TEXT("a-little-bit-long-string"), -985981536},
        {TEXT("a-little-bit-longer-string"), -1486304829},
        {TEXT("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"), -58897971},
        {TEXT("abc"), 479470107},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        cr_assert_eq(broker_partition_of(known[i].key, 1000), (known[i].hash & 0x7fffffff) % 1000);
    cr_assert_eq(broker_partition_of((struct text){NULL, 0}, 7), broker_partition_of(TEXT(""), 7));
}

/* ---- no broker at all ---- */

Test(broker, reports_a_result_for_every_call_without_a_broker)
{
    struct lab lab = {.bootstrap = "127.0.0.1:1"};
    struct lab_appends appends;
    struct offsets offsets = {.answers = 0};
    struct error error;
    log_set_level(LOG_LEVEL_ERROR);
    cr_assert_eq(topics_init(&lab.topics, "none", NULL), ERROR_OK);
    cr_assert_eq(loop_new(clock_real(), &lab.loop, &error), ERROR_OK);
    lab.broker = lab_connect(&lab, (struct kafka_client_options){.client_id = "lab"});
    lab_appends_init(&appends, 10);
    for (int i = 0; i < 10; i++)
        lab_append_number(&lab, &appends, 0);
    broker_offsets(lab.broker, "none.events", 0, on_offsets, &offsets);
    cr_assert_eq(broker_partition_count(lab.broker, "none.events", 100), -1);
    cr_assert_null(broker_cluster_id(lab.broker, 100));
    cr_assert_not(broker_connected(lab.broker));
    cr_assert(lab_wait(&lab, &offsets.answers, 1));
    cr_assert_eq(offsets.class, ERROR_RETRY);
    cr_assert_eq(appends.answered, 0);
    broker_free(lab.broker);
    cr_assert_eq(appends.answered, 10);
    cr_assert_eq(appends.answers[9].class, ERROR_RETRY);
    cr_assert_str_eq(appends.answers[9].code, "Closed");
    loop_free(lab.loop);
    lab_appends_deinit(&appends);
}

Test(broker, names_an_invalid_setting)
{
    struct loop *loop;
    struct broker *broker;
    struct error error;
    struct kafka_setting setting = {"socket.nagle.disable", "perhaps"};
    struct kafka_client_options options = {
        .bootstrap_servers = "127.0.0.1:1", .settings = &setting, .setting_count = 1};
    cr_assert_eq(loop_new(clock_real(), &loop, &error), ERROR_OK);
    cr_assert_eq(kafka_client_new(loop, &options, &broker, &error), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_CONFIG);
    cr_assert_not_null(strstr(error.message, "socket.nagle.disable"));
    loop_free(loop);
}

/* ---- batches that cannot be read ---- */

struct unreadable_notes {
    struct lab_reader reader; /* the context of the reader: comes first */
    uint32_t count;
    int64_t offset[8];
    int64_t next_offset[8];
};

static void on_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct unreadable_notes *notes = ctx;
    cr_assert(notes->count < 8);
    notes->offset[notes->count] = offset;
    notes->next_offset[notes->count++] = next_offset;
    notes->reader.next_offset = next_offset;
}

/* Appends COUNT records of zeros as one batch. */
static void append_zeros(struct lab *lab, struct lab_appends *appends, uint32_t count,
                         uint32_t size)
{
    char *zeros = calloc(1, size);
    cr_assert_not_null(zeros);
    for (uint32_t i = 0; i < count; i++)
        lab_append(lab, appends, BROKER_PRODUCER_EFFECTS, lab->topics.events, 0,
                   (struct text){zeros, size});
    cr_assert(lab_wait(lab, &appends->acked, appends->sent));
    free(zeros);
}

/* Records that are more than the client may receive once they are decompressed: alone, in batches
 * of many, next to each other, and at the end of the log. */
Test(broker, passes_batches_that_cannot_be_read)
{
    static const struct kafka_setting sender_settings[] = {{"compression.codec", "zstd"},
                                                           {"linger.ms", "200"}};
    static const struct kafka_setting reader_settings[] = {{"message.max.bytes", "100000"},
                                                           {"fetch.max.bytes", "100000"},
                                                           {"receive.message.max.bytes", "100512"}};
    struct lab lab;
    struct lab_appends appends;
    struct unreadable_notes notes = {.count = 0};
    lab_open_with(&lab,
                  (struct kafka_client_options){.settings = sender_settings, .setting_count = 2});
    lab_appends_init(&appends, 1000);
    append_zeros(&lab, &appends, 3, 10);      /* 0 to 2 */
    append_zeros(&lab, &appends, 1, 2000000); /* 3 */
    append_zeros(&lab, &appends, 1, 10);      /* 4 */
    append_zeros(&lab, &appends, 300, 3000);  /* 5 to 304 */
    append_zeros(&lab, &appends, 70, 10000);  /* 305 to 374 */
    append_zeros(&lab, &appends, 2, 10);      /* 375, 376 */
    append_zeros(&lab, &appends, 1, 3000000); /* 377 */
    struct broker *other = lab_connect(
        &lab, (struct kafka_client_options){.settings = reader_settings, .setting_count = 3});
    notes.reader.first_offset = -1;
    notes.reader.next_offset = 0;
    notes.reader.reader =
        broker_read(other, lab.topics.events, 0, BROKER_EARLIEST, &lab_reader_ops, &notes.reader);
    broker_reader_skip_unreadable(notes.reader.reader, on_unreadable);
    cr_assert(lab_wait(&lab, &notes.reader.ends, 1));
    append_zeros(&lab, &appends, 1, 10); /* 378 */
    cr_assert(lab_wait(&lab, &notes.reader.records, 7));
    cr_assert_eq(notes.reader.disorder, 0);
    cr_assert_eq(notes.reader.fatal, 0);
    cr_assert_eq(notes.reader.next_offset, 379);
    static const int64_t expected[][2] = {{3, 4}, {5, 305}, {305, 375}, {377, 378}};
    cr_assert_eq(notes.count, 4);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(notes.offset[i], expected[i][0], "%d: %lld", i, (long long)notes.offset[i]);
        cr_assert_eq(notes.next_offset[i], expected[i][1], "%d: %lld", i,
                     (long long)notes.next_offset[i]);
    }
    lab_reader_close(&notes.reader);
    broker_free(other);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

static bool has_released(void *ctx)
{
    return ((struct kafka_reader *)ctx)->queue == NULL;
}

/* Only the bytes of values bound what is fetched ahead. */
Test(broker, fetches_nothing_ahead_for_a_reader_that_stays_paused)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open(&lab);
    lab_appends_init(&appends, 300);
    for (uint32_t i = 0; i < 100; i++)
        lab_append_number(&lab, &appends, 0);
    lab_read(&lab, &reader, 0, BROKER_EARLIEST);
    cr_assert(lab_wait(&lab, &reader.records, 100));
    broker_reader_pause(reader.reader, true);
    for (uint32_t i = 0; i < 100; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait_until(&lab, has_released, reader.reader));
    for (uint32_t i = 0; i < 100; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.acked, 300));
    cr_assert_eq(reader.records, 100);
    broker_reader_pause(reader.reader, false);
    cr_assert(lab_wait(&lab, &reader.records, 300));
    cr_assert_eq(reader.disorder, 0);
    cr_assert_eq(reader.fatal, 0);
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}
