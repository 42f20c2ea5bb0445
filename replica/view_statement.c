/* SPDX-License-Identifier: Apache-2.0 */
/* Folds Statements: orders that the owner restates in full. What a Statement says counts for every
 * reader, so a reader that began inside the log gets to know the order here, and one that folded
 * the order compares. */
#include "replica/view_internal.h"
#include "statestore/keys.h"

#include <assert.h>

/* What another process wrote is checked before it is believed. */
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
    return error_set(ret_error, ERROR_FATAL, "ImpossibleStatement",
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
    return ERROR_OK;
}
