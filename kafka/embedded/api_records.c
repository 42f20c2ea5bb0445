/* SPDX-License-Identifier: Apache-2.0 */
/* Records: appending, reading, positions, deleting. */
#include "kafka/embedded/api.h"
#include "platform/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NO_LEADER_EPOCH = -1,
    BATCH_MAX_DEFAULT = 1048588, /* max.message.bytes, as Kafka's */
    FETCH_MAX = 50 << 20,        /* bytes of one answer */
    REPORT_INTERVAL_MS = 60000,
};

static int64_t now_ms(const struct embedded_node *broker)
{
    return clock_wall_ms(loop_clock(broker->loop));
}

/* ---- Produce ---- */

static void report_full(struct embedded_node *broker, const struct topic *topic, int32_t partition)
{
    char line[512];
    int64_t now = loop_now_ms(broker->loop);
    const struct partition_log *log = topic->partitions[partition].log;
    if (broker->report == NULL ||
        (broker->reported_ms != 0 && now - broker->reported_ms < REPORT_INTERVAL_MS))
        return;
    broker->reported_ms = now;
    snprintf(line, sizeof(line),
             "the embedded broker cannot append to partition %" PRId32
             " of %s, which holds %" PRId64 " records (%" PRIu64
             " MiB): it is full, or the disk is. Nothing is lost, and nothing "
             "more is accepted there",
             partition, topic->name, partition_log_end(log) - partition_log_start(log).offset,
             partition_log_bytes(log) >> 20);
    broker->report(broker->report_ctx, line);
}

static size_t batch_max(const struct topic *topic)
{
    const char *set = topic_setting(topic, "max.message.bytes");
    long long size = set != NULL ? strtoll(set, NULL, 10) : BATCH_MAX_DEFAULT;
    return size > 0 ? (size_t)size : 0;
}

static rd_kafka_resp_err_t append(struct embedded_node *broker, struct text name, int32_t partition,
                                  struct text records, int64_t *ret_offset, int64_t *ret_time_ms)
{
    struct partition_log *log = catalogue_partition(broker->catalogue, name, partition);
    if (log == NULL)
        return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    const struct topic *topic = catalogue_topic(broker->catalogue, name);
    int64_t time_ms = topic_has_append_time(topic) ? now_ms(broker) : 0;
    /* In the connection's own memory, which may change. */
    struct buffer batch = {(uint8_t *)(uintptr_t)records.data, records.size, records.size};
    if (batch.size > batch_max(topic))
        return RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    rd_kafka_resp_err_t code = partition_log_append(log, &batch, time_ms, ret_offset);
    if (code == RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR)
        report_full(broker, topic, partition);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        *ret_time_ms = time_ms != 0 ? time_ms : -1;
        loop_defer(broker->loop, &broker->appended);
    }
    return code;
}

static void produce_partition(struct call *call, struct text topic, const void *ctx)
{
    bool transactional = *(const bool *)ctx;
    int64_t offset = -1;
    int64_t time_ms = -1;
    int32_t partition = wire_i32(&call->in);
    struct text records = wire_bytes(&call->in);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_INVALID_REQUEST;
    if (!transactional && !call->in.bad)
        code = append(call->broker, topic, partition, records, &offset, &time_ms);
    const struct partition_log *log =
        catalogue_partition(call->broker->catalogue, topic, partition);
    wire_put_i32(call->out, partition);
    wire_put_i16(call->out, (int16_t)code);
    wire_put_i64(call->out, offset);
    if (call->version >= 2)
        wire_put_i64(call->out, time_ms);
    if (call->version >= 5)
        wire_put_i64(call->out, log != NULL ? partition_log_start(log).offset : -1);
    if (call->version >= 8) {
        wire_put_i32(call->out, 0); /* errors of single records */
        wire_put_string(call->out, transactional ? TEXT("the embedded broker has no transactions")
                                                 : (struct text){0});
    }
}

enum api_result api_produce(struct call *call)
{
    bool transactional = call->version >= 3 && wire_string(&call->in).data != NULL;
    int16_t acks = wire_i16(&call->in);
    wire_i32(&call->in); /* the time that replicas have */
    api_each_partition(call, 8, produce_partition, &transactional);
    if (call->version >= 1)
        wire_put_i32(call->out, 0); /* throttled for */
    return acks == 0 ? API_SILENT : API_ANSWERED;
}

/* ---- Fetch ---- */

