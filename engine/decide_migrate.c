/* SPDX-License-Identifier: Apache-2.0 */
/* MigrateOrder: the order goes on with the steps of another version of its workflow. What it has
 * done, and what may still be done by an attempt that runs, must mean the same in both. */
#include "base/names.h"
#include "engine/decide.h"
#include "engine/shape.h"

#include <assert.h>

#define BIT(index) (UINT64_C(1) << (index))

static int find_step(const struct workflow *workflow, struct text name)
{
    assert(workflow->step_count >= 1 && workflow->step_count <= WORKFLOW_STEPS_MAX);
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if (text_equal(workflow->steps[i].name, name))
            return (int)i;
    }
    return -1;
}

/* False after it rejected: whatever the steps are. */
static bool may_migrate(struct decide_ctx *ctx)
{
    const struct migrate_order *cmd = &ctx->cmd->migrate_order;
    const struct order *order = ctx->order;
    const struct order_details *details = &order->details;
    enum order_state phase = order->state == ORDER_ERROR ? order->error_from : order->state;
    assert(order->state != ORDER_PENDING && phase != ORDER_ERROR);
    if (!text_empty(cmd->workflow) && !text_equal(cmd->workflow, details->workflow)) {
        decide_reject(ctx, CODE_OTHER_WORKFLOW, "the order has the workflow %.*s, not %.*s",
                      TEXT_ARG(details->workflow), TEXT_ARG(cmd->workflow));
        return false;
    }
    if (cmd->from_version != 0 && cmd->from_version != details->workflow_version) {
        decide_reject(ctx, CODE_OTHER_VERSION, "the order has version %u of %.*s, not %u",
                      (unsigned)details->workflow_version, TEXT_ARG(details->workflow),
                      (unsigned)cmd->from_version);
        return false;
    }
    if (order_ended(order)) {
        decide_reject(ctx, CODE_ALREADY_ENDED, "the order is %s", order_state_name(order->state));
        return false;
    }
    if (!decide_is_free(ctx))
        return false;
    if (cmd->version == details->workflow_version) {
        decide_reject(ctx, CODE_SAME_VERSION, "the order has version %u already",
                      (unsigned)cmd->version);
        return false;
    }
    if (phase == ORDER_COMPENSATING) {
        decide_reject(ctx, CODE_ALREADY_COMPENSATING,
                      "the order is being undone: it takes no more steps of any version");
        return false;
    }
    return true;
}

/* False after it rejected: there is no such version, or it takes no orders. */
static bool may_take(struct decide_ctx *ctx)
{
    const struct migrate_order *cmd = &ctx->cmd->migrate_order;
    const struct order_details *details = &ctx->order->details;
    const struct workflow *target = ctx->input->target;
    if (target == NULL || target->version != cmd->version ||
        !text_equal(target->name, details->workflow)) {
        decide_reject(ctx, CODE_UNKNOWN_WORKFLOW, "version %u of %.*s is not deployed",
                      (unsigned)cmd->version, TEXT_ARG(details->workflow));
        return false;
    }
    if (ctx->input->target_retired) {
        decide_reject(ctx, CODE_WORKFLOW_RETIRED,
                      "version %u of %.*s is retired: `reeve workflow activate` has it take orders "
                      "again",
                      (unsigned)cmd->version, TEXT_ARG(details->workflow));
        return false;
    }
    assert(target->version != details->workflow_version);
    return true;
}

/* False after it rejected: expressions of the version rely on its InputShape. */
static bool takes_input(struct decide_ctx *ctx)
{
    struct error error;
    const struct workflow *target = ctx->input->target;
    const struct order_details *details = &ctx->order->details;
    if (target->input_shape == NULL ||
        shape_check(target->input_shape, details->input, &error) == ERROR_OK)
        return true;
    decide_reject(ctx, CODE_INVALID_INPUT, "version %u of %.*s takes other orders: %s",
                  (unsigned)target->version, TEXT_ARG(details->workflow), error.message);
    return false;
}

