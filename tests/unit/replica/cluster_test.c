/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster that opens while the broker refuses appends: its schemas are published all the same,
 * before it is ready. */
#include "base/bytes.h"
#include "platform/logger.h"
#include "replica/cluster/topic_reader.h"
#include "schemas/avro/schema.h"
#include "tests/lib/site.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { START_MS = 1000000, STEPS_MAX = 2000, ROUNDS_MAX = 100 };

struct site {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct service_context service;
    struct broker *broker;
    struct cluster *cluster;
    bool ready;
};

static void on_ready(void *ctx)
{
    struct site *site = ctx;
    cr_assert_not(site->ready);
    site->ready = true;
}

static struct site *site_new(void)
{
    static struct site site;
    clock_manual_init(&site.clock, START_MS);
    site.kafka = broker_memory_cluster_new(1, &site.clock.clock);
    SITE_TOPICS(site.kafka, 1, "t.commands", "t.events", "t.schemas");
    site.service = (struct service_context){
        .name = "test", .instance_id = "test-1", .clock = &site.clock.clock};
    simulated_service_open(&site.service, "t", NULL);
    site.broker = broker_memory_new(site.kafka, "test-1");
    site.cluster = site_open_cluster(&site.service, site.broker, 0, on_ready, &site);
    return &site;
}

static void site_free(struct site *site)
{
    cluster_close(site->cluster);
    broker_memory_cluster_free(site->kafka);
    simulated_service_close(&site->service);
}

/* Everything that needs no time to pass. */
static void settle(struct site *site)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        uint64_t steps = broker_memory_settle(site->kafka, STEPS_MAX);
        cr_assert_lt(steps, STEPS_MAX, "a busy loop");
        if (loop_once(site->service.loop, 0) == 0 && steps == 0)
            return;
    }
    cr_assert_fail("it does not settle");
}

static void advance(struct site *site, int64_t ms)
{
    for (int64_t at = 0; at < ms; at += 100) {
        clock_manual_advance(&site->clock, 100);
        settle(site);
    }
}

static int64_t published(const struct site *site)
{
    return site_end(site->kafka, "t.schemas", 0);
}

enum { SCHEMAS = RECORD_KIND_COUNT - 2 /* kinds begin at 1; the order row stays in the store */ };

Test(cluster, publishes_every_schema_although_the_queue_was_full)
{
    struct site *site = site_new();
    broker_memory_set_queue_max(site->kafka, 2);
    settle(site);
    cr_assert_not(site->ready, "%lld of %d schemas", (long long)published(site), SCHEMAS);
    advance(site, 60000);
    cr_assert(site->ready);
    cr_assert_eq(published(site), SCHEMAS);
    site_free(site);
}

/* ---- what lasts is logged once ---- */

static int log_ends[2];

static void open_log(void)
{
    cr_assert_eq(pipe2(log_ends, O_NONBLOCK), 0);
    log_set_fd(log_ends[1]);
}

static void expect_logged(const char *message, int times)
{
    static char log[65536];
    int count = 0;
    log_set_fd(-1);
    close(log_ends[1]);
    ssize_t size = read(log_ends[0], log, sizeof(log) - 1);
    cr_assert_gt(size, 0);
    for (const char *at = log; (at = strstr(at, message)) != NULL; at++)
        count++;
    cr_assert_eq(count, times, "%d times, not %d: %s", count, times, log);
    close(log_ends[0]);
}

Test(cluster, reports_once_that_it_cannot_read_a_topic_and_goes_on)
{
    open_log();
    struct site *site = site_new();
    broker_memory_delete_topic(site->kafka, "t.schemas");
    settle(site);
    advance(site, 60000);
    cr_assert_not(site->ready);
    broker_memory_topic(site->kafka, "t.schemas", 1);
    advance(site, 60000);
    cr_assert(site->ready);
    expect_logged("cannot read a topic", 1);
    site_free(site);
}

Test(cluster, reports_once_that_it_cannot_publish_and_goes_on)
{
    char reason[256];
    open_log();
    struct site *site = site_new();
    broker_memory_set_faults(site->kafka, &(struct broker_memory_faults){.append_lost = 1000});
    settle(site);
    advance(site, 60000);
    cr_assert_not(site->ready);
    cr_assert(site->service.in_trouble(site->service.in_trouble_ctx, reason, sizeof(reason)));
    cr_assert_not_null(strstr(reason, "cannot publish schemas: "), "%s", reason);
    broker_memory_set_faults(site->kafka, &(struct broker_memory_faults){.append_lost = 0});
    advance(site, 60000);
    cr_assert(site->ready);
    cr_assert_eq(published(site), SCHEMAS);
    cr_assert_not(site->service.in_trouble(site->service.in_trouble_ctx, reason, sizeof(reason)));
    expect_logged("cannot publish a schema", 1);
    site_free(site);
}

/* ---- schemas of other writers ---- */

static void on_fresh(void *ctx)
{
    bool *done = ctx;
    *done = true;
}

/* The schema of an Attempt with a field of its own and a long text about it. */
static void publish_schema(struct site *site, int number, size_t size)
{
    static char avsc[60 * 1024];
    struct text own = codec_schema(RECORD_COMMAND_GUARD);
    const char *end = own.data + own.size - 1;
    while (*end != ']')
        end--;
    int used = snprintf(avsc, sizeof(avsc),
                        "%.*s, {\"name\": \"n%d\", \"type\": \"null\"}], \"about\": \"",
                        (int)(end - own.data), own.data, number);
    cr_assert_lt((size_t)used, size - 2);
    memset(avsc + used, 'x', size - 2 - (size_t)used);
    memcpy(avsc + size - 2, "\"}", 2);
    broker_memory_append(site->kafka, "t.schemas", 0, TEXT("other"),
                         (struct text){avsc, (uint32_t)size});
}

