/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of an order whose input an operator corrects. */
#include "tests/property/engine_data.h"
#include "tests/property/engine_rules.h"

/* ---- what a step reads ---- */

struct amendment {
    struct text before;
    struct text after;
    const struct rules *outputs; /* whose steps' outputs are read as well; NULL: none */
};

static bool is_map(struct text json)
{
    return json.size > 0 && json.data[0] == '{';
}

/* Below the first place where one of them is not a map, nothing is read. */
static bool path_differs(const struct term *path, bool asked, struct amendment amendment)
{
    struct text names[TERM_MEMBERS_MAX + 1];
    uint32_t count = 0, at = 0;
    if (path->text != NULL)
        names[count++] = text_of(path->text);
    for (uint32_t i = 0; i < TERM_MEMBERS_MAX && path->members[i] != '\0'; i++)
        names[count++] = (struct text){&path->members[i], 1};
    for (; at < count && is_map(amendment.before) && is_map(amendment.after); at++) {
        amendment.before = data_member(amendment.before, names[at]);
        amendment.after = data_member(amendment.after, names[at]);
    }
    if (asked && at == count)
        return (amendment.before.data == NULL) != (amendment.after.data == NULL);
    return !text_equal(amendment.before, amendment.after);
}

static bool output_differs(const struct term *read, bool asked, struct amendment amendment);

static bool term_differs(const struct term *term, bool asked, struct amendment amendment)
{
    bool differs = false;
    if (term == NULL)
        return false;
    if (term->kind == TERM_INPUT)
        return path_differs(term, asked, amendment);
    if (amendment.outputs != NULL && !text_empty(term->step))
        return output_differs(term, asked, amendment);
    for (uint32_t i = 0; i < TERM_CHILDREN_MAX && !differs; i++)
        differs = term_differs(term->of[i], term->kind == TERM_HAS_MEMBER, amendment);
    return differs;
}

/* ---- what a step left without an attempt ---- */

static bool has_early(const struct rules *rules, uint32_t index)
{
    return !text_empty(rules->steps[index].signals.early);
}

/* For a moment or a signal. */
static bool waits(const struct way *way)
{
    return way->state == WAY_TIMED || way->state == WAY_AWAITING;
}

/* By its When, as a kind without attempts, or as its expressions failed; or it waits, or has been
 * answered early. */
bool rules_finished_by_data(const struct rules *rules, uint32_t index)
{
    const struct rules_step *step = &rules->steps[index];
    const struct way *way = &step->ways[DIRECTION_DO];
    bool begun = way->state == WAY_DONE || waits(way) || has_early(rules, index);
    bool by_hand = step->by_hand && !has_early(rules, index); /* that is of another time */
    if (!begun || way->attempt > 0 || way->effect != EFFECT_NONE || by_hand)
        return false;
    const struct mappings *trees = rules_mappings(rules, rules->workflow, index);
    if (step->skipped && !step->caught)
        return trees->when != NULL; /* perhaps not that of this version */
    return step->caught || rules->workflow->steps[index].kind != STEP_KIND_TASK;
}

static bool reads_what_decided_it(const struct rules *rules, uint32_t index,
                                  struct amendment amendment)
{
    const struct rules_step *step = &rules->steps[index];
    const struct mappings *trees = rules_mappings(rules, rules->workflow, index);
    bool asked_only = step->skipped && !step->caught;
    bool signalled = rules->workflow->steps[index].kind == STEP_KIND_AWAIT &&
                     (term_differs(trees->question, false, amendment) ||
                      term_differs(trees->until, false, amendment) ||
                      term_differs(trees->output, false, amendment));
    return term_differs(trees->when, false, amendment) ||
           (!asked_only && (signalled || term_differs(trees->set, false, amendment) ||
                            term_differs(trees->message, false, amendment) ||
                            term_differs(trees->input, false, amendment) ||
                            term_differs(trees->seconds, false, amendment)));
}

static bool goes_on_if_it_fails(const struct workflow_step *plan)
{
    bool does = false;
    for (uint32_t i = 0; i < plan->catcher_count; i++)
        does = does || plan->catchers[i].next == OUTCOME_CONTINUE;
    return does;
}

