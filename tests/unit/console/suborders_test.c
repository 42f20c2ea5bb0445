/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-orders in the console's API: a step's items, the tree, and what operators do about them. */
#include "tests/lib/site.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define OF_STEP "/api/orders/o/suborders?step=W"
#define WHO "\"by\": \"ann\", \"reason\": \"x\""

static const char workflow[] =
    "Name: test\nVersion: 1\nSteps:\n"
    "  - Name: W\n"
    "    ForEach: {Items: [1, 2, 3, 4, 5], MaxConcurrency: 3, ToleratedFailureCount: all}\n"
    "    Output: ${output.A}\n"
    "    Steps:\n"
    "      - {Name: A, Agent: agent, Compensate: {Action: UndoA}}\n"
    "      - Name: Deep\n"
    "        Steps: [{Name: B, Agent: agent}]\n"
    "  - {Name: C, Agent: agent}\n";

static void report(const char *order_id, const char *step, bool succeeded)
{
    world_report(world, order_id, step, succeeded);
    world_schedule(world);
}

/* The first item is held, the second has failed, the third has a sub-order of its own that runs,
 * the fourth and the fifth run. */
static void open_world(void)
{
    world = world_new(7, "A");
    world->now = clock_wall_ms(clock_real()) - 60000; /* rates are of the last minutes */
    world_use_workflow(world, workflow);
    world_submit(world, "o", "test");
    world_schedule(world);
    report("o~W~0", "A", true);
    report("o~W~0~Deep", "B", true);
    report("o~W~1", "A", false);
    report("o~W~2", "A", true);
    world_open(world);
    world_settle(world);
    world->schedules = true;
}

TestSuite(console_suborders, .init = open_world, .fini = close_world);

/* ---- the items of a step ---- */

Test(console_suborders, list_the_items_of_a_step)
{
    SHOWS(world_get(world, 200, OF_STEP), {"step", "W"}, {"count", "5"}, {"suborders", "[5]"},
          {"next", "null"}, {"suborders.0.item", "0"}, {"suborders.0.order_id", "o~W~0"},
          {"suborders.0.outcome", "held"}, {"suborders.0.state", "Held"},
          {"suborders.0.expired", "false"}, {"suborders.0.generation", "0"},
          {"suborders.0.submitted_at", "~T"}, {"suborders.0.output.ok", "0.1"},
          {"suborders.0.problem", "null"}, {"suborders.1.outcome", "failed"},
          {"suborders.1.state", "Compensated"}, {"suborders.1.reason_code", "Declined"},
          {"suborders.1.problem", "~no funds"}, {"suborders.1.output", "null"},
          {"suborders.2.outcome", "submitted"}, {"suborders.2.state", "Processing"},
          {"suborders.4.outcome", "submitted"}, {"incomplete", NULL});
    SHOWS(world_get(world, 200, "/api/orders/o"), {"parent", "null"},
          {"steps.0.suborders.held", "1"}, {"steps.0.suborders.failed", "1"},
          {"steps.0.suborders.submitted", "3"}, {"steps.1.suborders", NULL});
    SHOWS(world_get(world, 200, "/api/orders/o~W~0~Deep"), {"parent.order_id", "o~W~0"},
          {"parent.root", "o"}, {"parent.item", "null"}, {"parent.depth", "2"});
}

Test(console_suborders, lists_them_page_by_page)
{
    SHOWS(world_get(world, 200, OF_STEP "&limit=2"), {"suborders", "[2]"}, {"next", "2"});
    SHOWS(world_get(world, 200, OF_STEP "&limit=2&from=4"), {"suborders", "[1]"},
          {"suborders.0.item", "4"}, {"next", "null"});
    SHOWS(world_get(world, 200, OF_STEP "&state=submitted&limit=1"), {"suborders", "[1]"},
          {"suborders.0.item", "2"}, {"next", "3"});
    SHOWS(world_get(world, 200, OF_STEP "&state=submitted&limit=2&from=3"), {"suborders", "[2]"},
          {"next", "null"});
    SHOWS(world_get(world, 200, OF_STEP "&state=held&limit=1"), {"suborders", "[1]"},
          {"next", "null"});
    SHOWS(world_get(world, 200, OF_STEP "&from=1000"), {"suborders", "[0]"}, {"next", "null"});
}

