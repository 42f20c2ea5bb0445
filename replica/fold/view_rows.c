/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that a commit writes of an order: its own, and those of the indexes that the view keeps
 * (deadlines, the console's secondary indexes, what waits, what has ended). Index rows hold values
 * that change, so an entry remembers those that are in the store. */
#include "base/bytes.h"
#include "replica/fold/view_internal.h"
#include "statestore/ended.h"

#include <assert.h>

enum { INDEX_ROWS_MAX = 2 * WORKFLOW_STEPS_MAX + STORE_INDEX_COUNT };

/* The value as the index has it, new in the arena: lists show roots alone, so those of sub-orders
 * have values of their own. */
static struct text value_of(const struct order *order, struct text value, struct arena *arena)
{
    if (order->details.parent == NULL)
        return arena_text(arena, value);
    char *bytes = arena_bytes(arena, INDEX_SUBORDER.size + value.size);
    bytes_put_text(bytes_put_text(bytes, INDEX_SUBORDER), value);
    return (struct text){bytes, INDEX_SUBORDER.size + value.size};
}

static uint32_t index_rows_of(const struct order *order, struct index_row rows[INDEX_ROWS_MAX])
{
    uint32_t count = 0;
    int64_t at = order->updated_at;
    rows[count++] = (struct index_row){INDEX_STATE, text_of(order_state_name(order->state)), at};
    rows[count++] = (struct index_row){INDEX_TIME, {0}, at};
    rows[count++] = (struct index_row){INDEX_WORKFLOW, order->details.workflow, at};
    if (!text_empty(order->reason_code))
        rows[count++] = (struct index_row){INDEX_ERROR, order->reason_code, at};
    if (order->alert_open)
        rows[count++] = (struct index_row){INDEX_ALERT, TEXT("open"), at};
    if (order->paused_at != 0)
        rows[count++] = (struct index_row){INDEX_PAUSED, {0}, at};
    for (uint32_t i = 0; i < order->step_count && !order_ended(order); i++) {
        const struct step *step = &order->steps[i];
        if (step_is_active(step))
            rows[count++] = (struct index_row){INDEX_STEP, step->name, at};
        if (!text_empty(step_awaited_group(step)))
            rows[count++] = (struct index_row){INDEX_GROUP, step_awaited_group(step), at};
    }
    assert(count <= INDEX_ROWS_MAX);
    return count;
}

static void remember_deadlines(struct view_entry *entry)
{
    struct deadline deadlines[DEADLINES_MAX];
    struct view_rows *rows = &entry->rows;
    rows->deadline_count = deadlines_of(&entry->order, deadlines);
    assert(rows->deadline_count <= DEADLINES_MAX);
    rows->deadlines = ARENA_ARRAY(&entry->heap.arena, struct deadline, rows->deadline_count);
    memcpy(rows->deadlines, deadlines, rows->deadline_count * sizeof(deadlines[0]));
}

static void remember_indexed(struct view_entry *entry)
{
    struct index_row indexed[INDEX_ROWS_MAX];
    struct view_rows *rows = &entry->rows;
    struct arena *arena = &entry->heap.arena;
    rows->indexed_count = index_rows_of(&entry->order, indexed);
    rows->indexed = ARENA_ARRAY(arena, struct index_row, rows->indexed_count);
    for (uint32_t i = 0; i < rows->indexed_count; i++) {
        rows->indexed[i] = indexed[i];
        rows->indexed[i].value = value_of(&entry->order, indexed[i].value, arena);
    }
}

/* Borrows: nothing in the entry's arena is overwritten. */
static void remember_accepted(struct view_entry *entry)
{
    const struct order *order = &entry->order;
    entry->rows.accepted = ARENA_NEW(&entry->heap.arena, struct accepted_rows);
    *entry->rows.accepted = (struct accepted_rows){
        .accepted_at = order->accepted_at,
        .accepted_offset = order->accepted_offset,
        .customer = order->details.customer,
        .attributes = order->details.attributes,
        .attribute_count = order->details.attribute_count,
        .parent = order->details.parent,
    };
}

static void remember_waiting(const struct view_index *index, struct view_entry *entry)
{
    struct view_index_row waiting[WORKFLOW_STEPS_MAX];
    struct view_rows *rows = &entry->rows;
    struct arena *arena = &entry->heap.arena;
    rows->waiting_count = index->rows_of(&entry->order, waiting);
    rows->priority = entry->order.details.priority;
    if (rows->waiting_count == 0) /* nearly always */
        return;
    rows->waiting = ARENA_ARRAY(arena, struct view_index_row, rows->waiting_count);
    for (uint32_t i = 0; i < rows->waiting_count; i++) {
        rows->waiting[i].queued_at = waiting[i].queued_at;
        rows->waiting[i].queue = arena_text(arena, waiting[i].queue);
    }
}

void view_rows_remember(const struct view *view, struct view_entry *entry)
{
    size_t used = entry->heap.arena.used;
    entry->rows = (struct view_rows){0};
    entry->rows_size = 0;
    if (view_entry_is_expired(entry))
        return;
    entry->rows.ended = order_ended(&entry->order);
    entry->rows.ended_at = entry->order.ended_at;
    if (view->options.deadlines)
        remember_deadlines(entry);
    if (view->options.history) {
        remember_indexed(entry);
        remember_accepted(entry);
    }
    if (view->options.index != NULL)
        remember_waiting(view->options.index, entry);
    entry->rows_size = entry->heap.arena.used - used;
}

static bool has_deadline(const struct view_rows *rows, const struct deadline *wanted)
{
    bool has = false;
    for (uint32_t i = 0; i < rows->deadline_count && !has; i++)
        has = rows->deadlines[i].due_at == wanted->due_at &&
              rows->deadlines[i].step == wanted->step && rows->deadlines[i].kind == wanted->kind;
    return has;
}

/* Only what changes: a row of the index costs as much as the order's own. */
static void put_deadlines(struct view *view, struct text order_id, const struct view_rows *before,
                          const struct view_rows *now)
{
    for (uint32_t i = 0; i < before->deadline_count; i++) {
        if (!has_deadline(now, &before->deadlines[i]))
            store_batch_delete_deadline(view->batch, order_id, &before->deadlines[i]);
    }
    for (uint32_t i = 0; i < now->deadline_count; i++) {
        if (!has_deadline(before, &now->deadlines[i]))
            store_batch_put_deadline(view->batch, order_id, &now->deadlines[i]);
    }
}

static bool waits_likewise(const struct view_rows *rows, const struct view_index_row *wanted)
{
    bool same = false;
    for (uint32_t i = 0; i < rows->waiting_count && !same; i++)
        same = rows->waiting[i].queued_at == wanted->queued_at &&
               text_equal(rows->waiting[i].queue, wanted->queue);
    return same;
}

/* Only what changes, as above. */
static void put_waiting(struct view *view, struct text order_id, const struct view_rows *before,
                        const struct view_rows *now)
{
    struct waiting_row row = {.priority = before->priority, .order_id = order_id};
    for (uint32_t i = 0; i < before->waiting_count; i++) {
        row.queue = before->waiting[i].queue;
        row.queued_at = before->waiting[i].queued_at;
        if (!waits_likewise(now, &before->waiting[i]))
            store_batch_delete_waiting(view->store, view->batch, &row);
    }
    row.priority = now->priority;
    for (uint32_t i = 0; i < now->waiting_count; i++) {
        row.queue = now->waiting[i].queue;
        row.queued_at = now->waiting[i].queued_at;
        if (!waits_likewise(before, &now->waiting[i]))
            store_batch_put_waiting(view->store, view->batch, &row);
    }
}

/* Once for each order. Those that are put here may have ended before ones that expired, after a
 * reset of the time. */
static void put_ended(struct view *view, struct text order_id, const struct view_rows *before,
                      const struct view_rows *now)
{
    bool stored = before->ended && !view_expired_covers(view, before->ended_at, order_id);
    bool same = stored == now->ended && before->ended_at == now->ended_at;
    if (now->ended && now->ended_at < view->ended_from)
        view->ended_from = now->ended_at;
    if (stored && !same)
        store_batch_delete_ended(view->store, view->batch, before->ended_at, order_id);
    if (now->ended && !same)
        store_batch_put_ended(view->store, view->batch, now->ended_at, order_id);
}

typedef void (*write_index)(struct store_batch *batch, enum store_index index, struct text value,
                            int64_t at, struct text order_id);

static void write_value(struct view *view, struct text order_id, const struct accepted_rows *rows,
                        enum store_index index, const struct text parts[3], write_index write)
{
    struct index_value value;
    struct text all[] = {rows->parent != NULL ? INDEX_SUBORDER : TEXT(""), parts[0], parts[1],
                         parts[2]};
    index_value_of(all, 4, &value);
    write(view->batch, index, index_value_text(&value), rows->accepted_at, order_id);
}

static void write_accepted(struct view *view, struct text order_id,
                           const struct accepted_rows *rows, write_index write)
{
    static const struct text none[3];
    if (rows == NULL)
        return;
    write_value(view, order_id, rows, INDEX_SUBMITTED, none, write);
    if (!text_empty(rows->customer))
        write_value(view, order_id, rows, INDEX_CUSTOMER,
                    (const struct text[]){rows->customer, {0}, {0}}, write);
    for (uint32_t i = 0; i < rows->attribute_count; i++) {
        const struct attribute *attribute = &rows->attributes[i];
        write_value(view, order_id, rows, INDEX_ATTRIBUTE,
                    (const struct text[]){attribute->name, TEXT("="), attribute->value}, write);
    }
    if (rows->parent == NULL)
        return;
    write_value(view, order_id, rows, INDEX_ATTRIBUTE,
                (const struct text[]){ORDER_ROOT_ATTRIBUTE, TEXT("="), rows->parent->root}, write);
    write_value(view, order_id, rows, INDEX_ATTRIBUTE,
                (const struct text[]){ORDER_PARENT_ATTRIBUTE, TEXT("="), rows->parent->order_id},
                write);
}

/* Once for each order, however often it changes. */
static void put_accepted(struct view *view, struct text order_id,
                         const struct accepted_rows *before, const struct accepted_rows *now)
{
    if (before != NULL && now != NULL && before->accepted_offset == now->accepted_offset)
        return;
    write_accepted(view, order_id, before, store_batch_delete_index);
    write_accepted(view, order_id, now, store_batch_put_index);
}

/* All of them change with every version: each row holds the time of the order's last change. */
static void put_indexed(struct view *view, struct text order_id, const struct view_rows *before,
                        const struct view_rows *now)
{
    for (uint32_t i = 0; i < before->indexed_count; i++)
        store_batch_delete_index(view->batch, before->indexed[i].index, before->indexed[i].value,
                                 before->indexed[i].updated_at, order_id);
    for (uint32_t i = 0; i < now->indexed_count; i++)
        store_batch_put_index(view->batch, now->indexed[i].index, now->indexed[i].value,
                              now->indexed[i].updated_at, order_id);
}

void view_rows_put_order(struct view *view, const struct view_entry *entry)
{
    struct text id = {entry->id, entry->id_size};
    if (view_entry_is_expired(entry)) {
        store_batch_delete_order(view->batch, id);
        return;
    }
    view->row.size = 0;
    codec_encode(view->options.codec, RECORD_ORDER_ROW, &entry->order, &view->row);
    store_batch_put_order(view->batch, id,
                          (struct text){(const char *)view->row.data, (uint32_t)view->row.size});
}

void view_rows_put_indexes(struct view *view, struct view_entry *entry)
{
    struct text id = {entry->id, entry->id_size};
    struct view_rows before = entry->rows; /* in the entry's arena, which only grows */
    view_rows_remember(view, entry);
    put_indexed(view, id, &before, &entry->rows);
    put_accepted(view, id, before.accepted, entry->rows.accepted);
    put_deadlines(view, id, &before, &entry->rows);
    put_waiting(view, id, &before, &entry->rows);
    put_ended(view, id, &before, &entry->rows);
}
