/* SPDX-License-Identifier: Apache-2.0 */
/* A small HTTP server inside the loop (libmicrohttpd without threads).
 *
 * A handler gets an exchange and answers it exactly once, at once or any time later. The exchange
 * stays valid until http_respond, even if the client has gone (the answer is then dropped). Built
 * in: /livez, /readyz, /metrics, JSON errors for unknown paths (404) and methods (405), 413 for
 * bodies over the route's limit, 414 and 431 for heads that are too large, and 415 for bodies that
 * are not JSON. access.h says who may do what. A request that a proxy could read in another way,
 * for example one with two Content-Length headers, is refused and ends its connection (framing.c).
 *
 * Pages of other sites reach nothing: the server refuses Host headers with a name that is not its
 * own (DNS rebinding), and cross-origin requests with methods other than GET and HEAD. If it
 * listens on an address that is not loopback, every IP address counts as its own: no page can give
 * itself such a name. */
#ifndef PLATFORM_HTTP_SERVER_H
#define PLATFORM_HTTP_SERVER_H

#include "base/error.h"
#include "base/text.h"
#include "platform/http/access.h"
#include "platform/http/groups.h"
#include "platform/http/routes.h"
#include "platform/loop.h"
#include "platform/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_server;
struct http_tls;

enum {
    HTTP_BODY_MAX = 1 << 20, /* default limit of a route */
    HTTP_CONNECTIONS_MAX = 512,
    HTTP_CONNECTIONS_PER_ADDRESS_MAX = 480, /* the rest is for others */
    HTTP_CONNECTIONS_RESERVED = 16,         /* beyond these: for /livez and /readyz only */
    HTTP_WAITS_MAX = 400,                   /* requests that wait; of the connections */
    HTTP_REQUEST_SECONDS = 20,              /* to send a request, head and body: 408 */
    HTTP_ANSWER_SECONDS = 60,               /* to take an answer */
    HTTP_IDLE_SECONDS = 60,                 /* until the next request of a connection */
    HTTP_TARGET_MAX = 12 * 1024,            /* bytes of path and query: 414 */
    HTTP_FIELDS_SIZE_MAX = 12 * 1024,       /* bytes of all headers: 431 */
    HTTP_FIELDS_MAX = 100,                  /* headers: 431 */
    HTTP_PARAMS_MAX = 4,                    /* {names} in one path pattern */
    HTTP_STREAMS_MAX = 150,                 /* streamed answers at a time; of those that wait */
    HTTP_STREAM_BUFFER_MAX = 256 * 1024,    /* bytes that a client has not taken */
    HTTP_STREAM_LAST_MAX = 1024,            /* bytes of a last text, which may exceed that */
    HTTP_ROUTES_MAX = 96
};

struct http_server_options {
    const char *host;        /* an address; "" or NULL = 127.0.0.1 */
    uint16_t port;           /* 0 = the system chooses */
    bool any_port;           /* it does as well where `port` is taken */
    struct metrics *metrics; /* borrowed; shown at /metrics; may be NULL */
    /* Answers /readyz: true, or false with a reason for operators. NULL = always ready. */
    bool (*ready)(void *ctx, char *ret_reason, size_t reason_size);
    /* Ready, but with something for operators to see, in one line: /readyz answers 200 with it.
     * NULL = never. */
    bool (*degraded)(void *ctx, char *ret_reason, size_t reason_size);
    void *ctx;
    struct http_access *access; /* borrowed; NULL = everyone may do everything */
    struct http_tls *tls;       /* borrowed; NULL = without TLS */
    /* The tables whose routes it may serve; ends with NULL. NULL = any. */
    const struct http_routes *const *routes;
    int64_t request_ms; /* 0 = HTTP_REQUEST_SECONDS */
    int64_t answer_ms;  /* 0 = HTTP_ANSWER_SECONDS */
};

/* Listens when it returns; serves once the loop runs. */
enum error_class http_server_new(struct loop *loop, const struct http_server_options *options,
                                 struct http_server **ret_server, struct error *ret_error);
/* Exchanges not answered yet get 503; they may (and must) still be answered afterwards, which
 * only frees them. */
void http_server_free(struct http_server *server);
uint16_t http_server_port(const struct http_server *server);
/* Whether only this machine can reach it. */
bool http_server_is_loopback(const struct http_server *server);
/* "http://127.0.0.1:8080" or "https://...", borrowed. */
const char *http_server_url(const struct http_server *server);
/* The same for programs on this machine: with the loopback address where the server listens on all
 * addresses. */
const char *http_server_local_url(const struct http_server *server);

/* Adds a route, after those that are there: the first one that matches wins. The row is copied;
 * what it refers to is borrowed until http_server_free(). */
void http_server_route(struct http_server *server, const struct http_route *route, void *userdata);
/* Adds all routes of a table. */
void http_server_routes(struct http_server *server, const struct http_routes *routes,
                        void *userdata);
/* /livez, /readyz and /metrics, which every server has. */
extern const struct http_routes http_built_in_routes;
/* /api/session, for browsers: GET says who the user is and what the user may do, POST logs in with
 * {"token": ...}, DELETE ends the login. Without userdata. */
