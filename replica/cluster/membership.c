/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/cluster/membership.h"

#include "platform/logger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 5000 };

struct membership_place {
    struct membership_partition *partition; /* NULL: not open */
    bool wanted;
    int64_t committed; /* the last offset given to the group */
};

struct membership {
    struct cluster *cluster;
    struct broker_group *group;
    const char *topic;
    const struct membership_ops *ops;
    void *ctx;
    struct membership_place *places; /* cluster->partition_count of them */
    bool assigned;
    uint32_t count; /* wanted */
    struct loop_timer timer;
    void (*left)(void *ctx);
    void *left_ctx;
};

static void open_wanted(struct membership *membership)
{
    struct error error;
    for (int32_t p = 0; p < membership->cluster->partition_count; p++) {
        struct membership_place *place = &membership->places[p];
        if (!place->wanted || place->partition != NULL)
            continue;
        place->committed = -1;
        place->partition = membership->ops->open(membership->ctx, p, membership->count, &error);
        if (place->partition == NULL)
            log_error("a partition cannot be opened, trying again later", LOG_I64("partition", p),
                      LOG_ERR(&error));
    }
}

static void on_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct membership *membership = ctx;
    for (int32_t p = 0; p < membership->cluster->partition_count; p++)
        membership->places[p].wanted = false;
    for (uint32_t i = 0; i < count; i++) {
        if (partitions[i] >= membership->cluster->partition_count) {
            cluster_partitions_changed(membership->cluster, membership->topic, partitions[i] + 1);
            return;
        }
        membership->places[partitions[i]].wanted = true;
    }
    membership->assigned = true;
    membership->count = count;
    log_info("partitions assigned", LOG_U64("count", count));
    for (int32_t p = 0; p < membership->cluster->partition_count; p++) {
        struct membership_place *place = &membership->places[p];
        if (place->partition == NULL)
            continue;
        if (!place->wanted) {
            membership->ops->close(place->partition);
            place->partition = NULL;
        } else if (membership->ops->suspend != NULL) {
            membership->ops->suspend(place->partition, false);
        }
    }
    open_wanted(membership);
}

static void on_revoked(void *ctx, bool lost)
{
    struct membership *membership = ctx;
    log_info("partitions revoked", LOG_BOOL("lost", lost));
    for (int32_t p = 0; p < membership->cluster->partition_count; p++)
        if (membership->places[p].partition != NULL && membership->ops->suspend != NULL)
            membership->ops->suspend(membership->places[p].partition, true);
}

static void on_error(void *ctx, const struct error *error)
{
    struct membership *membership = ctx;
    if (error->class != ERROR_RETRY)
        service_fail(membership->cluster->service, error);
    else
        log_warning_limited("consumer group", LOG_ERR(error));
}

static const struct broker_group_ops group_ops = {on_assigned, on_revoked, on_error};

static void on_tick(void *ctx)
{
    struct membership *membership = ctx;
    open_wanted(membership);
    for (int32_t p = 0; p < membership->cluster->partition_count; p++) {
        struct membership_place *place = &membership->places[p];
        if (place->partition == NULL || membership->ops->committable == NULL)
            continue;
        int64_t offset = membership->ops->committable(place->partition);
        if (offset > place->committed) {
            broker_group_commit(membership->group, p, offset, NULL, NULL, NULL);
            place->committed = offset;
        }
    }
    loop_timer_after(membership->cluster->service->loop, &membership->timer, TICK_MS);
}

struct membership *membership_join(struct cluster *cluster, const char *topic,
                                   const struct membership_ops *ops, void *ctx)
{
    char group[TOPIC_BYTES_MAX + 1];
    struct membership *membership = calloc(1, sizeof(*membership));
    assert(membership != NULL && cluster->partition_count > 0);
    assert(ops->open != NULL && ops->close != NULL && ops->works != NULL);
    membership->cluster = cluster;
    membership->topic = topic;
    membership->ops = ops;
    membership->ctx = ctx;
    membership->places = calloc((size_t)cluster->partition_count, sizeof(struct membership_place));
    assert(membership->places != NULL);
    snprintf(group, sizeof(group), "%s.%s",
             config_string(cluster->service->config, "topics.prefix"), cluster->service->name);
    membership->group = broker_join(cluster->broker, group, topic, &group_ops, membership);
    loop_timer_init(&membership->timer, on_tick, membership);
    loop_timer_after(cluster->service->loop, &membership->timer, TICK_MS);
    return membership;
}

static void on_left(void *ctx)
{
    struct membership *membership = ctx;
    void (*left)(void *) = membership->left;
    void *left_ctx = membership->left_ctx;
    free(membership->places);
    free(membership);
    left(left_ctx);
}

void membership_leave(struct membership *membership, void (*left)(void *ctx), void *ctx)
{
    assert(left != NULL && membership->left == NULL);
    loop_timer_cancel(membership->cluster->service->loop, &membership->timer);
    for (int32_t p = 0; p < membership->cluster->partition_count; p++) {
        if (membership->places[p].partition != NULL)
            membership->ops->close(membership->places[p].partition);
        membership->places[p].partition = NULL;
    }
    membership->left = left;
    membership->left_ctx = ctx;
    broker_leave(membership->group, on_left, membership);
}

void membership_each(struct membership *membership,
                     void (*visit)(void *ctx, struct membership_partition *partition), void *ctx)
{
    if (membership == NULL)
        return;
    for (int32_t p = 0; p < membership->cluster->partition_count; p++)
        if (membership->places[p].partition != NULL)
            visit(ctx, membership->places[p].partition);
}

struct membership_partition *membership_find(struct membership *membership, int32_t number)
{
    return number >= 0 && number < membership->cluster->partition_count
               ? membership->places[number].partition
               : NULL;
}

uint32_t membership_count(const struct membership *membership)
{
    return membership != NULL ? membership->count : 0;
}

static bool all_work(const struct membership *membership, char *ret_reason, size_t reason_size)
{
    char trouble[ERROR_MESSAGE_SIZE + 64] = "";
    uint32_t beginning = 0;
    for (int32_t p = 0; p < membership->cluster->partition_count && trouble[0] == '\0'; p++) {
        struct membership_partition *partition = membership->places[p].partition;
        if (partition != NULL && !membership->ops->works(partition, trouble, sizeof(trouble)))
            beginning++;
    }
    if (trouble[0] != '\0')
        snprintf(ret_reason, reason_size, "%s", trouble);
    else if (beginning > 0)
        snprintf(ret_reason, reason_size, "%u partitions are being %s", beginning,
                 membership->ops->until_then);
    return beginning == 0;
}

bool membership_is_ready(const struct membership *membership, const struct cluster *cluster,
                         char *ret_reason, size_t reason_size)
{
    const char *reason = NULL;
    if (!broker_connected(cluster->broker))
        reason = "no broker is connected";
    else if (membership == NULL || !membership->assigned)
        reason = "waits for its partitions";
    if (reason == NULL)
        return all_work(membership, ret_reason, reason_size);
    snprintf(ret_reason, reason_size, "%s", reason);
    return false;
}

bool membership_members(struct membership *membership, broker_members_done done, void *ctx)
{
    return broker_group_members(membership->group, done, ctx);
}
