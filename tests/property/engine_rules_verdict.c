/* SPDX-License-Identifier: Apache-2.0 */
/* The expected result of a command, according to the model. */
#include "tests/property/engine_rules.h"

/* The direction of the step: undo once its undo has begun or waits to begin. */
static enum direction direction_of(const struct rules_step *step)
{
    return step->turned ? DIRECTION_UNDO : DIRECTION_DO;
}

static const char *submit(const struct rules *rules, const struct order_details *details)
{
    if (rules->phase == PHASE_NONE)
        return NULL;
    bool same =
        memcmp(&details->content_hash, &rules->content_hash, sizeof(rules->content_hash)) == 0;
    return same ? "repeat" : "ContentDiffers";
}

static const char *turn_back(struct rules *rules)
{
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    if (rules->phase == PHASE_PROCESSED || rules->phase == PHASE_COMPENSATED)
        return "AlreadyEnded";
    if (rules->phase == PHASE_BACKWARD) {
        rules->rare[RARE_CANCELLED_WHILE_UNDOING]++;
        return "AlreadyCompensating";
    }
    if (rules_way_back(rules))
        return NULL;
    rules->rare[RARE_PAST_PIVOT]++;
    rules->rare[RARE_PAST_SKIPPED_PIVOT] += rules->steps[rules->workflow->pivot].skipped;
    return "PastPivot";
}

static const char *resubmit(const struct rules *rules, const struct resubmit_step *asked)
{
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    if (!rules->error)
        return "NotInError";
    if (text_empty(asked->step))
        return NULL;
    int index = rules_index(rules, asked->step);
    if (index < 0)
        return "UnknownStep";
    enum direction direction = rules->phase == PHASE_FORWARD ? DIRECTION_DO : DIRECTION_UNDO;
    bool in_error = rules->steps[index].ways[direction].state == WAY_EXHAUSTED;
    return in_error ? NULL : "StepNotInError";
}

/* An operator vouches that nothing was applied, but an attempt was reported to be. */
static bool contradicts(const struct rules *rules, const struct resubmit_step *asked)
{
    enum direction direction = rules->phase == PHASE_FORWARD ? DIRECTION_DO : DIRECTION_UNDO;
    bool found = false;
    for (uint32_t i = 0; i < rules->workflow->step_count && asked->new_generation; i++) {
        const struct way *way = &rules->steps[i].ways[direction];
        bool meant =
            text_empty(asked->step) || text_equal(asked->step, rules->workflow->steps[i].name);
        found = found || (meant && way->state == WAY_EXHAUSTED && way->effect == EFFECT_APPLIED);
    }
    return found;
}

static const char *resubmit_within(const struct rules *rules, const struct resubmit_step *asked)
{
    const char *verdict = resubmit(rules, asked);
    if (verdict != NULL)
        return verdict;
    if (asked->timeout_ms != 0 && rules->phase == PHASE_BACKWARD)
        return "NoDeadline";
    if (!contradicts(rules, asked))
        return NULL;
    rules->rare[RARE_VOUCH_REFUSED]++;
    return "EffectRemains";
}

/* ---- by hand ---- */

/* NULL: the step has not ended, nothing of it runs, and it is its turn. */
static const char *by_hand(struct rules *rules, struct text name, struct way **ret_way)
{
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    if (rules->phase == PHASE_PROCESSED || rules->phase == PHASE_COMPENSATED)
        return "AlreadyEnded";
    int index = rules_index(rules, name);
    if (index < 0)
        return "UnknownStep";
    struct rules_step *step = &rules->steps[index];
    struct way *way = &step->ways[direction_of(step)];
    if (way->state == WAY_RUNNING) {
        rules->rare[RARE_BY_HAND_RUNNING]++;
        return "AttemptRuns";
    }
    if (step->skipped || (way->state == WAY_DONE && !way->queued))
        return "StepEnded";
    bool undo = direction_of(step) == DIRECTION_UNDO;
    if (undo != (rules->phase == PHASE_BACKWARD) ||
        (!undo && !rules_predecessors_done(rules, (uint32_t)index))) {
        rules->rare[RARE_BY_HAND_OUT_OF_TURN]++;
        return "NotItsTurn";
    }
    *ret_way = way;
    return NULL;
}

