/* SPDX-License-Identifier: Apache-2.0 */
/* See program_run.h. The run ends when the program does (a pidfd), not when its output ends: a
 * grandchild may hold that open for ever. */
#include "platform/program_run.h"

#include "platform/clock.h"
#include "platform/spawn.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT, ERR, PIPES, READ_BYTES = 4096, LINE_BYTES_MAX = 200 };

extern char **environ;

struct process {
    const struct program *program;
    pid_t pid;
    int exit_fd;
    int fds[PIPES]; /* our ends, which do not block; -1 = closed */
    char *output;   /* program->output_max bytes and a NUL */
    size_t size;
    bool too_much;
    char line[LINE_BYTES_MAX + 1]; /* the last one of standard error that is not empty */
    size_t line_size;
    bool line_ended;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- output ---- */

static void take_output(struct process *process, const char *bytes, size_t size)
{
    size_t left = process->program->output_max - process->size;
    process->too_much = process->too_much || size > left;
    size_t kept = size < left ? size : left;
    memcpy(process->output + process->size, bytes, kept);
    process->size += kept;
}

static void take_line(struct process *process, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            process->line_ended = true;
            continue;
        }
        if (process->line_ended)
            process->line_size = 0;
        process->line_ended = false;
        if (process->line_size < LINE_BYTES_MAX)
            process->line[process->line_size++] = isprint((unsigned char)bytes[i]) ? bytes[i] : '?';
    }
    process->line[process->line_size] = '\0';
}

/* False: nothing is left for now. */
static bool read_some(struct process *process, int pipe)
{
    char bytes[READ_BYTES];
    if (process->fds[pipe] < 0)
        return false;
    ssize_t size = read(process->fds[pipe], bytes, sizeof(bytes));
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (size <= 0)
        close_fd(&process->fds[pipe]);
    else if (pipe == OUT)
        take_output(process, bytes, (size_t)size);
    else
        take_line(process, bytes, (size_t)size);
    explicit_bzero(bytes, sizeof(bytes));
    return size > 0;
}

/* ---- start ---- */

static int start(struct process *process)
{
    int theirs[PIPES] = {-1, -1};
    int rc = 0;
    for (int i = 0; i < PIPES && rc == 0; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return errno;
        process->fds[i] = ends[0];
        theirs[i] = ends[1];
        if (fcntl(process->fds[i], F_SETFL, O_NONBLOCK) != 0)
            rc = errno;
    }
    if (rc == 0)
        rc = spawn_program(process->program->argv, environ, (int[]){-1, theirs[OUT], theirs[ERR]},
                           &process->pid);
    for (int i = 0; i < PIPES; i++)
        close_fd(&theirs[i]);
    if (rc != 0)
        return rc;
    process->exit_fd = pidfd_open(process->pid, 0);
    return process->exit_fd < 0 ? errno : 0;
}

/* ---- the run ---- */

enum ending { ENDED, TIMED_OUT, CANCELLED };

/* Reads until the program ends, the time is over, or the caller cancels. */
static enum ending wait_for_end(struct process *process)
{
    const struct clock *clock = clock_real();
    int64_t deadline = clock_mono_ms(clock) + process->program->timeout_ms;
    for (;;) {
        int64_t left = deadline - clock_mono_ms(clock);
        if (left <= 0)
            return TIMED_OUT;
        struct pollfd fds[] = {{process->exit_fd, POLLIN, 0},
                               {process->program->cancel_fd, POLLIN, 0},
                               {process->fds[OUT], POLLIN, 0},
                               {process->fds[ERR], POLLIN, 0}};
        if (poll(fds, sizeof(fds) / sizeof(fds[0]), left < INT32_MAX ? (int)left : INT32_MAX) < 0)
            continue;
        if (fds[1].revents != 0)
            return CANCELLED;
        if (fds[2].revents != 0)
            read_some(process, OUT);
        if (fds[3].revents != 0)
            read_some(process, ERR);
        if (fds[0].revents != 0)
            return ENDED;
    }
}

/* The status, as of waitpid. */
static int end(struct process *process)
{
    int status = 0;
    /* Until waitpid no other process can have its number. */
    kill(-process->pid, SIGKILL);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) {
    }
    process->pid = 0;
    for (int pipe = OUT; pipe < PIPES; pipe++) {
        size_t rounds = (process->program->output_max + LINE_BYTES_MAX) / READ_BYTES + 16;
        while (rounds-- > 0 && read_some(process, pipe)) {
        }
    }
    return status;
}

static enum error_class check_end(const struct process *process, enum ending ending, int status,
                                  struct error *ret_error)
{
    const char *name = process->program->argv[0];
    const char *colon = process->line_size > 0 ? ": " : "";
    if (ending == CANCELLED)
        return error_set(ret_error, CODE_CANCELLED, "%.80s was stopped", name);
    if (ending == TIMED_OUT)
        return error_set(ret_error, CODE_TIMED_OUT,
                         "%.80s did not end within %" PRId64 " ms and was killed", name,
                         process->program->timeout_ms);
    if (WIFSIGNALED(status))
        return error_set(ret_error, CODE_FAILED, "%.80s was ended by signal %d%s%s", name,
                         WTERMSIG(status), colon, process->line);
    if (WEXITSTATUS(status) != 0)
        return error_set(ret_error, CODE_FAILED, "%.80s ended with exit code %d%s%s", name,
                         WEXITSTATUS(status), colon, process->line);
    if (process->too_much)
        return error_set(ret_error, CODE_TOO_MUCH, "%.80s printed more than %zu bytes", name,
                         process->program->output_max);
    return ERROR_OK;
}

enum error_class program_run(const struct program *program, char **ret_output, size_t *ret_size,
                             struct error *ret_error)
{
    struct process process = {.program = program, .exit_fd = -1, .fds = {-1, -1}};
    enum error_class class = ERROR_RETRY;
    assert(program->argv[0] != NULL && program->timeout_ms > 0);
    process.output = calloc(1, program->output_max + 1);
    assert(process.output != NULL);
    int rc = start(&process);
    if (rc == 0) {
        enum ending ending = wait_for_end(&process);
        class = check_end(&process, ending, end(&process), ret_error);
    } else {
        if (process.pid > 0)
            end(&process);
        error_set(ret_error, CODE_NOT_STARTED, "cannot run %.80s: %s", program->argv[0],
                  strerror(rc));
    }
    for (int i = 0; i < PIPES; i++)
        close_fd(&process.fds[i]);
    close_fd(&process.exit_fd);
    if (class != ERROR_OK) {
        explicit_bzero(process.output, process.size);
        free(process.output);
        return class;
    }
    *ret_size = process.size;
    *ret_output = process.output;
    return ERROR_OK;
}
