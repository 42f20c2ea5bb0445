/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of the broker in memory: the test decides when members get which callbacks. */
#include "tests/simulation/broker_memory_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMIT_KEY_SIZE = 640, MEMBERS_MAX = 64 };

/* ---- commits ---- */

/* The committed offset of the partition and its owner; made when it is not there. */
static struct memory_commit *commit_in(struct broker_memory_cluster *cluster, const char *group,
                                       const char *topic, int32_t partition)
{
    struct memory_commit *commit;
    char key[COMMIT_KEY_SIZE];
    snprintf(key, sizeof(key), "%s %s %" PRId32, group, topic, partition);
    HASH_FIND_STR(cluster->commits, key, commit);
    if (commit != NULL)
        return commit;
    commit = memory_new_named(sizeof(*commit), key);
    memcpy(commit->key, key, strlen(key) + 1);
    commit->offset = -1;
    HASH_ADD_STR(cluster->commits, key, commit);
    return commit;
}

static struct memory_commit *commit_of(const struct memory_group *group, int32_t partition)
{
    return commit_in(group->broker->cluster, group->name, group->topic, partition);
}

void broker_memory_commit(struct broker_memory_cluster *cluster, const char *group,
                          const char *topic, int32_t partition, int64_t offset)
{
    commit_in(cluster, group, topic, partition)->offset = offset;
}

/* ---- events ---- */

static void add_event(struct memory_group *group, bool assigned, bool lost,
                      const int32_t *partitions, uint32_t count)
{
    struct memory_group_event *event =
        calloc(1, sizeof(*event) + count * sizeof(event->partitions[0]));
    assert(event != NULL);
    event->assigned = assigned;
    event->lost = lost;
    event->count = count;
    if (count > 0)
        memcpy(event->partitions, partitions, count * sizeof(partitions[0]));
    DL_APPEND(group->events, event);
}

static void take_all(struct memory_group *group, bool lost)
{
    if (group->owning)
        add_event(group, false, lost, NULL, 0);
    group->owning = false;
    free(group->partitions);
    group->partitions = NULL;
    group->partition_count = 0;
}

/* A member commits as an owner only if it knows the assignment that made it one: the coordinator
 * refuses commits of earlier generations. */
static void give(struct memory_group *group, const int32_t *partitions, uint32_t count)
{
    take_all(group, false);
    uint64_t generation = ++group->broker->cluster->generation;
    add_event(group, true, false, partitions, count);
    group->events->prev->generation = generation;
    group->owning = true;
    group->partitions = calloc((size_t)count + 1, sizeof(*partitions));
    assert(group->partitions != NULL);
    if (count > 0)
        memcpy(group->partitions, partitions, count * sizeof(*partitions));
    group->partition_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct memory_commit *commit = commit_of(group, partitions[i]);
        if (commit->owner != group)
            commit->owned_since = generation;
        commit->owner = group;
    }
}

void memory_group_deliver(struct memory_group *group)
{
    struct memory_group_event *event = group->events;
    DL_DELETE(group->events, event);
    if (event->assigned)
        group->generation = event->generation;
    if (event->assigned)
        group->ops->assigned(group->ctx, event->partitions, event->count);
    else
        group->ops->revoked(group->ctx, event->lost);
    free(event);
}

/* ---- what tests decide ---- */

static struct memory_group *find_member(struct broker *broker, const char *name)
{
    struct memory_group *group;
    DL_FOREACH(memory_of(broker)->groups, group) {
        if (strcmp(group->name, name) == 0)
            return group;
    }
    return NULL;
}

void broker_memory_assign(struct broker *broker, const char *name, const int32_t *partitions,
                          uint32_t count)
{
    struct memory_group *group = find_member(broker, name);
    assert(group != NULL && !memory_of(broker)->dead);
    group->expired = false;
    give(group, partitions, count);
}

void broker_memory_revoke(struct broker *broker, const char *name, bool lost)
{
    struct memory_group *group = find_member(broker, name);
    assert(group != NULL);
    take_all(group, lost);
}

void broker_memory_expire(struct broker *broker, const char *name)
{
    struct memory_group *group = find_member(broker, name);
    if (group == NULL)
        return;
    take_all(group, true);
    group->expired = true;
}

/* The members that take part; a paused or disconnected one does as long as it has not expired. */
static uint32_t collect(struct broker_memory_cluster *cluster, const char *name,
                        struct memory_group **members, uint32_t members_max)
{
    uint32_t count = 0;
    struct memory_broker *broker;
    DL_FOREACH(cluster->brokers, broker) {
        struct memory_group *group = find_member(&broker->base, name);
        if (group == NULL || broker->dead)
            continue;
        if (memory_hears(broker))
            group->expired = false;
        if (!group->expired && count < members_max)
            members[count++] = group;
    }
    return count;
}

void broker_memory_rebalance(struct broker_memory_cluster *cluster, const char *name)
{
    struct memory_group *members[MEMBERS_MAX];
    uint32_t count = collect(cluster, name, members, MEMBERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const struct memory_topic *topic;
        HASH_FIND_STR(cluster->topics, members[i]->topic, topic);
        int32_t total = topic != NULL ? topic->partition_count : 0;
        int32_t *partitions = calloc((size_t)total + 1, sizeof(*partitions));
        uint32_t owned = 0;
        assert(partitions != NULL);
        for (int32_t p = 0; p < total; p++) {
            if ((uint32_t)p % count == i)
                partitions[owned++] = p;
        }
        give(members[i], partitions, owned);
        free(partitions);
    }
}

