/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_random.h"

/* splitmix64 */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Mixes the seed: otherwise consecutive seeds give the same sequence, shifted by one. */
struct dice dice_of(uint64_t seed)
{
    return (struct dice){mix(seed + GOLDEN)};
}

uint64_t dice_next(struct dice *dice)
{
    dice->state += GOLDEN;
    return mix(dice->state);
}

uint32_t dice_roll(struct dice *dice, uint32_t n)
{
    return (uint32_t)(dice_next(dice) % n);
}

bool dice_percent(struct dice *dice, uint32_t percent)
{
    return dice_roll(dice, 100) < percent;
}

struct text random_error(struct dice *dice)
{
    static const char *const names[RANDOM_ERRORS] = {"Busy", "Down", "Declined"};
    return text_of(names[dice_roll(dice, RANDOM_ERRORS)]);
}

static struct error_set random_errors(struct dice *dice)
{
    struct error_set set = {.count = 1 + dice_roll(dice, 2)};
    for (uint32_t i = 0; i < set.count; i++) {
        switch (dice_roll(dice, 5)) {
        case 0:
            set.names[i] = TEXT(ERROR_ALL);
            break;
        case 1:
            set.names[i] = TEXT(ERROR_TIMEOUT);
            break;
        case 2:
            set.names[i] = TEXT(ERROR_TASK_FAILED);
            break;
        default:
            set.names[i] = random_error(dice);
        }
    }
    return set;
}

static struct retry_policy random_policy(struct dice *dice, struct arena *arena)
{
    struct retry_policy policy = {.count = dice_roll(dice, 4)};
    if (policy.count == 0)
        return policy;
    struct retrier *retriers = ARENA_ARRAY(arena, struct retrier, policy.count);
    for (uint32_t i = 0; i < policy.count; i++)
        retriers[i] =
            (struct retrier){.errors = random_errors(dice),
                             .interval_ms = dice_percent(dice, 20) ? 0 : dice_roll(dice, 3000),
                             .backoff_rate_milli = 1000 + dice_roll(dice, 2500),
                             .max_attempts = dice_roll(dice, 4),
                             .max_delay_ms = dice_percent(dice, 50) ? 0 : 1 + dice_roll(dice, 5000),
                             .jitter = dice_percent(dice, 50) ? JITTER_FULL : JITTER_NONE};
    policy.retriers = retriers;
    return policy;
}

static void add_catchers(struct dice *dice, struct arena *arena, struct workflow_step *step)
{
    uint32_t count = dice_roll(dice, 3);
    if (count == 0)
        return;
    struct catcher *catchers = ARENA_ARRAY(arena, struct catcher, count);
    for (uint32_t i = 0; i < count; i++)
        catchers[i] = (struct catcher){
            random_errors(dice),
            dice_roll(dice, step->has_compensate ? OUTCOME_CONTINUE : OUTCOME_COUNT)};
    step->catchers = catchers;
    step->catcher_count = count;
}

static struct text numbered(struct arena *arena, const char *prefix, uint32_t number)
{
    uint32_t size = (uint32_t)strlen(prefix);
    char *name = arena_bytes(arena, size + 2);
    memcpy(name, prefix, size);
    name[size] = (char)('0' + number / 10);
    name[size + 1] = (char)('0' + number % 10);
    return (struct text){name, size + 2};
}

/* Some of the steps first .. index - 1. */
static uint64_t some_before(struct dice *dice, uint32_t first, uint32_t index)
{
    uint64_t some = 0;
    for (uint32_t i = first; i < index; i++)
        some |= (uint64_t)dice_percent(dice, 35) << i;
    return some;
}

static uint64_t random_after(struct dice *dice, uint32_t index, int pivot)
{
    if (pivot < 0 || index < (uint32_t)pivot)
        return some_before(dice, 0, index);
    if (index == (uint32_t)pivot)
        return (UINT64_C(1) << index) - 1;
    uint32_t first = (uint32_t)pivot;
    uint64_t one = UINT64_C(1) << (first + dice_roll(dice, index - first));
    return one | some_before(dice, first, index);
}

static const struct text the_agent = {"agent", 5};

static uint32_t random_step_count(struct dice *dice)
{
    if (dice_percent(dice, 1))
        return WORKFLOW_STEPS_MAX;
    return 1 + dice_roll(dice, dice_percent(dice, 10) ? 14 : 6);
}

void random_swap(struct workflow *workflow, struct workflow_step *steps, uint32_t a, uint32_t b)
{
    struct workflow_step kept = steps[a];
    steps[a] = steps[b];
    steps[b] = kept;
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        uint64_t after = steps[i].after & ~(UINT64_C(1) << a) & ~(UINT64_C(1) << b);
        after |= (steps[i].after >> a & 1) << b | (steps[i].after >> b & 1) << a;
        steps[i].after = after;
    }
    if (workflow->pivot == (int)a)
        workflow->pivot = (int)b;
    else if (workflow->pivot == (int)b)
        workflow->pivot = (int)a;
}

uint64_t steps_behind(const struct workflow *workflow, int index)
{
    uint64_t behind = 0;
    uint64_t before = UINT64_MAX;
    while (behind != before) {
        before = behind;
        for (uint32_t i = 0; i < workflow->step_count; i++) {
            bool waits = index >= 0 && (workflow->steps[i].after >> index & 1) != 0;
            if (waits || (workflow->steps[i].after & behind) != 0)
                behind |= UINT64_C(1) << i;
        }
    }
    return behind;
}

/* A file's steps stand in any order: each changes its place with one before it, or keeps it. */
static void shuffle(struct dice *dice, struct workflow *workflow, struct workflow_step *steps)
{
    for (uint32_t i = 1; i < workflow->step_count; i++)
        random_swap(workflow, steps, i, dice_roll(dice, i + 1));
}

const struct workflow *random_workflow(struct dice *dice, struct arena *arena)
{
    struct workflow *workflow = ARENA_NEW(arena, struct workflow);
    uint32_t count = random_step_count(dice);
    struct workflow_step *steps = ARENA_ARRAY(arena, struct workflow_step, count);
    int pivot = dice_percent(dice, 40) ? (int)dice_roll(dice, count) : -1;
    bool forgiving = dice_percent(dice, 50);
    for (uint32_t i = 0; i < count; i++) {
        struct workflow_step *step = &steps[i];
        step->name = numbered(arena, "s", i);
        step->agents = &the_agent;
        step->agent_count = 1;
        step->after = random_after(dice, i, pivot);
        step->timeout_ms = 500 + dice_roll(dice, 8000);
        step->retry = random_policy(dice, arena);
        step->pivot = (int)i == pivot;
        step->on_exhausted =
            forgiving || dice_percent(dice, 50) ? OUTCOME_COMPENSATE : OUTCOME_ERROR;
        step->has_compensate = (pivot < 0 || (int)i < pivot) && dice_percent(dice, 75);
        if (step->has_compensate) {
            step->compensate.action = numbered(arena, "undo", i);
            step->compensate.timeout_ms = 500 + dice_roll(dice, 8000);
            step->compensate.retry = random_policy(dice, arena);
        }
        add_catchers(dice, arena, step);
    }
    *workflow =
        (struct workflow){.name = TEXT("random"),
                          .version = 1 + dice_roll(dice, 9),
                          .timeout_ms = dice_percent(dice, 40) ? 1000 + dice_roll(dice, 60000) : 0,
                          .steps = steps,
                          .step_count = count,
                          .pivot = pivot};
    if (dice_percent(dice, 50))
        shuffle(dice, workflow, steps);
    return workflow;
}
