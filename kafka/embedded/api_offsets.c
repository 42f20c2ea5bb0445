/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets that consumer groups commit. */
#include "kafka/embedded/api.h"
#include "kafka/embedded/groups.h"

enum { METADATA_MAX = 4096, NO_LEADER_EPOCH = -1 };

static rd_kafka_resp_err_t commit(struct embedded_node *broker, struct text group,
                                  struct text topic, int32_t partition, int64_t offset,
                                  struct text metadata)
{
    if (catalogue_partition(broker->catalogue, topic, partition) == NULL)
        return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (metadata.size > METADATA_MAX)
        return RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE;
    return catalogue_commit(broker->catalogue, group, topic, partition, offset, metadata);
}

struct committing {
    struct text group;
    rd_kafka_resp_err_t code; /* of all partitions */
};

static void commit_partition(struct call *call, struct text topic, const void *ctx)
{
    const struct committing *committing = ctx;
    rd_kafka_resp_err_t code = committing->code;
    int32_t partition = wire_i32(&call->in);
    int64_t offset = wire_i64(&call->in);
    if (call->version >= 6)
        wire_i32(&call->in); /* the leader's epoch */
    if (call->version == 1)
        wire_i64(&call->in); /* a time */
    struct text metadata = wire_string(&call->in);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && !call->in.bad)
        code = commit(call->broker, committing->group, topic, partition, offset, metadata);
    wire_put_i32(call->out, partition);
    wire_put_i16(call->out, (int16_t)code);
}

enum api_result api_commit_offsets(struct call *call)
{
    struct identity identity = {.group = wire_string(&call->in), .generation = -1};
    if (call->version >= 1) {
        identity.generation = wire_i32(&call->in);
        identity.member = wire_string(&call->in);
    }
    if (call->version >= 7)
        identity.instance = wire_string(&call->in);
    if (call->version >= 2 && call->version <= 4)
        wire_i64(&call->in); /* for how long to keep them */
    if (call->version >= 3)
        wire_put_i32(call->out, 0); /* throttled for */
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_INVALID_GROUP_ID;
    if (!call->in.bad && !text_empty(identity.group))
        code = groups_check_commit(call->broker->groups, &identity);
    api_each_partition(call, 14, commit_partition,
                       &(struct committing){.group = identity.group, .code = code});
    return API_ANSWERED;
}

/* Without a row: nothing is committed. */
static void put_offset(struct call *call, int32_t partition, const struct offset_row *row)
{
    wire_put_i32(call->out, partition);
    wire_put_i64(call->out, row != NULL ? row->offset : -1);
    if (call->version >= 5)
        wire_put_i32(call->out, NO_LEADER_EPOCH);
    wire_put_string(call->out, text_of(row != NULL ? row->metadata : ""));
    wire_put_i16(call->out, RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* Each partition as a topic of its own, which the protocol allows. */
static void put_all_offsets(struct call *call, struct text group)
{
    const struct offsets *offsets = catalogue_offsets(call->broker->catalogue);
    size_t at = call->out->size;
    int32_t count = 0;
    wire_put_i32(call->out, 0);
    for (const struct offset_row *row = NULL; (row = offsets_next(offsets, row)) != NULL;) {
        if (!text_equal(row->group, group))
            continue;
        count++;
        wire_put_string(call->out, row->topic);
        wire_put_i32(call->out, 1);
        put_offset(call, row->partition, row);
    }
    wire_set_i32(call->out, at, count);
}

static void put_named_offset(struct call *call, struct text topic, const void *ctx)
{
    const struct text *group = ctx;
    const struct offsets *offsets = catalogue_offsets(call->broker->catalogue);
    int32_t partition = wire_i32(&call->in);
    put_offset(call, partition, offsets_find(offsets, *group, topic, partition));
}

enum api_result api_fetch_offsets(struct call *call)
{
    if (call->version >= 3)
        wire_put_i32(call->out, 0); /* throttled for */
    struct text group = wire_string(&call->in);
    int32_t topics = wire_count(&call->in, 6);
    if (topics < 0)
        put_all_offsets(call, group);
    else
        api_each_partition_of(call, topics, 4, put_named_offset, &group);
    if (call->version >= 2)
        wire_put_i16(call->out, RD_KAFKA_RESP_ERR_NO_ERROR);
    return API_ANSWERED;
}
