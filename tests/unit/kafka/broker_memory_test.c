/* SPDX-License-Identifier: Apache-2.0 */
/* The broker in memory: its guarantees under each fault and in random histories. */
#include "tests/simulation/broker_memory.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { APPENDS_MAX = 4096, STEPS_MAX = 100000 };

/* ---- an instance that records its callbacks ---- */

struct answer {
    uint32_t count;
    int64_t offset;
    enum error_class class;
};

struct instance {
    struct broker *broker;
    struct answer answers[APPENDS_MAX];
    uint32_t sent;
    uint32_t answered;

    struct broker_reader *reader;
    int64_t next_offset;
    uint32_t records;
    uint32_t ends;
    char error[ERROR_CODE_SIZE];
    char last_value[64];

    struct broker_group *group;
    uint32_t assigned;
    uint32_t owned;
    uint32_t revoked;
    uint32_t lost;
    uint32_t left;

    int64_t committed;
    int64_t low;
    int64_t high;
    uint32_t replies;
    enum error_class reply_class;
};

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct instance *instance = ctx;
    instance->answers[token] =
        (struct answer){instance->answers[token].count + 1, offset, error->class};
    instance->answered++;
}

static uint32_t append_to(struct instance *instance, const char *topic, int32_t partition,
                          const char *value)
{
    uint32_t token = instance->sent++;
    struct error error;
    struct broker_append append = {.producer = BROKER_PRODUCER_LOG,
                                   .topic = topic,
                                   .partition = partition,
                                   .key = TEXT("k"),
                                   .value = text_of(value),
                                   .done = on_appended,
                                   .ctx = instance,
                                   .token = token};
    cr_assert_lt(token, APPENDS_MAX);
    cr_assert_eq(broker_append(instance->broker, &append, &error), ERROR_OK);
    return token;
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct instance *instance = ctx;
    if (instance->records > 0)
        cr_assert_eq(record->offset, instance->next_offset);
    instance->next_offset = record->offset + 1;
    instance->records++;
    snprintf(instance->last_value, sizeof(instance->last_value), "%.*s", TEXT_ARG(record->value));
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct instance *instance = ctx;
    if (instance->records > 0)
        cr_assert_eq(next_offset, instance->next_offset);
    instance->ends++;
}

static void on_error(void *ctx, const struct error *error)
{
    struct instance *instance = ctx;
    snprintf(instance->error, sizeof(instance->error), "%s", error->code);
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void on_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct instance *instance = ctx;
    (void)partitions;
    instance->assigned++;
    instance->owned = count;
}

static void on_revoked(void *ctx, bool lost)
{
    struct instance *instance = ctx;
    instance->revoked++;
    instance->lost += lost;
    instance->owned = 0;
}

static const struct broker_group_ops group_ops = {on_assigned, on_revoked, on_error};

static void on_left(void *ctx)
{
    ((struct instance *)ctx)->left++;
}

static void on_committed(void *ctx, int32_t partition, int64_t offset, const struct error *error)
{
    struct instance *instance = ctx;
    (void)partition;
    instance->committed = offset;
    instance->replies++;
    instance->reply_class = error->class;
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct instance *instance = ctx;
    instance->low = low;
    instance->high = high;
    instance->replies++;
    instance->reply_class = error->class;
}

/* ---- fixture ---- */

struct lab {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct instance *one;
    struct instance *two;
};

static struct instance *new_instance(struct lab *lab, const char *name)
{
    struct instance *instance = calloc(1, sizeof(*instance));
    cr_assert_not_null(instance);
    instance->broker = broker_memory_new(lab->kafka, name);
    return instance;
}

static void open_lab(struct lab *lab, uint64_t seed)
{
    clock_manual_init(&lab->clock, 1700000000000);
    lab->kafka = broker_memory_cluster_new(seed, &lab->clock.clock);
    broker_memory_topic(lab->kafka, "events", 2);
    lab->one = new_instance(lab, "one");
    lab->two = new_instance(lab, "two");
}

