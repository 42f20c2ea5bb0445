/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of attempts: starts, outcomes, and the events after a failure. */
#include "tests/property/engine_random.h"
#include "tests/property/engine_rules.h"

static const struct retry_policy *policy_of(const struct rules *rules, uint32_t index,
                                            enum direction direction)
{
    const struct workflow_step *step = &rules->workflow->steps[index];
    return direction == DIRECTION_DO ? &step->retry : &step->compensate.retry;
}

/* ---- starts ---- */

/* I9: later completions first; steps with effect unknown rank by their start, which comes after the
 * completion in the same Decision. */
static uint64_t rank(const struct rules_step *step)
{
    return step->ways[DIRECTION_DO].effect == EFFECT_APPLIED ? 2 * step->applied_version
                                                             : 2 * step->started_version + 1;
}

static void check_undo_turn(struct rules *rules, uint32_t index)
{
    RULE(rules, rules_open_undo(rules) < 0, "two undos at a time");
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        if (i == index || !rules_to_undo(rules, i) || rules->steps[i].turned)
            continue;
        uint64_t mine = rank(&rules->steps[index]);
        uint64_t other = rank(&rules->steps[i]);
        RULE(rules, mine > other || (mine == other && index > i),
             "step %u is undone before step %u", index, i);
    }
}

static void check_start_undo(struct rules *rules, uint32_t index)
{
    RULE(rules, rules->phase == PHASE_BACKWARD && !rules->error, "an undo out of turn");
    RULE(rules, !rules_any_runs(rules), "an undo starts while an attempt may run");
    RULE(rules, rules_to_undo(rules, index), "nothing of step %u is to be undone", index);
    RULE(rules, !rules->steps[index].skipped, "step %u was skipped", index);
    uint64_t behind = steps_behind(rules->workflow, (int)index);
    for (uint32_t i = 0; i < rules->workflow->step_count; i++)
        RULE(rules,
             (behind >> i & 1) == 0 || !rules_to_undo(rules, i) ||
                 rules->steps[i].ways[DIRECTION_UNDO].state == WAY_DONE,
             "step %u is undone before step %u, which waited for it", index, i);
    if (!rules->steps[index].turned)
        check_undo_turn(rules, index);
}

static void check_start_do(struct rules *rules, uint32_t index)
{
    RULE(rules, rules->phase == PHASE_FORWARD && !rules->error, "a forward start out of turn");
    RULE(rules, rules_predecessors_done(rules, index), "step %u starts before its turn",
         index); /* I4 */
    RULE(rules, !rules->steps[index].skipped, "step %u starts, but it was skipped", index);
}

void rules_check_turn(struct rules *rules, uint32_t index, enum direction direction)
{
    const struct way *way = &rules->steps[index].ways[direction];
    RULE(rules, !rules->paused, "step %u starts during a pause", index);
    if (direction == DIRECTION_DO)
        check_start_do(rules, index);
    else
        check_start_undo(rules, index);
    RULE(rules,
         way->queued || way->state == WAY_FRESH || way->state == WAY_RESUBMITTED ||
             (way->state == WAY_WAITING && way->retry_at <= rules->decision->decided_at),
         "step %u may not start", index);
}

/* I5, I10 */
static void check_attempt(struct rules *rules, uint32_t index, const struct step_started *event)
{
    enum direction direction = event->ref.direction;
    struct way *way = &rules->steps[index].ways[direction];
    const struct workflow_step *plan = &rules->workflow->steps[index];
    const struct retry_policy *policy = policy_of(rules, index, direction);
    int64_t now = rules->decision->decided_at;
    uint32_t most = 1;
    for (uint32_t i = 0; i < policy->count; i++)
        most += policy->retriers[i].max_attempts;
    RULE(rules, event->ref.attempt == way->attempt + 1, "attempt %u follows %u", event->ref.attempt,
         way->attempt);
    RULE(rules, ++way->starts <= most, "step %u starts more often than its policy says", index);
    int64_t timeout = direction == DIRECTION_DO ? plan->timeout_ms : plan->compensate.timeout_ms;
    RULE(rules, event->complete_by == now + timeout, "not the timeout of step %u", index);
    RULE(rules, event->generation == way->generation, "not the generation of step %u", index);
}

