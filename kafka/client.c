/* SPDX-License-Identifier: Apache-2.0 */
/* The librdkafka client: its handles in the loop, their logs and errors, metadata. See client.h.
 *
 * The loop's thread drains the queue of each handle: librdkafka writes to an eventfd when the queue
 * becomes non-empty, and one turn takes a bounded number of events. */
#include "kafka/client_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    METADATA_FRESH_MS = 200,
    METADATA_KEPT_MS = 5 * 60 * 1000, /* counts of partitions */
    METADATA_MISSING_MS = 5000,       /* that a topic was missing */
    METADATA_WAIT_MS = 5000,
    CLOSE_WAIT_MS = 5000,
    DESTROY_WAIT_MS = 3000,
    REASON_SIZE = 256,
};

/* ---- handles ---- */

bool kafka_handle_drain(struct kafka_handle *handle, uint32_t max)
{
    if (handle->rk == NULL) /* a client that failed to open */
        return false;
    assert(handle->queue != NULL);
    for (uint32_t count = 0; !handle->stopped; count++) {
        if (count == max)
            return true;
        rd_kafka_event_t *event = rd_kafka_queue_poll(handle->queue, 0);
        if (event == NULL && handle->close_queue != NULL)
            event = rd_kafka_queue_poll(handle->close_queue, 0);
        if (event == NULL)
            break;
        if (!kafka_common_event(handle, event))
            handle->on_event(handle, event);
        rd_kafka_event_destroy(event);
    }
    return false;
}

void kafka_handle_turn(struct kafka_handle *handle)
{
    struct kafka_client *kafka = handle->kafka;
    if (kafka_handle_drain(handle, kafka->events_per_turn))
        loop_defer(kafka->loop, &handle->more);
}

static void on_turn(void *ctx)
{
    kafka_handle_turn(ctx);
}

enum error_class kafka_handle_open(struct kafka_handle *handle, struct kafka_client *kafka,
                                   rd_kafka_type_t type, rd_kafka_conf_t *conf, const char *role,
                                   kafka_event_callback on_event, void *ctx,
                                   struct error *ret_error)
{
    static const uint64_t one = 1;
    char reason[REASON_SIZE] = "";
    rd_kafka_resp_err_t code;
    *handle = (struct kafka_handle){
        .kafka = kafka, .role = role, .on_event = on_event, .ctx = ctx, .wakeup.fd = -1};
    rd_kafka_t *rk = rd_kafka_new(type, conf, reason, sizeof(reason));
    if (rk == NULL) {
        rd_kafka_conf_destroy(conf);
        return error_set(ret_error, CODE_CONFIG, "kafka settings: %s", reason);
    }
    enum error_class class =
        loop_wakeup_open(kafka->loop, &handle->wakeup, on_turn, handle, ret_error);
    if (class != ERROR_OK) {
        rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
        return class;
    }
    loop_deferred_init(&handle->more, on_turn, handle);
    handle->rk = rk;
    kafka_oauth_begin(rk);
    if (type == RD_KAFKA_CONSUMER) {
        code = rd_kafka_poll_set_consumer(rk);
        assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
        handle->queue = rd_kafka_queue_get_consumer(rk);
    } else {
        handle->queue = rd_kafka_queue_get_main(rk);
    }
    assert(handle->queue != NULL);
    rd_kafka_queue_io_event_enable(handle->queue, handle->wakeup.fd, &one, sizeof(one));
    code = rd_kafka_set_log_queue(rk, handle->queue);
    assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    loop_defer(kafka->loop, &handle->more); /* events from before the eventfd was set */
    return ERROR_OK;
}

static void drop_queue(rd_kafka_queue_t **queue)
{
    if (*queue == NULL)
        return;
    rd_kafka_queue_io_event_enable(*queue, -1, NULL, 0);
    rd_kafka_queue_destroy(*queue);
    *queue = NULL;
}

void kafka_handle_close(struct kafka_handle *handle)
{
    if (handle->rk == NULL)
        return;
    handle->stopped = true;
    kafka_stats_forget(handle->kafka->stats, handle, handle->role);
    loop_defer_cancel(handle->kafka->loop, &handle->more);
    drop_queue(&handle->queue);
    drop_queue(&handle->close_queue);
    loop_wakeup_close(&handle->wakeup);
    kafka_destroy_later(&handle->kafka->ends, handle->rk);
    handle->rk = NULL;
}

/* ---- logs and errors ---- */

