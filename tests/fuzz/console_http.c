/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/console_http.h"

#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "platform/http/server.h"

#include <assert.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUEST_MAX = 4096, QUERIES_MAX = 16, NAME_MAX_BYTES = 32 };

struct served_route {
    struct http_route row;
    void *userdata;
};

struct http_exchange {
    char memory[REQUEST_MAX + 1]; /* the request, with its parts ended by NUL */
    const char *method;
    char *path;
    char *query_names[QUERIES_MAX];
    char *query_values[QUERIES_MAX];
    uint32_t query_count;
    struct text body;
    const char *pattern;
    uint32_t param_count;
    char param_names[HTTP_PARAMS_MAX][NAME_MAX_BYTES];
    char params[HTTP_PARAMS_MAX][REQUEST_MAX + 1];
};

static struct served_route routes[HTTP_ROUTES_MAX];
static uint32_t route_count;
static uint32_t unanswered;

/* ---- what the console calls ---- */

void __wrap_http_server_route(struct http_server *server, const struct http_route *route,
                              void *userdata);
void __wrap_http_server_missing(struct http_server *server, http_handler handler, void *userdata);
uint32_t __wrap_http_server_streams(const struct http_server *server);
const char *__wrap_http_method(const struct http_exchange *exchange);
const char *__wrap_http_path(const struct http_exchange *exchange);
const char *__wrap_http_param(const struct http_exchange *exchange, const char *name);
const char *__wrap_http_query(const struct http_exchange *exchange, const char *name);
const char *__wrap_http_query_next(const struct http_exchange *exchange, const char *name,
                                   size_t *index);
const char *__wrap_http_query_name(const struct http_exchange *exchange, size_t *index);
const char *__wrap_http_header(const struct http_exchange *exchange, const char *name);
struct text __wrap_http_body(const struct http_exchange *exchange);
bool __wrap_http_cross_site(const struct http_exchange *exchange);
const char *__wrap_http_user(const struct http_exchange *exchange);
bool __wrap_http_gone(const struct http_exchange *exchange);
void __wrap_http_respond(struct http_exchange *exchange, int status, const char *content_type,
                         struct text body);
