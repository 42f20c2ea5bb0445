/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a group. rd_kafka_list_groups() queries all brokers; the newer
 * DescribeConsumerGroups remembers a coordinator and keeps querying that one although the group has
 * moved (librdkafka 2.0). It blocks, so it is a job. */
#include "base/bytes.h"
#include "kafka/client_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { ANSWER_MS = 3000 };

struct kafka_members {
    struct kafka_job job;
    struct kafka_members *prev;
    struct kafka_members *next;
    struct kafka_members **in; /* the caller's list; NULL: the query was dropped */
    rd_kafka_t *rk;
    char *group;
    char *topic;
    broker_members_done done;
    void *ctx;
    rd_kafka_resp_err_t code;
    const struct rd_kafka_group_list *list;
};

static void members_run(struct kafka_job *job)
{
    struct kafka_members *query = (struct kafka_members *)job;
    query->code = rd_kafka_list_groups(query->rk, query->group, &query->list, ANSWER_MS);
}

/* ---- an assignment in its wire format: version, topics with partitions, user data ---- */

struct bytes {
    const uint8_t *at;
    size_t left;
};

static bool take_int(struct bytes *bytes, size_t size, int32_t *ret_value)
{
    if (bytes->left < size)
        return false;
    *ret_value = (int32_t)bytes_get_be(bytes->at, size);
    bytes->at += size;
    bytes->left -= size;
    return true;
}

static bool take_topic(struct bytes *bytes, const char *topic, struct broker_member *member)
{
    int32_t size = 0;
    int32_t count = 0;
    if (!take_int(bytes, 2, &size) || bytes->left < (size_t)size)
        return false;
    bool is_wanted = (size_t)size == strlen(topic) && memcmp(bytes->at, topic, (size_t)size) == 0;
    bytes->at += size;
    bytes->left -= (size_t)size;
    if (!take_int(bytes, 4, &count) || count < 0 || bytes->left / 4 < (size_t)count)
        return false;
    int32_t *partitions = calloc((size_t)count + 1, sizeof(*partitions));
    assert(partitions != NULL);
    for (int32_t i = 0; i < count; i++)
        take_int(bytes, 4, &partitions[i]);
    if (!is_wanted || member->partitions != NULL) {
        free(partitions);
        return true;
    }
    member->partitions = partitions;
    member->count = (uint32_t)count;
    return true;
}

static void read_assignment(const struct rd_kafka_group_member_info *info, const char *topic,
                            struct broker_member *member)
{
    struct bytes bytes = {info->member_assignment, (size_t)info->member_assignment_size};
    int32_t version = 0;
    int32_t topics = 0;
    if (!take_int(&bytes, 2, &version) || !take_int(&bytes, 4, &topics))
        return;
    for (int32_t i = 0; i < topics && take_topic(&bytes, topic, member); i++)
        ;
}

/* ---- the result ---- */

/* The client id without the role that kafka_conf_new() appends. */
static char *client_id_of(const struct rd_kafka_group_member_info *info)
{
    static const char role[] = "-group";
    char *id = strdup(info->client_id != NULL ? info->client_id : "");
    assert(id != NULL);
    size_t size = strlen(id);
    if (size >= sizeof(role) - 1 && strcmp(id + size - (sizeof(role) - 1), role) == 0)
        id[size - (sizeof(role) - 1)] = '\0';
    return id;
}

static void report_members(const struct kafka_members *query,
                           const struct rd_kafka_group_info *info)
{
    struct error error = {.class = ERROR_OK};
    struct broker_member *members = calloc((size_t)info->member_cnt + 1, sizeof(*members));
    assert(members != NULL);
    for (int i = 0; i < info->member_cnt; i++) {
        members[i].client_id = client_id_of(&info->members[i]);
        read_assignment(&info->members[i], query->topic, &members[i]);
    }
    query->done(query->ctx, members, (uint32_t)info->member_cnt, &error);
    for (int i = 0; i < info->member_cnt; i++) {
        free((char *)members[i].client_id);
        free((int32_t *)members[i].partitions);
    }
    free(members);
}

static void report_result(const struct kafka_members *query)
{
    struct error error = {.class = ERROR_OK};
    const struct rd_kafka_group_info *info =
        query->list != NULL && query->list->group_cnt > 0 ? &query->list->groups[0] : NULL;
    if (info != NULL && info->err == RD_KAFKA_RESP_ERR_NO_ERROR &&
        strcmp(info->state, "Stable") == 0) {
        report_members(query, info);
        return;
    }
    error_set(&error, CODE_GROUP_UNKNOWN, "group %s: %s", query->group,
              info == NULL                              ? rd_kafka_err2str(query->code)
              : info->err != RD_KAFKA_RESP_ERR_NO_ERROR ? rd_kafka_err2str(info->err)
                                                        : info->state);
    query->done(query->ctx, NULL, 0, &error);
}

static void members_done(struct kafka_job *job)
{
    struct kafka_members *query = (struct kafka_members *)job;
    if (query->in != NULL) {
        DL_DELETE(*query->in, query);
        report_result(query);
    }
    if (query->list != NULL)
        rd_kafka_group_list_destroy(query->list);
    free(query->group);
    free(query->topic);
    free(query);
}

void kafka_members_query(struct kafka_client *kafka, const char *group, const char *topic,
                         broker_members_done done, void *ctx, struct kafka_members **list)
{
    struct kafka_members *query;
    DL_FOREACH(*list, query)
        if (query->ctx == ctx)
            return;
    query = calloc(1, sizeof(*query));
    assert(query != NULL);
    *query = (struct kafka_members){.job = {.run = members_run, .done = members_done},
                                    .in = list,
                                    .rk = kafka->reader_handle.rk,
                                    .group = strdup(group),
                                    .topic = strdup(topic),
                                    .done = done,
                                    .ctx = ctx};
    assert(query->group != NULL && query->topic != NULL);
    DL_APPEND(*list, query);
    kafka_jobs_submit(&kafka->jobs, &query->job);
}

void kafka_members_forget(struct kafka_members **list)
{
    struct kafka_members *query;
    DL_FOREACH(*list, query)
        query->in = NULL;
    *list = NULL;
}
