/* SPDX-License-Identifier: Apache-2.0 */
/* See hash_table.h. */
#include "platform/hash_table.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <xxhash.h>

/* The kernel gives each process 16 random bytes: no file to open, nothing to fail. */
static uint64_t seed_of_process(void)
{
    static _Atomic uint64_t known;
    uint64_t seed = atomic_load_explicit(&known, memory_order_relaxed);
    if (seed != 0)
        return seed;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random != NULL)
        memcpy(&seed, random, sizeof(seed));
    seed |= 1; /* 0: not known yet */
    atomic_store_explicit(&known, seed, memory_order_relaxed);
    return seed;
}

unsigned hash_table_hash(const void *key, size_t size)
{
    return (unsigned)XXH3_64bits_withSeed(key, size, seed_of_process());
}
