/* SPDX-License-Identifier: Apache-2.0 */
/* Operator commands are answered with the Decision in the log. */
#include "tests/lib/site.h"
#include "tests/unit/console/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const char body[] = "{\"by\": \"ann\", \"reason\": \"the \\\"bank\\\" is back\"}";

TestSuite(console_operator_commands);

static struct world *with_stuck_effect(uint64_t seed, enum effect effect)
{
    struct world *world = world_new(seed, "A{c} B{c,e}");
    world->effect = effect;
    world_submit(world, "stuck", "test");
    world_schedule(world);
    world_report(world, "stuck", "B", false);
    world_schedule(world);
    world_open(world);
    world_settle(world);
    return world;
}

static struct world *with_stuck_order(uint64_t seed)
{
    return with_stuck_effect(seed, EFFECT_NONE);
}

/* The broker's seed decides whether the Decision is folded before the command's acknowledgement. */
Test(console_operator_commands, answers_with_the_decision)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world *world = with_stuck_order(seed);
        world->schedules = true;
        SHOWS(world_post(world, 200, "/api/orders/stuck/resubmit", body), {"state", "Processing"},
              {"command.kind", "ResubmitStep"}, {"events.0.data.by", "ann"},
              {"events.0.data.reason", "the \"bank\" is back"});
        /* What was answered can be read. */
        SHOWS(world_get(world, 200, "/api/orders/stuck"), {"alert_open", "false"});
        SHOWS(world_get(world, 200, "/api/orders/stuck/history"), {"entries", "[3]"});
        cr_assert_eq(operator_commands_outstanding(world->console->commands), 0);
        world_free(world);
    }
}

Test(console_operator_commands, appends_a_command_of_each_kind)
{
    static const char complete[] =
        "{\"by\": \"ann\", \"reason\": \"x\", \"step\": \"B\", \"output\": [1, 100.10]}";
    static const char skip[] = "{\"by\": \"ann\", \"reason\": \"x\", \"step\": \"B\","
                               " \"nothing_applied\": true}";
    static const char within[] = "{\"by\": \"ann\", \"reason\": \"x\", \"timeout_ms\": 7200000}";
    static const char with_point[] = "{\"by\": \"ann\", \"reason\": \"x\", \"timeout_ms\": 7.2e6}";
    static const struct {
        const char *path;
        const char *body;
        const char *kind;
        const char *event;
        const char *state;
    } cases[] = {
        {"/api/orders/stuck/cancel", body, "CancelOrder", "OrderCancelled", "Compensating"},
        {"/api/orders/stuck/compensate", body, "CompensateOrder", "CompensationStarted",
         "Compensating"},
        {"/api/orders/stuck/resubmit", body, "ResubmitStep", "StepResubmitted", "Processing"},
        {"/api/orders/stuck/resubmit", within, "ResubmitStep", "StepResubmitted", "Processing"},
        {"/api/orders/stuck/resubmit", with_point, "ResubmitStep", "StepResubmitted", "Processing"},
        {"/api/orders/stuck/complete", complete, "CompleteStep", "StepCompletedByHand",
         "Processing"},
        {"/api/orders/stuck/skip", skip, "SkipStep", "StepSkippedByHand", "Processing"},
        {"/api/orders/stuck/pause", body, "PauseOrder", "OrderPaused", "Error"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world *world = with_stuck_order(1);
        world->schedules = true;
        SHOWS(world_post(world, 200, cases[i].path, cases[i].body),
              {"events.0.kind", cases[i].event}, {"command.kind", cases[i].kind},
              {"state", cases[i].state});
        world_free(world);
    }
}

Test(console_operator_commands, answers_a_rejection_with_409_and_its_reason)
{
    struct world *world = with_stuck_order(3);
    world->schedules = true;
    SHOWS(world_post(world, 409, "/api/orders/none/cancel", body), {"code", "UnknownOrder"},
          {"detail", "there is no order none"});
    SHOWS(world_post(world, 409, "/api/orders/stuck/resubmit",
                     "{\"by\": \"ann\", \"reason\": \"x\", \"step\": \"A\"}"),
          {"code", "StepNotInError"});
    SHOWS(world_post(world, 409, "/api/orders/stuck/amend",
                     "{\"by\": \"ann\", \"reason\": \"x\", \"input\": {\"n\": 100.10}}"),
          {"code", "AttemptRuns"});
    json_t *answer = world_post(world, 200, "/api/orders/stuck/resubmit",
                                "{\"by\": \"ann\", \"reason\": \"x\", \"step\": \"B\"}");
    json_decref(answer);
    SHOWS(world_post(world, 409, "/api/orders/stuck/resubmit", body), {"code", "NotInError"});
    world_free(world);
}

/* Its Decision names no order: the seed decides whether it is folded before the acknowledgement. */
Test(console_operator_commands, answers_a_dead_letter_with_409_and_its_code)
{
    static const char *const codes[][2] = {{"WrongPartition", "WrongPartition"},
                                           {"", "Quarantined"}}; /* of an older scheduler */
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world *world = with_stuck_order(seed);
        world->schedules = true;
        world->kills = codes[seed % 2][0];
        SHOWS(world_post(world, 409, "/api/orders/stuck/resubmit", body),
              {"code", codes[seed % 2][1]}, {"detail", "it \"fails\""},
              {"decision.events.0.kind", "CommandDeadLettered"},
              {"decision.events.0.data.code", codes[seed % 2][1]});
        cr_assert_eq(operator_commands_outstanding(world->console->commands), 0);
        world_free(world);
    }
}

