/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how many steps may start at which agent, in one scheduler process.
 *
 * The router knows the agents' status (router_set_agent), the steps that run and wait in the
 * partitions folded here (backlog.h counts them), and the StartStep commands that are on their way.
 * From these it computes the capacities that engine_decide() is given, and it picks: when an agent
 * has free capacity, the next step is chosen by priority (replica/service/shares.h), then by
 * waiting time.
 *
 * - The `limit` of an agent is the larger of two numbers: this process's part of what its healthy
 *   instances can take, and what it has completed for this process within wait_ms when it last
 *   had work. So the attempts of a fast agent wait there, for that time at most, and those of a
 *   slow one wait here. To wait here costs a command, a Decision and a status: at 2,000 orders in
 *   flight, 6.9 commands an order instead of 4.0; in a burst of 30,000, 4.4 if an agent that was
 *   idle counts as slow.
 * - running + starting <= limit, as far as starts are ours to decide. An order that starts many
 *   steps in parallel, or a claim that brings running steps along, may exceed it for a while.
 * - No new step takes the capacity that steps need which wait for an agent: it finds what they
 *   leave. Were it to find nothing while any step waits, then a queue would not end under load:
 *   while the StartSteps of its steps are on their way, more steps join it.
 * - Nothing starts at an agent that an operator has paused (router_pause_agent).
 *
 * Where routing is switched off, every agent takes any number of steps, and each step goes to the
 * first agent that it names. Steps wait there only for a paused agent, or until router_begin().
 * Nothing is known then of what the agent can take, so what has waited starts at a rate that
 * grows steadily: ROUTER_SLOW_STARTS more with each router_pick(afresh) than with the one before.
 *
 * Loop thread only. No allocation per decision. */
#ifndef SERVICES_SCHEDULER_ROUTER_ROUTER_H
#define SERVICES_SCHEDULER_ROUTER_ROUTER_H

#include "platform/hash_table.h"
#include "platform/loop.h"
#include "replica/service/shares.h"
#include "workflow/registry.h"

struct router;
struct backlog;
struct view;

enum { ROUTER_SLOW_STARTS = 64 };

struct router_options {
    bool switched_off;                         /* routing is */
    struct loop *loop;                         /* borrowed; NULL: picks only by router_pick() */
    const struct workflow_registry *workflows; /* borrowed */
    double factor;                             /* started steps per concurrent call */
    int64_t wait_ms; /* that a step may spend in an agent's queue, above what `factor` allows */
    int64_t retry_ms_min; /* of steps without a healthy agent */
    int64_t retry_ms_max;
    uint32_t weights[PRIORITY_COUNT];
};

struct router *router_new(const struct router_options *options);
/* After the last backlog that counts for it was freed. NULL does nothing. */
void router_free(struct router *router);

/* ---- agents ---- */

struct agent_status {
    bool healthy;    /* at least one instance would take a step */
    int64_t calls;   /* concurrent calls of the healthy instances with a closed circuit */
    int64_t probing; /* healthy instances with a half-open circuit: one step each */
    int64_t latency_p95_ms;
    const char *why; /* a literal: why it is unhealthy */
};

/* We own `own` of `all` partitions, and so this part of each agent's capacity. */
void router_set_part(struct router *router, uint32_t own, uint32_t all);
/* Routing is switched off: from now on it is known which agents are paused. */
void router_begin(struct router *router);
/* An operator has paused the agent, for this reason (copied); NULL: it is not paused. */
void router_pause_agent(struct router *router, struct text agent, const char *why);
/* The agent has reported the end of an attempt. The times of this and the next are of one monotonic
 * clock. */
void router_completed(struct router *router, struct text agent, int64_t now_ms);
/* From time to time: takes into account what was completed since the last call. */
void router_measure(struct router *router, int64_t now_ms);
/* An agent that was never set has no live instance. Not where routing is switched off. */
void router_set_agent(struct router *router, struct text agent, const struct agent_status *status);

