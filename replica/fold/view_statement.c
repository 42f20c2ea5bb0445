/* SPDX-License-Identifier: Apache-2.0 */
/* Folds Statements: orders that the owner restates in full. A Statement counts for every
 * reader, so a reader that began inside the log gets to know the order here, and one that folded
 * the order compares. */
#include "replica/fold/view_internal.h"
#include "statestore/keys.h"

#include <assert.h>

/* Another process wrote it: check before believing. */
static enum error_class check_stated(const struct order *order, const struct broker_record *record,
                                     struct error *ret_error)
{
    const char *problem = order_problem(order);
    if (text_empty(order->details.order_id) || !key_may_hold(order->details.order_id))
        problem = "its id is not one";
    else if (problem == NULL && order->stated_offset >= record->offset)
        problem = "it was stated after this record";
    if (problem == NULL)
        return ERROR_OK;
    return error_set(ret_error, CODE_IMPOSSIBLE_STATEMENT,
                     "%s[%d]@%lld restates order %.*s as it cannot be: %s", record->topic,
                     record->partition, (long long)record->offset,
                     TEXT_ARG(order->details.order_id), problem);
}

/* An owner of another format knows other fields: nothing can be said about it. */
static bool is_different(struct view *view, const struct statement *statement,
                         const struct view_entry *entry)
{
    if (statement->format != STATE_FORMAT)
        return false;
    if (entry == NULL || view_entry_is_expired(entry))
        return view->checkpoint.complete;
    struct order folded = entry->order;
    folded.stated_offset = statement->order.stated_offset; /* it is where this one will be */
    view->row.size = 0;
    codec_encode(view->options.codec, RECORD_ORDER_ROW, &folded, &view->row);
    size_t size = view->row.size;
    codec_encode(view->options.codec, RECORD_ORDER_ROW, &statement->order, &view->row);
    return view->row.size != 2 * size || memcmp(view->row.data, view->row.data + size, size) != 0;
}

static void replace(struct view *view, const struct order *order, struct view_entry *entry,
                    int64_t offset, struct view_folded *folded)
{
    const struct view_index *index = view->options.index;
    if (entry == NULL)
        entry = view_entry_new(view, order->details.order_id);
    if (index != NULL && folded->existed)
        index->count(view->options.index_ctx, &entry->order, -1);
    order_copy(order, &entry->heap.arena, &entry->order);
    entry->order.stated_offset = offset;
    if (index != NULL)
        index->count(view->options.index_ctx, &entry->order, 1);
    view_entry_mark_dirty(view, entry);
    folded->order = &entry->order;
}

enum error_class view_fold_statement(struct view *view, const struct broker_record *record,
                                     struct view_folded *folded, struct error *ret_error)
{
    const struct statement *statement = &view->record.statement;
    struct checkpoint before = view->checkpoint;
    struct view_entry *entry = NULL;
    folded->admission = admission_statement(&view->checkpoint, statement);
    if (folded->admission != ADMITTED)
        return ERROR_OK;
    enum error_class class = check_stated(&statement->order, record, ret_error);
    if (class == ERROR_OK)
        class = view_entry_load(view, statement->order.details.order_id, &entry, ret_error);
    if (class != ERROR_OK) {
        view->checkpoint = before;
        return class;
    }
    view_folded_before(entry, folded);
    folded->differs = is_different(view, statement, entry);
    replace(view, &statement->order, entry, record->offset, folded);
    if (view->options.history && !folded->existed)
        store_batch_put_history(view->batch, statement->order.details.order_id, record->offset,
                                record->value);
    return ERROR_OK;
}

void view_stated(struct view *view, const struct statement *statement, struct text value,
                 int64_t offset)
{
    struct view_entry *entry = view_entry_find(view, statement->order.details.order_id);
    enum admission admission = admission_statement(&view->checkpoint, statement);
    assert(admission == ADMITTED); /* the only legitimate writer's own next record */
    assert(entry != NULL && !view_entry_is_expired(entry));
    assert(entry->order.version == statement->order.version);
    assert(entry->order.stated_offset < offset);
    entry->order.stated_offset = offset;
    view_entry_mark_dirty(view, entry);
    view_advance(view, value, offset);
}

/* ---- which orders are to be restated ---- */

struct stated_scan {
    struct view *view;
    int64_t before;
    uint32_t rows_left;
    bool (*visit)(void *ctx, struct text order_id);
    void *ctx;
    struct view_order_id last;
    bool stopped; /* there may be further rows */
    enum error_class class;
    struct error *ret_error;
};

static bool is_stated_before(struct stated_scan *scan, struct text order_id, struct text row)
{
    struct order stored;
    const struct order *order = &stored;
    const struct view_entry *entry = view_entry_find(scan->view, order_id);
    if (entry != NULL && view_entry_is_expired(entry))
        return false;
    if (entry != NULL) {
        order = &entry->order;
    } else {
        heap_arena_reset(&scan->view->scratch);
        scan->class = view_decode_row(scan->view, order_id, row, &scan->view->scratch.arena,
                                      &stored, scan->ret_error);
    }
    return scan->class == ERROR_OK && order->stated_offset < scan->before;
}

static bool visit_row(void *ctx, struct text order_id, struct text row)
{
    struct stated_scan *scan = ctx;
    scan->stopped = scan->rows_left == 0;
    if (scan->stopped)
        return false;
    scan->rows_left--;
    bool is_old = is_stated_before(scan, order_id, row);
    scan->stopped = scan->class != ERROR_OK || (is_old && !scan->visit(scan->ctx, order_id));
    assert(order_id.size <= sizeof(scan->last.data));
    memcpy(scan->last.data, order_id.data, order_id.size);
    scan->last.size = order_id.size;
    return !scan->stopped;
}

enum error_class view_scan_stated_before(struct view *view, int64_t before, struct text after,
                                         uint32_t rows_max,
                                         bool (*visit)(void *ctx, struct text order_id), void *ctx,
                                         struct view_order_id *ret_last, struct error *ret_error)
{
    struct stated_scan scan = {.view = view,
                               .before = before,
                               .rows_left = rows_max,
                               .visit = visit,
                               .ctx = ctx,
                               .ret_error = ret_error};
    enum error_class class = store_scan_orders(view->store, after, visit_row, &scan, ret_error);
    if (class == ERROR_OK)
        class = scan.class;
    if (class != ERROR_OK)
        return class;
    if (!scan.stopped)
        scan.last.size = 0;
    *ret_last = scan.last;
    return ERROR_OK;
}