/* Of each of the commands that were sent before it, and of its own. */
Test(console_operator_commands, finds_its_decision_among_many_that_precede_the_acknowledgement)
{
    struct world *world = with_stuck_order(9);
    int32_t partition = world_partition("stuck");
    struct command resume = {.kind = COMMAND_RESUME_ORDER, .order_id = TEXT("stuck")};
    resume.resume_order =
        (struct resume_order){.order_id = resume.order_id, .by = TEXT("bob"), .reason = TEXT("x")};
    for (int i = 0; i < 100; i++)
        world_send(world, &resume);
    int64_t end = site_end(world->kafka, "t.commands", partition);
    broker_memory_set_partition_fault(world->kafka, "t.commands", partition, PARTITION_HOLDS_ACKS);
    world_ask(world, "/api/orders/stuck/pause", body);
    while (site_end(world->kafka, "t.commands", partition) == end)
        world_turn(world);
    world_schedule(world);
    world_settle(world);
    cr_assert_not(world->answered);
    broker_memory_clear_partition_faults(world->kafka);
    SHOWS(world_answer(world, 200), {"events.0.kind", "OrderPaused"}, {"events.0.data.by", "ann"});
    world_free(world);
}

/* The world's scheduler knows one version. */
Test(console_operator_commands, sends_migrations_with_their_versions)
{
    struct world *world = with_stuck_order(6);
    world->schedules = true;
    SHOWS(
        world_post(world, 409, "/api/orders/stuck/migrate",
                   "{\"by\": \"ann\", \"reason\": \"x\", \"version\": 2, \"workflow\": \"test\"}"),
        {"code", "UnknownWorkflow"}, {"detail", "version 2 of test is not deployed"});
    SHOWS(world_post(world, 409, "/api/orders/stuck/migrate",
                     "{\"by\": \"ann\", \"reason\": \"x\", \"version\": 2, \"from_version\": 3}"),
          {"code", "OtherVersion"});
    world_free(world);
}

Test(console_operator_commands, gives_a_resubmission_a_new_key_on_request)
{
    static const char *const bodies[] = {
        "{\"by\": \"ann\", \"reason\": \"x\", \"new_generation\": false}",
        "{\"by\": \"ann\", \"reason\": \"x\", \"new_generation\": true}",
    };
    for (int i = 0; i < 2; i++) {
        struct world *world = with_stuck_effect(4, EFFECT_UNKNOWN);
        world->schedules = true;
        json_t *answer = world_post(world, 200, "/api/orders/stuck/resubmit", bodies[i]);
        cr_assert_str_eq(world_text(answer, "events.0.kind"), "StepResubmitted");
        cr_assert_eq(json_integer_value(world_at(answer, "events.0.data.generation")), i);
        json_decref(answer);
        world_free(world);
    }
}

