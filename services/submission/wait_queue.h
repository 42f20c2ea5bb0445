/* SPDX-License-Identifier: Apache-2.0 */
/* Records that have to wait, copied, in the order in which they were read. Later records of the
 * same key wait behind them: each order's inputs stay in their order. */
#ifndef SERVICES_SUBMISSION_WAIT_QUEUE_H
#define SERVICES_SUBMISSION_WAIT_QUEUE_H

#include "replica/cluster/dead_letter.h"

/* What a record waits for. */
enum record_wait {
    RECORD_WAIT_NONE,
    RECORD_WAIT_SCHEMAS,
    RECORD_WAIT_WORKFLOWS,
    RECORD_WAIT_REPLY,
    RECORD_WAIT_REGISTRY, /* the schema registry is to say what it was written with */
    RECORD_WAIT_STATUS,   /* or to give an id to the schema of its status */
    RECORD_WAIT_PRODUCER,
    RECORD_WAIT_KEY
};

/* What was known of a record before it was cut to what is kept of it. */
struct large_record {
    struct dead_letter_cut cut;
    struct text order_id; /* of a value that was cut: not validated; may be empty */
    struct text reply_to;
};

struct waiting_record {
    struct waiting_record *prev;
    struct waiting_record *next;
    struct waiting_record *bucket_prev; /* among those that may have the same key */
    struct waiting_record *bucket_next;
    uint64_t sequence; /* its place in the window */
    uint64_t key_hash;
    enum record_wait wait;
    unsigned fresh;              /* what was read to its end since (validate.h) */
    uint64_t ticket;             /* of the reading that it waits for */
    struct broker_record record; /* without its topic, which is NULL */
    struct large_record large;   /* zeros: the record is whole */
    size_t size;                 /* of `bytes` */
    char bytes[];
};

enum { WAIT_BUCKETS = 4096 /* a power of two */ };

/* Zero-initialized is empty. */
struct wait_queue {
    struct waiting_record *first;
    struct waiting_record *buckets[WAIT_BUCKETS]; /* by key; those without a key are in none */
    uint32_t count;
    uint64_t bytes; /* of the records */
};

/* Copies the record to the end of the queue; borrowed until it is removed. */
struct waiting_record *wait_queue_add(struct wait_queue *queue, uint64_t sequence,
                                      const struct broker_record *record,
                                      const struct large_record *large);
void wait_queue_remove(struct wait_queue *queue, struct waiting_record *waiting);
void wait_queue_clear(struct wait_queue *queue);
/* Whether a record of this key is in the queue before `until` (NULL: at all). Records without a
 * key have no order to keep. */
bool wait_queue_has_key(const struct wait_queue *queue, struct text key,
                        const struct waiting_record *until);

#endif
