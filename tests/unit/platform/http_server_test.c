/* SPDX-License-Identifier: Apache-2.0 */
/* The server, driven through plain sockets, so that requests can be malformed in any way. */
#include "platform/http/server.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_SIZE = 256 * 1024, WAIT_MS = 20000 };

static struct loop *loop;
static struct metrics *metrics;
static struct http_server *server;
static char answer[ANSWER_SIZE];
static bool is_ready = true;
static struct http_exchange *held;

static bool ready(void *ctx, char *ret_reason, size_t reason_size)
{
    (void)ctx;
    snprintf(ret_reason, reason_size, "folding partition 3");
    return is_ready;
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
    held = exchange;
}

static void count_body(struct http_exchange *exchange, void *userdata)
{
    char text[32];
    (void)userdata;
    snprintf(text, sizeof(text), "got %u", http_body(exchange).size);
    http_respond(exchange, 200, "text/plain", text_of(text));
}

static void open_server(void)
{
    struct error error = {0};
    cr_assert(loop_new(clock_real(), &loop, &error) == ERROR_OK, "%s", error.message);
    metrics = metrics_new();
    struct http_server_options options = {.metrics = metrics, .ready = ready};
    cr_assert(http_server_new(loop, &options, &server, &error) == ERROR_OK, "%s", error.message);
    http_server_route(server, "GET", "/api/orders/{id}", 0, echo, "one");
    http_server_route(server, "POST", "/api/orders/{id}/cancel", 100, echo, "cancel");
    http_server_route(server, "PUT", "/api/orders/{id}/cancel", 100, echo, "put");
    http_server_route(server, "GET", "/hold", 0, hold, NULL);
    http_server_route(server, "POST", "/count", 1000, count_body, NULL);
    http_server_route(server, "POST", "/big", 200000, count_body, NULL);
}

static void close_server(void)
{
    http_server_free(server);
    metrics_free(metrics);
    loop_free(loop);
}

