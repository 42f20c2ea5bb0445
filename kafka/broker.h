/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow interface to Kafka: append, read from an offset, be a member of a group. One
 * implementation over librdkafka (client.c), one in memory (broker_memory.c) for property
 * tests and the simulation.
 *
 * Everything is asynchronous and on the loop thread: calls return at once, results arrive as
 * callbacks from the loop (never from inside the call that asked, never from a librdkafka thread).
 * Texts in callbacks are borrowed for the call.
 */
#ifndef KAFKA_BROKER_H
#define KAFKA_BROKER_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct broker;

enum { BROKER_HEADERS_MAX = 12 };

struct broker_header {
    struct text name;
    struct text value;
};

struct broker_record {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t timestamp; /* append time (ms); the producer's where the broker has none (embedded) */
    struct text key;
    struct text value; /* .data NULL: a tombstone */
    struct broker_header headers[BROKER_HEADERS_MAX];
    uint32_t header_count;
};

/* ---- appending ---- */

/* LOG: acks=all, idempotent, no local timeout: order is kept or the producer dies. EFFECTS: the
 * same settings on a handle of its own, so that a stuck reply topic never blocks the log; a record
 * that can never be delivered (no such topic, too large) fails with ERROR_REJECT. */
enum broker_producer { BROKER_PRODUCER_LOG, BROKER_PRODUCER_EFFECTS, BROKER_PRODUCER_COUNT };

/* offset >= 0 and error OK: acknowledged there. offset -1 with OK: acknowledged, the offset is
 * unknown (a duplicate). Otherwise it failed or its fate is unknown; ERROR_FATAL: the producer died
 * and everything outstanding fails likewise (a new one is made by itself; claims must be given up).
 */
typedef void (*broker_appended)(void *ctx, uint64_t token, int64_t offset,
                                const struct error *error);

/* murmur2 of the key over the partitions that the topic has, as Java's clients choose. */
enum { BROKER_BY_KEY = -1 };

struct broker_append {
    enum broker_producer producer;
    const char *topic;
    int32_t partition; /* or BROKER_BY_KEY */
    struct text key;
    struct text value; /* .data NULL: a tombstone */
    const struct broker_header *headers;
    uint32_t header_count;
    broker_appended done;
    void *ctx;
    uint64_t token;
};
/* Copies key, value and headers. RETRY when the local queue is full (nothing was queued; `done` is
 * not called). */
enum error_class broker_append(struct broker *broker, const struct broker_append *append,
                               struct error *ret_error);
/* Records appended and not yet answered. */
uint32_t broker_outstanding(const struct broker *broker, enum broker_producer producer);

/* ---- reading ---- */

enum { BROKER_EARLIEST = -2 };

struct broker_reader_ops {
    void (*record)(void *ctx, const struct broker_record *record);
    /* The end of the partition was reached: every record below `next_offset` was handed over.
     * Called each time it is reached. */
    void (*end)(void *ctx, int64_t next_offset);
    /* FATAL "OffsetOutOfRange": the log starts after, or ends before, where we wanted to read.
     * FATAL "UnknownTopic". RETRY: reported for logs and metrics only, reading goes on by itself.
     * After FATAL nothing more comes. */
    void (*error)(void *ctx, const struct error *error);
};

struct broker_reader;
/* New. Reads topic[partition] from `offset` on (or BROKER_EARLIEST), without a group. At most one
 * reader per topic and partition. */
struct broker_reader *broker_read(struct broker *broker, const char *topic, int32_t partition,
                                  int64_t offset, const struct broker_reader_ops *ops, void *ctx);
/* Backpressure. While paused no callbacks come (records already fetched are kept, in order).
 * Idempotent. */
void broker_reader_pause(struct broker_reader *reader, bool paused);
/* No callbacks after this returns; may be called from inside a callback of the same reader. NULL is
 * fine. */
void broker_reader_close(struct broker_reader *reader);

