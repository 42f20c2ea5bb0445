/* SPDX-License-Identifier: Apache-2.0 */
/* Counters, gauges and histograms in Prometheus text format. Loop thread only.
 *
 * Names: reeve_<noun>_<unit>[_total], base units (seconds, bytes). Labels are fixed when a metric
 * is registered and have few values: a partition, a reason, a role; never an id. Registering the
 * same name and labels again returns the same metric. More than METRICS_MAX metrics: asserts, so
 * code that registers while it runs keeps to a limit of its own. */
#ifndef PLATFORM_METRICS_H
#define PLATFORM_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { METRICS_MAX = 16384, METRICS_LABELS_MAX = 5, METRICS_BUCKETS_MAX = 38 };

struct metrics;
struct metrics_counter {
    uint64_t value;
};
struct metrics_gauge {
    double value;
    bool set; /* false = not shown */
};
struct metrics_buckets; /* the upper bounds */
struct metrics_histogram {
    const struct metrics_buckets *bounds;
    uint64_t buckets[METRICS_BUCKETS_MAX]; /* not cumulative */
    uint64_t count;
    double sum; /* seconds */
};

/* Copied at registration. */
struct metrics_labels {
    const char *names[METRICS_LABELS_MAX]; /* the first NULL ends them */
    const char *values[METRICS_LABELS_MAX];
};
#define METRICS_NO_LABELS ((struct metrics_labels){{NULL}, {NULL}})
#define METRICS_LABEL(name, value) ((struct metrics_labels){{(name)}, {(value)}})
#define METRICS_LABELS(name, value, name2, value2) \
    ((struct metrics_labels){{(name), (name2)}, {(value), (value2)}})

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* Borrowed until metrics_free. `help` is a literal: one sentence. */
struct metrics_counter *metrics_counter(struct metrics *metrics, const char *name, const char *help,
                                        struct metrics_labels labels);
struct metrics_gauge *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
                                    struct metrics_labels labels);
/* For calls and requests. Log-linear: 1 2 3 4 6 8 per decade from 100 us to 100 s. */
struct metrics_histogram *metrics_histogram(struct metrics *metrics, const char *name,
                                            const char *help, struct metrics_labels labels);
/* For work that may last days, with many values of its labels: few buckets, from 5 ms to a week. */
struct metrics_histogram *metrics_long_histogram(struct metrics *metrics, const char *name,
                                                 const char *help, struct metrics_labels labels);

static inline void metrics_add(struct metrics_counter *counter, uint64_t count)
{
    counter->value += count;
}
static inline void metrics_set(struct metrics_gauge *gauge, double value)
{
    gauge->value = value;
    gauge->set = true;
}
/* Hides the gauge until it is set again. */
static inline void metrics_unset(struct metrics_gauge *gauge)
{
    gauge->set = false;
}
/* Negative durations (a clock jumped) count as 0. */
void metrics_observe_us(struct metrics_histogram *histogram, int64_t us);

/* Calls `refresh` before each rendering, for gauges that are cheaper to read than to keep. */
void metrics_on_render(struct metrics *metrics, void (*refresh)(void *ctx), void *ctx);
/* The process_* that Prometheus' own clients have: CPU time, memory, file descriptors, start. */
void metrics_add_process(struct metrics *metrics);
/* New, malloc'ed, NUL-terminated; *ret_size does not count the NUL. */
char *metrics_render(struct metrics *metrics, size_t *ret_size);
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

#endif
