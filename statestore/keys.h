/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the column families, made and taken apart. Times are signed: BE8 stands for the
 * value with its sign bit turned, so that the order of bytes is the order of times.
 *
 *     orders     order id                                                       -> row, sealed
 *     deadlines  due_at BE8 | order id | 0 | kind | step BE4                    -> nothing
 *     history    order id | 0 | event offset BE8                                -> record, sealed
 *     index      index | size of value BE2 | value | ~time BE8 | order id       -> nothing
 *                128 | size of queue BE2 | queue | priority | queued_at BE8 | order id -> nothing
 *                129 | ended_at BE8 | order id                                      -> nothing
 *     meta       "checkpoint"                                                   -> see checkpoint.h
 *                "tally"                                                        -> see waiting.h
 *                "continuations"                                          -> see continuations.c
 *
 * The time of an index row is that of the order's last change; for submitted, customer and
 * attribute that of its acceptance. An indexed value is as index_value_of() makes it. An order id
 * has no byte 0 (engine/limits.h); an indexed value may have any, hence its size. */
#ifndef STATESTORE_KEYS_H
#define STATESTORE_KEYS_H

#include "statestore/store.h"
#include "statestore/waiting.h"

enum { KEY_BYTES_MAX = 512 };

struct key {
    uint32_t size;
    char data[KEY_BYTES_MAX];
};

static inline struct text key_text(const struct key *key)
{
    return (struct text){key->data, key->size};
}

/* Whether an order of this id can be in the store. Scans ask, as their ids may come from
 * third-party clients; writers must know. */
bool key_may_hold(struct text order_id);

void key_of_deadline(struct text order_id, const struct deadline *deadline, struct key *ret_key);
/* Where the deadlines due at `due_at` begin, and those of an order at that time. */
void key_of_due_time(int64_t due_at, struct key *ret_key);
void key_of_due_order(int64_t due_at, struct text order_id, struct key *ret_key);
bool key_to_deadline(struct text key, struct text *ret_order_id, struct deadline *ret_deadline);

void key_of_history(struct text order_id, int64_t offset, struct key *ret_key);
bool key_to_history(struct text key, uint32_t order_id_size, int64_t *ret_offset);

void key_of_index(enum store_index index, struct text value, int64_t at, struct text order_id,
                  struct key *ret_key);
/* What all keys of this index and value begin with. */
void key_of_index_prefix(enum store_index index, struct text value, struct key *ret_key);
bool key_to_index(struct text key, uint32_t prefix_size, int64_t *ret_at,
                  struct text *ret_order_id);

void key_of_waiting(const struct waiting_row *row, struct key *ret_key);
/* What all keys of this queue and priority begin with. */
void key_of_waiting_prefix(struct text queue, enum priority priority, struct key *ret_key);
bool key_to_waiting(struct text key, uint32_t prefix_size, int64_t *ret_queued_at,
                    struct text *ret_order_id);

void key_of_ended(int64_t ended_at, struct text order_id, struct key *ret_key);
bool key_to_ended(struct text key, int64_t *ret_ended_at, struct text *ret_order_id);

/* The first key behind all that begin with `key`; false when there is none (only bytes 255). */
bool key_after_prefix(const struct key *key, struct key *ret_after);

#endif
