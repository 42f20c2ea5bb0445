/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a view, for view.c (hot orders, folding, committing) and view_rows.c (the rows that
 * a commit writes of an order). */
#ifndef REPLICA_VIEW_INTERNAL_H
#define REPLICA_VIEW_INTERNAL_H

#include "replica/view.h"

#include <uthash.h>

struct index_row {
    enum store_index index;
    struct text value;
    int64_t updated_at;
};

/* What the store's indexes hold of an order, in the arena of its entry. */
struct view_rows {
    struct deadline *deadlines;
    uint32_t deadline_count;
    struct index_row *indexed;
    uint32_t indexed_count;
    struct view_index_row *waiting;
    uint32_t waiting_count;
};

/* A hot order. In `clean` (least recently used first) or in `dirty`, never in both. One that
 * expired is zeroed: there is no such order, whatever the store says until the next commit. */
struct view_entry {
    UT_hash_handle hh;
    struct view_entry *prev;
    struct view_entry *next;
    struct heap_arena heap;
    size_t heap_fresh; /* heap.arena.used right after the order was decoded or copied */
    struct order order;
    bool dirty;
    struct view_rows rows; /* as of the last commit: what the next one deletes */
    uint32_t id_size;
    char id[];
};

static inline bool view_entry_is_expired(const struct view_entry *entry)
{
    return entry->order.version == 0;
}

struct view {
    struct view_options options;
    char *path;
    struct store *store;
    struct store_batch *batch;
    struct view_entry *entries; /* uthash by id */
    struct view_entry *clean;
    struct view_entry *dirty;
    uint32_t entry_count;
    uint32_t dirty_count;
    uint32_t untidy; /* committed since the last tidying: the last ones of `clean` */
    uint32_t folded; /* records since the last commit */
    bool held;
    struct checkpoint checkpoint;
    struct checkpoint committed;
    struct heap_arena scratch;
    struct record record;
    struct buffer row;
};

/* view_rows.c */
/* The entry's order is as the store has it, or moved to a fresh arena: remembers its rows. */
void view_rows_remember(const struct view *view, struct view_entry *entry);
/* Puts the order and what changed of its rows into the view's batch. */
void view_rows_put(struct view *view, struct view_entry *entry);

#endif