void __wrap_http_respond_error(struct http_exchange *exchange, int status, enum error_code code,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
void __wrap_http_respond_failure(struct http_exchange *exchange, const struct error *error);
void __wrap_http_set_header(struct http_exchange *exchange, const char *name, const char *value);
struct http_stream *__wrap_http_respond_stream(struct http_exchange *exchange,
                                               const char *content_type, http_stream_closed closed,
                                               void *ctx);
bool __wrap_http_pendings_admit(const struct http_pendings *set, struct http_exchange *exchange);
bool __wrap_http_pending_wait(struct http_pendings *set, struct http_pending *pending,
                              struct http_exchange *exchange, int64_t wait_ms);

/* The linker compares no types. */
#define REPLACES(function)                                                                 \
    _Static_assert(                                                                        \
        __builtin_types_compatible_p(__typeof__(function), __typeof__(__wrap_##function)), \
        #function)
REPLACES(http_server_route);
REPLACES(http_server_missing);
REPLACES(http_server_streams);
REPLACES(http_method);
REPLACES(http_path);
REPLACES(http_param);
REPLACES(http_query);
REPLACES(http_query_next);
REPLACES(http_query_name);
REPLACES(http_header);
REPLACES(http_body);
REPLACES(http_cross_site);
REPLACES(http_user);
REPLACES(http_gone);
REPLACES(http_respond);
REPLACES(http_respond_error);
REPLACES(http_respond_failure);
REPLACES(http_set_header);
REPLACES(http_respond_stream);
REPLACES(http_pendings_admit);
REPLACES(http_pending_wait);

void __wrap_http_server_route(struct http_server *server, const struct http_route *route,
                              void *userdata)
{
    (void)server;
    assert(route_count < HTTP_ROUTES_MAX);
    routes[route_count++] = (struct served_route){*route, userdata};
}

static size_t body_max_of(const struct http_route *route)
{
    return route->body_max > 0 ? route->body_max : HTTP_BODY_MAX;
}

void __wrap_http_server_missing(struct http_server *server, http_handler handler, void *userdata)
{
    (void)server;
    (void)handler;
    (void)userdata;
}

uint32_t __wrap_http_server_streams(const struct http_server *server)
{
    (void)server;
    return 0;
}

const char *__wrap_http_method(const struct http_exchange *exchange)
{
    return exchange->method;
}

const char *__wrap_http_path(const struct http_exchange *exchange)
{
    return exchange->path;
}

const char *__wrap_http_param(const struct http_exchange *exchange, const char *name)
{
    for (uint32_t i = 0; i < exchange->param_count; i++)
        if (strcmp(exchange->param_names[i], name) == 0)
            return exchange->params[i];
    assert(false);
    return NULL;
}

const char *__wrap_http_query_next(const struct http_exchange *exchange, const char *name,
                                   size_t *index)
{
    for (; *index < exchange->query_count; ++*index)
        if (strcmp(exchange->query_names[*index], name) == 0)
            return exchange->query_values[(*index)++];
    return NULL;
}

const char *__wrap_http_query_name(const struct http_exchange *exchange, size_t *index)
{
    return *index < exchange->query_count ? exchange->query_names[(*index)++] : NULL;
}

const char *__wrap_http_query(const struct http_exchange *exchange, const char *name)
{
    size_t index = 0;
    return __wrap_http_query_next(exchange, name, &index);
}

const char *__wrap_http_header(const struct http_exchange *exchange, const char *name)
{
    (void)exchange;
    (void)name;
    return NULL;
}

struct text __wrap_http_body(const struct http_exchange *exchange)
{
    return exchange->body;
}

bool __wrap_http_cross_site(const struct http_exchange *exchange)
{
    (void)exchange;
    return false;
}

const char *__wrap_http_user(const struct http_exchange *exchange)
{
    (void)exchange;
    return "";
}

bool __wrap_http_gone(const struct http_exchange *exchange)
{
    (void)exchange;
    return false;
}

void __wrap_http_respond(struct http_exchange *exchange, int status, const char *content_type,
                         struct text body)
{
    assert(unanswered > 0 && status >= 200 && status < 600);
    if (content_type != NULL && (strcmp(content_type, "application/json") == 0 ||
                                 strcmp(content_type, HTTP_PROBLEM_TYPE) == 0)) {
        json_t *json = json_loadb(body.data, body.size, JSON_ALLOW_NUL, NULL);
        assert(json != NULL);
        json_decref(json);
    }
    unanswered--;
    free(exchange);
}

void __wrap_http_respond_error(struct http_exchange *exchange, int status, enum error_code code,
                               const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    assert(code != CODE_NONE && status >= 400);
    __wrap_http_respond(exchange, status, NULL, text_of(message));
}

void __wrap_http_respond_failure(struct http_exchange *exchange, const struct error *error)
{
    http_respond_error_of(exchange, 503, error);
}

void __wrap_http_set_header(struct http_exchange *exchange, const char *name, const char *value)
{
    (void)exchange;
    assert(name != NULL && value != NULL);
}

/* The client has gone. */
struct http_stream *__wrap_http_respond_stream(struct http_exchange *exchange,
                                               const char *content_type, http_stream_closed closed,
                                               void *ctx)
{
    (void)closed;
    (void)ctx;
    __wrap_http_respond(exchange, 503, NULL, text_of(content_type));
    return NULL;
}

/* All requests are of one client, which has a share of everything. */
bool __wrap_http_pendings_admit(const struct http_pendings *set, struct http_exchange *exchange)
{
    (void)exchange;
    assert(!set->closed);
    return true;
}

bool __wrap_http_pending_wait(struct http_pendings *set, struct http_pending *pending,
                              struct http_exchange *exchange, int64_t wait_ms)
{
    http_pending_begin(set, pending, exchange, wait_ms);
    return true;
}

/* ---- a request ---- */

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. A NUL, as the server does not let one through, ends the text. */
static void decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool coded = *from == '%' && digit(from[1]) >= 0 && digit(from[2]) >= 0;
        *to++ = coded ? (char)(digit(from[1]) * 16 + digit(from[2])) : *from == '+' ? ' ' : *from;
        from += coded ? 2 : 0;
    }
    *to = '\0';
}

static void split_query(struct http_exchange *exchange, char *query)
{
    char *rest = query;
    char *pair;
    while (exchange->query_count < QUERIES_MAX && (pair = strsep(&rest, "&")) != NULL) {
        char *value = strchr(pair, '=');
        if (value != NULL)
            *value++ = '\0';
        else
            value = pair + strlen(pair);
        decode(pair);
        decode(value);
        exchange->query_names[exchange->query_count] = pair;
        exchange->query_values[exchange->query_count++] = value;
    }
}

static bool take_param(struct http_exchange *exchange, const char *name, size_t name_size,
                       const char *value, size_t size)
{
    if (size == 0)
        return false;
    uint32_t number = exchange->param_count++;
    assert(number < HTTP_PARAMS_MAX && name_size - 2 < NAME_MAX_BYTES);
    snprintf(exchange->param_names[number], NAME_MAX_BYTES, "%.*s", (int)name_size - 2, name + 1);
    snprintf(exchange->params[number], sizeof(exchange->params[number]), "%.*s", (int)size, value);
    decode(exchange->params[number]);
    return exchange->params[number][0] != '\0';
}

static bool matches(struct http_exchange *exchange, const struct http_route *route)
{
    const char *pattern = route->pattern;
    const char *path = exchange->path;
    exchange->param_count = 0;
    if (strcmp(route->method, exchange->method) != 0)
        return false;
    while (*pattern == '/' && *path == '/') {
        size_t wanted = strcspn(++pattern, "/");
        size_t size = strcspn(++path, "/");
        if (*pattern == '{') {
            if (!take_param(exchange, pattern, wanted, path, size))
                return false;
        } else if (wanted != size || strncmp(pattern, path, size) != 0) {
            return false;
        }
        pattern += wanted;
        path += size;
    }
    return *pattern == '\0' && *path == '\0';
}

void console_http_ask(struct text request)
{
    struct http_exchange *exchange = calloc(1, sizeof(*exchange));
    assert(exchange != NULL);
    memcpy(exchange->memory, request.data, request.size < REQUEST_MAX ? request.size : REQUEST_MAX);
    char *rest = exchange->memory;
    char *head = strsep(&rest, "\n");
    exchange->body = text_of(rest);
    exchange->method = strsep(&head, " ");
    exchange->path = head == NULL ? exchange->memory + REQUEST_MAX : strsep(&head, "?");
    if (head != NULL)
        split_query(exchange, head);
    for (uint32_t i = 0; i < route_count; i++)
        if (exchange->body.size <= body_max_of(&routes[i].row) &&
            matches(exchange, &routes[i].row)) {
            unanswered++;
            http_route_serve(&routes[i].row, exchange, routes[i].userdata);
            return;
        }
    free(exchange);
}

void console_http_end(void)
{
    assert(unanswered == 0); /* a handler forgot a request */
    route_count = 0;
}
