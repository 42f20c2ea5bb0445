/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: owns partitions and runs the steps of their orders. Its rules are in engine/,
 * ownership is in owner/owner.h; here both meet the consumer group. */
#include "services/scheduler/scheduler.h"

#include "platform/logger.h"
#include "replica/cluster/membership.h"
#include "replica/cluster/schema_registry.h"
#include "replica/service/settings.h"
#include "replica/service/stores.h"
#include "replica/service/view_report.h"
#include "services/scheduler/emitter/partition_alerts.h"
#include "services/scheduler/group_watch.h"
#include "services/scheduler/owner/owner.h"
#include "services/scheduler/router/agent_monitor.h"
#include "services/scheduler/standby.h"
#include "services/services.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRAIN_TICK_MS = 10,
    DRAIN_TICKS_MAX = 500, /* a leader that is away does not keep the process */
    TRIM_GROUP_BYTES_MAX = 255
};

struct scheduler {
    struct service_context *service;
    struct cluster *cluster;
    struct store_env *stores;
    struct owner_metrics *metrics;
    struct membership *membership;
    struct standby *standby; /* NULL: switched off */
    struct agent_monitor *monitor;
    struct partition_alerts *alerts;
    struct group_watch *group_watch;
    struct view_report *report; /* NULL: without HTTP */
    struct metrics_gauge *owned;
    struct metrics_gauge *running;
    bool leaving;
    struct loop_timer drain_timer;
    uint32_t drain_ticks;
    uint32_t counting; /* by a visit of all partitions */
};

/* ---- partitions ---- */

/* The process's memory is divided by `parts`. */
static struct owner *open_owner(struct scheduler *scheduler, int32_t partition, int64_t parts,
                                bool standby, struct error *ret_error)
{
    const struct config *config = scheduler->service->config;
    struct owner *owner = NULL;
    char path[PATH_MAX];
    assert(partition >= 0 && parts > 0);
    snprintf(path, sizeof(path), "%s/partition-%d", scheduler->service->data_dir, partition);
    int64_t cache = config_int(config, "scheduler.cache.mb") << 20;
    struct owner_options options = {
        .view = {.env = scheduler->stores,
                 .codec = scheduler->cluster->codec,
                 .path = path,
                 .cache_bytes = (size_t)(cache / parts)},
        .router = agent_monitor_router(scheduler->monitor),
        .alerts = scheduler->alerts,
        .batch_max = (uint32_t)config_int(config, "scheduler.batch.max"),
        .margin_ms = config_ms(config, "clock.skew.max.ms"),
        .retention_ms = config_ms(config, "orders.retention.ms"),
        .expiry_max = OWNER_EXPIRY_MAX,
        .keep_ms = config_ms(config, "events.keep.ms"),
        .standby = standby,
    };
    options.trim_group_count =
        (uint32_t)config_list(config, "events.trim.groups", &options.trim_groups);
    if (owner_new(scheduler->cluster, partition, &options, scheduler->metrics, &owner, ret_error) !=
        ERROR_OK)
        return NULL;
    return owner;
}

static struct owner *owner_of(struct membership_partition *partition)
{
    assert(partition != NULL);
    return (struct owner *)partition;
}

static struct membership_partition *open_partition(void *ctx, int32_t number,
                                                   uint32_t assigned_count, struct error *ret_error)
{
    struct scheduler *scheduler = ctx;
    assert(number >= 0 && number < scheduler->cluster->partition_count);
    assert(assigned_count >= 1);
    agent_monitor_set_own_partitions(scheduler->monitor, assigned_count);
    struct owner *owner = standby_take(scheduler->standby, number);
    if (owner != NULL)
        owner_promote(owner);
    else
        owner = open_owner(scheduler, number, assigned_count, false, ret_error);
    return (struct membership_partition *)owner;
}

static struct owner *open_standby(void *ctx, int32_t partition, struct error *ret_error)
{
    struct scheduler *scheduler = ctx;
    return open_owner(scheduler, partition, scheduler->cluster->partition_count, true, ret_error);
}

static void suspend_partition(struct membership_partition *partition, bool suspended)
{
    owner_suspend(owner_of(partition), suspended);
}

