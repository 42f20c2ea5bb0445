/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of orders, deadlines, histories and the console's indexes, and the digest. */
#include "statestore/scan.h"

#include "base/bytes.h"
#include "statestore/seal.h"

#include <assert.h>
#include <xxhash.h>

enum { SCAN_READAHEAD_BYTES = 1 << 20 };

void scan_begin(struct scan *scan, struct store *store, enum family family, struct text from,
                const struct key *until, bool whole)
{
    scan->store = store;
    scan->class = ERROR_OK;
    scan->options = rocksdb_readoptions_create();
    if (until != NULL) {
        scan->until = *until;
        rocksdb_readoptions_set_iterate_upper_bound(scan->options, scan->until.data,
                                                    scan->until.size);
    }
    if (whole) {
        rocksdb_readoptions_set_fill_cache(scan->options, 0);
        rocksdb_readoptions_set_readahead_size(scan->options, SCAN_READAHEAD_BYTES);
    }
    scan->iterator = NULL;
    if (store == NULL)
        return;
    scan->iterator = rocksdb_create_iterator_cf(store->db, scan->options, store->families[family]);
    rocksdb_iter_seek(scan->iterator, from.data != NULL ? from.data : "", from.size);
}

bool scan_row(struct scan *scan, struct text *ret_key, struct text *ret_value)
{
    if (scan->iterator == NULL || !rocksdb_iter_valid(scan->iterator))
        return false;
    size_t key_size = 0;
    size_t value_size = 0;
    const char *key = rocksdb_iter_key(scan->iterator, &key_size);
    const char *value = rocksdb_iter_value(scan->iterator, &value_size);
    assert(key_size <= UINT32_MAX && value_size <= UINT32_MAX);
    *ret_key = (struct text){key, (uint32_t)key_size};
    *ret_value = (struct text){value, (uint32_t)value_size};
    return true;
}

void scan_next(struct scan *scan)
{
    rocksdb_iter_next(scan->iterator);
}

void scan_damaged(struct scan *scan, const char *what, struct error *ret_error)
{
    scan->class = store_corrupt(scan->store, what, ret_error);
}

enum error_class scan_end(struct scan *scan, struct error *ret_error)
{
    if (scan->iterator == NULL)
        scan->class = store_closed(ret_error);
    if (scan->class == ERROR_OK) {
        char *message = NULL;
        rocksdb_iter_get_error(scan->iterator, &message);
        scan->class = store_fail(scan->store->path, "scan", message, ret_error);
    }
    if (scan->iterator != NULL)
        rocksdb_iter_destroy(scan->iterator);
    rocksdb_readoptions_destroy(scan->options);
    return scan->class;
}

/* ---- the scans ---- */

/* Visits the rows of `scan`, which it ends. */
static enum error_class visit_orders(struct scan *scan, struct text after_order_id,
                                     bool (*visit)(void *ctx, struct text order_id,
                                                   struct text row),
                                     void *ctx, struct error *ret_error)
{
    struct text key, sealed, row;
    for (; scan_row(scan, &key, &sealed); scan_next(scan)) {
        if (!text_empty(after_order_id) && text_equal(key, after_order_id))
            continue;
        if (key.size > ORDER_ID_BYTES_MAX || !seal_open(FAMILY_ORDERS, key, sealed, &row)) {
            scan_damaged(scan, "an order whose row does not match its hash", ret_error);
            break;
        }
        if (!visit(ctx, key, row))
            break;
    }
    return scan_end(scan, ret_error);
}

enum error_class store_scan_orders(struct store *store, struct text after_order_id,
                                   bool (*visit)(void *ctx, struct text order_id, struct text row),
                                   void *ctx, struct error *ret_error)
{
    struct scan scan;
    scan_begin(&scan, store, FAMILY_ORDERS, after_order_id, NULL, true);
    return visit_orders(&scan, after_order_id, visit, ctx, ret_error);
}

enum error_class store_scan_orders_of(struct store *store, struct text prefix,
                                      struct text after_order_id,
                                      bool (*visit)(void *ctx, struct text order_id,
                                                    struct text row),
                                      void *ctx, struct error *ret_error)
{
    struct scan scan;
    struct key first = {0};
    struct key end;
    if (!key_may_hold(prefix) || !key_may_hold(after_order_id))
        return ERROR_OK;
    if (prefix.size > 0)
        memcpy(first.data, prefix.data, prefix.size);
    first.size = prefix.size;
    bool bounded = key_after_prefix(&first, &end);
    bool later = text_compare(after_order_id, prefix) > 0;
    if (later && bounded && text_compare(after_order_id, key_text(&end)) >= 0)
        return ERROR_OK;
    scan_begin(&scan, store, FAMILY_ORDERS, later ? after_order_id : prefix, bounded ? &end : NULL,
               false);
    return visit_orders(&scan, after_order_id, visit, ctx, ret_error);
}

enum error_class store_scan_deadlines(struct store *store, int64_t from, struct text from_order_id,
                                      int64_t until,
                                      bool (*visit)(void *ctx, struct text order_id,
                                                    const struct deadline *deadline),
                                      void *ctx, struct error *ret_error)
{
    if (from > until || !key_may_hold(from_order_id))
        return ERROR_OK;
    struct key first, end;
    key_of_due_order(from, from_order_id, &first);
    if (until < INT64_MAX)
        key_of_due_time(until + 1, &end);
    struct scan scan;
    struct text key, value, order_id;
    struct deadline deadline;
    scan_begin(&scan, store, FAMILY_DEADLINES, key_text(&first), until < INT64_MAX ? &end : NULL,
               false);
    for (; scan_row(&scan, &key, &value); scan_next(&scan)) {
        if (!key_to_deadline(key, &order_id, &deadline)) {
            scan_damaged(&scan, "a deadline that is none", ret_error);
            break;
        }
        if (!visit(ctx, order_id, &deadline))
            break;
    }
    return scan_end(&scan, ret_error);
}