static enum log_level level_of(int syslog_level)
{
    /* librdkafka logs a refused connection as an error, although it is temporary. */
    return syslog_level <= 2   ? LOG_LEVEL_ERROR
           : syslog_level <= 4 ? LOG_LEVEL_WARNING
           : syslog_level <= 6 ? LOG_LEVEL_INFO
                               : LOG_LEVEL_DEBUG;
}

/* A dead broker fails many times a second: each kind of line has its own limit. */
static void write_log(struct kafka_handle *handle, enum log_level level, const char *facility,
                      const char *message)
{
    uint32_t hash = 5381;
    for (const char *at = facility; *at != '\0'; at++)
        hash = hash * 33 + (unsigned char)*at;
    struct log_limit *limit = &handle->kafka->log_limits[hash % KAFKA_LOG_LIMITS];
    if (level < log_get_level() || !log_limit_pass(limit))
        return;
    const struct log_field fields[] = {LOG_STR("handle", handle->role),
                                       LOG_STR("facility", facility), LOG_STR("detail", message),
                                       LOG_U64("suppressed", limit->suppressed), LOG_END};
    log_write(level, "kafka client", fields);
}

static void on_log(struct kafka_handle *handle, rd_kafka_event_t *event)
{
    const char *facility;
    const char *message;
    int level;
    if (rd_kafka_event_log(event, &facility, &message, &level) != 0)
        return;
    /* CONFWARN: a producer setting in a consumer, or the reverse; all handles get all settings.
     * AUTOCREATE: always done by the mock cluster. A refused login is an error event as well. */
    if (strcmp(facility, "CONFWARN") != 0 && strcmp(facility, "AUTOCREATE") != 0 &&
        strstr(message, "SASL authentication error") == NULL)
        write_log(handle, level_of(level), facility, message);
}

/* Each handle reports the same again and again. */
static void on_refusal(struct kafka_client *kafka, const char *said)
{
    struct error error;
    bool is_logged = kafka_log_tokens(kafka);
    if (!kafka_note_refusal(kafka, said) || is_logged)
        return;
    enum error_class class = kafka_login_error(kafka, kafka->health.refusal, &error);
    /* At the start, the caller ends with this error. */
    if (class == ERROR_REJECT && kafka->metadata == NULL && kafka->cluster_id == NULL)
        return;
    log_warning("kafka refuses the login", LOG_ERR(&error));
}

bool kafka_common_event(struct kafka_handle *handle, rd_kafka_event_t *event)
{
    rd_kafka_event_type_t type = rd_kafka_event_type(event);
    if (type == RD_KAFKA_EVENT_LOG) {
        on_log(handle, event);
        return true;
    }
    if (type == RD_KAFKA_EVENT_STATS) {
        const char *report = rd_kafka_event_stats(event);
        kafka_stats_take(handle->kafka->stats, handle, handle->role, report, strlen(report));
        return true;
    }
    if (type != RD_KAFKA_EVENT_ERROR)
        return false;
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        kafka_all_down(handle->kafka);
    /* Failed connections are already in the log with more detail. */
    if (code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
        code == RD_KAFKA_RESP_ERR__RESOLVE)
        return true;
    if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION) {
        on_refusal(handle->kafka, rd_kafka_event_error_string(event));
        return true;
    }
    write_log(handle, LOG_LEVEL_WARNING, rd_kafka_err2name(code),
              rd_kafka_event_error_string(event));
    return false;
}

/* ---- metadata ---- */

static int32_t count_in(const struct rd_kafka_metadata *metadata, const char *topic)
{
    for (int i = 0; i < metadata->topic_cnt; i++) {
        const struct rd_kafka_metadata_topic *found = &metadata->topics[i];
        if (strcmp(found->topic, topic) != 0)
            continue;
        if (found->err == RD_KAFKA_RESP_ERR_NO_ERROR || found->partition_cnt > 0)
            return found->partition_cnt;
        return kafka_error_class(found->err) == ERROR_REJECT ? 0 : -1;
    }
    return 0;
}

static void keep_metadata(struct kafka_client *kafka, const struct rd_kafka_metadata *metadata)
{
    kafka_alive(kafka);
    if (kafka->metadata != NULL)
        rd_kafka_metadata_destroy(kafka->metadata);
    kafka->metadata = metadata;
    kafka->metadata_until_ms = clock_mono_ms(loop_clock(kafka->loop)) + METADATA_FRESH_MS;
}

/* Reads the metadata of all topics, at most once in METADATA_FRESH_MS. A query by name is not an
 * option: librdkafka remembers every name, names may come from third-party clients, and the mock
 * cluster would even make the topics. */
