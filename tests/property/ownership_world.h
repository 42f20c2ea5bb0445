/* SPDX-License-Identifier: Apache-2.0 */
/* A whole small reeve in memory: topics of the broker in memory, a deployed workflow, a clock, and
 * places for schedulers with real stores. One world for each case; everything that happens in it
 * follows from its seed.
 *
 *     ownership_run        cases of one run, each from its seed
 *     ownership_world      the world: topics, workflow, what goes into the topics
 *     ownership_instance   schedulers: boot, own, crash between any two steps
 *     ownership_fold       the log folded afresh; stores and statuses compared with it
 *     ownership_chaos      faults around the owners; ownership_clock: the clocks of the hosts
 *     ownership_process    a process of any kind
 *     ownership_supervisor a real supervisor next to the owners
 *     ownership_model      what a log implies; ownership_effects: the other topics against it;
 *                          ownership_rules: each order against the rules of engine_rules.h
 *     ownership_log_faults topics that lose records
 *     ownership_route      healthy and unhealthy agents, steps that wait for capacity
 *     ownership_group      partitions that a consumer group assigns
 *     ownership_operators  operators who end steps by hand and pause orders
 *     ownership_deployments  versions of the workflow that come and are retired, and orders that
 *                          move between them
 *     ownership_extensions agents that ask for more time
 *     ownership_expiry     orders that expire, and are submitted again
 *     ownership_tail       logs that lose their tail while all this goes on
 *     ownership_trim       logs that lose their beginning, by their owners
 *     ownership_trees      sub-orders; ownership_messages: what they and their parents send
 *     ownership_garbage    records in the log that stop its readers
 *     ownership_upgrade    processes of two versions; ownership_versions: what the older one cannot
 *                          read
 *     ownership_ledger     a remote service that remembers what it applied and undid
 *     ownership_actors     who does what: applications, operators, agent, supervisor, faults
 *     ownership_history    a random history, then peace until every order has ended
 *     ownership_isolation  one thing is broken, and what does not need it carries on
 *     ownership_poison     a command that kills, and its innocent neighbours */
#ifndef TESTS_PROPERTY_OWNERSHIP_WORLD_H
#define TESTS_PROPERTY_OWNERSHIP_WORLD_H

#include "replica/cluster/cluster.h"
#include "services/scheduler/owner/owner.h"
#include "tests/property/engine_random.h"
#include "tests/property/ownership_sometimes.h"
#include "tests/simulation/broker_memory.h"

#include <limits.h>
#include <setjmp.h>

enum { INSTANCES = 2, PARTITIONS_MAX = 4, REQUESTS_MAX = 512, MARGIN_MS = 1000 };
enum { VERSIONS_MAX = 5 };
enum { REQUEST_KEY_SIZE = 64 };

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
    bool killed;         /* it stores nothing more */
};

/* The clock of a host. */
struct host_clock {
    struct clock_manual clock;
    int64_t offset_ms; /* from true time */
    int64_t drift_ppm;
    int64_t drifted_us;
};

/* Kinds of faults around the owners (ownership_chaos.h). */
enum chaos_kind {
    CHAOS_CLOCKS,      /* wrong within the tolerance */
    CHAOS_FAR_CLOCKS,  /* wrong beyond it */
    CHAOS_PARTITIONS,  /* partitions of topics fail on their own */
    CHAOS_SIDE_TOPICS, /* workflows and schemas do */
    CHAOS_SUPERVISOR,  /* a real one, which also fails, instead of a model */
    CHAOS_BYTES,       /* records that are not commands */
    CHAOS_MEMBERSHIP,  /* partitions are revoked and given back */
    CHAOS_STORES,      /* stores that cannot be read or written */
    CHAOS_DIRECTORIES, /* nor dropped nor opened */
    CHAOS_FOREIGN,     /* records in the log that are not ours */
    CHAOS_QUEUES,      /* the producers' queues are full */
    CHAOS_GARBAGE,     /* records in the log that look like ours, and cannot be */
    CHAOS_OPERATORS,   /* steps ended by hand, orders paused */
    CHAOS_GROUP,       /* a consumer group assigns the partitions */
    CHAOS_UPGRADE,     /* processes of two versions */
    CHAOS_EXTENSIONS,  /* agents ask for more time */
    CHAOS_DEPLOYMENTS, /* versions of the workflow; orders move between them */
    CHAOS_EXPIRY,      /* of orders that have ended; zombies write it */
    CHAOS_TAIL,        /* a log loses its last records */
    CHAOS_TRIM,        /* owners delete its beginning */
    CHAOS_KIND_COUNT
};

struct chaos {
    struct dice dice;
    struct dice later;                 /* of CHAOS_GARBAGE, and of the ledger */
    struct dice last;                  /* of the kinds after it */
    struct dice newest;                /* of CHAOS_UPGRADE */
    struct dice own[CHAOS_KIND_COUNT]; /* of each kind after it */
    uint32_t kinds;                    /* a bit for each kind that this world has */
    bool stores;                       /* they fail now */
    bool directories;                  /* likewise */
    uint32_t foreign_records;
};

