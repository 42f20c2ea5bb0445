/* SPDX-License-Identifier: Apache-2.0 */
/* A step of sub-orders while it runs: which of them are recalled, which are submitted, and how the
 * step ends. docs/design/decisions/0018-suborders.md has the protocol; suborders_parent.pml of
 * tests/model checks it.
 *
 * Before the pivot, more failures than are tolerated, the step's time and the order's compensation
 * recall them all: the step ends as a whole, or undone. From the pivot on nothing is recalled: no
 * further one starts, and the step fails once those that run have ended. */
#include "engine/decide.h"

#include "base/json.h"
#include "engine/message.h"
#include "engine/output.h"

#include <assert.h>

/* ---- asking ---- */

#define HOUR_MS (INT64_C(3600) * 1000)

int64_t decide_next_ask(const struct decide_ctx *ctx, int64_t since)
{
    int64_t wait = ctx->input->now - since;
    if (wait < HOUR_MS)
        wait = HOUR_MS;
    if (wait > 24 * HOUR_MS)
        wait = 24 * HOUR_MS;
    return ctx->input->now + wait;
}

/* Before a recall, at most until the step's time is over. */
static int64_t next_ask_since(const struct decide_ctx *ctx, uint32_t index, int64_t since)
{
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    int64_t at = decide_next_ask(ctx, since);
    int64_t limit = suborders->times_out_at;
    bool limited = !suborders->recalled && limit > ctx->input->now && limit < at;
    return limited ? limit : at;
}

int64_t decide_next_step_ask(const struct decide_ctx *ctx, uint32_t index)
{
    return next_ask_since(ctx, index, ctx->order->steps[index].suborders->asked_since);
}

/* ---- what holds ---- */

bool decide_is_undone(const struct order *order)
{
    enum order_state phase = order->state == ORDER_ERROR ? order->error_from : order->state;
    return phase == ORDER_COMPENSATING;
}

bool decide_may_recall(const struct decide_ctx *ctx, uint32_t index)
{
    const struct workflow *workflow = ctx->workflow;
    if (workflow->pivot < 0)
        return true;
    uint64_t kept = workflow_behind_pivot(workflow) | UINT64_C(1) << workflow->pivot;
    return (kept >> index & 1) == 0;
}

static bool too_many_failed(const struct decide_ctx *ctx, uint32_t index, uint32_t failed)
{
    return failed > decide_plan_of(ctx, index)->suborders.tolerated_failures;
}

/* A Decision asks several times, and a list may have a thousand items. */
static uint32_t count(struct decide_ctx *ctx, const struct suborders *suborders,
                      enum item_state state)
{
    if (ctx->counted != suborders) {
        memset(ctx->counts, 0, sizeof(ctx->counts));
        for (uint32_t i = 0; i < suborders->item_count; i++)
            ctx->counts[suborders->items[i].state]++;
        ctx->counted = suborders;
    }
    return ctx->counts[state];
}

static uint32_t count_unanswered(struct decide_ctx *ctx, const struct suborders *suborders)
{
    return count(ctx, suborders, ITEM_SUBMITTED) +
           (suborders->recalled ? count(ctx, suborders, ITEM_HELD) : 0);
}

/* Whether items that are to do may still start, now or once the order goes on. */
static bool may_start_more(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    const struct suborders *suborders = step->suborders;
    return step->direction == DIRECTION_DO && !decide_is_undone(ctx->order) &&
           !suborders->recalled && !suborders->stopped && !suborders->failed &&
           ctx->input->now < suborders->times_out_at &&
           !too_many_failed(ctx, index, count(ctx, suborders, ITEM_FAILED));
}

/* ---- recalling ---- */