static void started(struct rules *rules, uint32_t index, const struct step_started *event)
{
    struct rules_step *step = &rules->steps[index];
    struct way *way = &step->ways[event->ref.direction];
    rules_check_turn(rules, index, event->ref.direction);
    rules_check_choice(rules, index, event);
    check_attempt(rules, index, event);
    rules_check_when(rules, index, event->ref.direction);
    rules_check_input(rules, index, event);
    if (event->ref.direction == DIRECTION_DO)
        step->started_version = rules->version;
    else
        rules->rare[RARE_UNKNOWN_UNDONE] += step->ways[DIRECTION_DO].effect == EFFECT_UNKNOWN;
    step->turned = event->ref.direction == DIRECTION_UNDO;
    step->agent = event->agent;
    rules->rare[RARE_LEFT_QUEUE] += way->queued;
    way->queued = false;
    way->started_at = rules->decision->decided_at;
    way->state = WAY_RUNNING;
    way->attempt = event->ref.attempt;
    way->complete_by = way->first_due = event->complete_by;
    way->margin_ms = event->margin_ms;
}

/* The extension grants exactly the permitted time, which is known to be positive. */
static void extended(struct rules *rules, uint32_t index, const struct step_extended *event)
{
    struct way *way = &rules->steps[index].ways[event->ref.direction];
    const struct workflow_step *plan = &rules->workflow->steps[index];
    const struct extend_step *asked = &rules->cmd->extend_step;
    bool undo = event->ref.direction == DIRECTION_UNDO;
    int64_t latest =
        way->first_due + (undo ? plan->compensate.max_extension_ms : plan->max_extension_ms);
    int64_t due = asked->complete_by < latest ? asked->complete_by : latest;
    RULE(rules, way->state == WAY_RUNNING, "extended, but it does not run");
    RULE(rules, event->complete_by == due, "not the time that is to be granted");
    RULE(rules, text_equal(event->progress, asked->progress), "other progress than was told");
    RULE(rules, text_equal(event->by, asked->instance), "by another one");
    RULE(rules, text_equal(event->action, undo ? plan->compensate.action : plan->name),
         "another action");
    rules->rare[RARE_EXTENDED]++;
    rules->rare[RARE_EXTENSION_BOUNDED] += due < asked->complete_by;
    rules->rare[RARE_EXTENDED_OVERDUE] +=
        rules->decision->decided_at >= way->complete_by + way->margin_ms;
    way->complete_by = event->complete_by;
}

/* ---- outcomes ---- */

/* I6: only a running attempt gets an outcome, which ends it. */
static void end(struct rules *rules, uint32_t index, const struct attempt_ref *ref,
                enum way_state state)
{
    struct way *way = &rules->steps[index].ways[ref->direction];
    RULE(rules, way->state == WAY_RUNNING && way->attempt == ref->attempt,
         "an outcome of attempt %u of step %u, which does not run", ref->attempt, index);
    way->state = state;
}

static void succeeded(struct rules *rules, uint32_t index, const struct step_succeeded *event)
{
    struct rules_step *step = &rules->steps[index];
    const struct attempt_ref *ref = &event->ref;
    end(rules, index, ref, WAY_DONE);
    if (ref->direction == DIRECTION_DO) {
        rules_check_output(rules, index, event->output);
        step->ways[DIRECTION_DO].effect = EFFECT_APPLIED;
        step->applied_version = rules->version;
        rules->rare[RARE_SUCCESS_WHILE_UNDOING] += rules->phase == PHASE_BACKWARD;
        rules->rare[RARE_SUCCESS_IN_ERROR] += rules->error;
        return;
    }
    struct event next = rules_peek(rules, 1);
    RULE(rules,
         next.kind == EVENT_STEP_COMPENSATED && text_equal(next.step_marked.ref.step, ref->step),
         "undone, then %s", event_kind_name(next.kind));
}

static bool matches(const struct error_set *set, struct text error)
{
    for (uint32_t i = 0; i < set->count; i++) {
        struct text name = set->names[i];
        if (text_equal(name, TEXT("States.ALL")) || text_equal(name, error) ||
            (text_equal(name, TEXT("States.TaskFailed")) &&
             !text_equal(error, TEXT("States.Timeout"))))
            return true;
    }
    return false;
}

