/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/workflows and /api/counts: orders per version, and what lint says. */
#include "tests/lib/engine_workflow.h"
#include "tests/lib/site.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>

static const char first[] = "Name: test\nVersion: 1\nSteps:\n"
                            "  - {Name: A, Agent: agent}\n"
                            "  - {Name: B, Agent: agent, After: [A, A]}\n";
static const char second[] = "Name: test\nVersion: 2\nInputShape: {amount: number}\nSteps:\n"
                             "  - {Name: A, Agent: agent}\n"
                             "  - {Name: B, Agent: agent, After: [A]}\n";

static void deploy(uint32_t version, const char *text)
{
    site_deploy(world->kafka, world->codec, "t.workflows", TEXT("test"), version, "yaml",
                text_of(text));
}

/* Three orders of version 1, one of them Processed. */
static void open_world(void)
{
    static const char *const ids[] = {"done", "one", "two"};
    world = world_new(17, "A B<-A");
    world->target = workflow_of(&world->workflow_heap.arena, "A B<-A C<-B");
    world->target->version = 2;
    deploy(1, first);
    deploy(2, second);
    for (int i = 0; i < 3; i++)
        world_submit(world, ids[i], "test");
    world_schedule(world);
    world_report(world, "done", "A", true);
    world_schedule(world);
    world_report(world, "done", "B", true);
    world_schedule(world);
    world_open(world);
    world_settle(world);
}

TestSuite(console_workflows, .init = open_world, .fini = close_world);

static void migrate(const char *order_id)
{
    struct command cmd = {.kind = COMMAND_MIGRATE_ORDER, .order_id = text_of(order_id)};
    cmd.migrate_order = (struct migrate_order){.order_id = cmd.order_id,
                                               .version = 2,
                                               .by = TEXT("ann"),
                                               .reason = TEXT("version 1 is wrong")};
    world_send(world, &cmd);
    world_schedule(world);
    world_settle(world);
    cr_assert_eq(world_order(world, order_id)->details.workflow_version, 2);
}

static void expect(int64_t first_unfinished, int64_t second_unfinished)
{
    SHOWS(world_get(world, 200, "/api/workflows"), {"workflows.0.version", "1"},
          {"workflows.0.orders.total", answer_number(first_unfinished + 1)},
          {"workflows.0.orders.unfinished", answer_number(first_unfinished)},
          {"workflows.0.orders.by_state.Processing", answer_number(first_unfinished)},
          {"workflows.0.orders.by_state.Processed", "1"},
          {"workflows.1.orders.total", answer_number(second_unfinished)},
          {"workflows.1.orders.unfinished", answer_number(second_unfinished)},
          {"workflows.0.input_schema", "null"},
          {"workflows.1.input_schema.properties.amount.type", "number"}, {"incomplete", NULL});
    json_t *body = world_get(world, 200, "/api/counts");
    cr_expect_eq(world_int(body, "orders"), 3);
    cr_expect_eq(world_int(body, "by_workflow.test.Processing"), 2);
    cr_expect_str_eq(world_text(body, "by_version.0.workflow"), "test");
    cr_expect_eq(world_int(body, "by_version.0.by_state.Processing"), first_unfinished);
    if (second_unfinished > 0) {
        cr_expect_eq(world_int(body, "by_version.1.version"), 2);
        cr_expect_eq(world_int(body, "by_version.1.by_state.Processing"), second_unfinished);
    }
    json_decref(body);
}

Test(console_workflows, counts_the_orders_of_each_version)
{
    expect(2, 0);
    migrate("one");
    expect(1, 1);
    migrate("two");
    expect(0, 2);
    SHOWS(world_get(world, 200,
                    "/api/orders/count?workflow=test&workflow_version=2&state=processing"),
          {"orders", "2"});
    SHOWS(world_get(world, 200, "/api/orders?workflow=test&workflow_version=1"), {"orders", "[1]"},
          {"orders.0.order_id", "done"});
}

