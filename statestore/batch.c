/* SPDX-License-Identifier: Apache-2.0 */
/* The one WriteBatch that a store writes at a time.
 *
 * Rows of the indexes wait until the commit, in queues by what their keys begin with. Rows of one
 * index and value follow each other then, and RocksDB finds the place of a row next to the one
 * before it: half of the time that a fold spends in memtables goes into finding places. A queue
 * may mix several values, but all rows of one key are in one queue, in the order of the calls. */
#include "base/heap_arena.h"
#include "statestore/keys.h"
#include "statestore/seal.h"
#include "statestore/store_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

enum { QUEUES = 1024, QUEUED_BYTES = 64 * 1024, KEPT_BYTES = 64 * 1024 };

struct queued_row {
    struct queued_row *next;
    uint32_t size;
    bool erased;
    char key[];
};

struct row_queue {
    struct queued_row *first;
    struct queued_row *last;
};

struct store_batch {
    struct store *store; /* borrowed */
    rocksdb_writebatch_t *rocks;
    struct row_queue queues[QUEUES];
    uint32_t queued;
    struct heap_arena heap; /* of the queued rows */
};

struct store_batch *store_batch_new(struct store *store)
{
    struct store_batch *batch = calloc(1, sizeof(*batch));
    assert(batch != NULL);
    batch->store = store;
    batch->rocks = rocksdb_writebatch_create();
    heap_arena_init(&batch->heap, QUEUED_BYTES);
    store->batches++;
    return batch;
}

void store_batch_free(struct store_batch *batch)
{
    if (batch == NULL)
        return;
    assert(batch->store->batches > 0);
    batch->store->batches--;
    rocksdb_writebatch_destroy(batch->rocks);
    heap_arena_deinit(&batch->heap);
    free(batch);
}

static void forget_queued(struct store_batch *batch)
{
    if (batch->queued == 0)
        return;
    memset(batch->queues, 0, sizeof(batch->queues));
    batch->queued = 0;
    heap_arena_reset(&batch->heap);
}

/* Clearing keeps the memory of the largest batch so far, in each of many stores. */
void store_batch_clear(struct store_batch *batch)
{
    size_t size = 0;
    rocksdb_writebatch_data(batch->rocks, &size);
    if (size > KEPT_BYTES) {
        rocksdb_writebatch_destroy(batch->rocks);
        batch->rocks = rocksdb_writebatch_create();
    } else {
        rocksdb_writebatch_clear(batch->rocks);
    }
    forget_queued(batch);
}

rocksdb_writebatch_t *store_batch_rocks(struct store_batch *batch)
{
    return batch->rocks;
}

/* ---- what all kinds of rows have in common ---- */

static void put(struct store_batch *batch, enum family family, struct text key, struct text value)
{
    rocksdb_writebatch_put_cf(batch->rocks, batch->store->families[family], key.data, key.size,
                              value.data, value.size);
}

static void put_sealed(struct store_batch *batch, enum family family, struct text key,
                       struct text value)
{
    uint8_t seal[SEAL_BYTES];
    seal_make((uint64_t)family, key, value, seal);
    const char *keys[] = {key.data};
    const size_t key_sizes[] = {key.size};
    const char *values[] = {value.data != NULL ? value.data : "", (const char *)seal};
    const size_t value_sizes[] = {value.size, SEAL_BYTES};
    rocksdb_writebatch_putv_cf(batch->rocks, batch->store->families[family], 1, keys, key_sizes, 2,
                               values, value_sizes);
}

static void erase(struct store_batch *batch, enum family family, struct text key)
{
    rocksdb_writebatch_delete_cf(batch->rocks, batch->store->families[family], key.data, key.size);
}

/* ---- rows ---- */

void store_batch_put_order(struct store_batch *batch, struct text order_id, struct text row)
{
    assert(!text_empty(order_id) && order_id.size <= ORDER_ID_BYTES_MAX);
    put_sealed(batch, FAMILY_ORDERS, order_id, row);
}

void store_batch_delete_order(struct store_batch *batch, struct text order_id)
{
    erase(batch, FAMILY_ORDERS, order_id);
}

void store_batch_put_deadline(struct store_batch *batch, struct text order_id,
                              const struct deadline *deadline)
{
    struct key key;
    key_of_deadline(order_id, deadline, &key);
    put(batch, FAMILY_DEADLINES, key_text(&key), TEXT(""));
}

void store_batch_delete_deadline(struct store_batch *batch, struct text order_id,
                                 const struct deadline *deadline)
{
    struct key key;
    key_of_deadline(order_id, deadline, &key);
    erase(batch, FAMILY_DEADLINES, key_text(&key));
}

void store_batch_put_history(struct store_batch *batch, struct text order_id, int64_t offset,
                             struct text record)
{
    struct key key;
    key_of_history(order_id, offset, &key);
    put_sealed(batch, FAMILY_HISTORY, key_text(&key), record);
}

void store_batch_delete_history(struct store_batch *batch, struct text order_id, int64_t through)
{
    struct key from;
    struct key until;
    assert(through >= 0 && through < INT64_MAX);
    key_of_history(order_id, 0, &from);
    key_of_history(order_id, through + 1, &until);
    rocksdb_writebatch_delete_range_cf(batch->rocks, batch->store->families[FAMILY_HISTORY],
                                       from.data, from.size, until.data, until.size);
}

/* ---- index rows ---- */

static void queue_row(struct store_batch *batch, enum store_index index, struct text value,
                      int64_t at, struct text order_id, bool erased)
{
    struct key key;
    key_of_index(index, value, at, order_id, &key);
    size_t prefix_size = key.size - sizeof(at) - order_id.size;
    struct row_queue *queue = &batch->queues[XXH3_64bits(key.data, prefix_size) % QUEUES];
    struct queued_row *row = arena_calloc(&batch->heap.arena, 1, sizeof(*row) + key.size);
    row->size = key.size;
    row->erased = erased;
    memcpy(row->key, key.data, key.size);
    if (queue->last != NULL)
        queue->last->next = row;
    else
        queue->first = row;
    queue->last = row;
    batch->queued++;
}

void store_batch_put_index(struct store_batch *batch, enum store_index index, struct text value,
                           int64_t at, struct text order_id)
{
    queue_row(batch, index, value, at, order_id, false);
}

void store_batch_delete_index(struct store_batch *batch, enum store_index index, struct text value,
                              int64_t at, struct text order_id)
{
    queue_row(batch, index, value, at, order_id, true);
}

void store_batch_put_queued(struct store_batch *batch)
{
    for (uint32_t i = 0; i < QUEUES && batch->queued > 0; i++) {
        for (const struct queued_row *row = batch->queues[i].first; row != NULL; row = row->next) {
            struct text key = {row->key, row->size};
            if (row->erased)
                erase(batch, FAMILY_INDEX, key);
            else
                put(batch, FAMILY_INDEX, key, TEXT(""));
        }
    }
    forget_queued(batch);
}

/* ---- the checkpoint ---- */

void store_batch_put_checkpoint(struct store_batch *batch, const struct checkpoint *checkpoint)
{
    uint8_t bytes[CHECKPOINT_BYTES];
    checkpoint_encode(checkpoint, bytes);
    put(batch, FAMILY_META, TEXT(CHECKPOINT_KEY),
        (struct text){(const char *)bytes, CHECKPOINT_BYTES});
}