/* Low and high watermark (first offset, next offset) of topic[partition], asked from the broker. */
typedef void (*broker_offsets_done)(void *ctx, int64_t low, int64_t high,
                                    const struct error *error);
void broker_offsets(struct broker *broker, const char *topic, int32_t partition,
                    broker_offsets_done done, void *ctx);

/* ---- membership ---- */

struct broker_group_ops {
    /* Eager protocol: the set that is owned from now on. Called on the loop after the rebalance
     * callback has returned. */
    void (*assigned)(void *ctx, const int32_t *partitions, uint32_t count);
    /* All are revoked (they may come back in the next assigned()). `lost`: the session has ended,
     * others may own them already. */
    void (*revoked)(void *ctx, bool lost);
    /* RETRY: for the log only, it goes on by itself. Else the membership is over for good, as when
     * another process has taken the place of this static member (REJECT "Config"). */
    void (*error)(void *ctx, const struct error *error);
};

struct broker_group;
/* New. Joins `group` by subscribing to `topic`; fetches nothing: partitions are read with
 * broker_read(). */
struct broker_group *broker_join(struct broker *broker, const char *group, const char *topic,
                                 const struct broker_group_ops *ops, void *ctx);
/* Commits "next offset to read". Asynchronous; failures are logged by the caller's `done` (may be
 * NULL). */
typedef void (*broker_committed_done)(void *ctx, int32_t partition, int64_t offset,
                                      const struct error *error);
void broker_group_commit(struct broker_group *group, int32_t partition, int64_t offset,
                         broker_committed_done done, void *ctx);
/* The committed offset, or -1 when there is none. */
void broker_group_committed(struct broker_group *group, int32_t partition,
                            broker_committed_done done, void *ctx);
/* Who is in the group, and which partitions of its topic each has, as the coordinator tells it.
 * RETRY: nobody could tell now, as while it rebalances. Texts and arrays are borrowed for the call;
 * no call after broker_leave. */
struct broker_member {
    const char *client_id; /* as in the member's options */
    const int32_t *partitions;
    uint32_t count;
};
typedef void (*broker_members_done)(void *ctx, const struct broker_member *members, uint32_t count,
                                    const struct error *error);
/* One question at a time. False: there is nobody to ask (embedded, in memory), `done` is not
 * called. */
bool broker_group_members(struct broker_group *group, broker_members_done done, void *ctx);
/* Leaves the group and frees it; `left` is called when the broker has been told (or after 2 s). No
 * other callbacks after this call. */
void broker_leave(struct broker_group *group, void (*left)(void *ctx), void *ctx);

/* ---- metadata ---- */

/* The number of partitions, 0 = no such topic, -1 = the broker does not answer (within timeout_ms;
 * blocking: only at start or for rare checks such as a reply topic that is not in the cache). */
int32_t broker_partition_count(struct broker *broker, const char *topic, int timeout_ms);
/* NUL-terminated, valid as long as the broker; NULL while unknown. Blocking like the above. */
const char *broker_cluster_id(struct broker *broker, int timeout_ms);
/* False: append times are not real (embedded): skip clock checks. */
bool broker_has_append_time(const struct broker *broker);
/* True while at least one broker connection is up (for /readyz and logs). */
bool broker_connected(const struct broker *broker);
/* True: the brokers do not answer, or do not take records; the text says so to an operator: no
 * leader, too few replicas in sync, nothing acknowledged for a while. As of the last look, at most
 * some seconds ago. */
bool broker_trouble(const struct broker *broker, char *ret_text, size_t size);

/* Kafka's murmur2 partitioner: (murmur2(key) & 0x7fffffff) mod count. */
int32_t broker_partition_of(struct text key, int32_t partition_count);

/* Waits for everything outstanding (at most timeout_ms), then frees. All readers and groups were
 * closed before. */
void broker_free(struct broker *broker);

#endif
