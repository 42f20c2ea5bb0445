/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of orders that have attempts in flight, or had some recently; a step is an order's id
 * and the step's name, in both directions. Only attempts.c may call this. */
#ifndef SERVICES_AGENT_CORE_ACTIVE_STEPS_H
#define SERVICES_AGENT_CORE_ACTIVE_STEPS_H

#include "services/agent/core/attempts.h"

struct active_step {
    struct active_step *next; /* in the hash bucket */
    struct active_step *idle_prev, *idle_next;
    uint64_t hash;
    struct text order_id;
    struct text name;
    uint32_t attempt_count;        /* in flight; 0 = idle */
    struct agent_attempt *running; /* RUNNING */
    struct agent_attempt *pending; /* WAITING or BACKOFF */
    /* The newest attempt seen. */
    enum direction direction;
    uint32_t attempt_number;          /* 0 = none yet */
    struct attempt_decision decision; /* the latest that requested it */
    struct agent_attempt *newest;     /* while in flight */
    bool settled;                     /* afterwards: settled, or given up */
    char texts[];
};

struct active_steps {
    struct active_step **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
    uint32_t idle_count;
    uint32_t idle_max;
    struct active_step *idle_oldest, *idle_newest;
    uint64_t seed;
};

/* How a request relates to the newest attempt of its step. */
enum request_relation {
    REQUEST_NEWER,
    REQUEST_SAME,
    REQUEST_EXTENDS, /* the same attempt, with more time */
    REQUEST_OLDER
};

/* At most `idle_max` idle steps are remembered; the oldest go first. */
void active_steps_init(struct active_steps *steps, uint32_t idle_max, uint64_t seed);
void active_steps_deinit(struct active_steps *steps);
/* The step; new if it is not there yet. Borrowed until it is idle. */
struct active_step *active_steps_get(struct active_steps *steps, struct text order_id,
                                     struct text name);
/* NULL = none. */
struct active_step *active_steps_find(const struct active_steps *steps, struct text order_id,
                                      struct text name);
/* One attempt more, or one less. */
void active_steps_hold(struct active_steps *steps, struct active_step *step);
void active_steps_release(struct active_steps *steps, struct active_step *step);

/* Within one log, the offset of the Decision orders attempts; a request of another log (its topic
 * was recreated) is never taken for a repeat, nor is that of a later order of the same id. */
enum request_relation active_step_compare(const struct active_step *step,
                                          const struct step_request *request);
void active_step_note_newest(struct active_step *step, struct agent_attempt *attempt);

#endif
