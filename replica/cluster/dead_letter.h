/* SPDX-License-Identifier: Apache-2.0 */
/* A dead letter: a record that is kept for operators, with where it came from and why. One builder
 * for all services, so that every dead letter fits its topic, whatever the record holds.
 *
 * It has the record's key, value and first twelve headers, after these headers of its own:
 *
 *     __streams.errors.exception, .message, .topic, .partition, .offset    as Kafka Streams does
 *     reeve.errors.value_bytes, .value_xxh128    the whole value's, if only its beginning is kept
 *     reeve.errors.meta_bytes     of key and headers, if the key is cut and the headers left out
 *     reeve.errors.next_offset    if it stands for all records from the offset to before this
 *                                 one, whose bytes cannot be read
 */
#ifndef REPLICA_CLUSTER_DEAD_LETTER_H
#define REPLICA_CLUSTER_DEAD_LETTER_H

#include "engine/limits.h"
#include "kafka/broker.h"

enum {
    DEAD_LETTER_WHOLE_MAX = INPUT_BYTES_MAX, /* a larger value is cut */
    DEAD_LETTER_CUT_BYTES = 64 * 1024,       /* what is kept of it */
    DEAD_LETTER_META_MAX = META_BYTES_MAX,   /* more key and headers are cut */
    DEAD_LETTER_KEY_BYTES = 1024,            /* what is kept of the key then */
    DEAD_LETTER_HEADERS_MAX = 12,            /* more headers are left out */
    DEAD_LETTER_OWN_HEADERS_MAX = 9,
    DEAD_LETTER_HASH_SIZE = 33
};

/* What a record was before it was cut. Zeros: nothing is cut. */
struct dead_letter_cut {
    uint32_t value_bytes;                     /* 0: the value is whole */
    uint32_t meta_bytes;                      /* 0: key and headers are whole */
    int64_t next_offset;                      /* 0: it is one record */
    char value_xxh128[DEAD_LETTER_HASH_SIZE]; /* XXH3-128 in hex, as xxh128sum prints it */
};

struct dead_letter {
    struct text key;
    struct text value;
    struct broker_header headers[BROKER_HEADERS_MAX];
    uint32_t header_count;
    char numbers[5][24]; /* that headers point to */
    char value_xxh128[DEAD_LETTER_HASH_SIZE];
};

/* Whether a dead letter holds the record as it is. */
bool dead_letter_fits(const struct broker_record *record);
/* Cuts the record to what a dead letter keeps of it; the texts borrow from what they borrowed
 * before. */
void dead_letter_cut(struct broker_record *record, struct dead_letter_cut *ret_cut);
/* `cut` NULL: of a record that was not cut before; it is cut now. Everything borrows from the
 * arguments and *ret_letter, which stays where it is. */
void dead_letter_build(const struct broker_record *record, const struct dead_letter_cut *cut,
                       const char *code, const char *message, struct dead_letter *ret_letter);

/* A dead letter as it is read back. Everything borrows from the record. */
struct dead_letter_reading {
    struct text code;
    struct text message;
    struct text topic;
    int32_t partition; /* -1: unknown */
    int64_t offset;    /* -1: the record was never written */
    /* Zeros: nothing is cut. */
    uint64_t value_bytes;
    uint64_t meta_bytes;
    struct text value_xxh128;
    bool unreadable; /* it stands for records that no client can read, and holds none of them */
    const struct broker_header *headers; /* the record's own */
    uint32_t header_count;
};

/* Any bytes: what cannot be read is left out. False: the record is not a dead letter of
 * dead_letter_build(). A sender may have put headers like ours on its record: those that contradict
 * the value are taken for the sender's. */
bool dead_letter_read(const struct broker_record *record, struct dead_letter_reading *ret_reading);

#endif
