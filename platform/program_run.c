/* SPDX-License-Identifier: Apache-2.0 */
/* See program_run.h: a loop with one program in it. */
#include "platform/program_run.h"

#include "platform/program.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 200 };

extern char **environ;

struct running {
    const struct program_run *options;
    struct program *program; /* NULL: it has ended */
    bool cancelled;
    char *output;
    size_t size;
    enum error_class class;
    struct error *error;
    char line[LINE_BYTES_MAX + 1]; /* the last one of standard error that is not empty */
};

static void on_line(void *ctx, struct text line)
{
    struct running *run = ctx;
    size_t size = line.size < LINE_BYTES_MAX ? line.size : LINE_BYTES_MAX;
    for (size_t i = 0; i < size; i++)
        run->line[i] = isprint((unsigned char)line.data[i]) ? line.data[i] : '?';
    run->line[size] = '\0';
}

static enum error_class check(const struct running *run, const struct program_result *result)
{
    const char *name = run->options->argv[0];
    const char *colon = run->line[0] != '\0' ? ": " : "";
    if (result->signal > 0)
        return error_set(run->error, CODE_FAILED, "%.80s was ended by signal %d%s%s", name,
                         result->signal, colon, run->line);
    if (result->exit_code < 0)
        return error_set(run->error, CODE_FAILED, "%.80s ended, and it is not known how%s%s", name,
                         colon, run->line);
    if (result->exit_code > 0)
        return error_set(run->error, CODE_FAILED, "%.80s ended with exit code %d%s%s", name,
                         result->exit_code, colon, run->line);
    if (result->output_cut)
        return error_set(run->error, CODE_TOO_MUCH, "%.80s printed more than %zu bytes", name,
                         run->options->output_max);
    return ERROR_OK;
}

static void on_ended(void *ctx, const struct program_result *result)
{
    struct running *run = ctx;
    run->program = NULL;
    run->class = check(run, result);
    if (run->class != ERROR_OK)
        return;
    run->size = result->output.size;
    run->output = malloc(run->size + 1);
    assert(run->output != NULL);
    memcpy(run->output, result->output.data, run->size);
    run->output[run->size] = '\0';
}

static const struct program_ops program_ops = {on_ended, on_line};

static void on_cancel(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct running *run = userdata;
    (void)loop;
    (void)fd;
    (void)events;
    run->cancelled = true;
}

static bool is_over(void *ctx)
{
    const struct running *run = ctx;
    return run->cancelled || run->program == NULL;
}

static enum error_class start(struct running *run, struct loop *loop, struct error *ret_error)
{
    const struct program_options options = {
        .argv = run->options->argv, .envp = environ, .output_max = run->options->output_max};
    enum error_class class = ERROR_OK;
    if (run->options->cancel_fd >= 0)
        class = loop_fd_add(loop, run->options->cancel_fd, LOOP_READ, on_cancel, run, ret_error);
    if (class == ERROR_OK)
        class = program_start(loop, &options, &program_ops, run, &run->program, ret_error);
    return class;
}

/* Until it ends, the time is over, or the caller cancels. */
static enum error_class wait_for_end(struct running *run, struct loop *loop)
{
    const struct program_run *options = run->options;
    loop_run_until(loop, is_over, run, options->timeout_ms);
    if (run->program == NULL)
        return run->class;
    program_free(run->program);
    if (run->cancelled)
        return error_set(run->error, CODE_CANCELLED, "%.80s was stopped", options->argv[0]);
    return error_set(run->error, CODE_TIMED_OUT,
                     "%.80s did not end within %" PRId64 " ms and was killed", options->argv[0],
                     options->timeout_ms);
}

enum error_class program_run(const struct program_run *options, char **ret_output, size_t *ret_size,
                             struct error *ret_error)
{
    struct running run = {.options = options, .error = ret_error};
    struct loop *loop = NULL;
    struct error error;
    assert(options->argv[0] != NULL && options->timeout_ms > 0);
    enum error_class class = loop_new(clock_real(), &loop, &error);
    if (class == ERROR_OK)
        class = start(&run, loop, &error);
    if (class == ERROR_OK)
        class = wait_for_end(&run, loop);
    else
        class = error_set(ret_error, CODE_NOT_STARTED, "cannot run %s", error.message);
    loop_free(loop);
    if (class != ERROR_OK)
        return class;
    *ret_size = run.size;
    *ret_output = run.output;
    return ERROR_OK;
}
