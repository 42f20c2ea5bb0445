/* SPDX-License-Identifier: Apache-2.0 */
/* The client against our server, and against peers that misbehave. */
#include "platform/http/client.h"
#include "platform/http/server.h"
#include "tests/lib/http_route.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 30000 };

static struct loop *loop;
static struct http_server *server;
static struct http_client *client;

/* The last result, copied. */
static struct {
    int count;
    enum http_outcome outcome;
    int status;
    bool timed_out, body_cut;
    int64_t retry_after_ms;
    char body[512];
    size_t body_size;
    char message[256];
} got;

static void on_result(const struct http_result *result, void *userdata)
{
    (void)userdata;
    got.count++;
    got.outcome = result->outcome;
    got.status = result->status;
    got.timed_out = result->timed_out;
    got.body_cut = result->body_cut;
    got.retry_after_ms = result->retry_after_ms;
    got.body_size = result->body.size;
    cr_assert(result->elapsed_us >= 0);
    snprintf(got.body, sizeof(got.body), "%.*s", TEXT_ARG(result->body));
    snprintf(got.message, sizeof(got.message), "%s", result->message);
}

static bool has_results(void *ctx)
{
    return got.count >= *(const int *)ctx;
}

static void await(int count)
{
    cr_assert(loop_run_until(loop, has_results, &count, WAIT_MS), "%d of %d results", got.count,
              count);
}

static void echo(struct http_exchange *exchange, void *userdata)
{
    char text[400];
    const char *key = http_header(exchange, "Idempotency-Key");
    const char *type = http_header(exchange, "Content-Type");
    (void)userdata;
    cr_assert(http_header(exchange, "Expect") == NULL);
    snprintf(text, sizeof(text), "%s key=%s type=%s body=%.*s", http_method(exchange),
             key != NULL ? key : "", type != NULL ? type : "", TEXT_ARG(http_body(exchange)));
    http_respond(exchange, 200, "text/plain", text_of(text));
}

static void busy(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    http_set_header(exchange, "Retry-After", "7");
    http_respond_error(exchange, 503, CODE_BUSY, "later");
}

static void redirect(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    http_set_header(exchange, "Location", "/echo");
    http_respond(exchange, 302, NULL, TEXT(""));
}

static void large(struct http_exchange *exchange, void *userdata)
{
    char *body = calloc(1, 300000);
    (void)userdata;
    http_respond(exchange, 200, "text/plain", (struct text){body, 300000});
    free(body);
}

static struct http_exchange *held;
static void hold(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    held = exchange;
}

static void open_both(void)
{
    struct error error = {0};
    struct http_server_options server_options = {0};
    struct http_client_options options = {.connect_timeout_ms = 2000, .response_max = 100000};
    cr_assert(loop_new(clock_real(), &loop, &error) == ERROR_OK, "%s", error.message);
    cr_assert(http_server_new(loop, &server_options, &server, &error) == ERROR_OK);
    cr_assert(http_client_new(loop, &options, &client, &error) == ERROR_OK);
    add_route(server, "POST", "/echo", HTTP_OPEN, 0, echo, NULL);
    add_route(server, "GET", "/echo", HTTP_OPEN, 0, echo, NULL);
    add_route(server, "DELETE", "/echo", HTTP_OPEN, 0, echo, NULL);
    add_route(server, "POST", "/busy", HTTP_OPEN, 0, busy, NULL);
    add_route(server, "POST", "/redirect", HTTP_OPEN, 0, redirect, NULL);
    add_route(server, "GET", "/large", HTTP_OPEN, 0, large, NULL);
    add_route(server, "POST", "/hold", HTTP_OPEN, 0, hold, NULL);
}

static void close_both(void)
{
    http_client_free(client);
    http_server_free(server);
    loop_free(loop);
}

TestSuite(http_client, .init = open_both, .fini = close_both);