Test(console_suborders, refuse_steps_without_them_and_bad_pages)
{
    static const struct {
        const char *path;
        int status;
        const char *code;
        const char *part;
    } cases[] = {
        {"/api/orders/none/suborders?step=W", 404, "UnknownOrder", "none"},
        {"/api/orders/o/suborders", 400, "BadRequest", "step"},
        {"/api/orders/o/suborders?step=C", 404, "UnknownStep", "has started no sub-orders"},
        {"/api/orders/o/suborders?step=X", 404, "UnknownStep", "step X"},
        {OF_STEP "&state=Held%20", 400, "BadRequest", "\"to_do\", \"submitted\""},
        {OF_STEP "&limit=101", 400, "BadRequest", "limit"},
        {OF_STEP "&from=-1", 400, "BadRequest", "from"},
        {"/api/orders/none/tree", 404, "UnknownOrder", "none"},
        {"/api/orders/o/tree?depth=4", 400, "BadRequest", "depth"},
        {"/api/orders/o/tree?all=2", 400, "BadRequest", "all"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        world_refuses(world, cases[i].status, cases[i].code, cases[i].path, NULL, cases[i].part);
}

/* What there is to be known of an item without its row. */
Test(console_suborders, tell_expired_orders_from_those_that_did_not_arrive)
{
    world_expire(world, "o~W~1");
    world->loses_messages = true;
    report("o~W~3", "A", true);
    world_settle(world);
    SHOWS(world_get(world, 200, OF_STEP), {"suborders.1.outcome", "failed"},
          {"suborders.1.state", "null"}, {"suborders.1.expired", "true"},
          {"suborders.1.order_id", "o~W~1"});
    SHOWS(world_get(world, 200, "/api/orders/o~W~3/suborders?step=Deep"), {"count", "1"},
          {"suborders.0.item", "null"}, {"suborders.0.order_id", "o~W~3~Deep"},
          {"suborders.0.state", "null"}, {"suborders.0.expired", "false"});
}

/* ---- the tree ---- */

Test(console_suborders, are_a_tree_of_those_that_are_open_or_failed)
{
    SHOWS(world_get(world, 200, "/api/orders/o/tree"), {"order_id", "o"}, {"workflow", "test"},
          {"state", "Processing"}, {"problem", "null"}, {"more", "false"}, {"steps", "[1]"},
          {"steps.0.step", "W"}, {"steps.0.state", "Processing"}, {"steps.0.count", "5"},
          {"steps.0.held", "1"}, {"steps.0.suborders", "[4]"},
          {"steps.0.suborders.0.order_id", "o~W~1"}, {"steps.0.suborders.0.problem", "~no funds"},
          {"steps.0.suborders.0.steps", "[0]"}, {"steps.0.suborders.1.item", "2"},
          {"steps.0.suborders.1.workflow", "test/W"}, {"steps.0.suborders.1.steps", "[1]"},
          {"steps.0.suborders.1.steps.0.suborders.0.order_id", "o~W~2~Deep"},
          {"steps.0.suborders.1.steps.0.suborders.0.state", "Processing"});
    SHOWS(world_get(world, 200, "/api/orders/o/tree?all=1"), {"steps.0.suborders", "[5]"},
          {"steps.0.suborders.0.state", "Held"},
          {"steps.0.suborders.0.steps.0.suborders.0.state", "Processed"});
    SHOWS(world_get(world, 200, "/api/orders/o/tree?depth=1"),
          {"steps.0.suborders.1.steps.0.suborders", "[0]"});
    SHOWS(world_get(world, 200, "/api/orders/o/tree?depth=0"), {"steps.0.suborders", "[0]"});
    SHOWS(world_get(world, 200, "/api/orders/o~W~2/tree"), {"order_id", "o~W~2"},
          {"steps.0.suborders", "[1]"});
}

/* ---- bounds ---- */

enum { MANY = 120 };

/* An order p whose step W has that many items, all of which run. */
static void submit_many(void)
{
    static const char end[] = "1]}\n    Output: ${output.A}\n    Steps: [{Name: A, Agent: agent, "
                              "Compensate: {Action: UndoA}}]\n";
    char source[512 + 2 * MANY];
    size_t at = (size_t)snprintf(source, sizeof(source),
                                 "Name: test\nVersion: 1\nSteps:\n"
                                 "  - Name: W\n    ForEach: {Items: [");
    for (int i = 1; i < MANY; i++)
        at += (size_t)snprintf(source + at, sizeof(source) - at, "1,");
    snprintf(source + at, sizeof(source) - at, "%s", end);
    world_use_workflow(world, source);
    world_submit(world, "p", "test");
    world_schedule(world);
}

static void report_output(const char *order_id, struct text output)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = text_of(order_id)};
    cmd.report_step = (struct report_step){.order_id = cmd.order_id,
                                           .step = TEXT("A"),
                                           .direction = DIRECTION_DO,
                                           .attempt = 1,
                                           .succeeded = true,
                                           .output = output,
                                           .agent = TEXT("agent"),
                                           .instance = TEXT("agent-1")};
    world_send(world, &cmd);
    world_schedule(world);
}