static char *copy_of(const char *note)
{
    return note != NULL ? strdup(note) : NULL;
}

static struct memory_reply *add_reply(struct memory_group *group, enum memory_reply_kind kind,
                                      int32_t partition, int64_t offset, void *ctx)
{
    struct memory_broker *broker = group->broker;
    struct memory_reply *reply = memory_reply_new(broker, kind, ctx);
    reply->group = group;
    reply->partition = partition;
    reply->high = offset;
    return reply;
}

void memory_group_commit(struct broker_group *base, int32_t partition, int64_t offset,
                         const char *note, broker_committed_done done, void *ctx)
{
    struct memory_group *group = (struct memory_group *)base;
    if (group->broker->dead)
        return;
    struct memory_commit *commit = commit_of(group, partition);
    bool fenced = commit->owned_since > group->generation;
    if (memory_hears(group->broker) && !fenced) {
        free(commit->note);
        commit->offset = offset;
        commit->note = copy_of(note);
    }
    struct memory_reply *reply = add_reply(group, MEMORY_REPLY_COMMITTED, partition, offset, ctx);
    reply->done.committed = done;
    if (fenced)
        error_set_foreign(&reply->error, ERROR_RETRY, "IllegalGeneration",
                          "another member has been given the partition since");
}

void memory_group_committed(struct broker_group *base, int32_t partition, broker_position_done done,
                            void *ctx)
{
    struct memory_group *group = (struct memory_group *)base;
    if (group->broker->dead)
        return;
    const struct memory_commit *commit = commit_of(group, partition);
    struct memory_reply *reply =
        add_reply(group, MEMORY_REPLY_POSITION, partition, commit->offset, ctx);
    reply->done.position = done;
    reply->note = copy_of(commit->note);
}

void memory_position_of(struct broker *base, const char *group, const char *topic,
                        int32_t partition, broker_group_position_done done, void *ctx)
{
    struct memory_broker *broker = memory_of(base);
    if (broker->dead)
        return;
    struct memory_reply *reply = memory_reply_new(broker, MEMORY_REPLY_GROUP_POSITION, ctx);
    reply->high = commit_in(broker->cluster, group, topic, partition)->offset;
    reply->done.group_position = done;
    reply->note = strdup(group);
    assert(reply->note != NULL);
}

bool memory_group_members(struct broker_group *base, broker_members_done done, void *ctx)
{
    struct memory_group *group = (struct memory_group *)base;
    if (!group->broker->dead)
        add_reply(group, MEMORY_REPLY_MEMBERS, 0, 0, ctx)->done.members = done;
    return true;
}

/* As the coordinator knows them when the answer arrives. */
void memory_group_answer_members(const struct memory_reply *reply)
{
    struct broker_member members[MEMBERS_MAX];
    uint32_t count = 0;
    struct memory_broker *broker;
    DL_FOREACH(reply->group->broker->cluster->brokers, broker) {
        const struct memory_group *group = find_member(&broker->base, reply->group->name);
        if (group != NULL && !broker->dead && !group->expired && count < MEMBERS_MAX)
            members[count++] = (struct broker_member){.client_id = broker->name,
                                                      .partitions = group->partitions,
                                                      .count = group->partition_count};
    }
    bool failed = error_is(&reply->error);
    reply->done.members(reply->ctx, failed ? NULL : members, failed ? 0 : count, &reply->error);
}

void memory_commits_free(struct broker_memory_cluster *cluster)
{
    struct memory_commit *commit;
    struct memory_commit *next;
    HASH_ITER(hh, cluster->commits, commit, next) {
        HASH_DEL(cluster->commits, commit);
        free(commit->note);
        free(commit);
    }
}

/* ---- joining and leaving ---- */

struct broker_group *memory_join(struct broker *base, const char *name, const char *topic,
                                 const struct broker_group_ops *ops, void *ctx)
{
    struct memory_broker *broker = memory_of(base);
    assert(find_member(base, name) == NULL);
    struct memory_group *group = memory_new_named(sizeof(*group), name);
    memcpy(group->name, name, strlen(name) + 1);
    group->base.broker = base;
    group->broker = broker;
    group->ops = ops;
    group->ctx = ctx;
    group->topic = strdup(topic);
    assert(group->topic != NULL);
    DL_APPEND(broker->groups, group);
    return &group->base;
}

void memory_group_free(struct memory_group *group)
{
    struct memory_broker *broker = group->broker;
    struct memory_reply *reply;
    struct memory_reply *next;
    DL_FOREACH_SAFE(broker->replies, reply, next) {
        if (reply->group != group)
            continue;
        DL_DELETE(broker->replies, reply);
        memory_reply_free(reply);
    }
    while (group->events != NULL) {
        struct memory_group_event *event = group->events;
        DL_DELETE(group->events, event);
        free(event);
    }
    DL_DELETE(broker->groups, group);
    free(group->partitions);
    free(group->topic);
    free(group);
}

void memory_leave(struct broker_group *base, void (*left)(void *ctx), void *ctx)
{
    struct memory_group *group = (struct memory_group *)base;
    struct memory_broker *broker = group->broker;
    memory_group_free(group);
    if (left != NULL && !broker->dead)
        memory_reply_new(broker, MEMORY_REPLY_LEFT, ctx)->done.left = left;
}
