/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of orders in a log that begins with what its owner restates. */
#include "cli/verify/rules.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(verify_rules);

static char last_finding[VERIFY_FINDING_SIZE];

static void on_finding(void *ctx, const char *finding)
{
    (void)ctx;
    snprintf(last_finding, sizeof(last_finding), "%s", finding);
}

static struct step step = {
    .name = TEXT_CONST("A"), .state = STEP_PROCESSING, .attempt = 3, .complete_by = 100};

static struct statement statement(void)
{
    return (struct statement){.order = {.details = {.order_id = TEXT("o-1")},
                                        .version = 7,
                                        .state = ORDER_PROCESSING,
                                        .steps = &step,
                                        .step_count = 1}};
}

static void decide(struct verify_rules *rules, enum event_kind kind, uint64_t version, bool unseen)
{
    struct event event = {.kind = kind, .step_succeeded.ref = {TEXT("A"), DIRECTION_DO, 3}};
    struct decision decision = {.command_offset = (int64_t)version,
                                .decided_at = 5,
                                .order_id = TEXT("o-1"),
                                .order_version = version,
                                .order_state = ORDER_PROCESSING,
                                .events = &event,
                                .event_count = 1};
    verify_rules_decision(rules, &decision, unseen, 9);
}

Test(verify_rules, checks_an_order_on_from_where_it_is_restated)
{
    struct verify_counts counts;
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    struct statement stated = statement();
    decide(rules, EVENT_STEP_SUCCEEDED, 7, true);
    verify_rules_statement(rules, &stated, 8);
    verify_rules_statement(rules, &stated, 8);
    decide(rules, EVENT_STEP_SUCCEEDED, 8, false);
    verify_rules_end(rules, &counts);
    cr_assert_eq(counts.findings, 0, "%s", last_finding);
    cr_assert_eq(counts.orders, 1);
    cr_assert_eq(counts.decisions, 2);
    cr_assert_eq(counts.by_state[ORDER_PROCESSING], 1);
    decide(rules, EVENT_STEP_SUCCEEDED, 9, false);
    cr_assert_not_null(strstr(last_finding, "it is not running"), "%s", last_finding);
    verify_rules_free(rules);
}

static void assert_finding(struct order order, const char *expected)
{
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    struct statement stated = statement();
    verify_rules_statement(rules, &stated, 8);
    last_finding[0] = '\0';
    stated.order = order;
    verify_rules_statement(rules, &stated, 9);
    cr_assert_not_null(strstr(last_finding, expected), "%s: %s", expected, last_finding);
    verify_rules_free(rules);
}

/* What the case `i` found last; empty: nothing. */
static void expect_last(const char *found, size_t i)
{
    bool as_expected =
        found[0] == '\0' ? last_finding[0] == '\0' : strstr(last_finding, found) != NULL;
    cr_assert(as_expected, "%zu: %s", i, last_finding);
}

Test(verify_rules, finds_an_order_that_is_restated_as_it_is_not)
{
    struct order order = statement().order;
    struct step other = step;
    order.version = 8;
    assert_finding(order, "restated as Processing in version 8, but is Processing in version 7");
    order = statement().order;
    order.state = ORDER_ERROR;
    assert_finding(order, "restated as Error");
    order = statement().order;
    order.paused_at = 5;
    assert_finding(order, "another alert or pause");
    order = statement().order;
    order.steps = &other;
    other.attempt = 4;
    assert_finding(order, "restated with attempt 4, but had attempt 3, which is running");
    other = step;
    other.state = STEP_PENDING;
    assert_finding(order, "restated with attempt 3");
}

static struct verify_rules *rules_with(enum order_state state, int64_t ended_at)
{
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    struct statement stated = statement();
    stated.order.state = state;
    stated.order.step_count = 0;
    stated.order.ended_at = ended_at;
    verify_rules_statement(rules, &stated, 8);
    last_finding[0] = '\0';
    return rules;
}

