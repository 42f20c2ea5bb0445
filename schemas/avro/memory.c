/* SPDX-License-Identifier: Apache-2.0 */
/* See memory.h. */
#include "schemas/avro/memory.h"

#include <assert.h>
#include <stdlib.h>

enum { BLOCK_SIZE = 16 * 1024 };

struct memory_block {
    struct memory_block *next;
    max_align_t bytes[];
};

static void *more(struct arena *arena, size_t need, size_t *ret_size)
{
    struct memory *memory = arena->ctx;
    size_t size = need > BLOCK_SIZE ? need : BLOCK_SIZE;
    struct memory_block *block = malloc(sizeof(*block) + size);
    assert(block != NULL);
    block->next = memory->blocks;
    memory->blocks = block;
    *ret_size = size;
    return block->bytes;
}

void memory_init(struct memory *memory)
{
    *memory = (struct memory){.blocks = NULL};
    arena_init(&memory->arena, NULL, 0);
    memory->arena.more = more;
    memory->arena.ctx = memory;
}

void memory_deinit(struct memory *memory)
{
    for (struct memory_block *block = memory->blocks; block != NULL;) {
        struct memory_block *next = block->next;
        free(block);
        block = next;
    }
    memory->blocks = NULL;
}