static void start(const char *method, const char *path, const char *body)
{
    static const char *const headers[] = {"Idempotency-Key: a/b/do/1", NULL};
    char url[256];
    snprintf(url, sizeof(url), "%s%s", http_server_url(server), path);
    struct http_request request = {.method = method,
                                   .url = url,
                                   .headers = headers,
                                   .body = text_of(body),
                                   .timeout_ms = 20000};
    cr_assert(http_client_send(client, &request, on_result, NULL, NULL) == ERROR_OK);
    cr_assert(got.count == 0 || got.count > 0);
}

Test(http_client, posts_and_reads_the_answer)
{
    start("POST", "/echo", "{\"a\":1}");
    cr_assert(got.count == 0, "never from inside send");
    cr_assert(http_client_in_flight(client) == 1);
    await(1);
    cr_assert(got.outcome == HTTP_ANSWERED && got.status == 200);
    cr_assert_str_eq(got.body, "POST key=a/b/do/1 type=application/json body={\"a\":1}");
    cr_assert_str_eq(got.message, "");
    cr_assert(http_client_in_flight(client) == 0);
    start("GET", "/echo", NULL);
    await(2);
    cr_assert_str_eq(got.body, "GET key=a/b/do/1 type= body=");
    start("DELETE", "/echo", NULL);
    await(3);
    cr_assert_str_eq(got.body, "DELETE key=a/b/do/1 type= body=");
}

Test(http_client, passes_on_error_responses)
{
    start("POST", "/busy", "{}");
    await(1);
    cr_assert(got.outcome == HTTP_ANSWERED && got.status == 503 && got.retry_after_ms == 7000);
    start("POST", "/nowhere", "{}");
    await(2);
    cr_assert(got.outcome == HTTP_ANSWERED && got.status == 404 && got.retry_after_ms == -1);
    start("POST", "/redirect", "{}");
    await(3);
    cr_assert(got.outcome == HTTP_ANSWERED && got.status == 302, "redirects are not followed");
}

/* Some versions of libcurl take an encoded ".." for a step back as well. */
Test(http_client, sends_paths_as_they_are)
{
    static const char *const paths[] = {"/nowhere/../large", "/./large", "/nowhere/%2e%2e/large"};
    for (int i = 0; i < 3; i++) {
        start("GET", paths[i], NULL);
        await(i + 1);
        cr_expect_eq(got.status, 404, "%s: %d", paths[i], got.status);
    }
}

Test(http_client, cuts_bodies_at_the_limit)
{
    start("GET", "/large", NULL);
    await(1);
    cr_assert(got.outcome == HTTP_ANSWERED && got.status == 200);
    cr_assert(got.body_cut && got.body_size == 100000);
}

static void send_to(const char *url, int64_t timeout_ms)
{
    struct http_request request = {.url = url, .body = TEXT("{}"), .timeout_ms = timeout_ms};
    cr_assert(http_client_send(client, &request, on_result, NULL, NULL) == ERROR_OK);
}

/* ---- peers that misbehave ---- */

enum manner {
    NEVER_ACCEPTS,
    NEVER_ANSWERS,
    RESETS,
    CLOSES,
    HALF_AN_ANSWER,
    GARBAGE,
    ANSWERS_THEN_RESETS /* the first request is answered, the second one on the connection reset */
};

struct peer {
    enum manner manner;
    int listener;
    int fds[8];
    int count;
    int requests;
    char url[64];
};

