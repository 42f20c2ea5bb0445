/* SPDX-License-Identifier: Apache-2.0 */
/* See child_processes.h. */
#include "cli/dev/child_processes.h"

#include "platform/files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

enum {
    POLL_MS = 100,
    POLL_TIMEOUT_MS = 2000,
    RESTART_MS = 1000,
    RESTART_MS_MAX = 30000,
    LASTED_MS = 10000 /* what lasts longer does not keep ending */
};

struct child {
    struct child *prev;
    struct child *next;
    struct children *children;
    char *name;
    char *directory;
    struct program *program; /* NULL: it has ended */
    pid_t pid;
    char **arguments; /* ends with NULL */
    bool to_stderr;
    bool replaced;      /* it is being stopped, to be started with other arguments */
    int64_t started_ms; /* monotonic */
    int64_t restart_ms; /* how long it waited for its last start; 0: it did not */
    struct loop_timer restart;
    bool is_task;
    bool ready;
    bool polling;
    char url[128];
    char reason[200];
};

struct children {
    struct loop *loop;
    child_ended ended;
    void *ctx;
    struct child *list;
    struct http_client *http;
    struct loop_timer poll_timer;
    void (*stopped)(void *ctx); /* not NULL: stopping */
};

static void on_poll(void *ctx);

struct children *children_new(struct loop *loop, child_ended ended, void *ctx)
{
    struct children *children = calloc(1, sizeof(*children));
    assert(children != NULL);
    *children = (struct children){.loop = loop, .ended = ended, .ctx = ctx};
    loop_timer_init(&children->poll_timer, on_poll, children);
    return children;
}

static void free_arguments(struct child *child)
{
    for (size_t i = 0; child->arguments != NULL && child->arguments[i] != NULL; i++)
        free(child->arguments[i]);
    free(child->arguments);
}

static void keep_arguments(struct child *child, char *const arguments[])
{
    size_t count = 0;
    while (arguments[count] != NULL)
        count++;
    free_arguments(child);
    child->arguments = calloc(count + 1, sizeof(*child->arguments));
    assert(child->arguments != NULL && count <= CHILD_ARGUMENTS_MAX);
    for (size_t i = 0; i < count; i++) {
        child->arguments[i] = strdup(arguments[i]);
        assert(child->arguments[i] != NULL);
    }
}

static void child_free(struct child *child)
{
    loop_timer_cancel(child->children->loop, &child->restart);
    program_free(child->program);
    free_arguments(child);
    free(child->name);
    free(child->directory);
    free(child);
}

void children_free(struct children *children)
{
    struct child *child;
    struct child *next;
    if (children == NULL)
        return;
    DL_FOREACH_SAFE(children->list, child, next)
        child_free(child);
    loop_timer_cancel(children->loop, &children->poll_timer);
    http_client_free(children->http);
    free(children);
}

/* ---- ending ---- */

static bool any_runs(const struct children *children)
{
    const struct child *child;
    DL_FOREACH(children->list, child) {
        if (child->program != NULL)
            return true;
    }
    return false;
}

static void stopped(struct children *children)
{
    void (*done)(void *ctx) = children->stopped;
    assert(done != NULL && !any_runs(children));
    done(children->ctx);
}

static void on_restart(void *ctx);

static void on_end(void *ctx, const struct program_result *result)
{
    struct child *child = ctx;
    struct children *children = child->children;
    child->program = NULL;
    child->ready = child->is_task && result->exit_code == 0;
    if (result->exit_code >= 0)
        snprintf(child->reason, sizeof(child->reason), "ended with exit code %d",
                 result->exit_code);
    else if (result->signal > 0)
        snprintf(child->reason, sizeof(child->reason), "was killed by signal %d", result->signal);
    else
        snprintf(child->reason, sizeof(child->reason), "ended, and it is not known how");
    if (children->stopped != NULL) {
        if (!any_runs(children))
            stopped(children);
    } else if (child->replaced) {
        child->replaced = false;
        on_restart(child);
    } else {
        children->ended(children->ctx, child, result->exit_code);
    }
}

static const struct program_ops program_ops = {.ended = on_end};

void children_stop(struct children *children, void (*done)(void *ctx))
{
    struct child *child;
    if (children->stopped != NULL)
        return;
    children->stopped = done;
    loop_timer_cancel(children->loop, &children->poll_timer);
    DL_FOREACH(children->list, child) {
        if (child->program != NULL)
            program_stop(child->program);
    }
    if (!any_runs(children))
        stopped(children);
}

/* ---- starting ---- */

