/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that wait in a queue: the store's rows as of the last commit, merged with what the
 * orders in memory say. A step that waits is found as soon as its Decision is applied, and one that
 * has started is not found any more, whatever the store holds. */
#include "replica/fold/view_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

void view_waiting_note(struct view *view, struct view_entry *entry)
{
    struct view_index_row rows[WORKFLOW_STEPS_MAX];
    assert(entry->dirty);
    bool waits =
        !view_entry_is_expired(entry) && view->options.index->rows_of(&entry->order, rows) > 0;
    if (waits == entry->waits)
        return;
    if (waits)
        DL_APPEND2(view->waiting, entry, prev_waiting, next_waiting);
    else
        DL_DELETE2(view->waiting, entry, prev_waiting, next_waiting);
    entry->waits = waits;
}

void view_waiting_clear(struct view *view)
{
    struct view_entry *entry;
    DL_FOREACH2(view->waiting, entry, next_waiting)
    entry->waits = false;
    view->waiting = NULL;
}

/* ---- the rows in memory ---- */

struct memory_rows {
    struct waiting_row *rows; /* new; in the order of the scan */
    uint32_t count;
    uint32_t next;
};

/* As the store's keys are ordered. */
static int compare_rows(const void *left, const void *right)
{
    const struct waiting_row *a = left;
    const struct waiting_row *b = right;
    if (a->queued_at != b->queued_at)
        return a->queued_at < b->queued_at ? -1 : 1;
    return text_compare(a->order_id, b->order_id);
}

/* An order has at most one row in a queue, as the queue's key names the step. */
static void take_row(const struct view *view, const struct view_entry *entry,
                     const struct waiting_row *wanted, struct memory_rows *memory)
{
    struct view_index_row rows[WORKFLOW_STEPS_MAX];
    if (entry->order.details.priority != wanted->priority)
        return;
    uint32_t count = view->options.index->rows_of(&entry->order, rows);
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].queued_at < wanted->queued_at || !text_equal(rows[i].queue, wanted->queue))
            continue;
        struct waiting_row *row = &memory->rows[memory->count++];
        *row = *wanted;
        row->queued_at = rows[i].queued_at;
        row->order_id = (struct text){entry->id, entry->id_size};
        return;
    }
}

static struct memory_rows rows_in_memory(const struct view *view, const struct waiting_row *wanted)
{
    struct memory_rows memory = {0};
    const struct view_entry *entry;
    uint32_t waiting = 0;
    DL_COUNT2(view->waiting, entry, waiting, next_waiting);
    if (waiting == 0)
        return memory;
    memory.rows = calloc(waiting, sizeof(memory.rows[0]));
    assert(memory.rows != NULL);
    DL_FOREACH2(view->waiting, entry, next_waiting)
    take_row(view, entry, wanted, &memory);
    assert(memory.count <= waiting);
    if (memory.count > 1)
        qsort(memory.rows, memory.count, sizeof(memory.rows[0]), compare_rows);
    return memory;
}

/* ---- merging ---- */

struct waiting_merge {
    struct view *view;
    struct memory_rows memory;
    bool (*visit)(void *ctx, const struct waiting_row *row);
    void *ctx;
    bool stopped;
};

/* Those before `row`, or (NULL) all. */
static void visit_memory(struct waiting_merge *merge, const struct waiting_row *row)
{
    struct memory_rows *memory = &merge->memory;
    while (!merge->stopped && memory->next < memory->count &&
           (row == NULL || compare_rows(&memory->rows[memory->next], row) < 0))
        merge->stopped = !merge->visit(merge->ctx, &memory->rows[memory->next++]);
}

static bool visit_stored(void *ctx, const struct waiting_row *row)
{
    struct waiting_merge *merge = ctx;
    visit_memory(merge, row);
    const struct view_entry *entry = view_entry_find(merge->view, row->order_id);
    if (!merge->stopped && (entry == NULL || !entry->dirty))
        merge->stopped = !merge->visit(merge->ctx, row);
    return !merge->stopped;
}

enum error_class view_scan_waiting(struct view *view, struct text queue, enum priority priority,
                                   int64_t from,
                                   bool (*visit)(void *ctx, const struct waiting_row *row),
                                   void *ctx, struct error *ret_error)
{
    const struct waiting_row wanted = {.queue = queue, .priority = priority, .queued_at = from};
    assert(view->options.index != NULL);
    struct waiting_merge merge = {
        .view = view, .memory = rows_in_memory(view, &wanted), .visit = visit, .ctx = ctx};
    enum error_class class =
        store_scan_waiting(view->store, queue, priority, from, visit_stored, &merge, ret_error);
    if (class == ERROR_OK)
        visit_memory(&merge, NULL);
    free(merge.memory.rows);
    return class;
}
