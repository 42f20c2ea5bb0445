/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of conditions and mappings: what each expression gives, when it counts, and what
 * follows where it fails. */
#include "tests/property/engine_data.h"
#include "tests/property/engine_rules.h"

/* Steps that have spent all of their time, until a Decision begins no further one. */
enum { SPENT_STEPS_MAX = 3 };

const struct mappings *rules_mappings(const struct rules *rules, const struct workflow *workflow,
                                      uint32_t index)
{
    static const struct mappings none;
    return rules->mapped ? &mapped_of(workflow)->steps[index] : &none;
}

static const struct mappings *mappings_at(const struct rules *rules, uint32_t index)
{
    return rules_mappings(rules, rules->workflow, index);
}

/* has(output.X) is true exactly if X is Processed, and has(error.X) if it is Caught. */
static struct term_step step_of(const void *of, struct text name)
{
    const struct rules *rules = of;
    int index = rules_index(rules, name);
    if (index < 0)
        return (struct term_step){0};
    const struct rules_step *step = &rules->steps[index];
    return (struct term_step){
        .has_output = step->ways[DIRECTION_DO].state == WAY_DONE && !step->skipped,
        .has_error = step->caught,
        .output = step->output,
        .error_name = step->error_name,
    };
}

struct term_scope rules_scope(const struct rules *rules, bool *spent, struct text result)
{
    return (struct term_scope){
        .arena = rules->arena,
        .step = step_of,
        .of = rules,
        .input = rules->input,
        .result = result,
        .customer = TEXT("17850"),
        .disabled = rules->no_expressions,
        .spent = spent,
    };
}

static struct text error_of(enum fault fault)
{
    return fault == FAULT_LIMIT ? TEXT("States.DataLimitExceeded")
                                : TEXT("States.QueryEvaluationError");
}

struct text rules_without_null(struct text json)
{
    return text_equal(json, TEXT("null")) ? (struct text){0} : json;
}

/* ---- time ---- */

bool rules_time_is_up(const struct rules *rules)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rules->workflow->step_count; i++)
        count += rules->steps[i].spent;
    return count >= SPENT_STEPS_MAX;
}

static void check_time(struct rules *rules, uint32_t index)
{
    RULE(rules, !rules_time_is_up(rules), "step %u goes on, though there is no time left", index);
}

/* The step waits for a supervisor to ask, as it does for a retry. */
void rules_deferred(struct rules *rules, uint32_t index, const struct step_queued *event)
{
    struct way *way = &rules->steps[index].ways[DIRECTION_DO];
    RULE(rules, event->ref.direction == DIRECTION_DO, "an undo is put off");
    RULE(rules, rules_time_is_up(rules), "step %u is put off, though there is time left", index);
    RULE(rules, event->retry_at == rules->decision->decided_at, "put off to another time");
    RULE(rules, !way->queued, "step %u is queued already", index);
    way->state = WAY_WAITING;
    way->retry_at = event->retry_at;
    rules->rare[RARE_DEFERRED]++;
}

/* ---- the turn of a step ---- */

enum turn_kind { TURN_SKIPS, TURN_FAILS, TURN_PASSES, TURN_WAITS, TURN_STARTS };

struct turn {
    enum turn_kind kind;
    struct text error_name;
    struct text json; /* the output of a step that passes, or the question of one that waits */
    int64_t moment;   /* of one that waits, without the part of SpreadSeconds */
    enum rare rare;
};

static struct turn fails(enum fault fault, enum rare rare)
{
    return (struct turn){.kind = TURN_FAILS, .error_name = error_of(fault), .rare = rare};
}

static struct turn turn_of_set(struct term_scope *scope, const struct mappings *trees)
{
    enum fault fault;
    struct text json;
    if (!term_json(scope, trees->set, SET_BYTES_MAX, &json, &fault))
        return fails(fault, RARE_SET_FAULT);
    return (struct turn){.kind = TURN_PASSES, .json = rules_without_null(json), .rare = RARE_SET};
}

