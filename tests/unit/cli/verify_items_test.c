/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of sub-orders in a log: what their parent says of them, and one that is held. */
#include "cli/verify/rules.h"
#include "cli/verify/step_items.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(verify_items);

static struct event of_kind(enum event_kind kind)
{
    return (struct event){.kind = kind, .step_marked.ref = {TEXT("W"), DIRECTION_DO, 1}};
}

static struct event starts(uint32_t count)
{
    struct event event = of_kind(EVENT_SUBORDERS_STARTED);
    event.suborders_started.count = count;
    return event;
}

static struct event submits(int64_t number, uint32_t generation, const char *error)
{
    static struct submitted_item items[8]; /* of the events of a test */
    static unsigned next;
    struct submitted_item *item = &items[next++ % 8];
    *item = (struct submitted_item){.item = number, .error_name = text_of(error)};
    struct event event = of_kind(EVENT_SUBORDERS_SUBMITTED);
    event.suborders_submitted.generation = generation;
    event.suborders_submitted.items = item;
    event.suborders_submitted.item_count = 1;
    return event;
}

static struct event ends(int64_t item, uint32_t generation, enum suborder_outcome outcome)
{
    return (struct event){
        .kind = EVENT_SUBORDER_ENDED,
        .suborder_ended = {
            .step = TEXT("W"), .item = item, .generation = generation, .outcome = outcome}};
}

/* What is wrong with the last of them; nothing may be wrong with those before it. */
static const char *problem_of(const struct event *events, uint32_t count)
{
    struct step_items items = {0};
    const char *problem = NULL;
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_null(problem, "%u: %s", i, problem);
        problem = step_items_follow(&items, &events[i]);
    }
    step_items_deinit(&items);
    return problem;
}

#define ASSERT_PROBLEM(expected, ...)                                                 \
    do {                                                                              \
        struct event events[] = {__VA_ARGS__};                                        \
        const char *problem = problem_of(events, sizeof(events) / sizeof(events[0])); \
        cr_assert(problem != NULL && strcmp(problem, (expected)) == 0, "%s, not %s",  \
                  problem != NULL ? problem : "nothing", (expected));                 \
    } while (0)

Test(verify_items, finds_nothing_in_a_good_log)
{
    struct event events[] = {starts(2),
                             submits(0, 0, ""),
                             submits(1, 0, "States.QueryEvaluationError"),
                             ends(0, 0, SUBORDER_HELD),
                             of_kind(EVENT_SUBORDERS_RECALLED),
                             ends(0, 0, SUBORDER_FAILED),
                             of_kind(EVENT_STEP_FAILED),
                             starts(2),
                             submits(0, 1, ""),
                             ends(0, 1, SUBORDER_FINAL),
                             of_kind(EVENT_STEP_SUCCEEDED)};
    const char *problem = problem_of(events, sizeof(events) / sizeof(events[0]));
    cr_assert_null(problem, "%s", problem);
}

Test(verify_items, finds_sub_orders_that_begin_and_end_as_they_may_not)
{
    ASSERT_PROBLEM("begins again with another number of sub-orders", starts(2), starts(1));
    ASSERT_PROBLEM("begins again, and one of its sub-orders has not answered", starts(1),
                   submits(-1, 0, ""), starts(1));
    ASSERT_PROBLEM("submits a sub-order that is not to be done", starts(2), submits(0, 0, ""),
                   submits(0, 0, ""));
    ASSERT_PROBLEM("submits a sub-order that is not to be done", starts(2), submits(2, 0, ""));
    ASSERT_PROBLEM("submits a sub-order after it was recalled", starts(2), submits(0, 0, ""),
                   of_kind(EVENT_SUBORDERS_RECALLED), submits(1, 0, ""));
    ASSERT_PROBLEM("has a sub-order end that was not to", starts(1), ends(0, 0, SUBORDER_HELD));
    ASSERT_PROBLEM("has a sub-order end that was not to", ends(0, 0, SUBORDER_HELD));
    ASSERT_PROBLEM("has a sub-order of another generation end", starts(1), submits(0, 0, ""),
                   ends(0, 1, SUBORDER_HELD));
    ASSERT_PROBLEM("ends, and one of its sub-orders has not answered", starts(1), submits(0, 0, ""),
                   of_kind(EVENT_STEP_SUCCEEDED));
    ASSERT_PROBLEM("ends, and one of its sub-orders has not answered", starts(1), submits(0, 0, ""),
                   ends(0, 0, SUBORDER_HELD), of_kind(EVENT_SUBORDERS_RECALLED),
                   of_kind(EVENT_STEP_FAILED));
}

