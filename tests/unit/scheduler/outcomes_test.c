/* SPDX-License-Identifier: Apache-2.0 */
/* What became of orders and attempts, as metrics: each acknowledged Decision once, with labels
 * within their limits. */
#include "tests/unit/scheduler/owner_kit.h"

#include "base/heap_arena.h"
#include "services/scheduler/owner/outcomes.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(outcomes);

/* The value of a series as the text format has it; 0: it is not there. */
static double value_of(struct metrics *metrics, const char *series)
{
    size_t size = 0;
    char line[512];
    char *text = metrics_render(metrics, &size);
    snprintf(line, sizeof(line), "\n%s ", series);
    const char *found = strstr(text, line);
    double value = found != NULL ? strtod(found + strlen(line), NULL) : 0;
    free(text);
    return value;
}

/* ---- by an owner ---- */

static struct owner_kit kit;
static struct owner_kit_process *process;

static double count(const char *series)
{
    return value_of(process->service.metrics, series);
}

static void begin(void)
{
    owner_kit_begin(&kit, 1);
    process = owner_kit_boot(&kit, "s-1", 0);
    owner_kit_own(process, 0);
}

static void fail(const char *id, const char *error)
{
    struct command cmd = owner_kit_report_of(id);
    cmd.report_step.succeeded = false;
    cmd.report_step.error_name = text_of(error);
    cmd.report_step.error_message = TEXT("it failed");
    cmd.report_step.effect = EFFECT_UNKNOWN;
    owner_kit_command(&kit, &cmd);
}

#define ATTEMPTS(outcome, error)                                                                 \
    "reeve_step_attempts_total{workflow=\"test\",step=\"A\",direction=\"do\",outcome=\"" outcome \
    "\",error=\"" error "\"}"
#define ATTEMPT_TIME(part, outcome)             \
    "reeve_step_attempt_duration_seconds_" part \
    "{workflow=\"test\",step=\"A\",direction=\"do\",outcome=\"" outcome "\"}"
#define ORDERS(outcome) "reeve_order_outcomes_total{workflow=\"test\",outcome=\"" outcome "\"}"
#define ORDER_TIME(part, outcome) \
    "reeve_order_duration_seconds_" part "{workflow=\"test\",outcome=\"" outcome "\"}"

Test(outcomes, counts_orders_and_attempts_with_their_durations)
{
    begin();
    owner_kit_submit(&kit, "a");
    owner_kit_submit(&kit, "b");
    owner_kit_run(&kit, 3000);
    cr_assert_eq(count("reeve_orders_accepted_total{workflow=\"test\"}"), 2);
    owner_kit_report(&kit, "a");
    fail("b", "CardDeclined");
    owner_kit_run(&kit, 1000);
    cr_assert_eq(count(ATTEMPTS("succeeded", "")), 1);
    cr_assert_eq(count(ATTEMPTS("failed", "CardDeclined")), 1);
    cr_assert_eq(count(ATTEMPT_TIME("count", "succeeded")), 1);
    cr_assert(count(ATTEMPT_TIME("sum", "succeeded")) > 2.5);
    cr_assert(count(ATTEMPT_TIME("sum", "succeeded")) < 4);
    cr_assert_eq(count(ORDERS("Processed")), 1);
    cr_assert(count(ORDER_TIME("sum", "Processed")) > 2.5);
    const struct decision *failed = owner_kit_decision(&kit, 0, "b");
    cr_assert_eq(count(ORDERS("Compensated")), failed->order_state == ORDER_COMPENSATED);
    cr_assert_eq(count(ORDERS("Error")), failed->order_state == ORDER_ERROR);
    cr_assert_eq(count(ORDERS("Compensated")) + count(ORDERS("Error")), 1);
    owner_kit_report(&kit, "a"); /* a repeated report changes nothing */
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 1000);
    cr_assert_eq(count(ATTEMPTS("succeeded", "")), 1);
    cr_assert_eq(count("reeve_orders_accepted_total{workflow=\"test\"}"), 2);
}

