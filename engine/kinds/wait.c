/* SPDX-License-Identifier: Apache-2.0 */
/* Wait: a step that passes at a moment. The moment is settled as its turn comes, and recorded; a
 * supervisor asks StartStep then. See engine/kinds.def.
 *
 * The margin is not added: nothing runs elsewhere that the moment could come too early for. */
#include "engine/decide.h"
#include "engine/message.h"

#include <assert.h>

static void pass(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_PASSED,
                                     .step_passed = {.ref = step_attempt_ref(step)}});
    assert(step->state == STEP_PROCESSED && step->effect == EFFECT_NONE);
}

/* Without the part of SpreadSeconds. */
static bool find_moment(struct decide_ctx *ctx, uint32_t index, int64_t *ret_ms,
                        struct decide_fault *ret_fault)
{
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    int64_t now = ctx->input->now;
    int64_t ms = 0;
    assert(workflow_step_waits(plan));
    if (plan->wait.seconds != NULL) {
        if (!decide_make_duration(ctx, index, plan->wait.seconds, &ms, ret_fault))
            return false;
        *ret_ms = now + ms;
        return true;
    }
    if (!decide_make_moment(ctx, index, plan->wait.timestamp, &ms, ret_fault))
        return false;
    if (ms > now + DURATION_MS_MAX) {
        *ret_fault = (struct decide_fault){
            TEXT(ERROR_QUERY_EVALUATION),
            message_format(ctx->arena, "the moment is more than %d days away", DURATION_DAYS_MAX)};
        return false;
    }
    *ret_ms = ms;
    return true;
}

void wait_start(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    struct attempt_ref ref = step_attempt_ref(step);
    struct decide_fault fault;
    int64_t due_at = 0;
    if (!find_moment(ctx, index, &due_at, &fault)) {
        decide_fail_unstarted(ctx, index, DIRECTION_DO, &fault);
        return;
    }
    if (due_at <= ctx->input->now) {
        pass(ctx, index);
        return;
    }
    due_at += retry_jitter_ms(
        decide_plan_of(ctx, index)->wait.spread_ms,
        retry_salt(ctx->order->details.order_id, ref.step, (int)ref.direction, ref.attempt));
    decide_emit(ctx, &(struct event){.kind = EVENT_STEP_WAITING,
                                     .step_waiting = {.ref = ref, .due_at = due_at}});
    assert(step->state == STEP_WAITING);
    assert(step_wait(step).until == due_at && due_at > ctx->input->now);
}

bool wait_due(struct decide_ctx *ctx, uint32_t index)
{
    if (ctx->order->steps[index].state == STEP_WAITING)
        pass(ctx, index);
    else
        wait_start(ctx, index); /* it was put off before it began */
    return true;
}