/* From the rows of the store, and from the log. */
Test(console_workflows, counts_them_again_after_a_restart)
{
    migrate("one");
    world_close(world);
    world_open(world);
    expect(1, 1);
    world_close(world);
    world_wipe(world);
    world_open(world);
    expect(1, 1);
    migrate("two");
    expect(0, 2);
}

Test(console_workflows, lists_what_lint_finds)
{
    json_t *body = world_get(world, 200, "/api/workflows");
    cr_assert_gt(world_int(body, "workflows.0.lint.0.column"), 1);
    SHOWS(body, {"workflows.0.lint", "[1]"}, {"workflows.0.lint.0.severity", "warning"},
          {"workflows.0.lint.0.message", "A is named twice"}, {"workflows.0.lint.0.line", "5"},
          {"workflows.1.lint", "[0]"});
}

Test(console_workflows, shows_a_migration_in_the_history)
{
    migrate("one");
    SHOWS(world_get(world, 200, "/api/orders/one/history"),
          {"entries.1.events.0.kind", "OrderMigrated"},
          {"entries.1.events.0.data.from_version", "1"},
          {"entries.1.events.0.data.steps.2.name", "C"}, {"entries.1.by", "ann"},
          {"entries.1.reason", "version 1 is wrong"});
}

/* ---- the life cycle of versions ---- */

#define WHO "{\"by\": \"ann\", \"reason\": \"tested\"}"

static void expect_refusal(int status, const char *code, const char *path, const char *body)
{
    world_refuses(world, status, code, path, body, "");
}

/* The answer of a change, which shows the version as it was read back. */
static void expect_change(const char *path, int64_t version, const char *result, bool warns)
{
    json_t *answer = world_post(world, 200, path, WHO);
    cr_expect_eq(json_array_size(world_at(answer, "warnings")), warns ? 1 : 0, "%s", path);
    SHOWS(answer, {"version", answer_number(version)}, {"result", result},
          {json_is_true(world_at(answer, "retired")) ? "retirement_reason" : "activation_reason",
           "tested"});
}

/* Which of the versions 1 and 2 is active: at most one, and none that is retired. */
static void expect_active(bool one, bool two)
{
    json_t *body = world_get(world, 200, "/api/workflows");
    cr_expect_eq(json_is_true(world_at(body, "workflows.0.active")), one);
    cr_expect_eq(json_is_true(world_at(body, "workflows.1.active")), two);
    json_decref(body);
}

Test(console_workflows, activates_rolls_back_and_retires_versions)
{
    expect_change("/api/workflows/test/1/activate", 1, "active", false);
    expect_refusal(409, "AlreadyActive", "/api/workflows/test/1/activate", WHO);
    expect_change("/api/workflows/test/rollback", 2, "active", false);
    expect_change("/api/workflows/test/1/retire", 1, "retired", false);
    expect_refusal(409, "AlreadyRetired", "/api/workflows/test/1/retire", WHO);
    expect_refusal(409, "NoPreviousVersion", "/api/workflows/test/rollback", WHO);
    expect_change("/api/workflows/test/2/retire", 2, "retired", true);
    expect_active(false, false);
    expect_change("/api/workflows/test/1/activate", 1, "active", false);
    expect_active(true, false);
    SHOWS(world_get(world, 200, "/api/workflows/test/1"), {"active", "true"},
          {"activated_by", "ann"}, {"orders.total", "3"});
}

Test(console_workflows, refuses_changes_of_unknown_versions_and_without_who_and_why)
{
    expect_refusal(404, "UnknownWorkflow", "/api/workflows/test/9/activate", WHO);
    expect_refusal(404, "UnknownWorkflow", "/api/workflows/test/9/retire", WHO);
    expect_refusal(404, "UnknownWorkflow", "/api/workflows/other/rollback", WHO);
    expect_refusal(404, "UnknownWorkflow", "/api/workflows/test/9", NULL);
    expect_refusal(400, "BadRequest", "/api/workflows/test/0/activate", WHO);
    expect_refusal(400, "BadRequest", "/api/workflows/test/1/activate", "{\"by\": \"ann\"}");
    expect_refusal(400, "BadRequest", "/api/workflows/test/1/activate", "{\"reason\": \"x\"}");
    expect_refusal(400, "BadRequest", "/api/workflows/test/1/activate",
                   "{\"by\": \"ann\", \"reason\": \"x\", \"step\": \"A\"}");
}