Test(cluster, answers_a_refresh_as_soon_as_the_topic_can_be_read_to_its_end)
{
    struct site *site = site_new();
    bool done = false;
    settle(site);
    broker_memory_delete_topic(site->kafka, "t.schemas");
    settle(site);
    cluster_refresh_schemas(site->cluster, on_fresh, &done);
    advance(site, 60000);
    cr_assert_not(done, "what cannot be read proves nothing");
    broker_memory_topic(site->kafka, "t.schemas", 1);
    advance(site, 10000);
    cr_assert(done);
    site_free(site);
}

/* A schema that had to go comes back when a record needs it. */
Test(cluster, reads_the_schemas_again_for_one_that_had_to_go)
{
    enum { LARGE = 59 * 1024, SCHEMAS_OVER = CODEC_LEARNED_BYTES_MAX / LARGE + 20 };
    struct site *site = site_new();
    const struct avro_type *type = NULL;
    struct heap_arena heap;
    struct record record;
    struct error error;
    bool done = false;
    settle(site);
    int64_t at = published(site);
    for (int i = 0; i < SCHEMAS_OVER; i++) {
        publish_schema(site, i, LARGE);
        settle(site);
    }
    advance(site, 1000);
    heap_arena_init(&heap, 64 * 1024);
    struct broker_record first;
    cr_assert(broker_memory_record(site->kafka, "t.schemas", 0, at, &first));
    cr_assert_eq(avro_schema_parse(first.value, &heap.arena, &type, &error), ERROR_OK);
    uint64_t fingerprint = avro_schema_fingerprint(type, &heap.arena);
    cr_assert_not(codec_knows(site->cluster->codec, fingerprint));
    char bytes[10 + 16 + 1] = "\xc3\x01";
    bytes_put_le(bytes + 2, fingerprint, 8);
    struct text value = {bytes, sizeof(bytes)};
    cr_assert_eq(codec_decode(site->cluster->codec, value, true, &heap.arena, &record, &error),
                 ERROR_REJECT);
    cr_assert_eq(error.code, CODE_UNKNOWN_SCHEMA);
    cluster_refresh_schemas(site->cluster, on_fresh, &done);
    advance(site, 2000);
    cr_assert(done);
    cr_assert_eq(codec_decode(site->cluster->codec, value, true, &heap.arena, &record, &error),
                 ERROR_OK, "%s", error.message);
    heap_arena_deinit(&heap);
    site_free(site);
}

/* ---- readers ---- */

struct readings {
    struct topic_reader reader;
    int records;
    int breaks;
};

static void count_record(void *ctx, const struct broker_record *record)
{
    struct readings *readings = ctx;
    (void)record;
    readings->records++;
}

static void count_break(void *ctx)
{
    struct readings *readings = ctx;
    readings->breaks++;
}

static void put(struct site *site, int count)
{
    for (int i = 0; i < count; i++)
        broker_memory_append(site->kafka, "t.alerts", 0, TEXT("key"), TEXT("value"));
    settle(site);
}

Test(topic_reader, begins_again_when_its_topic_was_created_again)
{
    static const struct topic_reader_ops ops = {.record = count_record, .again = count_break};
    struct site *site = site_new();
    struct readings readings = {.records = 0};
    broker_memory_topic(site->kafka, "t.alerts", 1);
    topic_reader_init(&readings.reader, site->cluster, "t.alerts", 0, 5000, &ops, &readings);
    put(site, 1);
    cr_assert_eq(readings.records, 1);
    broker_memory_delete_topic(site->kafka, "t.alerts");
    settle(site);
    cr_assert_eq(readings.breaks, 1);
    broker_memory_topic(site->kafka, "t.alerts", 1);
    put(site, 2);
    cr_assert_eq(readings.records, 1, "not yet");
    advance(site, 6000);
    cr_assert_eq(readings.records, 3);
    topic_reader_restart(&readings.reader);
    topic_reader_restart(&readings.reader);
    settle(site);
    cr_assert_eq(readings.records, 5);
    topic_reader_close(&readings.reader);
    put(site, 1);
    cr_assert_eq(readings.records, 5);
    cr_assert_eq(readings.breaks, 1);
    site_free(site);
}

/* A limit that the others have used up must not swallow a line that is written once. */
Test(topic_reader, reports_the_trouble_of_each_of_many_readers)
{
    static const struct topic_reader_ops ops = {.record = count_record};
    struct readings readings[2 * LOG_LIMIT_BURST] = {0};
    struct site *site = site_new();
    broker_memory_topic(site->kafka, "t.alerts", 2 * LOG_LIMIT_BURST);
    for (int32_t i = 0; i < 2 * LOG_LIMIT_BURST; i++)
        topic_reader_init(&readings[i].reader, site->cluster, "t.alerts", i, 5000, &ops,
                          &readings[i]);
    settle(site);
    open_log();
    broker_memory_delete_topic(site->kafka, "t.alerts");
    settle(site);
    expect_logged("cannot read a topic", 2 * LOG_LIMIT_BURST);
    for (int32_t i = 0; i < 2 * LOG_LIMIT_BURST; i++)
        topic_reader_close(&readings[i].reader);
    site_free(site);
}
