/* SPDX-License-Identifier: Apache-2.0 */
/* A router over real stores, without brokers, for unit tests: two partitions of one process, agents
 * that come and go, and an owner that decides in memory. All of it lives as long as the test's
 * process, so the struct is static. */
#ifndef TESTS_UNIT_SCHEDULER_ROUTER_KIT_H
#define TESTS_UNIT_SCHEDULER_ROUTER_KIT_H

#include "replica/fold/view.h"
#include "services/scheduler/router/internal.h"

enum {
    ROUTER_KIT_PARTITIONS = 2,
    ROUTER_KIT_ORDERS_MAX = 400,
    ROUTER_KIT_LOG_MAX = 8000,
    ROUTER_KIT_COMMANDS_MAX = 512,
    ROUTER_KIT_NOW = 1000000,
    ROUTER_KIT_WAIT_MS = 100
};

/* "x" serves step A, "y" both A and B, of the workflow "test". */
extern const char *const router_kit_agents[2];

struct router_kit_partition {
    struct router_kit *kit;
    const char *path;
    struct view *view;
    struct route_partition routed;
    struct buffer log[ROUTER_KIT_LOG_MAX];
    int64_t count;     /* of the log */
    int64_t committed; /* of it */
    struct backlog *backlog;
    int64_t commands_decided;
    struct command commands[ROUTER_KIT_COMMANDS_MAX]; /* StartSteps on their way */
    char ids[ROUTER_KIT_COMMANDS_MAX][24];
    uint32_t command_count;
    char orders[ROUTER_KIT_ORDERS_MAX][24];
    uint32_t order_count;
};

struct router_kit {
    struct store_env *env;
    struct codec *codec;
    struct heap_arena heap;
    struct workflow_registry *registry;
    struct router *router;
    int64_t now;
    uint64_t seed;
    uint64_t starts;   /* in all */
    bool switched_off; /* routing is */
    uint64_t queued_for_a_pause;
    struct router_kit_partition partitions[ROUTER_KIT_PARTITIONS];
};

/* Both partitions are owned and empty, no agent is running, and the random numbers begin with
 * `seed`. `switched_off`: routing is, so that steps are queued only for pauses. */
void router_kit_begin_with(struct router_kit *kit, uint64_t seed, bool switched_off);
void router_kit_begin(struct router_kit *kit, uint64_t seed);
/* Checks each partition's store against a fold from zero, and frees all. */
void router_kit_end(struct router_kit *kit);
/* The process starts again with what was committed. It knows no workflow until they are deployed.
 */
void router_kit_restart(struct router_kit *kit);
void router_kit_deploy(struct router_kit *kit);
/* A random number below `sides`. */
uint32_t router_kit_roll(struct router_kit *kit, uint32_t sides);

/* ---- a partition ---- */

/* The order, or NULL; its first step. Borrowed until the next call. */
const struct order *router_kit_order(const struct router_kit_partition *partition, const char *id);
const struct step *router_kit_first_step(const struct router_kit_partition *partition,
                                         const char *id);
/* The record of the log at that offset. */
void router_kit_fold(const struct router_kit_partition *partition, struct view *view,
                     int64_t offset);
void router_kit_commit(struct router_kit_partition *partition);
/* What was not committed is lost, and with it what was asked for; or all is closed and opened. */
void router_kit_lose(struct router_kit_partition *partition, bool reopen);
/* The order o-N, N counting from 0. */
void router_kit_submit(struct router_kit_partition *partition, enum priority priority);
/* The first step of the order that runs has succeeded. */
void router_kit_report(struct router_kit_partition *partition, const char *id);
/* Decides the StartSteps on their way. */
void router_kit_decide(struct router_kit_partition *partition);

/* ---- all of them ---- */

/* Whether the agent (0: "x", 1: "y") has healthy instances, and for how many calls. */
void router_kit_set_agent(struct router_kit *kit, int number, bool well, int64_t calls);
bool router_kit_all_ended(const struct router_kit *kit);
/* The router's counts are those of the orders. */
void router_kit_check_counts(struct router_kit *kit);
/* Picks, and compares the ids of the steps of partition 0 that are picked, one after the other,
 * while nothing ends. */
void router_kit_expect_picks(struct router_kit *kit, const char *const ids[], uint32_t count);

#endif
