/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of orders on several partitions, decided by the engine. What one tells another is made
 * of the newest row, target by target, as the emitter does it; it may be lost, come late, or come
 * again: a takeover emits a part of the log once more, and a zombie holds copies that it made of an
 * older row.
 *
 * Agents are as simple as can be: a call is applied or not, and reported, refused, or not heard of
 * again. Their ledger says what remains. */
#ifndef TESTS_PROPERTY_TREES_WORLD_H
#define TESTS_PROPERTY_TREES_WORLD_H

#include "engine/engine.h"
#include "tests/lib/engine_memory.h"
#include "tests/property/engine_random.h"
#include "tests/property/trees_rare.h"

enum { PARTITIONS_MAX = 3, TREE_STEPS_MAX = 4, KEYS_MAX = 64, COPIES_MAX = 16, WRONG_SIZE = 512 };
#define RETENTION_DAYS 8
#define SUBMISSION_DAYS 7
#define DAY_MS (INT64_C(24) * 3600 * 1000)

/* An order that was accepted. It stays when the order has expired, with the row it had. */
struct member {
    struct text id;
    uint32_t partition;
    struct order order;
    const struct workflow *workflow;
    bool expired;
    bool by_hand; /* an operator said how it ended, so its ledger and its row may differ */
    /* Of each step, a bit for each generation of the do's key. */
    uint64_t applied[TREE_STEPS_MAX];
    uint64_t undone[TREE_STEPS_MAX];
};

struct logged {
    struct decision decision;
    struct command cmd;
    uint32_t partition;
};

/* A partition of `commands`, and its log. */
struct partition {
    struct command *commands;
    uint32_t command_count, command_room, decided;
    struct logged **log;
    uint32_t log_count, log_room;
    uint32_t emitted[PARTITIONS_MAX + 1]; /* to each partition; the last one: to the agents */
    bool stopped;
};

struct call {
    struct member *member;
    uint32_t step;
    enum direction direction;
    uint32_t attempt;
    uint32_t key; /* generation of the do's */
    int64_t complete_by;
    bool landed;
    bool reports;
    struct report_step report;
};

struct world {
    struct dice dice;
    struct test_arena memory;
    int64_t now;
    struct text file;
    const struct workflow *workflow;
    struct text input; /* of the roots */
    uint32_t partition_count;
    struct partition partitions[PARTITIONS_MAX];
    struct member **members;
    uint32_t member_count, member_room;
    struct call *calls;
    uint32_t call_count, call_room;
    struct command copies[COPIES_MAX];
    uint32_t copy_count;
    struct logged **told; /* of all partitions, as they were decided */
    uint32_t told_count, told_room;
    uint32_t loss_percent; /* of messages between orders */
    bool resets;           /* operators skip ends of orders */
    bool healthy;          /* agents and channels do what they should */
    uint64_t *rare;
    char wrong[WRONG_SIZE]; /* empty: all is as it must be */
};

extern struct world world;

void world_begin(uint64_t seed, uint64_t *rare);
void world_end(void);
/* The first thing that is wrong. */
void world_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool world_is_wrong(void);
/* The file, every Decision, and the rows as they are; free it. */
char *world_tell(void);
static inline void world_saw(enum trees_rare rare)
{
    world.rare[rare]++;
}

/* A member that lives, by id; NULL: there is none. */
struct member *world_find(struct text id);
/* The member that is this item of that one, or was; NULL: none. `after`: the one after that. */
struct member *world_find_item(const struct order_parent *parent, const struct member *after);
/* The parent of a sub-order, or NULL. */
struct member *world_parent_of(const struct member *member);
uint32_t world_partition_of(struct text id);

/* Appends it to the order's partition. Its texts live as long as the world. */
void world_send(const struct command *cmd);
/* Decides the next command of the partition; false: there is none. */
bool world_decide(uint32_t partition);
/* Emits what the next Decision of `from` has for that target; false: all is emitted. */
bool world_emit(uint32_t from, uint32_t target);
/* Another owner emits a part of it again. */
void world_take_over(uint32_t partition);
/* An operator resets the partition, and skips the command by which an order has just ended and let
 * its sub-orders go. False: the newest one is none. */
bool world_reset(uint32_t partition);
void world_copy(void);         /* a zombie makes messages of some Decision, and keeps them */
void world_deliver_copy(void); /* one of them arrives */
/* Orders that ended long ago leave. */
void world_expire(void);

/* trees_agents.c */
void agents_request(const struct step_request *request);
/* Advances a call; false: none has anything left to do. */
bool agents_step(void);
/* Keys of the step that were applied and not undone. */
uint32_t agents_net(const struct member *member, uint32_t step);

/* trees_senders.c */
void senders_submit_root(void);
void senders_operator(void);
void senders_cancel_root(void);
/* Asks for what is due: false, and nothing, where nothing is. */
bool senders_deadline(bool early);
/* The earliest deadline of all orders; false: there is none. The clock goes on to it. */
bool senders_next_deadline(void);
bool senders_resume_all(void);
/* An operator does what gets the order out of Error, or has it settled; `round`: how often one has
 * tried. False: it needs none. */
bool senders_repair(struct member *member, uint32_t round);

#endif
