/* SPDX-License-Identifier: Apache-2.0 */
/* ReportSuborder: what a sub-order tells its parent; and FailStep of one item. The table of
 * decision 0018, by the state of the item. A sub-order that is held always gets an answer, unless
 * the parent has it down as held. */
#include "engine/decide.h"

#include "engine/message.h"
#include "engine/output.h"

#include <assert.h>

/* ---- ignoring ---- */

static const struct order_parent *parent_of(struct decide_ctx *ctx)
{
    const struct report_suborder *report = &ctx->cmd->report_suborder;
    struct order_parent *parent = ARENA_NEW(ctx->arena, struct order_parent);
    *parent = (struct order_parent){.order_id = ctx->cmd->order_id,
                                    .accepted_offset = report->accepted_offset,
                                    .step = report->step,
                                    .item = report->item,
                                    .generation = report->generation};
    return parent;
}

/* `settle` is what a sub-order that is held gets. */
static void ignore(struct decide_ctx *ctx, enum error_code code, enum settle settle,
                   const char *reason)
{
    const struct report_suborder *report = &ctx->cmd->report_suborder;
    bool held = report->outcome == SUBORDER_HELD;
    assert(ctx->decision->event_count == 0);
    decide_emit(ctx, &(struct event){
                         .kind = EVENT_REPORT_IGNORED,
                         .report_ignored = {.ref = {.step = report->step},
                                            .succeeded = held || report->outcome == SUBORDER_FINAL,
                                            .code = error_code_text(code),
                                            .reason = text_of(reason),
                                            .parent = parent_of(ctx),
                                            .settle = held ? settle : SETTLE_NONE}});
}

static void reject_unknown_parent(struct decide_ctx *ctx)
{
    bool held = ctx->cmd->report_suborder.outcome == SUBORDER_HELD;
    decide_reject_of_parent(
        ctx, CODE_UNKNOWN_ORDER, held ? parent_of(ctx) : NULL, held ? SETTLE_UNKNOWN : SETTLE_NONE,
        ctx->exists ? "another order has the id %.*s" : "there is no order %.*s",
        TEXT_ARG(ctx->cmd->order_id));
}

/* ---- an item has ended ---- */

/* The item's index, or -1. */
static int64_t find_item(const struct suborders *suborders, int64_t item)
{
    if (suborders == NULL)
        return -1;
    if (text_empty(suborders->list))
        return item == -1 ? 0 : -1;
    return item >= 0 && item < suborders->item_count ? item : -1;
}

/* What an item put out counts with the outputs of the order. */
static struct text kept_output(struct decide_ctx *ctx, struct text output)
{
    if (output.size > STEP_OUTPUT_BYTES_MAX)
        output = output_truncated(output.size, ctx->arena);
    if (order_takes_item_output(ctx->order, output))
        return output;
    struct text marker = output_truncated(output.size, ctx->arena);
    return order_takes_item_output(ctx->order, marker) ? marker : (struct text){0};
}

/* StopWhen, of an item that is done. What it cannot be evaluated of ends the step. */
static void test_stop(struct decide_ctx *ctx, uint32_t index, struct suborder_ended *ended)
{
    const struct step *step = &ctx->order->steps[index];
    struct decide_fault fault;
    bool done = ended->outcome == SUBORDER_HELD || ended->outcome == SUBORDER_FINAL;
    if (!done || decide_plan_of(ctx, index)->suborders.stop_when == NULL ||
        step->state != STEP_PROCESSING || step->direction == DIRECTION_UNDO ||
        step->suborders->recalled || step->suborders->stopped)
        return;
    if (decide_test_stop_when(ctx, index, ended->output, &ended->stop, &fault))
        return;
    ended->stop = true;
    ended->error_name = fault.error_name;
    ended->error_message = fault.message;
}

