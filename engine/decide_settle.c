/* SPDX-License-Identifier: Apache-2.0 */
/* SettleSuborder: a parent has its sub-order keep what it did, or undo it, or does not know it; or
 * an operator decides in place of a parent that is unknown. The table of decision 0018, by the
 * state of the sub-order. */
#include "engine/decide.h"
#include "engine/message.h"

#include <assert.h>

static void reject_state(struct decide_ctx *ctx, enum error_code code)
{
    decide_reject(ctx, code, "the order is %s", order_state_name(ctx->order->state));
}

/* False after it rejected. */
static bool may_settle(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    const struct order_parent *parent = ctx->cmd->settle_suborder.parent;
    if (order->details.parent == NULL) {
        decide_reject(ctx, CODE_NOT_ITS_PARENT, "the order is not a sub-order");
        return false;
    }
    if (parent != NULL && !order_parent_equal(parent, order->details.parent)) {
        decide_reject(ctx, CODE_NOT_ITS_PARENT, "the order is a sub-order of %.*s",
                      TEXT_ARG(order->details.parent->order_id));
        return false;
    }
    if (parent == NULL && order->state == ORDER_HELD && !order->alert_open) {
        decide_reject(ctx, CODE_HELD_BY_PARENT, "%.*s settles the order: act on that one",
                      TEXT_ARG(order->details.parent->order_id));
        return false;
    }
    return true;
}

static struct order_marked marked_by(const struct decide_ctx *ctx, enum error_code code)
{
    const struct settle_suborder *cmd = &ctx->cmd->settle_suborder;
    return (struct order_marked){
        .code = error_code_text(code), .reason = cmd->reason, .by = cmd->by};
}

/* What it has started itself is kept as well: an effect of its end. */
static void keep(struct decide_ctx *ctx)
{
    struct order_marked marked = marked_by(ctx, CODE_COMPLETED);
    if (decide_is_undone(ctx->order)) {
        reject_state(ctx, CODE_ALREADY_COMPENSATING);
        return;
    }
    if (order_ended(ctx->order)) {
        reject_state(ctx, CODE_ALREADY_ENDED);
        return;
    }
    if (ctx->order->state != ORDER_HELD) {
        reject_state(ctx, CODE_NOT_HELD);
        return;
    }
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_PROCESSED,
                                     .order_processed = {.reason = marked.reason,
                                                         .by = marked.by,
                                                         .output = ctx->order->output,
                                                         .problem = ctx->order->output_problem}});
    decide_close_alert(ctx, &marked);
    assert(ctx->order->state == ORDER_PROCESSED);
}

/* Its parent hears what has become of it: an end that it missed. */
static void reject_ended(struct decide_ctx *ctx)
{
    decide_reject_of_parent(ctx, CODE_ALREADY_ENDED, ctx->cmd->settle_suborder.parent, SETTLE_NONE,
                            "the order is %s", order_state_name(ctx->order->state));
}

static void undo(struct decide_ctx *ctx)
{
    struct order_marked marked = marked_by(ctx, CODE_RECALLED);
    if (order_ended(ctx->order)) {
        reject_ended(ctx);
    } else if (decide_is_undone(ctx->order)) {
        reject_state(ctx, CODE_ALREADY_COMPENSATING);
    } else if (ctx->cmd->settle_suborder.parent == NULL && ctx->order->state != ORDER_HELD) {
        reject_state(ctx, CODE_NOT_HELD); /* operators cancel or compensate it */
    } else if (decide_require_order(ctx)) {
        if (order_can_be_undone(ctx->order, ctx->workflow))
            decide_turn_back(ctx, &marked);
        else /* it reports its end */
            reject_state(ctx, CODE_PAST_PIVOT);
    }
}

/* A person decides; the order stays held. */
static void raise_alert(struct decide_ctx *ctx)
{
    struct text id = ctx->order->details.order_id;
    if (ctx->order->state != ORDER_HELD) {
        reject_state(ctx, CODE_NOT_HELD);
        return;
    }
    if (ctx->order->alert_open) {
        decide_reject(ctx, CODE_PARENT_UNKNOWN, "the alert ParentUnknown is already open");
        return;
    }
    struct order_marked marked = {.code = error_code_text(CODE_PARENT_UNKNOWN)};
    marked.reason = message_format(ctx->arena,
                                   "Order %.*s is done and waits for its parent %.*s, which does "
                                   "not exist any more: settle it with keep or undo.",
                                   TEXT_ARG(id), TEXT_ARG(ctx->order->details.parent->order_id));
    decide_emit(ctx, &(struct event){.kind = EVENT_ALERT_RAISED, .order_marked = marked});
    assert(ctx->order->state == ORDER_HELD && ctx->order->alert_open);
}

void decide_settle(struct decide_ctx *ctx)
{
    const struct settle_suborder *cmd = &ctx->cmd->settle_suborder;
    if (!ctx->exists) {
        /* What it holds has vanished; of what was only submitted, the submission may be lost. */
        bool missed = cmd->how == SETTLE_UNDO && cmd->held;
        decide_reject_of_parent(ctx, CODE_UNKNOWN_ORDER, missed ? cmd->parent : NULL, SETTLE_NONE,
                                "there is no order %.*s", TEXT_ARG(ctx->cmd->order_id));
        return;
    }
    if (!may_settle(ctx))
        return;
    switch (cmd->how) {
    case SETTLE_KEEP:
        keep(ctx);
        return;
    case SETTLE_UNDO:
        undo(ctx);
        return;
    case SETTLE_UNKNOWN:
        raise_alert(ctx);
        return;
    case SETTLE_NONE:
    case SETTLE_COUNT:
        reject_state(ctx, CODE_NOT_HELD); /* command_check_settle() refuses it */
        return;
    }
}

enum error_class command_check_settle(const struct command *cmd, struct error *ret_error)
{
    const struct settle_suborder *settle = &cmd->settle_suborder;
    bool operators = settle->parent == NULL;
    struct error why;
    if (settle->how == SETTLE_NONE || settle->how >= SETTLE_COUNT)
        return error_set(ret_error, CODE_INVALID_COMMAND, "how must be keep, undo or unknown");
    if (operators && (text_empty(settle->by) || settle->how == SETTLE_UNKNOWN))
        return error_set(ret_error, CODE_INVALID_COMMAND,
                         "without a parent, how must be keep or undo, and by an operator");
    if (!operators && order_parent_validate(settle->parent, &why) != ERROR_OK)
        return error_set(ret_error, CODE_INVALID_COMMAND, "%s", why.message);
    return ERROR_OK;
}
