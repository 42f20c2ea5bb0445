/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a service with an empty directory folds the whole log into its stores. */
#ifndef TOOLS_BENCH_FOLD_H
#define TOOLS_BENCH_FOLD_H

#include "tools/bench/stage.h"

struct bench_folding {
    uint64_t records;
    double seconds;
    double cpu_seconds; /* of all threads: reading, decoding, applying, storing */
};

/* Folds all partitions at once, as a service does that owns all of them, in this process.
 * `deadlines`: as a supervisor, else as a scheduler. */
enum error_class bench_fold(struct bench_stage *stage, bool deadlines,
                            struct bench_folding *ret_folding, struct error *ret_error);

#endif
