/* SPDX-License-Identifier: Apache-2.0 */
/* Restates in the log, so that it need not go back to its beginning, the bookkeeping of the
 * partition (a Continuation), and orders in full (Statements). Both take a sequence number of
 * the claim, as Decisions do, and no command. */
#include "platform/failpoint.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>

enum {
    STATEMENTS_MAX = 64, /* on their way at a time */
    STATEMENT_BYTES = 256 * 1024,
    ROWS_PER_TURN = 256 /* of the store: less than a millisecond */
};

/* ---- the bookkeeping ---- */

static void on_continued(struct owner *owner, int64_t offset)
{
    FAILPOINT("continuation.acknowledged");
    metrics_add(owner->metrics->continuations, 1);
    view_continuation_appended(
        owner_view(owner),
        (struct continuation_place){offset, broker_appended_at(owner->cluster->broker)});
    owner_trim_continued(owner);
    if (owner_store_acknowledged(owner))
        owner_step_soon(owner);
}

static const struct owner_record continuation_record = {
    .kind = RECORD_CONTINUATION, .name = "a Continuation", .acknowledged = on_continued};

bool owner_continue(struct owner *owner, int64_t trimmed)
{
    struct view *view = owner_view(owner);
    int64_t offset = view_checkpoint(view)->next_event_offset;
    struct continuation continuation;
    struct text value;
    assert(owner->state == OWNER_RUNNING && owner_has_appended(owner));
    assert(trimmed < offset);
    admission_state(view_checkpoint(view), &continuation);
    continuation.written_at = clock_wall_ms(owner->cluster->service->clock);
    continuation.trimmed = trimmed;
    continuation.instance = text_of(owner->cluster->service->instance_id);
    continuation.claimed_at = owner->claimed_at;
    if (!owner_append(owner, &continuation_record, &continuation, continuation.instance, &value))
        return false;
    owner->trim.announced = trimmed;
    view_continued(view, &continuation, value, offset);
    assert(view_checkpoint(view)->next_event_offset == offset + 1);
    return true;
}

/* ---- orders ---- */

struct old_orders {
    uint32_t count;
    uint32_t count_max;
    struct view_order_id ids[STATEMENTS_MAX];
};

static bool take_id(void *ctx, struct text order_id)
{
    struct old_orders *old = ctx;
    struct view_order_id *id = &old->ids[old->count++];
    assert(order_id.size <= sizeof(id->data));
    memcpy(id->data, order_id.data, order_id.size);
    id->size = order_id.size;
    return old->count < old->count_max;
}

static void on_stated(struct owner *owner, int64_t offset)
{
    (void)offset;
    FAILPOINT("statement.acknowledged");
    owner_trim_stated(owner);
    if (owner_store_acknowledged(owner))
        owner_step_soon(owner);
}

static const struct owner_record statement_record = {
    .kind = RECORD_STATEMENT, .name = "Statements", .many = true, .acknowledged = on_stated};

/* False: the producer's queue is full, or (then the claim is given up) the store fails. */
static bool state_order(struct owner *owner, struct text order_id, size_t *bytes)
{
    struct error error;
    struct view *view = owner_view(owner);
    const struct order *order = NULL;
    const struct checkpoint *checkpoint = view_checkpoint(view);
    int64_t offset = checkpoint->next_event_offset;
    struct text value;
    if (view_order(view, order_id, &order, &error) != ERROR_OK) {
        owner_failed_store(owner, &error);
        return false;
    }
    assert(order != NULL && order->stated_offset < owner->trim.to);
    struct statement statement = {.claim_id = owner->claim_id,
                                  .sequence = checkpoint->next_sequence,
                                  .format = STATE_FORMAT,
                                  .order = *order};
    if (!owner_append(owner, &statement_record, &statement, order_id, &value))
        return false;
    view_stated(view, &statement, value, offset);
    owner->trim.stated++;
    *bytes += value.size;
    return true;
}

bool owner_restate(struct owner *owner, uint32_t count_max, bool *ret_done)
{
    struct old_orders old = {.count_max = count_max < STATEMENTS_MAX ? count_max : STATEMENTS_MAX};
    struct owner_trim *trim = &owner->trim;
    struct view_order_id last;
    struct error error;
    size_t bytes = 0;
    uint32_t stated = 0;
    assert(owner->state == OWNER_RUNNING && owner_has_appended(owner));
    *ret_done = false;
    if (view_scan_stated_before(owner_view(owner), trim->to,
                                (struct text){trim->after.data, trim->after.size}, ROWS_PER_TURN,
                                take_id, &old, &last, &error) != ERROR_OK) {
        owner_failed_store(owner, &error);
        return true;
    }
    while (stated < old.count && bytes < STATEMENT_BYTES &&
           state_order(owner, (struct text){old.ids[stated].data, old.ids[stated].size}, &bytes))
        stated++;
    if (!owner_is_running(owner))
        return true;
    if (stated == old.count) {
        *ret_done = last.size == 0;
        trim->after = last;
    } else if (stated > 0) {
        trim->after = old.ids[stated - 1];
    }
    return stated > 0;
}