Test(outcomes, counts_an_attempt_that_timed_out)
{
    begin();
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 1000);
    const struct decision *decision = owner_kit_decision(&kit, 0, "a");
    const struct step_started *started = NULL;
    for (uint32_t i = 0; i < decision->event_count; i++)
        if (decision->events[i].kind == EVENT_STEP_STARTED)
            started = &decision->events[i].step_started;
    cr_assert_not_null(started);
    struct command cmd = {.kind = COMMAND_RECOVER_STEP, .order_id = TEXT("a")};
    cmd.recover_step.order_id = TEXT("a");
    cmd.recover_step.step = TEXT("A");
    cmd.recover_step.direction = DIRECTION_DO;
    cmd.recover_step.attempt = 1;
    cmd.recover_step.complete_by = started->complete_by;
    owner_kit_run(&kit, started->complete_by - decision->decided_at + 2000);
    owner_kit_command(&kit, &cmd);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(count(ATTEMPTS("timed_out", "States.Timeout")), 1);
    cr_assert_eq(count(ATTEMPT_TIME("count", "timed_out")), 1);
}

/* Decisions that are not acknowledged where they must be do not count, and what the owner folds
 * afterwards counts nowhere: each command is decided again under the new claim. */
Test(outcomes, counts_no_decision_that_was_not_acknowledged)
{
    begin();
    owner_kit_run(&kit, 1000);
    owner_kit_claim(&kit, 0, 9);
    for (uint32_t i = 0; i < 3; i++)
        owner_kit_submit(&kit, owner_kit_id(&kit, 0, i));
    owner_kit_run(&kit, 10000);
    cr_assert_gt(owner_kit_decisions(&kit, 0), 3);
    cr_assert_eq(count("reeve_claims_given_up_total"), 1);
    cr_assert_eq(count("reeve_orders_accepted_total{workflow=\"test\"}"), 3);
}

Test(outcomes, counts_nothing_that_another_owner_decided)
{
    begin();
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 1000);
    owner_kit_release(process, 0);
    process = owner_kit_boot(&kit, "s-2", 0);
    owner_kit_own(process, 0);
    owner_kit_run(&kit, 1000);
    owner_kit_report(&kit, "a");
    owner_kit_run(&kit, 1000);
    cr_assert_eq(count("reeve_orders_accepted_total{workflow=\"test\"}"), 0);
    cr_assert_eq(count(ORDERS("Processed")), 1);
    cr_assert(count(ORDER_TIME("sum", "Processed")) > 1.5);
}

/* ---- limits ---- */

static struct metrics *metrics;
static struct outcomes *outcomes;
static struct heap_arena heap;

/* `error` NULL: the attempt succeeded. */
static void count_attempt(const struct workflow *workflow, const char *workflow_name,
                          const char *step_name, const char *error)
{
    struct outcome_list list;
    struct attempt_ref ref = {text_of(step_name), DIRECTION_DO, 1};
    struct step step = {.name = ref.step, .attempt = 1, .started_at = 1000};
    struct order order = {.details.workflow = text_of(workflow_name),
                          .accepted_at = 500,
                          .steps = &step,
                          .step_count = 1};
    struct event event = {.kind = EVENT_STEP_SUCCEEDED, .step_succeeded.ref = ref};
    if (error != NULL)
        event = (struct event){.kind = EVENT_STEP_FAILED,
                               .step_failed = {.ref = ref, .error_name = text_of(error)}};
    struct decision decision = {.decided_at = 3000, .events = &event, .event_count = 1};
    heap_arena_reset(&heap);
    outcomes_of(outcomes, &decision, &order, workflow, &heap.arena, &list);
    outcomes_count(&list);
}

static void begin_alone(void)
{
    metrics = metrics_new();
    outcomes = outcomes_new(metrics);
    heap_arena_init(&heap, 4096);
}

static void end_alone(void)
{
    heap_arena_deinit(&heap);
    outcomes_free(outcomes);
    metrics_free(metrics);
}