static uint64_t orders_left(struct verify_rules *rules)
{
    struct verify_counts counts;
    uint64_t orders = 0;
    verify_rules_end(rules, &counts);
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        orders += counts.by_state[state];
    return orders;
}

Test(verify_rules, forgets_the_orders_that_expire)
{
    static const struct {
        enum order_state state;
        int64_t ended_at;
        const char *until;
        uint64_t left;
    } cases[] = {
        {ORDER_PROCESSED, 20, "o-1", 0}, {ORDER_COMPENSATED, 19, "a", 0},
        {ORDER_PROCESSED, 20, "o-0", 1}, {ORDER_PROCESSED, 21, "z", 1},
        {ORDER_PROCESSING, 0, "z", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verify_rules *rules = rules_with(cases[i].state, cases[i].ended_at);
        struct expiry expiry = {
            .decided_at = 30, .ended_at = 20, .order_id = text_of(cases[i].until)};
        verify_rules_expiry(rules, &expiry, 9);
        cr_assert_str_eq(last_finding, "");
        cr_assert_eq(orders_left(rules), cases[i].left, "case %zu", i);
        verify_rules_free(rules);
    }
}

Test(verify_rules, finds_an_expiry_at_an_impossible_time)
{
    struct verify_rules *rules = rules_with(ORDER_PROCESSED, 20);
    struct expiry expiry = {.decided_at = 30, .ended_at = 31, .order_id = TEXT("o-1")};
    verify_rules_expiry(rules, &expiry, 9);
    cr_assert_not_null(strstr(last_finding, "before they have ended"), "%s", last_finding);
    expiry.decided_at = 29;
    expiry.ended_at = 20;
    verify_rules_expiry(rules, &expiry, 10);
    cr_assert_not_null(strstr(last_finding, "decided earlier"), "%s", last_finding);
    verify_rules_free(rules);
}

/* Its last attempt ends while an operator has it paused. */
Test(verify_rules, ends_the_pause_of_an_order_that_ends)
{
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    struct statement stated = statement();
    struct event events[] = {
        {.kind = EVENT_STEP_SUCCEEDED, .step_succeeded.ref = {TEXT_CONST("A"), DIRECTION_DO, 3}},
        {.kind = EVENT_ORDER_PROCESSED}};
    struct decision decision = {.decided_at = 6,
                                .order_id = TEXT("o-1"),
                                .order_version = 8,
                                .order_state = ORDER_PROCESSED,
                                .events = events,
                                .event_count = 2};
    struct step done = step;
    last_finding[0] = '\0';
    stated.order.paused_at = 5;
    verify_rules_statement(rules, &stated, 8);
    verify_rules_decision(rules, &decision, false, 9);
    done.state = STEP_PROCESSED;
    stated = statement();
    stated.order.version = 8;
    stated.order.state = ORDER_PROCESSED;
    stated.order.ended_at = 6;
    stated.order.steps = &done;
    verify_rules_statement(rules, &stated, 10);
    cr_assert_str_eq(last_finding, "");
    verify_rules_free(rules);
}

/* ---- undoing ---- */

enum { FACTS = 8 };

/* One order; each Decision has the events of one of these lines. */
struct fact {
    enum event_kind kind;
    const char *step;
    enum direction direction;
    enum effect effect; /* of a failure */
};

static void follow(struct verify_rules *rules, uint64_t version, const struct fact *facts,
                   uint32_t count)
{
    struct event events[FACTS] = {0};
    cr_assert_leq(count, (uint32_t)FACTS);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t attempt = facts[i].kind == EVENT_STEP_QUEUED ? 0 : 1;
        struct attempt_ref ref = {text_of(facts[i].step), facts[i].direction, attempt};
        events[i] = (struct event){.kind = facts[i].kind, .step_marked.ref = ref};
        if (facts[i].kind == EVENT_STEP_FAILED)
            events[i].step_failed.effect = facts[i].effect;
    }
    struct decision decision = {.command_offset = (int64_t)version,
                                .decided_at = 5,
                                .order_id = TEXT("o-1"),
                                .order_version = version,
                                .order_state = ORDER_PROCESSING,
                                .events = events,
                                .event_count = count};
    verify_rules_decision(rules, &decision, false, 9);
}

