/* SPDX-License-Identifier: Apache-2.0 */
/* The orders that a view keeps in memory. A dirty order stays until it is committed; of the others,
 * those used last stay, bounded in bytes.
 *
 * An order that changes often has room for what its next Decisions add to it: half of the cache is
 * for such orders. Those that were used before them are at rest: moved to memory of the size that
 * they have, about half as much. What is in neither is read from the store, whose rows take a
 * quarter. */
#include "replica/fold/view_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    ENTRY_ARENA_BYTES = 2048,
    /* An order whose arena holds this many bytes more than a fresh copy needs is copied afresh. */
    ENTRY_GARBAGE_BYTES = 32 * 1024,
    ENTRY_PADDING_BYTES = 16, /* between an order and its rows, at most */
    RECENT_SHARE = 2,         /* one part of this many of the cache is for orders with room */
    ROOMY_FACTOR = 2          /* such an order takes at most about this much of one at rest */
};

static void entry_free(struct view_entry *entry)
{
    heap_arena_deinit(&entry->heap);
    free(entry);
}

static size_t entry_size(const struct view_entry *entry)
{
    return sizeof(*entry) + entry->id_size + entry->heap.allocated;
}

/* ---- the lists ---- */

static void entry_append(struct view *view, struct view_entry *entry)
{
    assert(!entry->dirty || !entry->at_rest);
    entry->bytes = entry_size(entry);
    if (entry->dirty) {
        DL_APPEND(view->dirty, entry);
        view->dirty_count++;
    } else if (entry->at_rest) {
        DL_APPEND(view->rest, entry);
        view->rest_bytes += entry->bytes;
    } else {
        DL_APPEND(view->recent, entry);
        view->recent_bytes += entry->bytes;
    }
}

static void entry_remove(struct view *view, struct view_entry *entry)
{
    if (entry->dirty) {
        assert(view->dirty_count > 0);
        DL_DELETE(view->dirty, entry);
        view->dirty_count--;
    } else if (entry->at_rest) {
        assert(view->rest_bytes >= entry->bytes);
        DL_DELETE(view->rest, entry);
        view->rest_bytes -= entry->bytes;
    } else {
        assert(view->recent_bytes >= entry->bytes);
        DL_DELETE(view->recent, entry);
        view->recent_bytes -= entry->bytes;
    }
}

static void entry_forget(struct view *view, struct view_entry *entry)
{
    assert(!entry->waits);
    entry_remove(view, entry);
    HASH_DEL(view->entries, entry);
    entry_free(entry);
}

static void forget_list(struct view_entry **list)
{
    struct view_entry *entry;
    struct view_entry *next;
    DL_FOREACH_SAFE(*list, entry, next)
        entry_free(entry);
    *list = NULL;
}

void view_forget_all(struct view *view)
{
    HASH_CLEAR(hh, view->entries);
    forget_list(&view->recent);
    forget_list(&view->rest);
    forget_list(&view->dirty);
    view->entries = view->waiting = NULL;
    view->dirty_count = view->untidy = view->folded = 0;
    view->recent_bytes = view->rest_bytes = 0;
    view->folded_bytes = 0;
}

/* ---- entries ---- */

struct view_entry *view_entry_new(struct view *view, struct text order_id)
{
    struct view_entry *entry = calloc(1, sizeof(*entry) + order_id.size);
    assert(entry != NULL);
    memcpy(entry->id, order_id.data, order_id.size);
    entry->id_size = order_id.size;
    heap_arena_init(&entry->heap, ENTRY_ARENA_BYTES);
    HASH_ADD_KEYPTR(hh, view->entries, entry->id, entry->id_size, entry);
    entry_append(view, entry);
    return entry;
}

struct view_entry *view_entry_find(struct view *view, struct text order_id)
{
    struct view_entry *entry = NULL;
    HASH_FIND(hh, view->entries, order_id.data, order_id.size, entry);
    return entry;
}

/* It was used, and may be of another size. */
static void entry_touch(struct view *view, struct view_entry *entry)
{
    entry_remove(view, entry);
    entry_append(view, entry);
}

