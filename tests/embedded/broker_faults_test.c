/* SPDX-License-Identifier: Apache-2.0 */
/* How the broker handles errors that only librdkafka's mock cluster can produce on demand. */
#include "kafka/client_internal.h"
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdlib.h>
#include <string.h>

enum { API_PRODUCE = 0, API_FETCH = 1, BROKER = 1 };

static rd_kafka_mock_cluster_t *mock_of(const struct lab *lab)
{
    return lab->mock.cluster;
}

static void check_answered_once(const struct lab_appends *appends)
{
    for (uint32_t i = 0; i < appends->sent; i++)
        cr_assert_eq(appends->answers[i].count, 1);
}

Test(broker_faults, hides_temporary_errors)
{
    struct lab lab;
    struct lab_appends appends;
    lab_open_mock(&lab);
    lab_appends_init(&appends, 100);
    rd_kafka_mock_push_request_errors(
        mock_of(&lab), API_PRODUCE, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
    for (uint32_t i = 0; i < 100; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, 100));
    cr_assert_eq(appends.acked, 100);
    for (uint32_t i = 0; i < 100; i++)
        cr_assert_eq(appends.answers[i].offset, i);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

static bool is_alone(void *ctx)
{
    return !broker_connected(ctx);
}

static bool in_trouble(void *ctx)
{
    char text[KAFKA_TROUBLE_SIZE];
    return broker_trouble(ctx, text, sizeof(text));
}

static bool is_healthy(void *ctx)
{
    return !in_trouble(ctx);
}

/* The brokers answer, and their metadata is correct, but they acknowledge nothing. */
Test(broker_faults, reports_records_that_are_not_acknowledged)
{
    enum { ERRORS = 10000 };
    struct lab lab;
    struct lab_appends appends;
    char text[KAFKA_TROUBLE_SIZE];
    rd_kafka_resp_err_t *errors = calloc(ERRORS, sizeof(*errors));
    cr_assert_not_null(errors);
    for (int i = 0; i < ERRORS; i++)
        errors[i] = RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS;
    lab_open_mock(&lab);
    lab_appends_init(&appends, 2);
    lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, 1));
    cr_assert_not(in_trouble(lab.broker));
    rd_kafka_mock_push_request_errors_array(mock_of(&lab), API_PRODUCE, ERRORS, errors);
    lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait_until(&lab, in_trouble, lab.broker));
    cr_assert(broker_connected(lab.broker));
    cr_assert(broker_trouble(lab.broker, text, sizeof(text)));
    cr_assert_eq(strncmp(text, "the brokers have acknowledged nothing for ", 42), 0, "%s", text);
    cr_assert_not_null(strstr(text, " s (1 outstanding): "), "%s", text);
    rd_kafka_mock_clear_request_errors(mock_of(&lab), API_PRODUCE);
    cr_assert(lab_wait(&lab, &appends.answered, 2));
    cr_assert_eq(appends.acked, 2);
    cr_assert(lab_wait_until(&lab, is_healthy, lab.broker));
    free(errors);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

/* The broker has the batch but no longer knows its offset. */
Test(broker_faults, fails_duplicates_whose_offset_is_unknown)
{
    struct lab lab;
    struct lab_appends appends;
    struct kafka_setting linger = {"linger.ms", "100"};
    enum { COUNT = 1500 };
    lab_open_mock_with(&lab,
                       (struct kafka_client_options){.settings = &linger, .setting_count = 1});
    lab_appends_init(&appends, COUNT + 1);
    rd_kafka_mock_push_request_errors(mock_of(&lab), API_PRODUCE, 1,
                                      RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER);
    for (uint32_t i = 0; i < COUNT; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, COUNT));
    cr_assert_eq(appends.without_offset, COUNT);
    lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, COUNT + 1));
    cr_assert_eq(appends.acked, 1);
    cr_assert_geq(appends.answers[COUNT].offset, 0);
    check_answered_once(&appends);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

/* The first batch of a producer is refused, because its partition is only just becoming available,
 * and the second one, already on its way, is accepted: a broker accepts any first sequence number
 * of a producer that is new to it. librdkafka then counts the first batch as persisted. */
