/* SPDX-License-Identifier: Apache-2.0 */
/* Hot orders above the store, folding, committing. What a commit writes of an order: view_rows.c */
#include "replica/view_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>
#include <xxhash.h>

enum {
    ENTRY_ARENA_BYTES = 2048,
    SCRATCH_BYTES = 64 * 1024,
    /* An order whose arena holds this many bytes more than a fresh copy needs is copied afresh. */
    ENTRY_GARBAGE_BYTES = 32 * 1024
};

/* ---- entries ---- */

static void entry_free(struct view_entry *entry)
{
    heap_arena_deinit(&entry->heap);
    free(entry);
}

static struct view_entry *entry_new(struct view *view, struct text order_id)
{
    struct view_entry *entry = calloc(1, sizeof(*entry) + order_id.size);
    assert(entry != NULL);
    memcpy(entry->id, order_id.data, order_id.size);
    entry->id_size = order_id.size;
    heap_arena_init(&entry->heap, ENTRY_ARENA_BYTES);
    HASH_ADD_KEYPTR(hh, view->entries, entry->id, entry->id_size, entry);
    DL_APPEND(view->clean, entry);
    view->entry_count++;
    return entry;
}

static void entry_forget(struct view *view, struct view_entry *entry)
{
    if (entry->dirty)
        DL_DELETE(view->dirty, entry);
    else
        DL_DELETE(view->clean, entry);
    assert(view->entry_count > 0 && (!entry->dirty || view->dirty_count > 0));
    HASH_DEL(view->entries, entry);
    view->entry_count--;
    entry_free(entry);
}

static void forget_all(struct view *view)
{
    struct view_entry *entry;
    struct view_entry *next;
    HASH_CLEAR(hh, view->entries);
    DL_FOREACH_SAFE(view->clean, entry, next)
        entry_free(entry);
    DL_FOREACH_SAFE(view->dirty, entry, next)
        entry_free(entry);
    view->entries = view->clean = view->dirty = NULL;
    view->entry_count = view->dirty_count = view->untidy = view->folded = 0;
}

/* Superseded texts pile up in a long-lived order's arena: now and then it moves to a fresh one. */
static void entry_compact(struct view *view, struct view_entry *entry)
{
    if (entry->heap.arena.used <= entry->heap_fresh + ENTRY_GARBAGE_BYTES)
        return;
    struct order copy;
    heap_arena_reset(&view->scratch);
    order_copy(&entry->order, &view->scratch.arena, &copy);
    heap_arena_reset(&entry->heap);
    order_copy(&copy, &entry->heap.arena, &entry->order);
    view_rows_remember(view, entry);
    entry->heap_fresh = entry->heap.arena.used;
}

static struct view_entry *entry_find(struct view *view, struct text order_id)
{
    struct view_entry *entry = NULL;
    HASH_FIND(hh, view->entries, order_id.data, order_id.size, entry);
    return entry;
}

/* NULL in *ret_entry: neither in memory nor in the store. What is there may have expired. */
static enum error_class entry_load(struct view *view, struct text order_id,
                                   struct view_entry **ret_entry, struct error *ret_error)
{
    struct view_entry *entry = entry_find(view, order_id);
    if (entry != NULL) {
        if (!entry->dirty) {
            DL_DELETE(view->clean, entry);
            DL_APPEND(view->clean, entry);
        }
        *ret_entry = entry;
        return ERROR_OK;
    }
    struct text row = {0};
    enum error_class class = store_get_order(view->store, order_id, &row, ret_error);
    if (class != ERROR_OK)
        return class;
    *ret_entry = NULL;
    if (row.data == NULL)
        return ERROR_OK;
    entry = entry_new(view, order_id);
    struct record record;
    class = codec_decode(view->options.codec, row, false, &entry->heap.arena, &record, ret_error);
    store_row_free(row);
    if (class != ERROR_OK || record.kind != RECORD_ORDER_ROW) {
        entry_forget(view, entry);
        return error_set(ret_error, ERROR_FATAL, "StoreCorrupt",
                         "the row of order %.*s cannot be decoded: the store is dropped and "
                         "folded again",
                         TEXT_ARG(order_id));
    }
    entry->order = record.order_row;
    view_rows_remember(view, entry);
    entry->heap_fresh = entry->heap.arena.used;
    *ret_entry = entry;
    return ERROR_OK;
}

