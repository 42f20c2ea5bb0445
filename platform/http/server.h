/* SPDX-License-Identifier: Apache-2.0 */
/* A small HTTP server inside the loop (libmicrohttpd without threads).
 *
 * A handler gets an exchange and answers it exactly once, at once or any time later. The exchange
 * stays valid until http_respond, even if the client has gone (the answer is then dropped). Built
 * in: /livez, /readyz, /metrics, JSON errors for unknown paths (404) and methods (405), and 413 for
 * bodies over the route's limit. On a loopback address the server refuses foreign Host headers (DNS
 * rebinding); it always refuses cross-origin requests with methods other than GET and HEAD. */
#ifndef PLATFORM_HTTP_SERVER_H
#define PLATFORM_HTTP_SERVER_H

#include "base/error.h"
#include "base/text.h"
#include "platform/loop.h"
#include "platform/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_server;
struct http_exchange;

enum {
    HTTP_BODY_MAX = 1 << 20, /* default limit of a route */
    HTTP_CONNECTIONS_MAX = 512,
    HTTP_IDLE_SECONDS = 60, /* a silent connection is closed */
    HTTP_PARAMS_MAX = 4,    /* {names} in one path pattern */
    HTTP_ROUTES_MAX = 64
};

typedef void (*http_handler)(struct http_exchange *exchange, void *userdata);

struct http_server_options {
    const char *host;        /* an address; "" or NULL = 127.0.0.1 */
    uint16_t port;           /* 0 = the system chooses */
    struct metrics *metrics; /* borrowed; shown at /metrics; may be NULL */
    /* Answers /readyz: true, or false with a reason for operators. NULL = always ready. */
    bool (*ready)(void *ctx, char *ret_reason, size_t reason_size);
    void *ctx;
};

/* Listens when it returns; serves once the loop runs. */
enum error_class http_server_new(struct loop *loop, const struct http_server_options *options,
                                 struct http_server **ret_server, struct error *ret_error);
/* Exchanges not answered yet get 503; they may (and must) still be answered afterwards, which
 * only frees them. */
void http_server_free(struct http_server *server);
uint16_t http_server_port(const struct http_server *server);
/* "http://127.0.0.1:8080", borrowed. */
const char *http_server_url(const struct http_server *server);

/* `pattern`: "/api/orders/{id}/history": a {name} matches one segment. The strings are
 * borrowed until http_server_free. `body_max` 0 = HTTP_BODY_MAX. The first route that matches wins.
 * A GET route also answers HEAD. */
void http_server_route(struct http_server *server, const char *method, const char *pattern,
                       size_t body_max, http_handler handler, void *userdata);
/* From now on /readyz answers 503 and connections close after their answer. */
void http_server_drain(struct http_server *server);

/* ---- the request: all borrowed until http_respond, all NUL-terminated and percent-decoded ---- */

const char *http_method(const struct http_exchange *exchange);
const char *http_path(const struct http_exchange *exchange);
/* The segment that matched {name}; asserts that the pattern has it. */
const char *http_param(const struct http_exchange *exchange, const char *name);
/* NULL = not given; "" = given without a value. */
const char *http_query(const struct http_exchange *exchange, const char *name);
/* Ignores case. NULL = not sent. */
const char *http_header(const struct http_exchange *exchange, const char *name);
struct text http_body(const struct http_exchange *exchange);
/* True once the server knows that the client has gone. */
bool http_gone(const struct http_exchange *exchange);

/* ---- the answer: steals the exchange ---- */

/* `body` is copied. */
void http_respond(struct http_exchange *exchange, int status, const char *content_type,
                  struct text body);
/* {"error": code, "message": text}. */
void http_respond_error(struct http_exchange *exchange, int status, const char *code,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The status by class: REJECT 400, RETRY and FENCED 503, FATAL 500. */
void http_respond_failure(struct http_exchange *exchange, const struct error *error);
/* Adds a header to the answer; at most 8; copied. */
void http_set_header(struct http_exchange *exchange, const char *name, const char *value);

#endif