/* B is done, which starts D; D's outcome is unknown. Then both are undone. */
static void undo_in_order(const char *first, const char *second)
{
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    struct fact begun[] = {{EVENT_STEP_STARTED, "B", DIRECTION_DO, EFFECT_NONE}};
    struct fact done[] = {{EVENT_STEP_SUCCEEDED, "B", DIRECTION_DO, EFFECT_NONE},
                          {EVENT_STEP_STARTED, "D", DIRECTION_DO, EFFECT_NONE}};
    struct fact failed[] = {{EVENT_STEP_FAILED, "D", DIRECTION_DO, EFFECT_UNKNOWN},
                            {EVENT_STEP_STARTED, first, DIRECTION_UNDO, EFFECT_NONE}};
    struct fact undone[] = {{EVENT_STEP_SUCCEEDED, first, DIRECTION_UNDO, EFFECT_NONE},
                            {EVENT_STEP_STARTED, second, DIRECTION_UNDO, EFFECT_NONE}};
    last_finding[0] = '\0';
    follow(rules, 1, begun, 1);
    follow(rules, 2, done, 2);
    follow(rules, 3, failed, 2);
    follow(rules, 4, undone, 2);
    verify_rules_free(rules);
}

Test(verify_rules, finds_a_step_that_is_undone_after_the_one_that_it_waited_for)
{
    undo_in_order("D", "B");
    cr_assert_str_eq(last_finding, "");
    undo_in_order("B", "D");
    cr_assert_not_null(strstr(last_finding, "D is undone after B"), "%s", last_finding);
}

/* Of a restated order, and where the later one only waits for an agent. */
Test(verify_rules, finds_a_restated_step_that_is_undone_out_of_turn)
{
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    struct step steps[] = {{.name = TEXT_CONST("A"),
                            .state = STEP_PENDING,
                            .direction = DIRECTION_UNDO,
                            .effect = EFFECT_APPLIED,
                            .completed_version = 3},
                           {.name = TEXT_CONST("B"),
                            .state = STEP_PROCESSED,
                            .attempt = 1,
                            .effect = EFFECT_APPLIED,
                            .completed_version = 4}};
    struct statement stated = statement();
    struct fact queued[] = {{EVENT_STEP_QUEUED, "B", DIRECTION_UNDO, EFFECT_NONE}};
    stated.order.steps = steps;
    stated.order.step_count = 2;
    last_finding[0] = '\0';
    verify_rules_statement(rules, &stated, 8);
    cr_assert_str_eq(last_finding, "");
    follow(rules, 8, queued, 1);
    cr_assert_not_null(strstr(last_finding, "B is undone after A"), "%s", last_finding);
    verify_rules_free(rules);
}

/* ---- what steps wait for, and get ---- */

static struct verify_rules *begin_order(void)
{
    static struct step_plan plans[] = {{.name = TEXT_CONST("A")}, {.name = TEXT_CONST("B")}};
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    struct event event = {.kind = EVENT_ORDER_ACCEPTED,
                          .order_accepted = {.steps = plans, .step_count = 2}};
    struct decision decision = {.order_id = TEXT("o-1"),
                                .order_version = 1,
                                .order_state = ORDER_PROCESSING,
                                .events = &event,
                                .event_count = 1};
    last_finding[0] = '\0';
    verify_rules_decision(rules, &decision, false, 9);
    return rules;
}

