/* SPDX-License-Identifier: Apache-2.0 */
/* The producer's two clients (kafka/append_flow.h): the order of records, and the death of the one
 * that batches. On the embedded cluster and on a real one, like broker_suite.c. */
#include "kafka/client_internal.h"
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>

enum { BURST = 200, APPENDS_MAX = 200000 };

struct batched_lab {
    struct lab lab;
    struct lab_appends appends;
    struct kafka_producer *producer;
    int32_t partition; /* of the key of all appends */
};

static void open_lab(struct batched_lab *batched, struct kafka_client_options options)
{
    lab_open_with(&batched->lab, options);
    lab_appends_init(&batched->appends, APPENDS_MAX);
    batched->producer = &((struct kafka_client *)batched->lab.broker)->producers[0];
    batched->partition = broker_partition_of(TEXT("key"), LAB_PARTITIONS);
}

static void close_lab(struct batched_lab *batched)
{
    lab_appends_deinit(&batched->appends);
    lab_close(&batched->lab);
}

/* Every second one by key; all to the same partition. */
static void append_some(struct batched_lab *batched, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lab_append(&batched->lab, &batched->appends, BROKER_PRODUCER_LOG,
                   batched->lab.topics.events, i % 2 == 0 ? batched->partition : BROKER_BY_KEY,
                   TEXT("v"));
}

/* NULL: the number of partitions is not known yet. */
static const struct append_flow *flow_of(const struct batched_lab *batched)
{
    const struct kafka_topic *topic = batched->producer->topics;
    return topic->flow_count > 0 ? &topic->flows[batched->partition] : NULL;
}

static void wait_for_all(struct batched_lab *batched)
{
    cr_assert(lab_wait(&batched->lab, &batched->appends.answered, batched->appends.sent));
}

/* Leaves a burst in flight. */
static void append_until_batched(struct batched_lab *batched)
{
    for (;;) {
        append_some(batched, BURST);
        const struct append_flow *flow = flow_of(batched);
        if (flow != NULL && flow->client == APPEND_BATCHED)
            break;
        wait_for_all(batched);
        cr_assert_lt(batched->appends.sent, APPENDS_MAX - BURST);
        lab_run(&batched->lab, 1);
    }
}

Test(broker_batched, keeps_the_order_of_a_partition_while_it_changes_its_client)
{
    struct batched_lab batched = {0};
    open_lab(&batched, (struct kafka_client_options){0});
    for (int round = 0; round < 3; round++) {
        append_until_batched(&batched);
        cr_assert_gt(flow_of(&batched)->in_flight, 0);
        append_some(&batched, 1);
        cr_assert_eq(flow_of(&batched)->client, APPEND_BATCHED, "it still has records in flight");
        wait_for_all(&batched);
        cr_assert_eq(flow_of(&batched)->in_flight, 0);
        lab_run(&batched.lab, APPEND_RATE_MS + 1);
        append_some(&batched, 1);
        cr_assert_eq(flow_of(&batched)->client, APPEND_AT_ONCE, "one record does not wait");
        append_some(&batched, BURST);
        cr_assert_eq(flow_of(&batched)->client, APPEND_AT_ONCE, "it has records in flight");
    }
    wait_for_all(&batched);
    cr_assert_eq(batched.appends.acked, batched.appends.sent);
    for (uint32_t i = 0; i < batched.appends.sent; i++)
        cr_assert_eq(batched.appends.answers[i].offset, i);
    close_lab(&batched);
}

Test(broker_batched, fails_the_appends_of_both_clients_when_one_dies)
{
    struct batched_lab batched = {0};
    open_lab(&batched, (struct kafka_client_options){0});
    struct kafka_producer *producer = batched.producer;
    int32_t other = (batched.partition + 1) % LAB_PARTITIONS;
    append_until_batched(&batched);
    wait_for_all(&batched);
    lab_run(&batched.lab, APPEND_RATE_MS + 1);
    uint32_t before = batched.appends.acked;
    for (int i = 0; i <= APPEND_RATE_COUNT; i++)
        lab_append_number(&batched.lab, &batched.appends, other);
    append_some(&batched, BURST);
    cr_assert_eq(producer->topics->flows[other].client, APPEND_AT_ONCE, "its first one was alone");
    cr_assert_eq(flow_of(&batched)->client, APPEND_BATCHED);
    rd_kafka_test_fatal_error(producer->handles[APPEND_BATCHED].rk,
                              RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "injected");
    wait_for_all(&batched);
    cr_assert_eq(batched.appends.acked - before + batched.appends.fatal,
                 BURST + APPEND_RATE_COUNT + 1);
    cr_assert_eq(batched.appends.answers[batched.appends.sent - 1].class, ERROR_FATAL);
    cr_assert_eq(broker_producer_deaths(batched.lab.broker, producer->kind), 1);
    cr_assert_eq(flow_of(&batched)->in_flight, 0);
    /* Both work again. */
    before = batched.appends.acked;
    uint32_t sent = batched.appends.sent;
    append_until_batched(&batched);
    wait_for_all(&batched);
    cr_assert_eq(batched.appends.acked - before, batched.appends.sent - sent);
    cr_assert_eq(broker_producer_deaths(batched.lab.broker, producer->kind), 1);
    close_lab(&batched);
}

