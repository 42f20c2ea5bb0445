/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of librdkafka's admin interface: deleting records, and the committed offsets of groups of
 * which this instance is not a member. Both wait for their answer, so they are jobs.
 *
 * librdkafka 2.0 asks the coordinator of a group that it has found once, although the group may
 * have moved, until nothing was asked about the group for `metadata.max.age.ms` (rdkafka_coord.c).
 * The owners of several partitions would keep it from ever looking for another one. So after a
 * failure, nothing is asked about that group for as long: such queries fail here. */
#include "kafka/client_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { ANSWER_MS = 5000, FORGOTTEN_MS = 3000 /* librdkafka looks every second */ };

/* A query about it has failed. */
struct kafka_quiet_group {
    struct kafka_quiet_group *next;
    int64_t until_ms;
    char name[];
};

struct admin_call {
    struct kafka_job job;
    struct kafka_client *kafka; /* not for the job's thread */
    rd_kafka_t *rk;
    char *group; /* NULL: records are deleted */
    char *topic;
    int32_t partition;
    int64_t offset; /* before which records are deleted; then what the answer says */
    broker_deleted deleted;
    broker_group_position_done position;
    void *ctx;
    rd_kafka_resp_err_t code;
};

static void take_offset(struct admin_call *call, const rd_kafka_topic_partition_list_t *list)
{
    if (list == NULL || list->cnt != 1) {
        call->code = RD_KAFKA_RESP_ERR__BAD_MSG;
        return;
    }
    call->code = list->elems[0].err;
    call->offset = list->elems[0].offset;
}

static rd_kafka_AdminOptions_t *options_new(rd_kafka_t *rk, rd_kafka_admin_op_t op)
{
    char reason[128];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(rk, op);
    assert(options != NULL);
    rd_kafka_resp_err_t code =
        rd_kafka_AdminOptions_set_request_timeout(options, ANSWER_MS, reason, sizeof(reason));
    assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    (void)code;
    return options;
}

static rd_kafka_topic_partition_list_t *partition_of(const struct admin_call *call)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, call->topic, call->partition)->offset = call->offset;
    return list;
}

static void delete_run(struct kafka_job *job)
{
    struct admin_call *call = (struct admin_call *)job;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(call->rk);
    rd_kafka_AdminOptions_t *options = options_new(call->rk, RD_KAFKA_ADMIN_OP_DELETERECORDS);
    rd_kafka_topic_partition_list_t *list = partition_of(call);
    rd_kafka_DeleteRecords_t *deletion = rd_kafka_DeleteRecords_new(list);
    rd_kafka_DeleteRecords(call->rk, &deletion, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, -1); /* the request has a timeout */
    call->code = rd_kafka_event_error(event);
    if (call->code == RD_KAFKA_RESP_ERR_NO_ERROR)
        take_offset(call, rd_kafka_DeleteRecords_result_offsets(
                              rd_kafka_event_DeleteRecords_result(event)));
    rd_kafka_event_destroy(event);
    rd_kafka_DeleteRecords_destroy(deletion);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
}

static void take_position(struct admin_call *call, rd_kafka_event_t *event)
{
    size_t count = 0;
    const rd_kafka_ListConsumerGroupOffsets_result_t *result =
        rd_kafka_event_ListConsumerGroupOffsets_result(event);
    const rd_kafka_group_result_t **groups =
        rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count);
    const rd_kafka_error_t *error = count == 1 ? rd_kafka_group_result_error(groups[0]) : NULL;
    if (count != 1)
        call->code = RD_KAFKA_RESP_ERR__BAD_MSG;
    else if (error != NULL)
        call->code = rd_kafka_error_code(error);
    else
        take_offset(call, rd_kafka_group_result_partitions(groups[0]));
}

/* ---- groups whose coordinator may be another one ---- */

static int64_t remembered_ms(rd_kafka_t *rk)
{
    char value[32];
    size_t size = sizeof(value);
    rd_kafka_conf_res_t result =
        rd_kafka_conf_get(rd_kafka_conf(rk), "metadata.max.age.ms", value, &size);
    assert(result == RD_KAFKA_CONF_OK);
    (void)result;
    return strtoll(value, NULL, 10) + FORGOTTEN_MS;
}

static struct kafka_quiet_group *find_quiet(const struct kafka_client *kafka, const char *name)
{
    struct kafka_quiet_group *group;
    LL_FOREACH(kafka->quiet_groups, group)
        if (strcmp(group->name, name) == 0)
            return group;
    return NULL;
}