static void close_partition(struct membership_partition *partition)
{
    owner_flush(owner_of(partition));
    owner_release(owner_of(partition), NULL, NULL);
}

static int64_t committable(struct membership_partition *partition)
{
    return owner_next_command(owner_of(partition));
}

static bool works(struct membership_partition *partition, char *ret_trouble, size_t size)
{
    return !owner_trouble(owner_of(partition), ret_trouble, size) &&
           owner_is_running(owner_of(partition));
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
    assert(scheduler->membership == NULL);
    scheduler->membership = membership_join(scheduler->cluster, scheduler->cluster->topics.commands,
                                            &membership_ops, scheduler);
    standby_begin(scheduler->standby, scheduler->membership);
}

/* ---- leaving the group for a while ---- */

struct owner_visit {
    void (*visit)(void *visitor, const struct owner *owner);
    void *visitor;
};

static void visit_owner(void *ctx, struct membership_partition *partition)
{
    const struct owner_visit *visit = ctx;
    visit->visit(visit->visitor, owner_of(partition));
}

static void each_owner(void *ctx, void (*visit)(void *visitor, const struct owner *owner),
                       void *visitor)
{
    struct scheduler *scheduler = ctx;
    struct owner_visit owner_visit = {visit, visitor};
    membership_each(scheduler->membership, visit_owner, &owner_visit);
}

static bool has_others(void *ctx)
{
    const struct scheduler *scheduler = ctx;
    uint32_t own = membership_count(scheduler->membership);
    assert(own <= (uint32_t)scheduler->cluster->partition_count);
    return own < (uint32_t)scheduler->cluster->partition_count;
}

static void leave(struct scheduler *scheduler, void (*left)(void *ctx))
{
    struct membership *membership = scheduler->membership;
    assert(membership != NULL);
    standby_end(scheduler->standby);
    scheduler->membership = NULL;
    partition_alerts_left(scheduler->alerts);
    membership_leave(membership, left, scheduler);
}

static void on_left_for_a_while(void *ctx)
{
    struct scheduler *scheduler = ctx;
    assert(scheduler->membership == NULL);
    group_watch_left(scheduler->group_watch);
}

static void leave_for_a_while(void *ctx)
{
    struct scheduler *scheduler = ctx;
    assert(!scheduler->leaving);
    leave(scheduler, on_left_for_a_while);
}

static const struct group_watch_ops group_watch_ops = {each_owner, has_others, leave_for_a_while,
                                                       join};

static uint32_t own_partitions(void *ctx)
{
    const struct scheduler *scheduler = ctx;
    return membership_count(scheduler->membership);
}

static const struct agent_monitor_ops agent_monitor_ops = {.known = join,
                                                           .own_partitions = own_partitions};

static bool members(void *ctx, broker_members_done done, void *done_ctx)
{
    const struct scheduler *scheduler = ctx;
    assert(scheduler->membership != NULL); /* what is to be raised, or runs, is a member's */
    return membership_members(scheduler->membership, done, done_ctx);
}

static bool runs(void *ctx, int32_t partition)
{
    const struct scheduler *scheduler = ctx;
    struct membership_partition *found = NULL;
    if (scheduler->membership != NULL)
        found = membership_find(scheduler->membership, partition);
    return found != NULL && owner_is_running(owner_of(found));
}

static const struct partition_alerts_ops partition_alerts_ops = {members, runs};

static void on_cluster_ready(void *ctx)
{
    struct scheduler *scheduler = ctx;
    assert(scheduler->membership == NULL);
    partition_alerts_follow(scheduler->alerts);
    agent_monitor_follow(scheduler->monitor, &agent_monitor_ops, scheduler);
}

static void count_running(void *ctx, struct membership_partition *partition)
{
    struct scheduler *scheduler = ctx;
    if (owner_is_running(owner_of(partition)))
        scheduler->counting++;
    assert(scheduler->counting <= membership_count(scheduler->membership));
}

static void refresh_gauges(void *ctx)
{
    struct scheduler *scheduler = ctx;
    scheduler->counting = 0;
    membership_each(scheduler->membership, count_running, scheduler);
    assert(scheduler->counting <= (uint32_t)scheduler->cluster->partition_count);
    metrics_set(scheduler->owned, membership_count(scheduler->membership));
    metrics_set(scheduler->running, scheduler->counting);
}

