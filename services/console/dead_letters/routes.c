/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of the dead letters' API. */
#include "services/console/console.h"

static void serve_list(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        dead_letter_api_serve_list(console->dead_letters, exchange);
}

static void serve_one(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        dead_letter_api_serve_one(console->dead_letters, exchange);
}

static void serve_replay(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        dead_letter_api_serve_replay(console->dead_letters, exchange);
}

static void serve_discard(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        dead_letter_api_serve_discard(console->dead_letters, exchange);
}

#define ONE "/api/dead-letters/{partition}/{offset}"

static const struct api_route routes[] = {
    {"GET",
     "/api/dead-letters",
     serve_list,
     {"topic", "code", "since", "until", "all", "limit", "cursor", NULL},
     0},
    {"GET", ONE, serve_one, {"bytes", NULL}, 0},
    {"POST", ONE "/replay", serve_replay, {NULL}, DEAD_LETTER_BODY_MAX},
    {"POST", ONE "/discard", serve_discard, {NULL}, 0},
};

void dead_letter_api_add_routes(struct console *console)
{
    api_add_routes(console, routes, sizeof(routes) / sizeof(routes[0]));
}
