/* SPDX-License-Identifier: Apache-2.0 */
/* The order as data: keys, copies, arenas, limits, and effects. */
#include "base/goods.h"
#include "base/utf8.h"
#include "engine/engine.h"
#include "engine/message.h"
#include "tests/lib/engine_equal.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_workflow.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>

TestSuite(engine_order);

static struct text spaces(struct arena *arena, uint32_t size)
{
    return (struct text){memset(arena_bytes(arena, size), 'x', size), size};
}

Test(engine_order, derives_idempotency_keys)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct step step = {.name = TEXT("Pay"), .generation = {0, 4294967295u}};
    struct order order = {.details.order_id = TEXT("o-17"), .steps = &step, .step_count = 1};
    struct text key = order_idempotency_key(&order, &step, DIRECTION_DO, &memory.arena);
    cr_assert(text_equal(key, TEXT("o-17/Pay/do/0")));
    key = order_idempotency_key(&order, &step, DIRECTION_UNDO, &memory.arena);
    cr_assert(text_equal(key, TEXT("o-17/Pay/undo/4294967295")));
    step.generation[0] = 120;
    key = order_idempotency_key(&order, &step, DIRECTION_DO, &memory.arena);
    cr_assert(text_equal(key, TEXT("o-17/Pay/do/120")));
    test_arena_deinit(&memory);
}

Test(engine_order, fits_the_longest_idempotency_key)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct step step = {.name = spaces(&memory.arena, NAME_BYTES_MAX),
                        .generation = {4294967295u, 4294967295u}};
    struct order order = {.details.order_id = spaces(&memory.arena, ORDER_ID_BYTES_MAX)};
    struct text key = order_idempotency_key(&order, &step, DIRECTION_UNDO, &memory.arena);
    cr_assert_eq(key.size, ORDER_ID_BYTES_MAX + NAME_BYTES_MAX + 17);
    cr_assert_leq(key.size, IDEMPOTENCY_KEY_BYTES_MAX);
    test_arena_deinit(&memory);
}

Test(engine_order, truncates_messages_between_characters)
{
    struct test_arena memory;
    test_arena_init(&memory);
    struct text all = spaces(&memory.arena, MESSAGE_BYTES_MAX - 1);
    struct text text = message_format(&memory.arena, "%.*s\u20acuro", TEXT_ARG(all));
    cr_assert_eq(text.size, MESSAGE_BYTES_MAX - 1);
    text = message_format(&memory.arena, "%.*sy\u20acuro", TEXT_ARG(all));
    cr_assert_eq(text.size, MESSAGE_BYTES_MAX);
    cr_assert_eq(utf8_cut(TEXT("a\u20acb"), 5).size, 5);
    cr_assert_eq(utf8_cut(TEXT("a\u20acb"), 4).size, 4);
    cr_assert_eq(utf8_cut(TEXT("a\u20acb"), 3).size, 1);
    cr_assert_eq(utf8_cut(TEXT("a\u20acb"), 2).size, 1);
    cr_assert_eq(utf8_cut(TEXT("a\u20acb"), 1).size, 1);
    cr_assert_eq(utf8_cut(TEXT("\u20ac"), 2).size, 0);
    test_arena_deinit(&memory);
}

/* ---- a large order ---- */

static struct command large_submission(struct arena *arena)
{
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = TEXT("o-1")};
    struct order_details *details = &cmd.submit_order;
    details->order_id = TEXT("o-1");
    details->workflow = TEXT("test");
    details->reply_to = TEXT("replies");
    struct goods *goods = ARENA_NEW(arena, struct goods);
    goods->line_count = ORDER_LINES_MAX;
    goods->lines = ARENA_ARRAY(arena, struct order_line, ORDER_LINES_MAX);
    for (uint32_t i = 0; i < ORDER_LINES_MAX; i++)
        goods->lines[i] = (struct order_line){
            spaces(arena, 1 + i % SKU_BYTES_MAX), spaces(arena, i % 40), i, {i}};
    details->goods = goods;
    details->attribute_count = ORDER_ATTRIBUTES_MAX;
    details->attributes = ARENA_ARRAY(arena, struct attribute, ORDER_ATTRIBUTES_MAX);
    for (uint32_t i = 0; i < ORDER_ATTRIBUTES_MAX; i++)
        details->attributes[i] = (struct attribute){spaces(arena, i + 1), spaces(arena, i)};
    return cmd;
}

