/* SPDX-License-Identifier: Apache-2.0 */
/* An open-addressed table that only grows. See row_counts.h. */
#include "cli/import/row_counts.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

enum { CAPACITY_MIN = 1024 };

void row_counts_deinit(struct row_counts *counts)
{
    free(counts->slots);
    *counts = (struct row_counts){0};
}

static uint64_t hash_of(struct text order_id)
{
    uint64_t hash = XXH3_64bits(order_id.data, order_id.size);
    return hash != 0 ? hash : 1;
}

/* The slot of this hash, or the free one where it belongs. */
static struct row_count *slot_of(const struct row_counts *counts, uint64_t hash)
{
    size_t at = hash & (counts->capacity - 1);
    while (counts->slots[at].hash != 0 && counts->slots[at].hash != hash)
        at = (at + 1) & (counts->capacity - 1);
    return &counts->slots[at];
}

static void grow(struct row_counts *counts)
{
    struct row_counts old = *counts;
    counts->capacity = old.capacity > 0 ? 2 * old.capacity : CAPACITY_MIN;
    counts->slots = calloc(counts->capacity, sizeof(*counts->slots));
    assert(counts->slots != NULL);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i].hash != 0)
            *slot_of(counts, old.slots[i].hash) = old.slots[i];
    }
    free(old.slots);
}

void row_counts_add(struct row_counts *counts, struct text order_id)
{
    if (4 * (counts->orders + 1) > 3 * counts->capacity)
        grow(counts);
    struct row_count *slot = slot_of(counts, hash_of(order_id));
    counts->orders += slot->hash == 0;
    slot->hash = hash_of(order_id);
    slot->rows++;
    counts->rows++;
}

uint64_t row_counts_of(const struct row_counts *counts, struct text order_id)
{
    return counts->capacity > 0 ? slot_of(counts, hash_of(order_id))->rows : 0;
}
