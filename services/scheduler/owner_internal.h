/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an owner, for owner.c (claim, fold, inspect, give up) and owner_cycle.c (decide,
 * append, store, emit). */
#ifndef SERVICES_SCHEDULER_OWNER_INTERNAL_H
#define SERVICES_SCHEDULER_OWNER_INTERNAL_H

#include "kafka/clock_guard.h"
#include "services/scheduler/backlog.h"
#include "services/scheduler/owner.h"

/* A command read and not yet decided, with its key and value behind it. */
struct pending_command {
    struct pending_command *next;
    int64_t offset;
    int64_t timestamp;
    struct text key;
    struct text value;
    bool schemas_refreshed;
    bool workflows_refreshed;
    char bytes[];
};

struct batch_item {
    struct decision decision;
    int64_t offset;
    int64_t begun_us;
};

/* What the owners of a process share. */
struct owner_metrics {
    /* The owner between a command guard and its Decision. One at a time: a crash must not leave
     * guards of innocent commands behind. Borrowed; NULL: none. */
    const struct owner *guarding;
    struct metrics_counter *decisions;
    struct metrics_counter *rejections;
    struct metrics_counter *claims;
    struct metrics_counter *given_up;
    struct metrics_counter *batches;
    struct metrics_histogram *cycle; /* from decide to stored */
    struct metrics_counter *skipped;
};

struct owner {
    struct cluster *cluster;
    int32_t partition;
    struct owner_options options;
    struct owner_metrics *metrics;
    struct backlog *backlog; /* the view's index; NULL without a router */
    struct follower *follower;
    struct emitter *emitter;
    enum owner_state state;
    bool suspended;
    bool check_passed; /* while suspended: claim when it ends */
    bool released;
    void (*on_released)(void *ctx);
    void *released_ctx;
    /* the claim */
    struct uuid claim_id;
    uint32_t claim_number; /* the token of appends: answers to earlier claims only count down */
    uint64_t outstanding;  /* answers that still name this struct */
    int64_t claim_offset;
    int64_t expected_offset; /* where the next acknowledgement must be */
    uint64_t folded;         /* records, since the partition became ours */
    bool warm;               /* a standby that has caught up with the log */
    int64_t retry_ms;
    struct error trouble;
    struct loop_timer timer; /* per state: watchdog, retry */
    /* commands */
    struct broker_reader *commands;
    struct pending_command *head;
    struct pending_command *tail;
    struct pending_command *decided; /* of the batch under way: its Decisions borrow their bytes */
    uint32_t pending_count;
    size_t pending_bytes;
    bool paused;
    bool commands_at_end;
    int64_t commands_low;
    int64_t commands_high;
    struct clock_guard clock_guard;
    /* the cycle */
    struct loop_deferred stepping;
    struct heap_arena batch;
    struct batch_item *items; /* batch_max of them */
    uint32_t item_count;
    uint32_t acknowledged;
    struct buffer value;
    uint32_t careful;              /* commands still to be decided one by one, each after a guard */
    bool guarded;                  /* the guard of the first command is in the log */
    bool refreshing;               /* the first command waits for schemas or workflows */
    struct route_partition routed; /* joined while there is a claim to decide under */
};

/* owner.c */
/* Asserts that the table allows it. */
void owner_set_state(struct owner *owner, enum owner_state state);
void owner_give_up(struct owner *owner, const char *code, const char *why);
void owner_stop(struct owner *owner, const struct error *error);
/* Counts an answer down. True: it belongs to the present claim and may be used. */
bool owner_answered(struct owner *owner, uint64_t token);
void owner_failed_store(struct owner *owner, const struct error *error);

/* owner_cycle.c */
void owner_cycle_begin(struct owner *owner);
void owner_cycle_end(struct owner *owner);
void owner_step_soon(struct owner *owner);
extern const struct broker_reader_ops owner_command_ops;

/* owner_route.c: does nothing without a router. */
void owner_route_begin(struct owner *owner);
void owner_route_end(struct owner *owner);
void owner_route_suspend(struct owner *owner);
/* NULL without a router. */
const struct routing *owner_route_routing(struct owner *owner, const struct command *cmd,
                                          const struct order *order,
                                          const struct workflow *workflow);
/* The command is decided; `order` is as it is now, or NULL. */
void owner_route_decided(struct owner *owner, const struct command *cmd, const struct order *order);
void owner_route_stored(struct owner *owner);

#endif
