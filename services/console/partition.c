/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/partition.h"

#include "platform/logger.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT_ROWS = 2000 /* counted in one turn of the loop */ };

struct console_partition {
    struct cluster *cluster;
    int32_t number;
    struct follower *follower;
    struct codec *codec;
    console_partition_decided decided;
    void *ctx;
    bool was_ready;
    bool caught_up; /* since the last stop or drop */
    bool behind;    /* folding was paused, and has not reached the end since */
    struct console_claim claim;
    struct order_counts counts;
    int64_t counted; /* next event offset after the counts; -1 = no counts */
    /* counting again: the store's rows after this id, some in each turn */
    struct loop_deferred work;
    struct heap_arena heap;
    uint32_t rows;
    char after[ORDER_ID_BYTES_MAX];
    uint32_t after_size;
    struct error error;
};

/* ---- counts of orders ---- */

/* The first row whose name is not before the workflow's. */
static uint32_t row_place(const struct order_counts *counts, struct text workflow)
{
    uint32_t at = 0;
    while (at < counts->row_count && text_compare(text_of(counts->rows[at].workflow), workflow) < 0)
        at++;
    return at;
}

static bool row_is_at(const struct order_counts *counts, uint32_t at, struct text workflow)
{
    return at < counts->row_count && text_equal(text_of(counts->rows[at].workflow), workflow);
}

void order_counts_add(struct order_counts *counts, struct text workflow, enum order_state state,
                      int64_t by)
{
    uint32_t at = row_place(counts, workflow);
    assert(workflow.size <= NAME_BYTES_MAX && (unsigned)state < ORDER_STATE_COUNT);
    if (!row_is_at(counts, at, workflow)) {
        counts->rows = reallocarray(counts->rows, counts->row_count + 1, sizeof(counts->rows[0]));
        assert(counts->rows != NULL);
        memmove(&counts->rows[at + 1], &counts->rows[at],
                (counts->row_count++ - at) * sizeof(counts->rows[0]));
        counts->rows[at] = (struct order_counts_row){.workflow = ""};
        if (workflow.size > 0)
            memcpy(counts->rows[at].workflow, workflow.data, workflow.size);
    }
    struct order_counts_row *row = &counts->rows[at];
    assert(by >= 0 || row->by_state[state] >= (uint64_t)-by);
    row->by_state[state] += (uint64_t)by;
    counts->by_state[state] += (uint64_t)by;
}

void order_counts_merge(struct order_counts *counts, const struct order_counts *more)
{
    for (uint32_t i = 0; i < more->row_count; i++)
        for (int state = 0; state < ORDER_STATE_COUNT; state++)
            order_counts_add(counts, text_of(more->rows[i].workflow), (enum order_state)state,
                             (int64_t)more->rows[i].by_state[state]);
}

uint64_t order_counts_of_workflow(const struct order_counts *counts, struct text workflow)
{
    uint32_t at = row_place(counts, workflow);
    uint64_t sum = 0;
    for (int state = 0; row_is_at(counts, at, workflow) && state < ORDER_STATE_COUNT; state++)
        sum += counts->rows[at].by_state[state];
    return sum;
}

void order_counts_deinit(struct order_counts *counts)
{
    free(counts->rows);
    *counts = (struct order_counts){.rows = NULL};
}

/* ---- the latest claim ---- */

static void keep_text(struct text text, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%.*s", TEXT_ARG(text));
}

static void keep_claim(struct console_partition *partition, const struct claim *claim,
                       int64_t offset)
{
    struct console_claim *kept = &partition->claim;
    *kept = (struct console_claim){.known = true,
                                   .offset = offset,
                                   .claim_id = claim->claim_id,
                                   .claimed_at = claim->claimed_at,
                                   .has_reset = claim->has_reset};
    keep_text(claim->instance, kept->instance, sizeof(kept->instance));
    if (!claim->has_reset)
        return;
    keep_text(claim->reset.by, kept->reset_by, sizeof(kept->reset_by));
    keep_text(claim->reset.reason, kept->reset_reason, sizeof(kept->reset_reason));
}

