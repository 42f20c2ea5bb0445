/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories: a random workflow with random conditions and mappings, services that fail,
 * supervisors that are early, late and repeat themselves, customers and operators who change their
 * minds. After each command the test checks the Decision against rules written independently of
 * the engine (expressions have a second implementation of their own, engine_terms.h), and the fold
 * against the order that engine_decide() saw; in the end, the log against a fold from zero and the
 * services' ledger against the final state of the order.
 *
 * REEVE_SEED repeats a run: each case has the seed after the one before. REEVE_PROPERTY_CASES is
 * the number of cases. */
#include "tests/lib/engine_equal.h"
#include "tests/lib/seed.h"
#include "tests/property/engine_digest.h"
#include "tests/property/engine_random.h"
#include "tests/property/engine_senders.h"
#include "tests/property/engine_signals.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { REST_STEPS_MAX = 40000 };
/* Four slices, because Criterion runs tests in parallel. Few cases meet everything that is rare; in
 * a whole slice, what is met less than RARE_MIN times is as good as untested. */
enum { CASES = 1000000, SLICES = 4, ENOUGH_CASES = 10000 };
enum { RARE_MIN = 20 };

static uint64_t rare[RARE_COUNT];
static uint64_t endings[ORDER_STATE_COUNT];
static uint64_t decisions;

static uint32_t signal_percent(void)
{
    return signals_expected(true) ? 12 : signals_expected(false) ? 5 : 0;
}

static void something_happens(void)
{
    if (history.busy_operator && dice_percent(&history.dice, 15)) {
        senders_any_operator();
        return;
    }
    if (dice_percent(&history.dice, signal_percent())) {
        signals_send();
        return;
    }
    uint32_t roll = dice_roll(&history.dice, 1100);
    if (roll < 120)
        history.now += dice_roll(&history.dice, 1500);
    else if (roll < 130)
        history.now += dice_roll(&history.dice, 15000);
    else if (roll < 730)
        senders_services();
    else if (roll < 920)
        senders_supervisor(false);
    else if (roll < 935)
        senders_supervisor(true);
    else if (roll < 965)
        senders_repeat();
    else if (roll < 972)
        senders_customer();
    else if (roll < 976)
        senders_garbage();
    else if (roll < 980)
        history_compact();
    else if (roll < 982)
        senders_compensate();
    else if (roll < 984 || (roll < 1000 && history.order.state == ORDER_ERROR))
        senders_operator();
    else if (roll < 1020)
        senders_owner(false);
    else if (roll < 1050)
        agents_change(&history.agents, &history.dice);
    else if (roll < 1080)
        senders_agent();
    else if (order_ended(&history.order) || roll < 1082)
        senders_retention();
    else if (roll < 1086)
        senders_end_a_step();
    else if (roll < 1092)
        senders_pause(history.order.paused_at == 0 || dice_percent(&history.dice, 10));
    else if (roll < 1096)
        senders_migrate();
    else if (history.order.paused_at != 0)
        senders_pause(false);
}

/* ---- coming to rest ---- */

/* Advances the clock to the next deadline; false if there is none. */
static bool next_deadline(void)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(&history.order, deadlines);
    const struct deadline *next = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (next == NULL || deadlines[i].due_at < next->due_at)
            next = &deadlines[i];
    }
    if (next == NULL)
        return false;
    if (history.now < next->due_at)
        history.now = next->due_at;
    senders_ask(next);
    return true;
}

enum { ANSWERS = 3 };

/* Where services work, people do as well: a step that asks gets a few answers. False if none of
 * them needs another one. */
static bool answer(uint32_t answers[WORKFLOW_STEPS_MAX])
{
    for (uint32_t i = 0; i < history.order.step_count && history.services.healthy; i++) {
        const struct step *step = &history.order.steps[i];
        if (step_wait(step).kind == WAIT_SIGNAL && answers[i] < ANSWERS) {
            signals_answer(i, answers[i]++);
            return true;
        }
    }
    return false;
}

/* Continues until no attempt runs and no deadline is left. */
static void come_to_rest(void)
{
    uint32_t answers[WORKFLOW_STEPS_MAX] = {0};
    agents_repair(&history.agents);
    if (history.order.paused_at != 0)
        senders_pause(false);
    for (int i = 0; i < REST_STEPS_MAX && history.wrong == NULL; i++) {
        senders_owner(true);
        bool busy = history.services.healthy && !services_idle(&history.services);
        if (busy || dice_percent(&history.dice, 80))
            senders_services();
        else if (signals_expected(true) && dice_percent(&history.dice, 30))
            signals_send();
        else if (!answer(answers) && !next_deadline())
            return;
    }
    history_expect(false, "no rest: the order goes on for ever");
}