static void check_retry(struct rules *rules, const struct way *way,
                        const struct retry_policy *policy, uint32_t number)
{
    struct event next = rules_peek(rules, 1);
    const struct step_retry_scheduled *scheduled = &next.step_retry_scheduled;
    RULE(rules, next.kind == EVENT_STEP_RETRY_SCHEDULED, "retries are left, but then %s",
         event_kind_name(next.kind));
    if (next.kind != EVENT_STEP_RETRY_SCHEDULED)
        return;
    RULE(rules, scheduled->retrier == number && scheduled->retry == way->used[number] + 1,
         "not the first retrier with retries left");
    const struct retrier *retrier = &policy->retriers[number];
    long double full = (long double)retrier->interval_ms;
    for (uint32_t i = 1; i < scheduled->retry; i++)
        full = full * retrier->backoff_rate_milli / 1000;
    if (retrier->max_delay_ms > 0 && full > (long double)retrier->max_delay_ms)
        full = (long double)retrier->max_delay_ms;
    long double wait = (long double)(scheduled->retry_at - rules->decision->decided_at);
    RULE(rules, wait >= 0 && wait <= full, "waits %Lf, at most %Lf", wait, full);
    RULE(rules, retrier->jitter == JITTER_FULL || wait > full - 1.1L, "waits %Lf, not %Lf", wait,
         full);
    rules->rare[RARE_NO_WAIT] += wait <= 0;
}

static void check_exhausted(struct rules *rules, uint32_t index, enum direction direction,
                            struct text error)
{
    const struct workflow_step *plan = &rules->workflow->steps[index];
    enum outcome outcome = plan->on_exhausted;
    for (uint32_t i = plan->catcher_count; i > 0; i--) {
        if (matches(&plan->catchers[i - 1].errors, error)) {
            outcome = plan->catchers[i - 1].next;
            rules->rare[RARE_CAUGHT]++;
        }
    }
    bool back = direction == DIRECTION_DO && outcome == OUTCOME_COMPENSATE && rules_way_back(rules);
    bool on = direction == DIRECTION_DO && outcome == OUTCOME_CONTINUE;
    struct event next = rules_peek(rules, 1);
    struct event then = rules_peek(rules, 2);
    if (on) {
        RULE(rules, next.kind == EVENT_STEP_CAUGHT, "to be caught, but then %s",
             event_kind_name(next.kind));
        rules->rare[RARE_CONTINUED]++;
        return;
    }
    RULE(rules, next.kind == EVENT_STEP_EXHAUSTED, "no retry is left, but then %s",
         event_kind_name(next.kind));
    rules->rare[RARE_TIMEOUT_EXHAUSTS] += rules->cmd->kind == COMMAND_RECOVER_STEP;
    rules->rare[RARE_UNKNOWN_PIVOT_IN_ERROR] +=
        (int)index == rules->workflow->pivot && !rules_way_back(rules);
    if (rules->error)
        RULE(rules, then.kind == 0, "%s while in Error", event_kind_name(then.kind));
    else
        RULE(rules,
             then.kind == (back ? EVENT_COMPENSATION_STARTED : EVENT_ORDER_FAILED) &&
                 text_equal(then.order_marked.code, error),
             "exhausted, then %s", event_kind_name(then.kind)); /* I10 */
}

void rules_check_what_follows(struct rules *rules, uint32_t index, enum direction direction,
                              struct text error, bool again)
{
    const struct way *way = &rules->steps[index].ways[direction];
    if (rules->phase == PHASE_BACKWARD && direction == DIRECTION_DO) {
        struct event next = rules_peek(rules, 1);
        RULE(rules, (next.kind == EVENT_STEP_SKIPPED) == !rules_to_undo(rules, index),
             "step %u failed while undoing, then %s", index, event_kind_name(next.kind));
        return;
    }
    const struct retry_policy *policy = policy_of(rules, index, direction);
    for (uint32_t i = 0; i < policy->count && again; i++) {
        if (matches(&policy->retriers[i].errors, error) &&
            way->used[i] < policy->retriers[i].max_attempts) {
            check_retry(rules, way, policy, i);
            return;
        }
    }
    check_exhausted(rules, index, direction, error);
}

/* Applied outranks unknown, unknown outranks none. */
static enum effect worse(enum effect a, enum effect b)
{
    static const int ranks[] = {[EFFECT_NONE] = 0, [EFFECT_UNKNOWN] = 1, [EFFECT_APPLIED] = 2};
    return ranks[a] >= ranks[b] ? a : b;
}

