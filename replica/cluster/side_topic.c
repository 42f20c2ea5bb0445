/* SPDX-License-Identifier: Apache-2.0 */
/* See side_topic.h. */
#include "replica/cluster/side_topic.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    ASK_AGAIN_MS = 5000, /* a topic that was created again never reaches the end that it had */
    REOPEN_MS = 1000,
    LOOK_MS = 1000
};

/* A caller that waits until a side topic is read to the end that it had at the call. */
struct refresh_waiter {
    struct refresh_waiter *next;
    struct refresh_waiter *prev;
    cluster_refreshed done;
    void *ctx;
    int64_t high;         /* -1: not known yet */
    uint64_t query;       /* the first query that began after the call */
    int64_t ask_again_ms; /* for another end */
};

static struct refresh_waiter *next_answered(const struct side_topic *side)
{
    struct refresh_waiter *waiter;
    DL_FOREACH(side->waiters, waiter) {
        if (waiter->high >= 0 && side->position >= waiter->high)
            return waiter;
    }
    return NULL;
}

/* `done` may cancel the refreshes of others, or ask for another one. */
static void answer_waiters(struct side_topic *side)
{
    struct refresh_waiter *waiter;
    while ((waiter = next_answered(side)) != NULL) {
        DL_DELETE(side->waiters, waiter);
        waiter->done(waiter->ctx);
        free(waiter);
    }
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct side_topic *side = ctx;
    assert(!side->closed);
    side->record(side->cluster, record);
    side->position = record->offset + 1;
    answer_waiters(side);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct side_topic *side = ctx;
    bool first = !side->ended;
    assert(!side->closed);
    side->position = next_offset;
    side->ended = true;
    if (first)
        side->first_end(side->cluster);
    answer_waiters(side);
}

/* Refreshes wait for what is read now. */
static void on_again(void *ctx)
{
    struct side_topic *side = ctx;
    side->position = 0;
}

static const struct topic_reader_ops reader_ops = {on_record, on_end, on_again};

static void ask_for_end(struct side_topic *side);

/* The end is still unknown, or the topic does not reach it. */
static void ask_again(struct side_topic *side)
{
    struct refresh_waiter *waiter;
    int64_t now = cluster_now_ms(side->cluster);
    bool late = false;
    DL_FOREACH(side->waiters, waiter) {
        if (now < waiter->ask_again_ms)
            continue;
        late = true;
        waiter->high = -1;
        waiter->query = side->query + 1;
        waiter->ask_again_ms = now + ASK_AGAIN_MS;
    }
    if (late && !side->asking)
        ask_for_end(side);
}

static void on_timer(void *ctx)
{
    struct side_topic *side = ctx;
    ask_again(side);
    if (side->waiters != NULL)
        loop_timer_after(cluster_loop(side->cluster), &side->timer, LOOK_MS);
}

void side_topic_init(struct side_topic *side, struct cluster *cluster, const char *topic,
                     void (*record)(struct cluster *, const struct broker_record *),
                     void (*first_end)(struct cluster *))
{
    *side = (struct side_topic){.cluster = cluster, .record = record, .first_end = first_end};
    loop_timer_init(&side->timer, on_timer, side);
    topic_reader_init(&side->reader, cluster, topic, 0, REOPEN_MS, &reader_ops, side);
}

void side_topic_close(struct side_topic *side)
{
    if (side->cluster == NULL)
        return;
    assert(side->waiters == NULL);
    side->closed = true;
    topic_reader_close(&side->reader);
    loop_timer_cancel(cluster_loop(side->cluster), &side->timer);
}

void side_topic_read_again(struct side_topic *side)
{
    assert(!side->closed);
    side->position = 0;
    topic_reader_restart(&side->reader);
}

static void on_high(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct side_topic *side = ctx;
    struct refresh_waiter *waiter;
    bool more = false;
    (void)low;
    assert(side->asking);
    side->asking = false;
    if (side->closed)
        return;
    DL_FOREACH(side->waiters, waiter) {
        /* An end from before the call would not do. */
        more = more || waiter->query > side->query;
        if (waiter->query <= side->query && waiter->high < 0 && (error == NULL || !error_is(error)))
            waiter->high = high;
    }
    if (more)
        ask_for_end(side);
    answer_waiters(side);
}

static void ask_for_end(struct side_topic *side)
{
    assert(!side->closed && !side->asking);
    side->asking = true;
    side->query++;
    broker_offsets(side->cluster->broker, side->reader.topic, 0, on_high, side);
}

void side_topic_refresh(struct side_topic *side, cluster_refreshed done, void *ctx)
{
    struct refresh_waiter *waiter = calloc(1, sizeof(*waiter));
    assert(waiter != NULL);
    *waiter = (struct refresh_waiter){.done = done,
                                      .ctx = ctx,
                                      .high = -1,
                                      .query = side->query + 1,
                                      .ask_again_ms = cluster_now_ms(side->cluster) + ASK_AGAIN_MS};
    DL_APPEND(side->waiters, waiter);
    if (!side->asking)
        ask_for_end(side);
    if (!loop_timer_armed(&side->timer))
        loop_timer_after(cluster_loop(side->cluster), &side->timer, LOOK_MS);
}

uint32_t side_topic_refresh_cancel(struct side_topic *side, const void *ctx)
{
    struct refresh_waiter *waiter;
    struct refresh_waiter *next;
    uint32_t cancelled = 0;
    DL_FOREACH_SAFE(side->waiters, waiter, next) {
        if (waiter->ctx != ctx)
            continue;
        DL_DELETE(side->waiters, waiter);
        free(waiter);
        cancelled++;
    }
    return cancelled;
}
