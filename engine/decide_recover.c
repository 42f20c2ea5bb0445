/* SPDX-License-Identifier: Apache-2.0 */
/* RecoverStep, StartStep, TimeOutOrder: what supervisors ask when a deadline has passed. Each names
 * what it saw; what has changed since makes it stale, and whoever is early hears when it will be
 * due. */
#include "engine/decide.h"
#include "engine/message.h"

#include <assert.h>

void decide_recover(struct decide_ctx *ctx)
{
    const struct recover_step *asked = &ctx->cmd->recover_step;
    uint32_t index = 0;
    const struct step *step =
        require_attempt(ctx, asked->step, asked->direction, asked->attempt, &index);
    if (step == NULL)
        return;
    if (step->state != STEP_PROCESSING || step->complete_by != asked->complete_by) {
        reject(ctx, "Stale", "step %.*s is %s and not to be completed by %lld",
               TEXT_ARG(step->name), step_state_name(step->state), (long long)asked->complete_by);
        return;
    }
    if (ctx->input->now < step->complete_by + step->margin_ms) {
        reject_early(ctx, step->complete_by + step->margin_ms);
        return;
    }
    emit(ctx, &(struct event){.kind = EVENT_STEP_TIMED_OUT,
                              .step_timed_out = {.ref = attempt_of(step),
                                                 .effect = effect_after(step, EFFECT_UNKNOWN),
                                                 .failure_count = step->failure_count + 1,
                                                 .complete_by = step->complete_by,
                                                 .by = asked->by}});
    follow_failure(ctx, index, TEXT(ERROR_TIMEOUT));
    advance(ctx);
}

/* Whether attempts in this direction are started in this state of the order. */
static bool may_start(enum order_state state, enum direction direction)
{
    return state == (direction == DIRECTION_DO ? ORDER_PROCESSING : ORDER_COMPENSATING);
}

/* Queued as before. Where only room is missing nobody knows when there will be some. */
static void reject_no_room(struct decide_ctx *ctx, const struct step *step)
{
    int64_t soonest = ctx->input->now + ctx->input->routing->retry_ms_min;
    reject_early(ctx, step->retry_at != 0 ? step->retry_at : soonest);
}

void decide_start(struct decide_ctx *ctx)
{
    const struct start_step *asked = &ctx->cmd->start_step;
    uint32_t index = 0;
    const struct step *step =
        require_attempt(ctx, asked->step, asked->direction, asked->attempt, &index);
    if (step == NULL)
        return;
    enum order_state state = ctx->order->state;
    if (!may_start(state, step->direction)) {
        reject(ctx, "Stale", "the order is %s", order_state_name(state));
        return;
    }
    bool waits = step->retry_at != 0 && step->retry_at == asked->retry_at;
    if (step->state != STEP_PENDING || (step->queued_at == 0 && !waits)) {
        reject(ctx, "Stale", "step %.*s is %s and not to be started at %lld", TEXT_ARG(step->name),
               step_state_name(step->state), (long long)asked->retry_at);
        return;
    }
    if (!may_try(ctx, step)) {
        reject_early(ctx, step->retry_at);
        return;
    }
    if (start_or_queue(ctx, index, step->direction))
        advance(ctx);
    else
        reject_no_room(ctx, step);
}

void decide_time_out(struct decide_ctx *ctx)
{
    const struct time_out_order *asked = &ctx->cmd->time_out_order;
    if (!require_order(ctx))
        return;
    const struct order *order = ctx->order;
    if (order->state != ORDER_PROCESSING || order->complete_by == 0 ||
        order->complete_by != asked->complete_by) {
        reject(ctx, "Stale", "the order is %s and not to be completed by %lld",
               order_state_name(order->state), (long long)asked->complete_by);
        return;
    }
    if (ctx->input->now < order->complete_by + order->margin_ms) {
        reject_early(ctx, order->complete_by + order->margin_ms);
        return;
    }
    struct order_marked marked = {.code = TEXT(ERROR_TIMEOUT),
                                  .reason = TEXT("the order was not completed in time"),
                                  .by = asked->by};
    emit(ctx, &(struct event){.kind = EVENT_ORDER_TIMED_OUT, .order_marked = marked});
    if (way_back(ctx->order, ctx->workflow))
        begin_compensation(ctx, &marked);
    else
        fail_order(ctx, marked.code, (struct text){0}, marked.reason);
    advance(ctx);
}