static void entry_mark_dirty(struct view *view, struct view_entry *entry)
{
    if (entry->dirty)
        return;
    DL_DELETE(view->clean, entry);
    DL_APPEND(view->dirty, entry);
    entry->dirty = true;
    view->dirty_count++;
}

/* ---- open and close ---- */

/* The index as of the last commit. */
static enum error_class load_index(struct view *view, struct error *ret_error)
{
    const struct view_index *index = view->options.index;
    struct text tally = {0};
    if (index == NULL)
        return ERROR_OK;
    index->clear(view->options.index_ctx);
    enum error_class class = store_get_tally(view->store, &tally, ret_error);
    if (class != ERROR_OK)
        return class;
    bool fresh = view->committed.next_event_offset == 0;
    bool good = tally.data == NULL ? fresh : index->decode(view->options.index_ctx, tally);
    store_row_free(tally);
    if (good)
        return ERROR_OK;
    index->clear(view->options.index_ctx);
    return error_set(
        ret_error, ERROR_FATAL, "StoreCorrupt",
        "the store %s holds no valid tally of running and waiting steps: it is dropped "
        "and folded again",
        view->path);
}

/* Back to the last commit. */
static enum error_class load_checkpoint(struct view *view, struct error *ret_error)
{
    enum error_class class = store_checkpoint(view->store, &view->committed, ret_error);
    if (class == ERROR_OK && view->committed.cluster_id[0] == '\0')
        view->committed = (struct checkpoint){.last_command_offset = -1,
                                              .emitted_through = -1,
                                              .guarded_offset = -1,
                                              .previous_claim_decisions = -1};
    view->checkpoint = view->committed;
    return class == ERROR_OK ? load_index(view, ret_error) : class;
}

static enum error_class open_store(struct view *view, struct error *ret_error)
{
    enum error_class class = store_open(view->options.env, view->path, &view->store, ret_error);
    if (class != ERROR_OK)
        return class;
    class = load_checkpoint(view, ret_error);
    if (class != ERROR_OK) {
        store_close(view->store);
        view->store = NULL;
        return class;
    }
    view->batch = store_batch_new(view->store);
    return ERROR_OK;
}

static void close_store(struct view *view)
{
    forget_all(view);
    if (view->options.index != NULL)
        view->options.index->clear(view->options.index_ctx);
    store_batch_free(view->batch);
    store_close(view->store);
    view->batch = NULL;
    view->store = NULL;
}

enum error_class view_open(const struct view_options *options, struct view **ret_view,
                           bool *ret_dropped, struct error *ret_error)
{
    struct view *view = calloc(1, sizeof(*view));
    assert(view != NULL);
    view->options = *options;
    view->path = strdup(options->path);
    assert(view->path != NULL);
    heap_arena_init(&view->scratch, SCRATCH_BYTES);
    assert(options->index != NULL || options->index_ctx == NULL);
    bool dropped = false;
    struct error error = {0};
    enum error_class class = open_store(view, &error);
    if (class != ERROR_OK && ret_error != NULL)
        *ret_error = error;
    /* What another process works with is not damaged. */
    if (class != ERROR_OK && strcmp(error.code, "StoreInUse") != 0) {
        dropped = true;
        class = view_drop(view, ret_error);
    }
    if (class != ERROR_OK) {
        view_close(view);
        return class;
    }
    *ret_dropped = dropped;
    *ret_view = view;
    return ERROR_OK;
}

void view_close(struct view *view)
{
    if (view == NULL)
        return;
    if (view->store != NULL)
        close_store(view);
    heap_arena_deinit(&view->scratch);
    buffer_deinit(&view->row);
    free(view->path);
    free(view);
}

enum error_class view_drop(struct view *view, struct error *ret_error)
{
    if (view->store != NULL)
        close_store(view);
    enum error_class class = store_drop(view->path, ret_error);
    return class != ERROR_OK ? class : open_store(view, ret_error);
}

const struct checkpoint *view_checkpoint(const struct view *view)
{
    return &view->checkpoint;
}

const struct checkpoint *view_committed(const struct view *view)
{
    return &view->committed;
}

struct store *view_store(struct view *view)
{
    return view->store;
}