static struct turn turn_of_fail(struct term_scope *scope, const struct mappings *trees,
                                struct text error_name)
{
    enum fault fault;
    struct text message;
    if (trees->message != NULL &&
        !term_text(scope, trees->message, MESSAGE_BYTES_MAX, &message, &fault))
        return fails(fault, RARE_FAIL_FAULT);
    return (struct turn){.kind = TURN_FAILS, .error_name = error_name, .rare = RARE_FAIL};
}

static struct turn turn_of_wait(const struct rules *rules, struct term_scope *scope,
                                const struct mappings *trees)
{
    enum fault fault;
    int64_t now = rules->decision->decided_at;
    int64_t moment = trees->moment;
    if (trees->seconds != NULL) {
        if (!term_number(scope, trees->seconds, &moment, &fault))
            return fails(fault, RARE_WAIT_FAULT);
        moment = moment < 0 ? -1 : now + 1000 * moment;
    } else if (!term_may_begin(scope, &fault)) {
        return fails(fault, RARE_WAIT_FAULT);
    }
    if (moment < 0)
        return fails(FAULT_QUERY, RARE_WAIT_FAULT);
    if (moment <= now)
        return (struct turn){.kind = TURN_PASSES, .rare = RARE_WAIT_OVER};
    return (struct turn){.kind = TURN_WAITS,
                         .moment = moment,
                         .rare = trees->seconds != NULL ? RARE_WAITS : RARE_WAITS_UNTIL};
}

/* What came early counts at once, and nothing is asked. */
static struct turn turn_of_await(const struct rules *rules, uint32_t index,
                                 struct term_scope *scope, const struct mappings *trees)
{
    const struct rules_signals *signals = &rules->steps[index].signals;
    int64_t timeout = rules->workflow->steps[index].timeout_ms;
    int64_t due = timeout > 0 ? rules->decision->decided_at + timeout : 0;
    struct turn turn = {.kind = TURN_WAITS, .moment = due, .rare = RARE_AWAITS};
    enum fault fault;
    if (!text_empty(signals->early))
        return (struct turn){.kind = TURN_PASSES,
                             .json = rules_without_null(signals->early),
                             .rare = RARE_EARLY_TAKEN};
    if (trees->question != NULL &&
        !term_text(scope, trees->question, QUESTION_BYTES_MAX, &turn.json, &fault))
        return fails(fault, RARE_QUESTION_FAULT);
    return turn;
}

/* A When is asked each time, until an attempt may have had an effect. */
static struct turn turn_of(struct rules *rules, uint32_t index)
{
    struct rules_step *step = &rules->steps[index];
    const struct way *way = &step->ways[DIRECTION_DO];
    const struct workflow_step *plan = &rules->workflow->steps[index];
    const struct mappings *trees = mappings_at(rules, index);
    struct term_scope scope = rules_scope(rules, &step->spent, (struct text){0});
    bool asked = trees->when != NULL && !way->queued && way->effect == EFFECT_NONE;
    enum fault fault = FAULT_NONE;
    bool yes = true;
    if (asked && !term_holds(&scope, trees->when, &yes, &fault))
        return fails(fault, RARE_WHEN_FAULT);
    if (!yes)
        return (struct turn){.kind = TURN_SKIPS,
                             .rare = fault == FAULT_MISSING ? RARE_WHEN_MISSING : RARE_WHEN_FALSE};
    if (plan->kind == STEP_KIND_SET)
        return turn_of_set(&scope, trees);
    if (plan->kind == STEP_KIND_FAIL)
        return turn_of_fail(&scope, trees, plan->fail.error);
    if (plan->kind == STEP_KIND_WAIT)
        return turn_of_wait(rules, &scope, trees);
    if (plan->kind == STEP_KIND_AWAIT)
        return turn_of_await(rules, index, &scope, trees);
    return (struct turn){.kind = TURN_STARTS};
}

