/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: one consumer for all readers, which assigns partitions and joins no group. Each
 * partition keeps a queue of its own (nothing is forwarded to the consumer's), which its reader
 * drains. A reader that is paused for a moment just does not drain: fetched records stay in order.
 * librdkafka stops fetching at the queue's limit, which counts values only; so a reader that stays
 * paused gives up what was fetched and begins again later, whatever the keys and headers take.
 *
 * Records of an earlier reader of the same partition never arrive: librdkafka drops what is older
 * than the last assignment of the partition, and `next_offset` guards the rest. */
#include "kafka/client_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OFFSETS_MS = 2000, RELEASE_MS = 200 };

rd_kafka_conf_t *kafka_reader_conf(const struct kafka_client *kafka, struct error *ret_error)
{
    rd_kafka_conf_t *conf = kafka_conf_new(kafka, "reader", ret_error);
    if (conf == NULL)
        return NULL;
    kafka_conf_consumer(conf);
    kafka_conf_set(conf, "group.id", "reeve-reader"); /* required for assigning; never joined */
    kafka_conf_set(conf, "enable.partition.eof", "true");
    kafka_conf_set(conf, "queued.min.messages", "10000000"); /* only bytes limit it */
    kafka_conf_set_int(conf, "topic.metadata.propagation.max.ms", kafka->unknown_topic_ms);
    kafka_conf_set_int(conf, "queued.max.messages.kbytes", kafka->read_queue_bytes / 1024 + 1);
    rd_kafka_conf_set_events(conf, kafka_common_events(kafka));
    return conf;
}

void kafka_conf_consumer(rd_kafka_conf_t *conf)
{
    kafka_conf_set(conf, "enable.auto.commit", "false");
    kafka_conf_set(conf, "enable.auto.offset.store", "false");
    kafka_conf_set(conf, "auto.offset.reset", "error");
}

/* ---- records ---- */

/* Even of a record without headers, librdkafka makes a buffer to find that out: a tenth of what it
 * costs to replay a log. So a reader that has no use for them skips them. */
static void take_headers(const rd_kafka_message_t *message, struct broker_record *record)
{
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size;
    if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         i++) {
        struct broker_header header = {text_of(name), {value, (uint32_t)size}};
        record->meta_bytes += header.name.size + header.value.size;
        if (i < BROKER_HEADERS_MAX)
            record->headers[record->header_count++] = header;
    }
}

static void pass_on(struct kafka_reader *reader, const rd_kafka_message_t *message)
{
    struct broker_record record;
    if (message->offset < reader->next_offset)
        return;
    reader->next_offset = message->offset + 1;
    reader->last_offset = message->offset;
    record.topic = reader->topic;
    record.partition = reader->partition;
    record.offset = message->offset;
    record.timestamp = rd_kafka_message_timestamp(message, NULL);
    record.key = (struct text){message->key, (uint32_t)message->key_len};
    record.value = (struct text){message->payload, (uint32_t)message->len};
    record.header_count = 0;
    record.meta_bytes = record.key.size;
    if (!reader->base.skips_headers)
        take_headers(message, &record);
    reader->bytes_since_wake += record.value.size + record.meta_bytes;
    reader->ops->record(reader->ctx, &record);
}

/* ---- errors ---- */

static void stop_reading(struct kafka_reader *reader)
{
    struct kafka_client *kafka = reader->kafka;
    loop_timer_cancel(kafka->loop, &reader->unknown_timer);
    loop_timer_cancel(kafka->loop, &reader->release_timer);
    loop_defer_cancel(kafka->loop, &reader->more);
    if (reader->queue == NULL)
        return;
    rd_kafka_queue_io_event_enable(reader->queue, -1, NULL, 0);
    if (reader->queue != reader->serving)
        rd_kafka_queue_destroy(reader->queue);
    reader->queue = NULL;
    loop_wakeup_close(&reader->wakeup);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, reader->topic, reader->partition);
    rd_kafka_error_t *error = rd_kafka_incremental_unassign(kafka->reader_handle.rk, list);
    assert(error == NULL);
    rd_kafka_topic_partition_list_destroy(list);
}

static void report_fatal(struct kafka_reader *reader, rd_kafka_resp_err_t code)
{
    struct error error;
    stop_reading(reader);
    kafka_error_set(&error, code, "read", reader->topic, reader->partition);
    error.class = ERROR_FATAL;
    reader->ops->error(reader->ctx, &error);
}