Test(console_suborders, end_a_page_when_their_outputs_are_large)
{
    static char output[60000];
    char id[16];
    memset(output, 'x', sizeof(output));
    output[0] = output[sizeof(output) - 1] = '"';
    submit_many();
    for (int i = 0; i < 4; i++) {
        snprintf(id, sizeof(id), "p~W~%d", i);
        report_output(id, (struct text){output, sizeof(output)});
    }
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/orders/p/suborders?step=W"), {"suborders", "[3]"},
          {"next", "3"});
    SHOWS(world_get(world, 200, "/api/orders/p/suborders?step=W&from=3"), {"suborders", "[100]"},
          {"suborders.0.item", "3"}, {"next", "103"});
}

/* Of a machine on which a second goes by from one look to the next. */
static int64_t slow_us(void *ctx)
{
    static int64_t looks;
    (void)ctx;
    return ++looks * 1000000;
}

Test(console_suborders, are_read_as_far_as_the_time_goes)
{
    submit_many();
    world_settle(world);
    world->clock.mono_us = slow_us;
    SHOWS(world_get(world, 200, "/api/orders/p/suborders?step=W"), {"suborders", "[16]"},
          {"next", "16"});
    SHOWS(world_get(world, 200, "/api/orders/p/tree"), {"steps.0.suborders", "[15]"},
          {"steps.0.suborders.14.state", "Processing"}, {"more", "true"});
    SHOWS(world_post(world, 200, "/api/orders/p/pause", "{" WHO ", \"tree\": true}"),
          {"orders", "121"}, {"failed", "[0]"});
}

/* ---- lists ---- */

static int64_t total(const json_t *numbers)
{
    int64_t sum = 0;
    size_t i;
    const json_t *number;
    json_array_foreach(numbers, i, number)
        sum += json_integer_value(number);
    return sum;
}

static void lists(const char *query, const char *count)
{
    char path[256];
    snprintf(path, sizeof(path), "/api/orders?%s", query);
    SHOWS(world_get(world, 200, path), {"orders", count}, {"next", "null"});
    snprintf(path, sizeof(path), "/api/orders/count?%s", query);
    json_t *counted = world_get(world, 200, path);
    cr_expect_eq(world_int(counted, "orders"), atoll(count + 1), "%s", query);
    json_decref(counted);
}