void rules_check_when(struct rules *rules, uint32_t index, enum direction direction)
{
    if (direction == DIRECTION_UNDO)
        return;
    check_time(rules, index);
    RULE(rules, turn_of(rules, index).kind == TURN_STARTS, "step %u starts, but it is not to",
         index);
}

void rules_skipped_by_when(struct rules *rules, uint32_t index, const struct step_marked *event)
{
    struct rules_step *step = &rules->steps[index];
    rules_check_turn(rules, index, DIRECTION_DO);
    check_time(rules, index);
    struct turn turn = turn_of(rules, index);
    RULE(rules, turn.kind == TURN_SKIPS, "step %u is skipped, though its When is not false", index);
    RULE(rules, event->reason.size > 6 && memcmp(event->reason.data, "When: ", 6) == 0,
         "skipped, and the reason is %.*s", TEXT_ARG(event->reason));
    rules->rare[turn.rare]++;
    rules->rare[RARE_WHEN_AFTER_ATTEMPT] += step->ways[DIRECTION_DO].attempt > 0;
    step->ways[DIRECTION_DO].state = WAY_DONE;
    rules_drop_signals(rules, index, true);
    step->skipped = true;
    step->by_hand = false;
}

/* Nothing is evaluated then, so it takes no time. */
static bool ends_an_error(const struct decision *decision)
{
    bool resumed = false;
    for (uint32_t i = 0; i < decision->event_count; i++)
        resumed = resumed || decision->events[i].kind == EVENT_ORDER_RESUMED;
    return resumed;
}

static void moment_comes(struct rules *rules, const struct way *way,
                         const struct step_passed *event)
{
    RULE(rules, !rules->paused, "passes during a pause");
    RULE(rules, rules->phase == PHASE_FORWARD && !rules->error, "passes out of turn");
    RULE(rules, way->retry_at <= rules->decision->decided_at, "passes before its moment");
    RULE(rules, text_empty(event->output), "a moment has an output");
    rules->rare[RARE_WAITED]++;
    rules->rare[RARE_WAITED_PAUSED] += rules->cmd->kind == COMMAND_RESUME_ORDER;
    rules->rare[RARE_WAITED_IN_ERROR] += ends_an_error(rules->decision);
}

void rules_waits(struct rules *rules, uint32_t index, const struct step_waiting *event)
{
    struct way *way = &rules->steps[index].ways[DIRECTION_DO];
    bool awaits = rules->workflow->steps[index].kind == STEP_KIND_AWAIT;
    int64_t spread = awaits ? 0 : rules->workflow->steps[index].wait.spread_ms;
    RULE(rules, event->ref.direction == DIRECTION_DO, "an undo waits for a moment");
    RULE(rules, event->for_signal == awaits, "step %u waits for something else", index);
    rules_check_turn(rules, index, DIRECTION_DO);
    check_time(rules, index);
    struct turn turn = turn_of(rules, index);
    int64_t later = event->due_at - turn.moment;
    RULE(rules, turn.kind == TURN_WAITS && later >= 0 && later <= spread,
         "step %u waits until %lld, not until %lld", index, (long long)event->due_at,
         (long long)turn.moment);
    RULE(rules, text_equal(event->question, turn.json), "step %u asks %.*s, not %.*s", index,
         TEXT_ARG(event->question), TEXT_ARG(turn.json));
    rules->rare[turn.rare]++;
    rules->rare[RARE_WAIT_SPREAD] += later > 0;
    rules->rare[awaits ? RARE_AWAITS_AGAIN : RARE_WAITS_AGAIN] +=
        way->failures > 0 || way->state == WAY_RESUBMITTED;
    if (awaits)
        rules_check_awaits(rules, index, event);
    way->state = awaits ? WAY_AWAITING : WAY_TIMED;
    way->retry_at = event->due_at;
    rules->steps[index].by_hand = false;
}

