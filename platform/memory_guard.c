/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_guard.h. */
#include "platform/memory_guard.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/* A trim takes some milliseconds. */
enum { WORTH_BYTES = 4 * 1024 * 1024 };

/* Without the pages of files, which the system takes back by itself. -1: unknown. */
static int64_t resident_bytes(void)
{
    unsigned long long size;
    unsigned long long resident;
    unsigned long long of_files;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return -1;
    int count = fscanf(file, "%llu %llu %llu", &size, &resident, &of_files);
    fclose(file);
    if (count != 3 || of_files > resident)
        return -1;
    return (int64_t)(resident - of_files) * sysconf(_SC_PAGESIZE);
}

/* Stacks and what is mapped without malloc count as unused, but do not grow by this much. */
static int64_t unused_bytes(void)
{
    int64_t resident = resident_bytes();
    struct mallinfo2 info = mallinfo2();
    return resident < 0 ? 0 : resident - (int64_t)info.uordblks - (int64_t)info.hblkhd;
}

static void check(struct memory_guard *guard)
{
    int64_t unused = unused_bytes();
    if (unused > guard->kept_bytes + WORTH_BYTES) {
        malloc_trim(0);
        unused = unused_bytes();
        guard->kept_bytes = unused;
    } else if (unused < guard->kept_bytes) {
        guard->kept_bytes = unused;
    }
}

static void on_timer(void *ctx)
{
    struct memory_guard *guard = ctx;
    check(guard);
    loop_timer_after(guard->loop, &guard->timer, MEMORY_GUARD_CHECK_MS);
}

void memory_guard_begin(struct memory_guard *guard, struct loop *loop)
{
    *guard = (struct memory_guard){.loop = loop};
    loop_timer_init(&guard->timer, on_timer, guard);
    loop_timer_after(loop, &guard->timer, MEMORY_GUARD_CHECK_MS);
}

void memory_guard_end(struct memory_guard *guard)
{
    if (guard->loop != NULL)
        loop_timer_cancel(guard->loop, &guard->timer);
    guard->loop = NULL;
}
