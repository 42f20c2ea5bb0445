/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/cluster/cluster.h"

#include "kafka/settings.h"
#include "platform/logger.h"
#include "replica/cluster/check.h"
#include "replica/cluster/reply_format.h"
#include "replica/cluster/schema_registry.h"
#include "replica/cluster/side_topic.h"
#include "replica/service/settings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum { PUBLISH_AGAIN_MS = 1000 };

struct cluster_private {
    struct cluster_check check;
    struct side_topic schemas;
    struct side_topic workflows;
    bool follows_workflows;
    bool schema_seen[RECORD_KIND_COUNT];
    bool schema_sent[RECORD_KIND_COUNT]; /* its append has no result yet */
    bool published;
    struct loop_timer publish_timer;
    struct error publish_error; /* the latest; class OK = none */
    struct buffer value;
    bool closing;
};

/* ---- side topics ---- */

void cluster_refresh_schemas(struct cluster *cluster, cluster_refreshed done, void *ctx)
{
    if (codec_misses(cluster->codec))
        side_topic_read_again(&cluster->private->schemas);
    side_topic_refresh(&cluster->private->schemas, done, ctx);
}

void cluster_refresh_workflows(struct cluster *cluster, cluster_refreshed done, void *ctx)
{
    assert(cluster->workflows != NULL);
    side_topic_refresh(&cluster->private->workflows, done, ctx);
}

uint32_t cluster_refresh_cancel(struct cluster *cluster, const void *ctx)
{
    return side_topic_refresh_cancel(&cluster->private->schemas, ctx) +
           side_topic_refresh_cancel(&cluster->private->workflows, ctx);
}

/* ---- schemas: learned from all, ours published before anything is written with them ---- */

