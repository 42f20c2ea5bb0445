/* SPDX-License-Identifier: Apache-2.0 */
/* The store under a view: opening, reading and committing. Hot orders: view_cache.c; folding:
 * view_fold.c; what a commit writes of an order: view_rows.c; when that reaches the disk:
 * view_flush.c */
#include "platform/failpoint.h"
#include "replica/fold/view_internal.h"
#include "statestore/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { SCRATCH_BYTES = 64 * 1024 };

bool view_is_to_fail(const struct view *view, const char *failpoint)
{
    const char *slash = strrchr(view->path, '/');
    struct text directory = text_of(slash != NULL ? slash + 1 : view->path);
    (void)failpoint;
    (void)directory;
    return FAILPOINT_ERROR(failpoint) || FAILPOINT_ERROR_OF(failpoint, directory);
}

enum error_class view_decode_row(struct view *view, struct text order_id, struct text row,
                                 struct arena *arena, struct order *ret_order,
                                 struct error *ret_error)
{
    struct record record;
    enum error_class class =
        codec_decode(view->options.codec, row, false, arena, &record, ret_error);
    const char *problem = class != ERROR_OK || record.kind != RECORD_ORDER_ROW
                              ? "it cannot be decoded"
                              : order_problem(&record.order_row);
    if (problem != NULL)
        return error_set(ret_error, CODE_STORE_CORRUPT,
                         "the row of order %.*s is damaged (%s): the store is dropped and folded "
                         "again",
                         TEXT_ARG(order_id), problem);
    *ret_order = record.order_row;
    return ERROR_OK;
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
        ret_error, CODE_STORE_CORRUPT,
        "the store %s holds no valid tally of running and waiting steps: it is dropped "
        "and folded again",
        view->path);
}

/* Back to the last commit. */
static enum error_class load_checkpoint(struct view *view, struct error *ret_error)
{
    enum error_class class = store_checkpoint(view->store, &view->committed, ret_error);
    if (class == ERROR_OK && view->committed.cluster_id[0] == '\0')
        view->committed = admission_begin();
    view->checkpoint = view->committed;
    if (class == ERROR_OK && view->options.continuations)
        class = store_get_continuations(view->store, &view->continuations, ret_error);
    view->continuations_changed = false;
    view->ended_from = INT64_MIN;
    view->expired.any = false;
    return class == ERROR_OK ? load_index(view, ret_error) : class;
}

static enum error_class open_store(struct view *view, struct error *ret_error)
{
    if (view_is_to_fail(view, "view.open"))
        return error_set(ret_error, CODE_STORE_IO, "planted by a failpoint");
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
    view->flushed = view->committed.next_event_offset;
    view->unnamed = !view->committed.has_first_claim;
    return ERROR_OK;
}

static void close_store(struct view *view)
{
    view_forget_all(view);
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
    /* A store that another process uses is not damaged. */
    if (class != ERROR_OK && error.code != CODE_STORE_IN_USE) {
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
    view->checkpoint = view->committed = admission_begin();
    view->continuations.count = 0;
    if (view_is_to_fail(view, "view.drop"))
        return error_set(ret_error, CODE_STORE_IO, "planted by a failpoint");
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
    enum error_class class = view_entry_load(view, order_id, &entry, ret_error);
    if (class == ERROR_OK)
        *ret_order = entry != NULL && !view_entry_is_expired(entry) ? &entry->order : NULL;
    return class;
}

enum error_class view_read_order(struct view *view, struct text order_id, struct arena *arena,
                                 const struct order **ret_order, struct error *ret_error)
{
    struct text row = {0};
    const struct view_entry *entry = view_entry_find(view, order_id);
    if (entry != NULL) {
        *ret_order = view_entry_is_expired(entry) ? NULL : &entry->order;
        return ERROR_OK;
    }
    if (view_is_to_fail(view, "view.read"))
        return error_set(ret_error, CODE_STORE_IO, "planted by a failpoint");
    enum error_class class = store_get_order(view->store, order_id, &row, ret_error);
    if (class != ERROR_OK || row.data == NULL) {
        *ret_order = NULL;
        return class;
    }
    struct order *order = ARENA_NEW(arena, struct order);
    class = view_decode_row(view, order_id, row, arena, order, ret_error);
    store_row_free(row);
    *ret_order = order;
    return class;
}

/* ---- committing ---- */

uint32_t view_dirty(const struct view *view)
{
    return view->folded > view->dirty_count ? view->folded : view->dirty_count;
}

uint64_t view_dirty_bytes(const struct view *view)
{
    return view->folded_bytes;
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

/* Neighbours in a memtable are written one after the other where that is easy: new orders often
 * have ascending ids, and the indexes have the latest change first. */
static void put_dirty(struct view *view)
{
    struct view_entry *entry;
    DL_FOREACH(view->dirty, entry)
        view_rows_put_order(view, entry);
    /* DL lists: the head's prev is the tail. */
    entry = view->dirty != NULL ? view->dirty->prev : NULL;
    while (entry != NULL) {
        view_rows_put_indexes(view, entry);
        entry = entry == view->dirty ? NULL : entry->prev;
    }
}

enum error_class view_commit(struct view *view, struct error *ret_error)
{
    assert(view->checkpoint.cluster_id[0] != '\0');
    if (view_is_to_fail(view, "view.write"))
        return error_set(ret_error, CODE_STORE_IO, "planted by a failpoint");
    view_expired_put(view);
    put_dirty(view);
    put_tally(view);
    if (view->continuations_changed)
        store_batch_put_continuations(view->store, view->batch, &view->continuations);
    enum error_class class = store_commit(view->store, view->batch, &view->checkpoint, ret_error);
    if (class != ERROR_OK)
        return class;
    view_waiting_clear(view);
    view_keep_committed(view);
    assert(view->dirty == NULL);
    assert(view->checkpoint.next_event_offset >= view->committed.next_event_offset);
    view->committed = view->checkpoint;
    view->continuations_changed = false;
    view->expired.any = false;
    view->folded = 0;
    view->folded_bytes = 0;
    return view_bound_unflushed(view, ret_error);
}

enum error_class view_rollback(struct view *view, struct error *ret_error)
{
    view_forget_all(view);
    if (view->store == NULL) /* nothing is folded */
        return ERROR_OK;
    store_batch_clear(view->batch);
    return load_checkpoint(view, ret_error);
}