/* What a group is to decide, no operator passes. */
static const char *pass_by_hand(struct rules *rules, struct text name, struct way **ret_way)
{
    const char *verdict = by_hand(rules, name, ret_way);
    if (verdict != NULL || text_empty(rules->workflow->steps[rules_index(rules, name)].await.from))
        return verdict;
    rules->rare[RARE_NEEDS_SIGNAL]++;
    return "NeedsSignal";
}

static const char *complete(struct rules *rules, const struct complete_step *asked)
{
    struct way *way = NULL;
    const char *verdict = pass_by_hand(rules, asked->step, &way);
    if (verdict == NULL && rules->phase == PHASE_BACKWARD && !text_empty(asked->output))
        return "NoOutput";
    return verdict;
}

static const char *skip(struct rules *rules, const struct skip_step *asked)
{
    struct way *way = NULL;
    const char *verdict = pass_by_hand(rules, asked->step, &way);
    if (verdict != NULL)
        return verdict;
    if (rules->phase == PHASE_BACKWARD || way->effect == EFFECT_APPLIED)
        verdict = "EffectRemains";
    else if (way->effect == EFFECT_UNKNOWN && !asked->nothing_applied)
        verdict = "EffectUnknown";
    rules->rare[RARE_SKIP_REFUSED] += verdict != NULL;
    return verdict;
}

static const char *fail(struct rules *rules, const struct fail_step *asked)
{
    struct way *way = NULL;
    const char *verdict = by_hand(rules, asked->step, &way);
    return verdict == NULL && way->state == WAY_EXHAUSTED ? "StepEnded" : verdict;
}

static const char *pause(const struct rules *rules)
{
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    if (rules->phase == PHASE_PROCESSED || rules->phase == PHASE_COMPENSATED)
        return "AlreadyEnded";
    return rules->paused ? "AlreadyPaused" : NULL;
}

static const char *resume(const struct rules *rules)
{
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    return rules->paused ? NULL : "NotPaused";
}

/* A report counts if its attempt runs. Otherwise it is late, or its attempt never existed. */
static const char *report(struct rules *rules, const struct report_step *report)
{
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    int index = rules_index(rules, report->step);
    if (index < 0)
        return "UnknownStep";
    const struct rules_step *step = &rules->steps[index];
    const struct way *way = &step->ways[report->direction];
    bool current = report->direction == direction_of(step) && report->attempt == way->attempt;
    if (current && report->attempt > 0)
        return way->state == WAY_RUNNING ? NULL : "AlreadyEnded";
    if (report->direction == DIRECTION_DO && direction_of(step) == DIRECTION_UNDO) {
        rules->rare[RARE_UNDONE_BEFORE_REPORT]++;
        return "Superseded";
    }
    if (report->attempt == 0 || report->attempt > way->attempt)
        return "UnknownAttempt";
    rules->rare[RARE_LATE_IGNORED]++;
    return "Superseded";
}

/* The way that a supervisor's request names, if it is the current one, or NULL with
 * *ret_verdict. */
static const struct way *asked_way(const struct rules *rules, struct text step,
                                   enum direction direction, uint32_t attempt,
                                   const char **ret_verdict)
{
    int index = rules_index(rules, step);
    *ret_verdict = rules->phase == PHASE_NONE ? "UnknownOrder"
                   : index < 0                ? "UnknownStep"
                                              : "Stale";
    if (rules->phase == PHASE_NONE || index < 0)
        return NULL;
    const struct way *way = &rules->steps[index].ways[direction];
    bool current = direction_of(&rules->steps[index]) == direction && way->attempt == attempt;
    return current ? way : NULL;
}

static const char *recover(struct rules *rules, const struct recover_step *asked, int64_t now)
{
    const char *verdict = NULL;
    const struct way *way =
        asked_way(rules, asked->step, asked->direction, asked->attempt, &verdict);
    if (way == NULL)
        return verdict;
    if (way->state != WAY_RUNNING || way->complete_by != asked->complete_by)
        return "Stale";
    if (now >= way->complete_by + way->margin_ms)
        return NULL;
    rules->rare[RARE_EARLY_RECOVERY]++;
    return "NotYetDue";
}

/* A queued step starts as soon as one of its agents is healthy and has capacity; until then it is
 * checked again whenever its time has come. */
