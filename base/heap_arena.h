/* SPDX-License-Identifier: Apache-2.0 */
/* The arena for everybody outside the engine: base/arena.h over malloc'ed blocks.
 *
 * Reset keeps the first block (grown to what was used, within bounds), so a loop that resets
 * once a turn soon stops allocating. */
#ifndef BASE_HEAP_ARENA_H
#define BASE_HEAP_ARENA_H

#include "base/arena.h"

struct heap_block;

struct heap_arena {
    struct arena arena;        /* hand out &heap->arena; stays put: do not copy the struct */
    struct heap_block *blocks; /* the newest first */
    size_t block_size;
    size_t allocated; /* bytes of all blocks */
};

/* `block_size` bytes are allocated on first use; bigger needs get blocks of their own. */
void heap_arena_init(struct heap_arena *heap, size_t block_size);
/* Everything handed out is gone. */
void heap_arena_reset(struct heap_arena *heap);
void heap_arena_deinit(struct heap_arena *heap);

#endif
