/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a view, for view.c (opening, committing), view_cache.c (the orders in memory),
 * view_fold.c (records of the log), view_statement.c (orders restated), view_expiry.c (orders that
 * leave), view_rows.c (the rows that a commit writes of an order) and view_waiting.c (steps that
 * wait). */
#ifndef REPLICA_FOLD_VIEW_INTERNAL_H
#define REPLICA_FOLD_VIEW_INTERNAL_H

#include "platform/hash_table.h"
#include "replica/fold/view.h"

struct index_row {
    enum store_index index;
    struct text value;
    int64_t updated_at;
};

/* What the indexes hold of an order that never changes after it was accepted. */
struct accepted_rows {
    int64_t accepted_at;
    int64_t accepted_offset; /* tells orders of one id apart */
    struct text customer;
    struct attribute *attributes;
    uint32_t attribute_count;
    const struct order_parent *parent; /* NULL: a root */
};

/* What the store's indexes hold of an order, in the arena of its entry. */
struct view_rows {
    struct accepted_rows *accepted; /* NULL: no order, or a view without history */
    struct deadline *deadlines;
    uint32_t deadline_count;
    struct index_row *indexed;
    uint32_t indexed_count;
    struct view_index_row *waiting;
    uint32_t waiting_count;
    enum priority priority; /* of those */
    bool ended;             /* then: */
    int64_t ended_at;
};

/* A hot order. In one of `recent`, `rest` and `dirty` (least recently used first). One that expired
 * is zeroed: that order does not exist, whatever the store says until the next commit. */
struct view_entry {
    UT_hash_handle hh;
    struct view_entry *prev;
    struct view_entry *next;
    struct heap_arena heap;
    size_t heap_fresh; /* heap.arena.used right after the order was decoded or copied */
    size_t rows_size;  /* in `heap`, of what `rows` refers to */
    size_t bytes;      /* of its memory, as it counts in its list */
    struct order order;
    bool dirty;
    bool at_rest; /* not dirty, and its memory has hardly any room left */
    bool waits;   /* dirty, and a step of it waits: it is in the view's list `waiting` */
    struct view_entry *prev_waiting;
    struct view_entry *next_waiting;
    struct view_rows rows; /* as of the last commit: what the next one deletes */
    uint32_t id_size;
    char id[];
};

static inline bool view_entry_is_expired(const struct view_entry *entry)
{
    return entry->order.version == 0;
}

/* Up to which place of (ended_at, id) orders have expired since the last commit. */
struct expired_range {
    bool any; /* then: */
    int64_t from;
    int64_t until;
    struct view_order_id until_order_id;
};

struct view {
    struct view_options options;
    char *path;
    struct store *store;
    struct store_batch *batch;
    struct view_entry *entries; /* uthash by id */
    struct view_entry *recent;  /* clean, with room to change */
    struct view_entry *rest;    /* clean, at rest */
    struct view_entry *dirty;
    struct view_entry *waiting; /* by prev_waiting */
    uint32_t dirty_count;
    size_t recent_bytes;
    size_t rest_bytes;
    uint32_t untidy;       /* committed since the last tidying: the last ones of `recent` */
    uint32_t folded;       /* records since the last commit */
    uint64_t folded_bytes; /* of them */
    int64_t flushed;       /* the next offset as of the last flush that is known */
    bool expects_much;
    bool unnamed; /* the disk does not tell yet whose log it holds */
    bool held;
    struct checkpoint checkpoint;
    struct checkpoint committed;
    struct continuations continuations;
    bool continuations_changed; /* since the last commit */
    /* Every order that the store has as ended before that has expired: its rows go with the next
     * commit, or are gone. */
    int64_t ended_from;
    struct expired_range expired;
    struct heap_arena scratch;
    struct record record;
    struct buffer row;
};

/* view.c */
/* A failpoint of all stores, or "NAME/DIRECTORY" of one. */
bool view_is_to_fail(const struct view *view, const char *failpoint);

/* view_cache.c */
struct view_entry *view_entry_new(struct view *view, struct text order_id);
/* Of those in memory; NULL: none. */
struct view_entry *view_entry_find(struct view *view, struct text order_id);
/* NULL in *ret_entry: neither in memory nor in the store. What is there may have expired. */
enum error_class view_entry_load(struct view *view, struct text order_id,
                                 struct view_entry **ret_entry, struct error *ret_error);
/* The order has changed: the next commit writes it. */
void view_entry_mark_dirty(struct view *view, struct view_entry *entry);
/* All that is dirty has been committed. */
void view_keep_committed(struct view *view);
void view_forget_all(struct view *view);

/* view_statement.c */
/* A Statement that may count: the order is from here on what it says. */
enum error_class view_fold_statement(struct view *view, const struct broker_record *record,
                                     struct view_folded *folded, struct error *ret_error);

/* view_expiry.c */
/* An Expiry that may count: orders that ended long ago leave. */
enum error_class view_fold_expiry(struct view *view, const struct broker_record *record,
                                  struct view_folded *folded, struct error *ret_error);
/* Whether the next commit takes the row of an order that ended then out with all that expired. */
bool view_expired_covers(const struct view *view, int64_t ended_at, struct text order_id);
/* Into the view's batch, before anything is put. */
void view_expired_put(struct view *view);

/* view_fold.c */
void view_advance(struct view *view, struct text value, int64_t offset);
/* What the order was before the record. NULL: there is none in memory or store. */
void view_folded_before(const struct view_entry *entry, struct view_folded *folded);

/* view_waiting.c: as dirty entries change, and when all are committed or forgotten. */
void view_waiting_note(struct view *view, struct view_entry *entry);
void view_waiting_clear(struct view *view);

/* view_flush.c */
/* After a commit. */
enum error_class view_bound_unflushed(struct view *view, struct error *ret_error);

/* view_rows.c */
/* The entry's order is as the store has it, or moved to a fresh arena: remembers its rows. */
void view_rows_remember(const struct view *view, struct view_entry *entry);
/* Puts the order into the view's batch; what changed of its rows in the indexes. */
void view_rows_put_order(struct view *view, const struct view_entry *entry);
void view_rows_put_indexes(struct view *view, struct view_entry *entry);

#endif
