/* SPDX-License-Identifier: Apache-2.0 */
/* The exec agent: environment and input of programs, and the meaning of their exit codes. Programs
 * are lines of sh. */
#include "platform/logger.h"
#include "replica/service/settings.h"
#include "services/agent/kinds/kinds.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A world whose instances run `command`, in which time goes on by itself. */
static struct world *world_running(const char *command, const char *const more[2])
{
    const char *const settings[] = {"agent.exec.command",
                                    command,
                                    "agent.name",
                                    "pay",
                                    "agent.exec.grace.ms",
                                    "50",
                                    "agent.retry.backoff.ms",
                                    "1",
                                    more != NULL ? more[0] : NULL,
                                    more != NULL ? more[1] : NULL,
                                    NULL};
    struct world *world = world_new(1);
    signal(SIGPIPE, SIG_IGN);
    world->ops = &exec_agent_ops;
    world_add(world, settings);
    world_rebalance(world);
    return world;
}

static void wait_reports(struct world *world, uint32_t lines)
{
    for (int turns = 0; turns < 100000; turns++) {
        uint32_t found = 0;
        for (const char *at = world_reports(world); *at != '\0'; at++)
            found += *at == '\n';
        if (found >= lines)
            return;
        broker_memory_settle(world->kafka, 100000);
        loop_once(world->loop, 5);
    }
    cr_assert_fail("there are only these:\n%s", world_reports(world));
}

static const char *script(const char *text)
{
    static char path[256];
    static int number;
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/exec-%d-%d.sh", tmp != NULL ? tmp : "/tmp", (int)getpid(),
             number++);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    fclose(file);
    static char command[300];
    snprintf(command, sizeof(command), "/bin/sh %s", path);
    return command;
}

enum { SOON = 1000000 + 60000 };

Test(exec_agent, maps_exit_codes_to_outcomes)
{
    struct world *world = world_running(
        script("case $REEVE_ORDER_ID in\n"
               "done) echo \"{\\\"key\\\":\\\"$REEVE_IDEMPOTENCY_KEY\\\","
               "\\\"in\\\":\\\"$(tr -d '\\n' | cut -c1-18 | tr -d '\\\"')\\\"}\" ;;\n"
               "refused) echo '{\"error\":\"Card.Declined\",\"message\":\"no\"}'; exit 65 ;;\n"
               "later) [ $REEVE_TRY = 3 ] && exit 0; exit 75 ;;\n"
               "accepted) exit 79 ;;\n"
               "esac"),
        NULL);
    world_request(world, "done", DIRECTION_DO, 1, SOON);
    world_request(world, "refused", DIRECTION_UNDO, 1, SOON);
    wait_reports(world, 2);
    cr_assert_not_null(
        strstr(world_reports(world),
               "done/Pay/do/1 ok {\"in\":\"{order_id:done\",\"key\":\"done/Pay/do/0\"}"),
        "%s", world_reports(world));
    cr_assert_not_null(strstr(world_reports(world), "refused/Pay/undo/1 Card.Declined none\n"));
    world_free(world);
}

Test(exec_agent, hands_over_the_input_of_a_step_as_it_was_sent)
{
    struct world *world = world_running(script("cat"), NULL);
    world->input = TEXT("{\"amount\":100.1,\"id\":12345678901234567890}");
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    wait_reports(world, 1);
    cr_assert_not_null(
        strstr(world_reports(world), "\"input\":{\"amount\":100.1,\"id\":12345678901234567890},"),
        "%s", world_reports(world));
    world_free(world);
}

Test(exec_agent, reports_unknown_effect_when_the_exit_code_is_lost)
{
    struct world *world = world_running(script("cat >/dev/null; exit 65"), NULL);
    signal(SIGCHLD, SIG_IGN);
    world_request(world, "A", DIRECTION_DO, 1, 1000000 + 60);
    for (int i = 0; i < 100000 && world_reports(world)[0] == '\0'; i++) {
        loop_once(world->loop, 5);
        broker_memory_settle(world->kafka, 100000);
        clock_manual_advance(&world->clock, 1);
        if (clock_wall_ms(&world->clock.clock) > 1000000 + 55)
            break;
    }
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 Exec.Unknown unknown\n");
    world_free(world);
}

Test(exec_agent, passes_long_variables_whole_or_refuses_to_start)
{
    static char value[AGENT_EXEC_ENV_VALUE_MAX + 2];
    struct world *world;
    struct config *config = config_new(&settings_schema);
    struct metrics *metrics = metrics_new();
    struct service_context service = {.name = "agent", .config = config, .metrics = metrics};
    struct error error;
    void *ctx = NULL;
    memset(value, 'v', AGENT_EXEC_ENV_VALUE_MAX);
    cr_assert(setenv("LONG", value, 1) == 0);
    world = world_running(script("printf '{\"n\":%d}' ${#LONG}"),
                          (const char *const[]){"agent.exec.env", "LONG"});
    world_request(world, "A", DIRECTION_DO, 1, SOON);
    wait_reports(world, 1);
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok {\"n\":4095}\n");
    world_free(world);
    value[AGENT_EXEC_ENV_VALUE_MAX] = 'v';
    cr_assert(setenv("LONG", value, 1) == 0);
    cr_assert(config_set(config, "agent.exec.command", "/bin/true", &error) == ERROR_OK);
    cr_assert(config_set(config, "agent.exec.env", "LONG", &error) == ERROR_OK);
    cr_assert(config_finish(config, &error) == ERROR_OK);
    cr_assert(exec_agent_ops.start(&service, &ctx, &error) == ERROR_REJECT);
    cr_assert_str_eq(error.message, "agent.exec.env: LONG is 4096 bytes long; the limit is 4095");
    metrics_free(metrics);
    config_free(config);
}

Test(exec_agent, kills_a_late_program_without_a_report)
{
    struct world *world = world_running(script("trap '' TERM; while :; do sleep 1; done"), NULL);
    struct instance *instance = &world->instances[0];
    world_request(world, "A", DIRECTION_DO, 1, 1000000 + 500);
    cr_assert_eq(attempts_running(agent_attempts(instance->agent)), 1);
    clock_manual_advance(&world->clock, 500);
    for (int i = 0; i < 100000 && attempts_in_flight(agent_attempts(instance->agent)) > 0; i++) {
        loop_once(world->loop, 5);
        clock_manual_advance(&world->clock, 10);
    }
    cr_assert_eq(attempts_in_flight(agent_attempts(instance->agent)), 0);
    cr_assert_str_eq(world_reports(world), "");
    world_free(world);
}

Test(exec_agent, runs_no_more_programs_than_its_capacity)
{
    struct world *world = world_running(script("cat >/dev/null; exit 0"),
                                        (const char *const[]){"agent.in.flight.max", "2"});
    char order[16];
    for (int i = 0; i < 10; i++) {
        snprintf(order, sizeof(order), "o%d", i);
        world_request(world, order, DIRECTION_DO, 1, SOON);
        cr_assert_leq(attempts_in_flight(agent_attempts(world->instances[0].agent)), 2);
    }
    wait_reports(world, 10);
    world_free(world);
}