static void free_instance(struct instance *instance)
{
    broker_reader_close(instance->reader);
    if (instance->group != NULL)
        broker_leave(instance->group, NULL, NULL);
    broker_free(instance->broker);
    free(instance);
}

static void close_lab(struct lab *lab)
{
    free_instance(lab->one);
    free_instance(lab->two);
    broker_memory_cluster_free(lab->kafka);
}

static void settle(struct lab *lab)
{
    cr_assert_lt(broker_memory_settle(lab->kafka, STEPS_MAX), STEPS_MAX);
}

static void read_events(struct instance *instance, int64_t offset)
{
    instance->reader = broker_read(instance->broker, "events", 0, offset, &reader_ops, instance);
}

/* ---- appending and reading ---- */

Test(broker_memory, does_nothing_before_a_step)
{
    struct lab lab;
    open_lab(&lab, 1);
    read_events(lab.one, BROKER_EARLIEST);
    append_to(lab.one, "events", 0, "a");
    cr_assert_eq(lab.one->answered, 0);
    cr_assert_eq(lab.one->ends, 0);
    cr_assert_eq(broker_outstanding(lab.one->broker, BROKER_PRODUCER_LOG), 1);
    settle(&lab);
    cr_assert_eq(lab.one->answers[0].offset, 0);
    cr_assert_eq(lab.one->answers[0].class, ERROR_OK);
    cr_assert_eq(broker_outstanding(lab.one->broker, BROKER_PRODUCER_LOG), 0);
    cr_assert_eq(lab.one->records, 1);
    cr_assert_geq(lab.one->ends, 1);
    cr_assert_str_eq(lab.one->last_value, "a");
    close_lab(&lab);
}

Test(broker_memory, keeps_key_value_headers_and_time_of_a_record)
{
    struct lab lab;
    struct broker_record record;
    open_lab(&lab, 1);
    struct broker_header headers[] = {{TEXT("name"), TEXT("value")}, {TEXT("empty"), TEXT("")}};
    struct broker_append append = {.topic = "events",
                                   .key = TEXT("key"),
                                   .value = {NULL, 0},
                                   .headers = headers,
                                   .header_count = 2,
                                   .done = on_appended,
                                   .ctx = lab.one};
    cr_assert_eq(broker_append(lab.one->broker, &append, NULL), ERROR_OK);
    clock_manual_advance(&lab.clock, 5);
    settle(&lab);
    cr_assert(broker_memory_record(lab.kafka, "events", 0, 0, &record));
    cr_assert(text_equal(record.key, TEXT("key")));
    cr_assert_null(record.value.data);
    cr_assert_eq(record.header_count, 2);
    cr_assert(text_equal(record.headers[0].value, TEXT("value")));
    cr_assert(text_equal(record.headers[1].name, TEXT("empty")));
    cr_assert_eq(record.timestamp, 1700000000005);
    cr_assert_not(broker_memory_record(lab.kafka, "events", 0, 1, &record));
    close_lab(&lab);
}

Test(broker_memory, rejects_appends_and_fails_readers_of_a_missing_topic)
{
    struct lab lab;
    open_lab(&lab, 1);
    append_to(lab.one, "nowhere", 0, "a");
    append_to(lab.one, "events", 2, "a");
    lab.one->reader =
        broker_read(lab.one->broker, "nowhere", 0, BROKER_EARLIEST, &reader_ops, lab.one);
    settle(&lab);
    cr_assert_eq(lab.one->answers[0].class, ERROR_REJECT);
    cr_assert_eq(lab.one->answers[1].class, ERROR_REJECT);
    cr_assert_str_eq(lab.one->error, "UnknownTopic");
    cr_assert_eq(broker_partition_count(lab.one->broker, "nowhere", 0), 0);
    cr_assert_eq(broker_partition_count(lab.one->broker, "events", 0), 2);
    close_lab(&lab);
}

