/* SPDX-License-Identifier: Apache-2.0 */
/* What a partition's owner keeps besides its orders, in the same WriteBatch: the steps that wait
 * for free capacity of an agent, in the order in which they are served, and a tally of what runs
 * and waits.
 *
 * Like indexes they follow from the orders, and no digest covers them. A queue is whatever the
 * writer says: steps of one queue wait for the same agents. */
#ifndef STATESTORE_WAITING_H
#define STATESTORE_WAITING_H

#include "statestore/store.h"

enum { QUEUE_KEY_BYTES_MAX = 255 }; /* with the name of a body */

struct waiting_row {
    struct text queue;
    enum priority priority;
    int64_t queued_at;
    struct text order_id;
};

void store_batch_put_waiting(struct store *store, struct store_batch *batch,
                             const struct waiting_row *row);
void store_batch_delete_waiting(struct store *store, struct store_batch *batch,
                                const struct waiting_row *row);
/* The rows of the queue and priority with queued_at >= from, the oldest first; of one time by order
 * id. `visit` returns false to stop; the row is borrowed during the call. `from` spares walking
 * over what was deleted. After an error what was visited must not be used. */
enum error_class store_scan_waiting(struct store *store, struct text queue, enum priority priority,
                                    int64_t from,
                                    bool (*visit)(void *ctx, const struct waiting_row *row),
                                    void *ctx, struct error *ret_error);

void store_batch_put_tally(struct store *store, struct store_batch *batch, struct text tally);
/* *ret_tally is new (free with store_row_free); .data NULL: none was ever written. */
enum error_class store_get_tally(struct store *store, struct text *ret_tally,
                                 struct error *ret_error);

#endif
