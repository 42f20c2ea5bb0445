/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cli/cli_kit.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 32, REQUESTS_MAX = 64, REQUEST_SIZE = 16384, ANSWER_SIZE = 65536 };

char *cli_kit_out, *cli_kit_err;

static struct {
    int listener; /* 0: it is not open */
    char url[64];
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    struct {
        int status;
        const char *body;
    } answers[REQUESTS_MAX];
    unsigned answer_count;
    char *requests[REQUESTS_MAX]; /* owned */
    unsigned request_count;
} console = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- command lines ---- */

int cli_kit_run(const struct cli_noun *noun, const char *const arguments[])
{
    char *argv[ARGUMENTS_MAX + 3] = {NULL};
    char *const environment[] = {NULL};
    size_t out_size = 0, err_size = 0;
    int argc = 0;
    for (; arguments[argc] != NULL; argc++) {
        cr_assert_lt(argc, ARGUMENTS_MAX);
        argv[argc] = (char *)(uintptr_t)arguments[argc];
    }
    if (console.listener != 0) {
        argv[argc++] = (char *)(uintptr_t) "--console";
        argv[argc++] = console.url;
    }
    free(cli_kit_out);
    free(cli_kit_err);
    FILE *out = open_memstream(&cli_kit_out, &out_size);
    FILE *err = open_memstream(&cli_kit_err, &err_size);
    int code =
        cli_main(argc, argv, environment, (const struct cli_noun *const[]){noun, NULL}, out, err);
    fclose(out);
    fclose(err);
    return code;
}

void cli_kit_expect_text(const char *text, const char *part)
{
    cr_assert(strstr(text, part) != NULL, "\"%s\" is not in: %s", part, text);
}

void cli_kit_expect_usage(const struct cli_noun *noun, const char *expected,
                          const char *const arguments[])
{
    int code = cli_kit_run(noun, arguments);
    cr_assert_eq(code, EXIT_CODE_USAGE, "%d: %s", code, cli_kit_err);
    cli_kit_expect_text(cli_kit_err, expected);
    cr_assert_str_empty(cli_kit_out);
}

/* ---- the console ---- */

/* Of the request's headers; 0: there is none. */
static size_t body_size_of(const char *head)
{
    const char *at = strcasestr(head, "content-length:");
    return at != NULL ? (size_t)strtoul(at + strlen("content-length:"), NULL, 10) : 0;
}

/* A whole request; false: the peer is gone. */
static bool receive(int peer, char *request)
{
    size_t size = 0;
    for (;;) {
        char *end = strstr(request, "\r\n\r\n");
        if (end != NULL && strlen(end + 4) >= body_size_of(request))
            return true;
        ssize_t more =
            size < REQUEST_SIZE - 1 ? read(peer, request + size, REQUEST_SIZE - 1 - size) : 0;
        if (more <= 0)
            return false;
        size += (size_t)more;
        request[size] = '\0';
    }
}

static void record(const char *request)
{
    const char *body = strstr(request, "\r\n\r\n") + 4;
    const char *line_end = strstr(request, " HTTP/");
    char *text = NULL;
    if (line_end == NULL || console.request_count == REQUESTS_MAX ||
        asprintf(&text, "%.*s%s%s", (int)(line_end - request), request, body[0] != '\0' ? " " : "",
                 body) < 0)
        return;
    console.requests[console.request_count++] = text;
}

static void answer(int peer)
{
    static char request[REQUEST_SIZE];
    static char text[ANSWER_SIZE];
    int status = 500;
    const char *body = "{\"code\": \"NoAnswer\", \"detail\": \"the test gives no answer\"}";
    memset(request, 0, sizeof(request));
    if (!receive(peer, request))
        return;
    pthread_mutex_lock(&console.mutex);
    if (console.request_count < console.answer_count) {
        status = console.answers[console.request_count].status;
        body = console.answers[console.request_count].body;
    }
    record(request);
    int size = snprintf(text, sizeof(text),
                        "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                        status, strlen(body), body);
    pthread_mutex_unlock(&console.mutex);
    if (size > 0 && size < ANSWER_SIZE)
        (void)!write(peer, text, (size_t)size);
}

static void *serve(void *unused)
{
    (void)unused;
    for (int peer; (peer = accept(console.listener, NULL, NULL)) >= 0;) {
        answer(peer);
        close(peer);
    }
    return NULL;
}

void cli_kit_console_open(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    console.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_gt(console.listener, 0);
    cr_assert_eq(bind(console.listener, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(console.listener, 16), 0);
    cr_assert_eq(getsockname(console.listener, (struct sockaddr *)&address, &size), 0);
    snprintf(console.url, sizeof(console.url), "http://127.0.0.1:%d", ntohs(address.sin_port));
    cr_assert_eq(pthread_create(&console.thread, NULL, serve, NULL), 0);
}

void cli_kit_console_close(void)
{
    shutdown(console.listener, SHUT_RDWR); /* ends accept() */
    pthread_join(console.thread, NULL);
    close(console.listener);
    console.listener = 0;
    while (console.request_count > 0)
        free(console.requests[--console.request_count]);
    console.answer_count = 0;
    free(cli_kit_out);
    free(cli_kit_err);
    cli_kit_out = cli_kit_err = NULL;
}

void cli_kit_answer(int status, const char *body)
{
    pthread_mutex_lock(&console.mutex);
    cr_assert_lt(console.answer_count, REQUESTS_MAX);
    console.answers[console.answer_count].status = status;
    console.answers[console.answer_count++].body = body;
    pthread_mutex_unlock(&console.mutex);
}

unsigned cli_kit_request_count(void)
{
    pthread_mutex_lock(&console.mutex);
    unsigned count = console.request_count;
    pthread_mutex_unlock(&console.mutex);
    return count;
}

const char *cli_kit_request(unsigned n)
{
    cr_assert_lt(n, cli_kit_request_count(), "request %u did not come", n);
    return console.requests[n];
}
