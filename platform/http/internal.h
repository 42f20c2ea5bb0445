/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by server.c (the daemon), exchange.c (requests and answers), waits.c (those that wait),
 * guard.c, framing.c and access_check.c (refusals before a handler sees a request). */
#ifndef PLATFORM_HTTP_INTERNAL_H
#define PLATFORM_HTTP_INTERNAL_H

#include "platform/http/access_internal.h"
#include "platform/http/server.h"
#include "platform/http/tls.h"

#include <microhttpd.h>

enum {
    HTTP_HEADERS_MAX = 8,           /* of an answer */
    HTTP_CONNECTIONS_SLACK = 256,   /* that were cut and are not closed yet */
    HTTP_BODIES_MAX = 64 * 1 << 20, /* bytes of all bodies that are held at a time */
    HTTP_HOSTS_MAX = 64,
    HTTP_DISCARD_MAX = 8 * 1 << 20, /* bytes of a refused body read before the connection is cut */
    HTTP_POOL_SIZE = 32 * 1024 /* for the head of a request and of its answer; libmicrohttpd's */
};

struct http_served_route {
    struct http_route row; /* its permission is what the server asks for; its body_max is set */
    void *userdata;
};

/* What a connection is doing. */
enum http_phase {
    HTTP_PHASE_FIRST,     /* sends the head of its first request */
    HTTP_PHASE_IDLE,      /* was answered, and may send another request */
    HTTP_PHASE_BODY,      /* sends the body of a request */
    HTTP_PHASE_ANSWERING, /* waits for a handler */
    HTTP_PHASE_SENDING    /* takes its answer */
};

struct http_connection {
    struct http_connection *prev, *next; /* of server->connections, the newest first */
    struct http_server *server;
    struct MHD_Connection *mhd;
    int fd;
    uint8_t address[HTTP_ADDRESS_SIZE];
    struct http_tls_keys *keys; /* NULL: without TLS */
    enum http_phase phase;
    int64_t since_ms; /* monotonic: the phase, or the phase before */
    bool reserved;    /* only for probes: the others were taken when it came */
    bool cut;         /* until libmicrohttpd has closed it */
};

struct http_server {
    struct loop *loop;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    struct loop_timer timer;
    struct loop_deferred deferred;
    struct http_access *access; /* borrowed; NULL: everyone may do everything */
    struct http_tls *tls;       /* borrowed; NULL: without TLS */
    struct metrics *metrics;
    struct metrics_counter *answers[6]; /* by hundreds of the status */
    bool (*ready)(void *ctx, char *ret_reason, size_t reason_size);
    bool (*degraded)(void *ctx, char *ret_reason, size_t reason_size);
    void *ctx;
    bool draining;
    bool closing; /* handlers may be gone: none is called any more */
    bool loopback;
    char host[64];
    char url[128];
    char local_url[128];
    uint16_t port;
    struct http_served_route routes[HTTP_ROUTES_MAX];
    size_t route_count;
    struct http_served_route missing;        /* handler NULL: there is none */
    const struct http_routes *const *tables; /* NULL: it may serve any route */
    struct http_exchange *exchanges;
    struct http_connection *connections;
    struct loop_timer tick; /* looks for deadlines while there are connections */
    int64_t tick_ms;
    int64_t request_ms;
    int64_t answer_ms;
    uint32_t waits_max;
    bool accepts_reserved; /* the connection that is being accepted is one of the reserved ones */
    struct metrics_counter *cut_deadline; /* NULL: without metrics */
    struct metrics_counter *cut_limit;
    struct metrics_counter *waits_refused; /* NULL: without metrics */
    struct metrics_gauge *waiting;
    size_t body_bytes; /* of all exchanges */
    uint32_t streams;  /* that are not freed */
    char
        *hosts[HTTP_HOSTS_MAX]; /* names that requests may give as this server's, besides its own */
    size_t host_count;
};

/* A header or a query argument; a copy, since it outlives the connection. */
struct http_pair {
    enum MHD_ValueKind kind;
    char *name;
    char *value;
};

/* An error that the server answers itself, without a handler. status 0 = none. */
struct http_refusal {
    int status;
    enum error_code code;
    const char *message;
};

/* Owned by libmicrohttpd's connection (until it is completed) and by the handler (until it
 * responds); freed by the last of them. */
struct http_exchange {
    struct http_server *server;        /* NULL once the server is gone */
    struct MHD_Connection *connection; /* NULL once completed */
    struct http_exchange *prev, *next; /* of server->exchanges */
    bool handlers;                     /* a handler owns it */
    bool handled;
    bool suspended;
    struct http_refusal refusal;
    bool closes; /* the connection, after the refusal: where the request ends is not sure */
    const struct http_served_route *route;
    struct http_identity identity;

