/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes of attempts.h: one for each order and step that is in hand or was lately. Only
 * attempts.c may call this. */
#ifndef SERVICES_AGENT_CORE_ACTIVE_STEPS_H
#define SERVICES_AGENT_CORE_ACTIVE_STEPS_H

#include "services/agent/core/attempts.h"

struct lane {
    struct lane *next; /* in the hash bucket */
    struct lane *idle_prev, *idle_next;
    uint64_t hash;
    struct text order_id;
    struct text step;
    uint32_t active;               /* attempts in hand */
    struct agent_attempt *running; /* RUNNING */
    struct agent_attempt *pending; /* WAITING or BACKOFF */
    /* The newest attempt seen. */
    enum direction direction;
    uint32_t attempt_number;          /* 0 = none yet */
    struct attempt_decision decision; /* the latest that requested it */
    struct agent_attempt *newest;     /* while in hand */
    bool settled;                     /* once it is not: settled, or given up */
    char texts[];
};

struct lanes {
    struct lane **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
    uint32_t idle_count;
    uint32_t idle_max;
    struct lane *idle_oldest, *idle_newest;
    uint64_t seed;
};

/* How a request relates to what its lane has seen. */
enum lane_relation {
    LANE_NEWER,
    LANE_SAME,
    LANE_EXTENDED, /* the same attempt, with more time */
    LANE_OLDER
};

void lanes_init(struct lanes *lanes, uint32_t idle_max, uint64_t seed);
void lanes_deinit(struct lanes *lanes);
/* The lane of this order and step; made if there is none. Borrowed; stays put while it has
 * attempts. */
struct lane *lanes_get(struct lanes *lanes, struct text order_id, struct text step);
/* NULL = none. */
struct lane *lanes_find(const struct lanes *lanes, struct text order_id, struct text step);
/* One attempt more, or one less: a lane without attempts is forgotten sooner or later. */
void lanes_hold(struct lanes *lanes, struct lane *lane);
void lanes_release(struct lanes *lanes, struct lane *lane);

/* Within one log, the offset of the Decision orders attempts; a request of another log (its topic
 * was made anew) is never taken for a repeat. */
enum lane_relation lane_compare(const struct lane *lane, const struct step_request *request);
void lane_note_newest(struct lane *lane, struct agent_attempt *attempt);

#endif
