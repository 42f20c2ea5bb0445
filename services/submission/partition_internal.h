/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by partition.c (the window, waiting, reading) and record.c (what follows from one
 * record). */
#ifndef SERVICES_SUBMISSION_PARTITION_INTERNAL_H
#define SERVICES_SUBMISSION_PARTITION_INTERNAL_H

#include "services/submission/submission.h"
#include "services/submission/wait_queue.h"

enum {
    WINDOW_SLOTS = 8192, /* a power of two */
    PARTITION_ALERT_MS = 10 * 60 * 1000,
    PARTITION_STUCK_MS = 30 * 1000,
    PARTITION_STATUS_MS = 20 * 1000 /* a status may take longer than its dead letter */
};

struct window_slot {
    int64_t next_offset; /* of the record after it */
    int64_t received_us;
    uint32_t size;      /* of what is kept of it */
    uint32_t pending;   /* appends not acknowledged; waiting counts as one */
    uint64_t status_to; /* the topic of a status that is among them, as replies_hash(); 0: none */
};

struct submission_partition {
    struct submission_partition *prev; /* among those that are closed */
    struct submission_partition *next_closed;
    struct submission *submission;
    int32_t number;
    struct broker_reader *reader;
    struct window_slot *slots; /* the slot of sequence s is s mod WINDOW_SLOTS */
    uint64_t first;            /* not settled */
    uint64_t next;
    int64_t position;  /* everything before is settled; BROKER_EARLIEST */
    int64_t committed; /* given to the group */
    struct wait_queue wait_queue;
    uint32_t queue_full; /* records that wait for the producer's queue */
    uint32_t calls;      /* outstanding answers of the broker: they keep this allocated */
    bool closed;
    bool suspended;
    bool paused;
    int64_t held_since_ms; /* monotonic: when what waits stopped the reader; 0: it reads */
    int64_t progress_ms;   /* monotonic: of its last progress */
    struct error trouble;  /* why it has to read again; OK: it does not */
    int64_t alerted_ms;    /* monotonic; 0: never */
    int64_t again_ms;
    struct loop_timer again;
    struct loop_timer queue_timer;
};

/* What follows from the record: its appends, which count in its slot, or what it has to wait for.
 * `large`: what it was before it was cut; zeros if it is whole. */
enum record_wait submission_record_process(struct submission_partition *partition,
                                           uint64_t sequence, const struct broker_record *record,
                                           const struct large_record *large, unsigned fresh);
/* Whether a record that waits for RECORD_WAIT_STATUS may go on: its status can be encoded now, or
 * it took so long that the dead letter has to do. */
bool submission_record_status_is_due(const struct submission_partition *partition,
                                     uint64_t sequence);
/* Cuts a record that no dead letter could hold. */
void submission_record_cut(struct submission_partition *partition, struct broker_record *record,
                           struct large_record *ret_large);

/* partition.c: takes the answers of the appends; the token names the slot and the kind. */
enum append_kind { APPEND_COMMAND, APPEND_DEAD_LETTER, APPEND_STATUS, APPEND_KIND_BITS = 2 };
static inline uint64_t append_token(uint64_t sequence, enum append_kind kind)
{
    return sequence << APPEND_KIND_BITS | kind;
}
void submission_partition_appended(void *ctx, uint64_t token, int64_t offset,
                                   const struct error *error);
struct window_slot *submission_partition_slot(const struct submission_partition *partition,
                                              uint64_t sequence);

#endif