static void be_quiet_about(struct kafka_client *kafka, const char *name)
{
    struct kafka_quiet_group *group = find_quiet(kafka, name);
    if (group == NULL) {
        size_t size = strlen(name) + 1;
        group = calloc(1, sizeof(*group) + size);
        assert(group != NULL);
        memcpy(group->name, name, size);
        LL_PREPEND(kafka->quiet_groups, group);
    }
    group->until_ms =
        clock_mono_ms(loop_clock(kafka->loop)) + remembered_ms(kafka->reader_handle.rk);
}

static bool is_quiet(const struct kafka_client *kafka, const char *name)
{
    const struct kafka_quiet_group *group = find_quiet(kafka, name);
    return group != NULL && clock_mono_ms(loop_clock(kafka->loop)) < group->until_ms;
}

void kafka_admin_deinit(struct kafka_client *kafka)
{
    while (kafka->quiet_groups != NULL) {
        struct kafka_quiet_group *group = kafka->quiet_groups;
        LL_DELETE(kafka->quiet_groups, group);
        free(group);
    }
}

/* ---- jobs ---- */

static void answer_quiet(struct kafka_job *job)
{
    ((struct admin_call *)job)->code = RD_KAFKA_RESP_ERR__WAIT_COORD;
}

static void position_run(struct kafka_job *job)
{
    struct admin_call *call = (struct admin_call *)job;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(call->rk);
    rd_kafka_AdminOptions_t *options =
        options_new(call->rk, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
    rd_kafka_topic_partition_list_t *list = partition_of(call);
    rd_kafka_ListConsumerGroupOffsets_t *query =
        rd_kafka_ListConsumerGroupOffsets_new(call->group, list);
    rd_kafka_ListConsumerGroupOffsets(call->rk, &query, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, -1);
    call->code = rd_kafka_event_error(event);
    if (call->code == RD_KAFKA_RESP_ERR_NO_ERROR)
        take_position(call, event);
    rd_kafka_event_destroy(event);
    rd_kafka_ListConsumerGroupOffsets_destroy(query);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
}

static void on_answered(struct kafka_job *job)
{
    struct admin_call *call = (struct admin_call *)job;
    struct error error = {.class = ERROR_OK};
    bool failed = call->code != RD_KAFKA_RESP_ERR_NO_ERROR;
    if (call->group != NULL && kafka_error_class(call->code) == ERROR_RETRY &&
        call->code != RD_KAFKA_RESP_ERR__WAIT_COORD)
        be_quiet_about(call->kafka, call->group);
    if (call->group == NULL)
        kafka_note_answer(call->kafka, call->topic, call->partition, call->code);
    if (failed)
        kafka_error_set(&error, call->code,
                        call->group != NULL ? "the committed offset in" : "deleting records of",
                        call->topic, call->partition);
    if (call->group == NULL)
        call->deleted(call->ctx, failed ? -1 : call->offset, &error);
    else
        call->position(call->ctx, call->group, failed || call->offset < 0 ? -1 : call->offset,
                       &error);
    free(call->group);
    free(call->topic);
    free(call);
}

static struct admin_call *call_new(struct kafka_client *kafka, const char *topic, int32_t partition,
                                   void (*run)(struct kafka_job *job), void *ctx)
{
    struct admin_call *call = calloc(1, sizeof(*call));
    assert(call != NULL);
    *call = (struct admin_call){.job = {.run = run, .done = on_answered},
                                .kafka = kafka,
                                .rk = kafka->reader_handle.rk,
                                .topic = strdup(topic),
                                .partition = partition,
                                .offset = RD_KAFKA_OFFSET_INVALID,
                                .ctx = ctx};
    assert(call->topic != NULL);
    return call;
}

void kafka_delete_records(struct broker *broker, const char *topic, int32_t partition,
                          int64_t before, broker_deleted done, void *ctx)
{
    struct kafka_client *kafka = kafka_of(broker);
    struct admin_call *call = call_new(kafka, topic, partition, delete_run, ctx);
    call->offset = before;
    call->deleted = done;
    call->job.doubtful = kafka_is_silent(kafka, topic, partition);
    kafka_jobs_submit(&kafka->jobs, &call->job);
}

void kafka_position_of(struct broker *broker, const char *group, const char *topic,
                       int32_t partition, broker_group_position_done done, void *ctx)
{
    struct kafka_client *kafka = kafka_of(broker);
    struct admin_call *call = call_new(kafka, topic, partition,
                                       is_quiet(kafka, group) ? answer_quiet : position_run, ctx);
    call->group = strdup(group);
    assert(call->group != NULL);
    call->position = done;
    kafka_jobs_submit(&kafka->jobs, &call->job);
}
