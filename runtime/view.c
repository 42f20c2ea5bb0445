/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/view.h"

#include <assert.h>
#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>
#include <xxhash.h>

enum {
    ENTRY_ARENA_BYTES = 2048,
    SCRATCH_BYTES = 64 * 1024,
    INDEX_ROWS_MAX = WORKFLOW_STEPS_MAX + STORE_INDEX_COUNT,
    /* An order whose arena holds this many bytes more than a fresh copy needs is copied afresh. */
    ENTRY_GARBAGE_BYTES = 32 * 1024
};

struct index_row {
    enum store_index index;
    struct text value;
    int64_t updated_at;
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
    /* What the store's indexes say of it now, to be deleted by the next commit. */
    struct deadline *deadlines;
    uint32_t deadline_count;
    struct index_row *rows;
    uint32_t row_count;
    struct work_row *waiting;
    uint32_t waiting_count;
    uint32_t id_size;
    char id[];
};

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
    struct work *work; /* NULL without a router */
    struct heap_arena scratch;
    struct record record;
    struct buffer row;
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
    for (uint32_t i = 0; i < order->step_count && !order_ended(order); i++) {
        const struct step *step = &order->steps[i];
        if (step->state == STEP_PROCESSING || step->state == STEP_ERROR || step->retry_at != 0 ||
            step->queued_at != 0)
            rows[count++] = (struct index_row){INDEX_STEP, step->name, at};
    }
    assert(count <= INDEX_ROWS_MAX);
    return count;
}

static bool is_expired(const struct view_entry *entry)
{
    return entry->order.version == 0;
}

/* Hardly ever there is any. */
static void entry_remember_waiting(struct view_entry *entry)
{
    struct work_row rows[WORKFLOW_STEPS_MAX];
    struct arena *arena = &entry->heap.arena;
    entry->waiting_count = work_rows_of(&entry->order, rows);
    if (entry->waiting_count == 0)
        return;
    entry->waiting = ARENA_ARRAY(arena, struct work_row, entry->waiting_count);
    for (uint32_t i = 0; i < entry->waiting_count; i++) {
        entry->waiting[i].queued_at = rows[i].queued_at;
        entry->waiting[i].lane = arena_text(arena, rows[i].lane);
    }
}

