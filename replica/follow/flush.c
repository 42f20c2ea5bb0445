/* SPDX-License-Identifier: Apache-2.0 */
/* A view's commits reach the disk within a while, however few they are: a crash makes it fold
 * no more than that again, and a disk that refuses writes is noticed. */
#include "platform/logger.h"
#include "replica/follow/internal.h"

#include <assert.h>

enum {
    FLUSH_MS_MIN = 5000, /* after the first commit that is not flushed */
    FLUSH_MS_MAX = 10000,
    SPREAD = 65536
};

/* The loop waits for a flush. So partitions that begin to change together, as they do when a
 * process starts, have intervals of their own. */
static int64_t flush_ms(int32_t partition)
{
    /* Multiples of the golden ratio lie apart from each other. */
    uint32_t share = ((uint32_t)partition * 40503U) % SPREAD;
    return FLUSH_MS_MIN + (int64_t)share * (FLUSH_MS_MAX - FLUSH_MS_MIN) / SPREAD;
}

/* RocksDB may have flushed meanwhile. */
static enum error_class flush_old(struct follower *follower, struct error *ret_error)
{
    int64_t flushed = 0;
    enum error_class class = view_flushed(follower->view, &flushed, ret_error);
    if (class != ERROR_OK || flushed >= follower->flush_to)
        return class;
    return view_flush(follower->view, ret_error);
}

static void on_flush_timer(void *ctx)
{
    struct follower *follower = ctx;
    struct error error;
    assert(!follower->freed);
    if (view_is_flushed(follower->view))
        return;
    if (flush_old(follower, &error) == ERROR_OK)
        follower_committed(follower);
    else
        follower_store_failed(follower, &error);
}

void follower_committed(struct follower *follower)
{
    if (loop_timer_armed(&follower->flush_timer) || view_is_flushed(follower->view))
        return;
    follower->flush_to = view_committed(follower->view)->next_event_offset;
    loop_timer_after(cluster_loop(follower->cluster), &follower->flush_timer,
                     flush_ms(follower->partition));
}

void follower_flush_view(struct follower *follower)
{
    struct error error;
    if (view_store(follower->view) != NULL && view_flush(follower->view, &error) != ERROR_OK)
        log_warning("cannot flush the store: some of the log is folded again",
                    LOG_STR("topic", follower_topic(follower)),
                    LOG_I64("partition", follower->partition), LOG_ERR(&error));
}

void follower_flush(struct follower *follower)
{
    follower_commit(follower);
    follower_flush_view(follower);
}

void follower_flush_begin(struct follower *follower)
{
    loop_timer_init(&follower->flush_timer, on_flush_timer, follower);
}

void follower_flush_end(struct follower *follower)
{
    loop_timer_cancel(cluster_loop(follower->cluster), &follower->flush_timer);
}