static void report(struct kafka_reader *reader, rd_kafka_resp_err_t code)
{
    struct error error;
    enum error_class class =
        kafka_error_set(&error, code, "read", reader->topic, reader->partition);
    bool unknown = error.code == CODE_UNKNOWN_TOPIC;
    if (class != ERROR_RETRY && !unknown) {
        report_fatal(reader, code);
        return;
    }
    if (unknown && loop_timer_armed(&reader->unknown_timer))
        return;
    if (unknown)
        loop_timer_after(reader->kafka->loop, &reader->unknown_timer,
                         reader->kafka->unknown_topic_ms);
    error.class = ERROR_RETRY;
    reader->ops->error(reader->ctx, &error);
}

/* Ends a callback, which may have closed the reader. False: it did, and the reader is freed. */
static bool leave_callback(struct kafka_reader *reader)
{
    reader->draining = false;
    if (!reader->closed)
        return true;
    free(reader);
    return false;
}

static void on_unknown_timer(void *ctx)
{
    struct kafka_reader *reader = ctx;
    if (reader->paused) {
        reader->open_error = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
        return;
    }
    reader->draining = true;
    report_fatal(reader, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC);
    leave_callback(reader);
}

static void on_release_timer(void *ctx)
{
    struct kafka_reader *reader = ctx;
    assert(reader->paused);
    /* A missing topic and the search for the end of a batch have a state of their own. */
    if (reader->queue == NULL || reader->bad.from >= 0 ||
        loop_timer_armed(&reader->unknown_timer) || reader->open_error != 0)
        return;
    stop_reading(reader);
    reader->released = true;
}

/* ---- watermarks ---- */

struct offsets_query;

/* One of the two watermarks. */
struct offset_job {
    struct kafka_job job;
    struct offsets_query *query;
    int64_t logical;
    int64_t offset;
    rd_kafka_resp_err_t code;
};

struct offsets_query {
    struct offset_job low;
    struct offset_job high;
    uint32_t left;              /* jobs without a result */
    struct kafka_client *kafka; /* not for the jobs' threads */
    rd_kafka_t *rk;
    int32_t partition;
    broker_offsets_done done;
    void *ctx;
    char topic[];
};

/* rd_kafka_query_watermark_offsets() waits for a dead leader until it is back, whatever the timeout
 * (librdkafka before 2.3). */
static void offset_run(struct kafka_job *base)
{
    struct offset_job *job = (struct offset_job *)base;
    const struct offsets_query *query = job->query;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, query->topic, query->partition)->offset = job->logical;
    job->code = rd_kafka_offsets_for_times(query->rk, list, OFFSETS_MS);
    if (job->code == RD_KAFKA_RESP_ERR_NO_ERROR)
        job->code = list->elems[0].err;
    job->offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
}

static void offset_done(struct kafka_job *base)
{
    struct offsets_query *query = ((struct offset_job *)base)->query;
    struct error error = {.class = ERROR_OK};
    if (--query->left > 0)
        return;
    rd_kafka_resp_err_t code =
        query->low.code != RD_KAFKA_RESP_ERR_NO_ERROR ? query->low.code : query->high.code;
    kafka_note_answer(query->kafka, query->topic, query->partition, code);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        kafka_error_set(&error, code, "offsets of", query->topic, query->partition);
    if (query->done != NULL)
        query->done(query->ctx, query->low.offset, query->high.offset, &error);
    free(query);
}

static void submit_offset(struct kafka_client *kafka, struct offsets_query *query,
                          struct offset_job *job, int64_t logical)
{
    bool doubtful = kafka_is_silent(kafka, query->topic, query->partition);
    *job = (struct offset_job){.job = {offset_run, offset_done, doubtful, NULL},
                               .query = query,
                               .logical = logical,
                               .offset = -1};
    query->left++;
    kafka_jobs_submit(&kafka->jobs, &job->job);
}

/* Queries both at once: the leader answers after the fetch that waits there, so that one after the
 * other would wait for two fetches. */
void kafka_offsets(struct broker *broker, const char *topic, int32_t partition,
                   broker_offsets_done done, void *ctx)
{
    struct kafka_client *kafka = kafka_of(broker);
    size_t size = strlen(topic) + 1;
    struct offsets_query *query = calloc(1, sizeof(*query) + size);
    assert(query != NULL);
    query->kafka = kafka;
    query->rk = kafka->reader_handle.rk;
    query->partition = partition;
    query->done = done;
    query->ctx = ctx;
    memcpy(query->topic, topic, size);
    if (done != NULL)
        submit_offset(kafka, query, &query->low, RD_KAFKA_OFFSET_BEGINNING);
    submit_offset(kafka, query, &query->high, RD_KAFKA_OFFSET_END);
}

