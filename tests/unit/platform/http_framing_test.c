/* SPDX-License-Identifier: Apache-2.0 */
/* The status of requests that are too large or ambiguous, byte by byte, and what becomes of their
 * connection. */
#include "tests/unit/platform/http_server_kit.h"

#include <criterion/criterion.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(http_framing, .init = http_kit_open, .fini = http_kit_close);

enum { REQUEST_SIZE = 128 * 1024, POOL = 32 * 1024 };

static char request[REQUEST_SIZE];
static char filler[REQUEST_SIZE];

static const char *fill(size_t size)
{
    cr_assert_lt(size, sizeof(filler));
    memset(filler, 'a', size);
    filler[size] = '\0';
    return filler;
}

static int ask(void)
{
    return (int)strtol(http_kit_ask(request) + strlen("HTTP/1.1 "), NULL, 10);
}

/* ---- sizes ---- */

/* "/api/orders/x?limit=aaa": `size` bytes. */
static int ask_target(size_t size)
{
    static const char begin[] = "/api/orders/x?limit=";
    snprintf(request, sizeof(request), "GET %s%s HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n", begin,
             fill(size - strlen(begin)));
    return ask();
}

Test(http_framing, answers_414_beyond_the_limit)
{
    cr_assert_eq(ask_target(HTTP_TARGET_MAX - 1), 201);
    cr_assert_eq(ask_target(HTTP_TARGET_MAX + 1), 414);
    cr_assert_str_eq(http_kit_body(http_kit_answer),
                     HTTP_KIT_PROBLEM("URI Too Long", "414", "TooLong",
                                      "path and query are longer than 12288 bytes"));
    cr_assert_eq(ask_target(POOL - 1000), 414);
    cr_assert_eq(ask_target(2 * POOL), 414, "libmicrohttpd's own answer");
}

static int ask_headers(size_t count, size_t size)
{
    size_t used = (size_t)snprintf(request, sizeof(request), "GET /api/orders/x HTTP/1.1\r\n");
    used += (size_t)snprintf(request + used, sizeof(request) - used, HTTP_KIT_HOST);
    for (size_t i = 0; i + 1 < count; i++)
        used += (size_t)snprintf(request + used, sizeof(request) - used, "X-%03zu: %s\r\n", i,
                                 fill(size));
    snprintf(request + used, sizeof(request) - used, "\r\n");
    return ask();
}

Test(http_framing, answers_431_beyond_the_limits)
{
    size_t host = strlen(HTTP_KIT_HOST);
    size_t rest = strlen("X-000: \r\n");
    cr_assert_eq(ask_headers(2, HTTP_FIELDS_SIZE_MAX - host - rest), 201);
    cr_assert_eq(ask_headers(2, HTTP_FIELDS_SIZE_MAX - host - rest + 1), 431);
    cr_assert_str_eq(
        http_kit_body(http_kit_answer),
        HTTP_KIT_PROBLEM("Request Header Fields Too Large", "431", "HeadersTooLarge",
                         "there are more than 100 headers, or more than 12288 bytes of them"));
    cr_assert_eq(ask_headers(HTTP_FIELDS_MAX, 100), 201);
    cr_assert_eq(ask_headers(HTTP_FIELDS_MAX + 1, 1), 431);
    cr_assert_eq(ask_headers(3, POOL), 431, "libmicrohttpd's own answer");
    cr_assert_eq(ask_headers(3000, 1), 431, "libmicrohttpd's own answer");
}

/* All limits at once: what libmicrohttpd keeps of a request must leave room for the answer. */
Test(http_framing, answers_the_largest_head)
{
    size_t used = (size_t)snprintf(request, sizeof(request), "POST /api/orders/x/cancel?limit=%s",
                                   fill(HTTP_TARGET_MAX - 100));
    size_t each = HTTP_FIELDS_SIZE_MAX / HTTP_FIELDS_MAX - strlen("X-000: \r\n");
    used += (size_t)snprintf(request + used, sizeof(request) - used,
                             " HTTP/1.1\r\n" HTTP_KIT_HOST "Content-Length: 100\r\n");
    for (size_t i = 0; i + 2 < HTTP_FIELDS_MAX; i++)
        used += (size_t)snprintf(request + used, sizeof(request) - used, "X-%03zu: %s\r\n", i,
                                 fill(each));
    snprintf(request + used, sizeof(request) - used, "\r\n%s", fill(100));
    cr_assert_eq(ask(), 201, "%s", http_kit_answer);
    cr_assert(strstr(http_kit_body(http_kit_answer), "path=/api/orders/x/cancel") != NULL);
}

