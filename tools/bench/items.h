/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve bench --items N`: what an order of many items costs, itself and others. */
#ifndef TOOLS_BENCH_ITEMS_H
#define TOOLS_BENCH_ITEMS_H

#include "tools/bench/load.h"

enum { BENCH_ITEMS_TURNS = 7 };

/* One after the other, so that what slows the machine meets all of them. */
struct bench_items_turn {
    struct bench_figures separate; /* as many orders of one step as there are items, at once */
    int64_t alone_us;              /* one order of as many items: from submission to its end */
    struct bench_figures before;   /* orders of three steps without such an order */
    struct bench_figures during;   /* the same while one runs; it is the leader */
    struct bench_figures recall;   /* the same while one, all of whose items are done, is undone */
};

/* What an order of BENCH_FAN_OUT has as its input: {"items":[0,1,...]}. New. */
char *bench_items_input(uint32_t items);

/* Measures BENCH_ITEMS_TURNS turns, after one that is not kept, so that the broker is warm. Other
 * orders are 20 in flight, or `others_per_second` if that is not 0. items: 1 to SUBORDERS_MAX.
 * Errors: those of bench_load_run(). */
enum error_class bench_items(struct bench_stage *stage, struct bench_load *load, uint32_t items,
                             uint32_t others_per_second,
                             struct bench_items_turn ret_turns[BENCH_ITEMS_TURNS],
                             struct error *ret_error);

#endif
