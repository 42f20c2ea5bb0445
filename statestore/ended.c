/* SPDX-License-Identifier: Apache-2.0 */
/* See ended.h. Rows are in the family `index`, which no digest covers. */
#include "statestore/ended.h"

#include "statestore/scan.h"

#include <assert.h>

/* The first key behind those up to there. */
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

void store_batch_delete_ended_range(struct store *store, struct store_batch *batch, int64_t from,
                                    int64_t until, struct text until_order_id)
{
    struct key first;
    struct key end;
    assert(from <= until && key_may_hold(until_order_id));
    key_of_ended(from, TEXT(""), &first);
    key_behind(until, until_order_id, &end);
    rocksdb_writebatch_delete_range_cf(store_batch_rocks(batch), store->families[FAMILY_INDEX],
                                       first.data, first.size, end.data, end.size);
}

enum error_class store_scan_ended(struct store *store, int64_t from, int64_t until,
                                  struct text until_order_id,
                                  bool (*visit)(void *ctx, int64_t ended_at, struct text order_id),
                                  void *ctx, struct error *ret_error)
{
    struct scan scan;
    struct key first;
    struct key end;
    struct text key;
    struct text nothing;
    struct text order_id;
    int64_t ended_at = 0;
    assert(key_may_hold(until_order_id));
    if (from > until)
        return ERROR_OK;
    key_of_ended(from, TEXT(""), &first);
    key_behind(until, until_order_id, &end);
    scan_begin(&scan, store, FAMILY_INDEX, key_text(&first), &end, false);
    for (; scan_row(&scan, &key, &nothing); scan_next(&scan)) {
        if (!key_to_ended(key, &ended_at, &order_id)) {
            scan_damaged(&scan, "an order that ended, and is none", ret_error);
            break;
        }
        if (!visit(ctx, ended_at, order_id))
            break;
    }
    return scan_end(&scan, ret_error);
}
