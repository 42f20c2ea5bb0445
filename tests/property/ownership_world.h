/* SPDX-License-Identifier: Apache-2.0 */
/* A whole small reeve in memory: topics of the broker in memory, a deployed workflow, a clock, and
 * places for schedulers with real stores. One world for each case; everything that happens in it
 * follows from its seed.
 *
 *     ownership_world      the world: topics, workflow, what goes into the topics
 *     ownership_instance   schedulers: boot, own, crash between any two steps
 *     ownership_fold       the log folded afresh; stores and statuses compared with it
 *     ownership_route      healthy and unhealthy agents, steps that wait for capacity
 *     ownership_actors     who does what: applications, operators, agent, supervisor, faults
 *     ownership_history    a random history, then peace until every order has ended
 *     ownership_poison     a command that kills, and its innocent neighbours */
#ifndef TESTS_PROPERTY_OWNERSHIP_WORLD_H
#define TESTS_PROPERTY_OWNERSHIP_WORLD_H

#include "replica/cluster.h"
#include "services/scheduler/owner.h"
#include "tests/property/engine_random.h"
#include "tests/property/ownership_sometimes.h"
#include "tests/simulation/broker_memory.h"

#include <limits.h>
#include <setjmp.h>

enum { INSTANCES = 2, PARTITIONS_MAX = 4, REQUESTS_MAX = 512, MARGIN_MS = 1000 };

/* What the cases of a run share, none of which remembers a case. */
struct ownership_run {
    const char *folder;    /* writable */
    char empty_store[256]; /* in it: a store that RocksDB has just made, to be copied */
    struct codec *codec;   /* the test's own */
    struct ownership_sometimes sometimes;
};

/* A partition as a scheduler has it. */
struct ownership {
    struct owner *owner; /* NULL: not its */
    char path[512];      /* of the store */
    int64_t compared;    /* next_event_offset of the last comparison */
};

/* A scheduler process. `cluster` NULL: it does not run. */
struct instance {
    struct service_context service;
    struct config *config;
    struct metrics *metrics;
    struct broker *broker; /* borrowed: the cluster owns it */
    struct cluster *cluster;
    struct owner_metrics *owner_metrics;
    struct router *router; /* NULL in a world without routing */
    struct ownership partitions[PARTITIONS_MAX];
    char name[16];
};

/* A StepRequest that the agent has got. */
struct request {
    char order_id[16];
    char step[16];
    enum direction direction;
    uint32_t attempt;
    bool answered;
};

struct world {
    struct ownership_run *run;
    struct dice dice;
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct store_env *stores;
    struct instance instances[INSTANCES];
    int32_t partitions;
    bool routed;
    struct heap_arena arena;   /* as long as the world */
    struct heap_arena scratch; /* each user resets it */
    struct buffer bytes;
    const struct workflow *workflow;
    uint32_t orders; /* submitted so far */
    /* the agent */
    struct request requests[REQUESTS_MAX];
    uint32_t request_count;
    int64_t requests_read[PARTITIONS_MAX];
    /* crashes */
    jmp_buf crash;
    bool crash_armed;
    uint32_t crash_permille;      /* at each failpoint */
    uint32_t store_fail_permille; /* of the writes */
    char poison[64];              /* the failpoint that always kills; "" = none */
};

/* A message in static memory, for those that return NULL or what went wrong in one line. */
const char *wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

void ownership_run_begin(struct ownership_run *run, const char *folder);
void ownership_run_end(struct ownership_run *run);

/* New: topics with that many partitions, a random workflow, no process, no faults. */
struct world *world_new(struct ownership_run *run, uint64_t seed, int32_t partitions);
void world_free(struct world *world);

static inline void world_count(struct world *world, enum sometimes what)
{
    world->run->sometimes.counts[what]++;
}

/* "order-3"; lives in the scratch arena. */
struct text order_name(struct world *world, uint32_t number);
int32_t partition_of(const struct world *world, struct text order_id);
/* Into <p>.commands, to where its order belongs; the offset. */
int64_t send_command(struct world *world, const struct command *cmd);
int64_t submit_order(struct world *world, uint32_t number);
/* The next offset. */
int64_t log_end(const struct world *world, const char *topic, int32_t partition);
/* A record decoded into the scratch arena; NULL, or what went wrong. */
const char *read_log(struct world *world, const char *topic, int32_t partition, int64_t offset,
                     struct record *ret_record);

#endif