/* The order shows exactly the operations of the services. */
static void check_ledger(void)
{
    if (history.order.version == 0)
        return; /* it expired */
    services_drain(&history.services);
    for (uint32_t i = 0; i < history.workflow->step_count; i++) {
        uint32_t net = services_net(&history.services, i);
        const struct step *step = &history.order.steps[i];
        bool skipped = step->state == STEP_SKIPPED;
        bool acts = history.workflow->steps[i].kind == STEP_KIND_TASK;
        if (history.rules.steps[i].asked_again) { /* once under each key */
            history_expect(history.order.state != ORDER_PROCESSED || net > 0 || skipped || !acts ||
                               step->state == STEP_CAUGHT,
                           "a step that was asked again was not done");
            continue;
        }
        if (!acts)
            history_expect(net == 0, "a step without an agent was done");
        else if (step->state == STEP_CAUGHT)
            history_expect(net <= 1 && (step->effect != EFFECT_NONE || net == 0) &&
                               (step->effect != EFFECT_APPLIED || net == 1),
                           "a caught step did something else than what is known of it");
        else if (history.order.state == ORDER_PROCESSED)
            history_expect(net == !skipped, "a step of a processed order was not done once");
        if (history.order.state == ORDER_COMPENSATED && history.workflow->steps[i].has_compensate)
            history_expect(net == 0, "a step of a compensated order was not undone");
    }
}

static void check_fold_from_zero(void)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct order again = {0};
    for (uint32_t i = history.since; i < history.count; i++)
        order_apply_decision(&again, &history.log[i], &memory.arena);
    history_expect(order_difference(&again, &history.order) == NULL, "a fold from zero differs");
    test_arena_deinit(&memory);
}

/* Would fail again, whatever the services do. */
static bool fails_by_itself(uint32_t index)
{
    const struct step *step = &history.order.steps[index];
    if (step_wait(step).kind == WAIT_SIGNAL)
        return true; /* as long as the order has */
    return step->state == STEP_ERROR &&
           (history.workflow->steps[index].kind == STEP_KIND_FAIL ||
            history.workflow->steps[index].kind == STEP_KIND_AWAIT ||
            text_equal(step->error_name, TEXT(ERROR_QUERY_EVALUATION)) ||
            text_equal(step->error_name, TEXT(ERROR_NOT_YET)) ||
            text_equal(step->error_name, TEXT(ERROR_DATA_LIMIT)));
}

static void complete_by_hand(void)
{
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        if (fails_by_itself(i))
            senders_complete(i, (struct text){0});
    }
}

/* An Await that its group alone may pass, and which may refuse every answer: the cure is
 * to migrate the order to a corrected version. */
static bool needs_another_version(void)
{
    bool needs = false;
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        const struct workflow_step *plan = &history.workflow->steps[i];
        const struct awaiting *awaiting = history.order.steps[i].awaiting;
        bool full = awaiting != NULL && awaiting->signals >= SIGNALS_MAX;
        bool reads = full || plan->when != NULL || plan->until != NULL || plan->output != NULL ||
                     plan->await.question != NULL;
        enum step_state state = history.order.steps[i].state;
        needs = needs || ((state == STEP_ERROR || state == STEP_WAITING) &&
                          plan->kind == STEP_KIND_AWAIT && !text_empty(plan->await.from) && reads);
    }
    return needs;
}

static uint32_t count_finished(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < history.order.step_count; i++) {
        enum step_state state = history.order.steps[i].state;
        count += state == STEP_PROCESSED || state == STEP_SKIPPED || state == STEP_CAUGHT;
    }
    return count;
}

/* With healthy services, an operator brings every order to its end. An Await may take the signals
 * of all rounds for itself, so those count from the last step that was finished. */