Test(http_framing, answers_413_and_415)
{
    http_kit_post("/api/orders/7/cancel", "", 100);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 201"), "%s", http_kit_answer);
    http_kit_post("/api/orders/7/cancel", "", 101);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 413"), "%s", http_kit_answer);
    snprintf(request, sizeof(request),
             "POST /count HTTP/1.1\r\n" HTTP_KIT_HOST
             "Content-Length: 99999999999999999999999\r\n\r\n");
    cr_assert_eq(ask(), 413, "%s", http_kit_answer);
    http_kit_post("/count", "Content-Type: text/plain\r\n", 4);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 415"), "%s", http_kit_answer);
}

Test(http_framing, answers_405_with_what_is_allowed)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "X"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        snprintf(request, sizeof(request),
                 "%s /livez HTTP/1.1\r\n" HTTP_KIT_HOST "Content-Length: 0\r\n\r\n", methods[i]);
        cr_expect_eq(ask(), 405, "%s: %s", methods[i], http_kit_answer);
        cr_expect(strstr(http_kit_answer, "\r\nAllow: GET, HEAD\r\n") != NULL, "%s",
                  http_kit_answer);
    }
    /* The method is wrong, whatever comes with it. */
    snprintf(request, sizeof(request),
             "GET /api/orders/7/cancel HTTP/1.1\r\n" HTTP_KIT_HOST "Content-Length: 2\r\n\r\n{}");
    cr_expect_eq(ask(), 405, "%s", http_kit_answer);
    snprintf(request, sizeof(request),
             "GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "Content-Length: 2\r\n\r\n{}");
    cr_expect_eq(ask(), 400, "%s", http_kit_answer);
}

/* ---- ambiguous requests ---- */

#define HIDDEN "GET /api/orders/hidden HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n"

static bool is_closed(void *ctx)
{
    struct http_kit_peer *peer = ctx;
    http_kit_answered(peer);
    return peer->closed;
}

/* Whatever follows the head is not taken for another request: the connection closes after `status`.
 * libmicrohttpd 1.0 itself refuses codings that it does not know: with 400 and not 501. */
static void expect_closed(const char *head, const char *rest, int status)
{
    struct http_kit_peer peer = {.fd = http_kit_dial()};
    snprintf(request, sizeof(request), "%s\r\n%s" HIDDEN, head, rest);
    http_kit_send_text(peer.fd, request);
    cr_expect(loop_run_until(http_kit_loop, is_closed, &peer, HTTP_KIT_WAIT_MS), "not closed: %s%s",
              head, http_kit_answer);
    long got = strtol(http_kit_answer + strlen("HTTP/1.1 "), NULL, 10);
    bool by_library = status == 501 && MHD_get_version()[0] >= '1' && got == 400;
    cr_expect(got == status || by_library, "%s%s", head, http_kit_answer);
    cr_expect(strstr(http_kit_answer, "hidden") == NULL, "%s%s", head, http_kit_answer);
    close(peer.fd);
}

