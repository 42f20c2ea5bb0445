/* SPDX-License-Identifier: Apache-2.0 */
/* A whole console over the broker in memory, with its API on a real port. The test is the
 * scheduler: it decides the commands with the engine and writes the log. */
#ifndef TESTS_UNIT_CONSOLE_WORLD_H
#define TESTS_UNIT_CONSOLE_WORLD_H

#include "platform/http/client.h"
#include "services/console/console.h"
#include "tests/simulation/broker_memory.h"
#include "tests/unit/console/answers.h"

enum { WORLD_PARTITIONS = 3, WORLD_ORDERS_MAX = 400 };

/* An order as the test's own scheduler sees it. */
struct world_order {
    char id[ORDER_ID_BYTES_MAX + 1];
    struct order order; /* version 0: none yet */
    struct heap_arena heap;
};

struct world {
    struct clock clock; /* the real one and `offset_ms` */
    int64_t offset_ms;
    int64_t now; /* the scheduler's */
    struct loop *loop;
    struct broker_memory_cluster *kafka;
    struct codec *codec;
    struct heap_arena heap; /* of one decision */
    struct heap_arena workflow_heap;
    struct workflow *workflow;
    struct workflow *target; /* version 2, to which orders may be moved; NULL: none */
    char folder[64];
    const char *services; /* console.services; NULL: none */
    const char *services_token;
    const char *groups; /* the file of groups; NULL: the server knows no users */
    const char *user;   /* with `groups`: who asks, as a trusted proxy says */
    char groups_path[96];
    struct http_access *access;
    struct service_context service;
    struct console *console; /* NULL: not running */
    struct broker *broker;
    struct http_client *client;
    struct world_order orders[WORLD_ORDERS_MAX];
    uint32_t order_count;
    struct {
        struct uuid claim_id;
        int64_t sequence;
        int64_t next_command;
        uint8_t claims;
        const char *instance; /* of the claim, as is the next */
        int64_t claimed_at;
        struct checkpoint folded; /* what the owner states in a Continuation */
    } partitions[WORLD_PARTITIONS];
    /* of the request under way */
    bool answered;
    int status;
    json_t *json;
    enum effect effect;  /* of the failures that are reported */
    bool schedules;      /* commands are decided while it waits for an answer */
    bool loses_messages; /* of orders to each other */
    const char *kills;   /* the code with which commands become dead letters; NULL: they do not */
};

/* New, with a claim of "scheduler-1" in every partition; `workflow` as engine_workflow.h has it.
 * No console runs yet. */
struct world *world_new(uint64_t seed, const char *workflow);
void world_free(struct world *world);
/* Orders have this workflow from now on, in YAML, with the name "test". */
void world_use_workflow(struct world *world, const char *source);

/* A console begins, or begins again, and is ready when this returns; or ends. */
void world_open(struct world *world);
/* The same without waiting. */
void world_open_unready(struct world *world);
void world_close(struct world *world);
/* rm -rf of its stores; it does not run. */
void world_wipe(struct world *world);

/* ---- the log ---- */

int32_t world_partition(const char *order_id);
/* A command is in the log; returns its offset. */
int64_t world_send(struct world *world, const struct command *cmd);
void world_submit(struct world *world, const char *order_id, const char *workflow);
/* The order, which has ended, and those of its partition that ended before it leave. */
void world_expire(struct world *world, const char *order_id);
/* The same with the customer and the attributes given. */
void world_submit_details(struct world *world, const char *order_id, const char *workflow,
                          struct text customer, struct attribute *attributes, uint32_t count);
void world_report(struct world *world, const char *order_id, const char *step, bool succeeded);
/* Decides all commands that wait, each a millisecond after the one before. */
void world_schedule(struct world *world);
/* Another scheduler claims the partition. */
void world_claim(struct world *world, int32_t partition, const char *instance);
/* An operator resets the partition, whose log ends there. */
void world_reset(struct world *world, int32_t partition, int64_t offset);
/* The same, and it skips what is in the log from that offset on. */
void world_skip(struct world *world, int32_t partition, int64_t from);
/* The owner of the order's partition restates it and trims the log to where that began. The console
 * has not read it yet. Returns where it begins. */
int64_t world_trim(struct world *world, const char *order_id);
/* The same in two steps: the owner writes where the log is to begin, and may decide before the
 * rest. */
int64_t world_trim_begin(struct world *world, const char *order_id);
void world_trim_end(struct world *world, const char *order_id, int64_t start);
/* The order, or NULL. */
const struct order *world_order(struct world *world, const char *order_id);
/* An alert in <p>.alerts; about partition -1: about an instance. */
void world_alert(struct world *world, int32_t partition, bool raised, const char *code,
                 const char *message);

/* ---- the console ---- */

/* Turns the loop once, and lets everything pending in the broker happen. */
void world_turn(struct world *world);
/* Until the console has folded the whole log. */
void world_settle(struct world *world);
/* Time goes on, for all timers. */
void world_advance(struct world *world, int64_t ms);

/* Begins a request; `body` NULL = GET. */
void world_ask(struct world *world, const char *path, const char *body);
/* Waits for its answer; asserts the status. New. */
json_t *world_answer(struct world *world, int status);
/* Both. */
json_t *world_get(struct world *world, int status, const char *path);
json_t *world_post(struct world *world, int status, const char *path, const char *body);
/* The request is refused: with that code, NULL: any, and one line of detail that contains `part`.
 */
void world_refuses(struct world *world, int status, const char *code, const char *path,
                   const char *body, const char *part);

#endif