#define EXPRESSIONS(workflow, step) \
    "reeve_expression_errors_total{workflow=\"" workflow "\",step=\"" step "\"}"

/* `order` NULL: the Decision accepts it. */
static void count_events(const struct order *order, struct event *events, uint32_t event_count)
{
    struct outcome_list list;
    struct decision decision = {.decided_at = 3000, .events = events, .event_count = event_count};
    heap_arena_reset(&heap);
    outcomes_of(outcomes, &decision, order, NULL, &heap.arena, &list);
    outcomes_count(&list);
}

static struct event unstarted(const char *step, const char *error)
{
    return (struct event){.kind = EVENT_STEP_FAILED_UNSTARTED,
                          .step_failed_unstarted = {.ref = {text_of(step), DIRECTION_DO, 0},
                                                    .error_name = text_of(error)}};
}

Test(outcomes, counts_expressions_that_fail, .init = begin_alone, .fini = end_alone)
{
    struct order order = {.details.workflow = TEXT("test"), .accepted_at = 500};
    struct event events[] = {
        unstarted("A", "States.QueryEvaluationError"),
        unstarted("A", "States.DataLimitExceeded"),
        unstarted("A", "LoanDeclined"),
        {.kind = EVENT_ORDER_PROCESSED,
         .order_processed = {.problem = TEXT("States.QueryEvaluationError: there is no member a")}},
    };
    count_events(&order, events, 4);
    count_attempt(NULL, "test", "B", "States.QueryEvaluationError"); /* its Output failed */
    cr_assert_eq(value_of(metrics, EXPRESSIONS("test", "A")), 2);
    cr_assert_eq(value_of(metrics, EXPRESSIONS("test", "B")), 1);
    cr_assert_eq(value_of(metrics, EXPRESSIONS("test", "")), 1, "the Output of the order");
    cr_assert_eq(value_of(metrics, ORDERS("Processed")), 1);
    events[3].order_processed.problem = TEXT("");
    count_events(&order, events + 3, 1);
    cr_assert_eq(value_of(metrics, EXPRESSIONS("test", "")), 1);
}

Test(outcomes, counts_how_often_parents_and_held_orders_ask, .init = begin_alone, .fini = end_alone)
{
    struct order order = {.details.workflow = TEXT("test"), .state = ORDER_PROCESSING};
    struct event asked = {.kind = EVENT_SUBORDERS_ASKED,
                          .suborders_asked = {.ref = {TEXT("A"), DIRECTION_DO, 1}}};
    struct event deadline = {.kind = EVENT_ORDER_DEADLINE_SET};
    cr_assert_eq(value_of(metrics, "reeve_suborder_asks_total"), 0);
    count_events(&order, &asked, 1);
    count_events(&order, &deadline, 1);
    cr_assert_eq(value_of(metrics, "reeve_suborder_asks_total"), 1, "of an order that runs");
    order.state = ORDER_HELD;
    count_events(&order, &deadline, 1);
    cr_assert_eq(value_of(metrics, "reeve_suborder_asks_total"), 2);
}

#define SIGNALS(outcome) "reeve_signals_total{outcome=\"" outcome "\"}"

static struct event refused(enum command_kind command, enum error_code code)
{
    return (struct event){.kind = EVENT_COMMAND_REJECTED,
                          .command_rejected = {.command = command, .code = error_code_text(code)}};
}

