/* SPDX-License-Identifier: Apache-2.0 */
/* The load of `reeve bench`: a closed loop with a fixed number of orders in flight, each timed from
 * its submission until its status is read from the reply topic. */
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
    BENCH_RECEIVED   /* when it is accepted and its first step has begun: it stays open */
};

struct bench_round {
    uint64_t orders;
    uint32_t in_flight;
    enum bench_goal goal;
    const char *what; /* of the progress on stderr; NULL = none is shown */
};

struct bench_figures {
    uint64_t orders;
    double seconds; /* from the first submission to the last status */
    int64_t p50_us;
    int64_t p90_us;
    int64_t p99_us;
    int64_t max_us;
};

/* Of that many orders, each of which took so long. Sorts them. */
struct bench_figures bench_figures_of(int64_t *took_us, uint64_t count, int64_t duration_us);

/* REJECT "NotProcessed" when an order ended in another way, RETRY "Silent" when nothing comes. */
enum error_class bench_load_run(struct bench_load *load, const struct bench_round *round,
                                struct bench_figures *ret_figures, struct error *ret_error);

#endif
