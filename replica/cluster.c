/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/cluster.h"

#include "platform/logger.h"
#include "replica/settings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    REFRESH_MS = 5000, /* a refresh of a side topic takes no longer */
    METADATA_MS = 3000,
    REOPEN_MS = 1000
};

/* A caller that waits until a side topic is read to the end that it had at the call. */
struct refresh_waiter {
    struct refresh_waiter *next;
    struct refresh_waiter *prev;
    void (*done)(void *ctx, bool fresh);
    void *ctx;
    int64_t high;   /* -1: not known yet */
    uint64_t query; /* the first query that began after the call */
    int64_t deadline_ms;
};

/* <p>.schemas or <p>.workflows, followed. One partition. */
struct side_topic {
    struct cluster *cluster;
    const char *topic;
    void (*record)(struct cluster *cluster, const struct broker_record *record);
    void (*first_end)(struct cluster *cluster);
    struct broker_reader *reader;
    int64_t position;
    bool ended; /* the end was reached at least once */
    struct refresh_waiter *waiters;
    bool asking;    /* a query for the end of the topic is on its way */
    uint64_t query; /* its number: one at a time */
    struct loop_timer timer;
};

struct cluster_private {
    struct side_topic schemas;
    struct side_topic workflows;
    bool follows_workflows;
    bool schema_seen[RECORD_KIND_COUNT];
    uint32_t publishing;
    bool published;
    struct buffer value;
    bool closing;
};

/* ---- side topics ---- */

static void answer_waiters(struct side_topic *side)
{
    struct refresh_waiter *waiter;
    struct refresh_waiter *next;
    int64_t now = loop_now_ms(cluster_loop(side->cluster));
    DL_FOREACH_SAFE(side->waiters, waiter, next) {
        bool fresh = waiter->high >= 0 && side->position >= waiter->high;
        if (!fresh && now < waiter->deadline_ms)
            continue;
        DL_DELETE(side->waiters, waiter);
        waiter->done(waiter->ctx, fresh);
        free(waiter);
    }
}

static void side_record(void *ctx, const struct broker_record *record)
{
    struct side_topic *side = ctx;
    side->record(side->cluster, record);
    side->position = record->offset + 1;
    answer_waiters(side);
}

static void side_end(void *ctx, int64_t next_offset)
{
    struct side_topic *side = ctx;
    bool first = !side->ended;
    side->position = next_offset;
    side->ended = true;
    if (first)
        side->first_end(side->cluster);
    answer_waiters(side);
}

static void side_open(struct side_topic *side);

static void side_error(void *ctx, const struct error *error)
{
    struct side_topic *side = ctx;
    log_warning_limited("cannot read a side topic", LOG_STR("topic", side->topic), LOG_ERR(error));
    if (error->class != ERROR_FATAL)
        return;
    broker_reader_close(side->reader);
    side->reader = NULL;
    loop_timer_after(cluster_loop(side->cluster), &side->timer, REOPEN_MS);
}

static const struct broker_reader_ops side_ops = {side_record, side_end, side_error};

static void side_open(struct side_topic *side)
{
    side->position = 0;
    side->reader =
        broker_read(side->cluster->broker, side->topic, 0, BROKER_EARLIEST, &side_ops, side);
}

static void side_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct side_topic *side = userdata;
    if (side->reader == NULL)
        side_open(side);
    answer_waiters(side);
    if (side->waiters != NULL)
        loop_timer_after(loop, timer, REOPEN_MS);
}

static void side_init(struct side_topic *side, struct cluster *cluster, const char *topic,
                      void (*record)(struct cluster *, const struct broker_record *),
                      void (*first_end)(struct cluster *))
{
    *side = (struct side_topic){
        .cluster = cluster, .topic = topic, .record = record, .first_end = first_end};
    loop_timer_init(&side->timer, side_timer, side);
    side_open(side);
}

static void side_close(struct side_topic *side)
{
    struct refresh_waiter *waiter;
    struct refresh_waiter *next;
    if (side->cluster == NULL)
        return;
    broker_reader_close(side->reader);
    side->reader = NULL;
    loop_timer_cancel(cluster_loop(side->cluster), &side->timer);
    DL_FOREACH_SAFE(side->waiters, waiter, next)
        free(waiter);
    side->waiters = NULL;
}

