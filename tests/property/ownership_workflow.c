/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_workflow.h"

static bool names(const struct error_set *set, struct text name)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (text_equal(set->names[i], name))
            return true;
    return false;
}

/* Each name once, and States.ALL alone. */
static struct error_set repair_errors(const struct error_set *errors)
{
    struct error_set sound = {0};
    if (names(errors, TEXT(ERROR_ALL))) {
        sound.names[sound.count++] = TEXT(ERROR_ALL);
        return sound;
    }
    for (uint32_t i = 0; i < errors->count; i++)
        if (!names(&sound, errors->names[i]))
            sound.names[sound.count++] = errors->names[i];
    return sound;
}

/* Nothing stands behind the one that matches all. */
static struct retry_policy repair_retry(const struct retry_policy *retry, struct arena *arena)
{
    struct retrier *retriers = ARENA_ARRAY(arena, struct retrier, retry->count + 1);
    struct retry_policy sound = {.retriers = retriers};
    while (sound.count < retry->count) {
        struct retrier *retrier = &retriers[sound.count];
        *retrier = retry->retriers[sound.count];
        retrier->errors = repair_errors(&retrier->errors);
        if (retrier->interval_ms == 0)
            retrier->interval_ms = 1;
        if (retrier->max_delay_ms != 0 && retrier->max_delay_ms < retrier->interval_ms)
            retrier->max_delay_ms = retrier->interval_ms;
        sound.count++;
        if (names(&retrier->errors, TEXT(ERROR_ALL)))
            break;
    }
    return sound;
}

static void repair_catchers(struct workflow_step *step, bool no_way_back, struct arena *arena)
{
    struct catcher *catchers = ARENA_ARRAY(arena, struct catcher, step->catcher_count + 1);
    uint32_t count = 0;
    while (count < step->catcher_count) {
        struct catcher *catcher = &catchers[count];
        *catcher = step->catchers[count];
        catcher->errors = repair_errors(&catcher->errors);
        if (no_way_back || catcher->next == OUTCOME_CONTINUE)
            catcher->next = OUTCOME_ERROR;
        count++;
        if (names(&catcher->errors, TEXT(ERROR_ALL)))
            break;
    }
    step->catchers = catchers;
    step->catcher_count = count;
}

const struct workflow *random_sound_workflow(struct dice *dice, struct arena *arena)
{
    const struct workflow *random = random_workflow(dice, arena);
    struct workflow *workflow = ARENA_NEW(arena, struct workflow);
    struct workflow_step *steps = ARENA_ARRAY(arena, struct workflow_step, random->step_count);
    *workflow = *random;
    workflow->steps = steps;
    /* That all retries fit into an order's time is seldom so by chance. */
    if (workflow->step_count > 1 || dice_percent(dice, 50))
        workflow->timeout_ms = workflow->timeout_ms > 0 ? 600000 : 0;
    uint64_t behind = steps_behind(random, random->pivot);
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        struct workflow_step *step = &steps[i];
        bool no_way_back = (behind >> i & 1) != 0;
        *step = random->steps[i];
        step->retry = repair_retry(&step->retry, arena);
        repair_catchers(step, no_way_back, arena);
        if (no_way_back)
            step->on_exhausted = OUTCOME_ERROR;
        if (step->has_compensate)
            step->compensate.retry = repair_retry(&step->compensate.retry, arena);
    }
    return workflow;
}
