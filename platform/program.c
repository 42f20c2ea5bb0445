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

struct exec_child {
    struct loop *loop;
    const struct exec_child_ops *ops;
    void *ctx;
    pid_t pid;
    int exit_fd;
    int fds[SPAWN_FDS]; /* our ends; -1 = closed */
    char *input;
    size_t input_size, input_sent;
    char *output;
    size_t output_size, output_max;
    bool output_cut;
    char line[EXEC_LINE_BYTES_MAX];
    size_t line_size;
    int64_t grace_ms;
    bool stopped;
    struct loop_timer kill_timer;
};

static void close_fd(struct exec_child *child, int *fd)
{
    if (*fd < 0)
        return;
    loop_fd_remove(child->loop, *fd);
    close(*fd);
    *fd = -1;
}

static void kill_group(const struct exec_child *child, int signal)
{
    if (child->pid > 0)
        kill(-child->pid, signal);
}

/* ---- output ---- */

static void take_output(struct exec_child *child, const char *bytes, size_t size)
{
    size_t left = child->output_max - child->output_size;
    size_t kept = size < left ? size : left;
    assert(child->output_size <= child->output_max);
    if (kept > 0) {
        child->output = realloc(child->output, child->output_size + kept);
        assert(child->output != NULL);
        memcpy(child->output + child->output_size, bytes, kept);
        child->output_size += kept;
    }
    child->output_cut |= kept < size;
}

static void end_line(struct exec_child *child)
{
    struct text line = {child->line, (uint32_t)child->line_size};
    child->line_size = 0;
    if (line.size > 0)
        child->ops->line(child->ctx, line);
}

static void take_errors(struct exec_child *child, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n')
            end_line(child);
        else if (child->line_size < EXEC_LINE_BYTES_MAX)
            child->line[child->line_size++] = bytes[i];
    }
}

/* False: nothing more now. Closes a pipe that has ended. */
static bool read_some(struct exec_child *child, int pipe)
{
    char bytes[READ_BYTES];
    ssize_t size = read(child->fds[pipe], bytes, sizeof(bytes));
    if (size < 0 && errno == EINTR)
        return true;
    if (size < 0 && errno == EAGAIN)
        return false;
    if (size <= 0) {
        close_fd(child, &child->fds[pipe]);
        return false;
    }
    if (pipe == SPAWN_OUT)
        take_output(child, bytes, (size_t)size);
    else
        take_errors(child, bytes, (size_t)size);
    return true;
}

/* One piece a turn: a program that writes without end must not hold up the others. */
static void on_output(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct exec_child *child = userdata;
    (void)loop;
    (void)events;
    read_some(child, fd == child->fds[SPAWN_OUT] ? SPAWN_OUT : SPAWN_ERR);
}

static void on_input(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct exec_child *child = userdata;
    size_t left = child->input_size - child->input_sent;
    ssize_t size = left > 0 ? write(fd, child->input + child->input_sent, left) : 0;
    (void)loop;
    (void)events;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size > 0)
        child->input_sent += (size_t)size;
    /* EPIPE: the program has closed its input. */
    if (size < 0 || child->input_sent == child->input_size)
        close_fd(child, &child->fds[SPAWN_IN]);
}

/* ---- the end ---- */

static void release(struct exec_child *child)
{
    for (int i = 0; i < SPAWN_FDS; i++)
        close_fd(child, &child->fds[i]);
    close_fd(child, &child->exit_fd);
    loop_timer_cancel(child->loop, &child->kill_timer);
    free(child->input);
    free(child->output);
    free(child);
}

/* The rest of what it wrote: at most what pipes hold, or what is kept. */
static void read_rest(struct exec_child *child, int pipe)
{
    size_t rounds = child->output_max / READ_BYTES + 16;
    while (child->fds[pipe] >= 0 && rounds-- > 0 && read_some(child, pipe)) {
    }
}

static void on_exit_fd(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct exec_child *child = userdata;
    int status = 0;
    (void)loop;
    (void)fd;
    (void)events;
    /* Until waitpid no other process can have its number. */
    kill_group(child, SIGKILL);
    pid_t pid = waitpid(child->pid, &status, WNOHANG);
    if (pid == 0)
        return;
    bool known = pid == child->pid; /* else something in this process collected it already */
    child->pid = 0;
    read_rest(child, SPAWN_OUT);
    read_rest(child, SPAWN_ERR);
    end_line(child);
    struct exec_result result = {
        .stopped = child->stopped,
        .exit_code = known && WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        .signal = known && WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .output = {child->output != NULL ? child->output : "", (uint32_t)child->output_size},
        .output_cut = child->output_cut,
    };
    child->ops->ended(child->ctx, &result);
    release(child);
}

static void on_kill_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct exec_child *child = userdata;
    (void)loop;
    (void)timer;
    kill_group(child, SIGKILL);
}

void exec_child_stop(struct exec_child *child)
{
    if (child->stopped)
        return;
    child->stopped = true;
    kill_group(child, SIGTERM);
    loop_timer_after(child->loop, &child->kill_timer, child->grace_ms);
}

void exec_child_free(struct exec_child *child)
{
    if (child == NULL)
        return;
    kill_group(child, SIGKILL);
    while (child->pid > 0 && waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    release(child);
}

pid_t exec_child_pid(const struct exec_child *child)
{
    return child->pid;
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

static enum error_class watch(struct exec_child *child, struct error *ret_error)
{
    enum error_class class =
        loop_fd_add(child->loop, child->exit_fd, LOOP_READ, on_exit_fd, child, ret_error);
    if (class == ERROR_OK)
        class =
            loop_fd_add(child->loop, child->fds[SPAWN_IN], LOOP_WRITE, on_input, child, ret_error);
    for (int i = SPAWN_OUT; i <= SPAWN_ERR && class == ERROR_OK; i++)
        class = loop_fd_add(child->loop, child->fds[i], LOOP_READ, on_output, child, ret_error);
    return class;
}

enum error_class exec_child_start(struct loop *loop, const struct exec_child_options *options,
                                  const struct exec_child_ops *ops, void *ctx,
                                  struct exec_child **ret_child, struct error *ret_error)
{
    int ours[SPAWN_FDS], theirs[SPAWN_FDS];
    pid_t pid = 0;
    int rc = open_pipes(ours, theirs);
    if (rc == 0)
        rc = spawn_program(options->argv, options->envp, theirs, &pid);
    close_all(theirs);
    if (rc != 0) {
        close_all(ours);
        return not_started(options->argv[0], rc, ret_error);
    }
    struct exec_child *child = calloc(1, sizeof(*child));
    assert(child != NULL);
    *child = (struct exec_child){.loop = loop,
                                 .ops = ops,
                                 .ctx = ctx,
                                 .pid = pid,
                                 .exit_fd = pidfd_open(pid, 0),
                                 .input = malloc(options->input.size + 1),
                                 .input_size = options->input.size,
                                 .output_max = options->output_max,
                                 .grace_ms = options->grace_ms};
    assert(child->input != NULL);
    memcpy(child->fds, ours, sizeof(ours));
    if (options->input.size > 0)
        memcpy(child->input, options->input.data, options->input.size);
    loop_timer_init(&child->kill_timer, on_kill_timer, child);
    struct error error;
    if (child->exit_fd < 0) {
        not_started("pidfd_open", errno, &error);
    } else if (watch(child, &error) == ERROR_OK) {
        *ret_child = child;
        return ERROR_OK;
    }
    /* It may have begun: FATAL, so that the caller does not report that nothing happened. */
    exec_child_free(child);
    return error_set(ret_error, CODE_NOT_WATCHED, "%s", error.message);
}
