/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in a loop: their input and output, their end, and that no process or descriptor stays
 * behind. Programs are lines of sh. */
#include "platform/program.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
    struct loop *loop;
    bool ended;
    struct program_result result;
    char output[4096];
    char lines[4096];
    const struct program *program;
    pid_t pid; /* as of the last line */
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
    run->pid = program_pid(run->program);
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
    run->program = program;
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

Test(program, passes_input_output_errors_and_exit_code)
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

Test(program, names_the_process_until_its_last_line)
{
    struct run *run = run_new();
    pid_t pid = program_pid(start(run, "printf 'without an end' >&2", TEXT("")));
    cr_assert_gt(pid, 0);
    finish(run);
    cr_assert_str_eq(run->lines, "without an end|");
    cr_assert_eq(run->pid, pid, "the line ended after the process did");
    loop_free(run->loop);
}

Test(program, handles_large_output_and_unread_large_input)
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

Test(program, inherits_nothing_but_its_three_descriptors)
{
    struct run *run = run_new();
    int leak = dup(1);                                             /* not close-on-exec */
    start(run, "ls /proc/self/fd | grep -vc '^[0-3]$'", TEXT("")); /* 3: ls reads the folder */
    finish(run);
    cr_assert_str_eq(run->output, "0\n");
    close(leak);
    loop_free(run->loop);
}

Test(program, stops_a_program_by_sigterm_and_then_by_sigkill)
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

Test(program, kills_processes_that_a_program_left_running)
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
Test(program, reports_unknown_when_the_exit_code_is_lost)
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

Test(program, runs_this_program_again_with_its_output_in_a_log)
{
    char name[] = "again", version[] = "--version", text[256] = "";
    char *argv[] = {name, version, NULL};
    struct run *run = run_new();
    struct program *program;
    struct error error;
    FILE *log = tmpfile();
    cr_assert_not_null(log);
    unsetenv("BXFI_MAP"); /* with it, Criterion would run this test again */
    struct program_options options = {.argv = argv, .grace_ms = 50, .log_fd = fileno(log)};
    int before = count_fds();
    cr_assert(program_start(run->loop, &options, &program_ops, run, &program, &error) == ERROR_OK,
              "%s", error.message);
    cr_assert_eq(getpgid(program_pid(program)), program_pid(program), "a group of its own");
    finish(run);
    cr_assert_eq(run->result.exit_code, 0);
    cr_assert_eq(count_fds(), before, "no descriptor is left");
    rewind(log);
    cr_assert_gt(fread(text, 1, sizeof(text) - 1, log), 0);
    cr_assert_not_null(strstr(text, "Criterion"), "%s", text);
    fclose(log);
    loop_free(run->loop);
}

Test(program, runs_another_program_with_its_output_in_a_log)
{
    char name[] = "sh", flag[] = "-c", script[] = "echo out; echo err >&2; cat; exit 3";
    char *argv[] = {name, flag, script, NULL};
    char text[64] = "";
    struct run *run = run_new();
    struct program *program;
    struct error error;
    FILE *log = tmpfile();
    cr_assert_not_null(log);
    struct program_options options = {
        .argv = argv, .grace_ms = 50, .log_fd = fileno(log), .path = "/bin/sh"};
    cr_assert(program_start(run->loop, &options, &program_ops, run, &program, &error) == ERROR_OK,
              "%s", error.message);
    finish(run);
    cr_assert_eq(run->result.exit_code, 3, "cat has no input");
    rewind(log);
    cr_assert_gt(fread(text, 1, sizeof(text) - 1, log), 0);
    cr_assert_str_eq(text, "out\nerr\n");
    fclose(log);
    loop_free(run->loop);
}

Test(program, reports_programs_that_cannot_start)
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