static bool refresh_metadata(struct kafka_client *kafka, int timeout_ms)
{
    const struct rd_kafka_metadata *metadata = NULL;
    int64_t now_ms = clock_mono_ms(loop_clock(kafka->loop));
    if (kafka->metadata != NULL && now_ms < kafka->metadata_until_ms)
        return true;
    if (rd_kafka_metadata(kafka->reader_handle.rk, 1, NULL, &metadata, timeout_ms) !=
        RD_KAFKA_RESP_ERR_NO_ERROR) {
        /* Before the loop runs, nothing else takes note of what went wrong. */
        kafka_handle_drain(&kafka->reader_handle, kafka->events_per_turn);
        return false;
    }
    keep_metadata(kafka, metadata);
    return true;
}

static int32_t kafka_partition_count(struct broker *broker, const char *topic, int timeout_ms)
{
    struct kafka_client *kafka = kafka_of(broker);
    if (!refresh_metadata(kafka, timeout_ms))
        return -1;
    int32_t count = count_in(kafka->metadata, topic);
    if (count > 0)
        kafka_producer_warm(&kafka->producers[BROKER_PRODUCER_LOG], topic);
    return count;
}

static int32_t kafka_replica_count(struct broker *broker, const char *topic, int timeout_ms)
{
    struct kafka_client *kafka = kafka_of(broker);
    if (!refresh_metadata(kafka, timeout_ms))
        return -1;
    int32_t count = count_in(kafka->metadata, topic);
    for (int i = 0; i < kafka->metadata->topic_cnt && count > 0; i++) {
        if (strcmp(kafka->metadata->topics[i].topic, topic) == 0)
            return kafka->metadata->topics[i].partitions[0].replica_cnt;
    }
    return count;
}

/* ---- metadata, without waiting ---- */

struct metadata_job {
    struct kafka_job job;
    struct kafka_client *kafka;
    rd_kafka_t *rk;
    const struct rd_kafka_metadata *metadata; /* NULL: the brokers do not answer */
    broker_topics_read done;                  /* NULL: it only updates what is known */
    void *ctx;
};

static void metadata_run(struct kafka_job *job)
{
    struct metadata_job *look = (struct metadata_job *)job;
    rd_kafka_metadata(look->rk, 1, NULL, &look->metadata, METADATA_WAIT_MS);
}

static void metadata_done(struct kafka_job *job)
{
    struct metadata_job *look = (struct metadata_job *)job;
    struct kafka_client *kafka = look->kafka;
    bool fresh = look->metadata != NULL;
    if (look->done == NULL)
        kafka->metadata_asked = false;
    if (fresh)
        keep_metadata(kafka, look->metadata);
    if (look->done != NULL && !kafka->closing)
        look->done(look->ctx, fresh);
    free(look);
}

static void kafka_read_topics(struct broker *broker, broker_topics_read done, void *ctx)
{
    struct kafka_client *kafka = kafka_of(broker);
    struct metadata_job *look = calloc(1, sizeof(*look));
    assert(look != NULL && kafka->reader_handle.rk != NULL);
    *look = (struct metadata_job){.job = {.run = metadata_run, .done = metadata_done},
                                  .kafka = kafka,
                                  .rk = kafka->reader_handle.rk,
                                  .done = done,
                                  .ctx = ctx};
    kafka_jobs_submit(&kafka->jobs, &look->job);
}

static void ask_for_metadata(struct kafka_client *kafka)
{
    if (kafka->metadata_asked || kafka->closing || kafka->reader_handle.rk == NULL)
        return;
    kafka->metadata_asked = true;
    kafka_read_topics(&kafka->base, NULL, NULL);
}

int32_t kafka_partition_count_known(struct broker *broker, const char *topic)
{
    struct kafka_client *kafka = kafka_of(broker);
    int64_t now_ms = clock_mono_ms(loop_clock(kafka->loop));
    int32_t count = kafka->metadata != NULL ? count_in(kafka->metadata, topic) : 0;
    bool fresh = kafka->metadata != NULL && now_ms < kafka->metadata_until_ms + METADATA_MISSING_MS;
    bool old = kafka->metadata == NULL || now_ms >= kafka->metadata_until_ms + METADATA_KEPT_MS;
    if (old || (count <= 0 && !fresh))
        ask_for_metadata(kafka);
    if (count > 0)
        return count;
    return fresh && count == 0 ? -1 : 0;
}

static const char *kafka_cluster_id(struct broker *broker, int timeout_ms)
{
    struct kafka_client *kafka = kafka_of(broker);
    rd_kafka_t *rk = kafka->reader_handle.rk;
    if (kafka->cluster_id == NULL)
        kafka_keep_cluster_id(kafka, rk, rd_kafka_clusterid(rk, timeout_ms));
    return kafka->cluster_id;
}

