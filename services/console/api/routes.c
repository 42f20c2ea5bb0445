/* SPDX-License-Identifier: Apache-2.0 */
/* See routes.h. */
#include "services/console/api/routes.h"

#include "base/suggest.h"
#include "base/utf8.h"
#include "services/console/console.h"

#include <assert.h>
#include <stdio.h>

#define REPEATABLE "attribute"

enum { LIST_SIZE = 256 };

static size_t count_parameters(const struct api_route *route)
{
    size_t count = 0;
    while (route->parameters[count] != NULL)
        count++;
    return count;
}

static bool has_parameter(const struct api_route *route, const char *name)
{
    for (size_t i = 0; route->parameters[i] != NULL; i++) {
        if (strcmp(route->parameters[i], name) == 0)
            return true;
    }
    return false;
}

static void refuse_unknown(const struct api_route *route, const char *name,
                           struct http_exchange *exchange)
{
    char list[LIST_SIZE] = "";
    size_t size = 0;
    size_t count = count_parameters(route);
    if (!utf8_printable(text_of(name)))
        name = "(not printable)";
    const char *near = suggest_string(name, route->parameters, count);
    for (size_t i = 0; i < count && size < sizeof(list); i++)
        size += (size_t)snprintf(list + size, sizeof(list) - size, "%s%s", i > 0 ? ", " : "",
                                 route->parameters[i]);
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
static bool check_query(const struct api_route *route, struct http_exchange *exchange)
{
    const char *name;
    for (size_t index = 0; (name = http_query_name(exchange, &index)) != NULL;) {
        size_t next = 0;
        bool may_repeat = strcmp(name, REPEATABLE) == 0;
        if (!has_parameter(route, name)) {
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

static void serve(struct http_exchange *exchange, void *userdata)
{
    const struct api_binding *binding = userdata;
    if (check_query(binding->route, exchange))
        binding->route->handler(exchange, binding->console);
}

void api_add_routes(struct console *console, const struct api_route routes[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert(console->binding_count < API_ROUTES_MAX);
        assert(count_parameters(&routes[i]) <= API_PARAMETERS_MAX);
        struct api_binding *binding = &console->bindings[console->binding_count++];
        *binding = (struct api_binding){console, &routes[i]};
        bool reads = strcmp(routes[i].method, "GET") == 0;
        http_server_route(console->service->http, routes[i].method, routes[i].pattern,
                          reads ? HTTP_VIEW : HTTP_OPERATE,
                          routes[i].body_max > 0 ? routes[i].body_max : OPERATOR_COMMAND_BODY_MAX,
                          serve, binding);
    }
}
