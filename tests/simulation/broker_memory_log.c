/* SPDX-License-Identifier: Apache-2.0 */
/* Topics and logs of the broker in memory. */
#include "tests/simulation/broker_memory_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- records ---- */

static struct text keep(char **at, struct text text)
{
    if (text.data == NULL)
        return text;
    struct text kept = {*at, text.size};
    memcpy(*at, text.data, text.size);
    *at += text.size + 1; /* never empty, so that no text of a record is NULL by chance */
    return kept;
}

struct memory_record *memory_record_new(struct text key, struct text value,
                                        const struct broker_header *headers, uint32_t count)
{
    size_t headers_size = count * sizeof(headers[0]);
    size_t size = (size_t)key.size + value.size + 2;
    uint32_t meta_bytes = key.size;
    for (uint32_t i = 0; i < count; i++) {
        size += (size_t)headers[i].name.size + headers[i].value.size + 2;
        meta_bytes += headers[i].name.size + headers[i].value.size;
    }
    struct memory_record *record = malloc(sizeof(*record) + headers_size + size);
    assert(record != NULL);
    char *at = (char *)record->headers + headers_size;
    const char *end = at + size;
    record->timestamp = 0;
    record->writer = 0;
    record->key = keep(&at, key);
    record->value = keep(&at, value);
    record->header_count = count;
    record->meta_bytes = meta_bytes;
    for (uint32_t i = 0; i < count; i++) {
        record->headers[i].name = keep(&at, headers[i].name);
        record->headers[i].value = keep(&at, headers[i].value);
    }
    assert(at <= end);
    return record;
}

void memory_record_view(const struct memory_log *log, const char *topic, int32_t partition,
                        int64_t offset, struct broker_record *ret_record)
{
    assert(offset >= log->first && offset < memory_log_end(log));
    const struct memory_record *record = log->records[offset - log->first];
    ret_record->topic = topic;
    ret_record->partition = partition;
    ret_record->offset = offset;
    ret_record->timestamp = record->timestamp;
    ret_record->key = record->key;
    ret_record->value = record->value;
    ret_record->header_count =
        record->header_count < BROKER_HEADERS_MAX ? record->header_count : BROKER_HEADERS_MAX;
    memcpy(ret_record->headers, record->headers,
           ret_record->header_count * sizeof(record->headers[0]));
    ret_record->meta_bytes = record->meta_bytes;
}

/* ---- topics ---- */

static struct memory_topic *find_topic(const struct broker_memory_cluster *cluster,
                                       const char *name)
{
    struct memory_topic *topic;
    HASH_FIND_STR(cluster->topics, name, topic);
    return topic;
}

static void free_topic(struct broker_memory_cluster *cluster, struct memory_topic *topic)
{
    HASH_DEL(cluster->topics, topic);
    for (int32_t i = 0; i < topic->partition_count; i++) {
        for (size_t at = 0; at < topic->logs[i].count; at++)
            free(topic->logs[i].records[at]);
        free(topic->logs[i].records);
        free(topic->logs[i].losers);
    }
    free(topic->logs);
    free(topic);
}

void broker_memory_topic(struct broker_memory_cluster *cluster, const char *name,
                         int32_t partitions)
{
    assert(partitions > 0);
    struct memory_topic *topic = find_topic(cluster, name);
    if (topic != NULL)
        free_topic(cluster, topic);
    topic = memory_new_named(sizeof(*topic), name);
    memcpy(topic->name, name, strlen(name) + 1);
    topic->partition_count = partitions;
    topic->logs = calloc((size_t)partitions, sizeof(*topic->logs));
    assert(topic->logs != NULL);
    HASH_ADD_STR(cluster->topics, name, topic);
}

void broker_memory_delete_topic(struct broker_memory_cluster *cluster, const char *name)
{
    struct memory_topic *topic = find_topic(cluster, name);
    if (topic != NULL)
        free_topic(cluster, topic);
}

void broker_memory_add_partitions(struct broker_memory_cluster *cluster, const char *name,
                                  int32_t partitions)
{
    struct memory_topic *topic = find_topic(cluster, name);
    assert(topic != NULL && partitions >= topic->partition_count);
    topic->logs = realloc(topic->logs, (size_t)partitions * sizeof(*topic->logs));
    assert(topic->logs != NULL);
    for (int32_t i = topic->partition_count; i < partitions; i++)
        topic->logs[i] = (struct memory_log){0};
    topic->partition_count = partitions;
    cluster->resized = true;
}

void memory_topics_free(struct broker_memory_cluster *cluster)
{
    struct memory_topic *topic;
    struct memory_topic *next;
    HASH_ITER(hh, cluster->topics, topic, next) {
        free_topic(cluster, topic);
    }
}

struct memory_log *memory_log_find(const struct broker_memory_cluster *cluster, const char *topic,
                                   int32_t partition)
{
    struct memory_topic *found = find_topic(cluster, topic);
    return found != NULL && partition >= 0 && partition < found->partition_count
               ? &found->logs[partition]
               : NULL;
}

/* ---- partitions that fail on their own ---- */

enum broker_memory_partition_fault memory_fault_of(const struct broker_memory_cluster *cluster,
                                                   const char *topic, int32_t partition)
{
    if (cluster->faulty == 0)
        return PARTITION_WORKS;
    const struct memory_log *log = memory_log_find(cluster, topic, partition);
    return log != NULL ? log->fault : PARTITION_WORKS;
}