/* 1 root, 5 items, of which two have a sub-order of their own. */
Test(console_suborders, are_not_in_lists_unless_asked_for)
{
    static const struct {
        const char *query;
        const char *count;
    } cases[] = {
        {"", "[1]"},
        {"all=1", "[8]"},
        {"customer=17850", "[1]"},
        {"customer=17850&all=1", "[8]"},
        {"state=Processing", "[1]"},
        {"state=Processing&all=1", "[5]"},
        {"state=Held", "[0]"},
        {"state=Held&all=1", "[1]"},
        {"workflow=test", "[1]"},
        {"workflow=test/W", "[5]"},
        {"workflow=test/W/Deep", "[2]"},
        {"workflow=test/W&workflow_version=1&state=Held", "[1]"},
        {"attribute=reeve.root=o", "[7]"},
        {"attribute=reeve.root=o&state=Compensated", "[1]"},
        {"attribute=reeve.parent=o", "[5]"},
        {"attribute=reeve.parent=o~W~2", "[1]"},
        {"attribute=reeve.root=o~W~2", "[0]"},
        {"step=A", "[0]"},
        {"step=A&all=1", "[2]"},
        {"error=Declined", "[0]"},
        {"error=Declined&all=1", "[1]"},
        {"id_prefix=o", "[1]"},
        {"id_prefix=o&all=1", "[8]"},
        {"id_prefix=o~W~2", "[2]"},
        {"since=1970-01-01T00:00:00Z", "[1]"},
        {"since=1970-01-01T00:00:00Z&all=1", "[8]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        lists(cases[i].query, cases[i].count);
    json_t *page = world_get(world, 200, "/api/orders?all=1&limit=5");
    char next[512];
    snprintf(next, sizeof(next), "/api/orders?all=1&cursor=%s", world_text(page, "next"));
    json_decref(page);
    SHOWS(world_get(world, 200, next), {"orders", "[3]"}, {"next", "null"});
    SHOWS(world_get(world, 200, "/api/counts"), {"orders", "1"}, {"by_state.Held", "0"},
          {"by_workflow.test/W.Held", "1"});
    json_t *overview = world_get(world, 200, "/api/overview");
    cr_expect_eq(total(world_at(overview, "rates.submitted")), 1);
    cr_expect_eq(total(world_at(overview, "rates.compensated")), 0);
    SHOWS(overview, {"by_state.Processing", "1"}, {"by_state.Compensated", "0"});
}

/* A customer may be called as the values of sub-orders are. */
Test(console_suborders, are_not_taken_for_orders_of_other_customers)
{
    world_submit_details(world, "p", "test", TEXT("~17850"), NULL, 0);
    world_schedule(world);
    world_settle(world);
    lists("customer=17850&all=1", "[8]");
    lists("customer=~17850", "[1]");
    lists("customer=~17850&all=1", "[4]");
}

Test(console_suborders, have_one_alert_for_a_tree)
{
    world_use_workflow(world, "Name: test\nVersion: 1\nSteps:\n"
                              "  - Name: W\n"
                              "    ForEach: {Items: [1, 2, 3]}\n"
                              "    Steps: [{Name: A, Agent: agent, OnExhausted: error}]\n"
                              "  - {Name: B, Agent: agent, After: [], OnExhausted: error}\n");
    world_submit(world, "q", "test");
    world_schedule(world);
    report("q~W~0", "A", false);
    report("q~W~2", "A", false);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/alerts"), {"orders", "[1]"}, {"orders.0.order_id", "q~W~2"},
          {"orders.0.root", "q"}, {"orders.0.others", "1"}, {"orders.0.tree", NULL});
    SHOWS(world_get(world, 200, "/api/overview"), {"by_state.Error", "0"}, {"unfinished", "2"},
          {"errors.0.orders", "2"}, {"suborders_by_state.Error", "2"},
          {"suborders_by_state.Held", "1"}, {"suborders_unfinished", "8"});
    report("q", "B", false);
    report("q~W~1", "A", false);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/alerts"), {"orders", "[1]"}, {"orders.0.order_id", "q"},
          {"orders.0.root", "null"}, {"orders.0.others", "3"}, {"orders.0.tree", NULL});
    lists("attribute=reeve.root=q&alert=open", "[3]");
}

/* ---- operators ---- */

Test(console_suborders, fail_alone_by_hand)
{
    SHOWS(world_post(world, 200, "/api/orders/o/fail",
                     "{" WHO ", \"step\": \"W\", \"item\": 4, \"error_name\": \"Stuck\"}"),
          {"events.0.kind", "SuborderEnded"}, {"events.0.data.by", "ann"});
    world_settle(world);
    SHOWS(world_get(world, 200, OF_STEP), {"suborders.4.outcome", "failed"},
          {"suborders.3.outcome", "submitted"});
}

