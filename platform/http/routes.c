/* SPDX-License-Identifier: Apache-2.0 */
/* See routes.h. */
#include "platform/http/routes.h"

#include "base/suggest.h"
#include "base/utf8.h"
#include "platform/http/server.h"

#include <stdio.h>
#include <string.h>

enum { LIST_SIZE = 256 };

static size_t count_names(const char *const names[])
{
    size_t count = 0;
    while (names[count] != NULL)
        count++;
    return count;
}

static bool has_name(const char *const names[], const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static void refuse_unknown(const struct http_route *route, const char *name,
                           struct http_exchange *exchange)
{
    char list[LIST_SIZE] = "";
    size_t size = 0;
    size_t count = count_names(route->query);
    if (!utf8_printable(text_of(name)))
        name = "(not printable)";
    const char *near = suggest_string(name, route->query, count);
    for (size_t i = 0; i < count && size < sizeof(list); i++)
        size += (size_t)snprintf(list + size, sizeof(list) - size, "%s%s", i > 0 ? ", " : "",
                                 route->query[i]);
    if (near != NULL)
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "unknown parameter %.64s: did you mean %s?", name, near);
    else if (count > 0)
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "unknown parameter %.64s: expected %s",
                           name, list);
    else
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "unknown parameter %.64s: this path takes no parameters", name);
}

/* False: answered. */
static bool check_query(const struct http_route *route, struct http_exchange *exchange)
{
    const char *name;
    for (size_t index = 0; (name = http_query_name(exchange, &index)) != NULL;) {
        size_t next = 0;
        bool may_repeat = route->repeats != NULL && strcmp(name, route->repeats) == 0;
        if (!has_name(route->query, name)) {
            refuse_unknown(route, name, exchange);
            return false;
        }
        http_query_next(exchange, name, &next);
        if (!may_repeat && http_query_next(exchange, name, &next) != NULL) {
            http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                               "%s is given more than once: give it once", name);
            return false;
        }
    }
    return true;
}

void http_server_routes(struct http_server *server, const struct http_routes *routes,
                        void *userdata)
{
    for (size_t i = 0; i < routes->count; i++)
        http_server_route(server, &routes->rows[i], userdata);
}

void http_route_serve(const struct http_route *route, struct http_exchange *exchange,
                      void *userdata)
{
    if (route->query != NULL && !check_query(route, exchange))
        return;
    if (route->is_open == NULL || route->is_open(exchange, userdata))
        route->handler(exchange, userdata);
}
