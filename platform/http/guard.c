/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a request before a handler sees it: its origin, its route, its size. */
#include "base/numbers.h"
#include "base/percent.h"
#include "platform/http/internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ALLOW_SIZE = 128 };

/* ---- origin ---- */

/* The host of "host", "host:port", "[::1]:port". */
static struct text host_part(const char *authority)
{
    size_t size = strlen(authority);
    if (authority[0] == '[') {
        const char *end = strchr(authority, ']');
        return (struct text){authority + 1, end != NULL ? (uint32_t)(end - authority - 1) : 0};
    }
    const char *colon = strrchr(authority, ':');
    return (struct text){authority, (uint32_t)(colon != NULL ? (size_t)(colon - authority) : size)};
}

static bool same_host(struct text host, const char *name)
{
    return host.size == strlen(name) && strncasecmp(host.data, name, host.size) == 0;
}

static bool is_address(struct text host)
{
    char text[INET6_ADDRSTRLEN];
    uint8_t address[16];
    if (host.size >= sizeof(text))
        return false;
    snprintf(text, sizeof(text), "%.*s", TEXT_ARG(host));
    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* A hostile page can make the browser resolve the page's host name to this server's address; the
 * browser then sends that name. */
static bool is_foreign_host(const struct http_exchange *exchange)
{
    const struct http_server *server = exchange->server;
    static const char *const names[] = {"localhost", "127.0.0.1", "::1"};
    const char *authority = http_header(exchange, "Host");
    if (authority == NULL)
        return false;
    struct text host = host_part(authority);
    bool own = same_host(host, server->host) || (!server->loopback && is_address(host));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !own; i++)
        own = same_host(host, names[i]);
    for (size_t i = 0; i < server->host_count && !own; i++)
        own = same_host(host, server->hosts[i]);
    return !own;
}