/* The maximum number of steps, all in parallel: this yields the largest Decisions. */
static const struct workflow *wide_workflow(struct arena *arena)
{
    char line[WORKFLOW_STEPS_MAX * 16] = "";
    size_t size = 0;
    for (int i = 0; i < WORKFLOW_STEPS_MAX; i++)
        size += (size_t)snprintf(line + size, sizeof(line) - size, "s%d{c,e} ", i);
    return workflow_of(arena, line);
}

struct world {
    struct test_arena memory; /* of commands and decisions */
    struct test_arena live;   /* of the order */
    struct order order;
    const struct workflow *workflow;
};

static void world_init(struct world *world, const char *workflow)
{
    test_arena_init(&world->memory);
    test_arena_init(&world->live);
    world->workflow = workflow_of(&world->memory.arena, workflow);
}

static void world_deinit(struct world *world)
{
    test_arena_deinit(&world->live);
    test_arena_deinit(&world->memory);
}

static struct decision decide_at(struct world *world, int64_t now, const struct command *cmd)
{
    struct decide_input input = {
        .now = now, .margin_ms = 10, .instance = TEXT("scheduler"), .workflow = world->workflow};
    struct decision decision;
    engine_decide(world->order.version > 0 ? &world->order : NULL, cmd, &input,
                  &world->memory.arena, &decision);
    order_apply_decision(&world->order, &decision, &world->live.arena);
    return decision;
}

static struct decision decide_next(struct world *world, const struct command *cmd)
{
    return decide_at(world, 1000, cmd);
}

Test(engine_order, fits_the_largest_order)
{
    static struct world world;
    test_arena_init(&world.memory);
    test_arena_init(&world.live);
    world.workflow = wide_workflow(&world.memory.arena);
    struct command submit = large_submission(&world.memory.arena);
    struct decision decision = decide_next(&world, &submit);
    cr_assert_eq(decision.event_count, 2 + WORKFLOW_STEPS_MAX);
    struct deadline deadlines[DEADLINES_MAX];
    cr_assert_eq(deadlines_of(&world.order, deadlines), WORKFLOW_STEPS_MAX);

    struct effects effects;
    effects_of(&decision, 1, &world.order, &world.memory.arena, &effects);
    cr_assert_eq(effects.request_count, WORKFLOW_STEPS_MAX);
    cr_assert_eq(effects.status.step_count, WORKFLOW_STEPS_MAX);

    for (uint32_t i = 0; i < WORKFLOW_STEPS_MAX; i++) {
        struct command report = {.kind = COMMAND_REPORT_STEP, .order_id = TEXT("o-1")};
        report.report_step = (struct report_step){.step = world.workflow->steps[i].name,
                                                  .attempt = 1,
                                                  .error_name = TEXT("No"),
                                                  .effect = EFFECT_UNKNOWN};
        decide_next(&world, &report);
    }
    cr_assert_eq(world.order.state, ORDER_ERROR);
    struct command resubmit = {.kind = COMMAND_RESUBMIT_STEP, .order_id = TEXT("o-1")};
    decision = decide_next(&world, &resubmit);
    cr_assert_eq(decision.event_count, 2 * WORKFLOW_STEPS_MAX + 2);

    struct test_arena other;
    test_arena_init(&other);
    struct order copy;
    order_copy(&world.order, &other.arena, &copy);
    test_arena_deinit(&world.live);
    test_arena_init(&world.live);
    struct order again;
    order_copy(&copy, &world.live.arena, &again);
    cr_assert_null(order_difference(&copy, &again), "%s", order_difference(&copy, &again));
    cr_assert(text_equal(again.details.goods->lines[1999].sku,
                         submit.submit_order.goods->lines[1999].sku));
    test_arena_deinit(&other);
    world_deinit(&world);
}

