/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the rows of a family from a key up to, and without, another; nothing outside
 * statestore/ includes this.
 *
 *     scan_begin(&scan, store, FAMILY_INDEX, key_text(&first), &end, false);
 *     for (; scan_row(&scan, &key, &value); scan_next(&scan))
 *         ...
 *     return scan_end(&scan, ret_error);
 *
 * An iterator that meets a damaged block just ends, as if there were no more rows: so its error is
 * asked for after every scan, and a scan that cannot be trusted is an error. */
#ifndef STATESTORE_SCAN_H
#define STATESTORE_SCAN_H

#include "statestore/keys.h"
#include "statestore/store_internal.h"

struct scan {
    struct store *store;
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *iterator;
    struct key until; /* RocksDB points into it */
    enum error_class class;
};

/* `store` NULL: scan_end() reports it. `until` NULL: to the end of the family. `whole`: of no use
 * to the cache, so kept out of it. */
void scan_begin(struct scan *scan, struct store *store, enum family family, struct text from,
                const struct key *until, bool whole);
/* The next row, borrowed until the next call. */
bool scan_row(struct scan *scan, struct text *ret_key, struct text *ret_value);
void scan_next(struct scan *scan);
/* Remembers that the row is not one that this store writes; scan_end() returns it. */
void scan_damaged(struct scan *scan, const char *what, struct error *ret_error);
enum error_class scan_end(struct scan *scan, struct error *ret_error);

#endif
