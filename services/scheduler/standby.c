/* SPDX-License-Identifier: Apache-2.0 */
/* See standby.h. */
#include "services/scheduler/standby.h"

#include "platform/logger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CHECK_MS = 2000, UNKNOWN_MS = 15000 };

struct standby {
    struct cluster *cluster;
    standby_open open_owner;
    void *ctx;
    struct membership *membership; /* borrowed; NULL: not begun, or ended */
    struct owner **owners;         /* by partition; NULL: no standby for it */
    int64_t count;                 /* scheduler.standby */
    struct error open_error;       /* of the last partition that could not be opened */
    int32_t open_failed;           /* that partition; -1: none */
    struct error members_error;
    int64_t members_ms; /* when the members were known; INT64_MAX: these brokers do not list them */
    struct loop_timer timer;
    struct metrics_gauge *opened;
    struct metrics_gauge *warm;
    struct metrics_gauge *lag;
};

/* ---- which members have a standby ---- */

static uint64_t weight(const char *instance, int32_t partition)
{
    return XXH3_64bits_withSeed(instance, strlen(instance), (uint64_t)partition);
}

bool standby_is_chosen(const struct broker_member *members, uint32_t member_count,
                       const char *instance, int32_t partition, const struct broker_member *owner,
                       int64_t count)
{
    assert(partition >= 0 && count > 0);
    uint64_t own = weight(instance, partition);
    int64_t before = 0;
    bool present = false;
    for (uint32_t i = 0; i < member_count; i++) {
        if (&members[i] == owner)
            continue;
        if (strcmp(members[i].client_id, instance) == 0)
            present = true;
        else if (weight(members[i].client_id, partition) < own)
            before++;
    }
    return present && before < count;
}

static const struct broker_member *owner_of(const struct broker_member *members, uint32_t count,
                                            int32_t partition)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < members[i].count; k++)
            if (members[i].partitions[k] == partition)
                return &members[i];
    return NULL;
}

/* ---- opening and closing ---- */

static void open_one(struct standby *standby, int32_t partition)
{
    assert(partition >= 0 && partition < standby->cluster->partition_count);
    assert(standby->owners[partition] == NULL);
    standby->owners[partition] = standby->open_owner(standby->ctx, partition, &standby->open_error);
    if (standby->owners[partition] == NULL) {
        standby->open_failed = partition;
        log_warning_limited("cannot open a standby, trying again later",
                            LOG_I64("partition", partition), LOG_ERR(&standby->open_error));
    } else
        log_info("standby opened", LOG_I64("partition", partition));
}

static void close_one(struct standby *standby, int32_t partition)
{
    assert(partition >= 0 && partition < standby->cluster->partition_count);
    assert(standby->owners[partition] != NULL);
    log_info("standby closed", LOG_I64("partition", partition));
    owner_flush(standby->owners[partition]);
    owner_release(standby->owners[partition], NULL, NULL);
    standby->owners[partition] = NULL;
}

static void on_members(void *ctx, const struct broker_member *members, uint32_t count,
                       const struct error *error)
{
    struct standby *standby = ctx;
    const char *instance = standby->cluster->service->instance_id;
    if (error != NULL && error_is(error)) {
        if (error->code != CODE_GROUP_UNKNOWN)
            log_warning_limited("the members of the group are not known", LOG_ERR(error));
        standby->members_error = *error;
        return; /* the present standbys stay */
    }
    standby->members_ms = cluster_now_ms(standby->cluster);
    standby->members_error = (struct error){0};
    standby->open_failed = -1;
    for (int32_t p = 0; p < standby->cluster->partition_count; p++) {
        const struct broker_member *owner = owner_of(members, count, p);
        /* The answer may be older than our assignment, or newer. */
        if (owner == NULL || strcmp(owner->client_id, instance) == 0 ||
            membership_find(standby->membership, p) != NULL)
            continue;
        bool chosen = standby_is_chosen(members, count, instance, p, owner, standby->count);
        if (chosen && standby->owners[p] == NULL)
            open_one(standby, p);
        else if (!chosen && standby->owners[p] != NULL)
            close_one(standby, p);
    }
}

static void on_timer(void *ctx)
{
    struct standby *standby = ctx;
    assert(standby->membership != NULL);
    if (membership_members(standby->membership, on_members, standby)) {
        loop_timer_after(standby->cluster->service->loop, &standby->timer, CHECK_MS);
    } else {
        standby->members_ms = INT64_MAX;
        log_warning("scheduler.standby has no effect: these brokers do not list the members "
                    "of a group");
    }
}

