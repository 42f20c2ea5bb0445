/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: owns partitions and runs the steps of their orders. All of its rules are in
 * engine/, all of the ownership is in owner.h; here the two meet the consumer group. */
#include "platform/logger.h"
#include "replica/membership.h"
#include "replica/settings.h"
#include "replica/stores.h"
#include "replica/view_report.h"
#include "services/scheduler/agent_monitor.h"
#include "services/scheduler/owner.h"
#include "services/scheduler/standby.h"
#include "services/services.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { DRAIN_TICK_MS = 10, DRAIN_TICKS_MAX = 500 };

struct scheduler {
    struct service_context *service;
    struct cluster *cluster;
    struct store_env *stores;
    struct owner_metrics *metrics;
    struct membership *membership;
    struct standby *standby;       /* NULL: switched off */
    struct agent_monitor *routing; /* NULL: switched off */
    struct metrics_gauge *owned;
    struct metrics_gauge *running;
    bool leaving;
    struct loop_timer drain_timer;
    uint32_t drain_ticks;
    uint32_t counting;
};

/* ---- partitions ---- */

/* `parts`: the process's memory is divided by. */
static struct owner *open_owner(struct scheduler *scheduler, int32_t partition, int64_t parts,
                                bool standby, struct error *ret_error)
{
    const struct config *config = scheduler->service->config;
    struct owner *owner = NULL;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/partition-%d", scheduler->service->data_dir, partition);
    int64_t cache = config_int(config, "scheduler.cache.orders") / parts;
    struct owner_options options = {
        .view = {.env = scheduler->stores,
                 .codec = scheduler->cluster->codec,
                 .path = path,
                 .cache_orders = (uint32_t)cache},
        .router = agent_monitor_router(scheduler->routing),
        .batch_max = (uint32_t)config_int(config, "scheduler.batch.max"),
        .margin_ms = config_ms(config, "clock.skew.max.ms"),
        .standby = standby,
    };
    if (owner_new(scheduler->cluster, partition, &options, scheduler->metrics, &owner, ret_error) !=
        ERROR_OK)
        return NULL;
    return owner;
}

static void *open_partition(void *ctx, int32_t partition, uint32_t assigned_count,
                            struct error *ret_error)
{
    struct scheduler *scheduler = ctx;
    agent_monitor_set_part(scheduler->routing, assigned_count);
    struct owner *owner = standby_take(scheduler->standby, partition);
    if (owner == NULL)
        return open_owner(scheduler, partition, assigned_count, false, ret_error);
    owner_promote(owner);
    return owner;
}

static struct owner *open_standby(void *ctx, int32_t partition, struct error *ret_error)
{
    struct scheduler *scheduler = ctx;
    return open_owner(scheduler, partition, scheduler->cluster->partition_count, true, ret_error);
}

static const struct standby_ops standby_ops = {.open = open_standby};

static void suspend_partition(void *thing, bool suspended)
{
    owner_suspend(thing, suspended);
}

static void close_partition(void *thing)
{
    owner_release(thing, NULL, NULL);
}

static int64_t committable(void *thing)
{
    return owner_next_command(thing);
}

static bool works(void *thing, char *ret_trouble, size_t size)
{
    return !owner_trouble(thing, ret_trouble, size) && owner_is_running(thing);
}

static const struct membership_ops membership_ops = {.open = open_partition,
                                                     .suspend = suspend_partition,
                                                     .close = close_partition,
                                                     .committable = committable,
                                                     .works = works,
                                                     .until_then = "claimed and folded"};

/* ---- the service ---- */

static void join(void *ctx)
{
    struct scheduler *scheduler = ctx;
    if (scheduler->leaving)
        return;
    scheduler->membership = membership_join(scheduler->cluster, scheduler->cluster->topics.commands,
                                            &membership_ops, scheduler);
    standby_begin(scheduler->standby, scheduler->membership);
}

static uint32_t own_partitions(void *ctx)
{
    const struct scheduler *scheduler = ctx;
    return membership_count(scheduler->membership);
}

static const struct agent_monitor_ops agent_monitor_ops = {.known = join, .own = own_partitions};

static void on_cluster_ready(void *ctx)
{
    struct scheduler *scheduler = ctx;
    if (scheduler->routing != NULL)
        agent_monitor_follow(scheduler->routing, &agent_monitor_ops, scheduler);
    else
        join(scheduler);
}

static void count_running(void *ctx, void *thing)
{
    struct scheduler *scheduler = ctx;
    if (owner_is_running(thing))
        scheduler->counting++;
}

