/* SPDX-License-Identifier: Apache-2.0 */
#include "leader/leader_topic.h"

#include "platform/logger.h"
#include "replica/cluster/topic_reader.h"

#include <assert.h>
#include <stdlib.h>

enum { REOPEN_MS = 500 };

struct leader_role {
    struct text name;
    const struct leader_topic_ops *ops; /* NULL: a free place */
    void *ctx;
};

struct leader_topic {
    struct cluster *cluster;
    struct topic_reader reader;
    struct heap_arena scratch;
    bool has_read;
    struct leader_role roles[LEADER_ROLES_MAX];
};

static struct leader_role *find_role(struct leader_topic *topic, struct text name)
{
    for (int i = 0; i < LEADER_ROLES_MAX; i++) {
        if (topic->roles[i].ops != NULL && text_equal(topic->roles[i].name, name))
            return &topic->roles[i];
    }
    return NULL;
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct leader_topic *topic = ctx;
    struct error error;
    struct record decoded;
    topic->has_read = true;
    for (int i = 0; i < LEADER_ROLES_MAX; i++)
        if (topic->roles[i].ops != NULL)
            topic->roles[i].ops->begins(topic->roles[i].ctx, record->offset);
    struct leader_role *role = find_role(topic, record->key);
    if (role == NULL)
        return;
    heap_arena_reset(&topic->scratch);
    enum error_class class = codec_decode(topic->cluster->codec, record->value, true,
                                          &topic->scratch.arena, &decoded, &error);
    /* A record that we cannot read may count for others. */
    if (class != ERROR_OK && topic_reader_retry(&topic->reader, record, &error))
        return;
    if (class == ERROR_OK && decoded.kind != RECORD_LEADERSHIP)
        class =
            error_set(&error, CODE_NOT_LEADERSHIP, "it is a %s", record_kind_name(decoded.kind));
    if (class != ERROR_OK) {
        log_warning_limited("a record of the election is not usable: ignored",
                            LOG_STR("topic", record->topic), LOG_I64("offset", record->offset),
                            LOG_ERR(&error));
        return;
    }
    role->ops->record(role->ctx, &decoded.leadership, record->offset, record->timestamp);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct leader_topic *topic = ctx;
    (void)next_offset;
    topic->has_read = true;
    for (int i = 0; i < LEADER_ROLES_MAX; i++)
        if (topic->roles[i].ops != NULL)
            topic->roles[i].ops->end(topic->roles[i].ctx);
}

static void on_again(void *ctx)
{
    struct leader_topic *topic = ctx;
    for (int i = 0; i < LEADER_ROLES_MAX; i++)
        if (topic->roles[i].ops != NULL)
            topic->roles[i].ops->again(topic->roles[i].ctx);
}

static const struct topic_reader_ops reader_ops = {on_record, on_end, on_again};

static struct leader_topic *topic_of(struct cluster *cluster)
{
    if (cluster->leadership != NULL)
        return cluster->leadership;
    struct leader_topic *topic = calloc(1, sizeof(*topic));
    assert(topic != NULL && cluster->ready);
    topic->cluster = cluster;
    heap_arena_init(&topic->scratch, 4096);
    topic_reader_init(&topic->reader, cluster, cluster->topics.leadership, 0, REOPEN_MS,
                      &reader_ops, topic);
    cluster->leadership = topic;
    return topic;
}

struct leader_topic *leader_topic_join(struct cluster *cluster, struct text role,
                                       const struct leader_topic_ops *ops, void *ctx)
{
    struct leader_topic *topic = topic_of(cluster);
    assert(!topic->has_read && find_role(topic, role) == NULL);
    for (int i = 0; i < LEADER_ROLES_MAX; i++) {
        if (topic->roles[i].ops == NULL) {
            topic->roles[i] = (struct leader_role){role, ops, ctx};
            return topic;
        }
    }
    assert(false); /* a process has few roles, which its code names */
    return NULL;
}

void leader_topic_leave(struct leader_topic *topic, const void *ctx)
{
    bool is_used = false;
    for (int i = 0; i < LEADER_ROLES_MAX; i++) {
        if (topic->roles[i].ctx == ctx)
            topic->roles[i] = (struct leader_role){.ops = NULL};
        is_used = is_used || topic->roles[i].ops != NULL;
    }
    if (is_used)
        return;
    topic_reader_close(&topic->reader);
    heap_arena_deinit(&topic->scratch);
    topic->cluster->leadership = NULL;
    free(topic);
}
