/* SPDX-License-Identifier: Apache-2.0 */
/* The Continuations of a partition that an owner may trim its log to: where they are, and when they
 * were appended. Kept in the store, so that an owner that restarts need not read the log for them.
 * Written in the same WriteBatch as the checkpoint. */
#ifndef STATESTORE_CONTINUATIONS_H
#define STATESTORE_CONTINUATIONS_H

#include "statestore/store.h"

/* About eleven days of one an hour; of a longer time every second one, or fourth, and so on. */
enum { CONTINUATIONS_MAX = 256 };

struct continuation_place {
    int64_t offset;
    int64_t appended_at; /* ms, by the clock of the partition's leader */
};

/* In the order of the log. */
struct continuations {
    uint32_t count;
    struct continuation_place places[CONTINUATIONS_MAX];
};

/* `place` is behind all others (asserted). */
void continuations_add(struct continuations *list, struct continuation_place place);
/* Forgets those before `offset`. */
void continuations_forget(struct continuations *list, int64_t offset);

void store_batch_put_continuations(struct store *store, struct store_batch *batch,
                                   const struct continuations *list);
/* An empty list if none was ever written. */
enum error_class store_get_continuations(struct store *store, struct continuations *ret_list,
                                         struct error *ret_error);

#endif