Test(broker_faults, acknowledges_nothing_that_is_not_in_the_log)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open_mock(&lab);
    lab_appends_init(&appends, 3);
    lab_append_number(&lab, &appends, 1);
    cr_assert(lab_wait(&lab, &appends.acked, 1)); /* connected */
    rd_kafka_mock_broker_set_rtt(mock_of(&lab), BROKER, 500);
    rd_kafka_mock_push_request_errors(mock_of(&lab), API_PRODUCE, 1,
                                      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    lab_append_number(&lab, &appends, 0);
    lab_run(&lab, 100);
    lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, 3));
    rd_kafka_mock_broker_set_rtt(mock_of(&lab), BROKER, 0);
    lab_read(&lab, &reader, 0, 0);
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert_eq(appends.acked, 1 + reader.records);
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(broker_faults, reports_every_loss_after_a_broken_sequence)
{
    struct lab lab;
    struct lab_appends appends;
    enum { COUNT = 200 };
    lab_open_mock(&lab);
    lab_appends_init(&appends, 2 * COUNT);
    for (uint32_t i = 0; i < COUNT / 2; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, COUNT / 2));
    rd_kafka_mock_push_request_errors(mock_of(&lab), API_PRODUCE, 1,
                                      RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    for (uint32_t i = 0; i < COUNT / 2; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.answered, COUNT));
    check_answered_once(&appends);
    uint32_t before = appends.acked;
    lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.acked, before + 1));
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(broker_faults, loses_no_records_while_the_broker_is_stopped)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open_mock(&lab);
    lab_appends_init(&appends, 300);
    lab_read(&lab, &reader, 0, 0);
    for (uint32_t i = 0; i < 100; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &reader.records, 100));
    cr_assert(broker_connected(lab.broker));
    cr_assert_eq(rd_kafka_mock_broker_set_down(mock_of(&lab), BROKER), 0);
    for (uint32_t i = 0; i < 200; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait_until(&lab, is_alone, lab.broker));
    cr_assert_eq(rd_kafka_mock_broker_set_up(mock_of(&lab), BROKER), 0);
    cr_assert(lab_wait(&lab, &appends.answered, 300));
    cr_assert_eq(appends.acked, 300);
    cr_assert(lab_wait(&lab, &reader.records, 300));
    cr_assert_eq(reader.disorder, 0);
    cr_assert_eq(reader.fatal, 0);
    cr_assert(broker_connected(lab.broker));
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(broker_faults, survives_temporary_fetch_errors)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open_mock(&lab);
    lab_appends_init(&appends, 10);
    for (uint32_t i = 0; i < 10; i++)
        lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.acked, 10));
    rd_kafka_mock_push_request_errors(
        mock_of(&lab), API_FETCH, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
    lab_read(&lab, &reader, 0, 0);
    cr_assert(lab_wait(&lab, &reader.records, 10));
    cr_assert_eq(reader.fatal, 0);
    cr_assert_eq(reader.disorder, 0);
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

struct offsets {
    uint32_t answers;
    uint32_t failures;
    int64_t low;
    int64_t high;
};

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct offsets *offsets = ctx;
    offsets->answers++;
    offsets->low = low;
    offsets->high = high;
    if (error->class != ERROR_OK) {
        cr_assert_eq(error->class, ERROR_RETRY);
        offsets->failures++;
    }
}

/* More of them than there are threads to ask: nothing else could be asked until it is back. */
Test(broker_faults, does_not_wait_for_the_offsets_of_a_stopped_leader)
{
    enum { QUESTIONS = 2 * KAFKA_JOB_THREADS_MAX };
    struct lab lab;
    struct lab_appends appends;
    struct offsets offsets = {0};
    lab_open_mock(&lab);
    lab_appends_init(&appends, 1);
    lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.acked, 1));
    broker_offsets(lab.broker, lab.topics.events, 0, on_offsets, &offsets);
    cr_assert(lab_wait(&lab, &offsets.answers, 1));
    cr_assert(offsets.failures == 0 && offsets.low == 0 && offsets.high == 1);
    cr_assert_eq(rd_kafka_mock_broker_set_down(mock_of(&lab), BROKER), 0);
    for (uint32_t i = 0; i < QUESTIONS; i++)
        broker_offsets(lab.broker, lab.topics.events, 0, on_offsets, &offsets);
    cr_assert(lab_wait(&lab, &offsets.answers, 1 + QUESTIONS));
    cr_assert_eq(offsets.failures, QUESTIONS);
    cr_assert_eq(rd_kafka_mock_broker_set_up(mock_of(&lab), BROKER), 0);
    cr_assert(lab_wait_until(&lab, is_healthy, lab.broker));
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

