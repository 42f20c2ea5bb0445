/* SPDX-License-Identifier: Apache-2.0 */
/* A circuit breaker: whether a remote service is healthy, by the outcomes of its latest calls.
 *
 *     CLOSED --too many of the window's calls failed--> OPEN --its time is over--> HALF_OPEN
 *        ^                                               ^                          |    |
 *        |                                               +---------a call failed----+    |
 *        +---------------------------enough calls in a row succeeded---------------------+
 *
 * "Failed" means that the service is unhealthy; an answer that refuses is a success. Each opening
 * in a row lasts twice as long, up to a bound. Calls that began before the circuit was last
 * half-open do not count any more. Pure: breaker.c acts on it. Times are monotonic milliseconds. */
#ifndef SERVICES_AGENT_HEALTH_CIRCUIT_H
#define SERVICES_AGENT_HEALTH_CIRCUIT_H

#include "replica/agent_table.h"

enum { CIRCUIT_BUCKETS = 10 }; /* of the window: how finely calls leave it */

struct circuit_options {
    uint32_t errors_min;     /* calls in the window before it may open; 0 = no circuit */
    uint32_t errors_percent; /* of them that failed */
    int64_t window_ms;
    int64_t open_ms; /* of the first opening in a row */
    int64_t open_ms_max;
    uint32_t successes; /* calls in a row that close it */
};

struct circuit_bucket {
    int64_t number; /* which span of time */
    uint32_t calls;
    uint32_t failed;
};

struct circuit {
    struct circuit_options options;
    enum agent_circuit state; /* AGENT_CIRCUIT_NONE: there is none, nothing ever happens */
    int64_t since_ms;         /* of the state */
    int64_t counts_from_ms;   /* calls that began earlier do not count */
    uint32_t openings;        /* in a row */
    uint32_t successes;       /* in a row, while half-open */
    struct circuit_bucket buckets[CIRCUIT_BUCKETS];
};

void circuit_init(struct circuit *circuit, const struct circuit_options *options, int64_t now_ms);
/* A call ended. True: the state has changed. */
bool circuit_ended(struct circuit *circuit, int64_t began_ms, int64_t now_ms, bool failed);
/* How long the current opening lasts. */
int64_t circuit_open_ms(const struct circuit *circuit);
/* OPEN -> HALF_OPEN */
void circuit_half_open(struct circuit *circuit, int64_t now_ms);
/* OPEN -> OPEN, for longer: the probe failed. */
void circuit_open_again(struct circuit *circuit, int64_t now_ms);
/* The most calls at the same time: UINT32_MAX closed, 0 open; half-open one, and one more for each
 * success. */
uint32_t circuit_limit(const struct circuit *circuit);

#endif
