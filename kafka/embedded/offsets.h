/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets that consumer groups have committed, in memory. */
#ifndef KAFKA_EMBEDDED_OFFSETS_H
#define KAFKA_EMBEDDED_OFFSETS_H

#include "base/text.h"
#include "platform/hash_table.h"

#include <stdbool.h>
#include <stdint.h>

enum { OFFSETS_MAX = 100000 };

/* One partition of one group. */
struct offset_row {
    struct text group; /* these two are in .names */
    struct text topic;
    int32_t partition;
    int64_t offset;
    char *metadata; /* never NULL */
    UT_hash_handle hh;
    char names[]; /* the key: partition, size of the group's name, group, topic */
};

/* Zeroed: none. */
struct offsets {
    struct offset_row *table;
};

/* NULL: there is none. Borrowed until it changes. */
const struct offset_row *offsets_find(const struct offsets *offsets, struct text group,
                                      struct text topic, int32_t partition);
/* False: there are too many. */
bool offsets_set(struct offsets *offsets, struct text group, struct text topic, int32_t partition,
                 int64_t offset, struct text metadata);
/* NULL begins, NULL ends. */
const struct offset_row *offsets_next(const struct offsets *offsets,
                                      const struct offset_row *after);
/* Those of a group, or, without one, of a topic. False: there was none. */
bool offsets_forget(struct offsets *offsets, struct text group, struct text topic);
void offsets_deinit(struct offsets *offsets);

#endif
