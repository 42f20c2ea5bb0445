/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of malloc behind the engine's arena. See scratch.h. */
#include "workflow/scratch.h"

#include <assert.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 32 * 1024 };

struct scratch_block {
    struct scratch_block *next;
    max_align_t memory[];
};

static void *take_block(struct arena *arena, size_t need, size_t *ret_size)
{
    struct scratch *scratch = arena->ctx;
    size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
    assert(size <= SIZE_MAX - sizeof(struct scratch_block));
    struct scratch_block *block = malloc(sizeof(*block) + size);
    assert(block != NULL);
    block->next = scratch->blocks;
    scratch->blocks = block;
    *ret_size = size;
    return block->memory;
}

void scratch_init(struct scratch *scratch)
{
    *scratch = (struct scratch){.arena = {.more = take_block, .ctx = scratch}};
}

void scratch_deinit(struct scratch *scratch)
{
    while (scratch->blocks != NULL) {
        struct scratch_block *block = scratch->blocks;
        scratch->blocks = block->next;
        free(block);
    }
    *scratch = (struct scratch){0};
}
