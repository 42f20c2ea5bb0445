/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds bytes to an HTTP server, on a connection of its own. A byte 0xFF cuts them into
 * pieces that are sent one after the other. Whatever arrives, the server answers with HTTP or
 * closes, keeps nothing of it, and goes on. The handlers use all that a handler can ask for.
 *
 * One server asks for tokens: nothing reaches a protected handler unless the bytes hold a token of
 * the right role. The other one, for bytes that name X-Forwarded-User, trusts a proxy. */
#include "base/utf8.h"
#include "platform/http/internal.h"
#include "platform/logger.h"
#include "tests/lib/http_route.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VIEWER "reeve_viewer"
#define OPERATOR "reeve_operator"
#define USER_HEADER "X-Forwarded-User"

enum { WITH_TOKENS, WITH_PROXY, SERVERS, INPUT_MAX = 16 * 1024 };
enum { TURNS_MAX = 2000, ANSWER_BYTES = 64 * 1024, BODY_MAX = 2000, INPUTS_PER_SERVER = 5000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct metrics *metrics;
static struct http_server *servers[SERVERS];
static struct http_access *accesses[SERVERS];
static struct http_server *server; /* of the present bytes */
static char token_path[] = "/tmp/reeve-http-fuzz-XXXXXX";
static char sent[INPUT_MAX]; /* the present bytes without 0xFF */
static size_t sent_size;
static struct http_exchange *held;
static uint32_t inputs;

/* ---- handlers ---- */

static void echo(struct http_exchange *exchange, void *userdata)
{
    static const char *const names[] = {"Host", "Content-Type", "X-A"};
    size_t size = strlen(http_method(exchange)) + strlen(http_path(exchange));
    (void)userdata;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *header = http_header(exchange, names[i]);
        size += header != NULL ? strlen(header) : 0;
    }
    const char *limit = http_query(exchange, "limit");
    size += limit != NULL ? strlen(limit) : 0;
    struct text body = http_body(exchange);
    assert(body.size <= BODY_MAX && body.data[body.size] == '\0');
    http_cross_site(exchange);
    http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%zu %u %.*s", size, body.size, 40,
                       http_path(exchange));
}

static void echo_param(struct http_exchange *exchange, void *userdata)
{
    assert(http_param(exchange, "id")[0] != '\0');
    http_set_header(exchange, "X-Id", "1");
    echo(exchange, userdata);
}

static bool holds(const char *text)
{
    return memmem(sent, sent_size, text, strlen(text)) != NULL;
}

static void guarded(struct http_exchange *exchange, void *userdata)
{
    const enum http_permission *permission = userdata;
    const char *user = http_user(exchange);
    assert(http_may(exchange, *permission));
    assert(utf8_printable(text_of(user)) && strlen(user) <= HTTP_USER_MAX);
    if (server == servers[WITH_TOKENS]) {
        assert(http_authenticated(exchange));
        assert(holds(OPERATOR) || (*permission == HTTP_VIEW && holds(VIEWER)));
        assert(strcmp(user, *permission == HTTP_VIEW && strcmp(user, "ann") == 0 ? "ann" : "bob") ==
               0);
    }
    echo(exchange, userdata);
}

/* Answered after the bytes. */
static void hold(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    if (held != NULL)
        http_respond(held, 200, "text/plain", TEXT("first"));
    held = exchange;
}

/* ---- the server ---- */

static void write_tokens(void)
{
    static const struct {
        const char *name, *role, *token;
    } tokens[] = {{"ann", "viewer", VIEWER}, {"bob", "operator", OPERATOR}};
    int fd = mkstemp(token_path);
    FILE *file = fdopen(fd, "w");
    assert(fd >= 0 && file != NULL);
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        uint8_t hash[HTTP_TOKEN_HASH_SIZE];
        http_token_hash(text_of(tokens[i].token), hash);
        fprintf(file, "%s %s sha256:", tokens[i].name, tokens[i].role);
        for (size_t at = 0; at < sizeof(hash); at++)
            fprintf(file, "%02x", hash[at]);
        fprintf(file, " 2026-01-01\n");
    }
    fclose(file);
}

static void open_access(int which)
{
    static const char *const proxies[] = {"127.0.0.1"};
    const struct http_access_options options = {.authenticates = which == WITH_TOKENS,
                                                .token_file = token_path,
                                                .user_header = USER_HEADER,
                                                .proxies = proxies,
                                                .proxy_count = 1};
    struct error error;
    enum error_class class = http_access_new(loop, NULL, &options, &accesses[which], &error);
    assert(class == ERROR_OK);
}

