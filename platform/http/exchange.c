/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer. See server.h and internal.h. */
#include "base/percent.h"
#include "platform/http/internal.h"
#include "platform/http/json_answer.h"

#include <assert.h>
#include <jansson.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MESSAGE_SIZE = 512, BODY_FIRST = 4096 };

static const char security_policy[] =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'";

static char *copy(const char *text)
{
    char *copied = strdup(text);
    assert(copied != NULL);
    return copied;
}

/* ---- life ---- */

static enum MHD_Result add_pair(void *cls, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    struct http_exchange *exchange = cls;
    struct http_pair *grown =
        realloc(exchange->pairs, (exchange->pair_count + 1) * sizeof(*exchange->pairs));
    assert(grown != NULL);
    exchange->pairs = grown;
    struct http_pair *pair = &grown[exchange->pair_count++];
    *pair = (struct http_pair){kind, copy(name), copy(value != NULL ? value : "")};
    if (kind == MHD_GET_ARGUMENT_KIND)
        exchange->query_size += strlen("&=") + strlen(pair->name) + strlen(pair->value);
    if (kind == MHD_GET_ARGUMENT_KIND &&
        (!percent_decode(pair->name) || !percent_decode(pair->value)))
        exchange->refusal = (struct http_refusal){400, CODE_BAD_REQUEST, "the query is malformed"};
    return MHD_YES;
}

struct http_exchange *http_exchange_new(struct http_server *server,
                                        struct MHD_Connection *connection, const char *method,
                                        const char *raw_path)
{
    struct http_exchange *exchange = calloc(1, sizeof(*exchange));
    assert(exchange != NULL);
    exchange->server = server;
    exchange->connection = connection;
    exchange->method = copy(method);
    exchange->raw_path = copy(raw_path);
    exchange->path = copy(raw_path);
    if (!percent_decode(exchange->path))
        exchange->refusal = (struct http_refusal){400, CODE_BAD_REQUEST, "the path is malformed"};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_pair, exchange);
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_pair, exchange);
    exchange->next = server->exchanges;
    if (exchange->next != NULL)
        exchange->next->prev = exchange;
    server->exchanges = exchange;
    return exchange;
}

static void unlink_exchange(struct http_exchange *exchange)
{
    if (exchange->server == NULL)
        return;
    if (exchange->next != NULL)
        exchange->next->prev = exchange->prev;
    *(exchange->prev != NULL ? &exchange->prev->next : &exchange->server->exchanges) =
        exchange->next;
}

static void drop_body(struct http_exchange *exchange)
{
    if (exchange->server != NULL)
        exchange->server->body_bytes -= exchange->body_capacity;
    free(exchange->body);
    exchange->body = NULL;
    exchange->body_size = 0;
    exchange->body_capacity = 0;
}

void http_exchange_release(struct http_exchange *exchange)
{
    if (exchange->connection != NULL || exchange->handlers)
        return;
    drop_body(exchange);
    unlink_exchange(exchange);
    for (size_t i = 0; i < exchange->pair_count; i++) {
        free(exchange->pairs[i].name);
        free(exchange->pairs[i].value);
    }
    for (size_t i = 0; i < exchange->param_count; i++)
        free(exchange->params[i].value);
    for (size_t i = 0; i < exchange->header_count; i++) {
        free(exchange->headers[i].name);
        free(exchange->headers[i].value);
    }
    if (exchange->response != NULL)
        MHD_destroy_response(exchange->response);
    http_stream_free(exchange->stream);
    free(exchange->pairs);
    free(exchange->method);
    free(exchange->path);
    free(exchange->raw_path);
    free(exchange);
}

static void refuse_body(struct http_exchange *exchange, int status, enum error_code code,
                        const char *message)
{
    exchange->refusal = (struct http_refusal){status, code, message};
    drop_body(exchange);
}

