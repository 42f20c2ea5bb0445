/* SPDX-License-Identifier: Apache-2.0 */
/* What the scheduler knows of its agents, for its router: which are well, how much they take; and
 * what people are told of it: metrics, and an alert when steps wait because no agent is well. */
#ifndef SERVICES_SCHEDULER_AGENT_MONITOR_H
#define SERVICES_SCHEDULER_AGENT_MONITOR_H

#include "replica/agent_table.h"
#include "services/scheduler/router.h"

struct agent_monitor;

/* New; NULL when routing.enabled is false. `cluster` is borrowed; call agent_monitor_follow() when it is
 * ready. */
struct agent_monitor *agent_monitor_new(struct cluster *cluster);
/* Before cluster_close(), after the last partition was closed. NULL is fine. */
void agent_monitor_free(struct agent_monitor *monitor);

struct agent_monitor_ops {
    /* Called once: all that is there was read, or a while is over. Before that, an agent that is
     * well may only not have been read yet, so nothing should be decided. */
    void (*known)(void *ctx);
    /* How many partitions are ours. */
    uint32_t (*own)(void *ctx);
};

/* Reads <p>.agents from now on. */
void agent_monitor_follow(struct agent_monitor *monitor, const struct agent_monitor_ops *ops,
                          void *ctx);
/* NULL is fine, and gives NULL. */
struct router *agent_monitor_router(struct agent_monitor *monitor);
/* How many partitions are ours, when it is known sooner than by asking. NULL is fine. */
void agent_monitor_set_part(struct agent_monitor *monitor, uint32_t own);

/* What the agents' live entries come to; NULL = there is none. */
struct agent_status agent_monitor_status(const struct agent_group *group);

#endif
