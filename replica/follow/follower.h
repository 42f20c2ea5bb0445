/* SPDX-License-Identifier: Apache-2.0 */
/* Follows events[p] into a view: first checks that the log is the one that the store was made from,
 * then folds from the checkpoint on. The scheduler's owner, the supervisor, the console and
 * `verify` all fold through here.
 *
 * A lost tail of the log: alert, drop the store, fold again. Another topic or cluster, or a log
 * that starts after the checkpoint: stop, keep the directory, report what to do, and check again
 * later. A damaged store is dropped and folded again.
 * (docs/design/decisions/0003-disposable-stores.md)
 *
 * While the service's disk is low (platform/disk_guard.h) nothing is folded: what is folded so far
 * is committed, reading stops, and resumes by itself when there is space again. */
#ifndef REPLICA_FOLLOW_FOLLOWER_H
#define REPLICA_FOLLOW_FOLLOWER_H

#include "replica/cluster/cluster.h"
#include "replica/fold/view.h"

struct follower;

/* Callbacks come from the loop; none may call follower_free (defer it). All but `checked` may be
 * NULL. */
struct follower_ops {
    /* It is opened from time to time: that the log was trimmed to beyond its store meanwhile is
     * ordinary, and no reason for an alert. */
    bool comes_and_goes;
    /* The store fits the log: call follower_run (now or later). Comes again after every stop or
     * drop, and after a doubt about the log: what had been folded and not committed then is folded
     * again, so a reader that counts what it folds compares the view's checkpoint. */
    void (*checked)(void *ctx);
    void (*folded)(void *ctx, const struct broker_record *record, const struct view_folded *folded);
    /* Everything up to `until` is folded and committed. With until = INT64_MAX: each time the end
     * of the log is reached; after the first time with the commit of what came meanwhile. */
    void (*caught_up)(void *ctx);
    /* Rows that were there before are gone: forget what was derived from the view. `checked`
     * follows. */
    void (*dropped)(void *ctx);
    /* Before `dropped`: the log was trimmed to beyond what is folded. What it was told until then
     * was so. */
    void (*left_behind)(void *ctx);
    /* Of a follower_run() with an end: the log was trimmed meanwhile, and what is left gives all
     * orders only from beyond that end on. Nothing is folded any more. NULL: it is stopped, as
     * where a log lacks records. */
    void (*overtaken)(void *ctx);
    /* The disk is too full to fold the rest. It resumes by itself; caught_up follows. */
    void (*paused)(void *ctx);
    /* Stopped; an operator has to act. It is checked again by itself after a while. */
    void (*stopped)(void *ctx, const struct error *error);
    /* The store cannot be flushed, and was checked or folded as far as was asked: call
     * follower_restart to drop it, now or later. NULL: it is dropped at once. */
    void (*store_failed)(void *ctx, const struct error *error);
};

/* New. Opens the view (directory from `options`) and begins to check. FATAL when the directory
 * cannot be used. */
enum error_class follower_new(struct cluster *cluster, int32_t partition,
                              const struct view_options *options, const struct follower_ops *ops,
                              void *ctx, struct follower **ret_follower, struct error *ret_error);
/* Of what is folded as it comes: commits it this long after the first record at the latest, or when
 * this many records or orders wait. By default 50 ms and 20,000. */
void follower_commit_behind(struct follower *follower, int64_t delay_ms, uint32_t records);
/* Closes the view without committing or flushing. NULL does nothing. */
void follower_free(struct follower *follower);

struct view *follower_view(struct follower *follower);
static inline const struct checkpoint *follower_checkpoint(struct follower *follower)
{
    return view_checkpoint(follower_view(follower));
}

/* Folds on until the record at offset `until` is folded, then closes its reader. INT64_MAX: for
 * ever. */
void follower_run(struct follower *follower, int64_t until);
/* The same when it may be running already: whatever it does now, it folds no further than `until`;
 * where it is being checked meanwhile, `checked` comes and asks for follower_run. */
void follower_bound(struct follower *follower, int64_t until);
/* It follows the log: what is in the store is what the log said a moment ago. */
bool follower_is_folding(const struct follower *follower);
/* It met the end of the log, and has folded nothing since. */
bool follower_is_at_end(const struct follower *follower);
/* Stops reading and goes through the check again, after `delay_ms`. What is not committed is
 * forgotten. `drop`: the store is at fault, begin with an empty one. */
void follower_restart(struct follower *follower, bool drop, int64_t delay_ms);
/* The caller has committed the view: it will be flushed after a while. */
void follower_committed(struct follower *follower);
/* Writes what is folded but not committed. */
void follower_commit(struct follower *follower);
/* The same, and flushes it: for a clean leave. */
void follower_flush(struct follower *follower);

bool follower_is_stopped(const struct follower *follower, const struct error **ret_error);
/* Stopped, and nothing in the log ends that: it was read to its end for a Reset that skips the
 * record. For a reader that does not wait for an operator. `ret_offset` may be NULL: the record
 * that it is stopped at; -1: at none. */
bool follower_is_stuck(const struct follower *follower, const struct error **ret_error,
                       int64_t *ret_offset);
/* What it waits for or reads now, in one line, for a watchdog. */
void follower_waits_for(const struct follower *follower, char *ret_text, size_t size);
/* Records wait to be folded until the disk has space. */
bool follower_is_paused(const struct follower *follower);
/* Asks for the end of the log again, for follower_lag(), if it is folding. */
void follower_refresh_lag(struct follower *follower);
/* The last such query has not failed, and none is without an answer since the one before. */
bool follower_end_is_known(const struct follower *follower);
/* Records still to be folded, as of the last query for the end of the log. */
int64_t follower_lag(const struct follower *follower);

#endif
