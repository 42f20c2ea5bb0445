/* SPDX-License-Identifier: Apache-2.0 */
/* See routing.h. */
#include "services/scheduler/agent_monitor.h"

#include "platform/logger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 500,
    KNOWN_TICK_MS = 10,
    KNOWN_MS = 5000 /* the agents' topic is not read to its end for so long: begin without */
};

/* What is told of one agent. */
struct monitored_agent {
    UT_hash_handle hh;
    struct route_agent *agent;
    int64_t stuck_since_ms; /* monotonic; 0: nothing waits because it is not well */
    bool alerted;
    struct metrics_gauge *waiting;
    struct metrics_gauge *running;
    struct metrics_gauge *room;
};

struct agent_monitor {
    struct cluster *cluster;
    struct router *router;
    struct agent_table *table;
    struct monitored_agent *told; /* uthash by agent */
    int64_t alert_ms;
    int64_t began_ms;
    const struct agent_monitor_ops *ops; /* NULL: not followed yet */
    void *ctx;
    bool known;
    struct loop_timer timer;
};

/* ---- how they are doing ---- */

static bool is_unhealthy(const struct agent_entry *entry)
{
    return entry->circuit == AGENT_CIRCUIT_OPEN || entry->partitions == 0;
}

static const char *why_not(const struct agent_group *group)
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

struct agent_status agent_monitor_status(const struct agent_group *group)
{
    struct agent_status health = {.healthy = false};
    const struct agent_entry *entry = group != NULL ? group->entries : NULL;
    for (; entry != NULL; entry = entry->next) {
        if (is_unhealthy(entry))
            continue;
        health.healthy = true;
        if (entry->circuit == AGENT_CIRCUIT_HALF_OPEN)
            health.probing++;
        else
            health.calls += entry->capacity;
        if (entry->latency_p95_ms > health.latency_p95_ms)
            health.latency_p95_ms = entry->latency_p95_ms;
    }
    health.why = health.healthy ? NULL : why_not(group);
    return health;
}

static void look_at(struct agent_monitor *monitor, const char *agent)
{
    struct agent_status health =
        agent_monitor_status(agent_table_find(monitor->table, text_of(agent)));
    router_set_agent(monitor->router, text_of(agent), &health);
}

static void on_changed(void *ctx, const struct agent_entry *entry)
{
    look_at(ctx, entry->agent);
}

static void on_gone(void *ctx, const struct agent_entry *entry, bool lapsed)
{
    struct agent_monitor *monitor = ctx;
    log_info("an agent's instance is gone", LOG_STR("agent", entry->agent),
             LOG_STR("instance", entry->instance),
             LOG_STR("how", lapsed ? "not heard of any more" : "it left"));
    look_at(monitor, entry->agent);
}

static const struct agent_table_ops table_ops = {on_changed, on_gone};

/* ---- what is told of it ---- */

static struct monitored_agent *told_of(struct agent_monitor *monitor, struct route_agent *agent)
{
    struct monitored_agent *told = NULL;
    struct metrics *metrics = monitor->cluster->service->metrics;
    HASH_FIND_PTR(monitor->told, &agent, told);
    if (told != NULL)
        return told;
    told = calloc(1, sizeof(*told));
    assert(told != NULL);
    told->agent = agent;
    told->waiting =
        metrics_gauge(metrics, "reeve_steps_queued",
                      "Steps that wait for an agent that is well and has room, of the partitions "
                      "owned here; counted for each agent that could do them.",
                      METRICS_LABEL("agent", agent->name));
    told->running = metrics_gauge(metrics, "reeve_steps_running",
                                  "Started attempts of the partitions owned here.",
                                  METRICS_LABEL("agent", agent->name));
    told->room = metrics_gauge(metrics, "reeve_agent_room",
                               "Attempts that this scheduler may have running at the agent.",
                               METRICS_LABEL("agent", agent->name));
    HASH_ADD_PTR(monitor->told, agent, told);
    return told;
}

static void refresh_gauges(void *ctx)
{
    struct agent_monitor *monitor = ctx;
    struct route_agent *agent;
    for (agent = router_agents(monitor->router); agent != NULL; agent = agent->hh.next) {
        const struct monitored_agent *told = told_of(monitor, agent);
        metrics_set(told->waiting, (double)route_agent_waiting(agent));
        metrics_set(told->running, (double)agent->running);
        metrics_set(told->room, (double)agent->limit);
    }
}

static void tell_stuck(struct agent_monitor *monitor, struct monitored_agent *told, int64_t now_ms)
{
    char message[256];
    const struct route_agent *agent = told->agent;
    if (told->stuck_since_ms == 0) {
        told->stuck_since_ms = now_ms;
        log_warning("steps wait for an agent that is not well", LOG_STR("agent", agent->name),
                    LOG_I64("steps", agent->stuck), LOG_STR("why", agent->health.why));
    }
    if (told->alerted || now_ms - told->stuck_since_ms < monitor->alert_ms)
        return;
    told->alerted = true;
    snprintf(message, sizeof(message),
             "%" PRId64 " steps wait for agent %s: %s. They go on by themselves when an "
             "instance of it is well; `reeve agents get %s` shows what there is.",
             agent->stuck, agent->name, agent->health.why, agent->name);
    cluster_agent_alert(monitor->cluster, true, agent->name, "AgentUnavailable", message);
}

