/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the family `meta` that stand next to the checkpoint: sealed, and written with it. */
#include "statestore/seal.h"
#include "statestore/store_internal.h"

#include <assert.h>

void store_batch_put_meta(struct store *store, struct store_batch *batch, struct text key,
                          struct text row)
{
    uint8_t seal[SEAL_BYTES];
    seal_make((uint64_t)FAMILY_META, key, row, seal);
    const char *keys[] = {key.data};
    const size_t key_sizes[] = {key.size};
    const char *values[] = {row.data != NULL ? row.data : "", (const char *)seal};
    const size_t value_sizes[] = {row.size, SEAL_BYTES};
    rocksdb_writebatch_putv_cf(store_batch_rocks(batch), store->families[FAMILY_META], 1, keys,
                               key_sizes, 2, values, value_sizes);
}

enum error_class store_get_meta(struct store *store, struct text key, struct text *ret_row,
                                struct error *ret_error)
{
    char *message = NULL;
    size_t size = 0;
    char *sealed = rocksdb_get_cf(store->db, store->read, store->families[FAMILY_META], key.data,
                                  key.size, &size, &message);
    if (message != NULL)
        return store_fail(store->path, "read", message, ret_error);
    struct text row = {0};
    if (sealed != NULL &&
        !seal_open(FAMILY_META, key, (struct text){sealed, (uint32_t)size}, &row)) {
        rocksdb_free(sealed);
        return store_corrupt(store, "a row of its own that does not match its hash", ret_error);
    }
    assert(sealed == NULL || row.data == sealed);
    *ret_row = row;
    return ERROR_OK;
}
