/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd inside the loop: its epoll descriptor is one of ours, its timeout one of our
 * timers. It has no thread. See server.h. */
#include "platform/http/server.h"

#include "platform/http/internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REASON_SIZE = ERROR_MESSAGE_SIZE + 64, LAST_TURNS_MAX = 100 };

/* ---- what libmicrohttpd calls ---- */

static void count_answer(const struct http_server *server, unsigned status)
{
    if (server->metrics != NULL)
        metrics_add(server->answers[status / 100], 1);
}

static enum MHD_Result queue_response(struct http_exchange *exchange)
{
    struct MHD_Response *response = exchange->response;
    exchange->response = NULL;
    count_answer(exchange->server, exchange->status);
    enum MHD_Result result = MHD_queue_response(exchange->connection, exchange->status, response);
    MHD_destroy_response(response);
    http_connection_enters(exchange->connection, HTTP_PHASE_SENDING);
    return result;
}

/* Whatever else it was refused for: the connection is to be free for the next probe. */
static void keep_for_probes(struct http_exchange *exchange)
{
    exchange->closes = true;
    if (exchange->route != NULL && exchange->route->row.probe)
        return;
    http_set_header(exchange, "Retry-After", "1");
    exchange->refusal =
        (struct http_refusal){503, CODE_BUSY, "too many requests at once; try again"};
}

/* Called when the headers are complete. A body that will be refused is still read and dropped, up
 * to a limit, because many clients read the answer only after they have sent everything. */
static enum MHD_Result begin(struct http_exchange *exchange)
{
    http_guard(exchange);
    if (http_connection_is_reserved(exchange->connection))
        keep_for_probes(exchange);
    bool waits = http_header(exchange, "Expect") != NULL;
    bool discards =
        !exchange->closes && !waits && http_content_length(exchange) <= HTTP_DISCARD_MAX;
    if (exchange->refusal.status == 0 || discards)
        return MHD_YES;
    http_exchange_make_error(exchange, &exchange->refusal);
    return queue_response(exchange);
}

static const struct http_refusal shutting_down = {503, CODE_SHUTTING_DOWN, HTTP_SHUTTING_DOWN};

static void handle(struct http_exchange *exchange)
{
    exchange->handled = true;
    if (exchange->server->closing)
        exchange->refusal = shutting_down;
    if (exchange->refusal.status != 0) {
        http_exchange_make_error(exchange, &exchange->refusal);
        return;
    }
    exchange->handlers = true;
    http_connection_enters(exchange->connection, HTTP_PHASE_ANSWERING);
    http_route_serve(&exchange->route->row, exchange, exchange->route->userdata);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **connection_cls)
{
    struct http_exchange *exchange = *connection_cls;
    (void)version;
    if (exchange == NULL) {
        exchange = http_exchange_new(cls, connection, method, url);
        *connection_cls = exchange;
        http_connection_enters(connection, HTTP_PHASE_BODY);
        return begin(exchange);
    }
    if (*upload_data_size > 0) {
        bool taken = http_exchange_take_body(exchange, upload_data, *upload_data_size);
        *upload_data_size = 0;
        return taken ? MHD_YES : MHD_NO;
    }
    if (!exchange->handled)
        handle(exchange);
    if (exchange->response != NULL)
        return queue_response(exchange);
    exchange->suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **connection_cls,
                         enum MHD_RequestTerminationCode code)
{
    struct http_exchange *exchange = *connection_cls;
    (void)cls;
    (void)code;
    http_connection_enters(connection, HTTP_PHASE_IDLE);
    *connection_cls = NULL;
    if (exchange == NULL)
        return;
    exchange->connection = NULL;
    http_stream_close(exchange->stream);
    http_exchange_release(exchange);
}

/* guard.c decodes the path, segment by segment. */
static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

/* ---- the loop's side ---- */

static void run(void *ctx)
{
    struct http_server *server = ctx;
    unsigned long long timeout_ms = 0;
    MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES)
        loop_timer_cancel(server->loop, &server->timer);
    else if (timeout_ms == 0)
        loop_defer(server->loop, &server->deferred);
    else
        loop_timer_after(server->loop, &server->timer, (int64_t)timeout_ms);
}

static void on_ready(struct loop *loop, int fd, unsigned events, void *userdata)
{
    (void)loop;
    (void)fd;
    (void)events;
    run(userdata);
}

void http_server_resume(struct http_exchange *exchange)
{
    exchange->suspended = false;
    MHD_resume_connection(exchange->connection);
    loop_defer(exchange->server->loop, &exchange->server->deferred);
}