/* As those of a claim: what one client has sent cannot be lost unnoticed behind its back. */
Test(broker_batched, sends_at_once_what_is_not_to_be_batched)
{
    struct batched_lab batched = {0};
    open_lab(&batched, (struct kafka_client_options){0});
    append_until_batched(&batched);
    wait_for_all(&batched);
    int32_t other = (batched.partition + 1) % LAB_PARTITIONS;
    struct broker_append append = {.topic = batched.lab.topics.events,
                                   .partition = other,
                                   .value = TEXT("v"),
                                   .done = lab_appended,
                                   .ctx = &batched.appends};
    for (int i = 0; i < BURST; i++) {
        append_some(&batched, 1);
        append.token = batched.appends.sent++;
        cr_assert_eq(broker_append(batched.lab.broker, &append, NULL), ERROR_OK);
        if (i % 50 == 0)
            wait_for_all(&batched);
        cr_assert_eq(batched.producer->topics->flows[other].client, APPEND_AT_ONCE);
    }
    wait_for_all(&batched);
    close_lab(&batched);
}

Test(broker_batched, uses_one_client_when_the_user_sets_the_linger)
{
    struct batched_lab batched = {0};
    struct kafka_setting linger = {"linger.ms", "1"};
    open_lab(&batched, (struct kafka_client_options){.settings = &linger, .setting_count = 1});
    do {
        append_some(&batched, BURST);
        wait_for_all(&batched);
        cr_assert_lt(batched.appends.sent, APPENDS_MAX - 2 * BURST);
    } while (flow_of(&batched) == NULL);
    append_some(&batched, BURST);
    wait_for_all(&batched);
    append_some(&batched, BURST);
    cr_assert_eq(flow_of(&batched)->client, APPEND_AT_ONCE);
    cr_assert_null(batched.producer->handles[APPEND_BATCHED].rk);
    wait_for_all(&batched);
    close_lab(&batched);
}

Test(broker_batched, counts_the_records_of_both_clients_against_its_queue)
{
    struct batched_lab batched = {0};
    struct error error;
    open_lab(&batched, (struct kafka_client_options){.append_queue_records = 2 * BURST});
    append_until_batched(&batched);
    int32_t other = (batched.partition + 1) % LAB_PARTITIONS;
    struct broker_append append = {.topic = batched.lab.topics.events,
                                   .partition = other,
                                   .value = TEXT("v"),
                                   .done = lab_appended,
                                   .ctx = &batched.appends};
    uint32_t outstanding = broker_outstanding(batched.lab.broker, BROKER_PRODUCER_LOG);
    for (; outstanding < 2 * BURST; outstanding++) {
        append.token = batched.appends.sent++;
        cr_assert_eq(broker_append(batched.lab.broker, &append, &error), ERROR_OK);
    }
    cr_assert_eq(broker_append(batched.lab.broker, &append, &error), ERROR_RETRY);
    cr_assert_eq(error.code, CODE_QUEUE_FULL);
    wait_for_all(&batched);
    close_lab(&batched);
}

static void expect_compression(struct kafka_setting *setting, const char *expected)
{
    struct batched_lab batched = {0};
    char value[16] = "";
    size_t size = sizeof(value);
    open_lab(&batched, (struct kafka_client_options){.settings = setting,
                                                     .setting_count = setting != NULL ? 1 : 0});
    const rd_kafka_conf_t *conf = rd_kafka_conf(batched.producer->handles[APPEND_AT_ONCE].rk);
    cr_assert_eq(rd_kafka_conf_get(conf, "compression.codec", value, &size), RD_KAFKA_CONF_OK);
    cr_assert_str_eq(value, expected);
    close_lab(&batched);
}

Test(broker_batched, compresses_with_lz4_unless_the_user_says_otherwise)
{
    expect_compression(NULL, "lz4");
    expect_compression(&(struct kafka_setting){"compression.type", "none"}, "none");
    expect_compression(&(struct kafka_setting){"compression.codec", "zstd"}, "zstd");
}