struct fetch_answer {
    struct call *call;
    size_t left; /* bytes that the answer may still hold */
    size_t found;
    bool failed; /* an error is answered at once */
};

/* Finds out whether there is something to read, or writes it. */
static void fetch_partition(struct fetch_answer *fetch, struct text topic, bool write)
{
    struct call *call = fetch->call;
    int32_t partition = wire_i32(&call->in);
    if (call->version >= 9)
        wire_i32(&call->in); /* the leader's epoch that the client knows */
    int64_t offset = wire_i64(&call->in);
    if (call->version >= 5)
        wire_i64(&call->in); /* where a follower's log begins */
    int32_t max = wire_i32(&call->in);
    const struct partition_log *log =
        catalogue_partition(call->broker->catalogue, topic, partition);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (log == NULL)
        code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    else if (offset < partition_log_start(log).offset || offset > partition_log_end(log))
        code = RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
    size_t size = 0;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && max > 0 && fetch->left > 0)
        size = partition_log_readable(log, offset,
                                      (size_t)max < fetch->left ? (size_t)max : fetch->left);
    if (size > fetch->left && fetch->found > 0)
        size = 0; /* only the first batch of an answer may be larger */
    fetch->failed = fetch->failed || code != RD_KAFKA_RESP_ERR_NO_ERROR;
    fetch->found += size;
    fetch->left -= size < fetch->left ? size : fetch->left;
    if (!write)
        return;
    int64_t end = log != NULL ? partition_log_end(log) : -1;
    wire_put_i32(call->out, partition);
    wire_put_i16(call->out, (int16_t)code);
    wire_put_i64(call->out, end); /* the high watermark, then the last stable offset */
    wire_put_i64(call->out, end);
    if (call->version >= 5)
        wire_put_i64(call->out, log != NULL ? partition_log_start(log).offset : -1);
    wire_put_i32(call->out, -1); /* aborted transactions */
    if (call->version >= 11)
        wire_put_i32(call->out, -1); /* a replica to read from instead */
    size_t at = call->out->size;
    wire_put_i32(call->out, (int32_t)size);
    if (size > 0 && !partition_log_read(log, offset, size, call->out))
        wire_set_i32(call->out, at, 0);
}

static void fetch_topics(struct fetch_answer *fetch, bool write)
{
    struct call *call = fetch->call;
    int32_t topics = wire_count(&call->in, 6);
    if (write)
        wire_put_i32(call->out, topics);
    for (int32_t i = 0; i < topics; i++) {
        struct text topic = wire_string(&call->in);
        int32_t partitions = wire_count(&call->in, 16);
        if (write) {
            wire_put_string(call->out, topic);
            wire_put_i32(call->out, partitions);
        }
        for (int32_t p = 0; p < partitions; p++)
            fetch_partition(fetch, topic, write);
    }
}

static void on_fetch_time(void *ctx)
{
    struct peer *peer = ctx;
    api_handle(peer->owner, peer);
}

/* Waits until there are `min_bytes`, or the time is up. */
static bool must_wait(const struct call *call, const struct fetch_answer *fetch, int32_t wait_ms,
                      int32_t min_bytes)
{
    struct peer *peer = call->peer;
    struct loop *loop = call->broker->loop;
    bool first = peer->owner == NULL;
    if (call->in.bad || fetch->failed || min_bytes <= 0 || fetch->found >= (size_t)min_bytes)
        return false;
    if (wait_ms <= 0 || (!first && loop_now_ms(loop) >= peer->timer.due_ms))
        return false;
    if (first) {
        peer->owner = call->broker;
        loop_timer_init(&peer->timer, on_fetch_time, peer);
        loop_timer_after(loop, &peer->timer, wait_ms);
    }
    return true;
}

