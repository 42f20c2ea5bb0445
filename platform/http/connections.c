/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a server: how many there may be, in all and from one address, and how long
 * each part of a request may take.
 *
 * Some are kept for probes (/livez and /readyz): connections beyond the others serve nothing else.
 *
 * A new connection always gets in while another one, of the same address or of all, only waits for
 * the rest of a request: the oldest such connection is cut. So clients that open connections and
 * send nothing, or slowly, do not keep others out. */
#include "platform/http/internal.h"
#include "platform/http/json_answer.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { TICK_MS_MAX = 1000, TIMEOUT_SIZE = 512 };

static int64_t now_ms(const struct http_server *server)
{
    return clock_mono_ms(loop_clock(server->loop));
}

static struct http_connection *of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

void http_connection_enters(struct MHD_Connection *mhd, enum http_phase phase)
{
    struct http_connection *connection = of(mhd);
    if (connection == NULL)
        return;
    /* Head and body of a first request share one deadline. */
    if (phase != HTTP_PHASE_BODY || connection->phase != HTTP_PHASE_FIRST)
        connection->since_ms = now_ms(connection->server);
    connection->phase = phase;
}

const uint8_t *http_connection_address(struct MHD_Connection *mhd)
{
    const struct http_connection *connection = of(mhd);
    assert(connection != NULL); /* from http_connection_notify() until it is closed */
    return connection->address;
}

bool http_connection_is_reserved(struct MHD_Connection *mhd)
{
    const struct http_connection *connection = of(mhd);
    return connection != NULL && connection->reserved;
}

/* ---- cutting ---- */

