/* SPDX-License-Identifier: Apache-2.0 */
/* The broker in memory, for property tests and the simulation: one cluster, a struct broker per
 * simulated instance, and a PRNG that decides what happens next.
 *
 * Nothing happens by itself. broker_memory_step() performs one pending action, chosen by the seed:
 * a record in flight reaches its log; an acknowledgement, a record, an end, a reply or a rebalance
 * reaches an instance. Actions of one partition and one client of a producer keep their order; all
 * others overtake each other freely. The same seed and the same calls give the same history.
 *
 * Faults: an instance is disconnected, paused (a zombie that continues later), or dead; its records
 * on the wire may still reach the log, others only after it reconnects. Producers die;
 * acknowledgements lack their offset; single appends fail; topics lose their tail or head, are made
 * again, deleted, or get more partitions; a partition fails on its own, for as long as the test
 * likes; the producers' queues are full. */
#ifndef TESTS_SIMULATION_BROKER_MEMORY_H
#define TESTS_SIMULATION_BROKER_MEMORY_H

#include "kafka/broker.h"
#include "platform/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct broker_memory_cluster;

/* Rates of faults per 1000. All 0 at first. */
struct broker_memory_faults {
    uint32_t ack_without_offset; /* appended, answered OffsetUnknown */
    uint32_t append_lost;        /* fails (RETRY) and is not in the log */
    uint32_t append_unknown;     /* fails (RETRY) and is in the log */
    uint32_t reply_failed;       /* of offsets, commits and committed offsets: RETRY */
};

/* New. Append times come from `clock`, borrowed until the cluster is freed. */
struct broker_memory_cluster *broker_memory_cluster_new(uint64_t seed, const struct clock *clock);
/* After all its brokers. NULL does nothing. */
void broker_memory_cluster_free(struct broker_memory_cluster *cluster);
void broker_memory_set_faults(struct broker_memory_cluster *cluster,
                              const struct broker_memory_faults *faults);
/* What one partition of a topic does. It goes on until the test says otherwise; readers and appends
 * that waited continue then. */
enum broker_memory_partition_fault {
    PARTITION_WORKS,
    PARTITION_NO_LEADER,    /* appends stay on their way, readers are silent, offsets: RETRY */
    PARTITION_READ_ONLY,    /* too few replicas: appends stay on their way, readers go on */
    PARTITION_HOLDS_ACKS,   /* appends arrive, and are not acknowledged */
    PARTITION_FAILS_APPEND, /* appends fail (RETRY) and are not in the log */
    PARTITION_REFUSES,      /* appends fail (REJECT), as without permission */
    PARTITION_UNREADABLE,   /* readers are silent, offsets: RETRY; appends arrive */
    PARTITION_FAULT_COUNT
};
enum { BROKER_MEMORY_ALL = -1 };
/* `partition` may be BROKER_MEMORY_ALL. A topic that is made again works. */
void broker_memory_set_partition_fault(struct broker_memory_cluster *cluster, const char *topic,
                                       int32_t partition, enum broker_memory_partition_fault fault);
/* All partitions of all topics work again. */
void broker_memory_clear_partition_faults(struct broker_memory_cluster *cluster);
/* A producer with this many appends outstanding is full: RETRY "QueueFull". */
void broker_memory_set_queue_max(struct broker_memory_cluster *cluster, uint32_t appends_max);
/* A larger record (key and value) fails with REJECT "RecordTooLarge". 4 MiB and some KiB at
 * first, as in the topics of reeve. */
void broker_memory_set_record_max(struct broker_memory_cluster *cluster, size_t bytes_max);

/* The instances do not know yet how many partitions a topic has, until this ends. */
void broker_memory_hide_partition_counts(struct broker_memory_cluster *cluster, bool hidden);
/* "memory-1" unless set. Copied. */
void broker_memory_set_cluster_id(struct broker_memory_cluster *cluster, const char *cluster_id);

/* ---- what happens next ---- */

/* Performs one pending action; false: nothing is pending. */
bool broker_memory_step(struct broker_memory_cluster *cluster);
/* Steps until nothing is pending, at most `steps_max`; returns the number of steps. */
uint64_t broker_memory_settle(struct broker_memory_cluster *cluster, uint64_t steps_max);
/* The cluster's PRNG, so that a test's own choices follow from the same seed: 0 .. bound-1. */
uint64_t broker_memory_random(struct broker_memory_cluster *cluster, uint64_t bound);
/* The PRNG begins again. */
void broker_memory_seed(struct broker_memory_cluster *cluster, uint64_t seed);

/* ---- topics and logs ---- */

/* Makes a topic; one that exists is made again: empty, from offset 0, whatever its partitions. */
void broker_memory_topic(struct broker_memory_cluster *cluster, const char *topic,
                         int32_t partitions);
/* Readers get UnknownTopic, appends REJECT. Does nothing if there is no such topic. */
void broker_memory_delete_topic(struct broker_memory_cluster *cluster, const char *topic);
/* The topic has that many partitions from now on, at least as many as before; records stay where
 * they are. */
