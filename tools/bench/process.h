/* SPDX-License-Identifier: Apache-2.0 */
/* What processes use between two readings: CPU time, wakeups and memory according to /proc, and the
 * requests of their Kafka clients (requests.h). */
#ifndef TOOLS_BENCH_PROCESS_H
#define TOOLS_BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { BENCH_PROCESSES_MAX = 48, BENCH_PROCESS_NAME_SIZE = 32 };

struct bench_threads;

struct bench_process {
    char name[BENCH_PROCESS_NAME_SIZE];
    pid_t pid;
    int64_t began_us;
    struct bench_threads *began_threads; /* between begin and end */
    int64_t cpu_us;  /* user and system time of all its threads, between begin and end */
    int64_t wakeups; /* of its threads that are left: each one had gone to sleep before */
    int64_t produce_requests;
    int64_t fetch_requests;
    bool sends; /* its requests are known */
    int64_t rss_bytes;
    int64_t rss_peak_bytes; /* since the process began */
    uint64_t stored_bytes;  /* in its data directory; 0: not known */
};

struct bench_processes {
    struct bench_process items[BENCH_PROCESSES_MAX];
    uint32_t count;
};

/* More than BENCH_PROCESSES_MAX are left out. */
void bench_processes_add(struct bench_processes *processes, const char *name, pid_t pid);
/* bench_processes_end() must follow: it frees what this one has read. */
void bench_processes_begin(struct bench_processes *processes);
/* Processes that are gone keep zeros. */
void bench_processes_end(struct bench_processes *processes);

#endif