static json_t *post_text(int status, const char *text, const char *more)
{
    char body[1024];
    int size = snprintf(body, sizeof(body), "{\"by\": \"ann\", \"source\": \"%s\"%s}", text, more);
    cr_assert_lt((size_t)size, sizeof(body));
    return world_post(world, status, "/api/workflows", body);
}

static void expect_deployment(int status, const char *member, const char *expected,
                              const char *text, const char *more)
{
    SHOWS(post_text(status, text, more), {member, expected});
}

#define STEPS "\\nSteps: [{Name: A, Agent: agent}]"

Test(console_workflows, deploys_a_text)
{
    expect_deployment(409, "code", "TopicsMissing", "Name: test\\nVersion: 3" STEPS, "");
    expect_deployment(409, "command",
                      "reeve topics apply --partitions 3 --replication-factor 1 --topics-prefix t "
                      "--agent agent --agent b",
                      "Name: test\\nVersion: 3\\nSteps: [{Name: A, Agent: agent}, {Name: B, "
                      "Agent: b}]",
                      "");
    broker_memory_topic(world->kafka, "t.requests.agent", WORLD_PARTITIONS);
    expect_deployment(200, "result", "deployed, not active", "Name: test\\nVersion: 3" STEPS,
                      ", \"activate\": false");
    expect_deployment(200, "warnings.0",
                      "no running instance serves agent: steps that no other agent gets wait in "
                      "the queue; start an instance, or correct Agent and deploy the next version",
                      "Name: test\\nVersion: 3" STEPS, ", \"activate\": false");
    expect_deployment(200, "result", "already deployed, not active",
                      "Name: test\\nVersion: 3" STEPS, ", \"activate\": false");
    SHOWS(world_get(world, 200, "/api/workflows"), {"workflows.1.active", "true"},
          {"workflows.2.deployed_by", "ann"});
    expect_deployment(409, "code", "OtherContent", "Name: test\\nVersion: 3 " STEPS, "");
    expect_deployment(200, "result", "deployed, active", "Name: test\\nVersion: 4" STEPS,
                      ", \"activate\": true");
    expect_deployment(200, "result", "deployed, not active", "Name: new\\nVersion: 1" STEPS,
                      ", \"activate\": false");
    expect_deployment(
        200, "result", "deployed, active",
        "{\\\"Name\\\": \\\"new\\\", \\\"Version\\\": 2, \\\"Steps\\\": [{\\\"Name\\\": "
        "\\\"A\\\", \\\"Agent\\\": \\\"agent\\\"}]}",
        ", \"format\": \"json\"");
}

#define NO_LONGER                                                                          \
    "the agent no longer gets outputs and lines, nor the order's input: put all that its " \
    "service reads into Input"

Test(console_workflows, warns_of_what_agents_no_longer_get)
{
    static const char third[] = "Name: test\\nVersion: 3\\nSteps: [{Name: A, Agent: agent, "
                                "Input: {a: 1}}, {Name: B, Agent: agent, After: [A]}]";
    broker_memory_topic(world->kafka, "t.requests.agent", WORLD_PARTITIONS);
    json_t *answer = post_text(200, third, "");
    cr_expect_eq(json_array_size(world_at(answer, "warnings")), 2);
    SHOWS(answer, {"result", "deployed, active"},
          {"warnings.1", "step A, from version 2 to 3: " NO_LONGER});
    /* Nothing changes by the repetition. */
    answer = post_text(200, third, "");
    cr_expect_eq(json_array_size(world_at(answer, "warnings")), 1);
    SHOWS(answer, {"result", "already deployed, active"});
    SHOWS(world_get(world, 200, "/api/workflows/test/diff?left=2&right=3"), {"differences", "[2]"},
          {"differences.0.field", "InputShape"}, {"differences.0.warning", "null"},
          {"differences.1.field", "Input"}, {"differences.1.warning", NO_LONGER});
}

