/* SPDX-License-Identifier: Apache-2.0 */
/* The complete lifecycle matrices; names; and the events on which order_apply() aborts. */
#include "engine/engine.h"
#include "tests/lib/engine_memory.h"

#include <criterion/criterion.h>
#include <signal.h>

TestSuite(engine_lifecycle);

/* Rows: from; columns: to, both in the order of the enum. x = may follow. */
static const char *const order_matrix[ORDER_STATE_COUNT] = {
    [ORDER_PENDING] = ".x.....",     [ORDER_PROCESSING] = "..xx.xx",
    [ORDER_PROCESSED] = ".......",   [ORDER_COMPENSATING] = "....xx.",
    [ORDER_COMPENSATED] = ".......", [ORDER_ERROR] = ".x.x...",
    [ORDER_HELD] = "..xx...",
};

static const char *const step_matrix[STEP_STATE_COUNT] = {
    [STEP_PENDING] = ".xxxxxxx", [STEP_PROCESSING] = "x.x.x...",  [STEP_PROCESSED] = "xx......",
    [STEP_ERROR] = "xxx.xx..",   [STEP_COMPENSATED] = "........", [STEP_SKIPPED] = "........",
    [STEP_CAUGHT] = "........",  [STEP_WAITING] = "x.x..x..",
};

Test(engine_lifecycle, allows_exactly_the_order_transitions_of_the_matrix)
{
    for (unsigned from = 0; from < ORDER_STATE_COUNT; from++) {
        for (unsigned to = 0; to < ORDER_STATE_COUNT; to++)
            cr_assert_eq(order_state_may_follow(from, to), order_matrix[from][to] == 'x',
                         "%s -> %s", order_state_name(from), order_state_name(to));
    }
}

Test(engine_lifecycle, allows_exactly_the_step_transitions_of_the_matrix)
{
    for (unsigned from = 0; from < STEP_STATE_COUNT; from++) {
        for (unsigned to = 0; to < STEP_STATE_COUNT; to++)
            cr_assert_eq(step_state_may_follow(from, to), step_matrix[from][to] == 'x', "%s -> %s",
                         step_state_name(from), step_state_name(to));
    }
}

Test(engine_lifecycle, aborts_on_a_state_out_of_range, .signal = SIGABRT)
{
    order_state_may_follow(ORDER_STATE_COUNT, ORDER_PENDING);
}

/* ---- names ---- */

