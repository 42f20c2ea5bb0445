/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/clock.h"
#include "platform/program_run.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TIMEOUT_MS = 20000, OUTPUT_MAX = 64 };

static enum error_class run(char *const argv[], int64_t timeout_ms, int cancel_fd,
                            char ret_output[OUTPUT_MAX + 1], struct error *ret_error)
{
    const struct program_run options = {
        .argv = argv, .timeout_ms = timeout_ms, .output_max = OUTPUT_MAX, .cancel_fd = cancel_fd};
    char *output = NULL;
    size_t size = 0;
    ret_output[0] = '\0';
    enum error_class class = program_run(&options, &output, &size, ret_error);
    if (class == ERROR_OK) {
        cr_assert_eq(strlen(output), size);
        strncpy(ret_output, output, OUTPUT_MAX);
    }
    free(output);
    return class;
}

static void assert_fails(char *const argv[], int64_t timeout_ms, const char *message)
{
    char output[OUTPUT_MAX + 1];
    struct error error;
    cr_assert_eq(run(argv, timeout_ms, -1, output, &error), ERROR_RETRY);
    cr_assert_str_eq(error.message, message);
}

Test(program_run, takes_the_output_and_asks_no_shell)
{
    char output[OUTPUT_MAX + 1];
    struct error error;
    char *argv[] = {"echo", "$HOME;", "ls", NULL};
    cr_assert_eq(run(argv, TIMEOUT_MS, -1, output, &error), ERROR_OK);
    cr_assert_str_eq(output, "$HOME; ls\n");
}

Test(program_run, reports_the_exit_code_and_the_last_line_of_standard_error)
{
    char *fails[] = {"sh", "-c", "echo secret; echo one >&2; printf 'tw\\001\\n\\n' >&2; exit 3",
                     NULL};
    assert_fails(fails, TIMEOUT_MS, "sh ended with exit code 3: tw?");
    char *dies[] = {"sh", "-c", "kill -9 $$", NULL};
    assert_fails(dies, TIMEOUT_MS, "sh was ended by signal 9");
    char *missing[] = {"/no/such/program", NULL};
    assert_fails(missing, TIMEOUT_MS, "cannot run /no/such/program: No such file or directory");
    char *talks[] = {"sh", "-c", "printf '%065d' 1", NULL};
    assert_fails(talks, TIMEOUT_MS, "sh printed more than 64 bytes");
}

Test(program_run, kills_a_program_that_does_not_end)
{
    char *argv[] = {"sh", "-c", "sleep 100 & sleep 100", NULL};
    assert_fails(argv, 50, "sh did not end within 50 ms and was killed");
}

Test(program_run, does_not_wait_for_what_the_program_leaves_behind)
{
    char output[OUTPUT_MAX + 1];
    struct error error;
    char *argv[] = {"sh", "-c", "sleep 100 & echo done", NULL};
    int64_t began = clock_mono_ms(clock_real());
    cr_assert_eq(run(argv, 60000, -1, output, &error), ERROR_OK);
    cr_assert_str_eq(output, "done\n");
    cr_assert_lt(clock_mono_ms(clock_real()) - began, 50000);
}

Test(program_run, ends_when_it_is_cancelled)
{
    char output[OUTPUT_MAX + 1];
    struct error error;
    char *argv[] = {"sleep", "100", NULL};
    int cancel = eventfd(1, EFD_CLOEXEC);
    cr_assert_eq(run(argv, 60000, cancel, output, &error), ERROR_RETRY);
    cr_assert_str_eq(error.message, "sleep was stopped");
    close(cancel);
}