Test(console_workflows, answers_what_lint_says_of_a_text_that_does_not_compile)
{
    SHOWS(post_text(400, "Name: test\\nVersion: 0\\nSteps: [{Name: A}]", ""),
          {"code", "BadWorkflow"}, {"problems", "[2]"}, {"problems.0.severity", "error"},
          {"problems.0.line", "2"});
    expect_deployment(400, "code", "BadRequest", "Name: w", ", \"format\": \"xml\"");
    expect_deployment(400, "code", "BadRequest", "Name: w", ", \"activate\": 1");
    expect_deployment(400, "code", "BadRequest", "Name: w", ", \"name\": \"w\"");
    expect_deployment(400, "code", "BadRequest", "", "");
    expect_refusal(400, "BadRequest", "/api/workflows", "{\"source\": \"Name: w\"}");
}

Test(console_workflows, shows_what_differs_between_two_versions)
{
    broker_memory_topic(world->kafka, "t.requests.agent", WORLD_PARTITIONS);
    expect_deployment(200, "result", "deployed, active", "Name: test\\nVersion: 3" STEPS, "");
    SHOWS(world_get(world, 200, "/api/workflows/test/diff?left=2&right=3"), {"differences", "[2]"},
          {"differences.0.field", "InputShape"}, {"differences.1.step", "B"},
          {"differences.1.field", "Step"}, {"differences.1.right", "null"});
    SHOWS(world_get(world, 200, "/api/workflows/test/diff?left=1&right=2"), {"differences", "[1]"});
    expect_refusal(404, "UnknownWorkflow", "/api/workflows/test/diff?left=1&right=9", NULL);
    expect_refusal(400, "BadRequest", "/api/workflows/test/diff?left=1", NULL);
}

/* ---- before orders are moved ---- */

/* With the place, as the scheduler would. */
static void expect_refusal_of_input(void)
{
    deploy(3, "Name: test\nVersion: 3\nInputShape: {to: {street: string}}\nSteps:\n"
              "  - {Name: A, Agent: agent}\n  - {Name: B, Agent: agent, After: [A]}\n");
    world_settle(world);
    world_refuses(world, 409, "InvalidInput", "/api/orders/one/migrate?version=3", NULL,
                  "version 3 of test takes other orders: input");
}

Test(console_workflows, checks_a_migration_without_a_command)
{
    struct broker_record record;
    int32_t partition = world_partition("one");
    int64_t next = world->partitions[partition].next_command;
    SHOWS(world_get(world, 200, "/api/orders/one/migrate?workflow=test&from_version=1&version=2"),
          {"version", "2"}, {"from_version", "1"});
    expect_refusal(409, "AlreadyEnded", "/api/orders/done/migrate?version=2", NULL);
    expect_refusal(409, "OtherVersion", "/api/orders/one/migrate?version=2&from_version=2", NULL);
    expect_refusal(409, "UnknownWorkflow", "/api/orders/one/migrate?version=9", NULL);
    expect_refusal(404, "UnknownOrder", "/api/orders/none/migrate?version=2", NULL);
    expect_refusal(400, "BadRequest", "/api/orders/one/migrate", NULL);
    expect_refusal_of_input();
    expect_change("/api/workflows/test/1/activate", 1, "active", false);
    expect_change("/api/workflows/test/2/retire", 2, "retired", false);
    expect_refusal(409, "WorkflowRetired", "/api/orders/one/migrate?version=2", NULL);
    cr_assert_not(broker_memory_record(world->kafka, "t.commands", partition, next, &record));
}

/* The answer comes at once: no scheduler runs. */
Test(console_workflows, writes_no_command_for_an_unknown_version)
{
    struct broker_record record;
    int32_t partition = world_partition("one");
    int64_t next = world->partitions[partition].next_command;
    expect_refusal(409, "UnknownWorkflow", "/api/orders/one/migrate",
                   "{\"by\": \"ann\", \"reason\": \"x\", \"workflow\": \"test\", \"version\": 9}");
    cr_assert_not(broker_memory_record(world->kafka, "t.commands", partition, next, &record));
}
