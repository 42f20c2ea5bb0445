/* SPDX-License-Identifier: Apache-2.0 */
/* AmendOrder: an operator corrects the input of an order in Error. What a step with an effect has
 * read must stay as it is, and so must what a Set made of it for that step: its attempts keep their
 * key only because they ask for the same, and its undo makes its own input again from the same
 * data. */
#include "engine/decide.h"

#include "engine/expression/reads.h"
#include "engine/message.h"
#include "engine/shape.h"

#include <assert.h>

#define BIT(index) (UINT64_C(1) << (index))

/* ---- the order ---- */

/* False after it rejected: an attempt would get the old data, or has. */
static bool nothing_runs(struct decide_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        const struct step *step = &ctx->order->steps[i];
        if (step->state != STEP_PROCESSING)
            continue;
        int64_t left = step->complete_by + step->margin_ms - ctx->input->now;
        decide_reject(ctx, CODE_ATTEMPT_RUNS,
                      "attempt %u of step %.*s may run for another %lld ms: wait for its outcome",
                      (unsigned)step->attempt, TEXT_ARG(step->name),
                      (long long)(left > 0 ? left : 0));
        return false;
    }
    return true;
}

/* False after it rejected: whatever the input is. */
static bool may_amend(struct decide_ctx *ctx)
{
    const struct order *order = ctx->order;
    enum order_state phase = order->state == ORDER_ERROR ? order->error_from : order->state;
    assert(order->state != ORDER_PENDING && phase != ORDER_ERROR);
    if (order_ended(order)) {
        decide_reject(ctx, CODE_ALREADY_ENDED, "the order is %s", order_state_name(order->state));
        return false;
    }
    if (phase == ORDER_COMPENSATING) {
        decide_reject(ctx, CODE_ALREADY_COMPENSATING,
                      "the order is being undone: it keeps the input that its steps have had");
        return false;
    }
    if (order->state != ORDER_ERROR) {
        decide_reject(ctx, CODE_NOT_IN_ERROR, "the order is %s: only one in Error can be amended",
                      order_state_name(order->state));
        return false;
    }
    return nothing_runs(ctx);
}

/* ---- the input ---- */

/* False after it rejected: the order cannot have this input, or has it. */
static bool may_have(struct decide_ctx *ctx, struct text input)
{
    struct error error;
    struct order_details details = ctx->order->details;
    const struct shape *shape = ctx->workflow->input_shape;
    if (text_equal(input, details.input)) {
        decide_reject(ctx, CODE_SAME_INPUT, "the order has this input already");
        return false;
    }
    if (shape != NULL && shape_check(shape, input, &error) != ERROR_OK) {
        decide_reject(ctx, CODE_INVALID_INPUT, "%s", error.message);
        return false;
    }
    details.input = input;
    if (order_details_bytes(&details) > ORDER_DETAILS_BYTES_MAX) {
        decide_reject(ctx, CODE_TOO_LONG,
                      "with an input of %u bytes the order has %llu; the limit is %d", input.size,
                      (unsigned long long)order_details_bytes(&details), ORDER_DETAILS_BYTES_MAX);
        return false;
    }
    return true;
}

/* ---- steps that expressions finished ---- */

static bool is_finished(const struct step *step)
{
    return step->state == STEP_PROCESSED || step->state == STEP_SKIPPED ||
           step->state == STEP_CAUGHT;
}

/* It was finished by what its expressions made of the data, not by an attempt or an operator; or
 * it waits for the moment that they made, or for an answer to what they asked. A signal that they
 * let pass, early or not, answered what was asked before. */
static bool was_evaluated(const struct step *step, const struct workflow_step *plan)
{
    bool by_hand = step->ended_at != 0; /* unless it passed */
    if (step->effect != EFFECT_NONE || step->attempt > 0)
        return false;
    if (step->state == STEP_SKIPPED)
        return plan->when != NULL && !by_hand;
    if (step->state == STEP_CAUGHT)
        return !by_hand;
    return plan->agent_count == 0 &&
           (is_finished(step) || step->state == STEP_WAITING || step_has_early_signal(step));
}

/* What an Await asks, and holds its signal against. */
static bool signal_change(const struct workflow_step *plan, struct input_change *change)
{
    return plan->kind == STEP_KIND_AWAIT && (template_reads_change(plan->await.question, change) ||
                                             expression_reads_change(plan->until, change) ||
                                             template_reads_change(plan->output, change));
}