struct route_agent {
    UT_hash_handle hh;
    char name[NAME_BYTES_MAX + 1];
    struct agent_status status;
    int64_t limit;     /* 0 when it is unhealthy */
    int64_t completed; /* attempts, since the last router_measure() */
    double turnover;   /* attempts completed per second, when it last had work */
    int64_t running;   /* started attempts, decided here but maybe not yet acknowledged */
    int64_t starting;  /* reserved for StartStep commands on their way */
    int64_t waiting[PRIORITY_COUNT]; /* steps that it could do */
    int64_t stuck;                   /* of them, those for which no agent is healthy or paused */
    bool refused;                    /* a pick was: the next ones wait for router_pick(afresh) */
    char *pause;                     /* why an operator has paused it; NULL: it is not paused */
    /* Where routing is switched off: how many more steps that waited may start until the next
     * router_pick(afresh), and how many there were after the last one. */
    int64_t credit;
    int64_t credit_last;
    /* Steps waited for it when a partition joined: the previous owner may have raised an alert.
     * The agent monitor resets it. */
    bool inherited;
    struct shares shares;
    char why[96]; /* the text while it is healthy, made of the three numbers that follow */
    int64_t why_free;
    int64_t why_limit;
    int64_t why_p95;
};

int64_t route_agent_waiting(const struct route_agent *agent);
/* Free capacity; may be negative. */
int64_t route_agent_free(const struct route_agent *agent);
/* All of them, linked by hh.next; `stuck` is brought up to date. */
struct route_agent *router_agents(struct router *router);
/* New at the first time, then always the same, until router_free(). */
struct route_agent *router_agent(struct router *router, struct text name);

/* How many steps of own partitions are Waiting, for that, and so for no agent. */
int64_t router_standing(const struct router *router, enum wait_kind what);

/* ---- deciding ---- */

/* The capacities of the agents that the workflow (NULL: none) names. Borrowed until the next call.
 * `reserved`: the agent at which capacity is reserved for the command's step, or NULL. */
const struct routing *router_routing(struct router *router, const struct workflow *workflow,
                                     const struct route_agent *reserved);

/* ---- picks ---- */

/* The next step for an agent. */
struct route_pick {
    struct text order_id;
    uint32_t step;
    struct text queue; /* the key of the queue that it was read from: see backlog_waits_in() */
    uint32_t number;   /* names it in router_start_failed() */
};

enum route_answer {
    ROUTE_SENT,
    ROUTE_GONE, /* it no longer waits in that queue */
    ROUTE_LATER /* the command cannot be sent now */
};

/* A partition that this process decides for, as long as it has the claim. The caller's struct,
 * zeroed; it stays put. */
struct route_partition {
    struct route_partition *prev, *next;
    /* Appends a StartStep command. */
    enum route_answer (*start)(void *ctx, const struct route_pick *pick);
    void *ctx;
    struct view *view;       /* borrowed */
    struct backlog *backlog; /* borrowed; the view's index, which counts for this router */
    bool suspended;          /* nothing is picked there */
    bool held;               /* by router_hold() */
    struct route_start *starts;
};

void router_join(struct router *router, struct route_partition *partition);
/* Forgets the starts on their way. Does nothing if the partition never joined. */
void router_leave(struct router *router, struct route_partition *partition);
/* While `held`, the partition makes no progress: nothing is picked there, and its steps, running,
 * starting or waiting, take no capacity from those of other partitions. */
void router_hold(struct router *router, struct route_partition *partition, bool held);
/* The agent at which capacity is reserved for this step, or NULL: it was not picked. */
const struct route_agent *router_reserved(const struct route_partition *partition,
                                          struct text order_id, uint32_t step);
/* The StartStep is decided; `waits`: the step is still queued. */
void router_start_decided(struct router *router, struct route_partition *partition,
                          struct text order_id, uint32_t step, bool waits);
/* The StartStep was not delivered. */
void router_start_failed(struct router *router, struct route_partition *partition, uint32_t number);
/* A batch is acknowledged: capacity may be free, and new steps may wait. */
void router_acknowledged(struct router *router, struct route_partition *partition);

/* Picks in the next turn of the loop, if anything waits. */
void router_pick_soon(struct router *router);
/* Picks now, a bounded number; true when there may be more. `afresh`: agents whose pick was refused
 * are tried again; for a timer. */
bool router_pick(struct router *router, bool afresh);

#endif
