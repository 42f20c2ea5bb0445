/* SPDX-License-Identifier: Apache-2.0 */
/* /api/schedules: what the console shows of schedules, and what operators do to them. */
#include "schedule/schedule_file.h"
#include "tests/lib/site.h"
#include "tests/unit/console/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HOURLY "\"source\": \"Schedule: hourly\\nCron: '0 * * * *'\\nOrder: {workflow: work}\\n\""
#define DEPLOY "{\"by\": \"ann\", " HOURLY "}"

static struct world *world;

static void open_world(void)
{
    world = world_new(11, "A");
    broker_memory_topic(world->kafka, "t.submissions", WORLD_PARTITIONS);
    site_deploy(world->kafka, world->codec, "t.workflows", TEXT("work"), 1, "yaml",
                TEXT("Name: work\nVersion: 1\nSteps: [{Name: A, Agent: a}]\n"));
    world_open(world);
    world_settle(world);
}

static void close_world(void)
{
    world_free(world);
}

TestSuite(console_schedules, .init = open_world, .fini = close_world);

static int64_t records(const char *topic)
{
    return site_ends(world->kafka, topic, strcmp(topic, "t.schedules") == 0 ? 1 : WORLD_PARTITIONS);
}

Test(console_schedules, deploys_and_changes_a_schedule)
{
    SHOWS(world_get(world, 200, "/api/schedules"), {"complete", "true"});
    SHOWS(world_post(world, 200, "/api/schedules", DEPLOY), {"schedule", "hourly"},
          {"result", "deployed"}, {"cron", "0 * * * *"}, {"workflow", "work"}, {"problem", "null"},
          {"time_zone", "UTC"}, {"deployed_by", "ann"}, {"format", "yaml"});
    SHOWS(world_post(world, 200, "/api/schedules", DEPLOY), {"result", "already deployed"});
    cr_assert_eq(records("t.schedules"), 1);
    SHOWS(world_post(world, 200, "/api/schedules",
                     "{\"by\": \"bob\", \"format\": \"json\", \"source\": \"{\\\"Schedule\\\": "
                     "\\\"hourly\\\", \\\"EverySeconds\\\": 60, \\\"Order\\\": {\\\"workflow\\\": "
                     "\\\"wrok\\\"}}\"}"),
          {"result", "changed"}, {"cron", "null"}, {"every_seconds", "60"}, {"deployed_by", "bob"},
          {"problem", "workflow wrok is not deployed: deploy it"});
    SHOWS(world_get(world, 200, "/api/schedules"), {"schedules.0.schedule", "hourly"},
          {"schedules.0.every_seconds", "60"});
}

Test(console_schedules, explains_what_does_not_compile)
{
    SHOWS(world_post(world, 400, "/api/schedules",
                     "{\"by\": \"ann\", \"source\": \"Schedule: s\\nCron: '* * * FEX *'\\nOrder: "
                     "{workflow: work}\\n\"}"),
          {"code", "BadSchedule"}, {"problems.0.line", "2"}, {"problems.0.column", "14"},
          {"problems.0.message", "Cron: \"FEX\" is not a month: did you mean FEB?"});
    world_refuses(world, 400, "BadRequest", "/api/schedules", "{\"by\": \"ann\"}",
                  "source: expected the text of a schedule");
    world_refuses(world, 400, "BadRequest", "/api/schedules",
                  "{\"by\": \"ann\", \"format\": \"xml\", " HOURLY "}", "format: expected");
    world_refuses(world, 400, "BadRequest", "/api/schedules", "{" HOURLY "}", "by: expected");
    cr_assert_eq(records("t.schedules"), 0);
}

#define WHY "{\"by\": \"ann\", \"reason\": \"the bank is down\"}"

Test(console_schedules, pauses_and_resumes_a_schedule)
{
    world_refuses(world, 404, "UnknownSchedule", "/api/schedules/hourly/pause", WHY,
                  "schedule hourly is not deployed");
    json_decref(world_post(world, 200, "/api/schedules", DEPLOY));
    world_refuses(world, 409, "NotPaused", "/api/schedules/hourly/resume", WHY, "is not paused");
    world_refuses(world, 400, "BadRequest", "/api/schedules/hourly/pause", "{\"by\": \"ann\"}",
                  "reason: expected");
    SHOWS(world_post(world, 200, "/api/schedules/hourly/pause", WHY), {"result", "paused"},
          {"paused.by", "ann"}, {"paused.reason", "the bank is down"});
    world_refuses(world, 409, "AlreadyPaused", "/api/schedules/hourly/pause", WHY,
                  "ann has paused schedule hourly: the bank is down");
    SHOWS(world_post(world, 200, "/api/schedules/hourly/resume", WHY), {"result", "active"},
          {"paused", "null"});
    cr_assert_eq(records("t.schedules"), 3);
}

Test(console_schedules, triggers_a_tick)
{
    world_refuses(world, 404, "UnknownSchedule", "/api/schedules/hourly/trigger",
                  "{\"by\": \"ann\"}", "is not deployed");
    json_decref(world_post(world, 200, "/api/schedules", DEPLOY));
    SHOWS(world_post(world, 202, "/api/schedules/hourly/trigger", "{\"by\": \"ann\"}"),
          {"order_id", "~hourly@2"});
    cr_assert_eq(records("t.submissions"), 1);
    broker_memory_append(world->kafka, "t.schedules", 0, TEXT("broken"), TEXT("x"));
    world_settle(world);
    world_turn(world);
    world_refuses(world, 409, "BadSchedule", "/api/schedules/broken/trigger", "{\"by\": \"ann\"}",
                  "its record cannot be read");
}

Test(console_schedules, shows_the_orders_of_the_last_ticks)
{
    char id[SCHEDULE_ORDER_ID_SIZE];
    json_decref(world_post(world, 200, "/api/schedules", DEPLOY));
    world_advance(world, 3 * 3600 * 1000);
    json_t *body = world_get(world, 200, "/api/schedules");
    const json_t *last = world_at(body, "schedules.0.last");
    cr_assert_eq(json_array_size(last), 3);
    snprintf(id, sizeof(id), "%s",
             json_string_value(json_object_get(json_array_get(last, 0), "order_id")));
    json_decref(body);
    world_submit(world, id, "test");
    world_schedule(world);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/schedules"), {"schedules.0.last.0.order_id", id},
          {"schedules.0.last.0.state", "Processing"}, {"schedules.0.last.1.state", "null"});
}

Test(console_schedules, answers_with_503_while_the_topic_is_not_read)
{
    world_close(world);
    broker_memory_set_partition_fault(world->kafka, "t.schedules", 0, PARTITION_UNREADABLE);
    world_open(world);
    world_refuses(world, 503, "NotReady", "/api/schedules", DEPLOY,
                  "the console is still reading the topic of schedules");
    SHOWS(world_get(world, 200, "/api/schedules"), {"complete", "false"});
}

Test(console_schedules, says_that_it_does_not_know_where_a_record_is_not_acknowledged)
{
    broker_memory_set_partition_fault(world->kafka, "t.schedules", 0, PARTITION_FAILS_APPEND);
    world_refuses(world, 503, "Unknown", "/api/schedules", DEPLOY,
                  "it may or may not have been accepted");
}