enum error_class view_entry_load(struct view *view, struct text order_id,
                                 struct view_entry **ret_entry, struct error *ret_error)
{
    struct view_entry *entry = view_entry_find(view, order_id);
    if (entry != NULL) {
        if (!entry->dirty)
            entry_touch(view, entry);
        *ret_entry = entry;
        return ERROR_OK;
    }
    struct text row = {0};
    if (view_is_to_fail(view, "view.read"))
        return error_set(ret_error, CODE_STORE_IO, "planted by a failpoint");
    enum error_class class = store_get_order(view->store, order_id, &row, ret_error);
    if (class != ERROR_OK)
        return class;
    *ret_entry = NULL;
    if (row.data == NULL)
        return ERROR_OK;
    entry = view_entry_new(view, order_id);
    class = view_decode_row(view, order_id, row, &entry->heap.arena, &entry->order, ret_error);
    store_row_free(row);
    if (class != ERROR_OK) {
        entry_forget(view, entry);
        return class;
    }
    view_rows_remember(view, entry);
    entry->heap_fresh = entry->heap.arena.used;
    entry_touch(view, entry);
    *ret_entry = entry;
    return ERROR_OK;
}

void view_entry_mark_dirty(struct view *view, struct view_entry *entry)
{
    if (!entry->dirty) {
        entry_remove(view, entry);
        entry->dirty = true;
        entry->at_rest = false;
        entry_append(view, entry);
    }
    if (view->options.index != NULL)
        view_waiting_note(view, entry);
}

void view_keep_committed(struct view *view)
{
    view->untidy += view->dirty_count;
    while (view->dirty != NULL) {
        struct view_entry *entry = view->dirty;
        entry_remove(view, entry);
        entry->dirty = false;
        entry_append(view, entry);
    }
    assert(view->dirty_count == 0);
}

/* ---- the bound ---- */

size_t view_cached_bytes(const struct view *view)
{
    return view->recent_bytes + view->rest_bytes;
}

void view_hold(struct view *view, bool held)
{
    view->held = held;
}

/* Moves the order to memory of the size that it has. */
static void entry_lay_to_rest(struct view *view, struct view_entry *entry)
{
    struct order copy;
    assert(!entry->dirty && !entry->at_rest);
    entry_remove(view, entry);
    heap_arena_reset(&view->scratch);
    order_copy(&entry->order, &view->scratch.arena, &copy);
    size_t size = view->scratch.arena.used + entry->rows_size + ENTRY_PADDING_BYTES;
    heap_arena_deinit(&entry->heap);
    heap_arena_init(&entry->heap, size);
    order_copy(&copy, &entry->heap.arena, &entry->order);
    view_rows_remember(view, entry);
    entry->heap_fresh = entry->heap.arena.used;
    entry->at_rest = true;
    entry_append(view, entry);
}

/* Those that were committed since the last time. An order that has ended is rarely read again: its
 * memory serves the next one. And superseded texts pile up in the arena of a long-lived one. */
static void tidy_committed(struct view *view)
{
    /* DL lists: the head's prev is the tail. */
    struct view_entry *entry = view->recent != NULL ? view->recent->prev : NULL;
    for (uint32_t i = 0; i < view->untidy && entry != NULL; i++) {
        struct view_entry *before = entry == view->recent ? NULL : entry->prev;
        if (view_entry_is_expired(entry) || order_ended(&entry->order))
            entry_forget(view, entry);
        else if (entry->heap.arena.used > entry->heap_fresh + ENTRY_GARBAGE_BYTES)
            entry_lay_to_rest(view, entry);
        entry = before;
    }
    view->untidy = 0;
}

void view_tidy(struct view *view)
{
    size_t bytes_max = view->options.cache_bytes;
    if (view->held)
        return;
    tidy_committed(view);
    /* After a fold of many orders: copies of these would not stay. */
    while (view->recent_bytes / ROOMY_FACTOR > bytes_max)
        entry_forget(view, view->recent);
    while (view->recent_bytes > bytes_max / RECENT_SHARE)
        entry_lay_to_rest(view, view->recent);
    while (view_cached_bytes(view) > bytes_max)
        entry_forget(view, view->rest != NULL ? view->rest : view->recent);
}
