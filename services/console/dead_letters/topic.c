/* SPDX-License-Identifier: Apache-2.0 */
/* See topic.h. */
#include "services/console/dead_letters/topic.h"

#include "platform/logger.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <utlist.h>

enum { REOPEN_MS = 3000, FETCH_MS = 10000, METADATA_MS = 3000 };

struct fetch {
    struct fetch *prev;
    struct fetch *next;
    int64_t offset;
    int64_t end;              /* of a range: before it */
    bool is_scan;             /* of a range, else of one record */
    bool is_first;            /* it began at the start of the log */
    bool has_records;         /* were read */
    dead_letter_fetched done; /* NULL: cancelled; likewise */
    dead_letter_each each;
    dead_letter_scanned scanned;
    void *ctx;
};

struct topic_partition {
    struct dead_letter_topic *topic;
    int32_t number;
    int64_t position; /* of the follower; -1: it asks where to begin */
    int64_t followed_from;
    int64_t known_from; /* see topic.h; likewise */
    int64_t low;
    bool asking;
    bool at_end; /* it was there once since it began */
    char trouble[ERROR_MESSAGE_SIZE];
    struct broker_reader *follower;
    struct broker_reader *fetcher; /* of the first fetch */
    struct fetch *fetches;
    struct loop_timer timer;   /* begins again, or goes on after a fetch */
    struct loop_timer timeout; /* of the first fetch */
};

struct dead_letter_topic {
    struct cluster *cluster;
    struct loop *loop;
    struct dead_letter_index *index;
    struct dead_letter_states *states;
    struct topic_partition *partitions;
    int32_t partition_count;
    uint32_t entries_max;
    bool closed;
    void (*moved)(void *ctx, int32_t partition);
    void *ctx;
    struct heap_arena heap;
};

/* ---- following ---- */

/* False: it is not a resolution. */
static bool take_resolution(struct dead_letter_topic *topic, const struct broker_record *record)
{
    struct record decoded;
    struct error error;
    heap_arena_reset(&topic->heap);
    if (codec_decode(topic->cluster->codec, record->value, true, &topic->heap.arena, &decoded,
                     &error) != ERROR_OK ||
        decoded.kind != RECORD_DEAD_LETTER_RESOLUTION ||
        decoded.dead_letter_resolution.partition != record->partition ||
        decoded.dead_letter_resolution.offset < 0)
        return false;
    const struct dead_letter_resolution *resolution = &decoded.dead_letter_resolution;
    enum dead_letter_state state = resolution->kind == DEAD_LETTER_REPLAYED
                                       ? DEAD_LETTER_STATE_REPLAYED
                                       : DEAD_LETTER_STATE_DISCARDED;
    dead_letter_index_resolve(topic->index, resolution, record->offset);
    if (!dead_letter_states_set(topic->states, record->partition, resolution->offset, state))
        log_warning_limited("too many dead letters: what was done to one is not remembered",
                            LOG_I64("partition", record->partition),
                            LOG_I64("offset", resolution->offset));
    return true;
}

/* What a record is. False: a resolution, which was taken, or nothing. */
static bool read_letter(struct dead_letter_topic *topic, const struct broker_record *record,
                        struct dead_letter_reading *ret_reading, bool *ret_is_ours)
{
    *ret_is_ours = dead_letter_read(record, ret_reading);
    if (*ret_is_ours)
        return true;
    return record->value.data != NULL && !take_resolution(topic, record);
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct topic_partition *partition = ctx;
    struct dead_letter_topic *topic = partition->topic;
    struct dead_letter_reading reading;
    bool is_ours;
    partition->position = record->offset + 1;
    if (read_letter(topic, record, &reading, &is_ours)) {
        if (!is_ours)
            log_warning_limited("not a dead letter of reeve", LOG_STR("topic", record->topic),
                                LOG_I64("partition", record->partition),
                                LOG_I64("offset", record->offset));
        dead_letter_index_add(topic->index, record, is_ours ? &reading : NULL);
    }
    topic->moved(topic->ctx, partition->number);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct topic_partition *partition = ctx;
    partition->position = next_offset;
    partition->at_end = true;
    partition->trouble[0] = '\0';
    partition->topic->moved(partition->topic->ctx, partition->number);
}