static void reset(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static void end_connection(struct peer *peer, int fd)
{
    loop_fd_remove(loop, fd);
    close(fd);
    for (int i = 0; i < peer->count; i++) {
        if (peer->fds[i] == fd)
            peer->fds[i] = -1;
    }
}

static void on_peer_data(struct loop *self, int fd, unsigned events, void *userdata)
{
    static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf";
    char data[2048];
    struct peer *peer = userdata;
    (void)self;
    (void)events;
    if (recv(fd, data, sizeof(data), 0) <= 0) {
        end_connection(peer, fd);
        return;
    }
    peer->requests++;
    if (peer->manner == NEVER_ANSWERS)
        return;
    if (peer->manner == ANSWERS_THEN_RESETS && peer->requests == 1) {
        cr_assert(send(fd, whole, strlen(whole), MSG_NOSIGNAL) > 0);
        return;
    }
    if (peer->manner == ANSWERS_THEN_RESETS) {
        /* Nothing listens any more: the second try of libcurl itself is refused. */
        loop_fd_remove(loop, peer->listener);
        close(peer->listener);
        peer->listener = -1;
    }
    if (peer->manner == HALF_AN_ANSWER)
        cr_assert(send(fd, half, strlen(half), MSG_NOSIGNAL) > 0);
    if (peer->manner == GARBAGE)
        cr_assert(send(fd, "what?\r\n\r\n", 9, MSG_NOSIGNAL) > 0);
    if (peer->manner == RESETS || peer->manner == ANSWERS_THEN_RESETS)
        reset(fd);
    end_connection(peer, fd);
}

static void on_peer_connect(struct loop *self, int fd, unsigned events, void *userdata)
{
    struct peer *peer = userdata;
    (void)events;
    int accepted = accept(fd, NULL, NULL);
    cr_assert(accepted >= 0 && peer->count < 8);
    peer->fds[peer->count++] = accepted;
    cr_assert(loop_fd_add(self, accepted, LOOP_READ, on_peer_data, peer, NULL) == ERROR_OK);
}

static void open_peer(struct peer *peer, enum manner manner)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    *peer = (struct peer){.manner = manner, .listener = socket(AF_INET, SOCK_STREAM, 0)};
    cr_assert(bind(peer->listener, (struct sockaddr *)&address, sizeof(address)) == 0);
    cr_assert(getsockname(peer->listener, (struct sockaddr *)&address, &size) == 0);
    snprintf(peer->url, sizeof(peer->url), "http://127.0.0.1:%u/x",
             (unsigned)ntohs(address.sin_port));
    if (manner == NEVER_ACCEPTS)
        return; /* bound but not listening: refused */
    cr_assert(listen(peer->listener, 8) == 0);
    cr_assert(loop_fd_add(loop, peer->listener, LOOP_READ, on_peer_connect, peer, NULL) ==
              ERROR_OK);
}

static void close_peer(struct peer *peer)
{
    for (int i = 0; i < peer->count; i++) {
        if (peer->fds[i] >= 0)
            end_connection(peer, peer->fds[i]);
    }
    if (peer->listener >= 0) {
        loop_fd_remove(loop, peer->listener);
        close(peer->listener);
    }
}

Test(http_client, reports_requests_that_were_never_sent)
{
    struct peer peer;
    open_peer(&peer, NEVER_ACCEPTS);
    send_to(peer.url, 5000);
    await(1);
    cr_assert(got.outcome == HTTP_NOT_SENT && got.status == 0, "%s", got.message);
    cr_assert(strlen(got.message) > 0);
    close_peer(&peer);
    send_to("http://no-such-host.invalid/x", 5000);
    await(2);
    cr_assert(got.outcome == HTTP_NOT_SENT, "%s", got.message);
    send_to("http://127.0.0.1:99999/x", 5000);
    await(3);
    cr_assert(got.outcome == HTTP_NOT_SENT, "%s", got.message);
}

Test(http_client, sends_nothing_after_its_deadline)
{
    struct peer peer;
    open_peer(&peer, NEVER_ANSWERS);
    struct http_request request = {
        .url = peer.url, .body = TEXT("{}"), .timeout_ms = 5000, .send_within_ms = 1};
    cr_assert(http_client_send(client, &request, on_result, NULL, NULL) == ERROR_OK);
    int64_t begun_us = clock_mono_us(clock_real());
    while (clock_mono_us(clock_real()) < begun_us + 3000)
        continue; /* the loop is late */
    await(1);
    cr_assert(got.outcome == HTTP_NOT_SENT && !got.timed_out, "%s", got.message);
    cr_assert_str_eq(got.message, "too late to send it");
    cr_assert(peer.requests == 0);
    close_peer(&peer);
}