Test(console_operator_commands, answers_504_when_no_decision_comes_in_time)
{
    struct world *world = with_stuck_order(5);
    world_ask(world, "/api/orders/stuck/resubmit", body);
    for (int i = 0; i < 50; i++)
        world_turn(world);
    cr_assert_eq(operator_commands_outstanding(world->console->commands), 1);
    world_advance(world, OPERATOR_COMMAND_WAIT_MS - 2000);
    cr_assert_not(world->answered);
    world_advance(world, 4000);
    SHOWS(world_answer(world, 504), {"code", "NotDecided"}, {"detail", "~t.commands"});
    cr_assert_eq(operator_commands_outstanding(world->console->commands), 0);
    world_schedule(world);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/orders/stuck"), {"state", "Processing"});
    world_free(world);
}

Test(console_operator_commands, reports_an_unknown_outcome_of_an_append)
{
    static const struct broker_memory_faults lost = {.append_lost = 1000};
    static const struct broker_memory_faults nowhere = {.ack_without_offset = 1000};
    struct world *world = with_stuck_order(6);
    broker_memory_set_faults(world->kafka, &lost);
    SHOWS(world_post(world, 503, "/api/orders/stuck/resubmit", body), {"code", "Unknown"});
    broker_memory_set_faults(world->kafka, &nowhere);
    SHOWS(world_post(world, 503, "/api/orders/stuck/resubmit", body), {"code", "Unknown"});
    world_free(world);
}

Test(console_operator_commands, ends_a_pause)
{
    struct world *world = with_stuck_order(1);
    world->schedules = true;
    json_decref(world_post(world, 200, "/api/orders/stuck/pause", body));
    SHOWS(world_post(world, 409, "/api/orders/stuck/pause", body), {"code", "AlreadyPaused"});
    json_t *order = world_get(world, 200, "/api/orders/stuck");
    cr_assert_gt(world_time(order, "paused_at"), 0);
    SHOWS(order, {"paused_by", "ann"}, {"pause_reason", "the \"bank\" is back"});
    SHOWS(world_post(world, 200, "/api/orders/stuck/resume", body),
          {"events.0.kind", "OrderPauseEnded"});
    world_free(world);
}

Test(console_operator_commands, lets_a_waiting_step_fail)
{
    struct world *world = with_stuck_order(1);
    world->schedules = true;
    SHOWS(world_post(world, 409, "/api/orders/stuck/fail",
                     "{\"by\": \"ann\", \"reason\": \"x\", \"step\": \"B\","
                     " \"error_name\": \"Declined\"}"),
          {"code", "StepEnded"}, {"detail", "step B has failed already"});
    world_free(world);
}

Test(console_operator_commands, requires_what_an_action_needs)
{
    static const struct {
        const char *path;
        const char *rest;
        const char *message;
    } cases[] = {
        {"/api/orders/stuck/complete", "", "step: expected a text"},
        {"/api/orders/stuck/complete", ", \"step\": \"\"", "step: expected a text"},
        {"/api/orders/stuck/complete",
         ", \"step\": \"B\", \"output\": {\"a\":", "body.output.a is not valid JSON"},
        {"/api/orders/stuck/complete", ", \"step\": \"B\", \"nothing_applied\": true",
         "nothing_applied"},
        {"/api/orders/stuck/skip", "", "step: expected a text"},
        {"/api/orders/stuck/skip", ", \"step\": \"two words\"", "step must be 1 to 64 letters"},
        {"/api/orders/stuck/migrate", ", \"version\": 2, \"workflow\": \"two words\"",
         "workflow must be"},
        {"/api/orders/stuck/fail", ", \"step\": \"B\"", "error_name must be 1 to 64 letters"},
        {"/api/orders/stuck/fail", ", \"step\": \"B\", \"error_name\": \"a\\u0007\"",
         "error_name must be"},
        {"/api/orders/stuck/fail", ", \"step\": \"B\", \"error_name\": \"two words\"",
         "error_name must be"},
        {"/api/orders/stuck/fail", ", \"step\": \"B\", \"error_name\": \"States.Timeout\"",
         "without \"States.\""},
        {"/api/orders/stuck/fail", ", \"error_name\": \"E\"", "step: expected a text"},
        {"/api/orders/stuck/migrate", "", "version: expected an integer"},
        {"/api/orders/stuck/migrate", ", \"version\": 0", "version must be 1 to 2147483647"},
        {"/api/orders/stuck/resubmit", ", \"timeout_ms\": 0", "timeout_ms: expected 1 to"},
        {"/api/orders/stuck/resubmit", ", \"timeout_ms\": -1", "timeout_ms"},
        {"/api/orders/stuck/resubmit", ", \"timeout_ms\": 99999999999", "timeout_ms"},
        {"/api/orders/stuck/pause", ", \"step\": \"B\"", "step"},
        {"/api/orders/stuck/amend", "", "input: expected a JSON value"},
        {"/api/orders/stuck/amend", ", \"input\": {\"a\": 1, \"a\": 2}", "occurs twice"},
    };
    struct world *world = with_stuck_order(7);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "{\"by\": \"ann\", \"reason\": \"x\"%s}", cases[i].rest);
        world_refuses(world, 400, NULL, cases[i].path, text, cases[i].message);
    }
    world_free(world);
}

