/* SPDX-License-Identifier: Apache-2.0 */
/* See agent_monitor.h. */
#include "services/scheduler/router/agent_monitor.h"

#include "platform/logger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 500,
    KNOWN_TICK_MS = 10,
    KNOWN_MS = 5000 /* begin after this time, even if the agents' topic is not read to its end */
};

/* What is reported of one agent. */
struct monitored_agent {
    UT_hash_handle hh;
    struct route_agent *agent;
    int64_t stuck_since_ms; /* monotonic; 0: no step waits because it is unhealthy */
    bool alerted;
    struct metrics_gauge *waiting;
    struct metrics_gauge *running;
    struct metrics_gauge *capacity; /* NULL: routing is switched off */
    struct metrics_gauge *paused;
};

struct agent_monitor {
    struct cluster *cluster;
    struct router *router;
    struct agent_table *table;
    struct monitored_agent *agents;                  /* uthash by agent */
    struct metrics_gauge *standing[WAIT_KIND_COUNT]; /* steps that are Waiting, for what */
    bool routes; /* false: routing is switched off, and only pauses count */
    bool begun;  /* if so: the pauses are known */
    int64_t alert_ms;
    int64_t began_ms;
    const struct agent_monitor_ops *ops; /* NULL: not followed yet */
    void *ctx;
    bool known;
    struct loop_timer timer;
};

/* ---- status ---- */

static bool is_unhealthy(const struct agent_entry *entry)
{
    return entry->circuit == AGENT_CIRCUIT_OPEN || entry->partitions == 0;
}

static const char *why_unhealthy(const struct agent_group *group)
{
    const struct agent_entry *entry;
    if (group == NULL)
        return "no live instance";
    for (entry = group->entries; entry != NULL; entry = entry->next) {
        if (entry->circuit == AGENT_CIRCUIT_OPEN)
            return "circuit open";
    }
    return "no instance has partitions";
}

/* From the entries of its instances. NULL: it has none. */
static struct agent_status status_of(const struct agent_group *group)
{
    struct agent_status status = {.healthy = false};
    const struct agent_entry *entry = group != NULL ? group->entries : NULL;
    for (; entry != NULL; entry = entry->next) {
        if (is_unhealthy(entry))
            continue;
        status.healthy = true;
        if (entry->circuit == AGENT_CIRCUIT_HALF_OPEN)
            status.probing++;
        else
            status.calls += entry->capacity;
        if (entry->latency_p95_ms > status.latency_p95_ms)
            status.latency_p95_ms = entry->latency_p95_ms;
    }
    status.why = status.healthy ? NULL : why_unhealthy(group);
    assert(status.healthy == (status.why == NULL));
    assert(status.healthy || (status.calls == 0 && status.probing == 0));
    return status;
}

static void update_status(void *ctx, const struct agent_entry *entry)
{
    struct agent_monitor *monitor = ctx;
    struct text agent = text_of(entry->agent);
    assert(monitor->table != NULL);
    if (!monitor->routes)
        return;
    struct agent_status status = status_of(agent_table_find(monitor->table, agent));
    router_set_agent(monitor->router, agent, &status);
}

static void on_gone(void *ctx, const struct agent_entry *entry, bool lapsed)
{
    struct agent_monitor *monitor = ctx;
    log_info("an agent instance is gone", LOG_STR("agent", entry->agent),
             LOG_STR("instance", entry->instance),
             LOG_STR("how", lapsed ? "its health reports stopped" : "it left"));
    update_status(monitor, entry);
}

static void on_paused(void *ctx, struct text agent, const struct agent_pause_entry *pause)
{
    struct agent_monitor *monitor = ctx;
    char why[sizeof("paused by : ") + WHO_BYTES_MAX + MESSAGE_BYTES_MAX];
    if (pause == NULL) {
        log_info("an agent is resumed", LOG_TEXT("agent", agent));
        router_pause_agent(monitor->router, agent, NULL);
        return;
    }
    log_info("an agent is paused: its steps wait", LOG_TEXT("agent", agent),
             LOG_STR("by", pause->by), LOG_STR("reason", pause->reason));
    snprintf(why, sizeof(why), "paused by %s: %s", pause->by, pause->reason);
    router_pause_agent(monitor->router, agent, why);
}

static const struct agent_table_ops table_ops = {
    .changed = update_status, .gone = on_gone, .paused = on_paused};

/* ---- metrics and alerts ---- */