void decide_recall(struct decide_ctx *ctx, uint32_t index, enum direction direction,
                   struct text error_name, struct text reason)
{
    const struct step *step = &ctx->order->steps[index];
    bool same = step->direction == direction;
    bool undo = direction == DIRECTION_UNDO;
    uint32_t attempt = (same ? step->attempt : 0) + (undo ? 1 : 0);
    assert(step->suborders != NULL && (undo || step->state == STEP_PROCESSING));
    decide_emit(ctx, &(struct event){.kind = EVENT_SUBORDERS_RECALLED,
                                     .suborders_recalled = {
                                         .ref = {step->name, direction, attempt},
                                         .generation = step->generation[DIRECTION_DO],
                                         .complete_by = decide_next_ask(ctx, ctx->input->now),
                                         .error_name = error_name,
                                         .reason = reason}});
    assert(step->state == STEP_PROCESSING && step->suborders->recalled);
}

/* Its time is over, and not all of its items have begun. */
static bool is_late(struct decide_ctx *ctx, uint32_t index)
{
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    return !suborders->recalled && !suborders->stopped &&
           ctx->input->now >= suborders->times_out_at && count(ctx, suborders, ITEM_TO_DO) > 0;
}

/* Why the sub-orders are to be undone; false: they are not. */
static bool find_fault(struct decide_ctx *ctx, uint32_t index, struct decide_fault *ret_fault)
{
    const struct order *order = ctx->order;
    const struct suborders *suborders = order->steps[index].suborders;
    *ret_fault = (struct decide_fault){suborders->error_name, suborders->error_message};
    if (suborders->failed || too_many_failed(ctx, index, count(ctx, suborders, ITEM_FAILED)))
        return true;
    if (decide_is_undone(order))
        *ret_fault = (struct decide_fault){order->reason_code, order->reason};
    else if (is_late(ctx, index))
        *ret_fault = (struct decide_fault){TEXT(ERROR_TIMEOUT),
                                           TEXT("not all of its sub-orders began in time")};
    else
        return false;
    return true;
}

static void recall_if_needed(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    const struct suborders *suborders = step->suborders;
    struct decide_fault fault;
    uint32_t there = count(ctx, suborders, ITEM_SUBMITTED) + count(ctx, suborders, ITEM_HELD);
    if (step->direction == DIRECTION_UNDO || suborders->recalled || there == 0 ||
        !decide_may_recall(ctx, index) || !find_fault(ctx, index, &fault))
        return;
    decide_recall(ctx, index, DIRECTION_DO, fault.error_name, fault.message);
}

/* ---- submitting ---- */

struct batch {
    struct submitted_item *items;
    uint32_t count;
    uint32_t unanswered;
    uint32_t failed;
    uint64_t input_bytes; /* that the order would have more */
    bool more;            /* of those that may go, the next Decision submits */
};

/* What the item takes of the Decision. */
static uint64_t bytes_of(const struct submitted_item *item)
{
    return (uint64_t)item->input.size + item->error_name.size + item->error_message.size +
           ITEM_BYTES_MAX;
}

/* False where the item has to wait. */
static bool make_item(struct decide_ctx *ctx, uint32_t index, uint32_t number, struct text value,
                      struct batch *batch)
{
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    struct submitted_item item = {.item = text_empty(suborders->list) ? -1 : (int64_t)number};
    struct decide_fault fault = {0};
    bool mapped = decide_plan_of(ctx, index)->input != NULL;
    if (mapped && !decide_has_units(ctx)) {
        batch->more = true;
        return false;
    }
    if (mapped && !decide_make_item_input(ctx, index, value, number, &item.input, &fault)) {
        item.error_name = fault.error_name;
        item.error_message = fault.message;
    }
    uint64_t bytes = bytes_of(&item);
    if (!order_takes_item_input(ctx->order, batch->input_bytes, item.input))
        return false; /* until one that has an input ends */
    if (ctx->item_bytes + bytes > ORDER_ITEM_INPUTS_BYTES_MAX) {
        batch->more = true;
        return false;
    }
    bool failed = !text_empty(item.error_name);
    ctx->item_bytes += bytes;
    batch->input_bytes += text_empty(item.input) ? 0 : item.input.size + ITEM_BYTES_MAX;
    batch->failed += failed;
    batch->unanswered += !failed;
    batch->items[batch->count++] = item;
    return true;
}