Test(broker_memory, keeps_a_paused_reader_silent)
{
    struct lab lab;
    open_lab(&lab, 1);
    (void)broker_memory_append(lab.kafka, "events", 0, TEXT("k"), TEXT("v"));
    read_events(lab.one, 0);
    broker_reader_pause(lab.one->reader, true);
    settle(&lab);
    cr_assert_eq(lab.one->records, 0);
    broker_reader_pause(lab.one->reader, false);
    settle(&lab);
    cr_assert_eq(lab.one->records, 1);
    cr_assert_eq(lab.one->ends, 1);
    close_lab(&lab);
}

Test(broker_memory, reports_positions_outside_the_log)
{
    struct lab lab;
    open_lab(&lab, 1);
    for (int i = 0; i < 10; i++)
        (void)broker_memory_append(lab.kafka, "events", 0, TEXT("k"), TEXT("v"));
    read_events(lab.one, 10);
    lab.two->reader = broker_read(lab.two->broker, "events", 0, 3, &reader_ops, lab.two);
    settle(&lab);
    cr_assert_eq(lab.two->records, 7);
    cr_assert_str_empty(lab.one->error);
    broker_memory_truncate(lab.kafka, "events", 0, 9);
    settle(&lab);
    cr_assert_str_eq(lab.one->error, "OffsetOutOfRange");
    broker_memory_trim(lab.kafka, "events", 0, 5);
    broker_reader_close(lab.two->reader);
    lab.two->reader = broker_read(lab.two->broker, "events", 0, 4, &reader_ops, lab.two);
    lab.two->error[0] = '\0';
    settle(&lab);
    cr_assert_str_eq(lab.two->error, "OffsetOutOfRange");
    broker_offsets(lab.two->broker, "events", 0, on_offsets, lab.two);
    settle(&lab);
    cr_assert_eq(lab.two->low, 5);
    cr_assert_eq(lab.two->high, 9);
    close_lab(&lab);
}

Test(broker_memory, empties_a_topic_that_is_created_again)
{
    struct lab lab;
    int64_t low;
    int64_t high;
    open_lab(&lab, 1);
    (void)broker_memory_append(lab.kafka, "events", 0, TEXT("k"), TEXT("v"));
    broker_memory_topic(lab.kafka, "events", 3);
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert_eq(high, 0);
    cr_assert_eq(broker_partition_count(lab.one->broker, "events", 0), 3);
    close_lab(&lab);
}

/* ---- faults ---- */

Test(broker_memory, delivers_nothing_to_a_disconnected_instance)
{
    struct lab lab;
    open_lab(&lab, 7);
    for (int i = 0; i < 50; i++)
        append_to(lab.one, "events", 0, "a");
    broker_memory_disconnect(lab.one->broker);
    broker_offsets(lab.one->broker, "events", 0, on_offsets, lab.one);
    settle(&lab);
    cr_assert_eq(lab.one->answered, 0);
    cr_assert_not(broker_connected(lab.one->broker));
    cr_assert_eq(broker_partition_count(lab.one->broker, "events", 0), -1);
    broker_memory_connect(lab.one->broker);
    settle(&lab);
    for (int i = 0; i < 50; i++) {
        cr_assert_eq(lab.one->answers[i].count, 1);
        cr_assert_eq(lab.one->answers[i].offset, i);
    }
    cr_assert_eq(lab.one->replies, 1);
    cr_assert_eq(lab.one->reply_class, ERROR_RETRY);
    close_lab(&lab);
}

Test(broker_memory, writes_records_of_a_zombie_that_were_on_the_wire)
{
    bool some = false;
    bool none = false;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct lab lab;
        int64_t low;
        int64_t high;
        open_lab(&lab, seed);
        for (int i = 0; i < 3; i++)
            append_to(lab.one, "events", 0, "a");
        broker_memory_pause(lab.one->broker);
        settle(&lab);
        broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
        some = some || high > 0;
        none = none || high == 0;
        broker_memory_continue(lab.one->broker);
        settle(&lab);
        broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
        cr_assert_eq(high, 3);
        cr_assert_eq(lab.one->answered, 3);
        close_lab(&lab);
    }
    cr_assert(some && none);
}

