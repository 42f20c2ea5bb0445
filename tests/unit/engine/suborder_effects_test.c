/* SPDX-License-Identifier: Apache-2.0 */
/* What an order tells other orders: whole messages, their places, and what is never sent. */
#include "engine/engine.h"
#include "tests/lib/engine_memory.h"
#include "tests/lib/engine_workflow.h"

#include <criterion/criterion.h>

TestSuite(engine_suborder_effects);

static struct test_arena memory;
static struct order order;
static struct decision decision;
static struct effects effects;
static struct order_parent above = {.order_id = TEXT_CONST("o-0"),
                                    .accepted_offset = 7,
                                    .step = TEXT_CONST("V"),
                                    .item = -1,
                                    .root = TEXT_CONST("o-00"),
                                    .depth = 1,
                                    .quota = 100};

/* An order that is a sub-order itself has begun, at offset 40. */
static void begin(const char *line)
{
    struct workflow *workflow;
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER,
                          .order_id = TEXT("o-1"),
                          .submit_order = {.order_id = TEXT("o-1"),
                                           .customer = TEXT("17850"),
                                           .priority = PRIORITY_HIGH,
                                           .workflow = TEXT("test"),
                                           .traceparent = TEXT("00-1-2-01"),
                                           .submitted_by = TEXT("shop"),
                                           .reply_to = TEXT("p.replies.shop"),
                                           .parent = &above}};
    test_arena_init(&memory);
    workflow = workflow_of(&memory.arena, line);
    struct decide_input input = {.now = 1000000, .workflow = workflow};
    order = (struct order){0};
    engine_decide(NULL, &cmd, &input, &memory.arena, &decision);
    decision.offset = 40;
    order_apply_decision(&order, &decision, &memory.arena);
    effects_of(&decision, 3, &order, &memory.arena, &effects);
}

Test(engine_suborder_effects, submit_with_the_parent_and_what_is_inherited)
{
    begin("A V W{f3}");
    cr_assert_eq(effects.message_count, 3);
    const struct command *cmd = &effects.messages[1].cmd;
    const struct order_details *details = &cmd->submit_order;
    const struct order_parent *parent = details->parent;
    cr_assert_eq(cmd->kind, COMMAND_SUBMIT_ORDER);
    cr_assert(text_equal(cmd->order_id, TEXT("o-1~W~1")));
    cr_assert(text_equal(details->order_id, TEXT("o-1~W~1")));
    cr_assert(text_equal(details->customer, TEXT("17850")));
    cr_assert(text_equal(details->traceparent, TEXT("00-1-2-01")));
    cr_assert(text_equal(details->submitted_by, TEXT("shop")));
    cr_assert(text_equal(details->workflow, TEXT("test/W")));
    cr_assert(text_equal(details->input, TEXT("1")));
    cr_assert(text_empty(details->reply_to));
    cr_assert_eq(details->priority, PRIORITY_HIGH);
    cr_assert_eq(details->workflow_version, 1);
    cr_assert_eq(details->submitted_at, 1000000);
    cr_assert_null(details->goods);
    cr_assert(text_equal(parent->order_id, TEXT("o-1")));
    cr_assert_eq(parent->accepted_offset, 40);
    cr_assert(text_equal(parent->step, TEXT("W")));
    cr_assert_eq(parent->item, 1);
    cr_assert_eq(parent->generation, 0);
    cr_assert(text_equal(parent->root, TEXT("o-00")));
    cr_assert_eq(parent->depth, 2);
    cr_assert_eq(parent->quota, (100 - 3) / 3);
    test_arena_deinit(&memory);
}

/* A root and three levels below it. */
Test(engine_suborder_effects, are_none_of_an_order_on_the_lowest_level)
{
    above.depth = ORDER_DEPTH_MAX - 1;
    begin("W{f3}");
    cr_assert_eq(effects.message_count, 1);
    cr_assert_eq(effects.messages[0].cmd.kind, COMMAND_REPORT_SUBORDER);
    cr_assert(text_equal(order.steps[0].error_name, TEXT("States.DataLimitExceeded")));
    test_arena_deinit(&memory);
    above.depth = ORDER_DEPTH_MAX - 2;
    begin("W{f3}");
    cr_assert_eq(effects.message_count, 3);
    test_arena_deinit(&memory);
}

