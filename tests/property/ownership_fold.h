/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a partition folded from zero, without stores, and what has to agree with it: the live
 * stores, row by row. */
#ifndef TESTS_PROPERTY_OWNERSHIP_FOLD_H
#define TESTS_PROPERTY_OWNERSHIP_FOLD_H

#include "tests/property/ownership_world.h"

enum { FOLD_ORDERS_MAX = 256 };

struct fold {
    struct checkpoint checkpoint;
    struct order orders[FOLD_ORDERS_MAX];
    uint32_t order_count;
    int64_t claimed_at; /* of the latest claim */
    int64_t start;      /* where the log begins now; the fold begins at 0 nevertheless */
    bool begins;        /* a Continuation counts there */
    bool announced;     /* one that counts has announced it */
};

/* Folds [0, end) into *ret_fold, what was trimmed included. Its orders live in the world's scratch
 * arena. `sometimes` (may be NULL) counts the rare situations in it. NULL, or what went wrong. */
const char *fold_log(struct world *world, int32_t partition, int64_t end,
                     struct ownership_sometimes *sometimes, struct fold *ret_fold);
/* Every live store at its checkpoint: all its rows, and no others, are those of a fold. One that
 * has committed nothing since the last time is left out. */
const char *compare_stores(struct world *world);

/* The same of one view. */
const char *compare_view(struct world *world, int32_t partition, struct view *view);

#endif
