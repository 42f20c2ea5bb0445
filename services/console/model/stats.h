/* SPDX-License-Identifier: Apache-2.0 */
/* Figures from one partition's log, of the last minutes and the orders under way: rates,
 * durations, steps in flight, causes of errors.
 *
 * It is the index of the partition's view (replica/fold/view.h): kept in the store together with
 * the checkpoint, so that a restart loses nothing and counts nothing twice. Times are those of the
 * Decisions. Memory is bounded: what exceeds the limits is counted together as one. */
#ifndef SERVICES_CONSOLE_MODEL_STATS_H
#define SERVICES_CONSOLE_MODEL_STATS_H

#include "platform/hash_table.h"
#include "replica/fold/view.h"

enum {
    STATS_STEP_MS = 10000,
    STATS_BUCKETS = 90,              /* of STATS_STEP_MS: 15 minutes */
    STATS_WINDOW_MS = 3 * 60 * 1000, /* of durations */
    STATS_WINDOWS = 5,               /* 15 minutes; the oldest one is partly over */
    STATS_DURATIONS = 128,           /* classes: a duration is known to within a fourth */
    STATS_STEPS_MAX = 256,           /* of workflows and steps, in flight and for durations */
    STATS_ERRORS_MAX = 200,          /* causes */
    STATS_MESSAGE_MAX = 200,         /* bytes of a message's pattern that tell causes apart */
    STATS_KEY_MAX =
        BODY_NAME_BYTES_MAX + 1 + NAME_BYTES_MAX + 1 + ERROR_NAME_BYTES_MAX + 1 + STATS_MESSAGE_MAX
};

enum stats_rate {
    STATS_SUBMITTED,
    STATS_PROCESSED,
    STATS_COMPENSATED,
    STATS_ERROR,
    STATS_RATE_COUNT
};

/* A text of a key: what lies between its zeros. */
struct stats_group { /* orders that have something in common */
    UT_hash_handle hh;
    int64_t orders;
    int64_t latest_at; /* causes: when an order last came to it */
    uint32_t message_size;
    char message[STATS_MESSAGE_MAX]; /* of that order */
    uint32_t key_size;
    char key[STATS_KEY_MAX];
};

struct stats_durations { /* of a step; of the whole order if its name is empty */
    UT_hash_handle hh;
    struct {
        int64_t number; /* time / STATS_WINDOW_MS */
        uint32_t counts[STATS_DURATIONS];
    } windows[STATS_WINDOWS];
    uint32_t key_size;
    char key[STATS_KEY_MAX]; /* workflow | 0 | step */
};

struct stats {
    struct {
        int64_t number; /* time / STATS_STEP_MS */
        uint32_t counts[STATS_RATE_COUNT];
    } rates[STATS_BUCKETS];
    struct stats_durations *durations;
    struct stats_group *steps; /* with a step in flight: workflow | 0 | step */
    /* In Error: workflow | 0 | step | 0 | error name | 0 | pattern (cause_pattern.h) of messages */
    struct stats_group *causes;
    int64_t other_steps;  /* orders beyond STATS_STEPS_MAX */
    int64_t other_causes; /* orders beyond STATS_ERRORS_MAX */
};

/* ctx is a struct stats of zeros. */
extern const struct view_index stats_index;
/* Orders that have not ended wait in this queue since they were accepted: the oldest one first. */
#define STATS_UNFINISHED TEXT("unfinished")
/* Orders in Error wait in this one since their step failed; if no step did, since their last
 * change. */
#define STATS_IN_ERROR TEXT("in-error")

void stats_deinit(struct stats *stats);
/* An admitted Decision at about `now`, just folded; `order` NULL: there is none. Old ones cost
 * nothing. */
void stats_decided(struct stats *stats, const struct decision *decision, const struct order *order,
                   int64_t now);
/* Adds all of `more`. */
void stats_merge(struct stats *stats, const struct stats *more);
/* Orders per bucket, the oldest first, up to the one of `now`; returns the time of the first. */
int64_t stats_rates(const struct stats *stats, enum stats_rate rate, int64_t now,
                    uint32_t ret_counts[STATS_BUCKETS]);
/* How many there were in the windows up to `now`, and the upper bounds of their quantiles in ms. */
uint64_t stats_quantiles(const struct stats_durations *durations, int64_t now, int64_t *ret_p50_ms,
                         int64_t *ret_p99_ms);
/* The n-th text of a key, from 0; may hold anything that is not a zero. */
struct text stats_key_part(const char *key, uint32_t key_size, uint32_t n);

#endif