/* By event, step and item, whatever the others do; a recall is behind its submission. */
Test(engine_suborder_effects, have_places_that_do_not_depend_on_the_row)
{
    begin("A V W{f3}");
    uint32_t event = 0;
    while (decision.events[event].kind != EVENT_SUBORDERS_SUBMITTED)
        event++;
    for (uint32_t item = 0; item < 3; item++)
        cr_assert_eq(effects.messages[item].ordinal, 1000 + ((event * 64 + 2) * 1000 + item) * 2);
    order.steps[2].suborders->items[0].state = ITEM_HELD;
    effects_of(&decision, 3, &order, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 2);
    cr_assert_eq(effects.messages[0].ordinal, 1000 + ((event * 64 + 2) * 1000 + 1) * 2);
    struct event recall = {
        .kind = EVENT_SUBORDERS_RECALLED,
        .suborders_recalled = {.ref = {TEXT("W"), DIRECTION_DO, 1}, .complete_by = 1}};
    struct decision recalls = {.offset = 50, .events = &recall, .event_count = 1};
    effects_of(&recalls, 3, &order, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 3);
    cr_assert_eq(effects.messages[2].ordinal, 1000 + (2 * 1000 + 2) * 2 + 1);
    cr_assert(effects.messages[0].cmd.settle_suborder.held);
    cr_assert_not(effects.messages[1].cmd.settle_suborder.held);
    cr_assert_lt(effects.messages[2].ordinal, MESSAGE_ORDINAL_END);
    test_arena_deinit(&memory);
}

/* Correction 5: an old recall would undo what another order of that id has just begun. */
Test(engine_suborder_effects, are_not_completed_from_the_row_of_a_later_order)
{
    begin("W{f3}");
    struct event recall = {
        .kind = EVENT_SUBORDERS_RECALLED,
        .suborders_recalled = {.ref = {TEXT("W"), DIRECTION_DO, 1}, .complete_by = 1}};
    struct decision recalls = {.offset = 39, .events = &recall, .event_count = 1};
    effects_of(&recalls, 3, &order, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 0);
    recalls.offset = 41;
    effects_of(&recalls, 3, &order, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 3);
    effects_of(&recalls, 3, NULL, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 0, "it has expired");
    test_arena_deinit(&memory);
}

/* A log may hold what no scheduler of ours has decided. */
Test(engine_suborder_effects, send_nothing_to_orders_that_cannot_be)
{
    static char x[NAME_BYTES_MAX];
    memset(x, 'x', sizeof(x));
    struct order_parent parent = {.order_id = TEXT("o-1"), .step = TEXT("W"), .item = 7};
    struct event ignored = {
        .kind = EVENT_REPORT_IGNORED,
        .report_ignored = {.code = TEXT("AlreadyEnded"), .parent = &parent, .settle = SETTLE_UNDO}};
    struct event rejected = {.kind = EVENT_COMMAND_REJECTED,
                             .command_rejected = {.command = COMMAND_REPORT_SUBORDER,
                                                  .code = TEXT("UnknownOrder"),
                                                  .settle = SETTLE_UNKNOWN}};
    struct decision next = {.offset = 50, .events = &ignored, .event_count = 1};
    test_arena_init(&memory);
    effects_of(&next, 3, NULL, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 1);
    parent.item = SUBORDERS_MAX;
    effects_of(&next, 3, NULL, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 0);
    parent.item = -2;
    effects_of(&next, 3, NULL, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 0);
    parent.item = 7;
    parent.order_id = (struct text){x, 62};
    parent.step = (struct text){x, NAME_BYTES_MAX};
    effects_of(&next, 3, NULL, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 0, "an id of 129 bytes");
    next.events = &rejected;
    effects_of(&next, 3, NULL, &memory.arena, &effects);
    cr_assert_eq(effects.message_count, 0, "of no parent");
    test_arena_deinit(&memory);
}

/* Also once the row is gone: from the id alone. */
Test(engine_suborder_effects, alert_with_the_root_of_the_tree)
{
    struct event raised = {.kind = EVENT_ALERT_RAISED, .order_marked = {.code = TEXT("Late")}};
    struct decision next = {.order_id = TEXT("o-1~W~0~V"),
                            .offset = 50,
                            .order_version = 7,
                            .events = &raised,
                            .event_count = 1};
    test_arena_init(&memory);
    effects_of(&next, 3, NULL, &memory.arena, &effects);
    cr_assert(effects.has_alert);
    cr_assert(text_equal(effects.alert.root, TEXT("o-1")));
    next.order_id = TEXT("o-1");
    effects_of(&next, 3, NULL, &memory.arena, &effects);
    cr_assert(effects.has_alert);
    cr_assert(text_empty(effects.alert.root), "a root");
    test_arena_deinit(&memory);
}

/* ---- rows and Decisions that are not sound ---- */