void rules_passed(struct rules *rules, uint32_t index, const struct step_passed *event)
{
    struct rules_step *step = &rules->steps[index];
    struct way *way = &step->ways[DIRECTION_DO];
    if (way->state == WAY_TIMED) {
        moment_comes(rules, way, event);
    } else if (way->state == WAY_AWAITING) {
        rules_signal_passes(rules, index, event);
    } else {
        rules_check_turn(rules, index, DIRECTION_DO);
        check_time(rules, index);
        struct turn turn = turn_of(rules, index);
        RULE(rules, turn.kind == TURN_PASSES && text_equal(turn.json, event->output),
             "step %u is set to %.*s, not to %.*s", index, TEXT_ARG(event->output),
             TEXT_ARG(turn.json));
        rules->rare[turn.rare]++;
        if (turn.rare == RARE_EARLY_TAKEN)
            rules_early_taken(rules, index, event);
        rules->rare[RARE_SET_AGAIN] +=
            turn.rare == RARE_SET && (way->failures > 0 || way->state == WAY_RESUBMITTED);
    }
    way->state = WAY_DONE;
    way->effect = EFFECT_NONE;
    step->by_hand = false;
    step->output = event->output;
}

/* ---- Input ---- */

/* False: the error. *ret_input is empty where there is none, or the attempts have one already. */
static bool input_of(struct rules *rules, uint32_t index, enum direction direction,
                     struct text *ret_input, struct text *ret_error_name)
{
    struct rules_step *step = &rules->steps[index];
    const struct mappings *trees = mappings_at(rules, index);
    bool undo = direction == DIRECTION_UNDO;
    const struct term *tree = undo && trees->undo_input != NULL ? trees->undo_input : trees->input;
    struct term_scope scope =
        rules_scope(rules, &step->spent, undo ? step->output : (struct text){0});
    enum fault fault;
    *ret_input = (struct text){0};
    if (tree == NULL || !text_empty(step->ways[direction].input))
        return true;
    if (term_json(&scope, tree, STEP_INPUT_BYTES_MAX, ret_input, &fault))
        return true;
    *ret_error_name = error_of(fault);
    return false;
}

void rules_check_input(struct rules *rules, uint32_t index, const struct step_started *event)
{
    enum direction direction = event->ref.direction;
    struct way *way = &rules->steps[index].ways[direction];
    struct text input;
    struct text error_name = {0};
    bool done = input_of(rules, index, direction, &input, &error_name);
    RULE(rules, done, "step %u starts, but its Input fails with %.*s", index, TEXT_ARG(error_name));
    RULE(rules, text_equal(input, event->input), "step %u starts with the Input %.*s, not %.*s",
         index, TEXT_ARG(event->input), TEXT_ARG(input));
    rules->rare[RARE_INPUT_KEPT] += !text_empty(way->input);
    if (text_empty(input))
        return;
    rules->rare[direction == DIRECTION_UNDO ? RARE_UNDO_INPUT : RARE_INPUT]++;
    rules->rare[RARE_INPUT_AGAIN] += way->attempt > 0;
    way->input = input;
}

/* ---- another input ---- */

/* What the steps would have left with it. */
struct another {
    const struct rules *rules;
    struct text input;
    struct term_step steps[WORKFLOW_STEPS_MAX];
};

static struct term_step another_step(const void *of, struct text name)
{
    const struct another *another = of;
    int index = rules_index(another->rules, name);
    return index < 0 ? (struct term_step){0} : another->steps[index];
}

static struct term_scope scope_of_another(const struct another *another, bool *spent,
                                          struct text result)
{
    struct term_scope scope = rules_scope(another->rules, spent, result);
    scope.step = another_step;
    scope.of = another;
    scope.input = another->input;
    scope.disabled = false;
    return scope;
}

/* Of a Set without an attempt, and of whether a step was skipped; all else is as it was, and so is
 * what would fail now, since the order would not be here. */
