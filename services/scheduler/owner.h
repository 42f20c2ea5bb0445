/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership of one partition: claim, fold, decide, append, store, emit (design.md section 3).
 *
 *     CHECKING -> CLAIMING -> FOLDING -> INSPECTING -> RUNNING <-> APPENDING
 *         ^           |          |            |           |           |
 *         +---- waiting (growing delay) <- GIVING_UP <----+-----------+        STOPPED: an operator
 * has to act
 *
 * STANDBY comes before all of them: the partition is somebody else's, its log is folded as it
 * grows, and owner_promote() claims with what is there.
 *
 * Every command becomes exactly one Decision record. The offsets that the broker acknowledges must
 * be consecutive from the claim on; any surprise gives the claim up: nothing of the batch is stored
 * or emitted, the state in memory is forgotten, outstanding reports are awaited, and after a while
 * it is claimed again. Loop thread only; nothing runs inside a rebalance callback. */
#ifndef SERVICES_SCHEDULER_OWNER_H
#define SERVICES_SCHEDULER_OWNER_H

#include "replica/follower.h"
#include "services/scheduler/emitter.h"

struct owner;

enum owner_state {
    OWNER_CHECKING,   /* the follower compares store and log, or waits to claim again */
    OWNER_CLAIMING,   /* a Claim is on its way */
    OWNER_FOLDING,    /* up to the own Claim */
    OWNER_INSPECTING, /* are the commands the ones that the log speaks of? */
    OWNER_RUNNING,
    OWNER_GUARDING,  /* an Attempt is on its way */
    OWNER_APPENDING, /* a batch of Decisions is on its way */
    OWNER_GIVING_UP, /* waits for outstanding delivery reports */
    OWNER_STOPPED,
    OWNER_STANDBY, /* follows the log of a partition that others own */
    OWNER_STATE_COUNT
};

struct owner_metrics; /* shared by the owners of a process */

struct owner_options {
    struct view_options view; /* without an index: the owner adds its own */
    struct router *router;    /* NULL: every agent is taken to have free capacity */
    uint32_t batch_max;
    int64_t margin_ms; /* clock.skew.max.ms */
    bool standby;
};

/* New; begins to check, fold and claim; a standby only to check and fold. */
enum error_class owner_new(struct cluster *cluster, int32_t partition,
                           const struct owner_options *options, struct owner_metrics *metrics,
                           struct owner **ret_owner, struct error *ret_error);
/* The standby's partition is ours now: claims it. */
void owner_promote(struct owner *owner);
/* Stops at once: no new batch. Frees itself when everything outstanding is answered; `released`
 * (may be NULL) is called then. */
void owner_release(struct owner *owner, void (*released)(void *ctx), void *ctx);
/* Revoked, and not known yet whether it comes back: decides nothing new, keeps claim and state. */
void owner_suspend(struct owner *owner, bool suspended);

/* Borrowed until owner_release. */
struct view *owner_view(const struct owner *owner);
int32_t owner_partition(const struct owner *owner);
enum owner_state owner_state(const struct owner *owner);
const char *owner_state_name(enum owner_state state);
bool owner_is_running(const struct owner *owner);
/* A batch is on its way, or effects are. */
bool owner_is_busy(const struct owner *owner);
/* The next command to be decided, as folded; -1 while there is no claim. */
int64_t owner_next_command(const struct owner *owner);
/* Records of its log still to be folded, by the last look at its end. */
int64_t owner_lag(const struct owner *owner);
/* A standby that has caught up with the log, and follows it. */
bool owner_is_warm(const struct owner *owner);
/* One line of what is wrong or slow, or false. */
bool owner_trouble(const struct owner *owner, char *ret_text, size_t size);

struct owner_metrics *owner_metrics_new(struct metrics *metrics);
void owner_metrics_free(struct owner_metrics *metrics);

#endif
