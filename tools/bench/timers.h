/* SPDX-License-Identifier: Apache-2.0 */
/* The timers of `reeve bench --timers N`: orders whose only step fails at once and waits for its
 * retry, which the supervisor has to ask for in time; or, of `--wait-timers N`, is a Wait. Lateness
 * is the append time of the Decision that starts the retry or ends the Wait, less the time at which
 * it was due. */
#ifndef TOOLS_BENCH_TIMERS_H
#define TOOLS_BENCH_TIMERS_H

#include "tools/bench/load.h"

struct bench_timers;

enum { BENCH_BURSTS_MAX = 100 };

/* Many retries that are due at the same time. */
struct bench_burst {
    struct bench_figures late;   /* .seconds: from the first that was due to the last start */
    double due_seconds;          /* between the first and the last that was due */
    struct bench_figures before; /* orders of three steps before the burst */
    struct bench_figures during; /* the same, until all retries have started */
};

/* New. Deploys the workflows and begins to read the log. Retries need the stage's refuser. Both are
 * borrowed. Freed before the stage is closed. During a burst, 20 other orders are in flight, or
 * `others_per_second` are submitted if that is not 0. */
enum error_class bench_timers_new(struct bench_stage *stage, struct bench_load *load, bool of_waits,
                                  uint32_t others_per_second, struct bench_timers **ret_timers,
                                  struct error *ret_error);
void bench_timers_free(struct bench_timers *timers);

/* Adds this many orders whose retry is hours away. Returns when all of them wait. */
enum error_class bench_timers_add(struct bench_timers *timers, uint64_t orders,
                                  struct bench_figures *ret_figures, struct error *ret_error);
/* The lateness of this many retries, some sixty a second. */
enum error_class bench_timers_measure(struct bench_timers *timers, uint64_t orders,
                                      struct bench_figures *ret_late, struct error *ret_error);
/* This many retries within about a second. */
enum error_class bench_timers_burst(struct bench_timers *timers, uint64_t orders,
                                    struct bench_burst *ret_burst, struct error *ret_error);
/* Each figure is its median over all bursts; of an even number, the lower of the two in the
 * middle. */
struct bench_burst bench_burst_median(const struct bench_burst *bursts, uint32_t count);

#endif
