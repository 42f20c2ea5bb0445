/* SPDX-License-Identifier: Apache-2.0 */
/* One random history of the engine: an order, its log, and the world around it. Each command is
 * decided, applied and checked; what is wrong first is kept. */
#ifndef TESTS_PROPERTY_ENGINE_HISTORY_H
#define TESTS_PROPERTY_ENGINE_HISTORY_H

#include "tests/lib/engine_memory.h"
#include "tests/property/engine_agents.h"
#include "tests/property/engine_rules.h"
#include "tests/property/engine_world.h"

enum { RETENTION_MS = 2000, DECISIONS_MAX = 6000 };

struct history {
    struct dice dice;
    struct dice distortions;  /* of their own: a seed's history is the same without them */
    struct test_arena memory; /* of the workflow, commands and Decisions */
    struct test_arena live[2];
    int live_at; /* which of the two the order lives in */
    const struct workflow *workflow;
    const struct workflow *target; /* the latest that an order was to be moved to; or NULL */
    struct order order;
    int64_t now;
    bool busy_operator; /* one that commands at random, whatever the order is doing */
    struct rules rules;
    struct services services;
    struct agents agents;
    struct command commands[DECISIONS_MAX];
    struct decision log[DECISIONS_MAX];
    uint32_t count;
    uint32_t since;    /* where the commands about this order begin: not before the last expiry */
    const char *wrong; /* NULL while nothing is wrong */
    uint64_t distorted_applied; /* of all cases */
    uint64_t distorted_refused;
};

extern struct history history;

/* Keeps `what` (static) if the condition does not hold and nothing was wrong before. */
void history_expect(bool condition, const char *what);
/* Has the engine decide the command, and checks the Decision, the fold, the effects, and that the
 * order is not stuck. Nothing once something is wrong. */
void history_command(const struct command *cmd);
/* The order, which has ended, leaves: the next command finds none, and may begin another one. */
void history_expire(void);
/* Moves the order to another arena; it must not refer to the old one. */
void history_compact(void);
void history_begin(void);
void history_end(void);
/* The whole log in words; free it. */
char *history_tell(void);

#endif