static void ask_for_end(struct side_topic *side);

static void on_high(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct side_topic *side = ctx;
    struct refresh_waiter *waiter;
    bool more = false;
    (void)low;
    side->asking = false;
    if (side->cluster->private->closing)
        return;
    DL_FOREACH(side->waiters, waiter) {
        /* An end from before the call would not do. */
        more = more || waiter->query > side->query;
        if (waiter->query <= side->query && waiter->high < 0 && (error == NULL || !error_is(error)))
            waiter->high = high;
    }
    if (more)
        ask_for_end(side);
    answer_waiters(side);
}

static void ask_for_end(struct side_topic *side)
{
    side->asking = true;
    side->query++;
    broker_offsets(side->cluster->broker, side->topic, 0, on_high, side);
}

static void side_refresh(struct side_topic *side, void (*done)(void *ctx, bool fresh), void *ctx)
{
    struct refresh_waiter *waiter = calloc(1, sizeof(*waiter));
    assert(waiter != NULL);
    *waiter = (struct refresh_waiter){.done = done,
                                      .ctx = ctx,
                                      .high = -1,
                                      .query = side->query + 1,
                                      .deadline_ms =
                                          loop_now_ms(cluster_loop(side->cluster)) + REFRESH_MS};
    DL_APPEND(side->waiters, waiter);
    if (!side->asking)
        ask_for_end(side);
    if (!loop_timer_armed(&side->timer))
        loop_timer_after(cluster_loop(side->cluster), &side->timer, REOPEN_MS);
}

void cluster_refresh_schemas(struct cluster *cluster, void (*done)(void *ctx, bool fresh),
                             void *ctx)
{
    side_refresh(&cluster->private->schemas, done, ctx);
}

void cluster_refresh_workflows(struct cluster *cluster, void (*done)(void *ctx, bool fresh),
                               void *ctx)
{
    assert(cluster->workflows != NULL);
    side_refresh(&cluster->private->workflows, done, ctx);
}

/* ---- schemas: learned from all, ours published before anything is written with them ---- */

static void ready_when_all_is_read(struct cluster *cluster)
{
    struct cluster_private *private = cluster->private;
    if (cluster->ready || !private->published ||
        (private->follows_workflows && !private->workflows.ended))
        return;
    cluster->ready = true;
    cluster->on_ready(cluster->ctx);
}

static void schema_record(struct cluster *cluster, const struct broker_record *record)
{
    struct error error;
    if (record->value.data == NULL)
        return;
    if (codec_learn(cluster->codec, record->value, &error) != ERROR_OK) {
        log_warning("a schema is not usable", LOG_TEXT("key", record->key),
                    LOG_I64("offset", record->offset), LOG_ERR(&error));
        return;
    }
    for (int kind = 1; kind < RECORD_KIND_COUNT; kind++)
        if (text_equal(record->value, codec_schema((enum record_kind)kind)))
            cluster->private->schema_seen[kind] = true;
}

static void publish(struct cluster *cluster, enum record_kind kind);

static void on_published(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct cluster *cluster = ctx;
    (void)offset;
    assert(cluster->private->publishing > 0);
    cluster->private->publishing--;
    if (cluster->private->closing)
        return;
    if (error != NULL && error_is(error)) {
        log_warning("cannot publish a schema", LOG_ERR(error));
        publish(cluster, (enum record_kind)token);
        return;
    }
    if (cluster->private->publishing > 0)
        return;
    cluster->private->published = true;
    ready_when_all_is_read(cluster);
}

static void publish(struct cluster *cluster, enum record_kind kind)
{
    char key[17];
    struct error error;
    snprintf(key, sizeof(key), "%016" PRIx64, codec_fingerprint(cluster->codec, kind));
    struct broker_append append = {.producer = BROKER_PRODUCER_LOG,
                                   .topic = cluster->topics.schemas,
                                   .partition = 0,
                                   .key = text_of(key),
                                   .value = codec_schema(kind),
                                   .done = on_published,
                                   .ctx = cluster,
                                   .token = kind};
    cluster->private->publishing++;
    if (broker_append(cluster->broker, &append, &error) == ERROR_OK)
        return;
    cluster->private->publishing--;
    log_error("cannot publish a schema", LOG_ERR(&error));
}

