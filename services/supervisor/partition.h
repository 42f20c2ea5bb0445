/* SPDX-License-Identifier: Apache-2.0 */
/* One partition under a supervisor's eye: folds events[p] to the deadline index and asks the
 * scheduler for what is due. Requests, never mutates, knows no business rule; it asks again, with
 * backoff, until the log shows an outcome. */
#ifndef SERVICES_SUPERVISOR_PARTITION_H
#define SERVICES_SUPERVISOR_PARTITION_H

#include "replica/follower.h"

struct watch;

struct watch_metrics {
    struct metrics_counter *asked[DEADLINE_KIND_COUNT];
    struct metrics_counter *early;
    struct metrics_counter *skipped;
    struct metrics_histogram *late; /* how long after the deadline it was asked for */
};

enum error_class watch_new(struct cluster *cluster, int32_t partition,
                           const struct view_options *options, struct watch_metrics *metrics,
                           struct watch **ret_watch, struct error *ret_error);
void watch_free(struct watch *watch);
/* Suspended: folds on, asks for nothing. */
void watch_suspend(struct watch *watch, bool suspended);
/* Folded to the end of the log at least once. */
bool watch_is_ready(const struct watch *watch);
bool watch_trouble(const struct watch *watch, char *ret_text, size_t size);
int32_t watch_partition(const struct watch *watch);
/* Borrowed until watch_free. */
struct view *watch_view(const struct watch *watch);
int64_t watch_next_offset(const struct watch *watch);
int64_t watch_lag(const struct watch *watch);

#endif