/* ---- the steps ---- */

/* It has ended, an attempt of it runs or one may have had an effect, it waits for a moment or a
 * signal, has a signal, or has started sub-orders. */
static bool counts(const struct step *step)
{
    if (step_has_early_signal(step))
        return true;
    if (step->suborders != NULL)
        return true;
    return step->state == STEP_PROCESSING || step->state == STEP_WAITING ||
           step->state == STEP_PROCESSED || step->state == STEP_SKIPPED ||
           step->state == STEP_CAUGHT || step->effect != EFFECT_NONE;
}

static bool has_only_steps(const struct workflow *workflow, uint64_t set)
{
    return workflow->step_count == WORKFLOW_STEPS_MAX || set >> workflow->step_count == 0;
}

/* By names: the indexes are those of two workflows. */
static bool same_predecessors(const struct workflow *a, uint64_t after_a, const struct workflow *b,
                              uint64_t after_b)
{
    uint64_t moved = 0;
    assert(has_only_steps(a, after_a) && has_only_steps(b, after_b));
    for (uint32_t i = 0; i < a->step_count; i++) {
        if ((after_a & BIT(i)) == 0)
            continue;
        int index = find_step(b, a->steps[i].name);
        if (index < 0)
            return false;
        moved |= BIT(index);
    }
    return moved == after_b;
}

/* What keeps a step that counts from being that of the target, or NULL. */
static const char *step_difference(const struct decide_ctx *ctx, uint32_t index, uint32_t to)
{
    const struct step *step = &ctx->order->steps[index];
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    const struct workflow_step *target = &ctx->input->target->steps[to];
    bool acts =
        step->state == STEP_PROCESSING || step->effect != EFFECT_NONE || step->suborders != NULL;
    assert(counts(step));
    assert(text_equal(step->name, target->name));
    if (!same_predecessors(ctx->workflow, plan->after, ctx->input->target, target->after))
        return "comes after other steps";
    if (plan->pivot != target->pivot)
        return target->pivot ? "is the pivot" : "is not the pivot";
    if (plan->kind != target->kind && (acts || step->state != STEP_SKIPPED))
        return "is of another kind";
    bool waits = step->state == STEP_WAITING || step_has_early_signal(step);
    return acts || waits ? decide_kind_of(ctx, index)->differs(step, plan, target) : NULL;
}

/* "Processed", or what is known of it where that says more. */
static const char *standing(const struct step *step)
{
    bool unknown = step->state != STEP_PROCESSING && step->effect == EFFECT_UNKNOWN;
    return unknown ? "of unknown effect" : step_state_name(step->state);
}

/* False after it rejected. */
static bool same_steps(struct decide_ctx *ctx)
{
    const struct workflow *target = ctx->input->target;
    unsigned version = (unsigned)target->version;
    assert(ctx->workflow->step_count == ctx->order->step_count);
    for (uint32_t i = 0; i < ctx->order->step_count; i++) {
        const struct step *step = &ctx->order->steps[i];
        int to = find_step(target, step->name);
        bool started = counts(step) || step->attempt > 0 || step->state == STEP_ERROR;
        if (to < 0 && started) {
            decide_reject(ctx, CODE_STEPS_DIFFER, "version %u has no step %.*s, which is %s",
                          version, TEXT_ARG(step->name), standing(step));
            return false;
        }
        const char *difference =
            to < 0 || !counts(step) ? NULL : step_difference(ctx, i, (uint32_t)to);
        if (difference != NULL) {
            decide_reject(ctx, CODE_STEPS_DIFFER, "step %.*s is %s, and in version %u it %s",
                          TEXT_ARG(step->name), standing(step), version, difference);
            return false;
        }
    }
    return true;
}

/* A step that an operator completed has no attempt: the agent that it had undoes it. */
static struct text agent_of(const struct decide_ctx *ctx, const struct workflow_step *plan)
{
    int index = order_find_step(ctx->order, plan->name);
    bool keeps = index >= 0 && ctx->order->steps[index].effect != EFFECT_NONE;
    return keeps ? ctx->order->steps[index].agent : workflow_step_agent(plan);
}

