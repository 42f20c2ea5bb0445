/* SPDX-License-Identifier: Apache-2.0 */
/* See ended.h. Rows are in the family `index`, which no digest covers. */
#include "statestore/ended.h"

#include "statestore/keys.h"
#include "statestore/store_internal.h"

#include <assert.h>

void store_batch_put_ended(struct store *store, struct store_batch *batch, int64_t ended_at,
                           struct text order_id)
{
    struct key key;
    key_of_ended(ended_at, order_id, &key);
    rocksdb_writebatch_put_cf(store_batch_rocks(batch), store->families[FAMILY_INDEX], key.data,
                              key.size, "", 0);
}

void store_batch_delete_ended(struct store *store, struct store_batch *batch, int64_t ended_at,
                              struct text order_id)
{
    struct key key;
    key_of_ended(ended_at, order_id, &key);
    rocksdb_writebatch_delete_cf(store_batch_rocks(batch), store->families[FAMILY_INDEX], key.data,
                                 key.size);
}

/* The first key behind those of the scan. */
static void key_behind(int64_t until, struct text order_id, struct key *ret_key)
{
    struct key last;
    key_of_ended(until, order_id, &last);
    if (text_empty(order_id)) {
        bool bounded = key_after_prefix(&last, ret_key);
        assert(bounded); /* it begins with a number below 255 */
        return;
    }
    *ret_key = last;
    ret_key->data[ret_key->size++] = '\0';
}

enum error_class store_scan_ended(struct store *store, int64_t from, int64_t until,
                                  struct text until_order_id,
                                  bool (*visit)(void *ctx, int64_t ended_at, struct text order_id),
                                  void *ctx, struct error *ret_error)
{
    struct key first;
    struct key end;
    struct text order_id;
    int64_t ended_at = 0;
    assert(key_may_hold(until_order_id));
    if (store == NULL)
        return store_closed(ret_error);
    if (from > until)
        return ERROR_OK;
    key_of_ended(from, TEXT(""), &first);
    key_behind(until, until_order_id, &end);
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_iterate_upper_bound(options, end.data, end.size);
    rocksdb_iterator_t *rows =
        rocksdb_create_iterator_cf(store->db, options, store->families[FAMILY_INDEX]);
    enum error_class class = ERROR_OK;
    for (rocksdb_iter_seek(rows, first.data, first.size); rocksdb_iter_valid(rows);
         rocksdb_iter_next(rows)) {
        size_t size = 0;
        const char *data = rocksdb_iter_key(rows, &size);
        if (!key_to_ended((struct text){data, (uint32_t)size}, &ended_at, &order_id)) {
            class = store_corrupt(store, "an order that ended, and is none", ret_error);
            break;
        }
        if (!visit(ctx, ended_at, order_id))
            break;
    }
    if (class == ERROR_OK) {
        char *message = NULL;
        rocksdb_iter_get_error(rows, &message);
        class = store_fail(store->path, "scan", message, ret_error);
    }
    rocksdb_iter_destroy(rows);
    rocksdb_readoptions_destroy(options);
    return class;
}
