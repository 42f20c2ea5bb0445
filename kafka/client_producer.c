/* SPDX-License-Identifier: Apache-2.0 */
/* Appending: two idempotent producers, LOG and EFFECTS, which differ in how they treat topics that
 * do not exist. Each has a client that sends at once and one that batches (append_flow.h).
 *
 * Every accepted append gets exactly one result; until then it is on one of the producer's lists.
 * Usually a delivery report brings the result; when one of the clients dies (librdkafka's fatal
 * error), `renew` closes both, reports FATAL for all appends, and makes a new one. */
#include "kafka/client_internal.h"

#include "base/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECORD_SLACK_BYTES = 64 * 1024, /* key, headers and framing around the largest value */
    RENEW_AGAIN_MS = 1000,
    CLOSE_POLL_MS = 10,
    BATCH_LINGER_MS = 3,
    FATAL_REASON_SIZE = 256,
};

/* ---- lists of appends ---- */

static void list_add(struct kafka_append_list *list, struct kafka_append *append)
{
    assert((list->first == NULL) == (list->last == NULL));
    append->next = NULL;
    append->prev = list->last;
    *(list->last != NULL ? &list->last->next : &list->first) = append;
    list->last = append;
}

static void list_remove(struct kafka_append_list *list, struct kafka_append *append)
{
    assert(list->first != NULL && list->last != NULL);
    *(append->prev != NULL ? &append->prev->next : &list->first) = append->next;
    *(append->next != NULL ? &append->next->prev : &list->last) = append->prev;
}

static struct kafka_append *take_append(struct kafka_producer *producer)
{
    struct kafka_append *append = producer->unused.first;
    if (append != NULL) {
        list_remove(&producer->unused, append);
        return append;
    }
    append = calloc(1, sizeof(*append));
    assert(append != NULL);
    return append;
}

/* Removes the append from its list first: `done` may append and reuse it. */
static void answer(struct kafka_producer *producer, struct kafka_append_list *list,
                   struct kafka_append *append, int64_t offset, int64_t appended_at,
                   const struct error *error)
{
    broker_appended done = append->done;
    void *ctx = append->ctx;
    uint64_t token = append->token;
    struct error *own = append->error;
    list_remove(list, append);
    kafka_topic_end(append);
    append->error = NULL;
    list_add(&producer->unused, append);
    assert(producer->outstanding > 0);
    producer->outstanding--;
    producer->answered++;
    producer->kafka->base.appended_at = appended_at;
    done(ctx, token, offset, own != NULL ? own : error);
    free(own);
}

/* Only the appends on the list now, not those that the callbacks add. */
static void answer_all(struct kafka_producer *producer, struct kafka_append_list *list,
                       const struct error *error)
{
    struct kafka_append_list now = *list;
    *list = (struct kafka_append_list){NULL, NULL};
    while (now.first != NULL)
        answer(producer, &now, now.first, -1, 0, error);
}

void kafka_producer_warm(struct kafka_producer *producer, const char *name)
{
    if (producer->handles[APPEND_AT_ONCE].rk == NULL || producer->failed)
        return;
    kafka_topic_handle(producer, kafka_topic_get(producer, name), APPEND_AT_ONCE);
}

/* ---- delivery reports ---- */

static void fail(struct kafka_producer *producer)
{
    producer->failed = true;
    for (int i = 0; i < APPEND_CLIENT_COUNT; i++)
        producer->handles[i].stopped = true;
    loop_defer(producer->kafka->loop, &producer->renew);
}

static int64_t append_time_of(const rd_kafka_message_t *message)
{
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    int64_t time_ms = rd_kafka_message_timestamp(message, &type);
    return type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME && time_ms > 0 ? time_ms : 0;
}

/* librdkafka counts a batch as persisted, without an offset, when a later one was accepted: the
 * broker would have refused that for its sequence number. But a broker accepts any first sequence
 * number of a producer that is new to the partition: a first batch that it refused, because the
 * partition was only just becoming available, is then missing from the log. */
static void fail_without_offset(struct kafka_producer *producer, struct kafka_append *append,
                                const rd_kafka_message_t *message)
{
    struct error error;
    error_set(&error, CODE_OFFSET_UNKNOWN,
              "append to %s [%" PRId32 "]: acknowledged without an offset",
              rd_kafka_topic_name(message->rkt), message->partition);
    answer(producer, &producer->sent, append, -1, 0, &error);
}