static struct monitored_agent *find_monitored(struct agent_monitor *monitor,
                                              struct route_agent *agent)
{
    struct monitored_agent *monitored = NULL;
    struct metrics *metrics = monitor->cluster->service->metrics;
    HASH_FIND_PTR(monitor->agents, &agent, monitored);
    if (monitored != NULL)
        return monitored;
    monitored = calloc(1, sizeof(*monitored));
    assert(monitored != NULL);
    monitored->agent = agent;
    monitored->waiting = metrics_gauge(
        metrics, "reeve_steps_queued",
        "Steps that wait for a healthy agent with free capacity, or for a paused one, "
        "of the partitions "
        "owned here; counted for each agent that could do them.",
        METRICS_LABEL("agent", agent->name));
    monitored->running = metrics_gauge(metrics, "reeve_steps_running",
                                       "Started attempts of the partitions owned here.",
                                       METRICS_LABEL("agent", agent->name));
    if (monitor->routes)
        monitored->capacity =
            metrics_gauge(metrics, "reeve_agent_capacity",
                          "Attempts that this scheduler may have running at the agent.",
                          METRICS_LABEL("agent", agent->name));
    monitored->paused = metrics_gauge(metrics, "reeve_agent_paused",
                                      "1 while an operator has paused the agent, else 0.",
                                      METRICS_LABEL("agent", agent->name));
    HASH_ADD_PTR(monitor->agents, agent, monitored);
    return monitored;
}

static void refresh_gauges(void *ctx)
{
    struct agent_monitor *monitor = ctx;
    struct route_agent *agent;
    for (int what = 0; what < WAIT_KIND_COUNT; what++) {
        if (monitor->standing[what] != NULL)
            metrics_set(monitor->standing[what],
                        (double)router_standing(monitor->router, (enum wait_kind)what));
    }
    for (agent = router_agents(monitor->router); agent != NULL; agent = agent->hh.next) {
        assert(agent->running >= 0);
        assert(agent->status.healthy == (agent->limit > 0));
        const struct monitored_agent *monitored = find_monitored(monitor, agent);
        metrics_set(monitored->waiting, (double)route_agent_waiting(agent));
        metrics_set(monitored->running, (double)agent->running);
        if (monitored->capacity != NULL)
            metrics_set(monitored->capacity, (double)agent->limit);
        metrics_set(monitored->paused, agent->pause != NULL);
    }
}

static void report_stuck(struct agent_monitor *monitor, struct monitored_agent *monitored,
                         int64_t now_ms)
{
    char message[320];
    const struct route_agent *agent = monitored->agent;
    assert(agent->stuck > 0 && agent->stuck <= route_agent_waiting(agent));
    assert(!agent->status.healthy && agent->status.why != NULL);
    assert(!monitored->alerted || monitored->stuck_since_ms != 0);
    if (monitored->stuck_since_ms == 0) {
        monitored->stuck_since_ms = now_ms;
        log_warning("steps wait for an unhealthy agent", LOG_STR("agent", agent->name),
                    LOG_I64("steps", agent->stuck), LOG_STR("why", agent->status.why));
    }
    if (monitored->alerted || now_ms - monitored->stuck_since_ms < monitor->alert_ms)
        return;
    monitored->alerted = true;
    snprintf(message, sizeof(message),
             "%" PRId64 " steps wait for agent %s: %s. They continue by themselves when an "
             "instance of it is healthy; `reeve agents get %s` shows its instances.",
             agent->stuck, agent->name, agent->status.why, agent->name);
    cluster_agent_alert(monitor->cluster, true, agent->name, CODE_AGENT_UNAVAILABLE, message);
}

/* An alert may come from a scheduler that is gone. The present owner of the partition closes it
 * once the agent is healthy, without knowing whether it exists: closing twice does no harm. */
static void report_unstuck(struct agent_monitor *monitor, struct monitored_agent *monitored,
                           int64_t now_ms)
{
    char message[320];
    struct route_agent *agent = monitored->agent;
    assert(agent->stuck == 0);
    assert(!monitored->alerted || monitored->stuck_since_ms != 0);
    if (monitored->stuck_since_ms != 0) {
        int64_t waited_ms = now_ms - monitored->stuck_since_ms;
        log_info("no step waits for an unhealthy agent any more", LOG_STR("agent", agent->name),
                 LOG_I64("after_ms", waited_ms), LOG_I64("waiting", route_agent_waiting(agent)));
        monitored->stuck_since_ms = 0;
    }
    if (!monitored->alerted && !(agent->inherited && agent->status.healthy))
        return;
    monitored->alerted = false;
    agent->inherited = agent->inherited && !agent->status.healthy;
    snprintf(message, sizeof(message), "agent %s: %s", agent->name,
             !agent->status.healthy ? "no step waits for it"
             : monitor->routes      ? "an instance of it is healthy"
                                    : "its steps can start");
    cluster_agent_alert(monitor->cluster, false, agent->name, CODE_AGENT_UNAVAILABLE, message);
}

/* Where routing is switched off, no step starts until it is known which agents are paused. */
static void check_begun(struct agent_monitor *monitor)
{
    assert(monitor->table != NULL);
    if (monitor->routes || monitor->begun || !agent_table_is_complete(monitor->table))
        return;
    monitor->begun = true;
    router_begin(monitor->router);
}