static void list_items(struct decide_ctx *ctx, uint32_t index, struct batch *batch)
{
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    uint32_t together = decide_plan_of(ctx, index)->suborders.max_concurrency;
    bool listed = !text_empty(suborders->list);
    struct json_items values;
    json_items_begin(&values, json_value_of(listed ? suborders->list : TEXT("[null]")));
    for (uint32_t i = 0; i < suborders->item_count; i++) {
        struct text value = {0};
        if (json_items_next(&values, NULL))
            value = json_value_text(values.value, NULL);
        if (suborders->items[i].state != ITEM_TO_DO)
            continue;
        if ((together > 0 && batch->unanswered >= together) ||
            too_many_failed(ctx, index, batch->failed) ||
            !make_item(ctx, index, i, listed ? value : (struct text){0}, batch))
            return;
    }
}

/* What may go goes. */
static void submit(struct decide_ctx *ctx, uint32_t index)
{
    const struct order *order = ctx->order;
    const struct step *step = &order->steps[index];
    const struct suborders *suborders = step->suborders;
    uint32_t to_do = count(ctx, suborders, ITEM_TO_DO);
    int64_t now = ctx->input->now;
    if (to_do == 0 || order->state != ORDER_PROCESSING || order->paused_at != 0 ||
        !may_start_more(ctx, index))
        return;
    struct batch batch = {.items = ARENA_ARRAY(ctx->arena, struct submitted_item, to_do),
                          .unanswered = count_unanswered(ctx, suborders),
                          .failed = count(ctx, suborders, ITEM_FAILED)};
    list_items(ctx, index, &batch);
    if (batch.count == 0 && (!batch.more || step->complete_by == now))
        return;
    decide_emit(
        ctx, &(struct event){.kind = EVENT_SUBORDERS_SUBMITTED,
                             .suborders_submitted = {
                                 .ref = step_attempt_ref(step),
                                 .generation = step->generation[DIRECTION_DO],
                                 .complete_by = batch.more ? now : next_ask_since(ctx, index, now),
                                 .items = batch.items,
                                 .item_count = batch.count}});
}

/* ---- the end ---- */

/* {"failed":1,"items":[{"id":7},null],"processed":1} */
static struct text list_output(struct decide_ctx *ctx, const struct suborders *suborders)
{
    struct json_writer writer;
    struct text json = {0};
    uint32_t failed = count(ctx, suborders, ITEM_FAILED);
    uint32_t to_do = count(ctx, suborders, ITEM_TO_DO);
    json_writer_init(&writer, 2 * ORDER_OUTPUTS_BYTES_MAX, ctx->arena);
    json_write_map(&writer);
    json_write_name(&writer, TEXT("failed"));
    json_write_integer(&writer, failed);
    json_write_name(&writer, TEXT("items"));
    json_write_list(&writer);
    for (uint32_t i = 0; i < suborders->item_count; i++) {
        if (text_empty(suborders->items[i].output))
            json_write_null(&writer);
        else
            json_write_canonical(&writer, suborders->items[i].output);
    }
    json_write_close(&writer);
    json_write_name(&writer, TEXT("processed"));
    json_write_integer(&writer, suborders->item_count - failed - to_do);
    json_write_close(&writer);
    bool done = json_writer_done(&writer, &json);
    /* Data nested too deep: what it would have been is not known. */
    return done ? json : output_truncated(0, ctx->arena);
}

static struct text output_of(struct decide_ctx *ctx, uint32_t index)
{
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    if (text_empty(suborders->list))
        return suborders->items[0].output;
    struct text output = list_output(ctx, suborders);
    if (output.size <= FOR_EACH_OUTPUT_BYTES_MAX && order_takes_output(ctx->order, index, output))
        return output;
    return output_truncated(output.size, ctx->arena);
}