/* ---- a sub-order that is held ---- */

static char last_finding[VERIFY_FINDING_SIZE];

static void on_finding(void *ctx, const char *finding)
{
    (void)ctx;
    snprintf(last_finding, sizeof(last_finding), "%s", finding);
}

static void decide(struct verify_rules *rules, uint64_t version, enum order_state state,
                   struct event event)
{
    struct decision decision = {.command_offset = (int64_t)version - 1,
                                .decided_at = 5,
                                .order_id = TEXT("o-1"),
                                .order_version = version,
                                .order_state = state,
                                .events = &event,
                                .event_count = 1};
    verify_rules_decision(rules, &decision, false, (int64_t)version);
}

static struct verify_rules *begin(bool has_parent, bool done)
{
    static const struct order_parent parent = {.order_id = TEXT_CONST("o-0")};
    static struct step_plan plan = {.name = TEXT_CONST("W")};
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    struct event accepted = {.kind = EVENT_ORDER_ACCEPTED,
                             .order_accepted = {.steps = &plan, .step_count = 1}};
    accepted.order_accepted.details.parent = has_parent ? &parent : NULL;
    decide(rules, 1, ORDER_PROCESSING, accepted);
    struct event skipped = of_kind(EVENT_STEP_SKIPPED);
    skipped.step_marked.reason = TEXT("When: false");
    struct event pause = {.kind = EVENT_ORDER_PAUSED};
    decide(rules, 2, ORDER_PROCESSING, done ? skipped : pause);
    last_finding[0] = '\0';
    return rules;
}

static struct event held_until(int64_t complete_by)
{
    return (struct event){.kind = EVENT_ORDER_HELD, .order_held.complete_by = complete_by};
}

Test(verify_items, knows_orders_that_are_held)
{
    static const struct {
        bool has_parent;
        bool done;
        int64_t complete_by;
        const char *finding; /* empty: none */
    } cases[] = {
        {true, true, 6, ""},
        {false, true, 6, "it is Held, and has no parent"},
        {true, false, 6, "it is Held, but W has not finished"},
        {true, true, 5, "it is Held, and does not report again"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct verify_rules *rules = begin(cases[i].has_parent, cases[i].done);
        decide(rules, 3, ORDER_HELD, held_until(cases[i].complete_by));
        cr_assert_not_null(strstr(last_finding, cases[i].finding), "%s", last_finding);
        cr_assert_eq(last_finding[0] == '\0', cases[i].finding[0] == '\0', "%s", last_finding);
        verify_rules_free(rules);
    }
}

Test(verify_items, let_a_held_order_have_an_alert)
{
    struct verify_rules *rules = begin(true, true);
    decide(rules, 3, ORDER_HELD, held_until(6));
    decide(rules, 4, ORDER_HELD, (struct event){.kind = EVENT_ALERT_RAISED});
    cr_assert_str_eq(last_finding, "");
    decide(rules, 5, ORDER_PROCESSED, (struct event){.kind = EVENT_ORDER_PROCESSED});
    cr_assert_not_null(strstr(last_finding, "it is Processed with an open alert"), "%s",
                       last_finding);
    verify_rules_free(rules);
}

Test(verify_items, follows_sub_orders_from_a_statement_and_the_events_behind_it)
{
    static struct suborder_item items[] = {{.state = ITEM_SUBMITTED}, {.state = ITEM_HELD}};
    static struct suborders suborders = {.items = items, .item_count = 2};
    struct step step = {.name = TEXT("W"),
                        .state = STEP_PROCESSING,
                        .attempt = 1,
                        .complete_by = 100,
                        .suborders = &suborders};
    struct statement statement = {.order = {.details = {.order_id = TEXT("o-1")},
                                            .version = 7,
                                            .state = ORDER_PROCESSING,
                                            .steps = &step,
                                            .step_count = 1}};
    struct verify_rules *rules = verify_rules_new(0, 1, on_finding, NULL);
    last_finding[0] = '\0';
    verify_rules_statement(rules, &statement, 1);
    decide(rules, 8, ORDER_PROCESSING, ends(0, 0, SUBORDER_FINAL));
    cr_assert_str_eq(last_finding, "");
    decide(rules, 9, ORDER_PROCESSING, ends(0, 0, SUBORDER_FINAL));
    cr_assert_not_null(strstr(last_finding, "W has a sub-order end that was not to"), "%s",
                       last_finding);
    verify_rules_free(rules);
}
