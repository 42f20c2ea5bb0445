/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that implement broker_memory.h. */
#ifndef TESTS_SIMULATION_BROKER_MEMORY_INTERNAL_H
#define TESTS_SIMULATION_BROKER_MEMORY_INTERNAL_H

#include "base/limits.h"
#include "kafka/append_flow.h"
#include "kafka/broker_ops.h"
#include "platform/hash_table.h"
#include "tests/simulation/broker_memory.h"

#include <utlist.h>

enum { MEMORY_OUTSTANDING_MAX = 100000, MEMORY_RECORD_SLACK = 64 * 1024 };

/* ---- logs (broker_memory_log.c) ---- */

struct memory_record {
    int64_t timestamp;
    uint64_t writer; /* the number of the producer's client; 0: a third party's */
    struct text key;
    struct text value;
    uint32_t header_count;
    uint32_t meta_bytes;
    struct broker_header headers[]; /* the bytes of all texts follow them */
};

struct memory_log {
    enum broker_memory_partition_fault fault;
    int64_t broken_from; /* a batch that readers cannot read */
    int64_t broken_to;
    int64_t low;
    int64_t first; /* low, or what is kept for the test's own eyes */
    size_t count;
    size_t size;
    struct memory_record **records; /* of offsets first .. first + count - 1 */
    uint64_t *losers;               /* producers whose last records here are lost */
    size_t loser_count;
};

struct memory_topic {
    int32_t partition_count;
    struct memory_log *logs;
    UT_hash_handle hh;
    char name[];
};

/* New: everything copied. */
struct memory_record *memory_record_new(struct text key, struct text value,
                                        const struct broker_header *headers, uint32_t count);
/* NULL: no such topic or partition. */
struct memory_log *memory_log_find(const struct broker_memory_cluster *cluster, const char *topic,
                                   int32_t partition);
/* What the partition does now; one that does not exist works. */
enum broker_memory_partition_fault memory_fault_of(const struct broker_memory_cluster *cluster,
                                                   const char *topic, int32_t partition);
/* Takes the record; its offset. */
int64_t memory_log_add(struct broker_memory_cluster *cluster, struct memory_log *log,
                       struct memory_record *record);
/* The leader lacks records of this producer, so that it expects another sequence number. */
bool memory_log_has_lost(const struct memory_log *log, uint64_t writer);
static inline int64_t memory_log_end(const struct memory_log *log)
{
    return log->first + (int64_t)log->count;
}
void memory_record_view(const struct memory_log *log, const char *topic, int32_t partition,
                        int64_t offset, struct broker_record *ret_record);
void memory_topics_free(struct broker_memory_cluster *cluster);

/* ---- appends on their way (broker_memory_append.c) ---- */

struct memory_append {
    struct memory_append *prev;
    struct memory_append *next;
    struct memory_record *record; /* NULL once it is in the log or lost */
    bool on_wire;                 /* may arrive although its sender is gone */
    bool arrived;
    int64_t offset;
    int64_t appended_at; /* 0: it is not in the log */
    struct error error;
    broker_appended done; /* NULL: the sender is gone */
    void *ctx;
    uint64_t token;
};

/* What one client of a producer sends to one partition: in order. The producer's other client may
 * overtake it; that nothing is sent through both at a time is up to the partition's flow. */
struct memory_channel {
    struct memory_channel *prev;
    struct memory_channel *next;
    struct memory_broker *broker; /* NULL: its sender is gone */
    enum broker_producer producer;
    enum append_client client;
    int32_t partition;
    struct memory_append *appends;
    char topic[];
};

/* What one producer has in flight to one partition; there while it has something. */
struct memory_flow {
    struct memory_flow *prev;
    struct memory_flow *next;
    enum broker_producer producer;
    int32_t partition;
    struct append_flow state;
    char topic[];
};

/* Whether the first append that is not in the log yet may arrive now. */
struct memory_append *memory_channel_may_arrive(const struct broker_memory_cluster *cluster,
                                                const struct memory_channel *channel);
/* Whether the first append may be answered now. */
struct memory_append *memory_channel_may_answer(const struct broker_memory_cluster *cluster,
                                                const struct memory_channel *channel);
void memory_channel_arrive(struct broker_memory_cluster *cluster, struct memory_channel *channel,
                           struct memory_append *append);
