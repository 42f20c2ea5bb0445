/* SPDX-License-Identifier: Apache-2.0 */
/* librdkafka's configuration for all handles, and the classes of its errors. */
#include "kafka/client_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SESSION_MS = 6000,
    MAX_POLL_MS = 60000,
    READ_QUEUE_BYTES = 4 * 1024 * 1024,
    APPEND_QUEUE_RECORDS = 500000,
    EVENTS_PER_TURN = 2000,
    UNKNOWN_TOPIC_MS = 3000,
    REASON_SIZE = 256,
    NUMBER_SIZE = 24,
};

/* ---- options ---- */

static char *copy(const char *string)
{
    char *copied = strdup(string);
    assert(copied != NULL);
    return copied;
}

static void add_setting(struct kafka_client *kafka, const char *name, const char *value)
{
    kafka->settings[kafka->setting_count++] = (struct kafka_setting){copy(name), copy(value)};
}

static bool sets_linger(const struct kafka_client *kafka)
{
    for (size_t i = 0; i < kafka->setting_count; i++) {
        const char *name = kafka->settings[i].name;
        if (strcmp(name, "linger.ms") == 0 || strcmp(name, "queue.buffering.max.ms") == 0)
            return true;
    }
    return false;
}

void kafka_options_copy(struct kafka_client *kafka, const struct kafka_client_options *options)
{
    kafka->settings = calloc(options->setting_count + 1, sizeof(*kafka->settings));
    assert(kafka->settings != NULL);
    for (size_t i = 0; i < options->setting_count; i++)
        add_setting(kafka, options->settings[i].name, options->settings[i].value);
    if (options->bootstrap_servers != NULL)
        add_setting(kafka, "bootstrap.servers", options->bootstrap_servers);
    kafka->own_linger = sets_linger(kafka);
    kafka->oauth = options->oauth;
    kafka->client_id = copy(options->client_id != NULL ? options->client_id : "reeve");
    if (options->group_instance_id != NULL)
        kafka->group_instance_id = copy(options->group_instance_id);
    kafka->session_timeout_ms =
        options->session_timeout_ms > 0 ? options->session_timeout_ms : SESSION_MS;
    kafka->max_poll_interval_ms =
        options->max_poll_interval_ms > 0 ? options->max_poll_interval_ms : MAX_POLL_MS;
    if (kafka->max_poll_interval_ms < kafka->session_timeout_ms)
        kafka->max_poll_interval_ms = kafka->session_timeout_ms;
    kafka->read_queue_bytes =
        options->read_queue_bytes > 0 ? options->read_queue_bytes : READ_QUEUE_BYTES;
    kafka->append_queue_records =
        options->append_queue_records > 0 ? options->append_queue_records : APPEND_QUEUE_RECORDS;
    kafka->events_per_turn =
        options->events_per_turn > 0 ? options->events_per_turn : EVENTS_PER_TURN;
    kafka->unknown_topic_ms =
        options->unknown_topic_ms > 0 ? options->unknown_topic_ms : UNKNOWN_TOPIC_MS;
}

void kafka_options_free(struct kafka_client *kafka)
{
    for (size_t i = 0; i < kafka->setting_count; i++) {
        free((char *)kafka->settings[i].name);
        free((char *)kafka->settings[i].value);
    }
    free(kafka->settings);
    free(kafka->client_id);
    free(kafka->group_instance_id);
}

/* ---- librdkafka's configuration ---- */

void kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char reason[REASON_SIZE] = "";
    rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, name, value, reason, sizeof(reason));
    assert(result == RD_KAFKA_CONF_OK);
}

void kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, int64_t value)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof(text), "%" PRId64, value);
    kafka_conf_set(conf, name, text);
}