enum error_class store_scan_history(struct store *store, struct text order_id, int64_t from_offset,
                                    bool (*visit)(void *ctx, int64_t offset, struct text decision),
                                    void *ctx, struct error *ret_error)
{
    struct key first, prefix, end;
    if (!key_may_hold(order_id))
        return ERROR_OK;
    key_of_history(order_id, from_offset, &first);
    prefix = first;
    prefix.size = order_id.size + 1;
    bool bounded = key_after_prefix(&prefix, &end);
    assert(bounded); /* it ends with a 0 */
    struct scan scan;
    struct text key, sealed, decision;
    int64_t offset = 0;
    scan_begin(&scan, store, FAMILY_HISTORY, key_text(&first), &end, false);
    for (; scan_row(&scan, &key, &sealed); scan_next(&scan)) {
        if (key.size != first.size)
            continue; /* of a longer id, which has a zero byte behind this one */
        if (!key_to_history(key, order_id.size, &offset) ||
            !seal_open(FAMILY_HISTORY, key, sealed, &decision)) {
            scan_damaged(&scan, "a history that does not match its hash", ret_error);
            break;
        }
        if (!visit(ctx, offset, decision))
            break;
    }
    return scan_end(&scan, ret_error);
}

enum error_class store_scan_index(struct store *store, enum store_index index, struct text value,
                                  int64_t before, struct text after_order_id,
                                  bool (*visit)(void *ctx, int64_t at, struct text order_id),
                                  void *ctx, struct error *ret_error)
{
    struct key prefix, first, end;
    if (value.size > INDEX_VALUE_BYTES_MAX || !key_may_hold(after_order_id))
        return ERROR_OK;
    key_of_index_prefix(index, value, &prefix);
    key_of_index(index, value, before, after_order_id, &first);
    bool bounded = key_after_prefix(&prefix, &end);
    assert(bounded); /* it begins with the index, less than 255 */
    struct scan scan;
    struct text key, nothing, order_id;
    int64_t at = 0;
    scan_begin(&scan, store, FAMILY_INDEX, key_text(&first), &end, false);
    for (; scan_row(&scan, &key, &nothing); scan_next(&scan)) {
        if (!text_empty(after_order_id) && text_equal(key, key_text(&first)))
            continue;
        if (!key_to_index(key, prefix.size, &at, &order_id)) {
            scan_damaged(&scan, "an index entry that is none", ret_error);
            break;
        }
        if (!visit(ctx, at, order_id))
            break;
    }
    return scan_end(&scan, ret_error);
}

/* ---- digest ---- */

/* Sizes go in before bytes, so that no two sets of rows read the same. */
static void digest_text(XXH3_state_t *state, struct text text)
{
    uint8_t size[4];
    bytes_put_le(size, text.size, 4);
    XXH3_128bits_update(state, size, sizeof(size));
    if (text.size > 0)
        XXH3_128bits_update(state, text.data, text.size);
}

static bool digest_row(XXH3_state_t *state, enum family family, struct text key, struct text value)
{
    struct text row = value;
    struct text order_id;
    struct deadline deadline;
    if (family == FAMILY_ORDERS ? !seal_open(FAMILY_ORDERS, key, value, &row)
                                : !key_to_deadline(key, &order_id, &deadline))
        return false;
    digest_text(state, key);
    digest_text(state, row);
    return true;
}

static enum error_class digest_family(struct store *store, enum family family, XXH3_state_t *state,
                                      uint64_t *ret_rows, struct error *ret_error)
{
    struct scan scan;
    struct text key, value;
    uint64_t rows = 0;
    digest_text(state, text_of(store_family_names[family]));
    scan_begin(&scan, store, family, TEXT(""), NULL, true);
    for (; scan_row(&scan, &key, &value); scan_next(&scan)) {
        if (!digest_row(state, family, key, value)) {
            scan_damaged(&scan, "a row that does not match its hash", ret_error);
            break;
        }
        rows++;
    }
    enum error_class class = scan_end(&scan, ret_error);
    if (class == ERROR_OK)
        *ret_rows = rows;
    return class;
}

enum error_class store_digest(struct store *store, struct content_hash *ret_digest,
                              uint64_t *ret_orders, struct error *ret_error)
{
    XXH3_state_t *state = XXH3_createState();
    assert(state != NULL);
    XXH3_128bits_reset(state);
    uint64_t orders = 0;
    uint64_t deadlines = 0;
    enum error_class class = digest_family(store, FAMILY_ORDERS, state, &orders, ret_error);
    if (class == ERROR_OK)
        class = digest_family(store, FAMILY_DEADLINES, state, &deadlines, ret_error);
    if (class == ERROR_OK) {
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
        _Static_assert(sizeof(canonical.digest) == sizeof(ret_digest->bytes), "128 bits");
        memcpy(ret_digest->bytes, canonical.digest, sizeof(ret_digest->bytes));
        *ret_orders = orders;
    }
    XXH3_freeState(state);
    return class;
}
