/* SPDX-License-Identifier: Apache-2.0 */
/* See child_processes.h. */
#include "cli/dev/child_processes.h"

#include "base/numbers.h"
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

#define LAST_PORT "last.port"

enum { POLL_MS = 100, POLL_TIMEOUT_MS = 2000 };

struct child {
    struct child *prev;
    struct child *next;
    struct children *children;
    char *name;
    char *directory;
    char *path;              /* of its program; NULL: reeve */
    char **arguments;        /* NULL: it was replaced by nothing */
    struct program *program; /* NULL: it has ended */
    pid_t pid;
    bool to_stderr;
    bool keeps_port;
    enum child_kind kind;
    bool replaced; /* it ends to be started with other arguments, or to stay ended */
    bool ready;
    bool polling;
    int64_t started_ms;
    int quick_ends; /* in succession */
    struct loop_timer again;
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
static void on_again(void *ctx);
static void start_now(struct child *child);

struct children *children_new(struct loop *loop, child_ended ended, void *ctx)
{
    struct children *children = calloc(1, sizeof(*children));
    assert(children != NULL);
    *children = (struct children){.loop = loop, .ended = ended, .ctx = ctx};
    loop_timer_init(&children->poll_timer, on_poll, children);
    return children;
}

static char **copy_arguments(char *const arguments[])
{
    char **copy = calloc(CHILD_ARGUMENTS_MAX + 1, sizeof(*copy));
    assert(copy != NULL);
    for (size_t i = 0; arguments[i] != NULL; i++) {
        assert(i < CHILD_ARGUMENTS_MAX);
        copy[i] = strdup(arguments[i]);
        assert(copy[i] != NULL);
    }
    return copy;
}

static void free_arguments(char **arguments)
{
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++)
        free(arguments[i]);
    free(arguments);
}