bool http_exchange_take_body(struct http_exchange *exchange, const char *data, size_t size)
{
    exchange->received += size;
    if (exchange->refusal.status == 0 && exchange->received > exchange->route->row.body_max)
        refuse_body(exchange, 413, CODE_TOO_LARGE, "the body is larger than this path accepts");
    if (exchange->refusal.status != 0)
        return exchange->received <= HTTP_DISCARD_MAX;
    if (exchange->body_size + size + 1 > exchange->body_capacity) {
        size_t announced = http_content_length(exchange); /* at most body_max here */
        size_t capacity = exchange->body_capacity > 0 ? 2 * exchange->body_capacity
                          : announced > 0             ? announced + 1
                                                      : BODY_FIRST;
        while (capacity < exchange->body_size + size + 1)
            capacity *= 2;
        struct http_server *server = exchange->server;
        if (server->body_bytes + capacity - exchange->body_capacity > HTTP_BODIES_MAX) {
            refuse_body(exchange, 503, CODE_BUSY, "too many large requests at once; try again");
            return true;
        }
        server->body_bytes += capacity - exchange->body_capacity;
        exchange->body = realloc(exchange->body, capacity);
        assert(exchange->body != NULL);
        exchange->body_capacity = capacity;
    }
    memcpy(exchange->body + exchange->body_size, data, size);
    exchange->body_size += size;
    exchange->body[exchange->body_size] = '\0';
    return true;
}

/* ---- the request ---- */

const char *http_method(const struct http_exchange *exchange)
{
    return exchange->method;
}

const char *http_path(const struct http_exchange *exchange)
{
    return exchange->path;
}

const char *http_param(const struct http_exchange *exchange, const char *name)
{
    size_t size = strlen(name);
    const char *value = NULL;
    for (size_t i = 0; i < exchange->param_count; i++) {
        if (exchange->params[i].size == size && memcmp(exchange->params[i].name, name, size) == 0)
            value = exchange->params[i].value;
    }
    assert(value != NULL);
    return value;
}

static const char *find_pair(const struct http_exchange *exchange, enum MHD_ValueKind kind,
                             const char *name)
{
    for (size_t i = 0; i < exchange->pair_count; i++) {
        const struct http_pair *pair = &exchange->pairs[i];
        bool same = kind == MHD_HEADER_KIND ? strcasecmp(pair->name, name) == 0
                                            : strcmp(pair->name, name) == 0;
        if (pair->kind == kind && same)
            return pair->value;
    }
    return NULL;
}