    char *method;
    char *path; /* decoded */
    char *raw_path;
    struct http_pair *pairs;
    size_t pair_count;
    size_t query_size; /* bytes, the question mark included */
    struct {
        const char *name; /* into the pattern, `size` bytes */
        size_t size;
        char *value;
    } params[HTTP_PARAMS_MAX];
    size_t param_count;

    char *body;
    size_t body_size;
    size_t body_capacity; /* counts in server->body_bytes */
    size_t received;      /* discarded bytes included */

    struct http_pair headers[HTTP_HEADERS_MAX]; /* of the answer */
    size_t header_count;
    struct MHD_Response *response;
    unsigned status;
    /* See http_wait(). */
    bool waits;
    uint8_t address[HTTP_ADDRESS_SIZE]; /* of the client, if it has a share */
    void (*gone)(void *ctx);            /* NULL: the handler is not to be told */
    void *gone_ctx;
    struct http_stream *stream; /* the answer is one; its life is the exchange's */
};

/* GET or HEAD. */
static inline bool http_exchange_only_reads(const struct http_exchange *exchange)
{
    return strcmp(exchange->method, "GET") == 0 || strcmp(exchange->method, "HEAD") == 0;
}

/* exchange.c */
struct http_exchange *http_exchange_new(struct http_server *server,
                                        struct MHD_Connection *connection, const char *method,
                                        const char *raw_path);
/* Drops the caller's ownership; the last release frees the exchange. */
void http_exchange_release(struct http_exchange *exchange);
/* False = cut the connection: the client sent too much in spite of the limit. */
bool http_exchange_take_body(struct http_exchange *exchange, const char *data, size_t size);
void http_exchange_make_error(struct http_exchange *exchange, const struct http_refusal *refusal);

/* Adds the headers of every answer and those of the handler. */
void http_exchange_finish_response(struct http_exchange *exchange, struct MHD_Response *response,
                                   int status, const char *content_type);

/* stream.c; NULL is allowed. */
void http_stream_close(struct http_stream *stream); /* the client has gone */
void http_stream_cut(struct http_stream *stream);   /* the server ends */
void http_stream_free(struct http_stream *stream);

/* waits.c */
/* Requests that are held. */
struct http_tally {
    uint32_t all;
    uint32_t of_user;    /* of the client that asks for one more */
    uint32_t of_address; /* the same */
};
/* Counts one that is held; both have their clients' addresses. */
void http_tally_add(struct http_tally *tally, const struct http_exchange *exchange,
                    const struct http_exchange *held);
/* Whether one more of `limit` is left for this client. */
bool http_tally_has_share(const struct http_tally *tally, uint32_t limit);
void http_waits_init(struct http_server *server);
/* Before a handler lets a request wait because the client asked for that. Each token, and each
 * address, has a share of the limit: false = there is none left for this client, which was
 * answered 503 TooManyWaits. `gone`: the client has closed its connection, or its side of it, and
 * is to be answered soon, with what there is. It is called once, and not after the answer. */
bool http_wait(struct http_exchange *exchange, void (*gone)(void *ctx), void *ctx);
/* Whether this client may wait, with a stream or in another way. Counts a refusal. */
bool http_wait_has_share(struct http_exchange *exchange, bool stream);
/* Tells the handlers of those whose client has gone. */
void http_waits_end_gone(struct http_server *server);

/* connections.c */
void http_connections_init(struct http_server *server, const struct http_server_options *options);
/* For libmicrohttpd. */
enum MHD_Result http_connection_accept(void *cls, const struct sockaddr *peer, socklen_t peer_size);
void http_connection_notify(void *cls, struct MHD_Connection *mhd, void **socket_context,
                            enum MHD_ConnectionNotificationCode code);
void http_connection_enters(struct MHD_Connection *mhd, enum http_phase phase);
/* Whether it serves only probes. */
bool http_connection_is_reserved(struct MHD_Connection *mhd);
/* The peer's: HTTP_ADDRESS_SIZE bytes, borrowed. */
const uint8_t *http_connection_address(struct MHD_Connection *mhd);

/* framing.c: the refusal of a head that is too large, or that others could read in another way. */
void http_framing_check(struct http_exchange *exchange);
/* Whether nothing that follows the request on its connection is to be taken for another one. */
bool http_framing_closes(const struct http_exchange *exchange);

/* guard.c: sets the route and its params, or the refusal. */
void http_guard(struct http_exchange *exchange);
/* Content-Length; 0 = not given, SIZE_MAX = too large. */
size_t http_content_length(const struct http_exchange *exchange);

/* server.c: resumes the connection in the next turn. */
void http_server_resume(struct http_exchange *exchange);

#endif
