/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that the server takes, and those that it refuses. */
#include "platform/http/json_answer.h"
#include "tests/unit/platform/http_server_kit.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(http_server, .init = http_kit_open, .fini = http_kit_close);

Test(http_server, passes_on_params_query_and_headers)
{
    http_kit_ask("GET /api/orders/a%2Fb%20c?limit=1+0%25&x HTTP/1.1\r\n" HTTP_KIT_HOST
                 "X-Test: yes\r\n\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 201"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "\r\nX-Answer: 42\r\n") != NULL);
    cr_assert_str_eq(http_kit_body(http_kit_answer),
                     "one GET path=/api/orders/a/b c id=a/b c limit=1 0% header=yes body=");
    http_kit_ask("POST /api/orders/7/cancel HTTP/1.1\r\n" HTTP_KIT_HOST
                 "Content-Length: 5\r\n\r\nhello");
    cr_assert_str_eq(http_kit_body(http_kit_answer),
                     "cancel POST path=/api/orders/7/cancel id=7 limit=(none) "
                     "header=(none) body=hello");
    http_kit_ask("HEAD /api/orders/7 HTTP/1.1\r\n" HTTP_KIT_HOST "Connection: close\r\n\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 201"), "%s", http_kit_answer);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "");
}

Test(http_server, rejects_unknown_paths_and_methods)
{
    cr_assert(http_kit_starts(http_kit_ask("GET /nowhere HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 404"));
    cr_assert_str_eq(http_kit_body(http_kit_answer),
                     HTTP_KIT_PROBLEM("Not Found", "404", "NotFound", "no such path"));
    cr_assert_not_null(strstr(http_kit_answer, "Content-Type: application/problem+json\r\n"));
    cr_assert(http_kit_starts(http_kit_ask("GET /api/orders/ HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 404"));
    cr_assert(http_kit_starts(http_kit_ask("GET /api/orders/7/ HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 404"));
    cr_assert(http_kit_starts(
        http_kit_ask("GET /api/orders/7/x/y HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"), "HTTP/1.1 404"));
    cr_assert(http_kit_starts(
        http_kit_ask("DELETE /api/orders/7/cancel HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
        "HTTP/1.1 405"));
    cr_assert(strstr(http_kit_answer, "\r\nAllow: POST, PUT\r\n") != NULL, "%s", http_kit_answer);
    cr_assert(http_kit_starts(http_kit_ask("GET /api/orders/%zz HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 400"));
    cr_assert(http_kit_starts(
        http_kit_ask("GET /api/orders/a%00b HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"), "HTTP/1.1 400"));
    cr_assert(http_kit_starts(
        http_kit_ask("GET /api/orders/a?x=%f HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"), "HTTP/1.1 400"));
}

Test(http_server, says_what_can_be_said_of_a_text_that_is_not_utf8)
{
    static const struct {
        const char *detail;
        const char *shown;
    } cases[] = {{"caf\xc3\xa9", "caf\xc3\xa9"}, {"caf\xc3", "caf?"}, {"", ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *problem = http_problem_new(400, TEXT("Bad"), text_of(cases[i].detail));
        cr_assert_str_eq(json_string_value(json_object_get(problem, "detail")), cases[i].shown);
        json_decref(problem);
    }
}

Test(http_server, refuses_foreign_hosts_on_loopback)
{
    static const char *const good[] = {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:80"};
    static const char *const bad[] = {
        "evil.example", "localhost.evil.example:80", "127.0.0.1.nip.io", "[::2]", "", "10.0.0.1"};
    char request[256];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(request, sizeof(request), "GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n", good[i]);
        cr_assert(http_kit_starts(http_kit_ask(request), "HTTP/1.1 200"), "%s: %s", good[i],
                  http_kit_answer);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(request, sizeof(request), "GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n", bad[i]);
        cr_assert(http_kit_starts(http_kit_ask(request), "HTTP/1.1 403"), "%s: %s", bad[i],
                  http_kit_answer);
    }
}

/* Listening on all addresses, as in a container: other machines use its name or its address. */
Test(http_server, refuses_foreign_hosts_on_every_address)
{
    static const char *const good[] = {"localhost",        "LOCALHOST:8080",   "127.0.0.1:1",
                                       "10.0.0.5:8080",    "[2001:db8::1]:80", "reeve.internal",
                                       "Reeve.Internal:1", "0.0.0.0:8080"};
    static const char *const bad[] = {"evil.example",
                                      "evil.example:8080",
                                      "10.0.0.5.nip.io",
                                      "internal",
                                      "reeve.internal.evil.example",
                                      "xreeve.internal:1",
                                      "[evil]",
                                      "",
                                      "1.2.3",
                                      "2130706433"};
    char request[256];
    http_kit_listen((struct http_server_options){.host = "0.0.0.0"});
    http_server_allow_host(http_kit_server, TEXT("other.internal"));
    http_server_allow_host(http_kit_server, TEXT("reeve.internal"));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(request, sizeof(request), "GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n", good[i]);
        cr_assert(http_kit_starts(http_kit_ask(request), "HTTP/1.1 200"), "%s: %s", good[i],
                  http_kit_answer);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(request, sizeof(request),
                 "POST /count HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\n"
                 "Content-Length: 0\r\n\r\n",
                 bad[i], bad[i]);
        cr_assert(http_kit_starts(http_kit_ask(request), "HTTP/1.1 403"), "%s: %s", bad[i],
                  http_kit_answer);
        cr_assert(strstr(http_kit_answer, "http.allowed.hosts") != NULL, "%s", http_kit_answer);
    }
}

#define PAGE "X-Reeve-Request: 1\r\n"

Test(http_server, refuses_posts_from_other_sites)
{
    static const char *const good[] = {
        "", PAGE "Origin: http://localhost\r\n",
        PAGE "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"};
    static const char *const bad[] = {"Origin: http://evil.example\r\n",
                                      "Origin: null\r\n",
                                      "Origin: http://localhost:81\r\n",
                                      PAGE "Origin: http://evil.example\r\n",
                                      "Sec-Fetch-Site: cross-site\r\n",
                                      "Origin: http://localhost\r\n",
                                      "Sec-Fetch-Site: same-origin\r\n",
                                      "Origin: http://localhost\r\nSec-Fetch-Site: same-site\r\n"};
    char request[512];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(request, sizeof(request),
                 "POST /count HTTP/1.1\r\n" HTTP_KIT_HOST "%sContent-Length: 0\r\n\r\n", good[i]);
        cr_assert(http_kit_starts(http_kit_ask(request), "HTTP/1.1 200"), "%s: %s", good[i],
                  http_kit_answer);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(request, sizeof(request),
                 "POST /count HTTP/1.1\r\n" HTTP_KIT_HOST "%sContent-Length: 2\r\n\r\nxx", bad[i]);
        cr_assert(http_kit_starts(http_kit_ask(request), "HTTP/1.1 403"), "%s: %s", bad[i],
                  http_kit_answer);
    }
    cr_assert(http_kit_starts(
        http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "Sec-Fetch-Site: cross-site\r\n\r\n"),
        "HTTP/1.1 200"));
}

Test(http_server, limits_bodies)
{
    http_kit_post("/count", "", 1000);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "got 1000");
    http_kit_post("/big", "", 200000);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "got 200000");
    http_kit_post("/count", "", 1001);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 413"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "TooLarge") != NULL);
    http_kit_post("/count", "", 3 << 20);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 413"), "%s", http_kit_answer);
}

Test(http_server, refuses_huge_bodies_unread)
{
    http_kit_ask("POST /count HTTP/1.1\r\n" HTTP_KIT_HOST "Content-Length: 99999999999999\r\n\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 413"), "%s", http_kit_answer);
    http_kit_ask("POST /count HTTP/1.1\r\n" HTTP_KIT_HOST "Expect: 100-continue\r\nContent-Length: "
                 "5000\r\n\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 413"), "%s", http_kit_answer);
    http_kit_ask("POST /count HTTP/1.1\r\n" HTTP_KIT_HOST
                 "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 100"), "%s", http_kit_answer);
}

