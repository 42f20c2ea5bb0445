/* SPDX-License-Identifier: Apache-2.0 */
/* What `reeve bench` measured, as a table and as JSON. */
#ifndef TOOLS_BENCH_REPORT_H
#define TOOLS_BENCH_REPORT_H

#include "tools/bench/fold.h"
#include "tools/bench/load.h"

enum { BENCH_FOLDINGS = 2 };

struct bench_report {
    int32_t partitions;
    int64_t schedulers;
    int64_t supervisors;
    int64_t in_flight;
    struct bench_figures load; /* orders 0 = not measured; the others likewise */
    struct bench_processes load_processes;
    struct bench_topics topics; /* written by the load */
    struct bench_figures alone;
    struct bench_processes alone_processes;
    struct bench_folding foldings[BENCH_FOLDINGS]; /* scheduler, supervisor */
    struct bench_figures open;
    struct bench_processes open_processes;
};

void bench_report_print(const struct bench_report *report, FILE *out);
/* One object, on one line. */
void bench_report_json(const struct bench_report *report, FILE *out);

#endif
