/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/tools_fold.h"

#include "tests/property/ownership_garbage.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SKIPS_MAX = 16 };

/* What operators have the readers leave out. */
struct skips {
    int64_t from[SKIPS_MAX];
    int64_t to[SKIPS_MAX];
    uint32_t count;
};

/* ---- orders ---- */

static struct tools_order *order_of(struct tools_fold *fold, struct text id)
{
    for (uint32_t i = fold->order_count; i-- > 0;)
        if (text_equal(text_of(fold->orders[i].id), id))
            return fold->orders[i].gone_at < 0 ? &fold->orders[i] : NULL;
    return NULL;
}

static void accept(struct tools_fold *fold, struct text id, int64_t offset)
{
    assert(fold->order_count < TOOLS_ORDERS_MAX);
    struct tools_order *order = &fold->orders[fold->order_count++];
    *order = (struct tools_order){.accepted_at = offset,
                                  .known_at = offset >= fold->from ? offset : -1,
                                  .ended_at = -1,
                                  .gone_at = -1};
    snprintf(order->id, sizeof(order->id), "%.*s", TEXT_ARG(id));
}

static bool is_end(enum order_state state)
{
    return state == ORDER_PROCESSED || state == ORDER_COMPENSATED;
}

static bool changes_its_order(const struct decision *decision)
{
    enum event_kind kind = decision->events[0].kind;
    return kind != EVENT_COMMAND_REJECTED && kind != EVENT_REPORT_IGNORED &&
           kind != EVENT_SUBMISSION_REPEATED && kind != EVENT_COMMAND_DEAD_LETTERED;
}

static void decide(struct tools_fold *fold, const struct decision *decision, int64_t offset)
{
    assert(fold->decision_count < TOOLS_DECISIONS_MAX);
    struct tools_decision *kept = &fold->decisions[fold->decision_count++];
    kept->offset = offset;
    snprintf(kept->order_id, sizeof(kept->order_id), "%.*s", TEXT_ARG(decision->order_id));
    if (decision->events[0].kind == EVENT_ORDER_ACCEPTED)
        accept(fold, decision->order_id, offset);
    struct tools_order *order = order_of(fold, decision->order_id);
    if (order == NULL || !changes_its_order(decision))
        return;
    order->state = decision->order_state;
    if (!is_end(order->state) || order->ended_at >= 0)
        return;
    order->ended_at = offset;
    order->ended_ms = decision->decided_at;
}

static void expire(struct tools_fold *fold, const struct expiry *expiry, int64_t offset)
{
    for (uint32_t i = 0; i < fold->order_count; i++) {
        struct tools_order *order = &fold->orders[i];
        bool before = order->ended_ms < expiry->ended_at ||
                      (order->ended_ms == expiry->ended_at &&
                       text_compare(text_of(order->id), expiry->order_id) <= 0);
        if (order->ended_at >= 0 && order->gone_at < 0 && before)
            order->gone_at = offset;
    }
}

/* ---- which records count ---- */

/* It is of the owner, and the next one. */
static bool is_next(struct tools_fold *fold, const struct uuid *claim_id, int64_t sequence)
{
    if (!fold->claimed || !uuid_equal(&fold->claim_id, claim_id) || sequence != fold->sequence)
        return false;
    fold->sequence++;
    return true;
}

static void take_claim(struct tools_fold *fold, const struct claim *claim)
{
    if (fold->claimed && uuid_equal(&fold->claim_id, &claim->claim_id))
        return;
    fold->claimed = true;
    fold->claim_id = claim->claim_id;
    fold->sequence = 0;
    fold->claimed_at = claim->claimed_at;
    fold->newer |= claim->format > STATE_FORMAT;
    snprintf(fold->instance, sizeof(fold->instance), "%.*s", TEXT_ARG(claim->instance));
}

static void take_decision(struct tools_fold *fold, const struct decision *decision, int64_t offset)
{
    if (decision->command_offset < fold->next_command ||
        !is_next(fold, &decision->claim_id, decision->sequence))
        return;
    fold->next_command = decision->command_offset + 1;
    decide(fold, decision, offset);
}

static void take_continuation(struct tools_fold *fold, const struct continuation *continuation,
                              int64_t offset)
{
    if (!is_next(fold, &continuation->claim_id, continuation->sequence) ||
        continuation->trimmed < 0)
        return;
    assert(fold->trim_count < TOOLS_TRIMS_MAX);
    fold->trims[fold->trim_count++] = (struct tools_trim){offset, continuation->trimmed};
}

