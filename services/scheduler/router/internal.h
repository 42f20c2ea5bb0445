/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by router.c (agents, queues, capacities), pick.c (picks), backlog.c (the counts of
 * a partition), and their tests. */
#ifndef SERVICES_SCHEDULER_ROUTER_INTERNAL_H
#define SERVICES_SCHEDULER_ROUTER_INTERNAL_H

#include "services/scheduler/router/backlog.h"
#include "services/scheduler/router/router.h"

enum { HEADS_MAX = 64 };

/* A queue over all partitions of the process. */
struct route_queue {
    UT_hash_handle hh;
    int64_t waiting[PRIORITY_COUNT];
    struct route_agent *agents[STEP_AGENTS_MAX];
    uint32_t agent_count; /* 0: its workflow is not known yet */
    uint32_t step;
    enum direction direction;
    uint32_t key_size;
    char key[QUEUE_KEY_BYTES_MAX];
};

struct route_plan {
    UT_hash_handle hh;
    const struct workflow *workflow;
    struct routing routing;
    struct agent_capacity *capacities;
    struct route_agent **agents; /* of the capacities */
};

struct router {
    struct router_options options;
    bool begun; /* see router_begin() */
    uint32_t own;
    uint32_t all;
    struct route_agent *agents; /* uthash by name */
    struct route_queue *queues; /* uthash by key */
    struct route_plan *plans;   /* uthash by workflow */
    struct routing no_agents;
    struct route_partition *partitions;
    int64_t waiting;                   /* in all queues */
    int64_t standing[WAIT_KIND_COUNT]; /* steps that are Waiting, for what: in no queue */
    int64_t measured_ms;               /* the last router_measure(); 0: never */
    uint32_t pick_number;
    struct loop_deferred picking;
};

/* The first of those that wait, read from the view. */
struct queue_heads {
    uint32_t count;
    uint32_t next;
    struct queue_head {
        int64_t queued_at;
        uint32_t id_size;
        char id[ORDER_ID_BYTES_MAX];
    } of[HEADS_MAX];
};

/* A queue in one partition. */
struct backlog_queue {
    UT_hash_handle hh;
    struct route_queue *queue;
    int64_t waiting[PRIORITY_COUNT];
    int64_t starting[PRIORITY_COUNT];
    int64_t low[PRIORITY_COUNT]; /* no step waits from before this */
    bool dry[PRIORITY_COUNT];    /* every step has its StartStep on its way */
    bool stale[PRIORITY_COUNT];  /* some heads are decided already: read again after a batch */
    struct queue_heads *heads[PRIORITY_COUNT];
};

struct backlog_agent {
    UT_hash_handle hh;
    struct route_agent *agent;
    int64_t running;
};

struct backlog {
    struct router *router;
    bool active;                       /* its counts are part of the router's sums */
    struct backlog_agent *agents;      /* uthash by name */
    struct backlog_queue *queues;      /* uthash by key */
    int64_t standing[WAIT_KIND_COUNT]; /* steps that are Waiting, for what */
};

/* router.c */
/* New at the first time, then always the same. */
struct route_queue *router_queue(struct router *router, struct text key);
void router_add_waiting(struct router *router, struct route_queue *queue, enum priority priority,
                        int64_t more);
/* False while the queue's workflow is unknown. */
bool router_resolve(struct router *router, struct route_queue *queue);

/* backlog.c */
bool queue_key_parse(struct text key, struct text *ret_workflow, uint32_t *ret_version,
                     uint32_t *ret_step, enum direction *ret_direction, struct text *ret_agent);
/* Frees the heads. */
void backlog_queue_forget(struct backlog_queue *queue);

#endif
