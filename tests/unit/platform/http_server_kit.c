/* SPDX-License-Identifier: Apache-2.0 */
/* See http_server_kit.h. */
#include "tests/unit/platform/http_server_kit.h"
#include "tests/lib/http_route.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct loop *http_kit_loop;
struct metrics *http_kit_metrics;
struct http_server *http_kit_server;
char http_kit_answer[HTTP_KIT_ANSWER_SIZE];
bool http_kit_ready = true;
struct http_exchange *http_kit_held;

static bool ready(void *ctx, char *ret_reason, size_t reason_size)
{
    (void)ctx;
    snprintf(ret_reason, reason_size, "folding partition 3");
    return http_kit_ready;
}

/* Answers with all that it can see. */
static void echo(struct http_exchange *exchange, void *userdata)
{
    char text[4096];
    const char *limit = http_query(exchange, "limit");
    const char *header = http_header(exchange, "x-test");
    snprintf(text, sizeof(text), "%s %s path=%s id=%s limit=%s header=%s body=%.*s",
             (const char *)userdata, http_method(exchange), http_path(exchange),
             http_param(exchange, "id"), limit != NULL ? limit : "(none)",
             header != NULL ? header : "(none)", TEXT_ARG(http_body(exchange)));
    http_set_header(exchange, "X-Answer", "42");
    http_respond(exchange, 201, "text/plain", text_of(text));
}

static void hold(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    http_kit_held = exchange;
}

static void count_body(struct http_exchange *exchange, void *userdata)
{
    char text[32];
    (void)userdata;
    snprintf(text, sizeof(text), "got %u", http_body(exchange).size);
    http_respond(exchange, 200, "text/plain", text_of(text));
}

void http_kit_listen(struct http_server_options options)
{
    struct error error = {0};
    http_server_free(http_kit_server);
    metrics_free(http_kit_metrics);
    http_kit_metrics = options.metrics != NULL ? options.metrics : metrics_new();
    options.metrics = http_kit_metrics;
    options.ready = ready;
    cr_assert(http_server_new(http_kit_loop, &options, &http_kit_server, &error) == ERROR_OK, "%s",
              error.message);
    add_route(http_kit_server, "GET", "/api/orders/{id}", HTTP_OPEN, 0, echo, "one");
    add_route(http_kit_server, "POST", "/api/orders/{id}/cancel", HTTP_OPEN, 100, echo, "cancel");
    add_route(http_kit_server, "PUT", "/api/orders/{id}/cancel", HTTP_OPEN, 100, echo, "put");
    add_route(http_kit_server, "GET", "/hold", HTTP_VIEW, 0, hold, NULL);
    add_route(http_kit_server, "POST", "/count", HTTP_OPEN, 1000, count_body, NULL);
    add_route(http_kit_server, "POST", "/big", HTTP_OPEN, 200000, count_body, NULL);
    add_route(http_kit_server, "POST", "/huge", HTTP_OPEN, 0, count_body, NULL);
}

void http_kit_open(void)
{
    struct error error = {0};
    cr_assert(loop_new(clock_real(), &http_kit_loop, &error) == ERROR_OK, "%s", error.message);
    http_kit_listen((struct http_server_options){0});
}

void http_kit_close(void)
{
    http_server_free(http_kit_server);
    metrics_free(http_kit_metrics);
    loop_free(http_kit_loop);
}

int http_kit_dial_from(uint32_t host)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000 + host)};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(http_server_port(http_kit_server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cr_assert(fd >= 0);
    cr_assert(bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0);
    cr_assert(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    cr_assert(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

int http_kit_dial(void)
{
    return http_kit_dial_from(1);
}

/* A whole answer is there: the body as long as Content-Length says, or the end of the stream. */
bool http_kit_answered(void *ctx)
{
    struct http_kit_peer *peer = ctx;
    for (;;) {
        ssize_t got = recv(peer->fd, http_kit_answer + peer->size,
                           sizeof(http_kit_answer) - 1 - peer->size, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            peer->closed = true;
        if (got <= 0)
            break;
        peer->size += (size_t)got;
    }
    http_kit_answer[peer->size] = '\0';
    const char *body = strstr(http_kit_answer, "\r\n\r\n");
    const char *length = strcasestr(http_kit_answer, "\r\nContent-Length: ");
    if (strncmp(http_kit_answer, "HTTP/1.1 100", 12) == 0)
        return true;
    return peer->closed ||
           (body != NULL && length != NULL && strlen(body + 4) >= strtoul(length + 18, NULL, 10));
}

void http_kit_expect_answer(int fd)
{
    struct http_kit_peer peer = {.fd = fd};
    cr_assert(loop_run_until(http_kit_loop, http_kit_answered, &peer, HTTP_KIT_WAIT_MS),
              "no answer: %.*s", (int)peer.size, http_kit_answer);
}

void http_kit_send(int fd, const char *data, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN)
            return; /* cut by the server: the answer tells */
        sent += count > 0 ? (size_t)count : 0;
        loop_once(http_kit_loop, 0);
    }
}

void http_kit_send_text(int fd, const char *text)
{
    http_kit_send(fd, text, strlen(text));
}

const char *http_kit_ask(const char *request)
{
    int fd = http_kit_dial();
    http_kit_send_text(fd, request);
    http_kit_expect_answer(fd);
    close(fd);
    return http_kit_answer;
}

bool http_kit_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

const char *http_kit_body(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    return body != NULL ? body + 4 : "";
}

bool http_kit_is_held(void *ctx)
{
    (void)ctx;
    return http_kit_held != NULL;
}

void http_kit_post(const char *path, const char *extra, size_t size)
{
    char head[256];
    char *body = calloc(1, size + 1);
    int fd = http_kit_dial();
    memset(body, 'x', size);
    snprintf(head, sizeof(head),
             "POST %s HTTP/1.1\r\n" HTTP_KIT_HOST "%sContent-Length: %zu\r\n\r\n", path, extra,
             size);
    http_kit_send_text(fd, head);
    http_kit_send(fd, body, size);
    http_kit_expect_answer(fd);
    close(fd);
    free(body);
}
