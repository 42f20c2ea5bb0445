/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches broker.h to the implementation behind a broker. See broker_ops.h. */
#include "kafka/broker.h"

#include "kafka/broker_ops.h"

#include <assert.h>
#include <librdkafka/rdkafka.h>
#include <string.h>

enum error_class broker_append(struct broker *broker, const struct broker_append *append,
                               struct error *ret_error)
{
    assert((unsigned)append->producer < BROKER_PRODUCER_COUNT);
    assert(append->partition >= BROKER_BY_KEY && append->done != NULL);
    assert(append->header_count <= BROKER_HEADERS_MAX);
    return broker->ops->append(broker, append, ret_error);
}

uint32_t broker_outstanding(const struct broker *broker, enum broker_producer producer)
{
    assert((unsigned)producer < BROKER_PRODUCER_COUNT);
    return broker->ops->outstanding(broker, producer);
}

uint64_t broker_producer_deaths(const struct broker *broker, enum broker_producer producer)
{
    assert((unsigned)producer < BROKER_PRODUCER_COUNT);
    return broker->ops->deaths(broker, producer);
}

struct broker_reader *broker_read(struct broker *broker, const char *topic, int32_t partition,
                                  int64_t offset, const struct broker_reader_ops *ops, void *ctx)
{
    assert(partition >= 0 && (offset >= 0 || offset == BROKER_EARLIEST));
    assert(ops->record != NULL && ops->error != NULL);
    return broker->ops->read(broker, topic, partition, offset, ops, ctx);
}

void broker_reader_skip_unreadable(struct broker_reader *reader, broker_unreadable unreadable)
{
    assert(reader->unreadable == NULL && unreadable != NULL);
    reader->unreadable = unreadable;
}

void broker_reader_skip_headers(struct broker_reader *reader)
{
    reader->skips_headers = true;
}

void broker_reader_pause(struct broker_reader *reader, bool paused)
{
    reader->broker->ops->reader_pause(reader, paused);
}

void broker_reader_close(struct broker_reader *reader)
{
    if (reader != NULL)
        reader->broker->ops->reader_close(reader);
}

void broker_offsets(struct broker *broker, const char *topic, int32_t partition,
                    broker_offsets_done done, void *ctx)
{
    assert(partition >= 0 && done != NULL);
    broker->ops->offsets(broker, topic, partition, done, ctx);
}

void broker_delete_records(struct broker *broker, const char *topic, int32_t partition,
                           int64_t before, broker_deleted done, void *ctx)
{
    assert(partition >= 0 && before >= 0 && done != NULL);
    broker->ops->delete_records(broker, topic, partition, before, done, ctx);
}

void broker_position_of(struct broker *broker, const char *group, const char *topic,
                        int32_t partition, broker_group_position_done done, void *ctx)
{
    assert(group[0] != '\0' && partition >= 0 && done != NULL);
    broker->ops->position_of(broker, group, topic, partition, done, ctx);
}

struct broker_group *broker_join(struct broker *broker, const char *group, const char *topic,
                                 const struct broker_group_ops *ops, void *ctx)
{
    assert(ops->assigned != NULL && ops->revoked != NULL && ops->error != NULL);
    return broker->ops->join(broker, group, topic, ops, ctx);
}

void broker_group_commit(struct broker_group *group, int32_t partition, int64_t offset,
                         const char *note, broker_committed_done done, void *ctx)
{
    assert(partition >= 0 && offset >= 0);
    assert(note == NULL || strlen(note) <= BROKER_NOTE_BYTES_MAX);
    group->broker->ops->group_commit(group, partition, offset, note, done, ctx);
}

void broker_group_committed(struct broker_group *group, int32_t partition,
                            broker_position_done done, void *ctx)
{
    assert(partition >= 0 && done != NULL);
    group->broker->ops->group_committed(group, partition, done, ctx);
}

bool broker_group_members(struct broker_group *group, broker_members_done done, void *ctx)
{
    return group->broker->ops->group_members != NULL &&
           group->broker->ops->group_members(group, done, ctx);
}

void broker_leave(struct broker_group *group, void (*left)(void *ctx), void *ctx)
{
    group->broker->ops->leave(group, left, ctx);
}

int32_t broker_partition_count(struct broker *broker, const char *topic, int timeout_ms)
{
    return broker->ops->partition_count(broker, topic, timeout_ms);
}

int32_t broker_replica_count(struct broker *broker, const char *topic, int timeout_ms)
{
    return broker->ops->replica_count(broker, topic, timeout_ms);
}

int32_t broker_partition_count_known(struct broker *broker, const char *topic)
{
    assert(topic != NULL);
    return broker->ops->partition_count_known(broker, topic);
}

void broker_read_topics(struct broker *broker, broker_topics_read done, void *ctx)
{
    assert(done != NULL);
    broker->ops->read_topics(broker, done, ctx);
}

void broker_watch(struct broker *broker, const char *topic, int32_t count,
                  broker_partitions_changed changed, void *ctx)
{
    assert(topic != NULL && count > 0 && changed != NULL);
    broker->ops->watch(broker, topic, count, changed, ctx);
}

const char *broker_cluster_id(struct broker *broker, int timeout_ms)
{
    return broker->ops->cluster_id(broker, timeout_ms);
}

int64_t broker_appended_at(const struct broker *broker)
{
    return broker->appended_at;
}

bool broker_connected(const struct broker *broker)
{
    return broker->ops->connected(broker);
}

bool broker_trouble(const struct broker *broker, char *ret_text, size_t size)
{
    return broker->ops->trouble != NULL && broker->ops->trouble(broker, ret_text, size);
}

enum error_class broker_refused(const struct broker *broker, struct error *ret_error)
{
    return broker->ops->refused != NULL ? broker->ops->refused(broker, ret_error) : ERROR_OK;
}

int32_t broker_partition_of(struct text key, int32_t partition_count)
{
    assert(partition_count > 0);
    /* It needs no topic; a NULL key would mean "any partition". */
    return rd_kafka_msg_partitioner_murmur2(NULL, key.data != NULL ? key.data : "", key.size,
                                            partition_count, NULL, NULL);
}

void broker_free(struct broker *broker)
{
    if (broker != NULL)
        broker->ops->free(broker);
}
