/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator that its caller feeds: the engine asks no one else for memory.
 *
 * Everything handed out lives until the caller resets or frees the arena. `more` is called when the
 * current block is used up and returns a new block of at least `need` bytes, writing its size to
 * *ret_size; it never returns NULL (out of memory ends the process: the log has everything). An
 * arena without `more` asserts instead. base/heap_arena.h has the one that mallocs. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

struct arena {
    uint8_t *at;
    uint8_t *end;
    size_t used; /* bytes handed out since the last reset, padding included */
    void *(*more)(struct arena *arena, size_t need, size_t *ret_size);
    void *ctx; /* of `more` */
};

void arena_init(struct arena *arena, void *memory, size_t size);
/* Zeroed memory for `count` elements of `size` bytes, aligned to 8. The product is checked. */
void *arena_calloc(struct arena *arena, size_t count, size_t size);
/* Memory aligned to 8, not zeroed. */
void *arena_aligned(struct arena *arena, size_t size);
/* Bytes, not zeroed, unaligned. */
void *arena_bytes(struct arena *arena, size_t size);
/* A copy that lives in the arena; empty texts allocate nothing. */
struct text arena_text(struct arena *arena, struct text text);

#define ARENA_NEW(arena, type) ((type *)arena_calloc((arena), 1, sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_calloc((arena), (count), sizeof(type)))

#endif
