/* SPDX-License-Identifier: Apache-2.0 */
/* See client_stats.h. Counters add what was counted since the latest report, so that they go on
 * when a handle is replaced. */
#include "kafka/client_stats.h"

#include "platform/logger.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BROKER_LABEL_SIZE = 24 };

/* A number in the report of a handle or a broker. */
struct report_field {
    const char *name; /* in the report; of a counter also in its "req", by kind of request */
    const char *metric;
    const char *help;
};

static const struct report_field handle_gauges[] = {
    {"msg_cnt", "reeve_kafka_client_queued_records",
     "Records that the producer holds: not sent, or not acknowledged."},
    {"msg_size", "reeve_kafka_client_queued_bytes", "Size of the records that the producer holds."},
    {"fetchq_cnt", "reeve_kafka_client_fetched_records",
     "Records fetched ahead, not yet taken by the service."},
    {"fetchq_size", "reeve_kafka_client_fetched_bytes", "Size of the records fetched ahead."},
    {"replyq", "reeve_kafka_client_waiting_events",
     "Events of librdkafka not yet taken by the service."},
};
enum { FETCHED_RECORDS = 2, FETCHED_BYTES = 3, HANDLE_GAUGE_COUNT = 5 };
_Static_assert(sizeof(handle_gauges) / sizeof(handle_gauges[0]) == HANDLE_GAUGE_COUNT, "all");

static const struct report_field broker_gauges[] = {
    {"outbuf_cnt", "reeve_kafka_client_queued_requests", "Requests that wait to be sent."},
    {"waitresp_cnt", "reeve_kafka_client_inflight_requests", "Requests without an answer yet."},
};
enum { BROKER_GAUGE_COUNT = 2 };
_Static_assert(sizeof(broker_gauges) / sizeof(broker_gauges[0]) == BROKER_GAUGE_COUNT, "all");

static const struct report_field broker_counters[] = {
    {"tx", "reeve_kafka_client_requests_total", "Requests sent."},
    {"txerrs", "reeve_kafka_client_send_errors_total", "Requests that could not be sent."},
    {"rxerrs", "reeve_kafka_client_receive_errors_total", "Errors while receiving answers."},
    {"txretries", "reeve_kafka_client_retries_total", "Requests sent again."},
    {"req_timeouts", "reeve_kafka_client_request_timeouts_total",
     "Requests that got no answer in time."},
    {"connects", "reeve_kafka_client_connects_total", "Attempts to connect."},
    {"disconnects", "reeve_kafka_client_disconnects_total", "Connections that ended."},
    {"Produce", "reeve_kafka_client_produce_requests_total",
     "Requests sent that append records: of one partition each."},
    {"Fetch", "reeve_kafka_client_fetch_requests_total", "Requests sent that read records."},
};
enum { BROKER_COUNTER_COUNT = 9 };
_Static_assert(sizeof(broker_counters) / sizeof(broker_counters[0]) == BROKER_COUNTER_COUNT, "all");

struct broker_stats {
    char label[BROKER_LABEL_SIZE];
    bool seen; /* in this report */
    struct metrics_gauge *rtt_avg;
    struct metrics_gauge *rtt_p99;
    struct metrics_gauge *throttle;
    struct metrics_gauge *gauges[BROKER_GAUGE_COUNT];
    struct metrics_counter *counters[BROKER_COUNTER_COUNT];
    uint64_t last[BROKER_COUNTER_COUNT]; /* as of the latest report */
};

struct handle_stats {
    const char *role;
    const void *handle; /* whose reports are taken; NULL: the next one's */
    struct metrics_gauge *gauges[HANDLE_GAUGE_COUNT];
    struct broker_stats brokers[KAFKA_STATS_BROKERS_MAX];
    uint32_t broker_count;
};

static const char *const roles[] = {"log",    "log-batched", "effects", "effects-batched",
                                    "reader", "group"};
enum { ROLE_COUNT = 6 };
_Static_assert(sizeof(roles) / sizeof(roles[0]) == ROLE_COUNT, "all");

struct kafka_stats {
    struct metrics *metrics;
    const char *client;
    struct handle_stats handles[ROLE_COUNT];
};

