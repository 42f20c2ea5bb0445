/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that take their time: none keeps the others waiting. */
#include "tests/lib/http_route.h"
#include "tests/unit/platform/http_server_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(http_slow_clients, .init = http_kit_open, .fini = http_kit_close);

static bool all_sent(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static void turn(int turns)
{
    for (int i = 0; i < turns; i++)
        loop_once(http_kit_loop, 0);
}

/* More than the server takes, from one address and from many, in each state of a request. */
Test(http_slow_clients, answers_while_slow_clients_hold_connections)
{
    enum { SLOW = 512 };
    static const char *const parts[] = {"", "GET /livez HTTP/1.1\r\nHo",
                                        "POST /count HTTP/1.1\r\n" HTTP_KIT_HOST
                                        "Content-Length: 9\r\n\r\nx"};
    int *slow = calloc(2 * SLOW, sizeof(*slow));
    for (int i = 0; i < 2 * SLOW; i++) {
        slow[i] = http_kit_dial_from(i < SLOW ? 1 : 2 + (uint32_t)i % 16);
        cr_assert(all_sent(slow[i], parts[i % 3]));
        turn(2);
        if (i % 64 == 63)
            cr_assert(http_kit_starts(http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                                      "HTTP/1.1 200"),
                      "%d", i);
    }
    cr_assert(http_kit_starts(http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"),
                              "HTTP/1.1 200"));
    http_kit_ask("GET /metrics HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    const char *cut =
        strstr(http_kit_answer, "reeve_http_connections_cut_total{reason=\"limit\"} ");
    cr_assert(cut != NULL && strtol(strchr(cut, '}') + 2, NULL, 10) >= SLOW, "%s", cut);
    for (int i = 0; i < 2 * SLOW; i++)
        close(slow[i]);
    free(slow);
}

/* What a handler works on is not cut, and counts. */
Test(http_slow_clients, refuses_connections_beyond_the_requests_of_an_address)
{
    int busy[HTTP_CONNECTIONS_PER_ADDRESS_MAX];
    struct http_exchange *held[HTTP_CONNECTIONS_PER_ADDRESS_MAX];
    for (int i = 0; i < HTTP_CONNECTIONS_PER_ADDRESS_MAX; i++) {
        http_kit_held = NULL;
        busy[i] = http_kit_dial();
        http_kit_send_text(busy[i], "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
        cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
        held[i] = http_kit_held;
    }
    struct http_kit_peer peer = {.fd = http_kit_dial()};
    http_kit_send_text(peer.fd, "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    while (!peer.closed) {
        loop_once(http_kit_loop, 10);
        http_kit_answered(&peer);
    }
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 503"), "%s", http_kit_answer);
    close(peer.fd);
    peer = (struct http_kit_peer){.fd = http_kit_dial_from(2)};
    http_kit_send_text(peer.fd, "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    http_kit_held = NULL;
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    http_respond(http_kit_held, 200, "text/plain", TEXT("another address"));
    http_kit_expect_answer(peer.fd);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "another address");
    http_kit_send_text(peer.fd, "GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    http_kit_expect_answer(peer.fd);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    close(peer.fd);
    for (int i = 0; i < HTTP_CONNECTIONS_PER_ADDRESS_MAX; i++) {
        http_respond(held[i], 200, "text/plain", TEXT("over"));
        close(busy[i]);
    }
    http_server_free(http_kit_server);
    http_kit_server = NULL;
}

/* A byte now and then does not extend it. */
Test(http_slow_clients, gives_a_request_a_deadline)
{
    static const char *const parts[] = {"GET /livez HTTP/1.1\r\nHost: local",
                                        "POST /huge HTTP/1.1\r\n" HTTP_KIT_HOST
                                        "Content-Length: 500000\r\n\r\nx"};
    http_kit_listen((struct http_server_options){.request_ms = 100});
    for (size_t i = 0; i < 2; i++) {
        struct http_kit_peer peer = {.fd = http_kit_dial()};
        cr_assert(all_sent(peer.fd, parts[i]));
        while (!http_kit_answered(&peer)) {
            send(peer.fd, "x", 1, MSG_NOSIGNAL);
            loop_once(http_kit_loop, 10);
        }
        cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 408"), "%zu: %s", i, http_kit_answer);
        cr_assert_str_eq(http_kit_body(http_kit_answer),
                         HTTP_KIT_PROBLEM("Request Timeout", "408", "Timeout",
                                          "the request did not end in time"));
        cr_assert(loop_run_until(http_kit_loop, http_kit_answered, &peer, HTTP_KIT_WAIT_MS));
        close(peer.fd);
    }
    http_kit_ask("GET /metrics HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(strstr(http_kit_answer,
                     "reeve_http_connections_cut_total{reason=\"deadline\"} 2\n") != NULL);
}

static void hold_large(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    char *large = calloc(1, 32 << 20);
    http_respond(exchange, 200, "text/plain", (struct text){large, 32 << 20});
    free(large);
}

static bool is_cut(void *ctx)
{
    char text[32];
    (void)ctx;
    size_t size = 0;
    char *all = metrics_render(http_kit_metrics, &size);
    snprintf(text, sizeof(text), "reason=\"deadline\"} 1\n");
    bool found = strstr(all, text) != NULL;
    free(all);
    return found;
}

Test(http_slow_clients, gives_an_answer_a_deadline)
{
    http_kit_listen((struct http_server_options){.answer_ms = 100});
    add_route(http_kit_server, "GET", "/large", HTTP_OPEN, 0, hold_large, NULL);
    int fd = http_kit_dial();
    http_kit_send_text(fd, "GET /large HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(
        loop_run_until(http_kit_loop, is_cut, NULL, HTTP_KIT_WAIT_MS)); /* it reads nothing of it */
    close(fd);
}

/* Requests that wait for a handler have no deadline here. */
Test(http_slow_clients, lets_a_handler_take_its_time)
{
    http_kit_listen((struct http_server_options){.request_ms = 50});
    int fd = http_kit_dial();
    http_kit_send_text(fd, "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    struct http_kit_peer slow = {
        .fd = http_kit_dial()}; /* is cut after the time that the first one has waited */
    cr_assert(loop_run_until(http_kit_loop, http_kit_answered, &slow, HTTP_KIT_WAIT_MS));
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 408"), "%s", http_kit_answer);
    close(slow.fd);
    http_respond(http_kit_held, 200, "text/plain", TEXT("late"));
    http_kit_expect_answer(fd);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "late");
    close(fd);
}

/* All together, not only each. */
Test(http_slow_clients, limits_the_memory_of_bodies)
{
    enum { COUNT = 80 };
    int fds[COUNT];
    char *body = calloc(1, 1 << 20);
    memset(body, 'x', (1 << 20) - 1);
    uint32_t busy = 0;
    for (int i = 0; i < COUNT; i++) {
        fds[i] = http_kit_dial();
        http_kit_send_text(fds[i], "POST /huge HTTP/1.1\r\n" HTTP_KIT_HOST
                                   "Content-Length: 1048576\r\n\r\n");
        http_kit_send(fds[i], body, (1 << 20) - 1);
        turn(20);
    }
    for (int i = 0; i < COUNT; i++) {
        http_kit_send_text(fds[i], "x");
        http_kit_expect_answer(fds[i]);
        busy += http_kit_starts(http_kit_answer, "HTTP/1.1 503");
        cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 503") ||
                      http_kit_starts(http_kit_answer, "HTTP/1.1 200"),
                  "%s", http_kit_answer);
        close(fds[i]);
    }
    cr_assert(busy >= 10 && busy < COUNT / 2, "%u", busy);
    http_kit_post("/huge", "", 1 << 20); /* it was given back */
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    free(body);
}