Test(broker_memory, delivers_nothing_to_a_killed_instance)
{
    struct lab lab;
    int64_t low;
    int64_t high;
    open_lab(&lab, 3);
    read_events(lab.one, 0);
    lab.one->group = broker_join(lab.one->broker, "g", "events", &group_ops, lab.one);
    for (int i = 0; i < 20; i++)
        append_to(lab.one, "events", 0, "a");
    broker_memory_kill(lab.one->broker);
    broker_memory_rebalance(lab.kafka, "g");
    settle(&lab);
    cr_assert_eq(lab.one->answered, 0);
    cr_assert_eq(lab.one->records, 0);
    cr_assert_eq(lab.one->assigned, 0);
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert_lt(high, 20);
    close_lab(&lab);
}

Test(broker_memory, reports_each_append_of_a_dead_producer_once)
{
    struct lab lab;
    open_lab(&lab, 11);
    for (int i = 0; i < 20; i++)
        append_to(lab.one, "events", i % 2, "a");
    for (int i = 0; i < 10; i++)
        (void)broker_memory_step(lab.kafka);
    broker_memory_fail_producer(lab.one->broker, BROKER_PRODUCER_LOG);
    uint32_t before = lab.one->answered;
    append_to(lab.one, "events", 0, "b");
    settle(&lab);
    uint32_t fatal = 0;
    for (uint32_t i = 0; i <= 20; i++) {
        cr_assert_eq(lab.one->answers[i].count, 1);
        fatal += lab.one->answers[i].class == ERROR_FATAL;
    }
    cr_assert_eq(fatal, 20 - before);
    cr_assert_eq(lab.one->answers[20].class, ERROR_OK);
    cr_assert_eq(broker_outstanding(lab.one->broker, BROKER_PRODUCER_LOG), 0);
    close_lab(&lab);
}

Test(broker_memory, injects_append_faults_as_often_as_configured)
{
    struct lab lab;
    uint32_t without_offset = 0;
    uint32_t failed = 0;
    int64_t low;
    int64_t high;
    open_lab(&lab, 5);
    struct broker_memory_faults faults = {
        .ack_without_offset = 200, .append_lost = 100, .append_unknown = 100};
    broker_memory_set_faults(lab.kafka, &faults);
    for (int i = 0; i < 1000; i++)
        append_to(lab.one, "events", 0, "a");
    settle(&lab);
    for (int i = 0; i < 1000; i++) {
        failed += lab.one->answers[i].class == ERROR_RETRY;
        without_offset += lab.one->answers[i].class == ERROR_OK && lab.one->answers[i].offset == -1;
    }
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert(failed > 120 && failed < 280);
    cr_assert(without_offset > 100 && without_offset < 220);
    cr_assert(high > 850 && high < 950);
    close_lab(&lab);
}

/* ---- groups ---- */

Test(broker_memory, shares_partitions_among_members_and_revokes_them)
{
    struct lab lab;
    open_lab(&lab, 2);
    lab.one->group = broker_join(lab.one->broker, "g", "events", &group_ops, lab.one);
    broker_memory_rebalance(lab.kafka, "g");
    settle(&lab);
    cr_assert_eq(lab.one->owned, 2);
    lab.two->group = broker_join(lab.two->broker, "g", "events", &group_ops, lab.two);
    broker_memory_rebalance(lab.kafka, "g");
    settle(&lab);
    cr_assert_eq(lab.one->owned, 1);
    cr_assert_eq(lab.two->owned, 1);
    cr_assert_eq(lab.one->revoked, 1);

    broker_memory_pause(lab.one->broker);
    broker_memory_expire(lab.one->broker, "g");
    broker_memory_rebalance(lab.kafka, "g");
    settle(&lab);
    cr_assert_eq(lab.two->owned, 2);
    cr_assert_eq(lab.one->owned, 1); /* it does not know yet */
    broker_memory_continue(lab.one->broker);
    settle(&lab);
    cr_assert_eq(lab.one->owned, 0);
    cr_assert_eq(lab.one->lost, 1);
    broker_memory_rebalance(lab.kafka, "g");
    settle(&lab);
    cr_assert_eq(lab.one->owned + lab.two->owned, 2);

    broker_leave(lab.one->group, on_left, lab.one);
    lab.one->group = NULL;
    broker_memory_rebalance(lab.kafka, "g");
    settle(&lab);
    cr_assert_eq(lab.one->left, 1);
    cr_assert_eq(lab.two->owned, 2);
    close_lab(&lab);
}

