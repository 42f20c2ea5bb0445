/* SPDX-License-Identifier: Apache-2.0 */
/* The orders of a store that have ended, by when they did: which ones an Expiry takes out, without
 * a walk over all rows. They follow from the orders' rows and are written with them; no digest
 * covers them. */
#ifndef STATESTORE_ENDED_H
#define STATESTORE_ENDED_H

#include "statestore/store.h"

void store_batch_put_ended(struct store *store, struct store_batch *batch, int64_t ended_at,
                           struct text order_id);
void store_batch_delete_ended(struct store *store, struct store_batch *batch, int64_t ended_at,
                              struct text order_id);
/* All that store_scan_ended() would find so, as one tombstone. Rows that are put into the batch
 * afterwards stay. */
void store_batch_delete_ended_range(struct store *store, struct store_batch *batch, int64_t from,
                                    int64_t until, struct text until_order_id);

/* Those that ended at `from` or later, up to and with (`until`, `until_order_id`), or (an empty id)
 * all that ended at `until`: in the order of (ended_at, id). `visit` returns false to stop; the id
 * is borrowed during the call. After an error what was visited must not be used. Give the time
 * where the last scan ended: it spares walking over tombstones. */
enum error_class store_scan_ended(struct store *store, int64_t from, int64_t until,
                                  struct text until_order_id,
                                  bool (*visit)(void *ctx, int64_t ended_at, struct text order_id),
                                  void *ctx, struct error *ret_error);

#endif
