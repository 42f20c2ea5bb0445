/* SPDX-License-Identifier: Apache-2.0 */
/* Whole agents on the broker in memory, with a clock that the test turns and a vtable whose calls
 * the test ends. */
#ifndef TESTS_UNIT_AGENT_WORLD_H
#define TESTS_UNIT_AGENT_WORLD_H

#include "services/agent/core/core.h"
#include "tests/simulation/broker_memory.h"

enum { WORLD_PARTITIONS = 4, WORLD_CALLS_MAX = 4096, WORLD_INSTANCES_MAX = 4 };

#define WORLD_REQUESTS "t.requests.pay"
#define WORLD_GROUP "t.agent.pay"

struct world;

struct instance {
    struct world *world;
    struct service_context service;
    struct broker *broker;
    struct agent *agent;                       /* NULL = stopped or killed */
    struct agent_call *calls[WORLD_CALLS_MAX]; /* running, the oldest first */
    uint32_t call_count;
    struct agent_probe *probe; /* begun, not ended */
    bool drained;
};

struct world {
    struct clock_manual clock; /* of the agents */
    struct clock_manual broker_clock;
    struct loop *loop;
    struct broker_memory_cluster *kafka;
    struct codec *codec;
    struct instance instances[WORLD_INSTANCES_MAX];
    uint32_t instance_count;
    const struct agent_ops *ops; /* NULL = calls are kept for the test */
    bool serves_http;            /* instances added from now on have an HTTP server */
    const char *data_dir; /* of instances added from now on; NULL = they have no answer cache */
    /* Called when a call starts; NULL = it is kept in `calls`. */
    void (*on_call)(struct instance *instance, struct agent_call *call);
    uint64_t calls_started;
    bool probes;                 /* instances that are added have a vtable with a probe */
    uint64_t order_version;      /* of requests from now on */
    bool extension;              /* they give more time */
    struct text input;           /* that they carry */
    int64_t decision_offset;     /* added to that of requests from now on */
    struct agent_call *extended; /* the latest call that got more time */
};

/* New: a cluster with the topics of prefix t. */
struct world *world_new(uint64_t seed);
void world_free(struct world *world);

/* A new instance, a member of the group from the next rebalance on. `settings` = "key", "value",
 * ..., NULL. */
struct instance *world_add(struct world *world, const char *const settings[]);
/* kill -9 */
void world_kill(struct instance *instance);
/* As at the end of a process that was drained. */
void world_stop(struct instance *instance);
/* Lets everything happen that needs no time to pass. */
void world_settle(struct world *world);
void world_advance(struct world *world, int64_t ms);
/* Rebalances and settles. */
void world_rebalance(struct world *world);

/* A request of agent "pay" in its partition; `step` "Pay", Decision offset 100 + attempt. */
void world_request(struct world *world, const char *order, enum direction direction,
                   uint32_t attempt, int64_t complete_by);
/* The same, of an order of that priority; does not settle. */
void world_append_request(struct world *world, const char *order, enum priority priority,
                          enum direction direction, uint32_t attempt, int64_t complete_by);
int32_t world_partition(const char *order);
/* Ends the oldest call. */
void world_succeed(struct instance *instance, const char *output);
void world_fail(struct instance *instance, enum effect effect, bool retriable);
/* The service is unhealthy; a try may follow. */
void world_fail_unhealthy(struct instance *instance, enum effect effect);

/* The reports in the log, in the order of partitions and offsets:
 * "A/Pay/do/1 ok {}\n", "A/Pay/do/1 Oops none\n". Borrowed until the next call. */
const char *world_reports(struct world *world);
uint32_t world_count_reports(struct world *world, const char *order);
/* The committed offset of the order's partition, -1 = none. */
int64_t world_committed(struct instance *instance, const char *order);
/* How many records a topic has in all its partitions. */
int64_t world_count(struct world *world, const char *topic);

#endif
