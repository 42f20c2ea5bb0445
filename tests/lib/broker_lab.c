/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/broker_lab.h"

#include "platform/logger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP_SIZE = TOPICS_PREFIX_BYTES_MAX + 16 };

static void must(enum error_class class, const struct error *error)
{
    if (class == ERROR_OK)
        return;
    fprintf(stderr, "broker lab: %s\n", error->message);
    assert(class == ERROR_OK);
}

/* ---- the cluster ---- */

static void ignore_report(void *ctx, enum topics_finding finding, const char *topic,
                          const char *line)
{
    (void)ctx;
    (void)topic;
    if (finding == TOPICS_DIFFERS)
        fprintf(stderr, "broker lab: %s\n", line);
}

static void make_topics(struct lab *lab)
{
    struct error error;
    struct kafka_client_options kafka = {.bootstrap_servers = lab->bootstrap};
    static const char *const apps[] = {"app"};
    struct topics_plan plan = {.kafka = &kafka,
                               .topics = &lab->topics,
                               .partitions = LAB_PARTITIONS,
                               .replication_factor = 1,
                               .apps = apps,
                               .app_count = 1};
    must(topics_apply(&plan, ignore_report, NULL, &error), &error);
}

struct broker *lab_connect(struct lab *lab, struct kafka_client_options options)
{
    struct broker *broker;
    struct error error;
    options.bootstrap_servers = lab->bootstrap;
    must(kafka_client_new(lab->loop, &options, &broker, &error), &error);
    return broker;
}

static void begin(struct lab *lab)
{
    struct error error;
    char prefix[TOPICS_PREFIX_BYTES_MAX + 1];
    log_set_level(LOG_LEVEL_ERROR);
    must(loop_new(clock_real(), &lab->loop, &error), &error);
    snprintf(prefix, sizeof(prefix), "lab-%d-%lld", (int)getpid(),
             (long long)clock_wall_ms(clock_real()));
    must(topics_init(&lab->topics, prefix, &error), &error);
}

void lab_open_with(struct lab *lab, struct kafka_client_options options)
{
    struct error error;
    *lab = (struct lab){.bootstrap = getenv("REEVE_BOOTSTRAP")};
    begin(lab);
    if (lab->bootstrap == NULL) {
        must(embedded_new(&(struct embedded_options){0}, &lab->embedded, &error), &error);
        lab->bootstrap = embedded_bootstrap(lab->embedded);
    }
    make_topics(lab);
    lab->broker = lab_connect(lab, options);
}

void lab_open_mock_with(struct lab *lab, struct kafka_client_options options)
{
    *lab = (struct lab){0};
    begin(lab);
    mock_cluster_open(&lab->mock);
    lab->bootstrap = rd_kafka_mock_cluster_bootstraps(lab->mock.cluster);
    mock_cluster_topic(&lab->mock, lab->topics.events, LAB_PARTITIONS);
    mock_cluster_topic(&lab->mock, lab->topics.commands, LAB_PARTITIONS);
    lab->broker = lab_connect(lab, options);
}

void lab_open_mock(struct lab *lab)
{
    lab_open_mock_with(lab, (struct kafka_client_options){.client_id = "lab"});
}

void lab_open(struct lab *lab)
{
    lab_open_with(lab, (struct kafka_client_options){.client_id = "lab"});
}

void lab_close(struct lab *lab)
{
    broker_free(lab->broker);
    loop_free(lab->loop);
    embedded_free(lab->embedded);
    mock_cluster_close(&lab->mock);
}

/* ---- waiting ---- */

struct wait {
    const uint32_t *value;
    uint32_t wanted;
};

static bool reached(void *ctx)
{
    const struct wait *wait = ctx;
    return *wait->value >= wait->wanted;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

bool lab_wait_until(struct lab *lab, bool (*done)(void *ctx), void *ctx)
{
    return loop_run_until(lab->loop, done, ctx, LAB_WAIT_MS);
}

bool lab_wait(struct lab *lab, const uint32_t *value, uint32_t wanted)
{
    struct wait wait = {value, wanted};
    return lab_wait_until(lab, reached, &wait);
}

void lab_run(struct lab *lab, int64_t ms)
{
    loop_run_until(lab->loop, never, NULL, ms);
}

/* ---- appends ---- */

void lab_appends_init(struct lab_appends *appends, uint32_t max)
{
    *appends = (struct lab_appends){.answers = calloc(max, sizeof(*appends->answers))};
    assert(appends->answers != NULL);
}

void lab_appends_deinit(struct lab_appends *appends)
{
    free(appends->answers);
}

void lab_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct lab_appends *appends = ctx;
    struct lab_answer *answer = &appends->answers[token];
    answer->count++;
    answer->offset = offset;
    answer->appended_at = appends->broker != NULL ? broker_appended_at(appends->broker) : 0;
    answer->class = error->class;
    snprintf(answer->code, sizeof(answer->code), "%s", error_name_of(error));
    appends->answered++;
    appends->acked += error->class == ERROR_OK;
    appends->without_offset += error->code == CODE_OFFSET_UNKNOWN;
    appends->fatal += error->class == ERROR_FATAL;
    appends->failed += error->class != ERROR_OK;
}