/* Of a Set's map, the member that is read is made by one of its children. */
static bool set_differs(const struct term *set, const struct term *read, bool asked,
                        struct amendment amendment)
{
    bool member = read->kind == TERM_OUTPUT && read->members[0] != '\0';
    if (read->kind == TERM_HAS_OUTPUT)
        return false;
    if (!member || set->kind != TERM_MAP)
        return term_differs(set, false, amendment);
    if (asked && read->members[1] == '\0')
        return false;
    for (uint32_t i = 0; i < set->count; i++) {
        if (read->members[0] == (char)('a' + i))
            return term_differs(set->of[i], false, amendment);
    }
    return false;
}

static bool output_differs(const struct term *read, bool asked, struct amendment amendment)
{
    const struct rules *rules = amendment.outputs;
    int found = rules_index(rules, read->step);
    uint32_t index = (uint32_t)found;
    if (found < 0 || !rules_finished_by_data(rules, index)) /* another version may have had it */
        return false;
    const struct workflow_step *plan = &rules->workflow->steps[index];
    const struct mappings *trees = rules_mappings(rules, rules->workflow, index);
    if (plan->kind == STEP_KIND_AWAIT || goes_on_if_it_fails(plan))
        return reads_what_decided_it(rules, index, amendment);
    bool made = plan->kind == STEP_KIND_SET && !rules->steps[index].skipped;
    return term_differs(trees->when, false, amendment) ||
           (made && set_differs(trees->set, read, asked, amendment));
}

/* ---- whether it may change ---- */

static bool reads(const struct rules *rules, uint32_t index, struct amendment amendment)
{
    const struct mappings *trees = rules_mappings(rules, rules->workflow, index);
    bool all = rules->workflow->steps[index].kind == STEP_KIND_TASK && trees->input == NULL;
    return (all && !text_equal(amendment.before, amendment.after)) ||
           term_differs(trees->when, false, amendment) ||
           term_differs(trees->input, false, amendment) ||
           term_differs(trees->output, false, amendment) ||
           term_differs(trees->undo_input, false, amendment) ||
           term_differs(trees->set, false, amendment) ||
           term_differs(trees->message, false, amendment) ||
           term_differs(trees->question, false, amendment) ||
           term_differs(trees->until, false, amendment) ||
           term_differs(trees->seconds, false, amendment);
}

/* Null is none. */
static struct text asked_input(const struct amend_order *asked)
{
    return text_equal(asked->input, TEXT("null")) ? (struct text){0} : asked->input;
}

const char *rules_amend_verdict(struct rules *rules, const struct amend_order *asked)
{
    struct amendment amendment = {rules->input, asked_input(asked), rules};
    if (rules->phase == PHASE_NONE)
        return "UnknownOrder";
    if (rules->phase == PHASE_PROCESSED || rules->phase == PHASE_COMPENSATED)
        return "AlreadyEnded";
    if (rules->phase == PHASE_BACKWARD)
        return "AlreadyCompensating";
    if (!rules->error)
        return "NotInError";
    if (rules_any_runs(rules))
        return "AttemptRuns";
    if (text_equal(amendment.before, amendment.after))
        return "SameInput";
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        if (rules->steps[i].ways[DIRECTION_DO].effect == EFFECT_NONE || !reads(rules, i, amendment))
            continue;
        rules->rare[RARE_AMENDMENT_REFUSED]++;
        amendment.outputs = NULL;
        rules->rare[RARE_AMENDMENT_REFUSED_OUTPUT] += !reads(rules, i, amendment);
        return "InputWasRead";
    }
    return NULL;
}

/* ---- which steps begin again ---- */

static bool stays(const struct rules *rules, uint32_t index)
{
    const struct way *way = &rules->steps[index].ways[DIRECTION_DO];
    return way->effect != EFFECT_NONE ||
           ((way->state == WAY_DONE || waits(way)) && !rules_finished_by_data(rules, index));
}

/* The steps before this one, directly or not. */
static void add_before(const struct rules *rules, uint32_t index, uint64_t *before)
{
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        if ((rules->workflow->steps[index].after >> i & 1) == 0 || (*before >> i & 1) != 0)
            continue;
        *before |= UINT64_C(1) << i;
        add_before(rules, i, before);
    }
}

