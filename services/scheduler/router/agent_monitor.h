/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the status of the agents for the scheduler's router: which are paused and, unless
 * routing.enabled is false, which are healthy and how much they take. Publishes metrics, and raises
 * an alert when steps wait because no agent is healthy. No step starts before <p>.agents was read
 * to its end: the agent may be paused. */
#ifndef SERVICES_SCHEDULER_ROUTER_AGENT_MONITOR_H
#define SERVICES_SCHEDULER_ROUTER_AGENT_MONITOR_H

#include "replica/agents/agent_table.h"
#include "services/scheduler/router/router.h"

struct agent_monitor;

/* New. `cluster` is borrowed; call agent_monitor_follow() when it is ready. */
struct agent_monitor *agent_monitor_new(struct cluster *cluster);
/* Before cluster_close(), after the last partition was closed. NULL does nothing. */
void agent_monitor_free(struct agent_monitor *monitor);

struct agent_monitor_ops {
    /* Called once: the topic was read to its end, or a few seconds are over. Decide nothing before:
     * what could start would be queued. */
    void (*known)(void *ctx);
    /* How many partitions are ours. */
    uint32_t (*own_partitions)(void *ctx);
};

/* Reads <p>.agents from now on. */
void agent_monitor_follow(struct agent_monitor *monitor, const struct agent_monitor_ops *ops,
                          void *ctx);
struct router *agent_monitor_router(struct agent_monitor *monitor);
/* We own this many partitions, known before the next call of own_partitions(). */
void agent_monitor_set_own_partitions(struct agent_monitor *monitor, uint32_t own);

#endif
