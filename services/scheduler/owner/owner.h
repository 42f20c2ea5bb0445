/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership of one partition: claim, fold, decide, append, store, emit
 * (docs/design/decisions/0001-fencing-in-the-log.md).
 *
 *     CHECKING -> CATCHING_UP -> CLAIMING -> FOLDING -> INSPECTING -> RUNNING
 *         ^                          |          |           |           |
 *         +--- delay -- GIVING_UP <--+----------+-----------+-----------+
 *
 *     RUNNING <-> APPENDING -> GIVING_UP
 *     CHECKING, CATCHING_UP, FOLDING, INSPECTING -> STOPPED (an operator has to act) -> CHECKING
 *     STANDBY -> CATCHING_UP or CHECKING (owner_promote)
 *
 * It folds to the end of the log before it claims, and the rest afterwards: an owner that cannot
 * read the log never fences one that can. A STANDBY follows the log of a partition that another
 * scheduler owns; owner_promote() goes on from what is folded by then.
 *
 * Every command becomes exactly one Decision record. The offsets that the broker acknowledges must
 * be consecutive from the claim on. On any surprise the owner gives up the claim: nothing of the
 * batch is stored or emitted, the state in memory is forgotten, outstanding reports are awaited,
 * and after a growing delay the partition is claimed again. Loop thread only; nothing runs inside a
 * rebalance callback. */
#ifndef SERVICES_SCHEDULER_OWNER_OWNER_H
#define SERVICES_SCHEDULER_OWNER_OWNER_H

#include "kafka/clock_guard.h"
#include "replica/follow/follower.h"
#include "services/scheduler/emitter/emitter.h"

struct owner;

enum owner_state {
    OWNER_CHECKING,    /* the follower compares store and log, or a delay passes */
    OWNER_CATCHING_UP, /* folds to the end of the log, before it claims */
    OWNER_CLAIMING,    /* a Claim is on its way */
    OWNER_FOLDING,     /* up to our Claim */
    OWNER_INSPECTING,  /* does commands[p] hold the commands that the log consumed? */
    OWNER_RUNNING,
    OWNER_APPENDING, /* records are on their way to the log */
    OWNER_GIVING_UP, /* delivery reports are outstanding */
    OWNER_STOPPED,
    OWNER_STANDBY, /* follows the log of a partition that another scheduler owns */
    OWNER_STATE_COUNT
};

struct owner_metrics; /* shared by the owners of a process */

/* Folding an Expiry of that many takes milliseconds. */
enum { OWNER_EXPIRY_MAX = 1000 };

struct owner_options {
    struct view_options view;        /* without an index: the owner adds its own */
    struct router *router;           /* NULL: every agent is taken to have free capacity */
    struct partition_alerts *alerts; /* NULL: no other process owns partitions */
    uint32_t batch_max;
    int64_t margin_ms;    /* clock.skew.max.ms */
    int64_t retention_ms; /* orders.retention.ms: of ended orders; 0: they never expire */
    uint32_t expiry_max;  /* orders that one Expiry takes out, or a few more */
    int64_t keep_ms;      /* events.keep.ms: what is younger stays in the log; 0: all of it does */
    /* events.trim.groups: what they have not read stays. Borrowed until the owner is released. */
    const char *const *trim_groups;
    uint32_t trim_group_count;
    bool standby;
};

/* New. Begins to check, fold and claim; a standby only checks and folds. */
enum error_class owner_new(struct cluster *cluster, int32_t partition,
                           const struct owner_options *options, struct owner_metrics *metrics,
                           struct owner **ret_owner, struct error *ret_error);
/* The standby's partition is ours now: claims it. Asserts that it is a standby. */
void owner_promote(struct owner *owner);
/* Writes what the store does not have yet, unless a batch is under way, and flushes it: for a clean
 * leave. */
void owner_flush(struct owner *owner);
/* Stops at once: no new batch, and nothing more is stored. Frees itself when nothing is
 * outstanding; `released` (may be NULL) is called then. */
void owner_release(struct owner *owner, void (*released)(void *ctx), void *ctx);
/* Revoked, and it is unknown whether the partition comes back: decides nothing new, keeps claim and
 * state. */
void owner_suspend(struct owner *owner, bool suspended);

/* Borrowed until owner_release. */
struct view *owner_view(const struct owner *owner);
int32_t owner_partition(const struct owner *owner);
enum owner_state owner_state(const struct owner *owner);
const char *owner_state_name(enum owner_state state);
/* For tests: the transition table, whether `next` may follow `state`. */
bool owner_state_may_follow(enum owner_state state, enum owner_state next);
bool owner_is_running(const struct owner *owner);
/* Stopped by a record or a command that only this version cannot read. */
bool owner_is_outdated(const struct owner *owner);
/* A batch is on its way, or effects are. */
bool owner_is_busy(const struct owner *owner);
/* The next command to be decided, as folded; -1 while there is no claim. */
int64_t owner_next_command(const struct owner *owner);
/* Records of its log still to be folded, as of the last query for its end. */
int64_t owner_lag(const struct owner *owner);
/* What its acknowledgements say about this machine's clock. Borrowed. */
const struct clock_guard *owner_clock(const struct owner *owner);
/* A standby that has caught up with the log and follows it. */
bool owner_is_warm(const struct owner *owner);
/* What is wrong or slow, in one line; false: nothing. */
bool owner_trouble(const struct owner *owner, char *ret_text, size_t size);

struct owner_metrics *owner_metrics_new(struct metrics *metrics);
void owner_metrics_free(struct owner_metrics *metrics);

#endif