Test(outcomes, counts_what_becomes_of_signals, .init = begin_alone, .fini = end_alone)
{
    struct order order = {.details.workflow = TEXT("test"), .state = ORDER_PROCESSING};
    struct attempt_ref a = {TEXT("A"), DIRECTION_DO, 0};
    struct event passed = {.kind = EVENT_STEP_PASSED, .step_passed = {.ref = a, .by = TEXT("ann")}};
    struct event time_passed = {.kind = EVENT_STEP_PASSED, .step_passed = {.ref = a}};
    struct event received = {.kind = EVENT_SIGNAL_RECEIVED, .signal_received = {.step = a.step}};
    struct event repeated = refused(COMMAND_SIGNAL_ORDER, CODE_SIGNAL_REPEATED);
    struct event late = refused(COMMAND_SIGNAL_ORDER, CODE_TOO_LATE);
    struct event unknown = refused(COMMAND_SIGNAL_ORDER, CODE_UNKNOWN_ORDER);
    struct event not_a_signal = refused(COMMAND_CANCEL_ORDER, CODE_ALREADY_ENDED);
    cr_assert_eq(value_of(metrics, SIGNALS("kept")), 0, "there before the first one");
    count_events(&order, &passed, 1);
    count_events(&order, &time_passed, 1);
    count_events(&order, &received, 1);
    received.signal_received.kept = true;
    count_events(&order, &received, 1);
    count_events(&order, &repeated, 1);
    count_events(&order, &late, 1);
    count_events(NULL, &unknown, 1);
    count_events(&order, &not_a_signal, 1);
    cr_assert_eq(value_of(metrics, SIGNALS("passed")), 1);
    cr_assert_eq(value_of(metrics, SIGNALS("not_yet")), 1);
    cr_assert_eq(value_of(metrics, SIGNALS("kept")), 1);
    cr_assert_eq(value_of(metrics, SIGNALS("repeated")), 1);
    cr_assert_eq(value_of(metrics, SIGNALS("refused")), 2);
}

Test(outcomes, bounds_the_steps_whose_expressions_fail, .init = begin_alone, .fini = end_alone)
{
    char name[32];
    struct order order = {.details.workflow = TEXT("test")};
    for (int i = 0; i < OUTCOMES_STEPS_MAX + 7; i++) {
        snprintf(name, sizeof(name), "Step%d", i);
        struct event event = unstarted(name, "States.QueryEvaluationError");
        count_events(&order, &event, 1);
    }
    cr_assert_eq(value_of(metrics, EXPRESSIONS("test", "Step3")), 1);
    cr_assert_eq(value_of(metrics, EXPRESSIONS("other", "other")), 7);
}

/* As where no step of it needs an agent. */
Test(outcomes, counts_an_order_that_ends_as_it_is_accepted, .init = begin_alone, .fini = end_alone)
{
    struct event events[] = {
        {.kind = EVENT_ORDER_ACCEPTED, .order_accepted.details.workflow = TEXT("test")},
        unstarted("A", "States.QueryEvaluationError"),
        {.kind = EVENT_ORDER_COMPENSATED},
    };
    count_events(NULL, events, 3);
    cr_assert_eq(value_of(metrics, "reeve_orders_accepted_total{workflow=\"test\"}"), 1);
    cr_assert_eq(value_of(metrics, ORDERS("Compensated")), 1);
    cr_assert_eq(value_of(metrics, ORDER_TIME("count", "Compensated")), 1);
    cr_assert_eq(value_of(metrics, EXPRESSIONS("test", "A")), 1);
}

/* The service has answered: nothing has failed. */
Test(outcomes, counts_a_service_that_is_not_ready_apart_from_failures, .init = begin_alone,
     .fini = end_alone)
{
    struct attempt_ref ref = {TEXT("Poll"), DIRECTION_DO, 1};
    struct step step = {.name = ref.step, .attempt = 1, .started_at = 1000};
    struct order order = {.details.workflow = TEXT("w"), .steps = &step, .step_count = 1};
    struct event event = {
        .kind = EVENT_STEP_FAILED,
        .step_failed = {.ref = ref, .error_name = TEXT(ERROR_NOT_YET), .not_yet = true}};
    count_events(&order, &event, 1);
    cr_assert_eq(value_of(metrics, "reeve_step_attempts_total{workflow=\"w\",step=\"Poll\","
                                   "direction=\"do\",outcome=\"not_yet\",error=\"\"}"),
                 1);
}

