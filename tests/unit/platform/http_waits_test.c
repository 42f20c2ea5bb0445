/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait because their client wants to: how many each client may have, and what becomes
 * of those whose client has gone. */
#include "platform/http/pending.h"
#include "tests/lib/http_route.h"
#include "tests/unit/platform/http_server_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATH_SIZE = 256, REQUEST_SIZE = 512, OTHERS = 3 };

static char folder[] = "/tmp/reeve-waits-XXXXXX";
static char path[PATH_SIZE];
static char tokens[OTHERS][HTTP_TOKEN_SIZE];
static struct http_access *access_of_server;
static struct http_exchange *held[HTTP_CONNECTIONS_MAX];
static struct http_pendings waits;
static uint32_t refused;
static uint32_t gone;

static void on_gone(struct http_pending *pending)
{
    gone++;
    http_respond(http_pending_take(pending), 200, "text/plain", TEXT("what there is"));
}

static const struct http_pending_kind wait_kind = {.late = on_gone};

static void wait_for_it(struct http_exchange *exchange, void *userdata)
{
    struct http_pending *pending = calloc(1, sizeof(*pending));
    (void)userdata;
    if (http_pending_wait(&waits, pending, exchange, 0))
        return;
    free(pending);
    refused++;
}

static void open_kit(void)
{
    struct error error = {0};
    static const char *const proxies[] = {"127.0.0.9"};
    struct http_access_options options = {.authenticates = true,
                                          .token_file = path,
                                          .user_header = "X-User",
                                          .proxies = proxies,
                                          .proxy_count = 1};
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/tokens", folder);
    for (int i = 0; i < OTHERS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "v%d", i);
        cr_assert(http_tokens_add(path, text_of(name), HTTP_ROLE_VIEWER, 0, 0, tokens[i], &error) ==
                      ERROR_OK,
                  "%s", error.message);
    }
    http_kit_open();
    cr_assert(http_access_new(http_kit_loop, NULL, &options, &access_of_server, &error) ==
              ERROR_OK);
    http_kit_listen((struct http_server_options){.access = access_of_server});
    http_pendings_init(&waits, &wait_kind, http_kit_loop, NULL, NULL);
    add_route(http_kit_server, "GET", "/wait", HTTP_VIEW, 0, wait_for_it, NULL);
}