void view_set_cluster_id(struct view *view, const char *cluster_id)
{
    size_t size = strlen(cluster_id);
    assert(size > 0 && size < CLUSTER_ID_BYTES_MAX);
    memcpy(view->checkpoint.cluster_id, cluster_id, size + 1);
}

void view_set_emitted_through(struct view *view, int64_t offset)
{
    if (offset > view->checkpoint.emitted_through)
        view->checkpoint.emitted_through = offset;
}

enum error_class view_order(struct view *view, struct text order_id, const struct order **ret_order,
                            struct error *ret_error)
{
    struct view_entry *entry = NULL;
    enum error_class class = entry_load(view, order_id, &entry, ret_error);
    if (class == ERROR_OK)
        *ret_order = entry != NULL && !view_entry_is_expired(entry) ? &entry->order : NULL;
    return class;
}

/* ---- folding ---- */

static void advance(struct view *view, struct text value, int64_t offset)
{
    assert(offset >= view->checkpoint.next_event_offset);
    view->checkpoint.next_event_offset = offset + 1;
    view->checkpoint.last_record_hash = XXH3_64bits(value.data, value.size);
    view->folded++;
}

/* Versions are dense: an order that begins here cannot be in the store. */
static bool begins_order(const struct decision *decision)
{
    return decision_changes_order(decision) && decision->order_version == 1;
}

static enum error_class apply_admitted(struct view *view, const struct decision *decision,
                                       struct text value, int64_t offset,
                                       struct view_folded *folded, struct error *ret_error)
{
    struct view_entry *entry = NULL;
    if (begins_order(decision)) {
        entry = entry_find(view, decision->order_id);
    } else if (!text_empty(decision->order_id)) {
        enum error_class class = entry_load(view, decision->order_id, &entry, ret_error);
        if (class != ERROR_OK)
            return class;
    }
    folded->existed = entry != NULL && !view_entry_is_expired(entry);
    if (folded->existed) {
        folded->state_before = entry->order.state;
        folded->workflow_before = entry->order.details.workflow;
    }
    if (decision_changes_order(decision)) {
        if (entry == NULL)
            entry = entry_new(view, decision->order_id);
        const struct view_index *index = view->options.index;
        if (index != NULL && folded->existed)
            index->count(view->options.index_ctx, &entry->order, -1);
        order_apply_decision(&entry->order, decision, &entry->heap.arena);
        if (index != NULL && !view_entry_is_expired(entry))
            index->count(view->options.index_ctx, &entry->order, 1);
        entry_mark_dirty(view, entry);
    }
    bool exists = entry != NULL && !view_entry_is_expired(entry);
    if (view->options.history && folded->existed && !exists)
        store_batch_delete_history(view->batch, decision->order_id, offset);
    else if (view->options.history)
        store_batch_put_history(view->batch, decision->order_id, offset, value);
    folded->order = exists ? &entry->order : NULL;
    return ERROR_OK;
}

static enum error_class fold_decoded(struct view *view, const struct broker_record *record,
                                     struct view_folded *folded, struct error *ret_error)
{
    struct checkpoint *checkpoint = &view->checkpoint;
    folded->kind = view->record.kind;
    folded->record = &view->record;
    if (view->record.kind == RECORD_CLAIM) {
        folded->admission = admission_claim(checkpoint, &view->record.claim);
        if (view->options.history && folded->admission == ADMITTED)
            store_batch_put_history(view->batch, TEXT(""), record->offset, record->value);
        return ERROR_OK;
    }
    if (view->record.kind == RECORD_COMMAND_GUARD) {
        folded->admission = admission_guard(checkpoint, &view->record.command_guard);
        return ERROR_OK;
    }
    if (view->record.kind != RECORD_DECISION)
        return error_set(ret_error, ERROR_FATAL, "UndecodableEvent",
                         "%s[%d]@%lld holds a %s: only reeve may write to this topic; stop the "
                         "third-party client, then `reeve partition reset`",
                         record->topic, record->partition, (long long)record->offset,
                         record_kind_name(view->record.kind));
    folded->admission = admission_decision(checkpoint, &view->record.decision);
    if (folded->admission != ADMITTED)
        return ERROR_OK;
    return apply_admitted(view, &view->record.decision, record->value, record->offset, folded,
                          ret_error);
}