Test(http_server, limits_chunked_bodies)
{
    static const char head[] =
        "POST /count HTTP/1.1\r\n" HTTP_KIT_HOST "Transfer-Encoding: chunked\r\n\r\n";
    char chunk[600];
    int fd = http_kit_dial();
    memset(chunk, 'x', sizeof(chunk));
    memcpy(chunk, "1f4\r\n", 5);
    memcpy(chunk + 5 + 500, "\r\n", 2);
    http_kit_send_text(fd, head);
    http_kit_send(fd, chunk, 507);
    http_kit_send(fd, chunk, 507);
    http_kit_send_text(fd, "0\r\n\r\n");
    http_kit_expect_answer(fd);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "got 1000");
    close(fd);
    fd = http_kit_dial();
    http_kit_send_text(fd, head);
    for (int i = 0; i < 3; i++)
        http_kit_send(fd, chunk, 507);
    http_kit_send_text(fd, "0\r\n\r\n");
    http_kit_expect_answer(fd);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 413"), "%s", http_kit_answer);
    close(fd);
}

Test(http_server, serves_many_requests_on_a_connection)
{
    int fd = http_kit_dial();
    for (int i = 0; i < 50; i++) {
        http_kit_send_text(fd, "GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
        http_kit_expect_answer(fd);
        cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    }
    close(fd);
}

Test(http_server, refuses_gets_with_a_body)
{
    static const char *const bodies[] = {"Content-Length: 3\r\n\r\nabc",
                                         "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"};
    static const char *const methods[] = {"GET", "HEAD"};
    char request[256];
    for (size_t i = 0; i < 4; i++) {
        snprintf(request, sizeof(request),
                 "%s /livez HTTP/1.1\r\nConnection: close\r\n" HTTP_KIT_HOST "%s", methods[i / 2],
                 bodies[i % 2]);
        cr_assert(http_kit_starts(http_kit_ask(request), "HTTP/1.1 400"), "%s: %s", request,
                  http_kit_answer);
    }
    cr_assert(http_kit_starts(
        http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "Content-Length: 0\r\n\r\n"),
        "HTTP/1.1 200"));
}

