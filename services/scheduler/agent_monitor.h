/* SPDX-License-Identifier: Apache-2.0 */
/* What the scheduler knows of its agents, for its router: which are well, how much they take; and
 * what people are told of it: metrics, and an alert when steps wait because no agent is well. */
#ifndef SERVICES_SCHEDULER_AGENT_MONITOR_H
#define SERVICES_SCHEDULER_AGENT_MONITOR_H

#include "replica/agent_table.h"
#include "services/scheduler/router.h"

struct routing_service;

/* New; NULL when routing.enabled is false. `cluster` is borrowed; call routing_follow() when it is
 * ready. */
struct routing_service *routing_new(struct cluster *cluster);
/* Before cluster_close(), after the last partition was closed. NULL is fine. */
void routing_free(struct routing_service *routing);

struct routing_ops {
    /* Called once: all that is there was read, or a while is over. Before that, an agent that is
     * well may only not have been read yet, so nothing should be decided. */
    void (*known)(void *ctx);
    /* How many partitions are ours. */
    uint32_t (*own)(void *ctx);
};

/* Reads <p>.agents from now on. */
void routing_follow(struct routing_service *routing, const struct routing_ops *ops, void *ctx);
/* NULL is fine, and gives NULL. */
struct router *routing_router(struct routing_service *routing);
/* How many partitions are ours, when it is known sooner than by asking. NULL is fine. */
void routing_set_part(struct routing_service *routing, uint32_t own);

/* What the agents' live entries come to; NULL = there is none. */
struct router_health routing_sum(const struct agent_group *group);

#endif