static void on_error(void *ctx, const struct error *error)
{
    struct topic_partition *partition = ctx;
    struct dead_letter_topic *topic = partition->topic;
    log_warning_limited("cannot read dead letters", LOG_I64("partition", partition->number),
                        LOG_ERR(error));
    snprintf(partition->trouble, sizeof(partition->trouble), "%s", error->message);
    if (error->class != ERROR_FATAL)
        return;
    /* The topic was created again, or its beginning expired while it was read. */
    broker_reader_close(partition->follower);
    partition->follower = NULL;
    partition->position = -1;
    partition->at_end = false;
    partition->known_from = -1;
    dead_letter_index_clear(topic->index, partition->number);
    dead_letter_states_clear(topic->states, partition->number);
    loop_timer_after(topic->loop, &partition->timer, REOPEN_MS);
}

static void on_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct topic_partition *partition = ctx;
    log_warning("dead letters that cannot be read are left out",
                LOG_I64("partition", partition->number), LOG_I64("offset", offset),
                LOG_I64("next_offset", next_offset));
    partition->position = next_offset;
    partition->topic->moved(partition->topic->ctx, partition->number);
}

static const struct broker_reader_ops follower_ops = {on_record, on_end, on_error};

static void go_on(void *ctx);

/* Older ones would be forgotten anyway: they are read when they are asked for. */
static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct topic_partition *partition = ctx;
    struct dead_letter_topic *topic = partition->topic;
    partition->asking = false;
    if (topic->closed)
        return;
    if (error != NULL && error_is(error)) {
        snprintf(partition->trouble, sizeof(partition->trouble), "%s", error->message);
        loop_timer_after(topic->loop, &partition->timer, REOPEN_MS);
        return;
    }
    int64_t first = high - (int64_t)topic->entries_max;
    partition->position = first > low ? first : low;
    partition->followed_from = partition->known_from = partition->position;
    partition->low = low;
    go_on(partition);
}

/* ---- fetching ---- */

static void end_fetch(struct topic_partition *partition, const struct broker_record *record,
                      const struct error *error)
{
    struct dead_letter_topic *topic = partition->topic;
    struct fetch *fetch = partition->fetches;
    assert(fetch != NULL);
    broker_reader_close(partition->fetcher);
    partition->fetcher = NULL;
    loop_timer_cancel(topic->loop, &partition->timeout);
    DL_DELETE(partition->fetches, fetch);
    if (fetch->is_scan && error == NULL && partition->known_from >= 0 &&
        fetch->end >= partition->known_from && fetch->offset < partition->known_from)
        partition->known_from = fetch->offset;
    if (fetch->done != NULL)
        fetch->done(fetch->ctx, record, error);
    if (fetch->scanned != NULL)
        fetch->scanned(fetch->ctx, fetch->is_first, error);
    free(fetch);
    loop_timer_after(topic->loop, &partition->timer, 0);
}

static void end_without(struct topic_partition *partition)
{
    struct error error;
    if (partition->fetches->is_scan) {
        end_fetch(partition, NULL, NULL);
        return;
    }
    error_set(&error, CODE_UNKNOWN_DEAD_LETTER,
              "%s has no record at %" PRId32 ":%" PRId64 " (any more)",
              partition->topic->cluster->topics.dead_letters, partition->number,
              partition->fetches->offset);
    end_fetch(partition, NULL, &error);
}

static void on_fetched(void *ctx, const struct broker_record *record)
{
    struct topic_partition *partition = ctx;
    struct fetch *fetch = partition->fetches;
    struct dead_letter_reading reading;
    bool is_ours;
    if (!fetch->is_scan && record->offset == fetch->offset) {
        end_fetch(partition, record, NULL);
        return;
    }
    if (fetch->is_first && !fetch->has_records && record->offset > partition->low)
        partition->low = record->offset;
    fetch->has_records = true;
    if (fetch->is_scan && record->offset < fetch->end &&
        read_letter(partition->topic, record, &reading, &is_ours) && fetch->each != NULL)
        fetch->each(fetch->ctx, record, is_ours ? &reading : NULL);
    if (!fetch->is_scan || record->offset >= fetch->end - 1)
        end_without(partition);
}

static void on_fetch_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct topic_partition *partition = ctx;
    (void)offset;
    if (next_offset >= partition->fetches->end)
        end_without(partition);
}

static void on_fetch_end(void *ctx, int64_t next_offset)
{
    (void)next_offset;
    end_without(ctx);
}

static void read_from_the_start(struct topic_partition *partition);

/* The oldest records expire: a range may begin before them. */
static void on_fetch_error(void *ctx, const struct error *error)
{
    struct topic_partition *partition = ctx;
    struct error later;
    if (error->class != ERROR_FATAL)
        return;
    if (error->code == CODE_OFFSET_OUT_OF_RANGE) {
        if (partition->fetches->is_scan)
            read_from_the_start(partition);
        else
            end_without(partition);
        return;
    }
    error_set(&later, CODE_NOT_READY, "%s", error->message);
    end_fetch(partition, NULL, &later);
}

