/* SPDX-License-Identifier: Apache-2.0 */
/* A route of a test's own server, in one line. */
#ifndef TESTS_LIB_HTTP_ROUTE_H
#define TESTS_LIB_HTTP_ROUTE_H

#include "platform/http/server.h"

static inline void add_route(struct http_server *server, const char *method, const char *pattern,
                             enum http_permission permission, size_t body_max, http_handler handler,
                             void *userdata)
{
    const struct http_route route = {.method = method,
                                     .pattern = pattern,
                                     .permission = permission,
                                     .handler = handler,
                                     .body_max = body_max};
    http_server_route(server, &route, userdata);
}

#endif
