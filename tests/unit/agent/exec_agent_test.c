/* SPDX-License-Identifier: Apache-2.0 */
/* The exec agent: environment and input of programs, the meaning of their exit codes, and that no
 * process or descriptor stays behind. Programs are lines of sh. */
#include "platform/logger.h"
#include "platform/program.h"
#include "replica/settings.h"
#include "services/agent/kinds/kinds.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- programs by themselves ---- */

struct run {
    struct loop *loop;
    bool ended;
    struct program_result result;
    char output[4096];
    char lines[4096];
};

static void on_ended(void *ctx, const struct program_result *result)
{
    struct run *run = ctx;
    run->ended = true;
    run->result = *result;
    snprintf(run->output, sizeof(run->output), "%.*s", TEXT_ARG(result->output));
}

static void on_line(void *ctx, struct text line)
{
    struct run *run = ctx;
    size_t size = strlen(run->lines);
    snprintf(run->lines + size, sizeof(run->lines) - size, "%.*s|", TEXT_ARG(line));
}

static const struct program_ops program_ops = {on_ended, on_line};

static struct run *run_new(void)
{
    static struct run run;
    struct error error;
    cr_assert(loop_new(clock_real(), &run.loop, &error) == ERROR_OK);
    signal(SIGPIPE, SIG_IGN);
    return &run;
}

static struct program *start(struct run *run, const char *script, struct text input)
{
    char shell[] = "/bin/sh", flag[] = "-c", name[] = "A=1";
    char *argv[] = {shell, flag, (char *)(uintptr_t)script, NULL};
    char *envp[] = {name, NULL};
    struct program_options options = {
        .argv = argv, .envp = envp, .input = input, .output_max = 1000, .grace_ms = 50};
    struct program *program;
    struct error error;
    cr_assert(program_start(run->loop, &options, &program_ops, run, &program, &error) == ERROR_OK,
              "%s", error.message);
    return program;
}

static bool has_ended(void *ctx)
{
    return ((struct run *)ctx)->ended;
}

static void finish(struct run *run)
{
    cr_assert(loop_run_until(run->loop, has_ended, run, 120000));
    cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no zombie");
}

static int count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    cr_assert_not_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

Test(exec_agent, passes_input_output_errors_and_exit_code)
{
    struct run *run = run_new();
    int before = count_fds();
    start(run, "cat; echo one >&2; printf two >&2; echo $A; exit 7", TEXT("hello "));
    finish(run);
    cr_assert_eq(run->result.exit_code, 7);
    cr_assert_str_eq(run->output, "hello 1\n");
    cr_assert_str_eq(run->lines, "one|two|");
    cr_assert_eq(count_fds(), before, "no descriptor is left");
    loop_free(run->loop);
}

Test(exec_agent, handles_large_output_and_unread_large_input)
{
    static char input[1 << 20];
    struct run *run = run_new();
    memset(input, 'x', sizeof(input));
    start(run, "exec 0<&-; head -c 300000 /dev/zero | tr '\\0' y; exit 0",
          (struct text){input, sizeof(input)});
    finish(run);
    cr_assert_eq(run->result.exit_code, 0);
    cr_assert(run->result.output_cut);
    cr_assert_eq(strlen(run->output), 1000);
    loop_free(run->loop);
}

Test(exec_agent, inherits_nothing_but_its_three_descriptors)
{
    struct run *run = run_new();
    int leak = dup(1);                                             /* not close-on-exec */
    start(run, "ls /proc/self/fd | grep -vc '^[0-3]$'", TEXT("")); /* 3: ls reads the folder */
    finish(run);
    cr_assert_str_eq(run->output, "0\n");
    close(leak);
    loop_free(run->loop);
}

Test(exec_agent, stops_a_program_by_sigterm_and_then_by_sigkill)
{
    struct run *run = run_new();
    program_stop(start(run, "trap 'echo bye; exit 3' TERM; echo up >&2; while :; do sleep 1; done",
                       TEXT("")));
    finish(run);
    cr_assert(run->result.stopped);
    run->ended = false;
    struct program *program =
        start(run, "trap '' TERM; echo deaf >&2; while :; do sleep 1; done", TEXT(""));
    while (strstr(run->lines, "deaf") == NULL)
        loop_once(run->loop, 1000);
    program_stop(program);
    finish(run);
    cr_assert_eq(run->result.signal, SIGKILL);
    loop_free(run->loop);
}

Test(exec_agent, kills_processes_that_a_program_left_running)
{
    struct run *run = run_new();
    start(run, "sleep 1000 & echo $!", TEXT(""));
    finish(run);
    pid_t pid = (pid_t)strtol(run->output, NULL, 10);
    cr_assert_gt(pid, 1);
    /* It is init's program now, and gone or a zombie of init's. */
    for (int i = 0; i < 100000 && kill(pid, 0) == 0; i++)
        loop_once(run->loop, 1);
    char path[64], state[64] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        cr_assert(fgets(state, sizeof(state), file) != NULL);
        fclose(file);
        cr_assert_not_null(strstr(state, ") Z"), "%s", state);
    }
    loop_free(run->loop);
}

/* With SIGCHLD ignored, the kernel drops the exit code before it can be read. */
Test(exec_agent, reports_unknown_when_the_exit_code_is_lost)
{
    struct run *run = run_new();
    signal(SIGCHLD, SIG_IGN);
    start(run, "cat; exit 0", TEXT("done")); /* it ends when the loop has written */
    finish(run);
    cr_assert_eq(run->result.exit_code, -1);
    cr_assert_eq(run->result.signal, 0);
    cr_assert_str_eq(run->output, "done");
    signal(SIGCHLD, SIG_DFL);
    run->ended = false;
    start(run, "exit 3", TEXT(""));
    finish(run);
    cr_assert_eq(run->result.exit_code, 3);
    loop_free(run->loop);
}

Test(exec_agent, reports_programs_that_cannot_start)
{
    struct run *run = run_new();
    char name[] = "/no/such/program";
    char *argv[] = {name, NULL}, *envp[] = {NULL};
    struct program_options options = {.argv = argv, .envp = envp, .output_max = 10};
    struct program *program;
    struct error error;
    int before = count_fds();
    cr_assert(program_start(run->loop, &options, &program_ops, run, &program, &error) ==
              ERROR_RETRY);
    cr_assert_eq(count_fds(), before);
    loop_free(run->loop);
}

/* ---- as an agent ---- */

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
               "done/Pay/do/1 ok {\"key\":\"done/Pay/do/0\",\"in\":\"{order_id:done"),
        "%s", world_reports(world));
    cr_assert_not_null(strstr(world_reports(world), "refused/Pay/undo/1 Card.Declined none\n"));
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