static void ready_when_all_is_read(struct cluster *cluster)
{
    struct cluster_private *private = cluster->private;
    if (cluster->ready || !private->published || !private->check.passed ||
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
    if (codec_learn(cluster->codec, record->value, NULL, &error) != ERROR_OK) {
        log_warning("a schema is not usable", LOG_TEXT("key", record->key),
                    LOG_I64("offset", record->offset), LOG_ERR(&error));
        return;
    }
    for (int kind = 1; kind < RECORD_KIND_COUNT; kind++)
        if (text_equal(record->value, codec_schema((enum record_kind)kind)))
            cluster->private->schema_seen[kind] = true;
}

static bool is_published(const struct cluster_private *private, int kind)
{
    return kind == RECORD_ORDER_ROW || private->schema_seen[kind]; /* rows stay in the store */
}

/* Logged when it begins or its reason changes, not each time. */
static void publish_failed(struct cluster *cluster, const struct error *error)
{
    struct cluster_private *private = cluster->private;
    bool denied = error->code == CODE_NOT_AUTHORIZED;
    if (!error_has_code_of(&private->publish_error, error))
        log_warning(denied ? "this user may not Write the schemas' topic: grant the right"
                           : "cannot publish a schema: trying again until it succeeds",
                    LOG_STR("topic", cluster->topics.schemas), LOG_ERR(error));
    private->publish_error = *error;
    if (!loop_timer_armed(&private->publish_timer))
        loop_timer_after(cluster_loop(cluster), &private->publish_timer, PUBLISH_AGAIN_MS);
}

static void begin_when_published(struct cluster *cluster)
{
    struct cluster_private *private = cluster->private;
    for (int kind = 1; kind < RECORD_KIND_COUNT; kind++)
        if (!is_published(private, kind))
            return;
    private->publish_error = (struct error){.class = ERROR_OK};
    private->published = true;
    ready_when_all_is_read(cluster);
}

static void on_published(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct cluster *cluster = ctx;
    struct cluster_private *private = cluster->private;
    (void)offset;
    assert(token < RECORD_KIND_COUNT && private->schema_sent[token]);
    private->schema_sent[token] = false;
    if (private->closing)
        return;
    if (error != NULL && error_is(error)) {
        publish_failed(cluster, error);
        return;
    }
    private->schema_seen[token] = true;
    begin_when_published(cluster);
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
    if (broker_append(cluster->broker, &append, &error) == ERROR_OK)
        cluster->private->schema_sent[kind] = true;
    else
        publish_failed(cluster, &error);
}

/* The schemas that the topic lacks. */
static void publish_missing(struct cluster *cluster)
{
    const struct cluster_private *private = cluster->private;
    for (int kind = 1; kind < RECORD_KIND_COUNT; kind++)
        if (!is_published(private, kind) && !private->schema_sent[kind])
            publish(cluster, (enum record_kind)kind);
    begin_when_published(cluster);
}

static void on_publish_timer(void *ctx)
{
    publish_missing(ctx);
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
    else if (class == ERROR_OK && decoded.kind == RECORD_WORKFLOW_ACTIVATION)
        class =
            workflow_registry_activate(cluster->workflows, &decoded.workflow_activation, &error);
    if (class != ERROR_OK)
        log_warning("a record about workflows is not usable", LOG_TEXT("key", record->key),
                    LOG_I64("offset", record->offset), LOG_ERR(&error));
}

/* ---- open and close ---- */

enum error_class cluster_kafka_options(const struct config *config, unsigned flags,
                                       struct cluster_kafka_options *ret_options,
                                       struct error *ret_error)
{
    struct kafka_setting *settings = ret_options->settings;
    size_t count = config_setting_count(config);
    size_t passed = 0;
    if (count > CLUSTER_KAFKA_SETTINGS_MAX)
        return error_set(ret_error, CODE_CONFIG, "more than %d kafka.* settings",
                         CLUSTER_KAFKA_SETTINGS_MAX);
    /* Weaker than the user's, which follow. */
    if ((flags & CLUSTER_READS_IN_BULK) != 0) {
        settings[passed++] = (struct kafka_setting){"fetch.min.bytes", "32768"};
        settings[passed++] = (struct kafka_setting){"fetch.wait.max.ms", "100"};
    }
    for (size_t i = 0; i < count; i++) {
        struct config_setting setting = config_setting_at(config, i);
        if (!kafka_settings_is_own(setting.name))
            settings[passed++] = (struct kafka_setting){setting.name, setting.value};
    }
    ret_options->options = (struct kafka_client_options){
        .settings = settings,
        .setting_count = passed,
        .token = {.file = config_string(config, "kafka.sasl.oauthbearer.token.file"),
                  .command = config_string(config, "kafka.sasl.oauthbearer.token.command"),
                  .extensions = config_text(config, "kafka.sasl.oauthbearer.extensions"),
                  .lifetime_ms = config_ms(config, "kafka.sasl.oauthbearer.token.lifetime.ms"),
                  .timeout_ms = config_ms(config, "kafka.sasl.oauthbearer.token.timeout.ms")},
        .client_id = config_string(config, "instance.id"),
        .session_timeout_ms = config_ms(config, "session.timeout.ms"),
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
    kafka.options.metrics = service->metrics;
    kafka.options.metrics_client = service->part != NULL ? service->part : service->name;
    if (config_bool(service->config, "group.static"))
        kafka.options.group_instance_id = service->instance_id;
    return kafka_client_new(service->loop, &kafka.options, ret_broker, ret_error);
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

static bool is_in_trouble(const void *ctx, char *ret_reason, size_t reason_size)
{
    const struct cluster *cluster = ctx;
    const struct error *error = &cluster->private->publish_error;
    if (broker_trouble(cluster->broker, ret_reason, reason_size))
        return true;
    if (error->class == ERROR_OK)
        return false;
    snprintf(ret_reason, reason_size, "cannot publish schemas: %s", error->message);
    return true;
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
    bool first = service->in_trouble == NULL; /* the auditor opens a second cluster */
    if (first) {
        service->in_trouble = is_in_trouble;
        service->in_trouble_ctx = cluster;
    }
    cluster->on_ready = on_ready;
    cluster->ctx = ctx;
    cluster->codec = codec_new();
    heap_arena_init(&cluster->scratch, 64 * 1024);
    loop_timer_init(&cluster->private->publish_timer, on_publish_timer, cluster);
    enum error_class class =
        topics_init(&cluster->topics, config_string(service->config, "topics.prefix"), ret_error);
    if (class == ERROR_OK)
        class = cluster_json_replies_begin(cluster, ret_error);
    if (class == ERROR_OK && (flags & CLUSTER_HAS_APPLICATIONS) != 0)
        class = schema_registry_new(service->loop, service->config, cluster->codec,
                                    service->metrics, &cluster->registry, ret_error);
    if (class == ERROR_OK)
        class = cluster_check_topics(cluster, first && service->process != NULL, ret_error);
    if (class != ERROR_OK) {
        cluster_close(cluster);
        return class;
    }
    cluster_check_begin(&cluster->private->check, cluster, (flags & CLUSTER_CHECKS_LOG) != 0,
                        ready_when_all_is_read);
    side_topic_init(&cluster->private->schemas, cluster, cluster->topics.schemas, schema_record,
                    publish_missing);
    if ((flags & CLUSTER_FOLLOWS_WORKFLOWS) != 0) {
        cluster->private->follows_workflows = true;
        cluster->workflows = workflow_registry_new();
        side_topic_init(&cluster->private->workflows, cluster, cluster->topics.workflows,
                        workflow_record, ready_when_all_is_read);
    }
    *ret_cluster = cluster;
    return ERROR_OK;
}

void cluster_close(struct cluster *cluster)
{
    if (cluster == NULL)
        return;
    cluster->private->closing = true;
    if (cluster->private->check.cluster != NULL)
        cluster_check_end(&cluster->private->check);
    side_topic_close(&cluster->private->schemas);
    side_topic_close(&cluster->private->workflows);
    loop_timer_cancel(cluster_loop(cluster), &cluster->private->publish_timer);
    if (cluster->service->in_trouble_ctx == cluster) {
        cluster->service->in_trouble = NULL;
        cluster->service->in_trouble_ctx = NULL;
    }
    broker_free(cluster->broker);
    schema_registry_free(cluster->registry);
    workflow_registry_free(cluster->workflows);
    codec_free(cluster->codec);
    heap_arena_deinit(&cluster->scratch);
    buffer_deinit(&cluster->private->value);
    free(cluster->private);
    free(cluster);
}

void cluster_partitions_changed(struct cluster *cluster, const char *topic, int32_t count)
{
    cluster_check_changed(&cluster->private->check, topic, count);
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
    bool reply = kind == RECORD_STATUS_UPDATE;
    bool json = reply && cluster_reply_is_json(cluster, topic);
    value->size = 0;
    if (reply)
        cluster_encode_reply(cluster, topic, record, value);
    else
        codec_encode(cluster->codec, kind, record, value);
    struct broker_append append = {.producer = producer,
                                   .topic = topic,
                                   .partition = partition_for(cluster, producer, partition, key),
                                   .key = key,
                                   .value = cluster_encoded(cluster),
                                   .headers = json ? cluster_json_headers : NULL,
                                   .header_count = json ? CLUSTER_JSON_HEADERS : 0,
                                   .batches = topic == cluster->topics.commands,
                                   .done = done,
                                   .ctx = ctx,
                                   .token = token};
    return broker_append(cluster->broker, &append, ret_error);
}

struct text cluster_encoded(const struct cluster *cluster)
{
    const struct buffer *value = &cluster->private->value;
    return (struct text){(const char *)value->data, (uint32_t)value->size};
}

enum error_class cluster_dead_letter(struct cluster *cluster, const struct broker_record *record,
                                     const struct dead_letter_cut *cut, const char *code,
                                     const char *message, broker_appended done, void *ctx,
                                     uint64_t token, struct error *ret_error)
{
    struct dead_letter letter;
    dead_letter_build(record, cut, code, message, &letter);
    /* Where its record was, whatever the key: a dead partition delays only one. */
    int32_t partition = record->partition < cluster->partition_count
                            ? record->partition
                            : broker_partition_of(letter.key, cluster->partition_count);
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = cluster->topics.dead_letters,
                                   .partition = partition,
                                   .key = letter.key,
                                   .value = letter.value,
                                   .headers = letter.headers,
                                   .header_count = letter.header_count,
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

/* `at`: of the topic's partitions, or BROKER_BY_KEY. */
static void append_alert(struct cluster *cluster, int32_t at, const struct operator_alert *alert)
{
    struct error error;
    if (cluster_append(cluster, BROKER_PRODUCER_EFFECTS, cluster->topics.alerts, at, alert->by,
                       RECORD_OPERATOR_ALERT, alert, on_alert_appended, NULL, 0,
                       &error) != ERROR_OK)
        log_error_limited("an alert was not delivered", LOG_ERR(&error));
}

static void append_partition_alert(struct cluster *cluster, int32_t at, const char *by,
                                   int32_t partition, bool raised, const char *code,
                                   const char *message)
{
    struct operator_alert alert = {.raised = raised,
                                   .code = text_of(code),
                                   .message = text_of(message),
                                   .by = text_of(by),
                                   .partition = partition,
                                   .command_offset = -1,
                                   .decision_offset = -1,
                                   .decided_at = clock_wall_ms(cluster->service->clock)};
    append_alert(cluster, at, &alert);
}

static void alert(struct cluster *cluster, const char *by, int32_t partition, bool raised,
                  const char *code, const char *message)
{
    if (cluster->silent)
        return;
    if (raised)
        log_warning("alert", LOG_I64("partition", partition), LOG_STR("code", code),
                    LOG_STR("message", message));
    else
        log_info("alert closed", LOG_I64("partition", partition), LOG_STR("code", code),
                 LOG_STR("message", message));
    append_partition_alert(cluster, BROKER_BY_KEY, by, partition, raised, code, message);
}

void cluster_partition_alert(struct cluster *cluster, int32_t partition, bool raised,
                             enum error_code code, const char *message)
{
    alert(cluster, cluster->service->instance_id, partition, raised, error_code_name(code),
          message);
}

void cluster_service_alert(struct cluster *cluster, int32_t partition, bool raised,
                           enum error_code code, const char *message)
{
    alert(cluster, cluster->service->name, partition, raised, error_code_name(code), message);
}

void cluster_close_alert_of(struct cluster *cluster, int32_t at, const char *by, int32_t partition,
                            const char *code, const char *message)
{
    log_info("alert closed", LOG_I64("partition", partition), LOG_STR("code", code),
             LOG_STR("by", by), LOG_STR("message", message));
    append_partition_alert(cluster, at, by, partition, false, code, message);
}

void cluster_alert(struct cluster *cluster, int32_t partition, const struct error *error)
{
    alert(cluster, cluster->service->instance_id, partition, true, error_name_of(error),
          error->message);
}

void cluster_agent_alert(struct cluster *cluster, bool raised, const char *agent,
                         enum error_code code, const char *message)
{
    struct operator_alert alert = {.raised = raised,
                                   .code = error_code_text(code),
                                   .message = text_of(message),
                                   .by = text_of(agent),
                                   .partition = -1,
                                   .command_offset = -1,
                                   .decision_offset = -1,
                                   .decided_at = clock_wall_ms(cluster->service->clock)};
    if (raised)
        log_warning("alert", LOG_STR("agent", agent), LOG_TEXT("code", alert.code),
                    LOG_STR("message", message));
    else
        log_info("alert closed", LOG_STR("agent", agent), LOG_TEXT("code", alert.code),
                 LOG_STR("message", message));
    append_alert(cluster, BROKER_BY_KEY, &alert);
}
