/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor: finds steps that timed out or are due for their next attempt, and requests them
 * from the scheduler. Its own consumer group over <p>.events gives each partition one supervisor.
 * One supervisor is also the elected auditor, and one submits the orders of schedules. */
#include "leader/leader.h"
#include "replica/cluster/membership.h"
#include "replica/service/order_traces.h"
#include "replica/service/settings.h"
#include "replica/service/stores.h"
#include "replica/service/view_report.h"
#include "services/services.h"
#include "services/supervisor/auditor.h"
#include "services/supervisor/order_spans.h"
#include "services/supervisor/partition.h"
#include "services/supervisor/schedules.h"
#include "services/supervisor/waiting_commands.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* In all partitions. Few: most orders end between two commits, and one that waits is read again
 * when something happens to it. */
enum { CACHE_BYTES = 4 * 1024 * 1024 };

struct supervisor {
    struct service_context *service;
    struct cluster *cluster;
    struct store_env *stores;
    struct membership *membership;
    struct auditor *auditor;
    struct schedules *schedules; /* NULL: schedules.enabled is false */
    struct view_report *report;
    struct trace_export *trace_export; /* NULL: traces.url is empty */
    struct order_spans *spans;
    uint32_t leaving; /* of the group, of the elections */
    struct supervisor_metrics metrics;
    struct metrics_gauge *assigned;
    struct metrics_gauge *lag;
    struct metrics_gauge *undecided;
    int64_t lag_sum;
    int64_t undecided_ms; /* the longest of all partitions */
};

static struct supervisor_partition *partition_of(struct membership_partition *partition)
{
    return (struct supervisor_partition *)partition;
}

static struct membership_partition *open_partition(void *ctx, int32_t number,
                                                   uint32_t assigned_count, struct error *ret_error)
{
    struct supervisor *supervisor = ctx;
    struct supervisor_partition *partition = NULL;
    char path[PATH_MAX];
    auditor_release(supervisor->auditor, number);
    snprintf(path, sizeof(path), "%s/partition-%d", supervisor->service->data_dir, number);
    struct view_options options = {.env = supervisor->stores,
                                   .codec = supervisor->cluster->codec,
                                   .path = path,
                                   .cache_bytes = CACHE_BYTES / assigned_count,
                                   .deadlines = true};
    if (supervisor_partition_new(supervisor->cluster, number, &options, &supervisor->metrics,
                                 supervisor->spans, &partition, ret_error) != ERROR_OK)
        return NULL;
    return (struct membership_partition *)partition;
}

static void suspend_partition(struct membership_partition *partition, bool suspended)
{
    supervisor_partition_suspend(partition_of(partition), suspended);
}

static void close_partition(struct membership_partition *partition)
{
    supervisor_partition_free(partition_of(partition));
}

static int64_t committable(struct membership_partition *partition)
{
    return supervisor_partition_next_offset(partition_of(partition));
}

static bool works(struct membership_partition *partition, char *ret_trouble, size_t size)
{
    return !supervisor_partition_trouble(partition_of(partition), ret_trouble, size);
}

static const struct membership_ops membership_ops = {.open = open_partition,
                                                     .suspend = suspend_partition,
                                                     .close = close_partition,
                                                     .committable = committable,
                                                     .works = works,
                                                     .until_then = "folded"};

static struct follower *watched(void *ctx, int32_t number, bool *ret_current)
{
    const struct supervisor *supervisor = ctx;
    struct membership_partition *partition =
        supervisor->membership != NULL ? membership_find(supervisor->membership, number) : NULL;
    return partition != NULL ? supervisor_partition_follower(partition_of(partition), ret_current)
                             : NULL;
}

static void on_cluster_ready(void *ctx)
{
    struct supervisor *supervisor = ctx;
    const struct auditor_watch watch = {watched, supervisor};
    struct error error;
    if (auditor_new(supervisor->cluster, supervisor->stores, &watch, &supervisor->auditor,
                    &error) != ERROR_OK ||
        (config_bool(supervisor->service->config, "schedules.enabled") &&
         schedules_new(supervisor->cluster, &supervisor->schedules, &error) != ERROR_OK)) {
        service_fail(supervisor->service, &error);
        return;
    }
    supervisor->membership = membership_join(
        supervisor->cluster, supervisor->cluster->topics.events, &membership_ops, supervisor);
}

static void add_lag(void *ctx, struct membership_partition *partition)
{
    struct supervisor *supervisor = ctx;
    int64_t waited_ms = waiting_commands_ms(supervisor_partition_waiting(partition_of(partition)));
    supervisor->lag_sum += supervisor_partition_lag(partition_of(partition));
    if (waited_ms > supervisor->undecided_ms)
        supervisor->undecided_ms = waited_ms;
}

static void refresh_gauges(void *ctx)
{
    struct supervisor *supervisor = ctx;
    if (supervisor->membership == NULL)
        return;
    supervisor->lag_sum = 0;
    supervisor->undecided_ms = 0;
    membership_each(supervisor->membership, add_lag, supervisor);
    metrics_set(supervisor->assigned, membership_count(supervisor->membership));
    metrics_set(supervisor->lag, (double)supervisor->lag_sum);
    metrics_set(supervisor->undecided, (double)supervisor->undecided_ms / 1000);
}