/* Of a retrier that both versions have, what was used of it; nothing of one that is new. */
static void move_retries(const struct decide_ctx *ctx, const struct workflow_step *target,
                         uint32_t ret_used[RETRIERS_MAX])
{
    int index = order_find_step(ctx->order, target->name);
    assert(target->retry.count <= RETRIERS_MAX);
    if (index < 0)
        return;
    const struct step *step = &ctx->order->steps[index];
    const struct retry_policy *policy = &decide_plan_of(ctx, (uint32_t)index)->retry;
    assert(step->direction == DIRECTION_DO);
    for (uint32_t i = 0; i < target->retry.count; i++) {
        uint32_t from = 0;
        while (from < policy->count &&
               !retrier_equal(&policy->retriers[from], &target->retry.retriers[i]))
            from++;
        ret_used[i] = from < policy->count ? step->retries_used[from] : 0;
    }
}

/* It waits for its next attempt, which another Input, or other steps before it, may have ask for
 * something else. Steps in Error get their key when they are resubmitted; what may have had an
 * effect is tried to its end under its own. */
static bool needs_key(const struct decide_ctx *ctx, const struct workflow_step *plan)
{
    int index = order_find_step(ctx->order, plan->name);
    const struct step *step = index >= 0 ? &ctx->order->steps[index] : NULL;
    return step != NULL && step->state == STEP_PENDING && step->attempt > 0 &&
           step->effect == EFFECT_NONE;
}

enum error_class command_check_migrate(const struct command *cmd, struct error *ret_error)
{
    const struct migrate_order *migrate = &cmd->migrate_order;
    struct text workflow = migrate->workflow; /* empty: any */
    if (!text_empty(workflow) &&
        (workflow.size > BODY_NAME_BYTES_MAX || !workflow_name_valid(workflow)))
        return error_set(ret_error, CODE_INVALID_COMMAND,
                         "workflow must be empty, or " NAME_EXPECTED
                         "; of a sub-order NAME/STEP, at most %d bytes",
                         BODY_NAME_BYTES_MAX);
    if (migrate->version == 0)
        return error_set(ret_error, CODE_INVALID_COMMAND, "version must be 1 to %d", INT32_MAX);
    return ERROR_OK;
}

void decide_migrate(struct decide_ctx *ctx)
{
    const struct migrate_order *cmd = &ctx->cmd->migrate_order;
    const struct workflow *target = ctx->input->target;
    assert(cmd->reason.size <= MESSAGE_BYTES_READ_MAX && cmd->by.size <= WHO_BYTES_READ_MAX);
    if (!ctx->exists) {
        decide_reject_unknown_order(ctx);
        return;
    }
    if (!may_migrate(ctx) || !may_take(ctx) || !decide_require_order(ctx) || !takes_input(ctx) ||
        !same_steps(ctx))
        return;
    struct step_plan *plans = ARENA_ARRAY(ctx->arena, struct step_plan, target->step_count);
    for (uint32_t i = 0; i < target->step_count; i++) {
        const struct workflow_step *plan = &target->steps[i];
        plans[i] = (struct step_plan){
            .name = plan->name, .agent = agent_of(ctx, plan), .new_key = needs_key(ctx, plan)};
        move_retries(ctx, plan, plans[i].retries_used);
    }
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_MIGRATED,
                                     .order_migrated = {
                                         .from_version = ctx->order->details.workflow_version,
                                         .workflow_version = target->version,
                                         .steps = plans,
                                         .step_count = target->step_count,
                                         .moves_retries = true,
                                         .by = cmd->by,
                                         .reason = cmd->reason,
                                     }});
    ctx->workflow = target;
    assert(ctx->order->details.workflow_version == target->version);
    assert(ctx->order->step_count == target->step_count);
    decide_advance(ctx);
}