/* When a queue is full, librdkafka 2.0's thread of that broker sleeps up to a second, however soon
 * the queue is drained, unless it gets another request. So the reader queries the watermarks four
 * times per queue. Without this a slow reader gets one queue per second. */
static void wake_fetcher(struct kafka_reader *reader)
{
    struct kafka_client *kafka = reader->kafka;
    if (reader->bytes_since_wake < (uint64_t)kafka->read_queue_bytes / 4)
        return;
    reader->bytes_since_wake = 0;
    kafka_offsets(&kafka->base, reader->topic, reader->partition, NULL, NULL);
}

/* ---- draining ---- */

static void take_end(struct kafka_reader *reader, int64_t offset)
{
    if (offset < reader->next_offset || offset == reader->end_reported)
        return;
    reader->end_seen = true;
    reader->bytes_since_wake = 0;
    if (reader->ops->end != NULL)
        reader->ops->end(reader->ctx, offset);
}

/* librdkafka reports the end after an empty fetch, which the broker delays. The first end is
 * reported right after the last record: a caller may wait for it before it starts. */
static void report_first_end(struct kafka_reader *reader)
{
    int64_t low;
    int64_t high;
    if (reader->end_seen || reader->last_offset < 0 ||
        rd_kafka_get_watermark_offsets(reader->kafka->reader_handle.rk, reader->topic,
                                       reader->partition, &low,
                                       &high) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        high != reader->last_offset + 1)
        return;
    reader->end_seen = true;
    reader->end_reported = high;
    if (reader->ops->end != NULL)
        reader->ops->end(reader->ctx, high);
}

static rd_kafka_resp_err_t start_reading(struct kafka_reader *reader, int64_t offset);

void kafka_reader_restart(struct kafka_reader *reader, int64_t offset)
{
    stop_reading(reader);
    reader->open_error = start_reading(reader, offset);
}

static bool ends_probe(bool record, rd_kafka_resp_err_t code)
{
    return record || code == RD_KAFKA_RESP_ERR__PARTITION_EOF ||
           code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET;
}

static void take(struct kafka_reader *reader, const rd_kafka_message_t *message)
{
    rd_kafka_resp_err_t code = message->err;
    bool record = code == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET && reader->tries_zero) {
        reader->tries_zero = false;
        kafka_reader_restart(reader, RD_KAFKA_OFFSET_BEGINNING);
        return;
    }
    if (code == RD_KAFKA_RESP_ERR__BAD_COMPRESSION && reader->base.unreadable != NULL) {
        kafka_unreadable_batch(reader, message->offset);
        return;
    }
    if (reader->bad.from >= 0 && ends_probe(record, code) && !kafka_unreadable_passed(reader))
        return;
    if (!record && code != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        report(reader, code);
        return;
    }
    loop_timer_cancel(reader->kafka->loop, &reader->unknown_timer);
    kafka_alive(reader->kafka);
    reader->tries_zero = false; /* what is out of range from now on was lost */
    if (record)
        pass_on(reader, message);
    else
        take_end(reader, message->offset);
}

/* One of those that rd_kafka_consume_callback_queue() has taken from the queue. It puts back the
 * others, in order, when this one yields. */
static void on_message(rd_kafka_message_t *message, void *opaque)
{
    struct kafka_reader *reader = opaque;
    assert(reader->draining && reader->left > 0);
    reader->left--;
    take(reader, message);
    if (reader->left == 0 || reader->queue != reader->serving || reader->paused)
        rd_kafka_yield(reader->kafka->reader_handle.rk);
}

/* One call for all messages: to take each of them as an event costs twice the locks. (That of
 * librdkafka for batches would wait, and lose messages around a seek.) False: there may be more. */
static bool serve(struct kafka_reader *reader)
{
    reader->serving = reader->queue;
    rd_kafka_consume_callback_queue(reader->serving, 0, on_message, reader);
    bool same = reader->queue == reader->serving;
    if (!same)
        rd_kafka_queue_destroy(reader->serving); /* stop_reading() left it to us */
    reader->serving = NULL;
    return same && reader->left > 0;
}

