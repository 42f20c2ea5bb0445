/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of attempts on a test bench: each operation appends a line to a log, which the
 * test compares with what it expects. */
#ifndef TESTS_UNIT_AGENT_ATTEMPTS_BENCH_H
#define TESTS_UNIT_AGENT_ATTEMPTS_BENCH_H

#include "services/agent/core/attempts.h"

enum { BENCH_NOW = 1000000, BENCH_LOG_SIZE = 4096, BENCH_HELD_MAX = 16 };

struct bench {
    struct clock_manual clock;
    struct attempts_options options;
    struct attempts *attempts;
    struct agent_attempt *held[BENCH_HELD_MAX]; /* running, in the order of their starts */
    uint32_t held_count;
    struct agent_attempt *reports[BENCH_HELD_MAX];
    uint32_t report_count;
    struct agent_attempt *waits[BENCH_HELD_MAX];
    uint32_t wait_count;
    int64_t wait_ms; /* the latest */
    bool answer_at_once;
    bool remembers;
    bool remembers_accepted;
    uint64_t order_version; /* of the next request */
    uint64_t next_place;
    int64_t decision_offset;
    char log[BENCH_LOG_SIZE];
    size_t log_size;
};

/* One at a time; bench_end() when nothing is in flight any more. */
struct bench *bench_new(void);
struct agent_attempt *bench_request(struct bench *bench, const char *order,
                                    enum direction direction, uint32_t number, int64_t complete_by);
enum offer_outcome bench_offer_at(struct bench *bench, struct agent_attempt *attempt,
                                  int32_t partition);
/* A request whose deadline is a second away, on partition 0, by a Decision of its own. */
enum offer_outcome bench_offer(struct bench *bench, const char *order, enum direction direction,
                               uint32_t number);
/* Ends the oldest running call. */
void bench_succeed(struct bench *bench);
void bench_fail(struct bench *bench, enum effect effect, bool retriable, int64_t retry_after_ms);
/* A callback answers it later. */
void bench_accept(struct bench *bench);
/* Acknowledges the oldest report. */
void bench_acknowledge(struct bench *bench);
/* Ends the oldest wait. */
void bench_pass(struct bench *bench);
/* Everything since the last time. */
void bench_expect(struct bench *bench, const char *log);
void bench_end(struct bench *bench);

#endif
