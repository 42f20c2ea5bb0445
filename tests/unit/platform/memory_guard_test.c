/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/memory_guard.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(memory_guard);

/* AddressSanitizer has a malloc of its own, which keeps what is freed. */
#ifndef __SANITIZE_ADDRESS__

enum { BLOCKS = 60000, BLOCK_BYTES = 1000 }; /* 60 MB */

static int64_t resident_mb(void)
{
    long long size;
    long long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    cr_assert(file != NULL && fscanf(file, "%lld %lld", &size, &resident) == 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE) >> 20;
}

Test(memory_guard, returns_what_a_burst_has_freed)
{
    static void *blocks[BLOCKS];
    struct clock_manual clock;
    struct loop *loop;
    struct memory_guard guard;
    clock_manual_init(&clock, 0);
    cr_assert_eq(loop_new(&clock.clock, &loop, NULL), ERROR_OK);
    memory_guard_begin(&guard, loop);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        cr_assert(blocks[i] != NULL);
        memset(blocks[i], 1, BLOCK_BYTES);
    }
    for (int i = 0; i < BLOCKS - 1; i++) /* the last one is above the others, and stays */
        free(blocks[i]);
    int64_t before = resident_mb();
    clock.now_mono_us += (MEMORY_GUARD_CHECK_MS - 1) * 1000;
    loop_once(loop, 0);
    cr_expect_geq(resident_mb(), before - 1, "it is not time yet");
    clock.now_mono_us += 1000;
    loop_once(loop, 0);
    cr_expect_leq(resident_mb(), before - 50);
    free(blocks[BLOCKS - 1]);
    memory_guard_end(&guard);
    loop_free(loop);
}

#endif