/* The live order owns its data; the bytes of the command and the Decision can be freed. */
Test(engine_order, copies_everything_it_keeps_of_an_event)
{
    static struct world world;
    test_arena_init(&world.memory);
    test_arena_init(&world.live);
    struct test_arena lasting;
    test_arena_init(&lasting);
    world.workflow = workflow_of(&lasting.arena, "A{r1} B<-A");
    char output[] = "{\"id\":42}";
    char id[] = "o-1";
    struct command cmd = large_submission(&world.memory.arena);
    cmd.order_id = cmd.submit_order.order_id = (struct text){id, 3};
    decide_next(&world, &cmd);
    struct command report = {.kind = COMMAND_REPORT_STEP, .order_id = TEXT("o-1")};
    report.report_step = (struct report_step){
        .step = TEXT("A"), .attempt = 1, .succeeded = true, .output = {output, 9}};
    decide_next(&world, &report);
    memset(output, '!', sizeof(output));
    memset(id, '!', sizeof(id));
    test_arena_deinit(&world.memory);
    cr_assert(text_equal(world.order.details.order_id, TEXT("o-1")));
    cr_assert(text_equal(world.order.steps[0].output, TEXT("{\"id\":42}")));
    cr_assert(text_equal(world.order.steps[1].locked_by, TEXT("scheduler")));
    cr_assert(text_equal(world.order.details.goods->lines[1].sku, TEXT("xx")));
    test_arena_deinit(&world.live);
    test_arena_deinit(&lasting);
}

static struct command report_of(const char *step, enum direction direction, uint32_t attempt,
                                bool succeeded)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = TEXT("o-1")};
    cmd.report_step = (struct report_step){.step = text_of(step),
                                           .direction = direction,
                                           .attempt = attempt,
                                           .succeeded = succeeded,
                                           .output = TEXT("{}"),
                                           .error_name = TEXT("Busy"),
                                           .error_message = TEXT("try later"),
                                           .instance = TEXT("agent-1")};
    return cmd;
}

/* Checks each field through a failure, a retry, a success, a cancellation and an undo. */
Test(engine_order, applies_the_events_of_a_step_in_turn)
{
    static struct world world;
    world_init(&world, "T90000 A{c,z1} B<-A");
    struct command cmd = large_submission(&world.memory.arena);
    decide_at(&world, 1000, &cmd);
    const struct order *order = &world.order;
    const struct step *step = &order->steps[0];
    cr_assert(text_equal(step->locked_by, TEXT("scheduler")));
    cr_assert_eq(step->complete_by, 1000 + WORKFLOW_TIMEOUT_MS);
    cr_assert_eq(step->margin_ms, 10);
    cr_assert_eq(step->started_at, 1000);
    cr_assert_eq(step->started_version, 1);
    cr_assert_eq(order->complete_by, 91000);
    cr_assert_eq(order->accepted_at, 1000);

    cmd = report_of("A", DIRECTION_DO, 1, false);
    decide_at(&world, 2000, &cmd);
    cr_assert_eq(step->failure_count, 1);
    cr_assert_eq(step->retries_used[0], 1);
    cr_assert_eq(step->ended_at, 2000);
    cr_assert_eq(step->started_at, 2000);
    cr_assert_eq(step->started_version, 2);
    cr_assert(text_equal(step->error_name, TEXT("Busy")));
    cr_assert(text_equal(step->error_message, TEXT("try later")));

    cmd = report_of("A", DIRECTION_DO, 2, true);
    decide_at(&world, 3000, &cmd);
    cr_assert_eq(step->completed_version, 3);
    cr_assert_eq(step->effect, EFFECT_APPLIED);
    cr_assert_eq(step->complete_by, 0);
    cr_assert(text_empty(step->locked_by));
    cr_assert(text_equal(step->output, TEXT("{}")));

    cmd = (struct command){.kind = COMMAND_CANCEL_ORDER, .order_id = TEXT("o-1")};
    cmd.cancel_order = (struct cancel_order){.by = TEXT("bob"), .reason = TEXT("too late")};
    decide_at(&world, 4000, &cmd);
    cr_assert(order->cancelled);
    cr_assert_eq(order->complete_by, 0);
    cr_assert(text_equal(order->reason_code, TEXT("Cancelled")));
    cr_assert(text_equal(order->reason_by, TEXT("bob")));

    cmd = report_of("B", DIRECTION_DO, 1, false);
    decide_at(&world, 5000, &cmd);
    cr_assert_eq(step->direction, DIRECTION_UNDO);
    cr_assert_eq(step->attempt, 1);
    cr_assert_eq(step->failure_count, 0);
    cr_assert_eq(step->retries_used[0], 0);
    cr_assert_eq(step->started_version, 2);
    cr_assert_eq(step->started_at, 5000);
    cr_assert(text_empty(step->error_name));

    cmd = report_of("A", DIRECTION_UNDO, 1, true);
    decide_at(&world, 6000, &cmd);
    cr_assert_eq(step->state, STEP_COMPENSATED);
    cr_assert_eq(step->completed_version, 3);
    cr_assert_eq(order->ended_at, 6000);
    cr_assert_eq(order->updated_at, 6000);
    cr_assert_eq(order->version, 6);
    world_deinit(&world);
}