static void follow_event_at(struct verify_rules *rules, uint64_t version, struct event event,
                            int64_t decided_at)
{
    struct decision decision = {.command_offset = (int64_t)version - 1,
                                .decided_at = decided_at,
                                .order_id = TEXT("o-1"),
                                .order_version = version,
                                .order_state = ORDER_PROCESSING,
                                .events = &event,
                                .event_count = 1};
    if (event.kind == EVENT_ORDER_PROCESSED)
        decision.order_state = ORDER_PROCESSED;
    if (event.kind == EVENT_COMPENSATION_STARTED)
        decision.order_state = ORDER_COMPENSATING;
    verify_rules_decision(rules, &decision, false, 9);
}

static void follow_event(struct verify_rules *rules, uint64_t version, struct event event)
{
    follow_event_at(rules, version, event, 0);
}

/* `before`: the set of the steps before it. */
static struct event start_of(const char *name, uint32_t attempt, int64_t before, const char *input)
{
    return (struct event){.kind = EVENT_STEP_STARTED,
                          .step_started = {.ref = {text_of(name), DIRECTION_DO, attempt},
                                           .inputs = before,
                                           .input = text_of(input)}};
}

static struct event marked(enum event_kind kind, const char *name, const char *reason)
{
    return (struct event){
        .kind = kind,
        .step_marked = {.ref = {text_of(name), DIRECTION_DO, 1}, .reason = text_of(reason)}};
}

