/* SPDX-License-Identifier: Apache-2.0 */
/* Consumer groups on the wire. */
#include "kafka/embedded/api_groups.h"
#include "kafka/embedded/api.h"

#include <assert.h>

/* ---- answers to members ---- */

static void put_joined(struct buffer *out, int16_t version, rd_kafka_resp_err_t code,
                       int32_t generation, const char *protocol, const char *leader,
                       const char *member)
{
    if (version >= 2)
        wire_put_i32(out, 0); /* throttled for */
    wire_put_i16(out, (int16_t)code);
    wire_put_i32(out, generation);
    wire_put_string(out, text_of(protocol));
    wire_put_string(out, text_of(leader));
    wire_put_string(out, text_of(member));
}

static struct text instance_of(const struct member *member)
{
    return text_of(member->instance);
}

static void on_joined(struct peer *peer, const struct member *member, const char *leader)
{
    int16_t version;
    const struct group *group = member->group;
    struct buffer *out = api_answer_later(peer, &version);
    bool leads = strcmp(leader, member->id) == 0;
    put_joined(out, version, RD_KAFKA_RESP_ERR_NO_ERROR, group->generation, group->protocol, leader,
               member->id);
    wire_put_i32(out, leads ? (int32_t)group->member_count : 0);
    for (const struct member *each = leads ? group->members : NULL; each != NULL;
         each = each->next) {
        wire_put_string(out, text_of(each->id));
        if (version >= 5)
            wire_put_string(out, instance_of(each));
        wire_put_bytes(out, member_protocol(each, group->protocol));
    }
    peer_answered(peer);
}

static void on_not_joined(struct peer *peer, rd_kafka_resp_err_t code)
{
    int16_t version;
    struct buffer *out = api_answer_later(peer, &version);
    put_joined(out, version, code, -1, "", "", "");
    wire_put_i32(out, 0);
    peer_answered(peer);
}

static void put_synced(struct buffer *out, int16_t version, rd_kafka_resp_err_t code,
                       struct text assignment)
{
    if (version >= 1)
        wire_put_i32(out, 0); /* throttled for */
    wire_put_i16(out, (int16_t)code);
    wire_put_bytes(out, assignment);
}

static void on_synced(struct peer *peer, rd_kafka_resp_err_t code, struct text assignment)
{
    int16_t version;
    struct buffer *out = api_answer_later(peer, &version);
    put_synced(out, version, code, assignment);
    peer_answered(peer);
}

const struct groups_ops api_groups_ops = {
    .joined = on_joined, .not_joined = on_not_joined, .synced = on_synced};

/* ---- requests of members ---- */

enum api_result api_find_coordinator(struct call *call)
{
    wire_string(&call->in); /* the group */
    bool transactional = call->version >= 1 && wire_i8(&call->in) != 0;
    if (call->version >= 1)
        wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i16(call->out,
                 transactional ? RD_KAFKA_RESP_ERR_INVALID_REQUEST : RD_KAFKA_RESP_ERR_NO_ERROR);
    if (call->version >= 1)
        wire_put_string(call->out, (struct text){0});
    wire_put_i32(call->out, NODE_ID);
    wire_put_string(call->out, NODE_HOST);
    wire_put_i32(call->out, peers_port(call->broker->peers));
    return API_ANSWERED;
}

/* The array that follows, as it stands. */
static struct text take_protocols(struct wire *in)
{
    struct text all = in->rest;
    int32_t count = wire_count(in, 6);
    for (int32_t i = 0; i < count; i++) {
        wire_string(in);
        wire_bytes(in);
    }
    all.size -= in->rest.size;
    return all;
}

enum api_result api_join_group(struct call *call)
{
    struct join join = {.client = call->client};
    join.group = wire_string(&call->in);
    join.session_ms = wire_i32(&call->in);
    join.round_ms = call->version >= 1 ? wire_i32(&call->in) : join.session_ms;
    join.member = wire_string(&call->in);
    if (call->version >= 5)
        join.instance = wire_string(&call->in);
    join.kind = wire_string(&call->in);
    join.protocols = take_protocols(&call->in);
    if (call->in.bad)
        return API_ANSWERED;
    rd_kafka_resp_err_t code = groups_join(call->broker->groups, &join, call->peer);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return API_LATER;
    put_joined(call->out, call->version, code, -1, "", "", "");
    wire_put_i32(call->out, 0);
    return API_ANSWERED;
}

static struct identity take_identity(struct call *call)
{
    struct identity identity = {.group = wire_string(&call->in)};
    identity.generation = wire_i32(&call->in);
    identity.member = wire_string(&call->in);
    if (call->version >= 3)
        identity.instance = wire_string(&call->in);
    return identity;
}

/* The array that follows. */
static void skip_assignments(struct wire *in)
{
    int32_t count = wire_count(in, 6);
    for (int32_t i = 0; i < count; i++) {
        wire_string(in);
        wire_bytes(in);
    }
}

enum api_result api_sync_group(struct call *call)
{
    struct identity identity = take_identity(call);
    struct wire assignments = call->in;
    skip_assignments(&call->in);
    if (call->in.bad)
        return API_ANSWERED;
    rd_kafka_resp_err_t code =
        groups_sync(call->broker->groups, &identity, assignments, call->peer);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return API_LATER;
    put_synced(call->out, call->version, code, TEXT(""));
    return API_ANSWERED;
}

