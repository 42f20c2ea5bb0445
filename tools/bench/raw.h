/* SPDX-License-Identifier: Apache-2.0 */
/* What the brokers alone would allow: each order passes through as many topics as an order of three
 * steps does, with the same records, and nothing is decided or stored on the way.
 *
 * One thread and one plain client of librdkafka each for producing and for consuming stand where
 * reeve has a service. An order is submitted as soon as one of those in flight is
 * through, as in load.h. */
#ifndef TOOLS_BENCH_RAW_H
#define TOOLS_BENCH_RAW_H

#include "tools/bench/load.h"

enum { BENCH_RAW_HOPS = 13 };

/* The records of one order, in the order of its hops. Free with bench_raw_sample_deinit(). */
struct bench_raw_sample {
    char *values[BENCH_RAW_HOPS]; /* new */
    uint32_t sizes[BENCH_RAW_HOPS];
};

/* Takes the records of the first order that `stage` has processed, over the connection of another
 * stage, as a broker reads a partition once. RETRY "Silent" when some do not come. */
enum error_class bench_raw_sample_take(struct bench_stage *reader, const struct bench_stage *stage,
                                       struct bench_raw_sample *ret_sample,
                                       struct error *ret_error);
void bench_raw_sample_deinit(struct bench_raw_sample *sample);

struct bench_raw;

/* New. The topics are those of `bare`, which has no services; a failure or a signal of `stage` ends
 * a round. All borrowed. With that many orders in flight its clients batch or do not, as those of
 * reeve. */
enum error_class bench_raw_new(const struct bench_stage *bare, struct bench_stage *stage,
                               const struct bench_raw_sample *sample, uint32_t in_flight,
                               struct bench_raw **ret_raw, struct error *ret_error);
void bench_raw_free(struct bench_raw *raw);
/* As bench_load_run(): `goal` and `what` do not matter. */
enum error_class bench_raw_run(struct bench_raw *raw, const struct bench_round *round,
                               struct bench_figures *ret_figures, struct error *ret_error);

#endif
