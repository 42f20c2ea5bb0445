/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>

static uint8_t *take(struct arena *arena, size_t size, size_t alignment)
{
    size_t padding = (size_t)(-(uintptr_t)arena->at & (alignment - 1));
    if (arena->at == NULL || (size_t)(arena->end - arena->at) < size + padding) {
        assert(arena->more != NULL);
        size_t block_size = 0;
        arena->at = arena->more(arena, size + alignment, &block_size);
        assert(arena->at != NULL && block_size >= size + alignment);
        arena->end = arena->at + block_size;
        padding = (size_t)(-(uintptr_t)arena->at & (alignment - 1));
    }
    uint8_t *taken = arena->at + padding;
    arena->at = taken + size;
    arena->used += padding + size;
    return taken;
}

void arena_init(struct arena *arena, void *memory, size_t size)
{
    /* C17 has no NULL + 0. */
    *arena = (struct arena){.at = memory, .end = memory != NULL ? (uint8_t *)memory + size : NULL};
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    assert(size > 0 && count <= SIZE_MAX / 2 / size);
    return memset(take(arena, count * size, 8), 0, count * size);
}

void *arena_aligned(struct arena *arena, size_t size)
{
    return take(arena, size, 8);
}

void *arena_bytes(struct arena *arena, size_t size)
{
    return take(arena, size, 1);
}

struct text arena_text(struct arena *arena, struct text text)
{
    if (text.size == 0)
        return (struct text){0};
    return (struct text){memcpy(arena_bytes(arena, text.size), text.data, text.size), text.size};
}
