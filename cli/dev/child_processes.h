/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of this binary: `reeve ARGUMENTS`, with a log file each. They end with their parent,
 * however that ends, and are stopped by pid, SIGTERM first. Loop thread only. */
#ifndef CLI_DEV_CHILD_PROCESSES_H
#define CLI_DEV_CHILD_PROCESSES_H

#include "base/error.h"
#include "platform/http/client.h"
#include "platform/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CHILD_ARGUMENTS_MAX = 96, CHILD_STOP_MS = 15000 /* then SIGKILL */ };

struct children;
struct child;

/* A child has ended; -1: by a signal. Never called for those that are being stopped. */
typedef void (*child_ended)(void *ctx, struct child *child, int exit_code);

/* New. Signals of the loop are blocked already (loop_on_signals). */
struct children *children_new(struct loop *loop, child_ended ended, void *ctx);
/* Kills the processes that still run. */
void children_free(struct children *children);

/* Starts `reeve ARGUMENTS`. `name` appears in messages; `directory` exists and holds its log and
 * its http.port. Output goes to directory/log, or, if `to_stderr`, to our stderr. */
enum error_class children_start(struct children *children, const char *name, const char *directory,
                                char *const arguments[], bool to_stderr, struct child **ret_child,
                                struct error *ret_error);
/* Starts a child again that has ended: after a second, and later each time that it has not lasted
 * ten, up to 30 s. Returns in how many seconds. */
int child_restart(struct child *child);
/* Stops it if it runs, and starts it at once with other arguments. */
void child_replace(struct child *child, char *const arguments[]);
/* Of a task that has ended. */
void children_remove(struct children *children, struct child *child);
/* SIGTERM to all; `done` when the last one has ended. */
void children_stop(struct children *children, void (*done)(void *ctx));

/* Polls /readyz of every child with an HTTP port until it is ready. `tls`: how, if they speak
 * HTTPS; NULL: they do not. */
enum error_class children_watch(struct children *children, const struct http_client_options *tls,
                                struct error *ret_error);

const char *child_name(const struct child *child);
const char *child_directory(const struct child *child);
pid_t child_pid(const struct child *child);
/* It has no HTTP port: it is ready when it has ended with exit code 0. */
void child_is_task(struct child *child);
bool child_is_a_task(const struct child *child);
bool child_is_ready(const struct child *child);
/* "http://127.0.0.1:PORT", or with https; "" while unknown. */
const char *child_url(const struct child *child);
/* The last answer of /readyz, or what else it waits for. */
const char *child_reason(const struct child *child);
bool child_runs(const struct child *child);
/* In the order of their start: NULL begins, NULL ends. */
struct child *children_next(const struct children *children, const struct child *after);
bool children_are_ready(const struct children *children);

#endif