Test(console_suborders, are_paused_and_resumed_with_their_tree)
{
    SHOWS(world_post(world, 200, "/api/orders/o/pause", "{" WHO ", \"tree\": true}"),
          {"orders", "6"}, {"failed", "[0]"}, {"failed_count", "0"});
    world_settle(world);
    lists("paused=1&all=1", "[6]");
    cr_assert_neq(world_order(world, "o~W~2~Deep")->paused_at, 0);
    cr_assert_neq(world_order(world, "o~W~0")->paused_at, 0, "it is held");
    cr_assert_eq(world_order(world, "o~W~1")->paused_at, 0, "it has ended");
    SHOWS(world_post(world, 200, "/api/orders/o/pause", "{" WHO ", \"tree\": true}"),
          {"orders", "6"}, {"failed", "[0]"});
    SHOWS(world_post(world, 200, "/api/orders/o/resume", "{" WHO ", \"tree\": true}"),
          {"orders", "6"}, {"failed", "[0]"});
    world_settle(world);
    lists("paused=1&all=1", "[0]");
    SHOWS(world_post(world, 200, "/api/orders/o/pause", "{" WHO ", \"tree\": false}"),
          {"command.kind", "PauseOrder"});
    world_settle(world);
    lists("paused=1&all=1", "[1]");
}

Test(console_suborders, follow_a_root_of_which_much_is_decided_before_the_acknowledgement)
{
    int32_t partition = world_partition("o");
    struct command resume = {.kind = COMMAND_RESUME_ORDER, .order_id = TEXT("o")};
    resume.resume_order =
        (struct resume_order){.order_id = resume.order_id, .by = TEXT("bob"), .reason = TEXT("x")};
    world->schedules = false;
    for (int i = 0; i < 100; i++)
        world_send(world, &resume);
    int64_t end = site_end(world->kafka, "t.commands", partition);
    broker_memory_set_partition_fault(world->kafka, "t.commands", partition, PARTITION_HOLDS_ACKS);
    world_ask(world, "/api/orders/o/pause", "{" WHO ", \"tree\": true}");
    while (site_end(world->kafka, "t.commands", partition) == end)
        world_turn(world);
    world_schedule(world);
    world_settle(world);
    broker_memory_clear_partition_faults(world->kafka);
    world->schedules = true;
    SHOWS(world_answer(world, 200), {"orders", "6"}, {"failed", "[0]"});
}

/* Of a tree, those in a partition whose store was dropped are not known yet. */
Test(console_suborders, may_be_missed_in_a_partition_that_is_not_read_to_its_end)
{
    struct error error;
    char reason[256];
    int32_t unread = (world_partition("o") + 1) % WORLD_PARTITIONS;
    struct console_partition *partition = world->console->api.partitions[unread];
    error_set(&error, CODE_STORE_CORRUPT, "a test drops it");
    broker_memory_set_partition_fault(world->kafka, "t.events", unread, PARTITION_UNREADABLE);
    console_partition_damaged(partition, &error);
    for (int turns = 0; console_partition_is_current(partition, reason, sizeof(reason)); turns++) {
        cr_assert_lt(turns, 1000);
        world_turn(world);
    }
    SHOWS(world_post(world, 200, "/api/orders/o/pause", "{" WHO ", \"tree\": true}"),
          {"orders", "~"}, {"failed", "[0]"}, {"incomplete", "[1]"},
          {"incomplete.0.partition", answer_number(unread)});
}

Test(console_suborders, are_cancelled_with_their_tree)
{
    SHOWS(world_post(world, 200, "/api/orders/o/cancel", "{" WHO ", \"tree\": true}"),
          {"orders", "~"}, {"failed", "[0]"});
    world_settle(world);
    cr_assert_eq(world_order(world, "o")->state, ORDER_COMPENSATING);
    cr_assert_eq(world_order(world, "o~W~0")->state, ORDER_COMPENSATING, "by its parent");
    cr_assert(world_order(world, "o~W~3")->cancelled ||
              world_order(world, "o~W~3")->state == ORDER_COMPENSATING);
}

Test(console_suborders, do_not_count_as_the_root_of_a_tree)
{
    world_refuses(world, 409, "HeldByParent", "/api/orders/o~W~2/pause",
                  "{" WHO ", \"tree\": true}", "the root of its tree, o");
    world_refuses(world, 404, "UnknownOrder", "/api/orders/x/pause", "{" WHO ", \"tree\": true}",
                  "x");
    world_refuses(world, 400, "BadRequest", "/api/orders/o/pause", "{" WHO ", \"tree\": 1}",
                  "tree: expected true or false");
    world_refuses(world, 400, "BadRequest", "/api/orders/o/resubmit", "{" WHO ", \"tree\": true}",
                  "tree");
    world_refuses(world, 400, "BadRequest", "/api/orders/o/pause", "{\"tree\": true}", "by");
    /* What the root refuses is not asked of the others. */
    world->kills = "CommandQuarantined";
    world_refuses(world, 409, "CommandQuarantined", "/api/orders/o/pause",
                  "{" WHO ", \"tree\": true}", "it \"fails\"");
    cr_assert_eq(world_order(world, "o~W~2")->paused_at, 0);
    static const struct broker_memory_faults lost = {.append_lost = 1000};
    broker_memory_set_faults(world->kafka, &lost);
    world_refuses(world, 503, "Unknown", "/api/orders/o/pause", "{" WHO ", \"tree\": true}",
                  "may or may not");
}

