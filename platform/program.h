/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs inside the loop: input on stdin, output from stdout, lines from stderr; or
 * one that writes to a log and ends with this process.
 *
 * It has a process group of its own, which ends with it: processes that it left running are killed
 * when it exits. It inherits only these three descriptors, no signal mask and no handlers. Its
 * output may be secret: no copy of it stays in memory. */
#ifndef PLATFORM_PROGRAM_H
#define PLATFORM_PROGRAM_H

#include "base/error.h"
#include "base/text.h"
#include "platform/loop.h"

#include <sys/types.h>

struct program;

enum { PROGRAM_LINE_BYTES_MAX = 500 };

struct program_result {
    bool stopped;  /* program_stop() was called while it ran */
    int exit_code; /* -1: ended by a signal, or it is not known how */
    int signal;    /* that one; else 0 */
    struct text output;
    bool output_cut; /* it wrote more; .output has what was kept */
};

struct program_ops {
    /* It has ended, and is freed when this returns. Borrowed. */
    void (*ended)(void *ctx, const struct program_result *result);
    /* A line of stderr, without its end, cut at PROGRAM_LINE_BYTES_MAX. */
    void (*line)(void *ctx, struct text line);
};

struct program_options {
    char *const *argv; /* argv[0] without a '/' is searched for in PATH */
    char *const *envp; /* all of its environment */
    struct text input; /* copied */
    size_t output_max; /* bytes kept */
    int64_t grace_ms;  /* from SIGTERM to SIGKILL */
    /* > 0: the program is killed when this process ends, however that ends. It has this environment
     * and no input, and what it prints goes there. Borrowed. */
    int log_fd;
    const char *path; /* with log_fd: its file; NULL: this very program */
};

/* New. Never calls back from here. RETRY "NotStarted": there is no such program, or no more
 * processes are allowed; nothing ran. */
enum error_class program_start(struct loop *loop, const struct program_options *options,
                               const struct program_ops *ops, void *ctx,
                               struct program **ret_program, struct error *ret_error);
/* SIGTERM to its group, SIGKILL after grace_ms. Idempotent. */
void program_stop(struct program *program);
/* SIGKILL, waits for its end, frees; no callback. NULL does nothing. */
void program_free(struct program *program);
/* Also after its end, while its last lines come. */
pid_t program_pid(const struct program *program);

#endif