void memory_channel_answer(struct broker_memory_cluster *cluster, struct memory_channel *channel,
                           struct memory_append *append);
/* A random first part of what the broker has sent is on the wire from now on. */
void memory_channels_cut(struct memory_broker *broker);
/* The same; the rest is dropped, and no result is reported any more. */
void memory_channels_orphan(struct memory_broker *broker, enum broker_producer producer);
void memory_new_writers(struct memory_broker *broker, enum broker_producer producer);
void memory_fail_deliver(struct memory_broker *broker, enum broker_producer producer);
void memory_channels_free(struct broker_memory_cluster *cluster);

enum error_class memory_append(struct broker *broker, const struct broker_append *append,
                               struct error *ret_error);
uint32_t memory_outstanding(const struct broker *broker, enum broker_producer producer);
uint64_t memory_deaths(const struct broker *broker, enum broker_producer producer);

/* ---- readers (broker_memory_reader.c) ---- */

struct memory_reader {
    struct broker_reader base;
    struct memory_reader *prev;
    struct memory_reader *next;
    struct memory_broker *broker;
    const struct broker_reader_ops *ops;
    void *ctx;
    int32_t partition;
    int64_t next_offset; /* or BROKER_EARLIEST */
    int64_t told_end;    /* end() was called for it; -1 = not since the last record */
    bool paused;
    bool failed;
    char topic[];
};

/* Nothing can be read from the partition, and its offsets are not known. */
bool memory_is_silent(const struct broker_memory_cluster *cluster, const char *topic,
                      int32_t partition);
bool memory_reader_may_speak(struct memory_reader *reader);
/* One callback, which may close the reader. */
void memory_reader_speak(struct memory_reader *reader);
struct broker_reader *memory_read(struct broker *base, const char *topic, int32_t partition,
                                  int64_t offset, const struct broker_reader_ops *ops, void *ctx);
void memory_reader_pause(struct broker_reader *base, bool paused);
void memory_reader_close(struct broker_reader *base);

/* ---- replies (broker_memory_reply.c) ---- */

enum memory_reply_kind {
    MEMORY_REPLY_OFFSETS,
    MEMORY_REPLY_COMMITTED,
    MEMORY_REPLY_POSITION,
    MEMORY_REPLY_GROUP_POSITION,
    MEMORY_REPLY_DELETED,
    MEMORY_REPLY_MEMBERS,
    MEMORY_REPLY_TOPICS,
    MEMORY_REPLY_LEFT
};

struct memory_reply {
    struct memory_reply *prev;
    struct memory_reply *next;
    enum memory_reply_kind kind;
    struct memory_group *group; /* who asked: forgotten when it leaves; NULL: the broker */
    union {
        broker_offsets_done offsets;
        broker_committed_done committed; /* may be NULL */
        broker_position_done position;
        broker_members_done members;
        broker_group_position_done group_position;
        broker_deleted deleted;
        broker_topics_read topics;
        void (*left)(void *ctx);
    } done;
    void *ctx;
    int32_t partition;
    int64_t low;
    int64_t high; /* also the committed offset */
    char *note;   /* NULL = none; also the group, or the topic of which records are deleted */
    struct error error;
};

/* New, among those of the broker; its error is set if the broker cannot be asked. */
struct memory_reply *memory_reply_new(struct memory_broker *broker, enum memory_reply_kind kind,
                                      void *ctx);
void memory_reply_free(struct memory_reply *reply);
/* The first of the broker's. */
void memory_reply_deliver(struct memory_broker *broker);
void memory_offsets(struct broker *base, const char *topic, int32_t partition,
                    broker_offsets_done done, void *ctx);
void memory_read_topics(struct broker *base, broker_topics_read done, void *ctx);
void memory_delete_records(struct broker *base, const char *topic, int32_t partition,
                           int64_t before, broker_deleted done, void *ctx);

/* ---- groups (broker_memory_group.c) ---- */

struct memory_group_event {
    struct memory_group_event *prev;
    struct memory_group_event *next;
    bool assigned; /* else revoked */
    uint64_t generation;
    bool lost;
    uint32_t count;
    int32_t partitions[];
};