static void report_owner(void *ctx, struct owner *owner)
{
    view_report_add(ctx, owner_partition(owner), owner_view(owner));
}

static void report_partition(void *ctx, struct membership_partition *partition)
{
    report_owner(ctx, owner_of(partition));
}

static void report_stores(void *ctx, struct view_report *report)
{
    struct scheduler *scheduler = ctx;
    membership_each(scheduler->membership, report_partition, report);
    standby_each(scheduler->standby, report_owner, report);
}

static void on_left(void *ctx)
{
    struct scheduler *scheduler = ctx;
    assert(scheduler->membership == NULL);
    service_drained(scheduler->service);
}

static void stop(void *state)
{
    struct scheduler *scheduler = state;
    loop_timer_cancel(scheduler->service->loop, &scheduler->drain_timer);
    if (scheduler->membership != NULL) /* it ends at once */
        leave(scheduler, on_left);
    assert(scheduler->membership == NULL);
    standby_free(scheduler->standby);
    group_watch_free(scheduler->group_watch);
    partition_alerts_free(scheduler->alerts);
    agent_monitor_free(scheduler->monitor);
    cluster_close(scheduler->cluster);
    owner_metrics_free(scheduler->metrics);
    if (scheduler->stores != NULL)
        store_env_free(scheduler->stores);
    view_report_free(scheduler->report);
    free(scheduler);
}

static void drain_tick(void *ctx);

static enum error_class check_retention(const struct config *config, struct error *ret_error)
{
    int64_t keep_ms = config_ms(config, "events.keep.ms");
    int64_t retention_ms = config_ms(config, "orders.retention.ms");
    const char *const *groups;
    size_t count = config_list(config, "events.trim.groups", &groups);
    for (size_t i = 0; i < count; i++)
        if (groups[i][0] == '\0' || strlen(groups[i]) > TRIM_GROUP_BYTES_MAX)
            return error_set(ret_error, CODE_CONFIG,
                             "events.trim.groups: the name of a group has %zu bytes; 1 to %d are "
                             "possible",
                             strlen(groups[i]), TRIM_GROUP_BYTES_MAX);
    if (keep_ms > 0 && retention_ms == 0)
        return error_set(ret_error, CODE_CONFIG,
                         "events.keep.ms is set, but with orders.retention.ms = 0 finished orders "
                         "stay for ever, and each would be restated again and again: set both");
    if (keep_ms > 0 && keep_ms < retention_ms)
        return error_set(ret_error, CODE_CONFIG,
                         "events.keep.ms is %" PRId64 " ms; it must be at least "
                         "orders.retention.ms, %" PRId64 " ms, or 0",
                         keep_ms, retention_ms);
    if (retention_ms > 0 && retention_ms <= SUBMISSIONS_KEPT_MS)
        log_warning("orders.retention.ms is not longer than submissions are kept: an order that is "
                    "submitted again after it has expired is a new one",
                    LOG_I64("orders.retention.ms", retention_ms));
    return ERROR_OK;
}

