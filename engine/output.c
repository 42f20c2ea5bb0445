/* SPDX-License-Identifier: Apache-2.0 */
/* See output.h. */
#include "engine/output.h"

#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

struct text output_truncated(uint64_t bytes, struct arena *arena)
{
    char text[64];
    int size = snprintf(text, sizeof(text), "{\"bytes\":%" PRIu64 ",\"truncated\":true}", bytes);
    assert(size > 0 && (size_t)size < sizeof(text));
    return arena_text(arena, (struct text){text, (uint32_t)size});
}

struct text output_canonical(struct text json, uint32_t bytes_max, struct arena *arena)
{
    struct text output = {0};
    /* Without a limit, since whatever is too long must be JSON as well. */
    if (!json_canonical(json, UINT32_MAX, arena, &output, NULL) || text_equal(output, TEXT("null")))
        return (struct text){0};
    return output.size <= bytes_max ? output : output_truncated(output.size, arena);
}
