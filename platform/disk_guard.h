/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the free space on the disk of the data directory, so that a process pauses before its
 * disk is full: a store that cannot be written has to be folded again. There is one guard per
 * process: it checks the disk periodically, logs when space runs low and when there is enough
 * again, and sets the metrics reeve_disk_free_bytes and reeve_disk_low. Whatever writes to the disk
 * checks disk_guard_is_low() before it takes on more, and resumes by itself. */
#ifndef PLATFORM_DISK_GUARD_H
#define PLATFORM_DISK_GUARD_H

#include "base/error.h"
#include "platform/loop.h"
#include "platform/metrics.h"

struct disk_guard;

enum { DISK_GUARD_CHECK_MS = 500 /* between two checks */ };

struct disk_guard_options {
    const char *path;  /* a directory that exists; borrowed */
    int64_t min_bytes; /* 0: never low */
    /* NULL: files_free_bytes. When it fails, the last result stays in force. */
    enum error_class (*free_bytes)(const char *path, int64_t *ret_bytes, struct error *ret_error);
};

/* New; has checked once. `loop` and `metrics` are borrowed until disk_guard_free. */
struct disk_guard *disk_guard_new(struct loop *loop, struct metrics *metrics,
                                  const struct disk_guard_options *options);
/* NULL does nothing. */
void disk_guard_free(struct disk_guard *guard);

/* As of the last check. Low ends a little above the limit, so that it does not flap. A NULL guard
 * (tests, CLI) is never low. */
bool disk_guard_is_low(const struct disk_guard *guard);
/* Of the last check; -1: unknown, also of a NULL guard. */
int64_t disk_guard_free_bytes(const struct disk_guard *guard);
/* True when low, with the reason in one line. */
bool disk_guard_trouble(const struct disk_guard *guard, char *ret_text, size_t size);

#endif