Test(console_operator_commands, requires_an_author_and_a_reason)
{
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "\"ann\"",
        "{}",
        "{\"by\": \"ann\"}",
        "{\"reason\": \"x\"}",
        "{\"by\": \"\", \"reason\": \"x\"}",
        "{\"by\": 1, \"reason\": \"x\"}",
        "{\"by\": null, \"reason\": \"x\"}",
        "{\"by\": \"a\\nb\", \"reason\": \"x\"}",
        "{\"by\": \"ann\", \"reason\": \"\\u0000\"}",
        "{\"by\": \"ann\", \"reason\": \"x\", \"by\": \"bob\"}",
        "{\"by\": \"ann\", \"reason\": \"x\", \"stepp\": \"B\"}",
        "{\"by\": \"ann\", \"reason\": \"x\", \"step\": \"\"}",
        "{\"by\": \"ann\", \"reason\": \"x\", \"new_generation\": \"yes\"}",
        "{\"by\": \"ann\", \"reason\": \"\xff\"}",
    };
    char large[OPERATOR_COMMAND_BODY_MAX + 100];
    struct world *world = with_stuck_order(7);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        world_refuses(world, 400, "BadRequest", "/api/orders/stuck/resubmit", bodies[i], "");
    json_decref(world_post(world, 400, "/api/orders/stuck/cancel",
                           "{\"by\": \"ann\", \"reason\": \"x\", \"step\": \"B\"}"));
    json_decref(world_post(world, 400, "/api/orders/a%2Fb/cancel", body));
    int size = snprintf(large, sizeof(large), "{\"by\": \"ann\", \"reason\": \"%*d\"}",
                        MESSAGE_BYTES_MAX + 1, 1);
    cr_assert_gt(size, MESSAGE_BYTES_MAX);
    json_decref(world_post(world, 400, "/api/orders/stuck/cancel", large));
    memset(large, ' ', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    json_decref(world_post(world, 413, "/api/orders/stuck/cancel", large));
    json_decref(world_get(world, 405, "/api/orders/stuck/cancel"));
    cr_assert_eq(site_end(world->kafka, "t.commands", world_partition("stuck")), 2,
                 "nothing was sent");
    world_free(world);
}

/* A shutdown with an outstanding request: an answer, no leak, no callback into freed memory. */
Test(console_operator_commands, answers_outstanding_requests_when_it_shuts_down)
{
    struct world *world = with_stuck_order(8);
    world_ask(world, "/api/orders/stuck/resubmit", body);
    for (int i = 0; i < 20; i++)
        world_turn(world);
    cr_assert_eq(operator_commands_outstanding(world->console->commands), 1);
    console_free(world->console);
    world->console = NULL;
    for (int i = 0; i < 20; i++)
        loop_once(world->loop, 1);
    SHOWS(world_answer(world, 503), {"code", "ShuttingDown"});
    http_client_free(world->client);
    http_server_free(world->service.http);
    metrics_free(world->service.metrics);
    config_free(world->service.config);
    world_free(world);
}
