/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_fold.h"

#include "tests/property/ownership_garbage.h"
#include "tests/property/ownership_route.h"
#include "tests/property/ownership_tail.h"
#include "tests/property/ownership_trim.h"

#include <assert.h>

static struct order *find_order(struct fold *fold, struct text id)
{
    for (uint32_t i = 0; i < fold->order_count; i++)
        if (text_equal(fold->orders[i].details.order_id, id))
            return &fold->orders[i];
    return NULL;
}

static struct order *find_or_add_order(struct fold *fold, struct text id)
{
    struct order *order = find_order(fold, id);
    if (order != NULL)
        return order;
    assert(fold->order_count < FOLD_ORDERS_MAX);
    return &fold->orders[fold->order_count++];
}

/* It has expired. */
static void remove_order(struct fold *fold, struct order *order)
{
    struct order *last = &fold->orders[--fold->order_count];
    *order = *last;
    *last = (struct order){0};
}

/* ---- rare situations ---- */

static void count_timeout(const struct fold *fold, const struct decision *decision, uint32_t index,
                          uint64_t *counts)
{
    const struct step_timed_out *timed_out = &decision->events[index].step_timed_out;
    counts[SOMETIMES_OVERDUE_AT_CLAIM] += timed_out->complete_by + MARGIN_MS < fold->claimed_at;
    counts[SOMETIMES_TIMEOUT_EXHAUSTED] += index + 1 < decision->event_count &&
                                           decision->events[index + 1].kind == EVENT_STEP_EXHAUSTED;
}

static void count_start(const struct order *before, const struct step_started *started,
                        uint64_t *counts)
{
    if (started->ref.direction != DIRECTION_UNDO)
        return;
    counts[SOMETIMES_UNDO]++;
    int step = before != NULL ? order_find_step(before, started->ref.step) : -1;
    counts[SOMETIMES_UNKNOWN_UNDONE] += step >= 0 && before->steps[step].effect == EFFECT_UNKNOWN;
}

static void count_migration(const struct order *before, uint64_t *counts)
{
    bool runs = false;
    for (uint32_t i = 0; before != NULL && i < before->step_count; i++)
        runs = runs || before->steps[i].state == STEP_PROCESSING;
    counts[SOMETIMES_MIGRATED]++;
    counts[SOMETIMES_MIGRATED_LATE] += runs;
}

static void count_rejection(const struct order *before, const struct command_rejected *rejected,
                            uint64_t *counts)
{
    counts[SOMETIMES_NOT_YET_DUE] += rejected->due_at != 0;
    counts[SOMETIMES_NO_EXTENSION] += rejected->command == COMMAND_EXTEND_STEP;
    counts[SOMETIMES_RETIRED] += text_equal(rejected->code, TEXT("WorkflowRetired"));
    counts[SOMETIMES_CONTENT_DIFFERS] += text_equal(rejected->code, TEXT("ContentDiffers"));
    counts[SOMETIMES_CANCEL_IN_UNDO] += rejected->command == COMMAND_CANCEL_ORDER &&
                                        before != NULL && before->state == ORDER_COMPENSATING;
}

/* `before`: the order before this Decision, NULL if there was none. */
static void count_rarities(const struct fold *fold, const struct order *before,
                           const struct decision *decision, uint64_t *counts)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        counts[SOMETIMES_DEAD_LETTER] += event->kind == EVENT_COMMAND_DEAD_LETTERED;
        counts[SOMETIMES_SUBMITTED_AGAIN] += event->kind == EVENT_SUBMISSION_REPEATED;
        counts[SOMETIMES_REPORT_IGNORED] += event->kind == EVENT_REPORT_IGNORED;
        counts[SOMETIMES_CANCELLED] += event->kind == EVENT_ORDER_CANCELLED;
        counts[SOMETIMES_RESUBMITTED] += event->kind == EVENT_STEP_RESUBMITTED;
        counts[SOMETIMES_EXTENDED] += event->kind == EVENT_STEP_EXTENDED;
        counts[SOMETIMES_PAUSED] += event->kind == EVENT_ORDER_PAUSED;
        counts[SOMETIMES_BY_HAND] += event->kind == EVENT_STEP_COMPLETED_BY_HAND ||
                                     event->kind == EVENT_STEP_SKIPPED_BY_HAND ||
                                     event->kind == EVENT_STEP_FAILED_UNSTARTED;
        if (event->kind == EVENT_ORDER_MIGRATED)
            count_migration(before, counts);
        if (event->kind == EVENT_STEP_TIMED_OUT)
            count_timeout(fold, decision, i, counts);
        if (event->kind == EVENT_STEP_STARTED)
            count_start(before, &event->step_started, counts);
        if (event->kind == EVENT_COMMAND_REJECTED)
            count_rejection(before, &event->command_rejected, counts);
    }
}