static uint64_t before_those_that_stay(const struct rules *rules)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        if (stays(rules, i))
            add_before(rules, i, &before);
    }
    return before;
}

/* It reads what changes, or comes after one that does and is decided again. Of an early signal
 * nothing was made of the steps before. */
static void decide_again(const struct rules *rules, struct amendment amendment,
                         bool ret_decided[WORKFLOW_STEPS_MAX])
{
    uint64_t stay = before_those_that_stay(rules);
    bool may[WORKFLOW_STEPS_MAX];
    bool reads_it[WORKFLOW_STEPS_MAX];
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        may[i] = (stay >> i & 1) == 0 && rules_finished_by_data(rules, i);
        reads_it[i] = may[i] && reads_what_decided_it(rules, i, amendment);
    }
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        uint64_t before = 0;
        add_before(rules, i, &before);
        ret_decided[i] = reads_it[i];
        bool follows = may[i] && !has_early(rules, i);
        for (uint32_t j = 0; j < rules->workflow->step_count; j++)
            ret_decided[i] = ret_decided[i] || (follows && (before >> j & 1) != 0 && reads_it[j]);
    }
}

static bool is_under_way(const struct rules *rules, uint32_t index)
{
    const struct way *way = &rules->steps[index].ways[DIRECTION_DO];
    bool pending = way->state == WAY_FRESH || way->state == WAY_WAITING ||
                   way->state == WAY_RESUBMITTED || way->state == WAY_FAILED;
    return pending && way->effect == EFFECT_NONE && !has_early(rules, index) &&
           (way->attempt > 0 || way->queued || (way->state == WAY_WAITING && way->retry_at != 0));
}

static void begin_again(struct rules *rules, uint32_t index, bool decided)
{
    struct rules_step *step = &rules->steps[index];
    struct way *way = &step->ways[DIRECTION_DO];
    rules->rare[decided ? RARE_AMENDED_DECIDED : RARE_AMENDED_WAITING]++;
    rules->rare[RARE_AMENDED_TIMED] += way->state == WAY_TIMED;
    rules->rare[RARE_AMENDED_AWAITING] += way->state == WAY_AWAITING;
    rules->rare[RARE_AMENDED_ANSWERED] += way->state == WAY_DONE && step->signals.count > 0;
    rules->rare[RARE_AMENDED_EARLY] += has_early(rules, index);
    if (decided) {
        uint32_t generation = way->generation;
        *step = (struct rules_step){.agent = step->agent};
        way->generation = generation;
        return;
    }
    step->signals = (struct rules_signals){0};
    way->generation += way->attempt > 0;
    way->queued = false;
    way->queued_at = 0;
    way->retry_at = 0;
    way->input = (struct text){0};
}

void rules_amended(struct rules *rules, const struct order_amended *event)
{
    struct amendment amendment = {rules->input, event->input, NULL};
    bool decided[WORKFLOW_STEPS_MAX];
    uint32_t count = 0;
    RULE(rules, rules->cmd->kind == COMMAND_AMEND_ORDER, "amended without a request");
    RULE(rules, text_equal(event->input, asked_input(&rules->cmd->amend_order)),
         "amended otherwise");
    rules->rare[RARE_AMENDED]++;
    decide_again(rules, amendment, decided);
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        if (rules->steps[i].ways[DIRECTION_DO].effect != EFFECT_NONE) {
            rules->rare[RARE_AMENDED_EFFECT]++;
            RULE(rules, rules_asks_the_same(rules, i, event->input),
                 "step %u had an effect, and would be asked otherwise", i);
        }
    }
    for (uint32_t i = 0; i < rules->workflow->step_count; i++) {
        if (!decided[i] && !is_under_way(rules, i))
            continue;
        begin_again(rules, i, decided[i]);
        const struct amended_step *told = count < event->step_count ? &event->steps[count] : NULL;
        RULE(rules,
             told != NULL && text_equal(told->name, rules->workflow->steps[i].name) &&
                 told->generation == rules->steps[i].ways[DIRECTION_DO].generation,
             "step %u does not begin again as it should", i);
        count++;
    }
    RULE(rules, count == event->step_count, "%u steps begin again, not %u", event->step_count,
         count);
    rules->input = event->input;
}