static struct term_step left_by(const struct another *another, uint32_t index)
{
    const struct rules *rules = another->rules;
    const struct mappings *trees = mappings_at(rules, index);
    struct term_step step = step_of(rules, rules->workflow->steps[index].name);
    bool spent = false;
    bool yes = true;
    enum fault fault;
    struct text json;
    struct term_scope scope = scope_of_another(another, &spent, (struct text){0});
    if (!rules_finished_by_data(rules, index) || step.has_error ||
        (trees->when != NULL && !term_holds(&scope, trees->when, &yes, &fault)))
        return step;
    step.has_output = yes;
    if (yes && trees->set != NULL && term_json(&scope, trees->set, SET_BYTES_MAX, &json, &fault))
        step.output = rules_without_null(json);
    return step;
}

/* A step reads those before it, which need not stand before it in the file. */
static void make_another(const struct rules *rules, struct text input, struct another *ret_another)
{
    uint32_t count = rules->workflow->step_count;
    *ret_another = (struct another){.rules = rules, .input = input};
    for (uint32_t i = 0; i < count; i++)
        ret_another->steps[i] = step_of(rules, rules->workflow->steps[i].name);
    for (uint32_t i = 0; i < count * count; i++)
        ret_another->steps[i % count] = left_by(ret_another, i % count);
}

/* `with`: what the steps leave with the input as it is, and with the other one. */
static bool gives_the_same(const struct another with[2], const struct term *tree,
                           struct text result)
{
    bool done[2] = {false, false};
    struct text made[2] = {{0}, {0}};
    enum fault faults[2] = {FAULT_NONE, FAULT_NONE};
    if (tree == NULL)
        return true;
    for (int i = 0; i < 2; i++) {
        bool spent = false;
        struct term_scope scope = scope_of_another(&with[i], &spent, result);
        done[i] = term_json(&scope, tree, STEP_INPUT_BYTES_MAX, &made[i], &faults[i]);
    }
    return done[0] == done[1] && faults[0] == faults[1] && text_equal(made[0], made[1]);
}

bool rules_asks_the_same(struct rules *rules, uint32_t index, struct text input)
{
    const struct mappings *trees = mappings_at(rules, index);
    struct text output = rules->steps[index].output;
    struct another with[2];
    if (trees->input == NULL && rules->workflow->steps[index].kind == STEP_KIND_TASK)
        return text_equal(rules->input, input);
    make_another(rules, rules->input, &with[0]); /* the Sets may be those of another version now */
    make_another(rules, input, &with[1]);
    return gives_the_same(with, trees->input, (struct text){0}) &&
           gives_the_same(with, trees->input, output) &&
           gives_the_same(with, trees->undo_input, output);
}

/* An agent was to be asked, and there is nothing to ask it. */
static struct text input_fault(struct rules *rules, uint32_t index, enum direction direction)
{
    struct text input;
    struct text error_name = {0};
    RULE(rules,
         rules->routing_unknown || !text_empty(rules_choice(rules, index, direction, rules->at)),
         "step %u fails, but no agent has capacity", index);
    input_of(rules, index, direction, &input, &error_name);
    return error_name;
}

/* ---- a step that fails without an attempt, and without an operator ---- */

void rules_failed_unstarted(struct rules *rules, uint32_t index,
                            const struct step_failed_unstarted *event)
{
    enum direction direction = event->ref.direction;
    struct turn turn = {.kind = TURN_STARTS};
    if (rules->steps[index].ways[direction].state == WAY_AWAITING) {
        rules_await_over(rules, index, event);
        return;
    }
    rules_check_turn(rules, index, direction);
    if (direction == DIRECTION_DO) {
        check_time(rules, index);
        turn = turn_of(rules, index);
    }
    if (turn.kind == TURN_STARTS) {
        turn = (struct turn){.kind = TURN_FAILS,
                             .error_name = input_fault(rules, index, direction),
                             .rare = direction == DIRECTION_UNDO ? RARE_UNDO_INPUT_FAULT
                                                                 : RARE_INPUT_FAULT};
    }
    RULE(rules, turn.kind == TURN_FAILS && text_equal(turn.error_name, event->error_name),
         "step %u fails with %.*s, not with \"%.*s\"", index, TEXT_ARG(event->error_name),
         TEXT_ARG(turn.error_name));
    RULE(rules, text_empty(event->by), "an operator failed step %u", index);
    rules->rare[turn.rare]++;
    rules->rare[RARE_DATA_LIMIT] += text_equal(turn.error_name, error_of(FAULT_LIMIT));
    rules->rare[RARE_NO_EXPRESSIONS] += rules->no_expressions && turn.rare != RARE_FAIL;
}

