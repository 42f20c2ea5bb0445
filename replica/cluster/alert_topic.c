/* SPDX-License-Identifier: Apache-2.0 */
/* See alert_topic.h. */
#include "replica/cluster/alert_topic.h"

#include "platform/logger.h"
#include "replica/cluster/topic_reader.h"

#include <assert.h>
#include <stdlib.h>

enum { REOPEN_MS = 5000, METADATA_MS = 3000 };

struct alert_partition {
    struct alert_topic *topic;
    int32_t number;
    struct topic_reader reader;
    bool is_read;
};

struct alert_topic {
    struct cluster *cluster;
    const struct alert_topic_ops *ops;
    void *ctx;
    struct alert_partition *partitions;
    int32_t partition_count;
    struct heap_arena heap;
};

static void on_record(void *ctx, const struct broker_record *record)
{
    struct alert_partition *partition = ctx;
    struct alert_topic *topic = partition->topic;
    struct record decoded;
    struct error error;
    if (record->value.data == NULL)
        return;
    heap_arena_reset(&topic->heap);
    if (codec_decode(topic->cluster->codec, record->value, true, &topic->heap.arena, &decoded,
                     &error) != ERROR_OK) {
        log_warning_limited("cannot decode an alert", LOG_I64("partition", record->partition),
                            LOG_I64("offset", record->offset), LOG_ERR(&error));
        return;
    }
    if (decoded.kind == RECORD_OPERATOR_ALERT && text_empty(decoded.operator_alert.order_id))
        topic->ops->alert(topic->ctx, partition->number, &decoded.operator_alert);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct alert_partition *partition = ctx;
    (void)next_offset;
    partition->is_read = true;
}

static void on_again(void *ctx)
{
    struct alert_partition *partition = ctx;
    struct alert_topic *topic = partition->topic;
    partition->is_read = false;
    if (topic->ops->again != NULL)
        topic->ops->again(topic->ctx, partition->number);
}

static const struct topic_reader_ops reader_ops = {on_record, on_end, on_again};

struct alert_topic *alert_topic_follow(struct cluster *cluster, const struct alert_topic_ops *ops,
                                       void *ctx)
{
    struct alert_topic *topic = calloc(1, sizeof(*topic));
    assert(topic != NULL && ops->alert != NULL);
    topic->cluster = cluster;
    topic->ops = ops;
    topic->ctx = ctx;
    topic->partition_count =
        broker_partition_count(cluster->broker, cluster->topics.alerts, METADATA_MS);
    if (topic->partition_count <= 0) /* no answer: as many as `topics apply` creates */
        topic->partition_count = cluster->partition_count;
    topic->partitions = calloc((size_t)topic->partition_count, sizeof(topic->partitions[0]));
    assert(topic->partitions != NULL);
    heap_arena_init(&topic->heap, 4096);
    for (int32_t i = 0; i < topic->partition_count; i++) {
        struct alert_partition *partition = &topic->partitions[i];
        *partition = (struct alert_partition){.topic = topic, .number = i};
        topic_reader_init(&partition->reader, cluster, cluster->topics.alerts, i, REOPEN_MS,
                          &reader_ops, partition);
    }
    return topic;
}

void alert_topic_free(struct alert_topic *topic)
{
    if (topic == NULL)
        return;
    for (int32_t i = 0; i < topic->partition_count; i++)
        topic_reader_close(&topic->partitions[i].reader);
    heap_arena_deinit(&topic->heap);
    free(topic->partitions);
    free(topic);
}

bool alert_topic_is_read(const struct alert_topic *topic, int32_t at)
{
    assert(at >= 0 && at < topic->partition_count);
    return topic->partitions[at].is_read;
}
