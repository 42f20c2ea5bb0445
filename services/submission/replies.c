/* SPDX-License-Identifier: Apache-2.0 */
/* Existing reply topics. See replies.h. */
#include "services/submission/replies.h"

#include "engine/limits.h"
#include "platform/hash_table.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

enum {
    TICK_MS = 5,
    LOOKUP_MS = 500,
    AGAIN_MS = 1000,
    SILENT_MS = 10 * 60 * 1000,
    SILENT_MAX = 64 /* topics; the oldest is forgotten */
};

struct reply {
    enum reply_state state;
    bool outstanding;
    int32_t partition_count;
    int64_t answered_at; /* monotonic; 0 = never */
    struct reply *next;  /* in the queue of lookups */
    UT_hash_handle hh;   /* in the order of their first use */
    uint32_t size;
    char topic[]; /* NUL-terminated */
};

struct replies {
    struct loop *loop;
    struct broker *broker;
    void (*changed)(void *ctx);
    void *ctx;
    struct loop_timer timer;
    struct {
        uint64_t topic_hash; /* 0: none */
        int64_t until_ms;
    } silent[SILENT_MAX];
    uint32_t next_silent;
    struct reply *known; /* by topic */
    struct reply *first; /* to look up */
    struct reply *last;
};

static void look_up_next(struct loop *loop, struct loop_timer *timer, void *userdata);

struct replies *replies_new(struct loop *loop, struct broker *broker, void (*changed)(void *ctx),
                            void *ctx)
{
    struct replies *replies = calloc(1, sizeof(*replies));
    assert(replies != NULL);
    *replies = (struct replies){.loop = loop, .broker = broker, .changed = changed, .ctx = ctx};
    loop_timer_init(&replies->timer, look_up_next, replies);
    return replies;
}

void replies_free(struct replies *replies)
{
    struct reply *reply;
    struct reply *next;
    if (replies == NULL)
        return;
    loop_timer_cancel(replies->loop, &replies->timer);
    HASH_ITER(hh, replies->known, reply, next) {
        HASH_DEL(replies->known, reply);
        free(reply);
    }
    free(replies);
}

static struct reply *find(const struct replies *replies, struct text topic)
{
    struct reply *reply = NULL;
    HASH_FIND(hh, replies->known, topic.data, topic.size, reply);
    return reply;
}

/* Drops the oldest entry without an outstanding lookup. */
static void evict(struct replies *replies)
{
    struct reply *reply;
    struct reply *next;
    HASH_ITER(hh, replies->known, reply, next) {
        if (!reply->outstanding) {
            HASH_DEL(replies->known, reply);
            free(reply);
            return;
        }
    }
}

static struct reply *add(struct replies *replies, struct text topic)
{
    assert(topic.size > 0 && topic.size <= TOPIC_BYTES_MAX);
    if (HASH_COUNT(replies->known) >= REPLIES_MAX)
        evict(replies);
    struct reply *reply = calloc(1, sizeof(*reply) + topic.size + 1);
    assert(reply != NULL);
    memcpy(reply->topic, topic.data, topic.size);
    reply->size = topic.size;
    HASH_ADD(hh, replies->known, topic, topic.size, reply);
    return reply;
}

static void look_up(struct replies *replies, struct reply *reply)
{
    if (reply->outstanding)
        return;
    reply->outstanding = true;
    reply->next = NULL;
    if (replies->first == NULL)
        replies->first = reply;
    else
        replies->last->next = reply;
    replies->last = reply;
    if (!loop_timer_armed(&replies->timer))
        loop_timer_after(replies->loop, &replies->timer, 0);
}

static void look_up_next(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct replies *replies = userdata;
    struct reply *reply = replies->first;
    assert(reply != NULL);
    int32_t count = broker_partition_count(replies->broker, reply->topic, LOOKUP_MS);
    if (count < 0) {
        loop_timer_after(loop, timer, AGAIN_MS);
        return;
    }
    replies->first = reply->next;
    reply->outstanding = false;
    reply->state = count > 0 ? REPLY_EXISTS : REPLY_MISSING;
    reply->partition_count = count;
    reply->answered_at = clock_mono_ms(loop_clock(loop));
    if (replies->first != NULL)
        loop_timer_after(loop, timer, TICK_MS);
    replies->changed(replies->ctx);
}

enum reply_state replies_state(struct replies *replies, struct text topic)
{
    struct reply *reply = find(replies, topic);
    if (reply == NULL)
        reply = add(replies, topic);
    int64_t age = loop_now_ms(replies->loop) - reply->answered_at;
    switch (reply->state) {
    case REPLY_LOOKUP:
        look_up(replies, reply);
        break;
    case REPLY_EXISTS:
        if (age > REPLY_EXISTS_MS)
            look_up(replies, reply);
        break;
    case REPLY_MISSING:
        if (age <= REPLY_MISSING_MS)
            break;
        reply->state = REPLY_LOOKUP;
        look_up(replies, reply);
        break;
    case REPLY_STATE_COUNT:
        assert(false);
    }
    return reply->state;
}

int32_t replies_partition_count(struct replies *replies, struct text topic)
{
    const struct reply *reply = find(replies, topic);
    assert(reply != NULL && reply->partition_count > 0);
    return reply->partition_count;
}

void replies_forget(struct replies *replies, struct text topic)
{
    struct reply *reply = find(replies, topic);
    if (reply != NULL && !reply->outstanding)
        reply->state = REPLY_LOOKUP;
}

uint64_t replies_hash(struct text topic)
{
    return XXH3_64bits(topic.data, topic.size) | 1;
}

void replies_silence(struct replies *replies, uint64_t topic_hash)
{
    uint32_t at = 0;
    while (at < SILENT_MAX && replies->silent[at].topic_hash != topic_hash)
        at++;
    if (at == SILENT_MAX)
        at = replies->next_silent++ % SILENT_MAX;
    replies->silent[at].topic_hash = topic_hash;
    replies->silent[at].until_ms = loop_now_ms(replies->loop) + SILENT_MS;
}

bool replies_is_silent(const struct replies *replies, uint64_t topic_hash)
{
    bool silent = false;
    for (uint32_t i = 0; i < SILENT_MAX && !silent; i++)
        silent = replies->silent[i].topic_hash == topic_hash &&
                 loop_now_ms(replies->loop) < replies->silent[i].until_ms;
    return silent;
}
