/* SPDX-License-Identifier: Apache-2.0 */
/* An arena over malloc for tests of the engine, which link only the engine. */
#ifndef TESTS_LIB_ENGINE_MEMORY_H
#define TESTS_LIB_ENGINE_MEMORY_H

#include "base/arena.h"

struct test_arena {
    struct arena arena; /* hand out &memory->arena; stays put: do not copy the struct */
    void *blocks;       /* each begins with a pointer to the next */
};

void test_arena_init(struct test_arena *memory);
void test_arena_deinit(struct test_arena *memory);
/* Frees all allocations; keeps one block. */
void test_arena_reset(struct test_arena *memory);

#endif
