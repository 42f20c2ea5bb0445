/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded broker answers: a row for each request of the Kafka protocol that it knows, in
 * api.c, and a function for each row. Versions are those before "flexible" ones, and as far back as
 * clients of Kafka 4 and librdkafka 2.0 go. */
#ifndef KAFKA_EMBEDDED_API_H
#define KAFKA_EMBEDDED_API_H

#include "kafka/embedded/catalogue.h"
#include "kafka/embedded/peers.h"
#include "kafka/embedded/wire.h"
#include "platform/loop.h"

struct groups;

/* All of it belongs to the broker's thread. */
struct embedded_node {
    struct loop *loop;
    struct catalogue *catalogue;
    struct peers *peers;
    struct groups *groups;
    struct loop_deferred appended; /* serves the fetches that wait */
    int64_t next_producer;
    void (*report)(void *ctx, const char *line);
    void *report_ctx;
    int64_t reported_ms; /* monotonic; 0: nothing yet */
};

enum {
    NODE_ID = 1, /* of the only broker */
};
#define NODE_HOST TEXT("127.0.0.1")

struct call {
    struct embedded_node *broker;
    struct peer *peer;
    int16_t version;
    struct text client; /* id */
    struct wire in;     /* the request's body */
    struct buffer *out; /* the answer's body goes here */
};

enum api_result {
    API_ANSWERED,
    API_LATER,  /* peer_answer() and peer_answered() follow; what was written is dropped */
    API_SILENT, /* the client expects no answer */
};

/* What is malformed sets call->in.bad, and closes the connection. */
typedef enum api_result (*api_handler)(struct call *call);

/* Answers each partition of each topic that a request names, in its order: `answer` reads what is
 * asked of one, at least `size` bytes, and writes its answer. */
void api_each_partition(struct call *call, size_t size,
                        void (*answer)(struct call *call, struct text topic, const void *ctx),
                        const void *ctx);
/* The same of this many topics; their number has been read. */
void api_each_partition_of(struct call *call, int32_t topics, size_t size,
                           void (*answer)(struct call *call, struct text topic, const void *ctx),
                           const void *ctx);

/* The request of `peer` from its beginning, also when it waited and may be answered now. */
void api_handle(struct embedded_node *broker, struct peer *peer);
/* The answer to a request that waited; its body follows, in the version of the request. Borrowed
 * until peer_answered(). */
struct buffer *api_answer_later(struct peer *peer, int16_t *ret_version);

/* api_records.c */
enum api_result api_produce(struct call *call);
enum api_result api_fetch(struct call *call);
enum api_result api_list_offsets(struct call *call);
enum api_result api_delete_records(struct call *call);
enum api_result api_init_producer(struct call *call);
/* A deferred call: those that wait for records may have some. */
void api_serve_fetches(void *ctx);

/* api_topics.c */
enum api_result api_metadata(struct call *call);
enum api_result api_create_topics(struct call *call);
enum api_result api_delete_topics(struct call *call);
enum api_result api_create_partitions(struct call *call);

/* api_settings.c */
enum api_result api_describe_configs(struct call *call);
enum api_result api_alter_configs(struct call *call);
enum api_result api_alter_configs_by_one(struct call *call);
enum api_result api_describe_acls(struct call *call);
enum api_result api_create_acls(struct call *call);

/* api_groups.c */
enum api_result api_find_coordinator(struct call *call);
enum api_result api_join_group(struct call *call);
enum api_result api_sync_group(struct call *call);
enum api_result api_heartbeat(struct call *call);
enum api_result api_leave_group(struct call *call);
enum api_result api_list_groups(struct call *call);
enum api_result api_describe_groups(struct call *call);
enum api_result api_delete_groups(struct call *call);

/* api_offsets.c */
enum api_result api_commit_offsets(struct call *call);
enum api_result api_fetch_offsets(struct call *call);

#endif