enum api_result api_heartbeat(struct call *call)
{
    struct identity identity = take_identity(call);
    if (call->version >= 1)
        wire_put_i32(call->out, 0); /* throttled for */
    if (!call->in.bad)
        wire_put_i16(call->out, (int16_t)groups_heartbeat(call->broker->groups, &identity));
    return API_ANSWERED;
}

/* From version 3 on several may leave at once. */
static void leave_each(struct call *call, struct text group)
{
    int32_t count = wire_count(&call->in, 4);
    wire_put_i16(call->out, RD_KAFKA_RESP_ERR_NO_ERROR);
    wire_put_i32(call->out, count);
    for (int32_t i = 0; i < count; i++) {
        struct identity identity = {.group = group, .member = wire_string(&call->in)};
        identity.instance = wire_string(&call->in);
        rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
        if (!call->in.bad)
            code = groups_leave(call->broker->groups, &identity);
        wire_put_string(call->out, identity.member);
        wire_put_string(call->out, identity.instance);
        wire_put_i16(call->out, (int16_t)code);
    }
}

enum api_result api_leave_group(struct call *call)
{
    struct text group = wire_string(&call->in);
    if (call->version >= 1)
        wire_put_i32(call->out, 0); /* throttled for */
    if (call->version >= 3) {
        leave_each(call, group);
        return API_ANSWERED;
    }
    struct identity identity = {.group = group, .member = wire_string(&call->in)};
    if (!call->in.bad)
        wire_put_i16(call->out, (int16_t)groups_leave(call->broker->groups, &identity));
    return API_ANSWERED;
}

/* ---- requests of operators ---- */

static struct text kind_of(const struct group *group)
{
    return text_of(group->kind != NULL ? group->kind : "");
}

enum api_result api_list_groups(struct call *call)
{
    int32_t count = 0;
    if (call->version >= 1)
        wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i16(call->out, RD_KAFKA_RESP_ERR_NO_ERROR);
    size_t at = call->out->size;
    wire_put_i32(call->out, 0);
    for (const struct group *group = NULL;
         (group = groups_next(call->broker->groups, group)) != NULL; count++) {
        wire_put_string(call->out, text_of(group->name));
        wire_put_string(call->out, kind_of(group));
    }
    wire_set_i32(call->out, at, count);
    return API_ANSWERED;
}

static void describe_member(struct call *call, const struct member *member)
{
    const char *protocol = member->group->protocol;
    wire_put_string(call->out, text_of(member->id));
    if (call->version >= 4)
        wire_put_string(call->out, instance_of(member));
    wire_put_string(call->out, text_of(member->client));
    wire_put_string(call->out, TEXT("/127.0.0.1"));
    wire_put_bytes(call->out, protocol != NULL && member->group->state == GROUP_STABLE
                                  ? member_protocol(member, protocol)
                                  : TEXT(""));
    wire_put_bytes(
        call->out,
        (struct text){member->assignment.size > 0 ? (const char *)member->assignment.data : "",
                      (uint32_t)member->assignment.size});
}

static void describe_group(struct call *call, struct text name)
{
    const struct group *group = groups_find(call->broker->groups, name);
    bool stable = group != NULL && group->state == GROUP_STABLE;
    wire_put_i16(call->out, RD_KAFKA_RESP_ERR_NO_ERROR);
    wire_put_string(call->out, name);
    wire_put_string(call->out, text_of(group != NULL ? group_state_name(group->state) : "Dead"));
    wire_put_string(call->out, group != NULL ? kind_of(group) : TEXT(""));
    wire_put_string(call->out, text_of(stable ? group->protocol : ""));
    wire_put_i32(call->out, group != NULL ? (int32_t)group->member_count : 0);
    for (const struct member *member = group != NULL ? group->members : NULL; member != NULL;
         member = member->next)
        describe_member(call, member);
    if (call->version >= 3)
        wire_put_i32(call->out, INT32_MIN); /* allowed operations: not asked for */
}

enum api_result api_describe_groups(struct call *call)
{
    int32_t count = wire_count(&call->in, 2);
    if (call->version >= 1)
        wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i32(call->out, count);
    for (int32_t i = 0; i < count; i++)
        describe_group(call, wire_string(&call->in));
    return API_ANSWERED;
}

static rd_kafka_resp_err_t delete_group(struct embedded_node *broker, struct text name)
{
    struct group *group = groups_find(broker->groups, name);
    if (group == NULL)
        return RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND;
    if (group->member_count > 0)
        return RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP;
    rd_kafka_resp_err_t code = catalogue_forget_group(broker->catalogue, name);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND)
        return code;
    groups_remove(broker->groups, group);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

enum api_result api_delete_groups(struct call *call)
{
    wire_put_i32(call->out, 0); /* throttled for */
    int32_t count = wire_count(&call->in, 2);
    wire_put_i32(call->out, count);
    for (int32_t i = 0; i < count && !call->in.bad; i++) {
        struct text name = wire_string(&call->in);
        wire_put_string(call->out, name);
        wire_put_i16(call->out, (int16_t)delete_group(call->broker, name));
    }
    return API_ANSWERED;
}