static bool is_gone(void *ctx)
{
    return http_gone(ctx);
}

Test(http_server, lets_a_handler_answer_later)
{
    int fd = http_kit_dial();
    http_kit_send_text(fd, "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    cr_assert(http_kit_starts(http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 200"));
    cr_assert(!http_gone(http_kit_held));
    cr_assert_str_eq(http_header(http_kit_held, "host"), "localhost");
    http_respond_error(http_kit_held, 409, CODE_BUSY, "order %s \"is\" busy", "a-1");
    http_kit_expect_answer(fd);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 409"), "%s", http_kit_answer);
    cr_assert_str_eq(http_kit_body(http_kit_answer),
                     HTTP_KIT_PROBLEM("Conflict", "409", "Busy", "order a-1 \\\"is\\\" busy"));
    close(fd);
}

Test(http_server, detects_a_client_that_disconnects)
{
    int fd = http_kit_dial();
    http_kit_send_text(fd, "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    close(fd);
    cr_assert(loop_run_until(http_kit_loop, is_gone, http_kit_held, HTTP_KIT_WAIT_MS));
    cr_assert_str_eq(http_path(http_kit_held), "/hold");
    http_respond(http_kit_held, 200, "text/plain", TEXT("not read"));
    cr_assert(http_kit_starts(http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 200"));
}

Test(http_server, keeps_exchanges_valid_after_the_server_is_freed)
{
    struct http_kit_peer peer = {.fd = http_kit_dial()};
    http_kit_send_text(peer.fd, "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    http_server_free(http_kit_server);
    http_kit_server = NULL;
    cr_assert(http_kit_answered(&peer));
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 503"), "%s", http_kit_answer);
    cr_assert_not_null(strstr(http_kit_answer, HTTP_SHUTTING_DOWN), "%s", http_kit_answer);
    cr_assert(http_gone(http_kit_held));
    cr_assert_str_eq(http_path(http_kit_held), "/hold");
    http_respond(http_kit_held, 200, "text/plain", TEXT("late"));
    close(peer.fd);
}

Test(http_server, serves_health_and_metrics)
{
    cr_assert(http_kit_starts(http_kit_ask("GET /readyz HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 200"));
    http_kit_ready = false;
    cr_assert(http_kit_starts(http_kit_ask("GET /readyz HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 503"));
    cr_assert_str_eq(http_kit_body(http_kit_answer), "folding partition 3\n");
    http_kit_ready = true;
    http_server_drain(http_kit_server);
    cr_assert(http_kit_starts(http_kit_ask("GET /readyz HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 503"));
    cr_assert_str_eq(http_kit_body(http_kit_answer), "draining\n");
    cr_assert(http_kit_starts(http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 200"));
    http_kit_ask("GET /metrics HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(strstr(http_kit_answer, "reeve_http_responses_total{status=\"5xx\"} 2\n") != NULL,
              "%s", http_kit_answer);
}

Test(http_server, survives_garbage_and_half_requests)
{
    static const char *const requests[] = {
        "\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01 hello", "GET /livez HTTP/1.1\r\nHost",
        "POST /count HTTP/1.1\r\n" HTTP_KIT_HOST "Content-Length: 500\r\n\r\nhalf"};
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        int fd = http_kit_dial();
        http_kit_send_text(fd, requests[i]);
        for (int turn = 0; turn < 5; turn++)
            loop_once(http_kit_loop, 1);
        close(fd);
    }
    cr_assert(http_kit_starts(http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 200"));
}

Test(http_server, reports_a_port_in_use_in_one_line)
{
    struct error error = {0};
    struct http_server *second = NULL;
    char expected[128];
    struct http_server_options options = {.port = http_server_port(http_kit_server)};
    cr_assert(http_server_new(http_kit_loop, &options, &second, &error) == ERROR_FATAL);
    snprintf(expected, sizeof(expected),
             "cannot listen on 127.0.0.1 port %u: Address already in use", (unsigned)options.port);
    cr_assert_str_eq(error.message, expected);
    options.host = "not an address";
    cr_assert(http_server_new(http_kit_loop, &options, &second, &error) == ERROR_REJECT);
    options = (struct http_server_options){.host = "::1"};
    if (http_server_new(http_kit_loop, &options, &second, &error) == ERROR_OK) {
        cr_assert(http_kit_starts(http_server_url(second), "http://[::1]:"));
        http_server_free(second);
    }
}

Test(http_server, aborts_on_a_route_that_no_table_has, .signal = SIGABRT)
{
    static const struct http_routes *const tables[] = {&http_built_in_routes, NULL};
    http_kit_listen((struct http_server_options){.routes = tables}); /* adds others */
}

/* A burst of clients before the loop's next turn: a connection that does not fit into the queue
 * would wait a second or three for its next try. */
Test(http_server, takes_a_burst_of_connections_at_once)
{
    enum { CLIENTS = 400 };
    static struct pollfd fds[CLIENTS];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_server_port(http_kit_server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < CLIENTS; i++) {
        fds[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        fds[i].events = POLLOUT;
        cr_assert(fds[i].fd >= 0);
        connect(fds[i].fd, (struct sockaddr *)&address, sizeof(address));
    }
    int established = poll(fds, CLIENTS, 0);
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i].fd);
    cr_assert_eq(established, CLIENTS);
}
