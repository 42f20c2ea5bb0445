/* SPDX-License-Identifier: Apache-2.0 */
/* When an owner writes its store: behind what it has decided, as no effect waits for that and the
 * log has all of it. Many batches are one commit, in which an order has one row.
 *
 * Only what is acknowledged is written: between two batches, when everything in the view is. What
 * was not written is folded again from the log after a crash, or when the claim is given up. */
#include "platform/failpoint.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>

enum {
    COMMIT_MS = 250, /* at the latest after the first change */
    COMMIT_RECORDS = 4000,
    COMMIT_BYTES = 16 * 1024 * 1024 /* of records: they take as much memory, about */
};

static bool may_commit(const struct owner *owner)
{
    return owner->state == OWNER_RUNNING && owner_has_appended(owner);
}

static bool is_behind(const struct owner *owner)
{
    return view_dirty(owner_view(owner)) > 0 ||
           view_committed(owner_view(owner))->emitted_through <
               follower_checkpoint(owner->follower)->emitted_through;
}

static enum error_class commit(struct owner *owner, struct error *ret_error)
{
    const struct clock *clock = owner->cluster->service->clock;
    int64_t begun_us = clock_mono_us(clock);
    assert(owner->state == OWNER_RUNNING);
    assert(owner_has_appended(owner));
    owner_store_end(owner);
    owner_batch_shrink(owner); /* there may be none after this one */
    if (FAILPOINT_ERROR("cycle.store"))
        return error_set(ret_error, CODE_STORE_IO, "planted by a failpoint");
    enum error_class class = view_commit(owner_view(owner), ret_error);
    if (class != ERROR_OK)
        return class;
    FAILPOINT("cycle.stored");
    metrics_observe_us(owner->metrics->commit, clock_mono_us(clock) - begun_us);
    view_tidy(owner_view(owner));
    follower_committed(owner->follower);
    return ERROR_OK;
}

static bool commit_or_give_up(struct owner *owner)
{
    struct error error;
    if (commit(owner, &error) == ERROR_OK)
        return true;
    owner_failed_store(owner, &error);
    return false;
}

static void on_timer(void *ctx)
{
    struct owner *owner = ctx;
    owner->commit.due = true;
    if (may_commit(owner)) /* else when the batch under way is acknowledged */
        commit_or_give_up(owner);
}

static void commit_later(struct owner *owner)
{
    if (!owner->commit.due && !loop_timer_armed(&owner->commit.timer))
        loop_timer_after(cluster_loop(owner->cluster), &owner->commit.timer, COMMIT_MS);
}

bool owner_store_acknowledged(struct owner *owner)
{
    assert(may_commit(owner));
    if (!is_behind(owner))
        return true;
    if (owner->commit.due || view_dirty(owner_view(owner)) >= COMMIT_RECORDS ||
        view_dirty_bytes(owner_view(owner)) >= COMMIT_BYTES)
        return commit_or_give_up(owner);
    commit_later(owner);
    return true;
}

/* Without a next batch the store would not learn it, and the next claim would emit the last one
 * again. */
void owner_store_settled(void *ctx)
{
    struct owner *owner = ctx;
    if (owner_is_running(owner) && is_behind(owner))
        commit_later(owner);
}

void owner_flush(struct owner *owner)
{
    assert(!owner->released);
    if (may_commit(owner) && is_behind(owner) && !commit_or_give_up(owner))
        return;
    follower_flush(owner->follower);
}

void owner_store_begin(struct owner *owner)
{
    loop_timer_init(&owner->commit.timer, on_timer, owner);
}

void owner_store_end(struct owner *owner)
{
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->commit.timer);
    owner->commit.due = false;
}
