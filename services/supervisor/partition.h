/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of a supervisor: folds events[p] to the deadline index and requests what is due
 * from the scheduler. It only requests, knows no business rule, and repeats each command, with
 * backoff, until the log shows an outcome. */
#ifndef SERVICES_SUPERVISOR_PARTITION_H
#define SERVICES_SUPERVISOR_PARTITION_H

#include "replica/follow/follower.h"

struct order_spans;
struct supervisor_partition;

/* The window: how many of its commands may be on their way, that is, sent and not yet decided. What
 * is sent beyond that would not be decided earlier, and the commands of others would stand behind
 * it. The rate follows by itself: each Decision lets the next command go. All partitions share the
 * window, as one scheduler may own them all. */
enum { SUPERVISOR_WINDOW = 512, SUPERVISOR_WINDOW_MIN = 16 /* of a partition */ };

struct supervisor_metrics {
    struct metrics_counter *commands[DEADLINE_KIND_COUNT];
    struct metrics_counter *early;
    struct metrics_counter *skipped;
    struct metrics_histogram *late; /* from the deadline to the command */
};

/* The metrics live in `all`. */
void supervisor_metrics_init(struct supervisor_metrics *ret_metrics, struct metrics *all);

/* `spans` may be NULL; it and `metrics` are borrowed. */
enum error_class supervisor_partition_new(struct cluster *cluster, int32_t number,
                                          const struct view_options *options,
                                          struct supervisor_metrics *metrics,
                                          struct order_spans *spans,
                                          struct supervisor_partition **ret_partition,
                                          struct error *ret_error);
void supervisor_partition_free(struct supervisor_partition *partition);
/* Suspended: it continues to fold, and requests nothing. */
void supervisor_partition_suspend(struct supervisor_partition *partition, bool suspended);
/* For tests: folded to the end of the log at least once. */
bool supervisor_partition_is_ready(const struct supervisor_partition *partition);
/* What it waits for, or why it is stopped; false: it works. */
bool supervisor_partition_trouble(const struct supervisor_partition *partition, char *ret_text,
                                  size_t size);
/* Do commands wait there although none is decided? Borrowed until supervisor_partition_free. */
struct waiting_commands;
const struct waiting_commands *supervisor_partition_waiting(
    const struct supervisor_partition *partition);
int32_t supervisor_partition_number(const struct supervisor_partition *partition);
/* Borrowed until supervisor_partition_free. *ret_current: it has folded to the end of the log, or
 * to what was appended a moment ago. */
struct follower *supervisor_partition_follower(const struct supervisor_partition *partition,
                                               bool *ret_current);
struct view *supervisor_partition_view(const struct supervisor_partition *partition);
int64_t supervisor_partition_next_offset(const struct supervisor_partition *partition);
int64_t supervisor_partition_lag(const struct supervisor_partition *partition);

#endif