static void succeed(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    bool undo = step->direction == DIRECTION_UNDO;
    struct attempt_ref ref = step_attempt_ref(step);
    struct text output = undo ? (struct text){0} : output_of(ctx, index);
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_SUCCEEDED,
                                     .step_succeeded = {.ref = ref, .output = output}});
    if (undo)
        decide_emit(ctx,
                    &(struct event){.kind = EVENT_STEP_COMPENSATED, .step_marked = {.ref = ref}});
    assert(step->state == (undo ? STEP_COMPENSATED : STEP_PROCESSED));
}

static void fail(struct decide_ctx *ctx, uint32_t index, const struct decide_fault *fault,
                 enum effect effect)
{
    const struct step *step = &ctx->order->steps[index];
    assert(!text_empty(fault->error_name));
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_FAILED,
                                     .step_failed = {.ref = step_attempt_ref(step),
                                                     .error_name = fault->error_name,
                                                     .error_message = fault->message,
                                                     .effect = effect,
                                                     .failure_count = step->failure_count + 1}});
    assert(step->state == STEP_PENDING);
}

static struct decide_fault undo_fault(void)
{
    return (struct decide_fault){TEXT(ERROR_UNDO_FAILED),
                                 TEXT("what a sub-order did was not undone, and remains: undo it, "
                                      "then `reeve step complete`")};
}

void decide_fail_undo(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    struct decide_fault fault = undo_fault();
    decide_emit(ctx,
                &(struct event){.kind = EVENT_STEP_FAILED_UNSTARTED,
                                .step_failed_unstarted = {.ref = step_attempt_ref(step),
                                                          .error_name = fault.error_name,
                                                          .failure_count = step->failure_count + 1,
                                                          .reason = fault.message}});
    decide_stop(ctx, index, fault.error_name);
}

/* What an item did remains, although it was to be undone: whatever a Catch says. In an order that
 * is undone, the step's own undo reports it, and fails. */
static void fail_undo(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    struct decide_fault fault = undo_fault();
    bool undo = step->direction == DIRECTION_UNDO;
    fail(ctx, index, &fault, undo ? EFFECT_UNKNOWN : EFFECT_APPLIED);
    if (undo || decide_is_undone(ctx->order))
        decide_give_up(ctx, index, fault.error_name);
    else
        decide_stop(ctx, index, fault.error_name);
}

/* Why the step has failed; false: it is done. */
static bool has_failed(struct decide_ctx *ctx, uint32_t index, struct decide_fault *ret_fault)
{
    bool failed = find_fault(ctx, index, ret_fault);
    if (text_empty(ret_fault->error_name))
        ret_fault->error_name = TEXT(ERROR_TASK_FAILED);
    return failed || ctx->order->steps[index].suborders->recalled;
}

/* All have answered, and none may start any more. */
static void end_step(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    const struct suborders *suborders = step->suborders;
    struct decide_fault fault;
    bool undo = step->direction == DIRECTION_UNDO;
    if (suborders->undo_failed && suborders->recalled) {
        fail_undo(ctx, index);
        return;
    }
    if (undo || !has_failed(ctx, index, &fault)) {
        succeed(ctx, index);
        return;
    }
    bool remains = count(ctx, suborders, ITEM_HELD) > 0 || count(ctx, suborders, ITEM_FINAL) > 0;
    fail(ctx, index, &fault,
         remains && !decide_may_recall(ctx, index) ? EFFECT_APPLIED : EFFECT_NONE);
    decide_give_up(ctx, index, fault.error_name);
}

void decide_go_on_suborders(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    if (step->state != STEP_PROCESSING || step->suborders == NULL)
        return;
    recall_if_needed(ctx, index);
    submit(ctx, index);
    recall_if_needed(ctx, index);
    bool waits = may_start_more(ctx, index) && count(ctx, step->suborders, ITEM_TO_DO) > 0;
    if (count_unanswered(ctx, step->suborders) == 0 && !waits)
        end_step(ctx, index);
}
