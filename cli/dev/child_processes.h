/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of this binary, `reeve ARGUMENTS`, or of another program, with a log file each. They
 * end with their parent, however that ends, and are stopped by pid, SIGTERM first. Loop thread
 * only. */
#ifndef CLI_DEV_CHILD_PROCESSES_H
#define CLI_DEV_CHILD_PROCESSES_H

#include "base/error.h"
#include "platform/http/client.h"
#include "platform/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    CHILD_ARGUMENTS_MAX = 96,
    CHILD_STOP_MS = 15000, /* then SIGKILL */
    CHILD_STEADY_MS = 10000,
    CHILD_AGAIN_MS_MIN = 1000,
    CHILD_AGAIN_MS_MAX = 30000
};

struct children;
struct child;

/* A child has ended; -1: by a signal. Never called for those that are stopped or replaced. */
typedef void (*child_ended)(void *ctx, struct child *child, int exit_code);

/* New. Signals of the loop are blocked already (loop_on_signals). */
struct children *children_new(struct loop *loop, child_ended ended, void *ctx);
/* Kills the processes that still run. */
void children_free(struct children *children);

enum child_kind {
    CHILD_SERVICE, /* has an HTTP port: it is ready when /readyz answers 200 */
    CHILD_TASK,    /* is ready when it has ended with exit code 0 */
    CHILD_BROKER   /* is ready while it runs, and is stopped after all others */
};

/* All borrowed. */
struct child_options {
    const char *name;      /* appears in messages */
    const char *directory; /* exists, and holds its log, http.url and last.port */
    enum child_kind kind;
    const char *program; /* its file; NULL: reeve */
    char *const *arguments;
    bool to_stderr;  /* output goes to our stderr instead of directory/log */
    bool keeps_port; /* it listens at the port of an earlier process in its directory, if it can */
};

/* *ret_child is borrowed. */
enum error_class children_start(struct children *children, const struct child_options *options,
                                struct child **ret_child, struct error *ret_error);
/* Starts one that has ended again: after a second, or later if it has ended within
 * CHILD_STEADY_MS several times. Returns after how many milliseconds. */
int64_t child_start_again(struct child *child);
/* Ends it if it runs, and starts it with other arguments; NULL: it stays ended, and is of no
 * concern to children_are_ready(). */
void child_replace(struct child *child, char *const arguments[]);
/* SIGTERM to all, to the brokers when the others have ended; `done` when the last one has ended. */
void children_stop(struct children *children, void (*done)(void *ctx));

/* Polls /readyz of every service until it is ready. `tls`: how, if they speak HTTPS; NULL: they do
 * not. */
enum error_class children_watch(struct children *children, const struct http_client_options *tls,
                                struct error *ret_error);

const char *child_name(const struct child *child);
const char *child_directory(const struct child *child);
pid_t child_pid(const struct child *child);
enum child_kind child_kind(const struct child *child);
/* Not if it was replaced by nothing. */
bool child_is_wanted(const struct child *child);
bool child_is_running(const struct child *child);
bool child_is_ready(const struct child *child);
/* "http://127.0.0.1:PORT", or with https; "" while unknown. */
const char *child_url(const struct child *child);
/* For tests: how long to wait after the n-th end in succession, from 1, within CHILD_STEADY_MS. */
int64_t child_again_ms(int quick_ends);
/* The last answer of /readyz, or what else it waits for. */
const char *child_reason(const struct child *child);
/* In the order of their start: NULL begins, NULL ends. */
struct child *children_next(const struct children *children, const struct child *after);
bool children_are_ready(const struct children *children);

#endif
