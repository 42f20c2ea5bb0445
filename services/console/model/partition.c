/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/model/partition.h"

#include "base/utf8.h"
#include "platform/logger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT_ROWS = 2000 /* counted in one turn of the loop */ };

struct console_partition {
    struct cluster *cluster;
    int32_t number;
    struct follower *follower;
    struct codec *codec;
    console_partition_decided decided;
    console_partition_renewed renewed;
    void *ctx;
    bool was_ready;
    bool caught_up; /* since the last stop or drop */
    bool behind;    /* folding was paused, and has not reached the end since */
    struct console_claim claim;
    struct console_claim claims[CONSOLE_CLAIMS]; /* in a ring; the latest is the claim above */
    uint32_t claim_count;                        /* ever kept */
    struct console_reset reset;
    struct stats stats; /* the view's index */
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

/* ---- the latest claim and reset ---- */

static void keep_reset(struct console_partition *partition, struct text by, struct text reason,
                       int64_t reset_at, int64_t offset)
{
    struct console_reset *kept = &partition->reset;
    *kept = (struct console_reset){.known = true, .offset = offset, .reset_at = reset_at};
    utf8_copy(kept->by, sizeof(kept->by), by);
    utf8_copy(kept->reason, sizeof(kept->reason), reason);
}

static void keep_claimed(struct console_partition *partition, const struct uuid *claim_id,
                         struct text instance, int64_t claimed_at, int64_t offset)
{
    struct console_claim *kept = &partition->claim;
    *kept = (struct console_claim){
        .known = true, .offset = offset, .claim_id = *claim_id, .claimed_at = claimed_at};
    utf8_copy(kept->instance, sizeof(kept->instance), instance);
    partition->claims[partition->claim_count++ % CONSOLE_CLAIMS] = *kept;
}

static void keep_claim(struct console_partition *partition, const struct claim *claim,
                       int64_t offset)
{
    keep_claimed(partition, &claim->claim_id, claim->instance, claim->claimed_at, offset);
    if (claim->has_reset) /* of an old log */
        keep_reset(partition, claim->reset.by, claim->reset.reason, claim->claimed_at, offset);
}

/* What an operator or a scheduler has done to the partition as a whole. */
static void keep_act(struct console_partition *partition, const struct record *record,
                     int64_t offset)
{
    if (record->kind == RECORD_CLAIM)
        keep_claim(partition, &record->claim, offset);
    else if (record->kind == RECORD_CONTINUATION && !partition->claim.known) /* a trimmed log's */
        keep_claimed(partition, &record->continuation.claim_id, record->continuation.instance,
                     record->continuation.claimed_at, offset);
    else if (record->kind == RECORD_RESET)
        keep_reset(partition, record->reset.by, record->reset.reason, record->reset.reset_at,
                   offset);
}

static bool visit_act(void *ctx, int64_t offset, struct text value)
{
    struct console_partition *partition = ctx;
    struct record record;
    heap_arena_reset(&partition->heap);
    if (codec_decode(partition->codec, value, true, &partition->heap.arena, &record,
                     &partition->error) == ERROR_OK)
        keep_act(partition, &record, offset);
    return true;
}

/* The view keeps records that concern no order under the empty id. */
static bool find_acts(struct console_partition *partition)
{
    struct error error;
    struct store *store = view_store(follower_view(partition->follower));
    partition->claim.known = partition->reset.known = false;
    partition->claim_count = 0;
    if (store_scan_history(store, TEXT(""), 0, visit_act, partition, &error) == ERROR_OK)
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
        error_set(&partition->error, CODE_STORE_CORRUPT, "a row cannot be decoded");
        return false;
    }
    order_counts_add(&partition->counts, record.order_row.details.workflow,
                     record.order_row.details.workflow_version, record.order_row.state, 1);
    partition->counts.open_alerts += record.order_row.alert_open;
    memcpy(partition->after, order_id.data, order_id.size);
    partition->after_size = order_id.size;
    return ++partition->rows < COUNT_ROWS;
}

static void count_some(void *ctx)
{
    struct console_partition *partition = ctx;
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
        loop_defer(partition->cluster->service->loop, &partition->work);
    } else {
        partition->counted = view_checkpoint(view)->next_event_offset;
        follower_run(partition->follower, INT64_MAX);
    }
}

