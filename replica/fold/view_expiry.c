/* SPDX-License-Identifier: Apache-2.0 */
/* Folds Expiries: orders that ended long ago leave the store, all up to one place in the order of
 * (ended_at, id). Which ones follows from the log alone: of an order that has changed since the
 * last commit memory says when it ended, of any other one the store's index does. */
#include "replica/fold/view_internal.h"
#include "statestore/ended.h"

#include <assert.h>
#include <utlist.h>

struct expiry_scan {
    struct view *view;
    const struct expiry *expiry;
    int64_t offset; /* of the record */
    struct view_folded *folded;
    enum error_class class;
    struct error *ret_error;
};

/* Another process wrote it: check before believing. */
static enum error_class check_expiry(const struct expiry *expiry,
                                     const struct broker_record *record, struct error *ret_error)
{
    const char *problem = NULL;
    if (text_empty(expiry->order_id))
        problem = "it names no order";
    else if (expiry->ended_at > expiry->decided_at)
        problem = "it names orders that end later";
    if (problem == NULL)
        return ERROR_OK;
    return error_set(ret_error, CODE_IMPOSSIBLE_EXPIRY,
                     "%s[%d]@%lld has orders expire as it cannot be: %s", record->topic,
                     record->partition, (long long)record->offset, problem);
}

static bool leaves(const struct view_entry *entry, const struct expiry *expiry)
{
    const struct order *order = &entry->order;
    if (view_entry_is_expired(entry) || !order_ended(order))
        return false;
    if (order->ended_at != expiry->ended_at)
        return order->ended_at < expiry->ended_at;
    return text_compare((struct text){entry->id, entry->id_size}, expiry->order_id) <= 0;
}

/* For who counts orders: what it was. */
static void note_gone(struct expiry_scan *scan, const struct order *order)
{
    struct view_folded *folded = scan->folded;
    struct arena *arena = &scan->view->scratch.arena;
    struct view_gone *gone = ARENA_NEW(arena, struct view_gone);
    *gone = (struct view_gone){.state = order->state,
                               .workflow = arena_text(arena, order->details.workflow),
                               .version = order->details.workflow_version,
                               .next = folded->gone};
    folded->gone = gone;
}

/* Memory forgets the order at once, the store with the next commit. */
static void forget_order(struct expiry_scan *scan, struct view_entry *entry)
{
    struct view *view = scan->view;
    if (view->options.history) {
        note_gone(scan, &entry->order);
        store_batch_delete_history(view->batch, (struct text){entry->id, entry->id_size},
                                   scan->offset);
    }
    entry->order = (struct order){0};
    view_entry_mark_dirty(view, entry);
    scan->folded->gone_count++;
}

static void forget_changed(struct expiry_scan *scan)
{
    struct view_entry *entry;
    DL_FOREACH(scan->view->dirty, entry) {
        if (leaves(entry, scan->expiry))
            forget_order(scan, entry);
    }
}

/* The row of an order that has ended is not read unless its history goes as well: it has no rows
 * in other indexes, and no index counts it (struct view_index). */
static bool forget_stored(void *ctx, int64_t ended_at, struct text order_id)
{
    struct expiry_scan *scan = ctx;
    (void)ended_at;
    struct view *view = scan->view;
    struct view_entry *entry = view_entry_find(view, order_id);
    if (entry != NULL && entry->dirty)
        return true;
    if (entry == NULL && view->options.history)
        scan->class = view_entry_load(view, order_id, &entry, scan->ret_error);
    if (scan->class == ERROR_OK && entry == NULL && view->options.history)
        scan->class = error_set(scan->ret_error, CODE_STORE_CORRUPT,
                                "the store %s has no row of an order that has ended", view->path);
    if (scan->class != ERROR_OK)
        return false;
    if (entry == NULL)
        entry = view_entry_new(view, order_id);
    forget_order(scan, entry);
    return true;
}

/* ---- the rows in the index of ended orders: one tombstone for all that expire together ---- */

static struct text until_order_id(const struct expired_range *range)
{
    return (struct text){range->until_order_id.data, range->until_order_id.size};
}

