/* SPDX-License-Identifier: Apache-2.0 */
/* A circuit breaker: whether a remote service is healthy, by the outcomes of its latest calls.
 *
 *     CLOSED --too many of the window's orders failed--> OPEN --its time is over--> HALF_OPEN
 *        ^                                                 ^                          |    |
 *        |                                                 +------an order failed-----+    |
 *        +---------------------------enough calls in a row succeeded-----------------------+
 *
 * "Failed" means that the service is unhealthy; an answer that refuses is a success. Each opening
 * in a row lasts twice as long, up to a bound. Calls that began before the circuit was last
 * half-open do not count any more.
 *
 * It counts orders, not calls: however often an order is tried, it fails once in a window, and not
 * at all if it succeeds in the end. So a few orders that the service cannot bear, which are tried
 * again and again, weigh what they are among all: a few.
 *
 * An order whose latest call failed is a known offender. Half-open, an offender's failure proves
 * nothing and is not counted, unless as many offenders fail as may open a closed circuit; its
 * success counts.
 *
 * Pure: breaker.c acts on it. Times are monotonic milliseconds. */
#ifndef SERVICES_AGENT_HEALTH_CIRCUIT_H
#define SERVICES_AGENT_HEALTH_CIRCUIT_H

#include "replica/agents/agent_table.h"

enum {
    CIRCUIT_BUCKETS = 10, /* of the window: how finely calls leave it */
    /* Offenders are kept in small sets by the order's hash; the oldest of a set goes first. */
    CIRCUIT_OFFENDER_SETS = 128,
    CIRCUIT_OFFENDER_WAYS = 8,
    CIRCUIT_OFFENDER_MS = 600000 /* from an order's latest failure until it is forgotten */
};

struct circuit_options {
    uint32_t errors_min;     /* orders in the window before it may open; 0 = no circuit */
    uint32_t errors_percent; /* of them that failed */
    int64_t window_ms;
    int64_t open_ms; /* of the first opening in a row */
    int64_t open_ms_max;
    uint32_t successes; /* calls in a row that close it */
};

struct circuit_bucket {
    int64_t number; /* which span of time */
    uint32_t orders;
    uint32_t failed; /* of them */
};

struct circuit_offender {
    bool used;
    uint64_t order;    /* hash of its id */
    int64_t failed_ms; /* latest */
    int64_t counted;   /* the bucket in which its failure counts; -1 = in none */
};

struct circuit {
    struct circuit_options options;
    enum agent_circuit state; /* AGENT_CIRCUIT_NONE: there is none, nothing ever happens */
    int64_t since_ms;         /* of the state */
    int64_t counts_from_ms;   /* calls that began earlier do not count */
    uint32_t openings;        /* in a row */
    uint32_t successes;       /* in a row, while half-open */
    uint32_t failed_again;    /* offenders, while half-open */
    struct circuit_bucket buckets[CIRCUIT_BUCKETS];
    uint32_t offender_count;
    struct circuit_offender offenders[CIRCUIT_OFFENDER_SETS][CIRCUIT_OFFENDER_WAYS];
};

void circuit_init(struct circuit *circuit, const struct circuit_options *options, int64_t now_ms);
/* A call of `order` ended. True: the state has changed. */
bool circuit_ended(struct circuit *circuit, struct text order, int64_t began_ms, int64_t now_ms,
                   bool failed);
bool circuit_is_offender(const struct circuit *circuit, struct text order, int64_t now_ms);
/* How long the current opening lasts. */
int64_t circuit_open_ms(const struct circuit *circuit);
/* OPEN -> HALF_OPEN */
void circuit_half_open(struct circuit *circuit, int64_t now_ms);
/* OPEN -> OPEN, for longer: the probe failed. */
void circuit_open_again(struct circuit *circuit, int64_t now_ms);
/* The most calls at the same time: UINT32_MAX closed, 0 open; half-open one, and one more for each
 * success. Offenders are called in addition. */
uint32_t circuit_limit(const struct circuit *circuit);

#endif
