/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a step: its turn has come, and its When decides whether it starts.
 *
 * Each attempt asks the When, as long as none before it may have had an effect. What it reads is
 * settled, so its answer changes only with the order's input or version; and then, nothing is lost
 * by leaving the step out. Once an attempt may have acted, the step is tried to its end. */
#include "engine/decide.h"

#include "engine/message.h"

#include <assert.h>

/* The reason of a skipped step is one line. */
static struct text on_one_line(struct text text, struct arena *arena)
{
    struct text line = arena_text(arena, text);
    char *at = (char *)(uintptr_t)line.data;
    for (uint32_t i = 0; i < line.size; i++) {
        if ((unsigned char)at[i] < ' ')
            at[i] = ' ';
    }
    return line;
}

static void skip(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    struct text source = on_one_line(decide_plan_of(ctx, index)->when->source, ctx->arena);
    struct text reason = message_format(ctx->arena, "When: %.*s", TEXT_ARG(source));
    decide_emit(ctx,
                &(struct event){.kind = EVENT_STEP_SKIPPED,
                                .step_marked = {.ref = step_attempt_ref(step), .reason = reason}});
    assert(step->state == STEP_SKIPPED);
}

/* The Decision has done enough: the step waits for the next one, which a supervisor asks for. False
 * where one is to ask anyway. */
static bool defer(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    if (step_wait(step).kind == WAIT_RETRY)
        return false;
    decide_emit(ctx,
                &(struct event){
                    .kind = EVENT_STEP_QUEUED,
                    .step_queued = {
                        .ref = step_attempt_ref(step),
                        .retry_at = ctx->input->now,
                        .reason = TEXT("the expressions of other steps have taken their time")}});
    assert(step->state == STEP_PENDING && step_wait(step).kind == WAIT_RETRY);
    return true;
}

static void begin(struct decide_ctx *ctx, uint32_t index)
{
    struct decide_fault fault;
    bool yes = true;
    if (decide_plan_of(ctx, index)->when != NULL && !decide_test_when(ctx, index, &yes, &fault))
        decide_fail_unstarted(ctx, index, DIRECTION_DO, &fault);
    else if (yes)
        decide_kind_of(ctx, index)->start(ctx, index);
    else
        skip(ctx, index);
}

bool decide_proceed(struct decide_ctx *ctx, uint32_t index)
{
    const struct step *step = &ctx->order->steps[index];
    enum wait_kind wait = step_wait(step).kind;
    bool forward = step->direction == DIRECTION_DO;
    assert(decide_may_start(ctx, step));
    if (step->state == STEP_WAITING) /* nothing is evaluated */
        return decide_kind_of(ctx, index)->due(ctx, index);
    assert(step->state == STEP_PENDING);
    if (wait == WAIT_QUEUE) /* where the owner asks again */
        return decide_has_units(ctx) && decide_kind_of(ctx, index)->due(ctx, index);
    if (forward && !decide_has_units(ctx))
        return defer(ctx, index);
    if (forward && step->effect == EFFECT_NONE)
        begin(ctx, index);
    else if (wait != WAIT_NONE)
        return decide_kind_of(ctx, index)->due(ctx, index);
    else if (forward)
        decide_kind_of(ctx, index)->start(ctx, index);
    else
        decide_kind_of(ctx, index)->undo(ctx, index);
    return true;
}

/* ---- kinds without attempts ---- */

bool decide_begin_again(struct decide_ctx *ctx, uint32_t index)
{
    assert(ctx->order->steps[index].state == STEP_PENDING);
    decide_kind_of(ctx, index)->start(ctx, index);
    return true;
}

void decide_no_attempt(struct decide_ctx *ctx, uint32_t index)
{
    (void)ctx;
    (void)index;
    assert(false && "a step that has attempts"); /* see is_orders_workflow() */
}

const char *decide_no_change(const struct step *step, const struct workflow_step *plan,
                             const struct workflow_step *target)
{
    (void)step;
    (void)plan;
    (void)target;
    return NULL;
}