static void schemas_first_end(struct cluster *cluster)
{
    for (int kind = 1; kind < RECORD_KIND_COUNT; kind++)
        if (kind != RECORD_ORDER_ROW && !cluster->private->schema_seen[kind])
            publish(cluster, (enum record_kind)kind);
    if (cluster->private->publishing == 0) {
        cluster->private->published = true;
        ready_when_all_is_read(cluster);
    }
}

/* ---- workflows ---- */

static void workflow_record(struct cluster *cluster, const struct broker_record *record)
{
    struct error error = {0};
    struct record decoded;
    if (record->value.data == NULL)
        return;
    heap_arena_reset(&cluster->scratch);
    enum error_class class = codec_decode(cluster->codec, record->value, true,
                                          &cluster->scratch.arena, &decoded, &error);
    if (class == ERROR_OK && decoded.kind == RECORD_WORKFLOW_DEFINITION)
        class = workflow_registry_add(cluster->workflows, &decoded.workflow_definition, &error);
    if (class != ERROR_OK)
        log_warning("a workflow definition is not usable", LOG_TEXT("key", record->key),
                    LOG_I64("offset", record->offset), LOG_ERR(&error));
}

/* ---- open and close ---- */

enum error_class cluster_kafka_options(const struct config *config, unsigned flags,
                                       struct cluster_kafka_options *ret_options,
                                       struct error *ret_error)
{
    struct kafka_setting *settings = ret_options->settings;
    size_t count = config_setting_count(config);
    size_t own = 0;
    if (count > CLUSTER_KAFKA_SETTINGS_MAX)
        return error_set(ret_error, ERROR_REJECT, "Config", "more than %d kafka.* settings",
                         CLUSTER_KAFKA_SETTINGS_MAX);
    /* Weaker than the user's, which follow. */
    if ((flags & CLUSTER_READS_IN_BULK) != 0)
        settings[own++] = (struct kafka_setting){"fetch.min.bytes", "262144"};
    for (size_t i = 0; i < count; i++) {
        struct config_setting setting = config_setting_at(config, i);
        settings[own + i] = (struct kafka_setting){setting.name, setting.value};
    }
    ret_options->options = (struct kafka_client_options){
        .settings = settings,
        .setting_count = own + count,
        .client_id = config_string(config, "instance.id"),
        .session_timeout_ms = config_ms(config, "session.timeout.ms"),
        .embedded = config_bool(config, "embedded"),
    };
    return ERROR_OK;
}

static enum error_class connect_broker(struct service_context *service, unsigned flags,
                                       struct broker **ret_broker, struct error *ret_error)
{
    struct cluster_kafka_options kafka;
    enum error_class class = cluster_kafka_options(service->config, flags, &kafka, ret_error);
    if (class != ERROR_OK)
        return class;
    kafka.options.client_id = service->instance_id;
    if (config_bool(service->config, "group.static"))
        kafka.options.group_instance_id = service->instance_id;
    return kafka_client_new(service->loop, &kafka.options, ret_broker, ret_error);
}

/* The caller waits for start.timeout.ms, which is too long to be silent. */
static void report_wait(const struct cluster *cluster, const char *servers)
{
    if (cluster->service->on_no_broker != NULL)
        cluster->service->on_no_broker(cluster->service->on_no_broker_ctx, servers);
    else
        log_warning("no broker answers yet", LOG_STR("servers", servers));
}