Test(http_client, sends_nothing_after_a_failed_tls_handshake)
{
    char url[128];
    snprintf(url, sizeof(url), "https://127.0.0.1:%u/x", (unsigned)http_server_port(server));
    send_to(url, 5000);
    await(1);
    cr_assert(got.outcome == HTTP_NOT_SENT, "%s", got.message);
}

Test(http_client, reports_maybe_sent_when_the_server_may_have_seen_the_request)
{
    static const enum manner manners[] = {NEVER_ANSWERS, RESETS, CLOSES, HALF_AN_ANSWER, GARBAGE};
    for (int i = 0; i < 5; i++) {
        struct peer peer;
        open_peer(&peer, manners[i]);
        send_to(peer.url, manners[i] == NEVER_ANSWERS ? 100 : 20000);
        await(i + 1);
        cr_assert(got.outcome == HTTP_MAYBE_SENT, "manner %d: %s", i, got.message);
        cr_assert(got.timed_out == (manners[i] == NEVER_ANSWERS));
        cr_assert(got.status == (manners[i] == HALF_AN_ANSWER ? 200 : 0));
        cr_assert(peer.requests == 1);
        close_peer(&peer);
    }
}

Test(http_client, reports_maybe_sent_when_a_reused_connection_was_dead)
{
    struct peer peer;
    open_peer(&peer, ANSWERS_THEN_RESETS);
    send_to(peer.url, 20000);
    await(1);
    cr_assert(got.outcome == HTTP_ANSWERED);
    send_to(peer.url, 20000);
    await(2);
    cr_assert(peer.requests == 2 && peer.count == 1, "the connection was used again");
    cr_assert(got.outcome == HTTP_MAYBE_SENT, "%s", got.message);
    close_peer(&peer);
}

Test(http_client, frees_calls_in_flight)
{
    start("POST", "/hold", "{}");
    while (held == NULL)
        loop_once(loop, 1000);
    start("POST", "/echo", "{}");
    http_client_free(client);
    client = NULL;
    http_respond(held, 200, "text/plain", TEXT("x"));
    for (int i = 0; i < 10; i++)
        loop_once(loop, 1);
    cr_assert(got.count == 0);
}

Test(http_client, accepts_only_http_urls)
{
    struct error error = {0};
    struct http_request request = {.url = "file:///etc/passwd", .timeout_ms = 1000};
    cr_assert(http_client_send(client, &request, on_result, NULL, &error) == ERROR_REJECT);
    cr_assert_eq(error.code, CODE_INVALID_URL);
    cr_assert(http_client_in_flight(client) == 0);
}

/* Each answered call starts the next one. */
static int left_to_start;
static void chain(const struct http_result *result, void *userdata)
{
    on_result(result, userdata);
    cr_assert(result->outcome == HTTP_ANSWERED && result->status == 200, "%s", result->message);
    if (left_to_start-- > 0) {
        char url[128];
        snprintf(url, sizeof(url), "%s/echo", http_server_url(server));
        struct http_request request = {.url = url, .body = TEXT("{}"), .timeout_ms = 30000};
        cr_assert(http_client_send(client, &request, chain, NULL, NULL) == ERROR_OK);
    }
}

Test(http_client, reuses_connections_for_hundreds_of_calls)
{
    enum { AT_ONCE = 400, TOTAL = 4000 };
    struct rlimit limit;
    cr_assert(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    left_to_start = TOTAL;
    for (int i = 0; i < AT_ONCE; i++)
        chain(&(struct http_result){.status = 200, .content_type = "", .message = ""}, NULL);
    got.count = 0;
    int wanted = TOTAL;
    await(wanted);
    cr_assert(got.count == wanted && http_client_in_flight(client) == 0);
}