/* A process. `cluster` NULL: it does not run. */
struct process {
    struct service_context service;
    struct config *config;
    struct metrics *metrics;
    struct broker *broker; /* borrowed: the cluster owns it */
    struct cluster *cluster;
};

struct world;
struct instance;
struct membership;

/* Of a consumer group (ownership_group.h). */
struct group_member {
    struct world *world;
    struct instance *instance;
    struct membership *membership; /* NULL: it has not joined */
};

/* A scheduler. */
struct instance {
    struct process process;
    struct host_clock host; /* outlives the process */
    struct owner_metrics *owner_metrics;
    struct router *router; /* NULL in a world without routing */
    struct ownership partitions[PARTITIONS_MAX];
    struct group_member member;
    char name[16];
};

enum { GARBAGE_MAX = 6 }; /* of all partitions: a reader takes 8 Resets of one that skip */

/* A record that stops readers (ownership_garbage.h). */
struct garbage {
    int32_t partition;
    int64_t offset;
    int64_t reset_at; /* the Reset that skips it; -1: none yet */
    bool counted;     /* before that: it is a record of the owner */
};

/* A StepRequest that the agent has got. */
struct request {
    char order_id[48];
    char step[16];
    enum direction direction;
    uint32_t attempt;
    char do_key[REQUEST_KEY_SIZE];
    int64_t complete_by;
    bool answered;
    bool succeeded;
    enum effect effect;
};

struct world {
    struct ownership_run *run;
    struct dice dice;
    struct chaos chaos;
    struct clock_manual clock; /* true time, which is the broker's */
    struct broker_memory_cluster *kafka;
    struct store_env *stores;
    struct instance instances[INSTANCES];
    struct watcher *watcher; /* NULL: the supervisor is a model (ownership_actors.c) */
    struct host_clock watcher_host;
    int32_t partitions;
    bool routed;                /* steps wait for capacity, or while the agent is paused */
    bool routing_off;           /* only the latter */
    bool agent_paused;          /* by an operator */
    int64_t retention_ms;       /* of orders that have ended; 0: they do not expire */
    uint32_t expiry_max;        /* orders of an Expiry */
    const char *expiry_dies_at; /* the failpoint that kills the next time; NULL: none */
    struct trims *trims;        /* NULL: no log is trimmed */
    uint32_t batch_max;         /* 0: drawn for each owner */
    struct heap_arena arena;    /* as long as the world */
    struct heap_arena scratch;  /* each user resets it */
    struct buffer bytes;
    const struct workflow *workflow; /* that orders have, unless it is said otherwise */
    const struct workflow *spare;    /* its next version, of the agent "spare"; NULL: none */
    const struct workflow *versions[VERSIONS_MAX]; /* all of them, these two too */
    uint32_t version_count;
    struct deployments *deployments; /* NULL: there was only the first one */
    struct trees *trees;             /* NULL: no order has sub-orders */
    struct tail *tail;               /* NULL: no log has lost any */
    uint32_t orders;                 /* submitted so far */
    struct garbage garbage[GARBAGE_MAX];
    uint32_t garbage_count;
    /* the agent */
    struct request requests[REQUESTS_MAX];
    uint32_t request_count;
    int64_t requests_read[PARTITIONS_MAX];
    struct upgrade *upgrade; /* NULL: all processes are of one version */
    struct ledger *ledger;   /* NULL: what the agent reports is made up */
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
/* `version` 0: the active one. */
int64_t submit_order_to(struct world *world, uint32_t number, uint32_t version,
                        const char *reply_to);
/* Into <p>.workflows; it is one of the world's versions from now on. False: lint refuses it. */
bool deploy_if_sound(struct world *world, const struct workflow *workflow);
/* From now on the topics have the next version of the workflow, with the same steps of the agent
 * "spare". */
void deploy_spare(struct world *world);
/* NULL: no such version is deployed. */
const struct workflow *world_workflow(const struct world *world, uint32_t version);
/* A record made here into a topic; the offset. */
int64_t send_record(struct world *world, const char *topic, int32_t partition, struct text key,
                    enum record_kind kind, const void *record);
/* The next offset. */
int64_t log_end(const struct world *world, const char *topic, int32_t partition);
/* The record lacks our framing (C3 01), so it cannot be a transition and every reader passes it; or
 * readers stop at it until an operator has them skip it. */
bool is_foreign(const struct world *world, const char *topic, int32_t partition, int64_t offset);
/* A record decoded into the scratch arena; NULL, or what went wrong. */
const char *read_log(struct world *world, const char *topic, int32_t partition, int64_t offset,
                     struct record *ret_record);

#endif