Test(verify_rules, finds_a_step_that_starts_before_those_it_waits_for_have_finished)
{
    static const struct {
        enum event_kind kind;
        bool finished;
    } cases[] = {{EVENT_STEP_SUCCEEDED, true},
                 {EVENT_STEP_FAILED, false},
                 {EVENT_STEP_CAUGHT, true},
                 {EVENT_STEP_PASSED, true},
                 {EVENT_STEP_COMPLETED_BY_HAND, true},
                 {EVENT_STEP_SKIPPED_BY_HAND, true},
                 {EVENT_STEP_RETRY_SCHEDULED, false},
                 {EVENT_STEP_EXHAUSTED, false},
                 {EVENT_STEP_FAILED_UNSTARTED, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verify_rules *rules = begin_order();
        follow_event(rules, 2, start_of("A", 1, 0, ""));
        follow_event(rules, 3, marked(cases[i].kind, "A", ""));
        last_finding[0] = '\0';
        follow_event(rules, 4, start_of("B", 1, 1, ""));
        cr_assert_eq(strstr(last_finding, "B starts before A has finished") == NULL,
                     cases[i].finished, "%s: %s", event_kind_name(cases[i].kind), last_finding);
        verify_rules_free(rules);
    }
}

/* follow_event() decides at 0, begin_order() as well. */
Test(verify_rules, finds_a_step_that_passes_before_its_moment)
{
    struct event waits = {.kind = EVENT_STEP_WAITING,
                          .step_waiting = {.ref = {TEXT("A"), DIRECTION_DO, 0}, .due_at = 5}};
    struct event passes = {.kind = EVENT_STEP_PASSED,
                           .step_passed = {.ref = {TEXT("A"), DIRECTION_DO, 0}}};
    struct rules_case {
        struct event second;
        int64_t at;
        const char *found;
    } cases[] = {
        {passes, 5, ""}, {passes, 4, "A passes before its moment"}, {waits, 4, "does already"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verify_rules *rules = begin_order();
        follow_event(rules, 2, waits);
        cr_assert_str_eq(last_finding, "");
        follow_event_at(rules, 3, cases[i].second, cases[i].at);
        expect_last(cases[i].found, i);
        verify_rules_free(rules);
    }
    struct verify_rules *rules = begin_order();
    waits.step_waiting.due_at = 0;
    follow_event(rules, 2, waits);
    cr_assert_not_null(strstr(last_finding, "A waits for a moment that has passed"), "%s",
                       last_finding);
    verify_rules_free(rules);
}

/* With a signal, a step passes at any time, but a group is not passed over. */
Test(verify_rules, finds_a_step_that_is_ended_by_hand_instead_of_by_its_group)
{
    struct attempt_ref ref = {TEXT("A"), DIRECTION_DO, 0};
    struct event waits = {.kind = EVENT_STEP_WAITING,
                          .step_waiting = {.ref = ref, .due_at = 5, .for_signal = true}};
    struct event passes = {.kind = EVENT_STEP_PASSED, .step_passed = {.ref = ref}};
    struct event completed = {.kind = EVENT_STEP_COMPLETED_BY_HAND,
                              .step_completed_by_hand = {.ref = ref}};
    struct event skipped = {.kind = EVENT_STEP_SKIPPED_BY_HAND,
                            .step_skipped_by_hand = {.ref = ref}};
    struct rules_case {
        const char *group;
        int64_t due_at;
        struct event second;
        const char *found;
    } cases[] = {{"", 5, passes, ""},
                 {"managers", 5, passes, ""},
                 {"", 0, passes, ""},
                 {"", 0, completed, ""},
                 {"", 0, skipped, ""},
                 {"", 0, waits, "does already"},
                 {"managers", 5, completed, "A is ended by hand, but awaits a signal of a group"},
                 {"managers", 5, skipped, "A is ended by hand, but awaits a signal of a group"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verify_rules *rules = begin_order();
        waits.step_waiting.due_at = cases[i].due_at;
        waits.step_waiting.group = text_of(cases[i].group);
        follow_event(rules, 2, waits);
        cr_assert_str_eq(last_finding, "");
        follow_event_at(rules, 3, cases[i].second, 4);
        expect_last(cases[i].found, i);
        verify_rules_free(rules);
    }
}

/* An operator may give it up at any time. */
Test(verify_rules, finds_a_step_that_fails_before_the_time_for_its_signal_is_over)
{
    struct attempt_ref ref = {TEXT("A"), DIRECTION_DO, 0};
    struct rules_case {
        int64_t due_at;
        int64_t at;
        const char *by;
        const char *found;
    } cases[] = {{5, 5, "", ""},
                 {5, 4, "", "A fails, but awaits a signal for longer"},
                 {0, 5, "", "A fails, but awaits a signal for longer"},
                 {5, 4, "ann", ""},
                 {0, 4, "ann", ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verify_rules *rules = begin_order();
        struct event waits = {
            .kind = EVENT_STEP_WAITING,
            .step_waiting = {.ref = ref, .due_at = cases[i].due_at, .for_signal = true}};
        struct event fails = {.kind = EVENT_STEP_FAILED_UNSTARTED,
                              .step_failed_unstarted = {.ref = ref,
                                                        .error_name = TEXT(ERROR_TIMEOUT),
                                                        .failure_count = 1,
                                                        .by = text_of(cases[i].by)}};
        follow_event(rules, 2, waits);
        cr_assert_str_eq(last_finding, "");
        follow_event_at(rules, 3, fails, cases[i].at);
        expect_last(cases[i].found, i);
        verify_rules_free(rules);
    }
}

/* Others may be asked before it, or after it was given up. */
Test(verify_rules, lets_an_operator_end_a_step_that_awaits_nothing_yet)
{
    struct attempt_ref ref = {TEXT("A"), DIRECTION_DO, 0};
    struct event waits = {
        .kind = EVENT_STEP_WAITING,
        .step_waiting = {.ref = ref, .due_at = 5, .for_signal = true, .group = TEXT("managers")}};
    struct event fails = {
        .kind = EVENT_STEP_FAILED_UNSTARTED,
        .step_failed_unstarted = {.ref = ref, .error_name = TEXT("E"), .by = TEXT("ann")}};
    struct event skipped = {.kind = EVENT_STEP_SKIPPED_BY_HAND,
                            .step_skipped_by_hand = {.ref = ref}};
    struct verify_rules *rules = begin_order();
    follow_event(rules, 2, waits);
    follow_event_at(rules, 3, fails, 4);
    follow_event_at(rules, 4, skipped, 4);
    cr_assert_str_eq(last_finding, "");
    verify_rules_free(rules);
}

Test(verify_rules, finds_an_order_that_is_processed_before_its_steps_have_finished)
{
    struct verify_rules *rules = begin_order();
    follow_event(rules, 2, marked(EVENT_STEP_SKIPPED, "A", "When: input.a"));
    cr_assert_str_eq(last_finding, "");
    follow_event(rules, 3, (struct event){.kind = EVENT_ORDER_PROCESSED});
    cr_assert_not_null(strstr(last_finding, "Processed, but B has not finished"), "%s",
                       last_finding);
    verify_rules_free(rules);
}

Test(verify_rules, finds_a_step_that_is_skipped_without_a_reason)
{
    struct verify_rules *rules = begin_order();
    follow_event(rules, 2, marked(EVENT_STEP_SKIPPED, "A", "never started"));
    cr_assert_not_null(strstr(last_finding, "A is skipped, and neither"), "%s", last_finding);
    last_finding[0] = '\0';
    follow_event(rules, 3, (struct event){.kind = EVENT_COMPENSATION_STARTED});
    follow_event(rules, 4, marked(EVENT_STEP_SKIPPED, "B", "never started"));
    cr_assert_str_eq(last_finding, "");
    verify_rules_free(rules);
}

/* A new key, and another version, may have another input. */
Test(verify_rules, finds_attempts_under_one_key_that_get_different_inputs)
{
    static struct step_plan plans[] = {{.name = TEXT_CONST("B")}, {.name = TEXT_CONST("A")}};
    struct verify_rules *rules = begin_order();
    struct event again = start_of("A", 3, 0, "2");
    again.step_started.generation = 1;
    follow_event(rules, 2, start_of("A", 1, 0, "1"));
    follow_event(rules, 3, marked(EVENT_STEP_FAILED, "A", ""));
    follow_event(rules, 4, start_of("A", 2, 0, ""));
    struct event failed = marked(EVENT_STEP_FAILED, "A", "");
    failed.step_failed.ref.attempt = 2;
    follow_event(rules, 5, failed);
    follow_event(rules, 6, again);
    failed.step_failed.ref.attempt = 3;
    follow_event(rules, 7, failed);
    follow_event(rules, 8,
                 (struct event){.kind = EVENT_ORDER_MIGRATED,
                                .order_migrated = {.steps = plans, .step_count = 2}});
    again.step_started.ref.attempt = 4;
    again.step_started.input = TEXT("3");
    follow_event(rules, 9, again);
    cr_assert_str_eq(last_finding, "");
    failed.step_failed.ref.attempt = 4;
    follow_event(rules, 10, failed);
    again.step_started.ref.attempt = 5;
    again.step_started.input = TEXT("4");
    follow_event(rules, 11, again);
    cr_assert_not_null(strstr(last_finding, "A gets another input"), "%s", last_finding);
    last_finding[0] = '\0';
    follow_event(rules, 12, start_of("B", 1, 2, "")); /* A is the second one now */
    cr_assert_not_null(strstr(last_finding, "B starts before A"), "%s", last_finding);
    verify_rules_free(rules);
}

Test(verify_rules, finds_an_output_of_a_step_that_is_not_processed)
{
    struct order order = statement().order;
    struct step other = step;
    order.steps = &other;
    other.output = TEXT("1");
    assert_finding(order, "A is restated with an output, but is Processing");
}

static struct event amended(struct amended_step *steps, uint32_t count)
{
    return (struct event){.kind = EVENT_ORDER_AMENDED,
                          .order_amended = {.steps = steps, .step_count = count}};
}

Test(verify_rules, finds_an_order_that_is_amended_while_it_goes_forward)
{
    struct verify_rules *rules = begin_order();
    follow_event(rules, 2, start_of("A", 1, 0, "1"));
    follow_event(rules, 3, amended(NULL, 0));
    cr_assert_not_null(strstr(last_finding, "amended while attempt 1 of A runs"), "%s",
                       last_finding);
    last_finding[0] = '\0';
    follow_event(rules, 4, marked(EVENT_STEP_FAILED, "A", ""));
    follow_event(rules, 5, amended(NULL, 0));
    cr_assert_not_null(strstr(last_finding, "amended in Processing"), "%s", last_finding);
    verify_rules_free(rules);
}

/* A step that begins again has not finished, and another key has another input. */
Test(verify_rules, follows_steps_that_begin_again)
{
    static struct amended_step steps[] = {{TEXT_CONST("A"), 1}};
    struct verify_rules *rules = begin_order();
    follow_event(rules, 2, start_of("A", 1, 0, "1"));
    follow_event(rules, 3, marked(EVENT_STEP_FAILED, "A", ""));
    follow_event(rules, 4, (struct event){.kind = EVENT_ORDER_FAILED});
    follow_event(rules, 5, amended(steps, 1));
    last_finding[0] = '\0';
    struct event again = start_of("A", 2, 0, "2");
    again.step_started.generation = 1;
    follow_event(rules, 6, again);
    cr_assert_null(strstr(last_finding, "gets another input"), "%s", last_finding);
    follow_event(rules, 7, start_of("B", 1, 1, ""));
    cr_assert_not_null(strstr(last_finding, "B starts before A"), "%s", last_finding);
    verify_rules_free(rules);
}

static struct event failed_attempt(const char *name, uint32_t attempt, enum effect effect)
{
    return (struct event){
        .kind = EVENT_STEP_FAILED,
        .step_failed = {.ref = {text_of(name), DIRECTION_DO, attempt}, .effect = effect}};
}

/* A resubmission under the key that the amendment gave forgets no effect, nor when it was known. */
Test(verify_rules, follows_the_key_that_an_amendment_gives)
{
    static struct amended_step steps[] = {{TEXT_CONST("A"), 1}};
    struct verify_rules *rules = begin_order();
    struct event resubmitted = {
        .kind = EVENT_STEP_RESUBMITTED,
        .step_resubmitted = {.ref = {TEXT("A"), DIRECTION_DO, 2}, .generation = 1}};
    struct event undo = start_of("B", 1, 0, "");
    undo.step_started.ref.direction = DIRECTION_UNDO;
    follow_event(rules, 2, start_of("A", 1, 0, ""));
    follow_event(rules, 3, failed_attempt("A", 1, EFFECT_NONE));
    follow_event(rules, 4, (struct event){.kind = EVENT_ORDER_FAILED});
    follow_event(rules, 5, amended(steps, 1));
    follow_event(rules, 6, start_of("A", 2, 0, ""));
    follow_event(rules, 7, failed_attempt("A", 2, EFFECT_APPLIED));
    follow_event(rules, 8, resubmitted);
    follow_event(rules, 9, start_of("B", 1, 0, ""));
    follow_event(rules, 10, marked(EVENT_STEP_SUCCEEDED, "B", ""));
    follow_event(rules, 11, start_of("A", 3, 0, ""));
    follow_event(rules, 12, failed_attempt("A", 3, EFFECT_APPLIED));
    follow_event(rules, 13, (struct event){.kind = EVENT_COMPENSATION_STARTED});
    follow_event(rules, 14, undo);
    undo.step_started.ref.step = TEXT("A");
    last_finding[0] = '\0';
    follow_event(rules, 15, undo);
    cr_assert_null(strstr(last_finding, "is undone after"), "%s", last_finding);
    verify_rules_free(rules);
}

Test(verify_rules, finds_a_step_that_begins_again_after_an_attempt_has_finished_it)
{
    static struct amended_step steps[] = {{TEXT_CONST("A"), 1}};
    struct verify_rules *rules = begin_order();
    follow_event(rules, 2, start_of("A", 1, 0, "1"));
    follow_event(rules, 3, marked(EVENT_STEP_SUCCEEDED, "A", ""));
    follow_event(rules, 4, amended(steps, 1));
    cr_assert_not_null(strstr(last_finding, "A begins again, but an attempt has finished it"), "%s",
                       last_finding);
    verify_rules_free(rules);
}
