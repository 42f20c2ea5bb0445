/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow interface to Kafka: append, read from an offset, be a member of a group. client*.c
 * implements it over librdkafka; the tests have an implementation in memory for property tests and
 * the simulation.
 *
 * Everything is asynchronous and on the loop's thread: calls return at once, results arrive as
 * callbacks from the loop, never from inside the call itself and never from a librdkafka thread.
 * Texts in callbacks are borrowed for the call. */
#ifndef KAFKA_BROKER_H
#define KAFKA_BROKER_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct broker;

enum {
    BROKER_HEADERS_MAX = 21 /* that an append takes and a reader passes on; it drops the rest */
};

struct broker_header {
    struct text name;
    struct text value;
};

struct broker_record {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t timestamp; /* append time (ms) */
    struct text key;
    struct text value; /* .data NULL: a tombstone */
    struct broker_header headers[BROKER_HEADERS_MAX];
    uint32_t header_count;
    uint32_t meta_bytes; /* of the key and all headers, also those that are dropped */
};

/* ---- appending ---- */

/* LOG: acks=all, idempotent, no local timeout: it keeps the order or dies. EFFECTS: the same
 * settings on a handle of its own, so that a stuck reply topic never blocks the log; a record that
 * can never be delivered (no such topic, too large) fails with ERROR_REJECT. */
enum broker_producer { BROKER_PRODUCER_LOG, BROKER_PRODUCER_EFFECTS, BROKER_PRODUCER_COUNT };

/* error OK: acknowledged at that offset. Any other error, and offset -1: the append failed, or its
 * result is unknown; RETRY "OffsetUnknown" is an acknowledgement that does not say where the record
 * is, which may mean that it is nowhere.
 * ERROR_FATAL: the producer died and everything outstanding fails with it; the broker makes a new
 * producer by itself, and callers give up their claims (broker_producer_deaths()). */
typedef void (*broker_appended)(void *ctx, uint64_t token, int64_t offset,
                                const struct error *error);
/* Inside a `done` only: when that record was appended (ms), by the clock of the partition's leader.
 * 0: unknown, because the append failed, or the topic has CreateTime. */
int64_t broker_appended_at(const struct broker *broker);

/* By murmur2 of the key over the topic's partitions, like Java clients. */
enum { BROKER_BY_KEY = -1 };

struct broker_append {
    enum broker_producer producer;
    const char *topic;
    int32_t partition; /* or BROKER_BY_KEY */
    struct text key;
    struct text value; /* .data NULL: a tombstone */
    const struct broker_header *headers;
    uint32_t header_count;
    /* Under load, it may wait some milliseconds for other records to be sent with it
     * (append_flow.h). Not for records whose writer must die with its next append when the log
     * loses some of them: those of claims. */
    bool batches;
    broker_appended done;
    void *ctx;
    uint64_t token;
};
/* Copies key, value and headers. RETRY when the local queue is full (nothing was queued; `done` is
 * not called). */
enum error_class broker_append(struct broker *broker, const struct broker_append *append,
                               struct error *ret_error);
/* Appends without a result yet. */
uint32_t broker_outstanding(const struct broker *broker, enum broker_producer producer);
/* How often the producer has died. One that replaces another does not notice that the log has lost
 * what the other one sent, so a claim ends with the producer that wrote it. */
uint64_t broker_producer_deaths(const struct broker *broker, enum broker_producer producer);

/* ---- reading ---- */

enum { BROKER_EARLIEST = -2 };

struct broker_reader_ops {
    void (*record)(void *ctx, const struct broker_record *record);
    /* The reader is at the end of the partition: it has passed on every record below `next_offset`.
     * Called each time. May be NULL. */
    void (*end)(void *ctx, int64_t next_offset);
    /* FATAL "OffsetOutOfRange": the log starts after, or ends before, the wanted offset. FATAL
     * "UnknownTopic". RETRY: for logs and metrics only; the reader continues by itself. No callback
     * comes after FATAL. */
    void (*error)(void *ctx, const struct error *error);
};

struct broker_reader;
/* New. Reads topic[partition] from `offset` on (or BROKER_EARLIEST), without a group. At most one
 * reader per topic and partition. */
struct broker_reader *broker_read(struct broker *broker, const char *topic, int32_t partition,
                                  int64_t offset, const struct broker_reader_ops *ops, void *ctx);
/* The records from `offset` to before `next_offset` are in the log, but nothing can read them:
 * their compressed batch is broken, or too large when decompressed. */
typedef void (*broker_unreadable)(void *ctx, int64_t offset, int64_t next_offset);
/* To be called right after broker_read(): the reader reports such records to `unreadable` and goes
 * on behind them. Without it, it stops there, FATAL "Unreadable". */
void broker_reader_skip_unreadable(struct broker_reader *reader, broker_unreadable unreadable);
/* To be called right after broker_read(): records come without their headers, and `meta_bytes`
 * counts the key alone. */
void broker_reader_skip_headers(struct broker_reader *reader);
/* Backpressure. A paused reader makes no callbacks and keeps the fetched records in order. */
void broker_reader_pause(struct broker_reader *reader, bool paused);
/* No callback comes after this returns; callbacks of the reader may call it. NULL does nothing. */
void broker_reader_close(struct broker_reader *reader);

/* Queries the low and high watermark (first offset, next offset) of topic[partition]. */
typedef void (*broker_offsets_done)(void *ctx, int64_t low, int64_t high,
                                    const struct error *error);
void broker_offsets(struct broker *broker, const char *topic, int32_t partition,
                    broker_offsets_done done, void *ctx);

/* Deletes the records of topic[partition] below `before`, which is not beyond its end. *ret: where
 * the log begins now, which may be further on. REJECT "NotAuthorized", or what the topic does not
 * permit; RETRY: perhaps it is done. Deleting what is gone already succeeds. */