void broker_memory_set_partition_fault(struct broker_memory_cluster *cluster, const char *name,
                                       int32_t partition, enum broker_memory_partition_fault fault)
{
    struct memory_topic *topic = find_topic(cluster, name);
    assert(topic != NULL && partition < topic->partition_count);
    assert((unsigned)fault < PARTITION_FAULT_COUNT);
    for (int32_t i = 0; i < topic->partition_count; i++) {
        if (partition != BROKER_MEMORY_ALL && partition != i)
            continue;
        cluster->faulty += fault != PARTITION_WORKS;
        topic->logs[i].fault = fault;
    }
}

void broker_memory_clear_partition_faults(struct broker_memory_cluster *cluster)
{
    for (struct memory_topic *topic = cluster->topics; topic != NULL; topic = topic->hh.next)
        for (int32_t i = 0; i < topic->partition_count; i++)
            topic->logs[i].fault = PARTITION_WORKS;
    cluster->faulty = 0;
}

void broker_memory_set_queue_max(struct broker_memory_cluster *cluster, uint32_t appends_max)
{
    cluster->outstanding_max = appends_max;
}

void broker_memory_set_record_max(struct broker_memory_cluster *cluster, size_t bytes_max)
{
    cluster->record_max = bytes_max;
}

/* ---- logs ---- */

int64_t memory_log_add(struct broker_memory_cluster *cluster, struct memory_log *log,
                       struct memory_record *record)
{
    if (log->count == log->size) {
        log->size = log->size > 0 ? 2 * log->size : 64;
        log->records = realloc(log->records, log->size * sizeof(struct memory_record *));
        assert(log->records != NULL);
    }
    record->timestamp = clock_wall_ms(cluster->clock);
    log->records[log->count++] = record;
    return memory_log_end(log) - 1;
}

int64_t broker_memory_append_headers(struct broker_memory_cluster *cluster, const char *topic,
                                     int32_t partition, struct text key, struct text value,
                                     const struct broker_header *headers, uint32_t header_count)
{
    struct memory_log *log = memory_log_find(cluster, topic, partition);
    assert(log != NULL);
    return memory_log_add(cluster, log, memory_record_new(key, value, headers, header_count));
}

int64_t broker_memory_append(struct broker_memory_cluster *cluster, const char *topic,
                             int32_t partition, struct text key, struct text value)
{
    return broker_memory_append_headers(cluster, topic, partition, key, value, NULL, 0);
}

void broker_memory_break_batch(struct broker_memory_cluster *cluster, const char *topic,
                               int32_t partition, int64_t offset, int64_t next_offset)
{
    struct memory_log *log = memory_log_find(cluster, topic, partition);
    assert(log != NULL && offset < next_offset && next_offset <= memory_log_end(log));
    log->broken_from = offset;
    log->broken_to = next_offset;
}

/* ---- producers whose records are lost ---- */

/* The number of losers if it is none of them. */
static size_t loser_index(const struct memory_log *log, uint64_t writer)
{
    size_t at = 0;
    while (at < log->loser_count && log->losers[at] != writer)
        at++;
    return at;
}

bool memory_log_has_lost(const struct memory_log *log, uint64_t writer)
{
    return loser_index(log, writer) < log->loser_count;
}

static void add_loser(struct memory_log *log, uint64_t writer)
{
    if (writer == 0 || memory_log_has_lost(log, writer))
        return;
    log->losers = realloc(log->losers, (log->loser_count + 1) * sizeof(log->losers[0]));
    assert(log->losers != NULL);
    log->losers[log->loser_count++] = writer;
}

void broker_memory_truncate(struct broker_memory_cluster *cluster, const char *topic,
                            int32_t partition, int64_t end)
{
    struct memory_log *log = memory_log_find(cluster, topic, partition);
    assert(log != NULL && end >= log->low);
    while (memory_log_end(log) > end) {
        struct memory_record *record = log->records[--log->count];
        add_loser(log, record->writer);
        free(record);
    }
}

void broker_memory_trim(struct broker_memory_cluster *cluster, const char *topic, int32_t partition,
                        int64_t start)
{
    struct memory_log *log = memory_log_find(cluster, topic, partition);
    assert(log != NULL && start >= log->low && start <= memory_log_end(log));
    log->low = start;
    if (cluster->keeps_trimmed)
        return;
    size_t gone = (size_t)(start - log->first);
    for (size_t i = 0; i < gone; i++)
        free(log->records[i]);
    log->count -= gone;
    memmove(log->records, log->records + gone, log->count * sizeof(struct memory_record *));
    log->first = start;
}

void broker_memory_keep_trimmed(struct broker_memory_cluster *cluster)
{
    cluster->keeps_trimmed = true;
}

void broker_memory_forget_trim(struct broker_memory_cluster *cluster, const char *topic,
                               int32_t partition, int64_t start)
{
    struct memory_log *log = memory_log_find(cluster, topic, partition);
    assert(cluster->keeps_trimmed && log != NULL);
    assert(start >= log->first && start <= log->low);
    log->low = start;
}

void broker_memory_reset_readers(struct broker_memory_cluster *cluster)
{
    cluster->resets_readers = true;
}

void broker_memory_bounds(const struct broker_memory_cluster *cluster, const char *topic,
                          int32_t partition, int64_t *ret_low, int64_t *ret_high)
{
    const struct memory_log *log = memory_log_find(cluster, topic, partition);
    *ret_low = log != NULL ? log->low : 0;
    *ret_high = log != NULL ? memory_log_end(log) : 0;
}

bool broker_memory_record(const struct broker_memory_cluster *cluster, const char *topic,
                          int32_t partition, int64_t offset, struct broker_record *ret_record)
{
    const struct memory_log *log = memory_log_find(cluster, topic, partition);
    if (log == NULL || offset < log->first || offset >= memory_log_end(log))
        return false;
    memory_record_view(log, topic, partition, offset, ret_record);
    return true;
}