const char *http_query(const struct http_exchange *exchange, const char *name)
{
    return find_pair(exchange, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_query_next(const struct http_exchange *exchange, const char *name, size_t *index)
{
    while (*index < exchange->pair_count) {
        const struct http_pair *pair = &exchange->pairs[(*index)++];
        if (pair->kind == MHD_GET_ARGUMENT_KIND && strcmp(pair->name, name) == 0)
            return pair->value;
    }
    return NULL;
}

const char *http_query_name(const struct http_exchange *exchange, size_t *index)
{
    while (*index < exchange->pair_count) {
        const struct http_pair *pair = &exchange->pairs[(*index)++];
        if (pair->kind == MHD_GET_ARGUMENT_KIND)
            return pair->name;
    }
    return NULL;
}

const char *http_header(const struct http_exchange *exchange, const char *name)
{
    return find_pair(exchange, MHD_HEADER_KIND, name);
}

struct text http_body(const struct http_exchange *exchange)
{
    return (struct text){exchange->body != NULL ? exchange->body : "",
                         (uint32_t)exchange->body_size};
}

bool http_gone(const struct http_exchange *exchange)
{
    if (exchange->connection == NULL)
        return true;
    /* libmicrohttpd does not read suspended connections; the end of the stream shows here. */
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == NULL)
        return false;
    struct pollfd poll_fd = {.fd = info->connect_fd, .events = POLLRDHUP};
    return poll(&poll_fd, 1, 0) > 0;
}

/* ---- the answer ---- */

void http_exchange_finish_response(struct http_exchange *exchange, struct MHD_Response *response,
                                   int status, const char *content_type)
{
    assert(exchange->response == NULL && status >= 100 && status < 600);
    assert(response != NULL);
    bool cache_control = false;
    if (content_type != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Content-Security-Policy", security_policy);
    MHD_add_response_header(response, "X-Frame-Options", "DENY");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    for (size_t i = 0; i < exchange->header_count; i++) {
        MHD_add_response_header(response, exchange->headers[i].name, exchange->headers[i].value);
        cache_control |= strcasecmp(exchange->headers[i].name, "Cache-Control") == 0;
    }
    if (!cache_control)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (exchange->server->draining || exchange->stream != NULL || http_framing_closes(exchange))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    exchange->response = response;
    exchange->status = (unsigned)status;
}

static void make_response(struct http_exchange *exchange, int status, const char *content_type,
                          struct text body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body.size, (void *)(uintptr_t)body.data, MHD_RESPMEM_MUST_COPY);
    http_exchange_finish_response(exchange, response, status, content_type);
}

void http_exchange_make_error(struct http_exchange *exchange, const struct http_refusal *refusal)
{
    json_t *problem = http_problem_new(refusal->status, error_code_text(refusal->code),
                                       text_of(refusal->message));
    char *json = json_dumps(problem, JSON_COMPACT);
    assert(json != NULL);
    json_decref(problem);
    make_response(exchange, refusal->status, HTTP_PROBLEM_TYPE, text_of(json));
    free(json);
}

void http_set_header(struct http_exchange *exchange, const char *name, const char *value)
{
    assert(exchange->header_count < HTTP_HEADERS_MAX);
    exchange->headers[exchange->header_count++] =
        (struct http_pair){MHD_HEADER_KIND, copy(name), copy(value)};
}

/* Nothing of the handler's answer is for this client any more, its headers included. */
static void make_revoked(struct http_exchange *exchange)
{
    static const struct http_refusal revoked = {
        .status = 401,
        .code = CODE_BAD_TOKEN,
        .message = "the token was revoked or has expired, or the login has ended"};
    while (exchange->header_count > 0) {
        struct http_pair *header = &exchange->headers[--exchange->header_count];
        free(header->name);
        free(header->value);
    }
    http_set_header(exchange, "WWW-Authenticate", HTTP_CHALLENGE ", error=\"invalid_token\"");
    http_exchange_make_error(exchange, &revoked);
}

static bool is_revoked_read(const struct http_exchange *exchange)
{
    bool reads = strcmp(exchange->method, "GET") == 0 || strcmp(exchange->method, "HEAD") == 0;
    return reads && exchange->route->row.permission != HTTP_OPEN &&
           !http_access_still_valid(exchange);
}

void http_respond(struct http_exchange *exchange, int status, const char *content_type,
                  struct text body)
{
    assert(exchange->handlers);
    exchange->handlers = false;
    if (exchange->connection == NULL) {
        http_exchange_release(exchange);
        return;
    }
    if (is_revoked_read(exchange))
        make_revoked(exchange);
    else
        make_response(exchange, status, content_type, body);
    if (exchange->suspended)
        http_server_resume(exchange);
}

void http_respond_error(struct http_exchange *exchange, int status, enum error_code code,
                        const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    http_respond_problem(exchange,
                         http_problem_new(status, error_code_text(code), text_of(message)));
}

void http_respond_failure(struct http_exchange *exchange, const struct error *error)
{
    int status = 500;
    switch (error->class) {
    case ERROR_REJECT:
        status = 400;
        break;
    case ERROR_RETRY:
    case ERROR_FENCED:
        status = 503;
        break;
    case ERROR_OK:
    case ERROR_FATAL:
    case ERROR_CLASS_COUNT:
        break;
    }
    http_respond_error_of(exchange, status, error);
}