static enum error_class check_topics(struct cluster *cluster, struct error *ret_error)
{
    const char *servers = config_string(cluster->service->config, "kafka.bootstrap.servers");
    int32_t commands = 0;
    int32_t events = 0;
    int64_t deadline = clock_mono_ms(cluster->service->clock) +
                       config_ms(cluster->service->config, "start.timeout.ms");
    bool reported = false;
    do {
        commands = broker_partition_count(cluster->broker, cluster->topics.commands, METADATA_MS);
        if (commands < 0 && !reported)
            report_wait(cluster, servers);
        reported = reported || commands < 0;
        events = broker_partition_count(cluster->broker, cluster->topics.events, METADATA_MS);
    } while ((commands < 0 || events < 0) && clock_mono_ms(cluster->service->clock) < deadline);
    if (commands < 0 || events < 0)
        return error_set(
            ret_error, ERROR_RETRY, "BrokerUnavailable",
            "no broker answers at %s: is it running, is kafka.bootstrap.servers right?", servers);
    if (commands == 0 || events == 0)
        return error_set(ret_error, ERROR_REJECT, "TopicsMissing",
                         "topic %s does not exist, or this user may not Describe it: create the "
                         "topics with `reeve topics apply`, or grant the right",
                         commands == 0 ? cluster->topics.commands : cluster->topics.events);
    if (commands != events)
        return error_set(ret_error, ERROR_REJECT, "PartitionsDiffer",
                         "%s has %d partitions but %s has %d: the number was fixed when they were "
                         "created and must be equal",
                         cluster->topics.commands, commands, cluster->topics.events, events);
    cluster->partition_count = commands;
    return ERROR_OK;
}

enum error_class cluster_open(struct service_context *service, unsigned flags,
                              cluster_ready on_ready, void *ctx, struct cluster **ret_cluster,
                              struct error *ret_error)
{
    struct broker *broker = NULL;
    enum error_class class = connect_broker(service, flags, &broker, ret_error);
    return class != ERROR_OK
               ? class
               : cluster_open_on(service, broker, flags, on_ready, ctx, ret_cluster, ret_error);
}

static bool broker_in_trouble(const void *ctx, char *ret_reason, size_t reason_size)
{
    return broker_trouble(ctx, ret_reason, reason_size);
}

enum error_class cluster_open_on(struct service_context *service, struct broker *broker,
                                 unsigned flags, cluster_ready on_ready, void *ctx,
                                 struct cluster **ret_cluster, struct error *ret_error)
{
    struct cluster *cluster = calloc(1, sizeof(*cluster));
    assert(cluster != NULL);
    cluster->private = calloc(1, sizeof(*cluster->private));
    assert(cluster->private != NULL);
    cluster->service = service;
    cluster->broker = broker;
    if (service->in_trouble == NULL) { /* the auditor opens a second cluster */
        service->in_trouble = broker_in_trouble;
        service->in_trouble_ctx = broker;
    }
    cluster->on_ready = on_ready;
    cluster->ctx = ctx;
    cluster->codec = codec_new();
    heap_arena_init(&cluster->scratch, 64 * 1024);
    enum error_class class =
        topics_init(&cluster->topics, config_string(service->config, "topics.prefix"), ret_error);
    if (class == ERROR_OK)
        class = check_topics(cluster, ret_error);
    if (class != ERROR_OK) {
        cluster_close(cluster);
        return class;
    }
    side_init(&cluster->private->schemas, cluster, cluster->topics.schemas, schema_record,
              schemas_first_end);
    if ((flags & CLUSTER_FOLLOWS_WORKFLOWS) != 0) {
        cluster->private->follows_workflows = true;
        cluster->workflows = workflow_registry_new();
        side_init(&cluster->private->workflows, cluster, cluster->topics.workflows, workflow_record,
                  ready_when_all_is_read);
    }
    *ret_cluster = cluster;
    return ERROR_OK;
}

void cluster_close(struct cluster *cluster)
{
    if (cluster == NULL)
        return;
    cluster->private->closing = true;
    side_close(&cluster->private->schemas);
    side_close(&cluster->private->workflows);
    if (cluster->service->in_trouble_ctx == cluster->broker) {
        cluster->service->in_trouble = NULL;
        cluster->service->in_trouble_ctx = NULL;
    }
    broker_free(cluster->broker);
    workflow_registry_free(cluster->workflows);
    codec_free(cluster->codec);
    heap_arena_deinit(&cluster->scratch);
    buffer_deinit(&cluster->private->value);
    free(cluster->private);
    free(cluster);
}

/* ---- appending ---- */

/* Records of the log go where N says; of other topics each has its own number of partitions. */
static int32_t partition_for(const struct cluster *cluster, enum broker_producer producer,
                             int32_t partition, struct text key)
{
    if (partition >= 0)
        return partition;
    return producer == BROKER_PRODUCER_LOG ? broker_partition_of(key, cluster->partition_count)
                                           : BROKER_BY_KEY;
}

