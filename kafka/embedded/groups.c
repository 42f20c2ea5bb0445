/* SPDX-License-Identifier: Apache-2.0 */
/* See groups.h. */
#include "kafka/embedded/groups.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <utlist.h>

struct groups {
    struct loop *loop;
    const struct groups_ops *ops;
    struct group *table;
};

static const char *const state_names[] = {
    [GROUP_EMPTY] = "Empty",
    [GROUP_JOINING] = "PreparingRebalance",
    [GROUP_SYNCING] = "CompletingRebalance",
    [GROUP_STABLE] = "Stable",
};
_Static_assert(sizeof(state_names) / sizeof(state_names[0]) == GROUP_STATE_COUNT, "one each");

const char *group_state_name(enum group_state state)
{
    return state_names[state];
}

static char *copy(struct text text)
{
    char *string = strndup(text.data != NULL ? text.data : "", text.size);
    assert(string != NULL);
    return string;
}

static void set_bytes(struct buffer *buffer, struct text bytes)
{
    buffer->size = 0;
    buffer_append(buffer, bytes.data, bytes.size);
}

static struct text text_in(const struct buffer *buffer)
{
    return (struct text){buffer->data != NULL ? (const char *)buffer->data : "",
                         (uint32_t)buffer->size};
}

/* ---- groups ---- */

struct groups *groups_new(struct loop *loop, const struct groups_ops *ops)
{
    struct groups *groups = calloc(1, sizeof(*groups));
    assert(groups != NULL);
    *groups = (struct groups){.loop = loop, .ops = ops};
    return groups;
}

struct group *groups_find(const struct groups *groups, struct text name)
{
    struct group *group;
    HASH_FIND(hh, groups->table, name.data, name.size, group);
    return group;
}

struct group *groups_next(const struct groups *groups, const struct group *after)
{
    return after == NULL ? groups->table : after->hh.next;
}

static void on_round_end(void *ctx);

bool groups_add(struct groups *groups, struct text name)
{
    if (groups_find(groups, name) != NULL)
        return true;
    if (HASH_COUNT(groups->table) == GROUPS_MAX || memchr(name.data, '\0', name.size) != NULL)
        return false;
    struct group *group = calloc(1, sizeof(*group));
    assert(group != NULL);
    group->name = copy(name);
    group->groups = groups;
    loop_timer_init(&group->round, on_round_end, group);
    HASH_ADD_KEYPTR(hh, groups->table, group->name, name.size, group);
    return true;
}

static void free_member(struct member *member)
{
    struct group *group = member->group;
    loop_timer_cancel(group->groups->loop, &member->session);
    if (group->leader == member)
        group->leader = NULL;
    DL_DELETE(group->members, member);
    group->member_count--;
    buffer_deinit(&member->protocols);
    buffer_deinit(&member->assignment);
    free(member->id);
    free(member->instance);
    free(member->client);
    free(member);
}

void groups_remove(struct groups *groups, struct group *group)
{
    while (group->members != NULL)
        free_member(group->members);
    loop_timer_cancel(groups->loop, &group->round);
    HASH_DEL(groups->table, group);
    free(group->name);
    free(group->kind);
    free(group->protocol);
    free(group);
}

void groups_free(struct groups *groups)
{
    struct group *group;
    struct group *next;
    if (groups == NULL)
        return;
    HASH_ITER(hh, groups->table, group, next)
        groups_remove(groups, group);
    free(groups);
}

/* ---- protocols ---- */

struct text member_protocol(const struct member *member, const char *name)
{
    struct wire in = {.rest = text_in(&member->protocols)};
    int32_t count = wire_count(&in, 6);
    for (int32_t i = 0; i < count; i++) {
        struct text known = wire_string(&in);
        struct text metadata = wire_bytes(&in);
        if (text_equal(known, text_of(name)))
            return metadata.data != NULL ? metadata : TEXT("");
    }
    return (struct text){0};
}

static bool all_know(const struct group *group, const char *protocol)
{
    const struct member *member;
    DL_FOREACH(group->members, member) {
        if (member_protocol(member, protocol).data == NULL)
            return false;
    }
    return true;
}

