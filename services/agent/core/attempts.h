/* SPDX-License-Identifier: Apache-2.0 */
/* The attempts that an agent has in flight: when a try starts, whether another follows, what is
 * reported, when a request is settled. A state machine without I/O: calls.c connects it to the
 * agent's vtable, intake.c and reports.c to Kafka.
 *
 *     offered -> WAITING -> RUNNING -> REPORTING -> settled
 *        |          ^         | ^ |       ^
 *        |          |   BACKOFF +-+-------|------> settled without a report
 *        +- remembered -------------------+
 *
 * Invariants
 * - A step is identified by the order's id and the step's name; both directions belong to it. At
 *   most one attempt of a step is RUNNING, at most one is WAITING or in BACKOFF, and that one is
 *   the newest.
 * - No try starts at or after complete_by, by the wall clock.
 * - A success is always reported. A failure is reported once no further try follows, unless
 *   complete_by has passed or a newer attempt came.
 * - The effect of a reported failure is that of the worst try: NONE only if each one was definite.
 * - A remembered attempt (ops->recall) is never called again: its report is sent once more, or the
 *   call was accepted and a callback reports it.
 * - More time moves complete_by of an attempt in flight. It starts no call by itself.
 * - The receipt of each record that requested the attempt is settled once: when the report was
 *   acknowledged, or when it is certain that there will be none. Those of an attempt that is given
 *   up, for another instance to make, are never settled. */
#ifndef SERVICES_AGENT_CORE_ATTEMPTS_H
#define SERVICES_AGENT_CORE_ATTEMPTS_H

#include "base/heap_arena.h"
#include "platform/clock.h"
#include "platform/loop.h"
#include "services/agent/answers/answer.h"
#include "services/agent/core/agent_ops.h"
#include "services/agent/health/breaker.h"

enum attempt_state {
    ATTEMPT_BLANK,   /* not offered yet */
    ATTEMPT_WAITING, /* for the end of an older attempt's call */
    ATTEMPT_RUNNING,
    ATTEMPT_BACKOFF, /* between two tries */
    ATTEMPT_REPORTING,
    ATTEMPT_STATE_COUNT
};

/* Names the record of a request: handed back to intake.c when it is settled. */
struct request_receipt {
    int32_t partition;
    uint32_t epoch;
    uint64_t place;
    struct request_receipt *next;
};

struct active_step;

struct agent_attempt {
    struct agent_call call; /* what the vtable sees */
    struct attempts *owner;
    enum attempt_state state;
    struct heap_arena memory; /* of all that belongs to the attempt */
    size_t bytes;             /* of the request as it counts in attempts_bytes */
    struct step_request request;
    struct active_step *step;
    struct request_receipt receipt;
    int64_t try_started_us;       /* monotonic */
    bool wait_over;               /* in BACKOFF: the wait ended while the partition was not owned */
    struct attempt_answer answer; /* what is reported */
    bool noted;                   /* the answer is in the answer cache already */
    struct agent_attempt *prev, *next; /* all in flight */
    /* of the driver */
    enum breaker_trial trial;
    struct loop_timer timer;
    struct agent_attempt *next_unsent;
};

struct attempts_ops {
    /* A try begins; one attempts_succeeded or attempts_failed must follow, from inside or later. */
    void (*start)(void *ctx, struct agent_attempt *attempt);
    /* Call attempts_resume after `delay_ms`, unless unwait comes first. */
    void (*wait)(void *ctx, struct agent_attempt *attempt, int64_t delay_ms);
    void (*unwait)(void *ctx, struct agent_attempt *attempt);
    /* Send the report until it is acknowledged; then call attempts_reported, not from inside. */
    void (*report)(void *ctx, struct agent_attempt *attempt);
    void (*settled)(void *ctx, const struct request_receipt *receipt);
    /* Whether the outcome of this attempt, blank but for its request, is known from earlier: then
     * it is filled in. NULL = nothing is remembered. */
    bool (*recall)(void *ctx, struct agent_attempt *attempt);
    /* complete_by of a running call is later now, in call->request. NULL = ignored. */
    void (*extended)(void *ctx, struct agent_attempt *attempt);
};

