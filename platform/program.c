/* SPDX-License-Identifier: Apache-2.0 */
/* See program.h. The call ends when the program does (a pidfd), not when its output ends: a
 * grandchild may hold that open for ever. */
#include "platform/program.h"

#include "platform/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_BYTES = 16 * 1024 };

struct program {
    struct loop *loop;
    const struct program_ops *ops;
    void *ctx;
    pid_t pid;
    bool reaped; /* another process may have its number now */
    int exit_fd;
    int fds[SPAWN_FDS]; /* our ends; -1 = closed */
    char *input;
    size_t input_size, input_sent;
    char *output;
    size_t output_size, output_max;
    bool output_cut;
    char line[PROGRAM_LINE_BYTES_MAX];
    size_t line_size;
    int64_t grace_ms;
    bool stopped;
    struct loop_timer kill_timer;
};

static void close_fd(struct program *program, int *fd)
{
    if (*fd < 0)
        return;
    loop_fd_remove(program->loop, *fd);
    close(*fd);
    *fd = -1;
}

static void kill_group(const struct program *program, int signal)
{
    if (!program->reaped)
        kill(-program->pid, signal);
}

/* ---- output ---- */

static void take_output(struct program *program, const char *bytes, size_t size)
{
    size_t left = program->output_max - program->output_size;
    size_t kept = size < left ? size : left;
    assert(program->output_size <= program->output_max);
    memcpy(program->output + program->output_size, bytes, kept);
    program->output_size += kept;
    program->output_cut |= kept < size;
}

static void end_line(struct program *program)
{
    struct text line = {program->line, (uint32_t)program->line_size};
    program->line_size = 0;
    if (line.size > 0)
        program->ops->line(program->ctx, line);
}

static void take_errors(struct program *program, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            end_line(program);
        else if (program->line_size < PROGRAM_LINE_BYTES_MAX)
            program->line[program->line_size++] = bytes[i];
    }
}

/* False: nothing more now. Closes a pipe that has ended. */
static bool read_some(struct program *program, int pipe)
{
    char bytes[READ_BYTES];
    ssize_t size = read(program->fds[pipe], bytes, sizeof(bytes));
    if (size < 0 && errno == EINTR)
        return true;
    if (size < 0 && errno == EAGAIN)
        return false;
    if (size <= 0) {
        close_fd(program, &program->fds[pipe]);
        return false;
    }
    if (pipe == SPAWN_OUT)
        take_output(program, bytes, (size_t)size);
    else
        take_errors(program, bytes, (size_t)size);
    explicit_bzero(bytes, (size_t)size);
    return true;
}

/* One piece a turn: a program that writes without end must not hold up the others. */
static void on_output(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct program *program = userdata;
    (void)loop;
    (void)events;
    read_some(program, fd == program->fds[SPAWN_OUT] ? SPAWN_OUT : SPAWN_ERR);
}

static void on_input(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct program *program = userdata;
    size_t left = program->input_size - program->input_sent;
    ssize_t size = left > 0 ? write(fd, program->input + program->input_sent, left) : 0;
    (void)loop;
    (void)events;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size > 0)
        program->input_sent += (size_t)size;
    /* EPIPE: the program has closed its input. */
    if (size < 0 || program->input_sent == program->input_size)
        close_fd(program, &program->fds[SPAWN_IN]);
}

/* ---- the end ---- */

static void release(struct program *program)
{
    for (int i = 0; i < SPAWN_FDS; i++)
        close_fd(program, &program->fds[i]);
    close_fd(program, &program->exit_fd);
    loop_timer_cancel(program->loop, &program->kill_timer);
    free(program->input);
    explicit_bzero(program->output, program->output_size);
    free(program->output);
    free(program);
}

/* The rest of what it wrote: at most what pipes hold, or what is kept. */
static void read_rest(struct program *program, int pipe)
{
    size_t rounds = program->output_max / READ_BYTES + 16;
    while (program->fds[pipe] >= 0 && rounds-- > 0 && read_some(program, pipe)) {
    }
}

static void on_exit_fd(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct program *program = userdata;
    int status = 0;
    (void)loop;
    (void)fd;
    (void)events;
    /* Until waitpid no other process can have its number. */
    kill_group(program, SIGKILL);
    pid_t pid = waitpid(program->pid, &status, WNOHANG);
    if (pid == 0)
        return;
    bool known = pid == program->pid; /* else something in this process collected it already */
    program->reaped = true;
    read_rest(program, SPAWN_OUT);
    read_rest(program, SPAWN_ERR);
    end_line(program);
    struct program_result result = {
        .stopped = program->stopped,
        .exit_code = known && WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        .signal = known && WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .output = {program->output, (uint32_t)program->output_size},
        .output_cut = program->output_cut,
    };
    program->ops->ended(program->ctx, &result);
    release(program);
}