struct owner *standby_take(struct standby *standby, int32_t partition)
{
    if (standby == NULL)
        return NULL;
    assert(partition >= 0 && partition < standby->cluster->partition_count);
    struct owner *owner = standby->owners[partition];
    assert(owner == NULL || owner_state(owner) == OWNER_STANDBY);
    standby->owners[partition] = NULL;
    return owner;
}

void standby_each(struct standby *standby, void (*visit)(void *ctx, struct owner *owner), void *ctx)
{
    if (standby == NULL)
        return;
    for (int32_t p = 0; p < standby->cluster->partition_count; p++)
        if (standby->owners[p] != NULL)
            visit(ctx, standby->owners[p]);
}

bool standby_trouble(const struct standby *standby, char *ret_text, size_t size)
{
    if (standby == NULL || standby->membership == NULL)
        return false;
    for (int32_t p = 0; p < standby->cluster->partition_count; p++)
        if (standby->owners[p] != NULL && owner_trouble(standby->owners[p], ret_text, size))
            return true;
    int64_t now = cluster_now_ms(standby->cluster);
    int64_t unknown_ms = now > standby->members_ms ? now - standby->members_ms : 0;
    if (standby->open_failed >= 0)
        snprintf(ret_text, size, "the standby of partition %d cannot be opened: %s",
                 standby->open_failed, standby->open_error.message);
    else if (unknown_ms >= UNKNOWN_MS)
        snprintf(ret_text, size,
                 "standbys have waited %lld s for the coordinator to name the members of the "
                 "group: %s",
                 (long long)(unknown_ms / 1000),
                 error_is(&standby->members_error) ? standby->members_error.message : "no answer");
    else
        return false;
    return true;
}

/* ---- life ---- */

static void refresh_gauges(void *ctx)
{
    struct standby *standby = ctx;
    double open = 0;
    double warm = 0;
    double lag = 0;
    for (int32_t p = 0; p < standby->cluster->partition_count; p++) {
        if (standby->owners[p] == NULL)
            continue;
        open++;
        warm += owner_is_warm(standby->owners[p]) ? 1 : 0;
        lag += (double)owner_lag(standby->owners[p]);
    }
    assert(warm <= open);
    metrics_set(standby->opened, open);
    metrics_set(standby->warm, warm);
    metrics_set(standby->lag, lag);
}

struct standby *standby_new(struct cluster *cluster, standby_open open, void *ctx)
{
    struct metrics *metrics = cluster->service->metrics;
    int64_t count = config_int(cluster->service->config, "scheduler.standby");
    if (count == 0)
        return NULL;
    struct standby *standby = calloc(1, sizeof(*standby));
    assert(standby != NULL);
    assert(open != NULL);
    assert(cluster->partition_count > 0);
    assert(count > 0);
    standby->cluster = cluster;
    standby->open_owner = open;
    standby->ctx = ctx;
    standby->count = count;
    standby->open_failed = -1;
    standby->owners = calloc((size_t)cluster->partition_count, sizeof(standby->owners[0]));
    assert(standby->owners != NULL);
    loop_timer_init(&standby->timer, on_timer, standby);
    standby->opened = metrics_gauge(metrics, "reeve_partitions_standby",
                                    "Partitions of other schedulers that are folded here as a "
                                    "standby.",
                                    METRICS_NO_LABELS);
    standby->warm = metrics_gauge(metrics, "reeve_partitions_warm",
                                  "Standbys that have caught up with the log.", METRICS_NO_LABELS);
    standby->lag = metrics_gauge(metrics, "reeve_standby_lag_records",
                                 "Records that standbys still have to fold.", METRICS_NO_LABELS);
    metrics_on_render(metrics, refresh_gauges, standby);
    return standby;
}

void standby_begin(struct standby *standby, struct membership *membership)
{
    if (standby == NULL)
        return;
    assert(membership != NULL);
    assert(standby->membership == NULL);
    standby->membership = membership;
    standby->members_ms = cluster_now_ms(standby->cluster);
    loop_timer_after(standby->cluster->service->loop, &standby->timer, CHECK_MS);
}

void standby_end(struct standby *standby)
{
    if (standby == NULL)
        return;
    standby->membership = NULL;
    loop_timer_cancel(standby->cluster->service->loop, &standby->timer);
    for (int32_t p = 0; p < standby->cluster->partition_count; p++)
        if (standby->owners[p] != NULL)
            close_one(standby, p);
}

void standby_free(struct standby *standby)
{
    if (standby == NULL)
        return;
    assert(standby->membership == NULL);
    for (int32_t p = 0; p < standby->cluster->partition_count; p++)
        assert(standby->owners[p] == NULL);
    free(standby->owners);
    free(standby);
}