static const char *take_statement(struct tools_fold *fold, const struct statement *statement,
                                  int64_t offset)
{
    struct tools_order *order = order_of(fold, statement->order.details.order_id);
    if (!is_next(fold, &statement->claim_id, statement->sequence))
        return NULL;
    if (order == NULL || order->state != statement->order.state)
        return wrong("events@%lld states %.*s as it is not", (long long)offset,
                     TEXT_ARG(statement->order.details.order_id));
    if (order->known_at < 0 && offset >= fold->from)
        order->known_at = offset;
    return NULL;
}

static void take_reset(struct tools_fold *fold, const struct partition_reset *reset, int64_t offset)
{
    if (reset->expected_offset != offset)
        return;
    fold->claimed = false;
    if (reset->next_command_offset >= 0)
        fold->next_command = reset->next_command_offset;
}

static const char *take(struct tools_fold *fold, const struct record *record, int64_t offset)
{
    switch ((int)record->kind) {
    case RECORD_CLAIM:
        take_claim(fold, &record->claim);
        break;
    case RECORD_DECISION:
        take_decision(fold, &record->decision, offset);
        break;
    case RECORD_CONTINUATION:
        take_continuation(fold, &record->continuation, offset);
        break;
    case RECORD_STATEMENT:
        return take_statement(fold, &record->statement, offset);
    case RECORD_EXPIRY:
        if (is_next(fold, &record->expiry.claim_id, record->expiry.sequence))
            expire(fold, &record->expiry, offset);
        break;
    case RECORD_RESET:
        take_reset(fold, &record->reset, offset);
        break;
    default: /* not of a log, or nothing that tools show */
        break;
    }
    return NULL;
}

/* ---- the log ---- */

/* False: it is not ours, or no reader can take it. */
static bool read(struct world *world, int32_t partition, int64_t offset, struct record *ret_record)
{
    bool counted = garbage_counted_at(world, partition, offset);
    heap_arena_reset(&world->scratch);
    return (counted || !is_foreign(world, "p.events", partition, offset)) &&
           read_log(world, "p.events", partition, offset, ret_record) == NULL;
}

static void find_skips(struct world *world, int32_t partition, int64_t end, struct skips *ret_skips)
{
    *ret_skips = (struct skips){0};
    for (int64_t offset = 0; offset < end; offset++) {
        struct record record;
        if (!read(world, partition, offset, &record) || record.kind != RECORD_RESET ||
            record.reset.expected_offset != offset || !record.reset.has_skip)
            continue;
        assert(ret_skips->count < SKIPS_MAX);
        ret_skips->from[ret_skips->count] = record.reset.skip.from;
        ret_skips->to[ret_skips->count++] = record.reset.skip.to;
    }
}

static bool is_skipped(const struct skips *skips, int64_t offset)
{
    bool skipped = false;
    for (uint32_t i = 0; i < skips->count; i++)
        skipped = skipped || (offset >= skips->from[i] && offset < skips->to[i]);
    return skipped;
}

const char *tools_fold(struct world *world, int32_t partition, int64_t from, int64_t end,
                       struct tools_fold *ret_fold)
{
    struct skips skips;
    const char *failed = NULL;
    find_skips(world, partition, end, &skips);
    memset(ret_fold, 0, sizeof(*ret_fold));
    ret_fold->from = from;
    ret_fold->stopped_at = -1;
    for (int64_t offset = 0; offset < end && failed == NULL; offset++) {
        struct record record;
        if (is_skipped(&skips, offset))
            continue;
        if (garbage_is_at(world, partition, offset) &&
            !garbage_counted_at(world, partition, offset)) {
            ret_fold->stopped_at = offset;
            break;
        }
        if (read(world, partition, offset, &record))
            failed = take(ret_fold, &record, offset);
    }
    return failed;
}

int64_t tools_fold_beginning(const struct tools_fold *fold, int64_t low)
{
    for (uint32_t i = 0; i < fold->trim_count && low > 0; i++)
        if (fold->trims[i].start >= low)
            return fold->trims[i].start;
    return low > 0 ? -1 : 0;
}

bool tools_fold_may_begin(const struct tools_fold *fold, int64_t start)
{
    bool may = start == 0;
    for (uint32_t i = 0; i < fold->trim_count && !may; i++)
        may = fold->trims[i].start == start;
    return may;
}

uint64_t tools_fold_decisions(const struct tools_fold *fold)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < fold->decision_count; i++)
        count += fold->decisions[i].offset >= fold->from;
    return count;
}

const struct tools_order *tools_fold_order(const struct tools_fold *fold, const char *id)
{
    for (uint32_t i = fold->order_count; i-- > 0;)
        if (strcmp(fold->orders[i].id, id) == 0)
            return fold->orders[i].gone_at < 0 ? &fold->orders[i] : NULL;
    return NULL;
}