/* What it was evaluated from. */
static bool evaluated_change(const struct step *step, const struct workflow_step *plan,
                             struct input_change *change)
{
    if (expression_reads_change(plan->when, change))
        return true;
    return step->state != STEP_SKIPPED &&
           (template_reads_change(plan->set, change) ||
            template_reads_change(plan->fail.message, change) ||
            template_reads_change(plan->input, change) ||
            expression_reads_change(plan->wait.seconds, change) ||
            expression_reads_change(plan->wait.timestamp, change) || signal_change(plan, change));
}

static bool may_be_caught(const struct workflow_step *plan)
{
    for (uint32_t i = 0; i < plan->catcher_count; i++) {
        if (plan->catchers[i].next == OUTCOME_CONTINUE)
            return true;
    }
    return false;
}

/* What an agent or an operator made is a fact. Whether a step has an output depends on its When,
 * and, where its failure is caught, on all that it was evaluated from. */
static bool step_differs(const void *of, const struct step_read *read, struct input_change *change)
{
    const struct decide_ctx *ctx = of;
    uint32_t index = read->name->index;
    assert(index < ctx->order->step_count);
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    if (!was_evaluated(step, plan))
        return false;
    if (plan->kind == STEP_KIND_AWAIT || may_be_caught(plan))
        return evaluated_change(step, plan, change);
    return expression_reads_change(plan->when, change) ||
           (step->state != STEP_SKIPPED && template_part_reads_change(plan->set, read, change));
}

/* ---- steps with an effect ---- */

/* Both directions: without an Input of its own, an undo has that of the step. */
static bool reads_change(const struct workflow_step *plan, struct input_change *change)
{
    bool carries =
        plan->agent_count > 0 || (plan->kind == STEP_KIND_SUBORDERS && !plan->suborders.for_each);
    bool whole = carries && plan->input == NULL; /* its requests, or sub-orders, carry all */
    return (whole && input_differs(change)) || expression_reads_change(plan->when, change) ||
           expression_reads_change(plan->until, change) ||
           expression_reads_change(plan->wait.seconds, change) ||
           expression_reads_change(plan->wait.timestamp, change) ||
           template_reads_change(plan->await.question, change) ||
           expression_reads_change(plan->suborders.items, change) ||
           template_reads_change(plan->suborders.list, change) ||
           template_reads_change(plan->input, change) ||
           template_reads_change(plan->output, change) ||
           template_reads_change(plan->set, change) ||
           template_reads_change(plan->fail.message, change) ||
           template_reads_change(plan->compensate.input, change);
}

/* "input.to.street", or "output.Place, made of input.to.street,". In the arena. */
static struct text what_is_read(struct decide_ctx *ctx, const struct input_change *change)
{
    char path[JSON_PATH_SIZE], made[JSON_PATH_SIZE];
    const struct expression_node *name = change->read.name;
    json_path_format(&change->path, "input", path);
    const char *input = change->path.depth == 0 ? "the whole input" : path;
    if (name == NULL)
        return message_format(ctx->arena, "%s,", input);
    struct json_path step = {.depth = 1, .levels = {{.name = name->text}}};
    json_path_format(&step, name->code == NAME_OUTPUT ? "output" : "error", made);
    return message_format(ctx->arena, "%s, made of %s,", made, input);
}

/* False after it rejected. */
static bool effects_keep_their_data(struct decide_ctx *ctx, struct input_change *change)
{
    change->step_differs = step_differs;
    change->of = ctx;
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        const struct step *step = &ctx->order->steps[i];
        bool idle = step->effect == EFFECT_NONE && step->suborders == NULL; /* it keeps no list */
        if (idle || !reads_change(decide_plan_of(ctx, i), change))
            continue;
        decide_reject(ctx, CODE_INPUT_WAS_READ,
                      "step %.*s %s, and it reads %.*s which would change: only what no such step "
                      "reads can be amended",
                      TEXT_ARG(step->name),
                      step->effect == EFFECT_APPLIED ? "has had its effect"
                                                     : "may have had an effect",
                      TEXT_ARG(what_is_read(ctx, change)));
        return false;
    }
    change->step_differs = NULL; /* what is evaluated again comes after what it reads */
    return true;
}

/* ---- steps that begin again ---- */

