/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of a supervisor over the broker in memory, with a clock of its own, and a scheduler
 * that the test plays: it decides commands when the test calls world_decide(), by a clock that is
 * right. */
#ifndef TESTS_UNIT_SUPERVISOR_WORLD_H
#define TESTS_UNIT_SUPERVISOR_WORLD_H

#include "base/heap_arena.h"
#include "replica/cluster/cluster.h"
#include "services/supervisor/partition.h"
#include "tests/simulation/broker_memory.h"

enum { WORLD_MARGIN_MS = 1000, WORLD_ORDERS_MAX = 70000, WORLD_STEP_MS = 10 };

struct supervised_order {
    struct order order; /* zeroed: it has not been submitted */
    int64_t due_ms;     /* when its first attempt is to be recovered */
    uint32_t commands;  /* of the supervisor, seen in <p>.commands */
    int64_t asked_ms;   /* the last of them: its append time */
};

struct supervised_world {
    struct clock_manual clock; /* the supervisor's; its wall clock may be wrong */
    struct clock_manual right; /* that of the brokers and of the scheduler */
    struct broker_memory_cluster *kafka;
    struct service_context service;
    struct cluster *cluster;
    struct store_env *stores;
    struct supervisor_metrics metrics;
    struct supervisor_partition *partition; /* NULL before world_open() */
    struct codec *codec;
    struct heap_arena heap; /* orders and the workflow */
    struct heap_arena scratch;
    const struct workflow *workflow;
    struct supervised_order *orders;
    /* the scheduler */
    struct uuid claim_id;
    int64_t sequence;
    int64_t next_command;
    int64_t looked_at; /* commands counted so far */
    uint32_t commands; /* all that were counted */
    bool rejects;      /* it decides without the workflow, so that nothing changes */
    char folder[32];
};

/* New: an empty log with a Claim. `workflow` as in engine_workflow.h. */
struct supervised_world *world_new(const char *workflow);
/* The topics have more partitions, of which everything happens in the first. */
struct supervised_world *world_new_of(const char *workflow, int32_t partition_count);
void world_free(struct supervised_world *world);
/* Opens the partition, with an empty store. Nothing has happened yet. */
void world_open(struct supervised_world *world);
/* Closes the partition and opens it again, with the store as it is. */
void world_reopen(struct supervised_world *world);
/* Time passes, in small steps; everything that can happen does. */
void world_run(struct supervised_world *world, int64_t ms);
/* What is on its way arrives; no time passes and no timer fires. */
void world_settle(struct supervised_world *world);

/* Another scheduler claims the partition, when there are that many. */
void world_claim(struct supervised_world *world, int32_t partition_count);
/* An operator lowers the time of the newest Decision, and the scheduler claims again. */
void world_reset(struct supervised_world *world, int64_t newest_decided_at);
/* Submits order `number`, and decides it at once, at the time `at`. */
void world_submit(struct supervised_world *world, uint32_t number, int64_t at);
/* The step's first attempt succeeds; decided at once. */
void world_report(struct supervised_world *world, uint32_t number);
/* Another supervisor asks for the recovery of the step's attempt; decided at once. */
void world_recover(struct supervised_world *world, uint32_t number);
/* Its owner asks for a start of the step, for which there is no capacity; decided at once. */
void world_find_no_capacity(struct supervised_world *world, uint32_t number);
/* The last decision, which was about this order, is lost; `before` is what the order was. */
void world_lose_decision(struct supervised_world *world, uint32_t number,
                         const struct order *before);
/* The scheduler decides the commands that wait. */
void world_decide(struct supervised_world *world);
/* At most this many of them. */
void world_decide_some(struct supervised_world *world, uint32_t most);
/* Opens the partition and lets it fold. */
void open_and_fold(struct supervised_world *world);
/* Time passes as in world_run(); the scheduler decides at each step. */
void run_with_scheduler(struct supervised_world *world, int64_t ms);
/* How many commands wait. */
int64_t world_waiting(struct supervised_world *world);
/* Counts the commands that have reached <p>.commands since the last time. */
void world_count(struct supervised_world *world);
/* How many alerts with this code are in <p>.alerts, raised or closed. */
uint32_t world_alerts(struct supervised_world *world, const char *code, bool raised);
/* When the first attempt of a step of this order is to be recovered. */
int64_t world_due(const struct supervised_world *world, uint32_t number);

#endif