static void on_delivery(struct kafka_handle *handle, const rd_kafka_message_t *message,
                        int64_t offset)
{
    static const struct error ok = {.class = ERROR_OK};
    struct kafka_producer *producer = handle->ctx;
    struct kafka_append *append = message->_private;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        kafka_alive(producer->kafka);
        if (offset < 0) {
            fail_without_offset(producer, append, message);
            return;
        }
        answer(producer, &producer->sent, append, offset, append_time_of(message), &ok);
        return;
    }
    if (message->err == RD_KAFKA_RESP_ERR__FATAL ||
        rd_kafka_fatal_error(handle->rk, NULL, 0) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail(producer); /* `renew` reports it with the others */
        return;
    }
    struct error error;
    const char *topic = rd_kafka_topic_name(message->rkt);
    kafka_error_set(&error, message->err, "append to", topic, message->partition);
    answer(producer, &producer->sent, append, -1, 0, &error);
}

static void on_event(struct kafka_handle *handle, rd_kafka_event_t *event)
{
    struct kafka_producer *producer = handle->ctx;
    rd_kafka_event_type_t type = rd_kafka_event_type(event);
    if (type == RD_KAFKA_EVENT_ERROR && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__FATAL)
        fail(producer);
    if (type != RD_KAFKA_EVENT_DR)
        return;
    /* One event is one batch. Where the offset of its first record is unknown, librdkafka counts up
     * from -1 or -1001: offsets after a negative one are invalid. */
    const rd_kafka_message_t *message;
    bool unknown = false;
    while ((message = rd_kafka_event_message_next(event)) != NULL) {
        unknown = unknown || message->offset < 0;
        on_delivery(handle, message, unknown ? -1 : message->offset);
    }
}

/* ---- appending ---- */

static rd_kafka_headers_t *headers_of(const struct broker_append *append)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(append->header_count);
    for (uint32_t i = 0; i < append->header_count; i++) {
        const struct broker_header *header = &append->headers[i];
        rd_kafka_resp_err_t code =
            rd_kafka_header_add(headers, header->name.data, (ssize_t)header->name.size,
                                header->value.data, (ssize_t)header->value.size);
        assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    return headers;
}

static rd_kafka_resp_err_t produce_with_headers(rd_kafka_t *rk, rd_kafka_topic_t *rkt,
                                                const struct broker_append *append, void *opaque)
{
    rd_kafka_headers_t *headers = headers_of(append);
    const rd_kafka_vu_t arguments[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = rkt},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = append->partition},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {(void *)append->value.data, append->value.size}},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)append->key.data, append->key.size}},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = opaque},
    };
    rd_kafka_error_t *error =
        rd_kafka_produceva(rk, arguments, sizeof(arguments) / sizeof(arguments[0]));
    if (error == NULL)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    rd_kafka_headers_destroy(headers);
    return code;
}

static rd_kafka_resp_err_t produce(struct kafka_producer *producer,
                                   const struct broker_append *append, struct kafka_append *taken)
{
    struct kafka_topic *topic = kafka_topic_get(producer, append->topic);
    enum append_client client = kafka_topic_begin(producer, topic, append, taken);
    rd_kafka_topic_t *rkt = kafka_topic_handle(producer, topic, client);
    if (rkt == NULL)
        return RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
    if (append->header_count > 0)
        return produce_with_headers(producer->handles[client].rk, rkt, append, taken);
    if (rd_kafka_produce(rkt, append->partition, RD_KAFKA_MSG_F_COPY, (void *)append->value.data,
                         append->value.size, append->key.data, append->key.size, taken) == 0)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    return rd_kafka_last_error();
}

static enum error_class fail_full(struct error *ret_error)
{
    return error_set(ret_error, CODE_QUEUE_FULL, "the producer's queue is full");
}