static void report_partition(void *ctx, struct membership_partition *partition)
{
    view_report_add(ctx, supervisor_partition_number(partition_of(partition)),
                    supervisor_partition_view(partition_of(partition)));
}

static void report_stores(void *ctx, struct view_report *report)
{
    struct supervisor *supervisor = ctx;
    membership_each(supervisor->membership, report_partition, report);
}

static void register_metrics(struct supervisor *supervisor)
{
    struct metrics *metrics = supervisor->service->metrics;
    supervisor_metrics_init(&supervisor->metrics, metrics);
    supervisor->assigned =
        metrics_gauge(metrics, "reeve_partitions_assigned",
                      "Partitions that the group has assigned.", METRICS_NO_LABELS);
    supervisor->lag = metrics_gauge(metrics, "reeve_fold_lag_records",
                                    "Records of the log still to be folded.", METRICS_NO_LABELS);
    supervisor->undecided = metrics_gauge(
        metrics, "reeve_commands_undecided_seconds",
        "For how long commands have waited in a partition without a decision; the longest.",
        METRICS_NO_LABELS);
    metrics_on_render(metrics, refresh_gauges, supervisor);
}

static enum error_class start(struct service_context *service, void **ret_state,
                              struct error *ret_error)
{
    /* A contradictory configuration ends the process now, not when the broker answers. */
    struct reeve_leader_options auditing = {.role = "auditor"};
    unsigned flags = CLUSTER_READS_IN_BULK | CLUSTER_CHECKS_LOG;
    if (config_bool(service->config, "schedules.enabled"))
        flags |= CLUSTER_FOLLOWS_WORKFLOWS;
    if (leader_configure(service->config, &auditing, ret_error) != ERROR_OK)
        return ret_error->class;
    struct supervisor *supervisor = calloc(1, sizeof(*supervisor));
    assert(supervisor != NULL);
    supervisor->service = service;
    enum error_class class = order_traces_open(service, &supervisor->trace_export, ret_error);
    if (class == ERROR_OK)
        class = cluster_open(service, flags, on_cluster_ready, supervisor, &supervisor->cluster,
                             ret_error);
    if (class != ERROR_OK) {
        trace_export_free(supervisor->trace_export);
        free(supervisor);
        return class;
    }
    supervisor->spans = order_spans_new(supervisor->trace_export, service->clock);
    supervisor->stores = stores_new(service->config);
    register_metrics(supervisor);
    supervisor->report = view_report_route(service, true, report_stores, supervisor);
    *ret_state = supervisor;
    return ERROR_OK;
}

static bool ready(void *state, char *ret_reason, size_t reason_size)
{
    const struct supervisor *supervisor = state;
    return membership_is_ready(supervisor->membership, supervisor->cluster, ret_reason,
                               reason_size);
}

struct complaint {
    char *text;
    size_t size;
    bool found;
};

static void add_complaint(void *ctx, struct membership_partition *partition)
{
    struct complaint *complaint = ctx;
    if (!complaint->found)
        complaint->found =
            waiting_commands_trouble(supervisor_partition_waiting(partition_of(partition)),
                                     complaint->text, complaint->size);
}

/* It works; the scheduler does not, or no schedule is read. */
static bool degraded(void *state, char *ret_reason, size_t reason_size)
{
    const struct supervisor *supervisor = state;
    struct complaint complaint = {.text = ret_reason, .size = reason_size};
    if (supervisor->membership != NULL)
        membership_each(supervisor->membership, add_complaint, &complaint);
    return complaint.found || (supervisor->schedules != NULL &&
                               schedules_trouble(supervisor->schedules, ret_reason, reason_size));
}

static void on_left(void *ctx)
{
    struct supervisor *supervisor = ctx;
    if (--supervisor->leaving == 0)
        service_drained(supervisor->service);
}

static void drain(void *state)
{
    struct supervisor *supervisor = state;
    struct membership *membership = supervisor->membership;
    supervisor->membership = NULL;
    if (membership == NULL) {
        service_drained(supervisor->service);
        return;
    }
    supervisor->leaving = supervisor->schedules != NULL ? 3 : 2;
    auditor_stop(supervisor->auditor, on_left, supervisor);
    if (supervisor->schedules != NULL)
        schedules_stop(supervisor->schedules, on_left, supervisor);
    membership_leave(membership, on_left, supervisor);
}

static void stop(void *state)
{
    struct supervisor *supervisor = state;
    if (supervisor->membership != NULL)
        drain(supervisor);
    schedules_free(supervisor->schedules);
    auditor_free(supervisor->auditor);
    cluster_close(supervisor->cluster);
    store_env_free(supervisor->stores);
    view_report_free(supervisor->report);
    order_spans_free(supervisor->spans);
    trace_export_free(supervisor->trace_export);
    free(supervisor);
}

const struct http_routes *const supervisor_routes[] = {&view_report_routes, &service_about_routes,
                                                       &http_built_in_routes, NULL};

int supervisor_main(int argc, char **argv)
{
    static const struct service service = {.name = "supervisor",
                                           .bit = SETTINGS_SUPERVISOR,
                                           .has_stores = true,
                                           .routes = supervisor_routes,
                                           .start = start,
                                           .ready = ready,
                                           .degraded = degraded,
                                           .drain = drain,
                                           .stop = stop};
    return service_main(&service, argc, argv);
}
