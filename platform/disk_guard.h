/* SPDX-License-Identifier: Apache-2.0 */
/* Is there room for the stores? RocksDB ends the process when its disk is full; before that, below
 * the watermark disk.free.min.mb, followers fold no more and owners decide no more. One guard for
 * each process looks at the disk of its data directory, writes one line to the log when room
 * becomes short and one when it is back, and has the metrics reeve_disk_free_bytes and
 * reeve_disk_low. Who works with a store asks disk_guard_is_low() before it takes on more and goes
 * on by itself. */
#ifndef PLATFORM_DISK_GUARD_H
#define PLATFORM_DISK_GUARD_H

#include "base/error.h"
#include "platform/loop.h"
#include "platform/metrics.h"

struct disk_guard;

enum { DISK_GUARD_LOOK_MS = 500 /* between two looks */ };

struct disk_guard_options {
    const char *path;  /* a directory that exists; borrowed */
    int64_t min_bytes; /* 0: never low */
    /* As files_free_bytes, which NULL stands for. When it fails the last answer holds. */
    enum error_class (*free_bytes)(const char *path, int64_t *ret_bytes, struct error *ret_error);
};

/* New; has looked once. `loop` and `metrics` are borrowed until disk_guard_free. */
struct disk_guard *disk_guard_new(struct loop *loop, struct metrics *metrics,
                                  const struct disk_guard_options *options);
/* NULL is fine. */
void disk_guard_free(struct disk_guard *guard);

/* As of the last look. Room is back a little above the watermark, so that it does not flap. NULL is
 * never low: tests and the CLI. */
bool disk_guard_is_low(const struct disk_guard *guard);
/* When low: why, in one line. */
bool disk_guard_trouble(const struct disk_guard *guard, char *ret_text, size_t size);

#endif
