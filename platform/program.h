/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs inside the loop: input on stdin, output from stdout, lines from stderr.
 *
 * It has a process group of its own, which ends with it: processes that it left running are killed
 * when it exits. It inherits only these three descriptors, no signal mask and no handlers. */
#ifndef PLATFORM_PROGRAM_H
#define PLATFORM_PROGRAM_H

#include "base/error.h"
#include "base/text.h"
#include "platform/loop.h"

#include <sys/types.h>

struct exec_child;

enum {
    EXEC_LINE_BYTES_MAX = 500,
    EXEC_ENV_VALUE_MAX = 4095 /* of a variable that programs inherit */
};

struct exec_result {
    bool stopped;  /* exec_child_stop() was called while it ran */
    int exit_code; /* -1: ended by a signal, or it is not known how */
    int signal;    /* that one; else 0 */
    struct text output;
    bool output_cut; /* it wrote more; .output has what was kept */
};

struct exec_child_ops {
    /* The program has ended; the child is freed when this returns. Borrowed. */
    void (*ended)(void *ctx, const struct exec_result *result);
    /* A line of stderr, without its end, cut at EXEC_LINE_BYTES_MAX. */
    void (*line)(void *ctx, struct text line);
};

struct exec_child_options {
    char *const *argv; /* argv[0] without a '/' is searched for in PATH */
    char *const *envp; /* all of its environment */
    struct text input; /* copied */
    size_t output_max; /* bytes kept */
    int64_t grace_ms;  /* from SIGTERM to SIGKILL */
};

/* New. Never calls back from here. RETRY "NotStarted": there is no such program, or no more
 * processes are allowed; nothing ran. */
enum error_class exec_child_start(struct loop *loop, const struct exec_child_options *options,
                                  const struct exec_child_ops *ops, void *ctx,
                                  struct exec_child **ret_child, struct error *ret_error);
/* SIGTERM to its group, SIGKILL after grace_ms. Idempotent. */
void exec_child_stop(struct exec_child *child);
/* SIGKILL, waits for its end, frees; no callback. NULL does nothing. */
void exec_child_free(struct exec_child *child);
pid_t exec_child_pid(const struct exec_child *child);

#endif