/* The first of `protocols` that all members know: new; NULL: none. */
static char *choose_protocol(const struct group *group, struct text protocols)
{
    struct wire in = {.rest = protocols};
    int32_t count = wire_count(&in, 6);
    for (int32_t i = 0; i < count; i++) {
        char *name = copy(wire_string(&in));
        wire_bytes(&in);
        if (!in.bad && all_know(group, name))
            return name;
        free(name);
    }
    return NULL;
}

/* ---- rounds ---- */

static void keep_alive(struct member *member)
{
    loop_timer_after(member->group->groups->loop, &member->session, member->session_ms);
}

static void answer_join(struct member *member, const char *leader)
{
    struct peer *peer = member->joining;
    member->joining = NULL;
    keep_alive(member);
    member->group->groups->ops->joined(peer, member, leader);
}

static void answer_sync(struct member *member, rd_kafka_resp_err_t code)
{
    struct peer *peer = member->syncing;
    member->syncing = NULL;
    keep_alive(member);
    member->group->groups->ops->synced(
        peer, code, code == RD_KAFKA_RESP_ERR_NO_ERROR ? text_in(&member->assignment) : TEXT(""));
}

/* Without those who have not joined. */
static void end_first_half(struct group *group)
{
    struct member *member;
    struct member *next;
    loop_timer_cancel(group->groups->loop, &group->round);
    DL_FOREACH_SAFE(group->members, member, next) {
        if (member->joining == NULL)
            free_member(member);
    }
    group->generation++;
    group->first_round = false;
    if (group->members == NULL) {
        group->state = GROUP_EMPTY;
        return;
    }
    if (group->leader == NULL)
        group->leader = group->members;
    free(group->protocol);
    group->protocol = choose_protocol(group, text_in(&group->leader->protocols));
    group->state = GROUP_SYNCING;
    DL_FOREACH(group->members, member)
        answer_join(member, group->leader->id);
}

static void end_first_half_if_all_joined(struct group *group)
{
    const struct member *member;
    assert(group->state == GROUP_JOINING);
    DL_FOREACH(group->members, member) {
        if (member->joining == NULL)
            return;
    }
    end_first_half(group);
}

static void on_round_end(void *ctx)
{
    end_first_half(ctx);
}

