/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever ends a random case prints the seed that repeats it. The case runs in a program of its
 * own, seed_case.c: a child of fork() alone would have the memory of Criterion's other threads
 * without the threads, and LeakSanitizer reports leaks there that are not leaks. */
#include <criterion/criterion.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* It is built where this test is. */
static void path_of_case(char ret_path[PATH_MAX])
{
    static const char name[] = "seed-case";
    ssize_t size = readlink("/proc/self/exe", ret_path, PATH_MAX - sizeof(name));
    cr_assert_gt(size, 0);
    ret_path[size] = '\0';
    char *slash = strrchr(ret_path, '/');
    cr_assert_not_null(slash);
    memcpy(slash + 1, name, sizeof(name));
}

/* What it prints when its case ends so; *ret_status as from waitpid(). */
static void run_case(char *end, char *ret_output, size_t size, int *ret_status)
{
    char path[PATH_MAX];
    int fds[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    size_t got = 0;
    ssize_t more = 1;
    path_of_case(path);
    char *argv[] = {path, end, NULL};
    cr_assert_eq(pipe(fds), 0);
    cr_assert_eq(posix_spawn_file_actions_init(&actions), 0);
    cr_assert_eq(posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO), 0);
    cr_assert_eq(posix_spawn_file_actions_addclose(&actions, fds[0]), 0);
    cr_assert_eq(posix_spawn(&child, path, &actions, NULL, argv, environ), 0, "no %s", path);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    while (got + 1 < size && (more = read(fds[0], ret_output + got, size - 1 - got)) > 0)
        got += (size_t)more;
    ret_output[got] = '\0';
    close(fds[0]);
    cr_assert_eq(waitpid(child, ret_status, 0), child);
}

static void expect_output(char *end, const char *expected)
{
    char output[400];
    int status;
    run_case(end, output, sizeof(output), &status);
    cr_assert(!WIFEXITED(status) || WEXITSTATUS(status) != 2, "the case did not end so");
    const char *found = strstr(output, "failed: ");
    cr_assert_str_eq(found != NULL ? found : "", expected, "%s", output);
}

#define LINE "failed: REEVE_SEED=42 REEVE_PROPERTY_CASES=1\n"

Test(seed, is_printed_when_the_product_aborts)
{
    expect_output("abort", LINE);
}

Test(seed, is_printed_when_an_assertion_of_the_test_fails)
{
    expect_output("fail", LINE);
}

Test(seed, is_printed_when_the_case_never_ends)
{
    expect_output("never", LINE);
}

Test(seed, is_not_printed_when_the_cases_pass)
{
    expect_output("pass", "");
}
