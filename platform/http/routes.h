/* SPDX-License-Identifier: Apache-2.0 */
/* Routes as tables. A row is all that there is to know about a route: the server serves it, and the
 * index of the console's API, `reeve token roles`, docs/operate/access.md and the tests of
 * docs/reference/openapi/ show it. Tables are constants; each service lists its own
 * (replica/service/service.h), and serves no other. */
#ifndef PLATFORM_HTTP_ROUTES_H
#define PLATFORM_HTTP_ROUTES_H

#include "platform/http/access.h"

#include <stdbool.h>
#include <stddef.h>

struct http_exchange;

typedef void (*http_handler)(struct http_exchange *exchange, void *userdata);

/* Before the handler: whether it may answer now. False: this function has answered. */
typedef bool (*http_is_open)(struct http_exchange *exchange, void *userdata);

struct http_route {
    const char *method;  /* a GET route also answers HEAD, and takes no body */
    const char *pattern; /* "/api/orders/{id}/history": a {name} matches one segment */
    enum http_permission permission;
    http_handler handler;
    http_is_open is_open; /* NULL: it is always open */
    /* The query's parameters: a request with an unknown one, or with one given twice (except
     * `repeats`), gets 400. A typing error in a filter must not select all orders. NULL: they are
     * not checked, as those of the console's pages. */
    const char *const *query;
    const char *repeats;     /* NULL: none may be repeated */
    const char *const *body; /* the fields of a JSON object, for the index; NULL: not listed */
    size_t body_max;         /* bytes; 0 = HTTP_BODY_MAX */
    bool probe;              /* also served by the connections that are kept for that */
    const char *summary;     /* a line of the index and of the documentation */
    /* What the handler refuses in spite of the permission: "of its own orders". NULL: nothing. */
    const char *only;
    /* What the handler accepts in place of the permission, which it asks for itself (http_may()):
     * "with the URL's own token". NULL: nothing. */
    const char *or_else;
};

/* Names for a row, which has static storage. */
#define HTTP_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HTTP_NO_NAMES ((const char *const[]){NULL})

struct http_routes {
    const struct http_route *rows;
    size_t count;
};

#define HTTP_ROUTES(rows)                      \
    {                                          \
        (rows), sizeof(rows) / sizeof(*(rows)) \
    }

/* Checks the query, and calls the handler if the route is open. */
void http_route_serve(const struct http_route *route, struct http_exchange *exchange,
                      void *userdata);

#endif