TestSuite(http_server, .init = open_server, .fini = close_server);

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(http_server_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cr_assert(fd >= 0);
    cr_assert(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    cr_assert(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

struct peer {
    int fd;
    size_t size;
    bool closed;
};

/* A whole answer is there: the body as long as Content-Length says, or the end of the stream. */
static bool answered(void *ctx)
{
    struct peer *peer = ctx;
    for (;;) {
        ssize_t got = recv(peer->fd, answer + peer->size, sizeof(answer) - 1 - peer->size, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            peer->closed = true;
        if (got <= 0)
            break;
        peer->size += (size_t)got;
    }
    answer[peer->size] = '\0';
    const char *body = strstr(answer, "\r\n\r\n");
    const char *length = strcasestr(answer, "\r\nContent-Length: ");
    if (strncmp(answer, "HTTP/1.1 100", 12) == 0)
        return true;
    return peer->closed ||
           (body != NULL && length != NULL && strlen(body + 4) >= strtoul(length + 18, NULL, 10));
}

static void expect_answer(int fd)
{
    struct peer peer = {.fd = fd};
    cr_assert(loop_run_until(loop, answered, &peer, WAIT_MS), "no answer: %.*s", (int)peer.size,
              answer);
}

static void send_all(int fd, const char *data, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN)
            return; /* cut by the server: the answer tells */
        sent += count > 0 ? (size_t)count : 0;
        (void)loop_once(loop, 0);
    }
}

static void send_text(int fd, const char *text)
{
    send_all(fd, text, strlen(text));
}

/* The answer to one request on a connection of its own. */
static const char *ask(const char *request)
{
    int fd = dial();
    send_text(fd, request);
    expect_answer(fd);
    close(fd);
    return answer;
}

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *body_of(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    return body != NULL ? body + 4 : "";
}

#define HOST "Host: localhost\r\n"

Test(http_server, passes_on_params_query_and_headers)
{
    (void)ask("GET /api/orders/a%2Fb%20c?limit=1+0%25&x HTTP/1.1\r\n" HOST "X-Test: yes\r\n\r\n");
    cr_assert(starts(answer, "HTTP/1.1 201"), "%s", answer);
    cr_assert(strstr(answer, "\r\nX-Answer: 42\r\n") != NULL);
    cr_assert_str_eq(body_of(answer),
                     "one GET path=/api/orders/a/b c id=a/b c limit=1 0% header=yes body=");
    (void)ask("POST /api/orders/7/cancel HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello");
    cr_assert_str_eq(body_of(answer), "cancel POST path=/api/orders/7/cancel id=7 limit=(none) "
                                      "header=(none) body=hello");
    (void)ask("HEAD /api/orders/7 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    cr_assert(starts(answer, "HTTP/1.1 201"), "%s", answer);
    cr_assert_str_eq(body_of(answer), "");
}

Test(http_server, rejects_unknown_paths_and_methods)
{
    cr_assert(starts(ask("GET /nowhere HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 404"));
    cr_assert_str_eq(body_of(answer), "{\"error\":\"NotFound\",\"message\":\"no such path\"}");
    cr_assert(starts(ask("GET /api/orders/ HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 404"));
    cr_assert(starts(ask("GET /api/orders/7/ HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 404"));
    cr_assert(starts(ask("GET /api/orders/7/x/y HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 404"));
    cr_assert(starts(ask("DELETE /api/orders/7/cancel HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 405"));
    cr_assert(strstr(answer, "\r\nAllow: POST, PUT\r\n") != NULL, "%s", answer);
    cr_assert(starts(ask("GET /api/orders/%zz HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 400"));
    cr_assert(starts(ask("GET /api/orders/a%00b HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 400"));
    cr_assert(starts(ask("GET /api/orders/a?x=%f HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 400"));
}

Test(http_server, refuses_foreign_hosts_on_loopback)
{
    static const char *const good[] = {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:80"};
    static const char *const bad[] = {
        "evil.example", "localhost.evil.example:80", "127.0.0.1.nip.io", "[::2]", "", "10.0.0.1"};
    char request[256];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(request, sizeof(request), "GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n", good[i]);
        cr_assert(starts(ask(request), "HTTP/1.1 200"), "%s: %s", good[i], answer);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(request, sizeof(request), "GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n", bad[i]);
        cr_assert(starts(ask(request), "HTTP/1.1 403"), "%s: %s", bad[i], answer);
    }
}

Test(http_server, refuses_posts_from_other_sites)
{
    static const char *const good[] = {
        "", "Origin: http://localhost\r\n",
        "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"};
    static const char *const bad[] = {"Origin: http://evil.example\r\n", "Origin: null\r\n",
                                      "Origin: http://localhost:81\r\n",
                                      "Sec-Fetch-Site: cross-site\r\n",
                                      "Origin: http://localhost\r\nSec-Fetch-Site: same-site\r\n"};
    char request[512];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(request, sizeof(request),
                 "POST /count HTTP/1.1\r\n" HOST "%sContent-Length: 0\r\n\r\n", good[i]);
        cr_assert(starts(ask(request), "HTTP/1.1 200"), "%s: %s", good[i], answer);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(request, sizeof(request),
                 "POST /count HTTP/1.1\r\n" HOST "%sContent-Length: 2\r\n\r\nxx", bad[i]);
        cr_assert(starts(ask(request), "HTTP/1.1 403"), "%s: %s", bad[i], answer);
    }
    cr_assert(starts(ask("GET /livez HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n"),
                     "HTTP/1.1 200"));
}

/* A POST with `size` bytes of body. */
static void post_sized(const char *path, const char *extra, size_t size)
{
    char head[256];
    char *body = calloc(1, size + 1);
    int fd = dial();
    memset(body, 'x', size);
    snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\n" HOST "%sContent-Length: %zu\r\n\r\n", path,
             extra, size);
    send_text(fd, head);
    send_all(fd, body, size);
    expect_answer(fd);
    close(fd);
    free(body);
}

Test(http_server, limits_bodies)
{
    post_sized("/count", "", 1000);
    cr_assert_str_eq(body_of(answer), "got 1000");
    post_sized("/big", "", 200000);
    cr_assert_str_eq(body_of(answer), "got 200000");
    post_sized("/count", "", 1001);
    cr_assert(starts(answer, "HTTP/1.1 413"), "%s", answer);
    cr_assert(strstr(answer, "TooLarge") != NULL);
    post_sized("/count", "", 3 << 20);
    cr_assert(starts(answer, "HTTP/1.1 413"), "%s", answer);
}

Test(http_server, refuses_huge_bodies_unread)
{
    (void)ask("POST /count HTTP/1.1\r\n" HOST "Content-Length: 99999999999999\r\n\r\n");
    cr_assert(starts(answer, "HTTP/1.1 413"), "%s", answer);
    (void)ask("POST /count HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: "
              "5000\r\n\r\n");
    cr_assert(starts(answer, "HTTP/1.1 413"), "%s", answer);
    (void)ask("POST /count HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    cr_assert(starts(answer, "HTTP/1.1 100"), "%s", answer);
}

Test(http_server, limits_chunked_bodies)
{
    static const char head[] = "POST /count HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n";
    char chunk[600];
    int fd = dial();
    memset(chunk, 'x', sizeof(chunk));
    memcpy(chunk, "1f4\r\n", 5);
    memcpy(chunk + 5 + 500, "\r\n", 2);
    send_text(fd, head);
    send_all(fd, chunk, 507);
    send_all(fd, chunk, 507);
    send_text(fd, "0\r\n\r\n");
    expect_answer(fd);
    cr_assert_str_eq(body_of(answer), "got 1000");
    send_text(fd, head);
    for (int i = 0; i < 3; i++)
        send_all(fd, chunk, 507);
    send_text(fd, "0\r\n\r\n");
    expect_answer(fd);
    cr_assert(starts(answer, "HTTP/1.1 413"), "%s", answer);
    close(fd);
}

Test(http_server, serves_many_requests_on_a_connection)
{
    int fd = dial();
    for (int i = 0; i < 50; i++) {
        send_text(fd, "GET /livez HTTP/1.1\r\n" HOST "\r\n");
        expect_answer(fd);
        cr_assert(starts(answer, "HTTP/1.1 200"), "%s", answer);
    }
    close(fd);
}

static bool is_held(void *ctx)
{
    (void)ctx;
    return held != NULL;
}

static bool is_gone(void *ctx)
{
    return http_gone(ctx);
}

Test(http_server, lets_a_handler_answer_later)
{
    int fd = dial();
    send_text(fd, "GET /hold HTTP/1.1\r\n" HOST "\r\n");
    cr_assert(loop_run_until(loop, is_held, NULL, WAIT_MS));
    cr_assert(starts(ask("GET /livez HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 200"));
    cr_assert(!http_gone(held));
    cr_assert_str_eq(http_header(held, "host"), "localhost");
    http_respond_error(held, 409, "Busy", "order %s \"is\" busy", "a-1");
    expect_answer(fd);
    cr_assert(starts(answer, "HTTP/1.1 409"), "%s", answer);
    cr_assert_str_eq(body_of(answer),
                     "{\"error\":\"Busy\",\"message\":\"order a-1 \\\"is\\\" busy\"}");
    close(fd);
}

Test(http_server, detects_a_client_that_disconnects)
{
    int fd = dial();
    send_text(fd, "GET /hold HTTP/1.1\r\n" HOST "\r\n");
    cr_assert(loop_run_until(loop, is_held, NULL, WAIT_MS));
    close(fd);
    cr_assert(loop_run_until(loop, is_gone, held, WAIT_MS));
    cr_assert_str_eq(http_path(held), "/hold");
    http_respond(held, 200, "text/plain", TEXT("not read"));
    cr_assert(starts(ask("GET /livez HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 200"));
}

Test(http_server, keeps_exchanges_valid_after_the_server_is_freed)
{
    struct peer peer = {.fd = dial()};
    send_text(peer.fd, "GET /hold HTTP/1.1\r\n" HOST "\r\n");
    cr_assert(loop_run_until(loop, is_held, NULL, WAIT_MS));
    http_server_free(server);
    server = NULL;
    cr_assert(answered(&peer));
    cr_assert(starts(answer, "HTTP/1.1 503"), "%s", answer);
    cr_assert(http_gone(held));
    cr_assert_str_eq(http_path(held), "/hold");
    http_respond(held, 200, "text/plain", TEXT("late"));
    close(peer.fd);
}

Test(http_server, serves_health_and_metrics)
{
    cr_assert(starts(ask("GET /readyz HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 200"));
    is_ready = false;
    cr_assert(starts(ask("GET /readyz HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 503"));
    cr_assert_str_eq(body_of(answer), "folding partition 3\n");
    is_ready = true;
    http_server_drain(server);
    cr_assert(starts(ask("GET /readyz HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 503"));
    cr_assert_str_eq(body_of(answer), "draining\n");
    cr_assert(starts(ask("GET /livez HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 200"));
    (void)ask("GET /metrics HTTP/1.1\r\n" HOST "\r\n");
    cr_assert(strstr(answer, "reeve_http_responses_total{status=\"5xx\"} 2\n") != NULL, "%s",
              answer);
}

Test(http_server, survives_garbage_and_half_requests)
{
    static const char *const requests[] = {
        "\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01 hello", "GET /livez HTTP/1.1\r\nHost",
        "POST /count HTTP/1.1\r\n" HOST "Content-Length: 500\r\n\r\nhalf"};
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        int fd = dial();
        send_text(fd, requests[i]);
        for (int turn = 0; turn < 5; turn++)
            (void)loop_once(loop, 1);
        close(fd);
    }
    cr_assert(starts(ask("GET /livez HTTP/1.1\r\n" HOST "\r\n"), "HTTP/1.1 200"));
}

Test(http_server, reports_a_port_in_use_in_one_line)
{
    struct error error = {0};
    struct http_server *second = NULL;
    char expected[128];
    struct http_server_options options = {.port = http_server_port(server)};
    cr_assert(http_server_new(loop, &options, &second, &error) == ERROR_FATAL);
    snprintf(expected, sizeof(expected),
             "cannot listen on 127.0.0.1 port %u: Address already in use", (unsigned)options.port);
    cr_assert_str_eq(error.message, expected);
    options.host = "not an address";
    cr_assert(http_server_new(loop, &options, &second, &error) == ERROR_REJECT);
    options = (struct http_server_options){.host = "::1"};
    if (http_server_new(loop, &options, &second, &error) == ERROR_OK) {
        cr_assert(starts(http_server_url(second), "http://[::1]:"));
        http_server_free(second);
    }
}
