/* SPDX-License-Identifier: Apache-2.0 */
/* StartStep: a supervisor or the owner asks for the next attempt of a step whose wait is over, or
 * which is queued; or a step that waits for a moment is to pass. */
#include "engine/decide.h"

#include <assert.h>

/* Whether attempts in this direction are started in this state of the order. */
static bool may_start(enum order_state state, enum direction direction)
{
    assert((unsigned)state < ORDER_STATE_COUNT);
    assert((unsigned)direction < DIRECTION_COUNT);
    return state == (direction == DIRECTION_DO ? ORDER_PROCESSING : ORDER_COMPENSATING);
}

/* The step stays queued. While only capacity is missing, or the agent is paused, nothing tells when
 * there will be some. */
static void reject_no_capacity(struct decide_ctx *ctx, const struct step *step)
{
    assert(step->state == STEP_PENDING);
    assert(ctx->input->routing != NULL); /* without it, every step starts */
    int64_t until = step_wait(step).until;
    int64_t soonest = ctx->input->now + ctx->input->routing->retry_ms_min;
    decide_reject_early(ctx, until != 0 ? until : soonest);
}

void decide_start(struct decide_ctx *ctx)
{
    const struct start_step *cmd = &ctx->cmd->start_step;
    uint32_t index = 0;
    const struct step *step =
        decide_require_attempt(ctx, cmd->step, cmd->direction, cmd->attempt, &index);
    if (step == NULL)
        return;
    enum order_state state = ctx->order->state;
    if (!may_start(state, step->direction)) {
        decide_reject(ctx, CODE_STALE, "the order is %s", order_state_name(state));
        return;
    }
    if (ctx->order->paused_at != 0) {
        decide_reject(ctx, CODE_PAUSED, "the order is paused");
        return;
    }
    struct wait wait = step_wait(step);
    bool timed = wait.kind == WAIT_RETRY || (step->state == STEP_WAITING && wait.until != 0);
    bool seen = timed && wait.until == cmd->retry_at;
    if (wait.kind != WAIT_QUEUE && !seen) {
        decide_reject(ctx, CODE_STALE, "step %.*s is %s, with another retry time than %lld",
                      TEXT_ARG(step->name), step_state_name(step->state), (long long)cmd->retry_at);
        return;
    }
    if (!decide_may_start(ctx, step)) {
        decide_reject_early(ctx, wait.until);
        return;
    }
    assert(step->state == STEP_PENDING || step->state == STEP_WAITING);
    assert(wait.kind == WAIT_QUEUE || wait.until <= ctx->input->now);
    if (decide_proceed(ctx, index))
        decide_advance(ctx);
    else
        reject_no_capacity(ctx, step);
}