static void on_kill_timer(void *ctx)
{
    struct program *program = ctx;
    kill_group(program, SIGKILL);
}

void program_stop(struct program *program)
{
    if (program->stopped)
        return;
    program->stopped = true;
    kill_group(program, SIGTERM);
    loop_timer_after(program->loop, &program->kill_timer, program->grace_ms);
}

void program_free(struct program *program)
{
    if (program == NULL)
        return;
    kill_group(program, SIGKILL);
    while (!program->reaped && waitpid(program->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    release(program);
}

pid_t program_pid(const struct program *program)
{
    return program->pid;
}

/* ---- the start ---- */

static enum error_class not_started(const char *what, int code, struct error *ret_error)
{
    return error_set(ret_error, CODE_NOT_STARTED, "%s: %s", what, strerror(code));
}

/* Our ends do not block, neither end is inherited by others. */
static int open_pipes(int ours[SPAWN_FDS], int theirs[SPAWN_FDS])
{
    for (int i = 0; i < SPAWN_FDS; i++)
        ours[i] = theirs[i] = -1;
    for (int i = 0; i < SPAWN_FDS; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return errno;
        ours[i] = ends[i == SPAWN_IN];
        theirs[i] = ends[i != SPAWN_IN];
        if (fcntl(ours[i], F_SETFL, O_NONBLOCK) != 0)
            return errno;
    }
    return 0;
}

static void close_all(const int fds[SPAWN_FDS])
{
    for (int i = 0; i < SPAWN_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int spawn(const struct program_options *options, int ret_ours[SPAWN_FDS], pid_t *ret_pid)
{
    int theirs[SPAWN_FDS];
    if (options->log_fd > 0) {
        for (int i = 0; i < SPAWN_FDS; i++)
            ret_ours[i] = -1;
        return spawn_tied(options->path, options->argv,
                          (int[]){-1, options->log_fd, options->log_fd}, ret_pid);
    }
    int rc = open_pipes(ret_ours, theirs);
    if (rc == 0)
        rc = spawn_program(options->argv, options->envp, theirs, ret_pid);
    close_all(theirs);
    return rc;
}

static enum error_class watch(struct program *program, struct error *ret_error)
{
    static const loop_fd_callback on_fd[SPAWN_FDS] = {on_input, on_output, on_output};
    enum error_class class =
        loop_fd_add(program->loop, program->exit_fd, LOOP_READ, on_exit_fd, program, ret_error);
    for (int i = 0; i < SPAWN_FDS && class == ERROR_OK; i++)
        if (program->fds[i] >= 0)
            class =
                loop_fd_add(program->loop, program->fds[i], i == SPAWN_IN ? LOOP_WRITE : LOOP_READ,
                            on_fd[i], program, ret_error);
    return class;
}

enum error_class program_start(struct loop *loop, const struct program_options *options,
                               const struct program_ops *ops, void *ctx,
                               struct program **ret_program, struct error *ret_error)
{
    int ours[SPAWN_FDS];
    pid_t pid = 0;
    int rc = spawn(options, ours, &pid);
    if (rc != 0) {
        close_all(ours);
        return not_started(options->argv[0], rc, ret_error);
    }
    struct program *program = calloc(1, sizeof(*program));
    assert(program != NULL);
    *program = (struct program){.loop = loop,
                                .ops = ops,
                                .ctx = ctx,
                                .pid = pid,
                                .exit_fd = pidfd_open(pid, 0),
                                .input = malloc(options->input.size + 1),
                                .input_size = options->input.size,
                                .output = malloc(options->output_max + 1),
                                .output_max = options->output_max,
                                .grace_ms = options->grace_ms};
    assert(program->input != NULL && program->output != NULL);
    memcpy(program->fds, ours, sizeof(ours));
    if (options->input.size > 0)
        memcpy(program->input, options->input.data, options->input.size);
    loop_timer_init(&program->kill_timer, on_kill_timer, program);
    struct error error;
    if (program->exit_fd < 0) {
        not_started("pidfd_open", errno, &error);
    } else if (watch(program, &error) == ERROR_OK) {
        *ret_program = program;
        return ERROR_OK;
    }
    /* It may have begun: FATAL, so that the caller does not report that nothing happened. */
    program_free(program);
    return error_set(ret_error, CODE_NOT_WATCHED, "%s", error.message);
}
