/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an owner. cycle.c tells the story of a command, owner.c that of an owner
 * (states, give up, stop), claim.c how it comes to decide (catch up, claim, fold). */
#ifndef SERVICES_SCHEDULER_OWNER_INTERNAL_H
#define SERVICES_SCHEDULER_OWNER_INTERNAL_H

#include "kafka/clock_guard.h"
#include "services/scheduler/owner/command_check.h"
#include "services/scheduler/owner/outcomes.h"
#include "services/scheduler/owner/owner.h"
#include "services/scheduler/router/backlog.h"

struct batch_item {
    struct decision decision;
    struct outcome_list outcomes; /* of the decision, in the batch's arena */
    int64_t begun_us;
};

/* A kind of record that a running owner writes to its log. */
struct owner_record {
    enum record_kind kind;
    const char *name; /* in /readyz: "an Expiry" */
    bool many;        /* more than one may be on its way: "7 Statements" */
    /* All that were sent are acknowledged, the last one at `offset`. */
    void (*acknowledged)(struct owner *owner, int64_t offset);
};

/* Why the log of a partition is not trimmed further. */
enum trim_held {
    TRIM_HELD_BY_NOTHING,
    TRIM_HELD_BY_AGE,        /* nothing is old enough */
    TRIM_HELD_BY_EFFECTS,    /* not all are acknowledged */
    TRIM_HELD_BY_GROUP,      /* of events.trim.groups */
    TRIM_HELD_BY_STORE,      /* it is not on the disk yet */
    TRIM_HELD_BY_STATEMENTS, /* orders are being restated */
    TRIM_HELD_BY_FORMAT,     /* a newer version has written to the log */
    TRIM_HELD_BY_BROKER,     /* it refuses to delete, or does not answer */
    TRIM_HELD_COUNT
};

enum trim_phase {
    TRIM_WAITING,    /* for the next look */
    TRIM_ASKING,     /* where the log begins, and what its groups have read */
    TRIM_STATING,    /* orders that were stated before the new beginning */
    TRIM_ANNOUNCING, /* a Continuation is to say where the log begins ... */
    TRIM_CONFIRMING, /* ... and another one is to follow it */
    TRIM_DELETING    /* what is before */
};

/* One of events.trim.groups; -1: none. */
struct trim_group {
    int64_t committed; /* its offset, as it was answered last */
    int64_t foreign;   /* the same, where it was once beyond the end: it is of another log */
};

/* trim.c, archive.c, restate.c */
struct owner_trim {
    struct loop_timer timer;
    bool active; /* there is a claim, and what is old is to go */
    bool due;    /* one turn, as soon as no batch is on its way */
    enum trim_phase phase;
    enum trim_held held;
    int64_t continued_us; /* monotonic: the last Continuation of this claim, or its beginning */
    int64_t announced;    /* by the Continuation that is on its way; -1: nothing */
    int64_t log_start;    /* as far as it is known; -1: it is not */
    int64_t to;           /* the new beginning */
    /* the answers */
    uint32_t answers_left;
    int64_t archived;          /* all groups have read the log up to there */
    struct trim_group *groups; /* as many as the options have, in their order; owned */
    bool unanswered;
    bool to_delete;  /* asks once more, as the groups may read again what they have read */
    bool may_delete; /* the answer was yes */
    bool group_alerted;
    /* the statements */
    struct view_order_id after; /* those of this id and before it are done */
    uint32_t stated;            /* those of this turn */
    bool deleting;
    bool refused; /* and that is reported */
    struct metrics_gauge *start;
};

/* expire.c */
struct owner_expiry {
    struct loop_timer timer;
    bool due;       /* one turn, as soon as no batch is on its way */
    bool more;      /* the record on its way leaves some that are due */
    uint32_t count; /* the orders that it takes out */
};

/* What the owners of a process share. */
struct owner_metrics {
    /* The owner between a command guard and its Decision. Meanwhile no other one decides: a crash
     * would leave the guard of an innocent command behind. Borrowed; NULL: none. */
    const struct owner *guarding;
    int64_t guarding_since_ms;
    struct owner *waiting; /* for their turn: utlist by guard.prev */
    struct metrics_counter *decisions;
    struct metrics_counter *rejections;
    struct metrics_counter *claims;
    struct metrics_counter *given_up;
    struct metrics_counter *batches;
    struct metrics_histogram *cycle;  /* from decide to acknowledged */
    struct metrics_histogram *commit; /* of a store */
    struct metrics_counter *skipped;
    struct metrics_counter *continuations;
    struct metrics_counter *statements;
    struct metrics_counter *expired;
    struct metrics_counter *trimmed;
    struct metrics_gauge *trim_held[TRIM_HELD_COUNT];
    int trim_held_counts[TRIM_HELD_COUNT];
    struct outcomes *outcomes;
};