static const struct broker_reader_ops fetcher_ops = {on_fetched, on_fetch_end, on_fetch_error};

static void open_fetcher(struct topic_partition *partition, int64_t offset)
{
    struct cluster *cluster = partition->topic->cluster;
    partition->fetcher = broker_read(cluster->broker, cluster->topics.dead_letters,
                                     partition->number, offset, &fetcher_ops, partition);
    if (partition->fetches->is_scan)
        broker_reader_skip_unreadable(partition->fetcher, on_fetch_unreadable);
}

static void read_from_the_start(struct topic_partition *partition)
{
    broker_reader_close(partition->fetcher);
    partition->fetches->is_first = true;
    open_fetcher(partition, BROKER_EARLIEST);
}

static void on_timeout(void *ctx)
{
    struct topic_partition *partition = ctx;
    struct error error;
    error_set(&error, CODE_NOT_READY, "partition %" PRId32 " of %s does not answer",
              partition->number, partition->topic->cluster->topics.dead_letters);
    end_fetch(partition, NULL, &error);
}

static void begin_fetch(struct topic_partition *partition)
{
    struct dead_letter_topic *topic = partition->topic;
    assert(partition->fetcher == NULL && partition->fetches != NULL);
    broker_reader_close(partition->follower);
    partition->follower = NULL;
    open_fetcher(partition, partition->fetches->offset);
    loop_timer_after(topic->loop, &partition->timeout, FETCH_MS);
}

/* What the partition's reader does next. */
static void go_on(void *ctx)
{
    struct topic_partition *partition = ctx;
    struct dead_letter_topic *topic = partition->topic;
    struct cluster *cluster = topic->cluster;
    if (partition->fetcher != NULL)
        return;
    if (partition->fetches != NULL) {
        begin_fetch(partition);
        return;
    }
    if (partition->follower != NULL || partition->asking)
        return;
    if (partition->position < 0) {
        partition->asking = true;
        broker_offsets(cluster->broker, cluster->topics.dead_letters, partition->number, on_offsets,
                       partition);
        return;
    }
    partition->follower =
        broker_read(cluster->broker, cluster->topics.dead_letters, partition->number,
                    partition->position, &follower_ops, partition);
    broker_reader_skip_unreadable(partition->follower, on_unreadable);
}

static void add_fetch(struct dead_letter_topic *topic, int32_t number, const struct fetch *wanted)
{
    struct fetch *fetch = malloc(sizeof(*fetch));
    assert(fetch != NULL && !topic->closed);
    assert(number >= 0 && number < topic->partition_count);
    struct topic_partition *partition = &topic->partitions[number];
    *fetch = *wanted;
    DL_APPEND(partition->fetches, fetch);
    loop_timer_after(topic->loop, &partition->timer, 0);
}

void dead_letter_topic_fetch(struct dead_letter_topic *topic, int32_t number, int64_t offset,
                             dead_letter_fetched done, void *ctx)
{
    const struct fetch fetch = {.offset = offset, .done = done, .ctx = ctx};
    add_fetch(topic, number, &fetch);
}

void dead_letter_topic_scan(struct dead_letter_topic *topic, int32_t number, int64_t from,
                            int64_t to, dead_letter_each each, dead_letter_scanned done, void *ctx)
{
    const struct fetch fetch = {.offset = from,
                                .end = to,
                                .is_scan = true,
                                .is_first = from == 0,
                                .each = each,
                                .scanned = done,
                                .ctx = ctx};
    assert(from >= 0 && from < to);
    add_fetch(topic, number, &fetch);
}

void dead_letter_topic_cancel(struct dead_letter_topic *topic, const void *ctx)
{
    for (int32_t i = 0; i < topic->partition_count; i++) {
        struct fetch *fetch;
        DL_FOREACH(topic->partitions[i].fetches, fetch) {
            if (fetch->ctx != ctx)
                continue;
            fetch->done = NULL;
            fetch->each = NULL;
            fetch->scanned = NULL;
        }
    }
}

/* ---- what it knows ---- */

const struct dead_letter_index *dead_letter_topic_index(const struct dead_letter_topic *topic)
{
    return topic->index;
}

int32_t dead_letter_topic_partitions(const struct dead_letter_topic *topic)
{
    return topic->partition_count;
}

int64_t dead_letter_topic_position(const struct dead_letter_topic *topic, int32_t partition)
{
    assert(partition >= 0 && partition < topic->partition_count);
    return topic->partitions[partition].position;
}

