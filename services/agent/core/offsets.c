/* SPDX-License-Identifier: Apache-2.0 */
/* See offsets.h. */
#include "services/agent/core/offsets.h"

#include <assert.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 64 };

void agent_offsets_init(struct agent_offsets *offsets)
{
    *offsets = (struct agent_offsets){.position = -1};
}

void agent_offsets_deinit(struct agent_offsets *offsets)
{
    free(offsets->slots);
    agent_offsets_init(offsets);
}

bool agent_offsets_full(const struct agent_offsets *offsets)
{
    return offsets->end - offsets->first >= OFFSETS_SPAN_MAX;
}

static struct agent_offsets_slot *slot_at(const struct agent_offsets *offsets, uint64_t place)
{
    return &offsets->slots[place & (offsets->capacity - 1)];
}

const struct agent_offsets_slot *agent_offsets_slot(const struct agent_offsets *offsets,
                                                    uint64_t place)
{
    assert(place >= offsets->first && place < offsets->end);
    return slot_at(offsets, place);
}

static void grow(struct agent_offsets *offsets)
{
    size_t capacity = offsets->capacity > 0 ? 2 * offsets->capacity : CAPACITY_MIN;
    struct agent_offsets_slot *slots = malloc(capacity * sizeof(*slots));
    assert(slots != NULL);
    for (uint64_t place = offsets->first; place < offsets->end; place++)
        slots[place & (capacity - 1)] = *slot_at(offsets, place);
    free(offsets->slots);
    offsets->slots = slots;
    offsets->capacity = capacity;
}

bool agent_offsets_expects(const struct agent_offsets *offsets, int64_t offset)
{
    return offset >= offsets->next;
}

uint64_t agent_offsets_add(struct agent_offsets *offsets, int64_t offset)
{
    assert(!agent_offsets_full(offsets));
    assert(agent_offsets_expects(offsets, offset));
    if (offsets->end - offsets->first == offsets->capacity)
        grow(offsets);
    if (offsets->first == offsets->end)
        offsets->position = offset;
    *slot_at(offsets, offsets->end) = (struct agent_offsets_slot){.offset = offset};
    offsets->next = offset + 1;
    return offsets->end++;
}

void agent_offsets_settle(struct agent_offsets *offsets, uint64_t place)
{
    assert(place >= offsets->first && place < offsets->end);
    struct agent_offsets_slot *slot = slot_at(offsets, place);
    assert(!slot->settled);
    slot->settled = true;
    offsets->settled++;
    while (offsets->first < offsets->end && slot_at(offsets, offsets->first)->settled) {
        offsets->position = slot_at(offsets, offsets->first)->offset + 1;
        offsets->first++;
    }
    assert(offsets->first <= offsets->end);
    if (offsets->first < offsets->end)
        offsets->position = slot_at(offsets, offsets->first)->offset;
}
