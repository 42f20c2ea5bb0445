/* SPDX-License-Identifier: Apache-2.0 */
/* The console's pages: files compiled into the binary. */
#ifndef SERVICES_CONSOLE_WEB_WEB_H
#define SERVICES_CONSOLE_WEB_WEB_H

#include "platform/http/server.h"

/* The pages, their files, and the description of the API; without userdata. They need no cluster: a
 * console that still starts serves them. */
extern const struct http_routes web_routes;
/* These, the session's, and the page for paths that there are not. */
void web_add_routes(struct http_server *server);

#endif
