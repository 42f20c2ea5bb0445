/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of malloc behind the engine's arena. See heap_arena.h. */
#include "base/heap_arena.h"

#include <assert.h>
#include <stdlib.h>

/* What a reset may keep: a single huge decision must not pin its memory for ever. */
enum { KEEP_BLOCKS_MAX = 4 };

struct heap_block {
    struct heap_block *next;
    size_t size; /* of `memory` */
    max_align_t memory[];
};

static void *take_block(struct arena *arena, size_t need, size_t *ret_size)
{
    struct heap_arena *heap = arena->ctx;
    size_t size = need > heap->block_size ? need : heap->block_size;
    assert(size <= SIZE_MAX - sizeof(struct heap_block));
    struct heap_block *block = malloc(sizeof(*block) + size);
    assert(block != NULL); /* the log has everything: a restart resumes */
    block->next = heap->blocks;
    block->size = size;
    heap->blocks = block;
    heap->allocated += sizeof(*block) + size;
    *ret_size = size;
    return block->memory;
}

static void free_blocks(struct heap_arena *heap)
{
    while (heap->blocks != NULL) {
        struct heap_block *next = heap->blocks->next;
        free(heap->blocks);
        heap->blocks = next;
    }
    heap->allocated = 0;
}

static void point_at(struct heap_arena *heap)
{
    struct heap_block *block = heap->blocks;
    arena_init(&heap->arena, block != NULL ? block->memory : NULL, block != NULL ? block->size : 0);
    heap->arena.more = take_block;
    heap->arena.ctx = heap;
}

void heap_arena_init(struct heap_arena *heap, size_t block_size)
{
    assert(block_size > 0);
    *heap = (struct heap_arena){.block_size = block_size};
    point_at(heap);
}

void heap_arena_reset(struct heap_arena *heap)
{
    struct heap_block *kept = heap->blocks;
    if (kept != NULL && kept->next != NULL) {
        /* More than one block was needed: next time one of the whole size will do, within
         * bounds. */
        size_t limit = heap->block_size * KEEP_BLOCKS_MAX;
        size_t used = heap->arena.used + heap->arena.used / 4;
        free_blocks(heap);
        size_t size = used < limit ? used : limit;
        size_t ignored;
        take_block(&heap->arena, size, &ignored);
    } else if (kept != NULL && kept->size > heap->block_size * KEEP_BLOCKS_MAX) {
        free_blocks(heap);
    }
    point_at(heap);
}

void heap_arena_deinit(struct heap_arena *heap)
{
    free_blocks(heap);
    *heap = (struct heap_arena){.block_size = heap->block_size};
}
