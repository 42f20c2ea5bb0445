/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve schedule`: what it writes, what it prints, and what it refuses. */
#include "cli/schedule/verbs.h"
#include "tests/lib/site.h"
#include "tests/unit/cli/cli_kit.h"
#include "tests/unit/cli/session_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOURLY "Schedule: hourly\nCron: '0 * * * *'\nOrder: {workflow: work, input: '${tick}'}\n"

static struct session_kit kit;
static char path[] = "/tmp/schedule-XXXXXX.yaml";

static void open_kit(void)
{
    int file = mkstemps(path, 5);
    cr_assert(file >= 0);
    close(file);
    session_kit_init(&kit);
    site_deploy(kit.kafka, kit.codec, "t.workflows", TEXT("work"), 1, "yaml",
                TEXT("Name: work\nVersion: 1\nSteps: [{Name: A, Agent: a}]\n"));
    session_kit_open(&kit, CLUSTER_FOLLOWS_WORKFLOWS);
}

static void close_kit(void)
{
    session_kit_deinit(&kit);
    unlink(path);
}

TestSuite(cli_schedule, .init = open_kit, .fini = close_kit, .timeout = 120);

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0);
    fclose(file);
}

/* `reeve schedule VERB ARGUMENTS`, ending with NULL, in the session; with these flags. */
static int run(const char *verb, int (*of)(struct cli *cli, struct cli_session *session),
               const char *const arguments[], struct cli_given *given, size_t given_count)
{
    int count = 0;
    while (arguments[count] != NULL)
        count++;
    session_kit_flush(&kit);
    kit.cli.noun = &cli_schedule;
    kit.cli.verb = cli_find_verb(&cli_schedule, verb);
    kit.cli.arguments = (char **)(uintptr_t)arguments;
    kit.cli.argument_count = count;
    kit.cli.given = given;
    kit.cli.given_count = given_count;
    int code = of(&kit.cli, &kit.session);
    session_kit_flush(&kit);
    return code;
}
#define RUN(verb, of, ...) run(verb, of, (const char *const[]){__VA_ARGS__, NULL}, NULL, 0)

static int run_pause(const char *verb)
{
    const struct cli_flag reason = {.name = "reason"};
    struct cli_given given[] = {{&reason, "the bank is down"}};
    return run(verb, schedule_pause_run, (const char *const[]){"hourly", NULL}, given, 1);
}

static void expect_out(const char *part)
{
    cr_expect_not_null(strstr(kit.out, part), "%s: %s", part, kit.out);
}

static void expect_err(const char *part)
{
    cr_expect_not_null(strstr(kit.err, part), "%s: %s", part, kit.err);
}

static int deploy(const char *text)
{
    write_file(text);
    return RUN("deploy", schedule_deploy_run, path);
}

static int64_t records(void)
{
    return site_end(kit.kafka, "t.schedules", 0);
}

static int64_t submissions(void)
{
    return site_end(kit.kafka, "t.submissions", 0);
}

Test(cli_schedule, deploys_a_schedule_once_for_each_text)
{
    cr_assert_eq(deploy(HOURLY), EXIT_CODE_OK);
    expect_out("hourly    deployed");
    cr_assert_eq(deploy(HOURLY), EXIT_CODE_OK);
    expect_out("already deployed");
    cr_assert_eq(records(), 1);
    cr_assert_eq(deploy(HOURLY "CatchUpSeconds: 60\n"), EXIT_CODE_OK);
    expect_out("changed");
    cr_assert_eq(records(), 2);
    cr_expect_str_eq(kit.err, "");
}

Test(cli_schedule, explains_mistakes_and_deploys_nothing)
{
    cr_assert_eq(deploy("Schedule: hourly\nCron: '0 * * * FRB'\nOrder: {workflow: work}\n"),
                 EXIT_CODE_DATA);
    expect_err(":2:16: error: Cron: \"FRB\" is not a weekday: did you mean FRI?");
    cr_assert_eq(RUN("deploy", schedule_deploy_run, "/nonexistent.yaml"), EXIT_CODE_DATA);
    cr_assert_eq(records(), 0);
}

Test(cli_schedule, warns_of_a_workflow_that_is_not_there)
{
    cr_assert_eq(deploy("Schedule: s\nEverySeconds: 60\nOrder: {workflow: wrok}\n"), EXIT_CODE_OK);
    expect_err("schedule s submits no orders: workflow wrok is not deployed");
    cr_assert_eq(RUN("get", schedule_get_run, "s"), EXIT_CODE_OK);
    expect_out("unusable");
    expect_out("workflow wrok is not deployed");
}

Test(cli_schedule, keeps_a_pause_through_a_deployment)
{
    cr_assert_eq(run_pause("pause"), EXIT_CODE_NEGATIVE);
    expect_err("schedule hourly is not deployed");
    deploy(HOURLY);
    cr_assert_eq(run_pause("resume"), EXIT_CODE_NEGATIVE);
    expect_err("schedule hourly is not paused");
    cr_assert_eq(run_pause("pause"), EXIT_CODE_OK);
    expect_out("RESULT    paused");
    cr_assert_eq(run_pause("pause"), EXIT_CODE_NEGATIVE);
    expect_err("has paused schedule hourly: the bank is down");
    deploy(HOURLY "CatchUpSeconds: 60\n");
    expect_out("changed, paused");
    RUN("list", schedule_list_run, NULL);
    expect_out("paused");
    cr_assert_eq(run_pause("resume"), EXIT_CODE_OK);
    RUN("list", schedule_list_run, NULL);
    expect_out("active");
    cr_assert_eq(records(), 4);
}

/* Of the record that is the newest: that of a tick before is not known. */
Test(cli_schedule, says_since_when_there_was_no_tick)
{
    deploy(HOURLY);
    RUN("get", schedule_get_run, "hourly");
    expect_out("last          none since 2");
    run_pause("pause");
    RUN("get", schedule_get_run, "hourly");
    expect_out("last          none since 2");
    run_pause("resume");
    RUN("get", schedule_get_run, "hourly");
    expect_out("last          none since 2");
}

Test(cli_schedule, deletes_a_schedule_whether_it_can_be_read_or_not)
{
    deploy(HOURLY);
    broker_memory_append(kit.kafka, "t.schedules", 0, TEXT("broken"), TEXT("x"));
    cr_assert_eq(RUN("delete", schedule_delete_run, "horly"), EXIT_CODE_NEGATIVE);
    expect_err("schedule horly is not deployed: did you mean hourly?");
    cr_assert_eq(records(), 2);
    cr_assert_eq(RUN("delete", schedule_delete_run, "hourly"), EXIT_CODE_OK);
    expect_out("RESULT    deleted");
    cr_assert_eq(RUN("delete", schedule_delete_run, "broken"), EXIT_CODE_OK);
    struct broker_record record;
    cr_assert(broker_memory_record(kit.kafka, "t.schedules", 0, 2, &record));
    cr_assert(text_equal(record.key, TEXT("hourly")) && record.value.data == NULL);
    cr_assert_eq(RUN("delete", schedule_delete_run, "hourly"), EXIT_CODE_NEGATIVE);
    expect_err("schedule hourly is not deployed");
    deploy(HOURLY);
    expect_out("hourly    deployed");
}

Test(cli_schedule, suggests_the_name_of_another)
{
    deploy(HOURLY);
    cr_assert_eq(RUN("get", schedule_get_run, "horly"), EXIT_CODE_NEGATIVE);
    expect_err("schedule horly is not deployed: did you mean hourly?");
    cr_assert_eq(RUN("trigger", schedule_trigger_run, "horly"), EXIT_CODE_NEGATIVE);
    expect_err("did you mean hourly?");
}

Test(cli_schedule, shows_what_cannot_be_read)
{
    broker_memory_append(kit.kafka, "t.schedules", 0, TEXT("broken"), TEXT("x"));
    cr_assert_eq(RUN("list", schedule_list_run, NULL), EXIT_CODE_OK);
    expect_out("broken");
    expect_out("unusable");
    cr_assert_eq(RUN("trigger", schedule_trigger_run, "broken"), EXIT_CODE_NEGATIVE);
    expect_err("schedule broken: its record cannot be read");
}

static struct order_details submitted(int64_t offset)
{
    static struct heap_arena heap; /* as long as the test's process */
    struct broker_record record;
    struct record decoded;
    if (heap.block_size == 0)
        heap_arena_init(&heap, 4096);
    cr_assert(broker_memory_record(kit.kafka, "t.submissions", 0, offset, &record));
    site_decode(kit.codec, record.value, &heap.arena, &decoded);
    cr_assert_eq(decoded.kind, RECORD_SUBMIT_ORDER);
    cr_assert(text_equal(record.key, decoded.command.order_id));
    return decoded.command.submit_order;
}

Test(cli_schedule, triggers_a_tick_of_now)
{
    deploy(HOURLY);
    run_pause("pause");
    cr_assert_eq(RUN("trigger", schedule_trigger_run, "hourly"), EXIT_CODE_OK);
    cr_assert_eq(submissions(), 1);
    struct order_details details = submitted(0);
    cr_assert(text_equal(details.workflow, TEXT("work")));
    cr_assert_eq(memcmp(details.order_id.data, "hourly@2", 8), 0);
    expect_out("hourly@2");
}

static int backfill(const char *from, const char *to, bool dry)
{
    const struct cli_flag dry_run = {.name = "dry-run"};
    struct cli_given given[] = {{&dry_run, ""}};
    return run("backfill", schedule_backfill_run, (const char *const[]){"hourly", from, to, NULL},
               given, dry);
}

Test(cli_schedule, backfills_the_ticks_of_a_span)
{
    deploy(HOURLY);
    cr_assert_eq(backfill("2026-01-01T01:00:00Z", "2026-01-01T03:59:00Z", true), EXIT_CODE_OK);
    expect_out("hourly@2026-01-01T03:00Z");
    cr_assert_eq(submissions(), 0);
    cr_assert_eq(backfill("2026-01-01T01:00:00Z", "2026-01-01T03:59:00Z", false), EXIT_CODE_OK);
    cr_assert_eq(submissions(), 3);
    struct order_details details = submitted(2);
    cr_assert(text_equal(details.order_id, TEXT("hourly@2026-01-01T03:00Z")));
    cr_assert(text_equal(details.input, TEXT("\"2026-01-01T03:00:00Z\"")));
    cr_assert_eq(backfill("2026-01-01", "2026-01-01", false), EXIT_CODE_OK);
    cr_assert_eq(submissions(), 4); /* midnight */
}

Test(cli_schedule, refuses_spans_that_cannot_be)
{
    deploy(HOURLY);
    cr_assert_eq(backfill("yesterday", "2026-01-01", false), EXIT_CODE_USAGE);
    cr_assert_eq(backfill("2026-01-02", "2026-01-01", false), EXIT_CODE_DATA);
    expect_err("the span ends before it begins");
    cr_assert_eq(backfill("2026-01-02", "2926-01-01", false), EXIT_CODE_DATA);
    expect_err("the span ends in the future");
    cr_assert_eq(backfill("2020-01-01", "2026-01-01", false), EXIT_CODE_DATA);
    expect_err("more than 1000 ticks of schedule hourly are in the span");
    cr_assert_eq(submissions(), 0);
}

Test(cli_schedule, shows_ticks_without_a_broker)
{
    write_file("Schedule: hourly\nCron: '0 3 * * *'\nTimeZone: Europe/Berlin\n"
               "Order: {workflow: work}\n");
    cr_assert_eq(CLI_KIT_RUN(&cli_schedule, "schedule", "deploy", path, "--dry-run"), EXIT_CODE_OK);
    cli_kit_expect_text(cli_kit_out, " 03:00:00 +0");
    cli_kit_expect_text(cli_kit_out, "hourly@2");
    CLI_KIT_REFUSED(&cli_schedule, "--reason TEXT is required", "schedule", "pause", "hourly");
}
