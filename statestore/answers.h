/* SPDX-License-Identifier: Apache-2.0 */
/* Answers by key: what an agent must not forget. A RocksDB of its own, bounded in time and
 * in size. Unlike the other stores it is not a materialization: what is lost here is not built
 * again.
 *
 * Rows live in slices, one column family for each: rows are put into the newest one, and what is
 * to be forgotten goes with its slice, all at once and without a trace:
 *     s<begin ms>: series 16 | position BE8, its sign flipped | name -> value | seal
 * A row is kept for keep_ms at least, unless bytes_max is reached before: then the oldest slice
 * goes early, which answers_dropped_early() counts.
 *
 * Write-ahead log on, not synced: what was written survives kill -9; a power cut loses a tail. An
 * answer that is damaged in that log is lost as well; the others are not.
 * Loop thread only. "StoreCorrupt" and "StoreIo" mean: close, store_drop(), open again. */
#ifndef STATESTORE_ANSWERS_H
#define STATESTORE_ANSWERS_H

#include "base/error.h"
#include "base/text.h"
#include "engine/event.h"

#include <stdbool.h>
#include <stdint.h>

struct answers;

enum { ANSWERS_SLICES_MAX = 5, ANSWERS_NAME_BYTES_MAX = 400 };

/* Positions rise within a series, more or less: to know that nothing was put there yet, at a higher
 * position than all before, takes no look into the store. Rows that are put one after the other
 * also lie next to each other, which makes writing them cheaper. */
struct answers_key {
    struct uuid series;
    int64_t position;
    struct text name; /* of one row among those at the position */
};

struct answers_options {
    int64_t keep_ms;    /* > 0 */
    uint64_t bytes_max; /* > 0: of all rows as they were put; the disk has no more, about */
};

/* Opens or creates the store in directory `path` (its parents exist). `now`: wall clock, ms.
 * FATAL "StoreCorrupt", "StoreIo", "StoreInUse" as store_open(). */
enum error_class answers_open(const char *path, const struct answers_options *options, int64_t now,
                              struct answers **ret_answers, struct error *ret_error);
/* Forgets what was put and not written. NULL is allowed. */
void answers_close(struct answers *answers);

/* *ret_value is new (free with store_row_free), .data NULL when there is none. Sees what was
 * written. */
enum error_class answers_get(struct answers *answers, const struct answers_key *key,
                             struct text *ret_value, struct error *ret_error);
void store_row_free(struct text value); /* an empty one is allowed */

/* Copied; replaces what has the same key. */
void answers_put(struct answers *answers, const struct answers_key *key, struct text value);
/* Writes all that was put, as one; then forgets what is to be forgotten at `now`. */
enum error_class answers_write(struct answers *answers, int64_t now, struct error *ret_error);

/* How often answers_get() had to look into the store, since it was opened. */
uint64_t answers_lookups(const struct answers *answers);
uint64_t answers_bytes(const struct answers *answers);
uint32_t answers_slices(const struct answers *answers); /* for tests */
/* How often a slice went before its time, since the store was opened. */
uint64_t answers_dropped_early(const struct answers *answers);

#endif
