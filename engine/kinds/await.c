/* SPDX-License-Identifier: Apache-2.0 */
/* Await: a step that passes with a signal (engine/decide_signal.c), or fails once its time is over.
 * See engine/kinds.def.
 *
 * A signal that came before its turn is taken at once. The margin is not added, as for Wait. */
#include "engine/decide.h"

#include <assert.h>

static void take_early_signal(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    const struct awaiting *awaiting = step->awaiting;
    assert(step_has_early_signal(step));
    decide_emit(ctx,
                &(struct event){.kind = EVENT_STEP_PASSED,
                                .step_passed = {.ref = step_attempt_ref(step),
                                                .output = decide_without_null(awaiting->payload),
                                                .signal_id = awaiting->signal_id,
                                                .by = awaiting->by}});
    assert(step->state == STEP_PROCESSED && !step_has_early_signal(step));
}

void await_start(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    struct text question = {0};
    struct decide_fault fault;
    assert(step->state == STEP_PENDING && plan->kind == STEP_KIND_AWAIT);
    if (step_has_early_signal(step)) {
        take_early_signal(ctx, index);
        return;
    }
    if (plan->await.question != NULL && !decide_make_text(ctx, index, plan->await.question,
                                                          QUESTION_BYTES_MAX, &question, &fault)) {
        decide_fail_unstarted(ctx, index, DIRECTION_DO, &fault);
        return;
    }
    decide_emit(ctx,
                &(struct event){.kind = EVENT_STEP_WAITING,
                                .step_waiting = {.ref = step_attempt_ref(step),
                                                 .due_at = plan->timeout_ms > 0
                                                               ? ctx->input->now + plan->timeout_ms
                                                               : 0,
                                                 .for_signal = true,
                                                 .group = plan->await.from,
                                                 .options = plan->await.options,
                                                 .question = question}});
    assert(step->state == STEP_WAITING && step_wait(step).kind == WAIT_SIGNAL);
}

bool await_due(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    if (step->state != STEP_WAITING) {
        await_start(ctx, index); /* it was put off before it began */
        return true;
    }
    assert(step_wait(step).until != 0 && step_wait(step).until <= ctx->input->now);
    decide_fail_unstarted(
        ctx, index, DIRECTION_DO,
        &(struct decide_fault){TEXT(ERROR_TIMEOUT), TEXT("no signal came in time")});
    return true;
}

static bool same_options(struct text_list a, struct text_list b)
{
    if (a.count != b.count)
        return false;
    for (uint32_t i = 0; i < a.count; i++) {
        if (!text_equal(a.items[i], b.items[i]))
            return false;
    }
    return true;
}

/* Those who may pass it were asked, or have passed it before its turn. Its Until and Output are
 * those of the signals to come. One that an operator completed asks for no more. */
const char *await_differs(const struct step *step, const struct workflow_step *plan,
                          const struct workflow_step *target)
{
    bool early = step_has_early_signal(step);
    if (step->state != STEP_WAITING && !early)
        return NULL;
    if (!text_equal(plan->await.from, target->await.from))
        return "awaits a signal of another group";
    if (!same_options(plan->await.options, target->await.options))
        return "has other Options";
    if (early && !expression_equal(plan->until, target->until))
        return "has another Until than its signal was held against";
    if (early && !template_equal(plan->output, target->output))
        return "has another Output than was made of its signal";
    /* Its limit was the order's, or it was its own. */
    if (step->state == STEP_WAITING && (plan->timeout_ms == 0) != (target->timeout_ms == 0))
        return target->timeout_ms > 0 ? "has a time limit of its own"
                                      : "has no time limit of its own";
    return NULL;
}