static void child_free(struct child *child)
{
    program_free(child->program);
    loop_timer_cancel(child->children->loop, &child->again);
    free_arguments(child->arguments);
    free(child->name);
    free(child->directory);
    free(child->path);
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

static bool any_runs(const struct children *children, bool brokers)
{
    const struct child *child;
    DL_FOREACH(children->list, child) {
        if (child->program != NULL && (brokers || child->kind != CHILD_BROKER))
            return true;
    }
    return false;
}

/* The brokers last: what the others have in flight goes there. */
static void stop_next(struct children *children)
{
    struct child *child;
    bool brokers = !any_runs(children, false);
    assert(children->stopped != NULL);
    DL_FOREACH(children->list, child) {
        if (child->program != NULL && (brokers || child->kind != CHILD_BROKER))
            program_stop(child->program);
    }
    if (!any_runs(children, true))
        children->stopped(children->ctx);
}

static void on_end(void *ctx, const struct program_result *result)
{
    struct child *child = ctx;
    struct children *children = child->children;
    child->program = NULL;
    child->ready = child->kind == CHILD_TASK && result->exit_code == 0;
    if (result->exit_code >= 0)
        snprintf(child->reason, sizeof(child->reason), "ended with exit code %d",
                 result->exit_code);
    else if (result->signal > 0)
        snprintf(child->reason, sizeof(child->reason), "was killed by signal %d", result->signal);
    else
        snprintf(child->reason, sizeof(child->reason), "ended, and it is not known how");
    if (children->stopped != NULL) {
        stop_next(children);
    } else if (child->replaced) {
        child->replaced = false;
        if (child->arguments != NULL)
            start_now(child);
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
        loop_timer_cancel(children->loop, &child->again);
    }
    stop_next(children);
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

/* The port of the process before this one; 0: there was none. Services remove their http.port when
 * they end. */
static int last_port(const struct child *child)
{
    char path[PATH_MAX];
    char *content = NULL;
    size_t size = 0;
    int64_t port = 0;
    snprintf(path, sizeof(path), "%s/" LAST_PORT, child->directory);
    if (!child->keeps_port || files_read(path, 16, &content, &size, NULL) != ERROR_OK)
        return 0;
    number_parse(text_of(content), 1, UINT16_MAX, &port);
    free(content);
    return (int)port;
}

static void keep_port(const struct child *child)
{
    char path[PATH_MAX];
    const char *colon = strrchr(child->url, ':');
    if (!child->keeps_port || colon == NULL)
        return;
    snprintf(path, sizeof(path), "%s/" LAST_PORT, child->directory);
    files_write_atomic(path, text_of(colon + 1), NULL); /* without it the next port is another */
}

/* They must not be taken for what the next process writes. */
static void remove_addresses(const struct child *child)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/http.port", child->directory);
    unlink(path);
    snprintf(path, sizeof(path), "%s/http.url", child->directory);
    unlink(path);
}

static enum error_class start(struct child *child, struct error *ret_error)
{
    struct error error;
    char set[] = "--set", port_set[32];
    char *argv[CHILD_ARGUMENTS_MAX + 4] = {child->path != NULL ? child->path : (char[]){"reeve"}};
    size_t count = 1;
    for (; child->arguments[count - 1] != NULL; count++) {
        assert(count <= CHILD_ARGUMENTS_MAX);
        argv[count] = child->arguments[count - 1];
    }
    int port = last_port(child);
    remove_addresses(child);
    if (port != 0) {
        snprintf(port_set, sizeof(port_set), "http.port=%d", port);
        argv[count++] = set;
        argv[count++] = port_set; /* the last one counts */
    }
    int log = open_log(child->directory, child->to_stderr);
    if (log < 0)
        return error_set(ret_error, CODE_NO_LOG, "cannot open the log of %s in %s: %s", child->name,
                         child->directory, strerror(errno));
    /* In a process group of its own: Ctrl-C is for the parent, which stops all of them. */
    const struct program_options options = {
        .argv = argv, .grace_ms = CHILD_STOP_MS, .log_fd = log, .path = child->path};
    enum error_class class = program_start(child->children->loop, &options, &program_ops, child,
                                           &child->program, &error);
    close(log);
    if (class != ERROR_OK)
        return error_set(ret_error, CODE_NO_PROCESS, "cannot start %s: %s", child->name,
                         error.message);
    child->pid = program_pid(child->program);
    child->started_ms = clock_mono_ms(loop_clock(child->children->loop));
    child->ready = child->kind == CHILD_BROKER;
    child->url[0] = '\0';
    snprintf(child->reason, sizeof(child->reason), "starting");
    return ERROR_OK;
}

enum error_class children_start(struct children *children, const struct child_options *options,
                                struct child **ret_child, struct error *ret_error)
{
    struct child *child = calloc(1, sizeof(*child));
    assert(child != NULL && children->stopped == NULL);
    *child = (struct child){.children = children,
                            .name = strdup(options->name),
                            .directory = strdup(options->directory),
                            .path = options->program != NULL ? strdup(options->program) : NULL,
                            .arguments = copy_arguments(options->arguments),
                            .to_stderr = options->to_stderr,
                            .keeps_port = options->keeps_port,
                            .kind = options->kind};
    assert(child->name != NULL && child->directory != NULL);
    loop_timer_init(&child->again, on_again, child);
    enum error_class class = start(child, ret_error);
    if (class != ERROR_OK) {
        child_free(child);
        return class;
    }
    DL_APPEND(children->list, child);
    *ret_child = child;
    return ERROR_OK;
}

/* ---- starting again ---- */

static void start_now(struct child *child)
{
    struct error error;
    if (start(child, &error) == ERROR_OK)
        return;
    snprintf(child->reason, sizeof(child->reason), "%.190s", error.message);
    child_start_again(child);
}

static void on_again(void *ctx)
{
    start_now(ctx);
}

int64_t child_again_ms(int quick_ends)
{
    int64_t delay_ms = CHILD_AGAIN_MS_MIN;
    for (int i = 1; i < quick_ends && delay_ms < CHILD_AGAIN_MS_MAX; i++)
        delay_ms *= 2;
    return delay_ms < CHILD_AGAIN_MS_MAX ? delay_ms : CHILD_AGAIN_MS_MAX;
}

int64_t child_start_again(struct child *child)
{
    struct loop *loop = child->children->loop;
    assert(child->program == NULL && child->arguments != NULL);
    bool quick = clock_mono_ms(loop_clock(loop)) - child->started_ms < CHILD_STEADY_MS;
    child->quick_ends = quick ? child->quick_ends + 1 : 1;
    int64_t delay_ms = child_again_ms(child->quick_ends);
    loop_timer_after(loop, &child->again, delay_ms);
    return delay_ms;
}

void child_replace(struct child *child, char *const arguments[])
{
    free_arguments(child->arguments);
    child->arguments = arguments != NULL ? copy_arguments(arguments) : NULL;
    child->quick_ends = 0;
    loop_timer_cancel(child->children->loop, &child->again);
    if (child->program != NULL) {
        child->replaced = true;
        program_stop(child->program);
    } else if (arguments != NULL) {
        start_now(child);
    }
}

enum child_kind child_kind(const struct child *child)
{
    return child->kind;
}

bool child_is_wanted(const struct child *child)
{
    return child->arguments != NULL;
}

bool child_is_running(const struct child *child)
{
    return child->program != NULL;
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
    keep_port(child);
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
        if (child->kind == CHILD_SERVICE && !child->ready && !child->polling &&
            child->program != NULL)
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
        if (!child->ready && child_is_wanted(child))
            return false;
    }
    return true;
}