/* At the pivot nothing is recalled: the failure that is one too many stops the step. */
static bool stops_by_failure(const struct decide_ctx *ctx, uint32_t index,
                             const struct suborder_ended *ended)
{
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    bool failed = ended->outcome == SUBORDER_FAILED || ended->outcome == SUBORDER_REFUSED;
    uint32_t tolerated = decide_plan_of(ctx, index)->suborders.tolerated_failures;
    return failed && suborders_count(suborders, ITEM_FAILED) >= tolerated &&
           !decide_may_recall(ctx, index);
}

static void end_item(struct decide_ctx *ctx, uint32_t index, struct suborder_ended *ended)
{
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    int64_t item = find_item(suborders, ended->item);
    ended->step = ctx->order->steps[index].name;
    ended->generation = suborders->items[item].generation;
    test_stop(ctx, index, ended);
    ended->stop |= stops_by_failure(ctx, index, ended);
    decide_emit(ctx, &(struct event){.kind = EVENT_SUBORDER_ENDED, .suborder_ended = *ended});
    decide_go_on_suborders(ctx, index);
    decide_advance(ctx);
}

static void end_reported(struct decide_ctx *ctx, uint32_t index, bool undo_failed)
{
    const struct report_suborder *report = &ctx->cmd->report_suborder;
    struct suborder_ended ended = {
        .item = report->item, .outcome = report->outcome, .undo_failed = undo_failed};
    bool done = report->outcome == SUBORDER_HELD || report->outcome == SUBORDER_FINAL;
    const struct suborders *suborders = ctx->order->steps[index].suborders;
    const struct suborder_item *item = &suborders->items[find_item(suborders, report->item)];
    if (done) {
        bool known = item->state == ITEM_HELD; /* it has put out the same */
        ended.output = known ? item->output : kept_output(ctx, report->output);
    } else {
        bool named = !text_empty(report->error_name);
        ended.error_name = named ? report->error_name : TEXT(ERROR_TASK_FAILED);
        ended.error_message = report->error_message;
    }
    end_item(ctx, index, &ended);
}

/* ---- the table ---- */

/* Its undo found no order: it was not submitted, or it has expired. */
static bool finds_none(const struct report_suborder *report)
{
    return report->outcome == SUBORDER_REFUSED &&
           text_equal(report->error_name, error_code_text(CODE_UNKNOWN_ORDER));
}

static void take_of_held(struct decide_ctx *ctx, uint32_t index)
{
    const struct report_suborder *report = &ctx->cmd->report_suborder;
    if (report->outcome == SUBORDER_HELD)
        ignore(ctx, CODE_ALREADY_ENDED, SETTLE_NONE, "the item is held already");
    else if (report->outcome == SUBORDER_REFUSED && !finds_none(report))
        ignore(ctx, CODE_ALREADY_ENDED, SETTLE_NONE, "the item was accepted");
    else
        end_reported(ctx, index, report->outcome != SUBORDER_FAILED);
}

static void take(struct decide_ctx *ctx, uint32_t index, enum item_state state)
{
    const struct report_suborder *report = &ctx->cmd->report_suborder;
    switch (state) {
    case ITEM_TO_DO: /* in a later generation, perhaps: what an earlier one did is undone */
        ignore(ctx, CODE_SUPERSEDED, SETTLE_UNDO, "the item is to be done again, or not at all");
        return;
    case ITEM_SUBMITTED:
        if (finds_none(report)) /* the next ask sends its submission first */
            ignore(ctx, CODE_UNKNOWN_ORDER, SETTLE_NONE, "the item's submission was not there yet");
        else
            end_reported(ctx, index, false);
        return;
    case ITEM_HELD:
        take_of_held(ctx, index);
        return;
    case ITEM_FINAL:
        ignore(ctx, CODE_ALREADY_ENDED, SETTLE_NONE, "the item is done already");
        return;
    case ITEM_FAILED:
        ignore(ctx, CODE_ALREADY_ENDED, SETTLE_UNDO, "the item has failed");
        return;
    case ITEM_STATE_COUNT:
        break;
    }
    assert(false && "a state of an item");
}