enum error_class view_fold(struct view *view, const struct broker_record *record,
                           struct view_folded *ret_folded, struct error *ret_error)
{
    struct error error = {0};
    struct view_folded folded = {0};
    heap_arena_reset(&view->scratch);
    enum error_class class = codec_decode(view->options.codec, record->value, true,
                                          &view->scratch.arena, &view->record, &error);
    if (class != ERROR_OK) {
        bool unknown_schema = strcmp(error.code, "UnknownSchema") == 0;
        return error_set(ret_error, unknown_schema ? ERROR_RETRY : ERROR_FATAL,
                         unknown_schema ? "UnknownSchema" : "UndecodableEvent", "%s[%d]@%lld: %s",
                         record->topic, record->partition, (long long)record->offset,
                         error.message);
    }
    class = fold_decoded(view, record, &folded, ret_error);
    if (class != ERROR_OK)
        return class;
    if (folded.admission != ADMITTED)
        view->checkpoint.skipped++;
    advance(view, record->value, record->offset);
    if (ret_folded != NULL)
        *ret_folded = folded;
    return ERROR_OK;
}

enum error_class view_decided(struct view *view, const struct decision *decision, struct text value,
                              int64_t offset, struct error *ret_error)
{
    struct view_folded folded;
    enum admission admission = admission_decision(&view->checkpoint, decision);
    assert(admission == ADMITTED); /* the only legitimate writer's own next record */
    enum error_class class = apply_admitted(view, decision, value, offset, &folded, ret_error);
    if (class == ERROR_OK)
        advance(view, value, offset);
    return class;
}

void view_guarded(struct view *view, const struct command_guard *guard, struct text value,
                  int64_t offset)
{
    enum admission admission = admission_guard(&view->checkpoint, guard);
    assert(admission == ADMITTED);
    advance(view, value, offset);
}

/* ---- committing ---- */

uint32_t view_dirty(const struct view *view)
{
    return view->folded > view->dirty_count ? view->folded : view->dirty_count;
}

static void put_tally(struct view *view)
{
    if (view->options.index == NULL)
        return;
    view->row.size = 0;
    view->options.index->encode(view->options.index_ctx, &view->row);
    store_batch_put_tally(view->store, view->batch,
                          (struct text){(const char *)view->row.data, (uint32_t)view->row.size});
}

enum error_class view_commit(struct view *view, bool bulk, struct error *ret_error)
{
    struct view_entry *entry;
    struct view_entry *next;
    assert(view->checkpoint.cluster_id[0] != '\0');
    DL_FOREACH(view->dirty, entry)
        view_rows_put(view, entry);
    put_tally(view);
    enum error_class class =
        store_commit(view->store, view->batch, &view->checkpoint, bulk, ret_error);
    if (class != ERROR_OK)
        return class;
    DL_FOREACH_SAFE(view->dirty, entry, next) {
        DL_DELETE(view->dirty, entry);
        entry->dirty = false;
        DL_APPEND(view->clean, entry);
    }
    assert(view->dirty == NULL);
    assert(view->checkpoint.next_event_offset >= view->committed.next_event_offset);
    view->committed = view->checkpoint;
    view->untidy += view->dirty_count;
    view->dirty_count = view->folded = 0;
    return ERROR_OK;
}

void view_hold(struct view *view, bool held)
{
    view->held = held;
}

void view_tidy(struct view *view)
{
    if (view->held)
        return;
    /* DL lists: the head's prev is the tail. */
    struct view_entry *entry = view->clean != NULL ? view->clean->prev : NULL;
    for (uint32_t i = 0; i < view->untidy && entry != NULL; i++) {
        struct view_entry *before = entry == view->clean ? NULL : entry->prev;
        /* An order that has ended is rarely read again: its memory serves the next one. */
        if (view_entry_is_expired(entry) || order_ended(&entry->order))
            entry_forget(view, entry);
        else
            entry_compact(view, entry);
        entry = before;
    }
    view->untidy = 0;
    while (view->entry_count > view->options.cache_orders && view->clean != NULL)
        entry_forget(view, view->clean);
}

enum error_class view_end_bulk(struct view *view, struct error *ret_error)
{
    assert(view->dirty_count == 0);
    return store_end_bulk(view->store, &view->checkpoint, ret_error);
}

enum error_class view_rollback(struct view *view, struct error *ret_error)
{
    assert(view->store != NULL && view->batch != NULL);
    forget_all(view);
    store_batch_clear(view->batch);
    return load_checkpoint(view, ret_error);
}
