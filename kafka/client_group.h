/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a group, for client_group.c (membership) and client_offsets.c. */
#ifndef KAFKA_CLIENT_GROUP_H
#define KAFKA_CLIENT_GROUP_H

#include "kafka/client_internal.h"
#include "kafka/fences.h"

/* A commit or a query for a committed offset without a result yet. */
struct offset_call {
    struct offset_call *prev;
    struct offset_call *next;
    broker_committed_done done;    /* of a commit; may be NULL */
    broker_position_done position; /* of a query */
    void *ctx;
    int32_t partition;
    int64_t offset;
    enum { COMMIT, QUERY, QUERY_RUNNING } state; /* running: in a job */
};

struct kafka_group {
    struct broker_group base;
    struct kafka_client *kafka;
    struct kafka_group *prev;
    struct kafka_group *next;
    struct kafka_handle handle;
    const struct broker_group_ops *ops;
    void *ctx;
    char *name;
    char *topic;
    struct offset_call *calls;
    struct kafka_members *members; /* the queries in progress; NULL: none */
    bool querying;                 /* a job queries committed offsets with this client */
    bool ended;                    /* the job in progress owns the client and this struct */
    bool owning;                   /* assigned() was called, revoked() not yet */
    /* A static member that is fenced joins again with a new client, which sends nothing of the old
     * one. */
    struct fences fences;
    bool fenced; /* this client is dead; `rejoin_timer` replaces it */
    bool leaving;
    struct error *open_error; /* the client failed to open; `begin` reports it */
    struct loop_deferred begin;
    struct loop_deferred query;
    struct loop_deferred leave;
    struct loop_timer poll_timer;
    struct loop_timer rejoin_timer;
    int64_t leave_deadline_ms;
    void (*left)(void *ctx);
    void *left_ctx;
};

/* client_group.c */
/* Nothing refers to it any more, no job either. */
void kafka_group_free(struct kafka_group *group);

/* client_offsets.c */
/* Answers the commit that the event is about. */
void kafka_group_on_commit(struct kafka_group *group, rd_kafka_event_t *event);
/* Requests that waited for the dead client get no result from it any more. */
void kafka_group_fail_commits(struct kafka_group *group);
/* Without answers. A query that a job makes goes on. */
void kafka_group_drop_calls(struct kafka_group *group);
/* Of group->query: sends the queries that wait. */
void kafka_group_on_query(void *ctx);

#endif
