/* SPDX-License-Identifier: Apache-2.0 */
/* See waiting.h. Rows are in the family `index`, which no digest covers; the tally is in `meta`. */
#include "statestore/waiting.h"

#include "statestore/scan.h"

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
    struct scan scan;
    struct key first;
    struct key prefix;
    struct key end;
    struct text key;
    struct text nothing;
    key_of_waiting(&row, &first);
    key_of_waiting_prefix(queue, priority, &prefix);
    bool bounded = key_after_prefix(&prefix, &end);
    assert(bounded); /* it begins with a number below 255 */
    scan_begin(&scan, store, FAMILY_INDEX, key_text(&first), &end, false);
    for (; scan_row(&scan, &key, &nothing); scan_next(&scan)) {
        if (!key_to_waiting(key, prefix.size, &row.queued_at, &row.order_id)) {
            scan_damaged(&scan, "a waiting step that is none", ret_error);
            break;
        }
        if (!visit(ctx, &row))
            break;
    }
    return scan_end(&scan, ret_error);
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