static void answer_timeout(int fd)
{
    char text[TIMEOUT_SIZE];
    json_t *problem = http_problem_new(408, error_code_text(CODE_TIMEOUT),
                                       TEXT("the request did not end in time"));
    char *body = json_dumps(problem, JSON_COMPACT);
    assert(body != NULL);
    json_decref(problem);
    int size = snprintf(text, sizeof(text),
                        "HTTP/1.1 408 Request Timeout\r\n"
                        "Connection: close\r\n"
                        "Content-Type: " HTTP_PROBLEM_TYPE "\r\n"
                        "Content-Length: %zu\r\n\r\n%s",
                        strlen(body), body);
    assert(size > 0 && (size_t)size < sizeof(text));
    free(body);
    send(fd, text, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* libmicrohttpd sees the end of the stream, and closes. */
static void cut(struct http_connection *connection, struct metrics_counter *counter, bool answer)
{
    connection->cut = true;
    answer = answer && connection->server->tls == NULL; /* a clear text is not for a TLS client */
    if (counter != NULL)
        metrics_add(counter, 1);
    if (answer)
        answer_timeout(connection->fd);
    shutdown(connection->fd, SHUT_RDWR);
}

static bool waits_for_request(const struct http_connection *connection)
{
    return !connection->cut &&
           (connection->phase == HTTP_PHASE_IDLE || connection->phase == HTTP_PHASE_FIRST ||
            connection->phase == HTTP_PHASE_BODY);
}

static int64_t limit_of(const struct http_connection *connection)
{
    const struct http_server *server = connection->server;
    switch (connection->phase) {
    case HTTP_PHASE_FIRST:
    case HTTP_PHASE_BODY:
        return server->request_ms;
    case HTTP_PHASE_IDLE:
        return HTTP_IDLE_SECONDS * 1000;
    case HTTP_PHASE_SENDING:
        return server->answer_ms;
    case HTTP_PHASE_ANSWERING: /* the handler has a deadline of its own */
        break;
    }
    return INT64_MAX;
}

static void on_tick(void *ctx)
{
    struct http_server *server = ctx;
    int64_t now = now_ms(server);
    for (struct http_connection *at = server->connections; at != NULL; at = at->next) {
        bool asked = at->phase == HTTP_PHASE_FIRST || at->phase == HTTP_PHASE_BODY;
        if (!at->cut && now - at->since_ms >= limit_of(at))
            cut(at, server->cut_deadline, asked);
    }
    http_waits_end_gone(server);
    if (server->connections != NULL)
        loop_timer_after(server->loop, &server->tick, server->tick_ms);
}

/* ---- accepting ---- */

/* IPv4 as the mapped IPv6 address. */
static void read_address(const struct sockaddr *address, uint8_t ret_address[HTTP_ADDRESS_SIZE])
{
    memset(ret_address, 0, HTTP_ADDRESS_SIZE);
    if (address != NULL && address->sa_family == AF_INET6) {
        memcpy(ret_address, &((const struct sockaddr_in6 *)address)->sin6_addr, HTTP_ADDRESS_SIZE);
    } else if (address != NULL && address->sa_family == AF_INET) {
        ret_address[10] = 0xff;
        ret_address[11] = 0xff;
        memcpy(ret_address + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
    }
}

/* Connections that are not cut, and the one among them that may be cut first. */
struct connection_group {
    uint32_t count;
    struct http_connection *oldest; /* that waits for a request; NULL = none */
};

static void add_to(struct connection_group *group, struct http_connection *connection)
{
    group->count += !connection->cut;
    if (waits_for_request(connection) &&
        (group->oldest == NULL || connection->since_ms <= group->oldest->since_ms))
        group->oldest = connection;
}

/* MHD_NO: the group is full of connections that may not be cut. */
static enum MHD_Result make_room(struct http_server *server, const struct connection_group *group,
                                 uint32_t limit)
{
    if (group->count < limit)
        return MHD_YES;
    if (group->oldest == NULL)
        return MHD_NO;
    cut(group->oldest, server->cut_limit, false);
    return MHD_YES;
}

enum MHD_Result http_connection_accept(void *cls, const struct sockaddr *peer, socklen_t peer_size)
{
    struct http_server *server = cls;
    uint8_t address[HTTP_ADDRESS_SIZE];
    struct connection_group all = {0};
    struct connection_group same = {0};
    struct connection_group reserved = {0};
    (void)peer_size;
    read_address(peer, address);
    /* The list has the newest first. */
    for (struct http_connection *at = server->connections; at != NULL; at = at->next) {
        add_to(at->reserved ? &reserved : &all, at);
        if (!at->reserved && memcmp(at->address, address, sizeof(address)) == 0)
            add_to(&same, at);
    }
    enum MHD_Result fits = same.count >= HTTP_CONNECTIONS_PER_ADDRESS_MAX
                               ? make_room(server, &same, HTTP_CONNECTIONS_PER_ADDRESS_MAX)
                               : make_room(server, &all, HTTP_CONNECTIONS_MAX);
    server->accepts_reserved = fits == MHD_NO;
    if (fits == MHD_NO)
        fits = make_room(server, &reserved, HTTP_CONNECTIONS_RESERVED);
    if (fits == MHD_NO && server->cut_limit != NULL)
        metrics_add(server->cut_limit, 1);
    return fits;
}

static void begin(struct http_server *server, struct MHD_Connection *mhd, void **socket_context)
{
    struct http_connection *connection = calloc(1, sizeof(*connection));
    assert(connection != NULL);
    *connection = (struct http_connection){.server = server,
                                           .mhd = mhd,
                                           .phase = HTTP_PHASE_FIRST,
                                           .reserved = server->accepts_reserved,
                                           .since_ms = now_ms(server),
                                           .next = server->connections};
    /* Each question overwrites the answer to the last: 1.0 answers all in the same place. */
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    assert(info != NULL);
    connection->fd = info->connect_fd;
    info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    read_address(info != NULL ? info->client_addr : NULL, connection->address);
    if (server->tls != NULL)
        connection->keys = http_tls_begin(server->tls, mhd);
    if (connection->next != NULL)
        connection->next->prev = connection;
    server->connections = connection;
    *socket_context = connection;
    if (!loop_timer_armed(&server->tick))
        loop_timer_after(server->loop, &server->tick, server->tick_ms);
}

static void end(struct http_server *server, void **socket_context)
{
    struct http_connection *connection = *socket_context;
    if (connection == NULL)
        return;
    *socket_context = NULL;
    if (connection->next != NULL)
        connection->next->prev = connection->prev;
    *(connection->prev != NULL ? &connection->prev->next : &server->connections) = connection->next;
    http_tls_keys_release(connection->keys);
    free(connection);
}

void http_connection_notify(void *cls, struct MHD_Connection *mhd, void **socket_context,
                            enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        begin(cls, mhd, socket_context);
    else
        end(cls, socket_context);
}

/* A connection whose handshake is not over yet has no certificate and begins again. */
static void cut_not_accepted(void *ctx)
{
    struct http_server *server = ctx;
    for (struct http_connection *at = server->connections; at != NULL; at = at->next) {
        if (!at->cut && !http_tls_accepts(server->tls, at->mhd))
            cut(at, NULL, false);
    }
}

void http_connections_init(struct http_server *server, const struct http_server_options *options)
{
    server->request_ms =
        options->request_ms > 0 ? options->request_ms : HTTP_REQUEST_SECONDS * 1000;
    server->answer_ms = options->answer_ms > 0 ? options->answer_ms : HTTP_ANSWER_SECONDS * 1000;
    http_waits_init(server);
    if (server->tls != NULL)
        http_tls_on_reload(server->tls, cut_not_accepted, server);
    server->tick_ms = server->request_ms < TICK_MS_MAX ? server->request_ms : TICK_MS_MAX;
    if (server->answer_ms < server->tick_ms)
        server->tick_ms = server->answer_ms;
    loop_timer_init(&server->tick, on_tick, server);
    if (server->metrics == NULL)
        return;
    static const char name[] = "reeve_http_connections_cut_total";
    static const char help[] = "HTTP connections that were cut: the request or the answer took too "
                               "long, or there were too many connections.";
    server->cut_deadline =
        metrics_counter(server->metrics, name, help, METRICS_LABEL("reason", "deadline"));
    server->cut_limit =
        metrics_counter(server->metrics, name, help, METRICS_LABEL("reason", "limit"));
}