/* ---- Decisions that no engine makes ---- */

static const char *problem_of(struct world *world, struct event event)
{
    struct decision decision = {.order_id = TEXT("o-1"),
                                .order_version = world->order.version + 1,
                                .order_state = world->order.state,
                                .decided_at = 2000,
                                .events = &event,
                                .event_count = 1};
    return order_apply_problem(&world->order, &decision, &world->memory.arena);
}

Test(engine_order, refuses_events_that_speak_of_an_attempt_which_does_not_run_or_still_does)
{
    static struct world world;
    world_init(&world, "A{c} B<-A{r1}");
    struct command cmd = large_submission(&world.memory.arena);
    decide_next(&world, &cmd);
    cmd = report_of("A", DIRECTION_DO, 1, true);
    decide_next(&world, &cmd);
    struct event event = {
        .kind = EVENT_STEP_EXTENDED,
        .step_extended = {.ref = {TEXT("A"), DIRECTION_DO, 1}, .complete_by = 90000}};
    cr_assert_str_eq(problem_of(&world, event), "an attempt is not running");
    event.step_extended.ref.step = TEXT("B");
    cr_assert(problem_of(&world, event) == NULL);
    event = (struct event){.kind = EVENT_STEP_RETRY_SCHEDULED,
                           .step_retry_scheduled = {
                               .ref = {TEXT("B"), DIRECTION_DO, 1}, .retry_at = 3000, .retry = 1}};
    cr_assert_str_eq(problem_of(&world, event), "an attempt is still running");
    world_deinit(&world);
}

/* Capacities are counted by agent. */
Test(engine_order, refuses_an_attempt_without_an_agent)
{
    static struct world world;
    world_init(&world, "A{r1}");
    struct command cmd = large_submission(&world.memory.arena);
    decide_next(&world, &cmd);
    cmd = report_of("A", DIRECTION_DO, 1, false);
    decide_next(&world, &cmd);
    struct event event = {.kind = EVENT_STEP_STARTED,
                          .step_started = {.ref = {TEXT("A"), DIRECTION_DO, 2},
                                           .agent = TEXT("c"),
                                           .complete_by = 90000}};
    cr_assert(problem_of(&world, event) == NULL, "%s", problem_of(&world, event));
    event.step_started.agent = (struct text){0};
    cr_assert_str_eq(problem_of(&world, event), "a step is Processing without an agent");
    world_deinit(&world);
}

