/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of the API: each declares its query parameters, and a request with an unknown or a
 * repeated one gets 400 before the handler sees it. A typing error in a filter must not select all
 * orders. */
#ifndef SERVICES_CONSOLE_API_ROUTES_H
#define SERVICES_CONSOLE_API_ROUTES_H

#include "platform/http/server.h"

enum { API_ROUTES_MAX = 64, API_PARAMETERS_MAX = 16 };

struct console;

struct api_route {
    const char *method;
    const char *pattern;
    http_handler handler; /* its userdata is the console */
    /* Of the query; ends with NULL. Only "attribute" may be given several times. */
    const char *parameters[API_PARAMETERS_MAX + 1];
    size_t body_max; /* 0 = OPERATOR_COMMAND_BODY_MAX */
};

/* A route of one console. */
struct api_binding {
    struct console *console;
    const struct api_route *route;
};

/* Adds the routes, which are static, to the console's server. */
void api_add_routes(struct console *console, const struct api_route routes[], size_t count);

#endif