/* ---- folding ---- */

static const char *fold_decision(struct world *world, struct fold *fold,
                                 const struct decision *decision,
                                 struct ownership_sometimes *sometimes)
{
    int64_t next = fold->checkpoint.next_command_offset;
    if (admission_decision(&fold->checkpoint, decision) != ADMITTED) {
        fold->checkpoint.skipped++;
        return NULL;
    }
    if (decision->command_offset != next)
        return wrong("events@%lld decides command %lld, next was %lld", (long long)decision->offset,
                     (long long)decision->command_offset, (long long)next);
    if (sometimes != NULL)
        count_rarities(fold, find_order(fold, decision->order_id), decision, sometimes->counts);
    if (decision_changes_order(decision)) {
        struct order *order = find_or_add_order(fold, decision->order_id);
        order_apply_decision(order, decision, &world->scratch.arena);
    }
    return NULL;
}

/* A Statement says what was folded, or the owner has lost something. */
static const char *fold_statement(struct world *world, struct fold *fold,
                                  const struct statement *statement, int64_t offset)
{
    struct order *order = find_order(fold, statement->order.details.order_id);
    if (admission_statement(&fold->checkpoint, statement) != ADMITTED) {
        fold->checkpoint.skipped++;
        return NULL;
    }
    if (order == NULL)
        return wrong("events@%lld states an order that is not there", (long long)offset);
    world->bytes.size = 0;
    codec_encode(world->run->codec, RECORD_ORDER_ROW, order, &world->bytes);
    size_t size = world->bytes.size;
    codec_encode(world->run->codec, RECORD_ORDER_ROW, &statement->order, &world->bytes);
    if (world->bytes.size != 2 * size ||
        memcmp(world->bytes.data, world->bytes.data + size, size) != 0)
        return wrong("events@%lld states %.*s as it is not", (long long)offset,
                     TEXT_ARG(order->details.order_id));
    order->stated_offset = offset;
    world->run->sometimes.trees[TREES_SEEN_STATED] += order->state == ORDER_HELD;
    world_count(world, SOMETIMES_STATED);
    return NULL;
}

/* Those that have ended, up to that place. */
static void fold_expiry(struct fold *fold, const struct expiry *expiry,
                        struct ownership_sometimes *sometimes)
{
    if (admission_expiry(&fold->checkpoint, expiry) != ADMITTED) {
        fold->checkpoint.skipped++;
        if (sometimes != NULL)
            sometimes->counts[SOMETIMES_EXPIRY_OF_ZOMBIE]++;
        return;
    }
    for (uint32_t i = fold->order_count; i-- > 0;) {
        struct order *order = &fold->orders[i];
        bool goes = order->ended_at < expiry->ended_at ||
                    (order->ended_at == expiry->ended_at &&
                     text_compare(order->details.order_id, expiry->order_id) <= 0);
        if (!order_ended(order) || !goes)
            continue;
        remove_order(fold, order);
        if (sometimes != NULL)
            sometimes->counts[SOMETIMES_EXPIRED]++;
    }
}

static void fold_continuation(struct world *world, struct fold *fold, const struct record *record,
                              int64_t offset)
{
    if (admission_record(&fold->checkpoint, record, offset) != ADMITTED) {
        fold->checkpoint.skipped++;
        if (record->kind == RECORD_CONTINUATION && record->continuation.trimmed >= 0)
            world_count(world, SOMETIMES_TRIM_OF_ZOMBIE);
    } else if (record->kind == RECORD_CONTINUATION) {
        fold->begins = fold->begins || offset == fold->start;
        fold->announced = fold->announced || record->continuation.trimmed >= fold->start;
    }
}