enum { OWNER_STALL_MS = 5000 }; /* without progress */

/* The parts of an owner. Each belongs to the files that are named: only they use its fields. */

/* claim.c, inspect.c */
struct owner_claim {
    int64_t catch_up_to; /* where the log ended a moment ago; INT64_MAX: not known */
    int64_t round_from;  /* where this round of folding began */
    bool asking;         /* for the end of the log */
    bool warm;           /* a standby that has caught up with the log */
    uint64_t folded;     /* records, since the partition became ours */
    int64_t sent_us;     /* monotonic: it was sent */
    int64_t offset;
    uint64_t producer_deaths; /* before it was sent */
    bool commands_in_range;   /* inspecting: the topic was asked, and holds the next command */
};

/* queue.c: commands that are read */
struct owner_queue {
    struct broker_reader *reader; /* NULL: it is closed */
    struct pending_command *head;
    struct pending_command *tail;
    struct pending_command *decided; /* of the batch under way: its Decisions borrow their bytes */
    uint32_t count;
    size_t bytes;
    bool paused;
};

/* cycle.c, command.c: the commands that are decided together */
struct owner_batch {
    struct loop_deferred stepping;
    struct heap_arena memory;
    struct heap_arena scratch; /* of one Decision */
    struct batch_item *items;  /* batch_max of them */
    uint32_t count;
    size_t encoded;   /* bytes of their Decisions */
    bool *refreshing; /* of the first command: what will be fresh; NULL: nothing */
};

/* append.c: to the log: nothing, or some records of one kind */
struct owner_in_flight {
    const struct owner_record *record;
    uint32_t sent;
    uint32_t acknowledged;   /* of them */
    int64_t sent_us;         /* monotonic: the last one */
    int64_t expected_offset; /* where the next acknowledgement must be */
};

/* guard.c */
struct owner_guard {
    uint32_t careful; /* commands still to be decided one by one, each after a guard */
    bool guarded;     /* the guard of the first command is in the log */
    bool waits;       /* for its turn */
    struct owner *prev;
    struct owner *next;
};

/* clock.c */
struct owner_clock {
    struct clock_guard guard;
    int64_t measured_us; /* monotonic: the latest measurement, or attempt */
};

/* store.c: the store is behind what is acknowledged */
struct owner_commit {
    struct loop_timer timer;
    bool due; /* since long enough */
};

/* watch.c */
struct owner_watch {
    struct loop_timer timer;
    uint64_t progress; /* as of the last one seen */
    int64_t progress_ms;
    int64_t watched_ms; /* the last look */
    bool stalled;
    bool alerted;
    enum error_code code; /* of that alert */
    bool asks_commands;   /* for their end, as none comes while steps run */
    bool commands_silent; /* there is no answer, or there are some that do not come */
    int64_t logged_ms;
    char message[ERROR_MESSAGE_SIZE];
};

/* route.c */
struct owner_starts {
    struct route_partition routed; /* joined while there is a claim to decide under */
    uint32_t outstanding;          /* StartStep commands without an answer */
    int64_t since_ms;              /* since the last one that arrived, or the first of them */
    int64_t failed_ms;             /* the last one did not arrive; 0: it did */
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
    uint64_t progress; /* moves with everything that the owner gets done */
    bool suspended;
    bool store_failed; /* while giving up: drop the store afterwards */
    bool released;
    void (*on_released)(void *ctx);
    void *released_ctx;
    struct uuid claim_id;
    int64_t claimed_at;
    uint32_t claim_number; /* the token of appends: answers to earlier claims only count down */
    uint64_t outstanding;  /* answers that still name this struct */
    int64_t retry_ms;
    struct error trouble;
    struct loop_timer timer; /* per state: what is tried again */
    const char *blocked_by;  /* why the first command waits; NULL: it does not */
    struct owner_claim claim;
    struct owner_queue queue;
    struct owner_batch batch;
    struct owner_in_flight in_flight;
    struct owner_guard guard;
    struct owner_clock clock;
    struct owner_commit commit;
    struct owner_trim trim;
    struct owner_expiry expiry;
    struct owner_watch watch;
    struct owner_starts starts;
};

/* owner.c */
/* Asserts that the table allows it. */
void owner_set_state(struct owner *owner, enum owner_state state);
void owner_give_up(struct owner *owner, enum error_code code, const char *why);
void owner_give_up_for(struct owner *owner, const struct error *why);
void owner_stop(struct owner *owner, const struct error *error);
/* Counts an answer down. True: it belongs to the present claim and may be used. */
bool owner_answered(struct owner *owner, uint64_t token);
void owner_failed_store(struct owner *owner, const struct error *error);

