/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}/history: who acted and why, and the statuses that were sent. */
#include "base/goods.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void open_world(void)
{
    world = world_new(11, "A{c} B{c,e}");
}

TestSuite(console_history, .init = open_world, .fini = close_world);

static void submit(const char *order_id, const char *workflow, struct text reply_to)
{
    struct order_line lines[] = {{TEXT("85123A"), TEXT("HEART"), 6, {25500}}};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = text_of(order_id)};
    cmd.submit_order = (struct order_details){.order_id = cmd.order_id,
                                              .customer = TEXT("17850"),
                                              .goods = &(struct goods){TEXT("GBP"), lines, 1},
                                              .priority = PRIORITY_NORMAL,
                                              .workflow = text_of(workflow),
                                              .reply_to = reply_to};
    world_send(world, &cmd);
    world_schedule(world);
}

/* B fails, and ann resubmits it; then the supervisor asks for what is not due. */
static void make_order(struct text reply_to)
{
    struct command cmd = {.kind = COMMAND_RESUBMIT_STEP, .order_id = TEXT("o")};
    submit("o", "test", reply_to);
    world_report(world, "o", "B", false);
    world_schedule(world);
    cmd.resubmit_step = (struct resubmit_step){
        .order_id = cmd.order_id, .by = TEXT("ann"), .reason = TEXT("the bank is back")};
    world_send(world, &cmd);
    world_schedule(world);
    cmd = (struct command){.kind = COMMAND_CANCEL_ORDER, .order_id = TEXT("o")};
    cmd.cancel_order = (struct cancel_order){
        .order_id = cmd.order_id, .by = TEXT("bob"), .reason = TEXT("ordered twice")};
    world_send(world, &cmd);
    world_schedule(world);
    cmd = (struct command){.kind = COMMAND_RECOVER_STEP, .order_id = TEXT("o")};
    cmd.recover_step = (struct recover_step){.order_id = cmd.order_id,
                                             .step = TEXT("A"),
                                             .attempt = 9,
                                             .complete_by = 5,
                                             .by = TEXT("supervisor-1")};
    world_send(world, &cmd);
    world_schedule(world);
}

static json_t *history_of(const char *path)
{
    world_open(world);
    return world_get(world, 200, path);
}

Test(console_history, says_who_acted_and_why)
{
    make_order(TEXT(""));
    json_t *history = history_of("/api/orders/o/history");
    cr_assert_str_eq(world_text(history, "entries.4.reason"),
                     world_text(history, "entries.4.events.0.data.reason"));
    /* A submission is not signed. */
    SHOWS(history, {"entries", "[5]"}, {"entries.0.by", "null"}, {"entries.0.reason", "null"},
          {"entries.1.by", "agent-1"}, {"entries.1.reason", "null"}, {"entries.2.by", "ann"},
          {"entries.2.reason", "the bank is back"}, {"entries.3.by", "bob"},
          {"entries.3.reason", "ordered twice"}, {"entries.4.events.0.kind", "CommandRejected"},
          {"entries.4.by", "supervisor-1"});
}

Test(console_history, lists_the_statuses_that_each_decision_entails)
{
    make_order(TEXT("t.replies.web"));
    /* A supervisor's rejected request is nothing to the application. */
    SHOWS(
        history_of("/api/orders/o/history"), {"entries.0.updates", "[1]"},
        {"entries.0.updates.0.kind", "Received"}, {"entries.0.updates.0.order_state", "Processing"},
        {"entries.0.updates.0.topic", "t.replies.web"}, {"entries.0.updates.0.code", "null"},
        {"entries.0.updates.0.steps.0.step", "A"},
        {"entries.0.updates.0.steps.0.state", "Processing"}, {"entries.1.updates.0.kind", "Error"},
        {"entries.1.updates.0.code", "Declined"}, {"entries.1.updates.0.steps.0.step", "B"},
        {"entries.1.updates.0.steps.0.error_name", "Declined"},
        {"entries.2.updates.0.kind", "Resumed"}, {"entries.3.updates.0.kind", "Compensating"},
        {"entries.4.updates", "[0]"});
}

Test(console_history, lists_no_status_where_none_can_be_sent)
{
    make_order(TEXT(""));
    submit("other", "test", TEXT("t.events"));
    json_t *history = history_of("/api/orders/o/history");
    for (size_t i = 0; i < 5; i++)
        cr_assert_eq(json_array_size(json_object_get(
                         json_array_get(json_object_get(history, "entries"), i), "updates")),
                     0);
    json_decref(history);
    /* The scheduler writes to no other topic. */
    SHOWS(world_get(world, 200, "/api/orders/other/history"), {"entries.0.updates", "[0]"});
}

