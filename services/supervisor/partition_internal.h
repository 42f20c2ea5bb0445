/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by partition.c (the index of deadlines, turns, what the log shows) and
 * partition_commands.c (what is requested from the scheduler). */
#ifndef SERVICES_SUPERVISOR_PARTITION_INTERNAL_H
#define SERVICES_SUPERVISOR_PARTITION_INTERNAL_H

#include "kafka/clock_guard.h"
#include "services/supervisor/outstanding.h"
#include "services/supervisor/partition.h"
#include "services/supervisor/scheduler_clock.h"
#include "services/supervisor/waiting_commands.h"

/* Where the index is read on: every deadline before it is armed or outstanding, gave way, or is
 * over. It spares walking over tombstones as well. */
struct supervisor_cursor {
    int64_t due_at;
    uint32_t order_id_size;
    char order_id[ORDER_ID_BYTES_MAX];
};

struct supervisor_partition {
    struct cluster *cluster;
    int32_t number;
    struct follower *follower;
    struct supervisor_metrics *metrics;
    struct order_spans *spans; /* NULL: none are made */
    struct outstanding *outstanding;
    struct waiting_commands *waiting;
    uint32_t window; /* this partition's share */
    struct loop_timer timer;
    bool suspended;
    bool caught_up;
    struct supervisor_cursor cursor;
    int64_t sweep_at;  /* monotonic */
    int64_t folded_ms; /* when the last folded record was appended */
    struct scheduler_clock scheduler_clock;
    /* What the acknowledgements of commands say about this clock. */
    struct clock_guard clock_guard;
    uint64_t measuring; /* the token of a command; 0: none */
    int64_t sent_us;    /* when it was sent */
    /* of the turn under way, or the last one */
    int64_t now;
    bool held_back; /* the window is full */
    uint32_t visits;
    bool cut; /* the rest of the index has to wait */
    struct error error;
    uint64_t unanswered; /* answers that still name this struct */
    int64_t answered_ms; /* monotonic: the last of them, or since when some are missing */
    bool freed;
};

/* partition.c */
int64_t partition_mono_ms(const struct supervisor_partition *partition);
/* The next turn is `delay_ms` from now, or earlier. */
void partition_wake_in(struct supervisor_partition *partition, int64_t delay_ms);

/* partition_commands.c */
/* The first command measures the clock: no other one is sent until it is acknowledged. */
bool partition_waits_for_clock(const struct supervisor_partition *partition);
/* As many commands are on their way as may be: those of others would stand behind more of them. */
bool partition_window_is_full(const struct supervisor_partition *partition);
/* Both send until the window is full: what has no outcome yet and is to be repeated, and what is
 * due. */
void partition_send_again(struct supervisor_partition *partition);
void partition_send_due(struct supervisor_partition *partition);

#endif
