/* SPDX-License-Identifier: Apache-2.0 */
/* Topics on a real broker: made, checked, corrected; and what a missing one does to appends. */
#include "kafka/client_internal.h"
#include "kafka/topics/internal.h"
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { LINES_SIZE = 8192 };

struct notes {
    uint32_t count[TOPICS_FINDING_COUNT];
    char lines[LINES_SIZE];
};

static void note(void *ctx, enum topics_finding finding, const char *topic, const char *line)
{
    struct notes *notes = ctx;
    size_t size = strlen(notes->lines);
    (void)topic;
    notes->count[finding]++;
    snprintf(notes->lines + size, sizeof(notes->lines) - size, "%s\n", line);
}

static struct notes apply(const struct topics_plan *plan)
{
    struct notes notes = {.lines = ""};
    struct error error;
    cr_assert_eq(topics_apply(plan, note, &notes, &error), ERROR_OK, "%s", error.message);
    return notes;
}

static struct notes check(const struct topics_plan *plan)
{
    struct notes notes = {.lines = ""};
    struct error error;
    cr_assert_eq(topics_check(plan, note, &notes, &error), ERROR_OK, "%s", error.message);
    return notes;
}

/* Sets topic settings as an operator would, all others back to their defaults. */
static void alter(struct lab *lab, const char *topic, const char *name, const char *value)
{
    rd_kafka_t *rk = ((struct kafka_client *)lab->broker)->producers[0].handles[APPEND_AT_ONCE].rk;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    cr_assert_eq(rd_kafka_ConfigResource_set_config(resource, name, value), 0);
    rd_kafka_AlterConfigs(rk, &resource, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 10000);
    cr_assert_not_null(event);
    cr_assert_eq(rd_kafka_event_error(event), 0, "%s", rd_kafka_event_error_string(event));
    rd_kafka_event_destroy(event);
    rd_kafka_ConfigResource_destroy(resource);
    rd_kafka_queue_destroy(queue);
}

struct expectation {
    const struct topics_plan *plan;
    enum error_class class;
};

static bool is_as_expected(void *ctx)
{
    const struct expectation *expectation = ctx;
    struct error error;
    return topics_check_start(expectation->plan, &error) == expectation->class;
}

/* A broker applies a changed setting a moment after it has said yes. */
static void wait_for(struct lab *lab, const struct topics_plan *plan, enum error_class class)
{
    struct expectation expectation = {plan, class};
    cr_assert(lab_wait_until(lab, is_as_expected, &expectation));
}

Test(topics_kafka, creates_checks_and_corrects_topics)
{
    struct lab lab;
    struct error error;
    struct topics topics;
    static const char *const agents[] = {"payment", "stock"};
    lab_open(&lab);
    char prefix[TOPICS_PREFIX_BYTES_MAX];
    snprintf(prefix, sizeof(prefix), "%.100s-made", lab.topics.prefix);
    cr_assert_eq(topics_init(&topics, prefix, &error), ERROR_OK);
    struct kafka_client_options kafka = {.bootstrap_servers = lab.bootstrap};
    struct topics_plan plan = {.kafka = &kafka,
                               .topics = &topics,
                               .partitions = 3,
                               .replication_factor = 1,
                               .agents = agents,
                               .agent_count = 2};

    struct notes notes = check(&plan);
    cr_assert_eq(notes.count[TOPICS_DIFFERS], 12);
    cr_assert_eq(topics_check_start(&plan, &error), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_TOPICS);
    cr_assert_eq(apply(&plan).count[TOPICS_CREATED], 12);
    notes = apply(&plan);
    cr_assert_str_empty(notes.lines);
    notes = check(&plan);
    cr_assert_str_empty(notes.lines);
    cr_assert_eq(topics_check_start(&plan, &error), ERROR_OK);

    alter(&lab, topics.events, "segment.ms", "123456789");
    wait_for(&lab, &plan, ERROR_REJECT);
    notes = check(&plan);
    cr_assert_not_null(strstr(notes.lines, "retention.ms is 604800000; expected -1"));
    cr_assert_not_null(strstr(notes.lines, "message.timestamp.type is CreateTime"));
    notes = apply(&plan);
    cr_assert_eq(notes.count[TOPICS_CHANGED], 3, "%s", notes.lines);
    cr_assert_not_null(strstr(notes.lines, "retention.ms was 604800000, is now -1"));
    wait_for(&lab, &plan, ERROR_OK);
    notes = check(&plan);
    cr_assert_str_empty(notes.lines);

    plan.partitions = 5;
    notes = apply(&plan);
    cr_assert_eq(notes.count[TOPICS_DIFFERS], 1);
    cr_assert_not_null(strstr(notes.lines, "commands: has 3 partitions; expected 5"));
    lab_close(&lab);
}