static const char *leave_queue(struct rules *rules, uint32_t index, enum direction direction,
                               int64_t now)
{
    const struct way *way = &rules->steps[index].ways[direction];
    if (rules->routing_unknown)
        return rules->decision->events[0].kind == EVENT_COMMAND_REJECTED ? "NotYetDue" : NULL;
    bool over = way->retry_at != 0 && now >= way->retry_at;
    if (over || !text_empty(rules_choice(rules, index, direction, 0)))
        return NULL;
    rules->rare[RARE_NO_CAPACITY_YET]++;
    return "NotYetDue";
}

static const char *start(struct rules *rules, const struct start_step *asked, int64_t now)
{
    const char *verdict = NULL;
    const struct way *way =
        asked_way(rules, asked->step, asked->direction, asked->attempt, &verdict);
    if (way == NULL)
        return verdict;
    enum phase phase = asked->direction == DIRECTION_DO ? PHASE_FORWARD : PHASE_BACKWARD;
    if (rules->error || rules->phase != phase)
        return "Stale";
    if (rules->paused)
        return "Paused";
    if (way->queued)
        return leave_queue(rules, (uint32_t)rules_index(rules, asked->step), asked->direction, now);
    bool timed = way->state == WAY_WAITING || way->state == WAY_TIMED ||
                 (way->state == WAY_AWAITING && way->retry_at != 0);
    if (!timed || way->retry_at != asked->retry_at)
        return "Stale";
    rules->rare[RARE_WAIT_EARLY] += way->state != WAY_WAITING && now < way->retry_at;
    return now >= way->retry_at ? NULL : "NotYetDue";
}

static const char *extend(struct rules *rules, const struct extend_step *asked, int64_t now)
{
    const char *verdict = NULL;
    const struct way *way =
        asked_way(rules, asked->step, asked->direction, asked->attempt, &verdict);
    if (way == NULL)
        return verdict;
    if (way->state != WAY_RUNNING)
        return "Stale";
    const struct workflow_step *plan = &rules->workflow->steps[rules_index(rules, asked->step)];
    bool undo = asked->direction == DIRECTION_UNDO;
    int64_t latest =
        way->first_due + (undo ? plan->compensate.max_extension_ms : plan->max_extension_ms);
    int64_t due = asked->complete_by < latest ? asked->complete_by : latest;
    if (due > way->complete_by && due > now)
        return NULL;
    rules->rare[RARE_EXTENSION_EXHAUSTED]++;
    return "ExtensionExhausted";
}

static const char *time_out(const struct rules *rules, const struct time_out_order *asked,
                            int64_t now)
{
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    if (rules->phase != PHASE_FORWARD || rules->error || rules->complete_by == 0 ||
        rules->complete_by != asked->complete_by)
        return "Stale";
    return now >= rules->complete_by + rules->margin_ms ? NULL : "NotYetDue";
}

static bool has_agent(const struct workflow_step *plan, struct text agent)
{
    bool has = false;
    for (uint32_t i = 0; i < plan->agent_count && !has; i++)
        has = text_equal(plan->agents[i], agent);
    return has;
}

/* The names of the steps that a step of each waits for. */
static bool same_after(const struct rules *rules, uint64_t after, uint64_t target_after)
{
    uint64_t moved = 0;
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        if ((after >> i & 1) == 0)
            continue;
        int to = rules_target_index(rules, rules->workflow->steps[i].name);
        if (to < 0)
            return false;
        moved |= UINT64_C(1) << to;
    }
    return moved == target_after;
}

static bool same_step(struct rules *rules, uint32_t index, uint32_t to, bool acts)
{
    const struct workflow_step *plan = &rules->workflow->steps[index];
    const struct workflow_step *target = &rules->target->steps[to];
    if (!same_after(rules, plan->after, target->after) || plan->pivot != target->pivot)
        return false;
    bool passed_over = rules->steps[index].skipped && !rules->steps[index].caught;
    if (plan->kind != target->kind && (acts || !passed_over)) {
        rules->rare[RARE_KIND_DIFFERS]++;
        return false;
    }
    if (plan->kind == STEP_KIND_AWAIT && !rules_awaits_the_same(rules, index, to)) {
        rules->rare[RARE_AWAIT_DIFFERS]++;
        return false;
    }
    if (!acts || plan->kind != STEP_KIND_TASK)
        return true;
    if (!mappings_same_input(rules_mappings(rules, rules->workflow, index)->input,
                             rules_mappings(rules, rules->target, to)->input, rules->arena)) {
        rules->rare[RARE_INPUT_DIFFERS]++;
        return false;
    }
    if (!mappings_same_input(rules_mappings(rules, rules->workflow, index)->until,
                             rules_mappings(rules, rules->target, to)->until, rules->arena)) {
        rules->rare[RARE_UNTIL_DIFFERS]++;
        return false;
    }
    return plan->has_compensate == target->has_compensate &&
           has_agent(target, rules->steps[index].agent);
}

