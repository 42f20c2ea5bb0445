/* SPDX-License-Identifier: Apache-2.0 */
/* How many requests the Kafka clients of the processes have sent, according to their metrics. */
#ifndef TOOLS_BENCH_REQUESTS_H
#define TOOLS_BENCH_REQUESTS_H

#include "tools/bench/stage.h"

/* Waits until each client has reported what it sent up to now (BENCH_STATISTICS_MS), then adds the
 * numbers to those of the processes, or, if `begin`, subtracts them. Processes that are neither
 * services nor this one keep theirs. */
enum error_class bench_requests_read(struct bench_stage *stage, bool begin,
                                     struct bench_processes *processes, struct error *ret_error);

#endif
