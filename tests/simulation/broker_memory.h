/* SPDX-License-Identifier: Apache-2.0 */
/* The broker in memory, for property tests and the simulation: one cluster, a struct broker per
 * simulated instance, and a PRNG that decides what happens next.
 *
 * Nothing happens by itself. broker_memory_step() performs one pending action, chosen by the seed:
 * a record in flight reaches its log; an acknowledgement, a record, an end, a reply or a rebalance
 * reaches an instance. Actions of one partition and producer keep their order; all others overtake
 * each other freely. The same seed and the same calls give the same history.
 *
 * Faults: an instance is disconnected, paused (a zombie that continues later), or dead; its records
 * on the wire may still reach the log, others only after it reconnects. Producers die;
 * acknowledgements lack their offset; single appends fail; topics lose their tail or head or are
 * made again. */
#ifndef TESTS_SIMULATION_BROKER_MEMORY_H
#define TESTS_SIMULATION_BROKER_MEMORY_H

#include "kafka/broker.h"
#include "platform/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct broker_memory_cluster;

/* Rates of faults per 1000. All 0 at first. */
struct broker_memory_faults {
    uint32_t ack_without_offset; /* acknowledged, offset -1 */
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
/* "memory-1" unless set. Copied. */
void broker_memory_set_cluster_id(struct broker_memory_cluster *cluster, const char *cluster_id);

/* ---- what happens next ---- */

/* Performs one pending action; false: nothing is pending. */
bool broker_memory_step(struct broker_memory_cluster *cluster);
/* Steps until nothing is pending, at most `steps_max`; returns the number of steps. */
uint64_t broker_memory_settle(struct broker_memory_cluster *cluster, uint64_t steps_max);
/* The cluster's PRNG, so that a test's own choices follow from the same seed: 0 .. bound-1. */
uint64_t broker_memory_random(struct broker_memory_cluster *cluster, uint64_t bound);

/* ---- topics and logs ---- */

/* Makes a topic; one that exists is made again: empty, from offset 0, whatever its partitions. */
void broker_memory_topic(struct broker_memory_cluster *cluster, const char *topic,
                         int32_t partitions);
/* The log's tail from `end` on is lost; readers beyond it get OffsetOutOfRange. */
void broker_memory_truncate(struct broker_memory_cluster *cluster, const char *topic,
                            int32_t partition, int64_t end);
/* Retention: records below `start` are gone; readers below it get OffsetOutOfRange. */
void broker_memory_trim(struct broker_memory_cluster *cluster, const char *topic, int32_t partition,
                        int64_t start);
/* Appends a third-party client's record at once; returns its offset. */
int64_t broker_memory_append(struct broker_memory_cluster *cluster, const char *topic,
                             int32_t partition, struct text key, struct text value);
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
/* librdkafka's fatal error: everything that the producer has outstanding fails with FATAL in one
 * of the next steps; what was on the wire may still reach the logs. */
void broker_memory_fail_producer(struct broker *broker, enum broker_producer producer);

/* ---- groups ---- */

/* The members of `group` share the partitions of its topic anew: those that own something get
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