const char *fold_log(struct world *world, int32_t partition, int64_t end,
                     struct ownership_sometimes *sometimes, struct fold *ret_fold)
{
    const char *failed = NULL;
    *ret_fold = (struct fold){.checkpoint = {.last_command_offset = -1,
                                             .emitted_through = -1,
                                             .guarded_offset = -1,
                                             .previous_claim_decisions = -1}};
    ret_fold->start = trim_start(world, partition);
    garbage_skips(world, partition, &ret_fold->checkpoint);
    heap_arena_reset(&world->scratch);
    for (int64_t offset = 0; offset < end && failed == NULL; offset++) {
        struct record record;
        if (is_foreign(world, "p.events", partition, offset))
            continue;
        failed = read_log(world, "p.events", partition, offset, &record);
        if (failed != NULL)
            break;
        if (record.kind == RECORD_CLAIM) {
            admission_claim(&ret_fold->checkpoint, &record.claim);
            ret_fold->claimed_at = record.claim.claimed_at;
        } else if (record.kind == RECORD_COMMAND_GUARD) {
            admission_guard(&ret_fold->checkpoint, &record.command_guard);
            if (sometimes != NULL)
                sometimes->counts[SOMETIMES_CAREFUL]++;
        } else if (record.kind == RECORD_CONTINUATION || record.kind == RECORD_RESET) {
            fold_continuation(world, ret_fold, &record, offset);
        } else if (record.kind == RECORD_STATEMENT) {
            failed = fold_statement(world, ret_fold, &record.statement, offset);
        } else if (record.kind == RECORD_EXPIRY) {
            fold_expiry(ret_fold, &record.expiry, sometimes);
        } else if (record.kind != RECORD_DECISION) {
            ret_fold->checkpoint.skipped++; /* known, and no record of a log */
        } else {
            record.decision.offset = offset;
            failed = fold_decision(world, ret_fold, &record.decision, sometimes);
        }
    }
    if (sometimes != NULL)
        sometimes->counts[SOMETIMES_RECORD_SKIPPED] += (uint64_t)ret_fold->checkpoint.skipped;
    return failed;
}

/* ---- stores ---- */

struct comparison {
    struct world *world;
    struct fold *fold;
    uint32_t rows;
    const char *failed;
};

static bool compare_row(void *ctx, struct text order_id, struct text row)
{
    struct comparison *comparison = ctx;
    struct world *world = comparison->world;
    struct order *order = find_order(comparison->fold, order_id);
    comparison->rows++;
    if (order == NULL) {
        comparison->failed = wrong("the store has %.*s, the log has not", TEXT_ARG(order_id));
        return false;
    }
    world->bytes.size = 0;
    codec_encode(world->run->codec, RECORD_ORDER_ROW, order, &world->bytes);
    struct text expected = {(const char *)world->bytes.data, (uint32_t)world->bytes.size};
    if (!text_equal(row, expected))
        comparison->failed = wrong("the row of %.*s differs from the fold", TEXT_ARG(order_id));
    return comparison->failed == NULL;
}

/* Not one that was dropped and cannot be opened now, nor one that lacks orders which are stated
 * further on: nothing is read of it. */
static bool is_to_be_compared(struct view *view)
{
    return view_store(view) != NULL && view_committed(view)->complete;
}

static const char *compare_rows(struct world *world, int32_t partition, struct view *view,
                                struct fold *fold)
{
    struct error error;
    int64_t next = view_committed(view)->next_event_offset;
    if (!is_to_be_compared(view))
        return NULL;
    if (view_committed(view)->start > 0)
        world_count(world, SOMETIMES_BEGUN_INSIDE);
    const char *failed = fold_log(world, partition, next, NULL, fold);
    if (failed != NULL)
        return failed;
    struct comparison comparison = {.world = world, .fold = fold};
    if (store_scan_orders(view_store(view), (struct text){0}, compare_row, &comparison, &error) !=
        ERROR_OK)
        return wrong("scanning: %s", error.message);
    if (comparison.failed == NULL && comparison.rows != fold->order_count)
        return wrong("the store has %u orders at %lld, the log %u", comparison.rows,
                     (long long)next, fold->order_count);
    world_count(world, SOMETIMES_COMPARED);
    return comparison.failed;
}

const char *compare_view(struct world *world, int32_t partition, struct view *view)
{
    static struct fold fold;
    return compare_rows(world, partition, view, &fold);
}

static const char *compare_store(struct world *world, int32_t partition, struct instance *instance)
{
    struct ownership *ownership = &instance->partitions[partition];
    static struct fold fold;
    struct view *view = owner_view(ownership->owner);
    if (!is_to_be_compared(view))
        return NULL;
    int64_t next = view_committed(view)->next_event_offset;
    if (next == ownership->compared)
        return NULL;
    ownership->compared = next;
    const char *failed = compare_rows(world, partition, view, &fold);
    if (failed == NULL)
        failed = route_compare(world, instance, view_store(view), &fold);
    return failed;
}

const char *compare_stores(struct world *world)
{
    const char *failed = NULL;
    for (uint32_t i = 0; i < INSTANCES && failed == NULL; i++) {
        struct instance *instance = &world->instances[i];
        failed = route_compare_live(instance);
        for (int32_t p = 0; p < world->partitions && failed == NULL; p++)
            if (instance->process.cluster != NULL && instance->partitions[p].owner != NULL &&
                !tail_excuses(world, i, p, owner_view(instance->partitions[p].owner)))
                failed = compare_store(world, p, instance);
    }
    return failed;
}