static bool visit_claim(void *ctx, int64_t offset, struct text value)
{
    struct console_partition *partition = ctx;
    struct record record;
    heap_arena_reset(&partition->heap);
    if (codec_decode(partition->codec, value, true, &partition->heap.arena, &record,
                     &partition->error) == ERROR_OK &&
        record.kind == RECORD_CLAIM)
        keep_claim(partition, &record.claim, offset);
    return true;
}

/* The view keeps records that concern no order under the empty id. */
static bool find_claim(struct console_partition *partition)
{
    struct error error;
    struct store *store = view_store(follower_view(partition->follower));
    partition->claim.known = false;
    if (store_scan_history(store, TEXT(""), 0, visit_claim, partition, &error) == ERROR_OK)
        return true;
    console_partition_damaged(partition, &error);
    return false;
}

/* ---- counting ---- */

static bool visit_row(void *ctx, struct text order_id, struct text row)
{
    struct console_partition *partition = ctx;
    struct record record;
    heap_arena_reset(&partition->heap);
    if (codec_decode(partition->codec, row, true, &partition->heap.arena, &record,
                     &partition->error) != ERROR_OK ||
        record.kind != RECORD_ORDER_ROW || order_id.size > ORDER_ID_BYTES_MAX) {
        error_set(&partition->error, ERROR_FATAL, "StoreCorrupt", "a row cannot be decoded");
        return false;
    }
    order_counts_add(&partition->counts, record.order_row.details.workflow, record.order_row.state,
                     1);
    memcpy(partition->after, order_id.data, order_id.size);
    partition->after_size = order_id.size;
    return ++partition->rows < COUNT_ROWS;
}

static void count_some(struct loop *loop, struct loop_deferred *deferred, void *userdata)
{
    struct console_partition *partition = userdata;
    struct view *view = follower_view(partition->follower);
    struct error error = {0};
    partition->rows = 0;
    partition->error = (struct error){0};
    if (store_scan_orders(view_store(view), (struct text){partition->after, partition->after_size},
                          visit_row, partition, &error) != ERROR_OK)
        partition->error = error;
    if (error_is(&partition->error)) {
        console_partition_damaged(partition, &partition->error);
    } else if (partition->rows == COUNT_ROWS) {
        loop_defer(loop, deferred);
    } else {
        partition->counted = view_checkpoint(view)->next_event_offset;
        follower_run(partition->follower, INT64_MAX);
    }
}

static void count_decision(struct console_partition *partition, const struct view_folded *folded)
{
    const struct order *order = folded->order;
    if (folded->existed && order != NULL && folded->state_before == order->state)
        return;
    if (folded->existed)
        order_counts_add(&partition->counts, folded->workflow_before, folded->state_before, -1);
    if (order != NULL)
        order_counts_add(&partition->counts, order->details.workflow, order->state, 1);
}

/* ---- the follower ---- */

static void on_checked(void *ctx)
{
    struct console_partition *partition = ctx;
    struct loop *loop = partition->cluster->service->loop;
    int64_t next = view_checkpoint(follower_view(partition->follower))->next_event_offset;
    loop_defer_cancel(loop, &partition->work);
    if (partition->counted == next) {
        follower_run(partition->follower, INT64_MAX);
        return;
    }
    if (!find_claim(partition))
        return; /* it is checked again */
    order_counts_deinit(&partition->counts);
    partition->counted = -1;
    partition->after_size = 0;
    loop_defer(loop, &partition->work);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct console_partition *partition = ctx;
    partition->counted = record->offset + 1;
    if (folded->admission != ADMITTED)
        return;
    if (folded->kind == RECORD_CLAIM)
        keep_claim(partition, &folded->record->claim, record->offset);
    if (folded->kind != RECORD_DECISION)
        return;
    count_decision(partition, folded);
    partition->decided(partition->ctx, partition, record, folded);
}

static void on_caught_up(void *ctx)
{
    struct console_partition *partition = ctx;
    if (!partition->caught_up)
        malloc_trim(0); /* a long fold took memory that is not needed again */
    partition->caught_up = partition->was_ready = true;
    partition->behind = false;
}