static struct handle_stats *find_handle(struct kafka_stats *stats, const char *role)
{
    int found = 0;
    while (found < ROLE_COUNT && strcmp(roles[found], role) != 0)
        found++;
    assert(found < ROLE_COUNT);
    return &stats->handles[found];
}

/* ---- brokers ---- */

static struct broker_stats *add_broker(struct kafka_stats *stats, struct handle_stats *handle,
                                       const char *label)
{
    struct metrics *metrics = stats->metrics;
    const struct metrics_labels labels = {{"client", "handle", "broker"},
                                          {stats->client, handle->role, label}};
    struct broker_stats *broker = &handle->brokers[handle->broker_count++];
    snprintf(broker->label, sizeof(broker->label), "%s", label);
    broker->rtt_avg =
        metrics_gauge(metrics, "reeve_kafka_client_rtt_avg_seconds",
                      "Mean time from a request to its answer, of the latest interval.", labels);
    broker->rtt_p99 = metrics_gauge(
        metrics, "reeve_kafka_client_rtt_p99_seconds",
        "99th percentile of the time from a request to its answer, of the latest interval.",
        labels);
    broker->throttle = metrics_gauge(
        metrics, "reeve_kafka_client_throttle_seconds",
        "Longest time by which the broker throttled, of the latest interval.", labels);
    for (int i = 0; i < BROKER_GAUGE_COUNT; i++)
        broker->gauges[i] =
            metrics_gauge(metrics, broker_gauges[i].metric, broker_gauges[i].help, labels);
    for (int i = 0; i < BROKER_COUNTER_COUNT; i++)
        broker->counters[i] =
            metrics_counter(metrics, broker_counters[i].metric, broker_counters[i].help, labels);
    return broker;
}

/* NULL: it is not shown, as it has no id yet or there are too many. */
static struct broker_stats *find_broker(struct kafka_stats *stats, struct handle_stats *handle,
                                        const json_t *report)
{
    char label[BROKER_LABEL_SIZE] = "coordinator";
    const char *source = json_string_value(json_object_get(report, "source"));
    const json_t *id = json_object_get(report, "nodeid");
    if (source == NULL || strcmp(source, "logical") != 0) {
        if (!json_is_integer(id) || json_integer_value(id) < 0)
            return NULL;
        snprintf(label, sizeof(label), "%lld", (long long)json_integer_value(id));
    }
    for (uint32_t i = 0; i < handle->broker_count; i++)
        if (strcmp(handle->brokers[i].label, label) == 0)
            return &handle->brokers[i];
    return handle->broker_count < KAFKA_STATS_BROKERS_MAX ? add_broker(stats, handle, label) : NULL;
}

static double number_of(const json_t *report, const char *name)
{
    return json_number_value(json_object_get(report, name));
}

static void set_window(struct metrics_gauge *gauge, const json_t *window, const char *name,
                       double unit)
{
    if (number_of(window, "cnt") > 0)
        metrics_set(gauge, number_of(window, name) * unit);
    else
        metrics_unset(gauge);
}

static void unset_broker(struct broker_stats *broker)
{
    metrics_unset(broker->rtt_avg);
    metrics_unset(broker->rtt_p99);
    metrics_unset(broker->throttle);
    for (int i = 0; i < BROKER_GAUGE_COUNT; i++)
        metrics_unset(broker->gauges[i]);
}

static void take_broker(struct broker_stats *broker, const json_t *report)
{
    const json_t *rtt = json_object_get(report, "rtt");
    const json_t *kinds = json_object_get(report, "req");
    broker->seen = true;
    set_window(broker->rtt_avg, rtt, "avg", 1e-6);
    set_window(broker->rtt_p99, rtt, "p99", 1e-6);
    metrics_set(broker->throttle, number_of(json_object_get(report, "throttle"), "max") * 1e-3);
    for (int i = 0; i < BROKER_GAUGE_COUNT; i++)
        metrics_set(broker->gauges[i], number_of(report, broker_gauges[i].name));
    for (int i = 0; i < BROKER_COUNTER_COUNT; i++) {
        const json_t *number = json_object_get(report, broker_counters[i].name);
        if (number == NULL)
            number = json_object_get(kinds, broker_counters[i].name);
        json_int_t value = json_integer_value(number);
        uint64_t now = value > 0 ? (uint64_t)value : 0;
        if (now > broker->last[i])
            metrics_add(broker->counters[i], now - broker->last[i]);
        broker->last[i] = now;
    }
}

