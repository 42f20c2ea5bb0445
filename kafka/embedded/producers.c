/* SPDX-License-Identifier: Apache-2.0 */
/* See producers.h. */
#include "kafka/embedded/producers.h"

#include "platform/hash_table.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    PRODUCERS_MAX = 1000,
    BATCHES = 5, /* as many as a producer has in flight */
};

struct producer {
    int64_t id;
    int16_t epoch;
    unsigned count; /* of batches, at most BATCHES; the last one first */
    struct producer_batch batches[BATCHES];
    struct producer *prev;
    struct producer *next;
    UT_hash_handle hh;
};

static struct producer *find(const struct producers *producers, int64_t id)
{
    struct producer *producer;
    HASH_FIND(hh, producers->table, &id, sizeof(id), producer);
    return producer;
}

/* Sequences run from 0 to INT32_MAX, and around. */
static int32_t next_sequence(const struct producer_batch *batch)
{
    return (int32_t)(((int64_t)batch->first + batch->last_delta + 1) & INT32_MAX);
}

rd_kafka_resp_err_t producers_check(const struct producers *producers, struct producer_batch batch,
                                    int64_t *ret_offset)
{
    const struct producer *producer = batch.producer >= 0 ? find(producers, batch.producer) : NULL;
    if (producer == NULL)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    if (batch.epoch < producer->epoch)
        return RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
    if (batch.epoch > producer->epoch)
        return batch.first == 0 ? RD_KAFKA_RESP_ERR_NO_ERROR
                                : RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
    for (unsigned i = 0; i < producer->count; i++) {
        const struct producer_batch *sent = &producer->batches[i];
        if (sent->first != batch.first || sent->last_delta != batch.last_delta)
            continue;
        *ret_offset = sent->offset;
        return RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER;
    }
    return batch.first == next_sequence(&producer->batches[0])
               ? RD_KAFKA_RESP_ERR_NO_ERROR
               : RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
}

static void forget(struct producers *producers, struct producer *producer)
{
    HASH_DEL(producers->table, producer);
    DL_DELETE(producers->oldest, producer);
    producers->count--;
    free(producer);
}

static struct producer *add_producer(struct producers *producers, int64_t id)
{
    if (producers->count == PRODUCERS_MAX)
        forget(producers, producers->oldest);
    struct producer *producer = calloc(1, sizeof(*producer));
    assert(producer != NULL);
    producer->id = id;
    HASH_ADD(hh, producers->table, id, sizeof(producer->id), producer);
    DL_APPEND(producers->oldest, producer);
    producers->count++;
    return producer;
}

void producers_add(struct producers *producers, struct producer_batch batch)
{
    if (batch.producer < 0)
        return;
    struct producer *producer = find(producers, batch.producer);
    if (producer == NULL)
        producer = add_producer(producers, batch.producer);
    if (batch.epoch != producer->epoch)
        producer->count = 0;
    producer->epoch = batch.epoch;
    unsigned kept = producer->count < BATCHES ? producer->count : BATCHES - 1;
    memmove(&producer->batches[1], &producer->batches[0], kept * sizeof(producer->batches[0]));
    producer->batches[0] = batch;
    producer->count = kept + 1;
    DL_DELETE(producers->oldest, producer);
    DL_APPEND(producers->oldest, producer);
}

void producers_deinit(struct producers *producers)
{
    struct producer *producer;
    struct producer *next;
    DL_FOREACH_SAFE(producers->oldest, producer, next)
        forget(producers, producer);
}