static int open_log(const char *directory, bool to_stderr)
{
    char path[PATH_MAX];
    if (to_stderr)
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    snprintf(path, sizeof(path), "%s/log", directory);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

/* Of an earlier process: it must not be taken for the port of this one. */
static void forget_port(struct child *child)
{
    char port_file[PATH_MAX];
    snprintf(port_file, sizeof(port_file), "%s/http.port", child->directory);
    unlink(port_file);
    child->url[0] = '\0';
    child->ready = false;
}

static enum error_class start(struct child *child, struct error *ret_error)
{
    struct error error;
    char *argv[CHILD_ARGUMENTS_MAX + 2] = {(char[]){"reeve"}};
    for (size_t i = 0; child->arguments[i] != NULL; i++)
        argv[i + 1] = child->arguments[i];
    forget_port(child);
    int log = open_log(child->directory, child->to_stderr);
    if (log < 0)
        return error_set(ret_error, CODE_NO_LOG, "cannot open the log of %s in %s: %s", child->name,
                         child->directory, strerror(errno));
    /* In a process group of its own: Ctrl-C is for the parent, which stops all of them. */
    const struct program_options options = {
        .argv = argv, .grace_ms = CHILD_STOP_MS, .self_log_fd = log};
    enum error_class class = program_start(child->children->loop, &options, &program_ops, child,
                                           &child->program, &error);
    close(log);
    if (class != ERROR_OK)
        return error_set(ret_error, CODE_NO_PROCESS, "cannot start %s: %s", child->name,
                         error.message);
    child->pid = program_pid(child->program);
    child->started_ms = loop_now_ms(child->children->loop);
    return ERROR_OK;
}

static void on_restart(void *ctx)
{
    struct child *child = ctx;
    struct error error = {0};
    if (child->children->stopped == NULL && start(child, &error) != ERROR_OK) {
        snprintf(child->reason, sizeof(child->reason), "%.190s", error.message);
        loop_timer_after(child->children->loop, &child->restart, RESTART_MS_MAX);
    }
}

int child_restart(struct child *child)
{
    struct loop *loop = child->children->loop;
    bool lasted = loop_now_ms(loop) - child->started_ms >= LASTED_MS;
    assert(child->program == NULL);
    child->restart_ms = lasted || child->restart_ms == 0 ? RESTART_MS : 2 * child->restart_ms;
    if (child->restart_ms > RESTART_MS_MAX)
        child->restart_ms = RESTART_MS_MAX;
    loop_timer_after(loop, &child->restart, child->restart_ms);
    return (int)(child->restart_ms / 1000);
}

void child_replace(struct child *child, char *const arguments[])
{
    keep_arguments(child, arguments);
    if (child->program == NULL) {
        loop_timer_after(child->children->loop, &child->restart, 0);
        return;
    }
    child->replaced = true;
    program_stop(child->program);
}

void children_remove(struct children *children, struct child *child)
{
    assert(child->program == NULL);
    DL_DELETE(children->list, child);
    child_free(child);
}

bool child_runs(const struct child *child)
{
    return child->program != NULL;
}

enum error_class children_start(struct children *children, const char *name, const char *directory,
                                char *const arguments[], bool to_stderr, struct child **ret_child,
                                struct error *ret_error)
{
    struct child *child = calloc(1, sizeof(*child));
    assert(child != NULL && children->stopped == NULL);
    child->children = children;
    child->to_stderr = to_stderr;
    loop_timer_init(&child->restart, on_restart, child);
    keep_arguments(child, arguments);
    child->name = strdup(name);
    child->directory = strdup(directory);
    assert(child->name != NULL && child->directory != NULL);
    snprintf(child->reason, sizeof(child->reason), "starting");
    enum error_class class = start(child, ret_error);
    if (class != ERROR_OK) {
        child_free(child);
        return class;
    }
    DL_APPEND(children->list, child);
    *ret_child = child;
    return ERROR_OK;
}

void child_is_task(struct child *child)
{
    child->is_task = true;
}

bool child_is_a_task(const struct child *child)
{
    return child->is_task;
}

/* ---- readiness ---- */

static void on_answer(const struct http_result *result, void *userdata)
{
    struct child *child = userdata;
    child->polling = false;
    if (child->program == NULL || result->outcome != HTTP_ANSWERED)
        return;
    child->ready = result->status == 200;
    snprintf(child->reason, sizeof(child->reason), "%.*s",
             (int)strcspn(result->body.data != NULL ? result->body.data : "", "\n"),
             result->body.data != NULL ? result->body.data : "");
}

static bool find_url(struct child *child)
{
    char path[PATH_MAX];
    char *content = NULL;
    size_t size = 0;
    if (child->url[0] != '\0')
        return true;
    snprintf(path, sizeof(path), "%s/http.url", child->directory);
    if (files_read(path, sizeof(child->url) - 1, &content, &size, NULL) != ERROR_OK)
        return false;
    snprintf(child->url, sizeof(child->url), "%.*s", (int)strcspn(content, "\n"), content);
    free(content);
    return true;
}

static void poll_child(struct child *child)
{
    char url[160];
    if (!find_url(child))
        return;
    snprintf(url, sizeof(url), "%s/readyz", child->url);
    struct http_request request = {.method = "GET", .url = url, .timeout_ms = POLL_TIMEOUT_MS};
    child->polling =
        http_client_send(child->children->http, &request, on_answer, child, NULL) == ERROR_OK;
}

static void on_poll(void *ctx)
{
    struct children *children = ctx;
    struct child *child;
    DL_FOREACH(children->list, child) {
        if (!child->is_task && !child->ready && !child->polling && child->program != NULL)
            poll_child(child);
    }
    loop_timer_after(children->loop, &children->poll_timer, POLL_MS);
}

enum error_class children_watch(struct children *children, const struct http_client_options *tls,
                                struct error *ret_error)
{
    struct http_client_options options = tls != NULL ? *tls : (struct http_client_options){0};
    options.response_max = 256;
    enum error_class class = http_client_new(children->loop, &options, &children->http, ret_error);
    if (class == ERROR_OK)
        loop_timer_after(children->loop, &children->poll_timer, POLL_MS);
    return class;
}

const char *child_name(const struct child *child)
{
    return child->name;
}

const char *child_directory(const struct child *child)
{
    return child->directory;
}

pid_t child_pid(const struct child *child)
{
    return child->pid;
}

bool child_is_ready(const struct child *child)
{
    return child->ready;
}

const char *child_url(const struct child *child)
{
    return child->url;
}

const char *child_reason(const struct child *child)
{
    return child->reason;
}

struct child *children_next(const struct children *children, const struct child *after)
{
    return after == NULL ? children->list : after->next;
}

bool children_are_ready(const struct children *children)
{
    const struct child *child;
    DL_FOREACH(children->list, child) {
        if (!child->ready)
            return false;
    }
    return true;
}