/* ---- the built-in paths ---- */

static void serve_livez(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    http_respond(exchange, 200, "text/plain", TEXT("ok\n"));
}

/* Appends to what the line says already, which ends with "degraded: ". */
static void add_reason(char *line, size_t line_size, bool first, const char *reason)
{
    size_t size = strlen(line);
    snprintf(line + size, line_size - size, "%s%s", first ? "" : "; ", reason);
}

/* "degraded: " and all that operators should know, or "ok". */
static void say_ready(const struct http_server *server, char *ret_line, size_t line_size)
{
    char reason[REASON_SIZE];
    bool first = true;
    snprintf(ret_line, line_size, "degraded: ");
    for (int i = 0; server->access != NULL && i < HTTP_ACCESS_FILE_COUNT; i++) {
        const char *outdated = http_access_degraded(server->access, i);
        if (outdated != NULL)
            add_reason(ret_line, line_size, first, outdated);
        first = first && outdated == NULL;
    }
    if (server->degraded != NULL && server->degraded(server->ctx, reason, sizeof(reason)))
        add_reason(ret_line, line_size, first, reason);
    else if (first)
        snprintf(ret_line, line_size, "ok");
}

static void serve_readyz(struct http_exchange *exchange, void *userdata)
{
    const struct http_server *server = userdata;
    char line[2 * REASON_SIZE] = "not ready";
    bool ready = !server->draining &&
                 (server->ready == NULL || server->ready(server->ctx, line, REASON_SIZE));
    if (server->draining)
        snprintf(line, sizeof(line), "draining");
    else if (ready)
        say_ready(server, line, sizeof(line) - 1);
    size_t size = strlen(line);
    line[size] = '\n';
    http_respond(exchange, ready ? 200 : 503, "text/plain",
                 (struct text){line, (uint32_t)size + 1});
}

static void serve_metrics(struct http_exchange *exchange, void *userdata)
{
    struct http_server *server = userdata;
    size_t size = 0;
    metrics_set(server->waiting, http_server_waits(server));
    char *text = metrics_render(server->metrics, &size);
    http_respond(exchange, 200, METRICS_CONTENT_TYPE, (struct text){text, (uint32_t)size});
    free(text);
}

static const struct http_route built_in[] = {
    {.method = "GET",
     .pattern = "/livez",
     .permission = HTTP_OPEN,
     .handler = serve_livez,
     .query = HTTP_NO_NAMES,
     .probe = true,
     .summary = "whether the process runs"},
    {.method = "GET",
     .pattern = "/readyz",
     .permission = HTTP_OPEN,
     .handler = serve_readyz,
     .query = HTTP_NO_NAMES,
     .probe = true,
     .summary = "whether it can do its work; else 503 and the reason"},
    {.method = "GET",
     .pattern = "/metrics",
     .permission = HTTP_VIEW,
     .handler = serve_metrics,
     .query = HTTP_NO_NAMES,
     .summary = "figures for Prometheus"},
};
const struct http_routes http_built_in_routes = HTTP_ROUTES(built_in);

static void add_built_in(struct http_server *server)
{
    static const char *const classes[] = {NULL, "1xx", "2xx", "3xx", "4xx", "5xx"};
    for (size_t i = 0; i < http_built_in_routes.count; i++)
        if (built_in[i].handler != serve_metrics || server->metrics != NULL)
            http_server_route(server, &built_in[i], server);
    if (server->metrics == NULL)
        return;
    for (int i = 1; i < 6; i++)
        server->answers[i] =
            metrics_counter(server->metrics, "reeve_http_responses_total",
                            "HTTP requests answered.", METRICS_LABEL("status", classes[i]));
}

/* ---- revoked tokens ---- */

/* Streams end, and reads that wait are refused when they are answered. What changes something was
 * permitted when it began, and its answer is that of what it did. */
static void end_revoked(void *ctx)
{
    struct http_server *server = ctx;
    for (struct http_exchange *exchange = server->exchanges; exchange != NULL;
         exchange = exchange->next) {
        if (exchange->stream == NULL || http_access_still_valid(exchange))
            continue;
        http_stream_close(exchange->stream);
        http_stream_cut(exchange->stream);
    }
}

/* ---- listening ---- */

static enum error_class fail(struct error *ret_error, const struct http_server *server,
                             const char *what)
{
    int code = errno;
    return error_set(ret_error, CODE_LISTEN, "cannot %s %s port %u: %s", what, server->host,
                     (unsigned)server->port, strerror(code));
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)address;
        return (ntohl(ipv4->sin_addr.s_addr) >> 24) == 127;
    }
    const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)address;
    return IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr);
}