enum error_class scheduler_open(struct service_context *service, struct broker *broker,
                                struct scheduler **ret_scheduler, struct error *ret_error)
{
    static const unsigned flags =
        CLUSTER_FOLLOWS_WORKFLOWS | CLUSTER_CHECKS_LOG | CLUSTER_HAS_APPLICATIONS;
    if (check_retention(service->config, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    struct scheduler *scheduler = calloc(1, sizeof(*scheduler));
    assert(scheduler != NULL);
    scheduler->service = service;
    loop_timer_init(&scheduler->drain_timer, drain_tick, scheduler);
    enum error_class class = broker == NULL
                                 ? cluster_open(service, flags, on_cluster_ready, scheduler,
                                                &scheduler->cluster, ret_error)
                                 : cluster_open_on(service, broker, flags, on_cluster_ready,
                                                   scheduler, &scheduler->cluster, ret_error);
    if (class != ERROR_OK) {
        free(scheduler);
        return class;
    }
    scheduler->stores = stores_new(service->config);
    scheduler->metrics = owner_metrics_new(service->metrics);
    scheduler->monitor = agent_monitor_new(scheduler->cluster);
    scheduler->alerts = partition_alerts_new(scheduler->cluster, &partition_alerts_ops, scheduler);
    scheduler->group_watch = group_watch_new(scheduler->cluster, &group_watch_ops, scheduler);
    scheduler->standby = standby_new(scheduler->cluster, open_standby, scheduler);
    scheduler->owned = metrics_gauge(service->metrics, "reeve_partitions_assigned",
                                     "Partitions that the group has assigned.", METRICS_NO_LABELS);
    scheduler->running =
        metrics_gauge(service->metrics, "reeve_partitions_running",
                      "Partitions claimed, folded and deciding.", METRICS_NO_LABELS);
    metrics_on_render(service->metrics, refresh_gauges, scheduler);
    if (service->http != NULL)
        scheduler->report = view_report_route(service, false, report_stores, scheduler);
    *ret_scheduler = scheduler;
    return ERROR_OK;
}

bool scheduler_ready(void *state, char *ret_reason, size_t reason_size)
{
    const struct scheduler *scheduler = state;
    if (group_watch_is_away(scheduler->group_watch, ret_reason, reason_size))
        return false;
    return membership_is_ready(scheduler->membership, scheduler->cluster, ret_reason, reason_size);
}

bool scheduler_degraded(void *state, char *ret_reason, size_t reason_size)
{
    const struct scheduler *scheduler = state;
    return standby_trouble(scheduler->standby, ret_reason, reason_size) ||
           schema_registry_trouble(scheduler->cluster->registry, ret_reason, reason_size);
}

/* ---- leaving ---- */

static void count_busy(void *ctx, struct membership_partition *partition)
{
    struct scheduler *scheduler = ctx;
    if (owner_is_busy(owner_of(partition)))
        scheduler->counting++;
    assert(scheduler->counting <= membership_count(scheduler->membership));
}

/* Finishes, stores and emits the batches under way first: the next owner need not read them
 * again. Without brokers nothing of that ends. */
static void drain_tick(void *ctx)
{
    struct scheduler *scheduler = ctx;
    assert(scheduler->leaving);
    assert(scheduler->membership != NULL);
    scheduler->counting = 0;
    membership_each(scheduler->membership, count_busy, scheduler);
    if (scheduler->counting > 0 && scheduler->drain_ticks++ < DRAIN_TICKS_MAX &&
        broker_connected(scheduler->cluster->broker)) {
        loop_timer_after(scheduler->service->loop, &scheduler->drain_timer, DRAIN_TICK_MS);
        return;
    }
    leave(scheduler, on_left);
}

static void suspend_each(void *ctx, struct membership_partition *partition)
{
    (void)ctx;
    owner_suspend(owner_of(partition), true);
}

static void drain(void *state)
{
    struct scheduler *scheduler = state;
    assert(!scheduler->leaving && scheduler->drain_ticks == 0);
    scheduler->leaving = true;
    group_watch_stop(scheduler->group_watch);
    if (scheduler->membership == NULL) {
        service_drained(scheduler->service);
        return;
    }
    membership_each(scheduler->membership, suspend_each, NULL);
    loop_timer_after(scheduler->service->loop, &scheduler->drain_timer, 0);
}

/* ---- the handlers of the service ---- */

static enum error_class start(struct service_context *service, void **ret_state,
                              struct error *ret_error)
{
    struct scheduler *scheduler = NULL;
    enum error_class class = scheduler_open(service, NULL, &scheduler, ret_error);
    if (class == ERROR_OK)
        *ret_state = scheduler;
    return class;
}

const struct http_routes *const scheduler_routes[] = {&view_report_routes, &service_about_routes,
                                                      &http_built_in_routes, NULL};

int scheduler_main(int argc, char **argv)
{
    static const struct service service = {.name = "scheduler",
                                           .bit = SETTINGS_SCHEDULER,
                                           .has_stores = true,
                                           .routes = scheduler_routes,
                                           .start = start,
                                           .ready = scheduler_ready,
                                           .degraded = scheduler_degraded,
                                           .drain = drain,
                                           .stop = stop};
    return service_main(&service, argc, argv);
}
