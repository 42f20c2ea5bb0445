/* SPDX-License-Identifier: Apache-2.0 */
/* See reply_watch.h. */
#include "cli/submit/reply_watch.h"

#include "platform/hash_table.h"
#include "replica/cluster/schema_registry.h"
#include "schemas/json/kafka_json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <utlist.h>

enum { METADATA_MS = 5000, OFFSETS_MS = 15000 };

struct partition_reader {
    struct partition_reader *next;
    struct reply_watch *watch;
    const char *topic;
    int32_t partition;
    struct broker_reader *reader; /* NULL: `held_up` */
    bool held_up;                 /* the schema registry is to answer first */
    int64_t position;             /* where it goes on then */
    bool answered;
    struct error error;
};

struct reply_topic {
    struct reply_topic *next;
    char name[TOPIC_NAME_SIZE];
};

struct awaited {
    bool ended;
    uint64_t version; /* the newest seen */
    int64_t position;
    UT_hash_handle hh;
    uint32_t size;
    char order_id[];
};

struct reply_watch {
    struct cli_session *session;
    reply_watch_status status;
    void *ctx;
    struct reply_topic *topics;
    struct partition_reader *readers;
    struct awaited *orders; /* by id */
    uint64_t open;
    uint64_t processed;
    uint64_t others;
    struct error error; /* OK, or why no status can be read */
    struct heap_arena heap;
};

static void on_registry_changed(void *ctx);

struct reply_watch *reply_watch_new(struct cli_session *session, reply_watch_status status,
                                    void *ctx)
{
    struct reply_watch *watch = calloc(1, sizeof(*watch));
    assert(watch != NULL);
    watch->session = session;
    watch->status = status;
    watch->ctx = ctx;
    heap_arena_init(&watch->heap, 16 * 1024);
    if (session->cluster->registry != NULL)
        schema_registry_on_change(session->cluster->registry, on_registry_changed, watch);
    return watch;
}

void reply_watch_free(struct reply_watch *watch)
{
    if (watch == NULL)
        return;
    if (watch->session->cluster->registry != NULL)
        schema_registry_on_change(watch->session->cluster->registry, NULL, NULL);
    while (watch->readers != NULL) {
        struct partition_reader *reader = watch->readers;
        broker_reader_close(reader->reader);
        LL_DELETE(watch->readers, reader);
        free(reader);
    }
    while (watch->topics != NULL) {
        struct reply_topic *topic = watch->topics;
        LL_DELETE(watch->topics, topic);
        free(topic);
    }
    struct awaited *order;
    struct awaited *next;
    HASH_ITER(hh, watch->orders, order, next) {
        HASH_DEL(watch->orders, order);
        free(order);
    }
    heap_arena_deinit(&watch->heap);
    free(watch);
}

/* ---- statuses ---- */

static bool ends(const struct status_update *status)
{
    return status->order_state == ORDER_PROCESSED || status->order_state == ORDER_COMPENSATED ||
           status->order_state == ORDER_ERROR || status->kind == STATUS_REJECTED;
}

/* Deliveries are repeated after crashes: a status that is not newer is known. */
static bool is_repeated(struct awaited *order, const struct status_update *status)
{
    bool decided = status->decision_offset >= 0; /* by a scheduler that states it */
    int64_t position = decided ? status->decision_offset : status->command_offset;
    bool repeated = order->version > 0 && status->order_version <= order->version &&
                    position <= order->position;
    if (!repeated) {
        order->version = status->order_version;
        order->position = position;
    }
    return repeated;
}

/* What follows waits as well: statuses come in their order. */
static void hold_up(struct partition_reader *reader, int64_t offset)
{
    broker_reader_close(reader->reader);
    reader->reader = NULL;
    reader->held_up = true;
    reader->position = offset;
}