static bool is_wildcard(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static void note_address(struct http_server *server, const struct sockaddr_storage *address)
{
    bool ipv6 = address->ss_family == AF_INET6;
    bool bare = ipv6 && strchr(server->host, ':') != NULL; /* and not a name */
    const char *scheme = server->tls != NULL ? "https" : "http";
    server->loopback = is_loopback(address);
    server->port = ntohs(ipv6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                              : ((const struct sockaddr_in *)address)->sin_port);
    snprintf(server->url, sizeof(server->url), "%s://%s%s%s:%u", scheme, bare ? "[" : "",
             server->host, bare ? "]" : "", (unsigned)server->port);
    if (is_wildcard(address))
        snprintf(server->local_url, sizeof(server->local_url), "%s://%s:%u", scheme,
                 ipv6 ? "[::1]" : "127.0.0.1", (unsigned)server->port);
    else
        memcpy(server->local_url, server->url, sizeof(server->local_url));
}

/* A listening socket, -1 with errno. */
static int open_socket(struct http_server *server, const struct addrinfo *info)
{
    int one = 1;
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
        bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
        note_address(server, &address);
        return fd;
    }
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

static enum error_class open_listener(struct http_server *server, bool any_port, int *ret_fd,
                                      struct error *ret_error)
{
    char port[8];
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *info = NULL;
    snprintf(port, sizeof(port), "%u", (unsigned)server->port);
    int rc = getaddrinfo(server->host, port, &hints, &info);
    if (rc != 0)
        return error_set(ret_error, CODE_CONFIG, "http.host %s: %s", server->host,
                         gai_strerror(rc));
    int fd = open_socket(server, info);
    int code = errno;
    freeaddrinfo(info);
    errno = code;
    if (fd < 0 && any_port && server->port != 0) {
        server->port = 0;
        return open_listener(server, false, ret_fd, ret_error);
    }
    if (fd < 0)
        return fail(ret_error, server, "listen on");
    *ret_fd = fd;
    return ERROR_OK;
}

/* Each connection gets the keys of its time: see http_tls_begin(). */
static void use_tls(const struct http_tls *tls, struct MHD_OptionItem ret_options[4])
{
    ret_options[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0,
                                             (void *)(uintptr_t)http_tls_cert(tls)};
    ret_options[1] =
        (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)http_tls_key(tls)};
    ret_options[2] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                             (void *)(uintptr_t)HTTP_TLS_PRIORITIES};
    ret_options[3] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

