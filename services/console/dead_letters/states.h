/* SPDX-License-Identifier: Apache-2.0 */
/* Which dead letters were dealt with, two bits for each: also those that the index has forgotten.
 * Blocks of offsets without a resolution take no memory. */
#ifndef SERVICES_CONSOLE_DEAD_LETTERS_STATES_H
#define SERVICES_CONSOLE_DEAD_LETTERS_STATES_H

#include <stdbool.h>
#include <stdint.h>

enum dead_letter_state {
    DEAD_LETTER_STATE_OPEN,
    DEAD_LETTER_STATE_REPLAYED,
    DEAD_LETTER_STATE_DISCARDED,
    DEAD_LETTER_STATE_UNKNOWN, /* not in the table: resolutions of it may not have been read */
    DEAD_LETTER_STATE_COUNT
};
const char *dead_letter_state_name(enum dead_letter_state state);

enum {
    DEAD_LETTER_STATES_BLOCK = 4096, /* offsets */
    DEAD_LETTER_BLOCKS_MAX = 16384   /* of 1 KiB each: 16 MiB */
};

struct dead_letter_states;

struct dead_letter_states *dead_letter_states_new(uint32_t blocks_max);
void dead_letter_states_free(struct dead_letter_states *states);
/* The first state stays. False: there are too many blocks, and it is not remembered. */
bool dead_letter_states_set(struct dead_letter_states *states, int32_t partition, int64_t offset,
                            enum dead_letter_state state);
enum dead_letter_state dead_letter_states_get(const struct dead_letter_states *states,
                                              int32_t partition, int64_t offset);
/* Forgets the partition. */
void dead_letter_states_clear(struct dead_letter_states *states, int32_t partition);

#endif