struct listed {
    size_t count;
    char address[300];
    char version[TOPICS_VERSION_SIZE];
};

static void take_broker(void *ctx, const struct topics_broker *broker)
{
    struct listed *listed = ctx;
    listed->count++;
    snprintf(listed->address, sizeof(listed->address), "%s:%d", broker->host, broker->port);
    memcpy(listed->version, broker->version, sizeof(listed->version));
}

Test(topics_kafka, lists_the_brokers_and_what_is_known_of_their_versions)
{
    struct lab lab;
    struct error error;
    struct listed listed = {0};
    lab_open(&lab);
    struct kafka_client_options kafka = {.bootstrap_servers = lab.bootstrap};
    cr_assert_eq(topics_list_brokers(&kafka, 15000, take_broker, &listed, &error), ERROR_OK, "%s",
                 error.message);
    cr_assert_eq(listed.count, 1);
    cr_assert(strstr(lab.bootstrap, listed.address) != NULL, "%s", listed.address);
    cr_assert(strcmp(listed.version, TOPICS_VERSION_NEW) == 0 || strcmp(listed.version, "3.9") == 0,
              "%s", listed.version);
    lab_close(&lab);
}

Test(topics_kafka, rejects_effects_until_their_topic_exists, .timeout = 100)
{
    struct lab lab;
    struct lab_appends appends;
    char name[TOPIC_NAME_SIZE];
    lab_open_with(&lab, (struct kafka_client_options){.unknown_topic_ms = 1000});
    lab_appends_init(&appends, 100);
    topics_replies(&lab.topics, TEXT("late"), name);
    lab_append(&lab, &appends, BROKER_PRODUCER_EFFECTS, name, 0, TEXT("v"));
    lab_append(&lab, &appends, BROKER_PRODUCER_EFFECTS, lab.topics.alerts, 0, TEXT("v"));
    cr_assert(lab_wait(&lab, &appends.acked, 1));
    cr_assert_eq(appends.answers[1].class, ERROR_OK, "the others do not wait for it");
    cr_assert(lab_wait(&lab, &appends.answered, 2));
    cr_assert_eq(appends.answers[0].class, ERROR_REJECT);
    cr_assert_str_eq(appends.answers[0].code, "UnknownTopic");
    cr_assert_eq(broker_partition_count(lab.broker, name, 5000), 0);

    static const char *const apps[] = {"late"};
    struct kafka_client_options kafka = {.bootstrap_servers = lab.bootstrap};
    struct topics_plan plan = {.kafka = &kafka,
                               .topics = &lab.topics,
                               .partitions = LAB_PARTITIONS,
                               .replication_factor = 1,
                               .apps = apps,
                               .app_count = 1};
    cr_assert_eq(apply(&plan).count[TOPICS_CREATED], 1);
    while (appends.acked < 2 && appends.sent < 100) {
        lab_append(&lab, &appends, BROKER_PRODUCER_EFFECTS, name, 0, TEXT("v"));
        cr_assert(lab_wait(&lab, &appends.answered, appends.sent));
        lab_run(&lab, 100);
    }
    cr_assert_eq(appends.acked, 2);
    lab_appends_deinit(&appends);
    lab_close(&lab);
}