static enum error_class start_daemon(struct http_server *server, int fd, struct error *ret_error)
{
    struct MHD_OptionItem options[4] = {{MHD_OPTION_END, 0, NULL}};
    if (server->tls != NULL)
        use_tls(server->tls, options);
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (server->tls != NULL ? MHD_USE_TLS : 0u), 0,
        http_connection_accept, server, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
        NULL, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(HTTP_CONNECTIONS_MAX + HTTP_CONNECTIONS_RESERVED + HTTP_CONNECTIONS_SLACK),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_POOL_SIZE, MHD_OPTION_NOTIFY_CONNECTION,
        http_connection_notify, server, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_SECONDS,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (server->daemon == NULL) {
        close(fd);
        return fail(ret_error, server, "serve");
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    assert(info != NULL && info->epoll_fd >= 0);
    server->epoll_fd = info->epoll_fd;
    return loop_fd_add(server->loop, server->epoll_fd, LOOP_READ, on_ready, server, ret_error);
}

enum error_class http_server_new(struct loop *loop, const struct http_server_options *options,
                                 struct http_server **ret_server, struct error *ret_error)
{
    struct http_server *server = calloc(1, sizeof(*server));
    assert(server != NULL);
    const char *host =
        options->host != NULL && options->host[0] != '\0' ? options->host : "127.0.0.1";
    int fd = -1;
    server->loop = loop;
    server->epoll_fd = -1;
    server->port = options->port;
    server->metrics = options->metrics;
    server->ready = options->ready;
    server->degraded = options->degraded;
    server->ctx = options->ctx;
    server->access = options->access;
    server->tls = options->tls;
    server->tables = options->routes;
    snprintf(server->host, sizeof(server->host), "%s", host);
    loop_timer_init(&server->timer, run, server);
    loop_deferred_init(&server->deferred, run, server);
    http_connections_init(server, options);
    enum error_class class = open_listener(server, options->any_port, &fd, ret_error);
    if (class == ERROR_OK)
        class = start_daemon(server, fd, ret_error);
    if (class != ERROR_OK) {
        http_server_free(server);
        return class;
    }
    add_built_in(server);
    if (server->access != NULL)
        http_access_on_check(server->access, end_revoked, server);
    *ret_server = server;
    return ERROR_OK;
}

/* libmicrohttpd requires that no connection is suspended when it stops. */
static void answer_the_rest(struct http_server *server)
{
    server->draining = true;
    server->closing = true;
    for (struct http_exchange *exchange = server->exchanges; exchange != NULL;
         exchange = exchange->next) {
        http_stream_cut(exchange->stream);
        if (!exchange->suspended)
            continue;
        http_exchange_make_error(exchange, &shutting_down);
        http_server_resume(exchange);
    }
    for (int turn = 0; turn < LAST_TURNS_MAX; turn++) {
        unsigned long long timeout_ms = 0;
        MHD_run(server->daemon);
        if (MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES || timeout_ms > 0)
            break;
    }
}

void http_server_free(struct http_server *server)
{
    if (server == NULL)
        return;
    if (server->access != NULL)
        http_access_on_check(server->access, NULL, NULL);
    if (server->tls != NULL)
        http_tls_on_reload(server->tls, NULL, NULL);
    if (server->daemon != NULL) {
        answer_the_rest(server);
        loop_fd_remove(server->loop, server->epoll_fd);
        MHD_stop_daemon(server->daemon);
    }
    loop_timer_cancel(server->loop, &server->timer);
    loop_timer_cancel(server->loop, &server->tick);
    loop_defer_cancel(server->loop, &server->deferred);
    assert(server->connections == NULL);
    for (struct http_exchange *exchange = server->exchanges; exchange != NULL;
         exchange = exchange->next) {
        assert(exchange->handlers && exchange->connection == NULL);
        exchange->server = NULL;
    }
    for (size_t i = 0; i < server->host_count; i++)
        free(server->hosts[i]);
    free(server);
}

/* Whether a table of the service has it. The pattern may differ, by a name that is filled in. */
static bool is_listed(const struct http_server *server, const struct http_route *route)
{
    for (size_t t = 0; server->tables != NULL && server->tables[t] != NULL; t++) {
        const struct http_routes *table = server->tables[t];
        for (size_t i = 0; i < table->count; i++)
            if (table->rows[i].handler == route->handler &&
                strcmp(table->rows[i].method, route->method) == 0)
                return true;
    }
    return server->tables == NULL;
}

void http_server_route(struct http_server *server, const struct http_route *route, void *userdata)
{
    assert(route->permission >= HTTP_OPEN && route->permission < HTTP_PERMISSION_COUNT);
    assert(route->pattern[0] == '/' && route->handler != NULL);
    assert(route->body_max < UINT32_MAX && server->route_count < HTTP_ROUTES_MAX);
    assert(is_listed(server, route));
    struct http_served_route *served = &server->routes[server->route_count++];
    *served = (struct http_served_route){.row = *route, .userdata = userdata};
    if (route->body_max == 0)
        served->row.body_max = HTTP_BODY_MAX;
    if (route->or_else != NULL)
        served->row.permission = HTTP_OPEN;
}

void http_server_missing(struct http_server *server, http_handler handler, void *userdata)
{
    assert(handler != NULL);
    server->missing = (struct http_served_route){
        {.method = "GET", .permission = HTTP_OPEN, .body_max = HTTP_BODY_MAX, .handler = handler},
        userdata};
}

void http_server_allow_host(struct http_server *server, struct text host)
{
    if (server->host_count == HTTP_HOSTS_MAX || text_empty(host))
        return;
    char *copy = strndup(host.data, host.size);
    assert(copy != NULL);
    server->hosts[server->host_count++] = copy;
}

void http_server_limit_waits(struct http_server *server, uint32_t limit)
{
    assert(limit > 0 && limit <= HTTP_WAITS_MAX);
    server->waits_max = limit;
}

void http_server_drain(struct http_server *server)
{
    server->draining = true;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

bool http_server_is_loopback(const struct http_server *server)
{
    return server->loopback;
}

uint32_t http_server_streams(const struct http_server *server)
{
    return server->streams;
}

const char *http_server_url(const struct http_server *server)
{
    return server->url;
}

const char *http_server_local_url(const struct http_server *server)
{
    return server->local_url;
}
