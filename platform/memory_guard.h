/* SPDX-License-Identifier: Apache-2.0 */
/* Gives memory back to the system. malloc keeps what is freed below other allocations, and after a
 * burst or a fold that is often half of a process. Every 10 s the guard compares what the process
 * has resident with what is in use, and has malloc return the rest where it has grown by 4 MB. */
#ifndef PLATFORM_MEMORY_GUARD_H
#define PLATFORM_MEMORY_GUARD_H

#include "platform/loop.h"

struct memory_guard {
    struct loop *loop; /* borrowed */
    struct loop_timer timer;
    int64_t kept_bytes; /* resident and not in use, and could not be returned */
};

enum { MEMORY_GUARD_CHECK_MS = 10000 };

/* The guard stays where it is until memory_guard_end(), which may be called without a begin. */
void memory_guard_begin(struct memory_guard *guard, struct loop *loop);
void memory_guard_end(struct memory_guard *guard);

#endif