static void drain_reader(void *ctx)
{
    struct kafka_reader *reader = ctx;
    bool all = true;
    reader->left = reader->kafka->events_per_turn;
    reader->draining = true;
    if (reader->open_error != RD_KAFKA_RESP_ERR_NO_ERROR && !reader->paused) {
        rd_kafka_resp_err_t code = reader->open_error;
        reader->open_error = RD_KAFKA_RESP_ERR_NO_ERROR;
        report_fatal(reader, code);
    }
    if (reader->queue != NULL && !reader->paused) {
        all = serve(reader);
        if (all && !reader->paused && reader->bad.from < 0)
            report_first_end(reader);
    }
    if (!leave_callback(reader) || reader->queue == NULL)
        return;
    wake_fetcher(reader);
    if (!all)
        loop_defer(reader->kafka->loop, &reader->more);
}

/* ---- opening and closing ---- */

static struct kafka_reader *new_reader(struct kafka_client *kafka, const char *topic,
                                       int32_t partition)
{
    size_t size = strlen(topic) + 1;
    struct kafka_reader *reader = calloc(1, sizeof(*reader) + size + sizeof(partition));
    struct kafka_reader *other;
    assert(reader != NULL);
    reader->base.broker = &kafka->base;
    reader->kafka = kafka;
    reader->partition = partition;
    reader->wakeup.fd = -1;
    reader->key_size = (uint32_t)(size + sizeof(partition));
    memcpy(reader->topic, topic, size);
    memcpy(reader->topic + size, &partition, sizeof(partition));
    HASH_FIND(hh, kafka->readers, reader->topic, reader->key_size, other);
    assert(other == NULL); /* one reader per topic and partition */
    HASH_ADD_KEYPTR(hh, kafka->readers, reader->topic, reader->key_size, reader);
    loop_deferred_init(&reader->more, drain_reader, reader);
    loop_timer_init(&reader->unknown_timer, on_unknown_timer, reader);
    loop_timer_init(&reader->release_timer, on_release_timer, reader);
    return reader;
}

static rd_kafka_resp_err_t start_reading(struct kafka_reader *reader, int64_t offset)
{
    static const uint64_t one = 1;
    struct kafka_client *kafka = reader->kafka;
    struct error error;
    rd_kafka_t *rk = kafka->reader_handle.rk;
    rd_kafka_queue_t *queue = rd_kafka_queue_get_partition(rk, reader->topic, reader->partition);
    if (queue == NULL)
        return RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
    enum error_class class =
        loop_wakeup_open(kafka->loop, &reader->wakeup, drain_reader, reader, &error);
    assert(class == ERROR_OK);
    rd_kafka_queue_forward(queue, NULL);
    rd_kafka_queue_io_event_enable(queue, reader->wakeup.fd, &one, sizeof(one));
    reader->queue = queue;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, reader->topic, reader->partition)->offset = offset;
    rd_kafka_error_t *assign_error = rd_kafka_incremental_assign(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    assert(assign_error == NULL);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* The earliest record of most partitions is at offset 0. A query for it costs a round trip, and
 * half a second if librdkafka does not know the leader yet, so the reader makes one only if offset
 * 0 does not exist any more. */
struct broker_reader *kafka_read(struct broker *broker, const char *topic, int32_t partition,
                                 int64_t offset, const struct broker_reader_ops *ops, void *ctx)
{
    struct kafka_client *kafka = kafka_of(broker);
    struct kafka_reader *reader = new_reader(kafka, topic, partition);
    reader->ops = ops;
    reader->ctx = ctx;
    reader->tries_zero = offset == BROKER_EARLIEST;
    reader->next_offset = reader->tries_zero ? 0 : offset;
    reader->last_offset = -1;
    reader->end_reported = -1;
    reader->bad.from = -1;
    reader->open_error = start_reading(reader, reader->next_offset);
    loop_defer(kafka->loop, &reader->more);
    return &reader->base;
}

void kafka_reader_pause(struct broker_reader *base, bool paused)
{
    struct kafka_reader *reader = (struct kafka_reader *)base;
    assert(!reader->closed);
    struct loop *loop = reader->kafka->loop;
    if (paused == reader->paused)
        return;
    reader->paused = paused;
    if (paused) {
        loop_timer_after(loop, &reader->release_timer, RELEASE_MS);
        return;
    }
    loop_timer_cancel(loop, &reader->release_timer);
    if (reader->released)
        reader->open_error = start_reading(reader, reader->next_offset);
    reader->released = false;
    loop_defer(loop, &reader->more);
}

void kafka_reader_close(struct broker_reader *base)
{
    struct kafka_reader *reader = (struct kafka_reader *)base;
    assert(!reader->closed);
    reader->closed = true;
    stop_reading(reader);
    loop_defer_cancel(reader->kafka->loop, &reader->more);
    HASH_DEL(reader->kafka->readers, reader);
    if (!reader->draining)
        free(reader);
}
