/* SPDX-License-Identifier: Apache-2.0 */
/* See api.h. */
#include "kafka/embedded/api.h"

#include <assert.h>

struct api_row {
    int16_t key;
    int16_t first; /* versions */
    int16_t last;
    const char *name;
    api_handler handle;
};

enum {
    KEY_API_VERSIONS = 18,
    API_VERSIONS_LAST = 3,
    API_VERSIONS_FLEXIBLE = 3,
};

static enum api_result api_versions(struct call *call);

/* In the order of their keys. */
static const struct api_row apis[] = {
    {0, 0, 8, "Produce", api_produce},
    {1, 4, 11, "Fetch", api_fetch},
    {2, 0, 5, "ListOffsets", api_list_offsets},
    {3, 0, 8, "Metadata", api_metadata},
    {8, 0, 7, "OffsetCommit", api_commit_offsets},
    {9, 0, 5, "OffsetFetch", api_fetch_offsets},
    {10, 0, 2, "FindCoordinator", api_find_coordinator},
    {11, 0, 5, "JoinGroup", api_join_group},
    {12, 0, 3, "Heartbeat", api_heartbeat},
    {13, 0, 3, "LeaveGroup", api_leave_group},
    {14, 0, 3, "SyncGroup", api_sync_group},
    {15, 0, 4, "DescribeGroups", api_describe_groups},
    {16, 0, 2, "ListGroups", api_list_groups},
    {KEY_API_VERSIONS, 0, API_VERSIONS_LAST, "ApiVersions", api_versions},
    {19, 0, 4, "CreateTopics", api_create_topics},
    {20, 0, 3, "DeleteTopics", api_delete_topics},
    {21, 0, 1, "DeleteRecords", api_delete_records},
    {22, 0, 1, "InitProducerId", api_init_producer},
    {29, 0, 1, "DescribeAcls", api_describe_acls},
    {30, 0, 1, "CreateAcls", api_create_acls},
    {32, 0, 2, "DescribeConfigs", api_describe_configs},
    {33, 0, 1, "AlterConfigs", api_alter_configs},
    {37, 0, 1, "CreatePartitions", api_create_partitions},
    {42, 0, 1, "DeleteGroups", api_delete_groups},
    {44, 0, 0, "IncrementalAlterConfigs", api_alter_configs_by_one},
};

enum { API_COUNT = sizeof(apis) / sizeof(apis[0]) };

static const struct api_row *find(int16_t key)
{
    for (size_t i = 0; i < API_COUNT; i++) {
        if (apis[i].key == key)
            return &apis[i];
    }
    return NULL;
}

/* Of all versions, only this answer's has flexible ones here: lengths plus one in a varint, and
 * empty tagged fields. A client that is too new gets the first version of it. */
static enum api_result api_versions(struct call *call)
{
    bool known = call->version <= API_VERSIONS_LAST;
    bool flexible = known && call->version >= API_VERSIONS_FLEXIBLE;
    wire_put_i16(call->out,
                 known ? RD_KAFKA_RESP_ERR_NO_ERROR : RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION);
    if (flexible)
        wire_put_i8(call->out, API_COUNT + 1);
    else
        wire_put_i32(call->out, API_COUNT);
    for (size_t i = 0; i < API_COUNT; i++) {
        wire_put_i16(call->out, apis[i].key);
        wire_put_i16(call->out, apis[i].first);
        wire_put_i16(call->out, apis[i].last);
        if (flexible)
            wire_put_i8(call->out, 0);
    }
    if (known && call->version >= 1)
        wire_put_i32(call->out, 0); /* throttled for */
    if (flexible)
        wire_put_i8(call->out, 0);
    return API_ANSWERED;
}

_Static_assert(API_COUNT < 127, "the length is a varint of one byte");

void api_each_partition_of(struct call *call, int32_t topics, size_t size,
                           void (*answer)(struct call *call, struct text topic, const void *ctx),
                           const void *ctx)
{
    wire_put_i32(call->out, topics);
    for (int32_t i = 0; i < topics; i++) {
        struct text topic = wire_string(&call->in);
        int32_t partitions = wire_count(&call->in, size);
        wire_put_string(call->out, topic);
        wire_put_i32(call->out, partitions);
        for (int32_t p = 0; p < partitions && !call->in.bad; p++)
            answer(call, topic, ctx);
    }
}

void api_each_partition(struct call *call, size_t size,
                        void (*answer)(struct call *call, struct text topic, const void *ctx),
                        const void *ctx)
{
    enum { TOPIC_MIN = 6 }; /* the lengths of a name and of a list */
    api_each_partition_of(call, wire_count(&call->in, TOPIC_MIN), size, answer, ctx);
}

static void answer(struct peer *peer, struct call *call, const struct api_row *api,
                   int32_t correlation)
{
    call->out = peer_answer(peer);
    wire_put_i32(call->out, correlation);
    enum api_result result = api->handle(call);
    if (call->in.bad) {
        peer_close(peer);
        return;
    }
    switch (result) {
    case API_ANSWERED:
        peer_answered(peer);
        break;
    case API_SILENT:
        peer->out.size = 0;
        peer_answered(peer);
        break;
    case API_LATER:
        break;
    }
}

void api_handle(struct embedded_node *broker, struct peer *peer)
{
    struct call call = {.broker = broker, .peer = peer, .in = {.rest = peer->request}};
    int16_t key = wire_i16(&call.in);
    call.version = wire_i16(&call.in);
    int32_t correlation = wire_i32(&call.in);
    call.client = wire_string(&call.in);
    const struct api_row *api = find(key);
    bool known = api != NULL && call.version >= api->first &&
                 (call.version <= api->last || key == KEY_API_VERSIONS);
    if (call.in.bad || !known)
        peer_close(peer);
    else
        answer(peer, &call, api, correlation);
}

struct buffer *api_answer_later(struct peer *peer, int16_t *ret_version)
{
    struct wire in = {.rest = peer->request};
    wire_i16(&in); /* key */
    *ret_version = wire_i16(&in);
    int32_t correlation = wire_i32(&in);
    struct buffer *out = peer_answer(peer);
    wire_put_i32(out, correlation);
    return out;
}
