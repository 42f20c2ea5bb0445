/* SPDX-License-Identifier: Apache-2.0 */
/* See states.h. */
#include "services/console/dead_letters/states.h"

#include "platform/hash_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 2, PER_BYTE = 4 };

struct states_key {
    int64_t number; /* offset / DEAD_LETTER_STATES_BLOCK */
    int64_t partition;
};

struct states_block {
    UT_hash_handle hh;
    struct states_key key;
    uint8_t states[DEAD_LETTER_STATES_BLOCK / PER_BYTE];
};

struct dead_letter_states {
    struct states_block *blocks;
    uint32_t blocks_max;
};

const char *dead_letter_state_name(enum dead_letter_state state)
{
    static const char *const names[] = {"open", "replayed", "discarded", "unknown"};
    _Static_assert(sizeof(names) / sizeof(names[0]) == DEAD_LETTER_STATE_COUNT, "all have a name");
    assert((unsigned)state < DEAD_LETTER_STATE_COUNT);
    return names[state];
}

struct dead_letter_states *dead_letter_states_new(uint32_t blocks_max)
{
    struct dead_letter_states *states = calloc(1, sizeof(*states));
    assert(states != NULL);
    states->blocks_max = blocks_max;
    return states;
}

void dead_letter_states_free(struct dead_letter_states *states)
{
    struct states_block *block, *next;
    if (states == NULL)
        return;
    HASH_ITER(hh, states->blocks, block, next) {
        HASH_DEL(states->blocks, block);
        free(block);
    }
    free(states);
}

static struct states_block *find(const struct dead_letter_states *states, int32_t partition,
                                 int64_t offset)
{
    struct states_block *block = NULL;
    struct states_key key = {offset / DEAD_LETTER_STATES_BLOCK, partition};
    HASH_FIND(hh, states->blocks, &key, sizeof(key), block);
    return block;
}

static unsigned shift_of(int64_t offset)
{
    return (unsigned)(offset % PER_BYTE) * BITS;
}

bool dead_letter_states_set(struct dead_letter_states *states, int32_t partition, int64_t offset,
                            enum dead_letter_state state)
{
    struct states_block *block = find(states, partition, offset);
    assert(offset >= 0 && state < DEAD_LETTER_STATE_UNKNOWN);
    if (block == NULL && HASH_COUNT(states->blocks) >= states->blocks_max)
        return false;
    if (block == NULL) {
        block = calloc(1, sizeof(*block));
        assert(block != NULL);
        block->key = (struct states_key){offset / DEAD_LETTER_STATES_BLOCK, partition};
        HASH_ADD(hh, states->blocks, key, sizeof(block->key), block);
    }
    if (dead_letter_states_get(states, partition, offset) == DEAD_LETTER_STATE_OPEN)
        block->states[offset % DEAD_LETTER_STATES_BLOCK / PER_BYTE] |=
            (uint8_t)((unsigned)state << shift_of(offset));
    return true;
}

enum dead_letter_state dead_letter_states_get(const struct dead_letter_states *states,
                                              int32_t partition, int64_t offset)
{
    const struct states_block *block = find(states, partition, offset);
    if (block == NULL)
        return DEAD_LETTER_STATE_OPEN;
    unsigned byte = block->states[offset % DEAD_LETTER_STATES_BLOCK / PER_BYTE];
    return (enum dead_letter_state)(byte >> shift_of(offset) & 3);
}

void dead_letter_states_clear(struct dead_letter_states *states, int32_t partition)
{
    struct states_block *block, *next;
    HASH_ITER(hh, states->blocks, block, next) {
        if (block->key.partition != partition)
            continue;
        HASH_DEL(states->blocks, block);
        free(block);
    }
}