Test(engine_order, refuses_to_resume_an_order_that_is_not_in_error)
{
    static struct world world;
    world_init(&world, "A{c}");
    struct command cmd = large_submission(&world.memory.arena);
    decide_next(&world, &cmd);
    world.order.error_from = ORDER_COMPENSATING; /* as a damaged row may have it */
    cr_assert_str_eq(problem_of(&world, (struct event){.kind = EVENT_ORDER_RESUMED}),
                     "an order resumes that is not in Error");
    world_deinit(&world);
}

/* A request is made again from its Decision and the order: an attempt must be the only one of its
 * number. */
Test(engine_order, refuses_to_do_again_what_is_being_undone)
{
    static struct world world;
    world_init(&world, "A{u1} B<-A");
    struct command cmd = large_submission(&world.memory.arena);
    decide_next(&world, &cmd);
    cmd = report_of("A", DIRECTION_DO, 1, true);
    decide_next(&world, &cmd);
    cmd = report_of("B", DIRECTION_DO, 1, false);
    decide_next(&world, &cmd);
    cmd = report_of("A", DIRECTION_UNDO, 1, false);
    decide_next(&world, &cmd);
    cr_assert_eq(world.order.state, ORDER_COMPENSATING);
    cr_assert_eq(world.order.steps[0].state, STEP_PENDING);
    struct event event = {.kind = EVENT_STEP_STARTED,
                          .step_started = {.ref = {TEXT("A"), DIRECTION_UNDO, 2},
                                           .agent = TEXT("c"),
                                           .complete_by = 90000}};
    cr_assert(problem_of(&world, event) == NULL, "%s", problem_of(&world, event));
    event.step_started.ref = (struct attempt_ref){TEXT("A"), DIRECTION_DO, 1};
    cr_assert_str_eq(problem_of(&world, event), "a step is done again that is being undone");
    world_deinit(&world);
}

/* ---- effects ---- */

Test(engine_order, emits_no_request_for_a_superseded_attempt)
{
    static struct world world;
    world_init(&world, "A{z1}");
    struct command cmd = large_submission(&world.memory.arena);
    struct decision first = decide_next(&world, &cmd);
    cmd = report_of("A", DIRECTION_DO, 1, false);
    struct decision second = decide_next(&world, &cmd);
    struct effects effects;
    effects_of(&first, 0, &world.order, &world.memory.arena, &effects);
    cr_assert_eq(effects.request_count, 0);
    effects_of(&second, 0, &world.order, &world.memory.arena, &effects);
    cr_assert_eq(effects.request_count, 1);
    world_deinit(&world);
}

static uint32_t requests_of(struct world *world, const struct decision *decision)
{
    struct effects effects;
    effects_of(decision, 0, &world->order, &world->memory.arena, &effects);
    return effects.request_count;
}

/* The first attempt of an order with the id of one that has expired. */
Test(engine_order, emits_no_request_for_the_same_attempt_of_an_order_accepted_again)
{
    static struct world world;
    world_init(&world, "A");
    struct command submit = large_submission(&world.memory.arena);
    struct decision first = decide_at(&world, 1000, &submit);
    world.order = (struct order){0};
    struct decision second = decide_at(&world, 2000, &submit);
    cr_assert_eq(requests_of(&world, &first), 0);
    cr_assert_eq(requests_of(&world, &second), 1);
    world_deinit(&world);
}

Test(engine_order, emits_no_request_for_the_extension_of_another_attempt)
{
    static struct world world;
    world_init(&world, "A");
    struct command submit = large_submission(&world.memory.arena);
    decide_at(&world, 2000, &submit);
    struct event event = {.kind = EVENT_STEP_EXTENDED};
    event.step_extended = (struct step_extended){.ref = {TEXT("A"), DIRECTION_DO, 1},
                                                 .complete_by = world.order.steps[0].complete_by};
    struct decision decision = {
        .decided_at = 2500, .order_id = TEXT("o-1"), .events = &event, .event_count = 1};
    cr_assert_eq(requests_of(&world, &decision), 1);
    decision.decided_at = 1500;
    cr_assert_eq(requests_of(&world, &decision), 0, "it was decided before the attempt began");
    decision.decided_at = 2500;
    event.step_extended.complete_by++;
    cr_assert_eq(requests_of(&world, &decision), 0, "the attempt has no such extension");
    world_deinit(&world);
}