void broker_memory_add_partitions(struct broker_memory_cluster *cluster, const char *topic,
                                  int32_t partitions);
/* The log's tail from `end` on is lost; readers beyond it get OffsetOutOfRange. A client of a
 * producer that lost records there dies with its next append to it, as Kafka's idempotent producer
 * does: its sequence numbers have a gap. (A real leader that has no record left of the client does
 * not see the gap, nor does that of the producer's other client; then the acknowledged offset is
 * not the next one.) */
void broker_memory_truncate(struct broker_memory_cluster *cluster, const char *topic,
                            int32_t partition, int64_t end);
/* Deletions of records are refused, as without the right to (REJECT). */
void broker_memory_refuse_deletions(struct broker_memory_cluster *cluster, bool refused);
/* Retention: records below `start` are gone; readers below it get OffsetOutOfRange. */
void broker_memory_trim(struct broker_memory_cluster *cluster, const char *topic, int32_t partition,
                        int64_t start);
/* From now on, broker_memory_record() still has what was trimmed. No instance does. */
void broker_memory_keep_trimmed(struct broker_memory_cluster *cluster);
/* The broker crashes, and has forgotten a part of the deletions: the log begins at `start` again,
 * not after where it does. What was trimmed is kept for that. */
void broker_memory_forget_trim(struct broker_memory_cluster *cluster, const char *topic,
                               int32_t partition, int64_t start);
/* From now on, readers below a log's start go on there without an error, as a consumer does whose
 * client resets its offset. */
void broker_memory_reset_readers(struct broker_memory_cluster *cluster);
/* Appends a third-party client's record at once; returns its offset. */
int64_t broker_memory_append(struct broker_memory_cluster *cluster, const char *topic,
                             int32_t partition, struct text key, struct text value);
/* The same, with headers. */
int64_t broker_memory_append_headers(struct broker_memory_cluster *cluster, const char *topic,
                                     int32_t partition, struct text key, struct text value,
                                     const struct broker_header *headers, uint32_t header_count);
/* Readers cannot read the records from `offset` to before `next_offset`, for ever: their compressed
 * batch is broken. */
void broker_memory_break_batch(struct broker_memory_cluster *cluster, const char *topic,
                               int32_t partition, int64_t offset, int64_t next_offset);
/* First and next offset; both 0 for a topic that does not exist. */
void broker_memory_bounds(const struct broker_memory_cluster *cluster, const char *topic,
                          int32_t partition, int64_t *ret_low, int64_t *ret_high);
/* The record at an offset, borrowed until the log changes; false: there is none. */
bool broker_memory_record(const struct broker_memory_cluster *cluster, const char *topic,
                          int32_t partition, int64_t offset, struct broker_record *ret_record);

/* ---- instances ---- */

/* New: an instance's connection to the cluster, to be freed by broker_free. `name` is copied. */
struct broker *broker_memory_new(struct broker_memory_cluster *cluster, const char *name);
/* No callbacks, no new records in the logs except some on the wire; queries fail. */
void broker_memory_disconnect(struct broker *broker);
void broker_memory_connect(struct broker *broker);
/* SIGSTOP: the same, but queries get no result either. */
void broker_memory_pause(struct broker *broker);
void broker_memory_continue(struct broker *broker);
/* SIGKILL: no callback comes any more; its members leave their groups when they expire. Its records
 * on the wire may still reach the logs. The owner frees its objects as usual: closing readers and
 * groups and freeing the broker only free memory. */
void broker_memory_kill(struct broker *broker);
/* How often the instance has begun to read a partition, or asked for its ends (each of them waits
 * in a real client for the fetch that is outstanding), or for the list of topics. */
uint64_t broker_memory_requests(const struct broker *broker);
/* The instance has a reader of the partition. */
bool broker_memory_reads(const struct broker *broker, const char *topic, int32_t partition);
/* librdkafka's fatal error: everything that the producer has outstanding fails with FATAL in one
 * of the next steps; what was on the wire may still reach the logs. */
void broker_memory_fail_producer(struct broker *broker, enum broker_producer producer);

/* ---- groups ---- */

/* A third-party client commits this offset for `group`; -1: the offset is gone. */
void broker_memory_commit(struct broker_memory_cluster *cluster, const char *group,
                          const char *topic, int32_t partition, int64_t offset);

/* The members of `group` share the partitions of its topic again: those that own something get
 * revoked(), then each gets assigned(). Expired members are left out and get revoked(lost)
 * once they are reachable. */
void broker_memory_rebalance(struct broker_memory_cluster *cluster, const char *group);
/* The session of this instance's member ends. A running instance joins again by the next
 * rebalance in which it is reachable. */
void broker_memory_expire(struct broker *broker, const char *group);
/* Assigns partitions to one member, whatever the others own (after revoked(), if it owns
 * something). */
void broker_memory_assign(struct broker *broker, const char *group, const int32_t *partitions,
                          uint32_t count);
/* Takes everything from one member. */
void broker_memory_revoke(struct broker *broker, const char *group, bool lost);

#endif
