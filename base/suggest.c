/* SPDX-License-Identifier: Apache-2.0 */
/* Nearest names. See suggest.h. */
#include "base/suggest.h"

#include "base/limits.h"

#include <stddef.h>

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Insertions, deletions, replacements and swaps of neighbours between a and b, case apart. Both fit
 * NAME_BYTES_MAX. */
static uint32_t distance(struct text a, struct text b)
{
    uint32_t rows[3][NAME_BYTES_MAX + 1];
    for (uint32_t j = 0; j <= b.size; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= a.size; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= b.size; j++) {
            char x = lower(a.data[i - 1]);
            char y = lower(b.data[j - 1]);
            row[j] = min3(row[j - 1] + 1, above[j] + 1, above[j - 1] + (x != y));
            bool swapped = i > 1 && j > 1 && x == lower(b.data[j - 2]) && y == lower(a.data[i - 2]);
            if (swapped && rows[(i - 2) % 3][j - 2] + 1 < row[j])
                row[j] = rows[(i - 2) % 3][j - 2] + 1;
        }
    }
    return rows[a.size % 3][b.size];
}

const struct text *suggest_within(struct text wrong, const struct text *candidates, uint32_t count,
                                  uint32_t most)
{
    const struct text *best = NULL;
    uint32_t best_distance = UINT32_MAX;
    if (wrong.size == 0 || wrong.size > NAME_BYTES_MAX)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (candidates[i].size == 0 || candidates[i].size > NAME_BYTES_MAX)
            continue;
        uint32_t found = distance(wrong, candidates[i]);
        if (found < best_distance && found <= most && found * 3 <= candidates[i].size) {
            best_distance = found;
            best = &candidates[i];
        }
    }
    return best;
}

const struct text *suggest(struct text wrong, const struct text *candidates, uint32_t count)
{
    return suggest_within(wrong, candidates, count, UINT32_MAX);
}