Test(topics_kafka, fails_the_reader_of_a_missing_topic_after_a_delay, .timeout = 100)
{
    struct lab lab;
    struct lab_reader reader = {.first_offset = -1};
    lab_open_with(&lab, (struct kafka_client_options){.unknown_topic_ms = 1000});
    reader.reader = broker_read(lab.broker, "no-such-topic", 0, 0, &lab_reader_ops, &reader);
    cr_assert(lab_wait(&lab, &reader.fatal, 1));
    cr_assert_str_eq(reader.code, "UnknownTopic");
    cr_assert_eq(reader.retry, 1);
    lab_reader_close(&reader);
    lab_close(&lab);
}

static bool is_gone(void *ctx)
{
    const struct lab *lab = ctx;
    return broker_partition_count(lab->broker, lab->topics.events, 5000) == 0;
}

Test(topics_kafka, fails_appends_and_readers_of_a_deleted_topic, .timeout = 200)
{
    struct lab lab;
    struct lab_appends log;
    struct lab_appends effects;
    struct lab_reader reader;
    struct error error;
    lab_open_with(&lab, (struct kafka_client_options){.unknown_topic_ms = 1000});
    lab_appends_init(&log, 10000);
    lab_appends_init(&effects, 10000);
    lab_append_number(&lab, &log, 0);
    lab_append(&lab, &effects, BROKER_PRODUCER_EFFECTS, lab.topics.events, 1, TEXT("v"));
    lab_read(&lab, &reader, 0, 0);
    cr_assert(lab_wait(&lab, &reader.ends, 1));
    cr_assert(lab_wait(&lab, &log.acked, 1));
    cr_assert(lab_wait(&lab, &effects.acked, 1));

    struct kafka_client_options kafka = {.bootstrap_servers = lab.bootstrap};
    cr_assert_eq(topics_delete(&kafka, &lab.topics, &error), ERROR_OK, "%s", error.message);
    cr_assert(lab_wait_until(&lab, is_gone, &lab));
    for (int i = 0; i < 10; i++) {
        lab_append_number(&lab, &log, i % LAB_PARTITIONS);
        lab_append(&lab, &effects, BROKER_PRODUCER_EFFECTS, lab.topics.events, i % LAB_PARTITIONS,
                   TEXT("v"));
    }
    cr_assert(lab_wait(&lab, &effects.answered, 11));
    cr_assert_eq(effects.acked, 1);
    /* A record on the wire while the topic is deleted may fail without a reason; later ones fail
     * with the reason. */
    lab_append(&lab, &effects, BROKER_PRODUCER_EFFECTS, lab.topics.events, 1, TEXT("v"));
    cr_assert(lab_wait(&lab, &effects.answered, 12));
    cr_assert_eq(effects.answers[11].class, ERROR_REJECT, "%s", effects.answers[11].code);
    cr_assert(lab_wait(&lab, &log.answered, 11));
    cr_assert_eq(log.acked, 1);
    cr_assert(lab_wait(&lab, &reader.fatal, 1));
    cr_assert_eq(reader.records, 1);
    lab_reader_close(&reader);

    struct topics_plan plan = {.kafka = &kafka,
                               .topics = &lab.topics,
                               .partitions = LAB_PARTITIONS,
                               .replication_factor = 1};
    apply(&plan);
    for (uint32_t i = 0; i < 1000 && log.acked < 2; i++) {
        lab_append_number(&lab, &log, 0);
        cr_assert(lab_wait(&lab, &log.answered, log.sent));
        lab_run(&lab, 100);
    }
    cr_assert_eq(log.acked, 2);
    cr_assert_eq(log.answers[log.sent - 1].offset, 0);
    lab_read(&lab, &reader, 0, 0);
    cr_assert(lab_wait(&lab, &reader.records, 1));
    lab_reader_close(&reader);
    lab_appends_deinit(&log);
    lab_appends_deinit(&effects);
    lab_close(&lab);
}
