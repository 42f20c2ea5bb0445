/* SPDX-License-Identifier: Apache-2.0 */
/* What `reeve bench` measured, as a table and as JSON. */
#ifndef TOOLS_BENCH_REPORT_H
#define TOOLS_BENCH_REPORT_H

#include "tools/bench/fold.h"
#include "tools/bench/items.h"
#include "tools/bench/timers.h"

/* What the orders that are left as they are stand in. */
enum bench_standing_kind {
    BENCH_IN_CALL,
    BENCH_IN_WAIT,
    BENCH_IN_AWAIT,
    BENCH_IN_ITEMS,
    BENCH_STANDING_COUNT
};
/* What the timers are of. */
enum bench_timer_kind { BENCH_OF_RETRIES, BENCH_OF_WAITS, BENCH_TIMERS_COUNT };

enum { BENCH_FOLDINGS = 2, BENCH_LEVELS_MAX = 8, BENCH_GROW_ROWS = 10, BENCH_TURNS = 7 };

/* Orders that were measured together. */
struct bench_measured {
    int64_t in_flight;
    struct bench_figures figures; /* orders 0 = not measured */
    struct bench_processes processes;
    struct bench_topics topics; /* records written meanwhile */
};

/* One after the other, so that what slows the machine meets both. */
struct bench_turn {
    struct bench_measured plain;    /* BENCH_WORKFLOW; the orders have the same input */
    struct bench_measured deciding; /* BENCH_DECIDING */
};

/* Orders that are left as they are, while what they take is read. */
struct bench_standing {
    struct bench_figures figures; /* orders 0 = not measured */
    struct bench_processes processes;
    struct bench_folding folding; /* of their log, as a scheduler; records 0 = not measured */
};

struct bench_timing {
    struct bench_measured waiting; /* orders that wait for hours; orders 0 = not measured */
    struct bench_figures late;     /* of others, one by one */
    struct bench_burst bursts[BENCH_BURSTS_MAX];
    uint32_t burst_count;
};

struct bench_report {
    int32_t partitions;
    int64_t schedulers;
    int64_t supervisors;
    struct bench_measured loads[BENCH_LEVELS_MAX];
    uint32_t load_count;
    struct bench_measured alone;
    struct bench_measured raws[BENCH_LEVELS_MAX]; /* the raw chain after each load, and alone */
    struct bench_measured raw_alone;
    struct bench_measured grown[BENCH_GROW_ROWS]; /* one part of the orders after the other */
    struct bench_folding
        grown_foldings[BENCH_GROW_ROWS]; /* of the whole log then, as a scheduler */
    uint32_t grown_count;
    struct bench_turn turns[BENCH_TURNS];
    uint32_t turn_count;
    struct bench_items_turn items[BENCH_ITEMS_TURNS];
    uint32_t item_count;                           /* of an order; 0 = not measured */
    struct bench_folding foldings[BENCH_FOLDINGS]; /* scheduler, supervisor */
    struct bench_standing standing[BENCH_STANDING_COUNT];
    struct bench_timing timers[BENCH_TIMERS_COUNT];
};

void bench_report_print(const struct bench_report *report, FILE *out);
/* One object, on one line. */
void bench_report_json(const struct bench_report *report, FILE *out);

#endif
