/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/schedules/schedule_topic.h"

#include "platform/logger.h"
#include "replica/cluster/topic_reader.h"

#include <assert.h>
#include <stdlib.h>

enum { REOPEN_MS = 5000 };

struct schedule_topic {
    struct cluster *cluster;
    const struct schedule_topic_ops *ops;
    void *ctx;
    struct schedule_registry *registry;
    struct topic_reader reader;
    struct heap_arena heap;
    int64_t offset; /* of the record read last; -1: none */
    bool complete;
};

static enum error_class put(struct schedule_topic *topic, const struct broker_record *record,
                            const struct record *decoded, const struct error *why,
                            struct error *ret_error)
{
    struct error other;
    if (why->class == ERROR_OK && decoded->kind == RECORD_SCHEDULE)
        return schedule_registry_put(topic->registry, record->key, &decoded->schedule_definition,
                                     record->timestamp, ret_error);
    if (why->class == ERROR_OK)
        error_set(&other, CODE_UNEXPECTED_RECORD, "%s is not Schedule",
                  record_kind_name(decoded->kind));
    return schedule_registry_put_unreadable(topic->registry, record->key,
                                            why->class == ERROR_OK ? &other : why,
                                            record->timestamp, ret_error);
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct schedule_topic *topic = ctx;
    struct record decoded;
    struct error why = {.class = ERROR_OK};
    struct error error = {.class = ERROR_OK};
    heap_arena_reset(&topic->heap);
    if (record->value.data == NULL)
        schedule_registry_remove(topic->registry, record->key);
    else if (codec_decode(topic->cluster->codec, record->value, true, &topic->heap.arena, &decoded,
                          &why) != ERROR_OK &&
             topic_reader_retry(&topic->reader, record, &why))
        return;
    else if (put(topic, record, &decoded, &why, &error) != ERROR_OK)
        log_warning_limited("a schedule is not usable", LOG_TEXT("schedule", record->key),
                            LOG_STR("topic", record->topic), LOG_I64("offset", record->offset),
                            LOG_ERR(&error));
    topic->offset = record->offset;
    if (topic->ops->changed != NULL)
        topic->ops->changed(topic->ctx, record->key);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct schedule_topic *topic = ctx;
    (void)next_offset;
    topic->complete = true;
    if (topic->ops->ended != NULL)
        topic->ops->ended(topic->ctx);
}

/* What was removed meanwhile has no record any more: all go, and those that are left come back. */
static void on_again(void *ctx)
{
    struct schedule_topic *topic = ctx;
    uint32_t count;
    topic->complete = false;
    topic->offset = -1;
    while ((count = schedule_registry_count(topic->registry)) > 0) {
        char name[NAME_BYTES_MAX];
        struct text gone = schedule_registry_at(topic->registry, count - 1)->definition.name;
        assert(gone.size <= sizeof(name));
        memcpy(name, gone.data, gone.size);
        gone.data = name;
        schedule_registry_remove(topic->registry, gone);
        if (topic->ops->changed != NULL)
            topic->ops->changed(topic->ctx, gone);
    }
}

static const struct topic_reader_ops reader_ops = {on_record, on_end, on_again};

struct schedule_topic *schedule_topic_follow(struct cluster *cluster,
                                             const struct schedule_topic_ops *ops, void *ctx)
{
    struct schedule_topic *topic = calloc(1, sizeof(*topic));
    assert(topic != NULL && cluster->ready);
    topic->cluster = cluster;
    topic->ops = ops;
    topic->ctx = ctx;
    topic->offset = -1;
    topic->registry = schedule_registry_new();
    heap_arena_init(&topic->heap, 4096);
    topic_reader_init(&topic->reader, cluster, cluster->topics.schedules, 0, REOPEN_MS, &reader_ops,
                      topic);
    return topic;
}

void schedule_topic_free(struct schedule_topic *topic)
{
    if (topic == NULL)
        return;
    topic_reader_close(&topic->reader);
    schedule_registry_free(topic->registry);
    heap_arena_deinit(&topic->heap);
    free(topic);
}

bool schedule_topic_is_complete(const struct schedule_topic *topic)
{
    return topic->complete;
}

const struct error *schedule_topic_trouble(const struct schedule_topic *topic)
{
    return topic->reader.trouble.class != ERROR_OK ? &topic->reader.trouble : NULL;
}

const struct schedule_registry *schedule_topic_registry(const struct schedule_topic *topic)
{
    return topic->registry;
}

int64_t schedule_topic_offset(const struct schedule_topic *topic)
{
    return topic->offset;
}