/* Remembers what the store's indexes hold for the order as it is now. */
static void entry_remember_indexes(struct view *view, struct view_entry *entry)
{
    struct arena *arena = &entry->heap.arena;
    if (is_expired(entry)) {
        entry->deadline_count = entry->row_count = entry->waiting_count = 0;
        return;
    }
    if (view->options.deadlines) {
        struct deadline deadlines[DEADLINES_MAX];
        entry->deadline_count = deadlines_of(&entry->order, deadlines);
        entry->deadlines = ARENA_ARRAY(arena, struct deadline, entry->deadline_count);
        memcpy(entry->deadlines, deadlines, entry->deadline_count * sizeof(deadlines[0]));
    }
    if (view->options.history) {
        struct index_row rows[INDEX_ROWS_MAX];
        entry->row_count = index_rows_of(&entry->order, rows);
        entry->rows = ARENA_ARRAY(arena, struct index_row, entry->row_count);
        for (uint32_t i = 0; i < entry->row_count; i++) {
            entry->rows[i] = rows[i];
            entry->rows[i].value = arena_text(arena, rows[i].value);
        }
    }
    if (view->work != NULL)
        entry_remember_waiting(entry);
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
    entry_remember_indexes(view, entry);
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
    entry_remember_indexes(view, entry);
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

/* The counts as of the last commit. */
static enum error_class load_work(struct view *view, struct error *ret_error)
{
    struct text tally = {0};
    if (view->work == NULL)
        return ERROR_OK;
    work_clear(view->work);
    enum error_class class = store_get_tally(view->store, &tally, ret_error);
    if (class != ERROR_OK)
        return class;
    bool fresh = view->committed.next_event_offset == 0;
    bool good = tally.data == NULL ? fresh : work_decode(view->work, tally);
    store_row_free(tally);
    if (good)
        return ERROR_OK;
    work_clear(view->work);
    return error_set(ret_error, ERROR_FATAL, "StoreCorrupt",
                     "the store %s does not tell what runs and waits: it is dropped and folded "
                     "again",
                     view->path);
}

static enum error_class open_store(struct view *view, struct error *ret_error)
{
    enum error_class class = store_open(view->options.env, view->path, &view->store, ret_error);
    if (class != ERROR_OK)
        return class;
    class = store_checkpoint(view->store, &view->committed, ret_error);
    if (class != ERROR_OK) {
        store_close(view->store);
        view->store = NULL;
        return class;
    }
    if (view->committed.cluster_id[0] == '\0')
        view->committed = (struct checkpoint){.last_command_offset = -1,
                                              .emitted_through = -1,
                                              .attempt_offset = -1,
                                              .previous_claim_decisions = -1};
    view->checkpoint = view->committed;
    class = load_work(view, ret_error);
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
    if (view->work != NULL)
        work_clear(view->work);
    store_batch_free(view->batch);
    store_close(view->store);
    view->batch = NULL;
    view->store = NULL;
}

void view_set_apart(struct view *view, bool apart)
{
    if (view->work != NULL)
        work_set_apart(view->work, apart);
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
    if (options->router != NULL)
        view->work = work_new(options->router);
    view_set_apart(view, options->apart);
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
    work_free(view->work);
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

struct work *view_work(const struct view *view)
{
    return view->work;
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
        *ret_order = entry != NULL && !is_expired(entry) ? &entry->order : NULL;
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

/* Versions are dense: nobody has to look in the store for an order that begins here. */
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
    folded->existed = entry != NULL && !is_expired(entry);
    if (folded->existed) {
        folded->state_before = entry->order.state;
        folded->workflow_before = entry->order.details.workflow;
    }
    if (decision_changes_order(decision)) {
        if (entry == NULL)
            entry = entry_new(view, decision->order_id);
        if (view->work != NULL && folded->existed)
            work_count(view->work, &entry->order, -1);
        apply_decision(&entry->order, decision, &entry->heap.arena);
        if (view->work != NULL && !is_expired(entry))
            work_count(view->work, &entry->order, 1);
        entry_mark_dirty(view, entry);
    }
    bool exists = entry != NULL && !is_expired(entry);
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
    if (view->record.kind == RECORD_ATTEMPT) {
        folded->admission = admission_attempt(checkpoint, &view->record.attempt);
        return ERROR_OK;
    }
    if (view->record.kind != RECORD_DECISION)
        return error_set(ret_error, ERROR_FATAL, "UndecodableEvent",
                         "%s[%d]@%lld holds a %s: only reeve may write to this topic; stop the "
                         "stranger, then `reeve partition reset`",
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

void view_attempted(struct view *view, const struct attempt *attempt, struct text value,
                    int64_t offset)
{
    enum admission admission = admission_attempt(&view->checkpoint, attempt);
    assert(admission == ADMITTED);
    advance(view, value, offset);
}

/* ---- committing ---- */

uint32_t view_dirty(const struct view *view)
{
    return view->folded > view->dirty_count ? view->folded : view->dirty_count;
}

static bool has_deadline(const struct deadline *deadlines, uint32_t count,
                         const struct deadline *wanted)
{
    bool has = false;
    for (uint32_t i = 0; i < count && !has; i++)
        has = deadlines[i].due_at == wanted->due_at && deadlines[i].step == wanted->step &&
              deadlines[i].kind == wanted->kind;
    return has;
}

/* Only what changes: a row of the index costs as much as the order's own. */
static void put_deadlines(struct view *view, const struct view_entry *entry,
                          const struct deadline *before, uint32_t before_count)
{
    struct text id = {entry->id, entry->id_size};
    for (uint32_t i = 0; i < before_count; i++) {
        if (!has_deadline(entry->deadlines, entry->deadline_count, &before[i]))
            store_batch_delete_deadline(view->batch, id, &before[i]);
    }
    for (uint32_t i = 0; i < entry->deadline_count; i++) {
        if (!has_deadline(before, before_count, &entry->deadlines[i]))
            store_batch_put_deadline(view->batch, id, &entry->deadlines[i]);
    }
}

static bool waits_likewise(const struct work_row *rows, uint32_t count, const struct work_row *row)
{
    bool same = false;
    for (uint32_t i = 0; i < count && !same; i++)
        same = rows[i].queued_at == row->queued_at && text_equal(rows[i].lane, row->lane);
    return same;
}

/* Only what changes, as above. */
static void put_waiting(struct view *view, const struct view_entry *entry, enum priority priority,
                        const struct work_row *before, uint32_t before_count)
{
    struct waiting_row row = {.priority = priority, .order_id = {entry->id, entry->id_size}};
    for (uint32_t i = 0; i < before_count; i++) {
        row.lane = before[i].lane;
        row.queued_at = before[i].queued_at;
        if (!waits_likewise(entry->waiting, entry->waiting_count, &before[i]))
            store_batch_delete_waiting(view->store, view->batch, &row);
    }
    for (uint32_t i = 0; i < entry->waiting_count; i++) {
        row.lane = entry->waiting[i].lane;
        row.queued_at = entry->waiting[i].queued_at;
        if (!waits_likewise(before, before_count, &entry->waiting[i]))
            store_batch_put_waiting(view->store, view->batch, &row);
    }
}

static void put_tally(struct view *view)
{
    if (view->work == NULL)
        return;
    view->row.size = 0;
    work_encode(view->work, &view->row);
    store_batch_put_tally(view->store, view->batch,
                          (struct text){(const char *)view->row.data, (uint32_t)view->row.size});
}

static void put_row(struct view *view, const struct view_entry *entry)
{
    struct text id = {entry->id, entry->id_size};
    if (is_expired(entry)) {
        store_batch_delete_order(view->batch, id);
        return;
    }
    view->row.size = 0;
    codec_encode(view->options.codec, RECORD_ORDER_ROW, &entry->order, &view->row);
    store_batch_put_order(view->batch, id,
                          (struct text){(const char *)view->row.data, (uint32_t)view->row.size});
}

static void put_entry(struct view *view, struct view_entry *entry)
{
    struct text id = {entry->id, entry->id_size};
    /* In the entry's arena, which only grows. */
    const struct deadline *deadlines = entry->deadlines;
    uint32_t deadline_count = entry->deadline_count;
    const struct work_row *waiting = entry->waiting;
    uint32_t waiting_count = entry->waiting_count;
    enum priority priority = entry->order.details.priority;
    put_row(view, entry);
    for (uint32_t i = 0; i < entry->row_count; i++)
        store_batch_delete_index(view->batch, entry->rows[i].index, entry->rows[i].value,
                                 entry->rows[i].updated_at, id);
    entry_remember_indexes(view, entry);
    put_deadlines(view, entry, deadlines, deadline_count);
    put_waiting(view, entry, priority, waiting, waiting_count);
    for (uint32_t i = 0; i < entry->row_count; i++)
        store_batch_put_index(view->batch, entry->rows[i].index, entry->rows[i].value,
                              entry->rows[i].updated_at, id);
}

enum error_class view_commit(struct view *view, bool bulk, struct error *ret_error)
{
    struct view_entry *entry;
    struct view_entry *next;
    assert(view->checkpoint.cluster_id[0] != '\0');
    DL_FOREACH(view->dirty, entry)
        put_entry(view, entry);
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
        /* Hardly anybody asks for an order that has ended: its memory serves the next one. */
        if (is_expired(entry) || order_ended(&entry->order))
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
    forget_all(view);
    store_batch_clear(view->batch);
    enum error_class class = store_checkpoint(view->store, &view->committed, ret_error);
    if (class == ERROR_OK && view->committed.cluster_id[0] == '\0')
        view->committed = (struct checkpoint){.last_command_offset = -1,
                                              .emitted_through = -1,
                                              .attempt_offset = -1,
                                              .previous_claim_decisions = -1};
    view->checkpoint = view->committed;
    return class == ERROR_OK ? load_work(view, ret_error) : class;
}