#define EVERY_NAME(name_of, first, count)                          \
    do {                                                           \
        for (unsigned i = (first); i < (count); i++)               \
            cr_assert_str_neq(name_of(i), "?", #name_of " %u", i); \
        cr_assert_str_eq(name_of(count), "?");                     \
    } while (0)

static const char *priority_name(enum priority priority)
{
    return enum_name(&priority_names, priority);
}

Test(engine_lifecycle, names_every_state_and_kind)
{
    EVERY_NAME(order_state_name, 0, ORDER_STATE_COUNT);
    EVERY_NAME(step_state_name, 0, STEP_STATE_COUNT);
    EVERY_NAME(direction_name, 0, DIRECTION_COUNT);
    EVERY_NAME(effect_name, 0, EFFECT_COUNT);
    EVERY_NAME(priority_name, 0, PRIORITY_COUNT);
    EVERY_NAME(command_kind_name, 0, COMMAND_KIND_COUNT);
    EVERY_NAME(event_kind_name, EVENT_ORDER_ACCEPTED, EVENT_KIND_COUNT);
    EVERY_NAME(status_kind_name, 0, STATUS_KIND_COUNT);
    EVERY_NAME(deadline_kind_name, 0, DEADLINE_KIND_COUNT);
    cr_assert_str_eq(event_kind_name(0), "?");
}

Test(engine_lifecycle, treats_four_events_as_changing_nothing)
{
    unsigned answers = 0;
    for (unsigned kind = EVENT_ORDER_ACCEPTED; kind < EVENT_KIND_COUNT; kind++)
        answers += !event_changes_order(kind);
    cr_assert_eq(answers, 4);
    cr_assert_not(event_changes_order(EVENT_COMMAND_REJECTED));
    cr_assert_not(event_changes_order(EVENT_REPORT_IGNORED));
    cr_assert_not(event_changes_order(EVENT_SUBMISSION_REPEATED));
    cr_assert_not(event_changes_order(EVENT_COMMAND_DEAD_LETTERED));
}

/* ---- order_apply() aborts on events that the state does not allow ---- */

struct fixture {
    struct test_arena memory;
    struct order order;
};

/* An order in Processing with the steps A and B; attempt 1 of A runs. */
static struct fixture *started(void)
{
    static struct fixture fixture;
    struct step_plan plans[] = {{TEXT("A"), TEXT("agent"), {0}, false},
                                {TEXT("B"), TEXT("agent"), {0}, false}};
    test_arena_init(&fixture.memory);
    struct event accepted = {
        .kind = EVENT_ORDER_ACCEPTED,
        .order_accepted = {.details = {.order_id = TEXT("o-1")}, .steps = plans, .step_count = 2}};
    struct event processing = {.kind = EVENT_ORDER_STARTED};
    struct event step = {.kind = EVENT_STEP_STARTED,
                         .step_started = {.ref = {TEXT("A"), DIRECTION_DO, 1},
                                          .agent = TEXT("agent"),
                                          .complete_by = 99}};
    order_apply(&fixture.order, &accepted, 1, 5, &fixture.memory.arena);
    order_apply(&fixture.order, &processing, 1, 5, &fixture.memory.arena);
    order_apply(&fixture.order, &step, 1, 5, &fixture.memory.arena);
    return &fixture;
}

static void apply_next(struct fixture *fixture, const struct event *event)
{
    order_apply(&fixture->order, event, fixture->order.version + 1, 6, &fixture->memory.arena);
}

static void apply_step_event(struct fixture *fixture, enum event_kind kind, const char *step,
                             enum direction direction, uint32_t attempt)
{
    struct event event = {.kind = kind, .step_marked.ref = {text_of(step), direction, attempt}};
    if (kind == EVENT_STEP_STARTED)
        event.step_started.complete_by = 99;
    apply_next(fixture, &event);
}

Test(engine_lifecycle, accepts_legal_events_after_the_fixture)
{
    struct fixture *fixture = started();
    apply_step_event(fixture, EVENT_STEP_SUCCEEDED, "A", DIRECTION_DO, 1);
    cr_assert_eq(fixture->order.steps[0].state, STEP_PROCESSED);
    cr_assert_eq(fixture->order.version, 2);
    apply_step_event(fixture, EVENT_STEP_STARTED, "B", DIRECTION_DO, 1);
    apply_next(fixture, &(struct event){.kind = EVENT_COMMAND_REJECTED});
    cr_assert_eq(fixture->order.version, 3);
    test_arena_deinit(&fixture->memory);
}

Test(engine_lifecycle, aborts_when_a_running_step_starts_again, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_STARTED, "A", DIRECTION_DO, 2);
}

Test(engine_lifecycle, aborts_when_an_attempt_ends_that_is_not_running, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_SUCCEEDED, "B", DIRECTION_DO, 0);
}

Test(engine_lifecycle, aborts_on_the_outcome_of_another_attempt, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_SUCCEEDED, "A", DIRECTION_DO, 2);
}

Test(engine_lifecycle, aborts_on_the_outcome_of_another_direction, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_SUCCEEDED, "A", DIRECTION_UNDO, 1);
}

Test(engine_lifecycle, aborts_when_a_running_step_is_skipped, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_SKIPPED, "A", DIRECTION_DO, 1);
}

Test(engine_lifecycle, aborts_on_an_unknown_step, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_STARTED, "C", DIRECTION_DO, 1);
}

Test(engine_lifecycle, aborts_when_a_pending_step_is_resubmitted, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_RESUBMITTED, "B", DIRECTION_DO, 0);
}

