/* SPDX-License-Identifier: Apache-2.0 */
/* What the broker in memory answers: offsets, deletions, and what groups ask. */
#include "tests/simulation/broker_memory_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void memory_reply_free(struct memory_reply *reply)
{
    free(reply->note);
    free(reply);
}

struct memory_reply *memory_reply_new(struct memory_broker *broker, enum memory_reply_kind kind,
                                      void *ctx)
{
    struct memory_reply *reply = calloc(1, sizeof(*reply));
    assert(reply != NULL);
    reply->kind = kind;
    reply->ctx = ctx;
    if (kind != MEMORY_REPLY_LEFT &&
        (broker->disconnected || broker->paused ||
         memory_chance(broker->cluster, broker->cluster->faults.reply_failed)))
        error_set_foreign(&reply->error, ERROR_RETRY, "Unanswered", "the broker did not answer");
    DL_APPEND(broker->replies, reply);
    return reply;
}

/* The records go when the answer comes: a paused instance deletes when it continues. Where the
 * answer is that it failed, they may be gone as well. */
static void answer_deletion(struct broker_memory_cluster *cluster, struct memory_reply *reply)
{
    struct memory_log *log = memory_log_find(cluster, reply->note, reply->partition);
    bool failed = error_is(&reply->error);
    if (log != NULL && reply->high > memory_log_end(log) && !failed)
        error_set(&reply->error, CODE_OFFSET_OUT_OF_RANGE, "it is beyond the log's end");
    else if (cluster->refuses_deletions)
        error_set(&reply->error, CODE_NOT_AUTHORIZED, "not authorized to delete");
    else if (log != NULL && reply->high > log->low && reply->high <= memory_log_end(log) &&
             (!failed || memory_chance(cluster, 500)))
        broker_memory_trim(cluster, reply->note, reply->partition, reply->high);
    failed = error_is(&reply->error) || log == NULL;
    reply->done.deleted(reply->ctx, failed ? -1 : log->low, &reply->error);
}

void memory_reply_deliver(struct memory_broker *broker)
{
    struct memory_reply *reply = broker->replies;
    DL_DELETE(broker->replies, reply);
    bool failed = error_is(&reply->error);
    switch (reply->kind) {
    case MEMORY_REPLY_OFFSETS:
        reply->done.offsets(reply->ctx, failed ? -1 : reply->low, failed ? -1 : reply->high,
                            &reply->error);
        break;
    case MEMORY_REPLY_COMMITTED:
        if (reply->done.committed != NULL)
            reply->done.committed(reply->ctx, reply->partition, failed ? -1 : reply->high,
                                  &reply->error);
        break;
    case MEMORY_REPLY_POSITION:
        reply->done.position(reply->ctx, reply->partition, failed ? -1 : reply->high,
                             !failed && reply->note != NULL ? reply->note : "", &reply->error);
        break;
    case MEMORY_REPLY_GROUP_POSITION:
        reply->done.group_position(reply->ctx, reply->note, failed ? -1 : reply->high,
                                   &reply->error);
        break;
    case MEMORY_REPLY_DELETED:
        answer_deletion(broker->cluster, reply);
        break;
    case MEMORY_REPLY_MEMBERS:
        memory_group_answer_members(reply);
        break;
    case MEMORY_REPLY_TOPICS:
        reply->done.topics(reply->ctx, !failed);
        break;
    case MEMORY_REPLY_LEFT:
        reply->done.left(reply->ctx);
        break;
    }
    memory_reply_free(reply);
}

void memory_read_topics(struct broker *base, broker_topics_read done, void *ctx)
{
    struct memory_broker *broker = memory_of(base);
    if (broker->dead)
        return;
    broker->requests++;
    memory_reply_new(broker, MEMORY_REPLY_TOPICS, ctx)->done.topics = done;
}

void memory_offsets(struct broker *base, const char *topic, int32_t partition,
                    broker_offsets_done done, void *ctx)
{
    struct memory_broker *broker = memory_of(base);
    if (broker->dead)
        return;
    broker->requests++;
    const struct memory_log *log = memory_log_find(broker->cluster, topic, partition);
    struct memory_reply *reply = memory_reply_new(broker, MEMORY_REPLY_OFFSETS, ctx);
    reply->done.offsets = done;
    if (log == NULL) {
        error_set(&reply->error, CODE_UNKNOWN_TOPIC, "no such topic or partition");
        return;
    }
    if (memory_is_silent(broker->cluster, topic, partition))
        error_set_foreign(&reply->error, ERROR_RETRY, "Unanswered", "the partition has no leader");
    reply->low = log->low;
    reply->high = memory_log_end(log);
}

void broker_memory_refuse_deletions(struct broker_memory_cluster *cluster, bool refused)
{
    cluster->refuses_deletions = refused;
}

void memory_delete_records(struct broker *base, const char *topic, int32_t partition,
                           int64_t before, broker_deleted done, void *ctx)
{
    struct memory_broker *broker = memory_of(base);
    if (broker->dead)
        return;
    struct memory_reply *reply = memory_reply_new(broker, MEMORY_REPLY_DELETED, ctx);
    reply->done.deleted = done;
    reply->partition = partition;
    reply->high = before;
    reply->note = strdup(topic);
    assert(reply->note != NULL);
    if (memory_log_find(broker->cluster, topic, partition) == NULL)
        error_set(&reply->error, CODE_UNKNOWN_TOPIC, "no such topic or partition");
}