int64_t dead_letter_topic_older_end(const struct dead_letter_topic *topic, int32_t number)
{
    assert(number >= 0 && number < topic->partition_count);
    const struct topic_partition *partition = &topic->partitions[number];
    if (partition->position < 0)
        return 0;
    if (!dead_letter_index_has_forgotten(topic->index, number))
        return partition->followed_from;
    const struct dead_letter_entry *oldest = dead_letter_index_oldest(topic->index, number);
    return oldest != NULL ? oldest->offset : partition->position;
}

int64_t dead_letter_topic_low(const struct dead_letter_topic *topic, int32_t partition)
{
    assert(partition >= 0 && partition < topic->partition_count);
    return topic->partitions[partition].low;
}

int64_t dead_letter_topic_known_from(const struct dead_letter_topic *topic, int32_t partition)
{
    assert(partition >= 0 && partition < topic->partition_count);
    return topic->partitions[partition].known_from;
}

enum dead_letter_state dead_letter_topic_state(const struct dead_letter_topic *topic,
                                               int32_t partition, int64_t offset)
{
    int64_t known_from = dead_letter_topic_known_from(topic, partition);
    enum dead_letter_state state = dead_letter_states_get(topic->states, partition, offset);
    bool is_known = known_from >= 0 && offset >= known_from;
    return is_known || state != DEAD_LETTER_STATE_OPEN ? state : DEAD_LETTER_STATE_UNKNOWN;
}

void dead_letter_topic_put_incomplete(const struct dead_letter_topic *topic, json_t *body)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < topic->partition_count; i++) {
        const struct topic_partition *partition = &topic->partitions[i];
        if (partition->at_end && partition->trouble[0] == '\0')
            continue;
        const char *reason =
            partition->trouble[0] != '\0' ? partition->trouble : "it is being read from the topic";
        json_t *row = json_object();
        json_codec_put(row, "partition", json_integer(i));
        json_codec_put(row, "reason", json_codec_text(text_of(reason)));
        json_array_append_new(list, row);
    }
    if (json_array_size(list) > 0)
        json_codec_put(body, "incomplete", json_incref(list));
    json_decref(list);
}

/* ---- life ---- */

struct dead_letter_topic *dead_letter_topic_new(struct cluster *cluster, uint32_t entries_max,
                                                void (*moved)(void *ctx, int32_t partition),
                                                void *ctx)
{
    struct dead_letter_topic *topic = calloc(1, sizeof(*topic));
    assert(topic != NULL);
    int32_t count =
        broker_partition_count(cluster->broker, cluster->topics.dead_letters, METADATA_MS);
    if (count <= 0) /* no answer: as many as `topics apply` creates */
        count = cluster->partition_count;
    *topic = (struct dead_letter_topic){.cluster = cluster,
                                        .loop = cluster_loop(cluster),
                                        .index = dead_letter_index_new(count, entries_max),
                                        .states = dead_letter_states_new(DEAD_LETTER_BLOCKS_MAX),
                                        .partition_count = count,
                                        .entries_max = entries_max,
                                        .moved = moved,
                                        .ctx = ctx};
    heap_arena_init(&topic->heap, 4096);
    topic->partitions = calloc((size_t)count, sizeof(topic->partitions[0]));
    assert(topic->partitions != NULL);
    for (int32_t i = 0; i < count; i++) {
        struct topic_partition *partition = &topic->partitions[i];
        *partition =
            (struct topic_partition){.topic = topic, .number = i, .position = -1, .known_from = -1};
        loop_timer_init(&partition->timer, go_on, partition);
        loop_timer_init(&partition->timeout, on_timeout, partition);
        go_on(partition);
    }
    return topic;
}

void dead_letter_topic_close(struct dead_letter_topic *topic)
{
    topic->closed = true;
    for (int32_t i = 0; i < topic->partition_count; i++) {
        struct topic_partition *partition = &topic->partitions[i];
        struct fetch *fetch, *next;
        broker_reader_close(partition->follower);
        broker_reader_close(partition->fetcher);
        partition->follower = NULL;
        partition->fetcher = NULL;
        loop_timer_cancel(topic->loop, &partition->timer);
        loop_timer_cancel(topic->loop, &partition->timeout);
        DL_FOREACH_SAFE(partition->fetches, fetch, next)
            free(fetch);
        partition->fetches = NULL;
    }
}

void dead_letter_topic_free(struct dead_letter_topic *topic)
{
    if (topic == NULL)
        return;
    assert(topic->closed);
    dead_letter_index_free(topic->index);
    dead_letter_states_free(topic->states);
    heap_arena_deinit(&topic->heap);
    free(topic->partitions);
    free(topic);
}