Test(engine_order, emits_only_current_requests_of_an_older_decision)
{
    static struct world world;
    world_init(&world, "A B C<-A,B");
    struct command submit = large_submission(&world.memory.arena);
    struct decision accepted = decide_next(&world, &submit);
    accepted.claim_id.bytes[3] = 7;
    struct command report = {.kind = COMMAND_REPORT_STEP, .order_id = TEXT("o-1")};
    report.report_step = (struct report_step){
        .step = TEXT("A"), .attempt = 1, .succeeded = true, .output = TEXT("{\"a\":1}")};
    struct decision second = decide_next(&world, &report);

    struct effects effects;
    accepted.offset = 70;
    effects_of(&accepted, 5, &world.order, &world.memory.arena, &effects);
    cr_assert_eq(effects.request_count, 1);
    const struct step_request *request = &effects.requests[0];
    cr_assert(text_equal(request->ref.step, TEXT("B")));
    cr_assert_eq(request->decision_offset, 70);
    cr_assert_eq(request->claim_id.bytes[3], 7);
    cr_assert_eq(request->order_version, 1);
    cr_assert_eq(request->complete_by, 1000 + WORKFLOW_TIMEOUT_MS);
    cr_assert_eq(request->order, &world.order.details);
    cr_assert_eq(request->output_count, 0); /* A runs in parallel, and has ended since */
    cr_assert(effects.has_status);
    cr_assert_eq(effects.status.kind, STATUS_RECEIVED);
    cr_assert_eq(effects.status.command_partition, 5);
    cr_assert_eq(effects.status.decision_offset, 70);
    cr_assert_eq(effects.status.order_version, 1);
    cr_assert(text_equal(effects.status.reply_to, TEXT("replies")));

    second.offset = 71;
    effects_of(&second, 5, NULL, &world.memory.arena, &effects);
    cr_assert_eq(effects.request_count, 0);
    cr_assert(effects.has_status);
    world_deinit(&world);
}

static struct decision succeed(struct world *world, const char *step, const char *output)
{
    struct command report = {.kind = COMMAND_REPORT_STEP, .order_id = TEXT("o-1")};
    report.report_step = (struct report_step){
        .step = text_of(step), .attempt = 1, .succeeded = true, .output = text_of(output)};
    return decide_next(world, &report);
}

/* The output of B must not enter it, whether it was decided before the request is made or not. */
Test(engine_order, makes_the_same_request_again_after_parallel_steps_have_ended)
{
    static struct world world;
    world_init(&world, "A B C<-A D<-C");
    struct command submit = large_submission(&world.memory.arena);
    decide_next(&world, &submit);
    struct decision started = succeed(&world, "A", "{\"a\":1}");
    struct effects first;
    effects_of(&started, 0, &world.order, &world.memory.arena, &first);
    succeed(&world, "B", "{\"b\":2}");
    struct effects again;
    effects_of(&started, 0, &world.order, &world.memory.arena, &again);
    cr_assert_eq(first.request_count, 1);
    cr_assert_eq(again.request_count, 1);
    cr_assert_eq(first.requests[0].output_count, 1);
    cr_assert_eq(again.requests[0].output_count, 1);
    cr_assert(text_equal(again.requests[0].outputs[0].step, TEXT("A")));
    struct decision last = succeed(&world, "C", "{\"c\":3}");
    effects_of(&last, 0, &world.order, &world.memory.arena, &again);
    cr_assert_eq(again.request_count, 1);
    cr_assert_eq(again.requests[0].output_count,
                 2); /* of A as well, which precedes it indirectly */
    world_deinit(&world);
}