struct attempts_options {
    const struct clock *clock; /* borrowed */
    uint32_t idle_steps_max;   /* steps without an attempt in flight that are remembered */
    int64_t backoff_ms;        /* before the second try; doubles from try to try */
    int64_t backoff_ms_max;
    int64_t try_ms_min; /* a further try fits only if this much time is left for it */
    uint64_t seed;      /* of the hash table */
};

/* What became of an offer. More time for an attempt that is not in flight is stale. */
enum offer_outcome {
    OFFER_STARTED,
    OFFER_WAITS,      /* an older attempt's call runs */
    OFFER_MERGED,     /* the same attempt is in flight: its outcome also settles this request */
    OFFER_EXTENDED,   /* the same, and it has more time now */
    OFFER_REPEATED,   /* the same attempt was settled already */
    OFFER_REMEMBERED, /* its outcome is in the answer cache */
    OFFER_STALE,      /* a newer attempt of the step was seen */
    OFFER_EXPIRED,    /* complete_by has passed */
    OFFER_OUTCOME_COUNT
};

struct attempts_counts {
    uint64_t offers[OFFER_OUTCOME_COUNT];
    uint64_t tries;
    uint64_t retries;     /* those of the tries that were not an attempt's first */
    uint64_t reported[2]; /* [succeeded] */
    uint64_t accepted;    /* calls that a callback reports later */
    uint64_t silent;      /* settled without a report: too late, or a newer attempt came */
    uint64_t given_up;    /* left to another instance: drained or revoked */
};

struct attempts;

/* New. `ops` and `ctx` are borrowed. */
struct attempts *attempts_new(const struct attempts_options *options,
                              const struct attempts_ops *ops, void *ctx);
/* Attempts in flight are forgotten; of the ops only unwait is called. NULL does nothing. */
void attempts_free(struct attempts *attempts);

/* A blank attempt, to decode a request into its arena and its `request`. Offer it or put it back.
 * Attempts are reused: their number is the most that were ever in flight. */
struct agent_attempt *attempts_take(struct attempts *attempts);
void attempts_put_back(struct attempts *attempts, struct agent_attempt *attempt);
/* The requested attempt is in flight. */
bool attempts_has(const struct attempts *attempts, const struct step_request *request);
/* Steals the attempt: it may be gone when this returns. Its partition must be owned. */
enum offer_outcome attempts_offer(struct attempts *attempts, struct agent_attempt *attempt,
                                  const struct request_receipt *receipt);

/* The try ended. `output` and the failure's texts are copied; they fit the limits. */
void attempts_succeeded(struct attempts *attempts, struct agent_attempt *attempt,
                        struct text output);
void attempts_failed(struct attempts *attempts, struct agent_attempt *attempt,
                     const struct agent_failure *failure);
/* The try ended without an outcome: the remote service calls back later. ops->report is called,
 * with `accepted`: nothing is sent, but it is remembered before attempts_reported. */
void attempts_accepted(struct attempts *attempts, struct agent_attempt *attempt);
/* The wait of ops->wait is over. */
void attempts_resume(struct attempts *attempts, struct agent_attempt *attempt);
/* The report was acknowledged, or the accepted call is remembered. */
void attempts_reported(struct attempts *attempts, struct agent_attempt *attempt);

/* Nothing starts until attempts_own: running calls go on, and so do reports. */
void attempts_revoke(struct attempts *attempts);
/* These partitions are owned from now on. Attempts of other partitions that are not running are
 * given up. */
void attempts_own(struct attempts *attempts, const int32_t *partitions, uint32_t count);
/* Nothing starts any more; attempts that are not running are given up. */
void attempts_drain(struct attempts *attempts);
/* After attempts_drain: attempts may start again. */
void attempts_continue(struct attempts *attempts);

void *attempts_ctx(const struct attempts *attempts); /* as given to attempts_new */
uint32_t attempts_in_flight(const struct attempts *attempts);
uint32_t attempts_running(const struct attempts *attempts);
/* Memory of the requests in flight. */
size_t attempts_bytes(const struct attempts *attempts);
const struct attempts_counts *attempts_counts(const struct attempts *attempts);

/* Wait before try number `retry` + 1: exponential, half of it jitter by a hash. For tests. */
int64_t attempts_backoff_ms(const struct attempts_options *options, uint32_t retry, uint64_t salt);

#endif