Test(outcomes, bounds_the_names_of_errors, .init = begin_alone, .fini = end_alone)
{
    char name[32];
    const struct retrier retrier = {.errors = {{TEXT("Busy")}, 1}};
    const struct catcher catcher = {.errors = {{TEXT("Declined")}, 1}};
    const struct workflow_step step = {
        .name = TEXT("A"), .retry = {&retrier, 1}, .catchers = &catcher, .catcher_count = 1};
    const struct workflow workflow = {.name = TEXT("test"), .steps = &step, .step_count = 1};
    for (int i = 0; i < OUTCOMES_ERRORS_MAX + 10; i++) {
        snprintf(name, sizeof(name), "Order%d", i);
        count_attempt(&workflow, "test", "A", name);
    }
    count_attempt(&workflow, "test", "A", "Busy");
    count_attempt(&workflow, "test", "A", "Declined");
    count_attempt(&workflow, "test", "A", "Order3");
    cr_assert_eq(value_of(metrics, ATTEMPTS("failed", "Order3")), 2);
    cr_assert_eq(value_of(metrics, ATTEMPTS("failed", "other")), 10);
    cr_assert_eq(value_of(metrics, ATTEMPTS("failed", "Busy")), 1);
    cr_assert_eq(value_of(metrics, ATTEMPTS("failed", "Declined")), 1);
    cr_assert_eq(value_of(metrics, ATTEMPT_TIME("count", "failed")), OUTCOMES_ERRORS_MAX + 13);
    cr_assert_eq(value_of(metrics, ATTEMPT_TIME("sum", "failed")), 2 * (OUTCOMES_ERRORS_MAX + 13));
}

Test(outcomes, bounds_the_number_of_steps, .init = begin_alone, .fini = end_alone)
{
    char name[32];
    for (int i = 0; i < OUTCOMES_STEPS_MAX + 7; i++) {
        snprintf(name, sizeof(name), "Step%d", i);
        count_attempt(NULL, "test", name, NULL);
    }
    cr_assert_eq(value_of(metrics, "reeve_step_attempts_total{workflow=\"other\",step=\"other\","
                                   "direction=\"do\",outcome=\"succeeded\",error=\"\"}"),
                 7);
}

/* A service that invents a name for each failure, of every step. */
Test(outcomes, bounds_the_series_of_attempts, .init = begin_alone, .fini = end_alone)
{
    char step[32], error[32];
    for (int i = 0; i < OUTCOMES_STEPS_MAX; i++) {
        for (int k = 0; k < OUTCOMES_ERRORS_MAX; k++) {
            snprintf(step, sizeof(step), "Step%d", i);
            snprintf(error, sizeof(error), "Error%d", k);
            count_attempt(NULL, "test", step, error);
        }
    }
    size_t size = 0, lines = 0;
    char *text = metrics_render(metrics, &size);
    for (const char *at = text; (at = strstr(at, "\nreeve_step_attempts_total{")) != NULL; at++)
        lines++;
    free(text);
    cr_assert_leq(lines, OUTCOMES_ATTEMPTS_MAX + OUTCOMES_STEPS_MAX);
}

Test(outcomes, bounds_the_number_of_workflows, .init = begin_alone, .fini = end_alone)
{
    char name[32];
    struct outcome_list list;
    struct event event = {.kind = EVENT_ORDER_ACCEPTED};
    struct decision decision = {.decided_at = 3000, .events = &event, .event_count = 1};
    for (int i = 0; i < OUTCOMES_WORKFLOWS_MAX + 4; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        event.order_accepted.details.workflow = text_of(name);
        heap_arena_reset(&heap);
        outcomes_of(outcomes, &decision, NULL, NULL, &heap.arena, &list);
        outcomes_count(&list);
    }
    cr_assert_eq(value_of(metrics, "reeve_orders_accepted_total{workflow=\"other\"}"), 4);
    cr_assert_eq(value_of(metrics, "reeve_orders_accepted_total{workflow=\"w99\"}"), 1);
}