Test(engine_order, sends_the_output_of_a_step_to_its_undo)
{
    static struct world world;
    world_init(&world, "A{c} B<-A");
    struct command cmd = large_submission(&world.memory.arena);
    decide_next(&world, &cmd);
    cmd = (struct command){.kind = COMMAND_REPORT_STEP, .order_id = TEXT("o-1")};
    cmd.report_step = (struct report_step){
        .step = TEXT("A"), .attempt = 1, .succeeded = true, .output = TEXT("{\"payment\":9}")};
    decide_next(&world, &cmd);
    cmd.report_step = (struct report_step){.step = TEXT("B"), .attempt = 1};
    struct decision decision = decide_next(&world, &cmd);
    struct effects effects;
    effects_of(&decision, 0, &world.order, &world.memory.arena, &effects);
    cr_assert_eq(effects.request_count, 1);
    cr_assert_eq(effects.requests[0].ref.direction, DIRECTION_UNDO);
    cr_assert(text_equal(effects.requests[0].action, TEXT("UndoA")));
    cr_assert_eq(effects.requests[0].complete_by, 1000 + WORKFLOW_UNDO_TIMEOUT_MS);
    cr_assert_eq(effects.requests[0].output_count, 1);
    cr_assert(text_equal(effects.requests[0].outputs[0].output, TEXT("{\"payment\":9}")));
    world_deinit(&world);
}

Test(engine_order, emits_no_status_without_a_reply_topic)
{
    static struct world world;
    world_init(&world, "A");
    struct command cmd = large_submission(&world.memory.arena);
    cmd.submit_order.reply_to = (struct text){0};
    struct decision decision = decide_next(&world, &cmd);
    struct effects effects;
    effects_of(&decision, 0, &world.order, &world.memory.arena, &effects);
    cr_assert_not(effects.has_status);
    cr_assert_eq(effects.request_count, 1);
    world_deinit(&world);
}

/* ---- arenas ---- */

Test(engine_order, allocates_zeroed_aligned_memory)
{
    uint8_t memory[64];
    memset(memory, 0xff, sizeof(memory));
    struct arena arena;
    arena_init(&arena, memory + 1, sizeof(memory) - 1);
    arena_bytes(&arena, 1);
    uint64_t *numbers = ARENA_ARRAY(&arena, uint64_t, 3);
    cr_assert_eq((uintptr_t)numbers % 8, 0);
    cr_assert(numbers[0] == 0 && numbers[2] == 0);
    struct text empty = arena_text(&arena, TEXT(""));
    cr_assert(empty.data == NULL && empty.size == 0);
}

Test(engine_order, aborts_when_a_fixed_arena_is_exhausted, .signal = SIGABRT)
{
    uint8_t memory[16];
    struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    arena_bytes(&arena, 17);
}

Test(engine_order, aborts_when_an_allocation_size_overflows, .signal = SIGABRT)
{
    uint8_t memory[16];
    struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    arena_calloc(&arena, SIZE_MAX / 2, 16);
}

/* Steps whose effect is unknown keep their inputs until they are undone, one after the other. */
Test(engine_order, has_room_for_the_input_of_an_undo)
{
    enum { STEPS = ORDER_STEP_INPUTS_BYTES_MAX / STEP_INPUT_BYTES_MAX };
    static const char bytes[STEP_INPUT_BYTES_MAX + 1];
    struct text most = {bytes, STEP_INPUT_BYTES_MAX};
    static struct step steps[STEPS];
    struct order order = {.steps = steps, .step_count = STEPS};
    for (uint32_t i = 1; i < STEPS; i++)
        steps[i].input = most;
    cr_expect(!order_takes_input(&order, 0, DIRECTION_DO, (struct text){bytes, 1}));
    cr_expect(order_takes_input(&order, 1, DIRECTION_DO, most)); /* instead of its own */
    cr_expect(order_takes_input(&order, 0, DIRECTION_UNDO, most));
    cr_expect(!order_takes_input(&order, 0, DIRECTION_UNDO,
                                 (struct text){bytes, STEP_INPUT_BYTES_MAX + 1}));
}