static struct http_server *open_server(struct http_access *access)
{
    static enum http_permission view = HTTP_VIEW, operate = HTTP_OPERATE;
    struct error error;
    struct http_server *made = NULL;
    struct http_server_options options = {.metrics = metrics, .access = access};
    enum error_class class = http_server_new(loop, &options, &made, &error);
    assert(class == ERROR_OK);
    http_server_routes(made, &http_session_routes, NULL);
    add_route(made, "GET", "/view", HTTP_VIEW, 0, guarded, &view);
    add_route(made, "POST", "/operate", HTTP_OPERATE, BODY_MAX, guarded, &operate);
    http_server_allow_host(made, TEXT("reeve.internal"));
    add_route(made, "GET", "/api/orders/{id}", HTTP_OPEN, 0, echo_param, NULL);
    add_route(made, "POST", "/api/orders/{id}/cancel", HTTP_OPEN, BODY_MAX, echo_param, NULL);
    add_route(made, "POST", "/orders", HTTP_OPEN, BODY_MAX, echo, NULL);
    add_route(made, "GET", "/hold", HTTP_OPEN, 0, hold, NULL);
    return made;
}

static void remove_tokens(void)
{
    unlink(token_path);
}

static void begin(void)
{
    struct error error;
    if (loop == NULL) {
        enum error_class class = loop_new(clock_real(), &loop, &error);
        assert(class == ERROR_OK);
        metrics = metrics_new();
        log_set_level(LOG_LEVEL_ERROR);
        write_tokens();
        atexit(remove_tokens);
    }
    if (inputs++ % INPUTS_PER_SERVER != 0)
        return;
    for (int i = 0; i < SERVERS; i++) {
        http_server_free(servers[i]);
        http_access_free(accesses[i]);
        open_access(i);
        servers[i] = open_server(accesses[i]);
    }
}

static void choose(const uint8_t *data, size_t size)
{
    sent_size = 0;
    for (size_t i = 0; i < size; i++) {
        if (data[i] != 0xff)
            sent[sent_size++] = (char)data[i];
    }
    server = servers[holds(USER_HEADER) ? WITH_PROXY : WITH_TOKENS];
}

/* libFuzzer's alarm can interrupt connect(); the connection then goes on being made (POSIX). */
static void finish_connecting(int fd)
{
    struct pollfd made = {.fd = fd, .events = POLLOUT};
    while (poll(&made, 1, -1) < 0)
        assert(errno == EINTR);
    int problem = 0;
    socklen_t size = sizeof(problem);
    int rc = getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    assert(rc == 0 && problem == 0);
}

static int dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(http_server_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger none = {1, 0}; /* so that no ports wait for their time */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0);
    int rc = setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    assert(rc == 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        assert(errno == EINTR);
        finish_connecting(fd);
    }
    rc = fcntl(fd, F_SETFL, O_NONBLOCK);
    assert(rc == 0);
    return fd;
}

static void turn(int count)
{
    for (int i = 0; i < count; i++)
        loop_once(loop, 0);
}

/* True: the server closed the connection. */
static bool read_answer(int fd, size_t *read)
{
    static char answer[ANSWER_BYTES];
    for (;;) {
        ssize_t got = recv(fd, answer, sizeof(answer), 0);
        if (got <= 0)
            return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
        if (*read == 0 && got >= 5)
            assert(memcmp(answer, "HTTP/", 5) == 0);
        *read += (size_t)got;
    }
}

static void send_pieces(int fd, const uint8_t *data, size_t size)
{
    size_t answered = 0;
    while (size > 0) {
        const uint8_t *end = memchr(data, 0xff, size);
        size_t piece = end != NULL ? (size_t)(end - data) : size;
        if (piece > 0 && send(fd, data, piece, MSG_NOSIGNAL) < 0)
            return;
        turn(3);
        if (read_answer(fd, &answered))
            return;
        size_t used = end != NULL ? piece + 1 : piece;
        data += used;
        size -= used;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > INPUT_MAX)
        return 0;
    begin();
    choose(data, size);
    int fd = dial();
    turn(2);
    send_pieces(fd, data, size);
    turn(3);
    if (held != NULL) {
        http_gone(held);
        http_respond(held, 200, "text/plain", TEXT("late"));
        held = NULL;
    }
    turn(3);
    close(fd);
    for (int i = 0; server->connections != NULL || server->exchanges != NULL; i++) {
        assert(i < TURNS_MAX);
        loop_once(loop, 0);
        if (held != NULL) {
            http_respond(held, 200, "text/plain", TEXT("later"));
            held = NULL;
        }
    }
    assert(server->body_bytes == 0);
    return 0;
}