Test(engine_lifecycle, aborts_when_a_running_step_is_queued, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_QUEUED, "A", DIRECTION_DO, 1);
}

Test(engine_lifecycle, aborts_when_a_step_is_extended_that_is_not_running, .signal = SIGABRT)
{
    apply_step_event(started(), EVENT_STEP_EXTENDED, "B", DIRECTION_DO, 0);
}

Test(engine_lifecycle, aborts_when_an_extension_shortens_the_deadline, .signal = SIGABRT)
{
    apply_next(started(), &(struct event){.kind = EVENT_STEP_EXTENDED,
                                          .step_extended = {.ref = {TEXT("A"), DIRECTION_DO, 1},
                                                            .complete_by = 99}});
}

Test(engine_lifecycle, says_what_a_step_waits_for)
{
    static const struct {
        struct step step;
        enum wait_kind kind;
        bool active;
    } rows[] = {
        {{.state = STEP_PENDING}, WAIT_NONE, false},
        {{.state = STEP_PENDING, .wait = {.retry_at = 9}}, WAIT_RETRY, true},
        {{.state = STEP_PENDING, .wait = {.queued_at = 6}}, WAIT_QUEUE, true},
        {{.state = STEP_PENDING, .wait = {.retry_at = 9, .queued_at = 6}}, WAIT_QUEUE, true},
        {{.state = STEP_PROCESSING}, WAIT_NONE, true},
        {{.state = STEP_ERROR}, WAIT_NONE, true},
        {{.state = STEP_PROCESSED}, WAIT_NONE, false},
        {{.state = STEP_WAITING, .wait = {.retry_at = 9}}, WAIT_TIME, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct step *step = &rows[i].step;
        struct wait wait = step_wait(step);
        cr_assert_eq(wait.kind, rows[i].kind);
        cr_assert_eq(wait.since, step->wait.queued_at);
        cr_assert_eq(wait.until, step->wait.retry_at);
        cr_assert_eq(step_is_active(step), rows[i].active);
        cr_assert_eq(step_runs_or_waits(step), rows[i].active && step->state != STEP_ERROR);
    }
}

Test(engine_lifecycle, clears_the_queue_marks_when_a_queued_step_starts)
{
    struct fixture *fixture = started();
    const struct step *b = &fixture->order.steps[1];
    apply_next(fixture, &(struct event){.kind = EVENT_STEP_QUEUED,
                                        .step_queued = {.ref = {TEXT("B"), DIRECTION_DO, 0},
                                                        .queued_at = 6,
                                                        .retry_at = 9}});
    cr_assert_eq(b->state, STEP_PENDING);
    struct wait wait = step_wait(b);
    cr_assert_eq(wait.kind, WAIT_QUEUE);
    cr_assert_eq(wait.since, 6);
    cr_assert_eq(wait.until, 9);
    cr_assert_eq(b->attempt, 0);
    cr_assert(order_step_queued(&fixture->order, b));
    apply_next(fixture, &(struct event){.kind = EVENT_STEP_STARTED,
                                        .step_started = {.ref = {TEXT("B"), DIRECTION_DO, 1},
                                                         .agent = TEXT("other"),
                                                         .complete_by = 99}});
    wait = step_wait(b);
    cr_assert_eq(wait.kind, WAIT_NONE);
    cr_assert_eq(wait.until, 0);
    cr_assert(text_equal(b->agent, TEXT("other")));
    cr_assert_not(order_step_queued(&fixture->order, b));
    test_arena_deinit(&fixture->memory);
}

Test(engine_lifecycle, treats_a_queued_processed_step_as_a_pending_undo)
{
    struct fixture *fixture = started();
    const struct step *a = &fixture->order.steps[0];
    apply_step_event(fixture, EVENT_STEP_SUCCEEDED, "A", DIRECTION_DO, 1);
    apply_next(fixture, &(struct event){.kind = EVENT_COMPENSATION_STARTED});
    apply_next(fixture, &(struct event){.kind = EVENT_STEP_QUEUED,
                                        .step_queued = {.ref = {TEXT("A"), DIRECTION_UNDO, 0},
                                                        .queued_at = 6}});
    cr_assert_eq(a->state, STEP_PENDING);
    cr_assert_eq(a->direction, DIRECTION_UNDO);
    cr_assert_eq(a->attempt, 0);
    cr_assert_eq(a->effect, EFFECT_APPLIED);
    cr_assert(order_step_queued(&fixture->order, a));
    test_arena_deinit(&fixture->memory);
}

Test(engine_lifecycle, aborts_when_an_order_is_accepted_twice, .signal = SIGABRT)
{
    struct step_plan plan = {TEXT("A"), TEXT("agent"), {0}, false};
    apply_next(started(), &(struct event){.kind = EVENT_ORDER_ACCEPTED,
                                          .order_accepted = {.steps = &plan, .step_count = 1}});
}

Test(engine_lifecycle, aborts_when_a_running_order_is_compensated_at_once, .signal = SIGABRT)
{
    apply_next(started(), &(struct event){.kind = EVENT_ORDER_COMPENSATED});
}

Test(engine_lifecycle, aborts_when_a_closed_alert_is_closed, .signal = SIGABRT)
{
    apply_next(started(), &(struct event){.kind = EVENT_ALERT_CLOSED});
}

Test(engine_lifecycle, aborts_when_an_alert_is_raised_twice, .signal = SIGABRT)
{
    struct fixture *fixture = started();
    apply_next(fixture, &(struct event){.kind = EVENT_ALERT_RAISED});
    apply_next(fixture, &(struct event){.kind = EVENT_ALERT_RAISED});
}

Test(engine_lifecycle, aborts_when_a_version_is_skipped, .signal = SIGABRT)
{
    struct fixture *fixture = started();
    order_apply(&fixture->order, &(struct event){.kind = EVENT_ORDER_CANCELLED},
                fixture->order.version + 2, 6, &fixture->memory.arena);
}

Test(engine_lifecycle, aborts_on_an_unknown_event_kind, .signal = SIGABRT)
{
    apply_next(started(), &(struct event){.kind = EVENT_KIND_COUNT});
}

Test(engine_lifecycle, aborts_on_a_decision_for_another_version, .signal = SIGABRT)
{
    struct fixture *fixture = started();
    struct event event = {.kind = EVENT_ORDER_CANCELLED};
    struct decision decision = {.order_version = 3, .events = &event, .event_count = 1};
    order_apply_decision(&fixture->order, &decision, &fixture->memory.arena);
}

/* ---- order_problem() ---- */

static void finds(struct fixture *fixture, const char *problem)
{
    const char *found = order_problem(&fixture->order);
    cr_expect(found != NULL && strstr(found, problem) != NULL, "%s, not %s", problem,
              found != NULL ? found : "nothing");
}

/* Distorts the fixture's order for one check. */
#define FINDS(member, value, problem)                \
    do {                                             \
        struct order saved = fixture->order;         \
        struct step first = fixture->order.steps[0]; \
        fixture->order.member = (value);             \
        finds(fixture, problem);                     \
        fixture->order.steps[0] = first;             \
        saved.steps = fixture->order.steps;          \
        fixture->order = saved;                      \
    } while (0)

Test(engine_lifecycle, finds_what_is_wrong_with_a_stored_order)
{
    struct fixture *fixture = started();
    cr_assert_null(order_problem(&fixture->order));
    FINDS(version, 0, "at least one Decision");
    FINDS(state, ORDER_PENDING, "has left Pending");
    FINDS(step_count, 0, "1 to 64 steps");
    FINDS(step_count, WORKFLOW_STEPS_MAX + 1, "1 to 64 steps");
    FINDS(alert_open, true, "an alert is open exactly");
    FINDS(state, ORDER_ERROR, "an alert is open exactly");
    FINDS(state, ORDER_PROCESSED, "an order has ended, but a step has not");
    FINDS(complete_by, INT64_MAX, "order's complete-by time is out of range");
    FINDS(margin_ms, -1, "order's complete-by time is out of range");
    FINDS(steps[0].complete_by, 0, "Processing without a complete-by time");
    FINDS(steps[0].complete_by, INT64_MAX, "step's complete-by time is out of range");
    FINDS(steps[0].margin_ms, DURATION_MS_MAX + 1, "step's complete-by time is out of range");
    FINDS(steps[0].attempt, 0, "no attempt was made");
    FINDS(steps[0].agent, TEXT(""), "Processing without an agent");
    FINDS(steps[0].wait.retry_at, 5, "waits, but is neither Pending nor Waiting");
    FINDS(steps[0].wait.queued_at, 5, "waits, but is neither Pending nor Waiting");
    FINDS(steps[0].direction, DIRECTION_UNDO, "being undone, but its order is not");
    fixture->order.alert_open = true;
    fixture->order.error_from = ORDER_PENDING;
    FINDS(state, ORDER_ERROR, "Error follows only");
    fixture->order.alert_open = false;
    fixture->order.state = ORDER_COMPENSATING;
    fixture->order.steps[0].direction = DIRECTION_UNDO;
    cr_assert_null(order_problem(&fixture->order));
    FINDS(steps[1].direction, DIRECTION_UNDO, "two steps are being undone");
    fixture->order.steps[1].direction = DIRECTION_DO;
    fixture->order.steps[0].complete_by = 0;
    FINDS(steps[0].state, STEP_ERROR, "an undo has failed");
}

Test(engine_lifecycle, finds_what_is_wrong_with_a_stored_step_that_waits)
{
    struct fixture *fixture = started();
    struct step *step = &fixture->order.steps[0];
    *step = (struct step){.name = step->name, .state = STEP_WAITING, .wait = {.retry_at = 9}};
    cr_assert_null(order_problem(&fixture->order));
    FINDS(state, ORDER_PROCESSED, "an order has ended, but a step has not");
    FINDS(steps[0].wait.retry_at, 0, "Waiting without a time");
    FINDS(steps[0].wait.retry_at, INT64_MAX, "Waiting without a time");
    FINDS(steps[0].wait.queued_at, 5, "or in a queue");
    FINDS(steps[0].complete_by, 5, "or has one without");
    FINDS(steps[0].effect, EFFECT_APPLIED, "an effect");
    FINDS(steps[0].direction, DIRECTION_UNDO, "being undone");
}

/* ---- what a log may hold ---- */

Test(engine_lifecycle, refuses_moments_and_answers_that_no_owner_decides)
{
    struct fixture *fixture = started();
    struct event event = {.kind = EVENT_STEP_WAITING,
                          .step_waiting = {.ref = {TEXT("B"), DIRECTION_DO, 0}}};
    struct decision decision = {.order_version = fixture->order.version + 1,
                                .order_state = ORDER_PROCESSING,
                                .decided_at = 9,
                                .events = &event,
                                .event_count = 1};
    struct arena *arena = &fixture->memory.arena;
    cr_assert_not_null(order_apply_problem(&fixture->order, &decision, arena), "no time");
    event.step_waiting.due_at = 10;
    cr_assert_null(order_apply_problem(&fixture->order, &decision, arena));
    event = (struct event){.kind = EVENT_STEP_FAILED,
                           .step_failed = {.ref = {TEXT("A"), DIRECTION_DO, 1},
                                           .error_name = TEXT(ERROR_NOT_YET),
                                           .failure_count = 1,
                                           .not_yet = true}};
    cr_assert_null(order_apply_problem(&fixture->order, &decision, arena));
    event.step_failed.effect = EFFECT_UNKNOWN;
    cr_assert_not_null(order_apply_problem(&fixture->order, &decision, arena), "an effect");
    event.step_failed.effect = EFFECT_NONE;
    fixture->order.steps[0].generation[DIRECTION_DO] = INT32_MAX;
    cr_assert_not_null(order_apply_problem(&fixture->order, &decision, arena), "keys");
    test_arena_deinit(&fixture->memory);
}