/* Its service has answered, whatever became of the attempts before: the next one has a new key. */
static void ask_again(struct rules *rules, struct rules_step *step)
{
    struct way *way = &step->ways[DIRECTION_DO];
    rules->rare[RARE_NOT_YET]++;
    rules->rare[RARE_NOT_YET_CERTAIN] += way->effect != EFFECT_NONE;
    rules->rare[RARE_NOT_YET_UNDOING] += rules->phase == PHASE_BACKWARD;
    rules->rare[RARE_NOT_YET_ENOUGH] += rules_peek(rules, 1).kind == EVENT_STEP_EXHAUSTED;
    way->generation++;
    step->asked_again = true;
}

static void failed(struct rules *rules, uint32_t index, const struct event *event)
{
    bool timeout = event->kind == EVENT_STEP_TIMED_OUT;
    const struct attempt_ref *ref = event_ref(event);
    struct rules_step *step = &rules->steps[index];
    struct way *way = &step->ways[ref->direction];
    enum effect effect = timeout ? event->step_timed_out.effect : event->step_failed.effect;
    uint32_t count =
        timeout ? event->step_timed_out.failure_count : event->step_failed.failure_count;
    bool mapped = !timeout && rules->cmd->report_step.succeeded; /* and not kept */
    struct text fault = mapped ? rules_output_fault(rules, index) : (struct text){0};
    bool again = mapped && text_equal(fault, TEXT("States.NotYet"));
    enum effect reported = timeout  ? EFFECT_UNKNOWN
                           : mapped ? EFFECT_APPLIED
                                    : rules->cmd->report_step.effect;
    int64_t due = way->complete_by + way->margin_ms;
    RULE(rules, !timeout || rules->decision->decided_at >= due, "timed out early"); /* I8 */
    end(rules, index, ref, WAY_FAILED);
    RULE(rules, count == ++way->failures, "failure_count %u is not %u", count, way->failures);
    RULE(rules, timeout || event->step_failed.not_yet == again, "asked again, or not");
    enum effect known = again ? EFFECT_NONE : worse(way->effect, reported);
    RULE(rules, effect == known, "the effect is not %s", effect_name(known));
    if (again)
        ask_again(rules, step);
    if (ref->direction == DIRECTION_DO && effect == EFFECT_APPLIED && way->effect != effect)
        step->applied_version = rules->version;
    way->effect = effect;
    rules->rare[RARE_FAILURE_IN_ERROR] += rules->error;
    step->error_name = timeout ? TEXT("States.Timeout") : event->step_failed.error_name;
    RULE(rules, !mapped || text_equal(step->error_name, fault),
         "failed with %.*s, though its service succeeded", TEXT_ARG(step->error_name));
    bool asks = mapped && rules_mappings(rules, rules->workflow, index)->until != NULL;
    rules->rare[RARE_UNTIL_FAULT] += asks && !again;
    rules->rare[RARE_OUTPUT_FAULT] += mapped && !again;
    rules->rare[RARE_OUTPUT_FAULT_UNDOING] += mapped && !again && rules->phase == PHASE_BACKWARD;
    rules_check_what_follows(rules, index, ref->direction, step->error_name, !mapped || again);
}

/* ---- marks ---- */

static void retry_scheduled(struct rules *rules, uint32_t index,
                            const struct step_retry_scheduled *event)
{
    struct way *way = &rules->steps[index].ways[event->ref.direction];
    RULE(rules, way->state == WAY_FAILED, "a retry of what did not fail");
    RULE(rules,
         rules->phase == (event->ref.direction == DIRECTION_DO ? PHASE_FORWARD : PHASE_BACKWARD),
         "a retry out of turn");
    way->state = WAY_WAITING;
    way->retry_at = event->retry_at;
    way->used[event->retrier] = event->retry;
}