static void forget(struct console_partition *partition)
{
    loop_defer_cancel(partition->cluster->service->loop, &partition->work);
    partition->caught_up = false;
}

static void on_dropped(void *ctx)
{
    struct console_partition *partition = ctx;
    forget(partition);
    order_counts_deinit(&partition->counts);
    partition->counted = -1;
    partition->claim.known = false;
}

/* What is folded afterwards is still new to watchers. */
static void on_paused(void *ctx)
{
    struct console_partition *partition = ctx;
    partition->behind = true;
}

static void on_stopped(void *ctx, const struct error *error)
{
    (void)error;
    forget(ctx);
}

static const struct follower_ops follower_ops = {.checked = on_checked,
                                                 .folded = on_folded,
                                                 .caught_up = on_caught_up,
                                                 .dropped = on_dropped,
                                                 .paused = on_paused,
                                                 .stopped = on_stopped};

/* ---- life ---- */

enum error_class console_partition_new(struct cluster *cluster, int32_t number,
                                       const struct view_options *options,
                                       console_partition_decided decided, void *ctx,
                                       struct console_partition **ret_partition,
                                       struct error *ret_error)
{
    struct console_partition *partition = calloc(1, sizeof(*partition));
    assert(partition != NULL && options->history);
    partition->cluster = cluster;
    partition->number = number;
    partition->codec = options->codec;
    partition->decided = decided;
    partition->ctx = ctx;
    partition->counted = -1;
    enum error_class class = follower_new(cluster, number, options, &follower_ops, partition,
                                          &partition->follower, ret_error);
    if (class != ERROR_OK) {
        free(partition);
        return class;
    }
    heap_arena_init(&partition->heap, 16 * 1024);
    loop_deferred_init(&partition->work, count_some, partition);
    *ret_partition = partition;
    return ERROR_OK;
}

void console_partition_free(struct console_partition *partition)
{
    if (partition == NULL)
        return;
    loop_defer_cancel(partition->cluster->service->loop, &partition->work);
    follower_commit(partition->follower);
    follower_free(partition->follower);
    order_counts_deinit(&partition->counts);
    heap_arena_deinit(&partition->heap);
    free(partition);
}

/* ---- queries ---- */

int32_t console_partition_number(const struct console_partition *partition)
{
    return partition->number;
}

bool console_partition_was_ready(const struct console_partition *partition)
{
    return partition->was_ready;
}

bool console_partition_is_live(const struct console_partition *partition)
{
    return partition->caught_up;
}

bool console_partition_is_stopped(const struct console_partition *partition,
                                  const struct error **ret_error)
{
    return follower_is_stopped(partition->follower, ret_error);
}

bool console_partition_is_current(const struct console_partition *partition, char *ret_reason,
                                  size_t size)
{
    const struct error *error = NULL;
    if (follower_is_stopped(partition->follower, &error))
        snprintf(ret_reason, size, "partition %d is stopped: %s", partition->number,
                 error->message);
    else if (follower_is_paused(partition->follower))
        snprintf(ret_reason, size, "partition %d waits for free disk space", partition->number);
    else if (!partition->caught_up || partition->behind)
        snprintf(ret_reason, size, "partition %d is being read from the log", partition->number);
    else
        return true;
    return false;
}

bool console_partition_settle(struct console_partition *partition)
{
    bool caught_up = partition->caught_up;
    follower_commit(partition->follower);
    return partition->caught_up == caught_up;
}

void console_partition_damaged(struct console_partition *partition, const struct error *error)
{
    log_warning("the store is damaged", LOG_I64("partition", partition->number), LOG_ERR(error));
    follower_restart(partition->follower, true, 0);
}

struct view *console_partition_view(struct console_partition *partition)
{
    return follower_view(partition->follower);
}

const struct order_counts *console_partition_counts(const struct console_partition *partition)
{
    return &partition->counts;
}

const struct console_claim *console_partition_claim(const struct console_partition *partition)
{
    return &partition->claim;
}

int64_t console_partition_lag(const struct console_partition *partition)
{
    return follower_lag(partition->follower);
}
