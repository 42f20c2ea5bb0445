/* SPDX-License-Identifier: Apache-2.0 */
#include "base/goods.h"

#include <assert.h>

static struct order_line *lines_copy(const struct order_line *lines, uint32_t count,
                                     struct arena *arena)
{
    if (count == 0)
        return NULL;
    assert(lines != NULL);
    struct order_line *copies = ARENA_ARRAY(arena, struct order_line, count);
    for (uint32_t i = 0; i < count; i++) {
        copies[i] = lines[i];
        copies[i].sku = arena_text(arena, lines[i].sku);
        copies[i].description = arena_text(arena, lines[i].description);
    }
    return copies;
}

const struct goods *goods_copy(const struct goods *goods, struct arena *arena)
{
    if (goods == NULL)
        return NULL;
    struct goods *copy = ARENA_NEW(arena, struct goods);
    copy->currency = arena_text(arena, goods->currency);
    copy->lines = lines_copy(goods->lines, goods->line_count, arena);
    copy->line_count = goods->line_count;
    return copy;
}