/* Avro, or JSON (replies.json), which begins with a brace. NULL: something else. */
static const struct status_update *read_status(struct partition_reader *reader,
                                               const struct broker_record *record,
                                               struct record *decoded)
{
    struct reply_watch *watch = reader->watch;
    bool json = record->value.size > 0 && record->value.data[0] == '{';
    if (json)
        return kafka_json_read_status(record->value, &watch->heap.arena, &decoded->status_update,
                                      NULL) == ERROR_OK
                   ? &decoded->status_update
                   : NULL;
    const struct cluster *cluster = watch->session->cluster;
    uint32_t id;
    struct error error;
    enum error_class class =
        schema_registry_decode(cluster->registry, cluster->codec, record->value, true,
                               &watch->heap.arena, decoded, &error);
    if (class == ERROR_RETRY)
        hold_up(reader, record->offset);
    else if (class != ERROR_OK && cluster->registry == NULL && registered_peek(record->value, &id))
        watch->error = error;
    return class == ERROR_OK && decoded->kind == RECORD_STATUS_UPDATE ? &decoded->status_update
                                                                      : NULL;
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct partition_reader *reader = ctx;
    struct reply_watch *watch = reader->watch;
    struct record decoded;
    struct awaited *order = NULL;
    heap_arena_reset(&watch->heap);
    const struct status_update *status = read_status(reader, record, &decoded);
    if (status == NULL)
        return;
    HASH_FIND(hh, watch->orders, status->order_id.data, status->order_id.size, order);
    if (order == NULL || order->ended || is_repeated(order, status))
        return;
    watch->status(watch->ctx, status);
    if (!ends(status))
        return;
    assert(watch->open > 0);
    order->ended = true;
    watch->open--;
    if (status->order_state == ORDER_PROCESSED && status->kind != STATUS_REJECTED)
        watch->processed++;
    else
        watch->others++;
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void on_error(void *ctx, const struct error *error)
{
    (void)ctx;
    (void)error; /* the reader retries; a topic that was deleted ends in the timeout */
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void read_on(struct partition_reader *reader)
{
    reader->held_up = false;
    reader->reader = broker_read(reader->watch->session->cluster->broker, reader->topic,
                                 reader->partition, reader->position, &reader_ops, reader);
}

static void on_registry_changed(void *ctx)
{
    struct reply_watch *watch = ctx;
    struct partition_reader *reader;
    LL_FOREACH(watch->readers, reader) {
        if (reader->held_up)
            read_on(reader);
    }
}

/* ---- topics ---- */

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct partition_reader *reader = ctx;
    (void)low;
    reader->answered = true;
    reader->position = high;
    reader->error = *error;
}

static bool is_answered(void *ctx)
{
    const struct partition_reader *reader = ctx;
    return reader->answered;
}

static enum error_class open_reader(struct reply_watch *watch, const char *topic, int32_t partition,
                                    struct error *ret_error)
{
    struct broker *broker = watch->session->cluster->broker;
    struct partition_reader *reader = calloc(1, sizeof(*reader));
    assert(reader != NULL);
    reader->watch = watch;
    reader->topic = topic;
    reader->partition = partition;
    LL_PREPEND(watch->readers, reader);
    broker_offsets(broker, topic, partition, on_offsets, reader);
    /* The broker answers, if only with a timeout. */
    while (!cli_session_wait(watch->session, is_answered, reader, OFFSETS_MS))
        ;
    if (reader->error.class != ERROR_OK) {
        *ret_error = reader->error;
        return reader->error.class;
    }
    read_on(reader);
    return ERROR_OK;
}

enum error_class reply_watch_topic(struct reply_watch *watch, struct text topic,
                                   struct error *ret_error)
{
    struct reply_topic *known;
    LL_FOREACH(watch->topics, known) {
        if (text_equal(text_of(known->name), topic))
            return ERROR_OK;
    }
    if (!topics_is_reply(&watch->session->cluster->topics, topic))
        return error_set(ret_error, CODE_BAD_REPLY_TOPIC,
                         "reply_to must be %s.replies.APPLICATION, not \"%.*s\"",
                         watch->session->cluster->topics.prefix, TEXT_ARG(topic));
    known = calloc(1, sizeof(*known));
    assert(known != NULL);
    memcpy(known->name, topic.data, topic.size);
    LL_PREPEND(watch->topics, known);
    int32_t count =
        broker_partition_count(watch->session->cluster->broker, known->name, METADATA_MS);
    if (count <= 0)
        return error_set_as(
            ret_error, count < 0 ? ERROR_RETRY : ERROR_REJECT, CODE_UNKNOWN_REPLY_TOPIC,
            count < 0 ? "the broker does not report whether topic %s exists"
                      : "topic %s does not exist: create it with `reeve topics apply "
                        "--app NAME`",
            known->name);
    enum error_class class = ERROR_OK;
    for (int32_t p = 0; p < count && class == ERROR_OK; p++)
        class = open_reader(watch, known->name, p, ret_error);
    return class;
}

void reply_watch_order(struct reply_watch *watch, struct text order_id)
{
    struct awaited *order = NULL;
    HASH_FIND(hh, watch->orders, order_id.data, order_id.size, order);
    if (order != NULL)
        return;
    order = calloc(1, sizeof(*order) + order_id.size);
    assert(order != NULL);
    memcpy(order->order_id, order_id.data, order_id.size);
    order->size = order_id.size;
    HASH_ADD(hh, watch->orders, order_id, order_id.size, order);
    watch->open++;
    assert(watch->open + watch->processed + watch->others == HASH_COUNT(watch->orders));
}

static bool is_over(void *ctx)
{
    const struct reply_watch *watch = ctx;
    return watch->open == 0 || error_is(&watch->error);
}

enum error_class reply_watch_wait(struct reply_watch *watch, int64_t timeout_ms,
                                  struct error *ret_error)
{
    assert(timeout_ms > 0);
    bool over = cli_session_wait(watch->session, is_over, watch, timeout_ms);
    if (over && error_is(&watch->error))
        *ret_error = watch->error;
    if (over)
        return watch->error.class;
    char trouble[ERROR_MESSAGE_SIZE];
    if (schema_registry_trouble(watch->session->cluster->registry, trouble, sizeof(trouble)))
        return error_set(ret_error, CODE_NOT_ENDED, "%s", trouble);
    return error_set(ret_error, CODE_NOT_ENDED, "%" PRIu64 " orders have not ended in time",
                     watch->open);
}

uint64_t reply_watch_others(const struct reply_watch *watch)
{
    return watch->others;
}
