/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/cluster/check.h"

#include "platform/logger.h"

#include <inttypes.h>

enum {
    METADATA_MS = 3000,
    SETTINGS_MS = 5000,
    ANSWER_MS = 500,    /* a broker that is up takes less */
    CLAIM_WITHIN = 1000 /* records from the beginning of the log */
};

#define FIXED                                                                               \
    "the number was fixed when the topics were created, since it decides where an order's " \
    "records are. See \"Partitions were added\" in docs/operate/recovery.md"

/* ---- before anything else: these block ---- */

/* The caller waits for start.timeout.ms, which is too long to be silent. */
static void report_wait(const struct cluster *cluster, const char *servers,
                        const struct error *refusal)
{
    if (cluster->service->on_no_broker != NULL)
        cluster->service->on_no_broker(cluster->service->on_no_broker_ctx, servers,
                                       refusal != NULL ? refusal->message : NULL);
    else if (refusal == NULL) /* else it is in the log */
        log_warning("no broker answers yet", LOG_STR("servers", servers));
}

/* Of what a starting process may wait for the brokers, capped; not less than an answer takes. */
static int left_ms(const struct cluster *cluster, int64_t deadline, int most)
{
    int64_t left = deadline - clock_mono_ms(cluster->service->clock);
    return left > most ? most : left < ANSWER_MS ? ANSWER_MS : (int)left;
}

static enum error_class count_partitions(struct cluster *cluster, int64_t deadline,
                                         struct error *ret_error)
{
    const char *servers = config_string(cluster->service->config, "kafka.bootstrap.servers");
    int32_t commands = 0;
    int32_t events = 0;
    struct error refusal;
    enum error_class refused;
    bool reported = false;
    do {
        commands = broker_partition_count(cluster->broker, cluster->topics.commands,
                                          left_ms(cluster, deadline, METADATA_MS));
        refused = commands < 0 ? broker_refused(cluster->broker, &refusal) : ERROR_OK;
        if (refused == ERROR_REJECT)
            break;
        if (commands < 0 && !reported)
            report_wait(cluster, servers, refused != ERROR_OK ? &refusal : NULL);
        reported = reported || commands < 0;
        events = broker_partition_count(cluster->broker, cluster->topics.events,
                                        left_ms(cluster, deadline, METADATA_MS));
    } while ((commands < 0 || events < 0) && clock_mono_ms(cluster->service->clock) < deadline);
    if ((commands < 0 || events < 0) && refused != ERROR_OK) {
        *ret_error = refusal;
        return refused;
    }
    if (commands < 0 || events < 0)
        return error_set(
            ret_error, CODE_BROKER_UNAVAILABLE,
            "no broker answers at %s: is it running, is kafka.bootstrap.servers right?", servers);
    if (commands == 0 || events == 0)
        return error_set(ret_error, CODE_TOPICS_MISSING,
                         "topic %s does not exist, or this user may not Describe it: create the "
                         "topics with `reeve topics apply`, or grant the right",
                         commands == 0 ? cluster->topics.commands : cluster->topics.events);
    if (commands != events)
        return error_set(ret_error, CODE_PARTITIONS_DIFFER,
                         "%s has %d partitions but %s has %d: the number was fixed when they were "
                         "created and must be equal",
                         cluster->topics.commands, commands, cluster->topics.events, events);
    cluster->partition_count = commands;
    return ERROR_OK;
}

/* A user without the right to see the settings is warned, but not turned away. */
static enum error_class check_settings(struct cluster *cluster, int64_t deadline,
                                       struct error *ret_error)
{
    struct cluster_kafka_options kafka;
    struct error error = {0};
    const struct config *config = cluster->service->config;
    enum error_class class = cluster_kafka_options(config, 0, &kafka, ret_error);
    if (class != ERROR_OK)
        return class;
    struct topics_plan plan = {.kafka = &kafka.options, .topics = &cluster->topics};
    do { /* the broker that is asked may be the one that is down */
        plan.timeout_ms = left_ms(cluster, deadline, SETTINGS_MS);
        class = topics_check_start(&plan, &error);
    } while (class == ERROR_RETRY && clock_mono_ms(cluster->service->clock) < deadline);
    if (class == ERROR_OK || error.code != CODE_DENIED) {
        *ret_error = error;
        return class;
    }
    log_warning("the settings of the topics are not checked: grant this user DescribeConfigs on "
                "them",
                LOG_ERR(&error));
    return ERROR_OK;
}