enum error_class kafka_append_record(struct broker *broker, const struct broker_append *append,
                                     struct error *ret_error)
{
    struct kafka_client *kafka = kafka_of(broker);
    struct kafka_producer *producer = &kafka->producers[append->producer];
    if (kafka->closing || producer->handles[APPEND_AT_ONCE].rk == NULL)
        return error_set(ret_error, CODE_NO_PRODUCER, "the producer is being replaced");
    if (producer->outstanding >= kafka->append_queue_records) /* of both clients together */
        return fail_full(ret_error);
    struct kafka_append *taken = take_append(producer);
    taken->done = append->done;
    taken->ctx = append->ctx;
    taken->token = append->token;
    list_add(&producer->sent, taken);
    producer->outstanding++;
    /* After a fatal error, `renew` fails it with the others. */
    rd_kafka_resp_err_t code =
        producer->failed ? RD_KAFKA_RESP_ERR_NO_ERROR : produce(producer, append, taken);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return ERROR_OK;
    if (code == RD_KAFKA_RESP_ERR__FATAL) {
        fail(producer);
        return ERROR_OK;
    }
    list_remove(&producer->sent, taken);
    kafka_topic_end(taken);
    if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) { /* too many bytes */
        list_add(&producer->unused, taken);
        producer->outstanding--;
        return fail_full(ret_error);
    }
    taken->error = calloc(1, sizeof(*taken->error));
    assert(taken->error != NULL);
    kafka_error_set(taken->error, code, "append to", append->topic, append->partition);
    list_add(&producer->refused, taken);
    loop_defer(kafka->loop, &producer->refuse);
    return ERROR_OK;
}

uint32_t kafka_append_outstanding(const struct broker *broker, enum broker_producer producer)
{
    return ((const struct kafka_client *)broker)->producers[producer].outstanding;
}

uint64_t kafka_append_deaths(const struct broker *broker, enum broker_producer producer)
{
    return ((const struct kafka_client *)broker)->producers[producer].deaths;
}

/* ---- opening, replacing, closing ---- */

static rd_kafka_conf_t *producer_conf(const struct kafka_producer *producer,
                                      enum append_client client, const char *role,
                                      struct error *ret_error)
{
    const struct kafka_client *kafka = producer->kafka;
    rd_kafka_conf_t *conf = kafka_conf_new(kafka, role, ret_error);
    if (conf == NULL)
        return NULL;
    kafka_conf_set(conf, "acks", "all");
    kafka_conf_set(conf, "enable.idempotence", "true");
    kafka_conf_set(conf, "partitioner", "murmur2_random"); /* for BROKER_BY_KEY: like Java */
    kafka_conf_set(conf, "max.in.flight", "5");
    /* One record that expires would make librdkafka drain the whole idempotent producer. */
    kafka_conf_set(conf, "message.timeout.ms", "0");
    kafka_conf_set_int(conf, "message.max.bytes", RECORD_BYTES_MAX + RECORD_SLACK_BYTES);
    kafka_conf_set_int(conf, "queue.buffering.max.messages", kafka->append_queue_records);
    /* A missing topic is found at most this long after it was made. */
    kafka_conf_set(conf, "topic.metadata.refresh.interval.ms", "5000");
    if (client == APPEND_BATCHED)
        kafka_conf_set_int(conf, "linger.ms", BATCH_LINGER_MS);
    if (producer->kind == BROKER_PRODUCER_EFFECTS)
        kafka_conf_set_int(conf, "topic.metadata.propagation.max.ms", kafka->unknown_topic_ms);
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | kafka_common_events(kafka));
    return conf;
}

static enum error_class open_client(struct kafka_producer *producer, enum append_client client,
                                    struct error *ret_error)
{
    static const char *const roles[][APPEND_CLIENT_COUNT] = {{"log", "log-batched"},
                                                             {"effects", "effects-batched"}};
    _Static_assert(sizeof(roles) / sizeof(roles[0]) == BROKER_PRODUCER_COUNT,
                   "every producer has roles");
    const char *role = roles[producer->kind][client];
    assert(producer->handles[client].rk == NULL);
    rd_kafka_conf_t *conf = producer_conf(producer, client, role, ret_error);
    if (conf == NULL)
        return ERROR_REJECT;
    return kafka_handle_open(&producer->handles[client], producer->kafka, RD_KAFKA_PRODUCER, conf,
                             role, on_event, producer, ret_error);
}

bool kafka_producer_open_batched(struct kafka_producer *producer)
{
    struct error error;
    assert(!producer->failed && !producer->kafka->closing);
    if (producer->cannot_batch)
        return false;
    producer->cannot_batch = open_client(producer, APPEND_BATCHED, &error) != ERROR_OK;
    if (producer->cannot_batch)
        log_warning("cannot open a producer that batches: each record is sent at once",
                    LOG_ERR(&error));
    return !producer->cannot_batch;
}

