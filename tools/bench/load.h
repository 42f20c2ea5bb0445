/* SPDX-License-Identifier: Apache-2.0 */
/* The load of `reeve bench`: a closed loop with a fixed number of orders in flight, or a number of
 * orders a second, each timed from its submission until its status is read from the reply topic. */
#ifndef TOOLS_BENCH_LOAD_H
#define TOOLS_BENCH_LOAD_H

#include "tools/bench/stage.h"

struct bench_load;

/* New. Begins to read the replies. Freed before the stage is closed. */
enum error_class bench_load_new(struct bench_stage *stage, struct bench_load **ret_load,
                                struct error *ret_error);
void bench_load_free(struct bench_load *load);

enum bench_goal {
    BENCH_PROCESSED, /* an order is over when it is Processed */
    BENCH_RECEIVED,  /* when it is accepted and its first step has begun: it stays open */
    BENCH_ASKS,      /* when a step of it waits for a signal: it stays open */
    BENCH_ENDED      /* when it has ended in any way */
};

struct bench_round {
    uint64_t orders;
    uint32_t in_flight; /* at most */
    /* 0: as fast as orders end. Otherwise an order's time counts from when it was due to be
     * submitted, so that a delay of the load itself is not hidden. */
    uint32_t per_second;
    enum bench_goal goal;
    const char *what; /* of the progress on stderr; NULL = none is shown */
    /* The workflow of the next order; NULL: BENCH_WORKFLOW for all. The text is used at once. */
    const char *(*workflow)(void *ctx);
    /* True ends the round early: no more orders are submitted. NULL: it has all its orders. */
    bool (*enough)(void *ctx);
    void *ctx; /* of both */
    /* The workflow of the first order, which no figure of the others has; its end ends the round.
     * NULL: the first order is like the others. */
    const char *leader;
    /* JSON; empty: none */
    struct text leader_input;
    /* Instead of a leader: the number of an earlier order, which the round cancels first. What it
     * takes to undo it is the leader's time. NULL: none. */
    const uint64_t *cancelled;
    struct text input; /* of all others */
};

struct bench_figures {
    uint64_t orders;
    double seconds; /* from the first submission to the last status */
    int64_t p50_us;
    int64_t p90_us;
    int64_t p99_us;
    int64_t max_us;
    int64_t leader_us; /* what the leader of the round took; 0 without one */
};

/* Of that many orders, each of which took so long. Sorts them. */
struct bench_figures bench_figures_of(int64_t *took_us, uint64_t count, int64_t duration_us);

/* Of an even number, the lower of the two in the middle. Sorts them. */
double bench_median(double *values, uint32_t count);

/* The number of the next order in its id; those of a round follow one another. */
uint64_t bench_load_next(const struct bench_load *load);
/* The number in the id of an order; false: the order is not one of a load. */
bool bench_load_number(struct text order_id, uint64_t *ret_number);

/* REJECT "NotProcessed" when an order ended in another way, RETRY "Silent" when nothing comes. */
enum error_class bench_load_run(struct bench_load *load, const struct bench_round *round,
                                struct bench_figures *ret_figures, struct error *ret_error);

#endif