extern const struct http_routes http_session_routes;
/* GET and HEAD of a path that no route has; the handler answers 404. Without one they get JSON. */
void http_server_missing(struct http_server *server, http_handler handler, void *userdata);
/* Requests may name this host as the server's. Copied; more than 64 are ignored. */
void http_server_allow_host(struct http_server *server, struct text host);
/* How many requests may wait (http_pending_wait()), in place of HTTP_WAITS_MAX. */
void http_server_limit_waits(struct http_server *server, uint32_t limit);
/* From now on /readyz answers 503 and connections close after their answer. */
void http_server_drain(struct http_server *server);

/* ---- the request: all borrowed until http_respond, all NUL-terminated and percent-decoded ---- */

const char *http_method(const struct http_exchange *exchange); /* for tests */
const char *http_path(const struct http_exchange *exchange);
/* The segment that matched {name}; asserts that the pattern has it. */
const char *http_param(const struct http_exchange *exchange, const char *name);
/* NULL = not given; "" = given without a value. */
const char *http_query(const struct http_exchange *exchange, const char *name);
/* All values of an argument that may be repeated: begin with *index = 0; NULL = no more. */
const char *http_query_next(const struct http_exchange *exchange, const char *name, size_t *index);
/* The names of all arguments, a repeated one each time: as http_query_next(). */
const char *http_query_name(const struct http_exchange *exchange, size_t *index);
/* Ignores case. NULL = not sent. The first of several; those about who asks, and about where the
 * request ends, are sent once (framing.c). */
const char *http_header(const struct http_exchange *exchange, const char *name);
struct text http_body(const struct http_exchange *exchange);
/* Whether a page of another site made the browser send it. */
bool http_cross_site(const struct http_exchange *exchange);
/* The name of the token that came with the request, or of the user that a trusted proxy passed on;
 * "" = neither. */
const char *http_user(const struct http_exchange *exchange);
/* The groups of that user by the group file, sorted; borrowed until the handler returns. Returns
 * how many. */
uint32_t http_user_groups(const struct http_exchange *exchange,
                          struct text ret_groups[USER_GROUPS_MAX]);
/* Whether it came with a token that is right. */
bool http_authenticated(const struct http_exchange *exchange);
/* Whether the token of the request, if it is bound, is bound to this value (bindings.h). */
bool http_permits(const struct http_exchange *exchange, enum http_binding binding,
                  struct text value);
/* "" = it is not bound. */
const char *http_bound_to(const struct http_exchange *exchange, enum http_binding binding);
/* Whether http.read.only is set. For routes that are HTTP_OPEN and change something: the others are
 * refused before their handler is called. */
bool http_read_only(const struct http_exchange *exchange);
/* Whether the role of the token permits it. Without authentication everything is permitted to
 * requests of this machine and of users that a trusted proxy names, and nothing to others. */
bool http_may(const struct http_exchange *exchange, enum http_permission permission);
/* True once the server knows that the client has gone. */
bool http_gone(const struct http_exchange *exchange);

/* ---- the answer: steals the exchange ---- */

/* `body` is copied. */
void http_respond(struct http_exchange *exchange, int status, const char *content_type,
                  struct text body);
/* The detail of a 503 ShuttingDown of a request that has done nothing. */
#define HTTP_SHUTTING_DOWN "this instance is shutting down; use another one"
/* {"error": code, "message": text}. */
void http_respond_error(struct http_exchange *exchange, int status, enum error_code code,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The status by class: REJECT 400, RETRY and FENCED 503, FATAL 500. */
void http_respond_failure(struct http_exchange *exchange, const struct error *error);
/* Adds a header to the answer; at most 8; copied. */
void http_set_header(struct http_exchange *exchange, const char *name, const char *value);

/* ---- an answer in pieces, over any time ---- */

struct http_stream;

/* The client has gone, or took nothing for the time of an answer. The stream and the request are
 * gone after the call; it is not made once http_stream_end() was called. */
typedef void (*http_stream_closed)(void *ctx);

/* Begins an answer without a length; the connection closes after it. The request stays valid as
 * long as the stream, and counts among those that wait. NULL: the client has gone, or was answered
 * 503 because there are HTTP_STREAMS_MAX, or its share of them. Streams end before
 * http_server_free(), which cuts the rest without a word. */
struct http_stream *http_respond_stream(struct http_exchange *exchange, const char *content_type,
                                        http_stream_closed closed, void *ctx);
/* Copies the text. False: HTTP_STREAM_BUFFER_MAX would be exceeded, and nothing of it was taken. */
bool http_stream_write(struct http_stream *stream, struct text text);
/* Bytes that wait for the client. */
size_t http_stream_pending(const struct http_stream *stream);
/* True once the client has closed its connection. */
bool http_stream_gone(const struct http_stream *stream);
/* The stream ends once the client has taken what waits and `last`, or after the time of an answer.
 * Steals the stream. */
void http_stream_end(struct http_stream *stream, struct text last);
/* Requests that wait: http_pending_wait(), and streams. */
uint32_t http_server_waits(const struct http_server *server);
/* Streams of the server that have not ended. */
uint32_t http_server_streams(const struct http_server *server);

#endif
