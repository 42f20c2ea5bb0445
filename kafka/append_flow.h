/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a producer's two clients takes an append: one sends at once, the other waits some
 * milliseconds for more records to send with it. Brokers spend their CPU time on requests, so that
 * batches pay under load; one record alone would only wait.
 *
 * The records of a partition keep their order, because the partition changes its client only while
 * nothing of it is in flight. The broker in memory uses the same rule. Pure. */
#ifndef KAFKA_APPEND_FLOW_H
#define KAFKA_APPEND_FLOW_H

#include <stdbool.h>
#include <stdint.h>

enum append_client { APPEND_AT_ONCE, APPEND_BATCHED, APPEND_CLIENT_COUNT };

/* Of one partition. Zeroed at first. */
struct append_flow {
    uint32_t in_flight;
    enum append_client client; /* that has them */
};

/* The client that takes the next append: `wanted`, if nothing is in flight. */
enum append_client append_flow_begin(struct append_flow *flow, enum append_client wanted);
/* An append has its result, or will not have one. */
void append_flow_end(struct append_flow *flow);

enum { APPEND_RATE_COUNT = 48, APPEND_RATE_MS = 16 };

/* The times of the latest appends of a producer, over all its partitions. */
struct append_rate {
    int64_t times_ms[APPEND_RATE_COUNT];
    uint32_t next;  /* the oldest one, once all are there */
    uint32_t count; /* up to APPEND_RATE_COUNT */
};

/* Notes an append. True: with it, more than APPEND_RATE_COUNT arrived in the last APPEND_RATE_MS,
 * so that batches pay. */
bool append_rate_note(struct append_rate *rate, int64_t now_ms);

#endif
