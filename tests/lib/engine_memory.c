/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/engine_memory.h"

#include <assert.h>
#include <stdlib.h>

enum { BLOCK_SIZE = 256 * 1024, BLOCK_HEAD = 16 };

static void *more(struct arena *arena, size_t need, size_t *ret_size)
{
    struct test_arena *memory = arena->ctx;
    size_t size = need > BLOCK_SIZE ? need : BLOCK_SIZE;
    uint8_t *block = malloc(BLOCK_HEAD + size);
    assert(block != NULL);
    memcpy(block, &memory->blocks, sizeof(memory->blocks));
    memory->blocks = block;
    *ret_size = size;
    return block + BLOCK_HEAD;
}

void test_arena_init(struct test_arena *memory)
{
    *memory = (struct test_arena){.arena = {.more = more}};
    memory->arena.ctx = memory;
}

void test_arena_deinit(struct test_arena *memory)
{
    while (memory->blocks != NULL) {
        void *block = memory->blocks;
        memcpy(&memory->blocks, block, sizeof(memory->blocks));
        free(block);
    }
}

void test_arena_reset(struct test_arena *memory)
{
    void *first = memory->blocks;
    if (first == NULL)
        return;
    memcpy(&memory->blocks, first, sizeof(memory->blocks));
    test_arena_deinit(memory);
    test_arena_init(memory);
    memset(first, 0, sizeof(void *));
    memory->blocks = first;
    memory->arena.at = (uint8_t *)first + BLOCK_HEAD;
    memory->arena.end = memory->arena.at + BLOCK_SIZE;
}
