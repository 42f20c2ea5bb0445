/* SPDX-License-Identifier: Apache-2.0 */
/* The console's pages: files compiled into the binary. */
#ifndef SERVICES_CONSOLE_WEB_H
#define SERVICES_CONSOLE_WEB_H

#include "platform/http/server.h"

/* GET /, the pages' paths, and /assets/{name}. They need no cluster: a console that still starts
 * serves them. */
void web_add_routes(struct http_server *server);

#endif