/* ---- a log whose beginning is gone ---- */

/* The mock cluster keeps 5 MiB of a partition. */
enum { TRIMMING_RECORDS = 16, TRIMMING_BYTES = 500 * 1000 };

/* More than the partition keeps: what it held before is gone. */
static void append_until_trimmed(struct lab *lab, struct lab_appends *appends)
{
    char *value = malloc(TRIMMING_BYTES);
    uint32_t before = appends->acked;
    uint32_t random = 1;
    cr_assert_not_null(value);
    for (int i = 0; i < TRIMMING_BYTES; i++) { /* xorshift: what compression leaves as it is */
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        value[i] = (char)(random >> 24);
    }
    for (uint32_t i = 1; i <= TRIMMING_RECORDS; i++) {
        lab_append(lab, appends, BROKER_PRODUCER_LOG, lab->topics.events, 0,
                   (struct text){value, TRIMMING_BYTES});
        cr_assert(lab_wait(lab, &appends->acked, before + i));
    }
    free(value);
}

Test(broker_faults, finds_the_earliest_record_after_the_first_ones_are_deleted)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open_mock(&lab);
    lab_appends_init(&appends, TRIMMING_RECORDS);
    append_until_trimmed(&lab, &appends);
    lab_read(&lab, &reader, 0, BROKER_EARLIEST);
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert_eq(reader.fatal, 0, "%s", reader.code);
    cr_assert_eq(reader.end_offset, TRIMMING_RECORDS);
    cr_assert_gt(reader.first_offset, 0);
    cr_assert_eq(reader.records, TRIMMING_RECORDS - (uint32_t)reader.first_offset);
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

/* A reader that has read the earliest record must not begin again at a later one: the records
 * between were never read. It is paused long enough to give up what it fetched. */
Test(broker_faults, reports_records_that_are_deleted_after_the_earliest_was_read)
{
    struct lab lab;
    struct lab_appends appends;
    struct lab_reader reader;
    lab_open_mock(&lab);
    lab_appends_init(&appends, 1 + TRIMMING_RECORDS);
    lab_append_number(&lab, &appends, 0);
    cr_assert(lab_wait(&lab, &appends.acked, 1));
    lab_read(&lab, &reader, 0, BROKER_EARLIEST);
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert_eq(reader.records, 1);
    broker_reader_pause(reader.reader, true);
    lab_run(&lab, 300);
    append_until_trimmed(&lab, &appends);
    broker_reader_pause(reader.reader, false);
    cr_assert(lab_wait(&lab, &reader.fatal, 1));
    cr_assert_str_eq(reader.code, "OffsetOutOfRange");
    cr_assert_eq(reader.records, 1);
    lab_reader_close(&reader);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

/* ---- the threads that ask ---- */

enum { BURST = 4 };

struct meeting {
    struct kafka_job job;
    pthread_barrier_t *barrier; /* NULL: meets no other job */
    uint32_t *ended;
};

static void meet(struct kafka_job *job)
{
    struct meeting *meeting = (struct meeting *)job;
    if (meeting->barrier != NULL)
        pthread_barrier_wait(meeting->barrier);
}

static void has_met(struct kafka_job *job)
{
    struct meeting *meeting = (struct meeting *)job;
    (*meeting->ended)++;
}

/* One thread is idle and several jobs come at once, none of which ends before all of them run. */
Test(broker_faults, runs_concurrent_jobs_concurrently, .timeout = 30)
{
    struct lab lab;
    struct kafka_client *kafka;
    struct meeting meetings[1 + BURST];
    pthread_barrier_t barrier;
    uint32_t ended = 0;
    cr_assert_eq(pthread_barrier_init(&barrier, NULL, BURST), 0);
    lab_open_mock(&lab);
    kafka = kafka_of(lab.broker);
    for (uint32_t i = 0; i <= BURST; i++) {
        meetings[i] =
            (struct meeting){{.run = meet, .done = has_met}, i > 0 ? &barrier : NULL, &ended};
        kafka_jobs_submit(&kafka->jobs, &meetings[i].job);
        if (i == 0)
            cr_assert(lab_wait(&lab, &ended, 1));
    }
    cr_assert(lab_wait(&lab, &ended, 1 + BURST));
    cr_assert_eq(pthread_barrier_destroy(&barrier), 0);
    lab_close(&lab);
}
