/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of the API: a row of routes.def each. */
#ifndef SERVICES_CONSOLE_ROUTES_H
#define SERVICES_CONSOLE_ROUTES_H

#include "platform/http/routes.h"

/* Their userdata is the console. */
extern const struct http_routes console_api_routes;

#endif