Test(http_framing, refuses_bodies_whose_end_is_ambiguous)
{
    static const struct {
        const char *headers;
        const char *body;
        int status;
    } cases[] = {
        {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", 400},
        {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n", 400},
        {"Content-Length: 0\r\nContent-Length: 5\r\n", "hello", 400},
        {"Content-Length: 5\r\nContent-Length: 0\r\n", "hello", 400},
        {"Content-Length: 5\r\nContent-Length: 5\r\n", "hello", 400},
        {"Content-Length: 5, 5\r\n", "hello", 400},
        {"Content-Length: +5\r\n", "hello", 400},
        {"Content-Length: -1\r\n", "hello", 400},
        {"Content-Length: 5x\r\n", "hello", 400},
        {"Content-Length : 5\r\n", "hello", 400},
        {"Content-Length: 0\r\nTransfer-Encoding : chunked\r\n", "0\r\n\r\n", 400},
        {"Transfer-Encoding: xchunked\r\n", "0\r\n\r\n", 501},
        {"Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n", 501},
        {"Transfer-Encoding: identity\r\n", "", 501},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n", 400},
        {"Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\n", 400},
        {"Expect: 100-continue\r\nContent-Length: 5\r\nContent-Length: 0\r\n", "hello", 400},
        /* Folded lines: libmicrohttpd 0.9 makes a name of both. */
        {"Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n", 400},
        {"Transfer-Encoding:\r\n\tchunked\r\n", "0\r\n\r\n", 400},
        {"transfer-encoding: identity\r\n chunked\r\n", "0\r\n\r\n", 400},
        {"Content-Length:\r\n 5\r\n", "hello", 400},
        {"Content-Length: 0\r\n 5\r\n", "hello", 400},
        {"X-A: 1\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n", 400},
    };
    static const char *const targets[] = {"POST /count", "GET /livez", "POST /nowhere", "PUT /%zz"};
    char head[512];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
            snprintf(head, sizeof(head), "%s HTTP/1.1\r\n" HTTP_KIT_HOST "%s", targets[t],
                     cases[i].headers);
            expect_closed(head, cases[i].body, cases[i].status);
        }
    }
}

Test(http_framing, refuses_headers_that_are_malformed_or_repeated)
{
    static const char *const headers[] = {
        "Host: evil.example\r\n",
        "X-A : 1\r\n",
        "X A: 1\r\n",
        ("X-A: a\x01"
         "b\r\n"),
        "Authorization: Bearer a\r\nauthorization: Bearer b\r\n",
        "Origin: http://localhost\r\nOrigin: http://evil.example\r\n",
    };
    char head[512];
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        snprintf(head, sizeof(head), "GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST "%s", headers[i]);
        expect_closed(head, "", 400);
    }
    snprintf(request, sizeof(request),
             "GET /livez HTTP/1.1\r\n" HTTP_KIT_HOST
             "X-A: 1\r\nX-A: \xc3\xa9\t2\r\nX-!#$%%&'*+.^_`|~: 3\r\n\r\n");
    cr_assert_eq(ask(), 200, "%s", http_kit_answer);
}

/* libmicrohttpd 0.9 cuts a line at a NUL, 1.0 refuses it. Whatever a proxy takes for the coding,
 * what follows on the connection is not taken for a request. */
Test(http_framing, ends_the_connection_after_a_body_in_chunks)
{
    static const char nul[] = "POST /count HTTP/1.1\r\n" HTTP_KIT_HOST
                              "Transfer-Encoding: chunked\0x\r\n\r\n0\r\n\r\n" HIDDEN;
    struct http_kit_peer peer = {.fd = http_kit_dial()};
    http_kit_send(peer.fd, nul, sizeof(nul) - 1);
    cr_expect(loop_run_until(http_kit_loop, is_closed, &peer, HTTP_KIT_WAIT_MS));
    cr_expect(strstr(http_kit_answer, "hidden") == NULL, "%s", http_kit_answer);
    close(peer.fd);
    expect_closed("POST /count HTTP/1.1\r\n" HTTP_KIT_HOST "Transfer-Encoding: chunked\r\n",
                  "2\r\nhi\r\n0\r\n\r\n", 200);
    cr_expect(strstr(http_kit_answer, "\r\nConnection: close\r\n") != NULL, "%s", http_kit_answer);
    cr_expect_str_eq(http_kit_body(http_kit_answer), "got 2");
    expect_closed("POST /nowhere HTTP/1.1\r\n" HTTP_KIT_HOST "Transfer-Encoding: chunked\r\n",
                  "2\r\nhi\r\n0\r\n\r\n", 404);
}

/* Trailers come after the check of who asks. */
Test(http_framing, ignores_trailers)
{
    snprintf(request, sizeof(request),
             "POST /api/orders/7/cancel HTTP/1.1\r\n" HTTP_KIT_HOST
             "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Test: late\r\n\r\n");
    cr_assert_eq(ask(), 201, "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "header=(none) body=hi") != NULL, "%s", http_kit_answer);
}