static void begin_round(struct group *group)
{
    struct member *member;
    int32_t wait_ms = 0;
    group->first_round = group->state == GROUP_EMPTY;
    group->state = GROUP_JOINING;
    DL_FOREACH(group->members, member) {
        wait_ms = member->round_ms > wait_ms ? member->round_ms : wait_ms;
        if (member->syncing != NULL)
            answer_sync(member, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
    }
    loop_timer_after(group->groups->loop, &group->round,
                     group->first_round ? GROUP_FIRST_ROUND_MS : wait_ms);
    if (!group->first_round)
        end_first_half_if_all_joined(group);
}

static void lose_member(struct member *member)
{
    struct group *group = member->group;
    free_member(member);
    if (group->state == GROUP_JOINING && !group->first_round)
        end_first_half_if_all_joined(group);
    else if (group->state == GROUP_SYNCING || group->state == GROUP_STABLE)
        begin_round(group);
}

static void on_session_end(void *ctx)
{
    struct member *member = ctx;
    if (member->joining == NULL && member->syncing == NULL)
        lose_member(member);
}

/* ---- members ---- */

static struct member *find_member(const struct group *group, struct text id)
{
    struct member *member;
    DL_FOREACH(group->members, member) {
        if (text_equal(text_of(member->id), id))
            return member;
    }
    return NULL;
}

static struct member *find_instance(const struct group *group, struct text instance)
{
    struct member *member;
    DL_FOREACH(group->members, member) {
        if (member->instance != NULL && text_equal(text_of(member->instance), instance))
            return member;
    }
    return NULL;
}

/* A new id, which no other member had: the name that the user knows it by, and a number. */
static char *new_id(const struct join *join)
{
    char *id = NULL;
    uint64_t number;
    struct text name = join->instance.data != NULL ? join->instance : join->client;
    ssize_t got = getrandom(&number, sizeof(number), 0);
    assert(got == sizeof(number));
    int size = asprintf(&id, "%.*s-%016" PRIx64, name.size < 200 ? (int)name.size : 200,
                        name.data != NULL ? name.data : "", number);
    assert(size > 0);
    return id;
}

static struct member *add_member(struct group *group, const struct join *join)
{
    struct member *member = calloc(1, sizeof(*member));
    assert(member != NULL);
    member->id = new_id(join);
    member->instance = join->instance.data != NULL ? copy(join->instance) : NULL;
    member->client = copy(join->client);
    member->group = group;
    loop_timer_init(&member->session, on_session_end, member);
    DL_APPEND(group->members, member);
    group->member_count++;
    return member;
}

/* NULL and NO_ERROR: it is not a member yet. */
static rd_kafka_resp_err_t who_joins(const struct group *group, const struct join *join,
                                     struct member **ret_member)
{
    *ret_member = join->instance.data != NULL ? find_instance(group, join->instance) : NULL;
    if (text_empty(join->member))
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    if (*ret_member != NULL && !text_equal(text_of((*ret_member)->id), join->member))
        return RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
    if (*ret_member == NULL)
        *ret_member = find_member(group, join->member);
    return *ret_member != NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
}

static rd_kafka_resp_err_t check_join(const struct join *join)
{
    if (text_empty(join->group) || memchr(join->group.data, '\0', join->group.size) != NULL)
        return RD_KAFKA_RESP_ERR_INVALID_GROUP_ID;
    if (join->session_ms < GROUP_SESSION_MS_MIN || join->session_ms > GROUP_SESSION_MS_MAX ||
        join->round_ms < 0)
        return RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Every group has a protocol that all its members know. */
static bool fits(const struct group *group, const struct join *join)
{
    if (group->member_count > 0 && !text_equal(text_of(group->kind), join->kind))
        return false;
    char *protocol = choose_protocol(group, join->protocols);
    bool found = protocol != NULL;
    free(protocol);
    return found;
}

/* A static member that is back, as another process: what it had is still its own. */
static void replace(const struct groups *groups, struct member *member, const struct join *join)
{
    if (member->joining != NULL)
        groups->ops->not_joined(member->joining, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
    if (member->syncing != NULL)
        groups->ops->synced(member->syncing, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, TEXT(""));
    member->joining = NULL;
    member->syncing = NULL;
    free(member->id);
    member->id = new_id(join);
}

static void join_round(struct member *member, bool known, bool changed, const char *leader)
{
    struct group *group = member->group;
    switch (group->state) {
    case GROUP_EMPTY:
        begin_round(group);
        break;
    case GROUP_JOINING:
        if (!group->first_round)
            end_first_half_if_all_joined(group);
        break;
    case GROUP_SYNCING:
        if (known && !changed && leader == NULL)
            answer_join(member, group->leader->id);
        else
            begin_round(group);
        break;
    case GROUP_STABLE:
        if (known && !changed && (leader != NULL || group->leader != member))
            answer_join(member, leader != NULL ? leader : group->leader->id);
        else
            begin_round(group);
        break;
    case GROUP_STATE_COUNT:
        assert(false);
    }
}

rd_kafka_resp_err_t groups_join(struct groups *groups, const struct join *join, struct peer *peer)
{
    struct member *member = NULL;
    char *leader = NULL; /* the id that a static leader had before: it does not lead by it */
    rd_kafka_resp_err_t code = check_join(join);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && !groups_add(groups, join->group))
        code = RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    struct group *group = groups_find(groups, join->group);
    code = who_joins(group, join, &member);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && !fits(group, join))
        code = RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && member == NULL &&
        group->member_count == GROUP_MEMBERS_MAX)
        code = RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    bool known = member != NULL;
    if (!known) {
        member = add_member(group, join);
        free(group->kind);
        group->kind = copy(join->kind);
    } else if (text_empty(join->member)) {
        leader = group->leader != NULL ? copy(text_of(group->leader->id)) : NULL;
        replace(groups, member, join);
    } else if (member->joining != NULL) {
        groups->ops->not_joined(member->joining, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
    }
    bool changed = !text_equal(text_in(&member->protocols), join->protocols);
    set_bytes(&member->protocols, join->protocols);
    member->session_ms = join->session_ms;
    member->round_ms = join->round_ms;
    member->joining = peer;
    join_round(member, known, changed, leader);
    free(leader);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t identify(const struct groups *groups, const struct identity *identity,
                                    struct member **ret_member)
{
    const struct group *group = groups_find(groups, identity->group);
    if (group == NULL)
        return RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
    *ret_member = find_member(group, identity->member);
    const struct member *instance =
        identity->instance.data != NULL ? find_instance(group, identity->instance) : NULL;
    if (instance != NULL && instance != *ret_member)
        return RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
    return *ret_member != NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
}

static rd_kafka_resp_err_t identify_now(const struct groups *groups,
                                        const struct identity *identity, struct member **ret_member)
{
    rd_kafka_resp_err_t code = identify(groups, identity, ret_member);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR &&
        (*ret_member)->group->generation != identity->generation)
        code = RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION;
    return code;
}

static void assign(struct group *group, struct wire assignments)
{
    struct member *member;
    int32_t count = wire_count(&assignments, 6);
    DL_FOREACH(group->members, member)
        member->assignment.size = 0;
    for (int32_t i = 0; i < count; i++) {
        member = find_member(group, wire_string(&assignments));
        struct text assignment = wire_bytes(&assignments);
        if (member != NULL)
            set_bytes(&member->assignment, assignment);
    }
    group->state = GROUP_STABLE;
    DL_FOREACH(group->members, member) {
        if (member->syncing != NULL)
            answer_sync(member, RD_KAFKA_RESP_ERR_NO_ERROR);
    }
}

rd_kafka_resp_err_t groups_sync(struct groups *groups, const struct identity *identity,
                                struct wire assignments, struct peer *peer)
{
    struct member *member = NULL;
    rd_kafka_resp_err_t code = identify_now(groups, identity, &member);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    struct group *group = member->group;
    if (group->state == GROUP_JOINING || group->state == GROUP_EMPTY)
        return RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
    if (member->syncing != NULL)
        groups->ops->synced(member->syncing, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, TEXT(""));
    member->syncing = peer;
    if (group->state == GROUP_STABLE)
        answer_sync(member, RD_KAFKA_RESP_ERR_NO_ERROR);
    else if (group->leader == member)
        assign(group, assignments);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t groups_heartbeat(struct groups *groups, const struct identity *identity)
{
    struct member *member = NULL;
    rd_kafka_resp_err_t code = identify_now(groups, identity, &member);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    keep_alive(member);
    return member->group->state == GROUP_JOINING ? RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS
                                                 : RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t groups_leave(struct groups *groups, const struct identity *identity)
{
    struct member *member = NULL;
    const struct group *group = groups_find(groups, identity->group);
    rd_kafka_resp_err_t code = identify(groups, identity, &member);
    if (group != NULL && text_empty(identity->member) && identity->instance.data != NULL) {
        member = find_instance(group, identity->instance); /* an operator removes it */
        code = member != NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    if (member->joining != NULL)
        groups->ops->not_joined(member->joining, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
    if (member->syncing != NULL)
        groups->ops->synced(member->syncing, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, TEXT(""));
    lose_member(member);
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t groups_check_commit(struct groups *groups, const struct identity *identity)
{
    struct member *member = NULL;
    const struct group *group = groups_find(groups, identity->group);
    bool has_members = group != NULL && group->member_count > 0;
    if (identity->generation < 0 && !has_members) /* a consumer without a group's help */
        return groups_add(groups, identity->group) ? RD_KAFKA_RESP_ERR_NO_ERROR
                                                   : RD_KAFKA_RESP_ERR_POLICY_VIOLATION;
    if (group == NULL)
        return RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION;
    rd_kafka_resp_err_t code = identify_now(groups, identity, &member);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && group->state == GROUP_SYNCING)
        code = RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        keep_alive(member);
    return code;
}

void groups_forget_peer(struct groups *groups, const struct peer *peer)
{
    for (const struct group *group = NULL; (group = groups_next(groups, group)) != NULL;) {
        struct member *member;
        DL_FOREACH(group->members, member) {
            if (member->joining != peer && member->syncing != peer)
                continue;
            member->joining = member->joining == peer ? NULL : member->joining;
            member->syncing = member->syncing == peer ? NULL : member->syncing;
            keep_alive(member);
        }
    }
}