/* ---- Output ---- */

/* False: the error. */
static bool output_of(struct rules *rules, uint32_t index, struct text *ret_output,
                      struct text *ret_error_name)
{
    struct rules_step *step = &rules->steps[index];
    const struct mappings *trees = mappings_at(rules, index);
    const struct term *tree = trees->output;
    struct text answer = rules->cmd->report_step.output;
    struct term_scope scope = rules_scope(rules, &step->spent, answer);
    enum fault fault;
    bool ready = true;
    *ret_output = answer;
    if (trees->until != NULL && !term_test(&scope, trees->until, &ready, &fault)) {
        *ret_error_name = error_of(fault);
        return false;
    }
    if (!ready) {
        *ret_error_name = TEXT("States.NotYet");
        return false;
    }
    if (tree != NULL && !term_json(&scope, tree, REPORT_OUTPUT_BYTES_MAX, ret_output, &fault)) {
        *ret_error_name = error_of(fault);
        return false;
    }
    if (ret_output->size > STEP_OUTPUT_BYTES_MAX)
        *ret_output = data_truncated(ret_output->size, rules->arena);
    *ret_output = rules_without_null(*ret_output);
    return true;
}

struct text rules_output_fault(struct rules *rules, uint32_t index)
{
    struct text output;
    struct text error_name = {0};
    output_of(rules, index, &output, &error_name);
    return error_name;
}

void rules_check_output(struct rules *rules, uint32_t index, struct text output)
{
    struct text expected;
    struct text error_name = {0};
    rules->steps[index].output = output;
    if (!rules->mapped)
        return; /* a log may have the answer in another spelling */
    bool kept = output_of(rules, index, &expected, &error_name);
    RULE(rules, kept, "succeeded, but Output fails with %.*s", TEXT_ARG(error_name));
    RULE(rules, !kept || text_equal(output, expected), "step %u keeps %.*s, not %.*s", index,
         TEXT_ARG(output), TEXT_ARG(expected));
    rules->rare[RARE_OUTPUT] += mappings_at(rules, index)->output != NULL;
    rules->rare[RARE_UNTIL_TRUE] += mappings_at(rules, index)->until != NULL;
}

/* ---- the order ---- */

void rules_check_order_output(struct rules *rules, const struct order_processed *event)
{
    const struct term *tree = rules->mapped ? mapped_of(rules->workflow)->output : NULL;
    bool spent = false;
    struct term_scope scope = rules_scope(rules, &spent, (struct text){0});
    struct text output = {0};
    struct text error_name = {0};
    enum fault fault = FAULT_NONE;
    if (tree != NULL && !term_json(&scope, tree, STEP_OUTPUT_BYTES_MAX, &output, &fault)) {
        error_name = error_of(fault);
        output = (struct text){0};
    }
    RULE(rules, text_equal(event->output, rules_without_null(output)),
         "the order's Output is %.*s, not %.*s", TEXT_ARG(event->output), TEXT_ARG(output));
    RULE(rules,
         text_empty(error_name)
             ? text_empty(event->problem)
             : event->problem.size > error_name.size &&
                   memcmp(event->problem.data, error_name.data, error_name.size) == 0,
         "the order's Output has the problem \"%.*s\", not %.*s", TEXT_ARG(event->problem),
         TEXT_ARG(error_name));
    rules->rare[RARE_ORDER_OUTPUT] += !text_empty(output);
    rules->rare[RARE_ORDER_OUTPUT_FAULT] += !text_empty(error_name);
}
