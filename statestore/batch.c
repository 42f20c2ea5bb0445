/* SPDX-License-Identifier: Apache-2.0 */
/* The one WriteBatch that a store writes at a time. */
#include "statestore/keys.h"
#include "statestore/seal.h"
#include "statestore/store_internal.h"

#include <assert.h>
#include <stdlib.h>

struct store_batch {
    struct store *store; /* borrowed */
    rocksdb_writebatch_t *rocks;
};

struct store_batch *store_batch_new(struct store *store)
{
    struct store_batch *batch = calloc(1, sizeof(*batch));
    assert(batch != NULL);
    batch->store = store;
    batch->rocks = rocksdb_writebatch_create();
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
    free(batch);
}

void store_batch_clear(struct store_batch *batch)
{
    rocksdb_writebatch_clear(batch->rocks);
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
                             struct text decision)
{
    struct key key;
    key_of_history(order_id, offset, &key);
    put_sealed(batch, FAMILY_HISTORY, key_text(&key), decision);
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

void store_batch_put_index(struct store_batch *batch, enum store_index index, struct text value,
                           int64_t updated_at, struct text order_id)
{
    struct key key;
    key_of_index(index, value, updated_at, order_id, &key);
    put(batch, FAMILY_INDEX, key_text(&key), TEXT(""));
}

void store_batch_delete_index(struct store_batch *batch, enum store_index index, struct text value,
                              int64_t updated_at, struct text order_id)
{
    struct key key;
    key_of_index(index, value, updated_at, order_id, &key);
    erase(batch, FAMILY_INDEX, key_text(&key));
}

void store_batch_put_checkpoint(struct store_batch *batch, const struct checkpoint *checkpoint)
{
    uint8_t bytes[CHECKPOINT_BYTES];
    checkpoint_encode(checkpoint, bytes);
    put(batch, FAMILY_META, TEXT(CHECKPOINT_KEY),
        (struct text){(const char *)bytes, CHECKPOINT_BYTES});
}
