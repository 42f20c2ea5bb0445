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

static struct clock_manual manual;
static struct loop *loop;
static struct memory_guard guard;

static void begin(void)
{
    clock_manual_init(&manual, 0);
    cr_assert_eq(loop_new(&manual.clock, &loop, NULL), ERROR_OK);
    memory_guard_begin(&guard, loop);
}

static void end(void)
{
    memory_guard_end(&guard);
    loop_free(loop);
}

static void pass(int64_t ms)
{
    manual.now_mono_us += ms * 1000;
    loop_once(loop, 0);
}

/* Allocates and frees that many blocks, and returns how many MB the guard gives back of them. */
static int64_t returned_of(int count)
{
    static void *blocks[BLOCKS];
    cr_assert(count <= BLOCKS);
    for (int i = 0; i < count; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        cr_assert(blocks[i] != NULL);
        memset(blocks[i], 1, BLOCK_BYTES);
    }
    for (int i = 0; i < count - 1; i++) /* the last one is above the others, and stays */
        free(blocks[i]);
    int64_t before = resident_mb();
    pass(MEMORY_GUARD_CHECK_MS - 1);
    cr_expect_geq(resident_mb(), before - 1, "it is not time yet");
    pass(1);
    int64_t returned = before - resident_mb();
    free(blocks[count - 1]);
    return returned;
}

Test(memory_guard, returns_what_a_burst_has_freed)
{
    begin();
    cr_expect_geq(returned_of(BLOCKS), 50);
    end();
}

/* A trim takes milliseconds. */
Test(memory_guard, keeps_less_than_4_mb_and_returns_more)
{
    begin();
    returned_of(BLOCKS); /* it knows then what cannot be returned */
    cr_expect_leq(returned_of(2000), 1);
    cr_expect_geq(returned_of(6000), 4);
    end();
}

#endif