static void skipped(struct rules *rules, uint32_t index, const struct step_marked *event)
{
    struct rules_step *step = &rules->steps[index];
    enum way_state state = step->ways[DIRECTION_DO].state;
    if (rules->phase != PHASE_BACKWARD) {
        rules_skipped_by_when(rules, index, event);
        return;
    }
    rules->rare[RARE_QUEUED_SKIPPED] += step->ways[DIRECTION_DO].queued;
    rules->rare[RARE_WAIT_SKIPPED] += state == WAY_TIMED;
    rules->rare[RARE_AWAIT_SKIPPED] += state == WAY_AWAITING;
    RULE(rules,
         state == WAY_FRESH || state == WAY_RESUBMITTED || state == WAY_WAITING ||
             state == WAY_TIMED || state == WAY_AWAITING || state == WAY_FAILED ||
             step->ways[DIRECTION_DO].queued,
         "step %u is not to be skipped", index);
    RULE(rules, !rules_to_undo(rules, index), "step %u is skipped, but it is to be undone", index);
    RULE(rules, !step->skipped, "step %u is skipped twice", index);
    rules_drop_signals(rules, index, true);
    step->skipped = true;
}

static void resubmitted(struct rules *rules, uint32_t index, const struct step_resubmitted *event)
{
    struct way *way = &rules->steps[index].ways[event->ref.direction];
    enum direction direction = rules->phase == PHASE_FORWARD ? DIRECTION_DO : DIRECTION_UNDO;
    RULE(rules, rules->cmd->kind == COMMAND_RESUBMIT_STEP, "resubmitted without a request");
    RULE(rules, way->state == WAY_EXHAUSTED && event->ref.direction == direction,
         "step %u is not in Error", index);
    const struct resubmit_step *asked = &rules->cmd->resubmit_step;
    bool vouched =
        asked->new_generation &&
        (text_empty(asked->step) || text_equal(asked->step, rules->workflow->steps[index].name));
    rules->rare[RARE_VOUCHED] += vouched && way->effect != EFFECT_NONE;
    if (vouched)
        way->effect = EFFECT_NONE;
    way->generation += way->effect == EFFECT_NONE ? 1 : 0;
    RULE(rules, event->generation == way->generation, "generation %u is not %u", event->generation,
         way->generation);
    rules->rare[way->effect == EFFECT_NONE ? RARE_NEW_KEY : RARE_OLD_KEY_RESUBMITTED]++;
    rules->rare[RARE_UNDO_RESUBMITTED] += direction == DIRECTION_UNDO;
    way->state = WAY_RESUBMITTED;
    way->input = (struct text){0};
    way->starts = 0;
    way->failures = 0;
    memset(way->used, 0, sizeof(way->used));
}

/* ---- by hand: whether it may be is the verdict's to say ---- */

static void passed_by_hand(struct rules *rules, uint32_t index, enum way_state before)
{
    RULE(rules, text_empty(rules->workflow->steps[index].await.from),
         "step %u is passed by hand, without its group", index);
    rules->rare[RARE_WAIT_BY_HAND] += before == WAY_TIMED;
    rules->rare[RARE_AWAIT_BY_HAND] += before == WAY_AWAITING;
    rules_drop_signals(rules, index, true);
}

static void completed_by_hand(struct rules *rules, uint32_t index,
                              const struct step_completed_by_hand *event)
{
    struct rules_step *step = &rules->steps[index];
    struct way *way = &step->ways[event->ref.direction];
    RULE(rules, way->state != WAY_RUNNING, "completed by hand while it runs");
    RULE(rules, text_equal(event->output, rules->cmd->complete_step.output), "another output");
    enum way_state before = way->state;
    way->state = WAY_DONE;
    way->queued = false;
    if (event->ref.direction == DIRECTION_UNDO) {
        rules->rare[RARE_UNDO_COMPLETED]++;
        return;
    }
    rules->rare[RARE_COMPLETED]++;
    passed_by_hand(rules, index, before);
    rules->rare[RARE_COMPLETED_UNSTARTED] += way->attempt == 0;
    way->effect = EFFECT_APPLIED;
    step->output = event->output;
    step->applied_version = rules->version;
}

static void skipped_by_hand(struct rules *rules, uint32_t index,
                            const struct step_skipped_by_hand *event)
{
    struct rules_step *step = &rules->steps[index];
    struct way *way = &step->ways[DIRECTION_DO];
    RULE(rules, event->ref.direction == DIRECTION_DO, "an undo is skipped");
    RULE(rules, way->state != WAY_RUNNING && way->state != WAY_DONE && !step->skipped,
         "skipped by hand while it runs, or after its end");
    passed_by_hand(rules, index, way->state);
    rules->rare[RARE_SKIPPED_BY_HAND]++;
    rules->rare[RARE_SKIP_VOUCHED] += way->effect == EFFECT_UNKNOWN;
    way->effect = EFFECT_NONE;
    way->state = WAY_DONE;
    way->queued = false;
    step->skipped = step->by_hand = true;
}

