/* SPDX-License-Identifier: Apache-2.0 */
/* See suggest.h. */
#include "base/suggest.h"

#include "base/limits.h"

#include <assert.h>

enum { UNFINISHED_LETTERS_MIN = 4 };

struct nearest {
    struct text wrong;
    uint32_t distance; /* of the nearest; before it: the greatest that is allowed, plus 1 */
};

static char to_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Insertions, deletions, replacements and swaps of neighbours between a and b; case does not
 * count. */
static uint32_t edit_distance(struct text a, struct text b)
{
    uint32_t rows[3][NAME_BYTES_MAX + 1];
    assert(a.size <= NAME_BYTES_MAX);
    assert(b.size <= NAME_BYTES_MAX);
    for (uint32_t j = 0; j <= b.size; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= a.size; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= b.size; j++) {
            char x = to_lower(a.data[i - 1]);
            char y = to_lower(b.data[j - 1]);
            row[j] = min3(row[j - 1] + 1, above[j] + 1, above[j - 1] + (x != y));
            bool swapped =
                i > 1 && j > 1 && x == to_lower(b.data[j - 2]) && y == to_lower(a.data[i - 2]);
            if (swapped && rows[(i - 2) % 3][j - 2] + 1 < row[j])
                row[j] = rows[(i - 2) % 3][j - 2] + 1;
        }
    }
    return rows[a.size % 3][b.size];
}

/* True if the candidate is near, and nearer than all before it. */
static bool is_nearer(struct nearest *nearest, struct text candidate)
{
    if (nearest->wrong.size == 0 || nearest->wrong.size > NAME_BYTES_MAX || candidate.size == 0 ||
        candidate.size > NAME_BYTES_MAX)
        return false;
    uint32_t distance = edit_distance(nearest->wrong, candidate);
    if (distance >= nearest->distance || distance * 3 > candidate.size)
        return false;
    nearest->distance = distance;
    return true;
}

/* `wrong` was left unfinished, or its first part was left out. */
static bool is_part(struct text wrong, struct text candidate)
{
    return wrong.size >= UNFINISHED_LETTERS_MIN && candidate.size > wrong.size &&
           (memcmp(candidate.data, wrong.data, wrong.size) == 0 ||
            memcmp(candidate.data + candidate.size - wrong.size, wrong.data, wrong.size) == 0);
}

const struct text *suggest_within(struct text wrong, const struct text *candidates, size_t count,
                                  uint32_t most)
{
    assert(most < UINT32_MAX);
    struct nearest nearest = {wrong, most + 1};
    const struct text *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (is_nearer(&nearest, candidates[i]))
            best = &candidates[i];
    }
    return best;
}

const struct text *suggest_text(struct text wrong, const struct text *candidates, size_t count)
{
    const struct text *best = suggest_within(wrong, candidates, count, NAME_BYTES_MAX);
    for (size_t i = 0; i < count && best == NULL; i++) {
        if (is_part(wrong, candidates[i]))
            best = &candidates[i];
    }
    return best;
}

const char *suggest_string(const char *wrong, const char *const candidates[], size_t count)
{
    struct nearest nearest = {text_of(wrong), NAME_BYTES_MAX};
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (is_nearer(&nearest, text_of(candidates[i])))
            best = candidates[i];
    }
    for (size_t i = 0; i < count && best == NULL; i++) {
        if (is_part(nearest.wrong, text_of(candidates[i])))
            best = candidates[i];
    }
    return best;
}