bool view_expired_covers(const struct view *view, int64_t ended_at, struct text order_id)
{
    const struct expired_range *range = &view->expired;
    if (!range->any || ended_at < range->from || ended_at > range->until)
        return false;
    return ended_at < range->until || text_compare(order_id, until_order_id(range)) <= 0;
}

static void note_range(struct view *view, const struct expiry *expiry)
{
    struct expired_range *range = &view->expired;
    struct text id = expiry->order_id;
    if (expiry->ended_at < view->ended_from ||
        view_expired_covers(view, expiry->ended_at, expiry->order_id))
        return;
    if (!range->any)
        range->from = view->ended_from;
    range->any = true;
    range->until = view->ended_from = expiry->ended_at;
    assert(id.size <= sizeof(range->until_order_id.data));
    memcpy(range->until_order_id.data, id.data, id.size);
    range->until_order_id.size = id.size;
}

void view_expired_put(struct view *view)
{
    const struct expired_range *range = &view->expired;
    if (range->any)
        store_batch_delete_ended_range(view->store, view->batch, range->from, range->until,
                                       until_order_id(range));
}

static enum error_class expire(struct view *view, const struct expiry *expiry, int64_t offset,
                               struct view_folded *folded, struct error *ret_error)
{
    struct expiry_scan scan = {
        .view = view, .expiry = expiry, .offset = offset, .folded = folded, .ret_error = ret_error};
    forget_changed(&scan);
    enum error_class class = store_scan_ended(view->store, view->ended_from, expiry->ended_at,
                                              expiry->order_id, forget_stored, &scan, ret_error);
    if (class == ERROR_OK)
        class = scan.class;
    if (class == ERROR_OK)
        note_range(view, expiry);
    return class;
}

enum error_class view_fold_expiry(struct view *view, const struct broker_record *record,
                                  struct view_folded *folded, struct error *ret_error)
{
    const struct expiry *expiry = &view->record.expiry;
    struct checkpoint before = view->checkpoint;
    folded->admission = admission_expiry(&view->checkpoint, expiry);
    if (folded->admission != ADMITTED)
        return ERROR_OK;
    enum error_class class = check_expiry(expiry, record, ret_error);
    if (class == ERROR_OK)
        class = expire(view, expiry, record->offset, folded, ret_error);
    if (class != ERROR_OK)
        view->checkpoint = before;
    return class;
}

enum error_class view_expired(struct view *view, const struct expiry *expiry, struct text value,
                              int64_t offset, uint32_t *ret_count, struct error *ret_error)
{
    struct view_folded folded = {0};
    enum admission admission = admission_expiry(&view->checkpoint, expiry);
    assert(admission == ADMITTED); /* the only legitimate writer's own next record */
    assert(expiry->ended_at <= expiry->decided_at);
    heap_arena_reset(&view->scratch);
    enum error_class class = expire(view, expiry, offset, &folded, ret_error);
    if (class != ERROR_OK)
        return class;
    view_advance(view, value, offset);
    *ret_count = folded.gone_count;
    return ERROR_OK;
}

/* ---- which orders are to expire ---- */

struct ended_search {
    struct view *view;
    uint32_t count_max;
    struct view_ended *found;
};

static bool take_ended(void *ctx, int64_t ended_at, struct text order_id)
{
    struct ended_search *search = ctx;
    struct view_ended *found = search->found;
    const struct view_entry *entry = view_entry_find(search->view, order_id);
    if (entry != NULL && entry->dirty)
        return true; /* it has expired, or may be another order */
    found->count++;
    found->ended_at = ended_at;
    assert(order_id.size <= sizeof(found->order_id.data));
    memcpy(found->order_id.data, order_id.data, order_id.size);
    found->order_id.size = order_id.size;
    return found->count < search->count_max;
}

enum error_class view_find_ended(struct view *view, int64_t until, uint32_t count_max,
                                 struct view_ended *ret_ended, struct error *ret_error)
{
    assert(count_max > 0);
    *ret_ended = (struct view_ended){0};
    struct ended_search search = {.view = view, .count_max = count_max, .found = ret_ended};
    return store_scan_ended(view->store, view->ended_from, until, TEXT(""), take_ended, &search,
                            ret_error);
}