static void refresh_gauges(void *ctx)
{
    struct scheduler *scheduler = ctx;
    if (scheduler->membership == NULL)
        return;
    scheduler->counting = 0;
    membership_each(scheduler->membership, count_running, scheduler);
    metrics_set(scheduler->owned, membership_count(scheduler->membership));
    metrics_set(scheduler->running, scheduler->counting);
}

static void report_owner(void *ctx, void *thing)
{
    view_report_add(ctx, owner_partition(thing), owner_view(thing));
}

static void report_stores(void *ctx, struct view_report *report)
{
    struct scheduler *scheduler = ctx;
    membership_each(scheduler->membership, report_owner, report);
    standby_each(scheduler->standby, report_owner, report);
}

static void on_left(void *ctx)
{
    struct scheduler *scheduler = ctx;
    service_drained(scheduler->service);
}

static void leave(struct scheduler *scheduler)
{
    struct membership *membership = scheduler->membership;
    standby_end(scheduler->standby);
    scheduler->membership = NULL;
    membership_leave(membership, on_left, scheduler);
}

static void stop(void *state)
{
    struct scheduler *scheduler = state;
    loop_timer_cancel(scheduler->service->loop, &scheduler->drain_timer);
    if (scheduler->membership != NULL) /* it ends at once */
        leave(scheduler);
    standby_free(scheduler->standby);
    agent_monitor_free(scheduler->routing);
    cluster_close(scheduler->cluster);
    owner_metrics_free(scheduler->metrics);
    if (scheduler->stores != NULL)
        store_env_free(scheduler->stores);
    free(scheduler);
}

static void drain_tick(struct loop *loop, struct loop_timer *timer, void *userdata);

static enum error_class start(struct service_context *service, void **ret_state,
                              struct error *ret_error)
{
    struct scheduler *scheduler = calloc(1, sizeof(*scheduler));
    assert(scheduler != NULL);
    scheduler->service = service;
    loop_timer_init(&scheduler->drain_timer, drain_tick, scheduler);
    enum error_class class = cluster_open(service, CLUSTER_FOLLOWS_WORKFLOWS, on_cluster_ready,
                                          scheduler, &scheduler->cluster, ret_error);
    if (class != ERROR_OK) {
        free(scheduler);
        return class;
    }
    scheduler->stores = stores_new(service->config);
    scheduler->metrics = owner_metrics_new(service->metrics);
    scheduler->routing = agent_monitor_new(scheduler->cluster);
    scheduler->standby = standby_new(scheduler->cluster, &standby_ops, scheduler);
    scheduler->owned = metrics_gauge(service->metrics, "reeve_partitions_assigned",
                                     "Partitions that the group gave us.", METRICS_NO_LABELS);
    scheduler->running =
        metrics_gauge(service->metrics, "reeve_partitions_running",
                      "Partitions claimed, folded and deciding.", METRICS_NO_LABELS);
    metrics_on_render(service->metrics, refresh_gauges, scheduler);
    view_report_route(service, false, report_stores, scheduler);
    *ret_state = scheduler;
    return ERROR_OK;
}

static bool ready(void *state, char *ret_reason, size_t reason_size)
{
    const struct scheduler *scheduler = state;
    return membership_is_ready(scheduler->membership, scheduler->cluster, ret_reason, reason_size);
}

/* ---- leaving ---- */

static void count_busy(void *ctx, void *thing)
{
    struct scheduler *scheduler = ctx;
    if (owner_is_busy(thing))
        scheduler->counting++;
}

/* Batches under way are finished, stored and emitted first: it spares the next owner reading them
 * again. */
static void drain_tick(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct scheduler *scheduler = userdata;
    scheduler->counting = 0;
    membership_each(scheduler->membership, count_busy, scheduler);
    if (scheduler->counting > 0 && scheduler->drain_ticks++ < DRAIN_TICKS_MAX) {
        loop_timer_after(loop, timer, DRAIN_TICK_MS);
        return;
    }
    leave(scheduler);
}

static void suspend_each(void *ctx, void *thing)
{
    (void)ctx;
    owner_suspend(thing, true);
}

static void drain(void *state)
{
    struct scheduler *scheduler = state;
    scheduler->leaving = true;
    if (scheduler->membership == NULL) {
        service_drained(scheduler->service);
        return;
    }
    membership_each(scheduler->membership, suspend_each, NULL);
    loop_timer_after(scheduler->service->loop, &scheduler->drain_timer, 0);
}

int scheduler_main(int argc, char **argv)
{
    static const struct service service = {.name = "scheduler",
                                           .bit = SETTINGS_SCHEDULER,
                                           .has_stores = true,
                                           .start = start,
                                           .ready = ready,
                                           .drain = drain,
                                           .stop = stop};
    return service_main(&service, argc, argv);
}