/* claim.c */
/* With nothing in flight, the owner hears nothing of it. */
bool owner_has_lost_its_producer(const struct owner *owner);
/* While catching up. */
bool owner_log_end_is_known(const struct owner *owner);
extern const struct follower_ops owner_follower_ops;
/* Claims if the log is folded to its end; asks for the end where it is not known. */
void owner_catch_up(struct owner *owner);
/* Catching up, or folding for long: the claim may be lost. One question at a time. */
void owner_ask_for_log_end(struct owner *owner);
/* The claim is folded, and commands[p] are those that the log consumed. */
void owner_begin_running(struct owner *owner);

/* inspect.c */
/* The claim is acknowledged: fetches what owner_inspect() will look at. */
void owner_inspect_ahead(struct owner *owner);
/* Compares the last command with what the log says, then owner_begin_running(). */
void owner_inspect(struct owner *owner);
/* Asks for the ends of commands[p], or asks again. */
void owner_ask_for_commands(struct owner *owner);
/* The first record of the reader that owner_inspect() has opened; NULL: it cannot be read, or there
 * is none. */
void owner_inspected(struct owner *owner, const struct broker_record *record);
void owner_inspection_failed(struct owner *owner, const struct error *error);

/* append.c */
/* The first record of the claim is to have that offset. */
void owner_append_begin(struct owner *owner, int64_t offset);
/* Appends the next record of the log, which the caller then folds; *ret_value is its bytes, until
 * the cluster encodes again. From the first one on the owner is APPENDING, until the last one is
 * acknowledged. False: the producer's queue is full. */
bool owner_append(struct owner *owner, const struct owner_record *record, const void *content,
                  struct text key, struct text *ret_value);
/* All that is folded is acknowledged. */
bool owner_has_appended(const struct owner *owner);
/* In the words of /readyz. */
void owner_append_describe(const struct owner *owner, char *ret_text, size_t size);
/* Nothing is on its way, or it is given up. */
void owner_append_end(struct owner *owner);

/* cycle.c */
void owner_cycle_init(struct owner *owner);
void owner_cycle_free(struct owner *owner);
/* The first `careful` commands are decided one by one, each after a guard. */
void owner_cycle_begin(struct owner *owner, uint32_t careful);
void owner_cycle_end(struct owner *owner);
/* No command is read, waits or is being decided. */
bool owner_cycle_has_ended(const struct owner *owner);
/* The memory of a large one goes back. */
void owner_batch_shrink(struct owner *owner);
void owner_step_soon(struct owner *owner);
/* Its queue is full: steps again soon. */
void owner_wait_for_producer(struct owner *owner);

/* command.c: about the first command, while it is decided */
/* False: it is read later, as <p>.schemas is read again. */
bool owner_read_command(struct owner *owner, struct command *ret_cmd);
/* A side topic is being read for it. */
bool owner_is_refreshing(const struct owner *owner);
/* What stands for a command that is not decided. */
void owner_quarantine_command(struct owner *owner, struct command *ret_cmd);
/* It is of a newer version that this one cannot read: the partition has stopped. */
bool owner_stops_at_newer_command(struct owner *owner);
/* The workflow of the order, or the one that a submission names. False: later, as <p>.workflows is
 * read again. */
bool owner_find_workflow(struct owner *owner, const struct command *cmd, const struct order *order,
                         const struct workflow **ret_workflow);
/* The version that a MigrateOrder names. False: later, as above. */
bool owner_find_target(struct owner *owner, const struct command *cmd, const struct order *order,
                       struct decide_input *input);

/* queue.c */
/* Reads commands[p]. While they are inspected, the records go to owner_inspected(). */
void owner_queue_open(struct owner *owner, int64_t from);
/* Does nothing if it is not open. */
void owner_queue_close(struct owner *owner);
bool owner_queue_is_open(const struct owner *owner);
/* While the commands are inspected. */
void owner_queue_pause(struct owner *owner, bool paused);
/* Borrowed until owner_queue_free_decided(); NULL: no command waits. */
struct pending_command *owner_queue_head(const struct owner *owner);
/* Reading pauses while some batches wait, and resumes before they run out. */
void owner_queue_bound(struct owner *owner);
/* The head leaves the queue; its bytes stay until owner_queue_free_decided(). */
void owner_queue_pop(struct owner *owner);
void owner_queue_free_decided(struct owner *owner);
/* Closed: forgets what it has read. */
void owner_queue_clear(struct owner *owner);

