/* SPDX-License-Identifier: Apache-2.0 */
/* See answers_series.h. */
#include "statestore/answers_series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MIN = 64 };

/* The slot of the series, or the free one where it belongs. Ids are random: any bits will do. */
static struct answers_series *slot_of(const struct answers_series_table *table,
                                      const struct uuid *id)
{
    uint64_t hash;
    memcpy(&hash, id->bytes + sizeof(id->bytes) - sizeof(hash), sizeof(hash));
    assert(table->count < table->size);
    for (size_t at = hash & (table->size - 1);; at = (at + 1) & (table->size - 1)) {
        struct answers_series *slot = &table->slots[at];
        if (!slot->used || memcmp(&slot->id, id, sizeof(*id)) == 0)
            return slot;
    }
}

/* Half of the slots stay free. */
static void grow(struct answers_series_table *table)
{
    struct answers_series_table old = *table;
    table->size = old.size > 0 ? 2 * old.size : SIZE_MIN;
    table->slots = calloc(table->size, sizeof(table->slots[0]));
    assert(table->slots != NULL);
    for (size_t i = 0; i < old.size; i++) {
        if (old.slots[i].used)
            *slot_of(table, &old.slots[i].id) = old.slots[i];
    }
    free(old.slots);
}

struct answers_series *answers_series_get(struct answers_series_table *table, const struct uuid *id)
{
    if (2 * (table->count + 1) > table->size)
        grow(table);
    struct answers_series *slot = slot_of(table, id);
    if (slot->used)
        return slot;
    *slot = (struct answers_series){.id = *id, .used = true, .highest = INT64_MIN};
    table->count++;
    return slot;
}

void answers_series_clear(struct answers_series_table *table)
{
    free(table->slots);
    *table = (struct answers_series_table){0};
}