/* What a scheduler raised that is gone is closed by whoever has the partition now, once the agent
 * is well: nobody knows whether there is such an alert, and to close one that is not there does no
 * harm. */
static void tell_over(struct agent_monitor *monitor, struct monitored_agent *told, int64_t now_ms)
{
    char message[256];
    struct route_agent *agent = told->agent;
    if (told->stuck_since_ms != 0) {
        int64_t waited_ms = now_ms - told->stuck_since_ms;
        log_info("no step waits for want of a well agent any more", LOG_STR("agent", agent->name),
                 LOG_I64("after_ms", waited_ms), LOG_I64("waiting", route_agent_waiting(agent)));
        told->stuck_since_ms = 0;
    }
    if (!told->alerted && !(agent->inherited && agent->health.healthy))
        return;
    told->alerted = false;
    agent->inherited = agent->inherited && !agent->health.healthy;
    snprintf(message, sizeof(message), "agent %s: %s", agent->name,
             agent->health.healthy ? "an instance of it is well" : "no step waits for it");
    cluster_agent_alert(monitor->cluster, false, agent->name, "AgentUnavailable", message);
}

/* False: not yet. */
static bool find_out(struct agent_monitor *monitor, int64_t now_ms)
{
    bool complete = agent_table_is_complete(monitor->table);
    if (!complete && now_ms - monitor->began_ms < KNOWN_MS)
        return false;
    if (!complete)
        log_warning("the agents' topic was not read to its end: it begins without",
                    LOG_STR("topic", monitor->cluster->topics.agents));
    monitor->known = true;
    monitor->ops->known(monitor->ctx);
    return true;
}

static void on_tick(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent_monitor *monitor = userdata;
    struct route_agent *agent;
    int64_t now_ms = clock_mono_ms(monitor->cluster->service->clock);
    if (!monitor->known && !find_out(monitor, now_ms)) {
        loop_timer_after(loop, timer, KNOWN_TICK_MS);
        return;
    }
    agent_monitor_set_part(monitor, monitor->ops->own(monitor->ctx));
    for (agent = router_agents(monitor->router); agent != NULL; agent = agent->hh.next) {
        if (agent->stuck > 0)
            tell_stuck(monitor, told_of(monitor, agent), now_ms);
        else
            tell_over(monitor, told_of(monitor, agent), now_ms);
    }
    /* What was refused, or missed, is looked at again. */
    (void)router_pick(monitor->router, true);
    loop_timer_after(loop, timer, TICK_MS);
}

/* ---- life ---- */

struct agent_monitor *agent_monitor_new(struct cluster *cluster)
{
    const struct config *config = cluster->service->config;
    if (!config_bool(config, "routing.enabled"))
        return NULL;
    struct agent_monitor *monitor = calloc(1, sizeof(*monitor));
    assert(monitor != NULL);
    int64_t retry_min = config_ms(config, "routing.retry.ms");
    int64_t retry_max = config_ms(config, "routing.retry.max.ms");
    struct router_options options = {
        .loop = cluster->service->loop,
        .workflows = cluster->workflows,
        .factor = config_double(config, "routing.factor"),
        .retry_ms_min = retry_min,
        .retry_ms_max = retry_max > retry_min ? retry_max : retry_min,
        .weights = {[PRIORITY_HIGH] = (uint32_t)config_int(config, "priority.share.high"),
                    [PRIORITY_NORMAL] = (uint32_t)config_int(config, "priority.share.normal"),
                    [PRIORITY_LOW] = (uint32_t)config_int(config, "priority.share.low")}};
    monitor->cluster = cluster;
    monitor->router = router_new(&options);
    monitor->alert_ms = config_ms(config, "routing.alert.ms");
    loop_timer_init(&monitor->timer, on_tick, monitor);
    metrics_on_render(cluster->service->metrics, refresh_gauges, monitor);
    return monitor;
}

void agent_monitor_free(struct agent_monitor *monitor)
{
    struct monitored_agent *told, *next;
    if (monitor == NULL)
        return;
    loop_timer_cancel(cluster_loop(monitor->cluster), &monitor->timer);
    agent_table_free(monitor->table);
    HASH_ITER(hh, monitor->told, told, next) {
        HASH_DEL(monitor->told, told);
        free(told);
    }
    router_free(monitor->router);
    free(monitor);
}

void agent_monitor_follow(struct agent_monitor *monitor, const struct agent_monitor_ops *ops,
                          void *ctx)
{
    assert(monitor->table == NULL);
    monitor->ops = ops;
    monitor->ctx = ctx;
    monitor->began_ms = clock_mono_ms(monitor->cluster->service->clock);
    monitor->table = agent_table_follow(monitor->cluster, &table_ops, monitor);
    loop_timer_after(cluster_loop(monitor->cluster), &monitor->timer, 0);
}

struct router *agent_monitor_router(struct agent_monitor *monitor)
{
    return monitor != NULL ? monitor->router : NULL;
}

void agent_monitor_set_part(struct agent_monitor *monitor, uint32_t own)
{
    if (monitor == NULL)
        return;
    uint32_t all = (uint32_t)monitor->cluster->partition_count;
    router_set_part(monitor->router, own < all ? own : all, all);
}
