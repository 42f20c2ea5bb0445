/* SPDX-License-Identifier: Apache-2.0 */
/* The highest position of each series of answers: what lies beyond it was never put. Only answers.c
 * calls this. No allocation but for new series. */
#ifndef STATESTORE_ANSWERS_SERIES_H
#define STATESTORE_ANSWERS_SERIES_H

#include "engine/event.h"

#include <stddef.h>

enum { ANSWERS_SERIES_MAX = 16384 /* beyond it they are forgotten, and read again */ };

struct answers_series {
    struct uuid id;
    bool used;
    bool loaded;     /* `highest` covers what the store had before this process */
    int64_t highest; /* of what this process put, at least; INT64_MIN: nothing */
};

/* Zeroed at first. */
struct answers_series_table {
    struct answers_series *slots; /* open addressing */
    size_t size;                  /* a power of two, or 0 */
    size_t count;
};

/* New at the first time. Borrowed until the next call. */
struct answers_series *answers_series_get(struct answers_series_table *table,
                                          const struct uuid *id);
/* Forgets all; also frees. */
void answers_series_clear(struct answers_series_table *table);

#endif