static void assert_open_alerts(double count)
{
    static const char series[] = "\nreeve_console_open_alerts{about=\"order\"} ";
    size_t size = 0;
    world_settle(world);
    char *text = metrics_render(world->service.metrics, &size);
    const char *found = strstr(text, series);
    cr_assert_not_null(found);
    cr_assert_eq(strtod(found + sizeof(series) - 1, NULL), count);
    free(text);
}

Test(console_suborders, are_settled_by_hand_once_their_parent_is_unknown)
{
    static const char path[] = "/api/orders/o~W~0/settle";
    world_refuses(world, 409, "HeldByParent", path, "{" WHO ", \"keep\": true}", "o settles");
    world_refuses(world, 409, "NotItsParent", "/api/orders/o/settle", "{" WHO ", \"keep\": true}",
                  "not a sub-order");
    world_refuses(world, 400, "BadRequest", path, "{" WHO "}", "keep: expected true");
    world_refuses(world, 400, "BadRequest", path, "{" WHO ", \"keep\": 1}", "keep");
    world_refuses(world, 400, "BadRequest", path, "{\"by\": \"ann\", \"keep\": true}", "reason");
    world_refuses(world, 400, "BadRequest", path, "{\"reason\": \"x\", \"keep\": true}", "by");
    world_refuses(world, 400, "BadRequest", path, "{" WHO ", \"keep\": true, \"how\": \"undo\"}",
                  "how");
    const struct order *held = world_order(world, "o~W~0");
    struct command unknown = {.kind = COMMAND_SETTLE_SUBORDER, .order_id = TEXT("o~W~0")};
    unknown.settle_suborder = (struct settle_suborder){
        .order_id = unknown.order_id, .parent = held->details.parent, .how = SETTLE_UNKNOWN};
    assert_open_alerts(0);
    world_send(world, &unknown);
    world_schedule(world);
    assert_open_alerts(1);
    world_close(world);
    world_open(world); /* from its store */
    assert_open_alerts(1);
    SHOWS(world_get(world, 200, "/api/orders/o~W~0"), {"state", "Held"}, {"alert_open", "true"});
    SHOWS(world_get(world, 200, "/api/alerts"), {"orders.0.order_id", "o~W~0"},
          {"orders.0.reason_code", "ParentUnknown"});
    SHOWS(world_post(world, 200, path, "{" WHO ", \"keep\": false}"),
          {"command.kind", "SettleSuborder"}, {"state", "Compensating"},
          {"events.0.data.by", "ann"});
    assert_open_alerts(0);
}

Test(console_suborders, may_be_moved_to_another_version_of_their_body)
{
    static const char path[] = "/api/orders/o~W~3/migrate";
    world_refuses(world, 400, "BadRequest", path,
                  "{" WHO ", \"version\": 2, \"workflow\": \"test//W\"}", "NAME/STEP");
    world_refuses(world, 409, "UnknownWorkflow", path,
                  "{" WHO ", \"version\": 2, \"workflow\": \"test/W\"}", "version 2 of test/W");
    struct workflow *first = world->workflow;
    char second[sizeof(workflow)];
    memcpy(second, workflow, sizeof(workflow));
    strstr(second, "Version: ")[sizeof("Version: ") - 1] = '2';
    world_use_workflow(world, second);
    world->target = world->workflow;
    world->workflow = first;
    /* Without a name, the scheduler finds the body. */
    SHOWS(world_post(world, 200, path, "{" WHO ", \"version\": 2}"),
          {"events.0.kind", "OrderMigrated"}, {"events.0.data.workflow_version", "2"});
}