/* Whether what the order has done means the same in both versions. */
static bool same_steps(struct rules *rules)
{
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        const struct rules_step *step = &rules->steps[i];
        const struct way *way = &step->ways[DIRECTION_DO];
        bool running = way->state == WAY_RUNNING;
        bool counts = running || way->state == WAY_DONE || way->state == WAY_TIMED ||
                      way->state == WAY_AWAITING || !text_empty(step->signals.early) ||
                      step->skipped || way->effect != EFFECT_NONE;
        int to = rules_target_index(rules, rules->workflow->steps[i].name);
        if (to < 0 && (counts || way->attempt > 0 || way->state == WAY_EXHAUSTED))
            return false;
        bool acts = running || way->effect != EFFECT_NONE;
        if (to >= 0 && counts && !same_step(rules, i, (uint32_t)to, acts))
            return false;
    }
    return true;
}

static const char *migrate(struct rules *rules, const struct migrate_order *asked)
{
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    if (!text_empty(asked->workflow) && !text_equal(asked->workflow, rules->workflow->name))
        return "OtherWorkflow";
    if (asked->from_version != 0 && asked->from_version != rules->workflow->version)
        return "OtherVersion";
    if (rules->phase == PHASE_PROCESSED || rules->phase == PHASE_COMPENSATED)
        return "AlreadyEnded";
    if (asked->version == rules->workflow->version)
        return "SameVersion";
    if (rules->phase == PHASE_BACKWARD)
        return "AlreadyCompensating";
    if (rules->target == NULL || rules->target->version != asked->version)
        return "UnknownWorkflow";
    if (rules->target_retired)
        return "WorkflowRetired";
    if (same_steps(rules))
        return NULL;
    rules->rare[RARE_MIGRATION_REFUSED]++;
    return "StepsDiffer";
}

const char *rules_verdict(struct rules *rules, const struct command *cmd, int64_t now)
{
    switch (cmd->kind) {
    case COMMAND_SUBMIT_ORDER:
        return submit(rules, &cmd->submit_order);
    case COMMAND_CANCEL_ORDER:
    case COMMAND_COMPENSATE_ORDER:
        return turn_back(rules);
    case COMMAND_RESUBMIT_STEP:
        return resubmit_within(rules, &cmd->resubmit_step);
    case COMMAND_COMPLETE_STEP:
        return complete(rules, &cmd->complete_step);
    case COMMAND_SKIP_STEP:
        return skip(rules, &cmd->skip_step);
    case COMMAND_FAIL_STEP:
        return fail(rules, &cmd->fail_step);
    case COMMAND_PAUSE_ORDER:
        return pause(rules);
    case COMMAND_RESUME_ORDER:
        return resume(rules);
    case COMMAND_MIGRATE_ORDER:
        return migrate(rules, &cmd->migrate_order);
    case COMMAND_AMEND_ORDER:
        return rules_amend_verdict(rules, &cmd->amend_order);
    case COMMAND_REPORT_STEP:
        return report(rules, &cmd->report_step);
    case COMMAND_RECOVER_STEP:
        return recover(rules, &cmd->recover_step, now);
    case COMMAND_START_STEP:
        return start(rules, &cmd->start_step, now);
    case COMMAND_TIME_OUT_ORDER:
        return time_out(rules, &cmd->time_out_order, now);
    case COMMAND_EXTEND_STEP:
        return extend(rules, &cmd->extend_step, now);
    case COMMAND_SIGNAL_ORDER:
        return rules_signal_verdict(rules, &cmd->signal_order);
    case COMMAND_REPORT_SUBORDER: /* not sent: no step has sub-orders */
    case COMMAND_SETTLE_SUBORDER:
    case COMMAND_UNDECODABLE:
    case COMMAND_KIND_COUNT:
        break;
    }
    return "dead";
}
