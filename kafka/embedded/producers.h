/* SPDX-License-Identifier: Apache-2.0 */
/* The idempotent producers of one partition (KIP-98): which sequence numbers each of them sent
 * last, so that a batch that is sent again is recognized, and one that overtakes is refused. */
#ifndef KAFKA_EMBEDDED_PRODUCERS_H
#define KAFKA_EMBEDDED_PRODUCERS_H

#include <librdkafka/rdkafka.h>
#include <stdint.h>

struct producer_batch {
    int64_t producer; /* < 0: not an idempotent one */
    int16_t epoch;
    int32_t first; /* sequence */
    int32_t last_delta;
    int64_t offset; /* of its first record; not read by producers_check */
};

/* Zeroed: none. Remembers the 1,000 producers that appended last. */
struct producers {
    struct producer *table;
    struct producer *oldest; /* in the order of their last batch */
    unsigned count;
};

/* DUPLICATE_SEQUENCE_NUMBER: it is at *ret_offset; OUT_OF_ORDER_SEQUENCE_NUMBER;
 * INVALID_PRODUCER_EPOCH. */
rd_kafka_resp_err_t producers_check(const struct producers *producers, struct producer_batch batch,
                                    int64_t *ret_offset);
/* It was appended. */
void producers_add(struct producers *producers, struct producer_batch batch);
void producers_deinit(struct producers *producers);

#endif