bool http_cross_site(const struct http_exchange *exchange)
{
    const char *site = http_header(exchange, "Sec-Fetch-Site");
    const char *origin = http_header(exchange, "Origin");
    const char *host = http_header(exchange, "Host");
    if (site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return true;
    if (origin == NULL)
        return false;
    const char *authority = strstr(origin, "://");
    return authority == NULL || host == NULL || strcasecmp(authority + 3, host) != 0;
}

/* ---- route ---- */

/* One segment of the path against one of the pattern; a {name} is kept as a param. Any other
 * segment matches only as it is: percent-encoded, it is the value of a {name}. */
static bool match_segment(struct http_exchange *exchange, struct text pattern, struct text segment)
{
    char *value = strndup(segment.data, segment.size);
    assert(value != NULL);
    if (!percent_decode(value)) {
        free(value);
        return false;
    }
    bool is_name = pattern.size > 2 && pattern.data[0] == '{';
    bool matches = is_name ? value[0] != '\0' : text_equal(pattern, segment);
    if (!is_name || !matches) {
        free(value);
        return matches;
    }
    assert(exchange->param_count < HTTP_PARAMS_MAX);
    exchange->params[exchange->param_count].name = pattern.data + 1;
    exchange->params[exchange->param_count].size = pattern.size - 2;
    exchange->params[exchange->param_count++].value = value;
    return true;
}

static void forget_params(struct http_exchange *exchange)
{
    while (exchange->param_count > 0)
        free(exchange->params[--exchange->param_count].value);
}

/* Both begin with '/'. Segments are split before they are decoded: an id may hold an encoded
 * slash. */
static bool match_path(struct http_exchange *exchange, const char *pattern)
{
    const char *path = exchange->raw_path;
    bool matches = true;
    while (matches && *pattern == '/' && *path == '/') {
        struct text wanted = {pattern + 1, (uint32_t)strcspn(pattern + 1, "/")};
        struct text segment = {path + 1, (uint32_t)strcspn(path + 1, "/")};
        matches = match_segment(exchange, wanted, segment);
        pattern += 1 + wanted.size;
        path += 1 + segment.size;
    }
    matches = matches && *pattern == '\0' && *path == '\0';
    if (!matches)
        forget_params(exchange);
    return matches;
}

static bool has_method(const struct http_exchange *exchange, const char *method)
{
    return strcmp(exchange->method, method) == 0 ||
           (strcmp(exchange->method, "HEAD") == 0 && strcmp(method, "GET") == 0);
}

static void find_route(struct http_exchange *exchange)
{
    char allow[ALLOW_SIZE] = "";
    const struct http_server *server = exchange->server;
    for (size_t i = 0; i < server->route_count; i++) {
        const struct http_served_route *route = &server->routes[i];
        const char *method = route->row.method;
        if (!match_path(exchange, route->row.pattern))
            continue;
        if (has_method(exchange, method)) {
            exchange->route = route;
            return;
        }
        forget_params(exchange);
        size_t size = strlen(allow);
        snprintf(allow + size, sizeof(allow) - size, "%s%s%s", size > 0 ? ", " : "", method,
                 strcmp(method, "GET") == 0 ? ", HEAD" : "");
    }
    if (allow[0] == '\0' && server->missing.row.handler != NULL && has_method(exchange, "GET")) {
        exchange->route = &server->missing;
        return;
    }
    exchange->refusal = (struct http_refusal){404, CODE_NOT_FOUND, "no such path"};
    if (allow[0] != '\0') {
        http_set_header(exchange, "Allow", allow);
        exchange->refusal =
            (struct http_refusal){405, CODE_METHOD_NOT_ALLOWED,
                                  "this path does not accept the method; see the Allow header"};
    }
}

/* ---- size ---- */

size_t http_content_length(const struct http_exchange *exchange)
{
    const char *text = http_header(exchange, "Content-Length");
    if (text == NULL || !isdigit((unsigned char)text[0]))
        return 0;
    struct text rest = text_of(text);
    uint64_t length = SIZE_MAX;
    number_take(&rest, SIZE_MAX, &length);
    return (size_t)length;
}

static bool has_body(const struct http_exchange *exchange)
{
    return http_content_length(exchange) > 0 || http_header(exchange, "Transfer-Encoding") != NULL;
}

static bool is_not_json(const struct http_exchange *exchange)
{
    static const char json[] = "application/json";
    const char *type = http_header(exchange, "Content-Type");
    if (type == NULL || !has_body(exchange))
        return false;
    size_t size = strcspn(type, "; \t");
    return size != sizeof(json) - 1 || strncasecmp(type, json, size) != 0;
}

void http_guard(struct http_exchange *exchange)
{
    http_framing_check(exchange);
    if (exchange->refusal.status != 0)
        return;
    if (is_foreign_host(exchange))
        exchange->refusal = (struct http_refusal){
            403, CODE_FOREIGN_HOST,
            "the Host header does not name this server; http.allowed.hosts lists further names"};
    else if (!http_exchange_only_reads(exchange) && http_cross_site(exchange))
        exchange->refusal = (struct http_refusal){403, CODE_CROSS_ORIGIN,
                                                  "requests from other sites are not accepted"};
    else
        find_route(exchange);
    if (exchange->refusal.status == 0 && http_exchange_only_reads(exchange) && has_body(exchange))
        exchange->refusal = (struct http_refusal){400, CODE_UNEXPECTED_BODY,
                                                  "a request with this method takes no body"};
    if (exchange->refusal.status == 0)
        http_access_check(exchange);
    if (exchange->refusal.status == 0 && is_not_json(exchange))
        exchange->refusal = (struct http_refusal){
            415, CODE_NOT_JSON, "the body must be JSON, with Content-Type: application/json"};
    if (exchange->refusal.status == 0 &&
        http_content_length(exchange) > exchange->route->row.body_max)
        exchange->refusal =
            (struct http_refusal){413, CODE_TOO_LARGE, "the body is larger than this path accepts"};
}