/* guard.c */
/* The first command has cost as many schedulers as it may: it is not decided. */
bool owner_is_to_be_quarantined(const struct owner *owner);
/* Whether the next command is decided without its expressions: one may have crashed its owners. */
bool owner_is_to_spare_expressions(const struct owner *owner);
/* A claim begins, or ends. */
void owner_guard_begin(struct owner *owner, uint32_t careful);
void owner_guard_end(struct owner *owner);
/* The first command must not be decided before its guard is in the log. */
bool owner_guard_is_missing(const struct owner *owner);
void owner_guard_append(struct owner *owner);
/* It is there: only that command may follow. */
bool owner_guard_stands(const struct owner *owner);
uint32_t owner_guard_batch_max(const struct owner *owner);
/* The first command is. */
void owner_guard_decided(struct owner *owner);
/* Between these two no other partition of the process decides. */
void owner_turns_hold(struct owner *owner);
void owner_turns_resume(struct owner *owner);
/* True: another partition guards a command; this one steps again when it is its turn. */
bool owner_turns_wait(struct owner *owner);

/* store.c */
void owner_store_begin(struct owner *owner);
/* Nothing more is written: what the store does not have is in the log. */
void owner_store_end(struct owner *owner);
/* All that is decided is acknowledged: writes it if that is due. False: the claim is given up. */
bool owner_store_acknowledged(struct owner *owner);
/* Every effect is acknowledged: stores how far. */
void owner_store_settled(void *ctx);

/* clock.c */
void owner_clock_init(struct owner *owner);
/* What a decision takes as the time (clock_guard_now). `command_time`: of the command, or 0. */
int64_t owner_now(const struct owner *owner, int64_t mono_us, int64_t command_time);
/* A record sent at that monotonic time is acknowledged now. */
void owner_measure_clock(struct owner *owner, int64_t sent_us);
/* The newest Decision is far ahead of the brokers' time: the partition stops. */
bool owner_is_ahead(const struct owner *owner);
void owner_stop_ahead(struct owner *owner);
/* The clock is bad: nothing is decided now. Measures it again if that is long ago; false: not
 * yet. */
bool owner_pause_for_clock(struct owner *owner);

/* restate.c */
/* Appends a Continuation that says that the log is trimmed to `trimmed`, or (-1) nothing of that.
 * False: not now. */
bool owner_continue(struct owner *owner, int64_t trimmed);
/* Appends Statements of orders that were stated before owner->trim.to, at most `count_max`. False:
 * none is on its way. *ret_done: there are no further ones. */
bool owner_restate(struct owner *owner, uint32_t count_max, bool *ret_done);

/* archive.c */
void owner_archive_init(struct owner *owner);
void owner_archive_free(struct owner *owner);
/* Asks what trim.archived and trim.log_start are to be; owner_trim_answered() follows. */
void owner_archive_ask(struct owner *owner);
void owner_archive_close_alert(struct owner *owner, const char *why);

/* trim.c */
void owner_trim_answered(struct owner *owner);
void owner_trim_init(struct owner *owner);
void owner_trim_begin(struct owner *owner);
void owner_trim_end(struct owner *owner);
/* Between two batches. True: a record is on its way. */
bool owner_trim_turn(struct owner *owner);
/* The Continuation on its way is acknowledged. */
void owner_trim_continued(struct owner *owner);
/* Statements are. */
void owner_trim_stated(struct owner *owner);

/* expire.c */
void owner_expire_init(struct owner *owner);
void owner_expire_begin(struct owner *owner);
void owner_expire_end(struct owner *owner);
/* Between two batches. True: a record is on its way, or the claim is given up. */
bool owner_expire_turn(struct owner *owner);

/* watch.c */
void owner_watch_begin(struct owner *owner);
void owner_watch_end(struct owner *owner);
/* The partition was taken away: what this instance says about it is no longer the owner's word. */
void owner_watch_suspended(struct owner *owner);

/* route.c: does nothing without a router. */
void owner_route_begin(struct owner *owner);
void owner_route_end(struct owner *owner);
void owner_route_suspend(struct owner *owner);
/* Steps of the partition have capacity. */
bool owner_route_any_running(const struct owner *owner);
/* StartStep commands without an answer. */
uint32_t owner_route_starts(const struct owner *owner);
/* No StartStep has been acknowledged for a while, though some are on their way. */
bool owner_route_starts_stall(const struct owner *owner);
/* The partition makes no progress: its steps give up their capacity until it does. */
void owner_route_hold(struct owner *owner, bool held);
/* NULL without a router. */
const struct routing *owner_route_routing(struct owner *owner, const struct command *cmd,
                                          const struct order *order,
                                          const struct workflow *workflow);
/* The command is decided; `order` is as it is now, or NULL. */
void owner_route_decided(struct owner *owner, const struct command *cmd,
                         const struct decision *decision, const struct order *order);
void owner_route_acknowledged(struct owner *owner);

#endif
