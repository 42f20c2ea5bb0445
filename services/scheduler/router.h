/* SPDX-License-Identifier: Apache-2.0 */
/* Who may start how many steps at which agent, in one scheduler process.
 *
 * It brings together what is known of the agents (router_set_agent), what runs and waits in the
 * partitions that are folded here (backlog.h counts it), and the StartStep commands that are on
 * their way. From that come the rooms that engine_decide() is given, and the picks: whose turn it is
 * when an agent has room again, by priority (replica/shares.h) and then by the time since it waits.
 *
 * - `limit` of an agent is this process's part of what its well instances have room for.
 * - running + asked <= limit, as far as starts are ours to decide: an order in which much goes on
 *   in parallel, or a claim that brings running steps along, may exceed it for a while.
 * - While steps wait for an agent nobody overtakes: what arrives gets no room at it. Only the
 *   StartStep that answers a pick does; its room is reserved from the moment when it is asked for.
 *
 * Loop thread only. No allocation per decision. */
#ifndef SERVICES_SCHEDULER_ROUTER_H
#define SERVICES_SCHEDULER_ROUTER_H

#include "platform/loop.h"
#include "replica/shares.h"
#include "workflow/registry.h"

#include <uthash.h>

struct router;
struct backlog;
struct view;

struct router_options {
    struct loop *loop;                         /* borrowed; NULL: picks only by router_pick() */
    const struct workflow_registry *workflows; /* borrowed */
    double factor;                             /* started steps per call that an agent takes */
    int64_t retry_ms_min;                      /* of steps none of whose agents is well */
    int64_t retry_ms_max;
    uint32_t weights[PRIORITY_COUNT];
};

struct router *router_new(const struct router_options *options);
/* After the last view that counts for it was closed. NULL is fine. */
void router_free(struct router *router);

/* ---- what is known of agents ---- */

struct agent_status {
    bool healthy;    /* at least one instance would take a step */
    int64_t calls;   /* at the same time, of the well instances whose circuit is not half-open */
    int64_t probing; /* well instances whose circuit is half-open: one step each */
    int64_t latency_p95_ms;
    const char *why; /* a literal: why it is not well */
};

/* How many of the partitions are ours: that part of the room is. */
void router_set_part(struct router *router, uint32_t own, uint32_t all);
/* An agent of which nothing was told has no live instance. */
void router_set_agent(struct router *router, struct text agent, const struct agent_status *health);

/* ---- what there is, for metrics and alerts ---- */

struct route_agent {
    UT_hash_handle hh;
    char name[NAME_BYTES_MAX + 1];
    struct agent_status health;
    int64_t limit;                   /* 0 when it is not well */
    int64_t running;                 /* started attempts, decided here but maybe not yet stored */
    int64_t starting;                /* reserved for StartStep commands on their way */
    int64_t waiting[PRIORITY_COUNT]; /* steps that it could do */
    int64_t stuck;                   /* of them, those that no other could do now either */
    bool paused; /* a pick was refused: nothing more is picked until somebody looks again */
    /* Steps waited for it when a partition joined: whoever had that one may have told that it was
     * not well. For the user to reset. */
    bool inherited;
    struct shares shares;
    char why[96]; /* the text of a well one */
    int64_t why_free;
    int64_t why_limit;
    int64_t why_p95;
};

int64_t route_agent_waiting(const struct route_agent *agent);
/* May be negative. */
int64_t route_agent_free(const struct route_agent *agent);
/* All of them, linked by hh.next; `stuck` is brought up to date. */
struct route_agent *router_agents(struct router *router);
/* New at the first time, then always the same, until router_free(). */
struct route_agent *router_agent(struct router *router, struct text name);

/* ---- deciding ---- */

/* The rooms of the agents that the workflow (NULL: none) names, until the next call. `reserved`:
 * the agent at which the command's step has its room; NULL: it arrives like everybody. */
const struct routing *router_routing(struct router *router, const struct workflow *workflow,
                                     const struct route_agent *reserved);

/* ---- picks ---- */

/* A step whose turn it is. */
struct route_pick {
    struct text order_id;
    uint32_t step;
    enum direction direction;
    uint32_t number; /* names it in router_start_failed() */
};

enum route_answer {
    ROUTE_SENT,
    ROUTE_GONE, /* it does not wait any more */
    ROUTE_LATER /* cannot be asked for now */
};

struct route_partition_ops {
    /* Appends a StartStep command. */
    enum route_answer (*ask)(void *ctx, const struct route_pick *pick);
};

/* A partition that this process decides for, as long as it has the claim. The caller's struct,
 * zeroed; it stays put. */
struct route_partition {
    struct route_partition *prev, *next;
    const struct route_partition_ops *ops;
    void *ctx;
    struct view *view;       /* borrowed */
    struct backlog *backlog; /* borrowed; the view's index, which counts for this router */
    bool suspended;          /* nothing is picked there */
    struct route_start *starts;
};

void router_join(struct router *router, struct route_partition *partition);
/* Forgets what was asked for. Fine when it never joined. */
void router_leave(struct router *router, struct route_partition *partition);
/* The agent at which room is reserved for this step, or NULL: it was not asked for. */
const struct route_agent *router_reserved(const struct route_partition *partition,
                                          struct text order_id, uint32_t step);
/* The command that was asked for is decided; `waits`: the step is queued still. */
void router_start_decided(struct router *router, struct route_partition *partition,
                          struct text order_id, uint32_t step, bool waits);
/* The command was not delivered. */
void router_start_failed(struct router *router, struct route_partition *partition, uint32_t number);
/* What was decided is stored now: there may be room, there may be new ones that wait. */
void router_stored(struct router *router, struct route_partition *partition);

/* Picks in the next turn of the loop, if anything waits. */
void router_pick_soon(struct router *router);
/* Picks now, a bounded number; true when there may be more. Picks that were refused are tried
 * again when `afresh`: for a timer. */
bool router_pick(struct router *router, bool afresh);

#endif