enum api_result api_fetch(struct call *call)
{
    wire_i32(&call->in); /* a follower's id */
    int32_t wait_ms = wire_i32(&call->in);
    int32_t min_bytes = wire_i32(&call->in);
    int32_t max_bytes = wire_i32(&call->in);
    wire_i8(&call->in); /* isolation: there are no transactions */
    if (call->version >= 7)
        wire_i64(&call->in); /* a session's id and epoch: there are none */
    struct wire topics = call->in;
    size_t left = max_bytes < 0 ? 0 : max_bytes < FETCH_MAX ? (size_t)max_bytes : FETCH_MAX;
    struct fetch_answer fetch = {.call = call, .left = left};
    fetch_topics(&fetch, false);
    if (must_wait(call, &fetch, wait_ms, min_bytes))
        return API_LATER;
    loop_timer_cancel(call->broker->loop, &call->peer->timer);
    call->peer->owner = NULL;
    wire_put_i32(call->out, 0); /* throttled for */
    if (call->version >= 7) {
        wire_put_i16(call->out, RD_KAFKA_RESP_ERR_NO_ERROR);
        wire_put_i32(call->out, 0); /* the session's id */
    }
    bool bad = call->in.bad;
    call->in = topics;
    fetch = (struct fetch_answer){.call = call, .left = left};
    fetch_topics(&fetch, true);
    call->in.bad = bad;
    return API_ANSWERED;
}

void api_serve_fetches(void *ctx)
{
    struct embedded_node *broker = ctx;
    struct peer *next;
    for (struct peer *peer = peers_next(broker->peers, NULL); peer != NULL; peer = next) {
        next = peers_next(broker->peers, peer);
        if (peer->owner == broker)
            api_handle(broker, peer);
    }
}

/* ---- positions ---- */

static void list_offset(struct call *call, struct text topic, const void *ctx)
{
    enum { LATEST = -1, EARLIEST = -2 };
    (void)ctx;
    int64_t time_ms = -1;
    int64_t offset = -1;
    int32_t partition = wire_i32(&call->in);
    if (call->version >= 4)
        wire_i32(&call->in); /* the leader's epoch that the client knows */
    int64_t wanted_ms = wire_i64(&call->in);
    if (call->version == 0)
        wire_i32(&call->in); /* how many at most */
    const struct partition_log *log =
        catalogue_partition(call->broker->catalogue, topic, partition);
    if (log != NULL && wanted_ms == LATEST)
        offset = partition_log_end(log);
    else if (log != NULL && wanted_ms == EARLIEST)
        offset = partition_log_start(log).offset;
    else if (log != NULL)
        offset = partition_log_at_time(log, wanted_ms, &time_ms);
    wire_put_i32(call->out, partition);
    wire_put_i16(call->out, log != NULL ? RD_KAFKA_RESP_ERR_NO_ERROR
                                        : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    if (call->version == 0)
        wire_put_i32(call->out, 1);
    else
        wire_put_i64(call->out, time_ms);
    wire_put_i64(call->out, offset);
    if (call->version >= 4)
        wire_put_i32(call->out, NO_LEADER_EPOCH);
}

enum api_result api_list_offsets(struct call *call)
{
    wire_i32(&call->in); /* a follower's id */
    if (call->version >= 2) {
        wire_i8(&call->in); /* isolation */
        wire_put_i32(call->out, 0);
    }
    api_each_partition(call, 12, list_offset, NULL);
    return API_ANSWERED;
}

/* ---- deleting ---- */

static void delete_records(struct call *call, struct text name, const void *ctx)
{
    enum { TO_THE_END = -1 };
    (void)ctx;
    int32_t partition = wire_i32(&call->in);
    int64_t offset = wire_i64(&call->in);
    struct topic *topic = catalogue_topic(call->broker->catalogue, name);
    struct partition_log *log = catalogue_partition(call->broker->catalogue, name, partition);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (log != NULL) {
        int64_t end = partition_log_end(log);
        offset = offset == TO_THE_END ? end : offset;
        code = offset < 0 || offset > end
                   ? RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE
                   : catalogue_delete_records(call->broker->catalogue, topic, partition, offset);
    }
    wire_put_i32(call->out, partition);
    wire_put_i64(call->out, log != NULL ? partition_log_start(log).offset : -1);
    wire_put_i16(call->out, (int16_t)code);
}

enum api_result api_delete_records(struct call *call)
{
    wire_put_i32(call->out, 0); /* throttled for */
    api_each_partition(call, 12, delete_records, NULL);
    return API_ANSWERED;
}

/* ---- producers ---- */

enum api_result api_init_producer(struct call *call)
{
    bool transactional = wire_string(&call->in).data != NULL;
    wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i16(call->out,
                 transactional ? RD_KAFKA_RESP_ERR_INVALID_REQUEST : RD_KAFKA_RESP_ERR_NO_ERROR);
    wire_put_i64(call->out, transactional ? -1 : call->broker->next_producer++);
    wire_put_i16(call->out, transactional ? -1 : 0);
    return API_ANSWERED;
}
