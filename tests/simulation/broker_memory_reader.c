/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of the broker in memory: what each has to say next. */
#include "tests/simulation/broker_memory_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The log that the reader reads; NULL: it has nothing to say now. Its position is made a number. */
static struct memory_log *log_of(struct memory_reader *reader)
{
    struct memory_log *log =
        memory_log_find(reader->broker->cluster, reader->topic, reader->partition);
    if (log != NULL && reader->next_offset == BROKER_EARLIEST)
        reader->next_offset = log->low;
    if (log != NULL && reader->broker->cluster->resets_readers && reader->next_offset < log->low)
        reader->next_offset = log->low;
    return log;
}

bool memory_is_silent(const struct broker_memory_cluster *cluster, const char *topic,
                      int32_t partition)
{
    enum broker_memory_partition_fault fault = memory_fault_of(cluster, topic, partition);
    return fault == PARTITION_NO_LEADER || fault == PARTITION_UNREADABLE;
}

bool memory_reader_may_speak(struct memory_reader *reader)
{
    if (reader->paused || reader->failed ||
        memory_is_silent(reader->broker->cluster, reader->topic, reader->partition))
        return false;
    const struct memory_log *log = log_of(reader);
    return log == NULL || reader->next_offset != memory_log_end(log) ||
           reader->told_end != reader->next_offset;
}

static void fail_reader(struct memory_reader *reader, enum error_code code, const char *message)
{
    struct error error;
    reader->failed = true;
    error_set_as(&error, ERROR_FATAL, code, "%s", message);
    reader->ops->error(reader->ctx, &error);
}

static void meet_broken_batch(struct memory_reader *reader, const struct memory_log *log)
{
    int64_t offset = reader->next_offset;
    if (reader->base.unreadable == NULL) {
        fail_reader(reader, CODE_UNREADABLE, "the records' compressed batch cannot be read");
        return;
    }
    reader->next_offset = log->broken_to;
    reader->told_end = -1;
    reader->base.unreadable(reader->ctx, offset, log->broken_to);
}

/* Each of these ends in one callback. */
void memory_reader_speak(struct memory_reader *reader)
{
    const struct memory_log *log = log_of(reader);
    if (log == NULL) {
        fail_reader(reader, CODE_UNKNOWN_TOPIC, "no such topic or partition");
    } else if (reader->next_offset < log->low || reader->next_offset > memory_log_end(log)) {
        fail_reader(reader, CODE_OFFSET_OUT_OF_RANGE, "the log does not hold the offset");
    } else if (reader->next_offset == memory_log_end(log)) {
        reader->told_end = reader->next_offset;
        if (reader->ops->end != NULL)
            reader->ops->end(reader->ctx, reader->next_offset);
    } else if (reader->next_offset >= log->broken_from && reader->next_offset < log->broken_to) {
        meet_broken_batch(reader, log);
    } else {
        struct broker_record record;
        memory_record_view(log, reader->topic, reader->partition, reader->next_offset, &record);
        reader->next_offset++;
        reader->told_end = -1;
        if (reader->base.skips_headers) {
            record.header_count = 0;
            record.meta_bytes = record.key.size;
        }
        reader->ops->record(reader->ctx, &record);
    }
}

struct broker_reader *memory_read(struct broker *base, const char *topic, int32_t partition,
                                  int64_t offset, const struct broker_reader_ops *ops, void *ctx)
{
    struct memory_broker *broker = memory_of(base);
    struct memory_reader *reader;
    DL_FOREACH(broker->readers, reader) {
        assert(reader->partition != partition || strcmp(reader->topic, topic) != 0);
    }
    reader = memory_new_named(sizeof(*reader), topic);
    memcpy(reader->topic, topic, strlen(topic) + 1);
    reader->base.broker = base;
    reader->broker = broker;
    reader->ops = ops;
    reader->ctx = ctx;
    reader->partition = partition;
    reader->next_offset = offset;
    reader->told_end = -1;
    DL_APPEND(broker->readers, reader);
    broker->requests++;
    return &reader->base;
}

uint64_t broker_memory_requests(const struct broker *base)
{
    return memory_of(base)->requests;
}

bool broker_memory_reads(const struct broker *base, const char *topic, int32_t partition)
{
    const struct memory_reader *reader;
    DL_FOREACH(memory_of(base)->readers, reader)
        if (reader->partition == partition && strcmp(reader->topic, topic) == 0)
            return true;
    return false;
}

void memory_reader_pause(struct broker_reader *base, bool paused)
{
    ((struct memory_reader *)base)->paused = paused;
}

void memory_reader_close(struct broker_reader *base)
{
    struct memory_reader *reader = (struct memory_reader *)base;
    DL_DELETE(reader->broker->readers, reader);
    free(reader);
}