static void count_change(struct console_partition *partition, const struct view_folded *folded)
{
    const struct order *order = folded->order;
    bool alert_before = folded->existed && folded->alert_before;
    assert(!alert_before || partition->counts.open_alerts > 0);
    partition->counts.open_alerts -= alert_before;
    partition->counts.open_alerts += order != NULL && order->alert_open;
    if (folded->existed && order != NULL && folded->state_before == order->state &&
        folded->version_before == order->details.workflow_version)
        return;
    if (folded->existed)
        order_counts_add(&partition->counts, folded->workflow_before, folded->version_before,
                         folded->state_before, -1);
    if (order != NULL)
        order_counts_add(&partition->counts, order->details.workflow,
                         order->details.workflow_version, order->state, 1);
}

/* ---- the follower ---- */

static void on_checked(void *ctx)
{
    struct console_partition *partition = ctx;
    struct loop *loop = partition->cluster->service->loop;
    int64_t next = follower_checkpoint(partition->follower)->next_event_offset;
    loop_defer_cancel(loop, &partition->work);
    if (partition->counted == next) {
        follower_run(partition->follower, INT64_MAX);
        return;
    }
    if (!find_acts(partition))
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
    if (folded->kind == RECORD_STATEMENT) {
        count_change(partition, folded);
        return;
    }
    if (folded->kind == RECORD_EXPIRY) {
        for (const struct view_gone *gone = folded->gone; gone != NULL; gone = gone->next)
            order_counts_add(&partition->counts, gone->workflow, gone->version, gone->state, -1);
        return;
    }
    if (folded->kind != RECORD_DECISION) {
        keep_act(partition, folded->record, record->offset);
        if (folded->kind == RECORD_RESET && partition->caught_up)
            partition->renewed(partition->ctx);
        return;
    }
    count_change(partition, folded);
    stats_decided(&partition->stats, &folded->record->decision, folded->order,
                  clock_wall_ms(partition->cluster->service->clock));
    partition->decided(partition->ctx, partition, record, folded);
}

static void on_caught_up(void *ctx)
{
    struct console_partition *partition = ctx;
    bool again = partition->was_ready && !partition->caught_up;
    partition->caught_up = partition->was_ready = true;
    partition->behind = false;
    if (again)
        partition->renewed(partition->ctx);
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
    partition->claim.known = partition->reset.known = false;
    partition->claim_count = 0;
}

/* Records folded afterwards are still new to watchers. */
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
                                       console_partition_decided decided,
                                       console_partition_renewed renewed, void *ctx,
                                       struct console_partition **ret_partition,
                                       struct error *ret_error)
{
    struct console_partition *partition = calloc(1, sizeof(*partition));
    assert(partition != NULL && options->history);
    partition->cluster = cluster;
    partition->number = number;
    partition->codec = options->codec;
    partition->decided = decided;
    partition->renewed = renewed;
    partition->ctx = ctx;
    partition->counted = -1;
    struct view_options with_stats = *options;
    with_stats.index = &stats_index;
    with_stats.index_ctx = &partition->stats;
    enum error_class class = follower_new(cluster, number, &with_stats, &follower_ops, partition,
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
    follower_flush(partition->follower);
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

bool console_partitions_are_ready(struct console_partition *const partitions[], int32_t count,
                                  char *ret_reason, size_t size)
{
    char what[ERROR_MESSAGE_SIZE] = "";
    int32_t behind = 0;
    for (int32_t i = 0; i < count; i++) {
        struct console_partition *partition = partitions[i];
        if (partition->was_ready)
            continue;
        if (behind++ == 0)
            follower_waits_for(partition->follower, what, sizeof(what));
        if (follower_is_stopped(partition->follower, NULL)) {
            console_partition_is_current(partition, ret_reason, size);
            return false;
        }
    }
    if (count == 0)
        snprintf(ret_reason, size, "is reading schemas and workflows");
    else if (behind > 0)
        snprintf(ret_reason, size, "%d partition%s being read from the log; the first waits for %s",
                 behind, behind == 1 ? " is" : "s are", what);
    return count > 0 && behind == 0;
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

const struct console_claim *console_partition_claim_at(const struct console_partition *partition,
                                                       uint32_t n)
{
    if (n >= partition->claim_count || n >= CONSOLE_CLAIMS)
        return NULL;
    return &partition->claims[(partition->claim_count - 1 - n) % CONSOLE_CLAIMS];
}

const struct stats *console_partition_stats(const struct console_partition *partition)
{
    return &partition->stats;
}

const struct console_reset *console_partition_reset(const struct console_partition *partition)
{
    return &partition->reset;
}

int64_t console_partition_lag(const struct console_partition *partition)
{
    return follower_lag(partition->follower);
}