struct memory_group {
    struct broker_group base;
    struct memory_group *prev;
    struct memory_group *next;
    struct memory_broker *broker;
    const struct broker_group_ops *ops;
    void *ctx;
    bool owning;         /* once all its events were delivered */
    uint64_t generation; /* of the last assignment that it knows */
    bool expired;        /* not a member until the next rebalance in which it can be heard */
    int32_t *partitions; /* that the coordinator has given it */
    uint32_t partition_count;
    char *topic;
    struct memory_group_event *events;
    char name[];
};

struct memory_commit {
    int64_t offset;                   /* -1: none was committed */
    char *note;                       /* NULL = none */
    const struct memory_group *owner; /* compared only: it may be gone */
    uint64_t owned_since;             /* the generation in which it was given to this owner */
    UT_hash_handle hh;
    char key[]; /* group, topic and partition */
};

void memory_group_deliver(struct memory_group *group);
void memory_group_free(struct memory_group *group);
void memory_commits_free(struct broker_memory_cluster *cluster);
struct broker_group *memory_join(struct broker *broker, const char *group, const char *topic,
                                 const struct broker_group_ops *ops, void *ctx);
void memory_group_commit(struct broker_group *group, int32_t partition, int64_t offset,
                         const char *note, broker_committed_done done, void *ctx);
void memory_group_committed(struct broker_group *group, int32_t partition,
                            broker_position_done done, void *ctx);
bool memory_group_members(struct broker_group *group, broker_members_done done, void *ctx);
void memory_position_of(struct broker *base, const char *group, const char *topic,
                        int32_t partition, broker_group_position_done done, void *ctx);
void memory_group_answer_members(const struct memory_reply *reply);
void memory_leave(struct broker_group *group, void (*left)(void *ctx), void *ctx);

/* ---- instances and the cluster (broker_memory.c) ---- */

/* A topic whose number of partitions must not change. */
struct memory_watch {
    const char *topic; /* NULL: free */
    int32_t count;
    broker_partitions_changed changed;
    void *ctx;
};

struct memory_broker {
    struct broker base;
    struct memory_broker *prev;
    struct memory_broker *next;
    struct broker_memory_cluster *cluster;
    bool disconnected;
    bool paused;
    bool dead;
    uint32_t outstanding[BROKER_PRODUCER_COUNT];
    uint64_t deaths[BROKER_PRODUCER_COUNT];
    /* Numbers of its producers' clients, new after each death. */
    uint64_t writers[BROKER_PRODUCER_COUNT][APPEND_CLIENT_COUNT];
    struct memory_append *failed[BROKER_PRODUCER_COUNT]; /* to be answered with FATAL */
    struct memory_flow *flows;
    struct memory_reader *readers;
    struct memory_group *groups;
    struct memory_reply *replies;
    struct memory_watch watches[BROKER_WATCHES_MAX];
    uint64_t requests; /* see broker_memory_requests() */
    char name[];
};

struct broker_memory_cluster {
    uint64_t random;
    uint64_t client_random; /* chooses the clients alone, so that no history depends on them */
    const struct clock *clock;
    bool hides_partition_counts;
    bool resets_readers; /* to the log's start */
    struct broker_memory_faults faults;
    uint32_t faulty; /* at least as many partitions as have a fault; 0: none */
    uint32_t outstanding_max;
    size_t record_max;
    bool resized; /* a topic may have another number of partitions than at first */
    char *cluster_id;
    struct memory_topic *topics; /* by name */
    struct memory_channel *channels;
    struct memory_broker *brokers;
    bool refuses_deletions;
    bool keeps_trimmed;
    struct memory_commit *commits; /* by key */
    uint64_t generation;           /* of the groups: rises with each assignment */
    uint64_t writers;              /* clients of producers so far */
};

/* Whether callbacks of the instance may run. */
static inline bool memory_hears(const struct memory_broker *broker)
{
    return !broker->disconnected && !broker->paused && !broker->dead;
}
/* One of the producer's clients, as if the rate of appends changed all the time. */
enum append_client memory_any_client(struct broker_memory_cluster *cluster);
/* With that probability of 1000. */
bool memory_chance(struct broker_memory_cluster *cluster, uint32_t permille);
/* New, zeroed, of `size` and the string's bytes; the string is copied behind the struct. */
void *memory_new_named(size_t size, const char *name);

static inline struct memory_broker *memory_of(const struct broker *broker)
{
    return (struct memory_broker *)broker;
}

#endif
