/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_other_version.h"

#define BIT(index) (UINT64_C(1) << (index))

/* A step that no other one waits for, and that is not the pivot; or -1. */
static int last_step(const struct workflow *workflow)
{
    uint64_t waited_for = 0;
    for (uint32_t i = 0; i < workflow->step_count; i++)
        waited_for |= workflow->steps[i].after;
    for (int i = (int)workflow->step_count - 1; i >= 0; i--) {
        if ((waited_for & BIT(i)) == 0 && i != workflow->pivot)
            return i;
    }
    return -1;
}

static void drop(struct workflow *workflow, struct workflow_step *steps, uint32_t index)
{
    uint64_t below = BIT(index) - 1;
    workflow->step_count--;
    for (uint32_t i = index; i < workflow->step_count; i++)
        steps[i] = steps[i + 1];
    for (uint32_t i = 0; i < workflow->step_count; i++)
        steps[i].after = (steps[i].after & below) | (steps[i].after >> 1 & ~below);
    if (workflow->pivot > (int)index)
        workflow->pivot--;
}

/* After the pivot, where there is one, so that it is on the right side of it. */
static void add(struct dice *dice, struct arena *arena, struct workflow *workflow,
                struct workflow_step *steps)
{
    struct workflow_step *step = &steps[workflow->step_count];
    char *name = arena_bytes(arena, 8);
    uint32_t after =
        workflow->pivot >= 0 ? (uint32_t)workflow->pivot : dice_roll(dice, workflow->step_count);
    *step = steps[after];
    memcpy(name, "n000", 4);
    for (uint32_t i = 3, number = workflow->version; i > 0; i--, number /= 10)
        name[i] = (char)('0' + number % 10);
    step->name = (struct text){name, 4};
    step->after = BIT(after);
    step->pivot = step->has_compensate = false;
    step->on_exhausted = workflow->pivot >= 0 ? OUTCOME_ERROR : step->on_exhausted;
    if (workflow->pivot >= 0)
        step->catcher_count = 0;
    workflow->step_count++;
}

/* Its retriers stand in another order, and the last one may be another one or gone. */
static void change_retry(struct dice *dice, struct arena *arena, struct retry_policy *policy)
{
    if (policy->count == 0)
        return;
    struct retrier *retriers = ARENA_ARRAY(arena, struct retrier, policy->count);
    uint32_t by = dice_roll(dice, policy->count);
    for (uint32_t i = 0; i < policy->count; i++)
        retriers[i] = policy->retriers[(i + by) % policy->count];
    if (dice_percent(dice, 50))
        retriers[policy->count - 1].max_attempts++;
    policy->retriers = retriers;
    policy->count -= dice_percent(dice, 25);
}

const struct workflow *other_version(struct dice *dice, struct arena *arena,
                                     const struct workflow *workflow)
{
    struct workflow *other = ARENA_NEW(arena, struct workflow);
    struct workflow_step *steps =
        ARENA_ARRAY(arena, struct workflow_step, workflow->step_count + 1);
    *other = *workflow;
    other->version++;
    other->steps = steps;
    memcpy(steps, workflow->steps, workflow->step_count * sizeof(steps[0]));
    int last = last_step(workflow);
    if (dice_percent(dice, 20) && last >= 0 && workflow->step_count > 1)
        drop(other, steps, (uint32_t)last);
    if (dice_percent(dice, 40) && other->step_count < WORKFLOW_STEPS_MAX)
        add(dice, arena, other, steps);
    struct workflow_step *step = &steps[dice_roll(dice, other->step_count)];
    const struct workflow_step *from = &steps[dice_roll(dice, other->step_count)];
    if (dice_percent(dice, 20) && step->kind == from->kind) {
        step->agents = from->agents;
        step->agent_count = from->agent_count;
    }
    if (dice_percent(dice, 15) && other->pivot < 0)
        step->after = 0;
    if (dice_percent(dice, 30))
        step->timeout_ms = 500 + dice_roll(dice, 8000);
    if (dice_percent(dice, 10))
        step->has_compensate = false;
    for (uint32_t i = 0; i < other->step_count && dice_percent(dice, 50); i++)
        change_retry(dice, arena, &steps[i].retry);
    for (int i = 0; i < 3 && dice_percent(dice, 40); i++) {
        uint32_t with = dice_roll(dice, other->step_count);
        random_swap(other, steps, dice_roll(dice, other->step_count), with);
    }
    return other;
}
