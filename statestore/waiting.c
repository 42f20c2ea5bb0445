/* SPDX-License-Identifier: Apache-2.0 */
/* See waiting.h. Rows are in the family `index`, which no digest covers; the tally is in `meta`. */
#include "statestore/waiting.h"

#include "statestore/keys.h"
#include "statestore/store_internal.h"

#include <assert.h>

#define TALLY_KEY "tally"

void store_batch_put_waiting(struct store *store, struct store_batch *batch,
                             const struct waiting_row *row)
{
    struct key key;
    key_of_waiting(row, &key);
    rocksdb_writebatch_put_cf(store_batch_rocks(batch), store->families[FAMILY_INDEX], key.data,
                              key.size, "", 0);
}

void store_batch_delete_waiting(struct store *store, struct store_batch *batch,
                                const struct waiting_row *row)
{
    struct key key;
    key_of_waiting(row, &key);
    rocksdb_writebatch_delete_cf(store_batch_rocks(batch), store->families[FAMILY_INDEX], key.data,
                                 key.size);
}

enum error_class store_scan_waiting(struct store *store, struct text queue, enum priority priority,
                                    int64_t from,
                                    bool (*visit)(void *ctx, const struct waiting_row *row),
                                    void *ctx, struct error *ret_error)
{
    struct waiting_row row = {.queue = queue, .priority = priority, .queued_at = from};
    struct key first;
    struct key prefix;
    struct key end;
    if (store == NULL)
        return store_closed(ret_error);
    key_of_waiting(&row, &first);
    key_of_waiting_prefix(queue, priority, &prefix);
    bool bounded = key_after_prefix(&prefix, &end);
    assert(bounded); /* it begins with a number below 255 */
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_iterate_upper_bound(options, end.data, end.size);
    rocksdb_iterator_t *rows =
        rocksdb_create_iterator_cf(store->db, options, store->families[FAMILY_INDEX]);
    enum error_class class = ERROR_OK;
    for (rocksdb_iter_seek(rows, first.data, first.size); rocksdb_iter_valid(rows);
         rocksdb_iter_next(rows)) {
        size_t size = 0;
        const char *data = rocksdb_iter_key(rows, &size);
        if (!key_to_waiting((struct text){data, (uint32_t)size}, prefix.size, &row.queued_at,
                            &row.order_id)) {
            class = store_corrupt(store, "a waiting step that is none", ret_error);
            break;
        }
        if (!visit(ctx, &row))
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

/* ---- the tally ---- */

void store_batch_put_tally(struct store *store, struct store_batch *batch, struct text tally)
{
    store_batch_put_meta(store, batch, TEXT(TALLY_KEY), tally);
}

enum error_class store_get_tally(struct store *store, struct text *ret_tally,
                                 struct error *ret_error)
{
    return store_get_meta(store, TEXT(TALLY_KEY), ret_tally, ret_error);
}