/* The order has ended, and keeps what it was held for. */
static enum settle settle_of_ended(const struct decide_ctx *ctx)
{
    const struct report_suborder *report = &ctx->cmd->report_suborder;
    int place = order_find_step(ctx->order, report->step);
    const struct suborders *suborders = place >= 0 ? ctx->order->steps[place].suborders : NULL;
    int64_t item = find_item(suborders, report->item);
    bool kept = ctx->order->state == ORDER_PROCESSED && item >= 0 &&
                suborders->items[item].state == ITEM_HELD &&
                suborders->items[item].generation == report->generation;
    return kept ? SETTLE_KEEP : SETTLE_UNDO;
}

void decide_report_suborder(struct decide_ctx *ctx)
{
    const struct report_suborder *report = &ctx->cmd->report_suborder;
    if (!ctx->exists || ctx->order->accepted_offset != report->accepted_offset) {
        reject_unknown_parent(ctx);
        return;
    }
    if (order_ended(ctx->order)) {
        ignore(ctx, CODE_ALREADY_ENDED, settle_of_ended(ctx), "the order has ended");
        return;
    }
    if (!decide_require_order(ctx))
        return;
    int place = order_find_step(ctx->order, report->step);
    const struct suborders *suborders = place >= 0 ? ctx->order->steps[place].suborders : NULL;
    int64_t item = find_item(suborders, report->item);
    if (item < 0)
        ignore(ctx, CODE_UNKNOWN_STEP, SETTLE_UNDO, "the order has no such step or item");
    else if (suborders->items[item].generation != report->generation)
        ignore(ctx, CODE_SUPERSEDED, SETTLE_UNDO, "the item is of another generation");
    else
        take(ctx, (uint32_t)place, suborders->items[item].state);
}

enum error_class command_check_report_suborder(const struct command *cmd, struct error *ret_error)
{
    const struct report_suborder *report = &cmd->report_suborder;
    if (report->item >= -1 && report->item < SUBORDERS_MAX && report->accepted_offset >= 0)
        return ERROR_OK;
    return error_set(ret_error, CODE_INVALID_COMMAND,
                     "item must be -1 to %d, and accepted_offset not negative", SUBORDERS_MAX - 1);
}

/* ---- by hand ---- */

/* The item that the operator names has not answered; -1 after it rejected. */
static int64_t require_item(struct decide_ctx *ctx, const struct suborders *suborders)
{
    const struct fail_step *cmd = &ctx->cmd->fail_step;
    bool listed = suborders != NULL && !text_empty(suborders->list);
    int64_t item = find_item(suborders, listed || cmd->item != 0 ? cmd->item : -1);
    if (item >= 0 && suborder_is_unanswered(suborders, (uint32_t)item))
        return item;
    decide_reject(ctx, CODE_UNKNOWN_ITEM, "step %.*s has no item %lld that has yet to answer",
                  TEXT_ARG(cmd->step), (long long)cmd->item);
    return -1;
}

/* A sub-order that never answers: if it does later, it is undone then. */
void decide_fail_item(struct decide_ctx *ctx)
{
    const struct fail_step *cmd = &ctx->cmd->fail_step;
    if (!decide_require_order(ctx))
        return;
    if (order_ended(ctx->order)) {
        decide_reject(ctx, CODE_ALREADY_ENDED, "the order is %s",
                      order_state_name(ctx->order->state));
        return;
    }
    int place = decide_find_step(ctx, cmd->step);
    if (place < 0)
        return;
    const struct suborders *suborders = ctx->order->steps[place].suborders;
    if (require_item(ctx, suborders) < 0)
        return;
    struct text error_name =
        text_empty(cmd->error_name) ? TEXT(ERROR_TASK_FAILED) : cmd->error_name;
    struct suborder_ended ended = {.item = text_empty(suborders->list) ? -1 : cmd->item,
                                   .outcome = SUBORDER_REFUSED,
                                   .error_name = error_name,
                                   .error_message = cmd->reason,
                                   .by = text_empty(cmd->by) ? TEXT("unknown") : cmd->by};
    end_item(ctx, (uint32_t)place, &ended);
}