static void close_kit(void)
{
    for (uint32_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        if (held[i] != NULL)
            http_respond(held[i], 200, "text/plain", TEXT("over"));
    http_pendings_deinit(&waits);
    http_server_free(http_kit_server);
    http_kit_server = NULL;
    http_access_free(access_of_server);
    http_kit_close();
    unlink(path);
    rmdir(folder);
}

TestSuite(http_waits, .init = open_kit, .fini = close_kit);

static bool is_decided(void *ctx)
{
    return waits.count + refused == *(uint32_t *)ctx;
}

/* The connection; the request waits or is refused by then. */
static int begin_wait(uint32_t host, const char *token, const char *forwarded)
{
    char request[REQUEST_SIZE];
    uint32_t expected = waits.count + refused + 1;
    int fd = http_kit_dial_from(host);
    snprintf(request, sizeof(request),
             "GET /wait HTTP/1.1\r\n" HTTP_KIT_HOST "Authorization: Bearer %s\r\n%s%s%s\r\n", token,
             forwarded != NULL ? "X-Forwarded-For: " : "", forwarded != NULL ? forwarded : "",
             forwarded != NULL ? "\r\n" : "");
    http_kit_send_text(fd, request);
    cr_assert(loop_run_until(http_kit_loop, is_decided, &expected, HTTP_KIT_WAIT_MS));
    return fd;
}

/* Begins waits until one is refused. Returns how many were not. */
static uint32_t fill(uint32_t host, const char *token, const char *forwarded)
{
    uint32_t before = waits.count;
    uint32_t refused_before = refused;
    while (refused == refused_before) {
        int fd = begin_wait(host, token, forwarded);
        if (refused == refused_before)
            continue; /* it ends with the process */
        http_kit_expect_answer(fd);
        cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 503"), "%s", http_kit_answer);
        cr_assert(strstr(http_kit_answer, "TooManyWaits") != NULL, "%s", http_kit_answer);
        cr_assert(strstr(http_kit_answer, "\r\nRetry-After: 1\r\n") != NULL);
        close(fd);
    }
    return waits.count - before;
}

Test(http_waits, gives_each_token_a_share)
{
    cr_assert_eq(fill(2, tokens[0], NULL), HTTP_WAITS_MAX / 2, "half of all, from one address");
    cr_assert_eq(fill(3, tokens[0], NULL), 0, "another address does not help");
    cr_assert_eq(fill(3, tokens[1], NULL), HTTP_WAITS_MAX / 4, "half of what is left");
    cr_assert_eq(fill(4, tokens[2], NULL), HTTP_WAITS_MAX / 8);
    char request[REQUEST_SIZE];
    snprintf(request, sizeof(request),
             "GET /metrics HTTP/1.1\r\n" HTTP_KIT_HOST "Authorization: Bearer %s\r\n\r\n",
             tokens[1]);
    http_kit_ask(request);
    cr_assert(strstr(http_kit_answer, "\nreeve_http_waiting_requests 350\n") != NULL);
    cr_assert(strstr(http_kit_answer, "\nreeve_http_waits_refused_total 4\n") != NULL);
    http_server_limit_waits(http_kit_server, HTTP_WAITS_MAX / 2);
    cr_assert_eq(fill(5, tokens[2], NULL), 0);
}

/* Two tokens of one address, then of a client that the proxy tells from the others. */
Test(http_waits, gives_each_address_behind_a_proxy_a_share)
{
    uint32_t first = fill(9, tokens[0], "192.0.2.1");
    uint32_t second = fill(9, tokens[1], "192.0.2.1");
    cr_assert_eq(first, HTTP_WAITS_MAX / 2);
    cr_assert_eq(first + second, 2 * HTTP_WAITS_MAX / 3 + 1, "%u", first + second);
    cr_assert_eq(fill(9, tokens[2], "192.0.2.1"), 0, "the address has its share");
    cr_assert(fill(9, tokens[2], "192.0.2.2") > HTTP_WAITS_MAX / 8, "another has its own");
    http_kit_ask("GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
}

static bool all_gone(void *ctx)
{
    (void)ctx;
    return waits.count == 0;
}

Test(http_waits, ends_those_whose_client_has_gone)
{
    int fds[16];
    for (int i = 0; i < 16; i++)
        fds[i] = begin_wait(2, tokens[0], NULL);
    cr_assert_eq(waits.count, 16);
    cr_assert_eq(http_server_waits(http_kit_server), 16);
    for (int i = 1; i < 16; i++)
        close(fds[i]);
    cr_assert(shutdown(fds[0], SHUT_WR) == 0);
    cr_assert(loop_run_until(http_kit_loop, all_gone, NULL, HTTP_KIT_WAIT_MS));
    cr_assert_eq(gone, 16);
    cr_assert_eq(http_server_waits(http_kit_server), 0);
    http_kit_expect_answer(fds[0]); /* it closed its side only, and still reads */
    cr_assert_str_eq(http_kit_body(http_kit_answer), "what there is");
    close(fds[0]);
}

/* Whatever the others do. */
Test(http_waits, keeps_connections_for_probes)
{
    static const char *const probes[] = {"/livez", "/readyz"};
    char request[REQUEST_SIZE];
    for (uint32_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        snprintf(request, sizeof(request),
                 "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "Authorization: Bearer %s\r\n\r\n",
                 tokens[0]);
        http_kit_held = NULL;
        http_kit_send_text(http_kit_dial_from(2 + i % 2), request);
        cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
        held[i] = http_kit_held;
    }
    http_kit_held = NULL;
    int silent[2 * HTTP_CONNECTIONS_RESERVED]; /* they do not take the place of probes */
    for (int i = 0; i < 2 * HTTP_CONNECTIONS_RESERVED; i++)
        silent[i] = http_kit_dial_from(2);
    for (size_t i = 0; i < 2; i++) {
        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n", probes[i]);
        http_kit_ask(request);
        cr_expect(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
        cr_expect(strstr(http_kit_answer, "\r\nConnection: close\r\n") != NULL);
    }
    http_kit_ask("GET /api/orders/o-1 HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 503"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "\"Busy\"") != NULL, "%s", http_kit_answer);
    for (int i = 0; i < 2 * HTTP_CONNECTIONS_RESERVED; i++)
        close(silent[i]);
}