static void take_brokers(struct kafka_stats *stats, struct handle_stats *handle,
                         const json_t *reports)
{
    const char *name;
    json_t *report;
    for (uint32_t i = 0; i < handle->broker_count; i++)
        handle->brokers[i].seen = false;
    json_object_foreach((json_t *)reports, name, report) {
        struct broker_stats *broker = find_broker(stats, handle, report);
        if (broker != NULL)
            take_broker(broker, report);
    }
    for (uint32_t i = 0; i < handle->broker_count; i++)
        if (!handle->brokers[i].seen)
            unset_broker(&handle->brokers[i]);
}

/* ---- the handle ---- */

static double sum_of_partitions(const json_t *topics, const char *name)
{
    const char *topic_name, *number;
    json_t *topic, *partition;
    double sum = 0;
    json_object_foreach((json_t *)topics, topic_name, topic)
        json_object_foreach(json_object_get(topic, "partitions"), number, partition)
            sum += number_of(partition, name);
    return sum;
}

static void take_handle(struct kafka_stats *stats, struct handle_stats *handle,
                        const json_t *report)
{
    const struct metrics_labels labels =
        METRICS_LABELS("client", stats->client, "handle", handle->role);
    const char *type = json_string_value(json_object_get(report, "type"));
    bool produces = type != NULL && strcmp(type, "producer") == 0;
    const json_t *topics = json_object_get(report, "topics");
    for (int i = 0; i < HANDLE_GAUGE_COUNT; i++) {
        bool fetches = i == FETCHED_RECORDS || i == FETCHED_BYTES;
        double value = fetches ? sum_of_partitions(topics, handle_gauges[i].name)
                               : number_of(report, handle_gauges[i].name);
        if (i <= FETCHED_BYTES && fetches == produces)
            continue; /* a producer fetches nothing, a consumer queues nothing */
        handle->gauges[i] =
            metrics_gauge(stats->metrics, handle_gauges[i].metric, handle_gauges[i].help, labels);
        metrics_set(handle->gauges[i], value);
    }
}

void kafka_stats_take(struct kafka_stats *stats, const void *handle, const char *role,
                      const char *json, size_t size)
{
    json_error_t error;
    struct handle_stats *taken = stats != NULL ? find_handle(stats, role) : NULL;
    if (taken == NULL || (taken->handle != NULL && taken->handle != handle))
        return;
    json_t *report = json_loadb(json, size, 0, &error);
    if (report == NULL) {
        log_warning_limited("cannot read the statistics of librdkafka", LOG_STR("handle", role),
                            LOG_STR("error", error.text));
        return;
    }
    taken->handle = handle;
    take_handle(stats, taken, report);
    take_brokers(stats, taken, json_object_get(report, "brokers"));
    json_decref(report);
}

static void forget(struct handle_stats *handle)
{
    handle->handle = NULL;
    for (int i = 0; i < HANDLE_GAUGE_COUNT; i++)
        if (handle->gauges[i] != NULL)
            metrics_unset(handle->gauges[i]);
    for (uint32_t i = 0; i < handle->broker_count; i++) {
        unset_broker(&handle->brokers[i]);
        memset(handle->brokers[i].last, 0, sizeof(handle->brokers[i].last));
    }
}

void kafka_stats_forget(struct kafka_stats *stats, const void *handle, const char *role)
{
    struct handle_stats *taken = stats != NULL ? find_handle(stats, role) : NULL;
    if (taken != NULL && taken->handle == handle)
        forget(taken);
}

/* ---- life ---- */

struct kafka_stats *kafka_stats_new(struct metrics *metrics, const char *client)
{
    struct kafka_stats *stats = calloc(1, sizeof(*stats));
    assert(stats != NULL);
    stats->metrics = metrics;
    stats->client = client;
    for (int i = 0; i < ROLE_COUNT; i++)
        stats->handles[i].role = roles[i];
    return stats;
}

void kafka_stats_free(struct kafka_stats *stats)
{
    if (stats == NULL)
        return;
    for (int i = 0; i < ROLE_COUNT; i++)
        forget(&stats->handles[i]);
    free(stats);
}