static void operator_repairs(void)
{
    history.services.healthy = true;
    bool give_up = dice_percent(&history.dice, 20);
    uint32_t finished = count_finished();
    int rounds = 3 + (int)history.order.step_count;
    for (int left = rounds; left > 0 && history.order.state == ORDER_ERROR; left--) {
        complete_by_hand();
        if (give_up)
            senders_compensate(); /* if it still can be compensated */
        give_up = false;
        /* A short deadline of the workflow could pass before each retry. */
        bool forward = history.order.error_from == ORDER_PROCESSING;
        if (history.order.state == ORDER_ERROR)
            senders_resubmit((struct text){0}, false, forward ? 3600000 : 0);
        come_to_rest();
        if (count_finished() > finished)
            left = rounds;
        finished = count_finished();
    }
    history_expect(order_ended(&history.order) || needs_another_version(),
                   "an operator and working services do not help");
}

static void run_case(uint64_t seed)
{
    history.dice = dice_of(seed);
    history.distortions = dice_of(~seed);
    struct arena *arena = &history.memory.arena;
    history.workflow = mappings_draw(
        &history.dice, arena,
        agents_of_workflow(&history.dice, arena, random_workflow(&history.dice, arena)));
    agents_init(&history.agents, &history.dice);
    history.services.dice = &history.dice;
    history.services.arena = arena;
    history.target = NULL;
    history.services.workflow = history.workflow;
    history.now = 1000000;
    history.busy_operator = dice_percent(&history.dice, 25);
    rules_init(&history.rules, history.workflow, rare);
    history.rules.mapped = true;
    history.rules.arena = arena;
    if (dice_percent(&history.dice, 5))
        senders_operator(); /* on an order that does not exist yet */
    struct command submit = {.kind = COMMAND_SUBMIT_ORDER, .order_id = TEXT("order-7")};
    submit.submit_order = senders_submission();
    history_command(&submit);
    uint32_t steps = dice_roll(&history.dice, 300);
    for (uint32_t i = 0; i < steps && history.wrong == NULL; i++)
        something_happens();
    come_to_rest();
    endings[history.order.state]++;
    history_expect(history.order.version == 0 || order_ended(&history.order) ||
                       (history.order.state == ORDER_ERROR && history.order.alert_open),
                   "at rest, but neither ended nor in Error with an alert");
    if (history.order.state == ORDER_ERROR && dice_percent(&history.dice, 70))
        operator_repairs();
    check_ledger();
    check_fold_from_zero();
    decisions += history.count;
}

/* ---- the test ---- */

static void check_rare(uint64_t cases)
{
    uint64_t least = cases >= CASES / SLICES ? RARE_MIN : cases >= ENOUGH_CASES ? 1 : 0;
    for (unsigned i = 0; i < RARE_COUNT; i++) {
        printf("  %8" PRIu64 " %s\n", rare[i], rare_name(i));
        cr_expect(rare[i] >= least, "happened %" PRIu64 " times, not %" PRIu64 ": %s", rare[i],
                  least, rare_name(i));
    }
    cr_expect(cases < ENOUGH_CASES || history.distorted_applied > cases,
              "too few could be applied");
    cr_expect(cases < ENOUGH_CASES || history.distorted_refused > cases, "too few were refused");
}

static void expect_right(uint64_t seed)
{
    history_begin();
    run_case(seed);
    if (history.wrong != NULL) {
        char *told = history_tell();
        fprintf(stderr, "%s\n", told);
        free(told);
        cr_assert_fail("%s", history.wrong);
    }
    history_end();
}

static void run_slice(uint32_t slice)
{
    struct seed_range range = seed_slice(CASES, slice, SLICES);
    seed_run(range, expect_right);
    printf("%" PRIu64 " cases from seed %" PRIu64 ": %" PRIu64 " decisions; at rest: %" PRIu64
           " Processed, %" PRIu64 " Compensated, %" PRIu64 " Error; %" PRIu64
           " distorted Decisions applied, %" PRIu64 " refused\n",
           range.count, range.first, decisions, endings[ORDER_PROCESSED],
           endings[ORDER_COMPENSATED], endings[ORDER_ERROR], history.distorted_applied,
           history.distorted_refused);
    digest_print();
    check_rare(range.count);
}

Test(engine_property, keeps_the_rules_in_random_histories_slice_1)
{
    run_slice(0);
}

Test(engine_property, keeps_the_rules_in_random_histories_slice_2)
{
    run_slice(1);
}

Test(engine_property, keeps_the_rules_in_random_histories_slice_3)
{
    run_slice(2);
}

Test(engine_property, keeps_the_rules_in_random_histories_slice_4)
{
    run_slice(3);
}