typedef void (*broker_deleted)(void *ctx, int64_t low, const struct error *error);
void broker_delete_records(struct broker *broker, const char *topic, int32_t partition,
                           int64_t before, broker_deleted done, void *ctx);

/* ---- membership ---- */

struct broker_group_ops {
    /* Eager protocol: all partitions that this member owns from now on. */
    void (*assigned)(void *ctx, const int32_t *partitions, uint32_t count);
    /* All partitions are revoked; the next assigned() may bring them back. `lost`: the session has
     * ended, so that other members may own them already. */
    void (*revoked)(void *ctx, bool lost);
    /* RETRY: for logs only; the member continues by itself. Otherwise the membership has ended
     * permanently, as when another process takes the place of this static member (REJECT
     * "Config"). */
    void (*error)(void *ctx, const struct error *error);
};

struct broker_group;
/* New. Joins `group` by subscribing to `topic`. It fetches nothing: use broker_read(). */
struct broker_group *broker_join(struct broker *broker, const char *group, const char *topic,
                                 const struct broker_group_ops *ops, void *ctx);
/* Commits the next offset to read. `note`: kept with it for the member that reads from there, up to
 * BROKER_NOTE_BYTES_MAX (Kafka's commit metadata); NULL = none. `done` may be NULL. */
enum { BROKER_NOTE_BYTES_MAX = 2000 };
typedef void (*broker_committed_done)(void *ctx, int32_t partition, int64_t offset,
                                      const struct error *error);
void broker_group_commit(struct broker_group *group, int32_t partition, int64_t offset,
                         const char *note, broker_committed_done done, void *ctx);
/* The committed offset, or -1 when there is none, and its note ("" = none; borrowed for the call).
 * Any client may have made both. */
typedef void (*broker_position_done)(void *ctx, int32_t partition, int64_t offset, const char *note,
                                     const struct error *error);
void broker_group_committed(struct broker_group *group, int32_t partition,
                            broker_position_done done, void *ctx);
/* The same of any group, without being a member; the note is left out. */
typedef void (*broker_group_position_done)(void *ctx, const char *group, int64_t offset,
                                           const struct error *error);
void broker_position_of(struct broker *broker, const char *group, const char *topic,
                        int32_t partition, broker_group_position_done done, void *ctx);
/* The members of the group and their partitions of its topic, according to the coordinator. RETRY:
 * unknown now, as during a rebalance. Texts and arrays are borrowed for the call; no call after
 * broker_leave. */
struct broker_member {
    const char *client_id; /* as in the member's options */
    const int32_t *partitions;
    uint32_t count;
};
typedef void (*broker_members_done)(void *ctx, const struct broker_member *members, uint32_t count,
                                    const struct error *error);
/* One query at a time for each `ctx`: another one meanwhile does nothing. False: this broker cannot
 * list members; `done` is not called. */
bool broker_group_members(struct broker_group *group, broker_members_done done, void *ctx);
/* Leaves the group and frees it; calls `left` once the broker has confirmed, or after 2 s. No other
 * callback comes after this call. */
void broker_leave(struct broker_group *group, void (*left)(void *ctx), void *ctx);

/* ---- metadata ---- */

/* The number of partitions; 0 = no such topic, -1 = the broker does not answer within timeout_ms.
 * Blocks: only at the start, and for what operators ask. */
int32_t broker_partition_count(struct broker *broker, const char *topic, int timeout_ms);
/* The same as of the last look, without waiting; it looks again where that helps. 0: not known yet,
 * -1: no such topic. */
int32_t broker_partition_count_known(struct broker *broker, const char *topic);
/* Reads the list of all topics without waiting; a look that began after this call. Then
 * broker_partition_count_known() answers by it. Not fresh: the brokers do not answer. */
typedef void (*broker_topics_read)(void *ctx, bool fresh);
void broker_read_topics(struct broker *broker, broker_topics_read done, void *ctx);
/* The number of replicas of its partitions; 0 and -1 as of broker_partition_count(); blocks. */
int32_t broker_replica_count(struct broker *broker, const char *topic, int timeout_ms);
/* Calls `changed` when the brokers report another number of partitions than `count`, once for each
 * number; some seconds later, and only for topics that this instance reads. At most
 * BROKER_WATCHES_MAX; the name and `ctx` are borrowed until broker_free. */
enum { BROKER_WATCHES_MAX = 4 };
typedef void (*broker_partitions_changed)(void *ctx, const char *topic, int32_t count);
void broker_watch(struct broker *broker, const char *topic, int32_t count,
                  broker_partitions_changed changed, void *ctx);
/* Borrowed until broker_free; NULL while unknown. Blocks like the above. */
const char *broker_cluster_id(struct broker *broker, int timeout_ms);
/* True while at least one broker connection is up (for /readyz and logs). */
bool broker_connected(const struct broker *broker);
/* True: the brokers do not answer or do not accept records; the text explains it to an operator: no
 * leader, too few replicas in sync, nothing acknowledged for a while. As of the last probe, at most
 * some seconds ago. */
bool broker_trouble(const struct broker *broker, char *ret_text, size_t size);
/* OK, or, while no broker answers, why they refuse the login: RETRY "LoginRefused"; REJECT "Config"
 * if it can never work. */
enum error_class broker_refused(const struct broker *broker, struct error *ret_error);

/* Kafka's murmur2 partitioner: (murmur2(key) & 0x7fffffff) mod count. */
int32_t broker_partition_of(struct text key, int32_t partition_count);

/* Waits for everything outstanding, up to a limit, then frees. The caller has closed all readers
 * and groups. */
void broker_free(struct broker *broker);

#endif