/* False: not yet. */
static bool check_known(struct agent_monitor *monitor, int64_t now_ms)
{
    assert(!monitor->known);
    assert(monitor->ops != NULL && monitor->table != NULL);
    bool complete = agent_table_is_complete(monitor->table);
    if (!complete && now_ms - monitor->began_ms < KNOWN_MS)
        return false;
    if (!complete)
        log_warning("the agents' topic is not read to its end yet: no step starts before that",
                    LOG_STR("topic", monitor->cluster->topics.agents));
    monitor->known = true;
    monitor->ops->known(monitor->ctx);
    return true;
}

static void on_tick(void *ctx)
{
    struct agent_monitor *monitor = ctx;
    struct route_agent *agent;
    int64_t now_ms = clock_mono_ms(monitor->cluster->service->clock);
    check_begun(monitor);
    if (!monitor->known && !check_known(monitor, now_ms)) {
        loop_timer_after(cluster_loop(monitor->cluster), &monitor->timer, KNOWN_TICK_MS);
        return;
    }
    assert(monitor->known);
    agent_monitor_set_own_partitions(monitor, monitor->ops->own_partitions(monitor->ctx));
    for (agent = router_agents(monitor->router); agent != NULL; agent = agent->hh.next) {
        if (agent->stuck > 0)
            report_stuck(monitor, find_monitored(monitor, agent), now_ms);
        else
            report_unstuck(monitor, find_monitored(monitor, agent), now_ms);
    }
    router_measure(monitor->router, now_ms);
    /* Picks that were refused or missed are tried again. */
    router_pick(monitor->router, true);
    loop_timer_after(cluster_loop(monitor->cluster), &monitor->timer, TICK_MS);
}

/* ---- life ---- */

static void register_standing(struct agent_monitor *monitor)
{
    static const char *const kinds[WAIT_KIND_COUNT] = {
        [WAIT_TIME] = "wait", [WAIT_SIGNAL] = "await"};
    for (int what = 0; what < WAIT_KIND_COUNT; what++) {
        if (kinds[what] != NULL)
            monitor->standing[what] = metrics_gauge(
                monitor->cluster->service->metrics, "reeve_steps_waiting",
                "Steps that are Waiting, by their kind, of the partitions owned here.",
                METRICS_LABEL("kind", kinds[what]));
    }
}

struct agent_monitor *agent_monitor_new(struct cluster *cluster)
{
    const struct config *config = cluster->service->config;
    struct agent_monitor *monitor = calloc(1, sizeof(*monitor));
    assert(monitor != NULL);
    monitor->routes = config_bool(config, "routing.enabled");
    int64_t retry_min = config_ms(config, "routing.retry.ms");
    int64_t retry_max = config_ms(config, "routing.retry.max.ms");
    struct router_options options = {
        .switched_off = !monitor->routes,
        .loop = cluster->service->loop,
        .workflows = cluster->workflows,
        .factor = config_double(config, "routing.factor"),
        .wait_ms = config_ms(config, "routing.wait.ms"),
        .retry_ms_min = retry_min,
        .retry_ms_max = retry_max > retry_min ? retry_max : retry_min,
        .weights = {[PRIORITY_HIGH] = (uint32_t)config_int(config, "priority.share.high"),
                    [PRIORITY_NORMAL] = (uint32_t)config_int(config, "priority.share.normal"),
                    [PRIORITY_LOW] = (uint32_t)config_int(config, "priority.share.low")}};
    monitor->cluster = cluster;
    monitor->router = router_new(&options);
    monitor->alert_ms = config_ms(config, "routing.alert.ms");
    register_standing(monitor);
    loop_timer_init(&monitor->timer, on_tick, monitor);
    metrics_on_render(cluster->service->metrics, refresh_gauges, monitor);
    return monitor;
}

void agent_monitor_free(struct agent_monitor *monitor)
{
    struct monitored_agent *monitored, *next;
    if (monitor == NULL)
        return;
    loop_timer_cancel(cluster_loop(monitor->cluster), &monitor->timer);
    agent_table_free(monitor->table);
    HASH_ITER(hh, monitor->agents, monitored, next) {
        HASH_DEL(monitor->agents, monitored);
        free(monitored);
    }
    router_free(monitor->router);
    free(monitor);
}

void agent_monitor_follow(struct agent_monitor *monitor, const struct agent_monitor_ops *ops,
                          void *ctx)
{
    assert(monitor->table == NULL);
    assert(ops->known != NULL && ops->own_partitions != NULL);
    monitor->ops = ops;
    monitor->ctx = ctx;
    monitor->began_ms = clock_mono_ms(monitor->cluster->service->clock);
    monitor->table = agent_table_follow(monitor->cluster, &table_ops, monitor);
    loop_timer_after(cluster_loop(monitor->cluster), &monitor->timer, 0);
}

struct router *agent_monitor_router(struct agent_monitor *monitor)
{
    return monitor->router;
}

void agent_monitor_set_own_partitions(struct agent_monitor *monitor, uint32_t own)
{
    assert(monitor->cluster->partition_count > 0);
    uint32_t all = (uint32_t)monitor->cluster->partition_count;
    router_set_part(monitor->router, own < all ? own : all, all);
}
