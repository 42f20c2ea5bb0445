/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of an order that gets the steps of another version of its workflow. */
#include "tests/property/engine_rules.h"

int rules_target_index(const struct rules *rules, struct text step)
{
    for (uint32_t i = 0; i < rules->target->step_count; i++) {
        if (text_equal(rules->target->steps[i].name, step))
            return (int)i;
    }
    return -1;
}

static bool same_retrier(const struct retrier *a, const struct retrier *b)
{
    bool same = a->errors.count == b->errors.count;
    for (uint32_t i = 0; same && i < a->errors.count; i++)
        same = text_equal(a->errors.names[i], b->errors.names[i]);
    return same && a->interval_ms == b->interval_ms && a->max_delay_ms == b->max_delay_ms &&
           a->backoff_rate_milli == b->backoff_rate_milli && a->jitter == b->jitter &&
           a->max_attempts == b->max_attempts;
}

/* A retrier that both versions have goes on counting; any other one begins. */
static void move_retries(struct rules *rules, const struct retry_policy *from,
                         const struct retry_policy *to, struct way *way)
{
    uint32_t used[RETRIERS_MAX] = {0};
    bool lost = false;
    for (uint32_t i = to->count; i > 0; i--) {
        for (uint32_t j = from->count; j > 0; j--) {
            if (same_retrier(&to->retriers[i - 1], &from->retriers[j - 1]))
                used[i - 1] = way->used[j - 1];
        }
        lost = lost || used[i - 1] != way->used[i - 1];
    }
    rules->rare[RARE_RETRIES_MOVED] += lost;
    memcpy(way->used, used, sizeof(used));
    way->starts = 0; /* in this version */
}

/* For its next attempt, which may ask for something else; none had an effect. */
static bool waits_again(const struct way *way)
{
    return way->attempt > 0 && way->effect == EFFECT_NONE &&
           (way->state == WAY_WAITING || way->state == WAY_RESUBMITTED || way->state == WAY_FRESH);
}

/* The step may be of another kind from now on, unless it counts: then its signals are forgotten. */
static void move_signals(struct rules *rules, struct rules_step *step)
{
    enum way_state state = step->ways[DIRECTION_DO].state;
    bool early = !text_empty(step->signals.early);
    rules->rare[RARE_AWAIT_MIGRATED] += state == WAY_AWAITING;
    rules->rare[RARE_EARLY_MIGRATED] += early;
    if (state == WAY_AWAITING || state == WAY_DONE || early)
        return;
    rules->rare[RARE_SIGNALS_FORGOTTEN] += step->signals.count > 0;
    step->signals = (struct rules_signals){0};
}

/* Steps that waited are looked at again. */
void rules_migrated(struct rules *rules, const struct order_migrated *event)
{
    struct rules_step steps[WORKFLOW_STEPS_MAX] = {0};
    const struct workflow *target = rules->target;
    RULE(rules, rules->cmd->kind == COMMAND_MIGRATE_ORDER, "migrated without a request");
    RULE(rules, event->workflow_version == target->version, "migrated to another version");
    RULE(rules, event->step_count == target->step_count, "not the steps of the other version");
    if (event->step_count != target->step_count)
        return;
    rules->rare[RARE_MIGRATED]++;
    rules->rare[RARE_MIGRATED_RUNNING] += rules_any_runs(rules);
    rules->rare[RARE_MIGRATED_IN_ERROR] += rules->error;
    for (uint32_t i = 0; i < target->step_count; i++) {
        int from = rules_index(rules, target->steps[i].name);
        struct way *way = &steps[i].ways[DIRECTION_DO];
        if (from >= 0) {
            steps[i] = rules->steps[from];
            move_retries(rules, &rules->workflow->steps[from].retry, &target->steps[i].retry, way);
        }
        bool new_key = waits_again(way);
        RULE(rules, event->steps[i].new_key == new_key, "step %u gets another key, or not", i);
        way->generation += new_key;
        rules->rare[RARE_MIGRATED_NEW_KEY] += new_key;
        if (way->attempt == 0 && way->effect == EFFECT_NONE)
            steps[i].agent = workflow_step_agent(&target->steps[i]);
        way->queued = false;
        way->queued_at = 0;
        if (way->state != WAY_RUNNING)
            way->input = (struct text){0};
        if (way->state == WAY_WAITING)
            way->retry_at = 0;
        rules->rare[RARE_WAIT_MIGRATED] += way->state == WAY_TIMED;
        move_signals(rules, &steps[i]);
    }
    memcpy(rules->steps, steps, sizeof(steps));
    rules->workflow = target;
}