/* The steps before one that stays as it is: what that one has done, or was done to it, rests on how
 * they were finished, and none that is Pending stands before one that is finished. */
static uint64_t before_what_stays(const struct decide_ctx *ctx)
{
    uint64_t found = 0;
    uint64_t known = UINT64_MAX;
    while (found != known) {
        known = found;
        for (uint32_t i = 0; i < ctx->order->step_count; i++) {
            const struct step *step = &ctx->order->steps[i];
            const struct workflow_step *plan = decide_plan_of(ctx, i);
            bool begun = is_finished(step) || step->state == STEP_WAITING;
            bool stays = step->effect != EFFECT_NONE || (begun && !was_evaluated(step, plan));
            if (stays || (found & BIT(i)) != 0)
                found |= plan->after;
        }
    }
    return found;
}

/* Those that could be finished differently now, and the finished ones after them. */
static uint64_t evaluated_again(const struct decide_ctx *ctx, struct input_change *change)
{
    uint64_t stay = before_what_stays(ctx);
    uint64_t again = 0;
    uint64_t known = UINT64_MAX;
    while (again != known) {
        known = again;
        for (uint32_t i = 0; i < ctx->order->step_count; i++) {
            const struct step *step = &ctx->order->steps[i];
            const struct workflow_step *plan = decide_plan_of(ctx, i);
            bool follows = (plan->after & again) != 0 && !step_has_early_signal(step);
            if (((stay | again) & BIT(i)) == 0 && was_evaluated(step, plan) &&
                (follows || evaluated_change(step, plan, change)))
                again |= BIT(i);
        }
    }
    return again;
}

/* It waits for an attempt or in a queue, with what was made of the old data. Of a step that has a
 * signal, nothing was made, unless it is evaluated again. */
static bool is_under_way(const struct step *step)
{
    return step->state == STEP_PENDING && step->effect == EFFECT_NONE &&
           !step_has_early_signal(step) && (step->attempt > 0 || step_wait(step).kind != WAIT_NONE);
}

/* An attempt with other data needs another key. None had an effect. Steps in Error get theirs when
 * they are resubmitted. */
static uint32_t list_steps(const struct decide_ctx *ctx, uint64_t again,
                           struct amended_step *ret_steps)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        const struct step *step = &ctx->order->steps[i];
        uint32_t generation = step->generation[DIRECTION_DO];
        if ((again & BIT(i)) == 0 && !is_under_way(step))
            continue;
        assert(step->direction == DIRECTION_DO && step->effect == EFFECT_NONE);
        ret_steps[count++] =
            (struct amended_step){step->name, generation + (step->attempt > 0 ? 1 : 0)};
    }
    return count;
}

enum error_class command_check_amend(const struct command *cmd, struct error *ret_error)
{
    struct text input = cmd->amend_order.input;
    bool json = json_value_kind(json_value_of(input)) != JSON_KIND_NONE;
    if ((json || text_empty(input)) && input.size <= ORDER_INPUT_BYTES_MAX)
        return ERROR_OK;
    return error_set(ret_error, CODE_INVALID_COMMAND,
                     "input must be JSON of at most %d bytes, with at most %d lists and maps "
                     "within each other",
                     ORDER_INPUT_BYTES_MAX, JSON_DEPTH_MAX);
}

void decide_amend(struct decide_ctx *ctx)
{
    const struct amend_order *cmd = &ctx->cmd->amend_order;
    struct text input = decide_without_null(cmd->input);
    struct input_change change;
    assert(cmd->reason.size <= MESSAGE_BYTES_READ_MAX && cmd->by.size <= WHO_BYTES_READ_MAX);
    if (!decide_require_order(ctx) || !may_amend(ctx) || !may_have(ctx, input))
        return;
    input_change_init(&change, ctx->order->details.input, input);
    if (!effects_keep_their_data(ctx, &change))
        return;
    struct amended_step *steps =
        ARENA_ARRAY(ctx->arena, struct amended_step, ctx->order->step_count);
    uint32_t count = list_steps(ctx, evaluated_again(ctx, &change), steps);
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_AMENDED,
                                     .order_amended = {.input = input,
                                                       .steps = steps,
                                                       .step_count = count,
                                                       .by = cmd->by,
                                                       .reason = cmd->reason}});
    assert(ctx->order->state == ORDER_ERROR && ctx->order->alert_open);
    assert(text_equal(ctx->order->details.input, input));
}