#define UNSOUND(...)                                             \
    do {                                                         \
        begin("W{f3}");                                          \
        struct step *step = &order.steps[0];                     \
        struct suborders suborders = *step->suborders;           \
        step->suborders = &suborders;                            \
        cr_assert_null(order_problem(&order));                   \
        __VA_ARGS__;                                             \
        cr_assert_not_null(order_problem(&order), #__VA_ARGS__); \
        test_arena_deinit(&memory);                              \
    } while (0)

Test(engine_suborder_effects, find_what_is_wrong_with_a_row)
{
    UNSOUND(suborders.item_count = SUBORDERS_MAX + 1);
    UNSOUND(suborders.list = TEXT(""));
    UNSOUND(suborders.workflow = TEXT(""));
    UNSOUND(suborders.times_out_at = -1);
    UNSOUND(suborders.asked_since = INT64_MAX);
    UNSOUND(suborders.items[1].generation = 1);
    UNSOUND(suborders.items[1].submitted_at = 0);
    UNSOUND(suborders.items[1].output = TEXT("1"));
    UNSOUND(suborders.items[1].state = ITEM_HELD; suborders.items[1].input = TEXT("1"));
    UNSOUND(step->suborders = NULL);
    UNSOUND(step->state = STEP_PENDING; step->complete_by = 0);
    UNSOUND(order.state = ORDER_HELD; order.held_at = 1; order.complete_by = 9);
    UNSOUND(order.alert_open = true);
}

static const char *problem_of(struct event event)
{
    struct decision next = {.offset = 50,
                            .order_version = order.version + 1,
                            .order_state = order.state,
                            .decided_at = 1000001,
                            .events = &event,
                            .event_count = 1};
    return order_apply_problem(&order, &next, &memory.arena);
}

#define ENDED(...)                                                                        \
    (struct event)                                                                        \
    {                                                                                     \
        .kind = EVENT_SUBORDER_ENDED, .suborder_ended = {.step = TEXT("W"), __VA_ARGS__ } \
    }
static struct event submitted(struct submitted_item *items, uint32_t count, uint32_t generation)
{
    return (struct event){.kind = EVENT_SUBORDERS_SUBMITTED,
                          .suborders_submitted = {.ref = {TEXT("W"), DIRECTION_DO, 1},
                                                  .generation = generation,
                                                  .complete_by = 9,
                                                  .items = items,
                                                  .item_count = count}};
}

/* A view folds thousands of these before it commits, and the arena of an order only grows. */
Test(engine_suborder_effects, take_no_memory_for_the_items_that_go_on)
{
    enum { ITEMS = 1000, BYTES_OF_ONE = 64 };
    above.quota = ITEMS;
    begin("W{f1000}");
    size_t before = memory.arena.used;
    for (int item = 0; item < ITEMS - 1; item++) {
        struct event event = ENDED(.item = item, .outcome = SUBORDER_FINAL, .output = TEXT("17"));
        struct decision next = {.offset = 60 + item,
                                .order_version = order.version + 1,
                                .order_state = order.state,
                                .decided_at = 1000001,
                                .events = &event,
                                .event_count = 1};
        order_apply_decision(&order, &next, &memory.arena);
    }
    cr_assert_eq(suborders_count(order.steps[0].suborders, ITEM_FINAL), ITEMS - 1);
    cr_assert_leq(memory.arena.used - before, (ITEMS - 1) * BYTES_OF_ONE);
    test_arena_deinit(&memory);
}

Test(engine_suborder_effects, refuse_decisions_that_do_not_fit_the_row)
{
    struct submitted_item three[] = {{.item = 2}};
    struct submitted_item twice[] = {{.item = 2}, {.item = 2}};
    struct submitted_item none[] = {{.item = 3}};
    struct submitted_item first[] = {{.item = 0}};
    begin("W{f3,l2}");
    cr_assert_null(problem_of(submitted(three, 1, 0)));
    cr_assert_not_null(problem_of(submitted(twice, 2, 0)), "an item twice");
    cr_assert_not_null(problem_of(submitted(none, 1, 0)), "no such item");
    cr_assert_not_null(problem_of(submitted(first, 1, 0)), "one that was submitted");
    cr_assert_not_null(problem_of(submitted(three, 1, 1)), "another generation");
    cr_assert_null(problem_of(ENDED(.item = 1, .outcome = SUBORDER_HELD)));
    cr_assert_not_null(problem_of(ENDED(.item = 2)), "one that is to do");
    cr_assert_not_null(problem_of(ENDED(.item = 3)), "no such item");
    cr_assert_not_null(problem_of(ENDED(.item = -1)), "a list has no such item");
    cr_assert_not_null(problem_of(ENDED(.item = 1, .generation = 1)), "another generation");
    cr_assert_not_null(problem_of(ENDED(.item = 1, .undo_failed = true)), "it was not held");
    cr_assert_not_null(
        problem_of((struct event){.kind = EVENT_ORDER_HELD, .order_held = {.complete_by = 9}}),
        "a step runs");
    cr_assert_not_null(problem_of((struct event){
        .kind = EVENT_SUBORDERS_ASKED,
        .suborders_asked = {.ref = {TEXT("W"), DIRECTION_DO, 2}, .complete_by = 9}}));
    test_arena_deinit(&memory);
}