static void failed_unstarted(struct rules *rules, uint32_t index,
                             const struct step_failed_unstarted *event)
{
    bool by_hand = rules->at == 0 && rules->cmd->kind == COMMAND_FAIL_STEP;
    struct way *way = &rules->steps[index].ways[event->ref.direction];
    RULE(rules, way->state != WAY_RUNNING && way->state != WAY_DONE, "failed out of turn");
    if (!by_hand)
        rules_failed_unstarted(rules, index, event);
    RULE(rules, event->failure_count == ++way->failures, "failure_count %u is not %u",
         event->failure_count, way->failures);
    way->state = WAY_FAILED;
    way->queued = false;
    rules_drop_signals(rules, index, false);
    rules->steps[index].error_name = event->error_name;
    rules->steps[index].by_hand = by_hand;
    rules->steps[index].turned = event->ref.direction == DIRECTION_UNDO;
    rules->rare[RARE_FAILED_BY_HAND] += by_hand;
    rules->rare[RARE_FAILED_BY_HAND_CAUGHT] +=
        by_hand && rules_peek(rules, 1).kind == EVENT_STEP_EXHAUSTED;
    rules_check_what_follows(rules, index, event->ref.direction, event->error_name, by_hand);
}

void rules_step_event(struct rules *rules, const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    int index = rules_index(rules, ref->step);
    RULE(rules, index >= 0, "no such step");
    if (index < 0)
        return;
    uint32_t at = (uint32_t)index;
    struct way *way = &rules->steps[at].ways[ref->direction];
    RULE(rules, event->kind == EVENT_STEP_STARTED || way->attempt == ref->attempt,
         "%s of attempt %u, not of %u", event_kind_name(event->kind), ref->attempt, way->attempt);
    if (event->kind == EVENT_STEP_STARTED)
        started(rules, at, &event->step_started);
    else if (event->kind == EVENT_STEP_SUCCEEDED)
        succeeded(rules, at, &event->step_succeeded);
    else if (event->kind == EVENT_STEP_FAILED || event->kind == EVENT_STEP_TIMED_OUT)
        failed(rules, at, event);
    else if (event->kind == EVENT_STEP_RETRY_SCHEDULED)
        retry_scheduled(rules, at, &event->step_retry_scheduled);
    else if (event->kind == EVENT_STEP_EXHAUSTED) {
        RULE(rules, way->state == WAY_FAILED, "exhausted, but not failed");
        way->state = WAY_EXHAUSTED;
    } else if (event->kind == EVENT_STEP_CAUGHT) {
        RULE(rules, way->state == WAY_FAILED && ref->direction == DIRECTION_DO,
             "caught, but not failed");
        way->state = WAY_DONE;
        rules_drop_signals(rules, at, true);
        rules->steps[at].skipped = rules->steps[at].caught = true;
    } else if (event->kind == EVENT_STEP_SKIPPED)
        skipped(rules, at, &event->step_marked);
    else if (event->kind == EVENT_STEP_WAITING)
        rules_waits(rules, at, &event->step_waiting);
    else if (event->kind == EVENT_STEP_PASSED)
        rules_passed(rules, at, &event->step_passed);
    else if (event->kind == EVENT_STEP_QUEUED)
        rules_queued(rules, at, &event->step_queued);
    else if (event->kind == EVENT_STEP_EXTENDED)
        extended(rules, at, &event->step_extended);
    else if (event->kind == EVENT_STEP_COMPLETED_BY_HAND)
        completed_by_hand(rules, at, &event->step_completed_by_hand);
    else if (event->kind == EVENT_STEP_SKIPPED_BY_HAND)
        skipped_by_hand(rules, at, &event->step_skipped_by_hand);
    else if (event->kind == EVENT_STEP_FAILED_UNSTARTED)
        failed_unstarted(rules, at, &event->step_failed_unstarted);
    else if (event->kind == EVENT_STEP_COMPENSATED)
        RULE(rules, way->state == WAY_DONE && ref->direction == DIRECTION_UNDO, "not undone");
    else
        resubmitted(rules, at, &event->step_resubmitted);
}