static bool kafka_connected(const struct broker *broker)
{
    return kafka_of(broker)->health.connected;
}

/* ---- new and free ---- */

static void on_reader_event(struct kafka_handle *handle, rd_kafka_event_t *event)
{
    /* Records and errors of partitions arrive in the readers' own queues. */
    (void)handle;
    (void)event;
}

static void kafka_free(struct broker *broker)
{
    struct kafka_client *kafka = kafka_of(broker);
    assert(kafka->readers == NULL);
    kafka->closing = true;
    kafka_health_deinit(kafka);
    /* One after another, but no longer together than one alone: the brokers may be away. */
    int64_t deadline_ms = clock_mono_ms(loop_clock(kafka->loop)) + CLOSE_WAIT_MS;
    for (int i = 0; i < BROKER_PRODUCER_COUNT; i++)
        kafka_producer_close(&kafka->producers[i], deadline_ms);
    kafka_groups_close(kafka);
    kafka_jobs_deinit(&kafka->jobs); /* first: they use the reader handle */
    kafka_admin_deinit(kafka);
    kafka_silent_deinit(kafka);
    kafka_handle_close(&kafka->reader_handle);
    kafka_oauth_stop(kafka->oauth);
    /* An abandoned handle may still ask for a token. */
    if (kafka_destroy_wait(&kafka->ends, DESTROY_WAIT_MS))
        kafka_oauth_free(kafka->oauth);
    kafka_options_free(kafka);
    kafka_stats_free(kafka->stats);
    if (kafka->metadata != NULL)
        rd_kafka_metadata_destroy(kafka->metadata);
    free(kafka->cluster_id);
    free(kafka);
}

static const struct broker_ops kafka_ops = {
    .append = kafka_append_record,
    .outstanding = kafka_append_outstanding,
    .deaths = kafka_append_deaths,
    .read = kafka_read,
    .reader_pause = kafka_reader_pause,
    .reader_close = kafka_reader_close,
    .offsets = kafka_offsets,
    .delete_records = kafka_delete_records,
    .position_of = kafka_position_of,
    .join = kafka_join,
    .group_commit = kafka_group_commit,
    .group_committed = kafka_group_committed,
    .group_members = kafka_group_members,
    .leave = kafka_leave,
    .partition_count = kafka_partition_count,
    .replica_count = kafka_replica_count,
    .partition_count_known = kafka_partition_count_known,
    .read_topics = kafka_read_topics,
    .watch = kafka_watch,
    .cluster_id = kafka_cluster_id,
    .connected = kafka_connected,
    .trouble = kafka_trouble,
    .refused = kafka_refused,
    .free = kafka_free,
};

static enum error_class open_handles(struct kafka_client *kafka, struct error *ret_error)
{
    enum error_class class = kafka_jobs_init(&kafka->jobs, kafka->loop, ret_error);
    if (class != ERROR_OK)
        return class;
    rd_kafka_conf_t *conf = kafka_reader_conf(kafka, ret_error);
    if (conf == NULL)
        return ERROR_REJECT;
    class = kafka_handle_open(&kafka->reader_handle, kafka, RD_KAFKA_CONSUMER, conf, "reader",
                              on_reader_event, NULL, ret_error);
    for (int i = 0; i < BROKER_PRODUCER_COUNT && class == ERROR_OK; i++)
        class =
            kafka_producer_open(&kafka->producers[i], kafka, (enum broker_producer)i, ret_error);
    return class;
}

enum error_class kafka_client_new(struct loop *loop, const struct kafka_client_options *options,
                                  struct broker **ret_broker, struct error *ret_error)
{
    struct kafka_client *kafka = calloc(1, sizeof(*kafka));
    assert(kafka != NULL);
    kafka->base.ops = &kafka_ops;
    kafka->loop = loop;
    kafka_options_copy(kafka, options);
    kafka->oauth = kafka_oauth_new(&options->token);
    if (options->metrics != NULL)
        kafka->stats = kafka_stats_new(options->metrics, options->metrics_client);
    kafka_health_init(kafka);
    enum error_class class = open_handles(kafka, ret_error);
    if (class != ERROR_OK) {
        kafka_free(&kafka->base);
        return class;
    }
    kafka_probe(kafka);
    *ret_broker = &kafka->base;
    return ERROR_OK;
}

const char *kafka_client_version(void)
{
    return rd_kafka_version_str();
}