enum error_class cluster_check_topics(struct cluster *cluster, bool settings,
                                      struct error *ret_error)
{
    int64_t deadline = clock_mono_ms(cluster->service->clock) +
                       config_ms(cluster->service->config, "start.timeout.ms");
    enum error_class class = count_partitions(cluster, deadline, ret_error);
    return class == ERROR_OK && settings ? check_settings(cluster, deadline, ret_error) : class;
}

/* ---- while it runs ---- */

static void fail(struct cluster_check *check, const struct error *error)
{
    struct cluster *cluster = check->cluster;
    if (check->failed)
        return;
    check->failed = true;
    if (service_can_fail(cluster->service))
        cluster_alert(cluster, -1, error);
    service_fail(cluster->service, error);
}

void cluster_check_changed(void *ctx, const char *topic, int32_t count)
{
    struct cluster_check *check = ctx;
    struct error error;
    error_set(&error, CODE_PARTITIONS_DIFFER,
              "%s has %" PRId32 " partitions now, and had %" PRId32
              " when this process started: " FIXED,
              topic, count, check->cluster->partition_count);
    fail(check, &error);
}

/* ---- the number in the log ---- */

static void pass(struct cluster_check *check)
{
    broker_reader_close(check->reader);
    check->reader = NULL;
    check->passed = true;
    check->on_passed(check->cluster);
}

bool cluster_check_partitions(const struct cluster *cluster, int32_t partition,
                              int32_t partition_count, struct error *ret_error)
{
    if (partition_count <= 0 || partition_count == cluster->partition_count)
        return true;
    error_set_as(ret_error, ERROR_FATAL, CODE_PARTITIONS_DIFFER,
                 "%s[%" PRId32 "] was claimed when there were %" PRId32
                 " partitions, and now there are %" PRId32 ": " FIXED,
                 cluster->topics.events, partition, partition_count, cluster->partition_count);
    return false;
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct cluster_check *check = ctx;
    struct cluster *cluster = check->cluster;
    struct record decoded;
    struct error error;
    heap_arena_reset(&cluster->scratch);
    int32_t count = 0;
    if (codec_decode(cluster->codec, record->value, true, &cluster->scratch.arena, &decoded,
                     &error) == ERROR_OK) {
        if (decoded.kind == RECORD_CLAIM)
            count = decoded.claim.partition_count;
        else if (decoded.kind == RECORD_CONTINUATION) /* as where a trimmed log begins */
            count = decoded.continuation.partition_count;
    }
    if (count == 0 && record->offset < CLAIM_WITHIN)
        return;
    if (!cluster_check_partitions(cluster, 0, count, &error)) {
        broker_reader_close(check->reader);
        check->reader = NULL;
        error.class = ERROR_REJECT;
        fail(check, &error);
        return;
    }
    pass(check);
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)next_offset;
    pass(ctx);
}

/* The followers have more to say about a log that cannot be read. */
static void on_error(void *ctx, const struct error *error)
{
    if (error->class == ERROR_FATAL)
        pass(ctx);
}

static const struct broker_reader_ops ops = {on_record, on_end, on_error};

void cluster_check_begin(struct cluster_check *check, struct cluster *cluster, bool reads_log,
                         void (*on_passed)(struct cluster *cluster))
{
    *check =
        (struct cluster_check){.cluster = cluster, .on_passed = on_passed, .passed = !reads_log};
    broker_watch(cluster->broker, cluster->topics.commands, cluster->partition_count,
                 cluster_check_changed, check);
    broker_watch(cluster->broker, cluster->topics.events, cluster->partition_count,
                 cluster_check_changed, check);
    if (reads_log)
        check->reader =
            broker_read(cluster->broker, cluster->topics.events, 0, BROKER_EARLIEST, &ops, check);
}

void cluster_check_end(struct cluster_check *check)
{
    broker_reader_close(check->reader);
    check->reader = NULL;
}