static void close_clients(struct kafka_producer *producer)
{
    for (struct kafka_append *append = producer->sent.first; append != NULL; append = append->next)
        kafka_topic_end(append);
    kafka_topics_release(producer);
    for (int i = 0; i < APPEND_CLIENT_COUNT; i++)
        kafka_handle_close(&producer->handles[i]);
}

/* That of the client that died. */
static void fatal_reason(const struct kafka_producer *producer, char ret_reason[FATAL_REASON_SIZE])
{
    ret_reason[0] = '\0';
    for (int i = 0; i < APPEND_CLIENT_COUNT && ret_reason[0] == '\0'; i++)
        if (producer->handles[i].rk != NULL)
            rd_kafka_fatal_error(producer->handles[i].rk, ret_reason, FATAL_REASON_SIZE);
}

static void renew(void *ctx)
{
    struct kafka_producer *producer = ctx;
    char reason[FATAL_REASON_SIZE] = "";
    struct error error = {.class = ERROR_OK};
    if (producer->handles[APPEND_AT_ONCE].rk != NULL) {
        fatal_reason(producer, reason);
        log_warning("producer failed", LOG_STR("producer", producer->handles[APPEND_AT_ONCE].role),
                    LOG_STR("reason", reason), LOG_U64("outstanding", producer->outstanding));
        close_clients(producer);
        producer->deaths++;
    }
    producer->failed = false;
    producer->cannot_batch = false;
    if (open_client(producer, APPEND_AT_ONCE, &error) != ERROR_OK) {
        log_error("cannot open a new producer", LOG_ERR(&error));
        loop_timer_after(producer->kafka->loop, &producer->renew_timer, RENEW_AGAIN_MS);
    }
    error_set(&error, CODE_PRODUCER_FATAL, "the producer died: %s", reason);
    answer_all(producer, &producer->sent, &error);
}

static void on_refuse(void *ctx)
{
    struct kafka_producer *producer = ctx;
    answer_all(producer, &producer->refused, NULL);
}

enum error_class kafka_producer_open(struct kafka_producer *producer, struct kafka_client *kafka,
                                     enum broker_producer kind, struct error *ret_error)
{
    *producer = (struct kafka_producer){.kafka = kafka, .kind = kind};
    loop_deferred_init(&producer->refuse, on_refuse, producer);
    loop_deferred_init(&producer->renew, renew, producer);
    loop_timer_init(&producer->renew_timer, renew, producer);
    return open_client(producer, APPEND_AT_ONCE, ret_error);
}

/* Waits shortly. */
static void poll_results(struct kafka_producer *producer)
{
    for (int i = 0; i < APPEND_CLIENT_COUNT; i++) {
        struct kafka_handle *handle = &producer->handles[i];
        if (handle->rk == NULL || handle->stopped)
            continue;
        rd_kafka_event_t *event = rd_kafka_queue_poll(handle->queue, CLOSE_POLL_MS);
        if (event != NULL && !kafka_common_event(handle, event))
            on_event(handle, event);
        rd_kafka_event_destroy(event);
    }
}

void kafka_producer_close(struct kafka_producer *producer, int64_t deadline_ms)
{
    if (producer->kafka == NULL)
        return;
    struct loop *loop = producer->kafka->loop;
    const struct clock *clock = loop_clock(loop);
    while (producer->sent.first != NULL && !producer->failed &&
           producer->handles[APPEND_AT_ONCE].rk != NULL && clock_mono_ms(clock) < deadline_ms)
        poll_results(producer);
    struct error error;
    error_set(&error, CODE_CLOSED, "the broker did not acknowledge before the client closed");
    answer_all(producer, &producer->sent, &error);
    answer_all(producer, &producer->refused, NULL);
    /* broker_append returns RETRY by now. */
    assert(producer->outstanding == 0);
    loop_defer_cancel(loop, &producer->refuse);
    loop_defer_cancel(loop, &producer->renew);
    loop_timer_cancel(loop, &producer->renew_timer);
    close_clients(producer);
    kafka_topics_free(producer);
    while (producer->unused.first != NULL) {
        struct kafka_append *append = producer->unused.first;
        list_remove(&producer->unused, append);
        free(append);
    }
}