Test(console_history, lists_the_status_of_a_refused_submission)
{
    submit("refused", "no-such-workflow", TEXT("t.replies.web"));
    SHOWS(history_of("/api/orders/refused/history"), {"entries.0.updates.0.kind", "Rejected"},
          {"entries.0.updates.0.code", "UnknownWorkflow"});
}

Test(console_history, begins_where_a_trimmed_log_begins)
{
    make_order(TEXT(""));
    int64_t start = world_trim(world, "o");
    SHOWS(history_of("/api/orders/o/history"), {"entries", "[0]"},
          {"log_start", answer_number(start)}, {"whole", "false"});
    SHOWS(world_get(world, 200, "/api/orders/o"),
          {"version", answer_number((int64_t)world_order(world, "o")->version)});
    SHOWS(world_get(world, 409, "/api/orders/o/at/9"), {"detail", "~the log was trimmed"});
    /* What is decided from here on is there, and orders accepted from here on are whole. */
    world_report(world, "o", "B", true);
    world_schedule(world);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/orders/o/history"), {"entries", "[1]"}, {"whole", "false"});
    SHOWS(world_get(world, 409, "/api/orders/o/at/99"), {"detail", "~does not begin with"});
    json_t *owners = world_get(world, 200, "/api/owners");
    char path[32];
    snprintf(path, sizeof(path), "owners.%d.log_start", world_partition("o"));
    cr_assert_eq(world_int(owners, path), start);
    json_decref(owners);
}

Test(console_history, is_whole_in_a_log_that_was_not_trimmed)
{
    make_order(TEXT(""));
    SHOWS(history_of("/api/orders/o/history"), {"log_start", "0"}, {"whole", "true"});
}

static void expect_begins_at(int64_t begins_at, bool whole)
{
    json_t *history = world_get(world, 200, "/api/orders/o/history");
    cr_expect_eq(world_int(history, "begins_at"), begins_at);
    cr_expect_eq(json_is_true(world_at(history, "whole")), whole);
    json_decref(history);
}

/* What changed the order between where the log begins and where it was restated is not kept. */
Test(console_history, begins_where_the_order_was_restated)
{
    make_order(TEXT(""));
    int64_t start = world_trim_begin(world, "o");
    world_report(world, "o", "B", true);
    world_schedule(world);
    world_trim_end(world, "o", start);
    world_open(world);
    expect_begins_at(start + 2, false);
    world_report(world, "o", "A", true);
    world_schedule(world);
    world_settle(world);
    expect_begins_at(start + 2, false);
    world_close(world);
    world_open(world);
    expect_begins_at(start + 2, false);
    /* What was read once is kept when the order is restated again. */
    world_trim(world, "o");
    world_settle(world);
    expect_begins_at(start + 2, false);
    SHOWS(world_get(world, 409, "/api/orders/o/at/99"), {"detail", "~does not begin with"});
}

Test(console_history, begins_where_the_order_was_accepted)
{
    make_order(TEXT(""));
    world_open(world);
    expect_begins_at(1, true); /* the log begins with a Claim */
}

/* ---- the owner of a partition whose log was trimmed ---- */

static void expect_owner(const char *instance, const char *verdict)
{
    char path[64];
    json_t *partitions = world_get(world, 200, "/api/partitions");
    snprintf(path, sizeof(path), "partitions.%d.claim.instance", world_partition("o"));
    cr_expect_str_eq(world_text(partitions, path), instance);
    snprintf(path, sizeof(path), "partitions.%d.verdict", world_partition("o"));
    cr_expect_str_eq(world_text(partitions, path), verdict);
    json_decref(partitions);
}

Test(console_history, knows_the_owner_of_a_trimmed_log)
{
    make_order(TEXT(""));
    world_trim(world, "o");
    world_open(world);
    expect_owner("scheduler-1", "ok");
    world_close(world);
    world_open(world);
    expect_owner("scheduler-1", "ok");
}

Test(console_history, knows_the_latest_of_the_owners_of_a_trimmed_log)
{
    make_order(TEXT(""));
    world_claim(world, world_partition("o"), "scheduler-2");
    world_trim(world, "o");
    world_open(world);
    expect_owner("scheduler-2", "ok");
}
