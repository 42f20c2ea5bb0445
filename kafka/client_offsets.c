/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets that a group has committed: commits, and queries for them. */
#include "kafka/client_group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { COMMITTED_MS = 2000 };

/* ---- commits ---- */

static struct offset_call *add_call(struct kafka_group *group, int32_t partition, int64_t offset,
                                    void *ctx)
{
    struct offset_call *call = calloc(1, sizeof(*call));
    assert(call != NULL);
    call->ctx = ctx;
    call->partition = partition;
    call->offset = offset;
    DL_APPEND(group->calls, call);
    return call;
}

static void answer(struct kafka_group *group, struct offset_call *call, int64_t offset,
                   const char *note, rd_kafka_resp_err_t code)
{
    struct error error = {.class = ERROR_OK};
    DL_DELETE(group->calls, call);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        kafka_error_set(&error, code, call->state == COMMIT ? "commit" : "committed offset of",
                        group->topic, call->partition);
    if (call->done != NULL && !group->leaving)
        call->done(call->ctx, call->partition, offset, &error);
    if (call->position != NULL && !group->leaving)
        call->position(call->ctx, call->partition, offset, note, &error);
    free(call);
}

void kafka_group_on_commit(struct kafka_group *group, rd_kafka_event_t *event)
{
    struct offset_call *call = rd_kafka_event_opaque(event);
    if (call == NULL) /* send_heartbeat() */
        return;
    const rd_kafka_topic_partition_list_t *list = rd_kafka_event_topic_partition_list(event);
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && list != NULL && list->cnt == 1)
        code = list->elems[0].err;
    answer(group, call, call->offset, "", code);
}

static rd_kafka_topic_partition_list_t *one_partition(const struct kafka_group *group,
                                                      int32_t partition, int64_t offset)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, group->topic, partition)->offset = offset;
    return list;
}

void kafka_group_commit(struct broker_group *base, int32_t partition, int64_t offset,
                        const char *note, broker_committed_done done, void *ctx)
{
    struct kafka_group *group = (struct kafka_group *)base;
    assert(!group->leaving);
    if (group->handle.rk == NULL)
        return;
    struct offset_call *call = add_call(group, partition, offset, ctx);
    call->done = done;
    rd_kafka_topic_partition_list_t *list = one_partition(group, partition, offset);
    if (note != NULL && note[0] != '\0') { /* freed with the list */
        list->elems[0].metadata = strdup(note);
        list->elems[0].metadata_size = strlen(note);
        assert(list->elems[0].metadata != NULL);
    }
    rd_kafka_resp_err_t code =
        rd_kafka_commit_queue(group->handle.rk, list, group->handle.queue, NULL, call);
    assert(code == RD_KAFKA_RESP_ERR_NO_ERROR); /* it is only queued */
    rd_kafka_topic_partition_list_destroy(list);
}

void kafka_group_fail_commits(struct kafka_group *group)
{
    struct offset_call *call;
    struct offset_call *next;
    DL_FOREACH_SAFE(group->calls, call, next)
        if (call->state == COMMIT)
            answer(group, call, call->offset, "", RD_KAFKA_RESP_ERR__WAIT_COORD);
}

void kafka_group_drop_calls(struct kafka_group *group)
{
    struct offset_call *call;
    struct offset_call *next;
    DL_FOREACH_SAFE(group->calls, call, next) {
        DL_DELETE(group->calls, call);
        free(call);
    }
}

/* ---- committed offsets ---- */

/* rd_kafka_committed() queries the member's own coordinator. The asynchronous
 * ListConsumerGroupOffsets remembers a coordinator of its own, and queries that one for as long as
 * it answers "not coordinator": for ever, once a group has moved (librdkafka 2.0). */
struct committed_job {
    struct kafka_job job;
    struct kafka_group *group;
    rd_kafka_t *rk;
    rd_kafka_topic_partition_list_t *list;
    rd_kafka_resp_err_t code;
};

static void committed_run(struct kafka_job *job)
{
    struct committed_job *query = (struct committed_job *)job;
    query->code = rd_kafka_committed(query->rk, query->list, COMMITTED_MS);
}

static void answer_committed(struct kafka_group *group, struct offset_call *call,
                             const struct committed_job *query)
{
    rd_kafka_resp_err_t code = query->code;
    int64_t offset = -1;
    char note[BROKER_NOTE_BYTES_MAX + 1] = "";
    const rd_kafka_topic_partition_t *found =
        rd_kafka_topic_partition_list_find(query->list, group->topic, call->partition);
    assert(found != NULL);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = found->err;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && found->offset >= 0)
        offset = found->offset;
    /* Another client may have made it: as long as it likes. */
    if (offset >= 0 && found->metadata != NULL && found->metadata_size < sizeof(note))
        memcpy(note, found->metadata, found->metadata_size);
    answer(group, call, offset, note, code);
}

static void committed_done(struct kafka_job *job)
{
    struct committed_job *query = (struct committed_job *)job;
    struct kafka_group *group = query->group;
    struct offset_call *call;
    struct offset_call *next;
    group->querying = false;
    /* Callbacks may add calls at the end; those are not in this query. */
    DL_FOREACH_SAFE(group->calls, call, next)
        if (call->state == QUERY_RUNNING)
            answer_committed(group, call, query);
    rd_kafka_topic_partition_list_destroy(query->list);
    free(query);
    if (group->ended)
        kafka_group_free(group);
    else if (!group->leaving)
        loop_defer(group->kafka->loop, &group->query);
}

/* All waiting queries in one job: one answer holds them all. */
void kafka_group_on_query(void *ctx)
{
    struct kafka_group *group = ctx;
    struct offset_call *call;
    if (group->querying || group->leaving || group->handle.rk == NULL)
        return;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    DL_FOREACH(group->calls, call) {
        if (call->state != QUERY)
            continue;
        call->state = QUERY_RUNNING;
        if (rd_kafka_topic_partition_list_find(list, group->topic, call->partition) == NULL)
            rd_kafka_topic_partition_list_add(list, group->topic, call->partition);
    }
    if (list->cnt == 0) {
        rd_kafka_topic_partition_list_destroy(list);
        return;
    }
    struct committed_job *query = calloc(1, sizeof(*query));
    assert(query != NULL);
    *query = (struct committed_job){.job = {.run = committed_run, .done = committed_done},
                                    .group = group,
                                    .rk = group->handle.rk,
                                    .list = list};
    group->querying = true;
    kafka_jobs_submit(&group->kafka->jobs, &query->job);
}

void kafka_group_committed(struct broker_group *base, int32_t partition, broker_position_done done,
                           void *ctx)
{
    struct kafka_group *group = (struct kafka_group *)base;
    assert(!group->leaving);
    if (group->handle.rk == NULL)
        return;
    struct offset_call *call = add_call(group, partition, -1, ctx);
    call->position = done;
    call->state = QUERY;
    loop_defer(group->kafka->loop, &group->query);
}