/* Defaults that users may override. */
static void set_defaults(const struct kafka_client *kafka, rd_kafka_conf_t *conf)
{
    /* Tries a dead broker at most 20 times a second, later once a second. */
    kafka_conf_set(conf, "reconnect.backoff.ms", "50");
    kafka_conf_set(conf, "reconnect.backoff.max.ms", "1000");
    kafka_conf_set(conf, "socket.connection.setup.timeout.ms", "10000");
    kafka_conf_set(conf, "socket.keepalive.enable", "true");
    kafka_conf_set(conf, "socket.nagle.disable", "true");
    kafka_conf_set(conf, "log.connection.close", "false");
    kafka_conf_set(conf, "retry.backoff.ms", "50");
    kafka_conf_set(conf, "topic.metadata.refresh.fast.interval.ms", "100");
    kafka_conf_set(conf, "linger.ms", "0");
    kafka_conf_set(conf, "compression.codec", "lz4");
    /* A fetch that waits at the end of some partitions delays the broker's other ones. */
    kafka_conf_set(conf, "fetch.wait.max.ms", "50");
    kafka_conf_set(conf, "fetch.error.backoff.ms", "50");
    kafka_conf_set(conf, "check.crcs", "true");
    if (kafka->stats != NULL)
        kafka_conf_set_int(conf, "statistics.interval.ms", KAFKA_STATS_INTERVAL_MS);
}

rd_kafka_conf_t *kafka_conf_new(const struct kafka_client *kafka, const char *role,
                                struct error *ret_error)
{
    char reason[REASON_SIZE] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set_defaults(kafka, conf);
    for (size_t i = 0; i < kafka->setting_count; i++) {
        const struct kafka_setting *setting = &kafka->settings[i];
        if (rd_kafka_conf_set(conf, setting->name, setting->value, reason, sizeof(reason)) !=
            RD_KAFKA_CONF_OK) {
            error_set(ret_error, CODE_CONFIG, "kafka.%s: %s", setting->name, reason);
            rd_kafka_conf_destroy(conf);
            return NULL;
        }
    }
    char client_id[REASON_SIZE];
    snprintf(client_id, sizeof(client_id), "%s-%s", kafka->client_id, role);
    kafka_conf_set(conf, "client.id", client_id);
    kafka_conf_set(conf, "log.queue", "true");
    kafka_conf_set(conf, "allow.auto.create.topics", "false");
    kafka_oauth_attach(kafka->oauth, conf);
    return conf;
}

int kafka_common_events(const struct kafka_client *kafka)
{
    int events = RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG;
    return kafka->stats != NULL ? events | RD_KAFKA_EVENT_STATS : events;
}

/* ---- errors ---- */

enum error_class kafka_error_class(rd_kafka_resp_err_t code)
{
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return ERROR_OK;
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    /* librdkafka would skip the records that it cannot read. */
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:
        return ERROR_FATAL;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
        return ERROR_REJECT;
    default:
        return ERROR_RETRY;
    }
}

/* Stable names for the errors that callers act upon; other errors keep librdkafka's name. */
static enum error_code code_of(rd_kafka_resp_err_t code)
{
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR__FATAL:
        return CODE_PRODUCER_FATAL;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
        return CODE_OFFSET_OUT_OF_RANGE;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        return CODE_UNKNOWN_TOPIC;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
        return CODE_RECORD_TOO_LARGE;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        return CODE_NOT_AUTHORIZED;
    default:
        return CODE_FOREIGN;
    }
}

enum error_class kafka_error_set(struct error *ret_error, rd_kafka_resp_err_t code,
                                 const char *what, const char *topic, int32_t partition)
{
    enum error_class class = kafka_error_class(code);
    enum error_code known = code_of(code);
    if (known == CODE_FOREIGN)
        return error_set_foreign(ret_error, class, rd_kafka_err2name(code),
                                 "%s %s [%" PRId32 "]: %s", what, topic, partition,
                                 rd_kafka_err2str(code));
    return error_set_as(ret_error, class, known, "%s %s [%" PRId32 "]: %s", what, topic, partition,
                        rd_kafka_err2str(code));
}
