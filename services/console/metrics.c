/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/metrics.h"

#include "services/console/console.h"
#include "services/console/model/oldest_order.h"

#include <assert.h>
#include <stdlib.h>

enum alert_subject { ABOUT_ORDERS, ABOUT_PARTITIONS, ABOUT_OTHERS, ALERT_SUBJECT_COUNT };

struct console_metrics {
    struct console *console;
    struct metrics_gauge *lag;
    struct metrics_gauge *stopped;
    struct metrics_gauge *undecided;
    struct metrics_gauge *watchers;
    struct metrics_gauge *streams;
    struct metrics_gauge *commands;
    struct metrics_gauge *orders[ORDER_STATE_COUNT];
    struct metrics_gauge *suborders[ORDER_STATE_COUNT];
    struct metrics_gauge *error_age;
    struct metrics_gauge *alerts[ALERT_SUBJECT_COUNT];
};

static double oldest_error_age(struct console *console)
{
    struct oldest_order oldest;
    int64_t now = clock_wall_ms(console->service->clock);
    if (!oldest_order_find(console->api.partitions, console->api.partition_count, STATS_IN_ERROR,
                           &oldest))
        return 0;
    return now > oldest.since ? (double)(now - oldest.since) / 1000 : 0;
}

/* An order in Error has one open alert, whether it is a root or not; one that is Held may have. */
static void refresh_alerts(struct console_metrics *metrics, uint64_t about_orders)
{
    uint32_t of_partitions = 0;
    uint32_t others = 0;
    alerts_count_open(metrics->console->api.alerts, &of_partitions, &others);
    metrics_set(metrics->alerts[ABOUT_ORDERS], (double)about_orders);
    metrics_set(metrics->alerts[ABOUT_PARTITIONS], of_partitions);
    metrics_set(metrics->alerts[ABOUT_OTHERS], others);
    metrics_set(metrics->error_age, about_orders > 0 ? oldest_error_age(metrics->console) : 0);
}

static void refresh(void *ctx)
{
    struct console_metrics *metrics = ctx;
    struct console *console = metrics->console;
    uint64_t roots[ORDER_STATE_COUNT] = {0};
    uint64_t suborders[ORDER_STATE_COUNT] = {0};
    uint64_t open_alerts = 0;
    int64_t lag = 0;
    uint32_t stopped = 0;
    if (console->api.owners == NULL)
        return;
    for (int32_t i = 0; i < console->api.partition_count; i++) {
        struct console_partition *partition = console->api.partitions[i];
        const struct order_counts *counts = console_partition_counts(partition);
        open_alerts += counts->open_alerts;
        lag += console_partition_lag(partition);
        stopped += console_partition_is_stopped(partition, NULL);
        for (int state = 0; state < ORDER_STATE_COUNT; state++) {
            roots[state] += counts->by_state[state];
            suborders[state] += counts->suborders[state];
        }
    }
    metrics_set(metrics->lag, (double)lag);
    metrics_set(metrics->stopped, stopped);
    char reason[VERDICT_REASON_SIZE];
    int64_t waited_ms = 0;
    owners_stalled(console->api.owners, reason, &waited_ms);
    metrics_set(metrics->undecided, (double)waited_ms / 1000);
    metrics_set(metrics->watchers, changes_watchers(console->changes));
    metrics_set(metrics->streams, http_server_streams(console->service->http));
    metrics_set(metrics->commands, operator_commands_outstanding(console->commands));
    for (int state = 0; state < ORDER_STATE_COUNT; state++) {
        metrics_set(metrics->orders[state], (double)roots[state]);
        metrics_set(metrics->suborders[state], (double)suborders[state]);
    }
    refresh_alerts(metrics, open_alerts);
}

static void register_orders(struct console_metrics *metrics, struct metrics *all)
{
    static const char *const subjects[] = {"order", "partition", "other"};
    _Static_assert(sizeof(subjects) / sizeof(subjects[0]) == ALERT_SUBJECT_COUNT, "each one");
    for (int state = 0; state < ORDER_STATE_COUNT; state++) {
        const char *name = order_state_name((enum order_state)state);
        metrics->orders[state] =
            metrics_gauge(all, "reeve_console_orders", "Orders by state, without sub-orders.",
                          METRICS_LABEL("state", name));
        metrics->suborders[state] = metrics_gauge(all, "reeve_suborders", "Sub-orders by state.",
                                                  METRICS_LABEL("state", name));
    }
    metrics->error_age = metrics_gauge(
        all, "reeve_console_oldest_error_age_seconds",
        "Since when the order that is in Error for longest has been; 0: no order is in Error.",
        METRICS_NO_LABELS);
    for (int i = 0; i < ALERT_SUBJECT_COUNT; i++)
        metrics->alerts[i] = metrics_gauge(all, "reeve_console_open_alerts", "Open alerts.",
                                           METRICS_LABEL("about", subjects[i]));
}

struct console_metrics *console_metrics_new(struct console *console)
{
    struct metrics *all = console->service->metrics;
    struct console_metrics *metrics = calloc(1, sizeof(*metrics));
    assert(metrics != NULL);
    metrics->console = console;
    metrics->lag = metrics_gauge(all, "reeve_fold_lag_records",
                                 "Records of the log that are not folded yet.", METRICS_NO_LABELS);
    metrics->stopped =
        metrics_gauge(all, "reeve_console_partitions_stopped",
                      "Partitions that stopped and need an operator.", METRICS_NO_LABELS);
    metrics->undecided = metrics_gauge(
        all, "reeve_commands_undecided_seconds",
        "For how long commands have waited in a partition without a decision; the longest.",
        METRICS_NO_LABELS);
    metrics->watchers = metrics_gauge(all, "reeve_console_watchers",
                                      "Clients that wait for changes.", METRICS_NO_LABELS);
    metrics->streams =
        metrics_gauge(all, "reeve_console_event_streams",
                      "Clients that follow changes as a stream of events.", METRICS_NO_LABELS);
    metrics->commands =
        metrics_gauge(all, "reeve_console_commands_under_way",
                      "Operators' commands that wait for their decision.", METRICS_NO_LABELS);
    register_orders(metrics, all);
    metrics_on_render(all, refresh, metrics);
    return metrics;
}

void console_metrics_free(struct console_metrics *metrics)
{
    free(metrics);
}