Test(broker_memory, keeps_commits_by_group_and_partition)
{
    struct lab lab;
    open_lab(&lab, 2);
    lab.one->group = broker_join(lab.one->broker, "g", "events", &group_ops, lab.one);
    lab.two->group = broker_join(lab.two->broker, "h", "events", &group_ops, lab.two);
    broker_group_commit(lab.one->group, 1, 42, NULL, NULL);
    settle(&lab);
    broker_group_committed(lab.one->group, 1, on_committed, lab.one);
    broker_group_committed(lab.two->group, 1, on_committed, lab.two);
    settle(&lab);
    cr_assert_eq(lab.one->committed, 42);
    cr_assert_eq(lab.two->committed, -1);
    close_lab(&lab);
}

/* ---- random histories ---- */

static uint64_t hash_of(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static void act(struct lab *lab, char *value)
{
    struct instance *instance = broker_memory_random(lab->kafka, 2) == 0 ? lab->one : lab->two;
    switch (broker_memory_random(lab->kafka, 12)) {
    case 0:
        broker_memory_disconnect(instance->broker);
        break;
    case 1:
        broker_memory_pause(instance->broker);
        break;
    case 2:
        broker_memory_fail_producer(instance->broker, BROKER_PRODUCER_LOG);
        break;
    case 3:
    case 4:
        broker_memory_connect(instance->broker);
        broker_memory_continue(instance->broker);
        break;
    default:
        snprintf(value, 64, "%s-%u", instance == lab->one ? "one" : "two", instance->sent);
        append_to(instance, "events", (int32_t)broker_memory_random(lab->kafka, 2), value);
        break;
    }
}

/* Acknowledged records are where they were acknowledged; offsets of one sender rise. */
static uint64_t check_instance(const struct lab *lab, const struct instance *instance,
                               const char *name)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < instance->sent; i++) {
        const struct answer *answer = &instance->answers[i];
        cr_assert_eq(answer->count, 1, "%s-%u was answered %u times", name, i, answer->count);
        hash = hash_of(hash, (uint64_t)answer->offset * 8 + answer->class);
        if (answer->offset < 0)
            continue;
        char value[64];
        uint32_t found = 0;
        snprintf(value, sizeof(value), "%s-%u", name, i);
        for (int32_t p = 0; p < 2; p++) {
            struct broker_record record;
            found += broker_memory_record(lab->kafka, "events", p, answer->offset, &record) &&
                     text_equal(record.value, text_of(value));
        }
        cr_assert_eq(found, 1, "%s is not at offset %" PRId64, value, answer->offset);
    }
    return hash;
}

static uint64_t history(uint64_t seed)
{
    struct lab lab;
    char value[64];
    open_lab(&lab, seed);
    read_events(lab.one, BROKER_EARLIEST);
    for (int i = 0; i < 300; i++) {
        if (broker_memory_random(lab.kafka, 4) == 0)
            act(&lab, value);
        else
            (void)broker_memory_step(lab.kafka);
    }
    broker_memory_connect(lab.one->broker);
    broker_memory_continue(lab.one->broker);
    broker_memory_connect(lab.two->broker);
    broker_memory_continue(lab.two->broker);
    settle(&lab);
    uint64_t hash =
        hash_of(check_instance(&lab, lab.one, "one"), check_instance(&lab, lab.two, "two"));
    int64_t low;
    int64_t high;
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert_eq(lab.one->records, high);
    close_lab(&lab);
    return hash_of(hash, (uint64_t)high);
}

Test(broker_memory, repeats_random_histories_and_keeps_its_promises)
{
    for (uint64_t seed = 1; seed <= 500; seed++)
        cr_assert_eq(history(seed), history(seed), "seed %" PRIu64, seed);
}