void lab_append(struct lab *lab, struct lab_appends *appends, enum broker_producer producer,
                const char *topic, int32_t partition, struct text value)
{
    struct error error;
    appends->broker = lab->broker;
    struct broker_append append = {.producer = producer,
                                   .topic = topic,
                                   .partition = partition,
                                   .key = TEXT("key"),
                                   .value = value,
                                   .batches = true,
                                   .done = lab_appended,
                                   .ctx = appends,
                                   .token = appends->sent++};
    while (broker_append(lab->broker, &append, &error) != ERROR_OK)
        loop_once(lab->loop, 10);
}

void lab_append_number(struct lab *lab, struct lab_appends *appends, int32_t partition)
{
    char value[16];
    int size = snprintf(value, sizeof(value), "%u", appends->sent);
    lab_append(lab, appends, BROKER_PRODUCER_LOG, lab->topics.events, partition,
               (struct text){value, (uint32_t)size});
}

/* ---- readers ---- */

static void copy_text(char copy[LAB_VALUE_SIZE], struct text text)
{
    uint32_t size = text.size < LAB_VALUE_SIZE - 1 ? text.size : LAB_VALUE_SIZE - 1;
    if (size > 0)
        memcpy(copy, text.data, size);
    copy[size] = '\0';
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct lab_reader *reader = ctx;
    if (reader->records == 0)
        reader->first_offset = record->offset;
    else
        reader->disorder += record->offset != reader->next_offset;
    reader->records++;
    reader->next_offset = record->offset + 1;
    reader->timestamp = record->timestamp;
    reader->header_count = record->header_count;
    reader->value_size = record->value.size;
    reader->tombstone = record->value.data == NULL;
    copy_text(reader->value, record->value);
    copy_text(reader->key, record->key);
    if (reader->records == reader->close_after)
        lab_reader_close(reader);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct lab_reader *reader = ctx;
    reader->ends++;
    reader->end_offset = next_offset;
}

static void on_reader_error(void *ctx, const struct error *error)
{
    struct lab_reader *reader = ctx;
    *(error->class == ERROR_FATAL ? &reader->fatal : &reader->retry) += 1;
    snprintf(reader->code, sizeof(reader->code), "%s", error_name_of(error));
}

const struct broker_reader_ops lab_reader_ops = {on_record, on_end, on_reader_error};

void lab_read(struct lab *lab, struct lab_reader *reader, int32_t partition, int64_t offset)
{
    *reader = (struct lab_reader){.first_offset = -1};
    reader->reader =
        broker_read(lab->broker, lab->topics.events, partition, offset, &lab_reader_ops, reader);
}

void lab_reader_close(struct lab_reader *reader)
{
    broker_reader_close(reader->reader);
    reader->reader = NULL;
}

/* ---- members ---- */

static void on_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct lab_member *member = ctx;
    member->owned = count;
    member->mask = 0;
    for (uint32_t i = 0; i < count; i++)
        member->mask |= 1u << partitions[i];
    member->assigned++;
}

static void on_revoked(void *ctx, bool lost)
{
    struct lab_member *member = ctx;
    member->owned = 0;
    member->mask = 0;
    member->revoked++;
    member->lost += lost;
}

static void on_member_error(void *ctx, const struct error *error)
{
    struct lab_member *member = ctx;
    fprintf(stderr, "member: %s\n", error->message);
    member->errors++;
}

static void on_left(void *ctx)
{
    ((struct lab_member *)ctx)->left++;
}

void lab_join(struct lab *lab, struct broker *broker, struct lab_member *member)
{
    static const struct broker_group_ops ops = {on_assigned, on_revoked, on_member_error};
    char group[GROUP_SIZE];
    snprintf(group, sizeof(group), "%s.scheduler", lab->topics.prefix);
    *member = (struct lab_member){.owned = 0};
    member->group = broker_join(broker, group, lab->topics.commands, &ops, member);
}

void lab_leave(struct lab_member *member)
{
    broker_leave(member->group, on_left, member);
    member->group = NULL;
}