enum error_class cluster_append(struct cluster *cluster, enum broker_producer producer,
                                const char *topic, int32_t partition, struct text key,
                                enum record_kind kind, const void *record, broker_appended done,
                                void *ctx, uint64_t token, struct error *ret_error)
{
    struct buffer *value = &cluster->private->value;
    value->size = 0;
    codec_encode(cluster->codec, kind, record, value);
    struct broker_append append = {.producer = producer,
                                   .topic = topic,
                                   .partition = partition_for(cluster, producer, partition, key),
                                   .key = key,
                                   .value = {(const char *)value->data, (uint32_t)value->size},
                                   .done = done,
                                   .ctx = ctx,
                                   .token = token};
    return broker_append(cluster->broker, &append, ret_error);
}

static struct broker_header header(const char *name, const char *value)
{
    return (struct broker_header){text_of(name), text_of(value)};
}

enum error_class cluster_dead_letter(struct cluster *cluster, const struct broker_record *record,
                                     const char *code, const char *message, broker_appended done,
                                     void *ctx, uint64_t token, struct error *ret_error)
{
    char partition[16];
    char offset[24];
    struct broker_header headers[BROKER_HEADERS_MAX];
    uint32_t count = 0;
    snprintf(partition, sizeof(partition), "%d", record->partition);
    snprintf(offset, sizeof(offset), "%" PRId64, record->offset);
    headers[count++] = header("__streams.errors.exception", code);
    headers[count++] = header("__streams.errors.message", message);
    headers[count++] = header("__streams.errors.topic", record->topic);
    headers[count++] = header("__streams.errors.partition", partition);
    headers[count++] = header("__streams.errors.offset", offset);
    for (uint32_t i = 0; i < record->header_count && count < BROKER_HEADERS_MAX; i++)
        headers[count++] = record->headers[i];
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = cluster->topics.dead_letters,
                                   .partition =
                                       broker_partition_of(record->key, cluster->partition_count),
                                   .key = record->key,
                                   .value = record->value,
                                   .headers = headers,
                                   .header_count = count,
                                   .done = done,
                                   .ctx = ctx,
                                   .token = token};
    return broker_append(cluster->broker, &append, ret_error);
}

static void on_alert_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    (void)ctx;
    (void)token;
    (void)offset;
    if (error != NULL && error_is(error))
        log_error_limited("an alert was not delivered", LOG_ERR(error));
}

static void append_alert(struct cluster *cluster, const struct operator_alert *alert)
{
    struct error error;
    if (cluster_append(cluster, BROKER_PRODUCER_EFFECTS, cluster->topics.alerts, -1, alert->by,
                       RECORD_OPERATOR_ALERT, alert, on_alert_appended, NULL, 0,
                       &error) != ERROR_OK)
        log_error_limited("an alert was not delivered", LOG_ERR(&error));
}

void cluster_alert(struct cluster *cluster, int32_t partition, const char *code,
                   const char *message)
{
    struct operator_alert alert = {.raised = true,
                                   .code = text_of(code),
                                   .message = text_of(message),
                                   .by = text_of(cluster->service->instance_id),
                                   .partition = partition,
                                   .command_offset = -1,
                                   .decided_at = clock_wall_ms(cluster->service->clock)};
    log_warning("alert", LOG_I64("partition", partition), LOG_STR("code", code),
                LOG_STR("message", message));
    append_alert(cluster, &alert);
}

void cluster_agent_alert(struct cluster *cluster, bool raised, const char *agent, const char *code,
                         const char *message)
{
    struct operator_alert alert = {.raised = raised,
                                   .code = text_of(code),
                                   .message = text_of(message),
                                   .by = text_of(agent),
                                   .partition = -1,
                                   .command_offset = -1,
                                   .decided_at = clock_wall_ms(cluster->service->clock)};
    if (raised)
        log_warning("alert", LOG_STR("agent", agent), LOG_STR("code", code),
                    LOG_STR("message", message));
    else
        log_info("alert closed", LOG_STR("agent", agent), LOG_STR("code", code),
                 LOG_STR("message", message));
    append_alert(cluster, &alert);
}
